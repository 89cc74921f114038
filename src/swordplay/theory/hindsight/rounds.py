"""What the solver asks of the losses of a stream, side by side, as functions of a domain's own
coordinates.
"""

from __future__ import annotations

from typing import Any, Protocol

from swordplay.core.types import Array, Matrix, Vector


class Rounds(Protocol):
    r"""T convex losses :math:`f_t(w)` of coordinates w, shape ``(n,)`` each."""

    @property
    def features(self) -> Matrix:
        """Directions along which the losses bend, shape ``(T, n)``.

        Zero where :meth:`curvature` says it all.
        """
        ...

    @property
    def capped(self) -> SlopedRows | None:
        """The rows of the rounds where some have capped slopes, as Huber's and logistic losses
        have; else None.
        """
        ...

    @property
    def affine(self) -> bool:
        """Whether the gradients are affine, so that a Newton step is exact."""
        ...

    def values(self, points: Matrix) -> Vector:
        """f_t at coordinates of shape ``(T, n)``; shape ``(T,)``."""
        ...

    def gradients(self, points: Matrix) -> Matrix:
        """Gradients there, shape ``(T, n)``."""
        ...

    def curvature(self, points: Matrix) -> tuple[Vector, Array]:
        r"""The Hessians :math:`h_t a_t a_t^\top + M_t`: h, shape ``(T,)``, and M, shape ``(T, n,
        n)`` or ``(0, n, n)``.
        """
        ...


class SlopedRows(Protocol):
    r"""Losses :math:`f(r)` of residuals :math:`r = \langle a, w \rangle + s` whose capped slopes
    are variables of their own.

    A slope is given by its slacks, its distances from the cap above and from the one below, shape
    ``(C, 2)``: next to a cap they are smaller than what the slope itself rounds by.
    """

    @property
    def features(self) -> Matrix:
        """a, shape ``(R, n)``."""
        ...

    @property
    def shifts(self) -> Vector:
        """s, shape ``(R,)``."""
        ...

    @property
    def caps(self) -> tuple[Any, Vector, Vector]:
        """Which rows are capped, and their smallest and largest slopes, shape ``(C,)`` each."""
        ...

    def residuals(self, points: Matrix) -> Vector:
        """r, shape ``(R,)``."""
        ...

    def uncapped(self) -> Vector:
        """Slope over residual, shape ``(R,)``; of capped rows it does not matter."""
        ...

    def at_slopes(self, slacks: Matrix) -> tuple[Vector, Vector]:
        """The residuals that have these slopes, and the derivative of a residual by its slope.

        Capped rows only.
        """
        ...

    def conjugates(self, slopes: Vector) -> Vector:
        r""":math:`\sup_r \varpi r - f(r)`, shape ``(R,)``."""
        ...

    def spread(self, points: Matrix) -> Matrix:
        """Every row's comparator, shape ``(R, n)``, from those of the rounds, shape ``(T, n)``."""
        ...

    def gather(self, rows: Matrix) -> Matrix:
        """Sums over the rows of each round, shape ``(T, n)``."""
        ...

    def stacked(self, bends: Vector) -> tuple[Vector, Array]:
        """The rounds' curvature (as :meth:`Rounds.curvature`) for rows that bend so much."""
        ...
