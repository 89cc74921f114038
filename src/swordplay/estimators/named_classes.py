"""Classification of rows by name: what river's coat and the models that learn late share."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, final

import numpy as np

from swordplay.base.types import State
from swordplay.estimators import raw_units
from swordplay.estimators.asked import Askable, AskedByName
from swordplay.estimators.classes import OneModelPerClass
from swordplay.estimators.head import Head
from swordplay.estimators.labels import Labels
from swordplay.estimators.model import MEMORY
from swordplay.estimators.named_coat import Features, NamedCoat


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
        lags: int = 0,
    ) -> None:
        super().__init__(radius, memory, clip, standardize, intercept, lags)
        self._labels = Labels()

    @property
    def classes_(self) -> list[Any]:
        """Labels, in the order in which they came."""
        return list(self._labels.places)

    def learn_one(self, x: Features, y: Any) -> None:
        """Learn from one row.

        Parameters
        ----------
        x
            Features by name: finite numbers.
        y
            Label: a truth value, a number or a string. One that is new joins the classes.
        """
        values, label = self._rows.check(x), self._labels.check(y)
        model = self._grown(x)
        place = self._labels.place(label)
        model.grow(len(self._labels))
        model.learn_row(self._row(x, values), place)

    def learn_run(self, rows: Sequence[Features], truths: Sequence[Any]) -> None:
        """Learn rows in their order; the names of all of them are known, or are those of the first."""
        if len(rows) == 1:
            self.learn_one(rows[0], truths[0])
            return
        model = self._grown(rows[0])
        table = self.table_of(rows)
        for first, places in self._labels.runs(list(truths)):
            model.grow(len(self._labels))
            model.predict_then_learn(table[first : first + len(places)], np.array(places))

    def askable(self) -> Askable:
        """What :class:`swordplay.late.LateModel` asks in place of the estimator itself."""
        return AskedByName(self, of_classes=True)

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """The probability of every class seen so far; before any, of both truth values."""
        values = self._rows.check(x)
        if self._model is None:
            return {False: 0.5, True: 0.5}
        return dict(zip(self._labels.places, self._model.predict_row(self._row(x, values)), strict=True))

    def predict_one(self, x: Features, **kwargs: Any) -> Any:
        """The most probable label; None before any was seen."""
        probabilities = self.predict_proba_one(x)
        return None if self._model is None else max(probabilities, key=probabilities.__getitem__)

    @property
    def coefficients(self) -> dict[Any, dict[Hashable, float]]:
        """For each label, or for the second of two: change of its log-odds with each feature, by name and in its own units."""
        self._require_learned()
        return dict(zip(self._told_labels, map(self._named, raw_units.of_classes(self._model)[0]), strict=True))

    @property
    def intercept_(self) -> dict[Any, float]:
        """For each label, or for the second of two: its log-odds where all features are 0."""
        self._require_learned()
        return dict(zip(self._told_labels, raw_units.of_classes(self._model)[1].tolist(), strict=True))

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
    """Logistic regression of rows by name, without river: see :class:`swordplay.river.SwordClassifier`."""
