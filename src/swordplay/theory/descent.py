"""Many convex problems over one domain at once, each with a certificate of how far it is from
its minimum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swordplay.core.types import Array, Domain, Matrix, Vector
from swordplay.theory.objectives import Objective

ROUNDING = 1e-13
"""Relative error that sums of gradients may carry: no gap can be closed below it."""


class Minima(NamedTuple):
    """Points of shape ``(B, d)``, and how far above the minimum each may be, shape ``(B,)``."""

    points: Matrix
    gaps: Vector
    closed: bool
    """Whether every gap is within its target."""


def gaps(domain: Domain, points: Matrix, gradients: Matrix) -> Vector:
    r"""How far above the minimum over the domain a convex function can be at each point, from its
    gradient alone.

    .. math:: f(x) - \min_X f \le \max_{z \in X} \langle \nabla f(x), x - z \rangle
        = \langle \nabla f(x), x \rangle + \sigma_X(-\nabla f(x))

    References
    ----------
    Jaggi (2013), "Revisiting Frank-Wolfe", section 2.
    """
    return np.maximum(_inner(gradients, points) + domain.support(-gradients), 0.0)


def minimize(objective: Objective, domain: Domain, tolerance: float, steps: int) -> Minima:
    r"""Accelerated projected gradient descent from the domain's centre, with restarts.

    .. math:: x_{k+1} = \Pi_X[y_k - \nabla F(y_k) / L], \qquad
        y_{k+1} = \Pi_X\big[x_{k+1} + \tfrac{m_k - 1}{m_{k+1}} (x_{k+1} - x_k)\big]

    A problem's momentum m starts anew whenever it points uphill, its L doubles whenever the
    gradient turns out to change faster, and it leaves the race once its gap is within ``tolerance *
    D * steepness`` (and rounding).

    References
    ----------
    Beck, Teboulle (2009), FISTA; O'Donoghue, Candès (2015), "Adaptive restart for accelerated
    gradient schemes".
    """
    D = domain.diameter
    targets = tolerance * D * objective.steepness
    targets += ROUNDING * (
        (D + np.linalg.norm(domain.center)) * objective.steepness + D**2 * objective.curvature
    )
    best = np.tile(domain.center, (len(targets), 1))
    best_gaps = gaps(domain, best, objective.gradient(best))

    racing = np.flatnonzero(best_gaps > targets)
    objective, x = objective.take(racing), best[racing]
    y, momentum, L = (
        x,
        np.ones(len(racing)),
        np.where(objective.curvature > 0, objective.curvature, 1.0),
    )
    for _ in range(steps):
        if not len(racing):
            break
        at_y = objective.gradient(y)
        moved = domain.project(y - at_y / L[:, None])
        at_moved = objective.gradient(moved)
        # Too small an L shows as a gradient that changes faster than L along the step; rounding
        # does not count.
        step = moved - y
        length = np.sqrt(_inner(step, step))
        noise = ROUNDING * np.sqrt(_inner(at_y, at_y)) * length
        steep = _inner(at_moved - at_y, step) > L * length**2 * (1.0 + ROUNDING) + noise
        L = np.where(steep, 2.0 * L, L)

        # Who has arrived stands still, so that no answer depends on the company it was found in.
        new_gaps = gaps(domain, moved, at_moved)
        better = (new_gaps < best_gaps[racing]) & (best_gaps[racing] > targets[racing])
        best[racing[better]], best_gaps[racing[better]] = moved[better], new_gaps[better]

        uphill = _inner(y - moved, moved - x) > 0
        momentum = np.where(uphill | steep, 1.0, momentum)
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = domain.project(moved + ((momentum - 1.0) / following)[:, None] * (moved - x))
        # A step that was too long is taken back: from x again, with the larger L.
        x, y = np.where(steep[:, None], x, moved), np.where(steep[:, None], x, ahead)
        momentum = np.where(steep, 1.0, following)

        left = np.flatnonzero(best_gaps[racing] > targets[racing])
        if len(left) <= len(racing) // 2:
            objective, racing = objective.take(left), racing[left]
            x, y, momentum, L = x[left], y[left], momentum[left], L[left]
    return Minima(best, best_gaps, bool((best_gaps <= targets).all()))


def _inner(left: Array, right: Array) -> Vector:
    return np.asarray(np.einsum("ij,ij->i", left, right))
