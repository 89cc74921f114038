r"""Changes between quadratic losses, and the largest values of quadratics over a ball.

The change between two quadratics is a quadratic, :math:`f_t(x) - f_{t-1}(x) = c - \langle b, x
\rangle + \tfrac12 x^\top M x`, where M may be indefinite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import product
from typing import NamedTuple

import numpy as np

from swordplay.core.types import Array, Domain, Loss, Matrix, Vector
from swordplay.parts.domains import Ball, Box, Simplex, enclosing_ball, enclosing_box
from swordplay.parts.losses import QuadraticLoss, SquaredLoss

MAX_CORNER_DIM = 10
"""Largest dimension of boxes whose corners are all evaluated (2^10 = 1,024 corners)."""
MAX_CORNER_NUMBERS = 1 << 20
"""Most numbers held at once while corners are evaluated (8 MB)."""
BISECTIONS = 64
"""Halvings of the dual bracket: each leaves half of the error, and a double has 53 bits."""


class Suprema(NamedTuple):
    """The supremum of each of B changes over a domain."""

    values: Vector
    """Shape ``(B,)``."""
    is_exact: bool
    """Whether the values are exact; otherwise they are upper bounds."""


class Quadratic(NamedTuple):
    r"""The function :math:`\tfrac12 x^\top A x - b^\top x + c`."""

    matrix: Matrix
    """A."""
    vector: Vector
    """b."""
    constant: float
    """c."""


@singledispatch
def as_quadratic(loss: Loss) -> Quadratic | None:
    """The loss as a quadratic, or None if it is not one."""
    return None


@as_quadratic.register
def _(loss: QuadraticLoss) -> Quadratic:
    return Quadratic(loss.matrix, loss.vector, loss.constant)


@as_quadratic.register
def _(loss: SquaredLoss) -> Quadratic:
    a, y = loss.features, loss.target
    return Quadratic(np.outer(a, a), y * a, 0.5 * y**2)


@dataclass(frozen=True)
class QuadraticChange:
    r"""B changes :math:`h(x) = c - \langle b, x \rangle + \tfrac12 x^\top M x` between quadratics.

    Attributes
    ----------
    matrices, vectors, constants
        M, b and c, shapes ``(B, d, d)``, ``(B, d)`` and ``(B,)``.
    """

    matrices: Array
    vectors: Matrix
    constants: Vector

    @classmethod
    def between_if_quadratic(cls, losses: Sequence[Loss]) -> QuadraticChange | None:
        """The changes from each loss to the next; None unless all are quadratics of one dim."""
        quadratics = [quadratic for quadratic in map(as_quadratic, losses) if quadratic is not None]
        if (
            len(quadratics) < len(losses)
            or len({len(quadratic.vector) for quadratic in quadratics}) > 1
        ):
            return None
        matrices, vectors, constants = (
            np.array(entries) for entries in zip(*quadratics, strict=True)
        )
        return cls(np.diff(matrices, axis=0), np.diff(vectors, axis=0), np.diff(constants))

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(self.vectors.shape[1])

    def gradients(self, point: Vector) -> Matrix:
        """M x - b at one point, shape ``(B, d)``."""
        return np.asarray(self.matrices @ point - self.vectors)

    def values(self, point: Vector) -> Vector:
        """c - <b, x> + x'Mx/2 at one point, shape ``(B,)``."""
        return np.asarray(self.constants + 0.5 * (self.gradients(point) - self.vectors) @ point)

    def gradient_suprema(self, domain: Domain) -> Suprema:
        r""":math:`\sup_{x \in X} \|M x - b\|^2` of each change."""
        return _gradient_suprema(domain, self)

    def function_suprema(self, domain: Domain) -> Suprema:
        r""":math:`\sup_{x \in X} |h(x)|` of each change."""
        return _function_suprema(domain, self)


@singledispatch
def _gradient_suprema(domain: Domain, change: QuadraticChange) -> Suprema:
    # Domains of other kinds: the better of the bounds for an enclosing ball and an enclosing box.
    ball_bounds = _gradient_suprema(enclosing_ball(domain), change)
    box_bounds = _gradient_suprema(enclosing_box(domain), change)
    return Suprema(np.minimum(ball_bounds.values, box_bounds.values), is_exact=domain.dim == 1)


@_gradient_suprema.register
def _(domain: Ball, change: QuadraticChange) -> Suprema:
    return Suprema(
        largest_squared_gradient(change.matrices, change.gradients(domain.center), domain.radius),
        is_exact=True,
    )


@_gradient_suprema.register
def _(domain: Simplex, change: QuadraticChange) -> Suprema:
    # Convex in x, so largest at a vertex s e_j, where the gradient is column j of s M minus b.
    gradients_at_vertices = domain.total * change.matrices - change.vectors[:, :, None]
    return Suprema(np.square(gradients_at_vertices).sum(axis=1).max(axis=1), is_exact=True)


