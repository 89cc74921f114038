r"""Bounds of a single expert: OEGD (Theorem 1), OGD (Theorem 4) and a Newton expert.

In the formulas D is the diameter, G the gradient bound, L the smoothness and :math:`A = D^2 + 2 D
P_T`.
"""

from __future__ import annotations

import math

import numpy as np

from swordplay.core.types import Array, Vector
from swordplay.parts.learners.assumptions import Assumptions
from swordplay.theory.bounds.theorem import (
    NonNegative,
    NonNegativeInt,
    Positive,
    Tuning,
    theorem,
)

MAX_BISECTIONS = 200
"""Most bisections; they shrink an interval of step sizes of any width to adjacent doubles."""


@theorem
def ogd(
    *,
    diameter: Positive,
    step_size: Positive,
    path_length: NonNegative,
    smoothness: NonNegative | None = None,
    comparator_loss: NonNegative | None = None,
    gradient_bound: NonNegative | None = None,
    horizon: NonNegativeInt | None = None,
    assumptions: Assumptions | None = None,
) -> float:
    r"""Regret bound of online gradient descent.

    .. math:: \min\Big\{ \frac{A/(2\eta) + \eta L F_T}{1 - \eta L} \ (\eta L < 1), \quad
        \frac{A}{2\eta} + \frac{\eta G^2 T}{2} \Big\}

    The first bound needs ``smoothness`` and ``comparator_loss`` and losses that are nowhere
    negative, the second needs ``gradient_bound`` and ``horizon``. Give the arguments of one bound
    or of both.

    References
    ----------
    Zhao et al. (2020), Theorem 4; Zinkevich (2003).
    """
    eta, A = step_size, path_term(diameter, path_length)
    bounds = []
    if smoothness is not None and comparator_loss is not None:
        L, F = smoothness, comparator_loss
        bounds.append((A / (2 * eta) + eta * L * F) / (1 - eta * L) if eta * L < 1 else math.inf)
    if gradient_bound is not None and horizon is not None:
        G, T = gradient_bound, horizon
        bounds.append(A / (2 * eta) + eta * G**2 * T / 2)
    if not bounds:
        raise ValueError(
            "bounds.ogd needs smoothness and comparator_loss, or gradient_bound and horizon. Give "
            "one pair or both."
        )
    return min(bounds)


@theorem
def oegd(
    *,
    diameter: Positive,
    step_size: Positive,
    path_length: NonNegative,
    variation: NonNegative,
    smoothness: NonNegative,
    gradient_bound: NonNegative,
    tuning: Tuning = "safe",
    assumptions: Assumptions | None = None,
) -> float:
    r"""Regret bound of online extra-gradient descent.

    .. math:: \text{safe, } \eta L < 1: \frac{A}{2\eta} + \frac{\eta V_T}{2 (1 - \eta^2 L^2)} +
        \frac{\eta G^2}{2}; \qquad \text{paper, } \eta \le \frac{1}{4L}: \frac{A}{2\eta} + \eta V_T
        + G D

    Infinite if the step is too long for the theorem.

    References
    ----------
    Zhao et al. (2020), Theorem 1.
    """
    D, G, L, V, eta = diameter, gradient_bound, smoothness, variation, step_size
    A = path_term(D, path_length)
    if tuning == "paper":
        return A / (2 * eta) + eta * V + G * D if eta * L <= 0.25 else math.inf
    return (
        A / (2 * eta) + eta * V / (2 * (1 - (eta * L) ** 2)) + eta * G**2 / 2
        if eta * L < 1
        else math.inf
    )


@theorem
def best_step_ogd(
    *,
    diameter: Positive,
    path_length: NonNegative,
    smoothness: Positive,
    comparator_loss: NonNegative,
) -> float:
    r"""Step size at which the first bound of :func:`swordplay.bounds.ogd` is smallest.

    .. math:: \eta^* = \frac{\sqrt{A^2 L^2 + 2 A L F_T} - A L}{2 L F_T}, \qquad \tfrac{1}{2L} \text{
        where } F_T = 0

    It depends on losses of the future; learners approximate it by a pool of step sizes.
    """
    A, L, F = path_term(diameter, path_length), smoothness, comparator_loss
    # The formula above with the square root in the denominator: no cancellation where F is small.
    return A / (A * L + math.sqrt((A * L) ** 2 + 2 * A * L * F))


