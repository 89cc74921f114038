"""One way from a row to a round: raw rows in, scaled rows and what each round needs out.

Every row goes through four steps, each told from the past only: the last targets are put in front of its columns, the columns
are scaled, the target's usual place is found, and weight, threshold and radius of its round follow from both. Whole tables,
single rows, many classes (``learn_rows``) and many keys (``spark.kernel``) all go this way.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from swordplay.base.compiling import exact, kernel, part
from swordplay.base.types import Matrix, Vector
from swordplay.engine.rounds import play_dense
from swordplay.engine.scaling import locate_and_follow, scale_and_follow, scale_rows


class _Setting(NamedTuple):
    logistic: int = 0  # 1 where targets are labels, which have no place to be followed
    curvature: int = 1
    threshold: int = 2  # of the Huber loss, in spreads of the target
    reach: int = 3  # beyond so many spreads a target weighs less
    smallest_norm: int = 4
    radius: int = 5
    clip: int = 6  # of columns
    clip_target: int = 7
    unscaled: int = 8  # 1 where columns are left as they are: the caller has put in place what would be scaled


SETTING = _Setting()
"""Places in the array ``setting``."""


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


@exact
def plan(
    targets: Vector, weights: Vector, norms: Vector, where: Matrix, setting: Vector, schedule: Matrix, goals: Vector
) -> None:
    """Weight, threshold and radius of every round, and the targets as seen from their usual place.

    The loss of a row is divided by its smoothness, curvature * norm^2. Losses weigh 1 where there are no ``weights``.
    """
    for t in range(len(targets)):
        share = weights[t] if len(weights) > 0 else 1.0
        schedule[t, 0] = share / (setting[SETTING.curvature] * max(norms[t], setting[SETTING.smallest_norm]))
        if setting[SETTING.logistic] == 1.0:
            schedule[t, 1], schedule[t, 2], goals[t] = 1.0, setting[SETTING.radius], targets[t]
        else:
            spread = where[t, 1]
            schedule[t, 1], schedule[t, 2] = setting[SETTING.threshold] * spread, setting[SETTING.radius] * where[t, 2]
            goals[t] = targets[t] - where[t, 0]
            off, reach = abs(goals[t]), setting[SETTING.reach] * spread
            if off > reach and reach > 0.0:
                schedule[t, 0] *= reach / off


@part
def prepare(
    raw: Matrix,
    targets: Vector,
    weights: Vector,
    setting: Vector,
    centers: Vector,
    spreads: Vector,
    counts: Vector,
    first: Any,
    target_centers: Vector,
    target_spreads: Vector,
    target_counts: Vector,
    target_first: Any,
    recent: Vector,
    scaled: Matrix,
    norms: Vector,
    where: Matrix,
    schedule: Matrix,
    goals: Vector,
) -> None:
    """All that the rounds of some rows need, while columns and target are followed.

    ``raw`` has room for the lags in front. The next four arrays are the scaler of the columns, those after them the locator
    of the target (see ``scaling``). ``scaled``, ``norms``, ``where``, ``schedule`` and ``goals`` are written.
    """
    put_lags(raw, targets, recent)
    keep_recent(targets, recent)
    if setting[SETTING.unscaled] == 0.0:
        scale_and_follow(raw, centers, spreads, counts, first, setting[SETTING.clip], scaled, norms)
    if setting[SETTING.logistic] == 0.0:
        clip = setting[SETTING.clip_target]
        locate_and_follow(targets, target_centers, target_spreads, target_counts, target_first, clip, where)
    plan(targets, weights, norms, where, setting, schedule, goals)


@kernel
def scale_with_lags(raw: Matrix, targets: Vector, recent: Vector, centers: Vector, spreads: Vector, scaled: Matrix) -> None:
    """Lags in front of rows whose columns are left as they are, and a column of ones behind where ``scaled`` has room."""
    put_lags(raw, targets, recent)
    scale_rows(raw, centers, spreads, math.inf, scaled)


@kernel
def learn_rows(
    raw: Matrix,
    targets: Vector,
    weights: Vector,
    told: Matrix,
    setting: Vector,
    centers: Vector,
    spreads: Vector,
    counts: Vector,
    first: Any,
    target_centers: Vector,
    target_spreads: Vector,
    target_counts: Vector,
    target_first: Any,
    recent: Vector,
    scaled: Matrix,
    norms: Vector,
    where: Matrix,
    schedule: Matrix,
    goals: Matrix,
    coords: Any,
    numbers: Any,
    vectors: Any,
    live: Matrix,
    config: Matrix,
    predictions: Matrix,
    losses: Vector,
    none: Matrix,
) -> int:
    """Predict rows, each before it is learned, with every head of a stack; one head in all where targets are numbers.

    Of labels, head h predicts whether they are ``told[h, 0]``, or are not if ``told[h, 1]`` is 1. ``goals`` and
    ``predictions`` have shape ``(H, T)``.

    Returns how many rows every head has learned; fewer than given means that the next one would have overflowed.
    """
    heads, count, dim = len(told), len(targets), scaled.shape[1]
    logistic = setting[SETTING.logistic] == 1.0
    if logistic:
        for h in range(heads):
            for t in range(count):
                goals[h, t] = 1.0 if (targets[t] == told[h, 0]) != (told[h, 1] == 1.0) else 0.0
    prepare(
        raw, goals[0] if logistic else targets, weights, setting, centers, spreads, counts, first, target_centers,
        target_spreads, target_counts, target_first, recent, scaled, norms, where, schedule, goals[0],
    )  # fmt: skip
    played = count
    for h in range(heads):
        outputs = (predictions[h], losses, none, none)
        done = play_dense(coords[h][:dim], numbers[h], vectors[h], live[h], config[h], scaled, goals[h], schedule, *outputs)
        played = min(played, done)
    if not logistic:
        for t in range(count):
            predictions[0, t] += where[t, 0]
    return played
