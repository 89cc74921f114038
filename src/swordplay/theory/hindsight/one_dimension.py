r"""Best comparator sequence in one coordinate, with moves penalised, by halving intervals.

The result is exact up to rounding. Whether the best comparator of a round lies above a number
depends only on the slopes of the losses at that number. To decide it for all rounds is to find a
minimum cut of the chain of rounds, which takes two passes over the rounds. Cuts at different
numbers are nested, so that the rounds above a number and those below it are separate problems. One
pair of passes halves the intervals of all problems. About as many pairs as a double has binary
digits are needed, for any convex losses.

References
----------
Hochbaum (2001), "An efficient algorithm for image segmentation, Markov random fields and related
problems"; Johnson (2013), "A dynamic programming algorithm for the fused lasso", for the messages
of the first pass.
"""

from __future__ import annotations

import numpy as np

from swordplay.theory.hindsight.duality import Progress, Solution, solution_of_points
from swordplay.theory.hindsight.losses_in_domain import DomainCoordinates, Losses

HALVINGS = 56
"""Halvings of the domain: after 53, the middle of an interval of doubles is one of its ends."""


def solve(
    losses: Losses,
    coordinates: DomainCoordinates,
    penalty: float,
    progress: Progress | None = None,
) -> Solution:
    """Minimise the losses plus λ times the path length; the gap of the result is certified.

    Parameters
    ----------
    losses, coordinates
        The losses and the domain, of one coordinate.
    penalty
        λ > 0.
    progress
        Called after each halving.
    """
    # Imported here, so that importing the package does not import numba.
    from swordplay.theory.hindsight import kernels

    T, direction = len(losses.features), np.ones((1, 1))
    low = np.full(T, -float(coordinates.support(-direction)[0]))
    high = np.full(T, float(coordinates.support(direction)[0]))
    for halving in range(1, HALVINGS + 1):
        slopes = losses.gradients((0.5 * (low + high))[:, None])[:, 0]
        kernels.halve_intervals(slopes, penalty, low, high)
        if progress is not None:
            progress(halving, HALVINGS, "halvings")
    points = (0.5 * (low + high))[:, None]
    gradients, duals = losses.gradients(points), np.empty((T - 1, 1))
    kernels.duals_of_points(gradients[:, 0], points[:, 0], penalty, duals[:, 0])
    return solution_of_points(losses, coordinates, penalty, points, duals)
