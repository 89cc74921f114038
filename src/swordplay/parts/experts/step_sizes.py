r"""Step sizes of a pool of experts: constant, AdaGrad-norm, and AdaGrad-norm with a capped expert.

A step :math:`c D / \sqrt{\sum q_s}` is made for comparators that are up to D apart. In a domain of
diameter 1000 whose comparators stay within 1 of its centre it moves every expert to the boundary.
So the first expert of each kind is *capped*: its steps are never longer than the smoothness of the
losses allows. The distance it has moved from the centre gives the *width* of the part of the domain
that is in use, and the other experts take that for D.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Vector

SMALLEST_ENERGY = 1e-300
"""Sums of squared gradients below it have lost digits: doubles end at 1e-308."""


def too_short(length: float) -> str:
    """What to say of gradients whose squares vanish."""
    return (
        f"the gradients so far are no longer than {length:.1e}: their squares vanish, and steps "
        "cannot be measured by them. "
        "Multiply the losses by a constant, such as 1e100; no decision depends on it."
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
        self.step_sizes = arguments.positive_vector("step_sizes", step_sizes).copy()
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


PATIENCE = 8
"""Rounds that the capped descent expert averages over."""
MANY = 64
"""Coordinates from which on a row says so little about each that steps have to be shorter."""


ROOMY = 8.0
"""A domain that is more than so many times as wide as its span has no walls near enough to hold
who steps too far.
"""


def caution(dim: int) -> float:
    r"""ρ: by how much, :math:`\sqrt{d / 64}`.

    A step too long is noise along the row. With few coordinates later rows undo it; with d of them
    each row mends one direction in d, so that what the first rounds did to an expert it carries for
    thousands of rounds.
    """
    return math.sqrt(max(1.0, dim / MANY))


class Gauge(NamedTuple):
    """What was measured so far."""

    smoothness: float = 0.0
    """L, the largest smoothness of a loss that knows its own."""
    span: float = 0.0
    """How wide the part of the domain is that has been of use; 0 before the first gradient."""
    patience: float | tuple[()] = ()
    """Over how many rounds the capped descent expert averages in some states of before.

    The others do not say: ``PATIENCE``.
    """
    caution: float | tuple[()] = ()
    """ρ; states of before do not say, and go on with 1."""

    def average(self, rounds: int) -> float:
        """m of the capped descent expert after so many rounds: as many as there are, at most."""
        return min(
            rounds + 1.0, self.patience if isinstance(self.patience, float) else float(PATIENCE)
        )

    @property
    def rho(self) -> float:
        """m of the capped extra-gradient expert, and the root of what the span is divided by."""
        return self.caution if isinstance(self.caution, float) else 1.0

    def after(self, smoothness: float, gradient: float, farthest: float) -> Gauge:
        r"""With one loss more.

        Parameters
        ----------
        smoothness
            Of the loss; 0 where it is unknown.
        gradient
            Norm of its gradient at the decision. The first one starts the span at :math:`2 \|g\| /
            L`, twice as far as a step of 1/L goes. No later one finds it narrower than twice a step
            of the capped descent expert is long: after a first loss that is all but flat a span
            might be made of nothing.
        farthest
            Distance from the centre at which the capped descent expert stands: the span is at least
            twice as wide.
        """
        L, span = max(self.smoothness, smoothness), self.span
        if span == 0.0 and gradient > 0.0:
            span = 2.0 * gradient / L if L > 0.0 else math.inf
        step = gradient / (2.0 * L * PATIENCE) if L > 0.0 else 0.0
        return self._replace(smoothness=L, span=max(span, 2.0 * farthest, 2.0 * step))


@final
class GaugedSteps:
    r"""Steps of a pool whose first expert is capped.

    .. math:: \eta_0 = \min\Big\{\frac{c_0 D}{\sqrt{\sum_s q_{s,0}}}, \frac{1}{2 L m}\Big\}, \qquad
        \eta_i = \frac{c_i \min\{D, \text{span} / \varrho^2\}}{\sqrt{\sum_s q_{s,i}}}, \qquad c_i =
        \tfrac12 2^i

    ρ is the caution that many coordinates ask for, 1 with few. Where the smoothness is unknown,
    these are the steps of ``AdaGradNorm``.

    Parameters
    ----------
    diameter
        D of the domain.
    gauge
        What was measured.
    average
        m, over how many rounds the capped expert averages.
    """

    def __init__(self, diameter: float, gauge: Gauge, average: float = 1.0) -> None:
        self._gauge, self._whole = gauge, AdaGradNorm(diameter)
        self._used = AdaGradNorm(
            min(diameter, gauge.span / gauge.rho**2) or diameter
        )  # 0 only where no step was taken yet
        bend = 2.0 * gauge.smoothness * average
        self._ceiling = 1.0 / bend if bend > 0.0 else math.inf

    def count(self) -> int:
        """One, the capped one; more are forked off at once and as the rounds go by."""
        return 1

    def inherited(self, energy: Vector) -> float:
        r"""The energy that a copy of the last expert begins with: its parent's, or what leaves it a
        step of 1/L.

        A copy steps twice as far as its parent, with the energy of a parent that never stepped so
        far. Beyond 2/L every step overshoots by more than was missed, until the energy has grown to
        match. In a small domain a wall ends that at once; in one that is far too large it goes on
        to about :math:`c_i` spans, and takes the decisions and the meta's rate along.
        """
        gauge, multiplier = self._gauge, 0.5 * 2.0 ** len(energy)
        if not (
            energy[-1] > 0.0 and gauge.span > 0.0 and self._whole.diameter > ROOMY * gauge.span
        ):
            return float(energy[-1])
        return max(float(energy[-1]), (multiplier * self._used.diameter * gauge.smoothness) ** 2)

    def sizes(self, energy: Vector) -> Vector:
        """Step sizes for the summed squared surprises of each expert, shape ``(N,)``.

        Inf where nothing was met.
        """
        sizes = self._used.sizes(energy)
        if energy[0] > 0:
            sizes[0] = min(self._whole.sizes(energy[:1])[0], self._ceiling)
        return sizes
