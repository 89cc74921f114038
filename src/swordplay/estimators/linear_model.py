"""LinearModel: raw rows in, scores out; columns, target, heads and second-order layer of a model.

A row goes through three steps, each of which uses only the rows before it: its columns are scaled
and clipped (``ColumnStats``); the centre and spread of the target are looked up, so that the
learner predicts the distance from the centre; the loss is divided by its own smoothness, so that
every loss has smoothness 1 and one pool of step sizes, 1, 1/2, 1/4, ..., serves every stream (see
``engine.row_rounds``). A ``SwordAgeless`` learns the rest: one head, or one for each class.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np

from swordplay.core import state
from swordplay.core.state import DAMAGED, Field, add_prefix, part_of, split_parts
from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.engine.compiled_learner import CHUNK, CHUNK_NUMBERS, CompiledLearner
from swordplay.engine.stack import LearnerStack
from swordplay.estimators.column_scaler import SPREAD_TOLERANCE, ColumnStats, TargetStats
from swordplay.estimators.forecast import Forecast
from swordplay.estimators.model_settings import (
    AUTO,
    CURVATURES,
    LARGEST,
    MAX_DEVIATION,
    MEMORY,
    MIN_SQUARED_NORM,
    RATE_FACTOR,
    RATE_FLOOR,
    RICH,
    THRESHOLDS,
    LossName,
)
from swordplay.estimators.second_order_layer import (
    CURVES,
    MAX_COLUMNS,
    RICH_CURVES,
    SecondOrderLayer,
)
from swordplay.estimators.workspace import (
    NO_NOTES,
    Observer,
    RowWorkspace,
    Workspace,
    with_lags,
)
from swordplay.parts.domains import Ball
from swordplay.parts.learners import SwordAgeless
from swordplay.parts.learners.certificate import CertificateState, DomainGeometry
from swordplay.parts.metas import Composition
from swordplay.parts.rates import SelfConfident

MIN_CHUNK_ROWS = 16
"""Rows of a compiled call at least."""
NO_CLASS = -1.0
"""Class of a head that stands for several classes that were not seen yet: no label equals it."""


class HeadSnapshot(NamedTuple):
    """One learner of a model, for reading: the scores of a regression or of a class."""

    learner: CompiledLearner
    columns: ColumnStats
    target: TargetStats
    loss: LossName
    radius: float

    @property
    def rounds(self) -> int:
        """Number of rows learned."""
        return self.learner.rounds

    @property
    def decision(self) -> Vector:
        """Coefficients of the scaled columns, shape ``(w,)``."""
        return self.learner.decision

    @property
    def weights(self) -> Vector:
        """Weight of each expert, shape ``(N,)``."""
        return self.learner.weights

    @property
    def step_sizes(self) -> Vector:
        """Step size of each expert relative to a row's own smoothness, shape ``(N,)``."""
        return self.learner.step_sizes

    @property
    def extra_gradient(self) -> Any:
        """Which experts take extra-gradient steps, shape ``(N,)``."""
        return self.learner.extra_gradient

    @property
    def trust(self) -> float:
        """How far the meta expects the next gradient to equal the last one, from 0 to 1."""
        return self.learner.trust

    @property
    def effective_step_size(self) -> float:
        """Weighted geometric mean of the step sizes.

        1 fits the last row exactly, 2^-13 averages over thousands of rows.
        """
        return float(np.exp(self.weights @ np.log(self.step_sizes)))

    def certificate(self, path_length: float = 0.0) -> float:
        """Return a bound on the regret so far against coefficients of this path length.

        The unit is a loss of smoothness 1. The bound is infinite while the squares of all targets
        underflow, as its sums are made of these squares.
        """
        if not self.target.is_measurable:
            return math.inf
        sums = CertificateState(**self.learner.certificate_sums())
        ball = DomainGeometry.of_ball(self.learner.diameter / 2)
        # On a ball only the norms of the base points matter, so they may lie on a line.
        line = self.learner.base_lengths()[:, None]
        return sums.bound(ball, path_length, line, constant_steps=True)


