"""Plain Python twins of the systems beside the Swords, straight from the equations: lists,
loops, math.
"""

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
    p, cumulative, guesses, A = (
        [1 / len(pool)] * len(pool),
        [0.0] * len(pool),
        [0.0] * len(pool),
        0.0,
    )
    M, pasts = [0.0] * len(center), [[] for _ in pool]
    decisions, weights = [mix(p, points)], [p]
    for gradient in gradients:
        x = decisions[-1]
        g = gradient(x)
        losses = [
            dot(g, xi) + 2 * L * squared(minus(xi, was))
            for xi, was in zip(points, before, strict=True)
        ]
        A += half_range(minus(losses, guesses)) ** 2
        cumulative = [c + loss for c, loss in zip(cumulative, losses, strict=True)]
        for i, eta in enumerate(pool):
            ahead = minus(points[i], hats[i])
            before[i] = points[i]
            hats[i] = project(step(hats[i], eta, g))
            pasts[i].append(
                Round(
                    dot(g, minus(x, before[i])),
                    1 / eta,
                    squared(minus(g, M)),
                    squared(ahead),
                    hats[i],
                )
            )
            points[i] = project(step(hats[i], eta, g))
        M = g
        guesses = [
            dot(g, xi) + 2 * L * squared(minus(xi, was))
            for xi, was in zip(points, before, strict=True)
        ]
        rate = min(1 / (2 * L * D**2), math.sqrt(lam / (2 * (D**2 * G**2 + A))))
        p = exponential(log_prior, [c + m for c, m in zip(cumulative, guesses, strict=True)], rate)
        decisions.append(mix(p, points))
        weights.append(p)
    return Run(decisions, weights, pasts)


def omgd(gradients, center, project, *, lam, eta):
    steps = math.ceil((1 / eta + lam) / (2 * lam) * math.log(4))
    x, decisions = list(center), [list(center)]
    for gradient in gradients:
        for _ in range(steps):
            x = project(step(x, eta, gradient(x)))
        decisions.append(x)
    return decisions


def restarted_ogd(gradients, center, project, *, eta, every):
    x, decisions = list(center), [list(center)]
    for t, gradient in enumerate(gradients, start=1):
        x = list(center) if t % every == 0 else project(step(x, eta, gradient(x)))
        decisions.append(x)
    return decisions


def optimistic_ogd(gradients, center, project, *, D, told):
    """``told`` holds the guess for each coming round, or None for the last gradient."""
    x, hat, E, M = list(center), list(center), 0.0, [0.0] * len(center)
    decisions = [x]
    for gradient, guess in zip(gradients, told, strict=True):
        g = gradient(x)
        before, E = E, E + squared(minus(g, M))
        used = before if before > 0 else E
        if E == 0:
            decisions.append(x)
            continue
        hat = project(step(hat, D / (2 * math.sqrt(used)), g))
        M = g if guess is None else guess
        x = project(step(hat, D / (2 * math.sqrt(E)), M))
        decisions.append(x)
    return decisions


def ader_parts(D, G, T):
    N = math.ceil(0.5 * math.log2(1 + 4 * T / 7)) + 1
    pool = [2**i * (D / G) * math.sqrt(7 / (2 * T)) for i in range(N)]
    return pool, [(1 + 1 / N) / (i * (i + 1)) for i in range(1, N + 1)]


def ader_true_losses(losses, center, project, *, D, G, T):
    """``losses`` are pairs of value and gradient."""
    pool, prior = ader_parts(D, G, T)
    points, total = [list(center) for _ in pool], [0.0] * len(pool)
    p, decisions = prior, [mix(prior, [list(center)] * len(pool))]
    for value, gradient in losses:
        total = [c + value(x) for c, x in zip(total, points, strict=True)]
        points = [project(step(x, eta, gradient(x))) for x, eta in zip(points, pool, strict=True)]
        p = exponential([math.log(q) for q in prior], total, math.sqrt(8 / (T * G**2 * D**2)))
        decisions.append(mix(p, points))
    return decisions


def late_ader(gradients, center, project, *, D, G, T, arrivals):
    """``arrivals[t]`` lists the rounds whose losses arrive at the end of round t."""
    pool, prior = ader_parts(D, G, T)
    points, total, p = [list(center) for _ in pool], [0.0] * len(pool), prior
    stood, decided, decisions = [], [], []
    for arrived in arrivals:
        decisions.append(mix(p, points))
        stood.append(points)
        decided.append(decisions[-1])
        for s in arrived:
            g = gradients[s](decided[s])
            total = [c + dot(g, x) for c, x in zip(total, stood[s], strict=True)]
            points = [project(step(x, eta, g)) for x, eta in zip(points, pool, strict=True)]
        p = exponential([math.log(q) for q in prior], total, math.sqrt(2 / (T * G**2 * D**2)))
    return [*decisions, mix(p, points)]


