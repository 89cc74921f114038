r"""Step-size pools: geometric grids that contain a nearly best step size for every comparator.

The best step size of an expert depends on the path length of the comparator, which is unknown. A
grid of doubling steps contains a step within a factor of two of the best, and its length N adds
only :math:`\ln N` to the regret of the meta.

All pools are ascending arrays of shape ``(N,)``. In the formulas D is the diameter of the domain, G
a bound on the norms of gradients, L the smoothness and T the horizon.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import explain_overflow
from swordplay.core.types import Vector


@explain_overflow
def variation(*, diameter: float, gradient_bound: float, smoothness: float, horizon: int) -> Vector:
    r"""The paper's pool for gradient variation (Sword_var).

    .. math:: \eta_i = 2^{i-1} \sqrt{\frac{D^2}{8 G^2 T}}, \qquad
        N_1 = \left\lceil \tfrac12 \log_2 \frac{G^2 T}{2 D^2 L^2} \right\rceil + 1

    Because of the ceiling the largest step can be up to twice 1/(4L), which is below 1/L as the
    proof needs.

    References
    ----------
    Zhao et al. (2020), the proof of Theorem 3 (the statement itself has wrong units).
    """
    D, G, L, T = _checked_constants(diameter, gradient_bound, smoothness, horizon)
    return _doubling(math.sqrt(D**2 / (8 * G**2 * T)), G**2 * T / (2 * D**2 * L**2))


@explain_overflow
def small_loss(
    *, diameter: float, gradient_bound: float, smoothness: float, horizon: int
) -> Vector:
    r"""The paper's pool for small losses (Sword_small).

    .. math:: \eta_i = 2^{i-1} \sqrt{\frac{D}{16 L G T}}, \qquad
        N_2 = \left\lceil \tfrac12 \log_2 \frac{G T}{D L} \right\rceil + 1

    References
    ----------
    Zhao et al. (2020), Theorem 5.
    """
    D, G, L, T = _checked_constants(diameter, gradient_bound, smoothness, horizon)
    return _doubling(math.sqrt(D / (16 * L * G * T)), G * T / (D * L))


@explain_overflow
def safe(*, diameter: float, gradient_bound: float, smoothness: float, horizon: int) -> Vector:
    r"""The default pool: the bounds hold for any D, G, L and T, with OGD and with OEGD experts.

    .. math:: \eta_i = \frac{2^{-(i-1)}}{2L}, \qquad
        N = 1 + \max\left\{0, \left\lceil \log_2 \frac{G \sqrt T}{0.8\, L D} \right\rceil \right\}

    Here i counts from the largest step; the array is ascending. Because of the 0.8 its smallest
    step is at most :math:`0.4 D/(G \sqrt T)`. The best step of the OEGD bound is never smaller: it
    is at least :math:`\sqrt{3/16}\, D/(G \sqrt T)`, since :math:`V_T \le 4 G^2 (T - 1)`.
    """
    D, G, L, T = _checked_constants(diameter, gradient_bound, smoothness, horizon)
    halvings = max(0, math.ceil(math.log2(G * math.sqrt(T) / (0.8 * L * D))))
    return np.asarray(2.0 ** np.arange(-halvings, 1) / (2 * L))


@explain_overflow
def plus_plus(*, diameter: float, gradient_bound: float, smoothness: float, horizon: int) -> Vector:
    r"""The pool of Sword++: steps of at most 1/(8L), as the correction terms of its proof need.

    .. math:: \eta_i = \frac{2^{-(i-1)}}{8L}, \qquad
        N = 1 + \max\left\{0, \left\lceil \log_2 \frac{G \sqrt T}{2 L D} \right\rceil \right\}

    Here i counts from the largest step; the array is ascending. Its smallest step is at most
    :math:`D/(4 G \sqrt T)`.
    """
    D, G, L, T = _checked_constants(diameter, gradient_bound, smoothness, horizon)
    halvings = max(0, math.ceil(math.log2(G * math.sqrt(T) / (2 * L * D))))
    return np.asarray(2.0 ** np.arange(-halvings, 1) / (8 * L))


@explain_overflow
def ader(*, diameter: float, gradient_bound: float, horizon: int) -> Vector:
    r"""The pool of Ader.

    .. math:: \eta_i = 2^{i-1} \frac{D}{G} \sqrt{\frac{7}{2T}}, \qquad
        N = \left\lceil \tfrac12 \log_2 (1 + 4T/7) \right\rceil + 1

    References
    ----------
    Zhang, Lu, Zhou (2018), "Adaptive online learning in dynamic environments".
    """
    D, G, _, T = _checked_constants(diameter, gradient_bound, 1.0, horizon)
    count = math.ceil(0.5 * math.log2(1 + 4 * T / 7)) + 1  # N
    return np.asarray(2.0 ** np.arange(count) * (D / G) * math.sqrt(7 / (2 * T)))


def longer(pool: Any, *, below: int = 0, above: int = 0) -> Vector:
    r"""Return a pool with further steps: halvings of the smallest, doublings of the largest.

    Further experts only enlarge the term of the prior, :math:`\ln N` if it is uniform, in the
    regret bounds of Ader, Sword_var, Sword_small and Sword_best. The bound of Sword++ needs all
    steps to be at most 1/(8L): with larger ones only its certificate holds, which is proved for any
    steps. On real streams the best step was often 4 to 30 times 1/(4L).

    Parameters
    ----------
    pool
        Step sizes, shape ``(N,)``, in any order.
    below
        Number of halvings of the smallest step to add.
    above
        Number of doublings of the largest step to add.
    """
    steps = np.sort(arguments.positive_vector("pool", pool))
    halvings = steps[0] * 2.0 ** -np.arange(arguments.integer("below", below, least=0), 0, -1.0)
    doublings = steps[-1] * 2.0 ** np.arange(1, arguments.integer("above", above, least=0) + 1)
    return np.concatenate([halvings, steps, doublings])


def _checked_constants(
    diameter: float, gradient_bound: float, smoothness: float, horizon: int
) -> tuple[float, float, float, int]:
    """Check the constants of the game, and return D, G, L and T."""
    return (
        arguments.positive("diameter", diameter),
        arguments.positive("gradient_bound", gradient_bound),
        arguments.positive("smoothness", smoothness),
        arguments.integer("horizon", horizon),
    )


def _doubling(first: float, squared_ratio: float) -> Vector:
    """Return ``first``, 2 ``first``, 4 ``first``, ... up to at least r ``first``.

    ``squared_ratio`` is r^2.
    """
    count = max(1, math.ceil(0.5 * math.log2(squared_ratio)) + 1)
    return np.asarray(first * 2.0 ** np.arange(count))
