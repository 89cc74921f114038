"""What perfect tracking would have been worth: a run beside the best sequences of hindsight, of
every path length.

The best sequences cost a time that grows with the cube of the number of columns. So the cost is
reckoned beforehand, fewer rows are looked at where there are many columns, none where there are too
many, and a clock has the last word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swordplay.comparison.estimator import estimator
from swordplay.comparison.field import FEWEST_ROWS, Contest
from swordplay.core import arguments
from swordplay.core.types import Vector
from swordplay.parts.learners import Sword
from swordplay.theory import hindsight
from swordplay.theory.game import play
from swordplay.theory.hindsight import Progress
from swordplay.theory.ledger import RegretCurve

ROWS = 3000
"""At the most, from the beginning of the stream, where the certificate starts;"""
FEWEST = 300
"""and at the least, where there are as many: fewer say little about a stream."""
SECONDS = 10.0
"""That it may take."""
PLANNED = 0.5
"""Share of these seconds that is planned with: a busy machine is slower than the one where the
cost was measured.
"""
PATHS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
"""Path lengths that are looked at."""
TOLERANCE = 1e-5
"""Of the frontier; a picture shows no more."""
POINTS = 10
STEPS = 90
"""Interior-point steps for as many points, about."""
COST = (8e-6, 5e-8, 1.3e-9)
"""Seconds of such a step for each row, measured: always, times the square, and times the cube of
the number of coefficients.
"""


class Perspective(NamedTuple):
    """The regret on the first rows of a table, against the best sequence in hindsight of each path
    length.

    Made by :func:`perspective` for ``swordplay compare``, and drawn in its report.
    """

    rows: int
    """How many were looked at."""
    of: int
    """How many there are."""
    curve: RegretCurve
    """Of ``sp.Sword``, which vouches for itself."""
    total: float
    """All that ``sp.Sword`` lost: a certificate larger than this says nothing."""
    name: str
    """Of the estimator that ``swordplay track`` runs."""
    estimator: Vector
    """Its regrets at the same path lengths, in the same losses, shape ``(K,)``."""


class LeftOut(NamedTuple):
    """There is no such view."""

    why: str
    """A clause for people, to stand behind "because"."""


def predicted(rows: int, width: int) -> float:
    """About how many seconds the best sequences of all path lengths take.

    Parameters
    ----------
    rows
        How many are looked at.
    width
        Number of coefficients.
    """
    always, square, cube = COST
    return STEPS * rows * (always + square * width**2 + cube * width**3)


def affordable(rows: int, width: int, seconds: float) -> int:
    """How many of the rows can be looked at in that time.

    0 where they would be too few to tell anything.
    """
    fewest = min(rows, FEWEST)
    if predicted(fewest, width) > seconds:
        return 0
    return min(rows, ROWS, max(fewest, int(PLANNED * seconds / predicted(1, width))))


def perspective(
    game: Contest, *, rows: int = ROWS, seconds: float = SECONDS, progress: Progress | None = None
) -> Perspective | LeftOut:
    """Regret against the best comparators of every path length, or why there is none.

    Parameters
    ----------
    game
        The game.
    rows
        How many to look at at the most, from the beginning.
    seconds
        How long it may take. With many columns fewer rows are looked at, or none.
    progress
        See ``hindsight.frontier``.
    """
    seconds = arguments.positive("seconds", seconds)
    if len(game.streams) > 1:
        return LeftOut(
            "it is made for one stream of losses, and of several classes each has its own"
        )
    width = game.domain.dim
    most = min(len(game.rows), arguments.integer("rows", rows))
    count = affordable(most, width, seconds)
    if not count:
        fewest = min(most, FEWEST)
        long = predicted(fewest, width)
        return LeftOut(
            f"with {width - 1:,} columns of numbers it would take about {long:,.0f} seconds for "
            f"{fewest:,} rows alone, and {seconds:g} are allowed"
        )
    head = game.head(count)
    learner = Sword(head.domain)
    ledger = play(learner, head.streams[0])
    try:
        _prepare(head)
        curve = ledger.regret_curve(
            learner,
            path_lengths=PATHS,
            points=POINTS,
            tolerance=TOLERANCE,
            seconds=seconds,
            progress=progress,
        )
    except hindsight.OutOfTime:
        return LeftOut(f"the {seconds:g} seconds that it may take were over before it was done")
    except RuntimeError as error:
        return LeftOut(f"the best sequences were not found: {error}")
    scores = estimator(head).scores
    assert scores is not None  # the estimator plays the game
    lost = float(head.streams[0].values_of(scores[:, 0]).sum())
    return Perspective(
        len(head.rows),
        len(game.rows),
        curve,
        ledger.total_loss,
        game.estimator,
        np.asarray(curve.regrets + lost - ledger.total_loss),
    )


def _prepare(game: Contest) -> None:
    """Compile, where this is the first time ever, so that the clock sees only the rows."""
    few = game.head(FEWEST_ROWS)
    hindsight.frontier(few.streams[0], few.domain, points=2, tolerance=TOLERANCE)
