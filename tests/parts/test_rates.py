"""Rates are their formulas, never rise without decay, and restart where they should."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import swordplay as sp
from strategies import tracking
from swordplay.core.types import GameConstants
from swordplay.parts import rates
from swordplay.parts.rates import OptimismError
from swordplay.parts.streams import drift
from tolerances import ROUNDING

CONSTANTS = GameConstants(diameter=2.0, gradient_bound=3.0)
LAM = math.log(5)


def run(rate, signals, constants=CONSTANTS, prior_cost=LAM):
    """States before round 1, 2, ..., and the rounds after which the meta was to start restart."""
    states, restarts = [rate.start(constants, prior_cost)], []
    for t, signal in enumerate(signals, start=1):
        state, restart = rate.step(states[-1], signal, constants, prior_cost)
        states.append(state)
        if restart:
            restarts.append(t)
    return states, restarts


signals = st.lists(
    st.builds(OptimismError, st.floats(0.0, 10.0), st.floats(0.0, 10.0)), max_size=40
)


@given(signals, st.floats(1e-3, 1e3))
def test_a_fixed_rate_is_fixed(seen, value):
    states, restarts = run(rates.Fixed(value), seen)
    assert {state.value for state in states} == {value}
    assert not restarts


@given(signals)
def test_the_self_confident_rate_is_its_formula(seen):
    A = np.concatenate([[0.0], np.cumsum([signal.squared_loss_error for signal in seen])])
    states, restarts = run(rates.SelfConfident(cap=0.2), seen)
    expected = np.minimum(0.2, np.sqrt(LAM / (2 * (36.0 + A))))
    np.testing.assert_allclose([state.value for state in states], expected, rtol=ROUNDING)
    assert not restarts


@given(signals, st.floats(0.0, 10.0), st.floats(0.1, 10.0))
def test_the_self_confident_rate_never_rises(seen, offset, factor):
    values = [
        state.value for state in run(rates.SelfConfident(offset=offset, factor=factor), seen)[0]
    ]
    assert all(later <= earlier for earlier, later in pairwise(values))
    grown = rates.SelfConfident(offset=1.0)
    state = grown.start(CONSTANTS, LAM)
    after, _ = grown.step(state, OptimismError(1e-9, 0.0), CONSTANTS, prior_cost=10 * LAM)
    assert after.value <= state.value


def test_without_an_offset_the_rate_is_infinite_until_losses_differ_from_optimism():
    states, _ = run(
        rates.SelfConfident(offset=0.0),
        [OptimismError(0.0, 1.0), OptimismError(0.5, 0.0)],
        GameConstants(2.0),
    )
    assert [state.value for state in states[:2]] == [math.inf, math.inf]
    assert states[2].value == pytest.approx(math.sqrt(LAM))


@given(signals, st.floats(1e-3, 1.0))
def test_a_floor_counts_the_largest_gradient_error(seen, floor):
    A = np.concatenate([[0.0], np.cumsum([signal.squared_loss_error for signal in seen])])
    largest = np.maximum.accumulate([0.0] + [signal.squared_gradient_error for signal in seen])
    states, _ = run(rates.SelfConfident(offset=1.0, floor=floor), seen, GameConstants(2.0))
    np.testing.assert_allclose(
        [s.value for s in states],
        np.sqrt(LAM / (2 * (1 + A + 4 * floor**2 * largest))),
        rtol=ROUNDING,
    )


@given(signals, st.floats(1e-3, 10.0))
def test_doubling_restarts_exactly_when_the_sum_exceeds_the_guess(seen, initial):
    states, restarts = run(rates.Doubling(initial), seen)
    total, guess, expected = 0.0, initial, []
    for t, signal in enumerate(seen, start=1):
        total += signal.squared_gradient_error
        passed = guess * (
            1 + rates.TIE_TOLERANCE
        )  # a total that meets its guess exactly has not passed it, whatever the rounding
        if total > passed:
            expected.append(t)
        while total > guess * (1 + rates.TIE_TOLERANCE):
            guess *= 2
        assert states[t].total == pytest.approx(total)
        assert states[t].level == pytest.approx(guess)
        assert states[t].value == pytest.approx(math.sqrt((2 + LAM) / (4.0 * guess)))
    assert restarts == expected


def test_a_memory_decays_every_sum_and_lets_the_rate_rise():
    """M = 4 keeps three quarters: squared errors of 4 (losses) and 16 (gradients), then nothing.

    (floor D)^2 = 1.
    """
    rate = rates.SelfConfident(offset=0.0, factor=8.0, floor=0.5, memory=4.0)
    assert rate.decay == 0.75
    states, _ = run(rate, [OptimismError(4.0, 16.0), OptimismError(0.0, 0.0)])
    assert [(state.total, state.level) for state in states] == [
        (0.0, 0.0),
        (4.0, 16.0),
        (3.0, 12.0),
    ]
    expected = [math.inf, math.sqrt(8 * LAM / 20), math.sqrt(8 * LAM / 15)]
    assert [state.value for state in states] == pytest.approx(expected, rel=ROUNDING)


@pytest.mark.parametrize(("passed", "restarts"), [(1e-13, []), (1e-11, [1])])
def test_a_sum_equal_to_the_guess_up_to_rounding_does_not_restart(passed, restarts):
    assert run(rates.Doubling(4.0), [OptimismError(0.0, 4.0 * (1 + passed))])[1] == restarts


def test_doubling_starts_from_the_squared_gradient_bound():
    states, _ = run(rates.Doubling(), [])
    assert states[0].level == 9.0
    assert run(rates.Doubling(cap=1e-3), [])[0][0].value == 1e-3


@pytest.mark.parametrize("learner", [sp.SwordSmall, sp.SwordVar, sp.SwordBest])
def test_a_doubling_learner_sums_gradient_errors_and_restarts(learner):
    stream = drift.jumps(300, 2, every=50, noise=0.3)
    made = learner(
        stream.domain,
        horizon=300,
        gradient_bound=2.0,
        smoothness=1.0,
        learning_rate=rates.Doubling(initial=0.05),
    )
    total, optimism, restart = 0.0, [0.05], 0
    for loss in stream:
        before = made.state()
        guess = before["optimism.trust"] * before["optimism.replayed_gradient"]
        total += float(np.square(loss.gradient(made.decision) - guess).sum())
        made.observe(loss)
        after = made.state()
        assert after["meta.rate.total"] == pytest.approx(total)
        if after["meta.rate.level"] != optimism[-1]:
            optimism.append(after["meta.rate.level"])
            assert not after["meta.cumulative"].any()  # the past is forgotten
            restart += 1
        assert after["meta.rate.total"] <= after["meta.rate.level"]
    assert restart >= 5
    assert all(math.log2(b / a).is_integer() for a, b in pairwise(optimism))
    if (
        learner is sp.SwordSmall
    ):  # without a guess the total is the squared gradients of the run itself
        again = learner(
            stream.domain,
            horizon=300,
            gradient_bound=2.0,
            smoothness=1.0,
            learning_rate=rates.Doubling(initial=0.05),
        )
        assert sp.squared_gradients(
            stream, sp.play(again, stream, engine="python").decisions
        ) == pytest.approx(total)


@given(tracking(max_dim=2, max_rounds=20))
def test_a_learner_takes_the_rate_it_is_given(game):
    domain, losses = game
    learner = sp.SwordSmall(
        domain, horizon=20, gradient_bound=1.0, smoothness=1.0, learning_rate=rates.Fixed(0.125)
    )
    for loss in losses:
        learner.observe(loss)
    assert learner.state()["meta.rate.value"] == 0.125


def test_the_papers_rates_are_its_formulas():
    small = rates.paper_small_loss(diameter=2.0, experts=7, squared_gradients=50.0)
    assert small == pytest.approx(math.sqrt((2 + math.log(7)) / 200))
    slow = rates.paper_variation(diameter=2.0, smoothness=1e-3, experts=7, variation=50.0)
    assert slow == pytest.approx(math.sqrt((2 + math.log(7)) / 400))
    capped = rates.paper_variation(diameter=2.0, smoothness=1.0, experts=7, variation=1e-9)
    assert (
        capped
        == pytest.approx(1 / (math.sqrt(8) * 4))
        == rates.paper_variation(diameter=2.0, smoothness=1.0, experts=7, variation=0.0)
    )
    best = rates.paper_best(
        diameter=2.0, smoothness=1e-3, experts=7, variation=50.0, squared_gradients=30.0
    )
    assert best == pytest.approx(math.sqrt((2 + math.log(7)) / (4 * (30 + math.log(2)))))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rates.Fixed(0.0), "value must be greater than 0, got 0.0"),
        (lambda: rates.Fixed(math.inf), "value must be finite, got inf"),
        (lambda: rates.SelfConfident(cap=-1.0), "cap must be greater than 0, got -1.0"),
        (lambda: rates.SelfConfident(offset=-1.0), "offset must be at least 0, got -1.0"),
        (lambda: rates.SelfConfident(factor=0.0), "factor must be greater than 0, got 0.0"),
        (lambda: rates.SelfConfident(floor=-1.0), "floor must be at least 0, got -1.0"),
        (lambda: rates.Doubling(0.0), "initial must be greater than 0, got 0.0"),
        (lambda: rates.Doubling(cap="x"), "cap must be a real number, got 'x'"),
        (
            lambda: rates.Doubling().start(GameConstants(1.0), LAM),
            "initial must be given to Doubling",
        ),
        (
            lambda: rates.SelfConfident().start(GameConstants(1.0), LAM),
            "offset must be given to SelfConfident",
        ),
        (
            lambda: rates.paper_small_loss(diameter=1.0, experts=1, squared_gradients=0.0),
            "squared_gradients must be greater",
        ),
        (
            lambda: rates.paper_variation(diameter=1.0, smoothness=1.0, experts=0, variation=1.0),
            "experts must be at least 1",
        ),
        (
            lambda: rates.paper_variation(diameter=1.0, smoothness=1.0, experts=1, variation=-1.0),
            "variation must be at least 0",
        ),
    ],
)
def test_bad_rates_are_refused_in_words(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()
