"""Rows by name that share their names and hold nothing but numbers, as one table: what a batch
mostly is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, final, overload

import numpy as np

from swordplay.core.arguments import LARGEST
from swordplay.core.types import Matrix


@final
class PlainRows(Sequence[dict[Any, float]]):
    """Rows by name without a dictionary for each of them; one is made when it is looked at.

    Parameters
    ----------
    names
        Of the columns, none of them twice.
    values
        Shape ``(T, d)``; kept as it is, and written by nobody.
    """

    __slots__ = ("names", "values")

    def __init__(self, names: list[Any], values: Matrix) -> None:
        self.names, self.values = names, values

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, place: int) -> dict[Any, float]: ...
    @overload
    def __getitem__(self, place: slice) -> PlainRows: ...
    def __getitem__(self, place: int | slice) -> dict[Any, float] | PlainRows:
        if isinstance(place, slice):
            return PlainRows(self.names, self.values[place])
        return dict(zip(self.names, self.values[place].tolist(), strict=True))

    def __iter__(self) -> Iterator[dict[Any, float]]:
        return (dict(zip(self.names, row, strict=True)) for row in self.values.tolist())

    @property
    def is_sound(self) -> bool:
        """Whether all of its numbers are finite and of sensible size."""
        return bool((np.abs(self.values) <= LARGEST).all())  # NaN is not
