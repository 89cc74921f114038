r"""Step sizes of a pool of experts: constant, AdaGrad-norm, and AdaGrad-norm with a capped expert.

A step size :math:`c D / \sqrt{\sum_s q_s}`, with a multiplier c, the diameter D of the domain and
:math:`q_s = \|g_s - M_s\|^2` for the gradient g_s and its prediction M_s, suits comparators that
are up to D apart. In a domain of diameter 1000 whose comparators stay within 1 of its centre, such
steps move every expert to the boundary. Therefore the step size of the first expert of each kind
(gradient descent, extra-gradient) is *capped*: it is at most 1/(2 L m), with the largest smoothness
L so far and a ``cap_divisor`` m of at least 1. The distance of this expert from the centre shows
the *width* of the part of the domain that is in use. The step sizes of the other experts are
computed for this width in place of D.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, Protocol, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.state import Field, check, number
from swordplay.core.types import Vector

SMALLEST_SUM = 1e-300
"""Smallest square or sum of squares, except 0, that is accepted.

Doubles lose digits below 1e-308.
"""
AVERAGED_ROUNDS = 8
"""Number of rounds over which the capped gradient-descent expert averages."""
MANY_COORDINATES = 64
"""Number of coordinates above which steps are shortened, see :func:`step_shrink`."""
WIDE_DOMAIN_RATIO = 8.0
"""Used widths beyond which a domain is too wide for its boundary to limit overlong steps."""


def underflow_message(largest: float) -> str:
    """Return the error message about gradients whose squares underflow.

    ``largest`` is the largest norm or entry of a gradient so far.
    """
    return (
        f"no gradient so far exceeds {largest:.1e}: their squares vanish, and steps "
        "and certificates are computed from the squares. Multiply the losses by a constant, such "
        "as 1e100, and constants that the learner was made with, such as smoothness, accordingly."
    )


class StepRule(Protocol):
    """Step sizes of a pool as a function of each expert's sum of squared gradient errors."""

    def count(self) -> int:
        """Number of experts before the first round."""
        ...

    def sum_of_copy(self, squared_error_sum: Vector) -> float:
        """Return the sum of squared errors with which a copy of the last expert starts."""
        ...

    def sizes(self, squared_error_sum: Vector) -> Vector:
        r"""Return the step size of each expert, shape ``(N,)``; infinite where the sum is 0.

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
        """Return the length of the pool."""
        return len(self.step_sizes)

    def sum_of_copy(self, squared_error_sum: Vector) -> float:
        """Return the sum of the last expert, which is copied."""
        return float(squared_error_sum[-1])

    def sizes(self, squared_error_sum: Vector) -> Vector:
        """Return the pool; the sums have no influence."""
        return self.step_sizes


@final
class AdaGradNorm:
    r"""Step sizes from the sums of squared gradient errors, without G, L or horizon.

    .. math:: \eta_i = \frac{c_i D}{\sqrt{\sum_s q_{s,i}}}, \qquad c_i = \tfrac12 2^i, \qquad
        q_{s,i} = \|g_{s,i} - M_{s,i}\|^2

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
        """Return 1: further experts are copies, which the learner adds as rounds go by."""
        return 1

    def sum_of_copy(self, squared_error_sum: Vector) -> float:
        """Return the sum of the last expert, which is copied."""
        return float(squared_error_sum[-1])

    def sizes(self, squared_error_sum: Vector) -> Vector:
        r"""Return :math:`c_i D / \sqrt{\sum_s q_{s,i}}`, infinite where the sum is 0.

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
    r"""Return :math:`\varrho = \sqrt{\max\{1, d / 64\}}`, which shortens steps in many dimensions.

    Uncapped steps are divided by :math:`\varrho^2`, the capped extra-gradient step by
    :math:`\varrho`.

    A step that is too long leaves an error along the row of features of its round. With few
    coordinates later rows correct it. With many, each row corrects one direction of d, and an
    expert keeps the errors of its first rounds for thousands of rounds.
    """
    return math.sqrt(max(1.0, dim / MANY_COORDINATES))


MAX_STEP_COST = 1e280
"""Largest max(1, D)^2 / eta in a loaded state; the sums of the certificate then stay finite."""
MAX_INVERSE_STEP = 1e151
"""Largest D / eta in a loaded state: a round adds at most this to the certificate's dual sum.

