"""Losses of a linear prediction, many rounds side by side."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from swordplay.core.types import Array, Loss, Matrix, Vector
from swordplay.parts.losses import HuberLoss, LinearLoss, LogisticLoss, SquaredLoss
from swordplay.parts.streams import LinearStream

FAMILIES = (SquaredLoss, LogisticLoss, HuberLoss)
"""Losses whose φ works element by element in prediction and target alike."""


@dataclass(frozen=True)
class Rows:
    r"""Rounds :math:`f_t(x) = \varphi(\langle a_t, x \rangle, y_t)` that share φ.

    Attributes
    ----------
    features
        :math:`a_t` as rows, shape ``(T, d)``: dense, or scipy CSR.
    targets
        :math:`y_t`, shape ``(T,)``, or ``(B, m)`` once the rounds are folded into blocks.
    family
        Any loss of the family: it lends its φ.
    """

    features: Any
    targets: Array
    family: LinearLoss

    @classmethod
    def of_stream(cls, stream: LinearStream) -> Rows:
        """The rounds of a stream that has at least one."""
        features = stream.features.astype(np.float64) if stream.sparse else stream.features
        return cls(features, stream.targets, next(iter(stream[:1])))

    @classmethod
    def of_losses(cls, losses: Sequence[Loss]) -> Rows | None:
        """The rounds of a list, if they are of one family and width."""
        first = losses[0]
        if not isinstance(first, FAMILIES) or any(type(loss) is not type(first) for loss in losses):
            return None
        # because their type was just compared
        alike: list[LinearLoss] = list(losses)  # type: ignore[arg-type]
        if any(loss.dim != first.dim or _settings(loss) != _settings(first) for loss in alike):
            return None
        features = np.array([loss.features for loss in alike])
        return cls(features, np.array([loss.target for loss in alike]), first)

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, rows: slice) -> Rows:
        return Rows(self.features[rows], self.targets[rows], self.family)

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(self.features.shape[-1])

    @property
    def sparse(self) -> bool:
        """Whether the features are a scipy matrix."""
        return not isinstance(self.features, np.ndarray)

    def dense(self) -> Rows:
        """The same rounds with a dense array of features."""
        return Rows(self.features.toarray(), self.targets, self.family) if self.sparse else self

    def predictions(self, points: Vector | Matrix) -> Vector:
        r""":math:`\langle a_t, x_t \rangle` at points of shape ``(T, d)``, or at one point
        ``(d,)``.
        """
        return (
            np.asarray(self.features @ points) if points.ndim == 1 else inner(self.features, points)
        )

    def values(self, predictions: Array) -> Array:
        """φ, each round with its own target."""
        return self._every.phi(predictions)

    def slopes(self, predictions: Array) -> Array:
        """Derivative of φ, each round with its own target."""
        return self._every.slope(predictions)

    @property
    def _every(self) -> LinearLoss:
        # φ is elementwise, so one loss that holds all the targets is all the losses at once.
        every = copy(self.family)
        every.target = self.targets  # type: ignore[assignment]  # an array for a number, on purpose
        return every


def inner(left: Any, right: Any) -> Vector:
    """Inner products of row with row, dense or sparse."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", left, right))
    sparse, other = (right, left) if isinstance(left, np.ndarray) else (left, right)
    return np.asarray(sparse.multiply(other).sum(axis=1), dtype=np.float64).ravel()


def _settings(loss: LinearLoss) -> float | None:
    return loss.threshold if isinstance(loss, HuberLoss) else None
