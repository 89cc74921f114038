"""A learner with one projection a round, compiled: simplices and boxes of any dimension, and
anybody's domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Vector
from swordplay.engine import inputs, layout
from swordplay.engine.driver import CHUNK, CHUNK_NUMBERS, Engine, Played
from swordplay.engine.layout import CONFIG, LIVE
from swordplay.engine.recipe import LOSSES, OF_ROWS, NotCompilable
from swordplay.parts.domains import ON_THE_DOMAIN, Ball, Box, Simplex

STRANGE = -1
"""A domain whose projection only Python knows."""
ROWS_AT_ONCE = 256
"""Between two looks at progress, where each round asks Python for a projection."""


class Projected:
    """The compiled twin of ``OneProjection``: an engine on a ball, and projections of its
    decisions.

    Simplices, boxes and balls are projected on within the kernel; any other domain is asked, once a
    round.

    Parameters
    ----------
    learner
        Whose decisions these are.
    engine
        Plays the learner of the ball, on linear losses.
    loss, number
        Of the rows: its name, and the threshold or level that it is made with.
    """

    def __init__(self, learner: Any, engine: Engine, loss: str, number: float) -> None:
        if loss not in OF_ROWS:
            raise NotCompilable(
                f"loss must be one of {list(OF_ROWS)} for the engine, got "
                f"{arguments.short_repr(loss)}."
            )
        if engine.memory.config[CONFIG.charge]:
            raise NotCompilable(
                "one projection a round is compiled around learners whose meta does not charge "
                "for moving."
            )
        domain = learner.domain
        self.learner, self.engine, self.domain = learner, engine, domain
        self.dim, self.loss, self.threshold, self.dtype = domain.dim, loss, number, engine.dtype
        self._kind, corners, self._total = _shape(domain)
        self._corners = np.ascontiguousarray(corners)
        self._none = ON_THE_DOMAIN * (domain.diameter + float(np.linalg.norm(domain.center)))
        self._work = np.zeros((4, self.dim))
        self._noted = np.empty(2)
        self._fresh = -1
        """Number of the round whose decision and projection are in the scratch."""

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return self.engine.rounds

    @property
    def decision(self) -> Vector:
        """x_t of the coming round, shape ``(d,)``."""
        return np.array(self._shadow())

    def play(
        self,
        features: Any,
        targets: Vector,
        *,
        checked: bool = False,
        keep_decisions: bool = False,
        keep_weights: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Played:
        """Play rows in their order, each predicted before it is learned; as :meth:`Engine.play`."""
        self.engine.require_held()
        if not checked:
            features, targets = inputs.rows(features, targets, self.dim, self.loss)
        count = len(targets)
        predictions, losses = np.empty(count), np.empty(count)
        decisions = np.empty((count if keep_decisions else 0, self.dim))
        size = (
            ROWS_AT_ONCE if self._kind == STRANGE else max(1, min(CHUNK, CHUNK_NUMBERS // self.dim))
        )
        for first in range(0, count, size):
            rows = slice(first, min(first + size, count))
            part = features[rows].toarray() if inputs.is_sparse(features) else features[rows]
            part = np.require(part, dtype=np.float64, requirements=["C", "W"])
            wanted = np.require(targets[rows], dtype=np.float64, requirements=["C", "W"])
            done = self._chunk(part, wanted, predictions[rows], losses[rows], decisions[rows])
            if first + done < rows.stop:
                raise ValueError(
                    f"row {first + done} would overflow: its features or target are too large for "
                    "the loss. "
                    f"Rescale or drop it. The {first + done} row(s) before it are learned."
                )
            if progress is not None:
                progress(rows.stop)
        return Played(predictions, losses, decisions if keep_decisions else None, None)

    def predict(self, features: Any) -> float:
        """<a, x_t>: the prediction for a row of shape ``(d,)``."""
        row = inputs.row(features, self.dim)
        with np.errstate(over="ignore", invalid="ignore"):
            answer = float(row @ self._shadow())
        if answer - answer != 0.0:
            arguments.vector("features", features, self.dim)
            raise ValueError("features are too large: their prediction overflows. Rescale them.")
        return answer

    def learn(self, features: Any, target: float) -> float:
        """Learn from a row of shape ``(d,)`` and its target; returns the loss of its prediction."""
        row, wanted = inputs.row(features, self.dim), inputs.target(target, self.loss)
        losses, answer = np.empty(1), np.empty(1)
        if not self._one_by_one(
            row[None], np.array([wanted]), answer, losses, np.empty((0, self.dim))
        ):
            arguments.vector("features", features, self.dim)
            raise ValueError(
                f"features or target ({target}) are too large: the loss overflows. Rescale them."
            )
        return float(losses[0])

    def _chunk(
        self, features: Any, targets: Vector, predictions: Vector, losses: Vector, decisions: Any
    ) -> int:
        if self._kind == STRANGE:
            return self._one_by_one(features, targets, predictions, losses, decisions)
        with self._watched(len(targets)):
            domain = (self._kind, self._corners, self._total)
            loss = (LOSSES[self.loss], self.threshold, self._none)
            outputs = (self._work, self._noted, predictions, losses, decisions)
            arrays = self.engine.memory.arrays
            return int(
                self._kernels.play_projected(*arrays, features, targets, *domain, *loss, *outputs)
            )

    def _one_by_one(
        self, features: Any, targets: Vector, predictions: Vector, losses: Vector, decisions: Any
    ) -> int:
        """As a chunk, the projections made by whoever knows how."""
        loss = (LOSSES[self.loss], self.threshold, self._none)
        learn, work = self._kernels.learn_projected, self._work
        with self._watched(len(targets)):
            for t, target in enumerate(targets.tolist()):
                x = self._shadow()
                if t < len(decisions):
                    decisions[t] = x
                predictions[t] = features[t] @ x
                losses[t] = learn(
                    *self.engine.memory.arrays, features[t], target, *loss, work, self._noted
                )
                if losses[t] != losses[t]:
                    return t
        return len(targets)

    def _shadow(self) -> Vector:
        """x_t, in the scratch."""
        if self._fresh != self.engine.rounds:
            self.engine.require_held()
            domain = (self._kind, self._corners, self._total)
            self._kernels.decide_projected(*self.engine.memory.arrays, *domain, self._work)
            if self._kind == STRANGE:
                self._work[1] = self.domain.project(self._work[0].copy())
            self._fresh = self.engine.rounds
        return np.asarray(self._work[1])

    @contextmanager
    def _watched(self, rounds: int) -> Iterator[None]:
        """Room for so many rounds.

        Both learners take note of those that are played, also before a projection that fails.
        """
        self.engine.require_held()
        before = self.engine.rounds
        self.engine.memory.reserve_rounds(rounds)
        self.engine.memory.live[LIVE.weight] = 1.0
        self._noted[:] = 0.0, np.inf
        try:
            yield
        finally:
            if played := self.engine.rounds - before:
                self.learner.enclosed.watch(
                    played, float(self._noted[0]), 0.0, float(self._noted[1])
                )
                self.learner.moved()

    @property
    def _kernels(self) -> Any:
        from swordplay.engine import (
            projected_rounds,
        )  # numba is imported with the first round, not with the package

        return projected_rounds


def _shape(domain: Any) -> tuple[int, Any, float]:
    """Which projection, the corners of a box, the total of a simplex.

    A subclass may project as it likes.
    """
    nothing = np.zeros((2, 0))
    if type(domain) is Simplex:
        return layout.SIMPLEX, nothing, float(domain.total)
    if type(domain) is Box:
        return layout.BOX, np.stack([domain.lower, domain.upper]), 0.0
    return (2 if type(domain) is Ball else STRANGE), nothing, 0.0
