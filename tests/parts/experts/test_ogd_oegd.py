"""OGD, OEGD and optimistic experts: each row against the plain algorithm; step sizes, copies."""

import numpy as np
import pytest
from hypothesis import given

import naive
import swordplay as sp
from strategies import seeds, tracking, tracking_losses
from swordplay.parts.experts import AdaGradNorm, Constant, OEGDExperts, OGDExperts
from swordplay.parts.experts.expert import scaled_gradients
from tolerances import ROUNDING, TWIN

POOL = [0.01, 0.1, 0.5]
KINDS = [OGDExperts, OEGDExperts]
both_kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


@pytest.mark.parametrize(("kind", "twin"), [(OGDExperts, naive.ogd), (OEGDExperts, naive.oegd)])
@given(tracking(max_rounds=30))
def test_each_row_is_the_plain_algorithm(kind, twin, game):
    domain, losses = game
    experts = kind(domain, Constant(POOL))
    state = experts.start()
    history = [state.points]
    for loss in losses:
        state, _ = experts.step(state, loss.gradient)
        history.append(state.points)
    for row, eta in enumerate(POOL):
        expected = twin(naive.fields(losses), domain.center.tolist(), naive.projection(domain), eta)
        scale = domain.diameter + np.linalg.norm(domain.center)
        np.testing.assert_allclose(
            [points[row] for points in history], expected, rtol=0, atol=TWIN * scale
        )


def test_oegd_saves_the_rule_of_the_second_step_if_it_is_another():
    domain, steps, following = sp.Ball(2), Constant(POOL), Constant([0.02, 0.2, 1.0])
    assert OEGDExperts(domain, steps).settings() == {"steps": steps}
    rules = {"steps": steps, "next_steps": following}
    assert OEGDExperts(domain, steps, following).settings() == rules


@both_kinds
def test_expert_step_reports_errors_and_lookahead(kind):
    domain = sp.Ball(2)
    experts = kind(domain, Constant(POOL))
    state = experts.start()
    for loss in tracking_losses(domain, 10, np.random.default_rng(0)):
        after, move = experts.step(state, loss.gradient)
        gradients = loss.gradient(state.points)
        np.testing.assert_allclose(
            move.squared_error,
            np.square(gradients - state.expected_gradient).sum(axis=1),
            rtol=ROUNDING,
        )
        np.testing.assert_allclose(
            move.squared_lookahead, np.square(state.points - state.base).sum(axis=1), rtol=ROUNDING
        )
        np.testing.assert_allclose(
            after.squared_error_sum, state.squared_error_sum + move.squared_error, rtol=ROUNDING
        )
        np.testing.assert_array_equal(move.step_sizes, POOL)
        state = after
    if kind is OGDExperts:
        assert not move.squared_lookahead.any()
        assert not state.expected_gradient.any()
    else:
        np.testing.assert_array_equal(state.expected_gradient, loss.gradient(state.base))


@both_kinds
@given(seed=seeds)
def test_adaptive_step_sizes_follow_from_the_gradients(kind, seed):
    """OGD's step of round t already knows q_t; OEGD's knows q_{t-1}, except where that is 0."""
    domain = sp.Ball(2, 3.0)
    experts = kind(domain, AdaGradNorm(domain.diameter))
    state, squared_error_sum = experts.copy_last(experts.copy_last(experts.start())), np.zeros(3)
    multipliers = np.array([0.5, 1.0, 2.0])
    for loss in tracking_losses(domain, 6, np.random.default_rng(seed)):
        state, move = experts.step(state, loss.gradient)
        used = (
            squared_error_sum + move.squared_error
            if kind is OGDExperts or not squared_error_sum.all()
            else squared_error_sum
        )
        np.testing.assert_allclose(
            move.step_sizes, multipliers * 6.0 / np.sqrt(used), rtol=ROUNDING
        )
        squared_error_sum = squared_error_sum + move.squared_error
        np.testing.assert_allclose(
            experts.step_sizes(state), multipliers * 6.0 / np.sqrt(squared_error_sum), rtol=ROUNDING
        )


@both_kinds
def test_gradients_of_zero_move_no_expert(kind):
    domain = sp.Ball(2, center=[5.0, 5.0])
    experts = kind(domain, AdaGradNorm(domain.diameter))
    state, move = experts.step(experts.start(), np.zeros_like)
    np.testing.assert_array_equal(state.points, [[5.0, 5.0]])
    assert np.isinf(move.step_sizes).all()
    assert np.isinf(experts.step_sizes(state)).all()


@both_kinds
def test_copy_last_doubles_the_step_of_the_fastest(kind):
    domain = sp.Ball(3)
    experts = kind(domain, AdaGradNorm(domain.diameter))
    state = experts.start()
    for loss in tracking_losses(domain, 5, np.random.default_rng(1)):
        state, _ = experts.step(state, loss.gradient)
    forked = experts.copy_last(state)
    np.testing.assert_allclose(forked.points[0], state.points[0], rtol=ROUNDING)
    np.testing.assert_array_equal(forked.base, np.repeat(state.base, 2, axis=0))
    np.testing.assert_array_equal(forked.squared_error_sum, np.repeat(state.squared_error_sum, 2))
    slow, fast = experts.step_sizes(forked)
    assert fast == 2 * slow
    expected = domain.project(
        forked.base[1] - fast * forked.expected_gradient[1]
    )  # for OGD the expected_gradient is 0
    np.testing.assert_allclose(forked.points[1], expected, rtol=ROUNDING)


def test_infinite_step_size_gives_a_step_of_zero():
    np.testing.assert_array_equal(
        scaled_gradients(np.array([np.inf, 2.0]), np.array([[0.0, 0.0], [1.0, 1.0]])),
        [[0, 0], [2.0, 2.0]],
    )


@pytest.mark.parametrize("steps", [[], [0.0], [-1.0], [np.nan], [np.inf], [[1.0]], ["a"], None])
def test_bad_step_sizes_are_refused(steps):
    with pytest.raises((ValueError, TypeError), match="step_sizes must"):
        Constant(steps)


def test_a_pool_cannot_be_changed_afterwards():
    given_ = np.array([0.1, 0.2])
    steps = Constant(given_)
    given_[0] = 7.0
    assert steps.step_sizes[0] == 0.1
    with pytest.raises(ValueError, match="read-only"):
        steps.step_sizes[0] = 7.0


@pytest.mark.parametrize("diameter", [0.0, -1.0, np.inf])
def test_a_bad_diameter_is_refused(diameter):
    with pytest.raises(ValueError, match="diameter must be"):
        AdaGradNorm(diameter)
