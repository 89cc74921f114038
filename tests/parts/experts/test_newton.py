"""Newton experts: against plain Python, least squares and their bound; bad numbers and extremes."""

import math

import numpy as np
import pytest
from tests.tolerances import TWIN

import swordplay as sp
from swordplay import bounds
from swordplay.parts.experts import NewtonExperts
from swordplay.parts.learners.metagrad_curved import RIDGE, curved_discounts

DISCOUNTS = [0.5, 0.9, 0.99]


def losses(kind, rng, rounds, dim):
    for t in range(rounds):
        a = rng.normal(size=dim)
        if kind == "squared":
            yield sp.SquaredLoss(a, float(a.sum()) * (-1) ** (t // 20))
        elif kind == "logistic":
            yield sp.LogisticLoss(a, int(a.sum() > 0.3))
        elif kind == "huber":
            yield sp.HuberLoss(a, 2.0 * float(a.sum()), threshold=0.2)
        else:
            half = rng.normal(size=(dim, dim))
            yield sp.QuadraticLoss(half @ half.T, a)


def naive_step(expert, gamma, rho, domain, gradient):
    """One expert in one round, a number at a time: (x, S, E) before to those after."""
    x, S, E = expert
    d, D = len(x), domain.diameter
    g = gradient(x)
    size = math.sqrt(sum(g[i] ** 2 for i in range(d)))
    best = None
    for sign in (-1.0, 1.0):
        probe = domain.project(
            np.array([x[i] + sign * 2.0**-10 * D * g[i] / (size or 1.0) for i in range(d)])
        )
        along = abs(sum((probe[i] - x[i]) * g[i] for i in range(d)))
        if best is None or along > best[0]:
            best = along, probe
    y, s = gradient(best[1]) - g, best[1] - x
    bend = sum(y[i] * s[i] for i in range(d))
    S = [
        [gamma * S[i][j] + (y[i] * y[j] / bend if bend > 1e-15 else 0.0) for j in range(d)]
        for i in range(d)
    ]
    E = gamma * E + size**2
    A = [
        [S[i][j] + (rho * math.sqrt(E) / D if i == j else 0.0) for j in range(d)] for i in range(d)
    ]
    return domain.project(x - np.linalg.inv(np.array(A)) @ g), S, E


@pytest.mark.parametrize("kind", ["squared", "logistic", "huber", "quadratic"])
@pytest.mark.parametrize(
    "domain", [sp.Ball(3, 3.0), sp.Box([-1.0, 0.0, 0.0], [1.0, 2.0, 0.5])], ids=["ball", "box"]
)
def test_beside_plain_python(kind, domain):
    experts = NewtonExperts(domain, DISCOUNTS, 0.3)
    state = experts.start()
    naive = [(domain.center.copy(), [[0.0] * 3 for _ in range(3)], 0.0) for _ in DISCOUNTS]
    for loss in losses(kind, np.random.default_rng(1), 60, 3):
        state, _ = experts.step(state, loss.gradient)
        naive = [
            naive_step(one, g, 0.3, domain, loss.gradient)
            for one, g in zip(naive, DISCOUNTS, strict=True)
        ]
        np.testing.assert_allclose(state.points, [x for x, _, _ in naive], rtol=0, atol=1e4 * TWIN)
        np.testing.assert_allclose(state.discounted_squares, [E for _, _, E in naive], rtol=1e-9)


def test_squared_losses_are_discounted_least_squares():
    rng, gamma = np.random.default_rng(2), 0.95
    rows = rng.normal(size=(80, 4))
    targets = rows @ np.array([0.5, -0.2, 0.1, 0.3])
    experts = NewtonExperts(sp.Ball(4, 100.0), [gamma], 1e-9)
    state = experts.start()
    for a, y in zip(rows, targets, strict=True):
        state, _ = experts.step(state, sp.SquaredLoss(a, y).gradient)
    shares = np.sqrt(gamma ** np.arange(79, -1, -1))
    best = np.linalg.lstsq(rows * shares[:, None], targets * shares, rcond=None)[0]
    np.testing.assert_allclose(state.points[0], best, atol=1e-6)


def share_used(seed):
    """Of the bound, on squared losses, against comparators that stand still and that jump.

    The ball is wide: no projection.
    """
    rng = np.random.default_rng(seed)
    domain, T = sp.Ball(3, 50.0), 90
    experts, gammas = NewtonExperts(domain, DISCOUNTS, 0.1), np.array(DISCOUNTS)
    comparators = rng.normal(size=(3, 3))[np.minimum(np.arange(T) // 30, rng.integers(0, 3))]
    rows = rng.normal(size=(T, 3)) * [1.0, 0.1, 3.0]
    targets = np.einsum("ij,ij->i", rows, comparators) + 0.1 * rng.normal(size=T)
    state, regret, gradients, curvatures, ridges = experts.start(), np.zeros(3), [], [], []
    for a, y, u in zip(rows, targets, comparators, strict=True):
        loss = sp.SquaredLoss(a, y)
        regret += loss.value(state.points) - loss.value(u)
        gradients.append(loss.gradient(state.points))
        state, _ = experts.step(state, loss.gradient)
        assert np.linalg.norm(state.points, axis=1).max() < 49.9
        curvatures.append(experts.regularised_curvatures(state))
        ridges.append(experts.ridges(state))
    used, path = [], sp.path_length(comparators)
    for k, gamma in enumerate(gammas):
        met = {
            name: np.array(all_of)[:, k]
            for name, all_of in zip(PARTS, (gradients, curvatures, ridges), strict=True)
        }
        used.append(
            regret[k]
            / bounds.curved_expert(
                diameter=domain.diameter, discount=gamma, path_length=path, **met
            )
        )
    return max(used)


PARTS = ("gradients", "curvatures", "ridges")
QUICK, DEEP, CHUNK = 100, 1_000, 50


def test_regret_stays_below_the_bound():
    assert 0.02 < max(share_used(seed) for seed in range(QUICK)) <= 1.0


@pytest.mark.deep
@pytest.mark.parametrize("first", range(QUICK, QUICK + DEEP, CHUNK))
def test_regret_stays_below_the_bound_in_the_campaign(first, record_property):
    used = max(share_used(seed) for seed in range(first, first + CHUNK))
    record_property("used", {"NewtonExperts": float(used)})
    assert used <= 1.0


def squared_error(T, waves):
    """Of `Curved` on a sine that goes up and down so often, seen through noise: total variation
    4 a wave.
    """
    rng, learner, error = np.random.default_rng(0), sp.Curved(sp.Ball(1, 2.0)), 0.0
    for theta in np.sin(2 * np.pi * waves * np.arange(T) / T):
        error += (learner.decision[0] - theta) ** 2
        learner.observe(sp.SquaredLoss([1.0], theta + 0.3 * rng.normal()))
    return error


@pytest.mark.parametrize("longest", [1024, pytest.param(16_384, marks=pytest.mark.deep)])
def test_squared_error_grows_like_the_cube_root_of_the_rounds(longest):
    """T^(1/3) P^(2/3): at a given total variation, where following every target would give T."""
    sizes = [longest // 16, longest // 4, longest]
    assert np.polyfit(np.log(sizes), np.log([squared_error(T, 1) for T in sizes]), 1)[0] < 0.5


@pytest.mark.deep
def test_squared_error_grows_slower_than_the_variation():
    waves = [1, 4, 16]
    assert (
        np.polyfit(np.log(waves), np.log([squared_error(4096, count) for count in waves]), 1)[0]
        < 0.8
    )


def test_the_bound_by_hand():
    """g = 2 and 1, A = 4 and 5, ridges 1 and 0.75: 0.5 (1 + 0.2) + 2 (1 + 0.25) + 0.5 * 2 * 3 *
    5.
    """
    parts = {"gradients": [[2.0], [1.0]], "curvatures": [[[4.0]], [[5.0]]], "ridges": [1.0, 0.75]}
    assert bounds.curved_expert(
        diameter=2.0, discount=0.5, path_length=3.0, **parts
    ) == pytest.approx(0.6 + 2.5 + 15.0)


def test_the_bound_refuses_bad_arguments():
    parts = {"gradients": [[2.0]], "curvatures": [[[4.0]]], "ridges": [1.0]}
    with pytest.raises(ValueError, match="discount must lie in"):
        bounds.curved_expert(diameter=2.0, discount=1.0, path_length=0.0, **parts)
    with pytest.raises(ValueError, match="curvatures and ridges must have shapes"):
        bounds.curved_expert(
            diameter=2.0, discount=0.5, path_length=0.0, **parts | {"ridges": [1.0, 2.0]}
        )


def test_no_step_is_longer_than_the_diameter_over_the_ridge():
    domain = sp.Ball(2, 1e6)
    experts = NewtonExperts(domain, [0.5], 4.0)
    state = experts.start()
    for t in range(2500):  # the second column stands still until its past has faded to nothing
        row = [1.0, 0.0] if t < 2400 else [1.0, (-1.0) ** t]
        before = state.points
        state, _ = experts.step(state, sp.SquaredLoss(row, 1.0).gradient)
        assert np.linalg.norm(state.points - before) <= domain.diameter / 4.0
    assert np.isfinite(state.points).all()
    np.testing.assert_allclose(state.points[0], [1.0, 0.0], atol=1e-3)


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_no_decision_depends_on_the_unit_of_the_losses(scale):
    rng = np.random.default_rng(3)
    one, other = sp.Curved(sp.Ball(3, 2.0)), sp.Curved(sp.Ball(3, 2.0))
    for loss in losses("squared", rng, 40, 3):
        one.observe(loss)
        other.observe(sp.WeightedLoss(loss, weight=scale))
        np.testing.assert_allclose(one.decision, other.decision, atol=1e-7)


def test_equal_columns_and_scales_far_apart():
    rng = np.random.default_rng(4)
    learner = sp.Curved(sp.Ball(4, 10.0))
    lost = []
    for _ in range(300):
        a = rng.normal(size=2)
        loss = sp.SquaredLoss([a[0], a[0], 1e-8 * a[1], a[1]], float(a[0] - a[1]))
        lost.append(float(loss.value(learner.decision)))
        learner.observe(loss)
    assert np.mean(lost[100:]) < 1e-6


def test_ill_conditioned_losses_are_minimised():
    """Two columns of correlation 0.99999: gradients crawl, Newton steps do not."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 2))
    rows = np.column_stack([x[:, 0], x[:, 0] + 0.0045 * x[:, 1]])
    stream = sp.LinearStream(rows, rows @ [1.0, -1.0])
    second, first = (
        sp.play(make(sp.Ball(2, 2.0)), stream).losses for make in (sp.Curved, sp.Sword)
    )
    assert second[200:].sum() < 0.01 * first[200:].sum()


def test_grid_of_discounts():
    assert RIDGE == 0.125
    np.testing.assert_array_equal(curved_discounts(4), 1.0 - 2.0 ** -np.arange(3, 14))
    np.testing.assert_array_equal(curved_discounts(5), 1.0 - 2.0 ** -np.arange(4, 14))
    np.testing.assert_array_equal(curved_discounts(10**6), [1.0 - 2.0**-13])
    np.testing.assert_array_equal(sp.Curved(sp.Ball(2)).step_sizes, 2.0 ** -np.arange(3.0, 14.0))


@pytest.mark.parametrize(
    ("discounts", "ridge", "words"),
    [
        ([0.5, 1.0], 1.0, "discounts must lie in"),
        ([0.0], 1.0, "discounts"),
        ([0.5], 0.0, "ridge"),
        ([], 1.0, "discounts"),
    ],
)
def test_bad_discounts_and_ridges_are_refused(discounts, ridge, words):
    with pytest.raises(ValueError, match=words):
        NewtonExperts(sp.Ball(2), discounts, ridge)


def test_newton_experts_cannot_be_copied():
    experts = NewtonExperts(sp.Ball(2), [0.5], 1.0)
    with pytest.raises(NotImplementedError, match="cannot be copied"):
        experts.copy_last(experts.start())
