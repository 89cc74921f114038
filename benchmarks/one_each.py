"""One gradient a round and one projection a round, what they cost and save: tables that
``benchmarks.field`` writes.

Times are processor time of this thread, best of several turns, the contenders taking turns: other
work on the machine does not count, but for what it does to the caches.
"""

from __future__ import annotations

import time

import numpy as np

import swordplay as sp

TURNS = 7
MANY = 40
"""Turns where a run is a few milliseconds: slow moments of the machine are longer than that."""
ROUNDS = 10_000
HALVES = 0.5 ** np.arange(14)


def best_of(runs, rounds, turns=TURNS):
    """Microseconds a round of each run, least of several turns.

    The first turn compiles and does not count.
    """
    least = dict.fromkeys(runs, np.inf)
    for turn in range(turns + 1):
        for name, prepare in runs.items():
            run = prepare()
            started = time.thread_time()
            run()
            if turn:
                least[name] = min(least[name], (time.thread_time() - started) / rounds * 1e6)
    return least


def worlds(rounds):
    drift = sp.streams.drift
    return {
        "Instance 1": sp.streams.paper.gradual(rounds),
        "Instance 2": sp.streams.paper.alternating(rounds),
        "jumps": drift.jumps(rounds, 3),
        "rotation": drift.rotation(rounds, 3),
        "random walk": drift.random_walk(rounds, 3),
        "fixed": drift.jumps(rounds, 3, every=rounds),
        "alternating": drift.adversarial_alternation(rounds, 3),
    }


def known(stream):
    domain = stream.domain
    return {
        "horizon": len(stream),
        "gradient_bound": stream.gradient_bound(domain),
        "smoothness": stream.smoothness,
    }


def contestants(stream):
    L = stream.smoothness
    best = sp.SwordBest(stream.domain, **known(stream))
    long = sp.pools.safe(diameter=stream.domain.diameter, **known(stream))
    return {
        "SwordBest": best,
        "Sword++": sp.SwordPlusPlus(stream.domain, **known(stream)),
        "Sword++, steps up to 1/(2L)": sp.SwordPlusPlus(stream.domain, **known(stream), pool=long),
        "Sword++, steps up to 2/L": sp.SwordPlusPlus(
            stream.domain, **known(stream), pool=2 * HALVES / L
        ),
    }


def regret_table():
    games = worlds(ROUNDS)
    rows = {}
    for stream in games.values():
        for name, learner in contestants(stream).items():
            ledger = sp.play(learner, stream)
            rows.setdefault(name, []).append(ledger.regret(stream.comparators))
    lines = [
        f"| regret, {ROUNDS:,} rounds | " + " | ".join(games) + " |",
        "| --- |" + " ---: |" * len(games),
    ]
    return lines + [
        f"| {name} | " + " | ".join(f"{value:.3g}" for value in row) + " |"
        for name, row in rows.items()
    ]


def rows_of(dim, rounds, loss="squared"):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(rounds, dim)) / np.sqrt(dim)
    targets = 0.5 * features[:, 0] + 0.1 * rng.normal(size=rounds)
    return sp.LinearStream(
        features, (targets > 0).astype(float) if loss == "logistic" else targets, loss
    )


def timed(make, stream):
    """A fresh learner with its engine at hand, and the run that is timed: the rounds alone,
    without what ``play`` adds up.
    """

    def prepare():
        model = sp.engine.online(make(), stream.loss)
        return lambda: model.play(stream.features, stream.targets, checked=True)

    return prepare


def round_times(loss, dim, rounds, radius=1.0):
    """Microseconds a round of SwordBest and of Sword++."""
    stream, ball = rows_of(dim, rounds, loss), sp.Ball(dim, radius)
    L = stream.smoothness
    told = {"horizon": rounds, "gradient_bound": stream.gradient_bound(ball), "smoothness": L}
    pool = HALVES[:7] / (2 * L)
    return best_of(
        {
            "best": timed(
                lambda: sp.SwordBest(ball, **told, variation_pool=pool, small_loss_pool=pool),
                stream,
            ),
            "plus": timed(lambda: sp.SwordPlusPlus(ball, **told, pool=HALVES / (8 * L)), stream),
        },
        rounds,
        MANY,
    )


def round_line(loss, dim, rounds):
    found = round_times(loss, dim, rounds)
    return (
        f"| {loss}, d = {dim} | {found['best']:.2f} | {found['plus']:.2f} | "
        f"{found['plus'] / found['best']:.2f} |"
    )


def round_table():
    lines = [
        "| µs a round, 14 experts each | SwordBest | Sword++ | ratio |",
        "| --- | ---: | ---: | ---: |",
    ]
    shapes = ((3, 30_000), (10, 30_000), (100, 8_000), (1000, 1_500))
    lines += [
        round_line(loss, dim, rounds) for loss in ("squared", "logistic") for dim, rounds in shapes
    ]
    wide = [round_times("squared", dim, rounds, radius=4.0) for dim, rounds in shapes[:3]]
    three, ten, hundred = (f"{found['plus'] / found['best']:.2f}" for found in wide)
    return [
        *lines,
        "",
        f"In a ball four times as large, which no expert leaves, squared: {three}, {ten}, "
        f"{hundred} at d = 3, 10, 100.",
    ]


