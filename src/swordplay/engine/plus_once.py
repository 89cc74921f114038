"""Sword++ on dense rows where nobody is projected: what a gradient does to every expert, in one pass over them.

The certificate's sums, the meta's losses, both steps, the charge and the guess of the coming loss: each of ``plus_plus`` and
``plus_weights`` by itself would load and store most of these numbers again.
"""

from __future__ import annotations

import math

from swordplay.base.compiling import expert_loop, larger, part, smaller
from swordplay.base.types import Vector
from swordplay.engine import plus_plus, plus_weights
from swordplay.engine.blocks import columns_of, least
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, Arrays, Products
from swordplay.engine.weights import share


@part
def judge(me: Arrays, of: Products, prediction: float, target: float) -> float:
    """All that happens to numbers of experts; whether that was all is in ``LIVE.freely``. Returns h."""
    live = me.live
    h, surprise, afresh = plus_plus.hear(me, of, prediction, target)
    far, shrunk = plus_plus.reach(me, of, h, 0, columns_of(me.numbers))
    if far <= me.config[CONFIG.size] * me.config[CONFIG.size] and shrunk == 1.0:
        live[LIVE.freely] = 1.0
        live[LIVE.smallest], live[LIVE.least] = advance_all(me, of, h, surprise, prediction)
        if afresh:  # nothing but the guesses is left
            live[LIVE.least] = least(columns_of(me.numbers), me.numbers[EXPERT.guess])
    else:
        live[LIVE.freely] = 0.0
        plus_plus.account_all(me, h, surprise, prediction)
    plus_plus.turn(me, h, afresh)
    return float(h)


@part
def weigh(me: Arrays, of: Products, target: float) -> None:
    """As ``plus_weights.weigh``."""
    if me.live[LIVE.freely] == 0.0:
        me.live[LIVE.least] = plus_weights.expect_all(me, me.live[LIVE.candidate])
    share(me, me.live[LIVE.least])


@part
def advance_all(me: Arrays, of: Products, h: float, surprise: float, prediction: float) -> tuple[float, float]:
    """The smallest loss so far, and the least of that with the guess of the next."""
    numbers, live = me.numbers, me.live
    smallest, hoped = advance(
        columns_of(numbers),
        h,
        of.norm,
        surprise,
        prediction,
        live[LIVE.smallest],
        me.config[CONFIG.retention],
        plus_plus.charged(me, of, h, live[LIVE.candidate]),
        numbers[EXPERT.eta],
        numbers[EXPERT.inverse],
        numbers[EXPERT.played],
        numbers[EXPERT.at_base],
        numbers[EXPERT.norm],
        numbers[EXPERT.farthest],
        numbers[EXPERT.gamma],
        numbers[EXPERT.lead],
        numbers[EXPERT.turned],
        numbers[EXPERT.charge],
        numbers[EXPERT.guess],
        numbers[EXPERT.advantage],
        numbers[EXPERT.drift],
        numbers[EXPERT.cumulative],
    )
    return smallest, hoped


@expert_loop
def advance(
    n: int,
    h: float,
    norm: float,
    surprise: float,
    prediction: float,
    off: float,
    retention: float,
    charged: float,
    eta: Vector,
    inverse: Vector,
    played: Vector,
    at_base: Vector,
    base_norm: Vector,
    farthest: Vector,
    gamma: Vector,
    lead: Vector,
    turned: Vector,
    charge: Vector,
    guess: Vector,
    advantage: Vector,
    drift: Vector,
    cumulative: Vector,
) -> tuple[float, float]:
    """``plus_plus.account``, ``plus_strides.stride_freely`` and ``plus_weights.expect``, expert by expert."""
    smallest, hoped = math.inf, math.inf
    for i in range(n):
        advantage[i] += h * (prediction - played[i])
        drift[i] += 0.5 * (eta[i] * surprise - inverse[i] * lead[i])
        loss = h * played[i] + charge[i]
        so_far = retention * (cumulative[i] - off) + loss
        cumulative[i] = so_far
        smallest = smaller(smallest, so_far)
        stride = eta[i] * h
        moved = stride * stride * norm
        square = larger(base_norm[i] - 2.0 * stride * at_base[i] + moved, 0.0)
        base_norm[i] = square
        farthest[i] = larger(farthest[i], square)
        now = at_base[i] - stride * norm
        gamma[i] = stride
        lead[i] = moved
        turned[i] = now
        fee = eta[i] * eta[i] * charged
        charge[i] = fee
        m = h * (now - stride * norm) + fee
        guess[i] = m
        hoped = smaller(hoped, so_far + m)
    return smallest, hoped
