"""What everybody says of a row: it is scaled once and for all, for every lane, and all forecasts
of it are made.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from swordplay.compile import inline, inline_exact, unrolled_loop
from swordplay.core.types import Matrix, Vector
from swordplay.engine.curved import mixing, newton
from swordplay.engine.curved.layout import CENTER, KNOWN, SETTING, SPREAD, Book, Desk
from swordplay.engine.curved.newton import LANES, LEVERAGE, SCORE

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


@inline_exact
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


@inline_exact
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
