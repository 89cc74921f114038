"""Sword in plain Python, from the equations."""

from __future__ import annotations

import math

from naive import Round, Run, dot, exponential, half_range, minus, mix, step


class Pool:
    """Step sizes: a capped expert first, the others by the used width (D if not ``capped``)."""

    def __init__(self, D, capped, d):
        self.D, self.capped = D, capped
        self.step_shrink = math.sqrt(max(1, d / 64))
        self.L = self.width = 0.0

    def known(self):
        """L and the width from which step sizes are computed now."""
        return self.L, min(self.D, self.width / self.step_shrink**2) if self.capped else self.D

    def see(self, smoothness, gradient, farthest):
        self.L = max(self.L, smoothness)
        if self.width == 0 and gradient > 0:
            self.width = 2 * gradient / self.L if self.L > 0 else math.inf
        self.width = max(self.width, 2 * farthest, gradient / (8 * self.L) if self.L > 0 else 0)

    def inverse(self, i, error_sum, known, average=1):
        """1 / eta of expert i; 0 before the first gradient."""
        L, width = known
        if error_sum == 0:
            return 0.0
        if self.capped and i == 0:
            return max(2 * math.sqrt(error_sum) / self.D, 2 * L * average)
        return math.sqrt(error_sum) / (0.5 * 2**i * width)

    def sum_of_copy(self, n, error_sum):
        """Sum of the copy that becomes expert n: at least that of a step size of 1/L where the
        domain is more than eight widths wide.
        """
        L, width = self.known()
        return (
            max(error_sum, (0.5 * 2**n * width * L) ** 2)
            if self.capped and error_sum > 0 and self.D > 8 * self.width > 0
            else error_sum
        )

    def priors(self, n):
        """Prior of n experts of each kind."""
        each = [1 / ((i + 1) * (i + 2)) for i in range(n - 1)] + [1 / n]
        return [q / 2 for q in each] * 2


def eta(inverse):
    return 1 / inverse if inverse > 0 else 0.0  # 0 before the first gradient


def sword(gradients, center, project, *, D, floor=1e-4, capped=True):
    """Sword without settings; ``capped=False`` is Sword as it was before there were capped experts.

    The rate is sqrt(lam / (2 (A + (floor D)^2 max |g - M|^2))): the design's, blurred so that ties
    are not told apart.
    """
    d, pool = len(center), Pool(D, capped, len(center))
    # One list per kind: each expert is a dictionary of its own.
    extra = [
        {"x": list(center), "hat": list(center), "M": [0.0] * d, "q": 0.0, "total": 0.0, "past": []}
    ]
    plain = [{"x": list(center), "q": 0.0, "total": 0.0, "past": []}]
    if capped:  # another of each kind beside the capped one, from the start
        extra, plain = [extra[0], dict(extra[0])], [plain[0], dict(plain[0])]
    p, guesses, A, largest, rate = (
        pool.priors(len(extra)),
        [0.0] * 2 * len(extra),
        0.0,
        0.0,
        math.inf,
    )
    M, Mv, Dv, Ds = [0.0] * d, None, 0.0, 0.0
    decisions, weights = [mix(p, [expert["x"] for expert in extra + plain])], [p]
    for t, gradient in enumerate(gradients, start=1):
        x = decisions[-1]
        g = gradient(x)
        losses = [dot(g, expert["x"]) for expert in extra + plain]
        A += half_range(minus(losses, guesses)) ** 2
        largest = max(largest, dot(minus(g, M), minus(g, M)))
        met = 2 * (A + (floor * D) ** 2 * largest)
        # The entropy of the experts that played this round; a larger one must not raise the rate
        # again.
        rate = min(
            rate,
            math.sqrt(math.log(1 / min(pool.priors(len(extra)))) / met) if met > 0 else math.inf,
        )
        for expert, loss in zip(extra + plain, losses, strict=True):
            expert["total"] += loss
        if Mv is not None:
            Dv += dot(minus(g, Mv), minus(g, Mv))
            Ds += dot(g, g)
        before, away = pool.known(), minus(plain[0]["x"], center)
        pool.see(gradient.smoothness, math.sqrt(dot(g, g)), math.sqrt(dot(away, away)))
        now = pool.known()
        for i, expert in enumerate(extra):
            gi = gradient(expert["x"])
            missed = minus(gi, expert["M"])
            error_sum, expert["q"] = expert["q"], expert["q"] + dot(missed, missed)
            ahead = minus(expert["x"], expert["hat"])
            m = pool.step_shrink
            a = (
                pool.inverse(i, error_sum, before, m)
                if error_sum > 0
                else pool.inverse(i, expert["q"], now, m)
            )
            lost = gradient.value(x) - gradient.value(expert["x"])
            expert["hat"] = project(step(expert["hat"], eta(a), gi))
            expert["past"] = [
                *expert["past"],
                Round(lost, a, dot(missed, missed), dot(ahead, ahead), expert["hat"]),
            ]
            expert["M"] = gradient(expert["hat"])
            expert["x"] = project(
                step(expert["hat"], eta(pool.inverse(i, expert["q"], now, m)), expert["M"])
            )
        for i, expert in enumerate(plain):
            gi = gradient(expert["x"])
            expert["q"] += dot(gi, gi)
            a = pool.inverse(i, expert["q"], now, average=min(t, 8))
            lost = gradient.value(x) - gradient.value(expert["x"])
            expert["x"] = project(step(expert["x"], eta(a), gi))
            expert["past"] = [*expert["past"], Round(lost, a, dot(gi, gi), 0.0, expert["x"])]
        while 1 + 2 * t > 4 ** (len(extra) - 1):
            n = len(extra)
            for kind in (extra, plain):
                kind.append(dict(kind[-1], q=pool.sum_of_copy(n, kind[-1]["q"])))
            extra[-1]["x"] = project(
                step(extra[-1]["hat"], eta(pool.inverse(n, extra[-1]["q"], now)), extra[-1]["M"])
            )
            old, new = pool.priors(n), pool.priors(n + 1)
            shares = [new[n - 1] / old[n - 1], new[n] / old[n - 1]]
            p = [
                *p[: n - 1],
                p[n - 1] * shares[0],
                p[n - 1] * shares[1],
                *p[n:-1],
                p[-1] * shares[0],
                p[-1] * shares[1],
            ]
        points = [expert["x"] for expert in extra + plain]
        prior = pool.priors(len(extra))
        Mv = gradient(mix(p, points))
        beta = 0.5 if Dv == Ds else float(Dv < Ds)
        M = [beta * m for m in Mv]
        guesses = [dot(M, xi) for xi in points]
        totals = [expert["total"] + m for expert, m in zip(extra + plain, guesses, strict=True)]
        p = exponential([math.log(q) for q in prior], totals, rate)
        decisions.append(mix(p, points))
        weights.append(p)
    return Run(decisions, weights, [expert["past"] for expert in extra + plain])
