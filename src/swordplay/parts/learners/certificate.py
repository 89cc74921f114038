r"""The certificate: a bound on the regret against *every* comparator, from what the run itself observed.

For experts whose round-t step is :math:`\eta_{t,k}`, and any comparators of path length P,

.. math:: \text{regret} \le \min_k \Big\{ \sum_t \langle g_t, x_t - x_{t,k} \rangle
    + \tfrac12 D^2 \Lambda_k + D P \max_t \tfrac{1}{\eta_{t,k}}
    + \sum_t \tfrac{\eta_{t,k}}{2} \|g_{t,k} - M_{t,k}\|^2 - \sum_t \tfrac{1}{2\eta_{t,k}} \|x_{t,k} - \hat x_{t,k}\|^2 \Big\}

with :math:`\Lambda_k = 1/\eta_{1,k} + \sum_{t \ge 2} (1/\eta_{t,k} - 1/\eta_{t-1,k})_+`.

Where it comes from. Convexity splits the regret at expert k into the meta's part (the first sum) and the expert's,
:math:`\sum_t \langle g_{t,k}, x_{t,k} - u_t \rangle`. The two projections of a round give

.. math:: \langle g, x - u \rangle \le \tfrac{1}{2\eta} (\|u - \hat x_t\|^2 - \|u - \hat x_{t+1}\|^2)
    + \tfrac{\eta}{2} \|g - M\|^2 - \tfrac{1}{2\eta} \|x - \hat x_t\|^2 .

Summed by parts, a growing :math:`1/\eta` costs :math:`D^2` times its growth and a moving u costs :math:`2D` times its
move. For steps that never grow, :math:`\Lambda_k = \max_t 1/\eta_{t,k} = 1/\eta_{T,k}` and the two middle terms are
:math:`(D^2 + 2DP)/(2\eta_{T,k})`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swordplay.base.types import Vector
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


def value(state: CertificateState, diameter: float, path_length: float) -> float:
    """The certificate for comparators of that path length."""
    distance = diameter**2 * state.inverse_growth / 2 + diameter * path_length * state.inverse_largest
    return float((state.advantage + distance + state.drift).min())
