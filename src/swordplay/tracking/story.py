"""What a run over a table has to tell: small whatever the table's length, and all that a report needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from swordplay.types import Matrix, Vector

Task = Literal["regression", "binary", "multi-class"]


class Column(NamedTuple):
    """A column of the table, and what was made of it."""

    name: str
    kind: str
    """``"number"``, ``"truth"``, ``"category"``, ``"date"``, ``"time"``, ``"left out"``."""
    note: str
    """In words, such as "12 categories, one column each" or "left out: every value is different"."""


class Course(NamedTuple):
    """The run in B stretches of neighbouring rows, oldest first. Neighbours are merged as the run grows, so B stays small."""

    ends: Vector
    """Rows predicted and then learned by the end of each stretch, shape ``(B,)``, whole numbers."""
    losses: Mapping[str, Vector]
    """Sum of each contestant's losses over each stretch: squared errors of a regression, mistakes of a classification."""
    highest: Vector
    """Sword's largest single loss in each stretch, shape ``(B,)``: squared errors, or log losses of a classification."""
    lowest: Vector
    """Sword's smallest one."""
    weights: Matrix
    """Weight on each step size at the end of each stretch (mean over classes, both kinds of experts summed), ``(B, S)``."""
    effective: Vector
    """Effective step size there, shape ``(B,)``."""
    extra: Vector
    """Weight on extra-gradient experts there, shape ``(B,)``: how far the last gradient was trusted to come again."""
    optimism: Vector
    """Share of the last losses in the meta's guess there, shape ``(B,)``: 1 trusts that they come again, 0 does not."""


class Moment(NamedTuple):
    """One row that cost much."""

    row: int
    """Its number in the input, 1 for the first row of data."""
    prediction: str
    truth: str
    loss: float
    values: Mapping[str, str]
    """Its columns as they stood in the file, shortened."""
    at: int = 0
    """Its place among the rows that were predicted and then learned, as ``Course.ends`` counts them."""


class Story(NamedTuple):
    """Everything that a report tells of a run of ``swordplay track``: made at its end, read by ``report.track``."""

    source: str
    """Name of the file, or ``"standard input"``."""
    target: str
    task: Task
    learner: str
    """Name of the learner that made the predictions: a key of ``errors`` and ``course.losses``, as are the baselines."""
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
    """Error over the whole run of the learner and of the baselines, in this order."""
    best_step: float
    """The single step size that was best in hindsight."""
    columns: tuple[Column, ...]
    course: Course
    step_sizes: Vector
    """The pool, ascending, shape ``(S,)``: the columns of ``course.weights``."""
    certificate: tuple[Vector, Vector]
    """Path lengths and the bound on the regret at each, in losses of smoothness 1."""
    worst: tuple[Moment, ...]
    """The rows of largest loss, largest first."""
    summary: str
    """The estimator's own words."""
    remarks: tuple[str, ...] = ()
    """About the order of the rows."""
