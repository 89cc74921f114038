"""Rows that are kept until their targets are known, for LateModel."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import short_repr
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators.dict_columns import NumericRows, load_names, number, plain_name
from swordplay.estimators.forecast import Forecast
from swordplay.estimators.labels import (
    LabelIndex,
    check_entries,
    label_array,
)
from swordplay.estimators.linear_model import LinearModel
from swordplay.estimators.model_settings import AUTO
from swordplay.estimators.value_types import Row, ValueTypes

if TYPE_CHECKING:
    from swordplay.estimators.dict_models import DictModel
    from swordplay.estimators.sklearn_base import SklearnModel


PIECE = 2**18
"""Cells of a table that is made of dictionaries at a time: about 30 MB of these."""


class DeferredRows(Protocol):
    """An estimator whose rows come before their answers."""

    of_classes: bool
    """Whether it predicts labels; else numbers."""

    @property
    def estimator(self) -> Any:
        """The estimator itself."""
        ...

    @property
    def together(self) -> bool:
        """Whether several rows may be learned by one call: none of them is refused on the way,
        and none needs lags.
        """
        ...

    @property
    def rounds(self) -> int:
        """How many rows the model has learned."""
        ...

    def forecast(self, rows: Sequence[Any], numbers: Matrix) -> Forecast:
        """Predict rows, each as if it were the next one, and keep what learning them late needs."""
        ...

    @property
    def labels(self) -> list[Any]:
        """All labels in the order of the probabilities; of none, for a regression."""
        ...

    def read(self, xs: Sequence[Any]) -> Sequence[Any]:
        """Rows made clean, to be kept; all are refused in words if one is none."""
        ...

    def numbers(self, rows: Sequence[Any]) -> Matrix:
        """Rows as the model sees them now, NaN where something is missing, shape ``(T, d)``."""
        ...

    @property
    def version(self) -> Any:
        """Another one whenever the model sees the same row in another way."""
        ...

    def table(self, rows: Sequence[Any]) -> tuple[Matrix, bool]:
        """The same as :meth:`numbers`, and whether :meth:`learn` takes it in place of the rows
        as long as the version stays.
        """
        ...

    def narrowed(self, rows: Sequence[Any], numbers: Matrix) -> Matrix:
        """Rows as the model sees them, from what one of the same kind sees that has learned all
        that this one has, and more.
        """
        ...

    def say(self, rows: Sequence[Any], numbers: Matrix) -> Matrix:
        """Predictions, shape ``(T, 1)``, or probabilities of all labels, ``(T, K)``.

        ``(T, 0)`` before anything was learned.
        """
        ...

    def truth(self, y: Any) -> Any:
        """An answer made clean: a finite number, or a label."""
        ...

    def agree(self, truths: Sequence[Any]) -> None:
        """Refuse clean answers that the estimator cannot learn together, or beside the labels
        that it knows.
        """
        ...

    def learn(
        self,
        rows: Sequence[Any],
        truths: Sequence[Any],
        table: Matrix | None = None,
        asked: Forecast | None = None,
    ) -> None:
        """Learn rows in this order, in place of which their table may be given.

        ``asked`` is their forecast. One that is refused changes nothing.
        """
        ...

    def state(self) -> State:
        """What the next row needs beside the estimator."""
        ...

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Take up what else there is; the estimator is there already."""
        ...

    @property
    def columns(self) -> int:
        """Columns of a table of rows, those of names that were asked and not learned yet included.

        1 at least.
        """
        ...

    def joins(self, rows: Sequence[Any]) -> int:
        """Which of these rows, learned in this order, is the first but one with a name that is new.

        0 for none.
        """
        ...

    def follow(self, other: Any) -> None:
        """Take rows that another one of the same kind has read, and that may hold more columns
        than were known here.
        """
        ...

    def packed(self, rows: Sequence[Any]) -> Any:
        """Kept rows as a checkpoint holds them."""
        ...

    def unpacked(self, saved: Any) -> list[Any]:
        """And back, checked."""
        ...


