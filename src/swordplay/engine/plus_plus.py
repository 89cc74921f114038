"""Sword++ on a ball, in numbers: experts that share one gradient, under a meta that charges them for moving.

Twin of ``parts.learners.plus_plus``. The gradient at the decision, g_t = h a, is all that a round asks for: it moves the
base points, it is the guess of the coming gradient for experts and meta, and the surprise norm(g_t - g_{t-1})^2 is one number
for everybody. What is new is the charge 2L norm(x_{t+1} - x_t)^2. With xhat_{t+1} = sigma (xhat - k a), k = eta h, and
x = alpha xhat - gamma a' (see ``ball``)

    x_{t+1} - x_t = (tau sigma - alpha) xhat - (tau sigma k + tau k) a + gamma a',

sigma and tau the shrinkings of the two projections: a quadratic form of products that are known, <a', xhat> from the round
before. Where no projection was active it is -2 k a + gamma a', eta times the same vector for everybody.
"""

from __future__ import annotations

import math

from swordplay.base.compiling import expert_loop, larger, part, smaller
from swordplay.base.types import Vector
from swordplay.engine.adapting import begin
from swordplay.engine.blocks import columns_of
from swordplay.engine.layout import BLOCK, CONFIG, EXPERT, LIVE, Arrays, Products
from swordplay.engine.meta import distance
from swordplay.engine.plus_strides import farthest, stride_after, stride_freely, stride_within
from swordplay.engine.rates import retune
from swordplay.engine.scalar import slope


@part
def judge(me: Arrays, of: Products, prediction: float, target: float) -> float:
    """The gradient, the certificate's sums and the meta's losses. Returns h, which is the guess from here on."""
    h, surprise, afresh = hear(me, of, prediction, target)
    account_all(me, h, surprise, prediction)
    turn(me, h, afresh)
    return float(h)


@part
def hear(me: Arrays, of: Products, prediction: float, target: float) -> tuple[float, float, bool]:
    """The slope h of the loss at the decision, norm(g_t - g_{t-1})^2, and whether the meta is to start afresh.

    Its learning rate, from by how much losses and gradient were misjudged, is asked for before anything else: a quotient
    and a root that nobody waits for until weights are made.
    """
    live, config, numbers = me.live, me.config, me.numbers
    h = live[LIVE.weight] * slope(int(config[CONFIG.loss]), config[CONFIG.threshold], prediction + of.offset, target)
    surprise = distance(h, live[LIVE.candidate], of)
    live[LIVE.met] += surprise
    if live[LIVE.rounds] == 0.0:
        begin(me)
    n = columns_of(numbers)
    spread = misjudged(n, h, numbers[EXPERT.played], numbers[EXPERT.charge], numbers[EXPERT.guess])
    return h, surprise, retune(live, config, 0.25 * spread * spread, surprise)


@expert_loop
def misjudged(n: int, h: float, played: Vector, charge: Vector, guess: Vector) -> float:
    """How far apart l_i - m_i of the experts are, for losses l_i = <g_t, x_i> + 2L norm(x_{t,i} - x_{t-1,i})^2."""
    high, low = -math.inf, math.inf
    for i in range(n):
        wrong = h * played[i] + charge[i] - guess[i]
        high, low = larger(high, wrong), smaller(low, wrong)
    return high - low


@part
def turn(me: Arrays, h: float, afresh: bool) -> None:
    """The charges of the coming round are made of both: where the two gradients were, and how far the points went."""
    me.live[LIVE.turn] = me.live[LIVE.candidate]
    me.live[LIVE.candidate] = h
    if afresh:
        me.numbers[EXPERT.cumulative] = 0.0
        me.live[LIVE.smallest] = 0.0


@part
def account_all(me: Arrays, h: float, surprise: float, prediction: float) -> None:
    """The sums of a round."""
    numbers, live, config = me.numbers, me.live, me.config
    live[LIVE.smallest] = account(
        columns_of(numbers),
        h,
        surprise,
        prediction,
        live[LIVE.smallest],
        config[CONFIG.retention],
        numbers[EXPERT.played],
        numbers[EXPERT.charge],
        numbers[EXPERT.eta],
        numbers[EXPERT.inverse],
        numbers[EXPERT.lead],
        numbers[EXPERT.advantage],
        numbers[EXPERT.drift],
        numbers[EXPERT.cumulative],
    )


@expert_loop
def account(
    n: int,
    h: float,
    surprise: float,
    prediction: float,
    off: float,
    retention: float,
    played: Vector,
    charge: Vector,
    eta: Vector,
    inverse: Vector,
    lead: Vector,
    advantage: Vector,
    drift: Vector,
    cumulative: Vector,
) -> float:
    """As ``meta.account``, with one surprise for all, and what was misjudged apart; returns the smallest loss."""
    smallest = math.inf
    for i in range(n):
        advantage[i] += h * (prediction - played[i])
        drift[i] += 0.5 * (eta[i] * surprise - inverse[i] * lead[i])
        loss = h * played[i] + charge[i]
        so_far = retention * (cumulative[i] - off) + loss
        cumulative[i] = so_far
        smallest = smaller(smallest, so_far)
    return smallest


@part
def move(me: Arrays, of: Products, features: Vector, target: float) -> float:
    """Both steps of every expert along h a, and what the meta charges for them. Returns the smallest scale."""
    numbers = me.numbers
    n, h = columns_of(numbers), me.live[LIVE.candidate]
    pend(n, h, numbers[EXPERT.eta], numbers[EXPERT.unscale], numbers[EXPERT.coefficient])
    return float(move_all(me, of, numbers[EXPERT.scratch])[0])


