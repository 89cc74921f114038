r"""Step sizes of a pool of experts: constant, AdaGrad-norm, and AdaGrad-norm with a capped expert.

A step size :math:`c D / \sqrt{\sum q_s}` is made for comparators that are up to D apart. In a
domain of diameter 1000 whose comparators stay within 1 of its centre, such steps move every expert
to the boundary. Therefore the first expert of each kind is *capped*: its steps are never longer
than the smoothness of the losses allows. Its distance from the centre shows the *width* of the part
of the domain that is in use, and the step sizes of the other experts are computed for this width in
place of D.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, Protocol, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.state import LARGE, OBSERVED, Field, check, number
from swordplay.core.types import Vector

SMALLEST_SUM = 1e-300
"""Smallest sum of squares, other than 0, with full precision: doubles lose digits below 1e-308."""
AVERAGED_ROUNDS = 8
"""Number of rounds over which the capped gradient-descent expert averages."""
MANY_COLUMNS = 64
"""Number of coordinates above which steps are shortened, see :func:`step_shrink`."""
WIDE_DOMAIN_RATIO = 8.0
"""Ratio of diameter to used width above which the boundary no longer stops an overlong step."""


def underflow_message(length: float) -> str:
    """Return the message about gradients whose squares underflow."""
    return (
        f"the gradients so far are no longer than {length:.1e}: their squares vanish, and steps "
        "and certificates are made of them. Multiply the losses by a constant, such as 1e100, and "
        "constants that the learner was made with, such as smoothness, accordingly."
    )


class StepRule(Protocol):
    """Step sizes of a pool as a function of the squared errors that each expert has met."""

    def count(self) -> int:
        """Number of experts before the first round."""
        ...

    def sum_of_copy(self, squared_error_sum: Vector) -> float:
        """``squared_error_sum`` with which a copy of the last expert starts."""
        ...

    def sizes(self, squared_error_sum: Vector) -> Vector:
        r"""Step size of each expert, shape ``(N,)``; infinite where the sum is 0.

        Parameters
        ----------
        squared_error_sum
            :math:`\sum_s q_{s,i} = \sum_s \|g_{s,i} - M_{s,i}\|^2`, shape ``(N,)``.
        """
        ...


@final
class Constant:
    """One step size per expert that never changes.

    Parameters
    ----------
    step_sizes
        The pool, shape ``(N,)``, positive.
    """

    def __init__(self, step_sizes: Any) -> None:
        self.step_sizes = arguments.positive_vector("step_sizes", step_sizes).copy()
        self.step_sizes.flags.writeable = False

    def count(self) -> int:
        """Length of the pool."""
        return len(self.step_sizes)

    def sum_of_copy(self, squared_error_sum: Vector) -> float:
        """Sum of the copied expert."""
        return float(squared_error_sum[-1])

    def sizes(self, squared_error_sum: Vector) -> Vector:
        """Return the pool; the sums have no influence."""
        return self.step_sizes


@final
class AdaGradNorm:
    r"""Steps that are scaled by the gradients themselves, without G, L or horizon.

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
        """Constructor arguments, saved with a learner's state."""
        return {"diameter": self.diameter}

    def count(self) -> int:
        """One expert; further ones are copies, added as rounds go by."""
        return 1

    def sum_of_copy(self, squared_error_sum: Vector) -> float:
        """Sum of the copied expert."""
        return float(squared_error_sum[-1])

    def sizes(self, squared_error_sum: Vector) -> Vector:
        r""":math:`c_i D / \sqrt{\sum_s q_{s,i}}`, infinite where the sum is 0.

        Raises
        ------
        ValueError
            If a sum is positive but has lost digits to underflow.
        """
        if ((squared_error_sum > 0) & (squared_error_sum < SMALLEST_SUM)).any():
            raise ValueError(underflow_message(float(np.sqrt(squared_error_sum.max()))))
        multipliers = 0.5 * 2.0 ** np.arange(len(squared_error_sum))  # c_i
        with np.errstate(divide="ignore"):
            return np.asarray(multipliers * self.diameter / np.sqrt(squared_error_sum))


def step_shrink(dim: int) -> float:
    r"""ρ, the factor that shortens steps in many dimensions: :math:`\sqrt{\max\{1, d / 64\}}`.

    The part of a step that is too long is noise along the row of features. With few coordinates,
    later rows correct it. With d coordinates, each row corrects one direction in d, so that an
    expert carries the errors of its first rounds for thousands of rounds.
    """
    return math.sqrt(max(1.0, dim / MANY_COLUMNS))


MAX_STEP_COST = 1e280
"""Largest saved D^2 / eta, the cost of a move across the domain: small beside other sums."""
MAX_INVERSE_STEP = 1e151
"""Largest saved D / eta, which a round adds to S of a certificate."""


def check_error_sums(name: str, error_sums: Vector) -> None:
    """Refuse saved sums of squared errors that are too small for step sizes; 0 is allowed.

    Raises
    ------
    ValueError
        Names the entry.
    """
    check(name, error_sums[error_sums != 0.0], Field(SMALLEST_SUM, LARGE))


