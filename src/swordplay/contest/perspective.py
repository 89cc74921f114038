"""How much smaller the loss could have been: a run beside the best sequences in hindsight, one for each path length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swordplay.contest.estimator import estimator
from swordplay.contest.field import Field
from swordplay.game import play
from swordplay.learners import Sword
from swordplay.regret.curve import RegretCurve
from swordplay.regret.hindsight.problem import Progress
from swordplay.types import Vector

ROWS = 3000
"""From the beginning of the stream: the certificate starts there, and a frontier of so many rows takes seconds."""
PATHS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
"""Path lengths that are looked at."""
TOLERANCE = 1e-5
"""Of the frontier; a picture shows no more."""
POINTS = 10


class Perspective(NamedTuple):
    """The regret on the first rows of a table, against the best sequence in hindsight of each path length.

    Made by :func:`perspective` for ``swordplay compare``, and drawn in its report.
    """

    rows: int
    """How many were looked at."""
    of: int
    """How many there are."""
    curve: RegretCurve
    """Of ``Sword``, which vouches for itself."""
    name: str
    """Of the estimator that ``swordplay track`` runs."""
    estimator: Vector
    """Its regrets at the same path lengths, in the same losses, shape ``(K,)``."""


def perspective(place: Field, *, rows: int = ROWS, progress: Progress | None = None) -> Perspective | None:
    """Regret against the best comparators of every path length; None where there is a stream for each of several classes.

    Parameters
    ----------
    place
        The game.
    rows
        How many to look at, from the beginning.
    progress
        See ``hindsight.frontier``.
    """
    if len(place.streams) > 1:
        return None
    head = place.head(rows)
    learner = Sword(head.domain)
    ledger = play(learner, head.streams[0])
    curve = ledger.regret_curve(learner, path_lengths=PATHS, points=POINTS, tolerance=TOLERANCE, progress=progress)
    scores = estimator(head).scores
    assert scores is not None  # the estimator plays the game
    lost = float(head.streams[0].values_of(scores[:, 0]).sum())
    return Perspective(
        len(head.rows), len(place.rows), curve, place.estimator, np.asarray(curve.regrets + lost - ledger.total_loss)
    )
