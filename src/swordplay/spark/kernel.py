"""Many keys, one after the other, in one compiled call: unpack a key's record, play its rows, pack it again.

The way from a row to its round is that of ``engine.plan``, which the estimators go, too.
"""

from __future__ import annotations

from typing import Any

from swordplay.base.compiling import kernel, part
from swordplay.base.types import Matrix, Vector
from swordplay.engine.layout import (
    ALPHA,
    COEFFICIENT,
    CUMULATIVE,
    GAMMA,
    GUESS,
    LAST,
    LIVE,
    NORM,
    REPLAY,
    SCALE,
    UNSCALE,
    WEIGHT,
)
from swordplay.engine.plan import SETTING, prepare
from swordplay.engine.rounds import play_dense

KEPT_LIVE = (
    LIVE.rounds,
    LIVE.last_norm,
    LIVE.candidate,
    LIVE.difference,
    LIVE.magnitude,
    LIVE.trust,
    LIVE.total,
    LIVE.level,
    LIVE.rate,
    LIVE.smallest,
    LIVE.refresh_at,
)
"""What the next round needs of ``live``: the rest is constant, or written anew in each round."""
KEPT_ROWS = (WEIGHT, CUMULATIVE, GUESS, REPLAY, ALPHA, GAMMA, SCALE, COEFFICIENT, NORM)
"""What it needs of each expert. The certificate's sums stay behind: no prediction depends on them."""
PLACE = 4
"""Numbers that say where the target lies: centre, spread, largest spread, count."""

__all__ = ["KEPT_LIVE", "KEPT_ROWS", "PLACE", "SETTING", "play_keys"]


@part
def read(record: Vector, at: int, answer: Vector, count: int) -> int:
    """Copy the next numbers of a record; returns where it goes on."""
    for i in range(count):
        answer[i] = record[at + i]
    return at + count


@part
def write(record: Vector, at: int, numbers: Vector, count: int) -> int:
    """Copy numbers into a record; returns where it goes on."""
    for i in range(count):
        record[at + i] = numbers[i]
    return at + count


@part
def unpack(
    record: Vector, coords: Matrix, rows: Matrix, vectors: Matrix, live: Vector, scaler: Matrix, place: Vector, recent: Vector
) -> None:
    """A record into the arrays of a model; padded columns become copies of the last expert, as in ``Memory.mirror``."""
    at = 0
    for place_ in KEPT_LIVE:
        live[place_] = record[at]
        at += 1
    live[LIVE.prepared] = 0.0
    experts, columns = int(live[LIVE.experts]), rows.shape[1]
    at = read(record, at, recent, len(recent))
    at = read(record, at, place, PLACE)
    for j in range(3):
        at = read(record, at, scaler[j], scaler.shape[1])
    at = read(record, at, vectors[LAST], vectors.shape[1])
    for row in KEPT_ROWS:
        at = read(record, at, rows[row], experts)
        for i in range(experts, columns):
            rows[row, i] = rows[row, experts - 1]
    for i in range(experts):
        rows[UNSCALE, i] = 1.0 / rows[SCALE, i]
    for i in range(experts, columns):
        rows[UNSCALE, i] = rows[UNSCALE, experts - 1]
        rows[WEIGHT, i] = 0.0
    for j in range(coords.shape[0]):
        at = read(record, at, coords[j], experts)
        for i in range(experts, columns):
            coords[j, i] = coords[j, experts - 1]


@part
def pack(
    record: Vector, coords: Matrix, rows: Matrix, vectors: Matrix, live: Vector, scaler: Matrix, place: Vector, recent: Vector
) -> None:
    """The arrays of a model into a record."""
    at = 0
    for place_ in KEPT_LIVE:
        record[at] = live[place_]
        at += 1
    experts = int(live[LIVE.experts])
    at = write(record, at, recent, len(recent))
    at = write(record, at, place, PLACE)
    for j in range(3):
        at = write(record, at, scaler[j], scaler.shape[1])
    at = write(record, at, vectors[LAST], vectors.shape[1])
    for row in KEPT_ROWS:
        at = write(record, at, rows[row], experts)
    for j in range(coords.shape[0]):
        at = write(record, at, coords[j], experts)


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
    rows: Matrix,
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
    logistic, weights = setting[SETTING.logistic] == 1.0, losses[:0]  # all rows count the same
    for k in range(len(who)):
        a, b = edges[k], edges[k + 1]
        record = records[who[k]]
        unpack(record, coords, rows, vectors, live, scaler, place, recent)
        prepare(
            raw[a:b],
            targets[a:b],
            weights,
            setting,
            scaler[0],
            scaler[1],
            scaler[2],
            first[slots[k]],
            place[0:1],
            place[1:3],
            place[3:4],
            first_targets[slots[k]],
            recent,
            scaled[a:b],
            norms[a:b],
            where[a:b],
            schedule[a:b],
            goals[a:b],
        )
        outputs = (predictions[a:b], losses[a:b], none, none)
        if play_dense(coords, rows, vectors, live, config, scaled[a:b], goals[a:b], schedule[a:b], *outputs) < b - a:
            return k
        if not logistic:
            for t in range(a, b):
                predictions[t] += where[t, 0]
        pack(record, coords, rows, vectors, live, scaler, place, recent)
    return len(who)
