"""Single step sizes, all at once: what the best of them would have lost is known in hindsight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, final

import numpy as np

from swordplay.core.state import array, check
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators.model_settings import THRESHOLDS
from swordplay.estimators.workspace import Workspace
from swordplay.tracking.ranges import VAST

COUNT = 16
"""Step sizes: two whole vector registers of them."""
STEP_SIZES: Vector = 2.0 ** -np.arange(float(COUNT))
"""1 learns each row by heart, 2^-15 averages over tens of thousands.

The learner's own pool ends two halvings earlier.
"""
THRESHOLD = THRESHOLDS["squared"]
NO_END = 2**62
"""Rows of a stretch that has no end."""


class Places(NamedTuple):
    """Where losses are added up, stretch by stretch."""

    losses: Any
    """Of the open stretch and of those behind it, shape ``(n, COUNT)``."""
    open: int = 0
    """Rows that the open stretch has already,"""
    width: int = NO_END
    """and rows of a whole one."""

    def after(self, rows: int) -> Places:
        """The same so many rows later."""
        done, left = divmod(self.open + rows, self.width)
        return Places(self.losses[done:], left, self.width)


@final
class Rungs:
    """Gradient descent at each of the step sizes, on the rows that the learner has scaled.

    See ``engine.step_size_grid``.

    Parameters
    ----------
    dim
        Number of columns.
    """

    def __init__(self, dim: int) -> None:
        self.points: Any = np.zeros((1, dim + 1, COUNT))
        """One per class (or one in all) and step size; the intercept is the last coordinate."""

    def play_values(self, told: Workspace, to: Places) -> None:
        """Predict and learn rows that a model of a regression has just learned.

        Squared errors are added where they belong.
        """
        from swordplay.engine import step_size_grid  # numba is imported with the first rows

        thresholds = THRESHOLD * told.target_place[:, 1]
        step_size_grid.learn_numbers(
            told.scaled,
            told.squared_norms,
            told.relative_targets[0],
            thresholds,
            STEP_SIZES,
            self.points,
            self._scratch(),
            *to,
        )

    def play_labels(self, told: Workspace, labels: Vector, to: Places) -> None:
        """The same for classes 0..K-1; mistakes are added."""
        from swordplay.engine import step_size_grid

        step_size_grid.learn_labels(
            told.scaled, told.squared_norms, labels, STEP_SIZES, self.points, self._scratch(), *to
        )

    def widen(self, dim: int) -> None:
        """Make room for columns that appear late, behind the others."""
        now = self.points.shape[1] - 1
        if dim == now:
            return
        self.points = np.insert(self.points, np.full(dim - now, now), 0.0, axis=1)

    def grow(self, classes: int) -> None:
        """Make room for more classes; up to two share a point."""
        wanted = 1 if classes <= 2 else classes
        if wanted > 1 and len(self.points) == 1:
            # The one point told class 1 from class 0: it goes on as that of class 1, and turned
            # round as that of class 0.
            self.points = np.concatenate([-self.points, self.points])
        fresh = np.zeros((wanted - len(self.points), *self.points.shape[1:]))
        self.points = np.concatenate([self.points, fresh])

    def state(self) -> State:
        """All that the next row needs."""
        return {"points": self.points.copy()}

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.points = np.array(saved["points"], dtype=np.float64)

    def check(self, classes: int, width: int) -> None:
        """Check saved points: one for each of three or more classes, or one in all.

        Raises
        ------
        ValueError
            Names what is wrong.
        """
        count = classes if classes > 2 else 1
        check("rungs.points", self.points, array(count, width, COUNT, low=-VAST, high=VAST))

    def _scratch(self) -> Matrix:
        return np.empty((len(self.points), COUNT))
