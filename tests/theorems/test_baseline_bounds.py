"""Bounds of the baselines that ask for worlds of their own: strongly convex, slowly varying, or
with one comparator.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import swordplay as sp
from games import random_game
from swordplay.parts.domains import enclosing_ball
from swordplay.parts.learners.one_projection_pbgd import surrogate_gradient
from swordplay.theory import bounds
from theorems.test_field_bounds import short_games
from tolerances import THEOREM

QUICK, DEEP, CHUNK = 100, 1_000, 50
SHORT_GAMES = short_games(QUICK)
deep = pytest.mark.parametrize("first", range(QUICK, QUICK + DEEP, CHUNK))


def omgd(seed: int) -> float:
    """Share of the bound used up by OMGD in a strongly convex world whose minimisers are known
    in closed form.
    """
    rng = np.random.default_rng(seed)
    dim, T, lam = int(rng.integers(1, 5)), int(rng.integers(1, 80)), 10 ** rng.uniform(-1.5, 0)
    L = lam * 10 ** rng.uniform(0, 1.5)
    domain = sp.Box(-rng.uniform(0.2, 2, dim), rng.uniform(0.2, 2, dim))
    curves = rng.uniform(lam, L, (T, dim))
    stride = 10 ** rng.uniform(-2, 0.5)
    targets = (
        np.cumsum(stride * rng.normal(size=(T, dim)), axis=0)
        if seed % 2
        else 2 * rng.normal(size=(T, dim))
    )
    best = domain.project(targets)  # diagonal curvature on a box: coordinate by coordinate
    losses = [
        sp.QuadraticLoss(np.diag(a), a * y, 0.5 * float(a @ y**2))
        for a, y in zip(curves, targets, strict=True)
    ]
    learner = sp.OMGD(domain, strong_convexity=lam, smoothness=L)
    total = sum(r.value for r in sp.rounds(learner, losses))
    regret = total - sum(float(f.value(u)) for f, u in zip(losses, best, strict=True))
    at_best = sum(float(np.square(f.gradient(u)).sum()) for f, u in zip(losses, best, strict=True))
    corners = np.maximum(np.abs(targets - domain.lower), np.abs(targets - domain.upper))
    bound = bounds.omgd(
        gradient_bound=float(np.linalg.norm(curves * corners, axis=1).max()),
        smoothness=L,
        path_length=sp.path_length(best),
        squared_path_length=sp.squared_path_length(best),
        first_distance=float(np.linalg.norm(domain.center - best[0])),
        minimizer_gradients=at_best,
    )
    assert regret <= bound + THEOREM * (total + bound), (seed, regret, bound)
    return regret / bound if bound > 0 else 0.0


def restarted(seed: int) -> float:
    """Share of the bound used up by restarted descent against the minimisers, in a random game
    without an adversary.
    """
    game = random_game(seed)
    rng, T = np.random.default_rng(seed), game.horizon
    every = int(rng.integers(1, T + 1))
    learner = sp.RestartedOGD(
        game.domain, horizon=T, gradient_bound=game.gradient_bound, every=every
    )
    match = game.play(learner)
    regret = match.total_loss - match.comparator_loss(match.comparators()["blocks of 1"])
    V = float(sp.function_variation(game.table.stream_of(match.which), game.domain))
    bound = bounds.restarted_ogd(
        diameter=game.domain.diameter,
        gradient_bound=game.gradient_bound,
        horizon=T,
        function_variation=V,
        every=every,
    )
    assert regret <= bound + THEOREM * (match.total_loss + bound), (seed, regret, bound)
    return regret / bound


def metagrad(seed: int) -> float:
    """Share of the bound used up by MetaGrad against the best of a few fixed decisions."""
    game = random_game(seed)
    ball, T, used = enclosing_ball(game.domain), game.horizon, 0.0
    for diagonal in (False, True):
        learner = sp.MetaGrad(
            game.domain, horizon=T, gradient_bound=game.gradient_bound, diagonal=diagonal
        )
        watched = Watched(learner)
        match = game.play(watched)
        g, y = np.array(watched.gradients), np.array(watched.means)
        for path in (match.comparators()[f"blocks of {T}"], np.tile(game.path[0], (T, 1))):
            u = path[0]
            V = float(
                np.square(g * (y - u)).sum()
                if diagonal
                else np.square(((y - u) * g).sum(axis=1)).sum()
            )
            bound = bounds.metagrad(
                diameter=ball.diameter,
                gradient_bound=game.gradient_bound,
                horizon=T,
                dim=game.domain.dim,
                deviation=V,
                squared_gradients=float(np.square(g).sum()),
                distance=float(np.linalg.norm(u - ball.center)),
                diagonal=diagonal,
            )
            regret = match.total_loss - match.comparator_loss(path)
            assert regret <= bound + THEOREM * (match.total_loss + bound), (
                seed,
                diagonal,
                regret,
                bound,
            )
            used = max(used, regret / bound)
    return used


class Watched:
    """MetaGrad, with the means in the ball and the surrogate gradients written down."""

    def __init__(self, learner):
        self.learner, self.gradients, self.means = learner, [], []

    @property
    def decision(self):
        return self.learner.decision

    def observe(self, loss):
        mean = self.learner.weights @ self.learner.points
        self.means.append(mean)
        self.gradients.append(
            surrogate_gradient(
                loss.gradient(self.decision), mean - self.decision, self.learner.domain
            )
        )
        self.learner.observe(loss)


def covers(kind: str, seed: int) -> float:
    """Share of the bound used up on the worst of *all* intervals, against the exact best point
    of each; 1-d squared losses.
    """
    rng = np.random.default_rng(seed)
    T = int(rng.integers(1, 70))
    lower, upper = sorted(rng.uniform(-2, 2, 2))
    domain = sp.Box([lower], [upper + 0.1])
    slopes = rng.uniform(0.1, 2, T) * rng.choice([-1, 1], T)
    block = int(rng.integers(1, T + 1))
    targets = slopes * rng.uniform(-3, 3, T // block + 1)[np.arange(T) // block]
    targets = targets + rng.choice([0.0, 0.5]) * rng.normal(size=T)
    ends = np.abs(slopes)[:, None] * np.abs(
        slopes[:, None] * [domain.lower[0], domain.upper[0]] - targets[:, None]
    )
    G = float(ends.max())
    learner = {"saol": sp.SAOL, "cbce": sp.CBCE, "sacs": sp.SACS}[kind](domain, gradient_bound=G)
    losses = [sp.SquaredLoss([a], y) for a, y in zip(slopes, targets, strict=True)]
    paid = np.array([r.value for r in sp.rounds(learner, losses)])
    bound_of = {"saol": bounds.saol, "cbce": bounds.cbce, "sacs": bounds.sacs}[kind]
    curve, pull, base = (
        np.append(0, np.cumsum(v)) for v in (slopes**2, slopes * targets, targets**2)
    )
    loss = np.append(0, np.cumsum(paid))
    used = 0.0
    for first in range(1, T + 1):
        last = np.arange(first, T + 1)
        a, b, c = (sums[last] - sums[first - 1] for sums in (curve, pull, base))
        best = np.clip(b / a, domain.lower[0], domain.upper[0])
        regrets = loss[last] - loss[first - 1] - (a * best**2 - 2 * b * best + c) / 2
        for end, regret in zip(last, regrets, strict=True):
            # The largest of regret / sqrt(length) is where a bound would break; the others need not
            # be computed to the end.
            if regret > 0.3 * domain.diameter * G * np.sqrt(end - first + 1):
                bound = bound_of(
                    diameter=domain.diameter, gradient_bound=G, first=first, last=int(end)
                )
                assert regret <= bound + THEOREM * (loss[-1] + bound), (
                    kind,
                    seed,
                    first,
                    end,
                    regret,
                    bound,
                )
                used = max(used, regret / bound)
    return used


def aligator(seed: int) -> float:
    """Share of the bound used up by Aligator on the worst interval of the cover, for targets in
    the domain.
    """
    rng = np.random.default_rng(seed)
    T, width = int(rng.integers(1, 130)), 10 ** rng.uniform(-1, 1)
    domain = sp.Box([3.0], [3.0 + width])
    block = int(rng.integers(1, T + 1))
    targets = 3.0 + width * np.round(
        rng.random(T // block + 1)[np.arange(T) // block]
    )  # at either end
    if seed % 2:
        targets = np.clip(targets + width * rng.normal(size=T), 3.0, 3.0 + width)
    said = np.array(
        [
            r.decision[0]
            for r in sp.rounds(sp.Aligator(domain), [sp.SquaredLoss([1.0], y) for y in targets])
        ]
    )
    paid, used = (said - targets) ** 2, -np.inf
    for level in range(T.bit_length()):
        for first in range(2**level, T + 1, 2**level):
            own = targets[first - 1 : min(first - 1 + 2**level, T)]
            means = np.append(domain.center, np.cumsum(own)[:-1] / np.arange(1, len(own)))
            last = first - 1 + len(own)
            regret, bound = (
                paid[first - 1 : last].sum() - ((means - own) ** 2).sum(),
                bounds.aligator(width=width, last=last),
            )
            assert regret <= bound * (1 + THEOREM), (seed, first, last)
            used = max(used, regret / bound)
    return used


GAMES = {
    "Aligator": aligator,
    "OMGD": omgd,
    "RestartedOGD": restarted,
    "MetaGrad": metagrad,
    **{kind.upper(): partial(covers, kind) for kind in ("saol", "cbce", "sacs")},
}
every_kind = pytest.mark.parametrize("name", GAMES)


@every_kind
def test_no_bound_is_broken(name, record_property):
    used = max(GAMES[name](seed) for seed in SHORT_GAMES)
    record_property("used", {name: float(used)})
    assert used > 0.02  # not idle


@pytest.mark.deep
@every_kind
@deep
def test_no_bound_is_broken_in_the_campaign(name, first, record_property):
    record_property(
        "used", {name: float(max(GAMES[name](seed) for seed in range(first, first + CHUNK)))}
    )
