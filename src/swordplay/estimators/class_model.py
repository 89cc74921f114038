"""ClassModel: probabilities of classes, which may join late, from one head per class."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np

from swordplay.core import state
from swordplay.core.arguments import short_repr
from swordplay.core.state import DAMAGED, ROW_COUNT_RANGE, Field, add_prefix, part_of, split_parts
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators.class_probabilities import (
    MAX_CLASSES,
    ClassCalibration,
    ClassLayers,
    probabilities_of,
)
from swordplay.estimators.forecast import Forecast
from swordplay.estimators.linear_model import (
    NO_CLASS,
    HeadSnapshot,
    LinearModel,
    join_centers,
    learn_with_earlier_lags,
)
from swordplay.estimators.second_order_layer import NO_CENTERS, SecondOrderLayer
from swordplay.estimators.workspace import Observer


class ClassScores(NamedTuple):
    """Log-odds of T rows."""

    scores: Matrix
    """Of each class, shape ``(T, K)``; of the second of two classes ``(T, 1)``."""
    column_centers: Matrix
    """Centre of the column of each missing entry, as it was before that row; empty if none is."""


@final
class ClassModel:
    """The probability of each class, from the log-odds of heads that share the scaled columns.

    There is one head per class, and not one softmax: a class that appears late then changes nothing
    for the others, and every head is the same compiled learner. Two classes share one head.

    Unseen classes that joined together have learned the same from every row: that it is none of
    them. They share one head until the first row of one of them, which then gets a copy of its own.
    So thousands of classes that may come cost nothing until they do.

    Parameters
    ----------
    make
        Makes a fresh model with ``loss="logistic"``.
    classes
        Number of classes known from the start.
    """

    def __init__(self, make: Callable[[], LinearModel], classes: int = 0) -> None:
        self._make = make
        self.groups: list[LinearModel] = []
        """Models with one or more heads.

        There is one model for all classes, except with explicit lags: then each class has a model,
        as their lags differ.
        """
        self.group: Any = np.empty(0, dtype=np.intp)
        """Index in ``groups`` of the head of each score."""
        self.position: Any = np.empty(0, dtype=np.intp)
        """Position of the head of each score among the heads of its group."""
        self.counts: Vector = np.zeros(0)
        """Rows learned of each class."""
        self.first_negated = 0
        """1 if the head of the first class predicts that a row is *not* of it, else 0.

        Once a third class joins, the only head of two classes becomes that of the second class,
        and a copy of it, with negated scores, that of the first.
        """
        self.calibration: ClassCalibration | None = None
        """Calibrates the probabilities of three or more classes, if curves were asked for."""
        self._kept_layer: SecondOrderLayer | None = None
        """The second-order layer of two classes, while there is one class."""
        self._sharing: set[int] = set()
        """Classes that share a head with others."""
        self._order: Any = None
        """Column of each score among the heads of all groups; None if they are in order."""
        self.grow(classes)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.counts)

    @property
    def rounds(self) -> int:
        """Number of rows learned."""
        return int(self.counts.sum())

    @property
    def second_order(self) -> SecondOrderLayer | None:
        """The second-order layer beside the only head of two classes."""
        return self.groups[0].second_order if self.groups and self.classes < 3 else None

    @property
    def heads(self) -> list[HeadSnapshot]:
        """The head of each class; of two classes the only one, which predicts the second."""
        places = zip(self.group.tolist(), self.position.tolist(), strict=True)
        return [self.groups[group].snapshot(position) for group, position in places]

    @property
    def signs(self) -> Vector:
        """-1 for a head that predicts that a row is *not* of its class, else 1; ``(heads,)``."""
        return np.where(np.arange(len(self.group)) < self.first_negated, -1.0, 1.0)

    def named(self, labels: Sequence[Any]) -> Iterator[tuple[str, HeadSnapshot]]:
        """Yield label and head of each class, given all labels; of two classes the second."""
        names = labels if len(self.group) > 1 else labels[-1:]
        return zip(map(str, names), self.heads, strict=True)

    # ------------------------------------------------------------------ classes and columns

    def grow(self, classes: int) -> None:
        """Make room for more classes."""
        if classes <= self.classes:
            return
        known = self.classes
        self.counts = np.append(self.counts, np.zeros(classes - known))
        if not self.groups:
            self.groups.append(self._make())
            self._assign([(0, 0)] * (1 if classes <= 2 else classes), 0)
        first = self.groups[0]
        if classes == 1:  # there is nothing to learn: the second-order layer is kept for later
            self._keep_layer()
        elif known == 1:
            first.replace_second_order(self._kept_layer)
            self._kept_layer = None
        if classes <= 2:
            return
        if first.wants_second_order and self.calibration is None:
            self.calibration = ClassCalibration(ClassLayers.like(first.second_order))
        if self.calibration is not None and classes > MAX_CLASSES:
            self.calibration.layers = None
        first.drop_second_order()
        if len(self.group) == 1:
            self.first_negated = 1
            self._assign([self._copy_head(0, 0), (0, 0)], 0)
        if missing_heads := classes - len(self.group):
            self._assign([self._fresh_head()] * missing_heads, len(self.group))

    def _keep_layer(self) -> None:
        """Take the second-order layer away from the only class, until there is another one."""
        self._kept_layer = self.groups[0].second_order
        self.groups[0].drop_second_order()

    def _assign(self, places: list[tuple[int, int]], first: int) -> None:
        """Assign heads, by group and position, to the classes from the first one on."""
        groups, positions = np.array(places, dtype=np.intp).reshape(-1, 2).T
        self.group = np.append(self.group[:first], groups)
        self.position = np.append(self.position[:first], positions)
        self._label_heads()

    def _label_heads(self) -> None:
        """Write the class of every head into its group; NO_CLASS if several classes share it."""
        edges = np.cumsum([0, *(len(group.heads) for group in self.groups)])
        order = edges[self.group] + self.position
        is_alone = np.bincount(order)[order] == 1
        labels = np.tile([NO_CLASS, 0.0], (edges[-1], 1))
        # The only head of two classes predicts the second, class 1.
        labels[order[is_alone], 0] = 1.0 if len(order) == 1 else np.flatnonzero(is_alone)
        labels[order[: self.first_negated], 1] = 1.0
        for group, (first, last) in zip(self.groups, pairwise(edges), strict=True):
            group.head_labels[:] = labels[first:last]
        self._sharing = set(np.flatnonzero(~is_alone).tolist())
        self._order = None if np.array_equal(order, np.arange(edges[-1])) else order

    def _fresh_head(self) -> tuple[int, int]:
        """Add a head that has learned nothing, with the known columns."""
        known = self.groups[0]
        if not len(known.recent):
            return 0, known.add_head()
        model = self._make()
        model.drop_second_order()
        if known.dim > model.dim:
            model.widen(known.dim)
        # Lags are of its own class, and unknown yet.
        model.columns.copy_columns(known.columns, len(known.recent))
        self.groups.append(model)
        return len(self.groups) - 1, 0

    def _copy_head(self, group: int, position: int) -> tuple[int, int]:
        """Add a copy of a head, with last targets of its own if there are lags."""
        if not len(self.groups[group].recent):
            return group, self.groups[group].copy_head(position)
        self.groups.append(copy.deepcopy(self.groups[group]))
        return len(self.groups) - 1, 0

    def _give_own_head(self, label: int) -> None:
        """Give a class that is about to be seen for the first time a head of its own."""
        group, position = int(self.group[label]), int(self.position[label])
        self.group[label], self.position[label] = self._copy_head(group, position)
        self._label_heads()

    def widen(self, dim: int) -> None:
        """Add columns behind the others, up to ``dim``; their coefficients start at 0."""
        for group in self.groups:
            group.widen(dim)
        if self.calibration is not None:
            self.calibration.widen(dim)

    # ------------------------------------------------------------------ predicting

    def predict(self, rows: Matrix, following: int = 1) -> Matrix:
        """Return probabilities, ``(T, K)``.

        The first ``following`` rows count as successors of the last learned one.
        """
        return self.probabilities(self.scores(rows, following), following, rows)

    def scores(self, rows: Matrix, following: int = 1) -> ClassScores:
        """Return log-odds of rows (see :meth:`LinearModel.predict`); nothing is learned."""
        if self.second_order is not None and self.classes == 2:
            return ClassScores(self.groups[0].predict(rows, following)[:, None], NO_CENTERS)
        found = [group.first_order(rows) for group in self.groups]
        return ClassScores(self._in_order([scores for scores, _ in found]), found[0][1])

    def probabilities(self, found: ClassScores, following: int, rows: Matrix) -> Matrix:
        """Return probabilities from the scores of rows that are not learned, ``(T, K)``."""
        if self.calibration is None:
            return probabilities_of(found.scores, self.classes)
        return self.calibration.predict(found.scores, following, rows, found.column_centers)

    def forecast(self, rows: Matrix) -> Forecast:
        """Predict rows whose labels come later, each as if it were the next one."""
        rounds = np.full(len(rows), float(self.rounds))
        if self.second_order is not None and self.classes == 2:
            found = self.groups[0].forecast(rows)
            return found._replace(scores=probabilities_of(found.scores, 2), rounds=rounds)
        notes = np.empty((len(rows), 0))
        if self.calibration is not None:
            notes = self.calibration.notes(len(rows))
        recent = np.concatenate([group.recent for group in self.groups])
        return Forecast(
            self.predict(rows, len(rows)),
            np.concatenate([group.expert_scores(rows) for group in self.groups], axis=1),
            np.tile(recent, (len(rows), 1)),
            notes,
            rounds,
        )

    # ------------------------------------------------------------------ learning

    def predict_then_learn(
        self,
        rows: Matrix,
        labels: Any,
        weights: Vector | None = None,
        observer: Observer | None = None,
        earlier_forecast: Forecast | None = None,
    ) -> Matrix:
        """Return probabilities of rows, each made before its own label is learned, ``(T, K)``.

        Parameters
        ----------
        rows, labels
            Shape ``(T, d)``, and classes 0..K-1, shape ``(T,)``.
        weights, observer, earlier_forecast
            As in :meth:`LinearModel.predict_then_learn`.
        """
        if earlier_forecast is not None and len(self.groups[0].recent):
            learn = functools.partial(self._learn, observer=observer)
            return np.asarray(
                learn_with_earlier_lags(self.groups, learn, rows, labels, weights, earlier_forecast)
            )
        return self._learn(rows, labels, weights, observer, earlier_forecast)

    def _learn(
        self,
        rows: Matrix,
        labels: Any,
        weights: Vector | None,
        observer: Observer | None = None,
        earlier_forecast: Forecast | None = None,
    ) -> Matrix:
        notes = None
        if earlier_forecast is not None and self.calibration is not None:
            ages = earlier_forecast.ages(self.rounds)
            notes = (
                earlier_forecast.notes_of(ages, self.calibration.note_count) if ages.any() else None
            )
        found = self.scores_then_learn(rows, labels, weights, observer, earlier_forecast)
        return self.probabilities_then_learn(found, rows, labels, weights, notes)

    def probabilities_then_learn(
        self,
        found: ClassScores,
        rows: Matrix,
        labels: Any,
        weights: Vector | None = None,
        notes: Matrix | None = None,
    ) -> Matrix:
        """Return probabilities from the scores of rows that the heads have just learned.

        Each is made before the calibration learns its own label.
        """
        if self.calibration is None:
            return probabilities_of(found.scores, self.classes)
        self.calibration.widen(self.groups[0].dim)
        centers = found.column_centers
        return self.calibration.learn(found.scores, labels, weights, rows, centers, notes)

    def scores_then_learn(
        self,
        rows: Matrix,
        labels: Any,
        weights: Vector | None = None,
        observer: Observer | None = None,
        earlier_forecast: Forecast | None = None,
    ) -> ClassScores:
        """Return log-odds of rows, each made before the heads learn its own label."""
        seen = np.bincount(labels, minlength=self.classes)
        debuts = [
            int((labels == k).argmax()) for k in np.flatnonzero(seen).tolist() if k in self._sharing
        ]
        targets = np.asarray(labels, dtype=np.float64)
        ages = None if earlier_forecast is None else earlier_forecast.ages(self.rounds)
        scores, centers = [], []
        for first, last in pairwise(sorted({0, *debuts, max(1, len(rows))})):
            if debuts and labels[first] in self._sharing:
                self._give_own_head(int(labels[first]))
            here, edge, found = slice(first, last), 0, []
            for k, group in enumerate(self.groups):
                late_scores, notes = None, None
                heads = slice(edge, edge + len(group.heads))
                edge = heads.stop
                if earlier_forecast is not None and ages is not None and ages.any():
                    part = earlier_forecast.rows(here)
                    late_scores = part.late_scores(ages[here], heads, group.heads.expert_count)
                    if group.second_order is not None:
                        notes = part.notes_of(ages[here], group.second_order.note_count)
                found.append(
                    group.scores_then_learn(
                        rows[here],
                        targets[here],
                        None if weights is None else weights[here],
                        None if k else observer,
                        late_scores,
                        notes,
                    )
                )
            scores.append(self._in_order([one for one, _ in found]))
            centers.append(found[0][1])
        self.counts = self.counts + seen
        counts = list(map(len, scores))
        joined = join_centers(centers, counts, self.groups[0].dim)
        return ClassScores(np.concatenate(scores), joined)

    def _in_order(self, scores: list[Matrix]) -> Matrix:
        """Return the scores of the heads of all groups as those of the classes."""
        together = scores[0] if len(scores) == 1 else np.hstack(scores)
        answer = together if self._order is None else together.take(self._order, axis=1)
        if self.first_negated:
            answer[:, 0] *= -1.0
        return answer

    # ------------------------------------------------------------------ saving

    def state(self) -> State:
        """Return all that the next row needs.

        Every head is saved once, however many classes share it.
        """
        flat: State = {
            "counts": self.counts.copy(),
            "first_negated": self.first_negated,
            "group": self.group.copy(),
            "position": self.position.copy(),
        }
        for number, group in enumerate(self.groups):
            flat |= add_prefix(f"{number}", group.shared_state())
            for k, learner in enumerate(group.heads.learners):
                flat |= add_prefix(f"{number}.{k}", learner.compact_state())
        if self.calibration is not None:
            flat |= add_prefix("calibration", self.calibration.state())
        layer = self.second_order
        if self._kept_layer is not None:
            layer = self._kept_layer.widened(self.groups[0].dim)
        if layer is not None:
            flat |= add_prefix("second", layer.state())
        return flat

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Continue from a saved state; all further results are identical to those of its model."""
        found, parts = read_state(saved), split_parts(saved)
        groups = []
        for shared, heads in found.groups:
            group = self._make()
            if len(group.recent) and len(heads) > 1:
                raise ValueError(f"state has {len(heads)} classes with the same lags. {DAMAGED}")
            group.load_heads(shared, heads)
            groups.append(group)
        first, classes = groups[0], len(found.counts)
        layers = ClassLayers.like(first.second_order)
        self.calibration = None
        if first.wants_second_order:
            self.calibration = ClassCalibration.from_parts(parts, classes, layers)
        for group in groups[1:] if classes < 3 else groups:
            group.drop_second_order()
        if classes < 3:
            first.load_second_order(parts)
        self.groups, self.counts = groups, found.counts
        self.first_negated = found.first_negated
        self.group, self.position = found.group, found.position
        self._kept_layer = None
        if classes == 1:
            self._keep_layer()
        self._label_heads()


