"""The shape of an interval: where the residual is likely to lie, and how far from there, told by
the row's columns.

Residual r = target - prediction. A row of the shape is a = (1, last residual, usual sizes of late,
last target - prediction, its size, prediction, columns): residuals, sizes and differences in usual
sizes u, the prediction and the columns scaled as in ``engine.column_stats``. The last target lets
the experts find what forecasters that do not look at it have missed. For location and spread
alike, experts (w, eta) go a share eta of the way to what was seen,

    w <- w + eta (seen - <w, a>) a / norm(a)^2,

with ``STEPS`` step sizes for each of ``SETS`` choices of columns, and a Hedge that forgets weighs
them by their squared errors, in units of the usual size times the spread that was said. Experts
that look at the columns have a number for each bin of each column besides (``intervals.bins``): in
a, a 1 for the bin in which the row lies. What is seen is the residual for the location, and its
distance from the location that was said for the spread. As many experts again as there are step
sizes expect nothing: a location of 0, a spread of u. Where nothing moves and no column tells
anything, whatever the others learn is noise, which makes intervals wider than they have to be.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import expert_loop, inline, inline_exact, unrolled_loop
from swordplay.core.types import Matrix, Vector
from swordplay.intervals import bins
from swordplay.intervals.hedge import dot, halved, least, summed, weigh
from swordplay.intervals.layout import (
    FALL,
    FEW,
    FLOOR,
    LARGEST,
    LARGEST_LOSS,
    LARGEST_RATIO,
    LAST,
    LATE,
    LATELY,
    MEMORY,
    NEWEST,
    OUTLIER,
    OWN,
    PACE,
    PACES,
    ROWS,
    SETS,
    SHARPNESS,
    STEPS,
    TINY,
    TRUTH,
    TYPICAL,
)


@inline
def own_columns(prediction: float, live: Vector, row: Vector) -> None:
    """The columns made of past residuals and of the last truth, in front of the row of the
    shape.
    """
    unit = live[TYPICAL]
    row[0] = 1.0
    if not unit > TINY:
        row[1] = row[2] = row[3] = row[4] = row[5] = 0.0
        return
    row[1] = min(max(live[LAST] / unit, -LARGEST_RATIO), LARGEST_RATIO)
    for k in range(len(PACES)):
        row[2 + k] = min(live[LATE + k] / unit, LARGEST_RATIO) - 1.0
    row[4] = min(max((live[TRUTH] - prediction) / unit, -LARGEST_RATIO), LARGEST_RATIO)
    row[5] = abs(row[4]) - 1.0


@inline
def columns_of(which: int, width: int) -> int:
    """How many columns a kind of experts looks at."""
    return 1 if which == 0 else OWN if which == 1 else width


@unrolled_loop
def dots(weights: Any, row: Vector, columns: int, answers: Vector) -> None:
    """<w, a> for the experts of one kind, which look at the first columns only."""
    for k in range(STEPS):
        answers[k] = 0.0
    for j in range(columns):
        for k in range(STEPS):
            answers[k] += weights[j, k] * row[j]


@unrolled_loop
def moves(
    weights: Any, row: Vector, columns: int, seen: float, norm: float, answers: Vector
) -> None:
    """w <- w + eta (seen - <w, a>) a / norm(a)^2, with eta = 1/2, 1/4, ....

    ``answers`` become the factors of a.
    """
    for k in range(STEPS):
        answers[k] = halved(k + 1) * ((seen - answers[k]) / norm)
    for j in range(columns):
        for k in range(STEPS):
            weights[j, k] += answers[k] * row[j]


@inline
def mixed(losses: Matrix, answers: Matrix, shares: Vector) -> float:
    """Mean of the experts' answers, weighted by exp(-SHARPNESS loss); ``shares`` is scratch."""
    lowest = math.inf
    for i in range(len(losses)):
        lowest = min(lowest, least(losses[i]))
    total = value = 0.0
    for i in range(len(losses)):
        weigh(losses[i], lowest, SHARPNESS, shares)
        total += summed(shares)
        value += dot(shares, answers[i])
    return value / total


@inline
def guess(
    weights: Any,
    steps: Any,
    losses: Matrix,
    still: float,
    row: Vector,
    places: Vector,
    answers: Matrix,
    shares: Vector,
) -> float:
    """What the experts of location, or of spread, say together; ``answers`` keeps what each says.

    ``still`` is the forecast of the experts that expect nothing.
    """
    for i in range(SETS):
        dots(weights[i], row, columns_of(i, len(row)), answers[i])
    bins.add(steps, places, answers[SETS - 1])
    answers[SETS] = still
    return mixed(losses, answers, shares)


