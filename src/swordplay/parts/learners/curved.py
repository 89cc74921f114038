"""Second-order experts alone, with nothing to set."""

from __future__ import annotations

import math
from typing import final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Domain, GameConstants, Vector
from swordplay.parts import rates
from swordplay.parts.experts import NewtonExperts
from swordplay.parts.learners.meta_expert import MetaExpertLearner
from swordplay.parts.learners.sword import FLOOR
from swordplay.parts.metas import LearnedOptimism, Meta, OptimisticHedge, uniform
from swordplay.parts.metas.meta import meta_or_default

SHORTEST, LONGEST = 3, 13
"""Memories of 2^3 to 2^13 rounds."""
RIDGE = 0.125
"""Of the experts: no step is longer than eight diameters before it is projected."""


@final
class Curved(MetaExpertLearner):
    r"""Newton steps with forgetting, at many discounts at once, weighed by the Hedge of
    :class:`Sword`.

    On losses that are long and narrow valleys (columns that are correlated, or on different scales)
    a gradient descent crawls, and a Newton step does not. How much of the past to forget is
    learned: discounts :math:`1 - 2^{-3}` to :math:`1 - 2^{-13}`, without those that remember less
    than two rounds for each coordinate.

    No decision changes when all losses are multiplied by one number. :meth:`certificate` is its
    guarantee, as for all learners here.

    Parameters
    ----------
    domain
        Where decisions live.
    meta
        What weighs the experts, such as ``sp.metas.Squint()``; an optimistic Hedge that all but
        follows the leader unless given.

    References
    ----------
    Jacobsen and Cutkosky (2024), "Online linear regression in dynamic environments via
    discounting".

    Examples
    --------
    >>> from swordplay import Ball, SquaredLoss
    >>> learner = Curved(Ball(dim=2))
    >>> for t in range(50):  # a valley that is 10^4 times as long as wide
    ...     learner.observe(SquaredLoss([1.0, 0.01 * (-1) ** t], target=0.5 + 0.005 * (-1) ** t))
    >>> learner.decision.round(2)
    array([0.5, 0.5])
    """

    def __init__(self, domain: Domain, *, meta: Meta | None = None) -> None:
        discounts = curved_discounts(arguments.domain(domain).dim)
        super().__init__(
            domain,
            experts=[NewtonExperts(domain, discounts, RIDGE)],
            prior=uniform(len(discounts)),
            hedge=meta_or_default(
                meta,
                None,
                OptimisticHedge(
                    rates.SelfConfident(offset=0.0, floor=FLOOR), GameConstants(domain.diameter)
                ),
            ),
            optimism=LearnedOptimism(math.inf),
        )


def curved_discounts(dim: int) -> Vector:
    """1 - 2^-k for k from 3 to 13 and 2^k >= 2 dim.

    In more than 4096 dimensions the longest memory alone.

    >>> curved_discounts(20)[:2].tolist()
    [0.984375, 0.9921875]
    """
    shortest = max(SHORTEST, math.ceil(math.log2(2 * dim)))
    return np.asarray(1.0 - 2.0 ** -np.arange(min(shortest, LONGEST), LONGEST + 1))
