"""Contestants of a regression."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, final

import numpy as np
import pyarrow as pa

from swordplay.core.state import Field, add_prefix, check, strip_prefix
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators.coefficients import of_scaled_columns
from swordplay.estimators.linear_model import HeadSnapshot, LinearModel
from swordplay.estimators.model_settings import LARGEST, LossName
from swordplay.estimators.workspace import Workspace
from swordplay.tables.encoder import numbers_of
from swordplay.tracking.contestants import (
    LEARNER,
    NO_CHANGE,
    SAID,
    WAS,
    Answers,
    Asking,
    Debut,
    OneByOne,
    Played,
    PredictedRows,
    interleaved,
)
from swordplay.tracking.ranges import VALUE
from swordplay.tracking.rungs import COUNT, Places, Rungs

TOO_LARGE = f"must not pass {LARGEST:g} in magnitude"
NONE: Vector = np.empty(0)
NOTHING = np.empty((0, 3)), np.empty((0, 5)), np.empty((0, 3))
"""Errors, figures and values of no row."""


@final
class ValueContestants:
    """The learner, the last value, the mean of all values so far, and gradient descent at every
    step size.

    Parameters
    ----------
    dim
        Number of columns.
    target
        Its name.
    loss
        ``"squared"`` or ``"huber"``: what the learner learns from. All are judged by squared
        errors.
    lags, curves
        As in :class:`LinearModel`.
    """

    names = (LEARNER, NO_CHANGE, "running mean")
    figures: tuple[str, ...] = (*names, SAID, WAS)
    """Absolute errors of all three, predictions and targets."""

    def __init__(
        self,
        dim: int,
        target: str,
        loss: LossName = "squared",
        *,
        lags: int | str = 0,
        curves: str | None = None,
    ) -> None:
        self.target = target
        self.model = LinearModel(dim, loss=loss, lags=lags, curves=curves)
        self.asking = Asking(self.model)
        self.rungs = Rungs(dim)
        self.last, self.total = np.nan, 0.0

    @property
    def started(self) -> bool:
        """Whether anything was learned."""
        return self.model.rounds > 0

    @property
    def models(self) -> Mapping[str, HeadSnapshot]:
        """The one model."""
        return {self.target: self.model.head}

    @property
    def coefficients(self) -> dict[int, Vector]:
        """Those of the one model."""
        return {0: of_scaled_columns(self.model.head, self.model.second_order)}

    def targets(self, column: Any) -> Vector:
        """Targets as numbers, NaN where missing."""
        return np.ascontiguousarray(numbers_of(column))

    def strange(self, column: Any, whole: bool) -> dict[int, str]:
        """Rows of a pyarrow column whose target is too large to be squared, and that reason."""
        return dict.fromkeys(
            np.flatnonzero(np.abs(numbers_of(column)) > LARGEST).tolist(), TOO_LARGE
        )

    def debuts(self, targets: Vector) -> list[int]:
        """The very first target, if it is among these."""
        known = ~np.isnan(targets)
        return [] if self.started or not known.any() else [int(known.argmax())]

    def learn(self, rows: Matrix, targets: Vector) -> Answers:
        """Let the learner predict rows, each before it learns it."""
        before, told = self.model.rounds, list[Any]()
        learn = functools.partial(self.asking.learn, observer=lambda *given: told.append(given))
        predictions = interleaved(learn, self.asking.predict, rows, targets, ~np.isnan(targets))
        return Answers(predictions, before, told)

    def in_parts(self, rows: Matrix, targets: Vector) -> OneByOne | _Usual:
        """The same for some rows at a time."""
        model = self.model
        is_usual = (
            model.dim == rows.shape[1]
            and len(rows) <= model.chunk_rows
            and not np.isnan(rows).any()
            and not np.isnan(targets).any()
        )
        if not is_usual:
            return OneByOne(self.learn, rows, targets)
        return _Usual(self, Workspace(model, rows, targets), targets)

    def learn_debut(self, row: Matrix, target: Vector) -> tuple[Answers, Debut]:
        """Learn the first row."""
        return self.learn(row, target), Debut(None, 0.0, 1)

    def widen(self, dim: int) -> None:
        """Let the learner make room for columns that appear late."""
        self.model.widen(dim)

    def climb(self, told: list[Any], to: Places) -> None:
        """Let single step sizes predict and learn the same rows."""
        for scratch, _ in told:
            self.rungs.play_values(scratch, to)
            to = to.after(len(scratch.squared_norms))

    def judge(self, answers: Answers, targets: Vector) -> Played:
        """Squared and absolute errors of everybody."""
        predictions, known = answers.said, ~np.isnan(targets)
        if not known.any():
            return Played(PredictedRows(predictions, NONE), NONE, *NOTHING)
        said, targets = (
            (predictions, targets) if known.all() else (predictions[known], targets[known])
        )
        # Added up one by one, as numpy's sum does not: where a batch ends must not show in the last
        # digit.
        totals = np.cumsum(np.concatenate([[self.total], targets]))
        means = totals[:-1] / np.maximum(
            np.arange(answers.before, answers.before + len(targets)), 1
        )
        last = np.concatenate([[self.last], targets[:-1]])
        self.last, self.total = float(targets[-1]), float(totals[-1])
        # squared errors, absolute errors, prediction, target and how far it lay below that, each in
        # one piece of memory
        table = np.empty((9, len(targets)))
        off = table[:3]
        for one, what in zip(off, (said, last, means), strict=True):
            np.subtract(what, targets, out=one)
        table[6], table[7], table[8] = said, targets, off[0]
        np.abs(off, out=table[3:6])
        np.square(off, out=off)
        return Played(
            PredictedRows(predictions, NONE), table[0], table[:3].T, table[3:8].T, table[6:].T
        )

    def judge_debut(self, debut: Debut, answers: Answers, target: Vector, losses: Vector) -> None:
        """Nobody predicts the first row."""
        self.climb(answers.told, Places(np.zeros((1, COUNT))))
        self.judge(answers, target)

    def widen_rungs(self, dim: int) -> None:
        """Let single step sizes make room for columns that appear late."""
        self.rungs.widen(dim)

    def arrow(self, values: Vector, known: Any) -> Any:
        """Predictions or targets as a pyarrow array, null where not ``known``."""
        return pa.array(values, mask=None if known.all() else ~known)

    def shown(self, target: float) -> str:
        """Six digits, as more say nothing."""
        return f"{target:.6g}"

    def state(self) -> State:
        """All that the next row needs."""
        parts = add_prefix("model", self.model.state()) | add_prefix("rungs", self.rungs.state())
        return parts | {"last": self.last, "total": self.total} | self.asking.state()

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.model.load_state(strip_prefix("model", saved))
        self.rungs.load_state(strip_prefix("rungs", saved))
        self.last, self.total = float(saved["last"]), float(saved["total"])
        self.asking.load_state(saved)

    def check(self) -> None:
        """Check the saved last value and sum of all values.

        Raises
        ------
        ValueError
            Names the number that is wrong.
        """
        check("contestants.last", self.last, VALUE._replace(nan=not self.started))
        most = LARGEST * max(1, self.model.rounds)
        check("contestants.total", self.total, Field(-most, most))
        self.rungs.check(1, self.model.columns.width)


@final
class _Usual:
    """Rows that are learned some at a time, with arrays that are made once.

    Parameters
    ----------
    contestants, rows, targets
        Whose model learns which rows.
    """

    def __init__(self, contestants: ValueContestants, rows: Workspace, targets: Vector) -> None:
        self._rows, self._targets, self._before = rows, targets, contestants.model.rounds
        self._asking = contestants.asking

    def learn(self, first: int, stop: int) -> None:
        """Predict and learn some rows."""
        self._asking.apart = False
        self._rows.part(first, stop).learn(first)

    def answers(self) -> Answers:
        """For all rows."""
        return Answers(self._rows.mixed, self._before, [(self._rows, self._targets)])