@expert_loop
def pay(losses: Vector, answers: Vector, seen: float, unit: float) -> None:
    """Add the squared errors, in usual sizes, to losses that fade."""
    for k in range(len(losses)):
        off = (seen - answers[k]) / unit
        losses[k] = (1.0 - 1.0 / MEMORY) * losses[k] + min(off * off, LARGEST_LOSS)


@inline_exact
def squares(row: Vector, first: int, stop: int) -> float:
    """Sum of squares of some columns, in their order: columns of 0 that join change no bit of
    it.
    """
    answer = 0.0
    for j in range(first, stop):
        answer += row[j] * row[j]
    return answer


@inline
def learn(
    weights: Any, steps: Any, losses: Matrix, row: Vector, places: Vector, seen: float, unit: float, own: float, others: float,  # noqa: E501
    answers: Matrix,
) -> None:  # fmt: skip
    """Let every expert lose what it was off by, and move.

    ``own`` and ``others`` are squared norms of parts of the row.
    """
    for i in range(SETS):
        pay(losses[i], answers[i], seen, unit)
        norm = 1.0 if i == 0 else own if i == 1 else own + others
        moves(weights[i], row, columns_of(i, len(row)), seen, norm, answers[i])
    bins.move(steps, places, answers[SETS - 1])
    pay(losses[SETS], answers[SETS], seen, unit)


@inline
def begin(spreads: Any, live: Vector) -> None:
    """Let the experts of spread begin at the usual size, which has just become known."""
    for i in range(SETS):
        for k in range(STEPS):
            spreads[i, 0, k] = live[TYPICAL]


@inline
def floored(spread: float, live: Vector) -> float:
    """A spread that is not too small."""
    return float(max(spread, FLOOR * live[TYPICAL]))


@inline_exact
def middle_of_newest(live: Vector, count: int) -> float:
    """Lower median of the first ``count`` of the newest sizes."""
    answer = 0.0
    for i in range(count):
        below = same = 0
        for j in range(count):
            below += 1 if live[NEWEST + j] < live[NEWEST + i] else 0
            same += 1 if live[NEWEST + j] == live[NEWEST + i] else 0
        if below <= (count - 1) // 2 < below + same:
            answer = float(live[NEWEST + i])
    return answer


@inline_exact
def middle_of_five(live: Vector) -> float:
    """The same of all of the newest sizes, without a branch: of two pairs, the smallest and the
    largest are not the middle.
    """
    a, b, c, d, e = (
        live[NEWEST],
        live[NEWEST + 1],
        live[NEWEST + 2],
        live[NEWEST + 3],
        live[NEWEST + 4],
    )
    low, high = max(min(a, b), min(c, d)), min(max(a, b), max(c, d))
    return float(max(min(low, high), min(max(low, high), e)))


@inline
def clipped(residual: float, live: Vector) -> float:
    """A residual, clipped at ``OUTLIER`` usual ones or ``LATELY`` of the last few.

    It may be as large as the one before: one alone is an outlier, two in a row are no accident.
    """
    if not live[TYPICAL] > TINY:  # all were 0 so far
        return residual
    most = max(OUTLIER * live[TYPICAL], LATELY * middle_of_five(live))
    most = max(most, live[NEWEST + (int(live[ROWS]) - 1) % FEW])
    return float(min(max(residual, -most), most))


@inline
def remember(residual: float, live: Vector) -> None:
    """Put a residual among the newest; the first few are measured by their median."""
    rows = int(live[ROWS])
    live[NEWEST + rows % FEW] = abs(residual)
    if rows < FEW:
        usual = middle_of_newest(live, rows + 1)
        live[TYPICAL] = usual
        for k in range(len(PACES)):
            live[LATE + k] = usual
        live[LAST] = min(max(residual, -OUTLIER * usual), OUTLIER * usual)
        live[LARGEST] = OUTLIER * usual
    else:
        live[LARGEST] = max(abs(residual), (1.0 - 1.0 / MEMORY) * live[LARGEST])


@inline
def follow(residual: float, live: Vector) -> None:
    """Let the usual sizes follow a clipped residual.

    One of 0 tells nothing about how large others will be.
    """
    live[LAST] = residual
    size = abs(residual)
    if not size > TINY:
        return
    if not live[TYPICAL] > TINY:  # all were 0 so far
        live[TYPICAL] = size
        for k in range(len(PACES)):
            live[LATE + k] = size
        return
    live[TYPICAL] += max(1.0 / (live[ROWS] + 1.0), PACE) * (size - live[TYPICAL])
    for k in range(len(PACES)):
        live[LATE + k] += PACES[k] * (size - live[LATE + k])
    live[TYPICAL] = min(live[TYPICAL], FALL * live[LATE + 1])
