"""The words everyone else uses: array aliases and the four protocols of the game.

This module imports nothing of ours, so that a stranger's loss, domain, stream or learner only has
to look right, never to inherit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Points with any leading axes, shape ``(..., d)``, or values, shape ``(...,)``."""
Vector = NDArray[np.float64]
"""Shape ``(d,)`` or ``(N,)``."""
Matrix = NDArray[np.float64]
"""Shape ``(N, d)`` or ``(T, d)``."""
Gradient = Callable[[Array], Array]
"""A gradient field: points ``(..., d)`` to gradients ``(..., d)``."""
State = dict[str, Any]
"""Named arrays and numbers: all that a learner needs to go on."""


class GameConstants(NamedTuple):
    """The constants of a game that tunings are made of."""

    diameter: float
    """D of the domain."""
    gradient_bound: float | None = None
    """G, or None where nobody knows it."""


@runtime_checkable
class Loss(Protocol):
    """One convex function f_t, revealed after the decision of its round."""

    @property
    def smoothness(self) -> float | None:
        """Lipschitz constant of the gradient (L), or None where unknown."""
        ...

    def value(self, points: Array) -> Array:
        """f_t at points of shape ``(..., d)``; shape ``(...,)``."""
        ...

    def gradient(self, points: Array) -> Array:
        """Gradient of f_t at points of shape ``(..., d)``; the same shape."""
        ...


@runtime_checkable
class Domain(Protocol):
    """A closed convex bounded set X of decisions."""

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        ...

    @property
    def diameter(self) -> float:
        """Largest distance D between two points of the set."""
        ...

    @property
    def center(self) -> Vector:
        """A feasible point, shape ``(d,)``: where learners start."""
        ...

    def project(self, points: Array) -> Array:
        """Nearest point of the set to each of the points, shape ``(..., d)``."""
        ...

    def contains(self, points: Array, atol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether each point lies in the set, up to ``atol``; shape ``(...,)``."""
        ...

    def support(self, directions: Array) -> Array:
        """Largest inner product of each direction with a point of the set, shape ``(...,)``."""
        ...


class Stream(Protocol):
    """Losses in their order in time; anything that can be looped over will do."""

    def __iter__(self) -> Iterator[Loss]: ...


@runtime_checkable
class Learner(Protocol):
    """One side of the game: says a decision, then is told the loss."""

    @property
    def decision(self) -> Vector:
        """x_t, shape ``(d,)``, said before f_t is known."""
        ...

    @property
    def rounds(self) -> int:
        """How many losses were observed."""
        ...

    def observe(self, loss: Loss) -> None:
        """Learn from f_t. Either the whole round happens or, on an error, nothing does."""
        ...

    def state(self) -> State:
        """A copy of all that the next round needs."""
        ...

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a copy; on an error nothing changes."""
        ...
