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

from swordplay.base.compiling import expert_loop, part
from swordplay.base.types import Vector
from swordplay.engine.blocks import columns_of, largest, least
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, Arrays, Products
from swordplay.engine.meta import distance, follow_steps
from swordplay.engine.rates import retune
from swordplay.engine.scalar import slope
from swordplay.engine.weights import exponentials, normalise, score, score_leaders


@part
def judge(me: Arrays, of: Products, prediction: float, target: float) -> float:
    """The gradient, the certificate's sums and the meta's losses. Returns h, which is the guess from here on."""
    numbers, live, config = me.numbers, me.live, me.config
    n = columns_of(numbers)
    h = live[LIVE.weight] * slope(int(config[CONFIG.loss]), config[CONFIG.threshold], prediction + of.offset, target)
    surprise = distance(h, live[LIVE.candidate], of)
    if live[LIVE.rounds] == 0.0:
        follow_steps(
            n,
            numbers[EXPERT.eta],
            numbers[EXPERT.norm],
            numbers[EXPERT.inverse],
            numbers[EXPERT.growth],
            numbers[EXPERT.largest],
            numbers[EXPERT.swing],
            numbers[EXPERT.turning],
        )
    account(
        n,
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
        numbers[EXPERT.guess],
        numbers[EXPERT.energy],
        numbers[EXPERT.advantage],
        numbers[EXPERT.drift],
        numbers[EXPERT.cumulative],
        numbers[EXPERT.scratch],
    )
    spread = largest(n, numbers[EXPERT.scratch]) - least(n, numbers[EXPERT.scratch])
    live[LIVE.smallest] = least(n, numbers[EXPERT.cumulative])
    if retune(live, config, 0.25 * spread * spread, surprise):
        numbers[EXPERT.cumulative] = 0.0
        live[LIVE.smallest] = 0.0
    # The charges of the coming round are made of both: where the two gradients were, and how far the points went.
    live[LIVE.turn] = live[LIVE.candidate]
    live[LIVE.candidate] = h
    return float(h)


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
    guess: Vector,
    energy: Vector,
    advantage: Vector,
    drift: Vector,
    cumulative: Vector,
    wrong: Vector,
) -> None:
    """As ``meta.account``, with one surprise for all; losses are l_i = <g_t, x_i> + 2L norm(x_{t,i} - x_{t-1,i})^2."""
    for i in range(n):
        energy[i] += surprise
        advantage[i] += h * (prediction - played[i])
        drift[i] += 0.5 * (eta[i] * surprise - inverse[i] * lead[i])
        loss = h * played[i] + charge[i]
        wrong[i] = loss - guess[i]
        cumulative[i] = retention * (cumulative[i] - off) + loss


@part
def move(me: Arrays, of: Products, features: Vector, target: float) -> float:
    """Both steps of every expert along h a, and what the meta charges for them. Returns the smallest scale."""
    numbers, live, config = me.numbers, me.live, me.config
    n, radius, h, charge = columns_of(numbers), config[CONFIG.size], live[LIVE.candidate], config[CONFIG.charge]
    numbers[EXPERT.replay] = h
    farthest(n, h, of.norm, numbers[EXPERT.eta], numbers[EXPERT.at_base], numbers[EXPERT.norm], numbers[EXPERT.scratch])
    if largest(n, numbers[EXPERT.scratch]) <= radius * radius and least(n, numbers[EXPERT.alpha]) == 1.0:
        before = live[LIVE.turn]  # h' of the last round: gamma is eta h' where nothing was projected
        apart = max(4.0 * h * h * of.norm - 4.0 * h * before * of.cross + before * before * of.last_norm, 0.0)
        stride_freely(
            n,
            h,
            of.norm,
            charge * apart,
            numbers[EXPERT.eta],
            numbers[EXPERT.unscale],
            numbers[EXPERT.at_base],
            numbers[EXPERT.norm],
            numbers[EXPERT.coefficient],
            numbers[EXPERT.gamma],
            numbers[EXPERT.ahead],
            numbers[EXPERT.lead],
            numbers[EXPERT.turned],
            numbers[EXPERT.charge],
        )
        return math.inf
    stride_within(
        n,
        h,
        of,
        radius,
        charge,
        numbers[EXPERT.eta],
        numbers[EXPERT.scale],
        numbers[EXPERT.unscale],
        numbers[EXPERT.at_base],
        numbers[EXPERT.norm],
        numbers[EXPERT.coefficient],
        numbers[EXPERT.alpha],
        numbers[EXPERT.gamma],
        numbers[EXPERT.ahead],
        numbers[EXPERT.lead],
        numbers[EXPERT.turned],
        numbers[EXPERT.charge],
    )
    return float(least(n, numbers[EXPERT.scale]))


