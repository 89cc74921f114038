"""A row's way through the second-order layer: scaled once and for all, forecast by many, mixed, judged, learned."""

from __future__ import annotations

import math
from typing import NamedTuple

from swordplay.base.compiling import exact, kernel, part
from swordplay.base.types import Matrix, Vector
from swordplay.engine.curved import mixing, newton
from swordplay.engine.curved.columns import follow_column
from swordplay.engine.curved.layout import (
    CENTER,
    KNOWN,
    SETTING,
    SPREAD,
    TOP,
    Book,
    Desk,
    book_of,
    count_forecasts,
    desk_of,
)
from swordplay.engine.curved.newton import LANES, SCORE

SUREST = 8.0
"""Log-odds of a second-order expert at the most in magnitude."""
STAY = 200.0
"""Labels over which the share of those that stayed what they were is a mean."""
RAREST = 0.01
"""Share of labels that stay, or change, at the least."""
SMALLEST_ERROR = 1e-300
"""Squared: nothing can be divided by less."""
WITHOUT = 3
"""Forecasts without lags where these compete: first order, and two experts."""
PRIOR, TOP_PRIOR = 0.3, 0.5
"""Weight of the first-order forecast in the beginning, and of the plain mixture among those that are corrected."""


class Setting(NamedTuple):
    """What a layer is, as whole numbers and truths."""

    logistic: bool
    intercept: bool
    compete: bool
    lags: int
    width: int
    corrections: int


@exact
def put_row(me: Setting, book: Book, raw: Vector, desk: Desk) -> None:
    """Write the scaled row: one, lags, columns; and the same without lags where these compete."""
    place = 0
    if me.intercept:
        desk.row[0] = desk.bare[0] = 1.0
        place = 1
    for j in range(me.lags):
        desk.row[place] = book.recent[j]
        desk.bare[place] = 0.0 if me.compete else book.recent[j]
        place += 1
    for j in range(len(raw)):
        known = book.columns[SPREAD, j] > 0.0 and raw[j] == raw[j]
        value = (raw[j] - book.columns[CENTER, j]) / book.columns[SPREAD, j] if known else 0.0
        desk.row[place] = desk.bare[place] = value
        place += 1


@exact
def no_change(known: Vector, recent: Vector, logistic: bool) -> float:
    """The last target again; of labels, the log-odds that the last one stays."""
    if not logistic:
        return float(recent[0])
    stays = min(max(known[KNOWN.stay], RAREST), 1.0 - RAREST)
    return float(recent[0] * math.log(stays / (1.0 - stays)))


@part
def forecast(me: Setting, book: Book, lanes: Matrix, desk: Desk, raw: Vector, first: float, ready: bool) -> None:
    """Forecasts of all, in ``desk.said``; with ``ready`` the experts can learn next."""
    put_row(me, book, raw, desk)
    if ready:
        newton.ask(lanes, desk.bare, desk.row, me.width, desk.leaned, desk.notes)
    else:
        newton.score(lanes, desk.bare, desk.row, me.width, desk.notes)
    desk.said[0] = first
    for k in range(LANES):
        value = desk.notes[SCORE, k]
        desk.said[1 + k] = min(max(value, -SUREST), SUREST) if me.logistic else mixing.cut(value, book.ends)
    if me.compete:
        desk.said[1 + LANES] = no_change(book.known, book.recent, me.logistic)


@exact
def mean(said: Vector, weights: Vector, first: int, last: int) -> float:
    """Of the forecasts from one place to another, by their weights."""
    total, share = 0.0, 0.0
    for i in range(first, last):
        total += weights[i] * said[i]
        share += weights[i]
    return total / share


@part
def mix(me: Setting, book: Book, lanes: Matrix, desk: Desk, ready: bool) -> float:
    """The mixture of all forecasts, corrected: where the plain mixture leans too far towards a side, experts learn by how much.

    The plain mixture and the corrected ones are left in ``desk.top``.
    """
    count = len(book.behind)
    mixing.weigh(book.behind, PRIOR, desk.weights)
    plain = mean(desk.said, desk.weights, 0, count)
    row, width = desk.row, 1
    row[0] = desk.said[0] - plain
    if me.compete:
        row[1] = mean(desk.said, desk.weights, 0, WITHOUT) - plain
        row[2] = mean(desk.said, desk.weights, WITHOUT, count) - plain
        width = 3
    if me.logistic:
        row[width] = 1.0
        row[width + 1] = plain
    group = lanes[newton.group_rows(me.width) :]
    if ready:
        newton.ask(group, row, row, me.corrections, desk.corrections, desk.correction_notes)
    else:
        newton.score(group, row, row, me.corrections, desk.correction_notes)
    desk.top[0] = plain
    for k in range(LANES):
        value = plain + desk.correction_notes[SCORE, k]
        desk.top[1 + k] = min(max(value, -mixing.SURE), mixing.SURE) if me.logistic else mixing.cut(value, book.ends)
    mixing.weigh(book.top_behind, TOP_PRIOR, desk.top_weights)
    return mean(desk.top, desk.top_weights, 0, TOP)