@final
class LinearModel:
    """A score per row for each head: a prediction, or the log-odds of a class.

    A late row was predicted some rounds before its target is learned. ``earlier_forecast`` is what
    :meth:`forecast` returned for it; ``late_scores``, shape ``(H, T, 2 + N)``, are its age in
    rounds and the scores of the decision and of the N experts then; ``notes``, shape ``(T, n)``, is
    what the second-order layer wrote down when it predicted the row (see ``Forecast``).

    Parameters
    ----------
    dim
        Number of columns d.
    loss
        ``"squared"``, ``"huber"`` or ``"logistic"`` (targets are labels, 0 and 1 for one head).
    radius
        Of the ball where the coefficients of the scaled columns live; for regression in units of
        the largest spread of the target so far.
    memory
        Rounds that the weights of the experts remember.
    clip
        Scaled entries are clipped at this many spreads.
    standardize, intercept
        Whether to scale the columns, and whether to put a column of ones behind them.
    lags
        Number of the last learned targets that join the columns; for a class, 1 if the row was of
        this class, else 0. ``"auto"`` lets second-order experts with and without lags compete.
    curves
        ``"auto"`` or ``"rich"`` put second-order experts beside the head; None does without.
    grows
        Whether rows may be wider than ``dim``: a column beyond joins with the first learned row
        where it is above 0.
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
        lags: int | str = 0,
        curves: str | None = None,
        grows: bool = False,
    ) -> None:
        self.loss, self.radius, self.grows = loss, radius, grows
        own_lags = 0 if lags == AUTO else int(lags)
        self.recent: Vector = np.full(own_lags, np.nan)
        """Last targets, the newest first, shape ``(lags,)``."""
        self.columns = ColumnStats(
            dim + own_lags, clip=clip, intercept=intercept, follow=standardize
        )
        """Statistics of the columns, those of the lags first."""
        self.target = TargetStats(clip=THRESHOLDS["squared"])
        self._memory = memory
        self.heads = LearnerStack()
        self.head_labels: Matrix = np.empty((0, 2))
        """Class that each head predicts (1 for a single head), and 1 if it predicts that a row is
        *not* of this class.
        """
        self.wants_second_order = curves is not None
        """Whether second-order experts were asked for; wide tables have none all the same."""
        self.second_order = self._make_second_order(lags, curves)
        self.add_head()

    def _make_second_order(self, lags: int | str, curves: str | None) -> SecondOrderLayer | None:
        if curves is None or self.dim > MAX_COLUMNS:
            return None
        count = RICH_CURVES if curves == RICH else CURVES
        return SecondOrderLayer(
            self.dim,
            logistic=self.loss == "logistic",
            intercept=self.columns.intercept,
            lags=None if lags == AUTO else int(lags),
            curves=count if self.dim else 0,  # without columns there is nothing to curve
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "workspace"}

    @property
    def dim(self) -> int:
        """Number of columns of a row, without lags."""
        return self.columns.dim - len(self.recent)

    @property
    def head(self) -> HeadSnapshot:
        """The first head, for reading."""
        return self.snapshot(0)

    def snapshot(self, position: int) -> HeadSnapshot:
        """Return a head for reading."""
        learner = self.heads.learners[position]
        return HeadSnapshot(learner, self.columns, self.target, self.loss, self.radius)

    @property
    def rounds(self) -> int:
        """Number of rows learned."""
        return self.heads.learners[0].rounds

    @property
    def groups(self) -> list[LinearModel]:
        """The models whose ``recent`` a caller may replace; here this model alone."""
        return [self]

    @property
    def gain(self) -> float:
        """Sum of the losses of the predictions minus those of first order: negative if it helps.

        The unit is a loss of smoothness 1.
        """
        return 0.0 if self.second_order is None else self.second_order.gain

    @functools.cached_property
    def workspace(self) -> RowWorkspace:
        """Arrays and bound calls for one row; another object after columns or heads have joined."""
        # Cached in __dict__, where single rows find it in 20 ns; a property takes three times that.
        return RowWorkspace(self)

    def _drop_workspace(self) -> None:
        """Forget arrays and calls that are bound to arrays of the model which were replaced."""
        vars(self).pop("workspace", None)

    @property
    def chunk_rows(self) -> int:
        """Rows of a compiled call at most."""
        rows = min(CHUNK, CHUNK_NUMBERS // self.columns.width)
        return max(MIN_CHUNK_ROWS, rows // len(self.heads))

    @property
    def row_model(self) -> Any:
        """Settings, statistics and last targets as ``RowModel`` for the kernels."""
        from swordplay.engine.row_rounds import RowModel  # numba is imported with the first row

        columns, target = self.columns.arrays, self.target.arrays
        return RowModel(self._settings, self.head_labels, columns, target, self.recent)

    @property
    def predict_model(self) -> Any:
        """What predictions need of this model, as ``PredictModel`` for the kernels."""
        from swordplay.engine.row_rounds import PredictModel

        centers, spreads, counts, _ = self.columns.arrays
        target_center = self.target.arrays.centers
        return PredictModel(self._settings, centers, spreads, counts, target_center, self.recent)

    @functools.cached_property
    def _settings(self) -> Vector:
        """Settings of the kernels, at the places of ``ROW_SETTING``."""
        from swordplay.engine.row_rounds import ROW_SETTING

        values = {
            "is_logistic": self.loss == "logistic",
            "curvature": CURVATURES[self.loss],
            "threshold": THRESHOLDS[self.loss],
            "max_deviation": MAX_DEVIATION,
            "min_squared_norm": MIN_SQUARED_NORM,
            "radius": self.radius,
            "column_clip": self.columns.clip,
            "target_clip": self.target.clip,
            "keeps_columns": not self.columns.follow,
        }
        return np.array([float(values[name]) for name in ROW_SETTING._fields])

    # ------------------------------------------------------------------ heads and columns

    def add_head(self) -> int:
        """Add a head that has learned nothing; return its position."""
        return self._joined(self.heads.add(self._make_learner()))

    def _make_learner(self) -> CompiledLearner:
        """Return a learner for scaled rows; each round has its own weight, threshold and radius."""
        kind = "logistic" if self.loss == "logistic" else "huber"
        return CompiledLearner(_composition(self.columns.width, self.radius, self._memory), kind)

    def copy_head(self, position: int) -> int:
        """Add a copy of a head; return its position."""
        return self._joined(self.heads.copy(position))

    def _joined(self, position: int) -> int:
        self.head_labels = np.vstack([self.head_labels, [1.0, 0.0]])
        self._drop_workspace()
        return position

    def drop_second_order(self) -> None:
        """Go on without second-order experts."""
        self.second_order = None
        self._drop_workspace()

    def replace_second_order(self, layer: SecondOrderLayer | None) -> None:
        """Go on with another layer, widened to the columns of this model."""
        self.second_order = None if layer is None else layer.widened(self.dim)
        self._drop_workspace()

    def widen(self, dim: int) -> None:
        """Add columns behind the others, up to ``dim``; their coefficients start at 0."""
        self.columns.widen(dim + len(self.recent))
        self.heads.widen(self.columns.width, last=int(self.columns.intercept))
        if self.second_order is not None:
            self.second_order = self.second_order.widened(dim)
        self._drop_workspace()

    # ------------------------------------------------------------------ predicting

    def predict(self, rows: Matrix, following: int = 1) -> Vector:
        """Return scores of rows of shape ``(T, d)`` by what is known now; nothing is learned.

        ``following`` rows follow the last one learned. Of the others no last targets are known:
        with ``lags="auto"`` the experts without lags predict them.
        """
        if len(rows) == 1 == following:
            return np.array([self._predict_row(rows)])
        scores, centers = self.first_order(rows)
        if self.second_order is None:
            return scores[:, 0]
        first = np.ascontiguousarray(scores[:, 0])
        known = rows[:, : self.dim]
        return self.second_order.predict(known, first, following, centers)

    def _predict_row(self, rows: Matrix) -> float:
        workspace = self.workspace
        workspace.row[workspace.lags :] = rows[0, : self.dim]
        return workspace.predict()

    def first_order(self, rows: Matrix) -> tuple[Matrix, Matrix]:
        """Return the scores of the heads, ``(T, H)``, and the centres of missing entries.

        The centres have shape ``(T, d)``, or no rows if no entry is missing.
        """
        if len(rows) == 1:
            self._predict_row(rows)
            return self.workspace.scores.copy(), self.workspace.block.column_centers.copy()
        from swordplay.engine import row_rounds  # numba is imported with the first prediction

        rows = rows[:, : self.dim]
        scores = np.empty((len(rows), len(self.heads)))
        centers = np.empty((len(rows) if np.isnan(rows).any() else 0, self.dim))
        width = self.columns.width
        scratch = row_rounds.PredictScratch(
            np.empty(self.heads.columns), np.empty((len(self.heads), width)), np.empty(width)
        )
        predict: Any = row_rounds.predict_rows
        given = with_lags(self, rows), self.predict_model, self.heads.arrays
        predict(*given, scratch, centers, scores)
        return scores, centers

    def forecast(self, rows: Matrix) -> Forecast:
        """Predict rows whose targets come later, each as if it were the next one."""
        scores, centers = self.first_order(rows)
        notes = np.empty((len(rows), 0))
        if self.second_order is not None:
            if len(rows) == 1:  # the workspace has just predicted it
                scores = np.array([[self.workspace.predict()]])
                notes = self.workspace.notes.copy()
            else:
                first = np.ascontiguousarray(scores[:, 0])
                mixed, notes = self.second_order.forecast(rows[:, : self.dim], first, centers)
                scores = mixed[:, None]
        lags = np.tile(self.recent, (len(rows), 1))
        rounds = np.full(len(rows), float(self.rounds))
        return Forecast(scores, self.expert_scores(rows), lags, notes, rounds)

    def expert_scores(self, rows: Matrix) -> Array:
        """Return the scores of the decision and of every expert, shape ``(T, H, 1 + N)``."""
        if len(rows) == 1:
            workspace = self.workspace
            workspace.row[workspace.lags :] = rows[0, : self.dim]
            workspace.predict_experts()
            return workspace.expert_scores.copy()
        from swordplay.engine import row_rounds

        answer = np.empty((len(rows), len(self.heads), 1 + self.heads.expert_count))
        predict: Any = row_rounds.predict_experts
        given = with_lags(self, rows[:, : self.dim]), self.predict_model, self.heads.arrays
        predict(*given, np.empty(self.columns.width), answer)
        return answer

    # ------------------------------------------------------------------ learning

    def predict_then_learn(
        self,
        rows: Matrix,
        targets: Vector,
        weights: Vector | None = None,
        observer: Observer | None = None,
        earlier_forecast: Forecast | None = None,
    ) -> Vector:
        """Return scores of rows, each made before its own target is learned, shape ``(T,)``.

        Parameters
        ----------
        rows, targets
            Shapes ``(T, d)`` and ``(T,)``; NaN in a row stands for a missing entry.
        weights
            Positive weights of the losses, shape ``(T,)``.
        observer
            Is called after some rows at a time, in their order, with their workspace.
        earlier_forecast
            Forecast of the rows, if they are late.
        """
        if earlier_forecast is not None and len(self.recent):
            learn = functools.partial(self._learn, observer=observer)
            return np.asarray(
                learn_with_earlier_lags([self], learn, rows, targets, weights, earlier_forecast)
            )
        return self._learn(rows, targets, weights, observer, earlier_forecast)

    def _learn(
        self,
        rows: Matrix,
        targets: Vector,
        weights: Vector | None = None,
        observer: Observer | None = None,
        earlier_forecast: Forecast | None = None,
    ) -> Vector:
        late_scores, notes = self._late(earlier_forecast)
        if len(rows) == 1 and weights is None and rows.shape[1] == self.dim and observer is None:
            workspace = self.workspace
            workspace.row[workspace.lags :] = rows[0]
            target = float(targets[0])
            if late_scores is None:
                return np.array([workspace.learn(target)])
            return np.array([workspace.learn_late(target, late_scores, notes)])
        parts = self.learn(rows, targets, weights, observer, late_scores, notes)
        return np.concatenate([part.mixed for part in parts])

    def _late(self, earlier_forecast: Forecast | None) -> tuple[Array | None, Matrix | None]:
        """Return what a workspace needs of late rows; nothing if no row is late."""
        if earlier_forecast is None or not (ages := earlier_forecast.ages(self.rounds)).any():
            return None, None
        late_scores = earlier_forecast.late_scores(ages, slice(0, 1), self.heads.expert_count)
        if self.second_order is None:
            return late_scores, None
        return late_scores, earlier_forecast.notes_of(ages, self.second_order.note_count)

    def scores_then_learn(
        self,
        rows: Matrix,
        targets: Vector,
        weights: Vector | None,
        observer: Observer | None,
        late_scores: Array | None,
        notes: Matrix | None,
    ) -> tuple[Matrix, Matrix]:
        """Return the scores of the heads before they learn each row, and centres of its columns.

        The scores have shape ``(T, H)``. With a second-order layer they are mixed, ``(T, 1)``.
        The centres, which replaced missing entries, have shape ``(T, d)``, or no rows if no entry
        is missing.
        """
        if len(rows) == 1 and weights is None and rows.shape[1] == self.dim and observer is None:
            workspace = self.workspace
            workspace.row[workspace.lags :] = rows[0]
            if late_scores is None:
                workspace.learn(float(targets[0]))
            else:
                workspace.learn_late(float(targets[0]), late_scores, notes)
            parts = [workspace.block]
        else:
            parts = self.learn(rows, targets, weights, observer, late_scores, notes)
        scores = [(part.scores if len(part.scores) > 1 else part.mixed[None]).T for part in parts]
        centers = [part.column_centers for part in parts]
        return np.concatenate(scores), join_centers(centers, list(map(len, scores)), self.dim)

    def learn(
        self,
        rows: Matrix,
        targets: Vector,
        weights: Vector | None = None,
        observer: Observer | None = None,
        late_scores: Array | None = None,
        notes: Matrix | None = None,
    ) -> list[Workspace]:
        """Learn rows, each predicted before; return the workspaces of some rows at a time.

        ``late_scores`` and ``notes`` are those of late rows (see :class:`Workspace`).
        """
        if self.grows and rows.shape[1] > self.dim:
            return self._grow(rows, targets, weights, observer, late_scores, notes)
        done = []
        step = self.chunk_rows
        for first in range(0, max(1, len(rows)), step):
            here = slice(first, min(first + step, len(rows)))
            part = Workspace(
                self,
                rows[here],
                targets[here],
                None if weights is None else weights[here],
                None if late_scores is None else np.array(late_scores[:, here], order="C"),
                NO_NOTES if notes is None else notes[here].copy(),
            )
            part.learn(first)
            if observer is not None:
                observer(part, part.targets)
            done.append(part)
        return done

    def _grow(
        self,
        rows: Matrix,
        targets: Vector,
        weights: Vector | None,
        observer: Observer | None,
        late_scores: Array | None,
        notes: Matrix | None,
    ) -> list[Workspace]:
        """Learn rows of which some bring new columns; columns left of a new one join with it."""
        is_held = rows[:, self.dim :] > 0.0  # NaN is not
        first = np.where(is_held.any(axis=0), is_held.argmax(axis=0), len(rows))
        joins = np.minimum.accumulate(first[::-1])[::-1]
        known, done = self.dim, list[Workspace]()
        for start, stop in pairwise(sorted({0, *joins.tolist(), len(rows)})):
            width = known + int(np.count_nonzero(joins <= start))
            if width > self.dim:
                self.widen(width)
            here = slice(start, stop)
            # A widened layer has as many notes of a row as before; without a layer there are none.
            if notes is not None:
                notes = notes if self.second_order is not None else None
            done += self.learn(
                np.ascontiguousarray(rows[here, :width]),
                targets[here],
                None if weights is None else weights[here],
                observer,
                None if late_scores is None else late_scores[:, here],
                None if notes is None else notes[here],
            )
        return done

    # ------------------------------------------------------------------ saving

    def shared_state(self) -> State:
        """Return the state of everything but heads and second-order layer."""
        flat = add_prefix("columns", self.columns.state()) | {"recent": self.recent.copy()}
        return flat if self.loss == "logistic" else flat | add_prefix("target", self.target.state())

    def load_heads(self, shared: Mapping[str, Any], heads: Sequence[Mapping[str, Any]]) -> None:
        """Continue from saved states; the heads are those of the states afterwards.

        Parameters
        ----------
        shared
            State of :meth:`shared_state`, split into its parts.
        heads
            State of the learner of each head.
        """
        recent = np.array(shared.get("recent", ()), dtype=np.float64)
        columns = part_of("columns", shared)
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
        # Points of a regression may lie as far out as the largest ball so far.
        reach = None if self.loss == "logistic" else self.radius * self.target.max_spread
        while len(self.heads) < len(heads):
            self.add_head()
        for position, saved in enumerate(heads):
            _load_learner(self.heads.learners[position], saved, reach, self.radius)
        self.recent = recent
        self._drop_workspace()

    def state(self) -> State:
        """Return the state of a model with one head, as named arrays."""
        flat = self.shared_state()
        flat |= add_prefix("engine", self.heads.learners[0].compact_state())
        if self.second_order is not None:
            flat |= add_prefix("second", self.second_order.state())
        return flat

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Continue from a saved state; all further results are identical to those of its model."""
        parts = split_parts(saved)
        self.load_heads(parts, [part_of("engine", parts)])
        self.load_second_order(parts)

    def load_second_order(self, parts: Mapping[str, Any]) -> None:
        """Continue from the second-order layer of a saved state, or without one."""
        if self.second_order is None or "second" not in parts:
            self.second_order = None
        else:
            self.second_order = self.second_order.loaded(part_of("second", parts), self.dim)
        self._drop_workspace()


