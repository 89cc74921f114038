"""Instances 1 and 2 of the paper, in which gradient variation and small losses differ widely.

Both are one-dimensional, on X = [-1, 1], with losses 0.5 (a_t x - b_t)^2. The comparators are the
minimisers over X.

References
----------
Zhao et al. (2020), Instances 1 and 2.
"""

from __future__ import annotations

import numpy as np

from swordplay.core import arguments
from swordplay.parts.domains import Ball
from swordplay.parts.streams.linear import PlantedStream


def gradual(T: int) -> PlantedStream:
    r"""Instance 1, :math:`V_T \ll F_T`: the coefficient a_t falls slowly and crosses zero once.

    :math:`a_t = 1/2 - (t-1)/T`, :math:`b_t = 1`, T odd (an even T is raised by one);
    :math:`V_T \le 4/T`, :math:`F_T = \Theta(T)`, :math:`P_T = 2`.
    """
    T = arguments.integer("T", T)
    T += 1 - T % 2
    t = np.arange(1, T + 1)
    coefficients = 0.5 - (t - 1) / T
    comparators = np.where(t <= (T + 1) // 2, 1.0, -1.0)
    return PlantedStream(
        coefficients[:, None], np.ones(T), domain=Ball(1), comparators=comparators[:, None]
    )


def alternating(T: int) -> PlantedStream:
    r"""Instance 2, :math:`F_T \ll V_T`: two losses with the same minimiser alternate.

    The minimiser changes its sign half-way: (a, b) = (1, 1), (1/2, 1/2) on odd and even rounds,
    with b negated in the second half; T even (an odd T is raised by one); :math:`F_T = 0`,
    :math:`V_T = \Theta(T)`, :math:`P_T = 2`.
    """
    T = arguments.integer("T", T)
    T += T % 2
    t = np.arange(1, T + 1)
    coefficients = np.where(t % 2 == 1, 1.0, 0.5)
    comparators = np.where(t <= T // 2, 1.0, -1.0)
    return PlantedStream(
        coefficients[:, None],
        coefficients * comparators,
        domain=Ball(1),
        comparators=comparators[:, None],
    )
