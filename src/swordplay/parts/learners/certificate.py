r"""The certificate: a bound on the regret against *every* comparator, from what the run itself
observed.

For experts whose round-t step is :math:`\eta_{t,k} = 1/a_{t,k}`, and any comparators of path length
P,

.. math:: \text{regret} \le \min_k \Big\{ \sum_t \langle g_t, x_t - x_{t,k} \rangle - B_{t,k}
    + \sum_t \tfrac{\eta_{t,k}}{2} \|g_{t,k} - M_{t,k}\|^2 - \tfrac{a_{t,k}}{2} \|x_{t,k} - \hat
      x_{t,k}\|^2
    + \text{distance}_k(P) \Big\}

Where it comes from. The regret is that of the decisions against expert k, :math:`\sum_t f_t(x_t) -
f_t(x_{t,k})`, and the expert's own, by convexity at most :math:`\sum_t \langle g_{t,k}, x_{t,k} -
u_t \rangle`. The former is the first sum: :math:`B_{t,k} = f_t(x_{t,k}) - f_t(x_t) - \langle g_t,
x_{t,k} - x_t \rangle \ge 0` is how far the loss lies above its tangent at the decision. (Where all
experts descend along :math:`g_t`, the tangent itself is what they are held against, and B is 0.)
The two projections of a round give

.. math:: \langle g, x - u \rangle \le \tfrac{a}{2} (\|u - \hat x_t\|^2 - \|u - \hat x_{t+1}\|^2)
    + \tfrac{\eta}{2} \|g - M\|^2 - \tfrac{a}{2} \|x - \hat x_t\|^2 .

With :math:`w = \hat x - c` seen from the domain's centre the first bracket is
:math:`\|w_t\|^2 - \|w_{t+1}\|^2 + 2 \langle w_{t+1} - w_t, u_t - c \rangle`: *linear* in u. For
steps that stay what they are it sums by parts to

.. math:: \text{distance}(P) = \sigma(a w_{T+1}) - \tfrac{a}{2} \|w_{T+1}\|^2 + P\, a \varrho,
    \qquad \varrho = \max_t \|w_t\|,

as :math:`w_1 = 0`; σ is the support function of the domain around c, and no w is longer than the
domain's reach r. Whatever the last w, that is at most :math:`\tfrac{a}{2} r^2 + P a r`: on a ball
:math:`a (D^2/8 + D P / 2)`, and much less in a ball that is too large. For steps that change, the
sums by parts are those of a vector, the heading:

.. math:: \text{distance}(P) = \sigma(S_T) - \tfrac{a_T}{2} \|w_{T+1}\|^2 + \text{swing} + P \max_t
    \|S_t\|, \qquad S_t = \sum_{s \le t} a_s (w_{s+1} - w_s) = a_t w_{t+1} - \sum_{s \le t} (a_s -
    a_{s-1}) w_s ,

where the squares have left the swing, :math:`\sum_t (a_t - a_{t-1}) \|w_t\|^2 / 2`. Up to
``WIDEST`` coordinates S is kept whole, with the longest that it has been (the pull). Beyond, one
more vector an expert would be dear, and only a bound is kept, :math:`\|S_t\| \le a_t \|w_{t+1}\| +
\sum_s |a_s - a_{s-1}| \|w_s\|`: its last sum (the turning) and the largest it has been (the pull
again). Or one pays for the largest distances at once: a growing a costs :math:`D^2` times its
growth and a moving u costs 2D times its move, :math:`\text{distance}(P) = \tfrac12 D^2 \Lambda + D
P \max_t a_t` with :math:`\Lambda = a_1 + \sum_{t \ge 2} (a_t - a_{t-1})_+`. The smaller of the two
counts.

Every term is a sum over rounds. Summed over a window alone, with w counted from its first round,
they certify the regret on that window.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.state import UNKNOWN
from swordplay.core.types import Array, Domain, Matrix, State, Vector
from swordplay.parts.domains import Ball
from swordplay.parts.experts import ExpertStep


class CertificateState(NamedTuple):
    """The sums of the certificate, shape ``(N,)`` each."""

    advantage: Vector
    """Sum of <g_t, x_t - x_{t,k}>: what the decisions lost to expert k, linearised."""
    drift: Vector
    """Sum of eta/2 norm(g - M)^2 - norm(x - xhat)^2 / (2 eta) - B."""
    inverse_step: Vector
    """1/eta of the last round, 0 before any."""
    inverse_growth: Vector
    """Lambda: all increases of 1/eta, the first from 0."""
    inverse_largest: Vector
    """The largest 1/eta so far."""
    swing: Vector
    """Sum of (1/eta_t - 1/eta_{t-1}) norm(w_t)^2 / 2."""
    farthest: Vector
    """The largest norm(w)^2 so far."""
    turning: Vector
    """Sum of |1/eta_t - 1/eta_{t-1}| norm(w_t), where S is not kept."""
    pull: Vector
    """The largest norm(S_t) so far where S is kept, of norm(w_{t+1}) / eta_t + turning where it
    is not.
    """
    heading: Any = ()
    """S, sum of (w_{t+1} - w_t) / eta_t, shape ``(N, d)``, where it is kept."""


WIDEST = 8
"""Coordinates up to which S is kept: beyond, one more pass over as many numbers would be felt in
every round.
"""
SCALARS = CertificateState._fields[:-1]
"""The sums that are one number an expert."""
YOUNGER = {"turning", "pull"}
"""Sums that states of before did not hold,"""
ELDER = YOUNGER | {"swing", "farthest"}
"""and those before them."""


class Lengths(NamedTuple):
    """How far base points are from the centre before and after a round: squares, shape ``(N,)``
    each.
    """

    before: Vector
    after: Vector
    moved: Matrix | float = 0.0
    """w_{t+1} - w_t, shape ``(N, d)``."""

    @classmethod
    def of(cls, before: Matrix, after: Matrix) -> Lengths:
        """Of base points as seen from the centre, shape ``(N, d)``."""
        return cls(_squares(before), _squares(after), after - before)


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
        known = (
            domain.radius
            if isinstance(domain, Ball)
            else min(domain.diameter, float(np.sqrt(along @ along)))
        )
        return cls(float(domain.diameter), float(known), support)

    @classmethod
    def of_ball(cls, radius: float) -> Surroundings:
        """Of a ball with that radius."""
        return cls(
            2.0 * radius,
            radius,
            lambda directions: (
                radius * np.sqrt(np.einsum("...i,...i->...", directions, directions))
            ),
        )


def start(experts: int, dim: int | None = None) -> CertificateState:
    """Before the first round nothing is owed to anyone.

    ``dim`` are the coordinates of S, where it is kept.
    """
    sums = {name: np.zeros(experts) for name in SCALARS}
    return CertificateState(**sums, heading=() if dim is None else np.zeros((experts, dim)))


def renewed(saved: Mapping[str, Any]) -> State:
    """A saved state, with what states of before did not hold."""
    names = {name for name in SCALARS if f"certificate.{name}" in saved}
    lacking = set(SCALARS) - names
    if lacking not in (ELDER, YOUNGER) or not all(
        np.ndim(saved[f"certificate.{name}"]) == 1 for name in names
    ):
        return dict(saved)  # of this version, or damaged, which others will say
    known = {name: np.asarray(saved[f"certificate.{name}"], dtype=np.float64) for name in names}
    drift = known["drift"]
    known = {"swing": np.zeros_like(drift), "farthest": np.full_like(drift, UNKNOWN)} | known
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # of damaged numbers, which are refused by whoever reads the answer
        far = np.sqrt(np.maximum(known["farthest"], 0.0))
        turning = (2 * known["inverse_growth"] - known["inverse_step"]) * far
        known |= {"turning": turning, "pull": known["inverse_largest"] * far + turning}
    return {**saved, **{f"certificate.{name}": known[name] for name in lacking}}


def step(
    state: CertificateState,
    advantage: Vector,
    move: ExpertStep,
    lengths: Lengths,
    curved: Vector | float = 0.0,
) -> CertificateState:
    """Add a round.

    Parameters
    ----------
    state
        The sums so far.
    advantage
        <g_t, x_t - x_{t,k}>, what the decision lost to each expert, shape ``(N,)``.
    move
        How each expert moved.
    lengths
        Of w before and after.
    curved
        B, how far the loss lies above its tangent at each expert, shape ``(N,)``.
    """
    inverse = 1.0 / move.step_sizes
    met = move.squared_error > 0  # an infinite step has met no gradient: inf * 0 is nothing here
    price = np.where(met, np.where(met, move.step_sizes, 0.0) * move.squared_error, 0.0) / 2
    heading, turning = state.heading, state.turning
    if len(heading):
        heading = heading + inverse[:, None] * (move.change if len(move.change) else lengths.moved)
        pulled = np.sqrt(_squares(heading))
    else:
        turning = state.turning + np.abs(inverse - state.inverse_step) * np.sqrt(lengths.before)
        pulled = inverse * np.sqrt(lengths.after) + turning
    return CertificateState(
        advantage=state.advantage + advantage,
        drift=state.drift + price - inverse * move.squared_lookahead / 2 - curved,
        inverse_step=inverse,
        inverse_growth=state.inverse_growth + np.maximum(inverse - state.inverse_step, 0.0),
        inverse_largest=np.maximum(state.inverse_largest, inverse),
        swing=state.swing + (inverse - state.inverse_step) * lengths.before / 2,
        farthest=np.maximum(state.farthest, lengths.after),
        turning=turning,
        pull=np.maximum(state.pull, pulled),
        heading=heading,
    )


def as_saved(experts: int, dim: int, saved: Mapping[str, Any]) -> CertificateState:
    """A fresh start that keeps S if a saved state does: those of before have none, and go on
    without.
    """
    return start(experts, dim if "certificate.heading" in saved else None)


def fork(state: CertificateState, parents: Vector) -> CertificateState:
    """A copied expert has the past of its parent."""
    return CertificateState(*(sums[parents] if len(sums) else sums for sums in state))


def value(
    state: CertificateState,
    around: Surroundings,
    path_length: float,
    steady: Any,
    base: Matrix | None = None,
) -> float:
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
        Which experts have one step size for ever, shape ``(N,)`` or one answer for all. The sums
        cannot tell: those of steps that only shrink look the same.
    base
        w, shape ``(N, d)``; without it the farthest that it may be is allowed for.
    """
    a, far = state.inverse_step, _farthest(state, around)
    if len(state.heading):
        left = around.support(state.heading) - (0.0 if base is None else a * _squares(base) / 2)
    else:
        left = (
            a * (around.reach * far - far**2 / 2)
            if base is None
            else around.support(a[:, None] * base) - a * _squares(base) / 2
        )
        left = left + around.reach * np.where(steady, 0.0, state.turning)
    staying = left + state.swing + path_length * np.where(steady, a * far, state.pull)
    changing = _changing(around, state.inverse_growth, state.inverse_largest, path_length)
    return float((state.advantage + state.drift + _smaller(state, staying, changing, steady)).min())


