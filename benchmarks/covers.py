"""The three covers compiled, for squared losses on a ball of radius 1: what plays a million rounds
of them in seconds.

The library plays covers in its readable loop, at some 300 µs a round. These are the same rounds in
plain loops, for docs/field.md alone; :func:`differs` holds them to the library's.
"""

from __future__ import annotations

import math

import numba
import numpy as np

import swordplay as sp

KINDS = {"SAOL": 0, "CBCE": 1, "SACS": 2}
LEVELS = 25
"""Lengths of intervals up to 2^24: ages beyond 1e7."""


class Cover:
    """One cover, in arrays.

    Parameters
    ----------
    kind
        Which one.
    dim, gradient_bound
        As the library's learners are told.
    """

    def __init__(self, kind, dim, gradient_bound):
        self.kind, self.range = KINDS[kind], 2.0 * gradient_bound
        self.points, self.memory = np.zeros((LEVELS, dim)), np.zeros((LEVELS, 2))
        self.energy, self.weights, self.decision = np.zeros(LEVELS), np.zeros(LEVELS), np.zeros(dim)
        self.rounds = 0

    def play(self, features, targets, wanted=None, near=0.0):
        """Learn rows.

        Stops before the first one at which the decision is as near as that to what is wanted.
        """
        wanted = np.full(len(self.decision), np.inf) if wanted is None else wanted
        arrays = self.points, self.energy, self.memory, self.weights, self.decision
        played = play(*arrays, self.kind, self.range, self.rounds, features, targets, wanted, near)
        self.rounds += played
        return played


@numba.njit(cache=False)
def score(kind, R, C, started, age, length):
    """Logarithm of an expert's weight, and that of its prior."""
    if kind == 0:
        prior = math.log(min(0.5, length**-0.5))
        return prior + R, prior
    if kind == 1:
        prior = -2.0 * math.log(started) - math.log1p(math.floor(math.log2(started)))
        return (prior + math.log(R / age) + C if R > 0.0 else -math.inf), prior
    up, down = (
        max(R + 1.0, 0.0) ** 2 / (3.0 * (C + 1.0)),
        max(R - 1.0, 0.0) ** 2 / (3.0 * (C + 1.0)),
    )
    return (up + math.log(-math.expm1(down - up)) if up > down else -math.inf), 0.0


@numba.njit(cache=False)
def decide(points, memory, weights, decision, kind, t):
    """The weights of those that are awake in round t, 0 for the others, and their mean."""
    levels, best, best_prior = int(math.log2(t)) + 1, -math.inf, -math.inf
    priors = np.empty(levels)
    for k in range(levels):
        started = (t >> k) << k
        awake = kind != 2 or (t >> k) % 2 == 1
        weights[k], priors[k] = -math.inf, -math.inf
        if awake:
            weights[k], priors[k] = score(
                kind, memory[k, 0], memory[k, 1], float(started), t - started + 1.0, 2.0**k
            )
        best, best_prior = max(best, weights[k]), max(best_prior, priors[k])
    total = 0.0
    for k in range(levels):
        weights[k] = (
            math.exp(weights[k] - best) if best > -math.inf else math.exp(priors[k] - best_prior)
        )
        total += weights[k]
    decision[:] = 0.0
    for k in range(levels):
        weights[k] /= total
        decision += weights[k] * points[k]
    return levels


@numba.njit(cache=False)
def play(
    points, energy, memory, weights, decision, kind, unit, rounds, features, targets, wanted, near
):
    """As ``covers._Cover`` does it; returns how many rounds were played."""
    for row in range(len(targets)):
        t = rounds + row + 1
        levels = decide(points, memory, weights, decision, kind, t)
        if np.sqrt(np.sum((decision - wanted) ** 2)) < near:
            return row
        a, y = features[row], targets[row]
        paid = 0.5 * (np.dot(a, decision) - y) ** 2
        for k in range(levels):
            if kind == 2 and (t >> k) % 2 == 0:
                continue
            residual = np.dot(a, points[k]) - y
            lost = 0.5 * residual**2
            saved = paid - lost if abs(paid - lost) > 1e-12 * (abs(paid) + abs(lost)) else 0.0
            r, length, age = min(max(saved / unit, -1.0), 1.0), 2.0**k, t - ((t >> k) << k) + 1.0
            if kind == 0:
                memory[k, 0] += math.log1p(min(0.5, length**-0.5) * r)
            elif kind == 1:
                fraction = memory[k, 0] / age
                coin = r if fraction > 0.0 else max(r, 0.0)
                memory[k, 0] += coin
                memory[k, 1] += math.log1p(coin * fraction)
            else:
                memory[k, 0] += r
                memory[k, 1] += abs(r)
            energy[k] += residual**2 * np.dot(a, a)
            if energy[k] > 0.0:
                points[k] -= residual / math.sqrt(energy[k]) * a  # D/2 = 1
            size = math.sqrt(np.dot(points[k], points[k]))
            if size > 1.0:
                points[k] /= size
        for k in range(LEVELS):
            if (t + 1) % 2**k == 0:
                points[k], energy[k], memory[k] = 0.0, 0.0, 0.0
    return len(targets)


def differs(kind, features, targets, gradient_bound):
    """The largest difference of any coordinate of any decision from the library's."""
    learner = getattr(sp, kind)(sp.Ball(features.shape[1]), gradient_bound=gradient_bound)
    cover, most = Cover(kind, features.shape[1], gradient_bound), 0.0
    for a, y in zip(features, targets, strict=True):
        cover.play(a[None], np.array([y]))
        most = max(most, float(np.abs(cover.decision - learner.decision).max()))
        learner.observe(sp.SquaredLoss(a, y))
    return most
