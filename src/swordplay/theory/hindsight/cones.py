r"""Complementarity pairs of an interior-point method: in second-order cones, and of numbers.

A point of a second-order cone is a number (head) and a vector (tail) with :math:`x_0 \ge \|x_1\|`.
For a primal point s and a dual point ζ the Nesterov-Todd scaling W maps both to the same point,
:math:`\lambda = W^{-1} s = W \zeta`; a Newton step in these coordinates is symmetric in s and ζ.

A pair stores its primal and its dual value, and does not compute them from the comparators: close
to a boundary both are smaller than the rounding error of the comparators.

References
----------
Vandenberghe (2010), "The CVXOPT linear and quadratic cone program solvers", sections 4 and 5;
Domahidi, Chu, Boyd (2013), ECOS.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from swordplay.core.types import Array, Matrix, Vector
from swordplay.parts.streams.linear import row_products

MIN_BOUNDARY_DISTANCE = 1e-16
"""Smallest distance to the boundary of a cone, relative to the head; smaller is rounding error."""


class ConePairs(ABC):
    """N pairs of a primal and a dual point of second-order cones.

    The methods are called in the order of a Newton step. :meth:`start_step` computes the scaling,
    :meth:`right_hand_side` computes the constraint's part of the linear system, ``set_step`` of the
    subclass turns the solution of the system into a step of the pairs, and :meth:`take_step` takes
    a fraction of it.
    """

    def __init__(self, primal: ConePoints, dual: ConePoints) -> None:
        self.primal, self.dual = primal, dual

    @property
    def product_sum(self) -> float:
        """Sum of the inner products of primal and dual points."""
        return float(
            (
                self.primal.head * self.dual.head + row_products(self.primal.tail, self.dual.tail)
            ).sum()
        )

    @property
    def pair_count(self) -> int:
        """N."""
        return len(self.primal.head)

    @abstractmethod
    def right_hand_side(self, mu: float) -> Matrix:
        """Compute this constraint's part of the right-hand side, for products that equal ``mu``.

        Also stores the part of the step that does not depend on the solution of the system.
        """

    def start_step(self) -> None:
        """Compute the scaling of the present points, and forget the step of the last iteration."""
        self.scaling = NesterovToddScaling(self.primal, self.dual)
        self._last_step: ConeStep | None = None

    def take_step(self, fraction: float) -> None:
        """Add a fraction of the last step to the points; a negative fraction takes it back."""
        assert self._last_step is not None
        self.primal = self.primal.moved(self._last_step.primal, fraction)
        self.dual = self.dual.moved(self._last_step.dual, fraction)

    def _store_step(self, primal_step: ConePoints, dual_step: ConePoints) -> float:
        """Store a step; return the largest multiple of it that keeps all points in their cones."""
        self._last_step = ConeStep(primal_step, dual_step)
        return self.scaling.longest_step(primal_step, dual_step)


class NumberPairs(ABC):
    """Pairs of a positive slack and a positive multiplier, as arrays of one shape.

    The methods are called in the order that :class:`ConePairs` describes.
    """

    def __init__(self, slacks: Array, multipliers: Array) -> None:
        self.slacks, self.multipliers = slacks, multipliers

    @property
    def product_sum(self) -> float:
        """Sum of the products of slacks and multipliers."""
        return float((self.slacks * self.multipliers).sum())

    @property
    def pair_count(self) -> int:
        """Number of pairs."""
        return int(self.slacks.size)

    @abstractmethod
    def right_hand_side(self, mu: float) -> Matrix:
        """Compute this constraint's part of the right-hand side, for products that equal ``mu``.

        Also stores the part of the step that does not depend on the solution of the system.
        """

    def start_step(self) -> None:
        """Forget the step of the last iteration."""
        self._last_step: NumberStep | None = None

    def take_step(self, fraction: float) -> None:
        """Add a fraction of the last step to the pairs; a negative fraction takes it back."""
        assert self._last_step is not None
        self.slacks = self.slacks + fraction * self._last_step.slacks
        self.multipliers = self.multipliers + fraction * self._last_step.multipliers

    def _multiplier_steps(self, mu: float) -> Array:
        r"""Steps of the multipliers that make all products ``mu`` if no slack moves.

        :math:`(\mu - \Delta s \, \Delta \nu) / s - \nu` with slacks s and multipliers ν. The
        second-order term is 0 for the predictor; the corrector takes it from the predictor's steps.
        """
        last_step = self._last_step
        second_order = 0.0 if last_step is None else last_step.slacks * last_step.multipliers
        return np.asarray((mu - second_order) / self.slacks - self.multipliers)

    def _store_step(self, slack_steps: Array, fixed_multiplier_steps: Array) -> float:
        """Store a step; return the largest multiple of it that keeps all numbers positive.

        ``fixed_multiplier_steps`` is the result of :meth:`_multiplier_steps`, for slacks that do
        not move. The part that the steps of the slacks add is computed here.
        """
        multiplier_steps = fixed_multiplier_steps - self.multipliers * slack_steps / self.slacks
        self._last_step = NumberStep(slack_steps, multiplier_steps)
        return min(
            _longest_positive_step(self.slacks, slack_steps),
            _longest_positive_step(self.multipliers, multiplier_steps),
        )


class ConePoints(NamedTuple):
    """N points of the second-order cone in n + 1 dimensions."""

    head: Vector
    """Shape ``(N,)``."""
    tail: Matrix
    """Shape ``(N, n)``."""

    @property
    def negated(self) -> ConePoints:
        """The points times -1."""
        return ConePoints(-self.head, -self.tail)

    def moved(self, step: ConePoints, fraction: float) -> ConePoints:
        """The points after a fraction of a step."""
        return ConePoints(self.head + fraction * step.head, self.tail + fraction * step.tail)


class ConeStep(NamedTuple):
    """A step of N pairs of cone points."""

    primal: ConePoints
    dual: ConePoints


class NumberStep(NamedTuple):
    """A step of pairs of numbers, arrays of one shape."""

    slacks: Array
    multipliers: Array


class NesterovToddScaling:
    r"""The matrices W that map primal and dual points of N pairs to the same points.

    .. math:: W = \eta \begin{pmatrix} w_0 & w_1^\top \\ w_1 & I + w_1 w_1^\top / (1 + w_0)
        \end{pmatrix}

    Attributes
    ----------
    eta
        η, shape ``(N,)``.
    w
        :math:`(w_0, w_1)` with :math:`w_0^2 - \|w_1\|^2 = 1`.
    scaled_points
        :math:`\lambda = W^{-1} s = W \zeta`.
    """

    def __init__(self, primal: ConePoints, dual: ConePoints) -> None:
        self._primal, self._dual = _NormalizedPoints(primal), _NormalizedPoints(dual)
        s, z = self._primal.points, self._dual.points
        # 2 γ, w and η in the notation of Vandenberghe.
        twice_gamma = np.sqrt(2.0 * (1.0 + _dot(s, z)))
        self.eta = np.sqrt(self._primal.root_determinant / self._dual.root_determinant)
        self.w = ConePoints(
            (s.head + z.head) / twice_gamma, (s.tail - z.tail) / twice_gamma[:, None]
        )
        self.scaled_points = self.multiply(dual)

    def multiply(self, x: ConePoints) -> ConePoints:
        """W x."""
        tail_product = row_products(self.w.tail, x.tail)
        head = self.w.head * x.head + tail_product
        tail = x.tail + (x.head + tail_product / (1.0 + self.w.head))[:, None] * self.w.tail
        return ConePoints(self.eta * head, self.eta[:, None] * tail)

    def solve(self, x: ConePoints) -> ConePoints:
        r""":math:`W^{-1} x`."""
        tail_product = row_products(self.w.tail, x.tail)
        head = self.w.head * x.head - tail_product
        tail = x.tail + (tail_product / (1.0 + self.w.head) - x.head)[:, None] * self.w.tail
        return ConePoints(head / self.eta, tail / self.eta[:, None])

    def multiply_twice(self, tails: Matrix) -> ConePoints:
        r""":math:`W^2 x` for points with heads of 0; :math:`W^2 = \eta^2 (2 w w^\top - J)`."""
        eta_squared, twice_product = self.eta**2, 2.0 * row_products(self.w.tail, tails)
        return ConePoints(
            eta_squared * twice_product * self.w.head,
            eta_squared[:, None] * (tails + twice_product[:, None] * self.w.tail),
        )

    def solve_twice(self, tails: Matrix) -> ConePoints:
        r""":math:`W^{-2} x` for points with heads of 0."""
        inverse_eta_squared, twice_product = self.eta**-2, 2.0 * row_products(self.w.tail, tails)
        return ConePoints(
            -inverse_eta_squared * twice_product * self.w.head,
            inverse_eta_squared[:, None] * (tails + twice_product[:, None] * self.w.tail),
        )

    def corrector(self, mu: float, dual_step: ConePoints) -> ConePoints:
        r"""Scaled right-hand side of Mehrotra's corrector step.

        The x with :math:`\lambda \circ x = \mu e - \lambda \circ \lambda - (W^{-1} \Delta s) \circ
        (W \Delta \zeta)`, where the steps are those of the predictor (μ = 0), for which
        :math:`W^{-1} \Delta s + W \Delta \zeta = -\lambda`.

        Parameters
        ----------
        mu
            μ.
        dual_step
            Δζ of the predictor.
        """
        lam, scaled_step = self.scaled_points, self.multiply(dual_step)
        # (W^-1 Δs) o (W Δζ) with W^-1 Δs = -λ - W Δζ
        second_order = _jordan_product(
            ConePoints(-lam.head - scaled_step.head, -lam.tail - scaled_step.tail), scaled_step
        )
        # Divide mu e - second_order by λ, then subtract (λ o λ) / λ = λ.
        head, tail = mu - second_order.head, -second_order.tail
        x0 = (lam.head * head - row_products(lam.tail, tail)) / _determinant(lam)
        return ConePoints(
            x0 - lam.head, (tail - x0[:, None] * lam.tail) / lam.head[:, None] - lam.tail
        )

    def longest_step(self, primal_step: ConePoints, dual_step: ConePoints) -> float:
        """Largest multiple of both steps that keeps all points in their cones; may be infinite."""
        max_rate = max(self._primal.boundary_rate(primal_step), self._dual.boundary_rate(dual_step))
        return 1.0 / max_rate if max_rate > 0.0 else np.inf


class _NormalizedPoints:
    """Cone points divided by the square roots of their determinants, and these square roots."""

    def __init__(self, points: ConePoints) -> None:
        self.root_determinant = np.sqrt(_determinant(points))
        self.points = ConePoints(
            points.head / self.root_determinant, points.tail / self.root_determinant[:, None]
        )

    def boundary_rate(self, step: ConePoints) -> float:
        """1 over the largest multiple of a step that stays in the cones; 0 if all multiples do."""
        # In the frame in which the normalized point x is (1, 0), the step is (along, across). It
        # leaves the cone at the rate |across| - along.
        x = self.points
        along = (x.head * step.head - row_products(x.tail, step.tail)) / self.root_determinant
        factor = (along + step.head / self.root_determinant) / (1.0 + x.head)
        across = step.tail / self.root_determinant[:, None] - factor[:, None] * x.tail
        return float((row_norms(across) - along).max(initial=0.0))


def row_norms(rows: Array) -> Vector:
    """Euclidean norm of each row, shape ``(N,)``."""
    return np.sqrt(row_products(rows, rows))


def _determinant(x: ConePoints) -> Vector:
    r""":math:`x_0^2 - \|x_1\|^2`, as a product, so that no digits cancel."""
    length = row_norms(x.tail)
    return np.asarray(
        np.maximum(x.head - length, MIN_BOUNDARY_DISTANCE * x.head) * (x.head + length)
    )


def _dot(x: ConePoints, y: ConePoints) -> Vector:
    """Inner product of each pair of points."""
    return np.asarray(x.head * y.head + row_products(x.tail, y.tail))


def _jordan_product(x: ConePoints, y: ConePoints) -> ConePoints:
    r""":math:`x \circ y = (\langle x, y \rangle, \, x_0 y_1 + y_0 x_1)`."""
    return ConePoints(_dot(x, y), x.head[:, None] * y.tail + y.head[:, None] * x.tail)


def _longest_positive_step(numbers: Array, steps: Array) -> float:
    """Largest multiple of the steps that keeps the numbers positive; may be infinite."""
    max_rate = float((-steps / numbers).max(initial=0.0))
    return 1.0 / max_rate if max_rate > 0.0 else math.inf
