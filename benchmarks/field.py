"""All tables and the figure of docs/field.md, and the table of decision 26.

Run ``python -m benchmarks.field``.

It takes about six minutes of one core. Names of parts after the command (``regret``, ``ages``, ...)
write those only. One sweep of :mod:`swordplay.theory.sweeps` plays everybody on every world in the
readable loop, so that times can be compared; its games are kept in ``out/field.jsonl``, and a run
that was stopped goes on from there with ``--go-on``.
"""

from __future__ import annotations

import functools
import math
import re
import sys
import time
from pathlib import Path

import numpy as np

import swordplay as sp
from benchmarks import ages, one_each
from swordplay import datasets
from swordplay.comparison import field as table_field
from swordplay.theory.sweeps import sweep

ROUNDS, DIM, SEEDS = 1000, 3, (0,)
PAGE = Path(__file__).resolve().parents[1] / "docs" / "field.md"
FIGURE = PAGE.parent / "figures" / "field.svg"
NOTES = Path("out") / "field.jsonl"


class Timed:
    """A learner that counts the processor seconds it takes."""

    def __init__(self, learner):
        self.learner, self.seconds = learner, 0.0

    @property
    def decision(self):
        started = time.process_time()
        decision = self.learner.decision
        self.seconds += time.process_time() - started
        return decision

    def observe(self, loss):
        started = time.process_time()
        self.learner.observe(loss)
        self.seconds += time.process_time() - started


def told(stream):
    return {
        "horizon": len(stream),
        "gradient_bound": stream.gradient_bound(stream.domain),
        "smoothness": stream.smoothness,
    }


def steepest(stream):
    return {"gradient_bound": told(stream)["gradient_bound"]}


def two(stream):
    return {name: told(stream)[name] for name in ("horizon", "gradient_bound")}


def restarted(stream):
    variation = float(sp.function_variation(stream, stream.domain))
    return sp.RestartedOGD(stream.domain, **two(stream), function_variation=variation)


def textbook(stream):
    G = told(stream)["gradient_bound"]
    return sp.OGD(stream.domain, stream.domain.diameter / (G * math.sqrt(len(stream))))


LEARNERS = {
    "Sword": lambda s: sp.Sword(s.domain),
    "SwordAgeless": lambda s: sp.SwordAgeless(s.domain, smoothness=s.smoothness),
    "SwordBest": lambda s: sp.SwordBest(s.domain, **told(s)),
    "SwordVar": lambda s: sp.SwordVar(s.domain, **told(s)),
    "SwordSmall": lambda s: sp.SwordSmall(s.domain, **told(s)),
    "SwordPlusPlus": lambda s: sp.SwordPlusPlus(s.domain, **told(s)),
    "SwordBest, fixed share": lambda s: sp.SwordBest(
        s.domain, **told(s), meta=sp.metas.FixedShare()
    ),
    "SwordBest, AdaNormalHedge": lambda s: sp.SwordBest(
        s.domain, **told(s), meta=sp.metas.AdaNormalHedge()
    ),
    "SwordBest, Adapt-ML-Prod": lambda s: sp.SwordBest(
        s.domain, **told(s), meta=sp.metas.AdaptMLProd()
    ),
    "SwordSmall, Squint": lambda s: sp.SwordSmall(s.domain, **told(s), meta=sp.metas.Squint()),
    "Ader": lambda s: sp.Ader(s.domain, **two(s)),
    "AderTrueLosses": lambda s: sp.AderTrueLosses(s.domain, **two(s)),
    "OneProjection of Ader": lambda s: sp.OneProjection(
        s.domain, lambda ball: sp.Ader(ball, **two(s))
    ),
    "CBCE": lambda s: sp.CBCE(s.domain, **steepest(s)),
    "SACS": lambda s: sp.SACS(s.domain, **steepest(s)),
    "SAOL": lambda s: sp.SAOL(s.domain, **steepest(s)),
    "OptimisticOGD": lambda s: sp.OptimisticOGD(s.domain),
    "RestartedOGD": restarted,
    "MetaGrad": lambda s: sp.MetaGrad(s.domain, **two(s)),
    "OGD, textbook step": textbook,
    "OEGD, step 1/(4L)": lambda s: sp.OEGD(s.domain, 1 / (4 * s.smoothness)),
    "PBGD, two points": lambda s: sp.PBGD(s.domain, **two(s)),
}


def total_variation(seed):
    """Coordinates that each make a few small moves at times of their own: total variation 4 in
    all.
    """
    rng = np.random.default_rng(seed)
    moves = np.zeros((ROUNDS, DIM))
    for j in range(DIM):
        moves[rng.integers(0, ROUNDS, 12), j] += rng.normal(size=12)
    moves *= 4 / np.abs(moves).sum()
    domain = sp.Ball(DIM)
    comparators = domain.project(np.cumsum(moves, axis=0))
    features = rng.normal(size=(ROUNDS, DIM))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    targets = np.einsum("ij,ij->i", features, comparators) + 0.1 * rng.normal(size=ROUNDS)
    return sp.PlantedStream(features, targets, domain=domain, comparators=comparators)


def instance(make, seed):
    return make(ROUNDS)  # the paper's instances have no seed


