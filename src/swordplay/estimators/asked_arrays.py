"""Rows of arrays and of data frames that are kept until their answers come (see ``asked``)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import short_repr
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators import label_arrays
from swordplay.estimators.asked import Said, silent
from swordplay.estimators.coat import Coat, refuse_huge, refuse_words
from swordplay.estimators.heads import Heads
from swordplay.estimators.labels import Labels
from swordplay.estimators.named_rows import number
from swordplay.estimators.second_order import SecondOrder
from swordplay.estimators.tempered import Tempered
from swordplay.estimators.tuning import AUTO

PLAIN = (bool, int, float, str)
"""What a value of a data frame may be; None is missing."""


@final
class AskedByPlace:
    """Rows of arrays, or by name where the estimator was fitted to a data frame.

    Parameters
    ----------
    estimator
        One of scikit-learn's clothes.
    of_classes
        Whether it predicts labels.
    """

    def __init__(self, estimator: Coat, of_classes: bool) -> None:
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
    def teams(self) -> list[Heads]:
        """Where the last targets are kept."""
        return list(self._estimator.model_.teams) if self._learned else []

    @property
    def layer(self) -> SecondOrder | Tempered | None:
        """What stands beside the first-order model, where there is something."""
        return getattr(self._estimator.model_, "layer", None) if self._learned else None

    def ask(self, rows: Sequence[Any], numbers: Matrix) -> Said:
        """What is said of rows."""
        if not self.teams:
            return silent(len(rows))._replace(answers=self.say(rows, numbers))
        return Said(*self._estimator.model_.ask(numbers))._replace(
            answers=self.say(rows, numbers)
        )  # maybe those of a block

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
        refuse_words("x", x)
        row = arguments.array("x", x, ndim=1).copy()
        wanted = self._estimator.n_features_in_ if self._learned else self._wide
        if not len(row) or (wanted is not None and len(row) != wanted):
            raise ValueError(
                f"x must have {wanted or 'some'} number(s), as the rows before it, got {len(row)}."
            )
        self._wide = len(row)
        return np.asarray(refuse_huge("x", row))

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
        answers = self._estimator._answers
        if self._estimator.model_.teams:
            return np.asarray(answers(numbers, len(numbers))).reshape(len(rows), -1)
        # Forecasts are combined by numpy, whose sums depend on how many rows there are.
        return np.array([answers(numbers[k : k + 1]) for k in range(len(rows))])

    def truth(self, y: Any) -> Any:
        """A number, or a label."""
        return Labels().check(y) if self.of_classes else number("y", y)

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
        label_arrays.require_entries("y", np.array([*self.labels, *truths], dtype=object))

    def learn(
        self, rows: Sequence[Any], truths: Sequence[Any], table: Matrix | None = None
    ) -> None:
        """Learn rows in this order; a label that is new joins with its own row."""
        first, seen = 0, set(self.labels)
        for k, truth in enumerate(truths if self.of_classes else ()):
            if truth not in seen and k > first:
                self.estimator.predict_then_learn(
                    self._given(rows[first:k]), self._targets(truths[first:k])
                )
                first = k
            seen.add(truth)
        self.estimator.predict_then_learn(self._given(rows[first:]), self._targets(truths[first:]))

    def _targets(self, truths: Sequence[Any]) -> Any:
        return label_arrays.as_labels("y", list(truths)) if self.of_classes else np.array(truths)

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
        for mine, its in zip(self.teams, other.teams, strict=False):
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
