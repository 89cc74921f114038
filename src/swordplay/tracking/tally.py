"""What is kept of a whole run besides its stretches: the last rows, the sizes of errors, and who
was taken for whom.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from swordplay.core.state import (
    DAMAGED,
    ROW_COUNT_RANGE,
    Field,
    add_prefix,
    check,
    damaged,
    strip_prefix,
)
from swordplay.core.types import Matrix, State, Vector
from swordplay.tracking.sketch import Sketch

LAST_ROWS = 400
"""That are kept one by one."""
BINS = 20
"""Of the probability of the predicted class: each is 5 % wide."""


class Learned(NamedTuple):
    """Rows that were predicted and then learned, shape ``(n,)`` each."""

    numbers: NDArray[np.int64]
    """In the input."""
    predictions: Vector
    """Values, or places of classes."""
    targets: Vector
    probabilities: Vector
    """Of the predicted classes; 0 for a regression."""
    times: Vector
    """Milliseconds since 1970, NaN where unknown."""
    lower: Vector
    upper: Vector
    """Ends of the intervals, NaN where there is none."""


VALUE = Field(-1e200, 1e200)
LAST = {
    "numbers": ROW_COUNT_RANGE,
    "predictions": VALUE,
    "targets": VALUE,
    "probabilities": Field(0.0, 1.0 + 1e-6),
    "times": Field(-1e15, 1e15, nan=True),
    "lower": VALUE._replace(nan=True),
    "upper": VALUE._replace(nan=True),
}
"""What the last rows of a saved state may hold.

Times are milliseconds since 1970, and no date is beyond.
"""


class Sureness(NamedTuple):
    """How sure the learner was of its answers and how often it was right, by bins of its
    probability; ``(BINS,)`` each.
    """

    counts: Vector
    said: Vector
    """Sum of the probabilities."""
    right: Vector
    """How many answers were right."""


@final
class Tally:
    """Counts over all rows.

    Parameters
    ----------
    of_classes
        Whether classes are predicted.
    """

    def __init__(self, of_classes: bool) -> None:
        self.of_classes = of_classes
        self.last = Learned(
            np.zeros(0, dtype=np.int64), *(np.zeros(0) for _ in Learned._fields[1:])
        )
        self.errors = Sketch()
        """Of a regression: prediction less target."""
        self.confusion: Matrix = np.zeros((0, 0))
        """Of classes: rows of each true class (first axis) by the predicted one."""
        self.sureness = Sureness(*(np.zeros(BINS) for _ in Sureness._fields))

    def add(self, rows: Learned) -> None:
        """Put rows on record."""
        joined = (
            np.concatenate([old, new[-LAST_ROWS:]])[-LAST_ROWS:]
            for old, new in zip(self.last, rows, strict=True)
        )
        self.last = Learned(*joined)
        if self.of_classes:
            self._count(rows)
        else:
            self.errors.add(rows.predictions - rows.targets)

    def _count(self, rows: Learned) -> None:
        said, truth = rows.predictions.astype(np.int64), rows.targets.astype(np.int64)
        classes = max(
            len(self.confusion), int(said.max(initial=-1)) + 1, int(truth.max(initial=-1)) + 1
        )
        more = classes - len(self.confusion)
        if more:
            self.confusion = np.pad(self.confusion, (0, more))
        self.confusion += np.bincount(truth * classes + said, minlength=classes**2).reshape(
            classes, classes
        )
        bins = np.minimum((rows.probabilities * BINS).astype(np.int64), BINS - 1)
        right = (said == truth).astype(np.float64)
        # np.add.at goes row by row, so that sums do not depend on where the rows were cut.
        for sums, values in zip(
            self.sureness, (np.ones(len(bins)), rows.probabilities, right), strict=True
        ):
            np.add.at(sums, bins, values)

    def state(self) -> State:
        """All that the next row needs."""
        parts = add_prefix("last", self.last._asdict()) | add_prefix(
            "sureness", self.sureness._asdict()
        )
        flat = {name: value.copy() for name, value in parts.items()}
        return (
            flat | add_prefix("errors", self.errors.state()) | {"confusion": self.confusion.copy()}
        )

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        last, sureness = strip_prefix("last", saved), strip_prefix("sureness", saved)
        for name in Learned._fields:
            check(f"tally.last.{name}", last[name], LAST[name])
        if {np.shape(values) for values in last.values()} != {
            (rows := np.shape(last["numbers"]))
        } or not _few(rows):
            raise ValueError(
                f"tally.last does not hold the same number of rows everywhere. {DAMAGED}"
            )
        for name in Sureness._fields:
            if np.shape(sureness[name]) != (BINS,):
                raise ValueError(
                    f"tally.sureness.{name} has shape {np.shape(sureness[name])}. {DAMAGED}"
                )
            check(f"tally.sureness.{name}", sureness[name], ROW_COUNT_RANGE._replace(whole=False))
        shape = np.shape(saved["confusion"])
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"tally.confusion has shape {shape}. {DAMAGED}")
        check("tally.confusion", saved["confusion"], ROW_COUNT_RANGE)
        self.last = Learned(
            np.array(last["numbers"], np.int64),
            *(np.array(last[k], np.float64) for k in Learned._fields[1:]),
        )
        self.sureness = Sureness(
            *(np.array(sureness[name], np.float64) for name in Sureness._fields)
        )
        self.errors.load_state(strip_prefix("errors", saved))
        self.confusion = np.array(saved["confusion"], np.float64)

    def check(self, classes: int) -> None:
        """Check that saved counts are of classes that exist; 0 classes for a regression.

        Raises
        ------
        ValueError
            Names what is wrong.
        """
        if len(self.confusion) > classes:
            raise damaged(f"tally.confusion has shape {self.confusion.shape} for {classes} classes")
        if classes:
            codes = Field(0.0, classes - 1.0, whole=True)
            check("tally.last.predictions", self.last.predictions, codes)
            check("tally.last.targets", self.last.targets, codes)


def _few(shape: tuple[int, ...]) -> bool:
    return len(shape) == 1 and shape[0] <= LAST_ROWS
