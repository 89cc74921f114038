"""Drifting streams: seeds, comparators in the domain, and the movement that each describes."""

import numpy as np
import pytest

import swordplay as sp
from swordplay.parts.streams import drift
from tolerances import ROUNDING

WORLDS = [
    drift.rotation,
    drift.random_walk,
    drift.jumps,
    drift.noise_then_jumps,
    drift.jumps_then_noise,
    drift.adversarial_alternation,
]
every_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.__name__)


@every_world
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_comparators_are_known_and_feasible(world, loss):
    stream = world(257, 3, radius=2.5, loss=loss, seed=4)
    assert isinstance(stream, sp.PlantedStream)
    assert len(stream) == 257
    assert stream.loss == loss
    assert stream.comparators.shape == stream.features.shape == (257, 3)
    assert stream.domain.radius == 2.5
    assert stream.domain.contains(stream.comparators, atol=ROUNDING).all()
    assert stream.smoothness <= 1 + ROUNDING


@every_world
def test_equal_seeds_give_equal_streams(world):
    one, same, other = world(50, seed=7), world(50, seed=7), world(50, seed=8)
    assert one.features.tobytes() == same.features.tobytes()
    assert one.targets.tobytes() == same.targets.tobytes()
    assert one.comparators.tobytes() == same.comparators.tobytes()
    assert one.targets.tobytes() != other.targets.tobytes()


@every_world
def test_without_noise_comparators_have_no_loss(world):
    stream = world(200, 2, noise=0.0)
    assert sp.comparator_loss(stream, stream.comparators) <= ROUNDING
    labels = world(200, 2, noise=0.0, loss="logistic")
    margins = np.einsum("ij,ij->i", labels.features, labels.comparators) * (2 * labels.targets - 1)
    assert (margins >= 0).all()


@every_world
def test_one_round_is_a_stream_too(world):
    assert len(world(1)) == 1


def test_rotation_turns_as_often_as_asked():
    stream = drift.rotation(4000, 5, turns=3.0)
    assert sp.path_length(stream.comparators) == pytest.approx(3 * 2 * np.pi * 0.8, rel=1e-3)
    # It ends one step short of where it began: whole turns.
    step = np.linalg.norm(stream.comparators[1] - stream.comparators[0])
    assert np.linalg.norm(stream.comparators[-1] - stream.comparators[0]) == pytest.approx(
        step, rel=1e-6
    )


def test_a_walk_takes_steps_of_its_length():
    stream = drift.random_walk(500, 3, step=0.01)
    steps = np.linalg.norm(np.diff(stream.comparators, axis=0), axis=1)
    assert (steps <= 0.01 + ROUNDING).all()
    assert np.median(steps) == pytest.approx(0.01)


def test_jumps_come_at_multiples_of_every():
    moves = np.linalg.norm(np.diff(drift.jumps(1000, 2, every=150).comparators, axis=0), axis=1)
    np.testing.assert_array_equal(np.flatnonzero(moves > 0) + 1, [150, 300, 450, 600, 750, 900])


@pytest.mark.parametrize(
    ("world", "loud"), [(drift.noise_then_jumps, 0), (drift.jumps_then_noise, 1)]
)
def test_one_half_has_noise_and_the_other_has_jumps(world, loud):
    stream = world(1000, 3, every=100, noise=0.7)
    residuals = stream.targets - np.einsum("ij,ij->i", stream.features, stream.comparators)
    moves = np.linalg.norm(np.diff(stream.comparators, axis=0), axis=1)
    halves = [(residuals[:500], moves[:499]), (residuals[500:], moves[500:])]
    (noisy, still), (silent, moving) = halves[loud], halves[1 - loud]
    assert np.std(noisy) == pytest.approx(0.7, rel=0.1)
    assert not still.any()
    assert np.abs(silent).max() <= ROUNDING
    assert np.count_nonzero(moving) == 4


def test_alternation_swaps_between_opposite_points():
    stream = drift.adversarial_alternation(12, 3, every=3)
    signs = np.sign(stream.comparators @ stream.comparators[0])
    np.testing.assert_array_equal(signs, [1, 1, 1, -1, -1, -1, 1, 1, 1, -1, -1, -1])
    assert sp.path_length(stream.comparators) == pytest.approx(3 * 1.6)


def test_flipped_labels_are_as_frequent_as_asked():
    stream = drift.rotation(4000, 2, loss="logistic", noise=0.2)
    margins = np.einsum("ij,ij->i", stream.features, stream.comparators) * (2 * stream.targets - 1)
    assert np.mean(margins < 0) == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_sword_tracks_what_drifts(loss):
    """A learner that follows beats the best that stands still: the worlds do move, and can be
    followed.
    """
    stream = drift.rotation(1000, 2, loss=loss)
    regret = sp.play(sp.Sword(stream.domain), stream).regret(stream.comparators)
    standing = sp.comparator_loss(stream, stream.domain.center) - sp.comparator_loss(
        stream, stream.comparators
    )
    assert regret < standing / 10


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: drift.rotation(0), "rounds must be at least 1, got 0"),
        (lambda: drift.rotation(10, 1), "dim must be at least 2, got 1"),
        (lambda: drift.rotation(10, radius=0.0), "radius must be greater than 0"),
        (lambda: drift.rotation(10, noise=-0.1), "noise must be at least 0, got -0.1"),
        (lambda: drift.rotation(10, turns=np.nan), "turns must be finite"),
        (lambda: drift.rotation(10, loss="hinge"), "loss must be one of"),
        (
            lambda: drift.rotation(10, loss="logistic", noise=1.5),
            "noise must be at most 1 for the logistic loss, got 1.5",
        ),
        (lambda: drift.noise_then_jumps(10, loss="logistic", noise=1.5), "noise must be at most 1"),
        (lambda: drift.rotation(10, seed=-1), "seed must be at least 0, got -1"),
        (lambda: drift.random_walk(10, step=-1.0), "step must be at least 0"),
        (lambda: drift.jumps(10, every=0), "every must be at least 1, got 0"),
        (lambda: drift.adversarial_alternation(10, every=0.5), "every must be a whole number"),
        (lambda: drift.jumps(10, loss="huber", threshold=0.0), "threshold must be greater than 0"),
    ],
)
def test_bad_worlds_are_refused_in_words(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()
