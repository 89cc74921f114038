r"""Pairs of points of second-order cones, many at once, scaled to meet in the middle.

A cone point is a number and a vector with :math:`x_0 \ge \|x_1\|`. For a primal point s and a dual
point ζ the scaling W of Nesterov and Todd maps both to one point, :math:`\lambda = W^{-1} s = W
\zeta`; steps computed there are symmetric.

References
----------
Vandenberghe (2010), "The CVXOPT linear and quadratic cone program solvers", sections 4 and 5;
Domahidi, Chu, Boyd (2013), ECOS.

Pairs of slacks and multipliers whose products all go to one number: what the parts of an
interior-point method share.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from swordplay.core.types import Array, Matrix, Vector

EDGE = 1e-16
"""Relative distance to the boundary of a cone that rounding may not take a point below."""


class ConePoints(NamedTuple):
    """N points of the cone in n + 1 dimensions."""

    head: Vector
    """Shape ``(N,)``."""
    tail: Matrix
    """Shape ``(N, n)``."""

    @property
    def opposite(self) -> ConePoints:
        """The points times -1."""
        return ConePoints(-self.head, -self.tail)


class Scaling:
    r""":math:`W = \eta \begin{pmatrix} w_0 & w_1^\top \\ w_1 & I + w_1 w_1^\top / (1 + w_0)
    \end{pmatrix}` of N pairs.

    Attributes
    ----------
    size
        η, shape ``(N,)``.
    w
        :math:`(w_0, w_1)` with :math:`w_0^2 - \|w_1\|^2 = 1`.
    middle
        λ.
    """

    def __init__(self, primal: ConePoints, dual: ConePoints) -> None:
        self._primal, self._dual = _Unit(primal), _Unit(dual)
        (s, p), (z, q) = (
            (self._primal.point, self._primal.size),
            (self._dual.point, self._dual.size),
        )
        twice = np.sqrt(2.0 * (1.0 + _dot(s, z)))  # 2 γ
        self.size = np.sqrt(p / q)
        self.w = ConePoints((s.head + z.head) / twice, (s.tail - z.tail) / twice[:, None])
        self.middle = self.up(dual)

    def up(self, x: ConePoints) -> ConePoints:
        """W x."""
        along = inner(self.w.tail, x.tail)
        head = self.w.head * x.head + along
        tail = x.tail + (x.head + along / (1.0 + self.w.head))[:, None] * self.w.tail
        return ConePoints(self.size * head, self.size[:, None] * tail)

    def down(self, x: ConePoints) -> ConePoints:
        r""":math:`W^{-1} x`."""
        along = inner(self.w.tail, x.tail)
        head = self.w.head * x.head - along
        tail = x.tail + (along / (1.0 + self.w.head) - x.head)[:, None] * self.w.tail
        return ConePoints(head / self.size, tail / self.size[:, None])

    def twice_up(self, tails: Matrix) -> ConePoints:
        r""":math:`W^2 x` of points with a head of 0; :math:`W^2 = \eta^2 (2 w w^\top - J)`."""
        square, along = self.size**2, 2.0 * inner(self.w.tail, tails)
        return ConePoints(
            square * along * self.w.head, square[:, None] * (tails + along[:, None] * self.w.tail)
        )

    def twice_down(self, tails: Matrix) -> ConePoints:
        r""":math:`W^{-2} x` of points with a head of 0."""
        square, along = self.size**-2, 2.0 * inner(self.w.tail, tails)
        return ConePoints(
            -square * along * self.w.head, square[:, None] * (tails + along[:, None] * self.w.tail)
        )

    def corrected(self, mu: float, dual_step: ConePoints) -> ConePoints:
        r"""The x with :math:`\lambda \circ x = \mu e - \lambda \circ \lambda - (W^{-1} \Delta s)
        \circ (W \Delta \zeta)`.

        The steps are those towards μ = 0, for which :math:`W^{-1} \Delta s + W \Delta \zeta =
        -\lambda`.
        """
        m, up = self.middle, self.up(dual_step)
        second = _product(ConePoints(-m.head - up.head, -m.tail - up.tail), up)
        head, tail = mu - second.head, -second.tail
        x0 = (m.head * head - inner(m.tail, tail)) / _determinant(m)
        return ConePoints(x0 - m.head, (tail - x0[:, None] * m.tail) / m.head[:, None] - m.tail)

    def longest_step(self, primal: ConePoints, dual: ConePoints) -> float:
        """How many times both steps fit before a point leaves its cone; infinite if none does."""
        fastest = max(self._primal.speed(primal), self._dual.speed(dual))
        return 1.0 / fastest if fastest > 0.0 else np.inf


class _Unit:
    """Points of determinant 1, and the square roots of the determinants that they had."""

    def __init__(self, point: ConePoints) -> None:
        self.size = np.sqrt(_determinant(point))
        self.point = ConePoints(point.head / self.size, point.tail / self.size[:, None])

    def speed(self, step: ConePoints) -> float:
        """How fast a step nears the boundary: 1 over the number of steps to it, 0 if it never
        does.
        """
        x = self.point
        first = (x.head * step.head - inner(x.tail, step.tail)) / self.size
        pull = (first + step.head / self.size) / (1.0 + x.head)
        rest = step.tail / self.size[:, None] - pull[:, None] * x.tail
        return float((np.sqrt(inner(rest, rest)) - first).max(initial=0.0))


def inner(left: Array, right: Array) -> Vector:
    """Inner products of row with row."""
    return np.asarray(np.einsum("ij,ij->i", left, right))


def _determinant(x: ConePoints) -> Vector:
    length = np.sqrt(inner(x.tail, x.tail))
    return np.asarray(np.maximum(x.head - length, EDGE * x.head) * (x.head + length))


def _dot(x: ConePoints, y: ConePoints) -> Vector:
    return np.asarray(x.head * y.head + inner(x.tail, y.tail))


def _product(x: ConePoints, y: ConePoints) -> ConePoints:
    """Jordan product."""
    return ConePoints(_dot(x, y), x.head[:, None] * y.tail + y.head[:, None] * x.tail)


class ConePairs(ABC):
    """Points of second-order cones, and multipliers in the same cones.

    Both move by steps of their own: next to a boundary they are smaller than what the comparators
    round by.
    """

    def __init__(self, primal: ConePoints, dual: ConePoints) -> None:
        self.primal, self.dual = primal, dual

    @property
    def products(self) -> float:
        """Sum of all products of slacks and multipliers."""
        return float(
            (self.primal.head * self.dual.head + inner(self.primal.tail, self.dual.tail)).sum()
        )

    @property
    def count(self) -> int:
        """How many products there are."""
        return len(self.primal.head)

    @abstractmethod
    def aim(self, mu: float) -> Matrix:
        """What is asked of the comparators for products of mu."""

    def scale(self) -> None:
        """Take the measure of the present pairs."""
        self.scaling = Scaling(self.primal, self.dual)
        self._steps: tuple[ConePoints, ConePoints] | None = None

    def take(self, share: float) -> None:
        """Take a share of the last step."""
        assert self._steps is not None
        self.primal, self.dual = (
            ConePoints(now.head + share * step.head, now.tail + share * step.tail)
            for now, step in zip((self.primal, self.dual), self._steps, strict=True)
        )

    def _plan(self, primal: ConePoints, dual: ConePoints) -> float:
        """Remember a step; how many times it fits."""
        self._steps = primal, dual
        return self.scaling.longest_step(primal, dual)


class NumberPairs(ABC):
    """Positive numbers, and multipliers as positive."""

    def __init__(self, slacks: Array, pressures: Array) -> None:
        self.slacks, self.pressures = slacks, pressures

    @property
    def products(self) -> float:
        """Sum of all products of slacks and multipliers."""
        return float((self.slacks * self.pressures).sum())

    @property
    def count(self) -> int:
        """How many products there are."""
        return int(self.slacks.size)

    @abstractmethod
    def aim(self, mu: float) -> Matrix:
        """What is asked of the comparators for products of mu."""

    def scale(self) -> None:
        """Take the measure of the present pairs."""
        self._steps: tuple[Array, Array] | None = None

    def take(self, share: float) -> None:
        """Take a share of the last step."""
        assert self._steps is not None
        self.slacks, self.pressures = (
            self.slacks + share * self._steps[0],
            self.pressures + share * self._steps[1],
        )

    def _missing(self, mu: float) -> Array:
        """What the multipliers miss, corrected by what the last step would have missed."""
        second = 0.0 if self._steps is None else self._steps[0] * self._steps[1]
        return np.asarray((mu - second) / self.slacks - self.pressures)

    def _plan(self, slacks: Array, missing: Array) -> float:
        """Remember a step of the slacks and the multipliers' answer; how many times it fits."""
        self._steps = slacks, missing - self.pressures * slacks / self.slacks
        return min(_longest(self.slacks, slacks), _longest(self.pressures, self._steps[1]))


def _longest(positive: Array, step: Array) -> float:
    fastest = float((-step / positive).max(initial=0.0))
    return 1.0 / fastest if fastest > 0.0 else math.inf
