"""Kernels from raw rows to rounds: rows are scaled and planned, then learned or only predicted.

Every row goes through four steps, each of which uses only the past: the last targets are put in
front of its columns, the columns are scaled, the usual place of the target is found, and weight,
threshold and radius of its round follow from both. Whole tables, single rows, many classes
(``learn_rows``) and many keys (``keyed.kernel``) all take these steps. Predictions alone leave the
state as it was, bit by bit.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from swordplay.compile import inline, inline_ordered, kernel
from swordplay.core.types import Matrix, Vector
from swordplay.engine.column_stats import (
    locate_and_follow_each,
    scale_and_follow_each,
    scale_each,
    scale_row,
)
from swordplay.engine.layout import EXPERT, SCALAR, VECTOR, LearnerArrays
from swordplay.engine.rounds import play_planned


class _Setting(NamedTuple):
    logistic: int = 0  # 1 where targets are labels, which have no place to be followed
    curvature: int = 1
    threshold: int = 2  # of the Huber loss, in spreads of the target
    reach: int = 3  # beyond so many spreads a target weighs less
    smallest_norm: int = 4
    radius: int = 5
    clip: int = 6  # of columns
    clip_target: int = 7
    unscaled: int = (
        8  # 1 where columns are left as they are: the caller has put in place what would be scaled
    )


SETTING = _Setting()
"""Places in the array ``setting``."""
PLACE = 3
"""Numbers that say where a round's target lies: centre, spread and largest spread.