def one_projection_ader(gradients, center, project, radius, *, G, T):
    """Ader in the ball of this radius, its mixtures projected, the gradients bent."""

    def in_ball(y):
        offset = minus(y, center)
        norm = math.sqrt(squared(offset))
        return (
            list(y)
            if norm <= radius
            else [c + radius * o / norm for c, o in zip(center, offset, strict=True)]
        )

    pool, prior = ader_parts(2 * radius, G, T)
    points, total, p, decisions = [list(center) for _ in pool], [0.0] * len(pool), prior, []
    for gradient in gradients:
        y = mix(p, points)
        x = project(y)
        decisions.append(x)
        g, away = gradient(x), minus(y, x)
        norm = math.sqrt(squared(away))
        if norm > 1e-12 * (2 * radius + math.sqrt(squared(center))) and dot(g, away) < 0:
            g = step(g, dot(g, away) / norm**2, away)
        total = [c + dot(g, xi) for c, xi in zip(total, points, strict=True)]
        points = [in_ball(step(xi, eta, g)) for xi, eta in zip(points, pool, strict=True)]
        p = exponential(
            [math.log(q) for q in prior], total, math.sqrt(2 / (T * G**2 * (2 * radius) ** 2))
        )
    return [*decisions, project(mix(p, points))]


def cover(losses, center, project, *, D, G, kind):
    """SAOL, CBCE or SACS with every interval an entry of its own: {(first, last): expert}."""
    alive, decisions = {}, []

    def weigh(t):
        raw = {}
        for (first, last), e in alive.items():
            if kind == "saol":
                raw[first, last] = min(0.5, 1 / math.sqrt(last - first + 1)) * e["w"]
            elif kind == "cbce":
                prior = 1 / (first**2 * (1 + math.floor(math.log2(first))))
                e["bet"] = sum(e["z"]) / (t - first + 1) * e["wealth"]
                raw[first, last] = prior * max(e["bet"], 0.0)
            else:
                up, down = (max(e["R"] + s, 0.0) ** 2 / (3 * (e["C"] + 1)) for s in (1, -1))
                raw[first, last] = (math.exp(up) - math.exp(down)) / 2
        if sum(raw.values()) == 0:
            raw = {
                (a, b): 1 / (a**2 * (1 + math.floor(math.log2(a)))) if kind == "cbce" else 1.0
                for a, b in alive
            }
        return {name: w / sum(raw.values()) for name, w in raw.items()}

    for t in range(1, len(losses) + 2):
        alive = {(a, b): e for (a, b), e in alive.items() if b >= t}
        for k in range(t.bit_length()):
            if t % 2**k == 0 and (kind != "sacs" or t // 2**k % 2 == 1):
                alive[t, t + 2**k - 1] = {
                    "x": list(center),
                    "E": 0.0,
                    "w": 1.0,
                    "z": [],
                    "wealth": 1.0,
                    "R": 0.0,
                    "C": 0.0,
                }
        p = weigh(t)
        decisions.append(mix(list(p.values()), [alive[name]["x"] for name in p]))
        if t > len(losses):
            return decisions
        value, gradient = losses[t - 1]
        for (first, last), e in alive.items():
            ours, theirs = value(decisions[-1]), value(e["x"])
            r = (
                (ours - theirs) / (D * G)
                if abs(ours - theirs) > 1e-12 * (abs(ours) + abs(theirs))
                else 0.0
            )
            e["w"] *= 1 + min(0.5, 1 / math.sqrt(last - first + 1)) * r
            z = r if e.get("bet", 0.0) > 0 else max(r, 0.0)
            e["wealth"] += z * e.get("bet", 0.0)
            e["z"].append(z)
            e["R"], e["C"] = e["R"] + r, e["C"] + abs(r)
            g = gradient(e["x"])
            e["E"] += squared(g)
            if e["E"] > 0:
                e["x"] = project(step(e["x"], D / (2 * math.sqrt(e["E"])), g))
    return decisions


def haar_says_moved(bin_, sigma, shrink):
    """Pad, transform as the definition has it, shrink, sum."""
    mean, n = sum(bin_) / len(bin_), 1
    while n < len(bin_):
        n *= 2
    padded = [y - mean for y in bin_] + [0.0] * (n - len(bin_))
    depth, total = n.bit_length() - 1, 0.0
    for level in range(depth):  # level 0 is the coarsest: one coefficient of all n entries
        size = n // 2**level
        for first in range(0, n, size):
            half = first + size // 2
            coefficient = (sum(padded[first:half]) - sum(padded[half : first + size])) / math.sqrt(
                size
            )
            total += 2 ** (level / 2) * max(abs(coefficient) - shrink, 0.0)
    return total > sigma


def arrows(targets, center, *, sigma, T, beta, clip):
    shrink = sigma * math.sqrt(beta * math.log(T))
    bin_, last, said = [], center, []
    for y in targets:
        said.append(clip(sum(bin_) / len(bin_) if bin_ else last))
        last, bin_ = y, [*bin_, y]
        if haar_says_moved(bin_, sigma, shrink):
            bin_ = []
    return [*said, clip(sum(bin_) / len(bin_) if bin_ else last)]


def aligator(targets, center, *, width, clip):
    alive, said = {}, []
    for t in range(1, len(targets) + 2):
        alive = {(a, b): e for (a, b), e in alive.items() if b >= t}
        for k in range(t.bit_length()):
            if t % 2**k == 0:
                alive[t, t + 2**k - 1] = [1.0, []]
        means = {name: sum(ys) / len(ys) if ys else center for name, (_, ys) in alive.items()}
        mass = sum(w for w, _ in alive.values())
        said.append(clip(sum(w * means[name] for name, (w, _) in alive.items()) / mass))
        if t <= len(targets):
            y = targets[t - 1]
            faded = {
                name: w * math.exp(-((means[name] - y) ** 2) / (2 * width**2))
                for name, (w, _) in alive.items()
            }
            for name, e in alive.items():
                e[0], e[1] = faded[name] * mass / sum(faded.values()), [*e[1], y]
    return said
