"""Raw rows in, scores out: the columns of a table are followed once, and every head learns from the same scaled rows.

A row goes through three steps, each told from the past only: its columns are scaled and clipped (``Scaler``); its target is
located, so that the learner predicts how far it lies from the usual; its loss is divided by its own smoothness, so that
every loss has smoothness 1 and one pool of step sizes, 1, 1/2, 1/4, ..., serves every stream (see ``engine.plan``).
``SwordAgeless`` does the rest, once for each head.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np

from swordplay.base import state
from swordplay.base.state import Range
from swordplay.base.types import Matrix, State, Vector
from swordplay.engine.driver import CHUNK, CHUNK_NUMBERS
from swordplay.engine.patience import patiently
from swordplay.engine.stack import Room, Stack
from swordplay.estimators import head
from swordplay.estimators.head import Head
from swordplay.estimators.scaler import Locator, Scaler
from swordplay.estimators.tuning import CURVATURES, LARGEST, MEMORY, REACH, SMALLEST_NORM, THRESHOLDS, LossName

FEWEST_ROWS = 16
"""Rows of a compiled call at the least, however many heads and columns there are."""
NO_WEIGHTS: Vector = np.empty(0)
"""All rows count the same."""
NOBODY = -1.0
"""The class that a head predicts which stands for several classes, none of which it has seen: no label is it."""


class Scratch(NamedTuple):
    """Arrays that a compiled call writes on its way from rows to predictions; those of one row are made once and kept."""

    scaled: Matrix
    norms: Vector
    where: Matrix
    schedule: Matrix
    goals: Matrix
    stack: Room
    predictions: Matrix
    losses: Vector
    none: Matrix
    """No decisions and no weights are kept."""


class Bench(NamedTuple):
    """What learning or predicting one row needs; made once: making it costs more than the arithmetic."""

    raw: Matrix
    target: Vector
    scratch: Scratch
    share: Vector
    decisions: Matrix
    aside: Vector
    """The scaled row of a prediction."""
    answer: Matrix


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
        Of the ball where the coefficients of the scaled columns live; for regression in units of the target's largest
        spread so far.
    memory
        Rounds that the weights of the experts remember.
    clip
        Of the scaled columns.
    standardize, intercept
        Whether to scale the columns, and whether to put one of ones behind them.
    lags
        How many of the last targets join the columns. They are those that were learned: where targets arrive late, a row
        is predicted from the last ones that had arrived. A class's own are "was it this class", so that there is one head.
    grows
        Whether rows may be wider than ``dim``: a column beyond joins with the first learned row where it is above 0.
    """

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
        make = functools.partial(head.make, loss=loss, radius=radius, memory=memory)
        self.stack = Stack(make, self.columns.width)
        self.told: Matrix = np.empty((0, 2))
        """The class that each head predicts, 1 unless its owner writes another, and 1 if it predicts what is *not* of it."""
        self._setting = _setting(loss, radius, self.columns, self.target)
        self._bench: Bench | None = None

    def __len__(self) -> int:
        return len(self.stack)

    def __getitem__(self, place: int) -> Head:
        return Head(self.stack.engines[place], self.columns, self.target, self.loss, self.radius)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_bench": None}

    @property
    def dim(self) -> int:
        """Columns of a row."""
        return self.columns.dim - len(self.recent)

    def add(self) -> int:
        """Let a fresh head join; returns its place."""
        return self._joined(self.stack.add())

    def fork(self, place: int) -> int:
        """Let a copy of a head join; returns its place."""
        return self._joined(self.stack.fork(place))

    def _joined(self, place: int) -> int:
        self.told = np.vstack([self.told, [1.0, 0.0]])
        self._bench = None
        return place

    # ------------------------------------------------------------------ tables

    def predict(self, rows: Matrix) -> Matrix:
        """Scores of rows of shape ``(T, d)`` by what is known now, shape ``(T, H)``; nothing is learned."""
        if self.grows:
            rows = np.ascontiguousarray(rows[:, : self.dim])
        raw = rows
        if lags := len(self.recent):
            raw = np.empty((len(rows), self.columns.dim))
            raw[:, :lags], raw[:, lags:] = self.recent, rows
        width, answer = self.columns.width, np.empty((len(rows), len(self)))
        self._preview(raw, np.empty(self.stack.columns), np.empty((len(self), width)), np.empty(width), answer)
        return answer + self._center

    def learn(self, rows: Matrix, targets: Vector, weights: Vector | None = None) -> Matrix:
        """Scores of rows, each made before its own target is learned; shape ``(T, H)``.

        Parameters
        ----------
        rows, targets
            Shapes ``(T, d)`` and ``(T,)``; NaN in a row stands for a missing entry.
        weights
            Positive weights of the losses, shape ``(T,)``.
        """
        if self.grows and rows.shape[1] > self.dim:
            return self._grow(rows, targets, weights)
        count, lags, answer = len(rows), len(self.recent), np.empty((len(rows), len(self)))
        size = max(FEWEST_ROWS, min(CHUNK, CHUNK_NUMBERS // self.columns.width) // len(self))
        for first in range(0, count, size):
            part = slice(first, min(first + size, count))
            raw = np.require(rows[part], dtype=np.float64, requirements=["C", "W"])
            if lags:
                raw = np.empty((len(raw), self.columns.dim))
                raw[:, lags:] = rows[part]
            wanted, shares = (
                np.require(NO_WEIGHTS if some is None else some[part], dtype=np.float64, requirements=["C", "W"])
                for some in (targets, weights)
            )
            scratch = self._scratch(len(raw))
            done = self._play(raw, wanted, shares, scratch)
            answer[part] = scratch.predictions.T
            if done < len(raw):
                raise ValueError(
                    f"row {first + done} would overflow: its features or target are too large for the loss. "
                    f"Rescale or drop it. The {first + done} row(s) before it are learned."
                )
        return answer

    def _grow(self, rows: Matrix, targets: Vector, weights: Vector | None) -> Matrix:
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
            answers.append(self.learn(np.ascontiguousarray(rows[start:stop, :width]), targets[start:stop], part))
        return np.concatenate(answers)

    # ------------------------------------------------------------------ single rows

    def predict_row(self, row: Vector) -> Vector:
        """The scores of one row of shape ``(d,)``: the same bits as :meth:`predict` gives it, several times faster."""
        bench = self._bench or self._prepare_bench()
        lags = len(self.recent)
        bench.raw[0, lags:] = row
        if lags:
            bench.raw[0, :lags] = self.recent
        self._preview(bench.raw, bench.share, bench.decisions, bench.aside, bench.answer)
        return np.asarray(bench.answer[0] + self._center)  # and no view

    def learn_row(self, row: Vector, target: float) -> None:
        """Learn from one row of shape ``(d,)``: the same bits as :meth:`learn`, several times faster."""
        bench = self._bench or self._prepare_bench()
        bench.raw[0, len(self.recent) :] = row
        bench.target[0] = target
        if not self._play(bench.raw, bench.target, NO_WEIGHTS, bench.scratch):
            raise ValueError("the row would overflow: its features or target are too large for the loss. Rescale or drop it.")

    def _prepare_bench(self) -> Bench:
        width = self.columns.width
        self._bench = Bench(
            raw=np.empty((1, self.columns.dim)),
            target=np.empty(1),
            scratch=self._scratch(1),
            share=np.empty(self.stack.columns),
            decisions=np.empty((len(self), width)),
            aside=np.empty(width),
            answer=np.empty((1, len(self))),
        )
        return self._bench

    # ------------------------------------------------------------------ compiled

    def _scratch(self, count: int) -> Scratch:
        heads, width = len(self), self.columns.width
        return Scratch(
            scaled=np.empty((count, width)),
            norms=np.empty(count),
            where=np.empty((count, 3)),
            schedule=np.empty((count, 3)),
            goals=np.empty((heads, count)),
            stack=self.stack.arrays,
            predictions=np.empty((heads, count)),
            losses=np.empty(count),
            none=np.empty((0, width)),
        )

    def _play(self, raw: Matrix, targets: Vector, weights: Vector, scratch: Scratch) -> int:
        """Predict and learn rows that have room for their lags; returns how many were learned by every head."""
        from swordplay.engine import plan  # numba is imported with the first row

        known = self.columns.arrays
        if not self.columns.follow:
            truths = targets if self.loss != "logistic" else ((targets == self.told[0, 0]) != self.told[0, 1]).astype(float)
            plan.scale_with_lags(raw, truths, self.recent, known.centers, known.spreads, scratch.scaled)
            np.einsum("ij,ij->i", scratch.scaled, scratch.scaled, out=scratch.norms)
        scaled, norms, where, schedule, goals, stack, *outputs = scratch
        return int(
            patiently(
                plan.learn_rows,
                *(raw, targets, weights, self.told, self._setting),
                *known,
                *self.target.arrays,
                self.recent,
                *(scaled, norms, where, schedule, goals),
                *stack,
                *outputs,
            )
        )

    def _preview(self, raw: Matrix, share: Vector, decisions: Matrix, aside: Vector, answer: Matrix) -> None:
        from swordplay.engine.preview import predict_rows  # numba is imported with the first prediction

        coords, rows, vectors, live, _ = self._bench.scratch.stack if self._bench else self.stack.arrays
        centers, spreads = self.columns.places
        predict_rows(coords, rows, vectors, live, raw, centers, spreads, self.columns.clip, share, decisions, aside, answer)

    @property
    def _center(self) -> float:
        return 0.0 if self.loss == "logistic" else self.target.center

    # ------------------------------------------------------------------ growing, saving

    def widen(self, dim: int) -> None:
        """Make room for columns that appear late, behind the others; their coefficients start at 0."""
        self.columns.widen(dim + len(self.recent))
        self.stack.widen(self.columns.width, last=int(self.columns.intercept))
        self._bench = None

    def shared_state(self) -> State:
        """What all heads share: columns, last targets and, for a regression, the place of the target."""
        flat = state.nest("columns", self.columns.state()) | {"recent": self.recent.copy()}
        return flat if self.loss == "logistic" else flat | state.nest("target", self.target.state())

    def load_state(self, shared: Mapping[str, Any], heads: Sequence[Mapping[str, Any]]) -> None:
        """Go on from a saved state, bit by bit as the heads that saved it.

        Parameters
        ----------
        shared
            What they share, split into its parts.
        heads
            The compact state of the engine of each head, of which there are as many.
        """
        recent, columns = np.array(shared.get("recent", ()), dtype=np.float64), state.part("columns", shared)
        if recent.shape != self.recent.shape:
            raise ValueError(
                f"state['recent'] must have shape {self.recent.shape}, got {recent.shape}. Make the model with the same lags."
            )
        if self.grows and (dim := len(columns["centers"]) - len(recent)) > self.dim:
            self.widen(dim)
        state.require("recent", recent, Range(-LARGEST, LARGEST, missing=True))
        self.columns.load_state(columns)
        if self.loss != "logistic":
            self.target.load_state(state.part("target", shared))
        reach = None if self.loss == "logistic" else self.radius * self.target.widest
        for place, saved in enumerate(heads):
            self.stack.replace(place, functools.partial(head.load, saved=saved, reach=reach))
        self.recent, self._bench = recent, None


def _setting(loss: LossName, radius: float, columns: Scaler, target: Locator) -> Vector:
    """What the compiled plan is told once (see ``engine.plan``)."""
    from swordplay.engine.plan import SETTING

    setting = np.zeros(len(SETTING))
    setting[SETTING.logistic], setting[SETTING.unscaled] = loss == "logistic", not columns.follow
    setting[SETTING.curvature], setting[SETTING.threshold] = CURVATURES[loss], THRESHOLDS[loss]
    setting[SETTING.reach], setting[SETTING.smallest_norm], setting[SETTING.radius] = REACH, SMALLEST_NORM, radius
    setting[SETTING.clip], setting[SETTING.clip_target] = columns.clip, target.clip
    return setting
