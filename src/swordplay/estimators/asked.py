"""What :class:`swordplay.late.LateModel` needs of an estimator: rows that are kept until their
answers come.

Every estimator gives one of these by ``askable()``: :class:`AskedByName` here for rows by name, one
of ``asked_arrays`` for arrays and frames.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, final

import numpy as np

from swordplay.core.types import Array, Matrix, State
from swordplay.estimators.heads import Heads
from swordplay.estimators.labels import Labels
from swordplay.estimators.mixed_rows import MixedRows, Row
from swordplay.estimators.named_rows import load_names, number, plain_name
from swordplay.estimators.plain_rows import PlainRows
from swordplay.estimators.second_order import SecondOrder
from swordplay.estimators.tempered import Tempered
from swordplay.estimators.tuning import AUTO

if TYPE_CHECKING:
    from swordplay.estimators.named_coat import NamedCoat


PIECE = 2**18
"""Cells of a table that is made of dictionaries at a time: about 30 MB of these."""


class Said(NamedTuple):
    """What is said of rows that are asked."""

    answers: Matrix
    """As :meth:`Askable.say` has them."""
    voices: list[Array]
    """What the decision and every expert said, ``(T, H, 1 + N)`` for each team of heads."""
    notes: Matrix
    """What second-order experts have to know of them, ``(T, n)``; n is 0 where there are none."""


def silent(count: int) -> Said:
    """Nothing, of so many rows: nothing was learned yet."""
    return Said(np.zeros((count, 0)), [], np.empty((count, 0)))


class Askable(Protocol):
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
    def teams(self) -> list[Heads]:
        """Where the last targets are kept; none before anything was learned."""
        ...

    @property
    def layer(self) -> SecondOrder | Tempered | None:
        """What stands beside the first-order model, where there is something."""
        ...

    def ask(self, rows: Sequence[Any], numbers: Matrix) -> Said:
        """What is said of rows, each as if it were the next, and what has to be kept of it until
        their answers come.
        """
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
        self, rows: Sequence[Any], truths: Sequence[Any], table: Matrix | None = None
    ) -> None:
        """Learn rows in this order, in place of which their table may be given.

        One that is refused changes nothing.
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
class AskedByName:
    """Rows by name, with words, dates and gaps (see ``mixed_rows``).

    Parameters
    ----------
    estimator
        One of river's or of ours, that takes numbers by name.
    of_classes
        Whether it predicts labels.
    """

    def __init__(self, estimator: NamedCoat, of_classes: bool) -> None:
        self._estimator, self.of_classes, self.rows = estimator, of_classes, MixedRows()

    @property
    def estimator(self) -> Any:
        """The estimator itself."""
        return self._estimator

    @property
    def together(self) -> bool:
        """Whether several rows may be learned by one call."""
        return bool(self._estimator.standardize) and self._estimator.lags in (0, AUTO)

    @property
    def teams(self) -> list[Heads]:
        """Where the last targets are kept."""
        model = self._estimator._model
        return [] if model is None else model.teams

    @property
    def layer(self) -> SecondOrder | Tempered | None:
        """What stands beside the first-order model, where there is something."""
        model = self._estimator._model
        return None if model is None else model.layer

    def ask(self, rows: Sequence[Row], numbers: Matrix) -> Said:
        """What is said of rows."""
        model = self._estimator._model
        return silent(len(numbers)) if model is None else Said(*model.ask(numbers))

    @property
    def labels(self) -> list[Any]:
        """All labels in the order in which they came."""
        return list(self.estimator.classes_) if self.of_classes else []

    def read(self, xs: Sequence[Any]) -> Sequence[Any]:
        """Rows made clean; what their columns hold is decided by their first values."""
        if isinstance(xs, PlainRows) and self.rows.holds_plain(xs):
            return xs
        before = dict(self.rows.kinds)
        try:
            return [self.rows.read(x) for x in xs]
        except BaseException:
            self.rows.kinds = before
            raise

    def numbers(self, rows: Sequence[Row]) -> Matrix:
        """Rows with a number for every name that was learned."""
        return self._estimator.table_of([self.rows.numbers(row) for row in rows])

    @property
    def version(self) -> tuple[int, int]:
        """How many names and words have a column."""
        return len(self._estimator._rows), sum(map(len, self.rows.words.values()))

    def table(self, rows: Sequence[Row]) -> tuple[Matrix, bool]:
        """The same, and whether no name and no word is new."""
        if isinstance(rows, PlainRows):
            return self._estimator.placed(rows.names, rows.values)
        if len(rows) == 1:
            return self._estimator.clean_table([self.rows.numbers(rows[0])])
        # A row with words becomes a dictionary with an entry for every word that is known: a few
        # rows at a time.
        step = max(1, PIECE // self.columns)
        parts = [
            self._estimator.clean_table([self.rows.numbers(row) for row in rows[k : k + step]])
            for k in range(0, len(rows), step)
        ]
        table = parts[0][0] if len(parts) == 1 else np.concatenate([part for part, _ in parts])
        return table, all(known for _, known in parts)

    def narrowed(self, rows: Sequence[Row], numbers: Matrix) -> Matrix:
        """Names that join do so behind the others."""
        known = len(self._estimator._rows)
        return numbers[:, :known] if known else np.full((len(numbers), 1), np.nan)

    def say(self, rows: Sequence[Row], numbers: Matrix) -> Matrix:
        """Predictions, or probabilities."""
        model = self._estimator._model
        if model is None:
            return np.zeros((len(numbers), 0))
        return np.asarray(model.predict(numbers, len(numbers))).reshape(len(numbers), -1)

    def truth(self, y: Any) -> Any:
        """A number, or a label."""
        return Labels().check(y) if self.of_classes else number("y", y)

    def agree(self, truths: Sequence[Any]) -> None:
        """Labels of all kinds may be learned together."""

    def learn(
        self, rows: Sequence[Row], truths: Sequence[Any], table: Matrix | None = None
    ) -> None:
        """Learn rows in this order: those between which no name joins, by one call."""
        if table is not None:
            self._estimator.learn_table(table, truths)
            return
        if len(rows) == 1:
            self._estimator.learn_run([self.rows.numbers(rows[0])], truths)
            self.rows.learn(rows[0])
            return
        known, first = self._estimator._rows.places, 0
        run: list[Any] = []
        for k, row in enumerate(rows):
            named = self.rows.numbers(row)
            if run and any(name not in known and name not in run[0] for name in named):
                self._estimator.learn_run(run, truths[first:k])
                first, run = k, []
            run.append(named)
            self.rows.learn(row)
        self._estimator.learn_run(run, truths[first:])

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
        self.rows = MixedRows.of_state(saved)

    def joins(self, rows: Sequence[Row]) -> int:
        """Which of these rows is the first but one with a column or a word that is new.

        0 for none.
        """
        known, first = self._estimator._rows.places, set[Any]()
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
        for mine, its in zip(self.teams, other.teams, strict=False):
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
