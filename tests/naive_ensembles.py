"""Plain Python twins of the learners that weigh a fixed pool of experts: Ader, SwordVar,
SwordSmall, SwordBest, SwordAgeless.

``play`` is the round, written once from the equations; each learner below says its own pools,
prior, rate and guess in numbers, so that a constant of the library has a second place where it is
written.
"""

from __future__ import annotations

import math

from naive import Round, Run, dot, exponential, half_range, minus, mix, step


def play(gradients, center, project, *, extra, plain, prior, rate, guess, shared=False, keep=1.0):
    """Extra-gradient experts with steps ``extra`` and gradient-descent experts with steps ``plain``
    under one Hedge.

    ``rate(A, largest)`` gives the rate after the sums of a round; ``guess(Dv, Ds)`` the share of
    the replayed gradient that is guessed. With ``keep`` below 1 every sum of the meta fades.
    """
    pool, n, d = [*extra, *plain], len(extra), len(center)
    points = [list(center) for _ in pool]
    hats = [list(center) for _ in pool]
    expected = [[0.0] * d for _ in pool]  # M_{t,i}
    p, cumulative, guesses, pasts = (
        list(prior),
        [0.0] * len(pool),
        [0.0] * len(pool),
        [[] for _ in pool],
    )
    A = largest = Dv = Ds = 0.0
    M, Mv = [0.0] * d, None
    decisions, weights = [mix(p, points)], [p]
    for gradient in gradients:
        x = decisions[-1]
        g = gradient(x)
        losses = [dot(g, xi) for xi in points]
        A = keep * A + half_range(minus(losses, guesses)) ** 2
        largest = max(keep * largest, dot(minus(g, M), minus(g, M)))
        cumulative = [keep * c + loss for c, loss in zip(cumulative, losses, strict=True)]
        if Mv is not None:  # the sums behind the guess start with round 2
            Dv, Ds = Dv + dot(minus(g, Mv), minus(g, Mv)), Ds + dot(g, g)
        for i, eta in enumerate(pool):
            gi = g if shared else gradient(points[i])
            missed, ahead = minus(gi, expected[i]), minus(points[i], hats[i])
            hats[i] = project(step(hats[i], eta, gi))
            lost = (
                dot(g, minus(x, points[i]))
                if shared
                else gradient.value(x) - gradient.value(points[i])
            )
            pasts[i].append(Round(lost, 1 / eta, dot(missed, missed), dot(ahead, ahead), hats[i]))
            if i < n:
                expected[i] = gradient(hats[i])
            points[i] = project(step(hats[i], eta, expected[i]))
        Mv = gradient(mix(p, points))
        M = [guess(Dv, Ds) * m for m in Mv]
        guesses = [dot(M, xi) for xi in points]
        totals = [c + m for c, m in zip(cumulative, guesses, strict=True)]
        p = exponential([math.log(q) for q in prior], totals, rate(A, largest))
        decisions.append(mix(p, points))
        weights.append(p)
    return Run(decisions, weights, pasts)


def safe_pool(D, G, L, T):
    """1/(2L) and its halvings, smallest first."""
    halvings = max(0, math.ceil(math.log2(G * math.sqrt(T) / (0.8 * L * D))))
    return [1 / (2 * L) / 2**i for i in range(halvings, -1, -1)]


def uniform(n):
    return [1 / n] * n


def nothing(Dv, Ds):
    return 0.0


def everything(Dv, Ds):
    return 1.0


def ader(gradients, center, project, *, D, G, T):
    N = math.ceil(0.5 * math.log2(1 + 4 * T / 7)) + 1
    pool = [2**i * (D / G) * math.sqrt(7 / (2 * T)) for i in range(N)]
    prior = [(1 + 1 / N) / (i * (i + 1)) for i in range(1, N + 1)]
    epsilon = math.sqrt(2 / (T * G**2 * D**2))
    return play(
        gradients,
        center,
        project,
        extra=[],
        plain=pool,
        prior=prior,
        rate=lambda A, largest: epsilon,
        guess=nothing,
        shared=True,
    )


def sword_var(gradients, center, project, *, D, G, L, T):
    pool = safe_pool(D, G, L, T)
    lam = math.log(len(pool))

    def rate(A, largest):
        return min(1 / (L * D**2), math.sqrt(lam / (2 * (D**2 * G**2 + A))))

    return play(
        gradients,
        center,
        project,
        extra=pool,
        plain=[],
        prior=uniform(len(pool)),
        rate=rate,
        guess=everything,
    )


def sword_small(gradients, center, project, *, D, G, L, T):
    pool = safe_pool(D, G, L, T)
    lam = math.log(len(pool))

    def rate(A, largest):
        return math.sqrt(lam / (D**2 * G**2 / 4 + A))

    return play(
        gradients,
        center,
        project,
        extra=[],
        plain=pool,
        prior=uniform(len(pool)),
        rate=rate,
        guess=nothing,
    )


def sword_best(gradients, center, project, *, D, G, L, T):
    pool = safe_pool(D, G, L, T)
    lam, kappa = math.log(2 * len(pool)), 1 / (8 * G**2)

    def rate(A, largest):
        return min(1 / (L * D**2), math.sqrt(lam / (2 * (D**2 * G**2 + A))))

    def guess(Dv, Ds):
        return 1 / (1 + math.exp(min(kappa * (Dv - Ds), 700.0)))

    return play(
        gradients,
        center,
        project,
        extra=pool,
        plain=pool,
        prior=uniform(2 * len(pool)),
        rate=rate,
        guess=guess,
    )


def sword_ageless(gradients, center, project, *, D, L, memory=2000):
    """1/L and 13 halvings of both kinds.

    Rate sqrt(8 lam / (A + (1e-4 D)^2 max |g - M|^2)); every sum fades by 1 - 1/memory.
    """
    pool = [1 / L / 2**i for i in range(14)]
    lam = math.log(28)

    def rate(A, largest):
        met = A + (1e-4 * D) ** 2 * largest
        return math.sqrt(8 * lam / met) if met > 0 else math.inf

    def guess(Dv, Ds):
        return 0.5 if abs(Dv - Ds) <= 1e-12 * (Dv + Ds) else float(Dv < Ds)

    return play(
        gradients,
        center,
        project,
        extra=pool,
        plain=pool,
        prior=uniform(28),
        rate=rate,
        guess=guess,
        keep=1 - 1 / memory,
    )
