"""Adapters that let ``LateModel`` predict rows of any estimator now and learn them later."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import LARGEST_INPUT, short_repr
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators.dict_columns import NumericRows, load_names, number, plain_name
from swordplay.estimators.forecast import Forecast
from swordplay.estimators.labels import LabelIndex, check_entries, label_array
from swordplay.estimators.model_settings import AUTO
from swordplay.estimators.value_types import Row, ValueTypes

if TYPE_CHECKING:
    from swordplay.estimators.dict_models import DictModel
    from swordplay.estimators.sklearn_base import SklearnModel

MAX_DICT_CELLS = 2**18
"""Cells of a table that is made of dictionaries at a time, which take about 30 MB."""
PLAIN_TYPES = (bool, int, float, str)
"""Types of values in rows for an estimator that encodes them; None stands for a missing value."""


class DeferredRows(Protocol):
    """An estimator whose rows are predicted now and learned later.

    Rows are kept in the form that :meth:`read` returns until they are learned. A table holds rows
    as the model sees them: floats, NaN for a missing value, shape ``(T, d)``. The caller of
    :meth:`learn` gives it the table of the rows only if :attr:`version` is still that of the table.
    If there is no such table, it cuts the rows at :meth:`first_new_name`, and where
    :attr:`learns_in_blocks` is False it gives one row at a time.
    """

    estimator: Any
    predicts_labels: bool
    """Whether targets are labels; numbers otherwise."""

    @property
    def labels(self) -> list[Any]:
        """Labels in the order of their probabilities, new ones last; empty for numbers."""
        ...

    @property
    def rounds(self) -> int:
        """Number of rows that the model has learned."""
        ...

    @property
    def columns(self) -> int:
        """Number of columns of a table, at least 1; names read but not yet learned count."""
        ...

    @property
    def version(self) -> Any:
        """Changes whenever a row would be another row of a table; older tables are stale then."""
        ...

    @property
    def learns_in_blocks(self) -> bool:
        """Whether several rows may be learned in one call.

        This needs that no row can be refused and none needs lags.
        """
        ...

    def read(self, rows: Sequence[Any]) -> Sequence[Any]:
        """Check rows and return them in the form in which they are kept.

        Raises TypeError or ValueError for the first wrong row; then nothing has changed.
        """
        ...

    def table(self, rows: Sequence[Any]) -> tuple[Matrix, Any]:
        """Return a table of kept rows, and its version.

        The version is None if :meth:`learn` cannot take the table in place of the rows.
        """
        ...

    def forecast(self, rows: Sequence[Any], table: Matrix) -> Forecast:
        """Predict rows, each as if it were the next one, and keep what learning them late needs."""
        ...

    def frozen_scores(self, live: Any, rows: Sequence[Any], table: Matrix) -> Matrix:
        """Predict rows by this model, a copy of an earlier state of the model ``live``.

        ``table`` is that of ``live``, whose last targets are taken over. The scores are
        predictions, shape ``(T, 1)``, or probabilities of the labels that this model knows.
        """
        ...

    def first_new_name(self, rows: Sequence[Any]) -> int:
        """Index of the first row with a name that neither the model nor ``rows[0]`` has, or 0."""
        ...

    def check_answers(self, answers: Sequence[Any]) -> list[Any]:
        """Return targets as finite floats or labels; raise an error for one that is neither."""
        ...

    def learn(
        self,
        rows: Sequence[Any],
        answers: Sequence[Any],
        earlier_forecast: Forecast | None = None,
        table: Matrix | None = None,
    ) -> None:
        """Learn rows in their order; an error changes nothing.

        ``earlier_forecast`` is their forecast if answers of other rows came in between, or None.
        ``table`` replaces the rows if its version is the present one.
        """
        ...

    def state(self, rows: Sequence[Any]) -> State:
        """Return kept rows, and all they need beside the estimator."""
        ...

    def load_state(self, saved: Mapping[str, Any]) -> Sequence[Any]:
        """Restore what :meth:`state` returned, and return the rows."""
        ...


def check_numbers(answers: Sequence[Any]) -> list[Any]:
    """Return targets as finite floats; several plain floats are checked together."""
    if len(answers) > 1 and set(map(type, answers)) == {float}:
        is_in_range = min(answers) >= -LARGEST_INPUT and max(answers) <= LARGEST_INPUT
        if is_in_range and math.isfinite(sum(answers)):  # a sum with NaN is NaN
            return list(answers)
    return [number("y", answer) for answer in answers]


@final
class DictDeferredRows:
    """Rows that are dictionaries with numbers, words, dates and missing values.

    Parameters
    ----------
    estimator
        Model of dictionaries of numbers.
    predicts_labels
        Whether it is a classifier.
    """

    def __init__(self, estimator: DictModel, predicts_labels: bool) -> None:
        self.estimator: Any = estimator
        self.predicts_labels = predicts_labels
        self.value_types = ValueTypes()
        """Type of the values of each column, and the words that have columns of their own."""

    @property
    def labels(self) -> list[Any]:
        """Labels in the order in which they appeared."""
        return list(self.estimator.classes_) if self.predicts_labels else []

    @property
    def rounds(self) -> int:
        """Number of rows that the model has learned."""
        model = self.estimator._model
        return 0 if model is None else int(model.rounds)

    @property
    def columns(self) -> int:
        """Number of columns of a table, at least 1; names read but not yet learned count."""
        return max(1, self.value_types.columns)

    @property
    def version(self) -> tuple[int, int]:
        """Number of names and of words that have a column."""
        return len(self.estimator._columns), sum(map(len, self.value_types.words.values()))

    @property
    def learns_in_blocks(self) -> bool:
        """Whether several rows may be learned in one call."""
        return bool(self.estimator.standardize) and self.estimator.lags in (0, AUTO)

    def read(self, rows: Sequence[Any]) -> Sequence[Any]:
        """Check rows; the first value of a column decides what type it has."""
        if isinstance(rows, NumericRows) and self.value_types.accepts_unchanged(rows):
            return rows
        before = dict(self.value_types.kinds)
        try:
            return [self.value_types.read(row) for row in rows]
        except BaseException:
            self.value_types.kinds = before
            raise

    def table(self, rows: Sequence[Row]) -> tuple[Matrix, Any]:
        """Return a table of kept rows, and its version unless a name or a word is new."""
        if isinstance(rows, NumericRows):
            table, is_known = self.estimator.arrange(rows.names, rows.values)
            return table, self.version if is_known else None
        # A row with words becomes a dictionary with an entry for every word: not too many at once.
        step = len(rows) if len(rows) == 1 else max(1, MAX_DICT_CELLS // self.columns)
        parts, all_known = [], True
        for k in range(0, len(rows), step):
            numbers = [self.value_types.numbers(row) for row in rows[k : k + step]]
            part, is_known = self.estimator.to_table(numbers)
            parts.append(part)
            all_known = all_known and is_known
        table = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return table, self.version if all_known else None

    def forecast(self, rows: Sequence[Row], table: Matrix) -> Forecast:
        """Predict rows, each as if it were the next one."""
        model = self.estimator._model
        return Forecast.empty(len(table)) if model is None else model.forecast(table)

    def frozen_scores(self, live: Any, rows: Sequence[Row], table: Matrix) -> Matrix:
        """Predict rows of ``live``; its columns begin with those of this model."""
        model, known = self.estimator._model, len(self.estimator._columns)
        _take_lags(model, live.estimator._model)
        part = table[:, :known] if known else np.full((len(table), 1), np.nan)
        return np.asarray(model.predict(part, len(part))).reshape(len(part), -1)

    def first_new_name(self, rows: Sequence[Row]) -> int:
        """Index of the first row with a name that neither the model nor ``rows[0]`` has, or 0."""
        known = self.estimator._columns.column_of
        first: set[Any] = set()
        for k, row in enumerate(rows):
            is_plain = all(type(value) is float for value in row.values())
            names: Any = row.keys() if is_plain else self.value_types.numbers(row).keys()
            if k == 0:
                first = set(names)
            elif any(name not in known and name not in first for name in names):
                return k
        return 0

    def check_answers(self, answers: Sequence[Any]) -> list[Any]:
        """Return targets as finite floats, or labels of any type."""
        if not self.predicts_labels:
            return check_numbers(answers)
        return [LabelIndex().check(answer) for answer in answers]

    def learn(
        self,
        rows: Sequence[Row],
        answers: Sequence[Any],
        earlier_forecast: Forecast | None = None,
        table: Matrix | None = None,
    ) -> None:
        """Learn rows in their order, of which only the first may have new names."""
        if table is not None:
            self.estimator.learn_table(table, answers, earlier_forecast)
            return
        numeric_rows = []
        for k, row in enumerate(rows):
            if k > 0:
                self.value_types.learn(rows[k - 1])  # its words have columns from now on
            numeric_rows.append(self.value_types.numbers(row))
        self.estimator.learn_run(numeric_rows, answers, earlier_forecast)
        self.value_types.learn(rows[-1])

    def state(self, rows: Sequence[Row]) -> State:
        """Return kept rows as text, and the types of columns."""
        listed = [[[plain_name(name), value] for name, value in row.items()] for row in rows]
        return {"rows": json.dumps(listed)} | self.value_types.state()

    def load_state(self, saved: Mapping[str, Any]) -> Sequence[Row]:
        """Restore the types of columns, and return the rows."""
        types = {name: value for name, value in saved.items() if name != "rows"}
        self.value_types = ValueTypes.from_state(types)
        rows = []
        for listed in json.loads(saved["rows"]):
            names = load_names(json.dumps([name for name, _ in listed]))
            rows.append(dict(zip(names, [value for _, value in listed], strict=True)))
        if list(self.read(rows)) != rows:
            raise ValueError("its pending rows hold values of other types than their columns.")
        return rows


@final
class ArrayDeferredRows:
    """Rows that are arrays, or dictionaries if the estimator was fitted to a data frame.

    Parameters
    ----------
    estimator
        Estimator of :mod:`swordplay.sklearn`.
    predicts_labels
        Whether it is a classifier.
    """

    def __init__(self, estimator: SklearnModel, predicts_labels: bool) -> None:
        self.estimator: Any = estimator
        self.predicts_labels = predicts_labels
        self._width: int | None = None
        """Length of the rows; None before the first was read."""

    @property
    def _is_fitted(self) -> bool:
        return bool(self.estimator.__sklearn_is_fitted__())

    @property
    def labels(self) -> list[Any]:
        """Labels in the order of the columns of ``predict_proba``."""
        has_labels = self.predicts_labels and self._is_fitted
        return list(self.estimator.classes_.tolist()) if has_labels else []

    @property
    def rounds(self) -> int:
        """Number of rows that the model has learned."""
        return int(self.estimator.model_.rounds) if self._is_fitted else 0

    @property
    def columns(self) -> int:
        """Number of columns of a row; 1 before the first one."""
        return self._width or 1

    @property
    def version(self) -> int:
        """Always 0: columns stay what they are."""
        return 0

    @property
    def learns_in_blocks(self) -> bool:
        """Whether several rows may be learned in one call."""
        settings = self.estimator.get_params()
        if not settings.get("standardize"):  # SwordAggregator has no such setting
            return False
        return settings["lags"] in (0, AUTO) and not settings["encode"]

    def read(self, rows: Sequence[Any]) -> Sequence[Any]:
        """Check rows, which must all have the same length."""
        before = self._width
        try:
            return [self._read(row) for row in rows]
        except BaseException:
            self._width = before
            raise

    def _read(self, x: Any) -> Any:
        """Return a row as an array, or as a dictionary if the estimator encodes it."""
        names = getattr(self.estimator, "feature_names_in_", None)
        if self.estimator.encode:
            return _check_named(x, names)
        if isinstance(x, Mapping):
            if names is None:
                raise TypeError(
                    f"x must be an array of numbers, got {short_repr(x)}: this estimator was not "
                    "fitted to columns with names. Give the values alone, or take swordplay.river "
                    "or LateModel('regression'), which learn by name."
                )
            named = _check_named(x, names)
            x = [named[name] for name in names]
        return self._check_array(x)

    def _check_array(self, x: Any) -> Vector:
        """Return a row of finite numbers, as long as those before it."""
        if hasattr(x, "tocsr"):
            raise TypeError(
                f"x must be an array of numbers, got a sparse one ({type(x).__name__}). Give "
                "x.toarray()."
            )
        from swordplay.estimators.sklearn_base import check_magnitudes, check_numeric

        check_numeric("x", x)
        row = arguments.array("x", x, ndim=1).copy()
        wanted = self.estimator.n_features_in_ if self._is_fitted else self._width
        if not len(row) or (wanted is not None and len(row) != wanted):
            raise ValueError(
                f"x must have {wanted or 'some'} number(s), as the rows before it, got {len(row)}."
            )
        self._width = len(row)
        return np.asarray(check_magnitudes("x", row))

    def table(self, rows: Sequence[Any]) -> tuple[Matrix, Any]:
        """Return a table of kept rows; rows themselves are learned, so its version is None."""
        if not self.estimator.encode:
            return np.stack(rows), None
        if not self._is_fitted:
            return np.full((len(rows), 1), np.nan), None
        return self.estimator.encoder_.rows(self._for_estimator(rows)), None

    def forecast(self, rows: Sequence[Any], table: Matrix) -> Forecast:
        """Predict rows, each as if it were the next one."""
        if not self._is_fitted:
            return Forecast.empty(len(rows))
        found: Forecast = self.estimator.model_.forecast(table)
        return found._replace(scores=self._scores(table))  # after fit those of a batch

    def _scores(self, table: Matrix) -> Matrix:
        """Predictions, shape ``(T, 1)``, or probabilities."""
        answers = self.estimator._predict_rows
        is_own_model = bool(self.estimator.model_.groups)  # no mixture of others' forecasts
        if is_own_model:
            return np.asarray(answers(table, len(table))).reshape(len(table), -1)
        # numpy combines forecasts of others, and its sums depend on the number of rows
        return np.array([answers(table[k : k + 1]) for k in range(len(table))])

    def frozen_scores(self, live: Any, rows: Sequence[Any], table: Matrix) -> Matrix:
        """Predict rows of ``live``, encoded as this model knows their columns."""
        _take_lags(self.estimator.model_, live.estimator.model_)
        return self._scores(self.table(rows)[0])

    def first_new_name(self, rows: Sequence[Any]) -> int:
        """Return 0: arrays have no names."""
        return 0

    def check_answers(self, answers: Sequence[Any]) -> list[Any]:
        """Return targets as finite floats, or labels that one array can hold with the known ones.

        An array holds no words beside numbers, no fractions and no numbers of more than 63 bits.
        """
        if not self.predicts_labels:
            return check_numbers(answers)
        checked = [LabelIndex().check(answer) for answer in answers]
        for label in checked:
            if isinstance(label, float) and not label.is_integer():
                raise ValueError(
                    "y must be a whole number, a truth value or a string, got "
                    f"{short_repr(label)}. Convert it."
                )
            if not isinstance(label, str) and not -(2**63) <= label < 2**63:
                raise ValueError(
                    f"y must be a number of at most 63 bits, got {short_repr(label)}. Give larger "
                    "ones as text."
                )
        check_entries("y", np.array([*self.labels, *checked], dtype=object))
        return checked

    def learn(
        self,
        rows: Sequence[Any],
        answers: Sequence[Any],
        earlier_forecast: Forecast | None = None,
        table: Matrix | None = None,
    ) -> None:
        """Learn rows in their order; a new label begins a call of its own."""
        start, seen = 0, set(self.labels)
        for k, answer in enumerate(answers if self.predicts_labels else ()):
            if answer not in seen and k > start:
                self._learn_run(rows, answers, earlier_forecast, slice(start, k))
                start = k
            seen.add(answer)
        self._learn_run(rows, answers, earlier_forecast, slice(start, len(rows)))

    def _learn_run(
        self,
        rows: Sequence[Any],
        answers: Sequence[Any],
        earlier_forecast: Forecast | None,
        part: slice,
    ) -> None:
        targets: Any = answers[part]
        targets = label_array("y", list(targets)) if self.predicts_labels else np.array(targets)
        forecast = None if earlier_forecast is None else earlier_forecast.rows(part)
        self.estimator._learn_late(self._for_estimator(rows[part]), targets, forecast)

    def _for_estimator(self, rows: Sequence[Any]) -> Any:
        """Return kept rows as an array or a table that the estimator takes."""
        if self.estimator.encode:
            import pyarrow as pa

            return pa.Table.from_pylist(list(rows))
        names = getattr(self.estimator, "feature_names_in_", None)
        if names is None:
            return np.stack(rows)
        import pandas as pd

        return pd.DataFrame(np.stack(rows), columns=list(names))

    def state(self, rows: Sequence[Any]) -> State:
        """Return kept rows, as text if the estimator encodes them."""
        return {"rows": json.dumps(list(rows)) if self.estimator.encode else np.array(rows)}

    def load_state(self, saved: Mapping[str, Any]) -> Sequence[Any]:
        """Return the rows that :meth:`state` saved."""
        rows = saved["rows"]
        return self.read(json.loads(rows) if self.estimator.encode else list(np.asarray(rows)))


def _take_lags(model: Any, live: Any) -> None:
    """Give the frozen copy of a model the last targets of the live one."""
    for mine, newest in zip(model.groups, live.groups, strict=False):
        mine.recent[:] = newest.recent


def _check_named(x: Any, names: Any) -> dict[str, Any]:
    """Return a row as a dictionary of plain values; ``names`` are the required columns, or None."""
    if not isinstance(x, Mapping):
        raise TypeError(
            f"x must hold values by name (a dictionary), got {short_repr(x)} ({type(x).__name__})."
        )
    if names is not None and set(x) != set(names):
        differ = sorted(map(str, set(x) ^ set(names)))
        raise ValueError(
            f"x must have the columns {short_repr(list(names))}, and differs in "
            f"{short_repr(differ)}. Give these columns."
        )
    row = {}
    for name, value in x.items():
        plain = value
        if isinstance(value, np.generic):
            plain = value.item()
        elif hasattr(value, "isoformat"):
            plain = value.isoformat()
        if not isinstance(name, str) or not (plain is None or isinstance(plain, PLAIN_TYPES)):
            raise TypeError(
                f"x[{name!r}] must be a number, a truth value, a text, a date or None, got "
                f"{short_repr(value)}."
            )
        row[name] = plain
    return row
