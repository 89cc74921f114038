"""Kernels from raw rows to rounds: rows are scaled and planned, then learned or only predicted.

Every row goes through four steps, each of which uses only the rows before it: the last targets are
inserted in front of its columns, the columns are scaled, centre and spread of the target are looked
up, and weight, threshold and radius of the row's round follow from these. Tables, single rows,
several classes (``learn_rows``) and many keys (``keyed.kernels``) all take these steps. Predictions
change no state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from swordplay.compile import inline, inline_ordered, kernel
from swordplay.core.types import Matrix, Vector
from swordplay.engine.ball import write_decision as write_decision
from swordplay.engine.column_stats import (
    ColumnArrays,
    scale_and_update_each,
    scale_row,
    track_target_each,
    write_missing_centers,
)
from swordplay.engine.layout import EXPERT, VECTOR, LearnerArrays
from swordplay.engine.rounds import learner_at, play_planned


class _RowSetting(NamedTuple):
    is_logistic: int = 0  # 1 where targets are labels, which have no centre and spread
    curvature: int = 1  # of the loss, at most
    threshold: int = 2  # of the Huber loss, in spreads of the target
    max_deviation: int = 3  # targets farther than this many spreads from the centre weigh less
    min_squared_norm: int = 4  # of a row
    radius: int = 5  # of the ball, in largest spreads of the target
    column_clip: int = 6  # in spreads of a column
    target_clip: int = 7  # in spreads; for the statistics of the target alone
    keeps_columns: int = 8  # 1 where columns are neither centred nor scaled


ROW_SETTING = _RowSetting()
"""Places in the array ``settings`` of a model."""
TARGET_PLACE = 3
"""Numbers of a row's target place: centre, spread and largest spread of the target before the row.