def shipped(load, seed):
    """A thousand rows of a shipped table, as ``swordplay compare`` plays them.

    Comparators that change every hundred rows.
    """
    data = load()
    rows, targets = np.asarray(data.features, dtype=float), np.asarray(data.targets)
    start = seed * ROUNDS
    rows, targets = rows[start : start + ROUNDS], targets[start : start + ROUNDS]
    labels = set(np.unique(targets)) <= {0, 1}
    (stream,) = table_field(
        rows, targets.astype(float) if not labels else targets, 2 if labels else 0
    ).streams
    domain = sp.Ball(stream.dim, 8.0)
    best = sp.hindsight.block_minimizers(stream, domain, ROUNDS // 10)
    return sp.PlantedStream(
        stream.features, stream.targets, stream.loss, domain=domain, comparators=best
    )


drift = sp.streams.drift
WORLDS = {
    "Instance 1": functools.partial(instance, sp.streams.paper.gradual),
    "Instance 2": functools.partial(instance, sp.streams.paper.alternating),
    "jumps": functools.partial(drift.jumps, ROUNDS, DIM, every=100),
    "rotation": functools.partial(drift.rotation, ROUNDS, DIM),
    "random walk": functools.partial(drift.random_walk, ROUNDS, DIM),
    "fixed": functools.partial(drift.jumps, ROUNDS, DIM, every=ROUNDS),
    "alternating": functools.partial(drift.adversarial_alternation, ROUNDS, DIM),
    "total variation": total_variation,
    "electricity": functools.partial(shipped, datasets.electricity),
    "bike sharing": functools.partial(shipped, datasets.bikesharing),
    "sulfur": functools.partial(shipped, datasets.sulfur),
}


def timed(make):
    return lambda stream: Timed(make(stream))


def cost(ledger, learner, stream):
    return {"microseconds": 1e6 * learner.seconds / ledger.rounds}


def played():
    NOTES.parent.mkdir(exist_ok=True)
    makers = {name: timed(make) for name, make in LEARNERS.items()}
    return sweep(makers, WORLDS, SEEDS, measure=cost, engine="python", file=NOTES)


def means(rows, column):
    """Mean over the seeds, by learner and world."""
    return {
        (learner, world): float(
            np.mean(
                [row[column] for row in rows if (row["learner"], row["stream"]) == (learner, world)]
            )
        )
        for learner in LEARNERS
        for world in WORLDS
    }


def shown(value):
    size = abs(value)
    return f"{value:.0f}" if size >= 99.5 else f"{value:.1f}" if size >= 9.95 else f"{value:.2f}"


def grid(rows):
    """The table of regrets, the least of each world in bold, and the readable loop's time a
    round in three dimensions.
    """
    regrets, times = means(rows, "regret"), means(rows, "microseconds")
    lines = [f"| regret | {' | '.join(WORLDS)} | µs |", f"| --- |{' ---: |' * (len(WORLDS) + 1)}"]
    least = {world: min(regrets[learner, world] for learner in LEARNERS) for world in WORLDS}
    for learner in LEARNERS:
        cells = []
        for world in WORLDS:
            text = shown(regrets[learner, world])
            cells.append(f"**{text}**" if regrets[learner, world] == least[world] else text)
        lines.append(f"| {learner} | {' | '.join(cells)} | {times[learner, 'jumps']:.0f} |")
    return lines


def draw(rows):
    """Regret in units of the least of each world, as colours."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.hashsalt"] = "swordplay"
    regrets = means(rows, "regret")
    table = np.array([[regrets[learner, world] for world in WORLDS] for learner in LEARNERS])
    least = table.min(axis=0)
    unit = np.maximum(
        least, 0.05 * np.median(table, axis=0)
    )  # the least may be below 0: moving less than the comparators
    ratios = (table - least + unit) / unit
    figure, axes = plt.subplots(figsize=(9, 7), layout="constrained")
    image = axes.imshow(np.log10(ratios), cmap="viridis_r", vmin=0, vmax=2, aspect="auto")
    axes.set_xticks(range(len(WORLDS)), WORLDS, rotation=40, ha="right")
    axes.set_yticks(range(len(LEARNERS)), LEARNERS)
    for i, learner in enumerate(LEARNERS):
        for j, world in enumerate(WORLDS):
            colour = "white" if ratios[i, j] > 10 else "black"
            axes.text(
                j,
                i,
                shown(regrets[learner, world]),
                ha="center",
                va="center",
                fontsize=7,
                color=colour,
            )
    bar = figure.colorbar(image, ticks=[0, 1, 2], shrink=0.6)
    bar.ax.set_yticklabels(["the least", "10 times", "100 times"])
    axes.set_title(
        f"Dynamic regret after {ROUNDS:,} rounds, beside the least of each world",
        fontsize=10,
        loc="left",
    )
    figure.savefig(FIGURE, metadata={"Date": None})


def regret_and_figure():
    games = played()
    draw(games)
    return grid(games)


PARTS = {
    "regret": regret_and_figure,
    "one gradient": lambda: [*one_each.regret_table(), "", one_each.gradient_line()],
    "rounds": one_each.round_table,
    "one projection": one_each.projection_table,
    "ages": ages.table,
    "metas": lambda: one_each.meta_table(WORLDS),
}
PAGES = {"metas": PAGE.parent / "decisions" / "0026-the-cap-costs-not-the-hedge.md"}


def write(part, lines):
    """Put a table between its marks."""
    page = PAGES.get(part, PAGE)
    marks = rf"(<!-- {part}: made by python -m benchmarks.field -->\n).*?(<!-- end -->)"
    inside = "\n".join(lines)
    text, found = re.subn(
        marks,
        lambda match: f"{match[1]}{inside}\n{match[2]}",
        page.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    if found != 1:
        sys.exit(f"{page} must have one place for {part}, and has {found}.")
    page.write_text(text, encoding="utf-8")


def main(arguments):
    if "--go-on" not in arguments:
        NOTES.unlink(missing_ok=True)
    for part in [name for name in arguments if name != "--go-on"] or PARTS:
        began = time.process_time()
        lines = PARTS[part]()
        print("\n".join(lines), f"({time.process_time() - began:.0f} s)", sep="\n", flush=True)
        write(part, lines)


if __name__ == "__main__":
    main(sys.argv[1:])
