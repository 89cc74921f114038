"""Plain Python twins of the metas, straight from the equations: lists, loops, math, and scipy's
quadrature for Squint.
"""

from __future__ import annotations

import math

from scipy.integrate import quad

from naive import dot


def normalised(raw):
    return [r / sum(raw) for r in raw]


def fixed_share(prior, losses, optimism, *, share, rate, range):
    q, history = list(prior), [list(prior)]
    for loss, guess in zip(losses, optimism, strict=True):
        v = normalised([qi * math.exp(-rate * li / range) for qi, li in zip(q, loss, strict=True)])
        q = [(1 - share) * vi + share * pi for vi, pi in zip(v, prior, strict=True)]
        history.append(
            normalised([qi * math.exp(-rate * mi / range) for qi, mi in zip(q, guess, strict=True)])
        )
    return history


def ada_normal_hedge(prior, losses, optimism, *, range):
    R, C, p, history = [0.0] * len(prior), [0.0] * len(prior), list(prior), [list(prior)]
    for loss in losses:
        r = [(dot(p, loss) - li) / range for li in loss]
        R, C = (
            [a + b for a, b in zip(R, r, strict=True)],
            [a + abs(b) for a, b in zip(C, r, strict=True)],
        )
        w = [
            (
                math.exp(max(Ri + 1, 0) ** 2 / (3 * (Ci + 1)))
                - math.exp(max(Ri - 1, 0) ** 2 / (3 * (Ci + 1)))
            )
            / 2
            for Ri, Ci in zip(R, C, strict=True)
        ]
        raw = [qi * wi for qi, wi in zip(prior, w, strict=True)]
        p = normalised(raw if sum(raw) > 0 else prior)
        history.append(p)
    return history


def agreeing(guess, weights_for):
    """The weights p for which p = weights_for(<p, m> - m), by trying ever finer numbers in the
    place of <p, m>.
    """
    low, high = min(guess), max(guess)
    for _ in range(80):
        c = (low + high) / 2
        if dot(weights_for([c - m for m in guess]), guess) > c:
            low = c
        else:
            high = c
    return weights_for([low - m for m in guess])


def adapt_ml_prod(prior, losses, optimism, *, range):
    N = len(prior)
    w, V, p, expected = list(prior), [0.0] * N, list(prior), [0.0] * N
    eta = [min(0.5, math.sqrt(math.log(max(N, 2))))] * N
    history = [p]
    for loss, guess in zip(losses, optimism, strict=True):
        r = [(dot(p, loss) - li) / range for li in loss]
        V = [v + (ri - ei) ** 2 for v, ri, ei in zip(V, r, expected, strict=True)]
        after = [min(0.5, math.sqrt(math.log(max(N, 2)) / (1 + v))) for v in V]
        w = [
            (wi * (1 + e * (ri - ei)) * math.exp(e * ei)) ** (a / e)
            for wi, e, ri, ei, a in zip(w, eta, r, expected, after, strict=True)
        ]
        eta = after

        def weights_for(hoped, w=w, eta=eta):
            return normalised(
                [e * wi * math.exp(e * h / range) for e, wi, h in zip(eta, w, hoped, strict=True)]
            )

        p = agreeing(guess, weights_for)
        expected = [(dot(p, guess) - m) / range for m in guess]
        history.append(p)
    return history


def integral(R, V):
    return quad(
        lambda eta: math.exp(eta * R - eta * eta * V), 0.0, 0.5, epsabs=0.0, epsrel=1e-12, limit=500
    )[0]


def squint(prior, losses, optimism, *, range):
    N = len(prior)
    R, V, p, expected = [0.0] * N, [0.0] * N, list(prior), [0.0] * N
    history = [p]
    for loss, guess in zip(losses, optimism, strict=True):
        r = [(dot(p, loss) - li) / range for li in loss]
        R = [a + b for a, b in zip(R, r, strict=True)]
        V = [v + (ri - ei) ** 2 for v, ri, ei in zip(V, r, expected, strict=True)]

        def weights_for(hoped, R=R, V=V):
            return normalised(
                [
                    q * integral(a + h / range, v)
                    for q, a, h, v in zip(prior, R, hoped, V, strict=True)
                ]
            )

        p = weights_for([0.0] * N) if min(guess) == max(guess) else agreeing(guess, weights_for)
        expected = [(dot(p, guess) - m) / range for m in guess]
        history.append(p)
    return history
