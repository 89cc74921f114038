"""Raw rows in, scores out: the columns of a table are followed once, and every head learns from the
same scaled rows.

A row goes through three steps, each told from the past only: its columns are scaled and clipped
(``Scaler``); its target is located, so that the learner predicts how far it lies from the usual;
its loss is divided by its own smoothness, so that every loss has smoothness 1 and one pool of step
sizes, 1, 1/2, 1/4, ..., serves every stream (see ``engine.row_rounds``). ``SwordAgeless`` does the
rest, once for each head.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, final

import numpy as np

from swordplay.core import state
from swordplay.core.state import Field, add_prefix, part_of
from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.engine.compiled_learner import CHUNK, CHUNK_NUMBERS
from swordplay.engine.stack import LearnerStack
from swordplay.estimators import head
from swordplay.estimators.head import Head
from swordplay.estimators.scaler import Locator, Scaler
from swordplay.estimators.scratch import Bench, Beside, Scratch, quick, setting, writable
from swordplay.estimators.tuning import LARGEST, MEMORY, THRESHOLDS, LossName
from swordplay.estimators.voices import OVERFLOW, LateBench, learn_late_row

FEWEST_ROWS = 16  # of a compiled call
NO_WEIGHTS: Vector = np.empty(0)
NOBODY = -1.0
"""The class that a head predicts which stands for several classes, none of which it has seen: no
label is it.
"""


@final
class Heads:
    """One or more scores per row: a prediction of a number, or the log-odds of classes.

    Parameters
    ----------
    dim
        Number of columns.
    loss
        ``"squared"``, ``"huber"`` or ``"logistic"`` (targets are labels).
    radius
        Of the ball where the coefficients of the scaled columns live; for regression in units of
        the target's largest spread so far.
    memory
        Rounds that the weights of the experts remember.
    clip
        Of the scaled columns.
    standardize, intercept
        Whether to scale the columns, and whether to put one of ones behind them.
    lags
        How many of the last targets join the columns. They are those that were learned: where
        targets arrive late, a row is predicted from the last ones that had arrived. A class's own
        are "was it this class", so that there is one head.
    grows
        Whether rows may be wider than ``dim``: a column beyond joins with the first learned row
        where it is above 0.
    """

    late_bench: LateBench | None = (
        None  # what one row needs that was asked earlier (see ``voices``)
    )

    def __init__(
        self,
        dim: int,
        *,
        loss: LossName = "squared",
        radius: float = 32.0,
        memory: float = MEMORY,
        clip: float = 5.0,
        standardize: bool = True,
        intercept: bool = True,
        lags: int = 0,
        grows: bool = False,
    ) -> None:
        self.loss, self.radius, self.grows = loss, radius, grows
        self.recent: Vector = np.full(lags, np.nan)  # the last targets, the newest first
        self.columns = Scaler(dim + lags, clip=clip, intercept=intercept, follow=standardize)
        self.target = Locator(clip=THRESHOLDS["squared"])
        self._make = functools.partial(head.make, loss=loss, radius=radius, memory=memory)
        self.stack = LearnerStack()
        self.told: Matrix = np.empty((0, 2))
        """The class that each head predicts, 1 unless its owner writes another, and 1 if it
        predicts what is *not* of it.
        """
        self._setting = setting(loss, radius, self.columns, self.target)
        self._bench: Bench | None = None

    def __len__(self) -> int:
        return len(self.stack)

    def __getitem__(self, place: int) -> Head:
        return Head(self.stack.learners[place], self.columns, self.target, self.loss, self.radius)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_bench": None, "late_bench": None}

    @property
    def dim(self) -> int:
        """Columns of a row."""
        return self.columns.dim - len(self.recent)

    @property
    def at_once(self) -> int:
        """Rows of a compiled call at the most."""
        return max(FEWEST_ROWS, min(CHUNK, CHUNK_NUMBERS // self.columns.width) // len(self))

    def add(self) -> int:
        """Let a fresh head join; returns its place."""
        return self._joined(self.stack.add(self._make(self.columns.width)))

    def fork(self, place: int) -> int:
        """Let a copy of a head join; returns its place."""
        return self._joined(self.stack.copy(place))

    def _joined(self, place: int) -> int:
        self.told, self._bench = np.vstack([self.told, [1.0, 0.0]]), None
        return place

    def predict(self, rows: Matrix) -> Matrix:
        """Scores of rows of shape ``(T, d)`` by what is known now, shape ``(T, H)``.

        Nothing is learned.
        """
        if len(rows) == 1:
            return self.predict_row(rows[0, : self.dim]).copy()
        answer = np.empty((len(rows), len(self)))
        self._asking(self.with_lags(rows), answer)()
        return answer if self.loss == "logistic" else answer + self.target.center

    def with_lags(self, rows: Matrix) -> Matrix:
        """Rows of shape ``(T, d)`` with the last targets in front."""
        rows = rows[:, : self.dim] if self.grows else rows
        return np.asarray(
            writable(
                np.hstack([np.tile(self.recent, (len(rows), 1)), rows])
                if len(self.recent)
                else rows
            )
        )

    def learn(
        self,
        rows: Matrix,
        targets: Vector,
        weights: Vector | None = None,
        beside: Beside | None = None,
        late: Array | None = None,
    ) -> Matrix:
        """Scores of rows, each made before its own target is learned; shape ``(T, H)``.

        Parameters
        ----------
        rows, targets
            Shapes ``(T, d)`` and ``(T,)``; NaN in a row stands for a missing entry.
        weights
            Positive weights of the losses, shape ``(T,)``.
        beside
            Somebody else who learns from the same rows: called for some at a time, in their order.
        late
            Age and scores of rows that were predicted earlier (see ``Forecast.late_scores``).
        """
        if self.grows and rows.shape[1] > self.dim:
            return self._grow(rows, targets, weights, beside, late)
        count, lags, answer = len(rows), len(self.recent), np.empty((len(rows), len(self)))
        for first in range(0, count, self.at_once):
            part = slice(first, min(first + self.at_once, count))
            raw = writable(rows[part])
            if lags:
                raw = np.empty((len(raw), self.columns.dim))
                raw[:, lags:] = rows[part]
            wanted, shares = (
                writable(targets[part]),
                NO_WEIGHTS if weights is None else writable(weights[part]),
            )
            scratch = Scratch.make(len(raw), self.columns.width, self.stack)
            if beside is not None and np.isnan(rows[part]).any():
                scratch = scratch._replace(middles=self.columns.middles(raw, lags))
            if not self.columns.follow:
                self.leave_unscaled(raw, wanted, scratch)
            # the kernel writes into it
            more = shares if late is None else np.array(late[:, part], order="C")
            call = self.learning(raw, wanted, more, scratch, late=late is not None)
            done = call.func(*call.args)
            answer[part] = scratch.predictions.T
            if done < len(raw):
                raise ValueError(
                    f"row {first + done} {OVERFLOW} The {first + done} row(s) before it are "
                    "learned."
                )
            if beside is not None:
                beside(scratch, wanted)
        return answer

    def _grow(
        self,
        rows: Matrix,
        targets: Vector,
        weights: Vector | None,
        beside: Beside | None,
        late: Array | None,
    ) -> Matrix:
        """Let columns join on the way; one that is above 0 brings those before it along."""
        held = rows[:, self.dim :] > 0.0  # NaN is not
        first = np.where(held.any(axis=0), held.argmax(axis=0), len(rows))
        joins = np.minimum.accumulate(first[::-1])[::-1]
        known, answers = self.dim, []
        for start, stop in pairwise(sorted({0, *joins.tolist(), len(rows)})):
            width = known + int(np.count_nonzero(joins <= start))
            if width > self.dim:
                self.widen(width)
            part = None if weights is None else weights[start:stop]
            answers.append(
                self.learn(
                    np.ascontiguousarray(rows[start:stop, :width]),
                    targets[start:stop],
                    part,
                    beside,
                    None if late is None else late[:, start:stop],
                )
            )
        return np.concatenate(answers)

    # ------------------------------------------------------------------ single rows

    def predict_row(self, row: Vector) -> Matrix:
        """The scores of one row of shape ``(d,)``, shape ``(1, H)``: the same bits as
        :meth:`predict` gives it, but faster.

        The array is the next call's, too.
        """
        bench, lags = self.bench, len(self.recent)
        bench.raw[0, lags:] = row
        if lags:
            bench.raw[0, :lags] = self.recent
        bench.ask()
        if self.loss != "logistic":
            bench.answer[0, 0] += self.target.center
        return bench.answer

    def learn_row(self, row: Vector, target: float, late: Array | None = None) -> Scratch:
        """Learn from one row of shape ``(d,)``: the same bits as :meth:`learn`, several times
        faster.

        Returns what was written for it, such as the prediction made before; the arrays are the next
        call's, too.
        """
        if late is not None:
            return learn_late_row(self, late, row, target)
        bench = self.bench
        bench.raw[0, len(self.recent) :], bench.target[0] = row, target
        if not self.columns.follow:
            self.leave_unscaled(bench.raw, bench.target, bench.scratch)
        if not bench.learn():
            raise ValueError(f"the row {OVERFLOW}")
        return bench.scratch

    @property
    def bench(self) -> Bench:
        """What one row needs; another one as soon as columns or heads have joined."""
        if self._bench is not None:
            return self._bench
        raw, target, answer = np.empty((1, self.columns.dim)), np.empty(1), np.empty((1, len(self)))
        scratch = Scratch.make(1, self.columns.width, self.stack)
        learn, ask = self.learning(raw, target, NO_WEIGHTS, scratch), self._asking(raw, answer)
        self._bench = Bench(raw, target, scratch, quick(learn), quick(ask), answer)
        return self._bench

    def learning(
        self, raw: Matrix, targets: Vector, more: Any, scratch: Scratch, late: bool = False
    ) -> functools.partial[int]:
        """Predicts and learns rows that have room for their lags, with weights or, late, what was
        said of them.

        Returns how many were learned by every head.
        """
        from swordplay.engine import row_rounds  # numba is imported with the first row

        kernel: Any = row_rounds.learn_late_rows if late else row_rounds.learn_rows
        scaled, norms, rounds, goals, stack, predictions, _ = scratch
        return functools.partial(
            kernel,
            *(
                raw,
                targets,
                more,
                self.told,
                self._setting,
                *self.columns.arrays,
                *self.target.arrays,
                self.recent,
            ),
            *(scaled, norms, rounds, goals, *stack, predictions),
        )

    def leave_unscaled(self, raw: Matrix, targets: Vector, scratch: Scratch) -> None:
        """Put rows and their lengths where the compiled call expects scaled ones."""
        from swordplay.engine.row_rounds import scale_with_lags

        truths = (
            targets
            if self.loss != "logistic"
            else ((targets == self.told[0, 0]) != self.told[0, 1]).astype(np.float64)
        )
        scale_with_lags(raw, truths, self.recent, *self.columns.places, scratch.scaled)
        np.einsum("ij,ij->i", scratch.scaled, scratch.scaled, out=scratch.norms)

    def _asking(self, raw: Matrix, answer: Matrix) -> functools.partial[None]:
        """Predicts rows that have their lags."""
        from swordplay.engine.row_rounds import (
            predict_rows,
        )  # numba is imported with the first prediction

        coords, rows, vectors, live, _ = self.stack.arrays
        width, centers, spreads = self.columns.width, *self.columns.places
        share, decisions, scaled = (
            np.empty(self.stack.columns),
            np.empty((len(self), width)),
            np.empty(width),
        )
        known = (coords, rows, vectors, live, raw, centers, spreads, self.columns.clip)
        return functools.partial(predict_rows, *known, share, decisions, scaled, answer)

    # ------------------------------------------------------------------ growing, saving

    def widen(self, dim: int) -> None:
        """Make room for columns that appear late, behind the others.

        Their coefficients start at 0.
        """
        self.columns.widen(dim + len(self.recent))
        self.stack.widen(self.columns.width, last=int(self.columns.intercept))
        self._bench = None

    def shared_state(self) -> State:
        """What all heads share: columns, last targets and, for a regression, the place of the
        target.
        """
        flat = add_prefix("columns", self.columns.state()) | {"recent": self.recent.copy()}
        return flat if self.loss == "logistic" else flat | add_prefix("target", self.target.state())

    def load_state(self, shared: Mapping[str, Any], heads: Sequence[Mapping[str, Any]]) -> None:
        """Go on from a saved state, bit by bit as the heads that saved it.

        Parameters
        ----------
        shared
            What they share, split into its parts.
        heads
            The compact state of the engine of each head, of which there are as many.
        """
        recent, columns = (
            np.array(shared.get("recent", ()), dtype=np.float64),
            part_of("columns", shared),
        )
        if recent.shape != self.recent.shape:
            raise ValueError(
                f"state['recent'] must have shape {self.recent.shape}, got {recent.shape}. Make "
                "the model with the same lags."
            )
        if self.grows and (dim := len(columns["centers"]) - len(recent)) > self.dim:
            self.widen(dim)
        state.check("recent", recent, Field(-LARGEST, LARGEST, nan=True))
        self.columns.load_state(columns)
        if self.loss != "logistic":
            self.target.load_state(part_of("target", shared))
        reach = None if self.loss == "logistic" else self.radius * self.target.widest
        for place, saved in enumerate(heads):
            head.load(self.stack.learners[place], saved, reach, self.radius)
        self.recent, self._bench = recent, None