@_gradient_suprema.register
def _(domain: Box, change: QuadraticChange) -> Suprema:
    half_sides = (domain.upper - domain.lower) / 2
    gradients_at_center = change.gradients(domain.center)
    # With z = x - c, entry i of |M z + g| is at most |g_i| + sum_j |M_ij| half_sides_j. With a
    # diagonal M one corner attains the maxima of all entries.
    row_bounds = np.square(np.abs(gradients_at_center) + np.abs(change.matrices) @ half_sides).sum(
        axis=1
    )
    if not _off_diagonal(change.matrices).any():
        return Suprema(row_bounds, is_exact=True)
    if domain.dim <= MAX_CORNER_DIM:
        return Suprema(
            _largest_at_corners(change.matrices, gradients_at_center, half_sides), is_exact=True
        )
    ball_bounds = largest_squared_gradient(
        change.matrices, gradients_at_center, domain.diameter / 2
    )
    return Suprema(np.minimum(row_bounds, ball_bounds), is_exact=False)


def _largest_at_corners(matrices: Array, gradients: Matrix, half_sides: Vector) -> Vector:
    """Largest |M z + g|^2 over the box |z_i| <= half_sides_i, shape ``(B,)``.

    Convex in z, so largest at one of the corners, the columns of an array ``(d, 2^d)``.
    """
    corners = np.array(list(product((-1.0, 1.0), repeat=len(half_sides)))).T * half_sides[:, None]
    batch_size = max(1, MAX_CORNER_NUMBERS // corners.size)
    largest = []
    for start in range(0, len(matrices), batch_size):
        M = matrices[start : start + batch_size]
        g = gradients[start : start + batch_size]
        largest.append(np.square(M @ corners + g[:, :, None]).sum(axis=1).max(axis=1))
    return np.concatenate(largest)


@singledispatch
def _function_suprema(domain: Domain, change: QuadraticChange) -> Suprema:
    # Domains of other kinds: the better of the bounds for an enclosing ball and an enclosing box.
    ball_bounds = _function_suprema(enclosing_ball(domain), change)
    box_bounds = _function_suprema(enclosing_box(domain), change)
    return Suprema(np.minimum(ball_bounds.values, box_bounds.values), is_exact=domain.dim == 1)


@_function_suprema.register
def _(domain: Ball, change: QuadraticChange) -> Suprema:
    g, c = change.gradients(domain.center), change.values(domain.center)
    return Suprema(largest_magnitude(change.matrices, g, c, domain.radius), is_exact=True)


@_function_suprema.register
def _(domain: Simplex, change: QuadraticChange) -> Suprema:
    # With sum_j x_j = s, the change at x is the mean of `entries` with weights x_i x_j / s^2. So it
    # is at most the largest entry, which a vertex attains if the entry is on the diagonal.
    b, s = change.vectors, domain.total
    entries = (
        s**2 / 2 * change.matrices
        - s / 2 * (b[:, :, None] + b[:, None, :])
        + change.constants[:, None, None]
    )
    largest = np.abs(entries).max(axis=(1, 2))
    is_attained = np.abs(np.diagonal(entries, axis1=1, axis2=2)).max(axis=1) == largest
    ball_bounds = _function_suprema(enclosing_ball(domain), change).values
    return Suprema(
        np.where(is_attained, largest, np.minimum(largest, ball_bounds)),
        is_exact=bool(is_attained.all()),
    )


@_function_suprema.register
def _(domain: Box, change: QuadraticChange) -> Suprema:
    half_sides = (domain.upper - domain.lower) / 2
    g, c = change.gradients(domain.center), change.values(domain.center)
    # The diagonal part is maximised coordinate by coordinate, the rest by its absolute values.
    curvatures = np.diagonal(change.matrices, axis1=1, axis2=2)
    off_diagonal = _off_diagonal(change.matrices)
    coupling = 0.5 * np.einsum("bij,i,j->b", np.abs(off_diagonal), half_sides, half_sides)
    highest = c + _interval_maximum(curvatures, g, half_sides).sum(axis=1)
    lowest = c - _interval_maximum(-curvatures, g, half_sides).sum(axis=1)
    coordinate_bounds = np.maximum(highest, -lowest) + coupling
    if not off_diagonal.any():
        return Suprema(coordinate_bounds, is_exact=True)
    ball_bounds = largest_magnitude(change.matrices, g, c, domain.diameter / 2)
    return Suprema(np.minimum(coordinate_bounds, ball_bounds), is_exact=False)


def _interval_maximum(curvatures: Matrix, slopes: Matrix, half_sides: Vector) -> Matrix:
    """Largest m z^2 / 2 + g z for |z| <= h, with curvatures m, slopes g and half sides h.

    Attained at an end, or, for m < 0, at z = |g| / |m|, the parabola's vertex, if that is inside.
    """
    abs_slopes = np.abs(slopes)
    is_inside = abs_slopes < -curvatures * half_sides
    maximizer = np.divide(
        abs_slopes,
        -curvatures,
        out=np.broadcast_to(half_sides, abs_slopes.shape).copy(),
        where=is_inside,
    )
    return np.asarray(0.5 * curvatures * maximizer**2 + abs_slopes * maximizer)


def _off_diagonal(matrices: Array) -> Array:
    """The matrices with zeros on their diagonals."""
    return np.asarray(matrices * (1.0 - np.eye(matrices.shape[-1])))


def largest_squared_gradient(hessians: Array, gradients: Matrix, radius: float) -> Vector:
    r""":math:`\max_{\|z\| \le r} \|g + M z\|^2` of B affine functions over a ball.

    Parameters
    ----------
    hessians, gradients
        Symmetric M, shape ``(B, k, k)``, and g, shape ``(B, k)``.
    radius
        r.
    """
    eigenvalues, rotated_gradients = _diagonalized(hessians, gradients)
    # |g + M z|^2 = |g|^2 + sum_i e_i^2 z_i^2 + 2 e_i g_i z_i in the basis of the eigenvectors.
    return np.asarray(
        np.square(gradients).sum(axis=1)
        + ball_maximum(np.square(eigenvalues), eigenvalues * rotated_gradients, radius)
    )


def largest_magnitude(
    hessians: Array, gradients: Matrix, constants: Vector, radius: float
) -> Vector:
    r""":math:`\max_{\|z\| \le r} |c + \langle g, z \rangle + \tfrac12 z^\top M z|` of B quadratics.

    Parameters
    ----------
    hessians, gradients, constants
        Symmetric M, shape ``(B, k, k)``, g, shape ``(B, k)``, and c, shape ``(B,)``.
    radius
        r.
    """
    eigenvalues, rotated_gradients = _diagonalized(hessians, gradients)
    highest = constants + ball_maximum(0.5 * eigenvalues, 0.5 * rotated_gradients, radius)
    lowest = constants - ball_maximum(-0.5 * eigenvalues, 0.5 * rotated_gradients, radius)
    return np.asarray(np.maximum(highest, -lowest))


def ball_maximum(curvatures: Matrix, slopes: Matrix, radius: float) -> Vector:
    r"""Largest value of B separable quadratics over the ball of radius r around the origin.

    .. math:: \max_{\|z\| \le r} \sum_i q_i z_i^2 + 2 p_i z_i
        = \min_{\mu \ge \max(q_1, \dots, q_k, 0)} \mu r^2 + \sum_i \frac{p_i^2}{\mu - q_i}, \qquad
        \tfrac00 = 0

    Every value of this one-dimensional dual is an upper bound, even if the search stops early.
    Coordinates with q = p = 0 may be left out. The hard case of trust
    regions (p vanishes where q is largest) is the left end of the dual's range.

    Parameters
    ----------
    curvatures, slopes
        q and p, shape ``(B, k)``.
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
    least_mu = np.maximum(curvatures.max(axis=1), 0.0)
    mu_gaps = least_mu[:, None] - curvatures
    scaled_slopes = np.abs(slopes) / radius
    # With s = mu - least_mu, the best s solves sum_i (scaled_slopes_i / (s + mu_gaps_i))^2 = 1.
    # At this root no term exceeds 1, and one term is at least 1/k: these give the two ends of the
    # bracket. If the sum is below 1 at s = 0, bisection converges to s = 0.
    low = np.maximum((scaled_slopes - mu_gaps).max(axis=1), 0.0)
    high = np.maximum(
        (math.sqrt(scaled_slopes.shape[1]) * scaled_slopes - mu_gaps).max(axis=1), 0.0
    )
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        is_past_root = (
            np.square(_ratio(scaled_slopes, middle[:, None] + mu_gaps)).sum(axis=1) <= 1.0
        )
        low, high = np.where(is_past_root, low, middle), np.where(is_past_root, middle, high)
    # Evaluate the dual at the upper end of the bracket: to the right of the minimum its slope is at
    # most r^2, to the left it is unbounded.
    return np.asarray(
        (least_mu + high) * radius**2
        + radius * (np.abs(slopes) * _ratio(scaled_slopes, high[:, None] + mu_gaps)).sum(axis=1)
    )


def _diagonalized(hessians: Array, gradients: Matrix) -> tuple[Matrix, Matrix]:
    """Eigenvalues, and the gradients in the basis of the eigenvectors, shape ``(B, k)`` each."""
    eigenvalues, basis = np.linalg.eigh(hessians)
    return eigenvalues, np.einsum("bij,bi->bj", basis, gradients)  # basis.T @ gradient


def _ratio(numerators: Array, denominators: Array) -> Array:
    """Quotients of numbers that are not negative, with 0/0 = 0."""
    return np.divide(numerators, denominators, out=np.zeros_like(numerators), where=numerators > 0)
