"""Contestants of a classification, binary or not: classes join when they first appear."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any, final

import numpy as np
import pyarrow as pa

from swordplay.core.state import Field, add_prefix, check, damaged, strip_prefix
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators.class_model import ClassModel
from swordplay.estimators.coefficients import of_scaled_columns
from swordplay.estimators.linear_model import HeadSnapshot, LinearModel
from swordplay.tables.categories import codes_of
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
from swordplay.tracking.rungs import COUNT, Places, Rungs
from swordplay.tracking.task import MOST_CLASSES, check_classes

NOT_WHOLE = (
    "is not a whole number, and those before it were taken for classes; if it is an amount, "
    "say --task regression"
)
ONE_TOO_MANY = f"is one class more than {MOST_CLASSES}; if it is an amount, say --task regression"
SMALLEST_PROBABILITY = 1e-15
"""Log losses stay finite."""
LOG_LOSS, BRIER = "log loss", "Brier score"
COUNTED = 6
"""Classes whose shares are kept over time: a picture has no room for more."""


@final
class ClassContestants:
    """The learner, the last class, the most frequent class so far, and gradient descent at every
    step size.

    Parameters
    ----------
    dim
        Number of columns.
    target
        Its name.
    lags, curves
        As in :class:`LinearModel`.
    """

    names = (LEARNER, NO_CHANGE, "majority class")
    figures: tuple[str, ...] = (
        LOG_LOSS,
        BRIER,
        *(f"{what} {k}" for what in (SAID, WAS) for k in range(COUNTED)),
    )
    """Log losses, Brier scores (summed over classes), and how often each of the first classes
    was predicted and was true.
    """

    def __init__(
        self, dim: int, target: str, *, lags: int | str = 0, curves: str | None = None
    ) -> None:
        self.dim, self.target, self.lags, self.curves = dim, target, lags, curves
        self._start = dim
        self.codes: dict[Any, int] = {}
        """The code of each class (0, 1, ...), in the order in which they appeared."""
        self.model = ClassModel(self._make)
        self.asking = Asking(self.model)
        self.rungs = Rungs(dim)
        self.last = -1.0

    def _make(self) -> LinearModel:
        return LinearModel(self._start, loss="logistic", lags=self.lags, curves=self.curves)

    @property
    def started(self) -> bool:
        """Whether anything was learned."""
        return self.model.classes > 0

    @property
    def models(self) -> Mapping[str, HeadSnapshot]:
        """The model of each class; of two, that of the second."""
        return dict(self.model.named([self.shown(code) for code in range(self.model.classes)]))

    @property
    def coefficients(self) -> dict[int, Vector]:
        """Of the log-odds for each class; of two classes, for the second."""
        heads = self.model.heads
        first = 1 if len(heads) == 1 else 0
        return {
            first + k: sign
            * of_scaled_columns(head, self.model.second_order if len(heads) == 1 else None)
            for k, (sign, head) in enumerate(zip(self.model.signs, heads, strict=True))
        }

    def targets(self, column: Any) -> Vector:
        """Codes of the classes, NaN where missing; new ones get the next codes."""
        found, values = codes_of(column)
        for value in values:
            self.codes.setdefault(value, len(self.codes))
        codes = np.array([*(self.codes[value] for value in values), np.nan])
        return np.asarray(codes[found])

    def strange(self, column: Any, whole: bool) -> dict[int, str]:
        """Rows of a pyarrow column that name no class, and why: of more than there may be, or no
        ``whole`` number.
        """
        found, values = codes_of(column)
        reasons: dict[int, str] = {}
        room = MOST_CLASSES - len(self.codes)
        for code, value in enumerate(values):
            if whole and not float(value).is_integer():
                reasons[code] = NOT_WHOLE
            elif value not in self.codes:
                if room <= 0:
                    reasons[code] = ONE_TOO_MANY
                room -= 1
        return (
            {
                int(row): reasons[int(found[row])]
                for row in np.flatnonzero(np.isin(found, list(reasons)))
            }
            if reasons
            else {}
        )

    def debuts(self, targets: Vector) -> list[int]:
        """The first row of every class that has not been learned."""
        new = range(self.model.classes, len(self.codes))
        return sorted(int((targets == code).argmax()) for code in new)

    def learn(self, rows: Matrix, targets: Vector) -> Answers:
        """Let the learner predict rows, each before it learns it."""
        before, known, told = self.model.counts, ~np.isnan(targets), list[Any]()
        learn = functools.partial(self.asking.learn, observer=lambda *given: told.append(given))
        chances = interleaved(learn, self.asking.predict, rows, _labels(targets, known), known)
        return Answers(chances, before, told)

    def in_parts(self, rows: Matrix, targets: Vector) -> OneByOne:
        """The same for some rows at a time."""
        return OneByOne(self.learn, rows, targets)

    def learn_debut(self, row: Matrix, target: Vector) -> tuple[Answers, Debut]:
        """Let a class join and learn its first row."""
        chances, chance = (
            self.model.predict(row) if self.started else None,
            1.0 / (1.0 + self.model.counts.sum()),
        )
        classes = self.model.classes + 1
        self.model.grow(classes)
        if (
            classes == 1 and self.dim > self._start
        ):  # curves are made of the columns that are there before any row
            self.model.widen(self.dim)
        return self.learn(row, target), Debut(chances, chance, classes)

    def widen(self, dim: int) -> None:
        """Let the learner make room for columns that appear late."""
        self.dim = dim
        self.model.widen(dim)

    def climb(self, told: list[Any], to: Places) -> None:
        """Let single step sizes predict and learn the same rows."""
        for scratch, labels in told:
            self.rungs.play_labels(scratch, labels, to)
            to = to.after(len(labels))

    def judge(self, answers: Answers, targets: Vector) -> Played:
        """Mistakes of everybody, and what the learner's probabilities are worth."""
        chances, known = answers.said, ~np.isnan(targets)
        said = _said(chances)
        if not known.any():
            return Played(
                said,
                np.empty(0),
                np.empty((0, 3)),
                np.empty((0, len(self.figures))),
                np.empty((0, 0)),
            )
        targets = targets if known.all() else targets[known]
        labels = targets.astype(np.intp)
        last = np.concatenate([[self.last], targets[:-1]])
        self.last = float(targets[-1])
        errors = (
            np.column_stack([said.predictions[known], last, _majority(answers.before, labels)])
            != targets[:, None]
        )
        chances = chances if known.all() else chances[known]
        right = chances[np.arange(len(labels)), labels]
        losses = np.log(1.0 / np.maximum(right, SMALLEST_PROBABILITY))
        squares = 1.0 - 2.0 * right
        for k in range(
            chances.shape[1]
        ):  # class by class, so that no sum depends on how the rows lie in memory
            squares += chances[:, k] ** 2
        figures = _figures(losses, squares, said.predictions[known], targets)
        return Played(
            said,
            losses,
            errors.astype(np.float64),
            figures,
            np.empty((len(labels), 0)),
        )

    def judge_debut(
        self, debut: Debut, answers: Answers, target: Vector, losses: Vector
    ) -> Played | None:
        """Everybody errs on a class that nobody has seen, and it counts as if it had had one
        chance in as many rows.
        """
        self.rungs.grow(debut.classes)
        self.climb(answers.told, Places(np.zeros((1, COUNT))))
        self.judge(answers, target)
        if debut.chances is None:
            return None
        losses += 1.0
        said, lost, squares = (
            _said(debut.chances),
            -np.log([debut.chance]),
            1.0 + np.square(debut.chances).sum(axis=1),
        )
        return Played(
            said,
            lost,
            np.ones((1, 3)),
            _figures(lost, squares, said.predictions, target),
            np.empty((1, 0)),
        )

    def widen_rungs(self, dim: int) -> None:
        """Let single step sizes make room for columns that appear late."""
        self.rungs.widen(dim)

    def arrow(self, values: Vector, known: Any) -> Any:
        """Classes as a pyarrow array, null where not ``known``."""
        codes = np.where(known, values, 0).astype(np.int64)
        return pa.array(list(self.codes)).take(
            pa.array(codes, mask=None if known.all() else ~known)
        )

    def shown(self, target: float) -> str:
        """The name of a class."""
        name = list(self.codes)[int(target)]
        return f"{name:g}" if isinstance(name, float) else str(name)

    def state(self) -> State:
        """All that the next row needs."""
        parts = add_prefix("model", self.model.state()) | add_prefix("rungs", self.rungs.state())
        return (
            parts
            | {"last": self.last, "places": json.dumps(list(self.codes))}
            | self.asking.state()
        )

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.codes = {name: code for code, name in enumerate(json.loads(saved["places"]))}
        self.model.load_state(strip_prefix("model", saved))
        self.rungs.grow(self.model.classes)
        self.rungs.load_state(strip_prefix("rungs", saved))
        self.last = float(saved["last"])
        self.asking.load_state(saved)

    def check(self, kind: str) -> None:
        """Check that saved classes are those of the model, and values of the target's type.

        Parameters
        ----------
        kind
            Name of the target's Arrow type.

        Raises
        ------
        ValueError
            Names what is wrong.
        """
        classes = self.model.classes
        if list(self.codes.values()) != list(range(classes)):
            raise damaged(f"there are {len(self.codes)} classes for {classes} models")
        check_classes(list(self.codes), kind)
        check("contestants.last", self.last, Field(-1, classes - 1, whole=True))
        self.rungs.check(classes, self.dim + 1)


def _labels(targets: Vector, known: Any) -> Any:
    """Codes of classes as whole numbers, 0 where not ``known``."""
    return np.where(known, targets, 0.0).astype(np.intp)


def _said(chances: Matrix) -> PredictedRows:
    """The likeliest class of each row, the first one of several, and its probability."""
    return PredictedRows(chances.argmax(axis=1).astype(np.float64), chances.max(axis=1))


def _figures(losses: Vector, squares: Vector, said: Vector, targets: Vector) -> Matrix:
    """Log losses, Brier scores, and what was predicted and true among the first classes."""
    codes = np.arange(float(COUNTED))
    return np.column_stack([losses, squares, said[:, None] == codes, targets[:, None] == codes])


def _majority(counts: Vector, labels: Any) -> Any:
    """The most frequent class before each row."""
    seen = np.zeros((len(labels), len(counts)))
    seen[np.arange(1, len(labels)), labels[:-1]] = 1.0
    seen[0] += counts
    return np.cumsum(seen, axis=0).argmax(axis=1)