@theorem
def best_step_oegd(
    *,
    diameter: Positive,
    path_length: NonNegative,
    variation: NonNegative,
    smoothness: Positive,
    gradient_bound: NonNegative,
) -> float:
    r"""Step size below 1/L at which the safe form of :func:`swordplay.bounds.oegd` is smallest.

    The root :math:`\eta^*` of :math:`-\frac{A}{2\eta^2} + \frac{V_T (1 + \eta^2 L^2)}{2 (1 -
    \eta^2 L^2)^2} + \frac{G^2}{2}`, which increases with :math:`\eta`. The paper's form is smallest
    at :math:`\min\{1/(4L), \sqrt{A/(2 V_T)}\}`.
    """
    A, L, V, G = path_term(diameter, path_length), smoothness, variation, gradient_bound
    low, high = 0.0, 1.0 / L
    for _ in range(MAX_BISECTIONS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        squared = (middle * L) ** 2  # (eta L)^2
        # The derivative, times 2 eta^2, is at least 0 at the middle: the root is not above it.
        is_past_root = (V * (1 + squared) / (1 - squared) ** 2 + G**2) * middle**2 >= A
        low, high = (low, middle) if is_past_root else (middle, high)
    return low


@theorem
def curved_expert(
    *,
    diameter: Positive,
    discount: Positive,
    gradients: Array,
    curvatures: Array,
    ridges: Vector,
    path_length: NonNegative,
) -> float:
    r"""Regret bound of a Newton expert on squared losses, while no step leaves the domain.

    .. math:: \tfrac12 \sum_t g_t^\top A_t^{-1} g_t + \tfrac12 D^2 \sum_t (\lambda_t - \gamma
        \lambda_{t-1})_+
        + \gamma D P_T \max_t \|A_t\|

    with :math:`\gamma` the expert's discount and :math:`\lambda_t = \rho \sqrt{E_t}/D` the ridge in
    :math:`A_t`, where :math:`E_t` is the discounted sum of squared gradients and :math:`\rho` the
    factor of the ridge in :class:`~swordplay.parts.experts.NewtonExperts`. ``docs/theory.md`` has
    the proof.

    Parameters
    ----------
    diameter
        D.
    discount
        :math:`\gamma`.
    gradients
        :math:`g_t` at the expert's points, shape ``(T, d)``.
    curvatures
        :math:`A_t` of the expert's steps, ridge included, shape ``(T, d, d)``.
    ridges
        :math:`\lambda_t`, shape ``(T,)``.
    path_length
        :math:`P_T` of the comparators.

    References
    ----------
    Jacobsen and Cutkosky (2024), on the discounted Vovk-Azoury-Warmuth forecaster; constants of our
    own.
    """
    D, P, gamma = diameter, path_length, discount
    if gamma >= 1.0:
        raise ValueError(f"discount must lie in (0, 1), got {discount}.")
    g, A, ridge = (np.asarray(array, dtype=np.float64) for array in (gradients, curvatures, ridges))
    if g.ndim != 2 or A.shape != (*g.shape, g.shape[-1]) or ridge.shape != g.shape[:1]:
        raise ValueError(
            f"curvatures and ridges must have shapes {(*g.shape, g.shape[-1])} and {g.shape[:1]}, "
            f"as gradients have {g.shape}; "
            f"got {A.shape} and {ridge.shape}."
        )
    has_gradient = np.einsum("ti,ti->t", g, g) > 0
    steps = np.zeros_like(g)  # A_t^-1 g_t; before the first gradient A_t may be 0
    steps[has_gradient] = np.linalg.solve(A[has_gradient], g[has_gradient][:, :, None])[:, :, 0]
    # (lambda_t - gamma lambda_{t-1})_+ with lambda_0 = 0
    ridge_growth = np.maximum(ridge - gamma * np.concatenate([[0.0], ridge[:-1]]), 0.0)
    max_curvature = float(np.linalg.norm(A, ord=2, axis=(1, 2)).max()) if len(A) else 0.0
    return float(
        np.einsum("ti,ti->", g, steps) / 2
        + D**2 * ridge_growth.sum() / 2
        + gamma * D * P * max_curvature
    )


def path_term(diameter: float, path_length: float) -> float:
    """A = D^2 + 2 D P_T: D^2 for the distance of the first comparator, 2 D P_T for all moves."""
    D, P = diameter, path_length
    return D**2 + 2 * D * P
