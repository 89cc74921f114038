"""Array aliases, and the protocols of losses, domains, streams and learners.

A loss, domain, stream or learner of a user needs these methods and no base class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Points with any leading axes, shape ``(..., d)``, or values, shape ``(...,)``."""
Vector = NDArray[np.float64]
"""One axis: a point, shape ``(d,)``, or one number for each of N experts, shape ``(N,)``."""
Matrix = NDArray[np.float64]
"""Two axes: one point for each of N experts, ``(N, d)``, or of T rounds, ``(T, d)``."""
Gradient = Callable[[Array], Array]
"""Maps points ``(..., d)`` to gradients ``(..., d)``."""
State = dict[str, Any]
"""Named arrays, numbers and strings from which a learner or model continues."""


class GameConstants(NamedTuple):
    """Constants of a game from which learners choose step sizes and learning rates."""

    diameter: float
    """D, the largest distance between two points of the domain."""
    gradient_bound: float | None = None
    """G, an upper bound on the norms of gradients; None if it is not known."""


@runtime_checkable
class Loss(Protocol):
    """One convex function f_t, revealed after the decision of its round."""

    @property
    def smoothness(self) -> float | None:
        """Lipschitz constant of the gradient (L), or None if it is not known."""
        ...

    def value(self, points: Array) -> Array:
        """Values of f_t, shape ``(...,)``, at points of shape ``(..., d)``."""
        ...

    def gradient(self, points: Array) -> Array:
        """Gradients of f_t at points of shape ``(..., d)``, in an array of the same shape."""
        ...


@runtime_checkable
class Domain(Protocol):
    """A closed, convex and bounded set X of decisions."""

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
        """A point of the set, shape ``(d,)``, where learners start."""
        ...

    def project(self, points: Array) -> Array:
        """Nearest point of the set to each of the given points, shape ``(..., d)``."""
        ...

    def contains(self, points: Array, atol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether each point lies in the set, up to ``atol``; shape ``(...,)``."""
        ...

    def support(self, directions: Array) -> Array:
        """Largest inner product with a point of the set, for each direction; shape ``(...,)``."""
        ...


class Stream(Protocol):
    """An iterable of losses, in their order in time."""

    def __iter__(self) -> Iterator[Loss]: ...


@runtime_checkable
class Learner(Protocol):
    """Plays the game: gives a decision, then observes the loss of the round."""

    @property
    def decision(self) -> Vector:
        """x_t, shape ``(d,)``, chosen before f_t is known."""
        ...

    @property
    def rounds(self) -> int:
        """Number of losses observed so far."""
        ...

    def observe(self, loss: Loss) -> None:
        """Learn from f_t; on an error the learner is unchanged."""
        ...

    def state(self) -> State:
        """Return a copy of the arrays and numbers from which the next round is computed."""
        ...

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved state; on an error the learner is unchanged."""
        ...
