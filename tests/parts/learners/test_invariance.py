"""Sword asks for no unit and no origin: neither may change what it decides."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swordplay as sp
from strategies import balls, boxes, seeds, tracked, tracking_pieces
from swordplay.parts.streams import drift, paper
from tolerances import MOVED, RESCALED, WEIGHT_SUM


def decisions(learner, losses):
    said = []
    for loss in losses:
        said.append(learner.decision)
        learner.observe(loss)
    return np.array(said)


def multiplied(loss, factor):
    smoothness = factor * loss.smoothness
    return sp.FunctionLoss(
        lambda x: factor * loss.value(x), lambda x: factor * loss.gradient(x), smoothness=smoothness
    )


STREAMS = {
    "rotation": drift.rotation(300, 3),
    "jumps": drift.jumps(300, 2, every=40),
    "logistic walk": drift.random_walk(200, 2, loss="logistic", radius=3.0),
    "noise then jumps": drift.noise_then_jumps(300, 2, every=30),
    "instance 1": paper.gradual(300),
    "instance 2": paper.alternating(300),
}
every_stream = pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())


@cache
def plainly(stream):
    """What Sword decides on a stream as it is, which all changes are held to."""
    said = decisions(sp.Sword(stream.domain), stream)
    said.flags.writeable = False
    return said


@every_stream
@pytest.mark.parametrize("factor", [pytest.param(1e-6, marks=pytest.mark.deep), 1e6])
def test_a_factor_on_all_losses_changes_no_decision(stream, factor):
    scaled = decisions(sp.Sword(stream.domain), [multiplied(loss, factor) for loss in stream])
    assert np.abs(scaled - plainly(stream)).max() <= RESCALED * stream.domain.diameter


@every_stream
@pytest.mark.parametrize("exponent", [-40, pytest.param(40, marks=pytest.mark.deep)])
def test_a_power_of_two_changes_not_one_bit(stream, exponent):
    """No product rounds differently: whatever is not invariant cannot hide behind rounding."""
    scaled = decisions(
        sp.Sword(stream.domain), [multiplied(loss, 2.0**exponent) for loss in stream]
    )
    np.testing.assert_array_equal(scaled, plainly(stream))


@settings(max_examples=30)
@given(
    st.integers(1, 3).flatmap(lambda d: st.one_of(balls(d), boxes(d))),
    st.integers(1, 100),
    seeds,
    st.sampled_from([1e-6, 1e6]),
)
def test_a_factor_changes_no_decision_in_random_games(domain, rounds, seed, factor):
    pieces = tracking_pieces(domain, rounds, np.random.default_rng(seed))
    plain = decisions(sp.Sword(domain), [tracked(*piece) for piece in pieces])
    scaled = decisions(sp.Sword(domain), [tracked(*piece, factor) for piece in pieces])
    assert np.abs(scaled - plain).max() <= RESCALED * (
        domain.diameter + np.linalg.norm(domain.center)
    )


@settings(max_examples=40)
@given(st.integers(1, 4), st.floats(0.1, 10.0), st.integers(1, 100), st.floats(0.0, 100.0), seeds)
def test_moving_domain_and_losses_together_moves_the_decisions_along(
    dim, radius, rounds, distance, seed
):
    rng = np.random.default_rng(seed)
    ball = sp.Ball(dim, radius)
    shift = rng.normal(size=dim)
    shift *= distance * ball.diameter / np.linalg.norm(shift)
    pieces = tracking_pieces(ball, rounds, rng)
    home = decisions(sp.Sword(ball), [tracked(*piece) for piece in pieces])
    away = decisions(
        sp.Sword(sp.Ball(dim, radius, shift)),
        [tracked(matrix, at + shift) for matrix, at in pieces],
    )
    assert np.abs(away - shift - home).max() <= MOVED * ball.diameter
    box = sp.Box(-np.arange(1.0, dim + 1), np.arange(1.0, dim + 1))
    home = decisions(sp.Sword(box), [tracked(*piece) for piece in pieces])
    away = decisions(
        sp.Sword(sp.Box(box.lower + shift, box.upper + shift)),
        [tracked(m, at + shift) for m, at in pieces],
    )
    assert np.abs(away - shift - home).max() <= MOVED * (ball.diameter + box.diameter)


@every_stream
def test_adding_a_constant_to_all_losses_changes_nothing(stream):
    raised = [
        sp.FunctionLoss(lambda x, f=f: f.value(x) + 1e6, f.gradient, smoothness=f.smoothness)
        for f in stream
    ]
    np.testing.assert_array_equal(decisions(sp.Sword(stream.domain), raised), plainly(stream))


@every_stream
def test_experts_are_forked_as_the_rounds_go_by_and_weights_stay_weights(stream):
    learner = sp.Sword(stream.domain)
    for t, loss in enumerate(stream, start=1):
        learner.observe(loss)
        count = len(learner.weights) // 2
        assert 4 ** (count - 2) < 1 + 2 * t <= 4 ** (count - 1)
        assert (learner.weights > 0).all()
        assert learner.weights.sum() == pytest.approx(1.0, abs=WEIGHT_SUM)
        assert learner.points.shape == (2 * count, stream.dim)
        assert learner.step_sizes.shape == (2 * count,)
