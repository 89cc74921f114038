"""What a gradient in common does to experts of Sword++, in numbers: one pass over them.

The certificate's sums, the meta's losses, both steps, the charge and the guess of the coming loss:
each by itself would load and store most of these numbers again. Three loops differ in who had to be
projected.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from swordplay.compile import expert_loop, inline, larger, smaller, tail_view
from swordplay.core.types import Matrix, Vector
from swordplay.engine.layout import EXPERT, Products


class Heard(NamedTuple):
    """What a round has told everybody."""

    h: float
    """The gradient is h a."""
    surprise: float
    """norm(g_t - g_{t-1})^2."""
    prediction: float
    """<a, x_t>."""
    off: float
    """What is taken off all losses so far."""
    retention: float
    """What is kept of these."""
    charge: float
    """What the meta charges for a squared distance."""
    fee: float
    """What a step of 1 is charged where nobody is projected."""
    radius: float
    """Of the ball."""
    led: float
    """How far a step of 1 led ahead in the last round, as a square, where nobody was projected."""
    drift: float
    """What the certificate adds to the drift of a step of 1 there: it is added for everybody
    when a kernel ends.
    """


class Numbers(NamedTuple):
    """Rows of ``numbers``, as far as they are about some experts, and where shifts go."""

    eta: Any
    inverse: Any
    played: Any
    at_base: Any
    norm: Any
    farthest: Any
    alpha: Any
    gamma: Any
    scale: Any
    unscale: Any
    lead: Any
    turned: Any
    charge: Any
    guess: Any
    advantage: Any
    drift: Any
    cumulative: Any
    shifts: Any


@inline
def numbers_of(numbers: Matrix, first: int, shifts: Vector) -> Numbers:
    """Those from this column on."""
    return Numbers(
        tail_view(numbers[EXPERT.eta], first),
        tail_view(numbers[EXPERT.inverse], first),
        tail_view(numbers[EXPERT.played], first),
        tail_view(numbers[EXPERT.at_base], first),
        tail_view(numbers[EXPERT.norm], first),
        tail_view(numbers[EXPERT.farthest], first),
        tail_view(numbers[EXPERT.alpha], first),
        tail_view(numbers[EXPERT.gamma], first),
        tail_view(numbers[EXPERT.scale], first),
        tail_view(numbers[EXPERT.unscale], first),
        tail_view(numbers[EXPERT.lead], first),
        tail_view(numbers[EXPERT.turned], first),
        tail_view(numbers[EXPERT.charge], first),
        tail_view(numbers[EXPERT.guess], first),
        tail_view(numbers[EXPERT.advantage], first),
        tail_view(numbers[EXPERT.drift], first),
        tail_view(numbers[EXPERT.cumulative], first),
        tail_view(shifts, first),
    )


@inline
def farthest(stride: float, norm: float, at_base: float, base_norm: float) -> float:
    """The larger squared norm of xhat - k a and xhat - 2 k a, before anything is projected.

    0 for whoever stays.
    """
    cosine, moved = stride * at_base, stride * stride * norm
    once = base_norm - 2.0 * cosine + moved
    twice = base_norm - 4.0 * cosine + 4.0 * moved
    return float(larger(once, twice) if stride != 0.0 else 0.0)


@inline
def account(heard: Heard, of: Numbers, i: int) -> float:
    """The advantage of an expert, and its loss so far, which is returned."""
    of.advantage[i] += heard.h * (heard.prediction - of.played[i])
    loss = heard.h * of.played[i] + of.charge[i]
    so_far = heard.retention * (of.cumulative[i] - heard.off) + loss
    of.cumulative[i] = so_far
    return float(so_far)


@inline
def lead_of(eta: float, alpha: float, lead: float, led: float) -> float:
    """norm(x_t - xhat_t)^2: that of a free step is not noted, it is the same for everybody but
    for eta.
    """
    return lead if alpha < 1.0 else eta * eta * led


@inline
def drift_apart(heard: Heard, of: Numbers, i: int) -> None:
    """The certificate's drift of somebody who was projected: what differs from that of a free
    step.
    """
    lead = lead_of(of.eta[i], of.alpha[i], of.lead[i], heard.led)
    of.drift[i] += (
        0.5 * (of.eta[i] * heard.surprise - of.inverse[i] * lead) - of.eta[i] * heard.drift
    )


@inline
def expect(heard: Heard, of: Numbers, i: int, ahead: float, fee: float) -> float:
    """m_i = <g_t, x_{t+1,i}> + 2L norm(x_{t+1,i} - x_{t,i})^2, which is returned."""
    of.charge[i] = fee
    m = heard.h * ahead + fee
    of.guess[i] = m
    return float(m)


@expert_loop
def advance_freely(n: int, heard: Heard, row: Products, of: Numbers) -> tuple[float, float]:
    """xhat - k a and then xhat - 2 k a, where neither leaves the ball; alpha is 1 already.

    How far they lead ahead, and the certificate's drift, are everybody's but for eta: ``finish``
    writes both. Returns the smallest loss so far, and the least of that with the guess of the next.
    """
    smallest, hoped = math.inf, math.inf
    for i in range(n):
        so_far = account(heard, of, i)
        smallest = smaller(smallest, so_far)
        stride = of.eta[i] * heard.h
        moved = stride * stride * row.norm
        square = larger(of.norm[i] - 2.0 * stride * of.at_base[i] + moved, 0.0)
        of.norm[i] = square
        of.farthest[i] = larger(of.farthest[i], square)
        now = of.at_base[i] - stride * row.norm
        of.gamma[i] = stride
        of.turned[i] = now
        m = expect(heard, of, i, now - stride * row.norm, of.eta[i] * of.eta[i] * heard.fee)
        hoped = smaller(hoped, so_far + m)
    return smallest, hoped


@expert_loop
def advance_after(n: int, heard: Heard, row: Products, of: Numbers) -> tuple[float, float]:
    """As ``advance_freely`` after a round in which somebody was projected as they looked ahead:
    the charge differs.
    """
    smallest, hoped = math.inf, math.inf
    for i in range(n):
        so_far = account(heard, of, i)
        smallest = smaller(smallest, so_far)
        drift_apart(heard, of, i)
        stride = of.eta[i] * heard.h
        moved = stride * stride * row.norm
        along, across, left = 1.0 - of.alpha[i], 2.0 * stride, of.gamma[i]
        squares = (
            along * along * of.norm[i] + across * across * row.norm + left * left * row.last_norm
        )
        crossed = along * (left * of.turned[i] - across * of.at_base[i]) - across * left * row.cross
        fee = heard.charge * larger(squares + 2.0 * crossed, 0.0)
        square = larger(of.norm[i] - 2.0 * stride * of.at_base[i] + moved, 0.0)
        of.norm[i] = square
        of.farthest[i] = larger(of.farthest[i], square)
        now = of.at_base[i] - stride * row.norm
        of.alpha[i] = 1.0
        of.gamma[i] = stride
        of.turned[i] = now
        m = expect(heard, of, i, now - stride * row.norm, fee)
        hoped = smaller(hoped, so_far + m)
    return smallest, hoped


@expert_loop
def advance_within(
    n: int, heard: Heard, row: Products, of: Numbers
) -> tuple[float, float, float, float]:
    """The same with both projections, sigma and tau, and the charge as a quadratic form.

    Shifts are eta (1/s' - 1/s).

    Returns the smallest scale and the largest shift, too.
    """
    smallest, hoped, least, most = math.inf, math.inf, math.inf, 0.0
    h, radius = heard.h, heard.radius
    limit = radius * radius
    for i in range(n):
        so_far = account(heard, of, i)
        smallest = smaller(smallest, so_far)
        drift_apart(heard, of, i)
        k, was, at = of.eta[i] * h, of.norm[i], of.at_base[i]
        once = larger(was - 2.0 * k * at + k * k * row.norm, 0.0)
        sigma = radius / math.sqrt(once) if once > limit else 1.0
        size, inverse = of.scale[i] * sigma, of.unscale[i]
        # A quotient, where the inverse times root / radius would do: whoever loads a saved engine
        # makes it of the scale, too.
        unscale = 1.0 / size if once > limit else inverse
        of.scale[i], of.unscale[i] = size, unscale
        shift = of.eta[i] * (unscale - inverse)
        of.shifts[i] = shift
        least, most = smaller(least, size), larger(most, shift)
        base, now = smaller(once, limit), sigma * (at - k * row.norm)
        twice = base - 2.0 * k * now + k * k * row.norm
        # A base point on the sphere may lie outside it by rounding; where nothing moved, nothing is
        # to be projected.
        tau = radius / math.sqrt(twice) if twice > limit and k != 0.0 else 1.0
        gone, back = tau * k, tau - 1.0
        along, across, left = tau * sigma - of.alpha[i], tau * sigma * k + gone, of.gamma[i]
        squares = along * along * was + across * across * row.norm + left * left * row.last_norm
        crossed = along * (left * of.turned[i] - across * at) - across * left * row.cross
        fee = heard.charge * larger(squares + 2.0 * crossed, 0.0)
        of.norm[i] = base
        of.farthest[i] = larger(of.farthest[i], base)
        of.alpha[i] = tau
        of.gamma[i] = gone
        of.lead[i] = larger(
            back * back * base - 2.0 * back * gone * now + gone * gone * row.norm, 0.0
        )
        of.turned[i] = now
        m = expect(heard, of, i, tau * now - gone * row.norm, fee)
        hoped = smaller(hoped, so_far + m)
    return smallest, hoped, least, most
