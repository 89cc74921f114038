"""Domain scale and capped step sizes against values computed by hand."""

import math

import numpy as np
import pytest

import swordplay as sp
from swordplay.engine.layout import SCALAR
from swordplay.parts.experts import AdaGradNorm, CappedAdaGrad, DomainScale
from swordplay.parts.experts.step_sizes import AVERAGED_ROUNDS, step_shrink
from tolerances import ROUNDING, TWIN


def test_domain_scale_by_hand():
    scale = DomainScale().with_loss(2.0, 0.0, 0.0)
    assert scale == (2.0, 0.0, 1.0)  # no gradient: the width is unknown
    scale = scale.with_loss(1.0, 3.0, 0.0)
    assert scale == (2.0, 3.0, 1.0)  # 2 |g| / L = 2 * 3 / 2, L the largest so far
    assert scale.with_loss(4.0, 90.0, 1.25) == (
        4.0,
        3.0,
        1.0,
    )  # only the first gradient starts it; 2 * 1.25 and 90 / (4 * 8) are less
    assert scale.with_loss(2.0, 80.0, 1.25) == (
        2.0,
        5.0,
        1.0,
    )  # 80 / (2 * 8): two steps of the capped descent expert
    assert scale.with_loss(0.5, 1.0, 1.75) == (2.0, 3.5, 1.0)  # 2 * 1.75


def test_width_is_infinite_without_a_smoothness():
    assert DomainScale().with_loss(0.0, 1e-9, 0.0) == (0.0, math.inf, 1.0)


def test_steps_by_hand():
    squared_error_sum = np.array([4.0, 4.0, 16.0])
    # D = 10: the capped step is min(10 / (2 * 2), 1 / (2 * 0.25)) = min(2.5, 2); the others are
    # made for a width of 6.
    np.testing.assert_allclose(
        CappedAdaGrad(10.0, DomainScale(0.25, 6.0)).sizes(squared_error_sum),
        [2.0, 3.0, 3.0],
        rtol=ROUNDING,
    )
    # L = 0.1: 1 / (2 * 0.1) = 5 is no cap; averaged over 8 rounds it is 0.625. A width beyond D is
    # D.
    np.testing.assert_allclose(
        CappedAdaGrad(10.0, DomainScale(0.1, 60.0)).sizes(squared_error_sum),
        [2.5, 5.0, 5.0],
        rtol=ROUNDING,
    )
    np.testing.assert_allclose(
        CappedAdaGrad(10.0, DomainScale(0.1, 60.0), 8).sizes(squared_error_sum),
        [0.625, 5.0, 5.0],
        rtol=ROUNDING,
    )
    # The smoothness is unknown: the steps of AdaGradNorm.
    np.testing.assert_array_equal(
        CappedAdaGrad(10.0, DomainScale(0.0, math.inf)).sizes(squared_error_sum),
        AdaGradNorm(10.0).sizes(squared_error_sum),
    )
    assert CappedAdaGrad(10.0, DomainScale()).count() == 1
    assert np.isinf(CappedAdaGrad(10.0, DomainScale(3.0, 0.0)).sizes(np.zeros(4))).all()


def test_sum_of_a_copy_by_hand():
    """Of a pool of two the copy has c = 2: with a width of 3 and L = 0.5 a sum of
    (2 * 3 * 0.5)^2 is a step of 1/L.
    """
    squared_error_sum, scale = np.array([1.0, 4.0]), DomainScale(0.5, 3.0)
    assert CappedAdaGrad(25.0, scale).sum_of_copy(squared_error_sum) == 9.0
    assert CappedAdaGrad(25.0, scale).sizes(np.append(squared_error_sum, 9.0))[2] == 2.0
    assert (
        CappedAdaGrad(24.0, scale).sum_of_copy(squared_error_sum) == 4.0
    )  # no more than eight widths: the sum is not raised
    assert (
        CappedAdaGrad(25.0, scale).sum_of_copy(np.array([1.0, 16.0])) == 16.0
    )  # shorter steps than that are its own affair
    assert (
        CappedAdaGrad(25.0, DomainScale(0.5, 3.0, step_shrink=2.0)).sum_of_copy(squared_error_sum)
        == 4.0
    )  # (2 * 3/4 * 0.5)^2 is less
    assert CappedAdaGrad(25.0, scale).sum_of_copy(np.zeros(2)) == 0.0  # nothing was met
    assert CappedAdaGrad(25.0, DomainScale(0.5, 0.0)).sum_of_copy(squared_error_sum) == 4.0
    assert AdaGradNorm(25.0).sum_of_copy(squared_error_sum) == 4.0


def test_engine_raises_the_sum_of_a_copy_too():
    """In a ball of radius 1000, with copies after 2, 8, 32 and 128 rounds: both learners have the
    same sums, and some differ from those of the parents.
    """
    stream = sp.streams.drift.random_walk(200, 3, seed=49)
    readable, compiled = (sp.Sword(sp.Ball(3, 1000.0)) for _ in range(2))
    grown = []
    for t, loss in enumerate(stream):
        before = len(readable.weights) // 2
        readable.observe(loss)
        if len(readable.weights) // 2 > before:
            squared_error_sum = readable.state()["experts.1.squared_error_sum"]
            grown.append((t + 1, bool(squared_error_sum[-1] > squared_error_sum[-2])))
    sp.play(compiled, stream, engine="compiled", keep=())
    assert [rounds for rounds, _ in grown] == [2, 8, 32, 128]
    assert grown[-1] == (128, True)
    for kind in (0, 1):
        ours, theirs = (
            learner.state()[f"experts.{kind}.squared_error_sum"] for learner in (compiled, readable)
        )
        np.testing.assert_allclose(ours, theirs, rtol=TWIN)


