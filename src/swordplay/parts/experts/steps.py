"""How long the steps of a pool of experts are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Vector

SMALLEST_ENERGY = 1e-300
"""Sums of squared gradients below it have lost digits: doubles end at 1e-308."""


def too_short(length: float) -> str:
    """Return the message about gradients whose squares underflow."""
    return (
        f"the gradients so far are no longer than {length:.1e}: their squares vanish, and steps "
        "and certificates are made of them. Multiply the losses by a constant, such as 1e100, and "
        "constants that the learner was made with, such as smoothness, accordingly."
    )


class Steps(Protocol):
    """Step sizes as a function of what each expert has met so far."""

    def count(self) -> int:
        """How many experts start."""
        ...

    def inherited(self, energy: Vector) -> float:
        """The energy that a copy of the last expert begins with."""
        ...

    def sizes(self, energy: Vector) -> Vector:
        """Step sizes for the summed squared surprises of each expert, shape ``(N,)``.

        Inf where nothing was met.
        """
        ...


@final
class Constant:
    """One step size per expert, for ever.

    Parameters
    ----------
    step_sizes
        The pool, shape ``(N,)``, positive.
    """

    def __init__(self, step_sizes: Any) -> None:
        self.step_sizes = arguments.positives("step_sizes", step_sizes).copy()
        self.step_sizes.flags.writeable = False

    def count(self) -> int:
        """The length of the pool."""
        return len(self.step_sizes)

    def inherited(self, energy: Vector) -> float:
        """Its parent's."""
        return float(energy[-1])

    def sizes(self, energy: Vector) -> Vector:
        """The pool, whatever was met."""
        return self.step_sizes


@final
class AdaGradNorm:
    r"""Steps that measure the gradients themselves: no bound G, no smoothness L, no horizon.

    .. math:: \eta_i = \frac{c_i D}{\sqrt{\sum_s q_{s,i}}}, \qquad c_i = \tfrac12 2^i

    Parameters
    ----------
    diameter
        D of the domain.

    References
    ----------
    Streeter and McMahan (2010), "Less regret via online conditioning".
    """

    def __init__(self, diameter: float) -> None:
        self.diameter = arguments.positive("diameter", diameter)

    def settings(self) -> Mapping[str, Any]:
        """The diameter that the steps are made of."""
        return {"diameter": self.diameter}

    def count(self) -> int:
        """One; more are forked off as the rounds go by."""
        return 1

    def inherited(self, energy: Vector) -> float:
        """Its parent's."""
        return float(energy[-1])

    def sizes(self, energy: Vector) -> Vector:
        """c_i D over the root of the energy, inf where the energy is 0.

        Raises
        ------
        ValueError
            If gradients were met, but so short that their squares all but vanish: the steps would
            be made of rounding.
        """
        if ((energy > 0) & (energy < SMALLEST_ENERGY)).any():
            raise ValueError(too_short(float(np.sqrt(energy.max()))))
        multipliers = 0.5 * 2.0 ** np.arange(len(energy))
        with np.errstate(divide="ignore"):
            return np.asarray(multipliers * self.diameter / np.sqrt(energy))
