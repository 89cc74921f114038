"""Learners of one make in one block of memory: heads of a model, or many streams at once.

A call of a kernel from Python takes several times as long as a round. The arrays of the learners
are therefore slices of five large arrays, so that one call plays all of them.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array, Matrix
from swordplay.engine.compiled_learner import CompiledLearner
from swordplay.engine.layout import LearnerArrays
from swordplay.engine.memory import aligned_zeros, insert_zero_rows
from swordplay.engine.recipe import NotCompilable

CHUNK_ROWS = 4096
"""Rounds that each learner plays in one compiled call."""
CALLS_PER_THREAD = 8
"""Compiled calls for each thread: a thread on a busy core then takes fewer of them."""


@final
class LearnerStack:
    """Compiled learners of one make, whose arrays lie behind one another.

    There may be room for more learners and more coordinates than are in use. It doubles when it is
    full, so that adding them one by one takes no more time than adding them together.
    """

    def __init__(self, learners: Iterable[CompiledLearner] = ()) -> None:
        self.learners = list(learners)
        """Each plays on its slice of the block."""
        self._block: LearnerArrays | None = None
        self._slices: list[LearnerArrays] = []
        """The arrays that each learner was given, to notice when it has got others since."""

    def __len__(self) -> int:
        return len(self.learners)

    def __getstate__(self) -> dict[str, Any]:
        # Learners are copied with their own arrays; the copy makes a block of them when needed.
        return vars(self) | {"_block": None, "_slices": []}

    @property
    def width(self) -> int:
        """Number of coordinates."""
        return self.learners[0].dim

    @property
    def columns(self) -> int:
        """Number of columns of each learner's arrays: its experts and the padding."""
        return self.learners[0].columns

    @property
    def expert_count(self) -> int:
        """Number of experts of each learner, for pools of a fixed size."""
        return self.learners[0].memory.expert_count

    @property
    def arrays(self) -> LearnerArrays:
        """The arrays of all learners, with one more axis at the front."""
        for k, learner in enumerate(self.learners):
            if k >= len(self._slices) or learner.memory.arrays is not self._slices[k]:
                self._attach(k)
        assert self._block is not None
        return LearnerArrays(*(array[: len(self.learners)] for array in self._block))

    def add(self, learner: CompiledLearner) -> int:
        """Add a learner of the same make; return its index."""
        self.learners.append(learner)
        return len(self.learners) - 1

    def copy(self, k: int) -> int:
        """Add a copy of learner k; return its index."""
        return self.add(copy.deepcopy(self.learners[k]))

    def widen(self, width: int, last: int) -> None:
        """Add coordinates in front of the ``last`` ones; every point is 0 in them."""
        old, used = self.width, self.arrays
        block = self._block
        assert block is not None
        coordinates = block.coordinates
        if width > coordinates.shape[1]:
            capacity, _, columns = coordinates.shape
            coordinates = aligned_zeros((capacity, 2 * width, columns), coordinates.dtype)
            coordinates[:, :old] = block.coordinates[:, :old]
        insert_zero_rows(coordinates.swapaxes(0, 1), old, width, last)
        vectors = np.insert(block.vectors, np.full(width - old, old - last), 0.0, axis=2)
        self._block = block._replace(coordinates=coordinates, vectors=vectors)
        for k in range(len(used.scalars)):
            self._use_slice(k, width)

    def _attach(self, k: int) -> None:
        """Copy the arrays of learner k into its slice, which it uses from then on."""
        block, first = self._block, k
        if block is None:
            self._allocate(len(self.learners))
            first = 0
        elif k >= len(block.scalars) or not _fits(self.learners[k].memory.arrays, block):
            self._allocate(max(len(self.learners), 2 * len(block.scalars)))
            first = 0
        for number in range(first, k + 1):
            arrays = self.learners[number].memory.arrays
            width = len(arrays.coordinates)
            for array, place in zip(arrays, _slice(self._block, number, width), strict=True):
                place[...] = array
            self._use_slice(number, width)

    def _allocate(self, capacity: int) -> None:
        """Make a block of zeros with room for so many learners."""
        first = self.learners[0].memory.arrays
        self._block = LearnerArrays(
            *(aligned_zeros((capacity, *array.shape), array.dtype) for array in first)
        )
        self._slices = []

    def _use_slice(self, k: int, width: int) -> None:
        """Let learner k use its slice of the block."""
        arrays = _slice(self._block, k, width)
        self.learners[k].use_arrays(arrays)
        self._slices[k : k + 1] = [arrays]

    # ------------------------------------------------------------------- many streams

    def play_each(
        self, features: Any, targets: Any, *, threads: int | None = None
    ) -> tuple[Matrix, Matrix]:
        """Let each learner play a stream of its own, each row predicted before it is learned.

        Parameters
        ----------
        features
            Shape ``(K, T, d)``, finite.
        targets
            Shape ``(K, T)``, finite.
        threads
            How many to run at once; one per core unless given. The numbers do not depend on it.

        Returns
        -------
        predictions, losses
            Shapes ``(K, T)``.
        """
        self._check_learners()
        rows = arguments.array("features", features, ndim=3)
        wanted = arguments.array("targets", targets, ndim=2)
        self._check_streams(rows, wanted)
        count = len(self.learners)
        workers = min(
            count, arguments.integer("threads", os.cpu_count() or 1 if threads is None else threads)
        )
        for learner, own_rows, own_targets in zip(self.learners, rows, wanted, strict=True):
            learner.check_underflow(own_rows, own_targets)
        predictions, losses = np.empty(wanted.shape), np.empty(wanted.shape)
        calls = 1 if workers == 1 else min(count, CALLS_PER_THREAD * workers)
        edges = np.linspace(0, count, calls + 1).astype(int).tolist()
        with ThreadPoolExecutor(workers) as pool:
            for start in range(0, wanted.shape[1], CHUNK_ROWS):
                part = slice(start, start + CHUNK_ROWS)
                outputs = predictions[:, part], losses[:, part]
                played = self._play_chunk(pool, edges, rows[:, part], wanted[:, part], *outputs)
                if (played < len(wanted[0, part])).any():
                    k = int((played < len(wanted[0, part])).argmax())
                    raise ValueError(
                        f"row {start + int(played[k])} of stream {k} would overflow: its features "
                        "or target are too large. Rescale or drop it; the rows before it are "
                        "learned."
                    )
        return predictions, losses

    def _check_learners(self) -> None:
        """Refuse learners that are not of one make, or not on a ball."""
        if not self.learners:
            raise ValueError("learners must not be empty. Give at least one.")
        memories = [learner.memory for learner in self.learners]
        if len({id(memory) for memory in memories}) < len(memories):
            raise ValueError(
                "learners must be different objects, got one of them twice: it cannot play two "
                "streams at once."
            )
        if not memories[0].recipe.on_ball:
            raise NotCompilable("many streams at once are played on a Ball. Play each by itself.")
        for number, memory in enumerate(memories):
            if memory.make != memories[0].make:
                raise ValueError(
                    f"learners must be of one make, got another in place {number}. Make groups of "
                    "equal ones."
                )

    def _check_streams(self, features: Array, targets: Matrix) -> None:
        """Refuse rows and targets that do not fit the learners."""
        count, dim = len(self.learners), self.width
        if features.shape != (count, targets.shape[1], dim) or len(targets) != count:
            raise ValueError(
                f"features must have shape ({count}, T, {dim}) and targets ({count}, T), got "
                f"{features.shape} and {targets.shape}."
            )
        if self.learners[0].loss == "logistic" and not np.isin(targets, (0.0, 1.0)).all():
            raise ValueError(
                "targets must be 0 or 1 for the logistic loss. Encode the two labels as 0 and 1."
            )

    def _play_chunk(
        self,
        pool: ThreadPoolExecutor,
        edges: Sequence[int],
        features: Array,
        targets: Matrix,
        predictions: Matrix,
        losses: Matrix,
    ) -> Any:
        """Play some rows of every stream; return how many rows each learner played.

        A compiled call plays the learners between two edges.
        """
        kernel: Callable[..., None] = self.learners[0].kernels.play_each
        memories = [learner.memory for learner in self.learners]
        for memory in memories:
            memory.reserve_rounds(targets.shape[1])
        columns = max(memory.experts.shape[1] for memory in memories)
        for memory in memories:
            memory.reserve(columns)
        played = np.zeros(len(memories), dtype=np.int64)
        given = (self.arrays, features, targets, predictions, losses, played)
        kernel(*given, 0, 0)  # compiles once, before the threads start
        for job in [pool.submit(kernel, *given, *part) for part in pairwise(edges)]:
            job.result()
        return played


def _slice(block: Any, k: int, width: int) -> LearnerArrays:
    """Return the arrays of learner k, with so many coordinates."""
    return LearnerArrays(*(array[k] for array in block))._replace(
        coordinates=block.coordinates[k, :width]
    )


def _fits(arrays: LearnerArrays, block: LearnerArrays) -> bool:
    """Whether a learner's arrays have the shapes of the slices of a block."""
    return (arrays.experts.shape, arrays.vectors.shape) == (
        block.experts.shape[1:],
        block.vectors.shape[1:],
    )