class Expensive:
    """A loss whose gradient takes its time: so many seconds a point."""

    smoothness = 1.0

    def __init__(self, loss, seconds):
        self.loss, self.seconds = loss, seconds

    def value(self, x):
        return self.loss.value(x)

    def gradient(self, x):
        end = time.thread_time() + self.seconds * (len(x) if np.ndim(x) == 2 else 1)
        while time.thread_time() < end:
            pass
        return self.loss.gradient(x)


def gradient_line():
    losses = [Expensive(loss, 1e-3) for loss in rows_of(3, 30)]
    told = {"horizon": 30, "gradient_bound": 2.0, "smoothness": 1.0}
    pool = HALVES[:7] / 2
    makes = {
        "best": lambda: sp.SwordBest(sp.Ball(3), **told, variation_pool=pool, small_loss_pool=pool),
        "plus": lambda: sp.SwordPlusPlus(sp.Ball(3), **told, pool=HALVES / 8),
    }
    found = best_of(
        {name: lambda make=make: lambda: sp.play(make(), losses) for name, make in makes.items()},
        30,
        turns=1,
    )
    return (
        f"With gradients of 1 ms each a round of SwordBest took {found['best'] / 1e3:.1f} ms and "
        "one of Sword++ "
        f"{found['plus'] / 1e3:.1f} ms, with 14 experts each."
    )


class Budget:
    """Shares of at most ``cap`` each that sum to 1, with a projection by bisection."""

    def __init__(self, dim, cap):
        self.dim, self.cap = dim, cap
        self.center, self.diameter = np.full(dim, 1.0 / dim), float(np.sqrt(2 * cap))
        self.asked = 0

    def project(self, points):
        self.asked += 1
        low, high = points.min(axis=-1, keepdims=True) - 1.0, points.max(axis=-1, keepdims=True)
        for _ in range(60):
            middle = (low + high) / 2
            over = np.clip(points - middle, 0.0, self.cap).sum(axis=-1, keepdims=True) > 1.0
            low, high = np.where(over, middle, low), np.where(over, high, middle)
        return np.clip(points - high, 0.0, self.cap)

    def contains(self, points, atol=1e-9):
        points = np.asarray(points)
        inside = (points >= -atol).all(axis=-1) & (points <= self.cap + atol).all(axis=-1)
        return inside & (np.abs(points.sum(axis=-1) - 1.0) <= atol * self.dim)

    def support(self, directions):
        most = round(1 / self.cap)
        return self.cap * np.sort(np.asarray(directions), axis=-1)[..., -most:].sum(axis=-1)


def projection_column(dim, rounds):
    few, told = rows_of(dim, rounds)[:60], {"horizon": 10**5, "gradient_bound": 2.0}
    strange = Budget(dim, 10.0 / dim)

    def once(domain):
        return lambda: sp.OneProjection(domain, lambda around: sp.Ader(around, **told))

    def readable(make):
        return lambda: lambda: sp.play(make(), few, engine="python", keep=())

    makes = {
        "capped shares, one projection": readable(once(strange)),
        "capped shares, every expert projected": readable(
            lambda: sp.Ader(OneByOne(strange), **told)
        ),
    }
    return best_of(makes, len(few), turns=2)


def projection_table():
    columns = [projection_column(100, 4_000), projection_column(1000, 800)]
    lines = ["| µs a round, Ader with 9 experts | d = 100 | d = 1,000 |", "| --- | ---: | ---: |"]
    return lines + [
        f"| {name} | " + " | ".join(f"{column[name]:.1f}" for column in columns) + " |"
        for name in columns[0]
    ]


class OneByOne:
    """A domain whose projection takes one point at a time, as most solvers do."""

    def __init__(self, inside):
        self.inside = inside
        self.dim, self.center, self.diameter = inside.dim, inside.center, inside.diameter
        self.contains, self.support = inside.contains, inside.support

    def project(self, points):
        return (
            np.array([self.inside.project(point) for point in points])
            if np.ndim(points) == 2
            else self.inside.project(points)
        )


def rates(stream):
    """SwordBest, and what its meta may be instead."""
    told, most = known(stream), 1 / (stream.smoothness * stream.domain.diameter**2)

    def free(cap=None):
        return sp.SwordBest(
            stream.domain, **told, learning_rate=sp.rates.SelfConfident(offset=0.0, cap=cap)
        )

    return {
        "default": sp.SwordBest(stream.domain, **told),
        "no offset": free(most),
        "no offset, cap 8/(L D²)": free(8 * most),
        "no offset, no cap": free(),
        "AdaNormalHedge": sp.SwordBest(stream.domain, **told, meta=sp.metas.AdaNormalHedge()),
    }


def meta_table(worlds):
    rows = {}
    for world in worlds.values():
        stream = world(seed=0)
        for name, learner in rates(stream).items():
            rows.setdefault(name, []).append(sp.play(learner, stream).regret(stream.comparators))
    lines = ["| regret | " + " | ".join(worlds) + " |", "| --- |" + " ---: |" * len(worlds)]
    return lines + [
        f"| {name} | " + " | ".join(f"{value:.3g}" for value in row) + " |"
        for name, row in rows.items()
    ]
