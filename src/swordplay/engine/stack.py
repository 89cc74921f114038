"""Learners of one make that play the same rows: their arrays lie behind one another, so that one
compiled call plays all.

Calling a kernel from Python costs several times what a round costs. The heads of a model (one for
each class) are therefore kept as slices of five large arrays (see ``layout``), and every engine
looks into its own slice. There is room for more learners and more coordinates than there are; it
doubles whenever it is full, so that the next one costs no more than the last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from swordplay.engine.compiled_learner import Engine
from swordplay.engine.layout import Arrays
from swordplay.engine.memory import zeros


@final
class Stack:
    """Learners on a ball that play the same rows.

    Parameters
    ----------
    make
        Makes a fresh learner for rows of a given width.
    width
        Of the rows.
    """

    def __init__(self, make: Callable[[int], Engine], width: int) -> None:
        self._make, self.width = make, width
        self.engines: list[Engine] = []
        """Each looks into its slice; whoever changes one knows that the others stay as they are."""
        self._room: Arrays | None = None

    def __len__(self) -> int:
        return len(self.engines)

    def __getstate__(self) -> dict[str, Any]:
        # Engines are copied with their own slices; these are put together again when they are
        # needed.
        return vars(self) | {"_room": None}

    @property
    def columns(self) -> int:
        """Columns of each learner's arrays: its experts, and the padding."""
        return self.engines[0].columns

    @property
    def experts(self) -> int:
        """How many experts each learner has, for a pool that does not grow."""
        return self.engines[0].memory.experts

    @property
    def arrays(self) -> Arrays:
        """What kernels take: as many learners as there are."""
        room = self._room or self._gather(len(self.engines), self.width)
        return Arrays(*(array[: len(self.engines)] for array in room))

    def add(self, engine: Engine | None = None) -> int:
        """Take a learner in, a fresh one unless given; returns its place."""
        self.engines.append(engine or self._make(self.width))
        if self._room is not None:
            self._settle(len(self.engines) - 1)
        return len(self.engines) - 1

    def fork(self, place: int) -> int:
        """Take in a copy of a learner; returns its place."""
        copy = self._make(self.width)
        mine, theirs = _arrays(copy), _arrays(self.engines[place])
        for name, array in mine.items():
            array[:] = theirs[name]
        return self.add(copy)

    def replace(self, place: int, load: Callable[[Engine], None]) -> None:
        """Let a learner load a state, which gives it arrays of its own.

        Those are put back into its slice.
        """
        engine = self.engines[place]
        load(engine)
        if self._room is not None:
            self._settle(place)

    def widen(self, width: int, last: int) -> None:
        """Make room for more coordinates; every point starts at 0 there.

        The ``last`` ones stay behind the new ones.
        """
        room = self._room or self._gather(len(self.engines), self.width)
        now, self.width = self.width, width
        if width > room.coords.shape[1]:
            coords = zeros(
                (room.coords.shape[0], 2 * width, room.coords.shape[2]), room.coords.dtype
            )
            coords[:, :now] = room.coords[:, :now]
            room = room._replace(coords=coords)
        kept = room.coords[:, now - last : now].copy()
        room.coords[:, now - last : width] = 0.0
        room.coords[:, width - last : width] = kept
        vectors = np.insert(room.vectors, np.full(width - now, now - last), 0.0, axis=2)
        self._room = room._replace(vectors=vectors)
        for place in range(len(self.engines)):
            self._show(place)

    def _gather(self, count: int, wide: int) -> Arrays:
        """Room for so many learners and coordinates, with those that there are in it."""
        like = _arrays(self.engines[0])
        shapes = {name: array.shape for name, array in like.items()} | {
            "coords": (wide, like["coords"].shape[1])
        }
        arrays = {name: zeros((count, *shape), like[name].dtype) for name, shape in shapes.items()}
        self._room = Arrays(**arrays)
        for place in range(len(self.engines)):
            self._settle(place)
        return self._room

    def _settle(self, place: int) -> None:
        """Copy the arrays of a learner into its slice, where it looks from now on."""
        room = self._room
        assert room is not None
        if place >= len(room.live):
            self._gather(2 * len(room.live), room.coords.shape[1])
            return
        for name, array in _arrays(self.engines[place]).items():
            slice_ = getattr(room, name)[place]
            slice_[: len(array)] = array
        self._show(place)

    def _show(self, place: int) -> None:
        """Let a learner look into its slice."""
        room, engine = self._room, self.engines[place]
        assert room is not None
        memory = engine.memory
        memory.coords, memory.numbers = room.coords[place, : self.width], room.numbers[place]
        memory.vectors, memory.live, memory.config = (
            room.vectors[place],
            room.live[place],
            room.config[place],
        )
        engine.dim = self.width


def _arrays(engine: Engine) -> dict[str, Any]:
    memory = engine.memory
    return {name: getattr(memory, name) for name in Arrays._fields}
