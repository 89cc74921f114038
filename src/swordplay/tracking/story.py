"""What a run over a table has to tell: small whatever the table's length, and all that a report
needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from swordplay.core.types import Array, Matrix, Vector
from swordplay.tracking.sketch import Sketch
from swordplay.tracking.tally import Learned, Sureness

Task = Literal["regression", "binary", "multi-class"]


class Column(NamedTuple):
    """A column of the table, and what was made of it."""

    name: str
    kind: str
    """``"number"``, ``"truth"``, ``"category"``, ``"date"``, ``"time"``, ``"left out"``."""
    note: str
    """In words, such as "12 categories, one column each" or "left out: every value is
    different".
    """


class Course(NamedTuple):
    """The run in B stretches of neighbouring rows, oldest first.

    Neighbours are merged as the run grows, so B stays small.
    """

    ends: Vector
    """Rows predicted and then learned by the end of each stretch, shape ``(B,)``, whole numbers."""
    losses: Mapping[str, Vector]
    """Sum of each contestant's losses over each stretch: squared errors of a regression,
    mistakes of a classification.
    """
    highest: Vector
    """The learner's largest single loss in each stretch, shape ``(B,)``: squared errors, or log
    losses of a classification.
    """
    lowest: Vector
    """The learner's smallest one."""
    weights: Matrix
    """Weight on each step size at the end of each stretch (mean over classes, both kinds of
    experts summed), ``(B, S)``.
    """
    effective: Vector
    """Effective step size there, shape ``(B,)``."""
    extra: Vector
    """Weight on extra-gradient experts there, shape ``(B,)``: how far the last gradient was
    trusted to come again.
    """
    optimism: Vector
    """Share of the last losses in the meta's guess there, shape ``(B,)``: 1 trusts that they
    come again, 0 does not.
    """
    figures: Mapping[str, Vector]
    """What else was summed over each stretch.

    Regression: absolute errors of the learner and of two baselines by their names, and
    ``"predicted"`` and ``"actual"``. Classes: ``"log loss"``, ``"Brier score"``, and how often the
    k-th class was ``"predicted k"`` and ``"actual k"``."""
    high: Matrix
    """The largest prediction, target and difference of the two in each stretch, shape ``(B, 3)``.

    ``(B, 0)`` for classes.
    """
    low: Matrix
    """The smallest ones."""
    times: Vector
    """When the first row and the last one of each stretch happened, shape ``(B + 1,)``:
    milliseconds since 1970, NaN where
    nobody knows."""
    marks: NDArray[np.int64]
    """Stretches at whose ends the coefficients were looked at, counted from 1, shape ``(G,)``.

    The last one is B.
    """
    coefficients: Array
    """Of the scaled columns there, shape ``(G, classes, columns)``; NaN where there was none."""


class WorstRow(NamedTuple):
    """One row that cost much."""

    row: int
    """Its number in the input, 1 for the first row of data."""
    prediction: str
    truth: str
    loss: float
    values: Mapping[str, str]
    """Its columns as they stood in the file, shortened."""
    at: int = 0
    """Its place among the rows that were predicted and then learned, as ``Course.ends`` counts
    them.
    """
    time: float | None = None
    """When it happened, in milliseconds since 1970; None where nobody knows."""


class Driver(NamedTuple):
    """A column of numbers that the prediction is made of."""

    name: str
    """Such as ``"temperature"``, ``"city = Paris"`` or ``"hour of the day of start"``."""
    about: str
    """The class whose log-odds it moves; empty for a regression."""
    path: Vector
    """Its coefficient at ``Course.marks``, shape ``(G,)``, NaN where there was none: what the
    prediction (of classes: the
    log-odds) changes by when the column rises by one spread of its own."""
    per_unit: float
    """At the end, by one unit of the column; NaN for what has no unit."""
    swing: bool = False
    """Whether it is the size of a wave (over the day, the week, the year), which has no sign."""


class Intervals(NamedTuple):
    """How intervals did over all rows that were predicted and then learned."""

    level: float
    """What share of the truths they were to hold,"""
    coverage: float
    """and what share they held."""
    mean_width: float | None
    """Of those that have ends; None if none has."""
    unbounded: int
    """How many have none: the first five, and those after far too many misses."""


@dataclass(frozen=True, kw_only=True)
class RunStory:
    """What every run of ``swordplay track`` has to tell, of one series or of many; abstract."""

    source: str
    """Name of the file, or ``"standard input"``."""
    target: str
    task: Task
    learner: str
    """Name of the learner that made the predictions: a key of ``errors``, as are the baselines."""
    rows: int
    """Rows predicted and then learned. The first row teaches only: nothing was known before it."""
    refused: int
    """Rows that were refused and skipped."""
    unlabelled: int
    """Rows whose target was missing: predicted, not learned."""
    seconds: float
    measure: str
    """``"RMSE"`` or ``"error rate"``."""
    errors: Mapping[str, float]
    """Error over the whole run of the learner and of the baselines, in this order.

    With keys over the rows of all of them, and each baseline is that of the row's own key."""
    intervals: Intervals | None
    """Of a regression, where they were asked for; with keys those of all keys together."""
    columns: tuple[Column, ...]
    remarks: tuple[str, ...] = ()
    """About the order of the rows, and about keys with few rows."""


@final
@dataclass(frozen=True, kw_only=True)
class Story(RunStory):
    """Everything that a report tells of a run over one series: made at its end, read by
    ``report.track``.

    ``learner`` and the baselines are keys of ``course.losses``, too.
    """

    more: Mapping[str, float]
    """Regression: mean absolute errors of the learner and of two baselines.

    Classes: ``"log loss"`` and ``"Brier score"``.
    """
    best_step: float
    """The single step size that was best in hindsight."""
    course: Course
    step_sizes: Vector
    """The pool, ascending, shape ``(S,)``: the columns of ``course.weights``."""
    drivers: tuple[Driver, ...]
    """The columns that moved the prediction most, over all of the run, largest first."""
    watched: tuple[int, int]
    """How many columns of numbers have their coefficients on record, and how many there are."""
    clock: str
    """The column that dates the rows.

    Empty where there is none, or where the rows do not go forward in time.
    """
    last: Learned
    """The last rows, one by one."""
    residuals: Sketch
    """Of a regression: prediction less target, of all rows."""
    classes: tuple[str, ...]
    """Their names in the order in which they appeared; empty for a regression."""
    confusion: Matrix
    """Rows by their true class and by the predicted one, shape ``(K, K)``.

    Empty for a regression.
    """
    sureness: Sureness
    """How sure it was of classes, and how often it was right."""
    worst: tuple[WorstRow, ...]
    """The rows of largest loss, largest first."""
    summary: str
    """The estimator's own words."""
