"""The systems beside the Swords, against plain Python loops straight from the equations."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import naive
import naive_field
import swordplay as sp
from parts.learners.test_twins import agree, decisions, worlds
from strategies import seeds, tracking_losses
from swordplay.parts.domains import Shrunken, enclosing_ball
from swordplay.parts.metas import telescoping
from tolerances import TWIN

few = settings(max_examples=12)


def game_of(domain, rounds, seed):
    losses = tracking_losses(domain, rounds, np.random.default_rng(seed))
    return losses, (naive.fields(losses), domain.center.tolist(), naive.projection(domain))


def pairs(losses):
    """Values and gradients as functions of lists."""
    return [
        (
            lambda x, f=f: float(f.value(np.array(x))),
            lambda x, f=f: f.gradient(np.array(x)).tolist(),
        )
        for f in losses
    ]


@few
@given(worlds, st.integers(1, 25), seeds)
def test_omgd(domain, rounds, seed):
    losses, plain = game_of(domain, rounds, seed)
    learner = sp.OMGD(domain, strong_convexity=0.5, smoothness=3.0)
    agree(domain, decisions(learner, losses), naive_field.omgd(*plain, lam=0.5, eta=1 / 3))


@few
@given(worlds, st.integers(1, 25), st.integers(1, 9), seeds)
def test_restarted_ogd(domain, rounds, every, seed):
    losses, plain = game_of(domain, rounds, seed)
    learner = sp.RestartedOGD(domain, horizon=rounds, gradient_bound=2.0, every=every)
    eta = domain.diameter / (2.0 * math.sqrt(every))
    agree(
        domain, decisions(learner, losses), naive_field.restarted_ogd(*plain, eta=eta, every=every)
    )


@few
@given(worlds, st.integers(1, 25), seeds)
def test_optimistic_ogd(domain, rounds, seed):
    losses, plain = game_of(domain, rounds, seed)
    rng = np.random.default_rng(seed)
    told = [None if rng.random() < 0.5 else rng.normal(size=domain.dim).tolist() for _ in losses]
    learner, said = sp.OptimisticOGD(domain), []
    for loss, guess in zip(losses, told, strict=True):
        said.append(learner.decision)
        learner.observe(loss)
        if guess is not None:
            learner.expect(guess)
    agree(
        domain,
        [*said, learner.decision],
        naive_field.optimistic_ogd(*plain, D=domain.diameter, told=told),
    )


@few
@given(worlds, st.integers(1, 25), seeds)
def test_ader_with_true_losses(domain, rounds, seed):
    losses, (_, center, project) = game_of(domain, rounds, seed)
    G = 3.0 * domain.diameter
    learner = sp.AderTrueLosses(domain, horizon=rounds, gradient_bound=G)
    plain = naive_field.ader_true_losses(
        pairs(losses), center, project, D=domain.diameter, G=G, T=rounds
    )
    agree(domain, decisions(learner, losses), plain)


@few
@given(worlds, st.integers(1, 25), st.integers(0, 6), seeds)
def test_late_losses(domain, rounds, delay, seed):
    losses, plain = game_of(domain, rounds, seed)
    rng, G = np.random.default_rng(seed), 3.0 * domain.diameter
    due = np.arange(rounds) + rng.integers(0, delay + 1, rounds)
    arrivals = [[s for s in range(t + 1) if due[s] == t] for t in range(rounds)]
    learner, said = sp.MildOGD(domain, horizon=rounds, gradient_bound=G, delay=delay / 2), []
    for arrived in arrivals:
        said.append(learner.decision)
        learner.wait()
        for s in arrived:
            learner.arrive(s, losses[s])
    lasting = math.ceil(rounds * (1 + delay))
    agree(
        domain,
        [*said, learner.decision],
        naive_field.late_ader(*plain, D=domain.diameter, G=G, T=lasting, arrivals=arrivals),
    )
    assert learner.outstanding == [s for s in range(rounds) if due[s] >= rounds]


@few
@given(worlds, st.integers(1, 25), seeds)
def test_one_projection(domain, rounds, seed):
    losses, plain = game_of(domain, rounds, seed)
    G = 3.0 * domain.diameter
    learner = sp.OneProjection(domain, lambda ball: sp.Ader(ball, horizon=rounds, gradient_bound=G))
    agree(
        domain,
        decisions(learner, losses),
        naive_field.one_projection_ader(*plain, enclosing_ball(domain).radius, G=G, T=rounds),
    )


COVERS = {"saol": sp.SAOL, "cbce": sp.CBCE, "sacs": sp.SACS}


@pytest.mark.parametrize("kind", COVERS)
@few
@given(worlds, st.integers(1, 40), seeds)
def test_covers(kind, domain, rounds, seed):
    losses, (_, center, project) = game_of(domain, rounds, seed)
    G = 20.0 * domain.diameter
    plain = naive_field.cover(pairs(losses), center, project, D=domain.diameter, G=G, kind=kind)
    agree(domain, decisions(COVERS[kind](domain, gradient_bound=G), losses), plain)


@pytest.mark.parametrize("points", [1, 2])
def test_bandit(points):
    """Ader on the shrunken ball, told estimates that are written out here."""
    domain, delta = sp.Ball(3, 2.0), 0.25
    losses, _ = game_of(domain, 20, 4)
    G, C = 10.0, 40.0
    learner = sp.PBGD(
        domain, horizon=20, gradient_bound=G, value_bound=C, points=points, step=delta, seed=5
    )
    inner = sp.Ader(
        Shrunken(domain, 1 - delta / 2),
        horizon=20,
        gradient_bound=3 * C / delta if points == 1 else 3 * G,
    )
    for t, loss in enumerate(losses):
        s = np.random.default_rng([5, t]).normal(size=3)
        s /= np.linalg.norm(s)
        y = inner.decision
        np.testing.assert_allclose(learner.decision, y + delta * s, atol=TWIN)
        if points == 1:
            estimate = 3 / delta * float(loss.value(y + delta * s)) * s
        else:
            estimate = (
                3 / (2 * delta) * float(loss.value(y + delta * s) - loss.value(y - delta * s)) * s
            )
        inner.observe(
            sp.FunctionLoss(
                lambda x, slope=estimate: x @ slope,
                lambda x, slope=estimate: np.broadcast_to(slope, x.shape),
            )
        )
        learner.observe(loss)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize(
    "domain", [sp.Ball(2, 1.5, [0.5, 0.0]), sp.Simplex(3), sp.Box([0.0], [2.0])], ids=repr
)
def test_metagrad(domain, diagonal):
    """Matrices written out, and the projection left to a general solver."""
    losses, _ = game_of(domain, 8, 3)
    ball, G = enclosing_ball(domain), 8.0
    D, d = ball.diameter, domain.dim
    rates = [1 / (5 * D * G) / 2**i for i in range(3)]  # ceil(log2(8) / 2) = 2 halvings
    weights, w = list(telescoping(3)), [domain.center.copy() for _ in rates]
    P = [np.eye(d) / D**2 for _ in rates]
    learner = sp.MetaGrad(domain, horizon=8, gradient_bound=G, diagonal=diagonal)
    np.testing.assert_allclose(learner.rates, rates, rtol=1e-12)
    for loss in losses:
        tilted = np.array([p * eta for p, eta in zip(weights, rates, strict=True)])
        y = tilted @ np.array(w) / tilted.sum()
        x = domain.project(y)
        np.testing.assert_allclose(learner.decision, x, atol=1e-5)
        g, away = loss.gradient(x), y - x
        if np.linalg.norm(away) > 1e-12 and g @ away < 0:
            g = g - (g @ away) / (away @ away) * away
        M = np.diag(g * g) if diagonal else np.outer(g, g)
        for i, eta in enumerate(rates):
            gap = w[i] - y
            weights[i] *= math.exp(
                -(eta * gap @ g + eta**2 * gap @ M @ gap) / (d if diagonal else 1)
            )
            P[i] = P[i] + 2 * eta**2 * M
            free = w[i] - np.linalg.solve(P[i], eta * g + 2 * eta**2 * M @ gap)
            found = minimize(
                lambda z, P=P[i], free=free: (z - free) @ P @ (z - free) * D**2,
                ball.project(free),
                constraints={
                    "type": "ineq",
                    "fun": lambda z: ball.radius**2 - ((z - ball.center) ** 2).sum(),
                },
                method="SLSQP",
                options={"ftol": 1e-15, "maxiter": 300},
            )
            w[i] = free if ball.contains(free) else found.x
        learner.observe(loss)


def sequences():
    rng = np.random.default_rng(0)
    steps = np.repeat([0.5, -0.5, 0.2, 0.9, -0.9], 13)
    return [steps + sigma * rng.normal(size=65) for sigma in (0.01, 0.1, 1.0)]


@pytest.mark.parametrize("targets", sequences(), ids=["calm", "noisy", "wild"])
def test_forecasters(targets):
    domain = sp.Box([-1.0], [1.5])
    losses = [sp.SquaredLoss([1.0], float(y)) for y in targets]
    clip = naive.onto_box([-1.0], [1.5])
    for sigma, beta in ((0.01, 2.0), (0.1, 0.5), (1.0, 0.1)):
        learner = sp.Arrows(domain, noise=sigma, horizon=65, threshold=beta)
        plain = naive_field.arrows(
            targets.tolist(), 0.25, sigma=sigma, T=65, beta=beta, clip=lambda x: clip([x])[0]
        )
        np.testing.assert_allclose(decisions(learner, losses)[:, 0], plain, rtol=0, atol=TWIN)
    plain = naive_field.aligator(targets.tolist(), 0.25, width=2.5, clip=lambda x: clip([x])[0])
    np.testing.assert_allclose(
        decisions(sp.Aligator(domain), losses)[:, 0], plain, rtol=0, atol=TWIN
    )


def test_arrows_restarts():
    """A jump of ten standard deviations is noticed within a few rounds: the bin is a new one."""
    learner = sp.Arrows(sp.Ball(1, 10.0), noise=0.1, horizon=100)
    rng = np.random.default_rng(1)
    counts = []
    for t in range(100):
        learner.observe(sp.SquaredLoss([1.0], (1.0 if t < 50 else 2.0) + 0.1 * rng.normal()))
        counts.append(learner.state()["counts"][0])
    assert counts[49] == 50.0
    assert min(counts[50:60]) == 0.0
    assert abs(learner.decision[0] - 2.0) < 0.1
