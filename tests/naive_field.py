"""Plain Python twins of the systems beside the Swords, straight from the equations: lists, loops, math."""

from __future__ import annotations

import math

from naive import Round, Run, dot, exponential, half_range, minus, mix, step


def squared(a):
    return dot(a, a)


def sword_plus_plus(gradients, center, project, *, D, G, L, T):
    """One gradient a round, corrections in the meta's losses and guesses."""
    halvings = max(0, math.ceil(math.log2(G * math.sqrt(T) / (2 * L * D))))
    pool = [1 / (8 * L) / 2**i for i in range(halvings, -1, -1)]
    lam = math.log(len(pool))
    log_prior = [-lam] * len(pool)
    points = [list(center) for _ in pool]
    before = [list(center) for _ in pool]
    hats = [list(center) for _ in pool]
    p, cumulative, guesses, A = [1 / len(pool)] * len(pool), [0.0] * len(pool), [0.0] * len(pool), 0.0
    M, pasts = [0.0] * len(center), [[] for _ in pool]
    decisions, weights = [mix(p, points)], [p]
    for gradient in gradients:
        x = decisions[-1]
        g = gradient(x)
        losses = [dot(g, xi) + 2 * L * squared(minus(xi, was)) for xi, was in zip(points, before, strict=True)]
        A += half_range(minus(losses, guesses)) ** 2
        cumulative = [c + loss for c, loss in zip(cumulative, losses, strict=True)]
        for i, eta in enumerate(pool):
            ahead = minus(points[i], hats[i])
            pasts[i].append(Round(dot(g, minus(x, points[i])), 1 / eta, squared(minus(g, M)), squared(ahead)))
            before[i] = points[i]
            hats[i] = project(step(hats[i], eta, g))
            points[i] = project(step(hats[i], eta, g))
        M = g
        guesses = [dot(g, xi) + 2 * L * squared(minus(xi, was)) for xi, was in zip(points, before, strict=True)]
        rate = min(1 / (2 * L * D**2), math.sqrt(lam / (2 * (D**2 * G**2 + A))))
        p = exponential(log_prior, [c + m for c, m in zip(cumulative, guesses, strict=True)], rate)
        decisions.append(mix(p, points))
        weights.append(p)
    return Run(decisions, weights, pasts)
