"""Certificates where there are many columns: Sword keeps numbers there for what it keeps vectors
of in few (``engine.dual_sum``).
"""

import numpy as np
import pytest

import swordplay as sp
from tolerances import THEOREM

QUICK, DEEP, CHUNK = 6, 600, 20
"""Games in every run, games of the campaign, and how many of those make one test."""
LEARNERS = {
    "Sword": lambda stream, ball: sp.Sword(ball),
    "SwordAgeless": lambda stream, ball: sp.SwordAgeless(ball, smoothness=stream.smoothness),
    "SwordBest": lambda stream, ball: sp.SwordBest(
        ball,
        horizon=len(stream),
        gradient_bound=stream.gradient_bound(ball),
        smoothness=stream.smoothness,
    ),
}


def game(seed):
    """9 to 16 columns, a target that jumps, and a ball that may be too small for it."""
    rng = np.random.default_rng([seed, 9])
    rounds, dim, loss = (
        int(rng.integers(20, 90)),
        int(rng.integers(9, 17)),
        ["squared", "logistic", "huber"][seed % 3],
    )
    ball = sp.Ball(
        dim, 10.0 ** rng.uniform(-1, 1), center=rng.normal(size=dim) if rng.random() < 0.5 else None
    )
    rows = (
        rng.normal(size=(rounds, dim)) * 10.0 ** rng.uniform(-1, 1, size=(rounds, 1)) / np.sqrt(dim)
    )
    coefficients = rng.normal(size=(rounds // 20 + 1, dim)) * ball.radius
    targets = np.einsum("ij,ij->i", rows, coefficients[np.arange(rounds) // 20]) + 0.1 * rng.normal(
        size=rounds
    )
    if loss == "logistic":
        targets = (targets > 0).astype(float)
    return sp.LinearStream(rows, targets, loss, threshold=0.5), ball


def shares(seed):
    """Regret over certificate, of each learner on both engines, against the best sequences of
    several path lengths.
    """
    stream, ball = game(seed)
    steepest = stream.gradient_bound(ball)
    best = [
        sp.hindsight.best_sequence(stream, ball, penalty=share * steepest)
        for share in (10.0, 1.0, 0.1, 0.01)
    ]
    for name, make in LEARNERS.items():
        for engine in ("python", "compiled") if seed % 4 == 0 else ("compiled",):
            learner = make(stream, ball)
            lost = sp.play(learner, stream, engine=engine, keep=()).total_loss
            for one in best:
                yield name, (lost - one.loss) / learner.certificate(one.path_length)


def check(seeds):
    assert [
        (seed, name, share) for seed in seeds for name, share in shares(seed) if share > 1 + THEOREM
    ] == []


@pytest.mark.parametrize("seed", range(QUICK))
def test_no_best_sequence_breaks_a_certificate(seed):
    check([seed])


@pytest.mark.deep
@pytest.mark.parametrize("first", range(QUICK, QUICK + DEEP, CHUNK))
def test_nor_in_the_campaign(first):
    check(range(first, first + CHUNK))


def test_certificates_a_fifth_as_large_would_be_broken():
    """Of every learner: these games come near enough to tell."""
    largest = {}
    for seed in range(QUICK):
        for name, share in shares(seed):
            largest[name] = max(share, largest.get(name, 0.0))
    assert min(largest.values()) > 0.2, largest
