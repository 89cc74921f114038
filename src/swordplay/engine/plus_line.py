"""Sword++ while nobody has been projected: an expert is its step, and all else is the same for
everybody.

Experts that were never projected stand on one line, xhat_i = -eta_i theta (see ``plus_sum``), and
so do the points that they play, x_i = -eta_i (theta + h' a') with h' a' the gradient of the round
before. Whatever a round adds to a number of an expert is then eta_i, or its square, times a number
that is the same for all:

    <a, x_i>           -eta_i (<a, theta> + h' <a, a'>)
    guess of the loss  eta_i hope + eta_i^2 fee
    losses so far      kept times those of before + eta_i lost + eta_i^2 paid

These are kept once (``LIVE``, from ``in_line`` on), and the rows of ``numbers`` stay as they were
when that began: a round has one thing to do for every expert, its weight. ``enter`` begins it,
after a round that projected nobody, and ``leave`` brings the rows up to date: before a round that
projects somebody, and when a kernel ends.
"""

from __future__ import annotations

import math

from swordplay.compile import expert_loop, inline, larger, smaller
from swordplay.core.types import Vector
from swordplay.engine.blocks import columns_of, dot, largest, least
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, Arrays, Products
from swordplay.engine.plus_own import SUM
from swordplay.engine.plus_plus import derivative, hear
from swordplay.engine.plus_steps import Heard
from swordplay.engine.scalar import fading
from swordplay.engine.weights import share


@inline
def enter(me: Arrays, of: Products, heard: Heard) -> None:
    """After a round that projected nobody: guesses and charges have the form that is kept."""
    live, numbers, theta = me.live, me.numbers, me.vectors[SUM]
    n, eta = columns_of(numbers), numbers[EXPERT.eta]
    live[LIVE.in_line], live[LIVE.widest], live[LIVE.narrowest] = (
        1.0,
        largest(n, eta),
        least(n, eta),
    )
    live[LIVE.mean_step] = dot(n, numbers[EXPERT.weight], eta) * live[LIVE.share]
    live[LIVE.kept], live[LIVE.lost], live[LIVE.paid], live[LIVE.ahead], live[LIVE.behind] = (
        1.0,
        0.0,
        0.0,
        0.0,
        0.0,
    )
    live[LIVE.out], live[LIVE.outmost] = dot(len(theta), theta, theta), 0.0
    look_ahead(live, of, heard)


@inline
def look_ahead(live: Vector, of: Products, heard: Heard) -> None:
    """Where the steps of a round have led, and what is expected of the next."""
    h, product = heard.h, live[LIVE.product]
    live[LIVE.out] = gone_out(live, of, h)
    live[LIVE.outmost] = larger(live[LIVE.outmost], live[LIVE.out])
    live[LIVE.hope] = -h * (product + 2.0 * h * of.norm)
    live[LIVE.fee] = heard.fee
    live[LIVE.toward] = -(product + h * of.norm)


@inline
def gone_out(live: Vector, of: Products, h: float) -> float:
    """norm(theta + h a)^2."""
    return float(larger(live[LIVE.out] + h * (2.0 * live[LIVE.product] + h * of.norm), 0.0))


@inline
def predict(me: Arrays, of: Products) -> float:
    """The weighted sum of <a, x_i>: of weights the mean step is all that it needs."""
    live = me.live
    return float(-live[LIVE.mean_step] * (live[LIVE.product] + live[LIVE.candidate] * of.cross))


@inline
def judge(me: Arrays, of: Products, prediction: float, target: float) -> bool:
    """All that a round does, and whether it was played: if it would project somebody, nothing
    has happened.
    """
    live, h = me.live, derivative(me, of, prediction, target)
    if strays(me, of, h):
        return False
    loss = h * (live[LIVE.product] + live[LIVE.candidate] * of.cross)  # of every expert, over -eta
    spread = (live[LIVE.widest] - live[LIVE.narrowest]) * abs(loss + live[LIVE.hope])
    heard, rate, afresh = hear(me, of, h, prediction, spread)
    live[LIVE.candidate] = h
    live[LIVE.ahead] += h * prediction
    live[LIVE.behind] += loss
    kept = 0.0 if afresh else heard.retention
    live[LIVE.kept] *= kept
    live[LIVE.lost] = 0.0 if afresh else kept * live[LIVE.lost] - loss
    live[LIVE.paid] = 0.0 if afresh else kept * live[LIVE.paid] + live[LIVE.fee]
    look_ahead(live, of, heard)
    weigh(me, rate)
    return True