@final
class DictDeferredRows:
    """Rows by name, with words, dates and gaps (see ``value_types``).

    Parameters
    ----------
    estimator
        One of river's or of ours, that takes numbers by name.
    of_classes
        Whether it predicts labels.
    """

    def __init__(self, estimator: DictModel, of_classes: bool) -> None:
        self._estimator, self.of_classes, self.rows = estimator, of_classes, ValueTypes()

    @property
    def estimator(self) -> Any:
        """The estimator itself."""
        return self._estimator

    @property
    def together(self) -> bool:
        """Whether several rows may be learned by one call."""
        return bool(self._estimator.standardize) and self._estimator.lags in (0, AUTO)

    @property
    def _teams(self) -> list[LinearModel]:
        model = self._estimator._model
        return [] if model is None else model.groups

    @property
    def rounds(self) -> int:
        """How many rows the model has learned."""
        model = self._estimator._model
        return 0 if model is None else model.rounds

    def forecast(self, rows: Sequence[Row], numbers: Matrix) -> Forecast:
        """Predict rows, each as if it were the next one."""
        model = self._estimator._model
        return Forecast.empty(len(numbers)) if model is None else model.forecast(numbers)

    @property
    def labels(self) -> list[Any]:
        """All labels in the order in which they came."""
        return list(self.estimator.classes_) if self.of_classes else []

    def read(self, xs: Sequence[Any]) -> Sequence[Any]:
        """Rows made clean; what their columns hold is decided by their first values."""
        if isinstance(xs, NumericRows) and self.rows.accepts_unchanged(xs):
            return xs
        before = dict(self.rows.kinds)
        try:
            return [self.rows.read(x) for x in xs]
        except BaseException:
            self.rows.kinds = before
            raise

    def numbers(self, rows: Sequence[Row]) -> Matrix:
        """Rows with a number for every name that was learned."""
        return self._estimator.to_table([self.rows.numbers(row) for row in rows])[0]

    @property
    def version(self) -> tuple[int, int]:
        """How many names and words have a column."""
        return len(self._estimator._columns), sum(map(len, self.rows.words.values()))

    def table(self, rows: Sequence[Row]) -> tuple[Matrix, bool]:
        """The same, and whether no name and no word is new."""
        if isinstance(rows, NumericRows):
            return self._estimator.arrange(rows.names, rows.values)
        if len(rows) == 1:
            return self._estimator.to_table([self.rows.numbers(rows[0])])
        # A row with words becomes a dictionary with an entry for every word that is known: a few
        # rows at a time.
        step = max(1, PIECE // self.columns)
        parts = [
            self._estimator.to_table([self.rows.numbers(row) for row in rows[k : k + step]])
            for k in range(0, len(rows), step)
        ]
        table = parts[0][0] if len(parts) == 1 else np.concatenate([part for part, _ in parts])
        return table, all(known for _, known in parts)

    def narrowed(self, rows: Sequence[Row], numbers: Matrix) -> Matrix:
        """Names that join do so behind the others."""
        known = len(self._estimator._columns)
        return numbers[:, :known] if known else np.full((len(numbers), 1), np.nan)

    def say(self, rows: Sequence[Row], numbers: Matrix) -> Matrix:
        """Predictions, or probabilities."""
        model = self._estimator._model
        if model is None:
            return np.zeros((len(numbers), 0))
        return np.asarray(model.predict(numbers, len(numbers))).reshape(len(numbers), -1)

    def truth(self, y: Any) -> Any:
        """A number, or a label."""
        return LabelIndex().check(y) if self.of_classes else number("y", y)

    def agree(self, truths: Sequence[Any]) -> None:
        """Labels of all kinds may be learned together."""

    def learn(
        self,
        rows: Sequence[Row],
        truths: Sequence[Any],
        table: Matrix | None = None,
        asked: Forecast | None = None,
    ) -> None:
        """Learn rows in this order: those between which no name joins, by one call."""
        if table is not None:
            self._estimator.learn_table(table, truths, asked)
            return
        if len(rows) == 1:
            self._estimator.learn_run([self.rows.numbers(rows[0])], truths, asked)
            self.rows.learn(rows[0])
            return
        known, first = self._estimator._columns.column_of, 0
        run: list[Any] = []
        for k, row in enumerate(rows):
            named = self.rows.numbers(row)
            if run and any(name not in known and name not in run[0] for name in named):
                part = None if asked is None else asked.rows(slice(first, k))
                self._estimator.learn_run(run, truths[first:k], part)
                first, run = k, []
            run.append(named)
            self.rows.learn(row)
        part = None if asked is None else asked.rows(slice(first, None))
        self._estimator.learn_run(run, truths[first:], part)

    @property
    def columns(self) -> int:
        """Columns of a table of rows, those of names that were asked and not learned yet included.

        1 at least.
        """
        return max(1, self.rows.columns)

    def state(self) -> State:
        """What its columns hold."""
        return self.rows.state()

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Take up what its columns hold."""
        self.rows = ValueTypes.from_state(saved)

    def joins(self, rows: Sequence[Row]) -> int:
        """Which of these rows is the first but one with a column or a word that is new.

        0 for none.
        """
        known, first = self._estimator._columns.column_of, set[Any]()
        for k, row in enumerate(rows):
            plain = all(type(value) is float for value in row.values())
            names: Any = row.keys() if plain else self.rows.numbers(row).keys()
            if not k:
                first = set(names)
            elif any(name not in known and name not in first for name in names):
                return k
        return 0

    def follow(self, other: Any) -> None:
        """Take rows that another one has read: what columns hold is what they hold there, and
        heads see the last targets.
        """
        self.rows.kinds = other.rows.kinds
        for mine, its in zip(self._teams, other._teams, strict=False):
            mine.recent[:] = its.recent

    def packed(self, rows: Sequence[Row]) -> str:
        """Names and values of every row."""
        return json.dumps(
            [[[plain_name(name), value] for name, value in row.items()] for row in rows]
        )

    def unpacked(self, saved: Any) -> list[Row]:
        """And back, checked."""
        found = [
            dict(
                zip(
                    load_names(json.dumps([one[0] for one in row])),
                    [one[1] for one in row],
                    strict=True,
                )
            )
            for row in json.loads(saved)
        ]
        rows = list(self.read(found))
        if rows != found:
            raise ValueError("its pending rows hold values that their columns do not.")
        return rows


PLAIN = (bool, int, float, str)
"""What a value of a data frame may be; None is missing."""


@final
class ArrayDeferredRows:
    """Rows of arrays, or by name where the estimator was fitted to a data frame.

    Parameters
    ----------
    estimator
        One of scikit-learn's clothes.
    of_classes
        Whether it predicts labels.
    """

    def __init__(self, estimator: SklearnModel, of_classes: bool) -> None:
        self._estimator, self.of_classes = estimator, of_classes
        self._wide: int | None = None
        """Numbers of a row, once one was asked for."""

    @property
    def estimator(self) -> Any:
        """The estimator itself."""
        return self._estimator

    @property
    def together(self) -> bool:
        """Whether several rows may be learned by one call."""
        asked = self._estimator.get_params()
        return bool(asked.get("standardize")) and asked["lags"] in (0, AUTO) and not asked["encode"]

    @property
    def _learned(self) -> bool:
        return bool(self._estimator.__sklearn_is_fitted__())

    @property
    def _teams(self) -> list[LinearModel]:
        return list(self._estimator.model_.groups) if self._learned else []

    @property
    def rounds(self) -> int:
        """How many rows the model has learned."""
        return int(self._estimator.model_.rounds) if self._learned else 0

    def forecast(self, rows: Sequence[Any], numbers: Matrix) -> Forecast:
        """Predict rows, each as if it were the next one."""
        if not self._learned:
            return Forecast.empty(len(rows))
        found: Forecast = self._estimator.model_.forecast(numbers)
        return found._replace(scores=self.say(rows, numbers))  # maybe those of a block

    @property
    def labels(self) -> list[Any]:
        """All labels, in the order of the columns of ``predict_proba``."""
        return list(self.estimator.classes_.tolist()) if self.of_classes and self._learned else []

    def read(self, xs: Sequence[Any]) -> list[Any]:
        """Rows made clean."""
        before = self._wide
        try:
            return [self._read(x) for x in xs]
        except BaseException:
            self._wide = before
            raise

    def _read(self, x: Any) -> Any:
        """A row made clean: its numbers.

        Where the estimator encodes, a dictionary of values as they are.
        """
        known = getattr(self._estimator, "feature_names_in_", None)
        if self._estimator.encode:
            return _by_name(x, known)
        if isinstance(x, Mapping):
            if known is None:
                raise TypeError(
                    f"x must be an array of numbers, got {short_repr(x)}: this estimator was not "
                    "fitted to columns with names. Give the values alone, or take swordplay.river "
                    "or LateModel('regression'), which learn by name."
                )
            named = _by_name(x, known)
            x = [named[name] for name in known]
        return self._numbers(x)

    def _numbers(self, x: Any) -> Vector:
        """A row of finite numbers, as wide as those before it."""
        if hasattr(x, "tocsr"):
            raise TypeError(
                f"x must be an array of numbers, got a sparse one ({type(x).__name__}). Give "
                "x.toarray()."
            )
        from swordplay.estimators.sklearn_base import check_magnitudes, check_numeric

        check_numeric("x", x)
        row = arguments.array("x", x, ndim=1).copy()
        wanted = self._estimator.n_features_in_ if self._learned else self._wide
        if not len(row) or (wanted is not None and len(row) != wanted):
            raise ValueError(
                f"x must have {wanted or 'some'} number(s), as the rows before it, got {len(row)}."
            )
        self._wide = len(row)
        return np.asarray(check_magnitudes("x", row))

    def numbers(self, rows: Sequence[Any]) -> Matrix:
        """Rows of numbers."""
        if not self._estimator.encode:
            return np.stack(rows)
        return (
            self._estimator.encoder_.rows(self._given(rows))
            if self._learned
            else np.full((len(rows), 1), np.nan)
        )

    @property
    def version(self) -> int:
        """Its columns stay what they are."""
        return 0

    def table(self, rows: Sequence[Any]) -> tuple[Matrix, bool]:
        """The same; rows are learned as they were given."""
        return self.numbers(rows), False

    def narrowed(self, rows: Sequence[Any], numbers: Matrix) -> Matrix:
        """Rows of numbers."""
        return self.numbers(rows)

    def say(self, rows: Sequence[Any], numbers: Matrix) -> Matrix:
        """Predictions, or probabilities."""
        if not self._learned:
            return np.zeros((len(rows), 0))
        answers = self._estimator._predict_rows
        if self._estimator.model_.groups:
            return np.asarray(answers(numbers, len(numbers))).reshape(len(rows), -1)
        # Forecasts are combined by numpy, whose sums depend on how many rows there are.
        return np.array([answers(numbers[k : k + 1]) for k in range(len(rows))])

    def truth(self, y: Any) -> Any:
        """A number, or a label."""
        return LabelIndex().check(y) if self.of_classes else number("y", y)

    def agree(self, truths: Sequence[Any]) -> None:
        """Refuse labels that one array cannot hold beside the known ones: words beside numbers,
        fractions, huge numbers.
        """
        if not self.of_classes:
            return
        for truth in truths:
            if isinstance(truth, float) and not truth.is_integer():
                raise ValueError(
                    "y must be a whole number, a truth value or a string, got "
                    f"{short_repr(truth)}. Convert it."
                )
            if not isinstance(truth, str) and not -(2**63) <= truth < 2**63:
                raise ValueError(
                    f"y must be a number of at most 63 bits, got {short_repr(truth)}. Give larger "
                    "ones as text."
                )
        check_entries("y", np.array([*self.labels, *truths], dtype=object))

    def learn(
        self,
        rows: Sequence[Any],
        truths: Sequence[Any],
        table: Matrix | None = None,
        asked: Forecast | None = None,
    ) -> None:
        """Learn rows in this order; a label that is new joins with its own row."""
        first, seen = 0, set(self.labels)
        for k, truth in enumerate(truths if self.of_classes else ()):
            if truth not in seen and k > first:
                self._learn_run(rows, truths, asked, slice(first, k))
                first = k
            seen.add(truth)
        self._learn_run(rows, truths, asked, slice(first, len(rows)))

    def _learn_run(
        self, rows: Sequence[Any], truths: Sequence[Any], asked: Forecast | None, some: slice
    ) -> None:
        part = None if asked is None else asked.rows(some)
        given, targets = self._given(rows[some]), self._targets(truths[some])
        self._estimator._learn_late(given, targets, part)

    def _targets(self, truths: Sequence[Any]) -> Any:
        return label_array("y", list(truths)) if self.of_classes else np.array(truths)

    def _given(self, rows: Sequence[Any]) -> Any:
        """Rows as the estimator takes them."""
        if self._estimator.encode:
            import pyarrow as pa

            return pa.Table.from_pylist(list(rows))
        names = getattr(self._estimator, "feature_names_in_", None)
        if names is None:
            return np.stack(rows)
        import pandas as pd

        return pd.DataFrame(np.stack(rows), columns=list(names))

    def state(self) -> State:
        """Nothing but the estimator."""
        return {}

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Nothing but the estimator."""

    @property
    def columns(self) -> int:
        """Columns of a row; 1 before the first one."""
        return self._wide or 1

    def joins(self, rows: Sequence[Any]) -> int:
        """None: columns are where they are."""
        return 0

    def follow(self, other: Any) -> None:
        """Take rows that another one has read: heads see the last targets that it has."""
        for mine, its in zip(self._teams, other._teams, strict=False):
            mine.recent[:] = its.recent

    def packed(self, rows: Sequence[Any]) -> Any:
        """An array, or the values of every row by name."""
        return json.dumps(rows) if self._estimator.encode else np.array(rows)

    def unpacked(self, saved: Any) -> list[Any]:
        """And back, checked."""
        return self.read(json.loads(saved) if self._estimator.encode else list(np.asarray(saved)))


def _by_name(x: Any, known: Any) -> dict[str, Any]:
    """Values by name, for a data frame of one row."""
    if not isinstance(x, Mapping):
        raise TypeError(
            f"x must hold values by name (a dictionary), got {short_repr(x)} ({type(x).__name__})."
        )
    if known is not None and set(x) != set(known):
        differ = sorted(map(str, set(x) ^ set(known)))
        raise ValueError(
            f"x must have the columns {short_repr(list(known))}, and differs in "
            f"{short_repr(differ)}. Give these columns."
        )
    row = {}
    for name, value in x.items():
        plain = (
            value.item()
            if isinstance(value, np.generic)
            else value.isoformat()
            if hasattr(value, "isoformat")
            else value
        )
        if not isinstance(name, str) or not (plain is None or isinstance(plain, PLAIN)):
            raise TypeError(
                f"x[{name!r}] must be a number, a truth, a text, a date or None, got "
                f"{short_repr(value)}."
            )
        row[name] = plain
    return row
