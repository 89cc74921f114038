"""Plain Python twins, straight from the equations: lists, loops, math, nothing of the library.

A loss is a function from a point (a list) to its gradient (a list). A projection maps a list to a
list. Only ``projection`` and ``fields`` know the library: they translate its domains and losses.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

import swordplay as sp


class Round(NamedTuple):
    """What one expert did in one round, as the certificate asks for it."""

    lost: float
    """f_t(x_t) - f_t(x_{t,k}), or <g_t, x_t - x_{t,k}> where all experts descend along g_t."""
    inverse: float
    """1 / eta_{t,k}."""
    surprise: float
    """norm(g_{t,k} - M_{t,k})^2."""
    lead: float
    """norm(x_{t,k} - xhat_{t,k})^2."""
    after: list[float]
    """xhat_{t+1,k}."""


class Run(NamedTuple):
    """A game as a plain learner of weighted experts played it."""

    decisions: list[list[float]]
    """x_1 .. x_{T+1}."""
    weights: list[list[float]]
    """p_1 .. p_{T+1}."""
    pasts: list[list[Round]]
    """The rounds of each expert, those of its parents before it was forked included."""


def certificate(pasts, domain, P, steady=True):
    """min_k { sum lost + sum eta/2 surprise - sum lead/(2 eta) + distance }, from whole histories.

    Where steps are ``steady``, 1/a for ever, the distance is sigma(a w) - a |w|^2 / 2 + P a rho,
    with w where the expert ended, seen from the centre, and rho the farthest that it has been from
    there. Else it is sigma(S) - a |w|^2 / 2 + P max |S| and what the squares leave, S = sum a_t
    (w_{t+1} - w_t); or with more than eight coordinates what the changes of a add to the steady
    one, wherever they point; or D^2/2 Lambda + D P max_t a_t, if that is smaller.
    """
    D, center, values = domain.diameter, domain.center.tolist(), []
    r = (
        domain.radius
        if isinstance(domain, sp.Ball)
        else min(D, math.sqrt(sum(far(domain, j) ** 2 for j in range(domain.dim))))
    )
    for past in pasts:
        inverses = [0.0] + [played.inverse for played in past]
        price = sum(
            played.surprise / (2 * played.inverse) for played in past if played.surprise > 0
        )
        won = sum(played.lead * played.inverse / 2 for played in past)
        ways = [minus(played.after, center) for played in past]
        lengths = [0.0] + [math.sqrt(dot(w, w)) for w in ways]
        pull = [inverses[-1] * part for part in ways[-1]]
        left = float(domain.support(np.array(pull))) - dot(pull, center) - dot(pull, ways[-1]) / 2
        if steady:
            distance = left + P * inverses[-1] * max(lengths)
        else:
            changes = [later - earlier for earlier, later in pairwise(inverses)]
            growth = sum(max(change, 0.0) for change in changes)
            turns = [
                abs(change) * length for change, length in zip(changes, lengths[:-1], strict=True)
            ]
            turned = sum(turns)
            pulls = [
                a * far + sum(turns[: t + 1])
                for t, (a, far) in enumerate(zip(inverses[1:], lengths[1:], strict=True))
            ]
            swing = sum(
                change * length**2 / 2 for change, length in zip(changes, lengths[:-1], strict=True)
            )
            by_parts = left + swing + r * turned + P * max(pulls)
            if domain.dim <= 8:
                S, longest = [0.0] * domain.dim, 0.0
                for a, w, now in zip(inverses[1:], [[0.0] * domain.dim, *ways], ways, strict=False):
                    S = [
                        s + a * (after - before) for s, before, after in zip(S, w, now, strict=True)
                    ]
                    longest = max(longest, math.sqrt(dot(S, S)))
                support = float(domain.support(np.array(S))) - dot(S, center)
                by_parts = support - dot(pull, ways[-1]) / 2 + swing + P * longest
            distance = min(D * D * growth / 2 + D * P * max(inverses), by_parts)
        values.append(sum(played.lost for played in past) + distance + price - won)
    return min(values)


def far(domain, j):
    """How far the domain reaches along an axis, from its centre."""
    axis = np.eye(domain.dim)[j]
    return max(
        float(domain.support(axis)) - domain.center[j],
        float(domain.support(-axis)) + domain.center[j],
    )


def projection(domain):
    """Plain loops that project on the same set."""
    match domain:
        case sp.Ball():
            return onto_ball(domain.center.tolist(), domain.radius)
        case sp.Box():
            return onto_box(domain.lower.tolist(), domain.upper.tolist())
        case sp.Simplex():
            return onto_simplex(domain.total)
    raise TypeError(f"no plain projection on {domain!r}")


def fields(losses):
    """The losses, called for their gradients: from lists to lists."""
    return [Field(loss) for loss in losses]


class Field(NamedTuple):
    """A loss in lists."""

    loss: object

    def __call__(self, x):
        return self.loss.gradient(np.array(x)).tolist()

    def value(self, x):
        return float(self.loss.value(np.array(x)))

    @property
    def smoothness(self):
        """0 where nobody knows."""
        return self.loss.smoothness or 0.0


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def minus(a, b):
    return [x - y for x, y in zip(a, b, strict=True)]


def step(x, eta, g):
    """x - eta g."""
    return [xj - eta * gj for xj, gj in zip(x, g, strict=True)]


def mix(weights, points):
    return [
        sum(p * x[j] for p, x in zip(weights, points, strict=True)) for j in range(len(points[0]))
    ]


def onto_ball(center, radius):
    def project(x):
        offset = minus(x, center)
        norm = math.sqrt(dot(offset, offset))
        return (
            list(x)
            if norm <= radius
            else [c + radius * o / norm for c, o in zip(center, offset, strict=True)]
        )

    return project


def onto_box(lower, upper):
    return lambda x: [min(max(xj, lo), hi) for xj, lo, hi in zip(x, lower, upper, strict=True)]


def onto_simplex(total):
    """The threshold by bisection: slow, and nothing that a sort could get wrong."""

    def project(x):
        low, high = min(x) - total, max(x)
        for _ in range(100):
            theta = (low + high) / 2
            if sum(max(xj - theta, 0.0) for xj in x) > total:
                low = theta
            else:
                high = theta
        return [max(xj - high, 0.0) for xj in x]

    return project


def ogd(gradients, center, project, eta):
    """Decisions x_1 .. x_T, and the one after."""
    x, decisions = list(center), []
    for gradient in gradients:
        decisions.append(x)
        x = project(step(x, eta, gradient(x)))
    return [*decisions, x]


def oegd(gradients, center, project, eta):
    x, hat, decisions = list(center), list(center), []
    for gradient in gradients:
        decisions.append(x)
        hat = project(step(hat, eta, gradient(x)))
        x = project(step(hat, eta, gradient(hat)))
    return [*decisions, x]


def exponential(log_prior, totals, rate):
    """prior_i exp(-rate total_i), normalised; an infinite rate keeps the leaders only."""
    best = min(totals)
    scores = [
        lp - (rate * (v - best) if v > best else 0.0)
        for lp, v in zip(log_prior, totals, strict=True)
    ]
    top = max(scores)
    raw = [math.exp(s - top) for s in scores]
    return [r / sum(raw) for r in raw]


def half_range(values):
    return (max(values) - min(values)) / 2


def hedge(losses, guesses, rate):
    """Weights p_1 .. p_T of optimistic Hedge with a uniform prior.

    ``rate(t, A)`` gives eps_t, t from 1, A = A_{t-1}.
    """
    N = len(losses[0])
    log_prior, cumulative, A, history = [-math.log(N)] * N, [0.0] * N, 0.0, []
    for t, (loss, guess) in enumerate(zip(losses, guesses, strict=True), start=1):
        history.append(
            exponential(
                log_prior, [c + m for c, m in zip(cumulative, guess, strict=True)], rate(t, A)
            )
        )
        cumulative = [c + v for c, v in zip(cumulative, loss, strict=True)]
        A += half_range(minus(loss, guess)) ** 2
    return history