@expert_loop
def farthest(n: int, h: float, norm: float, eta: Vector, at_base: Vector, base_norm: Vector, answer: Vector) -> None:
    """The larger squared norm of both steps of each expert, before anything is projected; 0 for who stands still."""
    for i in range(n):
        stride = eta[i] * h
        cosine, moved = stride * at_base[i], stride * stride * norm
        once = base_norm[i] - 2.0 * cosine + moved
        twice = base_norm[i] - 4.0 * cosine + 4.0 * moved
        answer[i] = max(once, twice) if stride != 0.0 else 0.0


@expert_loop
def stride_freely(
    n: int,
    h: float,
    norm: float,
    charged: float,
    eta: Vector,
    unscale: Vector,
    at_base: Vector,
    base_norm: Vector,
    change: Vector,
    gamma: Vector,
    ahead: Vector,
    lead: Vector,
    turned: Vector,
    charge: Vector,
) -> None:
    """xhat - k a and then xhat - 2 k a, where neither leaves the ball; alpha is 1 already."""
    for i in range(n):
        stride = eta[i] * h
        moved = stride * stride * norm
        base_norm[i] = max(base_norm[i] - 2.0 * stride * at_base[i] + moved, 0.0)
        now = at_base[i] - stride * norm
        change[i] = -stride * unscale[i]
        gamma[i] = stride
        ahead[i] = now - stride * norm
        lead[i] = moved
        turned[i] = now
        charge[i] = eta[i] * eta[i] * charged


@expert_loop
def stride_within(
    n: int,
    h: float,
    of: Products,
    radius: float,
    charged: float,
    eta: Vector,
    scale: Vector,
    unscale: Vector,
    at_base: Vector,
    base_norm: Vector,
    change: Vector,
    alpha: Vector,
    gamma: Vector,
    ahead: Vector,
    lead: Vector,
    turned: Vector,
    charge: Vector,
) -> None:
    """The same with both projections, sigma and tau, and the charge as a quadratic form."""
    limit = radius * radius
    for i in range(n):
        k, was, at = eta[i] * h, base_norm[i], at_base[i]
        once = max(was - 2.0 * k * at + k * k * of.norm, 0.0)
        sigma = radius / math.sqrt(once) if once > limit else 1.0
        change[i] = -k * unscale[i]
        scale[i] *= sigma
        unscale[i] = 1.0 / scale[i]
        base, now = min(once, limit), sigma * (at - k * of.norm)
        twice = base - 2.0 * k * now + k * k * of.norm
        # A base point on the sphere may lie outside it by rounding; where nothing moved, nothing is to be projected.
        tau = radius / math.sqrt(twice) if twice > limit and k != 0.0 else 1.0
        gone, back = tau * k, tau - 1.0
        along, across, left = tau * sigma - alpha[i], tau * sigma * k + gone, gamma[i]
        squares = along * along * was + across * across * of.norm + left * left * of.last_norm
        crossed = along * (left * turned[i] - across * at) - across * left * of.cross
        charge[i] = charged * max(squares + 2.0 * crossed, 0.0)
        base_norm[i] = base
        alpha[i] = tau
        gamma[i] = gone
        ahead[i] = tau * now - gone * of.norm
        lead[i] = max(back * back * base - 2.0 * back * gone * now + gone * gone * of.norm, 0.0)
        turned[i] = now


@part
def stay(me: Arrays, of: Products, features: Vector, target: float) -> None:
    """Nobody joins: the pool does not grow."""


@part
def weigh(me: Arrays, of: Products, target: float) -> None:
    """Weigh the experts for the coming round by m_i = <g_t, x_{t+1,i}> + 2L norm(x_{t+1,i} - x_{t,i})^2."""
    numbers, rate = me.numbers, me.live[LIVE.rate]
    n = columns_of(numbers)
    guesses, prior, weights = numbers[EXPERT.scratch], numbers[EXPERT.log_prior], numbers[EXPERT.weight]
    expect(n, me.live[LIVE.candidate], numbers[EXPERT.ahead], numbers[EXPERT.charge], guesses)
    if rate < math.inf:
        score(n, 1.0, rate, guesses, prior, numbers[EXPERT.cumulative], numbers[EXPERT.guess], weights)
    else:
        score_leaders(n, 1.0, guesses, prior, numbers[EXPERT.cumulative], numbers[EXPERT.guess], weights)
    normalise(n, weights, exponentials(n, largest(n, weights), weights))


@expert_loop
def expect(n: int, h: float, ahead: Vector, charge: Vector, answer: Vector) -> None:
    """m_i of every expert."""
    for i in range(n):
        answer[i] = h * ahead[i] + charge[i]
