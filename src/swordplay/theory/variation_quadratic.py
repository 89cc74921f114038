r"""From one quadratic to the next: :math:`f_t(x) - f_{t-1}(x) = c - \langle b, x \rangle +
\tfrac12 x^\top M x`.

Quadratics over a ball, from above.

The largest value of a quadratic over a ball, convex or not, is the smallest value of its
one-dimensional dual, and *every* dual value is an upper bound: where the search stops early the
answer errs on the safe side.
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

CORNER_DIM = 10
"""Boxes of at most so many coordinates have their corners visited one by one: 1024 of them."""
CORNER_BUDGET = 1 << 20
"""Numbers that may be held at once while corners are visited (8 MB)."""


class Suprema(NamedTuple):
    """One supremum per change, and whether they are exact or upper bounds."""

    values: Vector
    exact: bool


class Quadratic(NamedTuple):
    r""":math:`\tfrac12 x^\top A x - b^\top x + c`."""

    matrix: Matrix
    vector: Vector
    constant: float


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
class AffineChange:
    """B changes between quadratics: M, b and c of shapes ``(B, d, d)``, ``(B, d)`` and ``(B,)``."""

    matrices: Array
    vectors: Matrix
    constants: Vector

    @classmethod
    def between(cls, losses: Sequence[Loss]) -> AffineChange | None:
        """The changes from each loss to the next, if all are quadratics of one width."""
        forms = [form for form in map(as_quadratic, losses) if form is not None]
        if len(forms) < len(losses) or len({len(form.vector) for form in forms}) > 1:
            return None
        matrices, vectors, constants = (np.array(part) for part in zip(*forms, strict=True))
        return cls(np.diff(matrices, axis=0), np.diff(vectors, axis=0), np.diff(constants))

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(self.vectors.shape[1])

    def gradients(self, point: Vector) -> Matrix:
        """M x - b."""
        return np.asarray(self.matrices @ point - self.vectors)

    def values(self, point: Vector) -> Vector:
        """Change of value, c - <b, x> + x'Mx/2."""
        return np.asarray(self.constants + 0.5 * (self.gradients(point) - self.vectors) @ point)

    def gradient_suprema(self, domain: Domain) -> Suprema:
        """Largest squared norm of the gradients' change over the domain."""
        return _largest_gradient(domain, self)

    def function_suprema(self, domain: Domain) -> Suprema:
        """Largest change of value over the domain."""
        return _largest_value(domain, self)


@singledispatch
def _largest_gradient(domain: Domain, change: AffineChange) -> Suprema:
    by_ball, by_box = (
        _largest_gradient(enclosing_ball(domain), change),
        _largest_gradient(enclosing_box(domain), change),
    )
    return Suprema(np.minimum(by_ball.values, by_box.values), exact=domain.dim == 1)


@_largest_gradient.register
def _(domain: Ball, change: AffineChange) -> Suprema:
    return Suprema(
        largest_squared_gradient(change.matrices, change.gradients(domain.center), domain.radius),
        exact=True,
    )


@_largest_gradient.register
def _(domain: Simplex, change: AffineChange) -> Suprema:
    # Convex in x, so largest at a vertex s e_j, where the gradient is a column of s M less b.
    at_vertices = domain.total * change.matrices - change.vectors[:, :, None]
    return Suprema(np.square(at_vertices).sum(axis=1).max(axis=1), exact=True)


@_largest_gradient.register
def _(domain: Box, change: AffineChange) -> Suprema:
    half, at_center = (domain.upper - domain.lower) / 2, change.gradients(domain.center)
    # Row i of |M z + g| is at most |g_i| + sum_j |M_ij| h_j; with a diagonal M one corner attains
    # all rows at once.
    by_rows = np.square(np.abs(at_center) + np.abs(change.matrices) @ half).sum(axis=1)
    if not _off_diagonal(change.matrices).any():
        return Suprema(by_rows, exact=True)
    if domain.dim <= CORNER_DIM:
        return Suprema(_largest_at_corners(change.matrices, at_center, half), exact=True)
    by_ball = largest_squared_gradient(change.matrices, at_center, domain.diameter / 2)
    return Suprema(np.minimum(by_rows, by_ball), exact=False)