def test_first_rounds_of_sword_by_hand():
    """f(x) = (2 x - 4)^2 / 2, on a ball of radius 100: g = -8 and L = 4 at 0, so that the width
    is 2 * 8 / 4 = 4.
    """
    learner = sp.Sword(sp.Ball(1, 100.0))
    learner.observe(sp.SquaredLoss([2.0], 4.0))
    state = learner.state()
    assert (state["domain_scale.smoothness"], state["domain_scale.width"]) == (4.0, 4.0)
    # The capped step is 1/8, the other one's 1 * 4 / 8.
    np.testing.assert_allclose(state["experts.1.base"][:, 0], [1.0, 4.0], rtol=ROUNDING)
    # Extra-gradient experts look ahead along 2 (2 * 1 - 4) = -4 and 2 (2 * 4 - 4) = 8, by 1/8 and
    # by 4 / 8.
    np.testing.assert_allclose(state["experts.0.points"][:, 0], [1.5, 0.0], rtol=0, atol=ROUNDING)
    learner.observe(sp.SquaredLoss([2.0], 4.0))
    state = learner.state()
    # The capped descent expert averages over 2 rounds, 1 + 4 / (2 * 4 * 2); the other steps by 1 *
    # 4 / sqrt(8^2 + 8^2).
    np.testing.assert_allclose(
        state["experts.1.base"][:2, 0], [1.25, 4 - 32 / math.sqrt(128)], rtol=ROUNDING
    )


def test_capped_descent_expert_averages_over_eight_rounds():
    learner, steps = sp.Sword(sp.Ball(1, 1e6)), []
    for t in range(12):
        learner.observe(sp.SquaredLoss([1.0], 5.0 + t))
        steps.append(1 / learner._state.certificate.inverse_step[len(learner.weights) // 2])
    np.testing.assert_allclose(steps, [0.5 / min(t, 8) for t in range(1, 13)], rtol=ROUNDING)
    assert AVERAGED_ROUNDS == 8


def test_many_coordinates_shorten_steps():
    """Capped extra-gradient steps are divided by the root of d / 64, the others by its square."""
    assert [step_shrink(d) for d in (1, 64, 100, 256, 1024)] == [1.0, 1.0, 1.25, 2.0, 4.0]
    squared_error_sum = np.array([4.0, 4.0])
    found = CappedAdaGrad(10.0, DomainScale(0.25, 6.0, step_shrink=2.0), 2.0).sizes(
        squared_error_sum
    )
    np.testing.assert_allclose(
        found, [1.0, 0.75], rtol=ROUNDING
    )  # 1 / (2 * 0.25 * 2) and 6 / 4 / 2
    # f(x) = (2 x_1 - 4)^2 / 2 as above, with 256 coordinates: 1/16 ahead along -4, and steps of 4 /
    # 4 / 8 for the others.
    learner = sp.Sword(sp.Ball(256, 100.0))
    learner.observe(sp.SquaredLoss(2.0 * np.eye(256)[0], 4.0))
    state = learner.state()
    np.testing.assert_allclose(state["experts.1.base"][:, 0], [1.0, 1.0], rtol=ROUNDING)
    np.testing.assert_allclose(state["experts.0.base"][:, 0], [0.5, 1.0], rtol=ROUNDING)
    np.testing.assert_allclose(
        state["experts.0.points"][:, 0], [0.5 + 6 / 16, 1.0 + 4 / 8], rtol=ROUNDING
    )


def test_states_keep_the_step_shrink():
    """The readable learner and the engine go on from a state with the same steps."""
    assert [DomainScale().descent_cap_divisor(t) for t in (0, 4, 9, 50)] == [1.0, 5.0, 8.0, 8.0]
    row, saved = np.eye(256)[0], sp.Sword(sp.Ball(256, 1e6)).state()
    learner, other = sp.Sword(sp.Ball(256, 1e6)), sp.Sword(sp.Ball(256, 1e6))
    learner.load_state(saved)
    other.load_state(saved)
    compiled = sp.engine.compiled_twin(other, "squared")
    targets = 5.0 + np.arange(12.0)
    for target in targets:
        learner.observe(sp.SquaredLoss(row, target))
    compiled.play(np.tile(row, (12, 1)), targets)
    for found in (learner.state(), compiled.state()):
        assert {name for name in found if name.startswith("domain_scale.")} == {
            name for name in saved if name.startswith("domain_scale.")
        }
        half = len(learner.weights) // 2
        inverse = found["certificate.inverse_step"]
        assert inverse[half] == pytest.approx(2 * 8, rel=ROUNDING)
        np.testing.assert_allclose(inverse, learner.state()["certificate.inverse_step"], rtol=TWIN)
        assert inverse[0] >= 2 * 2.0 * (1 - ROUNDING)
    again = sp.engine.compiled_twin(sp.Sword(sp.Ball(256, 1e6)), "squared")
    again.load_compact_state(compiled.compact_state())
    assert again.memory.scalars[SCALAR.step_shrink] == saved["domain_scale.step_shrink"] == 2.0
