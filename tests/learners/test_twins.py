"""Learners against plain Python loops, straight from the equations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import swordplay as sp
from strategies import balls, boxes, seeds, simplices, tracking, tracking_losses
from tolerances import TWIN


def decisions(learner, losses):
    said = [learner.decision]
    for loss in losses:
        learner.observe(loss)
        said.append(learner.decision)
    return np.array(said)


def agree(domain, ours, theirs):
    scale = domain.diameter + np.linalg.norm(domain.center)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=TWIN * scale)


@pytest.mark.parametrize(("learner", "twin"), [(sp.OGD, naive.ogd), (sp.OEGD, naive.oegd)])
@given(tracking(max_rounds=30), st.floats(1e-3, 2.0))
def test_single_experts(learner, twin, game, eta):
    domain, losses = game
    agree(
        domain,
        decisions(learner(domain, eta), losses),
        twin(naive.fields(losses), domain.center.tolist(), naive.projection(domain), eta),
    )


worlds = st.integers(1, 3).flatmap(lambda d: st.one_of(balls(d), boxes(d), simplices(d + 1)))


@settings(max_examples=30)
@given(worlds, st.integers(1, 40), st.floats(0.1, 10.0), seeds)
def test_sword_best(domain, rounds, G, seed):
    losses = tracking_losses(domain, rounds, np.random.default_rng(seed))
    constants = {"T": rounds, "G": G * domain.diameter, "L": 3.0}
    ours = sp.SwordBest(domain, horizon=rounds, gradient_bound=constants["G"], smoothness=3.0)
    theirs = naive.sword_best(
        naive.fields(losses), domain.center.tolist(), naive.projection(domain), D=domain.diameter, **constants
    )
    agree(domain, decisions(ours, losses), theirs)


@settings(max_examples=30)
@given(worlds, st.integers(1, 60), seeds)
def test_sword(domain, rounds, seed):
    losses = tracking_losses(domain, rounds, np.random.default_rng(seed))
    theirs = naive.sword(naive.fields(losses), domain.center.tolist(), naive.projection(domain), D=domain.diameter)
    agree(domain, decisions(sp.Sword(domain), losses), theirs)
