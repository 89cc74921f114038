"""Prior weights: what is thought of each expert before the first round."""

from __future__ import annotations

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Vector


def uniform(experts: int) -> Vector:
    """1/N each."""
    return np.full(arguments.integer("experts", experts), 1.0 / experts)


def telescoping(experts: int) -> Vector:
    r""":math:`\pi_i = (1 + 1/N) / (i (i+1))`, i = 1..N: small steps are thought likelier (Ader)."""
    i = np.arange(1.0, experts + 1.0)
    return np.asarray((1.0 + 1.0 / experts) / (i * (i + 1.0)))


def telescoping_with_tail(experts: int) -> Vector:
    r""":math:`\pi_i = 1/((i+1)(i+2))`, i = 0..N-1, the last one holding what all later ones would:
    a sum of 1.

    When an expert is added, the last one's weight 1/N splits into 1/(N (N+1)) and 1/(N+1) and no
    other changes.
    """
    i = np.arange(float(experts))
    prior = 1.0 / ((i + 1.0) * (i + 2.0))
    prior[-1] = 1.0 / experts
    return np.asarray(prior)
