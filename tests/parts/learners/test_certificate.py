"""The certificate's sums and bounds by hand, windows of rounds, and sizes of domains."""

import math
import tracemalloc

import numpy as np
import pytest

import swordplay as sp
from swordplay.parts.experts import ExpertStep
from swordplay.parts.learners.certificate import (
    MAX_DIM_OF_DUAL_SUM,
    CertificateState,
    Displacement,
    DomainGeometry,
    Moment,
    _distance_by_diameter,
)
from tolerances import ROUNDING, THEOREM

# 1/eta of the first expert is 2, 4, 1: it grows by 4 in all, its largest is 4, its last 1. Of the
# second: 0.5, 0.25, 1.
STEPS = [[0.5, 2.0], [0.25, 4.0], [1.0, 1.0]]
SURPRISES = [[4.0, 1.0], [8.0, 1.0], [2.0, 2.0]]  # eta/2 times these: 1 + 1 + 1 and 1 + 2 + 1
LEADS = [[1.0, 8.0], [0.5, 8.0], [2.0, 2.0]]  # over 2 eta: 1 + 1 + 1 and 2 + 1 + 1
ADVANTAGES = [[1.0, 10.0], [2.0, 10.0], [4.0, 21.0]]  # 7 and 41
SQUARES = [[0.0, 0.0], [0.16, 0.25], [0.36, 1.0], [0.25, 1.0]]
"""norm(w)^2 before each round, and after the last."""
BALL = DomainGeometry.of(sp.Ball(2, radius=1.5))
ENDS = np.array([[0.3, 0.4], [0.0, 1.0]])


def played(rounds=3):
    state = CertificateState.at_start(2)
    for t in range(rounds):
        move = ExpertStep(np.array(STEPS[t]), np.array(SURPRISES[t]), np.array(LEADS[t]))
        lengths = Displacement(np.array(SQUARES[t]), np.array(SQUARES[t + 1]))
        state = state.with_round(np.array(ADVANTAGES[t]), move, lengths)
    return state


def charged(state):
    """The sums with a worse sum by parts, so that changes of steps are charged at full distance."""
    return state._replace(
        weighted_norm_change=state.weighted_norm_change + 1e3,
        max_dual_norm=state.max_dual_norm + 1e3,
    )


def window(now, then, path_length, constant_steps, rounds=1):
    """The bound of the rounds after ``then``, in which no expert was copied."""
    return now.window_bound(
        BALL,
        path_length,
        ENDS,
        constant_steps,
        since=then,
        ancestors=np.arange(len(then.base_offsets)),
        rounds=rounds,
    )


def test_before_the_first_round_nothing_is_owed():
    assert CertificateState.at_start(3).bound(BALL, 5.0, np.zeros((3, 2)), True) == 0.0


@pytest.mark.parametrize(
    ("path_length", "expected"),
    [
        (0.0, 7 + 9 * 4 / 2 + 3 - 3),  # the first expert: 25, below 41 + 9 * 1.25 / 2 = 46.625
        (2.0, 7 + 9 * 4 / 2 + 3 * 2 * 4),  # 49, below 46.625 + 6
        (10.0, 41 + 9 * 1.25 / 2 + 3 * 10 * 1),  # the second: 76.625, below 25 + 120
    ],
)
def test_steps_that_change_charged_at_the_largest_distances(path_length, expected):
    found = charged(played()).bound(BALL, path_length, ENDS, False)
    assert found == pytest.approx(expected, rel=ROUNDING)


