"""Arrays that grow at their end."""

from __future__ import annotations

from typing import Any, final

import numpy as np

LEAST_ROOM = 16
"""Rows that there is room for at the least."""


@final
class Growing:
    """An array whose room doubles whenever it is full, so that the next row costs no more than the
    last.

    Room that holds nothing yet costs no memory: the system gives pages of it when they are written
    to.

    Parameters
    ----------
    rows
        The first ones, shape ``(K, ...)``.
    """

    def __init__(self, rows: Any) -> None:
        self._room, self._count = rows, len(rows)

    def __len__(self) -> int:
        return self._count

    @property
    def all(self) -> Any:
        """All rows, a view; it is that of before when more have joined."""
        return self._room[: self._count]

    def join(self, rows: Any) -> None:
        """Let more rows join, behind the others."""
        self.join_alike(len(rows), rows)

    def join_alike(self, count: int, row: Any) -> None:
        """Let so many rows join that are all the same.

        Nothing is made of them but what is written.
        """
        first, self._count = self._count, self._count + count
        if self._count > len(self._room):
            room = np.empty(
                (max(LEAST_ROOM, 2 * self._count), *self._room.shape[1:]), dtype=self._room.dtype
            )
            room[:first] = self._room[:first]
            self._room = room
        self._room[first : self._count] = row

    def keep(self, which: Any) -> None:
        """Let some rows stay, in this order, and the others go."""
        self._room = self._room[: self._count][which]
        self._count = len(self._room)
