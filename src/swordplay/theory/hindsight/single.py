"""One comparator for all rounds, by the second-order method: for losses so steep or so uneven
that descent stalls.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from swordplay.core.types import Domain, Loss, Vector
from swordplay.theory.hindsight import interior
from swordplay.theory.hindsight.blocks import BlockedRounds
from swordplay.theory.hindsight.problem import Problem

WIDE = 1000
"""Coordinates up to which a Newton step is a matter of seconds."""


def minimize(stream: Iterable[Loss], domain: Domain, tolerance: float) -> Vector | None:
    """The best fixed decision, shape ``(d,)``, or None where this method cannot prove that it is
    within the tolerance.

    Parameters
    ----------
    stream, domain, tolerance
        As in :func:`best_fixed`.
    """
    problem = Problem(stream, domain, tolerance)
    if not problem.frame.whole or not 0 < problem.frame.dim <= WIDE:
        return None
    together = BlockedRounds(problem.rounds, np.zeros(1, dtype=int))
    answer = interior.minimize(together, problem.frame, 1.0, problem.target)
    return (
        np.asarray(problem.frame.outward(answer.points)[0])
        if answer.gap <= problem.target
        else None
    )
