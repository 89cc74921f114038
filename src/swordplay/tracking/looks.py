"""Looks at the learner where stretches end, as far as anybody will ask."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from swordplay.core.types import Vector
from swordplay.estimators.linear_model import HeadSnapshot
from swordplay.parts.learners.sword import AGELESS_POOL_SIZE

POOL: Vector = 2.0 ** np.arange(1.0 - AGELESS_POOL_SIZE, 1.0)
"""Step sizes of the learner's experts, ascending,"""
LOGARITHMS: Vector = np.log(POOL)
"""and their logarithms."""


class CoefficientSample(NamedTuple):
    """The learner at one moment, the mean over its models."""

    weights: Vector
    effective: float
    extra: float
    optimism: float


class LearnerSnapshot(NamedTuple):
    """The learner at the end of a stretch, as far as the recorder will ask."""

    sample: CoefficientSample
    coefficients: dict[int, Vector] | None
    """None where the recorder keeps no coefficients."""


def sample(models: Sequence[HeadSnapshot]) -> CoefficientSample:
    """How the experts of some models are weighed now: first the extra-gradient ones, then the
    others, both descending.
    """
    shares = sum((model.weights for model in models), start=np.zeros(2 * AGELESS_POOL_SIZE)) / len(
        models
    )
    weights = (shares[:AGELESS_POOL_SIZE] + shares[AGELESS_POOL_SIZE:])[::-1]
    optimism = sum(model.trust for model in models) / len(models)
    return CoefficientSample(
        weights, math.exp(weights @ LOGARITHMS), float(shares[:AGELESS_POOL_SIZE].sum()), optimism
    )
