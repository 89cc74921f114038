"""How long a learner takes to find a target that has jumped, at ages up to ten million rounds: a
table of docs/field.md.
"""

from __future__ import annotations

import sys

import numpy as np

import swordplay as sp
from benchmarks.covers import KINDS, Cover, differs

AGES = (10**3, 10**4, 10**5, 10**6, 10**7)
SLOW = 10**5
"""The oldest age at which somebody plays who has only a readable loop."""
PATIENCE = 2_000
"""Rounds after the jump in which a learner may find the new target."""
NEAR, BLOCK, DIM = 0.3, 10**6, 3
AGREEMENT = 1e-12
"""What the compiled covers may differ from the library's by."""
BALL, HERE = sp.Ball(DIM), np.array([0.6, 0.0, 0.0])
TOLD = {"gradient_bound": 2.5, "smoothness": 1.0}


def compiled(make):
    """A learner that the engine knows: (rows before, rows after) -> rounds until it is near, or
    None.
    """

    def found(age, before, after):
        learner = make(age + PATIENCE)
        for rows, targets in before:
            sp.play(learner, sp.LinearStream(rows, targets), keep=())
        model = sp.engine.online(learner)
        for t in range(PATIENCE):
            if np.linalg.norm(model.decision + HERE) < NEAR:
                return t
            model.learn(after[0][t], float(after[1][t]))
        return None

    return found


def readable(make):
    """The same for one that it does not know."""

    def found(age, before, after):
        learner = make(age + PATIENCE)
        for rows, targets in before:
            sp.play(learner, sp.LinearStream(rows, targets), engine="python", keep=())
        for t in range(PATIENCE):
            if np.linalg.norm(learner.decision + HERE) < NEAR:
                return t
            learner.observe(sp.SquaredLoss(after[0][t], after[1][t]))
        return None

    return found


def cover(kind):
    """The same for a cover, by the loops of ``benchmarks.covers``."""

    def found(age, before, after):
        one = Cover(kind, DIM, TOLD["gradient_bound"])
        for rows, targets in before:
            one.play(rows, targets)
        played = one.play(*after, -HERE, NEAR)
        return played if played < PATIENCE else None

    return found


EVERYBODY = {
    "Sword": compiled(lambda T: sp.Sword(BALL)),
    "SwordAgeless": compiled(lambda T: sp.SwordAgeless(BALL, smoothness=1.0)),
    "SwordBest": compiled(lambda T: sp.SwordBest(BALL, horizon=T, **TOLD)),
    "SwordPlusPlus": compiled(lambda T: sp.SwordPlusPlus(BALL, horizon=T, **TOLD)),
    "SwordBest, fixed share": readable(
        lambda T: sp.SwordBest(BALL, horizon=T, **TOLD, meta=sp.metas.FixedShare())
    ),
    **{kind: cover(kind) for kind in ("CBCE", "SACS", "SAOL")},
}
READABLE = {"SwordBest, fixed share"}


def drawn(rng, count, target):
    """Rows of length 1 and what the target says of them, with noise."""
    features = rng.normal(size=(count, DIM))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    return features, features @ target + 0.05 * rng.normal(size=count)


def rounds_to_find(found, age, seed=0):
    """Rounds after a jump at this age until the decision is within a quarter of the jump of the
    new target, or None.
    """
    rng = np.random.default_rng(seed)
    before = (drawn(rng, min(BLOCK, age - first), HERE) for first in range(0, age, BLOCK))
    after = drawn(np.random.default_rng(seed + 1), PATIENCE, -HERE)
    return found(age, before, after)


def checked():
    """The compiled covers are the library's, decision by decision, over a jump."""
    rng = np.random.default_rng(2)
    parts = [drawn(rng, 300, HERE), drawn(rng, 300, -HERE)]
    rows, targets = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    worst = max(differs(kind, rows, targets, TOLD["gradient_bound"]) for kind in KINDS)
    if worst > AGREEMENT:
        sys.exit(f"benchmarks.covers differs from the library by {worst:.1e}.")


def table(ages=AGES):
    """Everybody at every age."""
    checked()
    lines = [
        "| rounds to find the new target | " + " | ".join(f"age {age:,}" for age in ages) + " |"
    ]
    lines.append("| --- |" + " ---: |" * len(ages))
    for name, found in EVERYBODY.items():
        cells = []
        for age in ages:
            if name in READABLE and age > SLOW:
                cells.append("")
                continue
            rounds = rounds_to_find(found, age)
            cells.append(f"over {PATIENCE:,}" if rounds is None else str(rounds))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines
