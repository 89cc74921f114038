"""``Sword`` in a domain that is far too large: capped experts, and steps made for how far they
have been.
"""

import numpy as np
import pytest

import swordplay as sp
from swordplay.parts.experts import AdaGradNorm

WORLDS = {
    "jumps": sp.streams.drift.jumps,
    "random walk": sp.streams.drift.random_walk,
    "rotation": sp.streams.drift.rotation,
}
SPOILED = 1.5
"""By how much at the most a radius that is up to a thousand times too large may raise the
regret.
"""
RADII = (4.0, 16.0, 64.0, 250.0, 1000.0)


def regret(make, streams, radius=None):
    """Mean regret against what was planted, in the stream's own ball or one of another radius."""
    found = []
    for stream in streams:
        domain = stream.domain if radius is None else sp.Ball(stream.dim, radius)
        found.append(sp.play(make(domain), stream).regret(stream.comparators))
    return float(np.mean(found))


@pytest.mark.parametrize("world", WORLDS)
def test_no_radius_spoils_it(world):
    streams = [WORLDS[world](1000, 3, seed=seed) for seed in (1, 2, 3)]
    home = regret(sp.Sword, streams)
    for radius in (4.0, 1000.0):
        assert regret(sp.Sword, streams, radius) <= SPOILED * home


def each_regret(streams, radius):
    """The regret of every stream, in a ball of that radius."""
    return np.array([regret(sp.Sword, [stream], radius) for stream in streams])


@pytest.mark.parametrize(
    ("world", "rounds", "seed"),
    [("random walk", 2000, 4), ("random walk", 500, 49), ("rotation", 8000, 5)],
)
def test_a_copy_that_steps_too_far_does_not_run_away(world, rounds, seed):
    """Single runs in which a fork after 512, 128 and 512 rounds went to dozens of spans: 2.9,
    8.8, 3.5 times the regret.
    """
    stream = [WORLDS[world](rounds, 3, seed=seed)]
    assert regret(sp.Sword, stream, 1000.0) <= SPOILED * regret(sp.Sword, stream)


@pytest.mark.deep
@pytest.mark.parametrize("loss", ["squared", "huber"])
@pytest.mark.parametrize("rounds", [500, 2000, 8000])
@pytest.mark.parametrize("world", WORLDS)
def test_no_radius_spoils_it_whatever_the_loss(world, rounds, loss):
    """In the mean of many seeds at every radius, and from radius 16 on, where no wall is near, in
    each of them.

    At radius 4, which is less than eight spans, a copy is not tamed, and a single run may be off:
    1.91 was met (rotation, Huber, 500 rounds, seed 12; docs/decisions/0028).
    """
    streams = [
        WORLDS[world](rounds, 3, loss=loss, seed=seed)
        for seed in range(20 if rounds < 8000 else 10)
    ]
    home = each_regret(streams, 1.0)
    assert (home > 0).all()
    for radius in RADII:
        found = each_regret(streams, radius)
        assert found.mean() <= SPOILED * home.mean()
        assert radius < 16.0 or (found <= SPOILED * home).all()


@pytest.mark.deep
@pytest.mark.parametrize("rounds", [500, 2000, 8000])
@pytest.mark.parametrize("world", WORLDS)
def test_no_radius_spoils_it_where_labels_pull_outwards(world, rounds):
    """Logistic losses go on falling beyond the planted comparators, so that regrets against these
    may be negative.

    A quotient of two of them says nothing then. Half of what the regret is at radius 1 may be added
    to it, whatever its sign: for a positive one that is what is asked of the other losses. And as a
    larger ball has better decisions than any in the one of radius 1, losses are compared as well,
    with what was lost in the ball of radius 4.
    """
    streams = [WORLDS[world](rounds, 3, loss="logistic", seed=seed) for seed in range(5)]
    home, planted = (
        float(np.mean(each_regret(streams, 1.0))),
        np.mean([sp.comparator_loss(s, s.comparators) for s in streams]),
    )
    found = {radius: float(np.mean(each_regret(streams, radius))) for radius in RADII}
    assert max(found.values()) <= home + (SPOILED - 1) * abs(home)
    assert max(found.values()) + planted <= SPOILED * (found[4.0] + planted)


@pytest.mark.deep
@pytest.mark.parametrize("dim", [100, 1000])
@pytest.mark.parametrize("world", WORLDS)
def test_many_coordinates_are_not_behind_sword_best(world, dim):
    """In no world: mean regret of twenty seeds (docs/decisions/0028)."""
    ours, theirs = [], []
    for seed in range(201, 221):
        stream = WORLDS[world](2000, dim, seed=seed)
        told = {"horizon": len(stream), "gradient_bound": stream.gradient_bound(stream.domain)}
        ours.append(regret(sp.Sword, [stream]))
        theirs.append(
            regret(
                lambda X, s=stream, t=told: sp.SwordBest(X, smoothness=s.smoothness, **t), [stream]
            )
        )
    assert sum(ours) <= sum(theirs)


@pytest.mark.parametrize("factor", [2.0**-30, 2.0**30])
def test_the_unit_of_the_losses_changes_not_one_bit(factor):
    """In the ball of radius 1000, where the steps are made of what was measured."""
    stream = sp.streams.drift.jumps(60, 2, every=15, seed=4)
    plain, scaled = sp.Sword(sp.Ball(2, 1000.0)), sp.Sword(sp.Ball(2, 1000.0))
    for loss in stream:
        plain.observe(loss)
        scaled.observe(sp.WeightedLoss(loss, factor))
        assert plain.decision.tobytes() == scaled.decision.tobytes()


def test_losses_that_do_not_know_their_smoothness_take_the_whole_domain():
    """No expert is capped then: all steps are c D over the root of the sum of squared errors."""
    learner = sp.Sword(sp.Ball(2, 7.0))
    for target in (0.3, -0.2, 0.5, 0.1, -0.7):
        learner.observe(sp.PinballLoss([1.0, 0.5], target, level=0.4))
    state = learner.state()
    assert (state["domain_scale.smoothness"], state["domain_scale.width"]) == (0.0, np.inf)
    steps = [AdaGradNorm(14.0).sizes(state[f"experts.{kind}.squared_error_sum"]) for kind in (0, 1)]
    np.testing.assert_array_equal(learner.step_sizes, np.concatenate(steps))
