"""Keys in memory and the folder behind them: brought in when they are asked for, written back
when they have learned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from swordplay.core.checkpoint import CheckpointError
from swordplay.keyed.folder import EVER, Folder, Key, Row
from swordplay.keyed.group import Group
from swordplay.keyed.growing import Growing
from swordplay.keyed.packing import fits, packed, unpacked
from swordplay.keyed.record import Form

FIRST = 3
"""Keys of a folder that are looked at when it is opened: one of them may be damaged, and the
others be whole.
"""


@final
class Shelf:
    """Keys with their learners.

    Parameters
    ----------
    form
        Of the records.
    classes
        How many; 0 for a regression. Two share a model.
    folder
        Where more of them are; nowhere unless given.
    begins, counts
        What a new key begins with, where that is a trained model: a form for each of its models,
        and the rows that it has learned of each class.
    """

    def __init__(
        self,
        form: Form,
        classes: int,
        folder: Folder | None = None,
        begins: Sequence[Form] = (),
        counts: Any = 0,
    ) -> None:
        self.group, self.classes, self.folder = (
            Group(form, classes if classes > 2 else 1, begins=begins),
            classes,
            folder,
        )
        self._counts = counts
        self._learned = Growing(np.empty(0, dtype=bool))
        """Which keys have learned since they were saved."""
        self._tallies = Growing(np.empty((0, classes), dtype=np.int64))
        """Rows learned of each class."""
        self._since = EVER
        """Keys that have not learned since are expired, those in the folder too."""

    def require_fits(self, some: Sequence[Row]) -> None:
        """Refuse settings that none of some keys was saved with.

        Raises
        ------
        ValueError
            If all of their states have other lengths.
        """
        if some and not any(fits(self.group, row, self.classes) for row in some):
            form = self.group.form
            raise ValueError(
                f"their states are not those of {form.dim} column(s), {form.lags} lag(s), "
                f"{self.classes} classes."
            )

    def fetch(self, keys: Sequence[Key]) -> None:
        """Bring those of some keys into memory that are in the folder."""
        missing = [key for key in keys if key not in self.group.places]
        if self.folder is not None and missing:
            self._take([row for row in self.folder.read(missing) if row.seen >= self._since])

    def admit(self, keys: Sequence[Key]) -> Any:
        """The number of each of some different keys; those that are new join."""
        self.fetch(keys)
        numbers, new = self.group.admit(keys), len(self.group.places) - len(self._learned)
        self._learned.join(np.zeros(new, dtype=bool))
        self._tallies.join_alike(new, self._counts)
        return numbers

    def note(self, numbers: Any, of_rows: Any, places: Any) -> None:
        """Keys have learned: their numbers, and for every row its key's number and the place of
        its class.
        """
        self._learned.all[numbers] = True
        if self.classes:
            np.add.at(self._tallies.all, (of_rows, places), 1)

    def tally(self, number: int) -> Any:
        """Rows that a key has learned of each class."""
        return self._tallies.all[number]

    def names(self) -> list[Key]:
        """All keys."""
        stored = [] if self.folder is None else self.folder.names(self._since)
        return list(dict.fromkeys([*stored, *self.group.places]))

    def expire(self, since: int) -> None:
        """Forget keys that have not learned since; those in the folder go with the next save."""
        self._since = max(self._since, since)
        kept = np.flatnonzero(self.group.orders >= self._since)
        self.group.keep(kept)
        self._learned.keep(kept)
        self._tallies.keep(kept)

    def save(self, folder: Folder, about: Mapping[str, bytes]) -> None:
        """Write what has changed, or everything where the folder is another one."""
        if self.folder is not None and folder.file == self.folder.file:
            folder = self.folder
            numbers = np.flatnonzero(self._learned.all)
            folder.write(about, packed(self.group, numbers, self._tallies.all), since=self._since)
        else:
            self._take_all()
            numbers = np.arange(len(self.group.places))
            folder.write(about, packed(self.group, numbers, self._tallies.all), since=None)
        self.folder, self._since = folder, EVER
        self._learned.all[:] = False

    def _take_all(self) -> None:
        if self.folder is not None:
            self.fetch(self.folder.names(self._since))

    def _take(self, rows: list[Row]) -> None:
        if not rows:
            return
        try:
            piece, tallies = unpacked(self.group, rows, self.classes)
        except ValueError as error:
            assert self.folder is not None
            raise CheckpointError(
                f"the keys in {self.folder.path!r} are damaged: {error} Go back to a copy."
            ) from error
        self.group.join(piece)
        self._learned.join(np.zeros(len(rows), dtype=bool))
        self._tallies.join(tallies)
