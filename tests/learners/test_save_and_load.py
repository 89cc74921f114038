"""``learner.save`` and ``load``: what a file must have in common with the learner, and what no state may hold."""

import numpy as np
import pytest

import swordplay as sp

BALL = sp.Ball(2)
GIVEN = {"horizon": 30, "gradient_bound": 4.0, "smoothness": 2.0}


def taught(learner, rounds=5):
    rng = np.random.default_rng(3)
    for _ in range(rounds):
        learner.observe(sp.SquaredLoss(rng.uniform(-1, 1, learner.domain.dim), rng.uniform(-1, 1)))
    return learner


def refused(learner, damaged, message):
    """The state is refused in these words, and nothing changes."""
    before = learner.decision.tobytes()
    with pytest.raises(ValueError, match=message):
        learner.load_state(damaged)
    assert learner.decision.tobytes() == before


def test_weights_must_sum_to_one():
    learner = taught(sp.SwordBest(BALL, **GIVEN))
    good = learner.state()
    weights = good["hedge.weights"]
    message = r"state\['hedge.weights'\] must be positive with a sum of 1"
    for factor in (1 + 1e-8, 1 - 1e-8, 2.0):
        refused(learner, {**good, "hedge.weights": weights * factor}, message)
    learner.load_state({**good, "hedge.weights": weights * (1 + 1e-10)})  # rounding of whoever wrote it


def test_weights_must_be_positive():
    learner = taught(sp.SwordBest(BALL, **GIVEN))
    good = learner.state()
    for change in (-good["hedge.weights"][0], -2 * good["hedge.weights"][0]):
        weights = good["hedge.weights"].copy()
        weights[0] += change
        weights[1] -= change  # the sum stays
        refused(learner, {**good, "hedge.weights": weights}, r"state\['hedge.weights'\] must be positive")


@pytest.mark.parametrize("kind", ["points", "base"])
def test_points_must_lie_in_the_domain(kind):
    learner = taught(sp.OEGD(sp.Ball(2, radius=3.0, center=[4.0, 0.0]), 0.1))
    good = learner.state()
    edge = np.array([[7.0, 0.0]])
    for outside in (edge + np.array([1e-7, 0.0]), edge + np.array([1.0, 0.0]), np.full((1, 2), np.inf)):
        refused(learner, {**good, f"experts.0.{kind}": outside}, "state has points outside the domain")
    learner.load_state({**good, f"experts.0.{kind}": edge + np.array([5e-9, 0.0])})  # within 1e-9 of D + |centre| = 10


def test_rounds_and_energies_are_not_negative():
    learner = taught(sp.Sword(BALL))
    good = learner.state()
    refused(learner, {**good, "rounds": -1}, r"state\['rounds'\] must be at least 0, got -1")
    energy = good["experts.1.energy"].copy()
    energy[-1] = -1e-30
    refused(learner, {**good, "experts.1.energy": energy}, "state has a negative energy")
