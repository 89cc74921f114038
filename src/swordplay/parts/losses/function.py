"""Any convex function that comes with its gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array


@final
class FunctionLoss:
    """A loss made of two callables.

    Parameters
    ----------
    value
        Maps points of shape ``(..., d)`` to values of shape ``(...,)``.
    gradient
        Maps points of shape ``(..., d)`` to gradients of the same shape.
    smoothness
        Lipschitz constant of the gradient, where it is known.
    batched
        False if the callables understand only one point of shape ``(d,)`` at a time.

    Examples
    --------
    >>> loss = FunctionLoss(lambda x: (x**2).sum(-1) / 2, lambda x: x, smoothness=1.0)
    >>> loss.gradient([[1.0, 2.0], [3.0, 4.0]])
    array([[1., 2.],
           [3., 4.]])
    """

    def __init__(
        self,
        value: Callable[[Array], Any],
        gradient: Callable[[Array], Any],
        smoothness: float | None = None,
        *,
        batched: bool = True,
    ) -> None:
        for name, function in (("value", value), ("gradient", gradient)):
            if not callable(function):
                raise TypeError(
                    f"{name} must be callable, got {arguments.short_repr(function)}. Give a "
                    "function "
                    "of the points."
                )
        self.smoothness = (
            None if smoothness is None else arguments.nonnegative("smoothness", smoothness)
        )
        self._value = value if batched else _one_by_one(value)
        self._gradient = gradient if batched else _one_by_one(gradient)

    def __repr__(self) -> str:
        return f"FunctionLoss(smoothness={self.smoothness})"

    def value(self, points: Array) -> Array:
        """f at points of shape ``(..., d)``; shape ``(...,)``."""
        points = np.asarray(points, dtype=np.float64)
        return self._answer("value", self._value(points), points.shape[:-1], points.shape)

    def gradient(self, points: Array) -> Array:
        """Gradients at points of shape ``(..., d)``; the same shape."""
        points = np.asarray(points, dtype=np.float64)
        return self._answer("gradient", self._gradient(points), points.shape, points.shape)

    @staticmethod
    def _answer(name: str, answer: Any, expected: tuple[int, ...], given: tuple[int, ...]) -> Array:
        clean = np.asarray(answer, dtype=np.float64)
        if clean.shape != expected:
            raise ValueError(
                f"{name} must return shape {expected} for points of shape {given}, got "
                f"{clean.shape}. "
                "If it takes one point at a time, say batched=False."
            )
        return clean


def _one_by_one(function: Callable[[Array], Any]) -> Callable[[Array], Array]:
    """The same function, called once per point."""

    def looped(points: Array) -> Array:
        leading = points.shape[:-1]
        answers = np.array(
            [function(point) for point in points.reshape(-1, points.shape[-1])], dtype=np.float64
        )
        return answers.reshape(leading + answers.shape[1:])

    return looped