def _largest_at_corners(matrices: Array, gradients: Matrix, half: Vector) -> Vector:
    """Largest |M z + g|^2 over z = (±h_1, ..., ±h_d): a convex function is largest at a corner."""
    corners = np.array(list(product((-1.0, 1.0), repeat=len(half)))).T * half[:, None]
    batch = max(1, CORNER_BUDGET // corners.size)
    largest = [
        np.square(M @ corners + g[:, :, None]).sum(axis=1).max(axis=1)
        for M, g in (
            (matrices[i : i + batch], gradients[i : i + batch])
            for i in range(0, len(matrices), batch)
        )
    ]
    return np.concatenate(largest)


@singledispatch
def _largest_value(domain: Domain, change: AffineChange) -> Suprema:
    by_ball, by_box = (
        _largest_value(enclosing_ball(domain), change),
        _largest_value(enclosing_box(domain), change),
    )
    return Suprema(np.minimum(by_ball.values, by_box.values), exact=domain.dim == 1)


@_largest_value.register
def _(domain: Ball, change: AffineChange) -> Suprema:
    at_center = change.gradients(domain.center), change.values(domain.center)
    return Suprema(largest_magnitude(change.matrices, *at_center, domain.radius), exact=True)


@_largest_value.register
def _(domain: Simplex, change: AffineChange) -> Suprema:
    # With sum_j x_j = s the change is x'Qx, an average of the entries of s^2 Q: at most the largest
    # entry, which is attained where that entry stands on the diagonal.
    b, s = change.vectors, domain.total
    entries = (
        s**2 / 2 * change.matrices
        - s / 2 * (b[:, :, None] + b[:, None, :])
        + change.constants[:, None, None]
    )
    largest = np.abs(entries).max(axis=(1, 2))
    attained = np.abs(np.diagonal(entries, axis1=1, axis2=2)).max(axis=1) == largest
    by_ball = _largest_value(enclosing_ball(domain), change).values
    return Suprema(
        np.where(attained, largest, np.minimum(largest, by_ball)), exact=bool(attained.all())
    )


@_largest_value.register
def _(domain: Box, change: AffineChange) -> Suprema:
    half, g, c = (
        (domain.upper - domain.lower) / 2,
        change.gradients(domain.center),
        change.values(domain.center),
    )
    curvatures = np.diagonal(change.matrices, axis1=1, axis2=2)
    off_diagonal = _off_diagonal(change.matrices)
    coupling = 0.5 * np.einsum("bij,i,j->b", np.abs(off_diagonal), half, half)
    highest = c + _interval_maximum(curvatures, g, half).sum(axis=1)
    lowest = c - _interval_maximum(-curvatures, g, half).sum(axis=1)
    separable = np.maximum(highest, -lowest) + coupling
    if not off_diagonal.any():
        return Suprema(separable, exact=True)
    return Suprema(
        np.minimum(separable, largest_magnitude(change.matrices, g, c, domain.diameter / 2)),
        exact=False,
    )


def _interval_maximum(curvatures: Matrix, slopes: Matrix, half: Vector) -> Matrix:
    """Largest m z^2 / 2 + g z for |z| <= h: at an end, or at the top z = |g| / |m| of a parabola
    that opens down.
    """
    pull = np.abs(slopes)
    inside = pull < -curvatures * half
    top = np.divide(pull, -curvatures, out=np.broadcast_to(half, pull.shape).copy(), where=inside)
    return np.asarray(0.5 * curvatures * top**2 + pull * top)


def _off_diagonal(matrices: Array) -> Array:
    return np.asarray(matrices * (1.0 - np.eye(matrices.shape[-1])))


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
