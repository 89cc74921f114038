"""Classification of rows by name: what river's coat and the models that learn late share."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, final

import numpy as np

from swordplay.core.arguments import real
from swordplay.core.model_lock import locks_itself
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators import probabilities, raw_units
from swordplay.estimators.asked import Askable, AskedByName
from swordplay.estimators.classes import OneModelPerClass
from swordplay.estimators.head import Head
from swordplay.estimators.labels import Labels
from swordplay.estimators.mass import mass_above, of_truths
from swordplay.estimators.model import AUTO, MEMORY
from swordplay.estimators.named_coat import Features, NamedCoat

USUAL = frozenset({bool, str, int})
"""Types of labels that need no closer look where they are known."""


class NamedClassification(NamedCoat):
    """Predicts a label for one row at a time."""

    loss = "logistic"

    def __init__(
        self,
        radius: float = 32.0,
        memory: float = MEMORY,
        clip: float = 5.0,
        standardize: bool = True,
        intercept: bool = True,
        lags: int | str = AUTO,
        curves: str | None = AUTO,
    ) -> None:
        super().__init__(radius, memory, clip, standardize, intercept, lags, curves)
        self._labels = Labels()

    @property
    def classes_(self) -> list[Any]:
        """Labels, in the order in which they came."""
        return list(self._labels.places)

    @locks_itself
    def learn_one(self, x: Features, y: Any) -> None:
        """Learn from one row.

        Parameters
        ----------
        x
            Features by name: finite numbers.
        y
            Label: a truth value, a number or a string. One that is new joins the classes.
        """
        with self._lock:
            usual, bands = self._rows.usual, self._own_bands
            if usual is not None and type(y) in USUAL and (bands is None or not bands.by_level):
                place = self._labels.places.get(y)
                if place is not None and usual.take(x):
                    usual.learn(place)
                    self._model.counts[place] += 1.0
                    return
            values, label = self._rows.check(x), self._labels.check(y)
            self._learn_label(self._grown(x), self._row(x, values), label)

    def _learn_label(self, model: Any, row: Vector, label: Any) -> None:
        """Learn a row as the model takes it, with a checked label."""
        place = self._labels.place(label)
        if self._bands.by_level and place < model.classes:
            self._learn_sets(np.array([model.predict_row(row)]), [place])
        self._let_join(model)
        model.learn_row(row, place)
        if model.classes == 2:
            self._rows.expect(model.teams[0], model.second)

    def learn_run(self, rows: Sequence[Features], truths: Sequence[Any]) -> None:
        """Learn rows in their order.

        The names of all of them are known, or are those of the first.
        """
        if len(rows) == 1:
            self.learn_one(rows[0], truths[0])
            return
        model = self._grown(rows[0])
        self._learn_labels(model, self.table_of(rows), list(truths))

    def learn_table(self, table: Matrix, truths: Sequence[Any]) -> None:
        """Learn rows in their order, as the model takes them; all of their names have a column."""
        if len(table) == 1:
            self._learn_label(self._model, table[0], truths[0])
        else:
            self._learn_labels(self._model, table, list(truths))

    def _learn_labels(self, model: Any, table: Matrix, labels: list[Any]) -> None:
        """Learn rows as the model takes them, with checked labels."""
        for first, places in self._labels.runs(labels):
            new = places[0] >= model.classes
            # A class that joins changes the models from its own row on, not before.
            self._let_join(model)
            chances = model.predict_then_learn(table[first : first + len(places)], np.array(places))
            if self._bands.by_level and len(places) > new:
                self._learn_sets(chances[new:], places[new:])

    def _let_join(self, model: Any) -> None:
        """Make room for all labels; where there are more than two, no row is a usual one."""
        if len(self._labels) > model.classes:
            model.grow(len(self._labels))
            self._rows.usual = None

    def _learn_sets(self, chances: Matrix, places: list[int]) -> None:
        """Let the sets learn rows of labels that were known, each predicted before it was
        learned.
        """
        self._bands.learn(np.zeros(len(places)), of_truths(mass_above(chances), places), None)

    def askable(self) -> Askable:
        """What :class:`swordplay.late.LateModel` asks in place of the estimator itself."""
        return AskedByName(self, of_classes=True)

    @locks_itself
    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """The probability of every class seen so far; before any, of both truth values."""
        with self._lock:
            usual = self._rows.usual
            if usual is not None and usual.take(x):
                one, other = self._labels.places
                share = probabilities.of_second(usual.ask())
                return {one: 1.0 - share, other: share}
            values = self._rows.check(x)
            if self._model is None:
                return {False: 0.5, True: 0.5}
            return dict(
                zip(self._labels.places, self._model.predict_row(self._row(x, values)), strict=True)
            )

    def predict_one(self, x: Features, **kwargs: Any) -> Any:
        """The most probable label; None before any was seen."""
        chances = self.predict_proba_one(x)
        return None if self._model is None else max(chances, key=chances.__getitem__)

    def predict_set_one(self, x: Features, level: float = 0.9) -> set[Any]:
        """Labels that together hold the truth as often as the level says.

        Every set holds the most probable label.

        On every window of n rows, a level of 0.9 has at most 0.1 n + 20 sets without the truth,
        whatever happens; rows of a label that nobody had seen before are not counted, as no set can
        hold it. Sets are learned from the first time that a level is asked for, so ask from the
        first row on; the first five hold all labels that are known.

        Parameters
        ----------
        x
            Features by name: finite numbers.
        level
            What share of the truths a set is to hold, in (0, 1).
        """
        chances = self.predict_proba_one(x)
        inside = self._sets(np.array([list(chances.values())]), level)[0]
        return {label for label, held in zip(chances, inside.tolist(), strict=True) if held}

    def _sets(self, chances: Matrix, level: Any) -> Any:
        """Which labels are in the sets of rows, truths of shape ``(T, K)``."""
        bounds = self._bands.intervals(real("level", level), np.zeros(len(chances)), None)
        return mass_above(chances) <= bounds[:, 1:]

    @property
    def coefficients(self) -> dict[Any, dict[Hashable, float]]:
        """For each label, or for the second of two: change of its log-odds with each feature, by
        name and in its own units.
        """
        self._require_learned()
        return dict(
            zip(
                self._told_labels,
                map(self._named, raw_units.of_classes(self._model)[0]),
                strict=True,
            )
        )

    @property
    def intercept_(self) -> dict[Any, float]:
        """For each label, or for the second of two: its log-odds where all features are 0."""
        self._require_learned()
        return dict(
            zip(self._told_labels, raw_units.of_classes(self._model)[1].tolist(), strict=True)
        )

    @property
    def _told_labels(self) -> list[Any]:
        return self.classes_ if len(self._model.team) > 1 else self.classes_[-1:]

    def _make(self) -> OneModelPerClass:
        return OneModelPerClass(self._fresh, len(self._labels))

    def _models(self) -> dict[str, Head]:
        self._require_learned()
        return dict(self._model.named(self.classes_))

    def _learned(self) -> tuple[Any, State] | None:
        learned = super()._learned()
        return learned and (learned[0], learned[1] | {"labels": self._labels.dumps()})

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self._labels.loads(saved["labels"])
        if not 1 <= len(self._labels) == np.size(saved["model.counts"]):
            raise ValueError("it has not as many labels as models.")
        return super()._resume(saved)


@final
class NamedClassifier(NamedClassification):
    """Logistic regression of rows by name, without river: see
    :class:`swordplay.river.SwordClassifier`.
    """
