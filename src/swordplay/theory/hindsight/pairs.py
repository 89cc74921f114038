"""Pairs of slacks and multipliers whose products all go to one number: what the parts of an
interior-point method share.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from swordplay.core.types import Array, Matrix
from swordplay.theory.hindsight.cones import ConePoints, Scaling, inner


class ConePairs(ABC):
    """Points of second-order cones, and multipliers in the same cones.

    Both move by steps of their own: next to a boundary they are smaller than what the comparators
    round by.
    """

    def __init__(self, primal: ConePoints, dual: ConePoints) -> None:
        self.primal, self.dual = primal, dual

    @property
    def products(self) -> float:
        """Sum of all products of slacks and multipliers."""
        return float(
            (self.primal.head * self.dual.head + inner(self.primal.tail, self.dual.tail)).sum()
        )

    @property
    def count(self) -> int:
        """How many products there are."""
        return len(self.primal.head)

    @abstractmethod
    def aim(self, mu: float) -> Matrix:
        """What is asked of the comparators for products of mu."""

    def scale(self) -> None:
        """Take the measure of the present pairs."""
        self.scaling = Scaling(self.primal, self.dual)
        self._steps: tuple[ConePoints, ConePoints] | None = None

    def take(self, share: float) -> None:
        """Take a share of the last step."""
        assert self._steps is not None
        self.primal, self.dual = (
            ConePoints(now.head + share * step.head, now.tail + share * step.tail)
            for now, step in zip((self.primal, self.dual), self._steps, strict=True)
        )

    def _plan(self, primal: ConePoints, dual: ConePoints) -> float:
        """Remember a step; how many times it fits."""
        self._steps = primal, dual
        return self.scaling.longest_step(primal, dual)


class NumberPairs(ABC):
    """Positive numbers, and multipliers as positive."""

    def __init__(self, slacks: Array, pressures: Array) -> None:
        self.slacks, self.pressures = slacks, pressures

    @property
    def products(self) -> float:
        """Sum of all products of slacks and multipliers."""
        return float((self.slacks * self.pressures).sum())

    @property
    def count(self) -> int:
        """How many products there are."""
        return int(self.slacks.size)

    @abstractmethod
    def aim(self, mu: float) -> Matrix:
        """What is asked of the comparators for products of mu."""

    def scale(self) -> None:
        """Take the measure of the present pairs."""
        self._steps: tuple[Array, Array] | None = None

    def take(self, share: float) -> None:
        """Take a share of the last step."""
        assert self._steps is not None
        self.slacks, self.pressures = (
            self.slacks + share * self._steps[0],
            self.pressures + share * self._steps[1],
        )

    def _missing(self, mu: float) -> Array:
        """What the multipliers miss, corrected by what the last step would have missed."""
        second = 0.0 if self._steps is None else self._steps[0] * self._steps[1]
        return np.asarray((mu - second) / self.slacks - self.pressures)

    def _plan(self, slacks: Array, missing: Array) -> float:
        """Remember a step of the slacks and the multipliers' answer; how many times it fits."""
        self._steps = slacks, missing - self.pressures * slacks / self.slacks
        return min(_longest(self.slacks, slacks), _longest(self.pressures, self._steps[1]))


def _longest(positive: Array, step: Array) -> float:
    fastest = float((-step / positive).max(initial=0.0))
    return 1.0 / fastest if fastest > 0.0 else math.inf
