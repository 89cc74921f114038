"""What the losses of a linear prediction share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array, Vector


class LinearLoss(ABC):
    r"""A loss of a linear prediction, judged by how far the prediction is off.

    .. math:: f(x) = \varphi(\langle a, x \rangle, y), \qquad \nabla f(x) = \varphi'(\langle a, x
        \rangle, y)\, a

    A subclass gives :math:`\varphi`, its slope and its largest curvature; the rest follows.

    Parameters
    ----------
    features
        a, shape ``(d,)``, finite.
    target
        y, a finite number.
    """

    __slots__ = ("features", "target")
    curvature: ClassVar[float]
    """Largest second derivative of φ in the prediction."""

    features: Vector
    target: float

    def __init__(self, features: Any, target: Any) -> None:
        self.features = arguments.vector("features", features).copy()
        self.features.flags.writeable = False
        self.target = arguments.real("target", target)

    @classmethod
    def trusted(cls, features: Vector, target: float, **settings: float) -> Self:
        """A loss from numbers that were checked before, as a stream does once for all its rows."""
        loss = cls.__new__(cls)
        loss.features, loss.target = features, target
        for name, value in settings.items():
            setattr(loss, name, value)
        return loss

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(features={arguments.short_repr(self.features.tolist())}, "
            f"target={self.target})"
        )

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return len(self.features)

    @property
    def smoothness(self) -> float:
        r""":math:`L = \max \varphi'' \cdot \|a\|^2`."""
        return self.curvature * float(self.features @ self.features)

    def value(self, points: Array) -> Array:
        """f at points of shape ``(..., d)``; shape ``(...,)``."""
        return self.phi(arguments.points("points", points, self.dim) @ self.features)

    def gradient(self, points: Array) -> Array:
        """Gradients at points of shape ``(..., d)``; the same shape."""
        prediction = arguments.points("points", points, self.dim) @ self.features
        return np.multiply.outer(self.slope(prediction), self.features)

    @abstractmethod
    def phi(self, prediction: Array) -> Array:
        """φ(z, y) at predictions z of any shape."""

    @abstractmethod
    def slope(self, prediction: Array) -> Array:
        """Derivative of φ in z, at predictions z of any shape."""
