"""Rows that are not learned, or not yet: what the second-order layer says of them, and what it has to keep."""

from __future__ import annotations

from swordplay.base.compiling import kernel, part
from swordplay.base.types import Matrix, Vector
from swordplay.engine.curved import mixing
from swordplay.engine.curved.bends import count_asked
from swordplay.engine.curved.layout import (
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
from swordplay.engine.curved.rounds import PRIOR, TOP_PRIOR, WITHOUT, bend, mean, mix
from swordplay.engine.curved.saying import Setting, forecast, put_row, setting_of


@part
def without_lags(me: Setting, book: Book, lanes: Matrix, desk: Desk) -> float:
    """The mixture of all who do without the last targets, corrected along curves."""
    plain = mean(desk.said, desk.weights, 0, WITHOUT)
    count = count_asked(book, me.logistic)
    if count == STRAIGHT:
        return plain
    bend(me, book, lanes, desk, plain, False)
    mixing.weigh(book.top_behind[:count], TOP_PRIOR, desk.top_weights)
    total, share = desk.top_weights[0] * plain, desk.top_weights[0]
    for i in range(STRAIGHT, count):
        total += desk.top_weights[i] * desk.top[i]
        share += desk.top_weights[i]
    return float(total / share)


@kernel
def note_rows(
    raw: Matrix,
    middles: Matrix,
    first: Vector,
    setting: Vector,
    numbers: Vector,
    lanes: Matrix,
    scratch: Matrix,
    slate: Vector,
    notes: Matrix,
) -> None:
    """What has to be known of rows once their targets are there: 1 if anything is known, the last targets, forecasts."""
    me, book, desk = (
        setting_of(setting),
        book_of(numbers, setting, count_forecasts(setting[SETTING.compete])),
        desk_of(scratch, slate, setting),
    )
    columns, recent = book.columns, book.recent
    last = columns.shape[1] - 1
    for t in range(len(raw)):
        notes[t] = 0.0
        if (me.logistic or columns[SPREAD, last] > 0.0) and book.known[KNOWN.active] > 0.0:
            center, spread = (0.0, 1.0) if me.logistic else (columns[CENTER, last], columns[SPREAD, last])
            put_row(me, book, raw[t], middles[t] if len(middles) > 0 else raw[t, :0], desk.rows)
            forecast(me, book, lanes, desk, (first[t] - center) / spread, False)
            notes[t, 0] = 1.0
            for j in range(len(recent)):
                notes[t, 1 + j] = recent[j]
            for i in range(len(desk.said)):
                notes[t, 1 + len(recent) + i] = desk.said[i]


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
            put_row(me, book, raw[t], middles[t] if len(middles) > 0 else raw[t, :0], desk.rows)
            forecast(me, book, lanes, desk, (first[t] - center) / spread, False)
            if t < following or not me.compete:
                mixed = mix(me, book, lanes, desk, False)
            else:
                mixing.weigh(book.behind, PRIOR, desk.weights)
                mixed = without_lags(me, book, lanes, desk)
            answer[t] = mixed * spread + center
