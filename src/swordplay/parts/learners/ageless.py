"""A Sword for streams without an end: it never gets too old to change its mind."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import checked
from swordplay.core.types import Domain, Setting
from swordplay.parts import rates
from swordplay.parts.experts import Constant, OEGDExperts, OGDExperts
from swordplay.parts.learners.assumptions import Told
from swordplay.parts.learners.ensemble import Ensemble
from swordplay.parts.metas import LearnedOptimism, Meta, OptimisticHedge, uniform
from swordplay.parts.metas.meta import chosen

DEPTH = 14
"""Halvings of the step size: the slowest expert averages over about 2^13 rounds."""
MEMORY = 2000.0
"""Rounds that the meta remembers: enough to tell experts apart that differ by a few per cent,
few enough to stay young.
"""
SHARPNESS = 8.0
"""Factor of the rate.

A meta that forgets may follow its leaders closely; 0.5 is what a meta that never forgets needs.
"""


@final
class SwordAgeless(Ensemble):
    r"""Both kinds of experts of Sword_best, under a Hedge that forgets.

    The experts' losses fade by :math:`1 - 1/M` a round, so that the time to re-adapt after a jump
    does not grow with age. The price: its regret to a fixed expert grows with the number of
    memories that have passed, T/M, instead of with the root of T. :meth:`certificate` holds all the
    same, whatever the weights.

    Parameters
    ----------
    domain
        Where decisions live.
    smoothness
        L of every loss. Losses of very different smoothness are best weighted to have the same
        (:class:`WeightedLoss` with a weight of 1/L).
    pool
        Step sizes; 1/L and 13 halvings of it unless given.
    memory
        M, in rounds.
    meta
        What weighs the experts, such as ``sp.metas.FixedShare()``; a Hedge that forgets unless
        given.
    """

    @checked
    def __init__(
        self,
        domain: Domain,
        *,
        smoothness: float,
        pool: Any = None,
        memory: float = MEMORY,
        meta: Meta | None = None,
    ) -> None:
        L = arguments.positive("smoothness", smoothness)
        steps = Constant(
            2.0 ** -np.arange(DEPTH) / L
            if pool is None
            else arguments.positive_vector("pool", pool)
        )
        rate = rates.SelfConfident(offset=0.0, factor=SHARPNESS, floor=1e-4, memory=memory)
        super().__init__(
            arguments.domain(domain),
            experts=[OEGDExperts(domain, steps), OGDExperts(domain, steps)],
            prior=uniform(2 * steps.count()),
            hedge=chosen(meta, None, OptimisticHedge(rate, Setting(domain.diameter))),
            optimism=LearnedOptimism(math.inf),
        )
        self.told = Told(smoothness=L)