class DomainScale(NamedTuple):
    """Smoothness of the losses and width of the used part of the domain, as measured so far."""

    smoothness: Annotated[float, number(0.0, math.inf)] = 0.0
    """L, the largest smoothness among the losses that know theirs."""
    width: Annotated[float, number(0.0, math.inf)] = 0.0
    """Width of the part of the domain in use; 0 before the first gradient."""
    step_shrink: Annotated[float, number(1.0, 1e9)] = 1.0
    """ρ, see :func:`step_shrink`: m of the capped extra-gradient expert."""

    def check(self, error_sums: Vector, diameter: float) -> None:
        """Refuse a saved scale whose step sizes would vanish.

        1 / eta is 2 L m for capped experts, and for others the root of their sum over the width.

        Parameters
        ----------
        error_sums
            Sums of squared errors of all experts.
        diameter
            D of the domain.

        Raises
        ------
        ValueError
            Names the number that is too large or too small.
        """
        most = min(MAX_STEP_COST, MAX_INVERSE_STEP / diameter)
        average = max(self.averaged_rounds(int(OBSERVED.high)), self.step_shrink)
        check("domain_scale.smoothness", self.smoothness, Field(0.0, most / (2.0 * average)))
        if self.width != 0.0:
            least = 2.0 * self.step_shrink**2 * math.sqrt(max(1.0, float(error_sums.max()))) / most
            check("domain_scale.width", self.width, Field(least, math.inf))

    def averaged_rounds(self, rounds: int) -> float:
        """m of the capped descent expert: the number of rounds over which it averages."""
        return min(rounds + 1.0, float(AVERAGED_ROUNDS))

    def with_loss(self, smoothness: float, gradient_norm: float, distance: float) -> DomainScale:
        r"""Return the scale with one more loss included.

        Parameters
        ----------
        smoothness
            Smoothness of the loss; 0 where it is unknown.
        gradient_norm
            Norm of the gradient at the decision. The first one sets the width to
            :math:`2 \|g\| / L`, twice the length of a step of size 1/L. Each later one widens it to
            at least twice the length of a step of the capped descent expert: a first loss that is
            nearly flat would otherwise leave a width of almost nothing.
        distance
            Distance of the capped descent expert from the centre. The width is at least twice this.
        """
        L, width = max(self.smoothness, smoothness), self.width
        if width == 0.0 and gradient_norm > 0.0:
            width = 2.0 * gradient_norm / L if L > 0.0 else math.inf
        step = gradient_norm / (2.0 * L * AVERAGED_ROUNDS) if L > 0.0 else 0.0
        return self._replace(smoothness=L, width=max(width, 2.0 * distance, 2.0 * step))


@final
class CappedAdaGrad:
    r"""AdaGrad-norm steps of a pool whose first expert is capped.

    .. math:: \eta_0 = \min\Big\{\frac{c_0 D}{\sqrt{\sum_s q_{s,0}}}, \frac{1}{2 L m}\Big\}, \qquad
        \eta_i = \frac{c_i \min\{D, \text{width} / \varrho^2\}}{\sqrt{\sum_s q_{s,i}}}, \qquad c_i =
        \tfrac12 2^i

    ρ is the ``step_shrink`` of the number of coordinates. Where the smoothness is unknown, the
    step sizes are those of ``AdaGradNorm``.

    Parameters
    ----------
    diameter
        D of the domain.
    scale
        Measured smoothness and width.
    averaged_rounds
        m, the number of rounds over which the capped expert averages.
    """

    def __init__(self, diameter: float, scale: DomainScale, averaged_rounds: float = 1.0) -> None:
        self._scale, self._whole = scale, AdaGradNorm(diameter)
        # A width of 0 occurs only before the first step, when no step size is used.
        self._used = AdaGradNorm(min(diameter, scale.width / scale.step_shrink**2) or diameter)
        bend = 2.0 * scale.smoothness * averaged_rounds
        self._ceiling = 1.0 / bend if bend > 0.0 else math.inf

    def count(self) -> int:
        """One expert, the capped one; the first copy is added at once, others as rounds go by."""
        return 1

    def sum_of_copy(self, squared_error_sum: Vector) -> float:
        r"""Sum of the copied expert, raised so that the copy's first step size is at most 1/L.

        A copy steps twice as far as its parent, with the sum of a parent that never stepped so far.
        A step size above 2/L overshoots by more than the error it corrects, until the sum has grown
        to match. In a small domain the boundary ends that at once. In a domain that is far too wide
        the overshoot grows to about :math:`c_i` widths and disturbs the decisions and the rate of
        the meta. So the sum is raised where the domain is more than 8 widths wide.
        """
        scale, multiplier = self._scale, 0.5 * 2.0 ** len(squared_error_sum)
        if not (
            squared_error_sum[-1] > 0.0
            and scale.width > 0.0
            and self._whole.diameter > WIDE_DOMAIN_RATIO * scale.width
        ):
            return float(squared_error_sum[-1])
        return max(
            float(squared_error_sum[-1]),
            (multiplier * self._used.diameter * scale.smoothness) ** 2,
        )

    def sizes(self, squared_error_sum: Vector) -> Vector:
        """Step size of each expert, shape ``(N,)``; infinite where the sum is 0."""
        sizes = self._used.sizes(squared_error_sum)
        if squared_error_sum[0] > 0:
            sizes[0] = min(self._whole.sizes(squared_error_sum[:1])[0], self._ceiling)
        return sizes
