r"""The best sequence for a penalty in one coordinate, exactly: all levels by halving.

Whether the best comparator of a round lies above a level is a cut of the chain that only needs the
slopes of the losses at that level, and two passes find it. Cuts of different levels are nested, so
the halves are problems of their own, and the halves of all halves are solved in the same two
passes: as many passes as a double has digits, for any convex losses.

References
----------
Hochbaum (2001), "An efficient algorithm for image segmentation, Markov random fields and related
problems"; Johnson (2013), "A dynamic programming algorithm for the fused lasso", for the messages.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from swordplay.theory.hindsight.duality import Answer, lower_bound, objective
from swordplay.theory.hindsight.losses_in_domain import Frame, Rounds

SWEEPS = 56
"""Halvings of the domain: beyond 53 a double does not change."""


def minimize(
    rounds: Rounds,
    frame: Frame,
    penalty: float,
    progress: Callable[[int, int, str], None] | None = None,
) -> Answer:
    """The best sequence up to rounding, with its gap."""
    from swordplay.theory.hindsight import (
        kernels,  # numba is imported with the first problem, not with the package
    )

    T, axis = len(rounds.features), np.eye(1)
    low, high = (
        np.full(T, -float(frame.support(-axis)[0])),
        np.full(T, float(frame.support(axis)[0])),
    )
    for sweep in range(1, SWEEPS + 1):
        slopes = rounds.gradients((0.5 * (low + high))[:, None])[:, 0]
        kernels.cut(slopes, penalty, low, high)
        if progress is not None:
            progress(sweep, SWEEPS, "levels")
    points = (0.5 * (low + high))[:, None]
    gradients, forces = rounds.gradients(points), np.empty((T - 1, 1))
    kernels.forces_along(gradients[:, 0], points[:, 0], penalty, forces[:, 0])
    intercepts = rounds.values(points) - gradients[:, 0] * points[:, 0]
    bound = lower_bound(frame, gradients, intercepts, forces)
    return Answer(points, objective(rounds, points, penalty), bound, forces)
