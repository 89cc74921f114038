r"""Quadratics over a ball, from above.

The largest value of a quadratic over a ball, convex or not, is the smallest value of its
one-dimensional dual, and *every* dual value is an upper bound: where the search stops early the
answer errs on the safe side.
"""

from __future__ import annotations

import math

import numpy as np

from swordplay.core.types import Array, Matrix, Vector

BISECTIONS = 64
"""Halvings of the dual bracket: each leaves half of the error, and a double has 53 bits."""


def ball_maximum(curvatures: Matrix, slopes: Matrix, radius: float) -> Vector:
    r"""Largest value of many separable quadratics over the ball of radius r around the origin.

    .. math:: \max_{\|z\| \le r} \sum_i q_i z_i^2 + 2 p_i z_i
        = \min_{\mu \ge \max(q_1, \dots, q_k, 0)} \mu r^2 + \sum_i \frac{p_i^2}{\mu - q_i}, \qquad
        \tfrac00 = 0

    Coordinates with q = p = 0 may be left out. The hard case (p vanishes where q is largest) is the
    left end of the dual's range and needs no care of its own.

    Parameters
    ----------
    curvatures, slopes
        q and p, shape ``(B, k)``: B problems.
    radius
        r.

    Returns
    -------
    Vector
        Shape ``(B,)``; never below the maximum except by rounding.

    References
    ----------
    Conn, Gould, Toint (2000), "Trust-region methods", chapter 7.
    """
    floor = np.maximum(curvatures.max(axis=1), 0.0)
    room = floor[:, None] - curvatures
    pull = np.abs(slopes) / radius
    # The best s = mu - floor solves sum_i (pull_i / (s + room_i))^2 = 1: no term may exceed 1
    # there, and one reaches 1/k. Where the sum is below 1 already at s = 0, the bracket closes on
    # the left end.
    low = np.maximum((pull - room).max(axis=1), 0.0)
    high = np.maximum((math.sqrt(pull.shape[1]) * pull - room).max(axis=1), 0.0)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        beyond = np.square(_ratio(pull, middle[:, None] + room)).sum(axis=1) <= 1.0
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    # On the right of the minimum the dual is no steeper than r^2, on the left it may be a cliff.
    return np.asarray(
        (floor + high) * radius**2
        + radius * (np.abs(slopes) * _ratio(pull, high[:, None] + room)).sum(axis=1)
    )


def largest_squared_gradient(hessians: Array, gradients: Matrix, radius: float) -> Vector:
    r""":math:`\max_{\|z\| \le r} \|g + M z\|^2` for symmetric M, shape ``(B, k, k)``, and g,
    shape ``(B, k)``.
    """
    eigenvalues, pulls = _diagonal(hessians, gradients)
    return np.asarray(
        np.square(gradients).sum(axis=1)
        + ball_maximum(np.square(eigenvalues), eigenvalues * pulls, radius)
    )


def largest_magnitude(
    hessians: Array, gradients: Matrix, constants: Vector, radius: float
) -> Vector:
    r""":math:`\max_{\|z\| \le r} |c + \langle g, z \rangle + \tfrac12 z^\top M z|`.

    M need not be definite.
    """
    eigenvalues, pulls = _diagonal(hessians, gradients)
    highest = constants + ball_maximum(0.5 * eigenvalues, 0.5 * pulls, radius)
    lowest = constants - ball_maximum(-0.5 * eigenvalues, 0.5 * pulls, radius)
    return np.asarray(np.maximum(highest, -lowest))


def _diagonal(hessians: Array, gradients: Matrix) -> tuple[Matrix, Matrix]:
    """Eigenvalues, and the gradients in the basis of the eigenvectors."""
    eigenvalues, basis = np.linalg.eigh(hessians)
    return eigenvalues, np.einsum("bij,bi->bj", basis, gradients)


def _ratio(numerators: Array, denominators: Array) -> Array:
    """Quotients with 0/0 = 0."""
    return np.divide(numerators, denominators, out=np.zeros_like(numerators), where=numerators > 0)
