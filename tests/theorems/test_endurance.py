"""A learner may play for ever: memory stays flat and numbers stay numbers, in whatever unit the
losses come.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from functools import cache
from itertools import islice

import numpy as np
import pytest

import swordplay as sp
from tolerances import UNIT_OF_LOSS, WEIGHT_SUM

DIM, PERIOD = 3, 250
GROWTH = 16 * 1024
"""Bytes by which two peaks of memory may differ: one float kept a round (32 bytes) would be
twice that in 1000 rounds.
"""


def endless(scale: float, seed: int = 0) -> Iterator[sp.SquaredLoss]:
    """Squared losses of unit features, times ``scale``, whose target jumps every PERIOD rounds."""
    rng = np.random.default_rng(seed)
    root = float(np.sqrt(scale))  # 0.5 (<ra, x> - ry)^2 is r^2 times the loss of (a, y)
    while True:
        truth = sp.Ball(DIM).project(rng.normal(size=DIM))
        features = rng.normal(size=(PERIOD, DIM))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        targets = features @ truth + np.clip(0.1 * rng.normal(size=PERIOD), -0.5, 0.5)
        for row, target in zip(features, targets, strict=True):
            yield sp.SquaredLoss(root * row, root * target)


def sturdy(scale: float, horizon: int) -> sp.SwordBest:
    """On the unit ball |<a, x> - y| <= 2.5, so G = 2.5 and L = 1 times the scale."""
    return sp.SwordBest(sp.Ball(DIM), horizon=horizon, gradient_bound=2.5 * scale, smoothness=scale)


def peak_of(learner: sp.SwordBest, stream: Iterator[sp.SquaredLoss], rounds: int) -> int:
    """Largest memory in use, since tracing began, while so many rounds are played."""
    tracemalloc.reset_peak()
    sp.play(learner, stream, engine="python", keep=(), max_rounds=rounds)
    return tracemalloc.get_traced_memory()[1]


def endure(scale: float, rounds: int, traced: int) -> None:
    """Play.

    Then no peak of memory rises over the last ``traced`` rounds, and every number of the state is
    one.
    """
    learner, stream = sturdy(scale, rounds), endless(scale)
    sp.play(
        learner, stream, engine="python", keep=(), max_rounds=rounds - traced
    )  # tracing costs more than playing
    if traced:
        tracemalloc.start()
        try:
            early, late = (peak_of(learner, stream, traced // 2) for _ in range(2))
        finally:
            tracemalloc.stop()
        assert late <= early + GROWTH
    assert learner.rounds == rounds
    for values in learner.state().values():
        assert np.isfinite(values).all()
    assert learner.domain.contains(learner.decision)
    assert (learner.weights > 0).all()
    assert learner.weights.sum() == pytest.approx(1.0, abs=WEIGHT_SUM)


SCALES = [1e-8, 1.0, 1e8]


@pytest.mark.parametrize(
    ("scale", "rounds", "traced"), [(1e-8, 1_000, 0), (1.0, 1_500, 1_000), (1e8, 1_000, 0)]
)
def test_memory_is_flat_and_numbers_are_finite(scale: float, rounds: int, traced: int) -> None:
    endure(scale, rounds=rounds, traced=traced)


@pytest.mark.deep
@pytest.mark.parametrize("scale", SCALES)
def test_a_million_rounds(scale: float) -> None:
    endure(scale, rounds=1_000_000, traced=20_000)


@cache
def taught(scale: float, rounds: int = 1_000) -> sp.SwordBest:
    """A learner after some rounds, made once: for those who only look at it."""
    learner = sturdy(scale, rounds)
    for loss in islice(endless(scale), rounds):
        learner.observe(loss)
    return learner


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_the_unit_of_the_losses_is_only_a_unit(scale: float) -> None:
    """Told G and L in the same unit, SwordBest plays the same decisions, and its certificate
    carries the unit.
    """
    plain, scaled = taught(1.0), taught(scale)
    assert scaled.decision == pytest.approx(plain.decision, abs=UNIT_OF_LOSS)
    assert scaled.certificate(1.0) / scale == pytest.approx(
        plain.certificate(1.0), rel=UNIT_OF_LOSS
    )
