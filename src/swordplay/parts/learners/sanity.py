"""What the entries of a saved learner may hold: a number that no game leads to would spoil all
later ones.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from swordplay.core.arguments import LARGEST_GRADIENT
from swordplay.core.state import DAMAGED, MAX_ROUNDS, Field, check, save
from swordplay.core.types import Vector
from swordplay.parts.experts import DomainScale
from swordplay.parts.experts.step_sizes import SMALLEST_SUM
from swordplay.parts.learners.certificate import CertificateState

SLACK = 1e-6
"""Rounding of sums, relatively."""
VAST = 1e300
"""Products of the longest gradients with the largest domains, summed over many rounds."""
COUNT = Field(0.0, MAX_ROUNDS / 2.0, whole=True)
"""So that all rounds that are played on top can be saved again."""
DEAREST = 1e280
"""D^2 / eta, what a move across the domain costs: beside sums as large as VAST it is nothing,
and they can be saved again.
"""
STEEPEST, LONGEST = 1e151, 1e153
"""D / eta, what a round adds to S of a certificate, and S itself, which is squared."""
LARGEST_SUM = 1e100
"""Of regrets and logarithms of products, which count in units of the largest regret: their
squares are numbers.
"""
SIGNED, POSITIVE, SHARE = Field(-VAST, VAST), Field(0.0, VAST), Field(0.0, 1.0)
RANGES = {
    "rounds": COUNT,
    "squared_gradient_sum": POSITIVE,
    "squared_error_sum": POSITIVE,
    "inverse_step": POSITIVE,
    "inverse_growth": POSITIVE,
    "inverse_largest": POSITIVE,
    "max_squared_norm": POSITIVE,
    "weighted_norm_change": POSITIVE,
    "max_dual_norm": POSITIVE,
    "log_prior": Field(-1e3, 0.0),
    "cumulative": POSITIVE,
    "weights": SHARE,
    "expected_gradient": Field(-LARGEST_GRADIENT, LARGEST_GRADIENT),
    "replayed_gradient": Field(-LARGEST_GRADIENT, LARGEST_GRADIENT),
    "total": POSITIVE,
    "level": POSITIVE,
    "value": Field(0.0, math.inf),
    "trust": SHARE,
    "magnitude": POSITIVE,
    "magnitudes": COUNT._replace(whole=False),
    "regrets": Field(-LARGEST_SUM, LARGEST_SUM),
    "log_products": Field(-LARGEST_SUM, LARGEST_SUM),
    "members": COUNT,
    "passed": POSITIVE,
    "late": COUNT,
    "squares": Field(
        0.0, 4.0 * COUNT.high
    ),  # a regret and what was expected of it differ by at most two units
    "posterior": Field(sys.float_info.min, 1.0),
    "rates": Field(1e-20, 0.5),
    "discounted_squares": POSITIVE,
    "unit": POSITIVE,
    "smoothness": Field(0.0, math.inf),
    "width": Field(0.0, math.inf),
    "step_shrink": Field(1.0, 1e9),
}
"""By the last part of an entry's name; others are any numbers that are not vast."""


def require_ranges(state: Any) -> None:
    """Refuse a number outside its range, in words.

    Parameters
    ----------
    state
        The named tuple of a learner.
    """
    for name, value in save(state).items():
        last = name.rpartition(".")[2]
        check(name, value, RANGES.get(last, SIGNED))
        if last == "curvature" and np.ndim(value) > 1:
            _require_convex(name, value)


def require_numbers(state: Any, diameter: float, *, steady: bool) -> None:
    """Refuse numbers of a learner with a certificate that are out of range, or that the next round
    would make infinite.

    Its steps are made of its energies unless they are ``steady``.
    """
    require_ranges(state)
    require_certificate(state.certificate, diameter)
    for k, kind in enumerate(() if steady else state.experts):
        require_energy(f"experts.{k}.squared_error_sum", kind.squared_error_sum)


def require_certificate(sums: CertificateState, diameter: float) -> None:
    """Refuse sums of a certificate that one more round would make infinite.

    Parameters
    ----------
    sums
        As they were read; each is within its own range.
    diameter
        D of the domain, which they are multiplied with.
    """
    wide = max(1.0, diameter)
    for name in ("inverse_step", "inverse_growth", "inverse_largest"):
        check(f"certificate.{name}", getattr(sums, name), Field(0.0, DEAREST / wide**2))
    check("certificate.weighted_norm_change", sums.weighted_norm_change, Field(0.0, VAST / wide))
    check("certificate.dual_sum", sums.dual_sum, Field(-LONGEST, LONGEST))
    check(
        "certificate.max_dual_norm",
        sums.max_dual_norm,
        Field(0.0, 3.0 * LONGEST if len(sums.dual_sum) else VAST / wide),
    )


def require_level(hedge: Mapping[str, Any], fresh: Mapping[str, Any]) -> None:
    """Refuse a meta whose rate has a level below the first one: a guess that is doubled, and
    doubled from 0 never grows.
    """
    level, first = hedge.get("rate.level", 0.0), fresh.get("rate.level", 0.0)
    if level < first * (1.0 - SLACK):
        raise ValueError(
            f"state['hedge.rate.level'] must be {first:g} or more, got {level:g}. {DAMAGED}"
        )


def require_energy(name: str, energy: Vector) -> None:
    """Refuse sums of squared surprises that have lost their digits where steps are made of them.

    0 is where nothing was met.
    """
    check(name, energy[energy != 0.0], Field(SMALLEST_SUM, VAST))


def require_scale(scale: DomainScale, energy: Vector, diameter: float) -> None:
    """Refuse what was measured where the steps that follow from it would vanish.

    Parameters
    ----------
    scale
        As it was read: 1 / eta is 2 L m for experts that are capped, and for others the root of
        their energy over the width.
    energy
        Of all experts.
    diameter
        D of the domain.
    """
    most = min(DEAREST, STEEPEST / diameter)
    average = max(scale.averaged_rounds(int(COUNT.high)), scale.step_shrink)
    check("domain_scale.smoothness", scale.smoothness, Field(0.0, most / (2.0 * average)))
    if scale.width != 0.0:
        least = 2.0 * scale.step_shrink**2 * math.sqrt(max(1.0, float(energy.max()))) / most
        check("domain_scale.width", scale.width, Field(least, math.inf))


def _require_convex(name: str, matrices: Any) -> None:
    """Sums of curvatures of convex losses, ``(..., d, d)``: symmetric, and nowhere negative but
    for rounding.
    """
    size = np.abs(matrices).max(axis=(-2, -1), initial=0.0)
    slack = SLACK * size
    bent = np.abs(matrices - np.swapaxes(matrices, -2, -1)).max(axis=(-2, -1), initial=0.0)
    unit = np.where(size > 0.0, size, 1.0)[
        ..., None, None
    ]  # eigenvalues of vast numbers would be none
    if (bent > slack).any() or (np.linalg.eigvalsh(matrices / unit) < -SLACK).any():
        raise ValueError(
            f"state[{name!r}] must hold symmetric matrices without negative eigenvalues. {DAMAGED}"
        )
