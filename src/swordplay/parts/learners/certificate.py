r"""The certificate: a bound on the regret against *every* comparator, from what the run itself observed.

For experts whose round-t step is :math:`\eta_{t,k} = 1/a_{t,k}`, and any comparators of path length P,

.. math:: \text{regret} \le \min_k \Big\{ \sum_t \langle g_t, x_t - x_{t,k} \rangle
    + \sum_t \tfrac{\eta_{t,k}}{2} \|g_{t,k} - M_{t,k}\|^2 - \tfrac{a_{t,k}}{2} \|x_{t,k} - \hat x_{t,k}\|^2
    + \text{distance}_k(P) \Big\}

Where it comes from. Convexity splits the regret at expert k into the meta's part (the first sum) and the expert's,
:math:`\sum_t \langle g_{t,k}, x_{t,k} - u_t \rangle`. The two projections of a round give

.. math:: \langle g, x - u \rangle \le \tfrac{a}{2} (\|u - \hat x_t\|^2 - \|u - \hat x_{t+1}\|^2)
    + \tfrac{\eta}{2} \|g - M\|^2 - \tfrac{a}{2} \|x - \hat x_t\|^2 .

With :math:`w = \hat x - c` seen from the domain's centre the first bracket is
:math:`\|w_t\|^2 - \|w_{t+1}\|^2 + 2 \langle w_{t+1} - w_t, u_t - c \rangle`: *linear* in u. For steps that stay what they
are it sums by parts to

.. math:: \text{distance}(P) = \sigma(a w_{T+1}) - \tfrac{a}{2} \|w_{T+1}\|^2 + P\, a \max_t \|w_t\|,

as :math:`w_1 = 0`; σ is the support function of the domain around c, and no w is longer than the domain's reach r. Whatever
the last w, that is at most :math:`\tfrac{a}{2} r^2 + P a r`: on a ball :math:`a (D^2/8 + D P / 2)`. For steps that change, a
growing a costs :math:`D^2` times its growth and a moving u costs 2D times its move:
:math:`\text{distance}(P) = \tfrac12 D^2 \Lambda + D P \max_t a_t` with
:math:`\Lambda = a_1 + \sum_{t \ge 2} (a_t - a_{t-1})_+`.

Every term is a sum over rounds. Summed over a window alone, with w counted from its first round, they certify the regret on
that window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from swordplay.base.types import Array, Domain, Matrix, Vector
from swordplay.parts.domains import Ball
from swordplay.parts.experts import Move


class CertificateState(NamedTuple):
    """The sums of the certificate, shape ``(N,)`` each."""

    advantage: Vector
    """Sum of <g_t, x_t - x_{t,k}>: what the decisions lost to expert k, linearised."""
    drift: Vector
    """Sum of eta/2 norm(g - M)^2 - norm(x - xhat)^2 / (2 eta)."""
    inverse_step: Vector
    """1/eta of the last round, 0 before any."""
    inverse_growth: Vector
    """Lambda: all increases of 1/eta, the first from 0."""
    inverse_largest: Vector
    """The largest 1/eta so far."""


class Moment(NamedTuple):
    """A certificate between two rounds: where a window begins."""

    rounds: int
    """How many rounds had been played."""
    sums: CertificateState
    base: Matrix
    """w, shape ``(N, d)``."""


class Surroundings(NamedTuple):
    """What the certificate asks of a domain."""

    diameter: float
    reach: float
    """r: no point is farther from the centre."""
    support: Callable[[Array], Array]
    """σ: largest inner product of each direction with a point, seen from the centre."""

    @classmethod
    def of(cls, domain: Domain) -> Surroundings:
        """Of any domain; how far it reaches is at most what it does along the axes together."""
        axes, center = np.eye(domain.dim), domain.center

        def support(directions: Array) -> Array:
            return np.asarray(domain.support(directions) - directions @ center)

        along = np.maximum(support(axes), support(-axes))
        known = domain.radius if isinstance(domain, Ball) else min(domain.diameter, float(np.sqrt(along @ along)))
        return cls(float(domain.diameter), float(known), support)

    @classmethod
    def of_ball(cls, radius: float) -> Surroundings:
        """Of a ball with that radius."""
        return cls(
            2.0 * radius, radius, lambda directions: radius * np.sqrt(np.einsum("...i,...i->...", directions, directions))
        )


def start(experts: int) -> CertificateState:
    """Before the first round nothing is owed to anyone."""
    return CertificateState(*(np.zeros(experts) for _ in CertificateState._fields))


def step(state: CertificateState, advantage: Vector, move: Move) -> CertificateState:
    """Add a round: what the decision lost to each expert, and how each expert moved."""
    inverse = 1.0 / move.step_sizes
    met = move.surprise > 0  # an infinite step has met no gradient: inf * 0 is nothing here
    price = np.where(met, np.where(met, move.step_sizes, 0.0) * move.surprise, 0.0) / 2
    return CertificateState(
        advantage=state.advantage + advantage,
        drift=state.drift + price - inverse * move.lead / 2,
        inverse_step=inverse,
        inverse_growth=state.inverse_growth + np.maximum(inverse - state.inverse_step, 0.0),
        inverse_largest=np.maximum(state.inverse_largest, inverse),
    )


def fork(state: CertificateState, parents: Vector) -> CertificateState:
    """A copied expert has the past of its parent."""
    return CertificateState(*(sums[parents] for sums in state))


def value(state: CertificateState, around: Surroundings, path_length: float, steady: Any, base: Matrix | None = None) -> float:
    """The certificate for comparators of that path length.

    Parameters
    ----------
    state
        The sums.
    around
        The domain.
    path_length
        P.
    steady
        Which experts have one step size for ever, shape ``(N,)`` or one answer for all. The sums cannot tell: those of steps
        that only shrink look the same.
    base
        w, shape ``(N, d)``; without it the farthest that it may be is allowed for.
    """
    a = state.inverse_step
    farthest = a * around.reach**2 / 2
    left = farthest if base is None else around.support(a[:, None] * base) - a * _squares(base) / 2
    staying = left + path_length * around.reach * a
    changing = _changing(around, state.inverse_growth, state.inverse_largest, path_length)
    return float((state.advantage + state.drift + np.where(steady, staying, changing)).min())


def value_since(
    state: CertificateState, around: Surroundings, path_length: float, steady: Any, base: Matrix, since: Moment, parents: Any
) -> float:
    """The certificate for the rounds after a moment.

    Parameters
    ----------
    state, around, path_length, steady, base
        As in :func:`value`.
    since
        The moment.
    parents
        For each expert of today the index of the one at that moment that it is, or is a copy of, shape ``(N,)``.
    """
    then, stood = fork(since.sums, parents), since.base[parents]
    a, squares = state.inverse_step, _squares(stood)
    moved = around.support(a[:, None] * (base - stood)) + a * (squares - _squares(base)) / 2
    staying = moved + path_length * a * np.minimum(around.diameter, around.reach + np.sqrt(squares))
    growth = then.inverse_step + state.inverse_growth - then.inverse_growth
    changing = _changing(around, growth, state.inverse_largest, path_length)
    owed = state.advantage - then.advantage + state.drift - then.drift
    return float((owed + np.where(steady, staying, changing)).min())


def _changing(around: Surroundings, growth: Vector, largest: Vector, path_length: float) -> Vector:
    return around.diameter**2 * growth / 2 + around.diameter * path_length * largest


def _squares(rows: Matrix) -> Vector:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
