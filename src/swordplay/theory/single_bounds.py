"""The theorems on one expert alone, as functions."""

from __future__ import annotations

import math

from swordplay.core import arguments
from swordplay.core.arguments import checked
from swordplay.parts.learners.assumptions import Assumptions, stand
from swordplay.theory.part_bounds import Tuning, is_paper


@checked
def ogd(
    *,
    diameter: float,
    step_size: float,
    path_length: float,
    smoothness: float | None = None,
    comparator_loss: float | None = None,
    gradient_bound: float | None = None,
    horizon: int | None = None,
    assumptions: Assumptions | None = None,
) -> float:
    r"""Online gradient descent.

    .. math:: \min\Big\{ \frac{A/(2\eta) + \eta L F_T}{1 - \eta L} \ (\eta L < 1), \quad
        \frac{A}{2\eta} + \frac{\eta G^2 T}{2} \Big\}

    The first form needs ``smoothness`` and ``comparator_loss`` and losses that are nowhere
    negative, the second ``gradient_bound`` and ``horizon``; give either or both.

    References
    ----------
    Zhao et al. (2020), the theorem on OGD; Zinkevich (2003).
    """
    stand(assumptions, "bounds.ogd")
    A = spread(diameter, path_length)
    eta = arguments.positive("step_size", step_size)
    forms = []
    if smoothness is not None and comparator_loss is not None:
        L = arguments.nonnegative("smoothness", smoothness)
        if eta * L < 1:
            F = arguments.nonnegative("comparator_loss", comparator_loss)
            forms.append((A / (2 * eta) + eta * L * F) / (1 - eta * L))
        else:
            forms.append(math.inf)
    if gradient_bound is not None and horizon is not None:
        G, T = (
            arguments.nonnegative("gradient_bound", gradient_bound),
            arguments.integer("horizon", horizon, least=0),
        )
        forms.append(A / (2 * eta) + eta * G**2 * T / 2)
    if not forms:
        raise ValueError(
            "bounds.ogd needs smoothness and comparator_loss, or gradient_bound and horizon. Give "
            "one pair or both."
        )
    return min(forms)


@checked
def oegd(
    *,
    diameter: float,
    step_size: float,
    path_length: float,
    variation: float,
    smoothness: float,
    gradient_bound: float,
    tuning: Tuning = "safe",
    assumptions: Assumptions | None = None,
) -> float:
    r"""Online extra-gradient descent.

    .. math:: \text{safe, } \eta L < 1: \frac{A}{2\eta} + \frac{\eta V_T}{2 (1 - \eta^2 L^2)} +
        \frac{\eta G^2}{2}; \qquad \text{paper, } \eta \le \frac{1}{4L}: \frac{A}{2\eta} + \eta V_T
        + G D

    Infinite where the step is too long for the bound to say anything.

    References
    ----------
    Zhao et al. (2020), the theorem on OEGD.
    """
    stand(assumptions, "bounds.oegd")
    A = spread(diameter, path_length)
    eta, V = (
        arguments.positive("step_size", step_size),
        arguments.nonnegative("variation", variation),
    )
    L, G = (
        arguments.nonnegative("smoothness", smoothness),
        arguments.nonnegative("gradient_bound", gradient_bound),
    )
    if is_paper(tuning):
        return A / (2 * eta) + eta * V + G * diameter if eta * L <= 0.25 else math.inf
    return (
        A / (2 * eta) + eta * V / (2 * (1 - (eta * L) ** 2)) + eta * G**2 / 2
        if eta * L < 1
        else math.inf
    )


def spread(diameter: float, path_length: float) -> float:
    """A = D^2 + 2 D P_T: how far the comparators start and travel."""
    D, P = (
        arguments.positive("diameter", diameter),
        arguments.nonnegative("path_length", path_length),
    )
    return D**2 + 2 * D * P