@inline
def strays(me: Arrays, of: Products, h: float) -> bool:
    """Whether somebody on the line would have to be projected: xhat - k a or xhat - 2 k a leaves
    the ball.
    """
    live = me.live
    twice = live[LIVE.out] + 4.0 * h * (live[LIVE.product] + h * of.norm)
    reached = live[LIVE.widest] * live[LIVE.widest] * larger(gone_out(live, of, h), twice)
    return bool(h != 0.0 and reached > me.config[CONFIG.size] * me.config[CONFIG.size])


@inline
def weigh(me: Arrays, rate: float) -> None:
    """Weights of the coming round, to be normalised, and the mean step."""
    live, numbers = me.live, me.numbers
    if rate == math.inf:  # whoever leads has all: that needs the losses themselves
        leave(me, 0.0)
        share(me, 0.0, rate)
        return
    n, eta, sums = columns_of(numbers), numbers[EXPERT.eta], numbers[EXPERT.scratch]
    linear, square = live[LIVE.lost] + live[LIVE.hope], live[LIVE.paid] + live[LIVE.fee]
    low = add_up(n, live[LIVE.kept], linear, square, numbers[EXPERT.cumulative], eta, sums)
    total, steps = exponentials(
        n, rate, low, numbers[EXPERT.log_prior], sums, eta, numbers[EXPERT.weight]
    )
    live[LIVE.share] = 1.0 / total
    live[LIVE.mean_step] = steps / total


@expert_loop
def add_up(
    n: int, kept: float, linear: float, square: float, before: Vector, eta: Vector, sums: Vector
) -> float:
    """Loss so far + guess of every expert; returns the least."""
    smallest = math.inf
    for i in range(n):
        sums[i] = kept * before[i] + eta[i] * (linear + eta[i] * square)
        smallest = smaller(smallest, sums[i])
    return smallest


@expert_loop
def exponentials(
    n: int, rate: float, low: float, log_prior: Vector, sums: Vector, eta: Vector, answer: Vector
) -> tuple[float, float]:
    """As ``weights.exponentials``.

    Returns the sum of the weights, and that of each times its step.
    """
    total = steps = 0.0
    for i in range(n):
        weight = fading(log_prior[i] - rate * (sums[i] - low))
        answer[i] = weight
        total += weight
        steps += weight * eta[i]
    return total, steps


@inline
def leave(me: Arrays, cross: float) -> None:
    """Rows of numbers as they would be now, and products with a row whose <a, a'> this is."""
    live, numbers = me.live, me.numbers
    along = live[LIVE.product] + live[LIVE.candidate] * cross
    for i in range(columns_of(numbers)):
        step = numbers[EXPERT.eta, i]
        numbers[EXPERT.at_base, i] = -step * live[LIVE.product]
        numbers[EXPERT.played, i] = -step * along
        numbers[EXPERT.gamma, i] = step * live[LIVE.candidate]
        numbers[EXPERT.turned, i] = step * live[LIVE.toward]
        numbers[EXPERT.charge, i] = step * (step * live[LIVE.fee])
        numbers[EXPERT.guess, i] = step * (live[LIVE.hope] + step * live[LIVE.fee])
        numbers[EXPERT.advantage, i] += live[LIVE.ahead] + step * live[LIVE.behind]
        so_far = live[LIVE.kept] * numbers[EXPERT.cumulative, i] + step * (
            live[LIVE.lost] + step * live[LIVE.paid]
        )
        numbers[EXPERT.cumulative, i] = so_far
        numbers[EXPERT.norm, i] = step * (step * live[LIVE.out])
        numbers[EXPERT.farthest, i] = max(
            numbers[EXPERT.farthest, i], step * (step * live[LIVE.outmost])
        )
    live[LIVE.in_line], live[LIVE.smallest] = (
        0.0,
        least(columns_of(numbers), numbers[EXPERT.cumulative]),
    )
