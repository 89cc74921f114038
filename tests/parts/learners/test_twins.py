"""Learners against plain Python loops, straight from the equations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import naive_ensembles
import naive_sword
import swordplay as sp
from strategies import balls, boxes, seeds, simplices, tracking, tracking_losses
from tolerances import CERTIFIED, TWIN


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


def told(domain, rounds, L, seed, twin, **constants):
    """The losses of a game, and what the plain twin does with them."""
    losses = tracking_losses(domain, rounds, np.random.default_rng(seed))
    known = {"D": domain.diameter, **({"L": L} if L else {}), **constants}
    return losses, twin(
        naive.fields(losses), domain.center.tolist(), naive.projection(domain), **known
    )


def play_alike(learner, losses, run):
    """Decisions, weights and certificates of a learner of weighted experts are those of its
    plain twin.
    """
    domain = learner.domain
    agree(domain, decisions(learner, losses), run.decisions)
    np.testing.assert_allclose(learner.weights, run.weights[-1], rtol=0, atol=TWIN)
    for path_length in (0.0, 0.3 * domain.diameter, 20 * domain.diameter):
        plain = naive.certificate(
            run.pasts, domain, path_length, steady=not isinstance(learner, sp.Sword)
        )
        assert learner.certificate(path_length) == pytest.approx(
            plain, rel=CERTIFIED, abs=CERTIFIED * domain.diameter**2
        )


TUNED = {
    "SwordVar": (sp.SwordVar, naive_ensembles.sword_var),
    "SwordSmall": (sp.SwordSmall, naive_ensembles.sword_small),
    "SwordBest": (sp.SwordBest, naive_ensembles.sword_best),
}


@pytest.mark.parametrize(("learner", "twin"), TUNED.values(), ids=TUNED.keys())
@settings(max_examples=20)
@given(worlds, st.integers(1, 40), st.floats(0.1, 10.0), seeds)
def test_tuned_swords(learner, twin, domain, rounds, G, seed):
    G *= domain.diameter
    losses, run = told(domain, rounds, 3.0, seed, twin, G=G, T=rounds)
    play_alike(learner(domain, horizon=rounds, gradient_bound=G, smoothness=3.0), losses, run)


@settings(max_examples=20)
@given(worlds, st.integers(1, 40), st.floats(0.1, 10.0), seeds)
def test_ader(domain, rounds, G, seed):
    G *= domain.diameter
    losses, run = told(domain, rounds, None, seed, naive_ensembles.ader, G=G, T=rounds)
    play_alike(sp.Ader(domain, horizon=rounds, gradient_bound=G), losses, run)


@settings(max_examples=15)
@given(worlds, st.integers(1, 40), st.sampled_from([2.0, 7.0, 2000.0]), seeds)
def test_sword_ageless(domain, rounds, memory, seed):
    losses, run = told(domain, rounds, 3.0, seed, naive_ensembles.sword_ageless, memory=memory)
    play_alike(sp.SwordAgeless(domain, smoothness=3.0, memory=memory), losses, run)


@settings(max_examples=30)
@given(worlds, st.integers(1, 60), seeds)
def test_sword(domain, rounds, seed):
    losses, run = told(domain, rounds, None, seed, naive_sword.sword)
    play_alike(sp.Sword(domain), losses, run)
