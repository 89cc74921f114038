"""Weights of ``STEPS`` experts by what they have lost, as loops that become vector instructions."""

from __future__ import annotations

import math

from swordplay.compile import bits_to_float, expert_loop, inline_exact
from swordplay.core.types import Vector
from swordplay.engine.scalar_functions import fading
from swordplay.intervals.layout import STEPS


@inline_exact
def halved(times: int) -> float:
    """1 halved so many times, written straight into the exponent bits: a power would call a
    function for every expert.
    """
    return bits_to_float((1023 - times) << 52)


@expert_loop
def weigh(losses: Vector, lowest: float, sharpness: float, shares: Vector) -> None:
    """exp(-sharpness (loss - lowest)) of each expert."""
    for k in range(len(losses)):
        shares[k] = fading(sharpness * (lowest - losses[k]))


@inline_exact
def least(losses: Vector) -> float:
    """The smallest loss."""
    answer = math.inf
    for k in range(STEPS):
        answer = min(answer, losses[k])
    return answer


@inline_exact
def summed(shares: Vector) -> float:
    """Their sum, in two halves that do not wait for each other."""
    even = odd = 0.0
    for k in range(0, STEPS, 2):
        even += shares[k]
        odd += shares[k + 1]
    return even + odd


@inline_exact
def dot(shares: Vector, answers: Vector) -> float:
    """The sum of products, likewise."""
    even = odd = 0.0
    for k in range(0, STEPS, 2):
        even += shares[k] * answers[k]
        odd += shares[k + 1] * answers[k + 1]
    return even + odd
