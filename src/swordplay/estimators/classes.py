"""Several classes: one head each, which may join late."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, final

import numpy as np

from swordplay.core.state import DAMAGED, add_prefix, split_parts
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators import class_files, probabilities
from swordplay.estimators.class_layers import MOST_CLASSES, ClassLayers
from swordplay.estimators.forecast import Forecast
from swordplay.estimators.head import Head
from swordplay.estimators.heads import NOBODY, Heads
from swordplay.estimators.model import (
    NO_AGES,
    LinearModel,
    learn_with_earlier_lags,
    loaded,
    middles,
    score_beside,
    widened,
)
from swordplay.estimators.scratch import NONE_MISSING, Beside, Plans
from swordplay.estimators.second_order import SecondOrder
from swordplay.estimators.tempered import Tempered
from swordplay.estimators.voices import ask_heads


@final
class OneModelPerClass:
    """The probability of each class, from one log-odds model per class: heads that share the scaled
    columns of the table.

    One head per class, and not one softmax, because a class that appears late then changes nothing
    for the others, and because every head is the same compiled learner. Two classes share one head.

    Classes that joined together and have not been seen yet have learned the same from every row,
    that it was none of them. One head stands for all of these until the first row of one of them,
    which then goes on with a copy of its own. So thousands of classes that may come cost nothing
    until they do.

    Parameters
    ----------
    make
        Makes a fresh model with ``loss="logistic"``.
    classes
        How many classes are known from the start.
    """

    second: SecondOrder | None = None
    """Second-order experts beside the only head of two classes; three or more do without."""
    tempered: Tempered | None = (
        None  # makes the probabilities of more classes as sure as they are right, where they are
    )
    curved = False
    _missing: Matrix = NONE_MISSING

    def __init__(self, make: Callable[[], LinearModel], classes: int = 0) -> None:
        self._make = make
        self.teams: list[Heads] = []
        """Heads that share the columns: one team; with lags each class has columns of its own."""
        self.team: Any = np.empty(0, dtype=np.intp)
        """Of each score: in which team its head is,"""
        self.place: Any = np.empty(0, dtype=np.intp)
        """and where in this team."""
        self.counts: Vector = np.zeros(0)
        """Rows learned of each class."""
        self.turned = 0
        """1 if the first head predicts that a row is *not* of the first class, else 0: once a third
        class has joined, the only
        head of two goes on as that of the second class, and its copy, with every score negated, as
        that of the first."""
        self._waiting: set[int] = set()
        """Classes for which a head stands together with others."""
        self._order: Any = None
        """The column of each score among those of all teams; None if they are in order."""
        self.grow(classes)

    @property
    def classes(self) -> int:
        """How many classes are known."""
        return len(self.counts)

    @property
    def heads(self) -> list[Head]:
        """The head of each class; of two, the only one, which tells the second from the first."""
        return [
            self.teams[team][place]
            for team, place in zip(self.team.tolist(), self.place.tolist(), strict=True)
        ]

    @property
    def signs(self) -> Vector:
        """-1 for each head that tells the chances *against* its class, 1 for the others.

        Shape ``(len(heads),)``.
        """
        return np.where(np.arange(len(self.team)) < self.turned, -1.0, 1.0)

    def named(self, labels: Sequence[Any]) -> Iterator[tuple[str, Head]]:
        """Each head and the label that it tells, of all labels in the order of the classes.

        Of two, the second.
        """
        told = labels if len(self.team) > 1 else labels[-1:]
        return zip(map(str, told), self.heads, strict=True)

    def grow(self, classes: int) -> None:
        """Make room for more classes."""
        if classes <= self.classes:
            return
        self.counts = np.append(self.counts, np.zeros(classes - self.classes))
        if not self.teams:
            model = self._make()
            self.teams.append(model.heads)
            self.second, self.curved = model.second, model.curved
            self._seat([(0, 0)] * (1 if classes <= 2 else classes), 0)
        if classes <= 2:
            return
        if self.curved and self.tempered is None:
            self.tempered = Tempered(ClassLayers.like(self.second))
        if self.tempered is not None and classes > MOST_CLASSES:
            self.tempered.layers = None
        self.second = None
        if len(self.team) == 1:
            # From two classes to more: the one head told class 1 from class 0. It goes on as that
            # of class 1, and a copy of it, the other way round, as that of class 0: nothing that
            # was learned is lost.
            self.turned = 1
            self._seat([self._copied(0, 0), (0, 0)], 0)
        if late := classes - len(self.team):
            self._seat([self._fresh()] * late, len(self.team))

    def _seat(self, seats: list[tuple[int, int]], first: int) -> None:
        """Give the classes from the first one on their heads: team and place of each."""
        teams, places = np.array(seats, dtype=np.intp).reshape(-1, 2).T
        self.team, self.place = (
            np.append(self.team[:first], teams),
            np.append(self.place[:first], places),
        )
        self._settle()

    def _settle(self) -> None:
        """Let every head know which class it predicts: nobody's if it stands for several, which
        wait for their own.
        """
        edges = np.cumsum([0, *map(len, self.teams)])
        order = edges[self.team] + self.place
        alone = np.bincount(order)[order] == 1
        told = np.tile([NOBODY, 0.0], (edges[-1], 1))
        told[order[alone], 0] = 1.0 if len(order) == 1 else np.flatnonzero(alone)
        told[order[: self.turned], 1] = 1.0
        for team, first, last in zip(self.teams, edges, edges[1:], strict=False):
            team.told[:] = told[first:last]
        self._waiting = set(np.flatnonzero(~alone).tolist())
        self._order = None if np.array_equal(order, np.arange(edges[-1])) else order

    def _fresh(self) -> tuple[int, int]:
        """A head that has learned nothing, told of columns that are known already."""
        if not len(self.teams[0].recent):
            return 0, self.teams[0].add()
        team, known = self._make().heads, self.teams[0]
        if known.dim > team.dim:
            team.widen(known.dim)
        team.columns.copy_columns(
            known.columns, len(known.recent)
        )  # lags are of its own class, and unknown yet
        self.teams.append(team)
        return len(self.teams) - 1, 0

    def _copied(self, team: int, place: int) -> tuple[int, int]:
        """A copy of a head, with the last targets of its own where there are lags."""
        if not len(self.teams[team].recent):
            return team, self.teams[team].fork(place)
        self.teams.append(copy.deepcopy(self.teams[team]))
        return len(self.teams) - 1, 0

    def _admit(self, label: int) -> None:
        """Give a class that is about to be seen for the first time a head of its own."""
        self.team[label], self.place[label] = self._copied(
            int(self.team[label]), int(self.place[label])
        )
        self._settle()

    def widen(self, dim: int) -> None:
        """Make room for columns that appear late."""
        for team in self.teams:
            team.widen(dim)
        self.second = widened(self.second, dim)
        if self.tempered is not None:
            self.tempered.widen(dim)

    def predict(self, rows: Matrix, following: int = 1) -> Matrix:
        """Probabilities, shape ``(T, K)``; nothing is learned."""
        return self.chances(self.scores(rows, following), following, rows)

    def chances(self, scores: Matrix, following: int, rows: Matrix) -> Matrix:
        """Probabilities from the scores of rows that are not learned.

        So many of them follow the last one learned.
        """
        missing = middles(self.teams[0], rows[:, : self.teams[0].dim])
        return (
            self.probabilities(scores)
            if self.tempered is None
            else self.tempered.predict(scores, following, rows, missing)
        )

    def chances_then_learn(
        self,
        scores: Matrix,
        labels: Any,
        weights: Vector | None,
        rows: Matrix,
        notes: Matrix | None = None,
    ) -> Matrix:
        """The same from the scores of rows that were just learned, each made before its own
        label is learned.
        """
        if self.tempered is None:
            return self.probabilities(scores)
        self.tempered.widen(self.teams[0].dim)
        return self.tempered.learn(scores, labels, weights, rows, self._missing, notes)

    @property
    def rounds(self) -> int:
        """How many rows were learned."""
        return int(self.counts.sum())

    def scores(self, rows: Matrix, following: int = 1) -> Matrix:
        """Log-odds of each class, ``(T, K)``.

        Of two, those of the second, ``(T, 1)`` (see :meth:`LinearModel.predict`).
        """
        scores = self._put([team.predict(rows) for team in self.teams])
        if self.second is None or self.classes < 2:
            return scores
        return score_beside(self.second, self.teams[0], rows, scores[:, 0], following)[:, None]

    def forecast(self, rows: Matrix) -> Forecast:
        """Predict rows whose labels come later, each as if it were the next one."""
        firsts, voices = zip(*(ask_heads(team, rows) for team in self.teams), strict=True)
        scores, notes = self._put(list(firsts)), np.empty((len(rows), 0))
        if self.tempered is not None:
            notes = self.tempered.notes(len(rows))
        elif self.second is not None and self.classes == 2:
            known = rows[:, : self.second.dim]
            mixed, notes = self.second.ask(known, scores[:, 0], middles(self.teams[0], known))
            scores = mixed[:, None]
        recent = np.concatenate([team.recent for team in self.teams])
        return Forecast(
            self.chances(scores, len(rows), rows),
            np.concatenate(voices, axis=1),
            np.tile(recent, (len(rows), 1)),
            notes,
            np.full(len(rows), float(self.rounds)),
        )

    def predict_then_learn(
        self,
        rows: Matrix,
        labels: Any,
        weights: Vector | None = None,
        beside: Beside | None = None,
        asked: Forecast | None = None,
    ) -> Matrix:
        """Probabilities of rows, each made before its own label (0..K-1) is learned, ``(T, K)``
        (see :meth:`Heads.learn`).

        ``asked`` is the forecast of rows whose labels come late.
        """
        if asked is not None and len(self.teams[0].recent):
            learn = functools.partial(self._learn, beside=beside)
            return np.asarray(
                learn_with_earlier_lags(self.teams, learn, rows, labels, weights, asked)
            )
        return self._learn(rows, labels, weights, beside, asked)

    def _learn(
        self,
        rows: Matrix,
        labels: Any,
        weights: Vector | None,
        beside: Beside | None = None,
        asked: Forecast | None = None,
    ) -> Matrix:
        notes = None
        if asked is not None and self.tempered is not None:
            ages = asked.ages(self.rounds)
            notes = asked.notes_of(ages, self.tempered.noted) if ages.any() else None
        scores = self.scores_then_learn(rows, labels, weights, beside, asked)
        return self.chances_then_learn(scores, labels, weights, rows, notes)

    def scores_then_learn(
        self,
        rows: Matrix,
        labels: Any,
        weights: Vector | None = None,
        beside: Beside | None = None,
        asked: Forecast | None = None,
    ) -> Matrix:
        """The same as log-odds: of each class, or of the second one of two.

        Shape ``(T, K)`` or ``(T, 1)``.
        """
        seen = np.bincount(labels, minlength=self.classes)
        debuts = [
            int((labels == k).argmax()) for k in np.flatnonzero(seen).tolist() if k in self._waiting
        ]
        places, answers, plans = np.asarray(labels, dtype=np.float64), [], Plans(beside)
        ages = NO_AGES if asked is None else asked.ages(self.rounds)
        for start, stop in pairwise(sorted({0, *debuts, len(rows)})):
            if labels[start] in self._waiting:
                self._admit(int(labels[start]))
            part = slice(start, stop)
            share = None if weights is None else weights[part]
            first, *others = self.teams
            late: list[Any] = [None] * len(self.teams)
            if asked is not None and ages.any():
                late = self._late_scores(asked.rows(part), ages[part])
            to = plans if self.curved else beside
            told = [first.learn(rows[part], places[part], share, to, late[0])]
            if self._curved:
                self.second = widened(self.second, first.dim)
            if self.second is not None and self._curved:
                known = rows[part, : self.second.dim]
                more: Any = plans.plan, plans.middles(self.second.dim), None
                if asked is not None and ages.any():
                    more = *more[:2], asked.rows(part).notes_of(ages[part], self.second.noted)
                told = [
                    self.second.learn(known, places[part], share, told[0][:, 0], *more)[:, None]
                ]
            answers.append(
                self._put(
                    told
                    + [
                        team.learn(rows[part], places[part], share, late=one)
                        for team, one in zip(others, late[1:], strict=True)
                    ]
                )
            )
        self.counts, self._missing = self.counts + seen, plans.middles(self.teams[0].dim)
        return (
            answers[0]
            if len(answers) == 1
            else np.concatenate([np.empty((0, len(self.team))), *answers])
        )

    def _late_scores(self, asked: Forecast, ages: Vector) -> list[Any]:
        """Ages and scores of rows that were asked earlier, for the heads of each team."""
        edges = np.cumsum([0, *map(len, self.teams)]).tolist()
        experts = self.teams[0].stack.expert_count
        return [asked.late_scores(ages, slice(*edge), experts) for edge in pairwise(edges)]

    @property
    def _curved(self) -> bool:
        return self.second is not None and self.classes == 2

    def _put(self, scores: list[Matrix]) -> Matrix:
        """Scores of all heads of each team, as those of the classes."""
        together = scores[0] if len(scores) == 1 else np.hstack(scores)
        answer = together if self._order is None else together.take(self._order, axis=1)
        if self.turned:
            answer[:, 0] *= -1.0
        return answer

    def probabilities(self, scores: Matrix) -> Matrix:
        """Of the classes, shape ``(T, K)``."""
        return probabilities.of_scores(scores, self.classes)

    def predict_row(self, row: Vector) -> list[float]:
        """Probabilities of one row of shape ``(d,)``; nothing is learned."""
        if self.classes == 2:
            score = float(self.teams[0].predict_row(row)[0, 0])
            second, missing = self.second, middles(self.teams[0], row[None])
            return probabilities.of_two(
                score if second is None else second.predict_row(row, score, missing)
            )
        scores = self._put([team.predict_row(row) for team in self.teams])
        # numpy's tolist has no type
        return self.chances(scores, 1, row[None])[0].tolist()  # type: ignore[no-any-return]

    def learn_row(self, row: Vector, label: int, asked: Forecast | None = None) -> None:
        """Learn from one row of shape ``(d,)``: the same bits as :meth:`predict_then_learn`."""
        if asked is not None:
            self.predict_then_learn(row[None], np.array([label]), asked=asked)
            return
        if label in self._waiting:
            self._admit(label)
        missing = middles(self.teams[0], row[None])
        written = [team.learn_row(row, label) for team in self.teams]
        if self.tempered is not None:
            scores = self._put([one.predictions.T.copy() for one in written])
            self.tempered.learn(scores, np.array([label]), None, row[None], missing)
        if self.second is not None and self._curved:
            self.second.learn_row(
                row, label, float(written[0].predictions[0, 0]), written[0].rounds[0, 3:5], missing
            )
        self.counts[label] += 1.0

    def state(self) -> State:
        """All that the next row needs."""
        flat = class_files.write(self.counts, self.turned, self.teams, self.team, self.place)
        if self.tempered is not None:
            flat |= add_prefix("tempered", self.tempered.state())
        return flat if self.second is None else flat | add_prefix("second", self.second.state())

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state, bit by bit."""
        found, teams, parts = class_files.read(saved), [], split_parts(saved)
        for shared, heads in found.teams:
            model = self._make()
            team = model.heads
            if len(team.recent) and len(heads) > 1:
                raise ValueError(f"state has {len(heads)} classes with the same lags. {DAMAGED}")
            for _ in heads[1:]:
                team.add()
            team.load_state(shared, heads)
            teams.append(team)
        self.curved = model.curved
        self.counts, self.turned, self.teams, self.team, self.place = (
            found.counts,
            found.turned,
            teams,
            found.team,
            found.place,
        )
        self.second = loaded(model.second if len(found.counts) < 3 else None, parts, teams[0].dim)
        layers = ClassLayers.like(widened(model.second, teams[0].dim))
        self.tempered = Tempered.of_parts(parts, len(found.counts), layers) if self.curved else None
        self._settle()
