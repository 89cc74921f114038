"""The gauge and the steps that are made of it, beside values computed by hand."""

import math

import numpy as np

import swordplay as sp
from swordplay.parts.experts import AdaGradNorm, Gauge, GaugedSteps
from swordplay.parts.experts.gauge import PATIENCE
from tolerances import ROUNDING


def test_a_gauge_by_hand():
    gauge = Gauge().after(2.0, 0.0, 0.0)
    assert gauge == (2.0, 0.0)  # no gradient: nobody knows how wide
    gauge = gauge.after(1.0, 3.0, 0.0)
    assert gauge == (2.0, 3.0)  # 2 |g| / L = 2 * 3 / 2, L the largest so far
    assert gauge.after(4.0, 90.0, 1.25) == (4.0, 3.0)  # only the first gradient starts it; 2 * 1.25 and 90 / (4 * 8) are less
    assert gauge.after(2.0, 80.0, 1.25) == (2.0, 5.0)  # 80 / (2 * 8): two steps of the capped descent expert
    assert gauge.after(0.5, 1.0, 1.75) == (2.0, 3.5)  # 2 * 1.75


def test_of_losses_without_a_smoothness_the_whole_domain_is_of_use():
    assert Gauge().after(0.0, 1e-9, 0.0) == (0.0, math.inf)


def test_steps_by_hand():
    energy = np.array([4.0, 4.0, 16.0])
    # D = 10: the capped step is min(10 / (2 * 2), 1 / (2 * 0.25)) = min(2.5, 2); the others are made for a span of 6.
    np.testing.assert_allclose(GaugedSteps(10.0, Gauge(0.25, 6.0)).sizes(energy), [2.0, 3.0, 3.0], rtol=ROUNDING)
    # L = 0.1: 1 / (2 * 0.1) = 5 is no cap; averaged over 8 rounds it is 0.625. A span beyond D is D.
    np.testing.assert_allclose(GaugedSteps(10.0, Gauge(0.1, 60.0)).sizes(energy), [2.5, 5.0, 5.0], rtol=ROUNDING)
    np.testing.assert_allclose(GaugedSteps(10.0, Gauge(0.1, 60.0), 8).sizes(energy), [0.625, 5.0, 5.0], rtol=ROUNDING)
    # Nobody knows the smoothness: the steps of AdaGradNorm.
    np.testing.assert_array_equal(GaugedSteps(10.0, Gauge(0.0, math.inf)).sizes(energy), AdaGradNorm(10.0).sizes(energy))
    assert GaugedSteps(10.0, Gauge()).count() == 1
    assert np.isinf(GaugedSteps(10.0, Gauge(3.0, 0.0)).sizes(np.zeros(4))).all()


def test_the_first_rounds_of_a_sword_by_hand():
    """f(x) = (2 x - 4)^2 / 2, on a ball of radius 100: g = -8 and L = 4 at 0, so that the span is 2 * 8 / 4 = 4."""
    learner = sp.Sword(sp.Ball(1, 100.0))
    learner.observe(sp.SquaredLoss([2.0], 4.0))
    state = learner.state()
    assert (state["gauge.smoothness"], state["gauge.span"]) == (4.0, 4.0)
    # The capped step is 1/8, the other one's 1 * 4 / 8.
    np.testing.assert_allclose(state["experts.1.base"][:, 0], [1.0, 4.0], rtol=ROUNDING)
    # Extra-gradient experts look ahead along 2 (2 * 1 - 4) = -4 and 2 (2 * 4 - 4) = 8, by 1/8 and by 4 / 8.
    np.testing.assert_allclose(state["experts.0.points"][:, 0], [1.5, 0.0], rtol=0, atol=ROUNDING)
    learner.observe(sp.SquaredLoss([2.0], 4.0))
    state = learner.state()
    # The capped descent expert averages over 2 rounds, 1 + 4 / (2 * 4 * 2); the other steps by 1 * 4 / sqrt(8^2 + 8^2).
    np.testing.assert_allclose(state["experts.1.base"][:2, 0], [1.25, 4 - 32 / math.sqrt(128)], rtol=ROUNDING)


def test_the_patient_expert_waits_for_eight_rounds_and_no_longer():
    learner, steps = sp.Sword(sp.Ball(1, 1e6)), []
    for t in range(12):
        learner.observe(sp.SquaredLoss([1.0], 5.0 + t))
        steps.append(1 / learner._state.certificate.inverse_step[len(learner.weights) // 2])
    np.testing.assert_allclose(steps, [0.5 / min(t, 8) for t in range(1, 13)], rtol=ROUNDING)
    assert PATIENCE == 8
