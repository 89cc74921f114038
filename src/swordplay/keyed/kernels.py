"""Kernels that learn and predict the rows of many keys in one call.

A kernel unpacks the record of a key into the arrays of one model, lets the model learn or predict
the rows of this key, and packs the record again. The factors of the second-order experts, which
are most of a record, are used where they lie in it. A row takes the same steps as in
``engine.row_rounds`` and ``engine.second_order.layer``, which the estimators call.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from swordplay.compile import inline, kernel, uncompiled
from swordplay.core.types import Matrix, Vector
from swordplay.engine.column_stats import ColumnArrays, scale_row
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
from swordplay.engine.row_rounds import ROW_SETTING, TARGET_PLACE, RoundPlan, prepare
from swordplay.engine.row_rounds import decision as write_decision
from swordplay.engine.row_rounds import product as dot
from swordplay.engine.second_order import class_calibration, layer
from swordplay.engine.second_order.layout import COUNTER
from swordplay.engine.second_order.layout import LayerArrays as WholeLayer
from swordplay.engine.second_order.newton import LANES
from swordplay.intervals.kernel import play_rows as play_interval_rows
from swordplay.intervals.layout import INTERVAL, INTERVAL_THEN_LEARN

# A kernel cannot call another kernel, of which only machine code is kept: these are inlined.
learn_layer_rows = inline(uncompiled(layer.learn_rows))
predict_layer_rows = inline(uncompiled(layer.predict_rows))
learn_calibration = inline(uncompiled(class_calibration.learn_rows))
predict_calibration = inline(uncompiled(class_calibration.predict_rows))


class LayerArrays(NamedTuple):
    """A second-order layer without its factors; all arrays are empty where there is no layer."""

    setting: Any
    numbers: Any
    scratch: Any
    vectors: Any  # scratch, too


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
    setting: Any  # see row_rounds.ROW_SETTING
    layer: LayerArrays
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
    column_centers: Any  # (1, lags + d) before a row with a missing entry
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


@inline
def has_missing(raw: Matrix, recent: Vector, first: int) -> bool:
    """Whether an entry of these rows, from this column on, is NaN, or a lag before them."""
    for j in range(first, len(recent)):
        if recent[j] != recent[j]:
            return True
    for t in range(len(raw)):
        for j in range(len(recent), raw.shape[1]):
            if raw[t, j] != raw[t, j]:
                return True
    return False


@inline
def note_centers(key: KeyArrays, centers: Vector) -> None:
    """Write the present centre of each column, where missing entries lie for the layer.

    NaN for a column before its first value.
    """
    for j in range(len(centers)):
        centers[j] = key.centers[j] if key.counts[j] > 0.0 else math.nan


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
    logistic, weights = (
        key.setting[ROW_SETTING.is_logistic] == 1.0,
        rows.norms[:0],
    )  # all weights are 1
    for k in range(len(runs.records)):
        a, b = runs.starts[k], runs.starts[k + 1]
        record, slot = records[runs.records[k]], runs.slots[k]
        at = unpack(record, key)
        has_layer = len(key.layer.setting) > 0
        columns = ColumnArrays(key.centers, key.spreads, key.counts, first_rows[slot])
        target = ColumnArrays(
            key.target_centers, key.target_spreads, key.target_counts, first_targets[slot]
        )
        # The centre of a column before a row is known only if the row is learned alone.
        missing = has_layer and has_missing(rows.raw[a:b], key.recent, key.layer_offset)
        step = 1 if missing else b - a
        for first in range(a, b, step):
            stop = first + step
            if missing:
                note_centers(key, rows.column_centers[0])
            raw, scores = rows.raw[first:stop], rows.scores[first:stop]
            rounds = rows.rounds[first:stop]
            planned = RoundPlan(
                rows.scaled[first:stop],
                rows.norms[first:stop],
                rounds[:, :TARGET_PLACE],
                rounds[:, TARGET_PLACE:],
                rows.relative_targets[first:stop],
                rows.scaled[:0],  # the centres of missing entries are noted above
            )
            prepare(raw, targets[first:stop], weights, key.setting, columns, target, key.recent, planned)  # noqa: E501  # fmt: skip
            not_asked = rows.scaled[:0]  # no row was predicted earlier
            learned = play_planned(
                key.learner,
                planned.scaled,
                planned.relative_targets,
                planned.schedule,
                not_asked,
                scores,
            )
            if learned < stop - first:
                if first > a:
                    pack(record, key)  # the layer has learned the rows before
                return k
            if not logistic:
                for t in range(stop - first):
                    scores[t] += rounds[t, 0]
            if has_layer:
                learn_layer(record, at, key, raw, targets[first:stop], rounds, missing, rows, scores)  # noqa: E501  # fmt: skip
        pack(record, key)
    return len(runs.records)


@inline
def learn_layer(
    record: Vector,
    at: int,
    key: KeyArrays,
    raw: Matrix,
    targets: Vector,
    rounds: Matrix,
    missing: bool,
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
    offset = key.layer_offset
    factors = record[at:].reshape(((len(record) - at) // LANES, LANES))
    centers = rows.column_centers[: 1 if missing else 0, offset:]
    # Losses of many classes are counted without the weights of their rounds.
    plan = (
        rows.plan[:count]
        if key.waits_for_class == 1
        else rounds[begin:, TARGET_PLACE : TARGET_PLACE + 2]
    )
    whole = WholeLayer(
        key.layer.setting, key.layer.numbers, factors, key.layer.scratch, key.layer.vectors
    )
    learn_layer_rows(
        raw[begin:, offset:],
        centers,
        targets[begin:],
        rows.norms[:0],
        scores[begin:],
        plan,
        rows.scaled[:0],
        whole,
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
    logistic, clip = (
        key.setting[ROW_SETTING.is_logistic] == 1.0,
        key.setting[ROW_SETTING.column_clip],
    )
    lags, scaled, first_order = len(key.recent), rows.scaled[0], rows.relative_targets
    for k in range(len(runs.records)):
        record = records[runs.records[k]]
        at = unpack(record, key)
        factors = record[at:].reshape(((len(record) - at) // LANES, LANES))
        has_layer, offset = len(key.layer.setting) > 0, key.layer_offset
        learner = key.learner
        write_decision(
            learner.coordinates, learner.experts, learner.vectors, learner.scalars, shares, decision
        )
        note_centers(key, rows.column_centers[0])
        for t in range(runs.starts[k], runs.starts[k + 1]):
            for j in range(lags):
                rows.raw[t, j] = key.recent[j]
            scale_row(rows.raw[t], key.centers, key.spreads, clip, scaled)
            first_order[t] = dot(scaled, decision)
            if not logistic:
                first_order[t] += key.target_centers[0]
            rows.scores[t] = first_order[t]
            if has_layer:
                following = 1 if t == runs.starts[k] and follows[k] else 0
                whole = WholeLayer(
                    key.layer.setting,
                    key.layer.numbers,
                    factors,
                    key.layer.scratch,
                    key.layer.vectors,
                )
                predict_layer_rows(
                    rows.raw[t : t + 1, offset:],
                    rows.column_centers[:, offset:],
                    first_order[t : t + 1],
                    following,
                    whole,
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
