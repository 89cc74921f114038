"""Sword++ on a ball, in numbers: experts that share one gradient, under a meta that charges them
for moving.

Twin of ``parts.learners.plus_plus``. The gradient at the decision, g_t = h a, is all that a round
asks for: it moves the base points, it is the guess of the coming gradient for experts and meta, and
the surprise norm(g_t - g_{t-1})^2 is one number for everybody. What is new is the charge 2L
norm(x_{t+1} - x_t)^2. With xhat_{t+1} = sigma (xhat - k a), k = eta h, and x = alpha xhat - gamma
a' (see ``ball``)

    x_{t+1} - x_t = (tau sigma - alpha) xhat - (tau sigma k + tau k) a + gamma a',

sigma and tau the shrinkings of the two projections: a quadratic form of products that are known,
<a', xhat> from the round before. Where no projection was active it is -2 k a + gamma a', eta times
the same vector for everybody.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import expert_loop, inline, larger, smaller
from swordplay.core.types import Vector
from swordplay.engine.adapting import begin
from swordplay.engine.blocks import columns_of, least
from swordplay.engine.layout import BLOCK, CONFIG, EXPERT, LIVE, Arrays, Products
from swordplay.engine.meta import distance
from swordplay.engine.plus_steps import (
    Heard,
    advance_after,
    advance_freely,
    advance_within,
    farthest,
    lead_of,
    numbers_of,
)
from swordplay.engine.rates import retune
from swordplay.engine.scalar import slope
from swordplay.engine.weights import share


@inline
def judge(me: Arrays, of: Products, prediction: float, target: float) -> float:
    """All that happens to numbers of experts in a round.

    Returns h, which is the guess from here on.
    """
    numbers, n = me.numbers, columns_of(me.numbers)
    h = derivative(me, of, prediction, target)
    spread, far = look_at(me, h, of.norm)
    heard, rate, afresh = hear(me, of, h, prediction, spread)
    pend(n, h, numbers[EXPERT.eta], numbers[EXPERT.unscale], numbers[EXPERT.coefficient])
    me.live[LIVE.freely] = 0.0
    hoped = advance(me, of, heard, far, False, numbers[EXPERT.scratch])
    weigh(me, hoped, rate, afresh)
    return float(h)


@inline
def derivative(me: Arrays, of: Products, prediction: float, target: float) -> float:
    """h, with h a the gradient at the decision; what the first round needs is made before it."""
    live, config = me.live, me.config
    if live[LIVE.rounds] == 0.0:
        begin(me)
    loss, threshold = int(config[CONFIG.loss]), config[CONFIG.threshold]
    return float(live[LIVE.weight] * slope(loss, threshold, prediction + of.offset, target))


@inline
def look_at(me: Arrays, h: float, norm: float) -> tuple[float, float]:
    """``look`` at all experts."""
    numbers = me.numbers
    return look(
        columns_of(numbers),
        h,
        norm,
        numbers[EXPERT.played],
        numbers[EXPERT.charge],
        numbers[EXPERT.guess],
        numbers[EXPERT.eta],
        numbers[EXPERT.at_base],
        numbers[EXPERT.norm],
    )


@inline
def hear(
    me: Arrays, of: Products, h: float, prediction: float, spread: float
) -> tuple[Heard, float, bool]:
    """What everybody is told, the meta's rate, and whether it starts afresh.

    ``spread``: how far apart losses were misjudged.

    The rate is asked for before anybody moves: a quotient and a root that nobody waits for until
    weights are made.
    """
    live, config = me.live, me.config
    surprise = distance(h, live[LIVE.candidate], of)
    live[LIVE.met] += surprise
    afresh = retune(live, config, 0.25 * spread * spread, surprise)
    charge, retention, radius = config[CONFIG.charge], config[CONFIG.retention], config[CONFIG.size]
    fee = charge * freely_apart(of, h, live[LIVE.candidate])
    led = live[LIVE.candidate] * live[LIVE.candidate] * of.last_norm
    drift = 0.5 * (surprise - led)
    live[LIVE.drift] += drift
    heard = Heard(
        h, surprise, prediction, live[LIVE.smallest], retention, charge, fee, radius, led, drift
    )
    return heard, live[LIVE.rate], afresh


@expert_loop
def look(
    n: int,
    h: float,
    norm: float,
    played: Vector,
    charge: Vector,
    guess: Vector,
    eta: Vector,
    at_base: Vector,
    base_norm: Vector,
) -> tuple[float, float]:
    """How far apart l_i - m_i of the experts are, for losses l_i = <g_t, x_i> + 2L norm(x_{t,i} -
    x_{t-1,i})^2.

    And how far out their steps lead, as a square.
    """
    high, low, far = -math.inf, math.inf, 0.0
    for i in range(n):
        wrong = h * played[i] + charge[i] - guess[i]
        high, low = larger(high, wrong), smaller(low, wrong)
        far = larger(far, farthest(eta[i] * h, norm, at_base[i], base_norm[i]))
    return high - low, far


@inline
def freely_apart(of: Products, h: float, before: float) -> float:
    """How far a step of 1 takes points, as a square, where nobody is projected: gamma is eta h',
    all go along 2 h a - h' a'.
    """
    return float(
        larger(
            4.0 * h * h * of.norm - 4.0 * h * before * of.cross + before * before * of.last_norm,
            0.0,
        )
    )


@inline
def advance(
    me: Arrays, of: Products, heard: Heard, far: float, calm: bool, shifts: Vector
) -> float:
    """Sums, both steps and charges of all experts.

    Blocks in which nobody is projected have less to do.

    ``calm`` says that this is so of all blocks but those from ``LIVE.first`` to before
    ``LIVE.beyond``, and was in the last round. Returns the least of losses so far with the guesses
    of the next.
    """
    numbers, live = me.numbers, me.live
    n, limit = columns_of(numbers), heard.radius * heard.radius
    smallest, hoped, scale, most = math.inf, math.inf, math.inf, 0.0
    if far <= limit and live[LIVE.freely] == 1.0:
        smallest, hoped = advance_freely(n, heard, of, numbers_of(numbers, 0, shifts))
    else:
        for first in range(0, n, BLOCK):
            block = numbers_of(numbers, first, shifts)
            if calm and not live[LIVE.first] <= first < live[LIVE.beyond]:
                low, hope = advance_freely(BLOCK, heard, of, block)
            elif far <= limit:
                low, hope = advance_after(BLOCK, heard, of, block)
            else:
                low, hope, size, shift = advance_within(BLOCK, heard, of, block)
                scale, most = smaller(scale, size), larger(most, shift)
            smallest, hoped = smaller(smallest, low), smaller(hoped, hope)
    live[LIVE.freely] = 1.0 if far <= limit else 0.0
    live[LIVE.astray] = 0.0 if calm or far <= limit else 1.0
    live[LIVE.scale], live[LIVE.shift], live[LIVE.smallest], live[LIVE.candidate] = (
        scale,
        most,
        smallest,
        heard.h,
    )
    return hoped


@inline
def weigh(me: Arrays, hoped: float, rate: float, afresh: bool) -> None:
    """Weights of the coming round; of a meta that starts afresh nothing but the guesses is left."""
    if afresh:
        me.numbers[EXPERT.cumulative] = 0.0
        me.live[LIVE.smallest] = 0.0
        hoped = least(columns_of(me.numbers), me.numbers[EXPERT.guess])
    share(me, hoped, rate)


@expert_loop
def pend(n: int, h: float, eta: Vector, unscale: Vector, change: Vector) -> None:
    """What W lacks for xhat - eta h a, before it is projected."""
    for i in range(n):
        change[i] = -h * eta[i] * unscale[i]


@inline
def moved(me: Arrays, of: Products, features: Any, target: float) -> float:
    """The smallest scale: everybody has moved when the gradient was heard."""
    return float(me.live[LIVE.scale])


@inline
def weighed(me: Arrays, of: Products, target: float) -> None:
    """Weights were made there, too."""


@inline
def finish(me: Arrays) -> None:
    """What is the same for all experts is written to each when a kernel ends: the last slope,
    and what they have met.
    """
    numbers, live = me.numbers, me.live
    if live[LIVE.rounds] > 0.0:
        numbers[EXPERT.replay] = live[LIVE.candidate]
    led = live[LIVE.candidate] * live[LIVE.candidate] * live[LIVE.last_norm]
    for i in range(columns_of(numbers)):
        numbers[EXPERT.energy, i] += live[LIVE.met]
        numbers[EXPERT.drift, i] += numbers[EXPERT.eta, i] * live[LIVE.drift]
        numbers[EXPERT.lead, i] = lead_of(
            numbers[EXPERT.eta, i], numbers[EXPERT.alpha, i], numbers[EXPERT.lead, i], led
        )
    live[LIVE.met] = live[LIVE.drift] = 0.0


@inline
def stay(me: Arrays, of: Products, features: Vector, target: float) -> None:
    """Nobody joins: the pool does not grow."""


@inline
def ventured(me: Arrays) -> None:
    """How far everybody has been was noted with the steps."""