@expert_loop
def pend(n: int, h: float, eta: Vector, unscale: Vector, change: Vector) -> None:
    """What W lacks for xhat - eta h a, before it is projected."""
    for i in range(n):
        change[i] = -h * eta[i] * unscale[i]


@part
def move_all(me: Arrays, of: Products, shifts: Vector) -> tuple[float, float]:
    """Both steps, projected in those blocks where they have to be. Returns the smallest scale and the largest shift."""
    smallest, most = math.inf, 0.0
    for first in range(0, columns_of(me.numbers), BLOCK):
        far, shrunk = reach(me, of, me.live[LIVE.candidate], first, first + BLOCK)
        if far <= me.config[CONFIG.size] * me.config[CONFIG.size]:
            move_freely(me, of, first, shrunk)
        else:
            scale, shift = move_within(me, of, shifts, first)
            smallest, most = min(smallest, scale), max(most, shift)
    return smallest, most


@part
def reach(me: Arrays, of: Products, h: float, first: int, beyond: int) -> tuple[float, float]:
    """How far out the steps of these experts lead, as a square, and how much they were shrunk when they last looked ahead."""
    numbers = me.numbers
    eta, alpha = numbers[EXPERT.eta][first:beyond], numbers[EXPERT.alpha][first:beyond]
    at_base, norm = numbers[EXPERT.at_base][first:beyond], numbers[EXPERT.norm][first:beyond]
    far, shrunk = farthest(BLOCK * ((beyond - first) // BLOCK), h, of.norm, eta, at_base, norm, alpha)
    return far, shrunk


@part
def charged(me: Arrays, of: Products, h: float, before: float) -> float:
    """What a step of 1 would be charged where nobody is projected: gamma is eta h', and all go along 2 h a - h' a'."""
    apart = larger(4.0 * h * h * of.norm - 4.0 * h * before * of.cross + before * before * of.last_norm, 0.0)
    return float(me.config[CONFIG.charge] * apart)


@part
def move_freely(me: Arrays, of: Products, first: int, shrunk: float) -> None:
    """Both steps of a block where neither leaves the ball."""
    numbers, h, beyond = me.numbers, me.live[LIVE.candidate], first + BLOCK
    if shrunk < 1.0:
        move_after(me, of, first)
        return
    stride_freely(
        BLOCK,
        h,
        of.norm,
        charged(me, of, h, me.live[LIVE.turn]),
        numbers[EXPERT.eta][first:beyond],
        numbers[EXPERT.at_base][first:beyond],
        numbers[EXPERT.norm][first:beyond],
        numbers[EXPERT.farthest][first:beyond],
        numbers[EXPERT.gamma][first:beyond],
        numbers[EXPERT.ahead][first:beyond],
        numbers[EXPERT.lead][first:beyond],
        numbers[EXPERT.turned][first:beyond],
        numbers[EXPERT.charge][first:beyond],
    )


@part
def move_after(me: Arrays, of: Products, first: int) -> None:
    """The same after somebody was projected."""
    numbers, beyond = me.numbers, first + BLOCK
    stride_after(
        BLOCK,
        me.live[LIVE.candidate],
        of,
        me.config[CONFIG.charge],
        numbers[EXPERT.eta][first:beyond],
        numbers[EXPERT.at_base][first:beyond],
        numbers[EXPERT.norm][first:beyond],
        numbers[EXPERT.farthest][first:beyond],
        numbers[EXPERT.alpha][first:beyond],
        numbers[EXPERT.gamma][first:beyond],
        numbers[EXPERT.ahead][first:beyond],
        numbers[EXPERT.lead][first:beyond],
        numbers[EXPERT.turned][first:beyond],
        numbers[EXPERT.charge][first:beyond],
    )


@part
def move_within(me: Arrays, of: Products, shifts: Vector, first: int) -> tuple[float, float]:
    """Both steps of a block, projected where they have to be. Returns the smallest scale and the largest shift."""
    numbers, beyond = me.numbers, first + BLOCK
    smallest, most = stride_within(
        BLOCK,
        me.live[LIVE.candidate],
        of,
        me.config[CONFIG.size],
        me.config[CONFIG.charge],
        numbers[EXPERT.eta][first:beyond],
        numbers[EXPERT.scale][first:beyond],
        numbers[EXPERT.unscale][first:beyond],
        numbers[EXPERT.at_base][first:beyond],
        numbers[EXPERT.norm][first:beyond],
        numbers[EXPERT.farthest][first:beyond],
        numbers[EXPERT.alpha][first:beyond],
        numbers[EXPERT.gamma][first:beyond],
        numbers[EXPERT.ahead][first:beyond],
        numbers[EXPERT.lead][first:beyond],
        numbers[EXPERT.turned][first:beyond],
        numbers[EXPERT.charge][first:beyond],
        shifts[first:beyond],
    )
    return smallest, most


@part
def finish(me: Arrays) -> None:
    """What is the same for all experts is written to each when a kernel ends: the last slope, and what they have met."""
    numbers, live = me.numbers, me.live
    if live[LIVE.rounds] > 0.0:
        numbers[EXPERT.replay] = live[LIVE.candidate]
    for i in range(columns_of(numbers)):
        numbers[EXPERT.energy, i] += live[LIVE.met]
    live[LIVE.met] = 0.0


@part
def stay(me: Arrays, of: Products, features: Vector, target: float) -> None:
    """Nobody joins: the pool does not grow."""


@part
def ventured(me: Arrays) -> None:
    """How far everybody has been was noted with the steps."""
