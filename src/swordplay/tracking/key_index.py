"""The number of each row's key, looked up for a whole batch at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swordplay.core.arguments import short_repr
from swordplay.core.state import OneOf, damaged, fits_json, read_json
from swordplay.keyed.key_table import KeyTable
from swordplay.tables.categories import codes_of
from swordplay.tracking.carried import arrow_type
from swordplay.tracking.task import LABELS


@final
class KeyIndex:
    """Looks up the numbers of keys in a table, to which new keys are added.

    Keys in one column of text are looked up by Arrow, without making Python strings.

    Parameters
    ----------
    table
        The table.
    """

    def __init__(self, table: KeyTable) -> None:
        self._table = table
        self._words = pa.array([], pa.string())
        """Keys by their numbers, as far as they were looked up."""

    def numbers(self, columns: Sequence[Any]) -> Any:
        """Return the number of each row's key, shape ``(T,)``, from the columns of the keys."""
        if len(columns) == 1 and pa.types.is_string(columns[0].type) and not columns[0].null_count:
            return self._numbers_of_words(columns[0])
        coded = [codes_of(column) for column in columns]
        whole, keys = coded[0]
        if len(coded) > 1 or (whole < 0).any():
            whole, keys = combined(coded)
        return self._table.add(keys)[whole]

    def _numbers_of_words(self, column: Any) -> Any:
        if len(self._words) < len(self._table):
            # After a resumed run, or a batch in which keys were missing.
            self._words = pa.array(list(self._table.numbers), pa.string())
        found = pc.index_in(column, value_set=self._words)
        if found.null_count:
            new = column.filter(found.is_null()).unique()  # in the order in which they appear
            self._table.add(new.to_pylist())
            self._words = pa.concat_arrays([self._words, new])
            found = pc.index_in(column, value_set=self._words)
        return found.to_numpy().astype(np.int64)


def combined(coded: list[tuple[Any, list[Any]]]) -> tuple[Any, list[Any]]:
    """Return the place of each row's key among the different keys, and these.

    The keys come in the order in which they appear. A key of one column is its value, one of
    several a tuple; None stands for a missing value.
    """
    whole = np.zeros(len(coded[0][0]), np.int64)
    for codes, values in coded:
        whole = np.unique(whole * (len(values) + 1) + codes + 1, return_inverse=True)[1]
    _, first, whole = np.unique(whole, return_index=True, return_inverse=True)
    turn = np.argsort(first)
    rank = np.empty(len(turn), np.int64)
    rank[turn] = np.arange(len(turn))
    keys = [
        [None if codes[k] < 0 else values[codes[k]] for codes, values in coded]
        for k in first[turn].tolist()
    ]
    return rank[whole], [tuple(key) if len(key) > 1 else key[0] for key in keys]


def read_keys(
    text: Any, names: Sequence[str], most: int, fields: Sequence[Any]
) -> list[tuple[Any, ...]]:
    """Read the keys of a run that were saved as JSON.

    Parameters
    ----------
    text
        As it was saved.
    names
        Columns of the keys.
    most
        Largest number of keys.
    fields
        Arrow fields that stand beside the predictions; a key must have values of their types.

    Raises
    ------
    ValueError
        If there are too many keys, equal keys, or values of other types.
    """
    saved = read_json("keys", text, [[OneOf((None, str, float, bool))]])
    if not names or len(saved) > most:
        raise damaged(f"there are {len(saved)} keys of {short_repr(list(names))}")
    if any(len(key) != len(names) for key in saved):
        raise damaged(f"the keys are {short_repr(saved)}, of {short_repr(list(names))}")
    keys = [tuple(key) for key in saved]
    if len(set(keys)) < len(keys):
        raise damaged("two keys are the same")
    columns = dict(zip(names, zip(*keys, strict=True), strict=True)) if keys else {}
    for field in fields:
        kind = arrow_type(field)
        known = [value for value in columns.get(field.name, ()) if value is not None]
        if kind in ("double", "bool") and not fits_json(known, [OneOf(LABELS[kind])]):
            raise damaged(
                f"the keys in {short_repr(field.name)} are {short_repr(known)}, and are to be "
                f"written as {kind}"
            )
    return keys