@functools.lru_cache(maxsize=4)
def _composition(width: int, radius: float, memory: float) -> Composition:
    """Return the parts of the learner, made once for all heads, of which there may be thousands."""
    rate = SelfConfident(offset=0.0, factor=RATE_FACTOR, floor=RATE_FLOOR, memory=memory)
    learner = SwordAgeless(Ball(width, radius), smoothness=1.0, memory=memory)
    return learner.parts._replace(rate=rate)


def _load_learner(
    learner: CompiledLearner, saved: Mapping[str, Any], reach: float | None, radius: float
) -> None:
    """Let a learner continue from a saved state.

    ``reach`` is how far out points may lie where the ball changes with the target; it is None for
    log-odds, whose ball keeps the ``radius``.
    """
    learner.load_compact_state(saved, reach)
    if reach is None and abs(learner.size - radius) > SPREAD_TOLERANCE * radius:
        raise ValueError(
            f"state has a ball of radius {learner.size:g} for a model with the radius {radius:g}. "
            f"{DAMAGED}"
        )


def join_centers(centers: Sequence[Matrix], counts: Sequence[int], dim: int) -> Matrix:
    """Return the centres of missing entries of all rows, from those of some rows at a time.

    ``counts`` are these numbers of rows. The result has ``dim`` columns, or no rows if no entry is
    missing.
    """
    if len(centers) == 1 or not any(map(len, centers)):
        return centers[0].copy()
    answer, first = np.full((sum(counts), dim), np.nan), 0
    for part, count in zip(centers, counts, strict=True):
        answer[first : first + len(part), : part.shape[1]] = part
        first += count
    return answer


def learn_with_earlier_lags(
    models: Sequence[LinearModel],
    learn: Callable[..., Any],
    rows: Matrix,
    targets: Any,
    weights: Vector | None,
    earlier_forecast: Forecast,
) -> Any:
    """Learn rows one by one, each with the last targets of the time when it was predicted.

    Afterwards ``recent`` holds the new target and those that were the last ones before. After an
    error it is as before.
    """
    answers = []
    for t in range(len(rows)):
        before, first = [model.recent.copy() for model in models], 0
        for model in models:
            lags = earlier_forecast.lags[t, first : first + len(model.recent)]
            if len(lags) or not earlier_forecast.lags.shape[1]:  # else the model joined since
                model.recent[:] = lags if len(lags) else np.nan
            first += len(model.recent)
        here = slice(t, t + 1)
        weight = None if weights is None else weights[here]
        try:
            answers.append(
                learn(
                    rows[here], targets[here], weight, earlier_forecast=earlier_forecast.rows(here)
                )
            )
        except BaseException:
            for model, recent in zip(models, before, strict=True):
                model.recent[:] = recent
            raise
        for model, recent in zip(models, before, strict=True):
            model.recent[1:] = recent[:-1]
    return np.concatenate(answers)
