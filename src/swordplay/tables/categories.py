"""Columns of numbers for the values of one column of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from swordplay.tables.column_plans import MOST_CATEGORIES


@final
class Categories:
    """The columns that the values of one column have."""

    def __init__(self) -> None:
        self.places: dict[Any, int] = {}
        self.other: int | None = None

    def join(self, value: Any, width: int) -> int:
        """Give a new value a column behind the others, which are ``width``.

        Returns how many there are then.
        """
        if len(self.places) < MOST_CATEGORIES:
            self.places[value] = width
        elif self.other is None:
            self.other = width
        else:
            return width
        return width + 1

    def news(self, values: Sequence[Any]) -> list[int]:
        """Which of the values have no column yet."""
        if self.other is not None:
            return []
        return [k for k, value in enumerate(values) if value not in self.places]

    def place(self, value: Any) -> int:
        """The column of a value; -1 if it has none yet."""
        return self.places.get(value, -1 if self.other is None else self.other)

    def all(self) -> list[int]:
        """All of the columns."""
        return [*self.places.values(), *([] if self.other is None else [self.other])]


def codes_of(values: Any) -> tuple[Any, list[Any]]:
    """Which of the different values each row has (-1 where missing), and these in the order in
    which they appear.
    """
    coded = values.dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
    return codes, coded.dictionary.to_pylist()


def class_codes(labels: Any) -> tuple[Any, list[int]]:
    """The same for codes of classes."""
    distinct, codes = np.unique(np.where(np.isnan(labels), -1.0, labels), return_inverse=True)
    values = distinct.astype(int).tolist()
    if values and values[0] == -1:
        return codes - 1, values[1:]
    return codes, values
