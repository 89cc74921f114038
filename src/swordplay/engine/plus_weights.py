"""The weights of Sword++: as ``weights``, under a meta that charges experts for moving."""

from __future__ import annotations

import math

from swordplay.base.compiling import expert_loop, part, smaller
from swordplay.base.types import Vector
from swordplay.engine.blocks import columns_of
from swordplay.engine.layout import EXPERT, LIVE, Arrays, Products
from swordplay.engine.weights import share


@part
def weigh(me: Arrays, of: Products, target: float) -> None:
    """Weigh the experts for the coming round by m_i = <g_t, x_{t+1,i}> + 2L norm(x_{t+1,i} - x_{t,i})^2."""
    share(me, expect_all(me, me.live[LIVE.candidate]))


@part
def expect_all(me: Arrays, h: float) -> float:
    """m_i of every expert; returns the least of loss so far + guess."""
    numbers = me.numbers
    charge, cumulative, guesses = numbers[EXPERT.charge], numbers[EXPERT.cumulative], numbers[EXPERT.guess]
    return float(expect(columns_of(numbers), h, numbers[EXPERT.ahead], charge, cumulative, guesses))


@expert_loop
def expect(n: int, h: float, ahead: Vector, charge: Vector, cumulative: Vector, guesses: Vector) -> float:
    """As ``weights.expect``, with what is charged."""
    least = math.inf
    for i in range(n):
        m = h * ahead[i] + charge[i]
        guesses[i] = m
        least = smaller(least, cumulative[i] + m)
    return least