@part
def learn(me: Setting, book: Book, lanes: Matrix, desk: Desk, target: float, weight: float) -> None:
    """Judge all forecasts of a round by its target, and let the experts learn."""
    plain, group = desk.top[0], lanes[newton.group_rows(me.width) :]
    if me.logistic:
        mixing.judge_labels(book.behind, desk.said, target, weight)
        mixing.judge_labels(book.top_behind, desk.top, target, weight)
        newton.miss_labels(target, weight, 0.0, desk.notes)
        newton.miss_labels(target, weight, plain, desk.correction_notes)
    else:
        cut_at = mixing.Cut(mixing.MEMORY, mixing.WILDEST, book.ends[1] - book.ends[0])
        mixing.judge_numbers(book.behind, book.sums, desk.said, target, weight, cut_at)
        mixing.judge_numbers(book.top_behind, book.top_sums, desk.top, target, weight, cut_at)
        newton.miss_numbers(lanes, me.width, target, weight, desk.notes)
        # In units of the usual error, so that the ridge means the same whatever that is.
        usual = max(mixing.least(book.sums, len(book.behind)), SMALLEST_ERROR)
        newton.miss_numbers(group, me.corrections, target - plain, weight / usual, desk.correction_notes)
    newton.learn(lanes, me.width, desk.leaned, desk.gain, desk.notes)
    newton.learn(group, me.corrections, desk.corrections, desk.gain, desk.correction_notes)


@exact
def remember(me: Setting, book: Book, target: float) -> None:
    """The target of a round that is over."""
    known, recent = book.known, book.recent
    if me.logistic:
        now = 2.0 * target - 1.0
        if known[KNOWN.active] > 0.0:
            known[KNOWN.stay] += ((1.0 if now == recent[0] else 0.0) - known[KNOWN.stay]) / STAY
    else:
        now = target
        mixing.follow_range(book.ends, target)
    for j in range(len(recent) - 1, 0, -1):
        recent[j] = recent[j - 1]
    recent[0] = now
    known[KNOWN.active] += 1.0


@exact
def loss(score: float, target: float, threshold: float, logistic: bool) -> float:
    """Of one row as the first-order learner counts it: logistic, or Huber's."""
    if logistic:
        right = score if target > 0.5 else -score
        return max(-right, 0.0) + math.log1p(math.exp(-abs(right)))
    off = abs(target - score)
    return 0.5 * off * off if off <= threshold else threshold * (off - 0.5 * threshold)


@part
def setting_of(setting: Vector) -> Setting:
    """The setting as it is used."""
    return Setting(
        setting[SETTING.logistic] == 1.0,
        setting[SETTING.intercept] == 1.0,
        setting[SETTING.compete] == 1.0,
        int(setting[SETTING.lags]),
        int(setting[SETTING.width]),
        int(setting[SETTING.corrections]),
    )


@kernel
def learn_rows(
    raw: Matrix,
    targets: Vector,
    weights: Vector,
    first: Vector,
    plan: Matrix,
    setting: Vector,
    numbers: Vector,
    lanes: Matrix,
    scratch: Matrix,
    slate: Vector,
    answer: Vector,
) -> None:
    """Mix the first-order forecasts of rows, each before it is learned, with those of second-order experts.

    ``plan`` holds weight and threshold of each row's loss, shape ``(T, 2)``; ``answer`` may be ``first``.
    """
    me, book, desk = (
        setting_of(setting),
        book_of(numbers, setting, count_forecasts(setting[SETTING.compete])),
        desk_of(scratch, slate, setting),
    )
    columns = book.columns
    last = columns.shape[1] - 1
    for t in range(len(targets)):
        one = first[t]
        if me.logistic or columns[SPREAD, last] > 0.0:
            center, spread = (0.0, 1.0) if me.logistic else (columns[CENTER, last], columns[SPREAD, last])
            target = targets[t] if me.logistic else mixing.tamed((targets[t] - center) / spread, book.ends)
            weight = weights[t] if len(weights) > 0 else 1.0
            forecast(me, book, lanes, desk, raw[t], (one - center) / spread, True)
            mixed = mix(me, book, lanes, desk, True) * spread + center
            if book.known[KNOWN.active] == 0.0:
                mixed = one  # the others know nothing yet
            more = loss(mixed, targets[t], plan[t, 1], me.logistic) - loss(one, targets[t], plan[t, 1], me.logistic)
            book.known[KNOWN.gain] += plan[t, 0] * more
            answer[t] = mixed
            learn(me, book, lanes, desk, target, weight)
            remember(me, book, target)
        else:
            answer[t] = one
            follow_column(columns, last, targets[t], me.intercept)
        for j in range(last):
            follow_column(columns, j, raw[t, j], me.intercept)
        book.known[KNOWN.rounds] += 1.0


@kernel
def predict_rows(
    raw: Matrix,
    first: Vector,
    following: int,
    setting: Vector,
    numbers: Vector,
    lanes: Matrix,
    scratch: Matrix,
    slate: Vector,
    answer: Vector,
) -> None:
    """The same for rows that are not learned.

    So many of them follow the last one learned; of the others the last targets are not known, and where experts with and
    without lags compete, those without answer alone.
    """
    me, book, desk = (
        setting_of(setting),
        book_of(numbers, setting, count_forecasts(setting[SETTING.compete])),
        desk_of(scratch, slate, setting),
    )
    columns = book.columns
    last = columns.shape[1] - 1
    for t in range(len(raw)):
        answer[t] = first[t]
        if (me.logistic or columns[SPREAD, last] > 0.0) and book.known[KNOWN.active] > 0.0:
            center, spread = (0.0, 1.0) if me.logistic else (columns[CENTER, last], columns[SPREAD, last])
            forecast(me, book, lanes, desk, raw[t], (first[t] - center) / spread, False)
            if t < following or not me.compete:
                mixed = mix(me, book, lanes, desk, False)
            else:
                mixing.weigh(book.behind, PRIOR, desk.weights)
                mixed = mean(desk.said, desk.weights, 0, WITHOUT)
            answer[t] = mixed * spread + center
