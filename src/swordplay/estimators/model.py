"""The learner behind every estimator: raw rows in, predictions out, nothing to set.

A row goes through three steps, each told from the past only: its columns are scaled and clipped (``Scaler``); its target is
located, so that the learner predicts how far it lies from the usual; its loss is divided by its own smoothness, so that
every loss has smoothness 1 and one pool of step sizes, 1, 1/2, 1/4, ..., serves every stream. ``SwordAgeless`` does the rest.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from swordplay.base import arguments
from swordplay.base.state import Range, require
from swordplay.base.types import Matrix, State, Vector
from swordplay.engine.driver import Engine
from swordplay.estimators.scaler import Locator, Scaler
from swordplay.parts.domains import Ball
from swordplay.parts.learners import SwordAgeless, certificate
from swordplay.parts.learners.certificate import CertificateState
from swordplay.parts.metas import Parts
from swordplay.parts.rates import SelfConfident

LossName = Literal["squared", "huber", "logistic"]

LARGEST = arguments.LARGEST
"""Magnitudes beyond this are mistakes: their squares, times radius and spread, would come near to what doubles can hold."""

THRESHOLDS = {"squared": 10.0, "huber": 1.0, "logistic": 1.0}
"""Residuals beyond this many spreads of the target pull no harder. For the squared loss only outliers lie so far."""
REACH = 30.0
"""Targets beyond this many spreads from the centre are mistakes for the most part, and weigh less the farther they lie."""
SMALLEST_NORM = 1e-12
"""Rows shorter than this carry nothing to learn from; their weight stays finite."""
MEMORY = 4000.0
"""Rounds that the weights of the experts remember: long enough to tell experts apart that differ by a few per cent."""
SHARPNESS = 24.0
"""Factor of the meta's rate. After a flip the experts that are too slow have to lose all but a thousandth of their weight: with
8, the default of the learner, that takes a model of age 1e4 up to 1.36 times as long as one of age 1e3; with 24 up to 1.21."""
EARLIER_SHARPNESS = 8.0
"""Of models saved before, which go on as they were."""
FLOOR = 1e-4
"""Of the rate: differences below a ten-thousandth of the largest surprise are rounding."""
PARTS = ("columns", "target", "engine")
CURVATURES = {"squared": 1.0, "huber": 1.0, "logistic": 0.25}


def settings(estimator: Any) -> dict[str, Any]:
    """The parameters of a model that every estimator has, checked."""
    return {
        "radius": arguments.positive("radius", estimator.radius),
        "memory": arguments.positive("memory", estimator.memory),
        "clip": arguments.positive("clip", estimator.clip),
        "standardize": bool(estimator.standardize),
        "intercept": bool(estimator.intercept),
        "lags": arguments.whole("lags", estimator.lags, least=0),
    }


def regression_loss(loss: Any) -> LossName:
    """A loss for targets that are numbers."""
    if loss not in ("squared", "huber"):
        raise ValueError(f"loss must be 'squared' or 'huber', got {arguments.shown(loss)}.")
    return loss  # type: ignore[no-any-return]


class Bench(NamedTuple):
    """Scratch arrays of a model for learning or predicting one row; made once: making them costs more than the arithmetic."""

    raw: Matrix
    scaled: Matrix
    norm: Vector
    where: Matrix
    schedule: Matrix
    target: Vector
    prediction: Vector
    lost: Vector
    none: Matrix
    """No decisions and no weights are kept."""
    share: Vector
    decision: Vector
    aside: Vector
    """The scaled row of a prediction."""


@functools.lru_cache(maxsize=4)
def _parts(width: int, radius: float, memory: float) -> Parts:
    """What the learner is made of; the same for every class, of which there may be thousands."""
    rate = SelfConfident(offset=0.0, factor=SHARPNESS, floor=FLOOR, memory=memory)
    return SwordAgeless(Ball(width, radius), smoothness=1.0, memory=memory).parts._replace(rate=rate)


class LinearModel:
    """One score per row: a prediction, or the log-odds of a class.

    Parameters
    ----------
    dim
        Number of columns.
    loss
        ``"squared"``, ``"huber"`` or ``"logistic"`` (targets 0 and 1).
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
        is predicted from the last ones that had arrived.
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
        self.engine = Engine(_parts(self.columns.width, radius, memory), "logistic" if loss == "logistic" else "huber")
        self._bench: Bench | None = None

    @property
    def rounds(self) -> int:
        """How many rows were learned."""
        return self.engine.rounds

    @property
    def weights(self) -> Vector:
        """Weight of each expert, shape ``(N,)``."""
        return self.engine.weights

    @property
    def step_sizes(self) -> Vector:
        """Step size of each expert relative to a row's own smoothness, shape ``(N,)``."""
        return self.engine.step_sizes

    @property
    def effective_step_size(self) -> float:
        """Weighted geometric mean of the step sizes: 1 learns each row by heart, 2^-13 averages over thousands."""
        return float(np.exp(self.weights @ np.log(self.step_sizes)))

    def certificate(self, path_length: float = 0.0) -> float:
        """Bound on the regret so far, in losses of smoothness 1, against any coefficients that travel this far."""
        return certificate.value(CertificateState(**self.engine.certificate_sums()), self.engine.diameter, path_length)

    def predict(self, rows: Matrix) -> Vector:
        """Scores of rows of shape ``(T, d)`` by what is known now; nothing is learned."""
        if self.grows:
            rows = np.ascontiguousarray(rows[:, : self._dim])
        answer = np.empty(len(rows))
        width, experts = self.columns.width, self.engine.columns
        self._preview(self._with_recent(rows), np.empty(experts), np.empty(width), np.empty(width), answer)
        return answer + self._center

    def predict_row(self, row: Vector) -> float:
        """The score of one row of shape ``(d,)``: the same bits as :meth:`predict` gives it, several times faster."""
        bench = self._bench or self._prepare_bench()
        lags = len(self.recent)
        bench.raw[0, lags:] = row
        if lags:
            bench.raw[0, :lags] = self.recent
        self._preview(bench.raw, bench.share, bench.decision, bench.aside, bench.prediction)
        return float(bench.prediction[0]) + self._center

    def predict_then_learn(self, rows: Matrix, targets: Vector, weights: Vector | None = None) -> Vector:
        """Scores of rows, each made before its own target is learned.

        Parameters
        ----------
        rows, targets
            Shapes ``(T, d)`` and ``(T,)``; NaN in a row stands for a missing entry.
        weights
            Positive weights of the losses, shape ``(T,)``.
        """
        if self.grows and rows.shape[1] > self._dim:
            return self._grow(rows, targets, weights)
        scaled, norms = self.columns.scale_and_follow(self._with_lags(rows, targets))
        schedule = np.empty((len(rows), 3))
        smoothness = CURVATURES[self.loss] * np.maximum(norms, SMALLEST_NORM)
        schedule[:, 0] = (1.0 if weights is None else weights) / smoothness
        if self.loss == "logistic":
            schedule[:, 1], schedule[:, 2] = 1.0, self.radius
            return self.engine.play(scaled, targets, schedule=schedule, checked=True).predictions
        where = self.target.locate_and_follow(targets)
        schedule[:, 1], schedule[:, 2] = THRESHOLDS[self.loss] * where[:, 1], self.radius * where[:, 2]
        off, reach = np.abs(targets - where[:, 0]), REACH * where[:, 1]
        far = (off > reach) & (reach > 0.0)
        schedule[far, 0] *= reach[far] / off[far]
        played = self.engine.play(scaled, targets - where[:, 0], schedule=schedule, checked=True)
        return played.predictions + where[:, 0]

    def _grow(self, rows: Matrix, targets: Vector, weights: Vector | None) -> Vector:
        """Let columns join on the way; one that is above 0 brings those before it along."""
        held = rows[:, self._dim :] > 0.0  # NaN is not
        first = np.where(held.any(axis=0), held.argmax(axis=0), len(rows))
        joins = np.minimum.accumulate(first[::-1])[::-1]
        known, answers = self._dim, []
        for start, stop in pairwise(sorted({0, *joins.tolist(), len(rows)})):
            width = known + int(np.count_nonzero(joins <= start))
            if width > self._dim:
                self.widen(width)
            part = None if weights is None else weights[start:stop]
            answers.append(self.predict_then_learn(np.ascontiguousarray(rows[start:stop, :width]), targets[start:stop], part))
        return np.concatenate(answers)

    def learn_row(self, row: Vector, target: float) -> None:
        """Learn from one row of shape ``(d,)``: the same bits as :meth:`predict_then_learn`, several times faster."""
        bench = self._bench or self._prepare_bench()
        raw, lags = bench.raw, len(self.recent)
        raw[0, lags:] = row
        if lags:
            raw[0, :lags] = self.recent
            self.recent = np.concatenate([[target], self.recent[:-1]])
        norm = self.columns.scale_and_follow_row(raw, bench.scaled, bench.norm)
        plan, goal = bench.schedule, bench.target
        plan[0, 0] = 1.0 / (CURVATURES[self.loss] * max(norm, SMALLEST_NORM))
        goal[0] = target
        if self.loss == "logistic":
            plan[0, 1], plan[0, 2] = 1.0, self.radius
        else:
            center, spread, largest = self.target.locate_and_follow_value(goal, bench.where)
            plan[0, 1], plan[0, 2] = THRESHOLDS[self.loss] * spread, self.radius * largest
            goal[0] = target - center
            off, reach = abs(target - center), REACH * spread
            if off > reach > 0.0:
                plan[0, 0] *= reach / off
        self._play(bench)

    def _play(self, bench: Bench) -> None:
        """The round that ``engine.play`` would play for one row."""
        if not self.engine.play_row(bench.scaled, bench.target, bench.schedule, bench.prediction, bench.lost):
            raise ValueError("the row would overflow: its features or target are too large for the loss. Rescale or drop it.")

    def _preview(self, raw: Matrix, share: Vector, decision: Vector, aside: Vector, answer: Vector) -> None:
        from swordplay.engine.preview import predict_rows  # numba is imported with the first prediction

        coords, rows, vectors, live, _ = self.engine.memory.arrays
        centers, spreads = self.columns.places
        predict_rows(coords, rows, vectors, live, raw, centers, spreads, self.columns.clip, share, decision, aside, answer)

    def _prepare_bench(self) -> Bench:
        width, experts = self.columns.width, self.engine.columns
        self._bench = Bench(
            raw=np.empty((1, self.columns.dim)),
            scaled=np.empty((1, width)),
            norm=np.empty(1),
            where=np.empty((1, 3)),
            schedule=np.empty((1, 3)),
            target=np.empty(1),
            prediction=np.empty(1),
            lost=np.empty(1),
            none=np.empty((0, width)),
            share=np.empty(experts),
            decision=np.empty(width),
            aside=np.empty(width),
        )
        return self._bench

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_bench": None}

    def _with_recent(self, rows: Matrix) -> Matrix:
        """Lags in front of rows, for targets that are not known yet: the last ones that are."""
        if not len(self.recent):
            return rows
        return np.hstack([np.broadcast_to(self.recent, (len(rows), len(self.recent))), rows])

    def _with_lags(self, rows: Matrix, targets: Vector) -> Matrix:
        """Lags in front of rows whose targets are about to be learned one after the other."""
        count = len(self.recent)
        if not count:
            return rows
        history = np.concatenate([self.recent[::-1], targets])
        lagged = np.lib.stride_tricks.sliding_window_view(history, count)[:-1, ::-1]
        self.recent = history[len(history) - count :][::-1].copy()
        return np.hstack([lagged, rows])

    def widen(self, dim: int) -> None:
        """Make room for columns that appear late, behind the others; their coefficients start at 0."""
        self.columns.widen(dim + len(self.recent))
        self.engine.widen(self.columns.width, last=int(self.columns.intercept))
        self._bench = None

    def state(self) -> State:
        """All that the next row needs, as named arrays."""
        parts = {"columns": self.columns.state(), "target": self.target.state(), "engine": self.engine.compact_state()}
        flat = {f"{name}.{key}": value for name, part in parts.items() for key, value in part.items()}
        return flat | {"recent": self.recent.copy()}

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state, bit by bit as the model that saved it."""
        parts = {name: {k.removeprefix(f"{name}."): v for k, v in saved.items() if k.startswith(f"{name}.")} for name in PARTS}
        recent = np.array(saved.get("recent", ()), dtype=np.float64)
        if recent.shape != self.recent.shape:
            raise ValueError(
                f"state['recent'] must have shape {self.recent.shape}, got {recent.shape}. Make the model with the same lags."
            )
        if self.grows and (dim := len(parts["columns"]["centers"]) - len(recent)) > self._dim:
            self.widen(dim)
        require("recent", recent, Range(-LARGEST, LARGEST, missing=True))
        self.columns.load_state(parts["columns"])
        self.target.load_state(parts["target"])
        reach = None if self.loss == "logistic" else self.radius * self.target.widest
        self.engine.load_compact_state(parts["engine"], reach, also={"factor": EARLIER_SHARPNESS})
        self.recent = recent

    @property
    def _dim(self) -> int:
        """Columns of a row."""
        return self.columns.dim - len(self.recent)

    @property
    def _center(self) -> float:
        return 0.0 if self.loss == "logistic" else self.target.center
