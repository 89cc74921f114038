"""All who predict the same rows: the learner, the baselines, and every single step size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, final

import numpy as np

from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators.linear_model import HeadSnapshot
from swordplay.tracking.rungs import Places

LEARNER, NO_CHANGE, BEST_STEP = "swordplay", "no change", "best step size"
"""``swordplay`` is the model that ``swordplay track`` runs: that of SwordRegressor and
SwordClassifier, not ``sp.Sword``.
"""
SAID, WAS = "predicted", "actual"


class PredictedRows(NamedTuple):
    """Predictions of the learner."""

    predictions: Vector
    """Values, or codes of classes; shape ``(T,)``."""
    probabilities: Vector
    """Of the predicted classes, shape ``(T,)``; empty for a regression."""


NOTHING_SAID = PredictedRows(np.empty(0), np.empty(0))


class Played(NamedTuple):
    """Rows that were predicted and then, where their targets are known, learned."""

    said: PredictedRows
    losses: Vector
    """Of the learner in the n rows that were learned, shape ``(n,)``: squared errors, or log
    losses of a classification.
    """
    errors: Matrix
    """Of the learner and of both baselines there, shape ``(n, 3)``: squared errors, or mistakes
    (0 and 1).
    """
    figures: Matrix
    """What else is summed over those rows, shape ``(n, F)``: see ``Contestants.figures``."""
    values: Matrix
    """What extremes are kept of: prediction, target and their difference, shape ``(n, 3)``.

    ``(n, 0)`` for classes.
    """

    def part(self, first: int, stop: int) -> Played:
        """Some of the rows that were learned, without what was said of them."""
        return Played(NOTHING_SAID, *(of_rows[first:stop] for of_rows in self[1:]))


class Answers(NamedTuple):
    """What the learner said of rows, and what there is to judge it by."""

    said: Any
    """Predictions, shape ``(T,)``, or probabilities of all classes, shape ``(T, K)``."""
    before: Any
    """What had been learned before: rows, or rows of each class."""
    told: list[Any]
    """What single step sizes learn from: pairs of scaled rows (``Workspace``) and labels, which a
    regression passes over.
    """


class SegmentedLearning(Protocol):
    """Rows that are learned some at a time."""

    def learn(self, first: int, stop: int) -> None:
        """Predict and learn some rows, those before them being learned."""
        ...

    def answers(self) -> Answers:
        """For all rows, once they are learned."""
        ...


class Debut(NamedTuple):
    """What the learner said of a row whose target nobody could have predicted."""

    chances: Matrix | None
    """Probabilities of the classes that it knew, shape ``(1, K)``.

    None for the very first row, which nobody predicts.
    """
    chance: float
    """What it is taken to have given the class that came."""
    classes: int
    """Classes with this one."""


class Contestants(Protocol):
    """What a run asks of them, whatever the task."""

    names: tuple[str, str, str]
    """The learner and the baselines: the columns of ``Played.errors``."""
    figures: tuple[str, ...]
    """Names of the columns of ``Played.figures``."""

    @property
    def started(self) -> bool:
        """Whether anything was learned: before that nobody predicts."""
        ...

    @property
    def models(self) -> Mapping[str, HeadSnapshot]:
        """The learner's models by what they tell, such as a class."""
        ...

    @property
    def coefficients(self) -> dict[int, Vector]:
        """Of the scaled columns, for each model by the code of its class (0 for a regression).

        Shape ``(d,)`` each.
        """
        ...

    def targets(self, column: Any) -> Vector:
        """Targets of a pyarrow column as numbers, NaN where missing."""
        ...

    def strange(self, column: Any, whole: bool) -> dict[int, str]:
        """Rows of a pyarrow column whose target cannot be used, and why.

        ``whole`` if classes are whole numbers.
        """
        ...

    def debuts(self, targets: Vector) -> list[int]:
        """Rows whose target nobody could have predicted: the very first one, and the first one
        of every class.
        """
        ...

    def learn(self, rows: Matrix, targets: Vector) -> Answers:
        """Let the learner predict rows, each before it learns it.

        Those without a target (NaN) are not learned.
        """
        ...

    def in_parts(self, rows: Matrix, targets: Vector) -> SegmentedLearning:
        """The same for some rows at a time, so that the learner can be looked at in between."""
        ...

    def learn_debut(self, row: Matrix, target: Vector) -> tuple[Answers, Debut]:
        """The same for one row that is a debut, arrays of length 1."""
        ...

    def widen(self, dim: int) -> None:
        """Let the learner make room for columns that appear late."""
        ...

    def climb(self, told: list[Any], to: Places) -> None:
        """Let single step sizes predict and learn the same rows.

        Their losses are added where they belong.
        """
        ...

    def judge(self, answers: Answers, targets: Vector) -> Played:
        """What answers for rows are worth, beside those of the baselines."""
        ...

    def judge_debut(
        self, debut: Debut, answers: Answers, target: Vector, losses: Vector
    ) -> Played | None:
        """The same for a debut, single step sizes included.

        None for the very first one, which nobody predicts.
        """
        ...

    def widen_rungs(self, dim: int) -> None:
        """Let single step sizes make room for columns that appear late."""
        ...

    def arrow(self, values: Vector, known: Any) -> Any:
        """Predictions as a pyarrow array of the target's type, null where not ``known``."""
        ...

    def shown(self, target: float) -> str:
        """A prediction or a target for people."""
        ...

    def state(self) -> State:
        """All that the next row needs."""
        ...

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        ...