class SavedGroup(NamedTuple):
    """State of heads that share their columns."""

    shared: State
    """The saved group, split into its parts; besides those of the heads, what they share."""
    heads: list[State]


class SavedClasses(NamedTuple):
    """State of a :class:`ClassModel`, checked, without layers and calibration."""

    counts: Vector
    first_negated: int
    groups: list[SavedGroup]
    group: Any
    position: Any


def read_state(saved: Mapping[str, Any]) -> SavedClasses:
    """Check a saved state.

    Raises
    ------
    ValueError
        If its parts do not fit together.
    """
    counts, negated = np.array(saved["counts"], dtype=np.float64), saved["first_negated"]
    if counts.ndim != 1 or not len(counts) or negated not in ((0,) if len(counts) < 3 else (0, 1)):
        raise ValueError(
            f"state has counts of shape {counts.shape} and first_negated = {short_repr(negated)}. "
            f"{DAMAGED}"
        )
    state.check("counts", counts, ROW_COUNT_RANGE)
    return SavedClasses(counts, int(negated), *_heads(split_parts(saved), counts, int(negated)))


def _heads(
    parts: Mapping[str, Any], counts: Vector, first_negated: int
) -> tuple[list[SavedGroup], Any, Any]:
    """Return the states of all groups, and the group and position of each score."""
    scores = 1 if len(counts) < 3 else len(counts)
    for name in ("group", "position"):
        if np.shape(parts[name]) != (scores,):
            raise ValueError(
                f"state[{name!r}] must have shape ({scores},), got {np.shape(parts[name])}. "
                f"{DAMAGED}"
            )
        state.check(name, parts[name], Field(0.0, scores - 1.0, whole=True))
    group, position = (np.array(parts[name], dtype=np.intp) for name in ("group", "position"))
    heads, head, sharing = np.unique(
        np.stack([group, position]), axis=1, return_inverse=True, return_counts=True
    )
    numbers, sizes = np.unique(heads[0], return_counts=True)
    if not np.array_equal(numbers, np.arange(len(numbers))) or any(
        not np.array_equal(heads[1][heads[0] == k], np.arange(size))
        for k, size in enumerate(sizes.tolist())
    ):
        raise ValueError(f"state['position'] leaves heads out. {DAMAGED}")
    is_shared = sharing[head.ravel()] > 1
    if counts[: len(is_shared)][is_shared].any() or is_shared[:first_negated].any():
        raise ValueError(
            f"state['position'] has one head for several classes that have been seen. {DAMAGED}"
        )
    groups = []
    for k, size in enumerate(sizes.tolist()):
        shared = split_parts(part_of(str(k), parts))
        groups.append(SavedGroup(shared, [part_of(str(h), shared) for h in range(size)]))
    return groups, group, position
