"""A row's way through the second-order layer: scaled, forecast, mixed, corrected, judged, learned.

Rows that are not learned, or not yet, are only forecast; what their later learning needs is noted.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from swordplay.compile import inline, inline_ordered, kernel, unrolled_loop
from swordplay.compile.simd4 import extract, pack, select
from swordplay.core.types import Matrix, Vector
from swordplay.engine.second_order import mixing, newton
from swordplay.engine.second_order.approximations import log_loss, power_of_e, within
from swordplay.engine.second_order.features import count_asked, follow_column, put_bends, rests
from swordplay.engine.second_order.layout import (
    CENTER,
    KNOWN,
    SETTING,
    SPREAD,
    STRAIGHT,
    Book,
    Desk,
    book_of,
    count_forecasts,
    desk_of,
)
from swordplay.engine.second_order.newton import LANES, LEVERAGE, SCORE

SUREST = 8.0
"""Log-odds of a second-order expert at the most in magnitude."""
DOUBT = math.pi / 8.0
"""Log-odds z of variance s are told as z/sqrt(1 + DOUBT s): what is left of them when all
coefficients that fit are asked
(MacKay 1992)."""
RAREST = 0.01
"""Share of labels that stay, or change, at the least."""


class Setting(NamedTuple):
    """What a layer is, as whole numbers and truths."""

    logistic: bool
    intercept: bool
    compete: bool
    lags: int
    width: int
    corrections: int
    bends: int


@inline
def setting_of(setting: Vector) -> Setting:
    """The setting as it is used."""
    return Setting(
        setting[SETTING.logistic] == 1.0,
        setting[SETTING.intercept] == 1.0,
        setting[SETTING.compete] == 1.0,
        int(setting[SETTING.lags]),
        int(setting[SETTING.width]),
        int(setting[SETTING.corrections]),
        int(setting[SETTING.bends]),
    )


@inline_ordered
def put_row(me: Setting, book: Book, raw: Vector, middles: Vector, rows: Matrix) -> None:
    """Write the scaled row for every lane: one, lags, columns.

    The first two do without lags where these compete.

    Where they do, the others are also told by how much the steadiest one without lags missed the
    last target: what a regression leaves over is seldom independent from row to row.

    A missing entry lies where its column lies now, as ``middles`` say; without these, at the centre
    of the scaling.
    """
    place = 0
    if me.intercept:
        rows[0, 0] = rows[0, 1] = rows[0, 2] = rows[0, 3] = 1.0
        place = 1
    for j in range(me.lags):
        rows[place, 2] = rows[place, 3] = book.recent[j]
        rows[place, 0] = rows[place, 1] = 0.0 if me.compete else book.recent[j]
        place += 1
    if me.compete and len(book.recent) > me.lags:
        rows[place, 2] = rows[place, 3] = book.recent[me.lags]
        rows[place, 0] = rows[place, 1] = 0.0
        place += 1
    for j in range(len(raw)):
        entry, value = raw[j], 0.0
        if entry != entry and len(middles) > 0:
            entry = middles[j]
        if book.columns[SPREAD, j] > 0.0 and entry == entry:
            value = (entry - book.columns[CENTER, j]) / book.columns[SPREAD, j]
        rows[place, 0] = rows[place, 1] = rows[place, 2] = rows[place, 3] = value
        place += 1


@inline_ordered
def no_change(known: Vector, recent: Vector, logistic: bool) -> float:
    """The last target again; of labels, the log-odds that the last one stays."""
    if not logistic:
        return float(recent[0])
    stays = min(max(known[KNOWN.stay], RAREST), 1.0 - RAREST)
    return float(recent[0] * math.log(stays / (1.0 - stays)))


@unrolled_loop
def doubt(notes: Matrix, said: Vector) -> None:
    """Log-odds of every lane, told with doubt."""
    for k in range(LANES):
        said[k] = min(
            max(notes[SCORE, k] / math.sqrt(1.0 + DOUBT * notes[LEVERAGE, k]), -SUREST), SUREST
        )


@inline
def forecast(me: Setting, book: Book, lanes: Matrix, desk: Desk, first: float, ready: bool) -> None:
    """Forecasts of all for the row that was put, in ``desk.said``.

    With ``ready`` the experts can learn next.
    """
    if ready or me.logistic:
        newton.ask(lanes, desk.rows, me.width, desk.leaned, desk.notes)
    else:
        newton.score(lanes, desk.rows, me.width, desk.notes)
    desk.said[0] = first
    if me.logistic:
        doubt(desk.notes, desk.said[1:])
    else:
        for k in range(LANES):
            desk.said[1 + k] = mixing.cut(desk.notes[SCORE, k], book.ends)
    if me.compete:
        desk.said[1 + LANES] = no_change(book.known, book.recent, me.logistic)


STAY = 200.0
"""Labels over which the share of those that stayed what they were is a mean."""
FARTHEST = 700.0
"""Log-odds beyond this are as sure as numbers can be: a log loss is 0 there, or a line."""
SMALLEST_ERROR = 1e-300
"""Squared: nothing can be divided by less."""
STEADIEST = 2
"""Which forecast without lags has the longer memory: its last error is told to those with lags."""
WITHOUT = 3
"""Forecasts without lags where these compete: first order, and two experts."""
PRIOR, TOP_PRIOR = 0.3, 0.5
"""Weight of the first-order forecast in the beginning, and of the plain mixture among those that
are corrected.
"""


@inline_ordered
def mean(said: Vector, weights: Vector, first: int, last: int) -> float:
    """Of the forecasts from one place to another, by their weights."""
    total, share = 0.0, 0.0
    for i in range(first, last):
        total += weights[i] * said[i]
        share += weights[i]
    return total / share


@inline_ordered
def put_side(sides: Matrix, j: int, value: float) -> None:
    """One number, for every lane."""
    sides[j, 0] = sides[j, 1] = sides[j, 2] = sides[j, 3] = value


@inline_ordered
def near(value: float, me: Setting, ends: Vector) -> float:
    """A corrected forecast that does not leave the usual range, or what is sure."""
    return min(max(value, -mixing.SURE), mixing.SURE) if me.logistic else mixing.cut(value, ends)


@inline
def prepare(me: Setting, book: Book, desk: Desk) -> None:
    """All weights, and the curves of the row that was put: what does not wait for any forecast,
    while these are made.
    """
    count = count_asked(book, me.logistic)
    mixing.weigh(book.behind, PRIOR, desk.weights)
    mixing.weigh(book.top_behind[:count], TOP_PRIOR, desk.top_weights)
    if count > STRAIGHT:
        put_bends(
            desk.rows, me.width - (book.columns.shape[1] - 1), book.shapes, desk.angles, desk.bent
        )


@inline
def mix(me: Setting, book: Book, lanes: Matrix, desk: Desk, ready: bool) -> float:
    """The mixture of all forecasts, corrected: where the plain mixture leans too far towards a
    side, experts learn by how much.

    The plain mixture and the corrected ones are left in ``desk.top``.
    """
    everybody, count = len(book.behind), count_asked(book, me.logistic)
    plain = mean(desk.said, desk.weights, 0, everybody)
    sides, width = desk.sides, 1
    put_side(sides, 0, desk.said[0] - plain)
    if me.compete:
        put_side(sides, 1, mean(desk.said, desk.weights, 0, WITHOUT) - plain)
        put_side(sides, 2, mean(desk.said, desk.weights, WITHOUT, everybody) - plain)
        width = 3
    if me.logistic:
        put_side(sides, width, 1.0)
        put_side(sides, width + 1, plain)
    group = lanes[newton.group_rows(me.width) :]
    if ready and not rests(book, count):
        newton.ask(group, sides, me.corrections, desk.side_leaned, desk.side_notes)
    else:
        newton.score(group, sides, me.corrections, desk.side_notes)
    desk.top[0] = plain
    for k in range(LANES):
        desk.top[1 + k] = near(plain + desk.side_notes[SCORE, k], me, book.ends)
    if count > STRAIGHT:
        bend(me, book, lanes, desk, plain, ready and not rests(book, count))
    return mean(desk.top, desk.top_weights, 0, count)


@inline
def bend(me: Setting, book: Book, lanes: Matrix, desk: Desk, plain: float, ready: bool) -> None:
    """Let experts correct a mixture along the curves of a row; left in ``desk.top``."""
    group, width = (
        lanes[newton.group_rows(me.width) + newton.group_rows(me.corrections) :],
        1 + me.bends,
    )
    if ready:
        newton.ask(group, desk.bent, width, desk.bent_leaned, desk.bent_notes)
    else:
        newton.score(group, desk.bent, width, desk.bent_notes)
    for k in range(LANES):
        desk.top[STRAIGHT + k] = near(plain + desk.bent_notes[SCORE, k], me, book.ends)


@inline
def learn(
    me: Setting,
    book: Book,
    lanes: Matrix,
    desk: Desk,
    target: float,
    weight: float,
    plain: float,
    judged: int,
) -> None:
    """Judge all forecasts of a round by its target, so many of the top, and let the experts
    learn.
    """
    group, count = lanes[newton.group_rows(me.width) :], count_asked(book, me.logistic)
    correct = not rests(book, count)
    curve = correct and count > STRAIGHT
    bending = group[newton.group_rows(me.corrections) :]
    before = mixing.leader(book.top_behind[:STRAIGHT])
    if me.logistic:
        mixing.judge_labels(book.behind, desk.said, target, weight)
        mixing.judge_labels(book.top_behind[:judged], desk.top, target, weight)
        newton.miss_labels(target, weight, 0.0, desk.notes)
        if correct:
            newton.miss_labels(target, weight, plain, desk.side_notes)
        if curve:
            newton.miss_labels(target, weight, plain, desk.bent_notes)
    else:
        cut_at = mixing.Cut(mixing.MEMORY, mixing.WILDEST, book.ends[1] - book.ends[0])
        mixing.judge_numbers(book.behind, book.sums, desk.said, target, weight, cut_at)
        mixing.judge_numbers(
            book.top_behind[:judged], book.top_sums, desk.top, target, weight, cut_at
        )
        newton.miss_numbers(lanes, me.width, target, weight, desk.notes)
        # In units of the usual error, so that the ridge means the same whatever that is.
        usual = max(mixing.least(book.sums, len(book.behind)), SMALLEST_ERROR)
        if correct:
            newton.miss_numbers(
                group, me.corrections, target - plain, weight / usual, desk.side_notes
            )
        if curve:
            newton.miss_numbers(bending, 1 + me.bends, target - plain, weight, desk.bent_notes)
    if judged < len(book.top_behind):
        mixing.keep_distance(book.top_behind, judged, before)
    newton.learn(lanes, me.width, desk.leaned, desk.gain, desk.notes)
    if correct:
        newton.learn(group, me.corrections, desk.side_leaned, desk.gain, desk.side_notes)
    if curve:
        newton.learn(bending, 1 + me.bends, desk.bent_leaned, desk.gain, desk.bent_notes)


@inline_ordered
def remember(me: Setting, book: Book, target: float, before: float, without: float) -> None:
    """The target of a round that is over, the last one known when it was forecast, and what the
    steadiest without lags said.
    """
    known, recent = book.known, book.recent
    if me.logistic:
        now = 2.0 * target - 1.0
        if known[KNOWN.active] > 0.0:
            known[KNOWN.stay] += ((1.0 if now == before else 0.0) - known[KNOWN.stay]) / STAY
    else:
        now = target
        mixing.follow_range(book.ends, target)
    for j in range(max(me.lags, 1) - 1, 0, -1):
        recent[j] = recent[j - 1]
    recent[0] = now
    if me.compete and len(recent) > me.lags:
        recent[me.lags] = target - (1.0 / (1.0 + power_of_e(-without)) if me.logistic else without)
    known[KNOWN.active] += 1.0


@inline_ordered
def worse(mixed: float, one: float, target: float, threshold: float, logistic: bool) -> float:
    """Loss of one forecast less that of another, as the first-order learner counts them:
    logistic, or Huber's.
    """
    if logistic:
        sign = 1.0 if target > 0.5 else -1.0
        losses = far_log_loss(pack(sign * mixed, sign * one, 0.0, 0.0))
        return extract(losses, 0) - extract(losses, 1)
    return huber(target - mixed, threshold) - huber(target - one, threshold)


@inline_ordered
def far_log_loss(right: Any) -> Any:
    """ln(1 + e^-s) of any s: a line where it is as good as one."""
    near = within(right, FARTHEST)
    return log_loss(near) + select(near, right, near - right, 0.0)


@inline_ordered
def huber(miss: float, threshold: float) -> float:
    """Half the square of a miss; a line beyond the threshold."""
    off = abs(miss)
    return 0.5 * off * off if off <= threshold else threshold * (off - 0.5 * threshold)


@kernel
def learn_rows(
    raw: Matrix,
    middles: Matrix,
    targets: Vector,
    weights: Vector,
    first: Vector,
    plan: Matrix,
    asked: Matrix,
    setting: Vector,
    numbers: Vector,
    lanes: Matrix,
    scratch: Matrix,
    slate: Vector,
    answer: Vector,
) -> None:
    """Mix the first-order forecasts of rows, each before it is learned, with those of second-order
    experts.

    ``middles`` holds where each column lies before each row, for entries that are missing, and has
    no rows where none is; ``plan`` holds weight and threshold of each row's loss, shape ``(T, 2)``;
    ``answer`` may be ``first``. Of rows that were asked earlier ``asked`` holds what was noted then
    (see ``asking.note``); it has no rows where none was.
    """
    me, book, desk = (
        setting_of(setting),
        book_of(numbers, setting, count_forecasts(setting[SETTING.compete])),
        desk_of(scratch, slate, setting),
    )
    columns, last = book.columns, book.columns.shape[1] - 1
    for t in range(len(targets)):
        one = first[t]
        if me.logistic or columns[SPREAD, last] > 0.0:
            center, spread = (
                (0.0, 1.0) if me.logistic else (columns[CENTER, last], columns[SPREAD, last])
            )
            target = (
                targets[t]
                if me.logistic
                else mixing.tamed((targets[t] - center) / spread, book.ends)
            )
            weight, late = (
                weights[t] if len(weights) > 0 else 1.0,
                len(asked) > 0 and asked[t, 0] > 0.0,
            )
            if late:
                exchange(book.recent, asked[t])
            put_row(me, book, raw[t], middles[t] if len(middles) > 0 else raw[t, :0], desk.rows)
            prepare(me, book, desk)
            forecast(me, book, lanes, desk, (one - center) / spread, True)
            before = book.recent[0]
            if late:
                recall(desk.said, asked[t, 1 + len(book.recent) :], len(desk.said))
                exchange(book.recent, asked[t])
            mixed = mix(me, book, lanes, desk, True) * spread + center
            plain, judged = desk.top[0], count_asked(book, me.logistic)
            if late:
                judged = min(judged, int(asked[t, 0]))
                recall(desk.top, asked[t, 1 + len(book.recent) + len(desk.said) :], judged)
            if book.known[KNOWN.active] == 0.0:
                mixed = one  # the others know nothing yet
            more = worse(mixed, one, targets[t], plan[t, 1], me.logistic)
            book.known[KNOWN.gain] += plan[t, 0] * more
            answer[t] = mixed
            learn(me, book, lanes, desk, target, weight, plain, judged)
            remember(me, book, target, before, desk.said[STEADIEST])
        else:
            answer[t] = one
            follow_column(columns, last, targets[t], me.intercept)
        for j in range(last):
            follow_column(columns, j, raw[t, j], me.intercept)
        book.known[KNOWN.rounds] += 1.0


@inline_ordered
def exchange(recent: Vector, note: Vector) -> None:
    """Let the last targets, and those that were the last when a row was asked, change places."""
    for j in range(len(recent)):
        recent[j], note[1 + j] = note[1 + j], recent[j]


@inline_ordered
def recall(forecasts: Vector, noted: Vector, count: int) -> None:
    """Put what was said when a row was asked in place of so many forecasts of now."""
    for i in range(count):
        forecasts[i] = noted[i]


@inline
def without_lags(me: Setting, book: Book, lanes: Matrix, desk: Desk) -> float:
    """The mixture of all who do without the last targets, corrected along curves."""
    plain = mean(desk.said, desk.weights, 0, WITHOUT)
    count = count_asked(book, me.logistic)
    if count == STRAIGHT:
        return plain
    bend(me, book, lanes, desk, plain, False)
    total, share = desk.top_weights[0] * plain, desk.top_weights[0]
    for i in range(STRAIGHT, count):
        total += desk.top_weights[i] * desk.top[i]
        share += desk.top_weights[i]
    return float(total / share)


@inline
def note(book: Book, desk: Desk, count: int, noted: Vector) -> None:
    """Store what learning and scoring a row need when its target arrives.

    These are the number of corrected forecasts, the last targets, and the forecasts made for the
    row: of all experts, then of the mixture, plain and corrected.
    """
    place = 1
    noted[0] = count
    for j in range(len(book.recent)):
        noted[place + j] = book.recent[j]
    place += len(book.recent)
    for i in range(len(desk.said)):
        noted[place + i] = desk.said[i]
    place += len(desk.said)
    for i in range(count):
        noted[place + i] = desk.top[i]


@kernel
def predict_rows(
    raw: Matrix,
    middles: Matrix,
    first: Vector,
    following: int,
    setting: Vector,
    numbers: Vector,
    lanes: Matrix,
    scratch: Matrix,
    slate: Vector,
    notes: Matrix,
    answer: Vector,
) -> None:
    """The mixture for rows that are not learned, or not yet.

    So many of them follow the last one learned; of the others the last targets are not known, and
    where experts with and without lags compete, those without answer alone. ``notes`` has shape
    ``(T, n)`` and takes what has to be kept of rows that follow the last one (see :func:`note`;
    only zeros where nothing is known); n is 0 where nothing is to be kept.
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
        notes[t] = 0.0
        if (me.logistic or columns[SPREAD, last] > 0.0) and book.known[KNOWN.active] > 0.0:
            center, spread = (
                (0.0, 1.0) if me.logistic else (columns[CENTER, last], columns[SPREAD, last])
            )
            put_row(me, book, raw[t], middles[t] if len(middles) > 0 else raw[t, :0], desk.rows)
            prepare(me, book, desk)
            forecast(me, book, lanes, desk, (first[t] - center) / spread, False)
            if t < following or not me.compete:
                mixed = mix(me, book, lanes, desk, False)
                if notes.shape[1] > 0:
                    note(book, desk, count_asked(book, me.logistic), notes[t])
            else:
                mixed = without_lags(me, book, lanes, desk)
            answer[t] = mixed * spread + center