def test_steps_that_change():
    """By parts: 1/eta of 2, 4, 1 and |w| of 0, 0.4, 0.6 turn by 2 * 0.4 + 3 * 0.6 and swing by
    (2 * 0.16 - 3 * 0.36) / 2.
    """
    state = played()
    np.testing.assert_allclose(
        state.squared_norm_change,
        [0.16 - 0.54, (-0.25 * 0.25 + 0.75 * 1.0) / 2],
        rtol=0,
        atol=ROUNDING,
    )
    np.testing.assert_allclose(state.max_squared_norm, [0.36, 1.0], rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(
        state.weighted_norm_change, [2.6, 0.25 * 0.5 + 0.75], rtol=0, atol=ROUNDING
    )
    # 2 * 0.4, then 4 * 0.6 + 0.8, then 0.5 + 2.6; and 0.25, then 0.25 + 0.125, then 1 + 0.875.
    np.testing.assert_allclose(state.max_dual_norm, [3.2, 1.875], rtol=0, atol=ROUNDING)
    first = 7 + 1.5 * 0.5 - 0.125 - 0.38 + 1.5 * 2.6  # below 25; w ends at 0.5
    assert state.bound(BALL, 0.0, ENDS, False) == pytest.approx(first, rel=ROUNDING)
    # A unit of path: 3.2, below 3 * 4 of the other form.
    assert state.bound(BALL, 1.0, ENDS, False) == pytest.approx(first + 3.2, rel=ROUNDING)
    # The second: 41 + 1.5 - 0.5 + 0.34375 + 1.5 * 0.875 + P 1.875, below 46.625 + 3 P.
    second = 41 + 1.0 + 0.34375 + 1.5 * 0.875 + 30 * 1.875
    assert state.bound(BALL, 30.0, ENDS, False) == pytest.approx(second, rel=ROUNDING)


PLACES = [
    [[0.0, 0.0], [0.0, 0.0]],
    [[0.4, 0.0], [0.0, 0.5]],
    [[0.0, 0.6], [0.0, 1.0]],
    [[0.3, 0.4], [0.0, 1.0]],
]
"""w before each round, and after the last, of the lengths above."""


def headed(rounds=3):
    state = CertificateState.at_start(2, 2)
    for t in range(rounds):
        move = ExpertStep(np.array(STEPS[t]), np.array(SURPRISES[t]), np.array(LEADS[t]))
        lengths = Displacement.of(np.array(PLACES[t]), np.array(PLACES[t + 1]))
        state = state.with_round(np.array(ADVANTAGES[t]), move, lengths)
    return state


def test_steps_that_change_and_the_vector_of_their_sums():
    """S: 2 (0.4, 0), then + 4 (-0.4, 0.6), then + 1 (0.3, -0.2).

    Of the second 0.5 * 0.5, + 0.25 * 0.5, + 0.
    """
    state = headed()
    np.testing.assert_allclose(state.dual_sum, [[-0.5, 2.2], [0.0, 0.375]], rtol=0, atol=ROUNDING)
    longest = math.hypot(
        -0.8, 2.4
    )  # after the second round; 0.8 and hypot(-0.5, 2.2) at the others
    np.testing.assert_allclose(state.max_dual_norm, [longest, 0.375], rtol=0, atol=ROUNDING)
    np.testing.assert_array_equal(state.weighted_norm_change, [0.0, 0.0])
    first = 7 + 1.5 * math.hypot(0.5, 2.2) - 0.125 - 0.38
    assert state.bound(BALL, 0.0, ENDS, False) == pytest.approx(first, rel=ROUNDING)
    assert state.bound(BALL, 1.0, ENDS, False) == pytest.approx(first + longest, rel=ROUNDING)
    assert state.bound(BALL, 1.0, ENDS, False) < played().bound(BALL, 1.0, ENDS, False)
    second = 41 + 1.5 * 0.375 - 0.5 + 0.34375 + 30 * 0.375
    assert state.bound(BALL, 30.0, ENDS, False) == pytest.approx(second, rel=ROUNDING)


def test_a_window_of_steps_that_change_and_the_vector_of_their_sums():
    """The last of three rounds: S moves by (0.3, -0.2), and no S is farther from (-0.8, 2.4)
    than both are from 0.
    """
    then = Moment(2, headed(2), np.array([[0.0, 0.6], [0.0, 1.0]]))
    found = [window(headed(), then, path, False) for path in (0.0, 1.0)]
    still = 4 + 1.5 * math.hypot(0.3, 0.2) + (4 * 0.36 - 0.25) / 2 - 0.54
    assert found[0] == pytest.approx(still, rel=ROUNDING)
    assert found[1] == pytest.approx(still + 2 * math.hypot(0.8, 2.4), rel=ROUNDING)


def test_a_copy_has_the_dual_sum_of_its_parent():
    copied = headed().of_experts(np.array([0, 1, 1]))
    np.testing.assert_array_equal(copied.dual_sum, np.asarray(headed().dual_sum)[[0, 1, 1]])
    assert played().of_experts(np.array([0, 1, 1])).dual_sum is None


@pytest.mark.parametrize(
    "domain",
    [sp.Ball(3, 0.7), sp.Simplex(3), sp.Box([0.0] * 3, [1.0] * 3)],
    ids=["ball", "simplex", "box"],
)
def test_what_sword_keeps_is_the_sum_of_its_steps(domain):
    """Over the life of every expert and its ancestors, from its base points alone.

    And the engine's is the same.
    """
    stream, learner, compiled = (
        sp.streams.drift.jumps(60, 3, every=15, noise=0.3, seed=2),
        sp.Sword(domain),
        sp.Sword(domain),
    )
    S, longest = np.zeros((4, 3)), np.zeros(4)
    for loss in stream:
        before = learner._base_offsets
        learner.observe(loss)
        now, was = len(learner.weights), len(before)
        parents = learner._ancestors(was, now)
        S, longest = S[parents], longest[parents]
        S = S + learner._state.certificate.inverse_step[:, None] * (
            learner._base_offsets - before[parents]
        )
        longest = np.maximum(longest, np.linalg.norm(S, axis=1))
    sp.play(compiled, stream, engine="compiled")
    for state in (learner.state(), compiled.state()):
        np.testing.assert_allclose(state["certificate.dual_sum"], S, rtol=0, atol=1e-10)
        np.testing.assert_allclose(state["certificate.max_dual_norm"], longest, rtol=1e-10)


def test_up_to_eight_coordinates_are_kept_whole():
    assert MAX_DIM_OF_DUAL_SUM == 8
    for dim in (8, 9):
        learner = sp.Sword(sp.Ball(dim))
        engine = sp.engine.compiled_twin(learner, "squared")
        assert engine.memory.keeps_dual_sum is (dim == 8)
        assert ("certificate.dual_sum" in learner.state()) is (dim == 8)


def test_what_lies_above_the_tangent_is_won():
    move = ExpertStep(np.array([0.5, 0.5]), np.array([4.0, 4.0]), np.zeros(2))
    lengths = Displacement(np.zeros(2), np.ones(2))
    state = CertificateState.at_start(2).with_round(
        np.ones(2), move, lengths, np.array([0.25, 0.0])
    )
    np.testing.assert_array_equal(state.step_cost, [0.75, 1.0])


def steady(*inverses):
    a, nothing = np.array(inverses), np.zeros(len(inverses))
    far = np.array([0.36, 1.21])
    return CertificateState(
        np.array([1.0, 2.0]), np.array([0.5, 0.25]), a, a, a, nothing, far, nothing, nothing
    )


def test_steps_that_stay():
    """1/eta = 4 and 2, w of length 0.5 and 1, at most 0.6 and 1.1, in a ball of radius 1.5: r a
    |w| - a |w|^2 / 2 + P a rho.
    """
    state = steady(4.0, 2.0)
    assert state.bound(BALL, 0.0, ENDS, True) == pytest.approx(
        min(1.5 + 1.5 * 2 - 4 * 0.25 / 2, 2.25 + 1.5 * 2 - 2 / 2), rel=ROUNDING
    )
    assert state.bound(BALL, 3.0, ENDS, True) == pytest.approx(
        2.25 + 3 - 1 + 3 * 2 * 1.1, rel=ROUNDING
    )


def test_each_expert_by_itself():
    """The first is steady, the second is not: 1.5 + 2.5 against 2.25 + 9 * 2 / 2."""
    state = charged(steady(4.0, 2.0))
    found = state.bound(BALL, 0.0, ENDS, np.array([True, False]))
    assert found == pytest.approx(4.0, rel=ROUNDING)
    found = state.bound(BALL, 0.0, ENDS, np.array([False, True]))
    assert found == pytest.approx(2.25 + 3 - 1, rel=ROUNDING)


def test_only_constant_steps_are_steady():
    """Steps that only shrink leave the same sums as steps that stay: the learner has to know."""
    ball = sp.Ball(2)
    assert not sp.Sword(ball)._constant_steps.any()
    assert sp.SwordAgeless(ball, smoothness=1.0)._constant_steps.all()
    assert sp.OGD(ball, 0.1)._constant_steps


def test_a_window_of_steps_that_stay_by_hand():
    then = Moment(
        5, steady(4.0, 2.0)._replace(linear_regret=np.zeros(2)), np.array([[0.3, 0.0], [0.0, 1.0]])
    )
    state = steady(4.0, 2.0)._replace(step_cost=np.array([1.0, 0.25]))
    found = [window(state, then, path, True) for path in (0.0, 1.0)]
    # First: 1 + 0.5, w from (0.3, 0) to (0.3, 0.4): 1.5 * 4 * 0.4 + 4 (0.09 - 0.25) / 2; a unit of
    # path: 4 (0.6 + 0.3). Second: 2 + 0, stood still: 0; a unit of path: 2 (1.1 + 1).
    assert found[0] == pytest.approx(min(1.5 + 2.4 - 0.32, 2.0), rel=ROUNDING)
    assert found[1] == pytest.approx(min(3.58 + 3.6, 2.0 + 4.2), rel=ROUNDING)


def test_a_window_of_steps_that_change_by_hand():
    """The last of three rounds: growth of 0 after 1/eta = 4, and of 0.75 after 0.25.

    Largest 4 and 1.
    """
    then, now = Moment(2, played(2), ENDS), charged(played())
    found = [window(now, then, path, False) for path in (0.0, 1.0)]
    assert found[0] == pytest.approx(min(4 + 9 * 4 / 2, 21 + 9 * 1 / 2), rel=ROUNDING)
    assert found[1] == pytest.approx(min(22 + 3 * 4, 25.5 + 3), rel=ROUNDING)


def test_a_window_of_steps_that_change_by_parts():
    """The last of three rounds.

    First: a from 4 to 1 at 0.6 turns by 1.8, swings by -3 * 0.36 / 2; w ends 0.5 long.
    """
    then = Moment(2, played(2), np.array([[0.4, 0.3], [0.0, 1.0]]))
    found = [window(played(), then, path, False) for path in (0.0, 1.0)]
    # 4 + 0 of the sums; |(0.3, 0.4) - 4 (0.4, 0.3)| = |(1.3, 0.8)|; 4 * 0.25 / 2 - 0.25 / 2 of the
    # squares.
    still = 4 + 1.5 * math.hypot(1.3, 0.8) + 0.375 - 0.54 + 1.5 * 3 * 0.6
    assert found[0] == pytest.approx(still, rel=ROUNDING)  # below 22 of the other form
    assert found[1] == pytest.approx(
        still + 3.2 - 0.8 + 4 * 0.5, rel=ROUNDING
    )  # pulled by 3.2, turned by 0.8 before


def test_surprise_costs_half_the_step_and_a_lead_wins_half_its_inverse():
    state = played(1)
    np.testing.assert_allclose(
        state.step_cost, [0.5 * 4 / 2 - 2 * 1 / 2, 2 * 1 / 2 - 0.5 * 8 / 2], rtol=0, atol=ROUNDING
    )
    np.testing.assert_array_equal(state.inverse_growth, [2.0, 0.5])


def test_a_step_that_never_met_a_gradient_costs_nothing():
    move = ExpertStep(np.array([math.inf, 2.0]), np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    lengths = Displacement(np.zeros(2), np.zeros(2))
    state = CertificateState.at_start(2).with_round(np.zeros(2), move, lengths)
    np.testing.assert_array_equal(state.step_cost, [0.0, 1.0])
    np.testing.assert_array_equal(state.inverse_largest, [0.0, 0.5])


def test_a_copy_has_the_past_of_its_parent():
    copied = played().of_experts(np.array([0, 1, 1]))
    for sums, before in zip(copied[:-1], played()[:-1], strict=True):
        np.testing.assert_array_equal(sums, before[[0, 1, 1]])


def test_how_far_a_domain_reaches():
    ball = DomainGeometry.of(sp.Ball(3, 2.0, [1.0, 0.0, 5.0]))
    assert ball.reach == 2.0
    assert ball.diameter == 4.0
    assert DomainGeometry.of(sp.Box([0.0, 0.0], [6.0, 8.0])).reach == pytest.approx(5.0)
    assert DomainGeometry.of(sp.Simplex(4, 2.0)).reach <= 2.0 * math.sqrt(2)
    direction = np.array([[3.0, 4.0]])
    for around in (DomainGeometry.of(sp.Ball(2, 2.0, [7.0, 7.0])), DomainGeometry.of_ball(2.0)):
        assert around.support(direction) == pytest.approx([10.0])
        assert around[:2] == (4.0, 2.0)


def test_ogd_after_two_rounds():
    """f_t(x) = (x - 1)^2 / 2 on [-2, 2], steps of 0.5 from 0: points 0, 0.5, 0.75.

    Gradients -1, -0.5.
    """
    learner = sp.OGD(sp.Ball(1, radius=2.0), 0.5)
    for _ in range(2):
        learner.observe(sp.SquaredLoss([1.0], 1.0))
    # 0.5 / 2 * (1 + 0.25) + 2 * 0.75 / 0.5 - 0.75^2 / (2 * 0.5) + P * 0.75 / 0.5
    assert learner.certificate(0.0) == pytest.approx(0.3125 + 3.0 - 0.5625, rel=ROUNDING)
    assert learner.certificate(3.0) == pytest.approx(0.3125 + 3.0 - 0.5625 + 4.5, rel=ROUNDING)


def test_oegd_after_two_rounds():
    """The same losses: xhat 0, 0.5, 0.625, x 0, 0.75.

    M_2 = -0.5 against g_2 = -0.25; lead 0.25 in round 2.
    """
    learner = sp.OEGD(sp.Ball(1, radius=2.0), 0.5)
    for _ in range(2):
        learner.observe(sp.SquaredLoss([1.0], 1.0))
    # 0.5 / 2 * (1 + 0.0625) - 0.0625 / (2 * 0.5) + 2 * 0.625 / 0.5 - 0.625^2 / (2 * 0.5) + P *
    # 0.625 / 0.5
    assert learner.certificate(1.0) == pytest.approx(
        0.265625 - 0.0625 + 2.5 - 0.390625 + 1.25, rel=ROUNDING
    )


def world(seed=0, rounds=160):
    return sp.streams.drift.jumps(rounds, 2, every=40, noise=0.2, seed=seed)


def learners(stream):
    G, L = stream.gradient_bound(stream.domain), stream.smoothness
    yield sp.SwordBest(stream.domain, horizon=len(stream), gradient_bound=G, smoothness=L)
    yield sp.SwordAgeless(stream.domain, smoothness=L)
    yield sp.Sword(stream.domain)


class TestWindows:
    @pytest.mark.parametrize("seed", range(3))
    def test_regret_on_a_window_stays_below_its_certificate(self, seed):
        stream = world(seed)
        for learner in learners(stream):
            values, moments = [], {}
            for t, loss in enumerate(stream):
                if t in (0, 37, 80, 159):
                    moments[t] = learner.moment
                values.append(loss.value(learner.decision))
                learner.observe(loss)
            for first, moment in moments.items():
                part, total = stream[first:], sum(values[first:])
                for penalty in (5.0, 0.3, 0.01):
                    best = sp.hindsight.best_sequence(part, stream.domain, penalty=penalty)
                    promised = learner.certificate(best.path_length, since=moment)
                    assert total - best.loss <= promised + THEOREM * (abs(promised) + total)

    def test_a_window_of_all_rounds_is_at_least_the_whole_certificate(self):
        stream = world()
        for learner in learners(stream):
            first = learner.moment
            sp.play(learner, stream, engine="python")
            for path in (0.0, 1.0):
                assert learner.certificate(path, since=first) >= learner.certificate(path) - 1e-9
            assert learner.certificate(0.0, since=first) == pytest.approx(
                learner.certificate(0.0), rel=1e-9
            )
            assert learner.certificate(3.0, since=learner.moment) >= 0.0

    def test_refusals(self):
        learner, other = sp.Sword(sp.Ball(2)), sp.Sword(sp.Ball(2))
        sp.play(other, world(), engine="python")
        with pytest.raises(
            ValueError,
            match="since must be a moment of this learner's past, got one after 160 rounds",
        ):
            learner.certificate(0.0, since=other.moment)
        with pytest.raises(
            TypeError, match=r"since must be a moment that learner\.moment gave, got 7"
        ):
            learner.certificate(0.0, since=7)
        with pytest.raises(ValueError, match="moment of this learner's past"):
            other.certificate(0.0, since=sp.Sword(sp.Ball(3)).moment)


class TestSplit:
    @pytest.mark.parametrize("engine", ["python", "compiled"])
    def test_the_parts_add_up_and_the_metas_part_is_linear(self, engine):
        stream = world()
        for learner, other in zip(learners(stream), learners(stream), strict=True):
            ledger = sp.play(learner, stream, engine=engine)
            split = ledger.split(learner, stream.comparators)
            assert split.regret == ledger.regret(stream.comparators)
            np.testing.assert_allclose(
                split.meta + split.expert, split.regret, rtol=1e-9, atol=1e-9
            )
            np.testing.assert_array_equal(split.step_sizes, learner.step_sizes)
            if isinstance(other, sp.Sword):
                continue  # its experts multiply on the way
            owed, lost = np.zeros(len(other.weights)), np.zeros(len(other.weights))
            for loss in stream:
                gradient, points = loss.gradient(other.decision), other.points
                owed += gradient @ other.decision - points @ gradient
                lost += loss.value(other.decision) - loss.value(points)
                other.observe(loss)
            np.testing.assert_allclose(split.meta, owed, rtol=1e-7, atol=1e-9)
            assert (split.meta >= lost - 1e-9).all()

    def test_another_run_is_refused(self):
        stream = world()
        ledger = sp.play(sp.Sword(stream.domain), stream)
        with pytest.raises(ValueError, match="belong to different runs"):
            ledger.split(sp.Sword(stream.domain), stream.comparators)


def test_the_engine_knows_how_far_the_base_points_are_from_the_centre():
    stream = world()
    for make in (
        lambda: next(learners(stream)),
        lambda: sp.SwordAgeless(sp.Ball(2, 0.4, [0.2, -0.1]), smoothness=4.0),
    ):
        learner = make()
        engine = sp.engine.compiled_twin(learner, "squared")
        engine.play(stream.features, stream.targets)
        np.testing.assert_allclose(
            engine.base_lengths(),
            np.linalg.norm(learner._base_offsets, axis=1),
            rtol=1e-9,
            atol=1e-12,
        )
        sums = CertificateState(**engine.certificate_sums())
        ball = DomainGeometry.of_ball(learner.domain.radius)
        for path in (0.0, 2.0):
            found = sums.bound(ball, path, engine.base_lengths()[:, None], constant_steps=True)
            assert found == pytest.approx(learner.certificate(path), rel=1e-9)


def test_the_form_for_steps_that_change_by_hand():
    """D^2 (last 1/eta) / 2 + D P (largest 1/eta): whoever moves pays by the smallest step,
    whoever stays by the last one.
    """
    ball = DomainGeometry.of_ball(1.5)
    owed = _distance_by_diameter(ball, np.array([2.0, 0.5]), np.array([4.0, 0.25]), 2.0)
    assert owed.tolist() == [9.0 + 24.0, 2.25 + 1.5]


LONG_DIM = 1_000_000
NUMBERS_PER_COORDINATE = 60
"""Doubles for each coordinate that a certificate may use: a few points, directions and bounds."""


@pytest.mark.parametrize("engine", ["python", "compiled"])
@pytest.mark.parametrize("kind", ["ball", "box", "simplex", "one projection"])
def test_a_certificate_takes_memory_linear_in_the_dimension(kind, engine):
    d = LONG_DIM
    domain = {
        "ball": lambda: sp.Ball(d),
        "box": lambda: sp.Box(-np.ones(d), np.ones(d)),
        "simplex": lambda: sp.Simplex(d),
        "one projection": lambda: sp.Simplex(d),
    }[kind]()
    if engine == "compiled" and kind != "ball":
        pytest.skip("the engine plays few coordinates off the ball")
    learner = (
        sp.OneProjection(domain, lambda ball: sp.OGD(ball, 0.1))
        if kind == "one projection"
        else sp.OGD(domain, 0.1)
    )
    features = np.zeros(d)
    features[:10] = 1.0
    if engine == "compiled":
        sp.play(learner, sp.LinearStream(features[None], [1.0]), engine="compiled")
    else:
        learner.observe(sp.SquaredLoss(features, 1.0))
    tracemalloc.start()
    try:
        bound = learner.certificate(0.5)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert math.isfinite(bound)
    assert peak < 8 * NUMBERS_PER_COORDINATE * d


class Unknown:
    """A ball of which only the protocol is known."""

    def __init__(self, ball):
        self.dim, self.diameter, self.center = ball.dim, ball.diameter, ball.center
        self.project, self.contains, self.support = ball.project, ball.contains, ball.support


@pytest.mark.parametrize(
    "domain",
    [
        sp.Box([0.0, -1.0, 2.0], [6.0, 8.0, 2.5]),
        sp.Simplex(3, 2.0),
        sp.Simplex(5),
        Unknown(sp.Ball(3, 2.0, [1.0, 0.0, 5.0])),
        Unknown(sp.Box(-np.arange(1.0, 301.0), np.ones(300))),
    ],
    ids=["box", "simplex", "wide simplex", "unknown ball", "unknown box of 300"],
)
def test_the_reach_is_that_along_all_axes_at_once(domain):
    axes = np.eye(domain.dim)
    along = np.maximum(
        domain.support(axes) - axes @ domain.center, domain.support(-axes) + axes @ domain.center
    )
    expected = min(domain.diameter, np.linalg.norm(along))
    assert DomainGeometry.of(domain).reach == pytest.approx(expected, rel=ROUNDING)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["Sword", "SwordBest", "SwordAgeless"])
def test_windows_hold_after_rounds_of_a_far_larger_scale(name, seed):
    """200 rounds of scale 1e8, then 30 of scale 1e-8: differences of sums are all rounding."""
    rng = np.random.default_rng(seed)
    domain = sp.Ball(2)
    make = {
        "Sword": lambda: sp.Sword(domain),
        "SwordBest": lambda: sp.SwordBest(domain, horizon=230, gradient_bound=1e9, smoothness=1e8),
        "SwordAgeless": lambda: sp.SwordAgeless(domain, smoothness=1e8),
    }
    learner = make[name]()

    def rounds(count, scale):
        for row, target in zip(rng.normal(size=(count, 2)), rng.normal(size=count), strict=True):
            yield sp.WeightedLoss(sp.SquaredLoss(row, target), scale)

    for loss in rounds(200, 1e8):
        learner.observe(loss)
    moment, total, losses = learner.moment, 0.0, list(rounds(30, 1e-8))
    for loss in losses:
        total += float(loss.value(learner.decision))
        learner.observe(loss)
    points = np.array([[0.0, 0.0], *rng.normal(size=(200, 2))])
    best = min(sum(loss.value(domain.project(points)) for loss in losses))
    assert total - best <= learner.certificate(0.0, since=moment)


@pytest.mark.parametrize("name", ["linear_regret", "step_cost", "squared_norm_change"])
def test_the_bound_of_a_window_includes_the_rounding_of_its_sums(name):
    """A sum of 1e16 at both ends, ten rounds apart: its difference is off by a few units."""
    state = steady(4.0, 2.0)._replace(**{name: np.full(2, 1e16)})
    found = window(state, Moment(5, state, ENDS), 0.0, True, rounds=10)
    assert found == pytest.approx((10 + 16) * np.finfo(float).eps * 2e16, rel=1e-6)


VANISHING = 1e-170
STEP = 0.1 / VANISHING
VANISHING_LEARNERS = {
    "OGD": lambda X: sp.OGD(X, STEP),
    "OEGD": lambda X: sp.OEGD(X, STEP),
    "OptimisticOGD": sp.OptimisticOGD,
    "AderTrueLosses": lambda X: sp.AderTrueLosses(X, horizon=41, gradient_bound=4 * VANISHING),
    "Sword": sp.Sword,
    "SwordAgeless": lambda X: sp.SwordAgeless(X, smoothness=VANISHING),
    "Curved": sp.Curved,
    "OneProjection": lambda X: sp.OneProjection(X, lambda ball: sp.OGD(ball, STEP)),
} | {
    name: lambda X, name=name: getattr(sp, name)(
        X, horizon=41, gradient_bound=4 * VANISHING, smoothness=VANISHING
    )
    for name in ("SwordVar", "SwordSmall", "SwordBest", "SwordPlusPlus")
}
REFUSED = r"their squares vanish.*Multiply the losses by a constant"


@pytest.mark.parametrize("name", VANISHING_LEARNERS)
def test_losses_whose_squared_gradients_underflow_are_refused(name):
    learner = VANISHING_LEARNERS[name](sp.Ball(1))
    nothing = sp.WeightedLoss(sp.SquaredLoss([1.0], 0.0), VANISHING)
    learner.observe(nothing)  # its gradient is 0
    for target in (3.0, -3.0):
        loss = sp.WeightedLoss(sp.SquaredLoss([1.0], target), VANISHING)
        with pytest.raises(ValueError, match=REFUSED):
            learner.observe(loss)
    assert learner.rounds == 1
    assert learner.certificate(0.0) == pytest.approx(0.0, abs=1e-300)


USUAL = {"horizon": 41, "gradient_bound": 4.0, "smoothness": 1.0}
COMPILED = {
    "OGD": lambda X: sp.OGD(X, 0.1),
    "OEGD": lambda X: sp.OEGD(X, 0.1),
    "Sword": sp.Sword,
    "SwordAgeless": lambda X: sp.SwordAgeless(X, smoothness=1.0),
    "SwordBest": lambda X: sp.SwordBest(X, **USUAL),
    "SwordPlusPlus": lambda X: sp.SwordPlusPlus(X, **USUAL),
}


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_the_engine_refuses_them_too(name, loss):
    """Targets of 1e-170, as streams have no weights; the engine takes no steps beyond 1e60."""
    targets = np.array([0.0, 3.0, -3.0, 3.0]) * VANISHING
    stream = sp.LinearStream(np.ones((4, 1)), targets, loss)
    for play in ("compiled", "auto", "python"):
        with pytest.raises(ValueError, match=REFUSED):
            sp.play(COMPILED[name](sp.Ball(1)), stream, engine=play)
    model = sp.engine.online(COMPILED[name](sp.Ball(1)), loss)
    model.learn([1.0], 0.0)
    with pytest.raises(ValueError, match=REFUSED):
        model.learn([1.0], 3.0 * VANISHING)
    assert model.rounds == 1
    with pytest.raises(ValueError, match=REFUSED):
        sp.engine.play_many(
            [COMPILED[name](sp.Ball(1))], np.ones((1, 4, 1)), targets[None], loss=loss
        )


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_gradients_may_fade_once_longer_ones_were_met(engine):
    """x_t = 2^-t after a first target of 1: its gradients fade to nothing, and none is refused."""
    stream = sp.LinearStream(np.ones((1200, 1)), [1.0] + [0.0] * 1199)
    learner = sp.OGD(sp.Ball(1), 0.5)
    ledger = sp.play(learner, stream, engine=engine)
    assert ledger.losses[500] > 0.0
    assert learner.rounds == 1200
    assert ledger.total_loss - 0.5 <= learner.certificate(0.0)


@pytest.mark.parametrize("name", ["SwordVar", "SwordSmall", "SwordBest", "SwordPlusPlus", "Ader"])
def test_constants_of_losses_that_overflow_are_named(name):
    constants = {"horizon": 41, "gradient_bound": 1e200, "smoothness": 1e200}
    if name == "Ader":
        del constants["smoothness"]
    with pytest.raises(ValueError, match=r"gradient_bound=1e\+200.*too large or too small"):
        getattr(sp, name)(sp.Ball(1), **constants)
