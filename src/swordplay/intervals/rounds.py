"""The kernel: intervals for rows, each said before its row is learned.

One kernel does everything, so that a row gets the same bits whether it comes alone or among others,
and whether its interval is asked for before or while it is learned.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import inline, kernel, uncompiled
from swordplay.core.types import Matrix, Vector
from swordplay.engine.column_stats import follow_row, scale_row
from swordplay.intervals import bins, integrator, scale, shape
from swordplay.intervals.integrator import POINT
from swordplay.intervals.layout import (
    FEW,
    GIVE,
    LARGEST,
    LARGEST_RATIO,
    LEARN,
    OWN,
    REACH,
    ROWS,
    SCORE,
    TINY,
    TRUTH,
    TYPICAL,
)

CLIP = LARGEST_RATIO
"""Of the scaled columns."""


@inline
def say(
    prediction: float, location: float, spread: float, alphas: Vector, live: Vector, radii: Matrix, debts: Matrix,  # noqa: E501
    balances: Vector, shares: Vector, bounds: Any,
) -> None:  # fmt: skip
    """The interval of each level, from the narrowest to the widest: each holds the one before
    it.
    """
    widest = POINT
    for i in range(len(alphas)):
        quantile = scale.quantile(alphas[i], radii[i], debts[i], shares)
        widest = max(widest, integrator.radius(alphas[i], quantile, balances[i], live))
        if widest == math.inf:
            bounds[i, 0], bounds[i, 1] = -math.inf, math.inf
        elif widest == POINT:
            bounds[i, 0] = bounds[i, 1] = prediction
        else:
            half = min(widest * spread, REACH * live[LARGEST])
            middle = prediction + integrator.nearer(location, alphas[i], balances[i], live)
            bounds[i, 0], bounds[i, 1] = (
                min(prediction, middle - half),
                max(prediction, middle + half),
            )
            if i > 0:
                bounds[i, 0], bounds[i, 1] = (
                    min(bounds[i - 1, 0], bounds[i, 0]),
                    max(bounds[i - 1, 1], bounds[i, 1]),
                )


@inline
def settle(target: float, alphas: Vector, balances: Vector, bounds: Any) -> None:
    """Count the misses."""
    for i in range(len(alphas)):
        missed = target < bounds[i, 0] or target > bounds[i, 1]
        balances[i] = integrator.settled(alphas[i], balances[i], missed)


@inline
def learn(
    residual: float, location: float, spread: float, alphas: Vector, live: Vector, places: Any, spreads: Any, steps: Any,  # noqa: E501
    losses: Any, radii: Matrix, debts: Matrix, row: Vector, where: Vector, inside: float, answers: Any,  # noqa: E501
) -> None:  # fmt: skip
    """Let scale and shape learn from a residual; the first few are only looked at."""
    first = live[ROWS] < FEW
    begun = not first and live[TYPICAL] > TINY
    shape.remember(residual, live)
    if not first:
        seen = shape.clipped(residual, live)
        unit = live[TYPICAL]
        score = scale.score_of(seen - location, spread)
        usual = live[SCORE]
        if usual > 0.0:
            score = scale.clipped_score(score, usual)
            for i in range(len(alphas)):
                scale.pursue(alphas[i], score, usual, radii[i], debts[i])
            scale.follow_score(score, live)
        if unit > TINY:
            own, others = shape.squares(row, 0, OWN), shape.squares(row, OWN, len(row)) + inside
            unit = math.sqrt(unit * spread)
            shape.learn(
                places, steps[0], losses[0], row, where, seen, unit, own, others, answers[0]
            )
            shape.learn(
                spreads,
                steps[1],
                losses[1],
                row,
                where,
                abs(seen - location),
                unit,
                own,
                others,
                answers[1],
            )
        shape.follow(seen, live)
    live[ROWS] += 1.0
    if not begun and live[ROWS] >= FEW and live[TYPICAL] > TINY:
        shape.begin(spreads, live)
        scale.begin(alphas, radii, live)


@kernel
def play(
    mode: int,
    alphas: Vector,
    live: Vector,
    places: Any,
    spreads: Any,
    steps: Any,
    losses: Any,
    radii: Matrix,
    debts: Matrix,
    balances: Vector,
    column_centers: Vector,
    column_spreads: Vector,
    column_counts: Vector,
    column_first: Matrix,
    columns: Matrix,
    predictions: Vector,
    targets: Vector,
    scratch: Vector,
    answers: Any,
    bounds: Any,
) -> None:
    """Go through rows in their order: say intervals, learn, or both (``GIVE``, ``LEARN``, ``BOTH``
    of the layout).

    ``columns`` has shape ``(T, d)``, ``bounds`` ``(T, levels, 2)``; ``steps`` are the bins;
    ``scratch`` ``(OWN + 2 d,)`` and ``answers`` ``(3, SETS + 1, STEPS)`` are scratch. With ``GIVE``
    the targets are not looked at and nothing else changes; with ``LEARN`` the bounds are those that
    were given.
    """
    shares = answers[2, 0]
    width = OWN + columns.shape[1]
    row, where = scratch[:width], scratch[width:]
    for t in range(len(predictions)):
        forecast = predictions[t : t + 1]
        shape.own_columns(predictions[t], live, row)
        scale_row(forecast, column_centers[:1], column_spreads[:1], CLIP, row[OWN - 1 : OWN])
        scale_row(columns[t], column_centers[1:], column_spreads[1:], CLIP, row[OWN:])
        inside = bins.find(row[OWN:], steps.shape[2], where)
        location = shape.guess(places, steps[0], losses[0], 0.0, row, where, answers[0], shares)
        wide = shape.guess(
            spreads, steps[1], losses[1], live[TYPICAL], row, where, answers[1], shares
        )
        spread = shape.floored(wide, live)
        if mode != LEARN:
            say(
                predictions[t],
                location,
                spread,
                alphas,
                live,
                radii,
                debts,
                balances,
                shares,
                bounds[t],
            )
        if mode != GIVE:
            settle(targets[t], alphas, balances, bounds[t])
            residual = targets[t] - predictions[t]
            learn(
                residual, location, spread, alphas, live, places, spreads, steps, losses, radii, debts, row, where, inside,  # noqa: E501
                answers,
            )  # fmt: skip
            live[TRUTH] = targets[t]
            follow_row(
                forecast,
                column_centers[:1],
                column_spreads[:1],
                column_counts[:1],
                column_first[:, :1],
                CLIP,
            )
            follow_row(
                columns[t],
                column_centers[1:],
                column_spreads[1:],
                column_counts[1:],
                column_first[:, 1:],
                CLIP,
            )


play_within = inline(uncompiled(play))
"""The same, for other kernels: a kernel cannot call another one, of which only machine code is
kept.
"""
