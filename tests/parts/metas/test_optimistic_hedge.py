"""Optimistic Hedge: its weights, its invariances and its lemma."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive
from strategies import numbers, seeds
from swordplay.core.types import GameConstants
from swordplay.parts import metas, rates
from swordplay.parts.metas.optimistic_hedge import exponential_weights, half_range, prior_cost
from tolerances import ROUNDING, SHIFTED_HEDGE, TWIN, WEIGHT_SUM

CONSTANTS = GameConstants(diameter=1.0, gradient_bound=1.0)
RATES = [
    rates.Fixed(0.3),
    rates.Fixed(5.0),
    rates.SelfConfident(),
    rates.SelfConfident(cap=0.1),
    rates.SelfConfident(offset=0.5, factor=1.0),
]
every_rate = pytest.mark.parametrize("rate", RATES, ids=repr)
any_rate = st.sampled_from(RATES)


@st.composite
def experts_losses(draw: st.DrawFn, size: float = 1.0, least: int = 1):
    """Losses and optimism of shape (T, N), and a prior of shape (N,); the first guess is 0."""
    T, N = draw(st.integers(1, 20)), draw(st.integers(least, 6))
    losses = draw(arrays(np.float64, (T, N), elements=numbers(size)))
    optimism = draw(arrays(np.float64, (T, N), elements=numbers(size)))
    optimism[0] = 0.0
    prior = draw(arrays(np.float64, N, elements=st.floats(0.01, 1.0)))
    return losses, optimism, prior / prior.sum()


def run(rate, losses, optimism, prior):
    """Weights p_1 .. p_T, rates eps_1 .. eps_T."""
    hedge = metas.OptimisticHedge(rate, CONSTANTS)
    state = hedge.start(prior)
    weights, epsilons = [], []
    for t, loss in enumerate(losses):
        weights.append(state.weights)
        epsilons.append(state.rate.value)
        state = hedge.learn(state, loss, squared_gradient_error=0.0)
        state = hedge.weigh(
            state, optimism[t + 1] if t + 1 < len(optimism) else np.zeros_like(loss)
        )
    return np.array(weights), np.array(epsilons)


@given(any_rate, experts_losses(size=1e3))
def test_weights_are_positive_and_sum_to_one(rate, game):
    weights, _ = run(rate, *game)
    assert (weights > 0).all()
    assert np.abs(weights.sum(axis=1) - 1).max() <= WEIGHT_SUM


@given(any_rate, experts_losses())
def test_adding_a_million_to_every_loss_changes_no_weight(rate, game):
    losses, optimism, prior = game
    weights, _ = run(rate, losses, optimism, prior)
    raised = optimism + 1e6
    raised[0] = 0.0
    moved, _ = run(rate, losses + 1e6, optimism, prior)
    both, _ = run(rate, losses + 1e6, raised, prior)
    assert np.abs(moved - weights).max() <= SHIFTED_HEDGE
    assert np.abs(both - weights).max() <= SHIFTED_HEDGE


@given(any_rate, experts_losses(), seeds)
def test_permuted_experts_get_permuted_weights(rate, game, seed):
    losses, optimism, prior = game
    order = np.random.default_rng(seed).permutation(losses.shape[1])
    weights, _ = run(rate, losses, optimism, prior)
    permuted, _ = run(rate, losses[:, order], optimism[:, order], prior[order])
    np.testing.assert_allclose(permuted, weights[:, order], rtol=ROUNDING)


@given(experts_losses(), st.floats(0.01, 3.0))
def test_weights_agree_with_plain_loops(game, epsilon):
    losses, optimism, _ = game
    N = losses.shape[1]
    fixed, _ = run(rates.Fixed(epsilon), losses, optimism, metas.uniform(N))
    twin = naive.hedge(losses.tolist(), optimism.tolist(), lambda t, A: epsilon)
    np.testing.assert_allclose(fixed, twin, rtol=0, atol=TWIN)
    tuned, _ = run(rates.SelfConfident(cap=epsilon), losses, optimism, metas.uniform(N))
    twin = naive.hedge(
        losses.tolist(),
        optimism.tolist(),
        lambda t, A: min(epsilon, math.sqrt(math.log(N) / (2 * (1 + A)))),
    )
    np.testing.assert_allclose(tuned, twin, rtol=0, atol=TWIN)


def lemma_slack(rate, losses, optimism, prior):
    """Right-hand side less left-hand side of the lemma, for the worst expert, relative to the
    right-hand side's terms.
    """
    p, eps = run(rate, losses, optimism, prior)
    regret = np.einsum("ti,ti->", p, losses) - losses.sum(axis=0)
    loss_error = np.array([half_range(v) ** 2 for v in losses - optimism])
    moves = np.abs(np.diff(p, axis=0)).sum(axis=1) ** 2
    cost, stability = -np.log(prior) / eps[-1] + eps @ loss_error, (moves / (4 * eps[:-1])).sum()
    assert (np.diff(eps) <= 0).all()
    return ((cost - stability - regret) / (1 + cost + stability)).min()


@given(any_rate, experts_losses(least=2))
def test_the_lemma_holds_on_random_sequences(rate, game):
    losses, optimism, prior = game
    assert lemma_slack(rate, losses, optimism, metas.uniform(losses.shape[1])) >= -ROUNDING
    assert lemma_slack(rate, losses, optimism, prior) >= -ROUNDING


@every_rate
@pytest.mark.parametrize("seed", range(4))
def test_the_lemma_holds_against_an_adversary(rate, seed):
    """Each round charges the heaviest experts, after a guess that promised the opposite."""
    rng = np.random.default_rng(seed)
    hedge = metas.OptimisticHedge(rate, CONSTANTS)
    state = hedge.start(metas.uniform(5))
    losses, optimism = [], []
    for _ in range(400):
        loss = np.where(state.weights >= np.median(state.weights), 1.0, -1.0) * rng.uniform(
            0.5, 1.0, 5
        )
        losses.append(loss)
        optimism.append(state.optimism)
        state = hedge.weigh(hedge.learn(state, loss, 0.0), -loss * rng.integers(0, 2))
    assert lemma_slack(rate, np.array(losses), np.array(optimism), metas.uniform(5)) >= -ROUNDING


def test_an_infinite_rate_follows_the_leaders_by_prior():
    prior = np.array([0.2, 0.3, 0.5])
    weights = exponential_weights(np.log(prior), np.array([1.0, 1.0, 2.0]), math.inf)
    np.testing.assert_allclose(weights, [0.4, 0.6, 0.0], atol=ROUNDING)
    assert (weights > 0).all()


def test_the_entropy_is_that_of_the_least_likely_expert():
    assert prior_cost(np.log([0.125, 0.625, 0.25])) == pytest.approx(math.log(8), rel=ROUNDING)
    state = metas.OptimisticHedge(rates.SelfConfident(offset=2.0), CONSTANTS).start(
        np.array([0.125, 0.625, 0.25])
    )
    assert state.rate.value == pytest.approx(math.sqrt(0.5 * math.log(8) / 2), rel=ROUNDING)


def test_no_weight_is_zero():
    """An expert that is hopeless keeps the smallest normal number, from which it can come back."""
    weights = exponential_weights(np.log(metas.uniform(2)), np.array([0.0, 1e6]), 1.0)
    assert weights.tolist() == [1.0, 2.2250738585072014e-308]


@pytest.mark.parametrize("prior", [[0.5, 0.5 + 2e-9], [0.5, 0.4], [1.0, 0.0], [0.5, math.nan]])
def test_bad_priors_are_refused(prior):
    with pytest.raises(ValueError, match="prior must"):
        metas.OptimisticHedge(rates.Fixed(1.0), CONSTANTS).start(np.array(prior))
    metas.OptimisticHedge(rates.Fixed(1.0), CONSTANTS).start(
        np.array([0.5, 0.5 + 5e-10])
    )  # rounding


def test_huge_losses_neither_overflow_nor_vanish():
    weights = exponential_weights(np.log(metas.uniform(3)), np.array([0.0, 1e300, -1e300]), 1e10)
    np.testing.assert_allclose(weights, [0.0, 0.0, 1.0], atol=ROUNDING)
    assert (weights > 0).all()


@given(experts_losses())
def test_copies_share_the_weight_of_their_parent(game):
    losses, optimism, prior = game
    hedge = metas.OptimisticHedge(rates.SelfConfident(), CONSTANTS)
    state = hedge.start(prior)
    for loss, guess in zip(losses, optimism, strict=True):
        state = hedge.weigh(hedge.learn(state, loss, 0.0), guess)
    N = len(prior)
    parents = np.append(np.arange(N), N - 1)
    split = np.append(prior, prior[-1] * 0.75)
    split[N - 1] *= 0.25
    forked = hedge.copy_experts(state, parents, split)
    np.testing.assert_allclose(forked.weights[:-2], state.weights[:-1], rtol=ROUNDING)
    np.testing.assert_allclose(
        forked.weights[-2:], state.weights[-1] * np.array([0.25, 0.75]), rtol=ROUNDING
    )
    # The copies have one past: weighing again with their parent's optimism gives the same shares.
    again = hedge.weigh(forked, state.optimism[parents])
    np.testing.assert_allclose(again.weights, forked.weights, rtol=1e-9)
