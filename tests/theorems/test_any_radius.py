"""``Sword`` in a domain that is far too large: capped experts, and steps made for how far they have been."""

import numpy as np
import pytest

import swordplay as sp
from swordplay.base.state import flatten
from swordplay.parts.experts import AdaGradNorm

WORLDS = {"jumps": sp.streams.drift.jumps, "random walk": sp.streams.drift.random_walk, "rotation": sp.streams.drift.rotation}
SPOILED = 1.5
"""By how much at the most a radius that is up to a thousand times too large may raise the regret."""


def regret(make, streams, radius=None):
    """Mean regret against what was planted, in the stream's own ball or one of another radius."""
    found = []
    for stream in streams:
        domain = stream.domain if radius is None else sp.Ball(stream.dim, radius)
        found.append(sp.play(make(domain), stream).regret(stream.comparators))
    return float(np.mean(found))


def of_before(domain):
    """A Sword without capped experts."""
    learner = sp.Sword(domain)
    learner.load_state(flatten(learner._begun(())))
    return learner


@pytest.mark.parametrize("world", WORLDS)
def test_no_radius_spoils_it(world):
    streams = [WORLDS[world](1000, 3, seed=seed) for seed in (1, 2, 3)]
    home = regret(sp.Sword, streams)
    for radius in (4.0, 1000.0):
        assert regret(sp.Sword, streams, radius) <= SPOILED * home
    assert regret(of_before, streams, 1000.0) >= 100 * home  # what the capped experts are for


@pytest.mark.deep
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
@pytest.mark.parametrize("rounds", [500, 2000, 8000])
@pytest.mark.parametrize("world", WORLDS)
def test_no_radius_spoils_it_whatever_the_loss(world, rounds, loss):
    streams = [WORLDS[world](rounds, 3, loss=loss, seed=seed) for seed in range(5)]
    radii = (1.0, 4.0, 16.0, 64.0, 250.0, 1000.0) if loss != "logistic" else (1.0, 4.0)  # labels pull outwards for ever
    found = [regret(sp.Sword, streams, radius) for radius in radii]
    assert max(found) <= SPOILED * found[0]


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
        theirs.append(regret(lambda X, s=stream, t=told: sp.SwordBest(X, smoothness=s.smoothness, **t), [stream]))
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
    """Nobody is capped then: all steps are c D over the root of the energy."""
    learner = sp.Sword(sp.Ball(2, 7.0))
    for target in (0.3, -0.2, 0.5, 0.1, -0.7):
        learner.observe(sp.PinballLoss([1.0, 0.5], target, level=0.4))
    state = learner.state()
    assert (state["gauge.smoothness"], state["gauge.span"]) == (0.0, np.inf)
    steps = [AdaGradNorm(14.0).sizes(state[f"experts.{kind}.energy"]) for kind in (0, 1)]
    np.testing.assert_array_equal(learner.step_sizes, np.concatenate(steps))
