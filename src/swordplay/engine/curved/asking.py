"""Rows that are not learned, or not yet: what the second-order layer says of them, and what it
has to keep.
"""

from __future__ import annotations

from swordplay.compile import inline, kernel
from swordplay.core.types import Matrix, Vector
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
from swordplay.engine.curved.rounds import WITHOUT, bend, mean, mix, prepare
from swordplay.engine.curved.saying import Setting, forecast, put_row, setting_of


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
    """What has to be known of a row once its target is there: how many corrected forecasts there
    are, last targets, forecasts.

    Those of all, then those of the mixture, plain and corrected: everybody is judged by what he
    said.
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