Behind them a round has its schedule of three: weight, threshold and radius.
"""


class RowBatch(NamedTuple):
    """T rows to be learned."""

    rows: Any
    """Shape ``(T, d)``, with room for the lags in front."""
    targets: Any
    weights: Any
    """Weights of the losses, shape ``(T,)``, or empty: all are 1."""
    late_scores: Any
    """Age in rounds of each row's forecast and the scores of the decision and N experts then.

    Shape ``(H, T, 2 + N)``, or empty if no row is late; the age is 0 for a row that is not. The
    kernel overwrites it.
    """


class RowModel(NamedTuple):
    """What a model keeps besides its learners: settings, statistics and the last targets."""

    settings: Any
    head_labels: Any
    """The class that each head predicts, and 1 if it predicts that a row is *not* of it."""
    columns: ColumnArrays
    target: ColumnArrays
    """Statistics of the target."""
    recent: Any
    """Last targets, the newest first."""


class RoundPlan(NamedTuple):
    """What is written for the rounds of T rows."""

    scaled: Any
    squared_norms: Any
    target_place: Any
    """Shape ``(T, TARGET_PLACE)``."""
    schedule: Any
    """Weight, threshold and radius of each round, shape ``(T, 3)``."""
    relative_targets: Any
    """Targets minus their centre."""
    column_centers: Any
    """Centres of missing entries, shape ``(T, columns without lags)``, or no rows."""


class RoundArrays(NamedTuple):
    """What :func:`learn_rows` writes for T rows and H heads."""

    scaled: Any
    squared_norms: Any
    rounds: Any
    """Target place and schedule, shape ``(T, TARGET_PLACE + 3)``."""
    relative_targets: Any
    """Targets of each head minus their centre, shape ``(H, T)``; of a class 0 or 1."""
    scores: Any
    """Scores of each head before it learned the row, shape ``(H, T)``."""
    column_centers: Any
    """See :class:`RoundPlan`."""


@inline
def insert_lags(rows: Matrix, targets: Vector, recent: Vector) -> None:
    """Write the last targets in front of every row, the newest first."""
    lags = len(recent)
    for t in range(len(targets)):
        for j in range(lags):
            rows[t, j] = targets[t - 1 - j] if t > j else recent[j - t]


@inline
def update_recent(targets: Vector, recent: Vector) -> None:
    """Let ``recent`` hold the last targets, the newest first."""
    lags, count = len(recent), len(targets)
    for j in range(lags - 1, -1, -1):
        recent[j] = targets[count - 1 - j] if j < count else recent[j - count]


@inline_ordered
def plan(
    targets: Vector,
    weights: Vector,
    squared_norms: Vector,
    target_place: Matrix,
    settings: Vector,
    schedule: Matrix,
    relative_targets: Vector,
) -> None:
    """Write weight, threshold and radius of every round, and targets minus their centre.

    The weight is sample weight / (curvature |a|^2), so that each loss has smoothness 1.
    """
    for t in range(len(targets)):
        weight = weights[t] if len(weights) > 0 else 1.0
        squared_norm = max(squared_norms[t], settings[ROW_SETTING.min_squared_norm])
        schedule[t, 0] = weight / (settings[ROW_SETTING.curvature] * squared_norm)
        if settings[ROW_SETTING.is_logistic] == 1.0:
            schedule[t, 1], schedule[t, 2] = 1.0, settings[ROW_SETTING.radius]
            relative_targets[t] = targets[t]
        else:
            spread = target_place[t, 1]
            schedule[t, 1] = settings[ROW_SETTING.threshold] * spread
            schedule[t, 2] = settings[ROW_SETTING.radius] * target_place[t, 2]
            relative_targets[t] = targets[t] - target_place[t, 0]
            distance = abs(relative_targets[t])
            limit = settings[ROW_SETTING.max_deviation] * spread
            if distance > limit and limit > 0.0:
                schedule[t, 0] *= limit / distance


@inline
def prepare(
    rows: Matrix,
    targets: Vector,
    weights: Vector,
    settings: Vector,
    columns: ColumnArrays,
    target: ColumnArrays,
    recent: Vector,
    planned: RoundPlan,
) -> None:
    """Write all that the rounds of some rows need, and update the statistics and last targets.

    ``rows`` has room for the lags in front.
    """
    insert_lags(rows, targets, recent)
    update_recent(targets, recent)
    updates_columns = settings[ROW_SETTING.keeps_columns] == 0.0
    scale_and_update_each(
        rows,
        columns,
        settings[ROW_SETTING.column_clip],
        updates_columns,
        planned.scaled,
        planned.squared_norms,
        planned.column_centers,
    )
    if settings[ROW_SETTING.is_logistic] == 0.0:
        clip = settings[ROW_SETTING.target_clip]
        track_target_each(targets, target, clip, planned.target_place)
    plan(
        targets,
        weights,
        planned.squared_norms,
        planned.target_place,
        settings,
        planned.schedule,
        planned.relative_targets,
    )


@kernel
def learn_rows(batch: RowBatch, model: RowModel, heads: LearnerArrays, out: RoundArrays) -> int:
    """Predict rows, each before it is learned, with every head of a model.

    Where targets are numbers there is one head. Of labels, head h predicts whether they are
    ``head_labels[h, 0]``, or are not if ``head_labels[h, 1]`` is 1.

    Returns how many rows every head has learned; fewer than given means that the next one would
    have overflowed.
    """
    rows, targets, late_scores = batch.rows, batch.targets, batch.late_scores
    count, width = len(targets), out.scaled.shape[1]
    is_logistic = model.settings[ROW_SETTING.is_logistic] == 1.0
    labels = model.head_labels
    if is_logistic:
        for h in range(len(labels)):
            for t in range(count):
                is_label = targets[t] == labels[h, 0]
                out.relative_targets[h, t] = 1.0 if is_label != (labels[h, 1] == 1.0) else 0.0
    planned = RoundPlan(
        out.scaled,
        out.squared_norms,
        out.rounds[:, :TARGET_PLACE],
        out.rounds[:, TARGET_PLACE:],
        out.relative_targets[0],
        out.column_centers,
    )
    prepare(
        rows,
        # With labels, lags hold the target of the first head: 1 or 0.
        out.relative_targets[0] if is_logistic else targets,
        batch.weights,
        model.settings,
        model.columns,
        model.target,
        model.recent,
        planned,
    )
    if not is_logistic:
        for t in range(late_scores.shape[1]):
            if late_scores[0, t, 0] > 0.0:
                for i in range(1, late_scores.shape[2]):
                    late_scores[0, t, i] -= out.rounds[t, 0]
    learned = count
    for h in range(len(labels)):
        done = play_planned(
            learner_at(heads, h, width),
            out.scaled,
            out.relative_targets[h],
            planned.schedule,
            late_scores[h],
            out.scores[h],
        )
        learned = min(learned, done)
    if not is_logistic:
        for t in range(count):
            out.scores[0, t] += out.rounds[t, 0]
    return learned


class PredictModel(NamedTuple):
    """What predictions need of a model, beside its heads: each array costs Python 35 ns a call."""

    settings: Any
    centers: Any
    spreads: Any
    counts: Any
    """Of the columns (see ``ColumnArrays``)."""
    target_center: Any
    """Shape ``(1,)``."""
    recent: Any


class PredictScratch(NamedTuple):
    """Scratch of predictions of H heads for rows that have w entries once scaled."""

    weights: Any
    """As many numbers as columns of experts."""
    decisions: Any
    """Shape ``(H, w)``."""
    scaled: Any
    """Shape ``(w,)``."""


@inline
def insert_recent(row: Vector, recent: Vector) -> None:
    """Write the last targets in front of a row that has room for them."""
    for j in range(len(recent)):
        row[j] = recent[j]


@kernel
def predict_rows(
    rows: Matrix,
    model: PredictModel,
    heads: LearnerArrays,
    scratch: PredictScratch,
    column_centers: Matrix,
    scores: Matrix,
) -> None:
    """Predict raw rows, each as if it followed the last one learned.

    Bit for bit, a row's result does not depend on the rows predicted with it.

    ``rows`` has room for the lags in front; ``scores`` has shape ``(T, H)``. ``column_centers`` is
    as in :class:`RoundPlan`.
    """
    scaled = scratch.scaled
    updates_columns = model.settings[ROW_SETTING.keeps_columns] == 0.0
    clip = model.settings[ROW_SETTING.column_clip]
    is_logistic = model.settings[ROW_SETTING.is_logistic] == 1.0
    for h in range(len(scratch.decisions)):
        head = learner_at(heads, h, len(scaled))
        write_decision(head, scratch.weights, scratch.decisions[h])
    for t in range(len(rows)):
        insert_recent(rows[t], model.recent)
        if len(column_centers) > 0:
            write_missing_centers(
                rows[t], model.centers, model.counts, updates_columns, column_centers[t]
            )
        scale_row(rows[t], model.centers, model.spreads, clip, scaled)
        for h in range(len(scratch.decisions)):
            score = product(scaled, scratch.decisions[h])
            scores[t, h] = score if is_logistic else score + model.target_center[0]


@kernel
def predict_experts(
    rows: Matrix, model: PredictModel, heads: LearnerArrays, scaled: Vector, answer: Any
) -> None:
    """Write <a, x_t> and <a, x_{t,i}> of every expert i of every head, for raw rows.

    ``rows`` has room for the lags in front; ``answer`` has shape ``(T, H, 1 + N)``.
    """
    clip = model.settings[ROW_SETTING.column_clip]
    is_logistic = model.settings[ROW_SETTING.is_logistic] == 1.0
    width, count = len(scaled), answer.shape[2] - 1
    for t in range(len(rows)):
        insert_recent(rows[t], model.recent)
        scale_row(rows[t], model.centers, model.spreads, clip, scaled)
        for h in range(answer.shape[1]):
            experts = heads.experts[h]
            last_product = product(scaled, heads.vectors[h][VECTOR.last_row, :width])
            offset = product(scaled, heads.vectors[h][VECTOR.center, :width])
            answer[t, h, 0] = 0.0
            for i in range(count):
                base = experts[EXPERT.pending_update, i] * last_product
                for j in range(width):
                    base += heads.coordinates[h][j, i] * scaled[j]
                factor = experts[EXPERT.lookahead_scale, i] * experts[EXPERT.scale, i]
                score = offset + factor * base - experts[EXPERT.lookahead_step, i] * last_product
                answer[t, h, 1 + i] = score
                answer[t, h, 0] += experts[EXPERT.weight, i] * score
            if not is_logistic:
                for i in range(1 + count):
                    answer[t, h, i] += model.target_center[0]


@inline
def product(one: Vector, other: Vector) -> float:
    """Return <one, other>."""
    total = 0.0
    for j in range(len(other)):
        total += one[j] * other[j]
    return total