@final
class OneByOne:
    """Rows that are learned some at a time, each time as if they were all.

    Parameters
    ----------
    learn
        That of the contestants.
    rows, targets
        Given to it in parts.
    """

    def __init__(
        self, learn: Callable[[Matrix, Vector], Answers], rows: Matrix, targets: Vector
    ) -> None:
        self._learn, self._rows, self._targets = learn, rows, targets
        self._found: list[Answers] = []

    def learn(self, first: int, stop: int) -> None:
        """Predict and learn some rows."""
        self._found.append(self._learn(self._rows[first:stop], self._targets[first:stop]))

    def answers(self) -> Answers:
        """For all rows, put together."""
        found = self._found
        if len(found) == 1:
            return found[0]
        said = np.concatenate([one.said for one in found])
        return Answers(said, found[0].before, [part for one in found for part in one.told])


class Asking:
    """A model that knows whether the row to come follows the last one learned: only then its last
    targets are known.

    Parameters
    ----------
    model
        Of numbers, or of classes.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self.apart = False
        """Whether rows without a target have come since."""

    def learn(self, rows: Matrix, targets: Any, observer: Any) -> Any:
        """Predictions of rows, each made before it is learned."""
        self.apart = False
        return self._model.predict_then_learn(rows, targets, observer=observer)

    def predict(self, rows: Matrix) -> Any:
        """Predictions of rows without a target: with the last targets for the first one, if it
        follows the last one learned.
        """
        following, self.apart = int(not self.apart), True
        return self._model.predict(rows, following)

    def state(self) -> State:
        """Return what the next row needs."""
        return {"apart": self.apart}

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self.apart = bool(saved["apart"])


def interleaved(
    learn: Callable[[Matrix, Any], Any],
    predict: Callable[[Matrix], Any],
    rows: Matrix,
    targets: Any,
    known: Any,
) -> Any:
    """Answers for rows in their order: those whose targets are known are predicted and learned,
    the others predicted.
    """
    if known.all():
        return learn(rows, targets)
    edges = [0, *(np.flatnonzero(np.diff(known)) + 1).tolist(), len(known)]
    return np.concatenate(
        [
            learn(rows[a:b], targets[a:b]) if known[a] else predict(rows[a:b])
            for a, b in pairwise(edges)
        ]
    )
