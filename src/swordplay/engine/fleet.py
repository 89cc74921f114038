"""Many independent streams at once: the same learner K times, over the cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array, Matrix
from swordplay.engine.compiled_learner import CompiledLearner
from swordplay.engine.memory import zeros
from swordplay.engine.recipe import NotCompilable

CHUNK = 4096
"""Rounds that every stream plays per compiled call."""
SHARES = 8
"""Compiled calls for each thread: whoever has a core to himself takes over from one who has to
share it.
"""


class Fleet:
    """K learners of one make in one block of memory, each with a stream of its own.

    Parameters
    ----------
    engines
        The learners, all made of the same parts, on a ball.
    """

    def __init__(self, engines: Sequence[CompiledLearner]) -> None:
        if not engines:
            raise ValueError("learners must not be empty. Give at least one.")
        self._engines = list(engines)
        self._engine, self._memories = engines[0], [engine.memory for engine in engines]
        if len({id(memory) for memory in self._memories}) < len(engines):
            raise ValueError(
                "learners must be different objects, got one of them twice: it cannot play two "
                "streams at once."
            )
        first = self._memories[0]
        if not first.recipe.on_ball:
            raise NotCompilable("many streams at once are played on a Ball. Play each by itself.")
        for number, memory in enumerate(self._memories):
            if memory.make != first.make:
                raise ValueError(
                    f"learners must be of one make, got another in place {number}. Make groups of "
                    "equal ones."
                )
        self._bound: list[Matrix] = []  # the slices that the memories were last given
        self.dim = engines[0].dim
        self.loss = engines[0].loss

    def play(
        self, features: Any, targets: Any, *, threads: int | None = None
    ) -> tuple[Matrix, Matrix]:
        """Play every stream, each row predicted before it is learned.

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
        count, dim = len(self._memories), self.dim
        rows, wanted = (
            arguments.array("features", features, ndim=3),
            arguments.array("targets", targets, ndim=2),
        )
        if rows.shape != (count, wanted.shape[1], dim) or len(wanted) != count:
            raise ValueError(
                f"features must have shape ({count}, T, {dim}) and targets ({count}, T), got "
                f"{rows.shape} and {wanted.shape}."
            )
        if self.loss == "logistic" and not np.isin(wanted, (0.0, 1.0)).all():
            raise ValueError(
                "targets must be 0 or 1 for the logistic loss. Encode the two labels as 0 and 1."
            )
        workers = min(
            count, arguments.integer("threads", os.cpu_count() or 1 if threads is None else threads)
        )
        for engine, own_rows, own_targets in zip(self._engines, rows, wanted, strict=True):
            engine.check_measurable(own_rows, own_targets)
        predictions, losses = np.empty(wanted.shape), np.empty(wanted.shape)
        calls = 1 if workers == 1 else min(count, SHARES * workers)
        edges = np.linspace(0, count, calls + 1).astype(int).tolist()
        with ThreadPoolExecutor(workers) as pool:
            for start in range(0, wanted.shape[1], CHUNK):
                part = slice(start, start + CHUNK)
                self._chunk(
                    pool,
                    edges,
                    rows[:, part],
                    wanted[:, part],
                    predictions[:, part],
                    losses[:, part],
                    start,
                )
        return predictions, losses

    def _chunk(
        self,
        pool: ThreadPoolExecutor,
        edges: list[int],
        features: Array,
        targets: Matrix,
        predictions: Matrix,
        losses: Matrix,
        start: int,
    ) -> None:
        """Some rounds of every stream, so many streams at a time as the edges say."""
        kernel: Callable[..., None] = self._engine.kernels.play_fleet
        for memory in self._memories:
            memory.reserve_rounds(targets.shape[1])
        widest = max(memory.experts.shape[1] for memory in self._memories)
        for memory in self._memories:
            memory.reserve(widest)
        self._bind()
        played = np.zeros(len(self._memories), dtype=np.int64)
        arrays = (
            self._coords,
            self._numbers,
            self._vectors,
            self._live,
            self._memories[0].settings,
        )
        rest = (features, targets, predictions, losses, played)
        kernel(*arrays, *rest, 0, 0)  # compiles once, before the workers start
        jobs = [pool.submit(kernel, *arrays, *rest, first, stop) for first, stop in pairwise(edges)]
        for job in jobs:
            job.result()
        if (played < targets.shape[1]).any():
            k = int((played < targets.shape[1]).argmax())
            raise ValueError(
                f"row {start + int(played[k])} of stream {k} would overflow: its features or "
                "target are too large. Rescale or drop it; the rows before it are learned."
            )

    def _bind(self) -> None:
        """One block for all learners, of which each keeps its own slice."""
        memories = self._memories
        if self._bound and all(
            memory.experts is mine for memory, mine in zip(memories, self._bound, strict=True)
        ):
            return
        self._coords = zeros(
            (len(memories), *memories[0].coordinates.shape), memories[0].coordinates.dtype
        )
        self._numbers = zeros((len(memories), *memories[0].experts.shape))
        np.stack([memory.coordinates for memory in memories], out=self._coords)
        np.stack([memory.experts for memory in memories], out=self._numbers)
        self._vectors = np.stack([memory.vectors for memory in memories])
        self._live = np.stack([memory.scalars for memory in memories])
        for memory, *own in zip(
            memories, self._coords, self._numbers, self._vectors, self._live, strict=True
        ):
            memory.coordinates, memory.experts, memory.vectors, memory.scalars = own
        self._bound = [memory.experts for memory in memories]
