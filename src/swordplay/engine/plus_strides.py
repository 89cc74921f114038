"""Steps of experts that share one gradient, in numbers: loops over experts for ``plus_plus`` and ``plus_once``."""

from __future__ import annotations

import math

from swordplay.base.compiling import expert_loop, larger, smaller
from swordplay.base.types import Vector
from swordplay.engine.layout import Products


@expert_loop
def farthest(
    n: int, h: float, norm: float, eta: Vector, at_base: Vector, base_norm: Vector, alpha: Vector
) -> tuple[float, float]:
    """The largest squared norm of both steps of all experts before anything is projected, and the smallest alpha so far."""
    far, shrunk = 0.0, 1.0
    for i in range(n):
        stride = eta[i] * h
        cosine, moved = stride * at_base[i], stride * stride * norm
        once = base_norm[i] - 2.0 * cosine + moved
        twice = base_norm[i] - 4.0 * cosine + 4.0 * moved
        far = larger(far, larger(once, twice) if stride != 0.0 else 0.0)
        shrunk = smaller(shrunk, alpha[i])
    return far, shrunk


@expert_loop
def stride_freely(
    n: int,
    h: float,
    norm: float,
    charged: float,
    eta: Vector,
    at_base: Vector,
    base_norm: Vector,
    farthest: Vector,
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
        square = larger(base_norm[i] - 2.0 * stride * at_base[i] + moved, 0.0)
        base_norm[i] = square
        farthest[i] = larger(farthest[i], square)
        now = at_base[i] - stride * norm
        gamma[i] = stride
        ahead[i] = now - stride * norm
        lead[i] = moved
        turned[i] = now
        charge[i] = eta[i] * eta[i] * charged


@expert_loop
def stride_after(
    n: int,
    h: float,
    of: Products,
    charged: float,
    eta: Vector,
    at_base: Vector,
    base_norm: Vector,
    farthest: Vector,
    alpha: Vector,
    gamma: Vector,
    ahead: Vector,
    lead: Vector,
    turned: Vector,
    charge: Vector,
) -> None:
    """As ``stride_freely`` after a round in which somebody was projected as they looked ahead: the charge differs."""
    for i in range(n):
        stride = eta[i] * h
        moved = stride * stride * of.norm
        along, across, left = 1.0 - alpha[i], 2.0 * stride, gamma[i]
        squares = along * along * base_norm[i] + across * across * of.norm + left * left * of.last_norm
        crossed = along * (left * turned[i] - across * at_base[i]) - across * left * of.cross
        charge[i] = charged * larger(squares + 2.0 * crossed, 0.0)
        square = larger(base_norm[i] - 2.0 * stride * at_base[i] + moved, 0.0)
        base_norm[i] = square
        farthest[i] = larger(farthest[i], square)
        now = at_base[i] - stride * of.norm
        alpha[i] = 1.0
        gamma[i] = stride
        ahead[i] = now - stride * of.norm
        lead[i] = moved
        turned[i] = now


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
    farthest: Vector,
    alpha: Vector,
    gamma: Vector,
    ahead: Vector,
    lead: Vector,
    turned: Vector,
    charge: Vector,
    shifts: Vector,
) -> tuple[float, float]:
    """The same with both projections, sigma and tau, and the charge as a quadratic form; shifts are eta (1/s' - 1/s)."""
    limit, smallest, most = radius * radius, math.inf, 0.0
    for i in range(n):
        k, was, at = eta[i] * h, base_norm[i], at_base[i]
        once = larger(was - 2.0 * k * at + k * k * of.norm, 0.0)
        sigma = radius / math.sqrt(once) if once > limit else 1.0
        size, inverse = scale[i] * sigma, unscale[i]
        scale[i], unscale[i] = size, 1.0 / size
        shift = eta[i] * (unscale[i] - inverse)
        shifts[i] = shift
        smallest, most = smaller(smallest, size), larger(most, shift)
        base, now = smaller(once, limit), sigma * (at - k * of.norm)
        twice = base - 2.0 * k * now + k * k * of.norm
        # A base point on the sphere may lie outside it by rounding; where nothing moved, nothing is to be projected.
        tau = radius / math.sqrt(twice) if twice > limit and k != 0.0 else 1.0
        gone, back = tau * k, tau - 1.0
        along, across, left = tau * sigma - alpha[i], tau * sigma * k + gone, gamma[i]
        squares = along * along * was + across * across * of.norm + left * left * of.last_norm
        crossed = along * (left * turned[i] - across * at) - across * left * of.cross
        charge[i] = charged * larger(squares + 2.0 * crossed, 0.0)
        base_norm[i] = base
        farthest[i] = larger(farthest[i], base)
        alpha[i] = tau
        gamma[i] = gone
        ahead[i] = tau * now - gone * of.norm
        lead[i] = larger(back * back * base - 2.0 * back * gone * now + gone * gone * of.norm, 0.0)
        turned[i] = now
    return smallest, most
