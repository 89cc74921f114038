"""Sword++: beside plain Python, its constants, one gradient a round, and what its states must
fit.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_field
import swordplay as sp
from parts.learners.test_twins import play_alike, told, worlds
from strategies import seeds
from swordplay.parts import metas, pools, rates
from tolerances import ROUNDING

GIVEN = {"horizon": 100, "gradient_bound": 3.0, "smoothness": 0.5}


@settings(max_examples=20)
@given(worlds, st.integers(1, 40), st.floats(0.1, 10.0), seeds)
def test_twin(domain, rounds, G, seed):
    G *= domain.diameter
    losses, run = told(domain, rounds, 3.0, seed, naive_field.sword_plus_plus, G=G, T=rounds)
    play_alike(
        sp.SwordPlusPlus(domain, horizon=rounds, gradient_bound=G, smoothness=3.0), losses, run
    )


def test_defaults():
    """G sqrt(T)/(2 L D) = 30/2 = 15: four halvings of 1/(8L) = 0.25.

    The smallest is at most D/(4 G sqrt T) = 1/60.
    """
    learner = sp.SwordPlusPlus(sp.Ball(2), **GIVEN)
    np.testing.assert_array_equal(learner.step_sizes, 0.25 / 2.0 ** np.arange(4, -1, -1))
    assert learner.step_sizes[0] <= 1 / 60
    np.testing.assert_allclose(learner.weights, np.full(5, 0.2), rtol=ROUNDING)
    assert type(learner.parts.rate) is rates.SelfConfident
    assert learner.parts.rate.cap == pytest.approx(1 / (2 * 0.5 * 4), rel=ROUNDING)
    assert learner.state()["meta.rate.value"] == pytest.approx(
        math.sqrt(math.log(5) / 72), rel=ROUNDING
    )
    assert type(learner.parts.optimism) is metas.LastGradientOptimism
    assert learner.parts.shared_gradient
    assert len(pools.plus_plus(diameter=2.0, gradient_bound=1e-9, smoothness=1.0, horizon=4)) == 1


def test_one_gradient_a_round():
    asked = []
    loss = sp.FunctionLoss(
        lambda x: 0 * x[..., 0], lambda x: asked.append(np.shape(x)) or 0.1 * x + 0.2
    )
    learner = sp.SwordPlusPlus(sp.Box([0.0, 0.0], [1.0, 1.0]), **GIVEN)
    for _ in range(5):
        learner.observe(loss)
    assert asked == [(2,)] * 5


def test_states_must_fit():
    learner = sp.SwordPlusPlus(sp.Ball(1), **GIVEN)
    for target in (0.5, -0.5, 1.0):
        learner.observe(sp.SquaredLoss([1.0], target))
    saved = learner.state()
    for change in (-1.0, 5.0):  # below 0, and above 2 L D^2 = 4
        with pytest.raises(
            ValueError,
            match=r"state\['meta.optimism'\] holds movement charges outside the possible range",
        ):
            learner.load_state({**saved, "meta.optimism": saved["meta.optimism"] + change})
    made = {**GIVEN, "pool": learner.step_sizes, "learning_rate": rates.Fixed(1.0)}
    other = sp.SwordPlusPlus(sp.Ball(1), **{**made, "smoothness": 0.6})
    with pytest.raises(ValueError, match=r"smoothness was 0.5 and is 0.6 here"):
        other.load_state(sp.SwordPlusPlus(sp.Ball(1), **made).state())


@pytest.mark.parametrize(
    "domain", [sp.Simplex(2), sp.Box([-1.0, -1.0], [1.0, 1.0])], ids=["simplex", "box"]
)
def test_the_engine_says_that_off_the_ball_it_does_not_know_it(domain):
    learner, stream = sp.SwordPlusPlus(domain, **GIVEN), sp.LinearStream(np.eye(2), np.ones(2))
    with pytest.raises(
        sp.engine.NotCompilable, match="charges for moving is known to the engine on a Ball"
    ):
        sp.play(learner, stream, engine="compiled")
    sp.play(learner, stream)
    assert learner.rounds == 2


@pytest.mark.parametrize("name", ["horizon", "gradient_bound", "smoothness"])
def test_refusals(name):
    for bad in (0, -1, "x"):
        with pytest.raises((ValueError, TypeError), match=f"{name} must"):
            sp.SwordPlusPlus(sp.Ball(1), **{**GIVEN, name: bad})
    with pytest.raises(TypeError, match="domain must"):
        sp.SwordPlusPlus(3, **GIVEN)