Three more say what is planned.
"""


class Followed(NamedTuple):
    """What is known of columns, or of a target (see ``column_stats``)."""

    centers: Any
    spreads: Any
    counts: Any
    first: Any


class Planned(NamedTuple):
    """What is written for the rounds of T rows."""

    scaled: Any
    norms: Any
    """Squared, of the scaled rows."""
    where: Any
    """Where the target lies, ``(T, 3)``."""
    schedule: Any
    """Weight, threshold and radius, ``(T, 3)``."""
    goals: Any
    """The targets as seen from their usual place."""


@inline
def put_lags(raw: Matrix, targets: Vector, recent: Vector) -> None:
    """Last targets in front of every row, the newest first.

    ``recent`` holds those before the first row.
    """
    lags = len(recent)
    for t in range(len(targets)):
        for j in range(lags):
            raw[t, j] = targets[t - 1 - j] if t > j else recent[j - t]


@inline
def keep_recent(targets: Vector, recent: Vector) -> None:
    """The last targets, the newest first."""
    lags, count = len(recent), len(targets)
    for j in range(lags - 1, -1, -1):
        recent[j] = targets[count - 1 - j] if j < count else recent[j - count]


@inline_ordered
def plan(
    targets: Vector,
    weights: Vector,
    norms: Vector,
    where: Matrix,
    setting: Vector,
    schedule: Matrix,
    goals: Vector,
) -> None:
    """Weight, threshold and radius of every round, and the targets as seen from their usual place.

    The loss of a row is divided by its smoothness, curvature * norm^2. Losses weigh 1 where there
    are no ``weights``.
    """
    for t in range(len(targets)):
        share = weights[t] if len(weights) > 0 else 1.0
        schedule[t, 0] = share / (
            setting[SETTING.curvature] * max(norms[t], setting[SETTING.smallest_norm])
        )
        if setting[SETTING.logistic] == 1.0:
            schedule[t, 1], schedule[t, 2], goals[t] = 1.0, setting[SETTING.radius], targets[t]
        else:
            spread = where[t, 1]
            schedule[t, 1], schedule[t, 2] = (
                setting[SETTING.threshold] * spread,
                setting[SETTING.radius] * where[t, 2],
            )
            goals[t] = targets[t] - where[t, 0]
            off, reach = abs(goals[t]), setting[SETTING.reach] * spread
            if off > reach and reach > 0.0:
                schedule[t, 0] *= reach / off


@inline
def prepare(
    raw: Matrix,
    targets: Vector,
    weights: Vector,
    setting: Vector,
    columns: Followed,
    target: Followed,
    recent: Vector,
    planned: Planned,
) -> None:
    """All that the rounds of some rows need is written to ``planned``, while columns and target are
    followed.

    ``raw`` has room for the lags in front.
    """
    put_lags(raw, targets, recent)
    keep_recent(targets, recent)
    if setting[SETTING.unscaled] == 0.0:
        clip = setting[SETTING.clip]
        scale_and_follow_each(
            raw,
            columns.centers,
            columns.spreads,
            columns.counts,
            columns.first,
            clip,
            planned.scaled,
            planned.norms,
        )
    if setting[SETTING.logistic] == 0.0:
        clip = setting[SETTING.clip_target]
        locate_and_follow_each(
            targets,
            target.centers,
            target.spreads,
            target.counts,
            target.first,
            clip,
            planned.where,
        )
    plan(targets, weights, planned.norms, planned.where, setting, planned.schedule, planned.goals)


@kernel
def scale_with_lags(
    raw: Matrix, targets: Vector, recent: Vector, centers: Vector, spreads: Vector, scaled: Matrix
) -> None:
    """Lags in front of rows whose columns are left as they are, and a column of ones behind
    where ``scaled`` has room.
    """
    put_lags(raw, targets, recent)
    scale_each(raw, centers, spreads, math.inf, scaled)


@inline
def learn_planned(
    raw: Matrix, targets: Vector, weights: Vector, asked: Any, told: Matrix, setting: Vector, columns: Followed,  # noqa: E501
    target: Followed, recent: Vector, planned: Planned, rounds: Matrix, goals: Matrix, heads: LearnerArrays, predictions: Matrix,  # noqa: E501
) -> int:  # fmt: skip
    """Predict rows, each before it is learned, with every head of a stack.

    How many of them every head has learned.
    """
    count, dim = len(targets), planned.scaled.shape[1]
    logistic = setting[SETTING.logistic] == 1.0
    if logistic:
        for h in range(len(told)):
            for t in range(count):
                goals[h, t] = 1.0 if (targets[t] == told[h, 0]) != (told[h, 1] == 1.0) else 0.0
    prepare(
        raw, goals[0] if logistic else targets, weights, setting, columns, target, recent, planned
    )
    if not logistic:
        for t in range(asked.shape[1]):
            for i in range(1, asked.shape[2]):
                asked[0, t, i] -= rounds[t, 0]
    played = count
    for h in range(len(told)):
        me = LearnerArrays(
            heads.coordinates[h][:dim],
            heads.experts[h],
            heads.vectors[h],
            heads.scalars[h],
            heads.settings[h],
        )
        done = play_planned(
            me, planned.scaled, goals[h], planned.schedule, asked[h], predictions[h]
        )
        played = min(played, done)
    if not logistic:
        for t in range(count):
            predictions[0, t] += rounds[t, 0]
    return played


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
    rounds: Matrix,
    goals: Matrix,
    coords: Any,
    numbers: Any,
    vectors: Any,
    live: Matrix,
    config: Matrix,
    predictions: Matrix,
) -> int:
    """Predict rows, each before it is learned, with every head of a stack.

    One head in all where targets are numbers.

    Of labels, head h predicts whether they are ``told[h, 0]``, or are not if ``told[h, 1]`` is 1.
    ``rounds`` has shape ``(T, 6)``, ``goals`` and ``predictions`` have shape ``(H, T)``.

    Returns how many rows every head has learned; fewer than given means that the next one would
    have overflowed.
    """
    nothing = coords[:, :0]  # of no row was anything said before
    planned = Planned(scaled, norms, rounds[:, :PLACE], rounds[:, PLACE:], goals[0])
    columns = Followed(centers, spreads, counts, first)
    target = Followed(target_centers, target_spreads, target_counts, target_first)
    heads = LearnerArrays(coords, numbers, vectors, live, config)
    return learn_planned(
        raw,
        targets,
        weights,
        nothing,
        told,
        setting,
        columns,
        target,
        recent,
        planned,
        rounds,
        goals,
        heads,
        predictions,
    )


@kernel
def learn_late_rows(
    raw: Matrix,
    targets: Vector,
    asked: Any,
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
    rounds: Matrix,
    goals: Matrix,
    coords: Any,
    numbers: Any,
    vectors: Any,
    live: Matrix,
    config: Matrix,
    predictions: Matrix,
) -> int:
    """The same for rows some of which were asked earlier: the meta is judged by what was said then.

    ``asked`` has shape ``(H, T, 2 + N)``: how many rounds ago a row was asked (0 if just now), and
    what the decision and each expert of a head said then. It is written into.
    """
    nothing = norms[:0]  # all rows count the same
    planned = Planned(scaled, norms, rounds[:, :PLACE], rounds[:, PLACE:], goals[0])
    columns = Followed(centers, spreads, counts, first)
    target = Followed(target_centers, target_spreads, target_counts, target_first)
    heads = LearnerArrays(coords, numbers, vectors, live, config)
    return learn_planned(
        raw,
        targets,
        nothing,
        asked,
        told,
        setting,
        columns,
        target,
        recent,
        planned,
        rounds,
        goals,
        heads,
        predictions,
    )


@inline
def decide_aside(
    coords: Any, numbers: Matrix, vectors: Matrix, live: Vector, share: Vector, decision: Vector
) -> None:
    """x_t = centre + sum of p_i (alpha_i xhat_i - gamma_i a'), with scratch of the caller's
    instead of the learner's.
    """
    experts = int(live[SCALAR.expert_count])
    pending = 0.0
    for i in range(experts):
        share[i] = (
            numbers[EXPERT.weight, i]
            * numbers[EXPERT.lookahead_scale, i]
            * numbers[EXPERT.scale, i]
        )
    # A loop of its own: where a loop also stores, the order of its sum may depend on where the
    # arrays lie in memory.
    for i in range(experts):
        pending += (
            share[i] * numbers[EXPERT.pending_update, i]
            - numbers[EXPERT.weight, i] * numbers[EXPERT.lookahead_step, i]
        )
    for j in range(coords.shape[0]):
        coordinate = vectors[VECTOR.center, j] + pending * vectors[VECTOR.last_row, j]
        for i in range(experts):
            coordinate += share[i] * coords[j, i]
        decision[j] = coordinate


@kernel
def predict_rows(
    coords: Any,
    numbers: Any,
    vectors: Any,
    live: Matrix,
    raw: Matrix,
    centers: Vector,
    spreads: Vector,
    clip: float,
    share: Vector,
    decisions: Matrix,
    scaled: Vector,
    answer: Matrix,
) -> None:
    """<scaled row, x_t> of every learner of a stack for raw rows of shape ``(T, d)``: a row gets
    the same bits alone.

    ``share`` ``(C,)``, ``decisions`` ``(H, w)`` and ``scaled`` ``(w,)``, as long as a scaled row,
    are scratch; ``answer`` has shape ``(T, H)``.
    """
    heads = len(decisions)
    for h in range(heads):
        decide_aside(coords[h][: len(scaled)], numbers[h], vectors[h], live[h], share, decisions[h])
    for t in range(len(raw)):
        scale_row(raw[t], centers, spreads, clip, scaled)
        for h in range(heads):
            answer[t, h] = product(scaled, decisions[h])


@kernel
def ask_experts(
    coords: Any,
    numbers: Any,
    vectors: Any,
    live: Matrix,
    raw: Matrix,
    centers: Vector,
    spreads: Vector,
    clip: float,
    scaled: Vector,
    answer: Any,
) -> None:
    """<scaled row, x_t> and <scaled row, x_i> of every expert of every learner of a stack,
    ``answer`` ``(T, H, 1 + N)``.
    """
    width, experts = len(scaled), answer.shape[2] - 1
    for t in range(len(raw)):
        scale_row(raw[t], centers, spreads, clip, scaled)
        for h in range(len(live)):
            center, last = vectors[h][VECTOR.center], vectors[h][VECTOR.last_row]
            before = product(scaled, last[:width])
            offset = product(scaled, center[:width])
            answer[t, h, 0] = 0.0
            for i in range(experts):
                base = numbers[h][EXPERT.pending_update, i] * before
                for j in range(width):
                    base += coords[h][j, i] * scaled[j]
                share = numbers[h][EXPERT.lookahead_scale, i] * numbers[h][EXPERT.scale, i]
                answer[t, h, 1 + i] = (
                    offset + share * base - numbers[h][EXPERT.lookahead_step, i] * before
                )
                answer[t, h, 0] += numbers[h][EXPERT.weight, i] * answer[t, h, 1 + i]


@inline
def product(one: Vector, other: Vector) -> float:
    """<one, other>."""
    total = 0.0
    for j in range(len(other)):
        total += one[j] * other[j]
    return total
