"""An adversary that learns: an evolution strategy searches loss sequences for one that breaks a
certificate.

A sequence is a list of losses 0.5 (a_t x - y_t)^2 on [-1, 1], given by the numbers a_t, y_t. Its
fitness is the largest share of the certificate that regret uses up, against the best comparators of
several path lengths, found exactly by hindsight; over the whole run and over a window. Small
changes that make it larger are kept.
"""

from __future__ import annotations

import numpy as np
import pytest

import swordplay as sp
from tolerances import SUMMED, THEOREM

X = sp.Ball(1)
CHILDREN, SPREAD = 6, 0.5
PENALTIES = (3.0, 0.3, 0.02)
"""What a unit of path costs the comparators: from those that hardly move to those that move a
lot.
"""
LARGEST = 1.5
"""Of a_t; targets lie within twice that, so that minima lie inside and outside of the domain."""

LEARNERS = {
    "OGD": lambda T: sp.OGD(X, 0.3),
    "OEGD": lambda T: sp.OEGD(X, 0.3),
    "Ader": lambda T: sp.Ader(X, horizon=T, gradient_bound=LARGEST * 3 * LARGEST),
    "SwordVar": lambda T: sp.SwordVar(
        X, horizon=T, gradient_bound=LARGEST * 3 * LARGEST, smoothness=LARGEST**2
    ),
    "SwordBest": lambda T: sp.SwordBest(
        X, horizon=T, gradient_bound=LARGEST * 3 * LARGEST, smoothness=LARGEST**2
    ),
    "SwordAgeless": lambda T: sp.SwordAgeless(X, smoothness=LARGEST**2),
    "Sword": lambda T: sp.Sword(X),
}


def used(make, genome: np.ndarray) -> float:
    """The largest share of the certificate that the regret uses up: over all rounds, and over
    those of the second half.
    """
    rows = np.clip(genome, [-LARGEST, -2 * LARGEST], [LARGEST, 2 * LARGEST])
    T = len(rows)
    learner, totals = make(T), np.empty(T)
    for t, (a, y) in enumerate(rows):
        if t == T // 2:
            middle = learner.moment
        loss = sp.SquaredLoss([a], y)
        totals[t] = loss.value(learner.decision)
        learner.observe(loss)
    largest = 0.0
    for first, since in ((0, None), (T // 2, middle)):
        stream, total = sp.LinearStream(rows[first:, :1], rows[first:, 1]), totals[first:].sum()
        for penalty in PENALTIES:
            best = sp.hindsight.best_sequence(stream, X, penalty=penalty)
            promised = learner.certificate(best.path_length, since=since)
            if promised > 1e-9:
                largest = max(largest, (total - best.loss - SUMMED * (1 + total)) / promised)
            else:
                assert total - best.loss <= promised + 1e-9
    return largest


def search(make, rounds: int, generations: int, rng: np.random.Generator) -> float:
    """(1 + λ): the fittest of parent and children goes on.

    The spread grows when a child is fitter, and else shrinks.
    """
    parent = rng.normal(size=(rounds, 2)) * [LARGEST / 2, LARGEST]
    fitness, spread = used(make, parent), SPREAD
    for _ in range(generations):
        children = [
            parent + spread * rng.normal(size=parent.shape) * (rng.random((rounds, 1)) < 0.4)
            for _ in range(CHILDREN)
        ]
        found = [used(make, child) for child in children]
        if max(found) > fitness:
            parent, fitness, spread = (
                children[int(np.argmax(found))],
                max(found),
                min(1.5 * spread, 2.0),
            )
        else:
            spread = max(0.7 * spread, 1e-3)
        assert fitness <= 1 + THEOREM, f"a certificate is broken by {parent.tolist()}"
    return fitness


@pytest.mark.parametrize("name", ["OEGD", "SwordBest", "SwordAgeless", "Sword"])
def test_no_sequence_breaks_a_certificate(name):
    rng = np.random.default_rng(len(name))
    reached = max(search(LEARNERS[name], rounds, 10, rng) for rounds in (2, 7))
    assert reached > 0.5, "a certificate half as large would not be noticed"


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rounds", [2, 3, 6, 12, 25, 50])
@pytest.mark.parametrize("name", LEARNERS)
def test_no_long_search_breaks_a_certificate(name, rounds, seed):
    search(LEARNERS[name], rounds, 200, np.random.default_rng([seed, rounds, len(name)]))
