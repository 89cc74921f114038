"""Many keys, one after the other, in one compiled call: unpack a key's record, play its rows, pack it again.

The arithmetic is that of ``estimators.model.LinearModel``, done by the very kernels that it calls; only what it does in
numpy between two of them is written out here, line by line in the same order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from swordplay.base.compiling import kernel, part
from swordplay.base.types import Matrix, Vector
from swordplay.engine.record import (
    Arrays,
    play_dense,
    read,
    read_experts,
    read_round,
    write,
    write_experts,
    write_round,
)
from swordplay.engine.scaling import locate_and_follow, scale_and_follow

PLACE = 4
"""Numbers that say where the target lies: centre, spread, largest spread, count."""


class _Setting(NamedTuple):
    logistic: int = 0  # 1 where targets are labels, which have no place to be followed
    curvature: int = 1
    threshold: int = 2  # of the Huber loss, in spreads of the target
    reach: int = 3  # beyond so many spreads a target weighs less
    smallest_norm: int = 4
    radius: int = 5
    clip: int = 6  # of columns
    clip_target: int = 7


SETTING = _Setting()
"""Places in the array ``setting``."""


@part
def unpack(record: Vector, me: Arrays, scaler: Matrix, place: Vector, recent: Vector) -> None:
    """A record into the arrays of a model."""
    at = read_round(record, 0, me)
    at = read(record, at, recent, len(recent))
    at = read(record, at, place, PLACE)
    for j in range(3):
        at = read(record, at, scaler[j], scaler.shape[1])
    read_experts(record, at, me)


@part
def pack(record: Vector, me: Arrays, scaler: Matrix, place: Vector, recent: Vector) -> None:
    """The arrays of a model into a record."""
    at = write_round(record, 0, me)
    at = write(record, at, recent, len(recent))
    at = write(record, at, place, PLACE)
    for j in range(3):
        at = write(record, at, scaler[j], scaler.shape[1])
    write_experts(record, at, me)


@part
def put_lags(raw: Matrix, targets: Vector, recent: Vector) -> None:
    """Last targets in front of every row, the newest first; ``recent`` holds those before the first row."""
    lags = len(recent)
    for t in range(len(targets)):
        for j in range(lags):
            raw[t, j] = targets[t - 1 - j] if t > j else recent[j - t]


@part
def keep_recent(targets: Vector, recent: Vector) -> None:
    """The last targets, the newest first."""
    lags, count = len(recent), len(targets)
    for j in range(lags - 1, -1, -1):
        recent[j] = targets[count - 1 - j] if j < count else recent[j - count]


@part
def plan(targets: Vector, norms: Vector, where: Matrix, setting: Vector, schedule: Matrix, goals: Vector) -> None:
    """Weight, threshold and radius of every round, and the targets as seen from their usual place."""
    for t in range(len(targets)):
        schedule[t, 0] = 1.0 / (setting[SETTING.curvature] * max(norms[t], setting[SETTING.smallest_norm]))
        if setting[SETTING.logistic] == 1.0:
            schedule[t, 1], schedule[t, 2], goals[t] = 1.0, setting[SETTING.radius], targets[t]
        else:
            spread = where[t, 1]
            schedule[t, 1], schedule[t, 2] = setting[SETTING.threshold] * spread, setting[SETTING.radius] * where[t, 2]
            goals[t] = targets[t] - where[t, 0]
            off, reach = abs(goals[t]), setting[SETTING.reach] * spread
            if off > reach and reach > 0.0:
                schedule[t, 0] *= reach / off


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
    where: Matrix,
    schedule: Matrix,
    goals: Vector,
    predictions: Vector,
    losses: Vector,
    none: Matrix,
) -> int:
    """Rows ``edges[k]`` to ``edges[k + 1]`` belong to the key of record ``who[k]``; each is predicted, then learned.

    ``slots`` says where the first rows of these keys are.

    Returns how many keys were played; fewer than given means that a row of the next one would have overflowed.
    """
    logistic = setting[SETTING.logistic] == 1.0
    me = Arrays(coords, numbers, vectors, live, config)
    for k in range(len(who)):
        a, b = edges[k], edges[k + 1]
        record = records[who[k]]
        unpack(record, me, scaler, place, recent)
        put_lags(raw[a:b], targets[a:b], recent)
        keep_recent(targets[a:b], recent)
        scale_and_follow(
            raw[a:b], scaler[0], scaler[1], scaler[2], first[slots[k]], setting[SETTING.clip], scaled[a:b], norms[a:b]
        )
        if not logistic:
            locate_and_follow(
                targets[a:b],
                place[0:1],
                place[1:3],
                place[3:4],
                first_targets[slots[k]],
                setting[SETTING.clip_target],
                where[a:b],
            )
        plan(targets[a:b], norms[a:b], where[a:b], setting, schedule[a:b], goals[a:b])
        outputs = (predictions[a:b], losses[a:b], none, none)
        if play_dense(coords, numbers, vectors, live, config, scaled[a:b], goals[a:b], schedule[a:b], *outputs) < b - a:
            return k
        if not logistic:
            for t in range(a, b):
                predictions[t] += where[t, 0]
        pack(record, me, scaler, place, recent)
    return len(who)
