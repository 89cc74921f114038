"""The certificate's sums, by hand: steps that shrink, grow and shrink again."""

import math

import numpy as np
import pytest

import swordplay as sp
from swordplay.parts.experts import Move
from swordplay.parts.learners import certificate
from tolerances import ROUNDING

# 1/eta of the first expert is 2, 4, 1: it grows by 4 in all, its largest is 4, its last 1. Of the second: 0.5, 0.25, 1.
STEPS = [[0.5, 2.0], [0.25, 4.0], [1.0, 1.0]]
SURPRISES = [[4.0, 1.0], [8.0, 1.0], [2.0, 2.0]]  # eta/2 times these: 1 + 1 + 1 and 1 + 2 + 1
LEADS = [[1.0, 8.0], [0.5, 8.0], [2.0, 2.0]]  # over 2 eta: 1 + 1 + 1 and 2 + 1 + 1
ADVANTAGES = [[1.0, 10.0], [2.0, 10.0], [4.0, 21.0]]  # 7 and 41


def played(rounds=3):
    state = certificate.start(2)
    for t in range(rounds):
        move = Move(np.array(STEPS[t]), np.array(SURPRISES[t]), np.array(LEADS[t]))
        state = certificate.step(state, np.array(ADVANTAGES[t]), move)
    return state


def test_before_the_first_round_nothing_is_owed():
    assert certificate.value(certificate.start(3), diameter=2.0, path_length=5.0) == 0.0


@pytest.mark.parametrize(
    ("path_length", "expected"),
    [
        (0.0, 7 + 9 * 4 / 2 + 3 - 3),  # the first expert: 25, below 41 + 9 * 1.25 / 2 = 46.625
        (2.0, 7 + 9 * 4 / 2 + 3 * 2 * 4),  # 49, below 46.625 + 6
        (10.0, 41 + 9 * 1.25 / 2 + 3 * 10 * 1),  # the second: 76.625, below 25 + 120
    ],
)
def test_three_rounds_of_two_experts(path_length, expected):
    assert certificate.value(played(), diameter=3.0, path_length=path_length) == pytest.approx(expected, rel=ROUNDING)


def test_surprise_costs_half_the_step_and_a_lead_wins_half_its_inverse():
    state = played(1)
    np.testing.assert_allclose(state.drift, [0.5 * 4 / 2 - 2 * 1 / 2, 2 * 1 / 2 - 0.5 * 8 / 2], rtol=0, atol=ROUNDING)
    np.testing.assert_array_equal(state.inverse_growth, [2.0, 0.5])


def test_a_step_that_never_met_a_gradient_costs_nothing():
    move = Move(np.array([math.inf, 2.0]), np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    state = certificate.step(certificate.start(2), np.zeros(2), move)
    np.testing.assert_array_equal(state.drift, [0.0, 1.0])
    np.testing.assert_array_equal(state.inverse_largest, [0.0, 0.5])


def test_a_copy_has_the_past_of_its_parent():
    forked = certificate.fork(played(), np.array([0, 1, 1]))
    for sums, before in zip(forked, played(), strict=True):
        np.testing.assert_array_equal(sums, before[[0, 1, 1]])


def test_ogd_after_two_rounds():
    """f_t(x) = (x - 1)^2 / 2 on [-2, 2], steps of 0.5 from 0: points 0, 0.5; gradients -1, -0.5; D = 4."""
    learner = sp.OGD(sp.Ball(1, radius=2.0), 0.5)
    for _ in range(2):
        learner.observe(sp.SquaredLoss([1.0], 1.0))
    # (16 + 8 P) / (2 * 0.5) + 0.5 / 2 * (1 + 0.25)
    assert learner.certificate(0.0) == pytest.approx(16.3125, rel=ROUNDING)
    assert learner.certificate(3.0) == pytest.approx(40.3125, rel=ROUNDING)


def test_oegd_after_two_rounds():
    """The same losses: xhat 0, 0.5, x 0, 0.75; M_2 = -0.5 against g_2 = -0.25; lead 0.25 in round 2."""
    learner = sp.OEGD(sp.Ball(1, radius=2.0), 0.5)
    for _ in range(2):
        learner.observe(sp.SquaredLoss([1.0], 1.0))
    # (16 + 8 P) / (2 * 0.5) + 0.5 / 2 * (1 + 0.0625) - 0.0625 / (2 * 0.5)
    assert learner.certificate(1.0) == pytest.approx(24 + 0.265625 - 0.0625, rel=ROUNDING)
