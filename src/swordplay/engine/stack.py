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

from swordplay.engine.compiled_learner import CompiledLearner
from swordplay.engine.layout import LearnerArrays
from swordplay.engine.memory import zeros


@final
class LearnerStack:
    """Learners on a ball that play the same rows.

    Parameters
    ----------
    make
        Makes a fresh learner for rows of a given width.
    width
        Of the rows.
    """

    def __init__(self, make: Callable[[int], CompiledLearner], width: int) -> None:
        self._make, self.width = make, width
        self.learners: list[CompiledLearner] = []
        """Each looks into its slice; whoever changes one knows that the others stay as they are."""
        self._room: LearnerArrays | None = None

    def __len__(self) -> int:
        return len(self.learners)

    def __getstate__(self) -> dict[str, Any]:
        # Engines are copied with their own slices; these are put together again when they are
        # needed.
        return vars(self) | {"_room": None}

    @property
    def columns(self) -> int:
        """Columns of each learner's arrays: its experts, and the padding."""
        return self.learners[0].columns

    @property
    def expert_count(self) -> int:
        """How many experts each learner has, for a pool that does not grow."""
        return self.learners[0].memory.expert_count

    @property
    def arrays(self) -> LearnerArrays:
        """What kernels take: as many learners as there are."""
        room = self._room or self._gather(len(self.learners), self.width)
        return LearnerArrays(*(array[: len(self.learners)] for array in room))

    def add(self, engine: CompiledLearner | None = None) -> int:
        """Take a learner in, a fresh one unless given; returns its place."""
        self.learners.append(engine or self._make(self.width))
        if self._room is not None:
            self._settle(len(self.learners) - 1)
        return len(self.learners) - 1

    def copy(self, place: int) -> int:
        """Take in a copy of a learner; returns its place."""
        copy = self._make(self.width)
        mine, theirs = _arrays(copy), _arrays(self.learners[place])
        for name, array in mine.items():
            array[:] = theirs[name]
        return self.add(copy)

    def replace(self, place: int, load: Callable[[CompiledLearner], None]) -> None:
        """Let a learner load a state, which gives it arrays of its own.

        Those are put back into its slice.
        """
        engine = self.learners[place]
        load(engine)
        if self._room is not None:
            self._settle(place)

    def widen(self, width: int, last: int) -> None:
        """Make room for more coordinates; every point starts at 0 there.

        The ``last`` ones stay behind the new ones.
        """
        room = self._room or self._gather(len(self.learners), self.width)
        now, self.width = self.width, width
        if width > room.coordinates.shape[1]:
            coords = zeros(
                (room.coordinates.shape[0], 2 * width, room.coordinates.shape[2]),
                room.coordinates.dtype,
            )
            coords[:, :now] = room.coordinates[:, :now]
            room = room._replace(coordinates=coords)
        kept = room.coordinates[:, now - last : now].copy()
        room.coordinates[:, now - last : width] = 0.0
        room.coordinates[:, width - last : width] = kept
        vectors = np.insert(room.vectors, np.full(width - now, now - last), 0.0, axis=2)
        self._room = room._replace(vectors=vectors)
        for place in range(len(self.learners)):
            self._show(place)

    def _gather(self, count: int, wide: int) -> LearnerArrays:
        """Room for so many learners and coordinates, with those that there are in it."""
        like = _arrays(self.learners[0])
        shapes = {name: array.shape for name, array in like.items()} | {
            "coordinates": (wide, like["coordinates"].shape[1])
        }
        arrays = {name: zeros((count, *shape), like[name].dtype) for name, shape in shapes.items()}
        self._room = LearnerArrays(**arrays)
        for place in range(len(self.learners)):
            self._settle(place)
        return self._room

    def _settle(self, place: int) -> None:
        """Copy the arrays of a learner into its slice, where it looks from now on."""
        room = self._room
        assert room is not None
        if place >= len(room.scalars):
            self._gather(2 * len(room.scalars), room.coordinates.shape[1])
            return
        for name, array in _arrays(self.learners[place]).items():
            slice_ = getattr(room, name)[place]
            slice_[: len(array)] = array
        self._show(place)

    def _show(self, place: int) -> None:
        """Let a learner look into its slice."""
        room, engine = self._room, self.learners[place]
        assert room is not None
        memory = engine.memory
        memory.coordinates, memory.experts = (
            room.coordinates[place, : self.width],
            room.experts[place],
        )
        memory.vectors, memory.scalars, memory.settings = (
            room.vectors[place],
            room.scalars[place],
            room.settings[place],
        )
        engine.dim = self.width


def _arrays(engine: CompiledLearner) -> dict[str, Any]:
    memory = engine.memory
    return {name: getattr(memory, name) for name in LearnerArrays._fields}
