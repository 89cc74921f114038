r"""Step-size pools: geometric grids that hold a nearly best step for every comparator.

The best step of an expert depends on the path length of a comparator that nobody has named yet. A
grid that doubles covers every case within a factor of two, and its length costs the meta only
:math:`\ln N`.

All pools are ascending arrays of shape ``(N,)``. In the formulas D is the domain's diameter, G
bounds the gradients, L is the smoothness, T the horizon.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import checked
from swordplay.core.types import Vector


@checked
def variation(*, diameter: float, gradient_bound: float, smoothness: float, horizon: int) -> Vector:
    r"""The paper's pool for gradient variation (Sword_var).

    .. math:: \eta_i = 2^{i-1} \sqrt{\frac{D^2}{8 G^2 T}}, \qquad
        N_1 = \left\lceil \tfrac12 \log_2 \frac{G^2 T}{2 D^2 L^2} \right\rceil + 1

    The ceiling lifts the top step above 1/(4L) by up to a factor of two, which is harmless below
    1/L.

    References
    ----------
    Zhao et al. (2020), the proof of Theorem 3 (the statement itself has wrong units).
    """
    D, G, L, T = _constants(diameter, gradient_bound, smoothness, horizon)
    return _doubling(math.sqrt(D**2 / (8 * G**2 * T)), G**2 * T / (2 * D**2 * L**2))


@checked
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
    D, G, L, T = _constants(diameter, gradient_bound, smoothness, horizon)
    return _doubling(math.sqrt(D / (16 * L * G * T)), G * T / (D * L))


@checked
def safe(*, diameter: float, gradient_bound: float, smoothness: float, horizon: int) -> Vector:
    r"""The pool whose bounds hold with every constant, for both kinds of experts: the default.

    .. math:: \eta_i = \frac{2^{-(i-1)}}{2L}, \qquad
        N = 1 + \max\left\{0, \left\lceil \log_2 \frac{G \sqrt T}{0.8\, L D} \right\rceil \right\}
    """
    D, G, L, T = _constants(diameter, gradient_bound, smoothness, horizon)
    halvings = max(0, math.ceil(math.log2(G * math.sqrt(T) / (0.8 * L * D))))
    return np.asarray(2.0 ** np.arange(-halvings, 1) / (2 * L))


@checked
def plus_plus(*, diameter: float, gradient_bound: float, smoothness: float, horizon: int) -> Vector:
    r"""The pool of Sword++, whose steps must not pass 1/(8L) for the corrections to pay for them.

    .. math:: \eta_i = \frac{2^{-(i-1)}}{8L}, \qquad
        N = 1 + \max\left\{0, \left\lceil \log_2 \frac{G \sqrt T}{2 L D} \right\rceil \right\}

    The smallest step is at most :math:`D/(4 G \sqrt T)`.
    """
    D, G, L, T = _constants(diameter, gradient_bound, smoothness, horizon)
    halvings = max(0, math.ceil(math.log2(G * math.sqrt(T) / (2 * L * D))))
    return np.asarray(2.0 ** np.arange(-halvings, 1) / (8 * L))


@checked
def ader(*, diameter: float, gradient_bound: float, horizon: int) -> Vector:
    r"""The pool of Ader.

    .. math:: \eta_i = 2^{i-1} \frac{D}{G} \sqrt{\frac{7}{2T}}, \qquad
        N = \left\lceil \tfrac12 \log_2 (1 + 4T/7) \right\rceil + 1

    References
    ----------
    Zhang, Lu, Zhou (2018), "Adaptive online learning in dynamic environments".
    """
    D, G, _, T = _constants(diameter, gradient_bound, 1.0, horizon)
    experts = math.ceil(0.5 * math.log2(1 + 4 * T / 7)) + 1
    return np.asarray(2.0 ** np.arange(experts) * (D / G) * math.sqrt(7 / (2 * T)))


def longer(pool: Any, *, below: int = 0, above: int = 0) -> Vector:
    """A pool with ``below`` halvings added under its smallest step and ``above`` doublings over its
    largest.

    Extra experts never break a guarantee: their points stay in the domain and they cost the
    logarithm of their number. On real streams the best step often stood 4 to 30 times above 1/(4L).
    """
    steps = np.sort(arguments.positive_vector("pool", pool))
    lower = steps[0] * 2.0 ** -np.arange(arguments.integer("below", below, least=0), 0, -1.0)
    upper = steps[-1] * 2.0 ** np.arange(1, arguments.integer("above", above, least=0) + 1)
    return np.concatenate([lower, steps, upper])


def _constants(
    diameter: float, gradient_bound: float, smoothness: float, horizon: int
) -> tuple[float, float, float, int]:
    return (
        arguments.positive("diameter", diameter),
        arguments.positive("gradient_bound", gradient_bound),
        arguments.positive("smoothness", smoothness),
        arguments.integer("horizon", horizon),
    )


def _doubling(first: float, span: float) -> Vector:
    """``first`` doubled as often as the square root of ``span`` asks for, at least one step."""
    experts = max(1, math.ceil(0.5 * math.log2(span)) + 1)
    return np.asarray(first * 2.0 ** np.arange(experts))
