"""Many keys, one after the other, in one compiled call: unpack a key's record, play its rows, pack
it again.

The way from a row to its round is that of ``engine.row_rounds``, which the estimators go, too.
"""

from __future__ import annotations

from typing import Any

from swordplay.compile import inline, kernel
from swordplay.core.types import Matrix, Vector
from swordplay.engine.column_stats import ColumnArrays, scale_row
from swordplay.engine.record import (
    LearnerArrays,
    play_planned,
    read,
    read_experts,
    read_proof,
    read_round,
    write,
    write_experts,
    write_proof,
    write_round,
)
from swordplay.engine.row_rounds import (
    ROW_SETTING,
    TARGET_PLACE,
    RoundPlan,
    decision,
    prepare,
    product,
)

PLACE = 4
"""Numbers that say where the target lies: centre, spread, largest spread, count."""

__all__ = ["PLACE", "ROW_SETTING", "ask_keys", "play_keys"]


@inline
def unpack(
    record: Vector, me: LearnerArrays, scaler: Matrix, place: Vector, recent: Vector
) -> None:
    """A record into the arrays of a model."""
    at = read_round(record, 0, me)
    at = read(record, at, recent, len(recent))
    at = read(record, at, place, PLACE)
    for j in range(3):
        at = read(record, at, scaler[j], scaler.shape[1])
    at = read_experts(record, at, me)
    if at < len(record):
        read_proof(record, at, me)


@inline
def pack(record: Vector, me: LearnerArrays, scaler: Matrix, place: Vector, recent: Vector) -> None:
    """The arrays of a model into a record."""
    at = write_round(record, 0, me)
    at = write(record, at, recent, len(recent))
    at = write(record, at, place, PLACE)
    for j in range(3):
        at = write(record, at, scaler[j], scaler.shape[1])
    at = write_experts(record, at, me)
    if at < len(record):
        write_proof(record, at, me)


@kernel
def play_keys(
    records: Matrix,
    first: Any,
    first_targets: Any,
    who: Any,
    slots: Any,
    edges: Any,
    raw: Matrix,
    targets: Vector,
    setting: Vector,
    coords: Matrix,
    numbers: Matrix,
    vectors: Matrix,
    live: Vector,
    config: Vector,
    scaler: Matrix,
    place: Vector,
    recent: Vector,
    scaled: Matrix,
    norms: Vector,
    rounds: Matrix,
    goals: Vector,
    predictions: Vector,
) -> int:
    """Rows ``edges[k]`` to ``edges[k + 1]`` belong to the key of record ``who[k]``.

    Each is predicted, then learned.

    ``slots`` says where the first rows of these keys are.

    Returns how many keys were played; fewer than given means that a row of the next one would have
    overflowed.
    """
    logistic, weights = (
        setting[ROW_SETTING.is_logistic] == 1.0,
        norms[:0],
    )  # all rows count the same
    me = LearnerArrays(coords, numbers, vectors, live, config)
    for k in range(len(who)):
        a, b = edges[k], edges[k + 1]
        record = records[who[k]]
        unpack(record, me, scaler, place, recent)
        planned = RoundPlan(
            scaled[a:b],
            norms[a:b],
            rounds[a:b, :TARGET_PLACE],
            rounds[a:b, TARGET_PLACE:],
            goals[a:b],
            scaled[:0],  # rows of keys have no missing entries
        )
        columns = ColumnArrays(scaler[0], scaler[1], scaler[2], first[slots[k]])
        target = ColumnArrays(place[0:1], place[1:3], place[3:4], first_targets[slots[k]])
        prepare(raw[a:b], targets[a:b], weights, setting, columns, target, recent, planned)
        asked = scaled[:0]  # no row was asked before
        if (
            play_planned(
                me,
                planned.scaled,
                planned.relative_targets,
                planned.schedule,
                asked,
                predictions[a:b],
            )
            < b - a
        ):
            return k
        if not logistic:
            for t in range(a, b):
                predictions[t] += rounds[t, 0]
        pack(record, me, scaler, place, recent)
    return len(who)


@kernel
def ask_keys(
    records: Matrix,
    who: Any,
    edges: Any,
    raw: Matrix,
    setting: Vector,
    coords: Matrix,
    numbers: Matrix,
    vectors: Matrix,
    live: Vector,
    config: Vector,
    scaler: Matrix,
    place: Vector,
    recent: Vector,
    share: Vector,
    decided: Vector,
    scaled: Vector,
    predictions: Vector,
) -> None:
    """Rows ``edges[k]`` to ``edges[k + 1]`` are predicted by the key of record ``who[k]``.

    Nothing is learned.
    """
    logistic, clip = setting[ROW_SETTING.is_logistic] == 1.0, setting[ROW_SETTING.column_clip]
    me, lags = LearnerArrays(coords, numbers, vectors, live, config), len(recent)
    for k in range(len(who)):
        unpack(records[who[k]], me, scaler, place, recent)
        decision(coords, numbers, vectors, live, share, decided)
        for t in range(edges[k], edges[k + 1]):
            for j in range(lags):
                raw[t, j] = recent[j]
            scale_row(raw[t], scaler[0], scaler[1], clip, scaled)
            predictions[t] = product(scaled, decided)
            if not logistic:
                predictions[t] += place[0]