def value_since(
    state: CertificateState,
    around: Surroundings,
    path_length: float,
    steady: Any,
    base: Matrix,
    since: Moment,
    parents: Any,
) -> float:
    """The certificate for the rounds after a moment.

    Parameters
    ----------
    state, around, path_length, steady, base
        As in :func:`value`.
    since
        The moment.
    parents
        For each expert of today the index of the one at that moment that it is, or is a copy of,
        shape ``(N,)``.
    """
    then, stood = fork(since.sums, parents), since.base[parents]
    a, b, far = state.inverse_step, then.inverse_step, _farthest(state, around)
    length = np.sqrt(_squares(stood))
    if len(state.heading):
        moved = around.support(state.heading - then.heading)
        pull = state.pull + np.sqrt(
            _squares(then.heading)
        )  # no S is farther from the window's first than both are from 0
    else:
        turned = np.where(steady, 0.0, state.turning - then.turning)
        moved = around.support(a[:, None] * base - b[:, None] * stood) + around.reach * turned
        pull = state.pull - then.turning + b * length
    moved = moved + (b * length**2 - a * _squares(base)) / 2
    swung = state.swing - then.swing
    pulled = np.where(steady, a * np.minimum(around.diameter, far + length), pull)
    growth = b + state.inverse_growth - then.inverse_growth
    changing = _changing(around, growth, state.inverse_largest, path_length)
    owed = state.advantage - then.advantage + state.drift - then.drift
    return float(
        (owed + _smaller(state, moved + swung + path_length * pulled, changing, steady)).min()
    )


def _farthest(state: CertificateState, around: Surroundings) -> Vector:
    """ρ, or the domain's reach where nobody knows."""
    return np.sqrt(np.where(state.farthest < UNKNOWN, state.farthest, around.reach**2))


def _smaller(state: CertificateState, staying: Vector, changing: Vector, steady: Any) -> Vector:
    """Sums by parts for steps that stay.

    For steps that change whichever form is smaller, if both are known.
    """
    known = state.farthest < UNKNOWN
    return np.where(steady, staying, np.where(known, np.minimum(staying, changing), changing))


def _changing(around: Surroundings, growth: Vector, largest: Vector, path_length: float) -> Vector:
    return around.diameter**2 * growth / 2 + around.diameter * path_length * largest


def _squares(rows: Matrix) -> Vector:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