The certificate (``learners/certificate.py``) squares the dual sum, which must not overflow.
"""


def check_error_sums(name: str, error_sums: Vector) -> None:
    """Refuse saved sums of squared errors that are too small for step sizes; 0 is allowed.

    Raises
    ------
    ValueError
        If a sum is too small; names the entry.
    """
    check(name, error_sums[error_sums != 0.0], Field(low=SMALLEST_SUM))


class DomainScale(NamedTuple):
    """Smoothness of the losses and width of the used part of the domain, as measured so far."""

    smoothness: Annotated[float, number(0.0, math.inf)] = 0.0
    """L, the largest smoothness among the losses that know theirs."""
    width: Annotated[float, number(0.0, math.inf)] = 0.0
    """Width of the part of the domain in use; 0 before the first gradient."""
    step_shrink: Annotated[float, number(1.0, 1e9)] = 1.0
    """ϱ of :func:`step_shrink`; it is the cap divisor m of the extra-gradient expert."""

    def check(self, error_sums: Vector, diameter: float) -> None:
        """Refuse a saved scale whose step sizes would underflow.

        1 / eta is at least 2 L m for a capped expert. For the others it is of the order of ϱ^2
        sqrt(sum of squared errors) / width.

        Parameters
        ----------
        error_sums
            Sums of squared errors of all experts.
        diameter
            D of the domain.

        Raises
        ------
        ValueError
            If smoothness or width is out of range; names it.
        """
        # the largest 1 / eta
        max_inverse = min(MAX_STEP_COST / max(1.0, diameter) ** 2, MAX_INVERSE_STEP / diameter)
        largest_m = max(float(AVERAGED_ROUNDS), self.step_shrink)
        max_smoothness = max_inverse / (2.0 * largest_m)
        check("domain_scale.smoothness", self.smoothness, Field(low=0.0, high=max_smoothness))
        if self.width != 0.0:
            root_of_sum = math.sqrt(max(1.0, float(error_sums.max())))
            min_width = 2.0 * self.step_shrink**2 * root_of_sum / max_inverse
            check("domain_scale.width", self.width, Field(low=min_width, high=math.inf))

    def descent_cap_divisor(self, rounds: int) -> float:
        """Return the cap divisor m of the gradient-descent expert: min{rounds + 1, 8}."""
        return min(rounds + 1.0, float(AVERAGED_ROUNDS))

    def with_loss(self, smoothness: float, gradient_norm: float, distance: float) -> DomainScale:
        r"""Return the scale with one more loss included.

        Parameters
        ----------
        smoothness
            Smoothness of the loss; 0 where it is unknown.
        gradient_norm
            Norm of the gradient g at the decision. The first g other than 0 sets the width to
            :math:`2 \|g\| / L`, twice the length of a step of size 1/L. If the first loss is nearly
            flat, this width is close to 0. Therefore each later g widens it to at least twice the
            length of a step of the capped descent expert.
        distance
            Distance of the capped descent expert from the centre. The width is at least twice this.
        """
        L, width = max(self.smoothness, smoothness), self.width
        if width == 0.0 and gradient_norm > 0.0:
            width = 2.0 * gradient_norm / L if L > 0.0 else math.inf
        step_length = gradient_norm / (2.0 * L * AVERAGED_ROUNDS) if L > 0.0 else 0.0
        return self._replace(smoothness=L, width=max(width, 2.0 * distance, 2.0 * step_length))


@final
class CappedAdaGrad:
    r"""AdaGrad-norm steps of a pool whose first expert is capped.

    .. math:: \eta_0 = \min\Big\{\frac{c_0 D}{\sqrt{\sum_s q_{s,0}}}, \frac{1}{2 L m}\Big\}, \qquad
        \eta_i = \frac{c_i \min\{D, \text{width} / \varrho^2\}}{\sqrt{\sum_s q_{s,i}}}, \qquad c_i =
        \tfrac12 2^i

    :math:`\varrho` is the ``step_shrink`` of the number of coordinates; the largest smoothness L
    and the width are those of ``scale``. If no loss knows its smoothness, the step sizes are those
    of ``AdaGradNorm``.

    Parameters
    ----------
    diameter
        D of the domain.
    scale
        Measured smoothness and width.
    cap_divisor
        m of the capped expert: for gradient descent the number of rounds over which it averages,
        for extra-gradient :math:`\varrho`.
    """

    def __init__(self, diameter: float, scale: DomainScale, cap_divisor: float = 1.0) -> None:
        self._scale = scale
        self._domain_rule = AdaGradNorm(diameter)
        # A width of 0 occurs only before the first step, when no step size is used.
        self._width_rule = AdaGradNorm(
            min(diameter, scale.width / scale.step_shrink**2) or diameter
        )
        inverse_cap = 2.0 * scale.smoothness * cap_divisor  # 2 L m
        self._cap = 1.0 / inverse_cap if inverse_cap > 0.0 else math.inf

    def count(self) -> int:
        """Return 1, for the capped expert: the learner adds copies, the first before round 1."""
        return 1

    def sum_of_copy(self, squared_error_sum: Vector) -> float:
        r"""Return the sum of the last expert, raised so that its copy's step size is at most 1/L.

        A copy has the sum of its parent and twice its multiplier, thus twice its step size. While
        a step size exceeds 2/L, each step ends farther from the minimum than it began; the step
        size falls as the sum grows. In a small domain the boundary limits this overshoot. In a
        domain that is far too wide the overshoot grows to about :math:`c_i` widths and disturbs the
        decisions and the learning rate of the meta. Therefore the sum is raised if the domain is
        more than 8 widths wide.
        """
        scale, multiplier = self._scale, 0.5 * 2.0 ** len(squared_error_sum)
        if not (
            squared_error_sum[-1] > 0.0
            and scale.width > 0.0
            and self._domain_rule.diameter > WIDE_DOMAIN_RATIO * scale.width
        ):
            return float(squared_error_sum[-1])
        return max(
            float(squared_error_sum[-1]),
            (multiplier * self._width_rule.diameter * scale.smoothness) ** 2,
        )

    def sizes(self, squared_error_sum: Vector) -> Vector:
        """Return the step size of each expert, shape ``(N,)``; infinite where the sum is 0."""
        sizes = self._width_rule.sizes(squared_error_sum)
        if squared_error_sum[0] > 0:
            sizes[0] = min(self._domain_rule.sizes(squared_error_sum[:1])[0], self._cap)
        return sizes
