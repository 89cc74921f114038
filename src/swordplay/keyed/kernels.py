"""Kernels that learn and predict the rows of many keys in one call.

A kernel unpacks the record of a key into the arrays of one model, lets the model learn or predict
the rows of this key, and packs the record again. The factors of the second-order experts, which
are most of a record, are used where they lie in it. A row takes the same steps as in
``engine.row_rounds`` and ``engine.second_order.layer``, which the estimators call.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from swordplay.compile import inline, kernel, uncompiled
from swordplay.core.types import Matrix, Vector
from swordplay.engine.column_stats import ColumnArrays, scale_row, write_missing_centers
from swordplay.engine.record import (
    LearnerArrays,
    play_planned,
    read,
    read_certificate,
    read_experts,
    read_round,
    write,
    write_certificate,
    write_experts,
    write_round,
)
from swordplay.engine.row_rounds import (
    ROW_SETTING,
    TARGET_PLACE,
    RoundPlan,
    insert_recent,
    prepare,
    product,
    write_decision,
)
from swordplay.engine.second_order import class_calibration, layer
from swordplay.engine.second_order.layout import COUNTER, LayerArrays
from swordplay.engine.second_order.newton import LANES
from swordplay.intervals.kernel import play_rows as play_interval_rows
from swordplay.intervals.layout import INTERVAL, INTERVAL_THEN_LEARN

# A kernel cannot call another kernel, of which only machine code is kept: these are inlined.
learn_layer_rows = inline(uncompiled(layer.learn_rows))
predict_layer_rows = inline(uncompiled(layer.predict_rows))
learn_calibration = inline(uncompiled(class_calibration.learn_rows))
predict_calibration = inline(uncompiled(class_calibration.predict_rows))


class KeyArrays(NamedTuple):
    """The arrays of one model, into which the records of keys are unpacked."""

    learner: LearnerArrays
    centers: Any  # of the columns, lags first, as the next two
    spreads: Any
    counts: Any
    target_centers: Any  # (1,)
    target_spreads: Any  # (2,): the present spread and the largest
    target_counts: Any  # (1,)
    recent: Any  # the last targets, the newest first
    settings: Any  # see row_rounds.ROW_SETTING
    layer: LayerArrays  # without factors; all arrays are empty where there is no layer
    layer_kept: int  # leading entries of layer.numbers that belong to the key; the others are fixed
    layer_offset: int  # leading columns of a row that the layer does not see: the model's lags
    has_certificate: int
    waits_for_class: int  # 1 if the layer begins with the first row whose target is 1


class KeyRuns(NamedTuple):
    """Runs of rows, each of one key."""

    records: Any  # (M,) where the key of each run has its record
    slots: Any  # (M,) and its first rows
    starts: Any  # (M + 1,) first row of each run; the last entry is the number of rows


class RowArrays(NamedTuple):
    """T rows and what is computed for them."""

    raw: Any  # (T, lags + d)
    scaled: Any  # (T, w)
    norms: Any  # (T,) squared
    rounds: Any  # (T, 6): where the target lies, and the plan of the round
    relative_targets: Any  # (T,)
    column_centers: Any  # (T, columns of the layer) centres of missing entries; no rows without
    plan: Any  # (T, 2) of ones
    scores: Any  # (T,)


@inline
def unpack(record: Vector, key: KeyArrays) -> int:
    """Copy a record into the arrays of a model; returns where the factors begin."""
    at = read_round(record, 0, key.learner)
    at = read(record, at, key.recent, len(key.recent))
    at = read(record, at, key.target_centers, 1)
    at = read(record, at, key.target_spreads, 2)
    at = read(record, at, key.target_counts, 1)
    at = read(record, at, key.centers, len(key.centers))
    at = read(record, at, key.spreads, len(key.centers))
    at = read(record, at, key.counts, len(key.centers))
    at = read_experts(record, at, key.learner)
    if key.has_certificate == 1:
        at = read_certificate(record, at, key.learner)
    return read(record, at, key.layer.numbers, key.layer_kept)


@inline
def pack(record: Vector, key: KeyArrays) -> None:
    """Copy the arrays of a model into a record, which holds the factors already."""
    at = write_round(record, 0, key.learner)
    at = write(record, at, key.recent, len(key.recent))
    at = write(record, at, key.target_centers, 1)
    at = write(record, at, key.target_spreads, 2)
    at = write(record, at, key.target_counts, 1)
    at = write(record, at, key.centers, len(key.centers))
    at = write(record, at, key.spreads, len(key.centers))
    at = write(record, at, key.counts, len(key.centers))
    at = write_experts(record, at, key.learner)
    if key.has_certificate == 1:
        at = write_certificate(record, at, key.learner)
    write(record, at, key.layer.numbers, key.layer_kept)


@kernel
def unpack_record(record: Vector, key: KeyArrays) -> int:
    """:func:`unpack` for Python."""
    return unpack(record, key)


@kernel
def pack_record(record: Vector, key: KeyArrays) -> None:
    """:func:`pack` for Python."""
    pack(record, key)


@kernel
def learn_keys(
    records: Matrix,
    first_rows: Any,
    first_targets: Any,
    runs: KeyRuns,
    rows: RowArrays,
    targets: Vector,
    key: KeyArrays,
) -> int:
    """Predict the rows of each run, each before its own target is learned, in ``rows.scores``.

    Returns how many runs were learned; fewer than given means that a row of the next one would
    have overflowed.
    """
    is_logistic = key.settings[ROW_SETTING.is_logistic] == 1.0
    no_weights = rows.norms[:0]  # all weights are 1
    not_late = rows.scaled[:0]  # no row was predicted earlier
    for k in range(len(runs.records)):
        a, b = runs.starts[k], runs.starts[k + 1]
        record, slot = records[runs.records[k]], runs.slots[k]
        at = unpack(record, key)
        columns = ColumnArrays(key.centers, key.spreads, key.counts, first_rows[slot])
        target = ColumnArrays(
            key.target_centers, key.target_spreads, key.target_counts, first_targets[slot]
        )
        raw, rounds, scores = rows.raw[a:b], rows.rounds[a:b], rows.scores[a:b]
        centers = rows.column_centers[a:b]
        planned = RoundPlan(
            rows.scaled[a:b],
            rows.norms[a:b],
            rounds[:, :TARGET_PLACE],
            rounds[:, TARGET_PLACE:],
            rows.relative_targets[a:b],
            centers,
        )
        prepare(raw, targets[a:b], no_weights, key.settings, columns, target, key.recent, planned)
        learned = play_planned(
            key.learner,
            planned.scaled,
            planned.relative_targets,
            planned.schedule,
            not_late,
            scores,
        )
        if learned < b - a:
            return k
        if not is_logistic:
            for t in range(b - a):
                scores[t] += rounds[t, 0]
        if len(key.layer.settings) > 0:
            learn_layer(record, at, key, raw, targets[a:b], rounds, centers, rows, scores)
        pack(record, key)
    return len(runs.records)


@inline
def layer_of(record: Vector, at: int, layer: LayerArrays) -> LayerArrays:
    """The layer of a key, with the factors where they lie in its record."""
    factors = record[at:].reshape(((len(record) - at) // LANES, LANES))
    return LayerArrays(layer.settings, layer.numbers, factors, layer.scratch, layer.vector_scratch)


@inline
def learn_layer(
    record: Vector,
    at: int,
    key: KeyArrays,
    raw: Matrix,
    targets: Vector,
    rounds: Matrix,
    centers: Matrix,
    rows: RowArrays,
    scores: Vector,
) -> None:
    """Replace first-order scores by those of the layer, which then learns the rows."""
    begin = 0
    if key.waits_for_class == 1 and key.layer.numbers[COUNTER.rounds] == 0.0:
        while begin < len(targets) and targets[begin] != 1.0:
            begin += 1
    count = len(targets) - begin
    if count == 0:
        return
    # The losses of classes are counted without the weights of their rounds.
    plan = rounds[begin:, TARGET_PLACE : TARGET_PLACE + 2]
    if key.waits_for_class == 1:
        plan = rows.plan[:count]
    learn_layer_rows(
        raw[begin:, key.layer_offset :],
        centers[begin:],
        targets[begin:],
        rows.norms[:0],
        scores[begin:],
        plan,
        rows.scaled[:0],
        layer_of(record, at, key.layer),
        scores[begin:],
    )


@kernel
def predict_keys(
    records: Matrix,
    runs: KeyRuns,
    follows: Any,
    rows: RowArrays,
    shares: Vector,
    decision: Vector,
    key: KeyArrays,
) -> None:
    """Predict the rows of each run by what its key knows now, in ``rows.scores``.

    ``follows`` says of which runs the first row follows the last row that their key has learned:
    of the other rows the last targets are not known. ``shares`` (N,) and ``decision`` (w,) are
    scratch.
    """
    is_logistic = key.settings[ROW_SETTING.is_logistic] == 1.0
    clip = key.settings[ROW_SETTING.column_clip]
    scaled, first_order, learner = rows.scaled[0], rows.relative_targets, key.learner
    for k in range(len(runs.records)):
        record = records[runs.records[k]]
        at = unpack(record, key)
        write_decision(learner, shares, decision)
        for t in range(runs.starts[k], runs.starts[k + 1]):
            insert_recent(rows.raw[t], key.recent)
            scale_row(rows.raw[t], key.centers, key.spreads, clip, scaled)
            first_order[t] = product(scaled, decision)
            if not is_logistic:
                first_order[t] += key.target_centers[0]
            rows.scores[t] = first_order[t]
            if len(key.layer.settings) > 0:
                write_missing_centers(
                    rows.raw[t], key.centers, key.counts, True, rows.column_centers[t]
                )
                following = 1 if t == runs.starts[k] and follows[k] else 0
                predict_layer_rows(
                    rows.raw[t : t + 1, key.layer_offset :],
                    rows.column_centers[t : t + 1],
                    first_order[t : t + 1],
                    following,
                    layer_of(record, at, key.layer),
                    rows.plan[t : t + 1, :0],
                    rows.scores[t : t + 1],
                )


@kernel
def calibrate_keys(
    calibrations: Matrix,
    runs: KeyRuns,
    follows: Any,
    scores: Matrix,
    labels: Vector,
    scratch: Matrix,
    probabilities: Matrix,
) -> None:
    """Probabilities of three classes or more from the scores of all classes, run by run.

    Without ``labels`` nothing is learned, and ``follows`` is that of :func:`predict_keys`.
    """
    for k in range(len(runs.records)):
        a, b = runs.starts[k], runs.starts[k + 1]
        numbers = calibrations[runs.records[k]]
        if len(labels) > 0:
            learn_calibration(
                scores[a:b], labels[a:b], labels[:0], scores[:0], numbers, scratch,
                probabilities[a:b],
            )  # fmt: skip
        else:
            following = 1 if follows[k] else 0
            predict_calibration(scores[a:b], following, numbers, scratch, probabilities[a:b])


class IntervalArrays(NamedTuple):
    """The intervals of one key, into which the records of keys are unpacked."""

    flat: Any  # all numbers of the state, whose arrays are views of it
    kept: Any  # places of flat that a record holds
    copies: Any  # (2, n) places that a record does not hold, and the places of equal numbers
    state: Any  # see intervals.state.IntervalState
    alphas: Any  # (1,) share of misses that the level allows
    scratch: Any


@kernel
def intervals_of_keys(
    records: Matrix,
    runs: KeyRuns,
    key: IntervalArrays,
    columns: Matrix,
    predictions: Vector,
    targets: Vector,
    bounds: Any,
) -> None:
    """Intervals of the rows of each run, in ``bounds`` of shape ``(T, 1, 2)``.

    Without ``targets`` nothing is learned, and records stay as they are. ``columns`` is ``(T, 0)``.
    """
    mode = INTERVAL_THEN_LEARN if len(targets) else INTERVAL
    for k in range(len(runs.records)):
        a, b = runs.starts[k], runs.starts[k + 1]
        record = records[runs.records[k]]
        for i in range(len(key.kept)):
            key.flat[key.kept[i]] = record[1 + i]  # behind the level
        for i in range(key.copies.shape[1]):
            key.flat[key.copies[0, i]] = key.flat[key.copies[1, i]]
        play_interval_rows(
            mode,
            key.state,
            key.alphas,
            columns[a:b],
            predictions[a:b],
            targets[a:b],
            key.scratch,
            bounds[a:b],
        )
        if mode != INTERVAL:
            for i in range(len(key.kept)):
                record[1 + i] = key.flat[key.kept[i]]
