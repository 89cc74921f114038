"""An engine may play for ever: numbers stay numbers, invariants hold, memory is flat, in
whatever unit rows come.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import swordplay as sp
from engine.duels import Duel, gap, state_gaps
from swordplay.engine.layout import EXPERT, VECTOR
from tolerances import LAZY_NORM, SETTLED, TWIN, WEIGHT_SUM

DIM, PART = 3, 100_000
QUICK_ROUNDS, DEEP_ROUNDS = 2_000_000, 100_000_000
GROWTH = 8 << 20
"""Bytes by which resident memory may grow over half of a run: one number kept a round in the
quick one.
"""

Rows = tuple[np.ndarray, np.ndarray]


def drifting(part: int, rounds: int = PART) -> Rows:
    """Rows of length 1, targets within 2.5: a planted point that jumps every thousand rounds,
    now and then outside.
    """
    rng = np.random.default_rng([part, 0])
    rows = rng.normal(size=(rounds, DIM))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    planted = np.repeat(rng.uniform(-0.9, 0.9, size=(rounds // 1000, DIM)), 1000, axis=0)
    return rows, np.einsum("ij,ij->i", rows, planted) + np.clip(
        0.1 * rng.normal(size=rounds), -0.5, 0.5
    )


def surging(part: int, rounds: int = PART) -> Rows:
    """The same, but for every tenth stretch of a hundred rows rows are a million times as long."""
    rows, targets = drifting(part, rounds)
    factor = np.where(np.arange(rounds) // 100 % 10 == 9, 1e6, 1.0)
    return rows * factor[:, None], targets * factor


def flaring(part: int, rounds: int = PART) -> Rows:
    """The same rows with targets that are a million times as large in every hundredth round."""
    rows, targets = drifting(part, rounds)
    return rows, targets * np.where(np.arange(rounds) % 100 == 99, 1e6, 1.0)


def best(unit: float = 1.0, horizon: int = QUICK_ROUNDS) -> sp.SwordBest:
    """On the unit ball |<a, x> - y| <= 2.5 + 1, so that G = 3.5 and L = 1 times the unit of the
    losses.
    """
    return sp.SwordBest(sp.Ball(DIM), horizon=horizon, gradient_bound=3.5 * unit, smoothness=unit)


def resident() -> int:
    """Bytes of memory that this process holds at present."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def healthy(learner: Any) -> None:
    """What holds after any number of rounds."""
    memory, radius = learner.holder.memory, learner.domain.radius
    for name, values in learner.state().items():
        assert np.isfinite(values).all(), name
    n = memory.expert_count
    numbers, last = memory.experts[:, :n], memory.vectors[VECTOR.last_row]
    base = numbers[EXPERT.scale] * (
        memory.coordinates[:, :n] + np.multiply.outer(last, numbers[EXPERT.pending_update])
    )
    norms = np.einsum("ji,ji->i", base, base)
    np.testing.assert_allclose(
        numbers[EXPERT.squared_norm], norms, rtol=0, atol=LAZY_NORM * radius**2
    )
    assert (np.sqrt(norms) <= radius * (1 + LAZY_NORM)).all()
    assert (
        np.linalg.norm(learner.points - learner.domain.center, axis=1) <= radius * (1 + LAZY_NORM)
    ).all()
    assert learner.domain.contains(learner.decision)
    assert (learner.weights > 0).all()
    assert learner.weights.sum() == pytest.approx(1.0, abs=WEIGHT_SUM)


def live_long(
    learner: Any,
    make: Callable[[int], Rows],
    rounds: int,
    form: Callable[[np.ndarray], Any] = np.asarray,
) -> None:
    """Play part after part.

    Invariants hold all along, and over the second half no memory is taken.
    """
    early, parts = 0, rounds // PART
    for part in range(parts):
        rows, targets = make(part)
        sp.play(learner, sp.LinearStream(form(rows), targets), engine="compiled", keep=())
        if part % max(1, parts // 20) == 0 or part == parts - 1:
            healthy(learner)
        if part <= parts // 2:
            early = max(early, resident())
    assert learner.rounds == rounds
    assert resident() <= early + GROWTH


def go_on_readably(learner: Any, rows: np.ndarray, targets: np.ndarray) -> None:
    """From an old state, the readable learner and the engine still play the same game."""
    stream = sp.LinearStream(rows, targets)
    constants = Duel(learner.domain, stream, "after a long life")
    other = sp.Sword(learner.domain) if isinstance(learner, sp.Sword) else best()
    other.load_state(learner.state())
    ours = sp.play(learner, stream, engine="compiled")
    theirs = sp.play(other, stream, engine="python")
    assert gap(ours.decisions, theirs.decisions, learner.domain.diameter) <= TWIN
    found = state_gaps(constants, learner.state(), other.state())
    assert max(found.values()) <= TWIN, max(found, key=found.__getitem__)


linux = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc"
)
MADE: dict[str, Callable[[], Any]] = {"SwordBest": best, "Sword": lambda: sp.Sword(sp.Ball(DIM))}
every_learner = pytest.mark.parametrize("learner", MADE)


@linux
@every_learner
def test_two_million_rounds(learner: str) -> None:
    made = MADE[learner]()
    live_long(made, drifting, QUICK_ROUNDS)
    rows, targets = drifting(10**6)
    go_on_readably(made, rows[:200], targets[:200])


@linux
@pytest.mark.deep
@every_learner
def test_a_hundred_million_rounds(learner: str) -> None:
    made = best(horizon=DEEP_ROUNDS) if learner == "SwordBest" else MADE[learner]()
    live_long(made, drifting, DEEP_ROUNDS)


@linux
@every_learner
@pytest.mark.parametrize("world", [surging, flaring])
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix], ids=["dense", "sparse"])
def test_rows_and_targets_that_jump_by_a_million_and_back(
    learner: str, world: Callable[[int], Rows], form: Any
) -> None:
    live_long(MADE[learner](), world, 4 * PART, form)


@linux
@pytest.mark.parametrize("world", [drifting, surging])
def test_single_precision_lives_as_long(world: Callable[[int], Rows]) -> None:
    """Coordinates are coarser, but nothing runs away: norms are those of the coordinates as they
    are.
    """
    learner = best()
    engine = sp.engine.compiled_twin(learner, "squared", dtype="float32")
    for part in range(4):
        engine.play(*world(part))
    assert np.isfinite(engine.decision).all()
    assert np.linalg.norm(engine.decision) <= 1.0 + 1e-5
    assert all(np.isfinite(value).all() for value in engine.state().values())


@pytest.mark.deep  # for one row, a kernel of its own
def test_single_precision_survives_one_enormous_sparse_row() -> None:
    learner = best()
    engine = sp.engine.compiled_twin(learner, "squared", dtype="float32")
    rows, targets = drifting(0, 1000)
    rows[500] *= 1e20
    engine.play(scipy.sparse.csr_matrix(rows), targets)
    assert np.isfinite(engine.decision).all()


@every_learner
@pytest.mark.parametrize("root", [2.0**-13, 2.0**13])
def test_the_unit_of_the_losses_is_only_a_unit(learner: str, root: float) -> None:
    """Losses times 1.5e-8 or 6.7e7, by powers of two: no digit changes, so no decision does."""
    rows, targets = drifting(0, 20_000)
    plain = sp.play(MADE[learner](), sp.LinearStream(rows, targets), engine="compiled")
    made = best(root**2) if learner == "SwordBest" else MADE[learner]()
    scaled = sp.play(made, sp.LinearStream(root * rows, root * targets), engine="compiled")
    healthy(made)
    np.testing.assert_array_equal(scaled.decisions, plain.decisions)
    np.testing.assert_array_equal(scaled.losses, root**2 * plain.losses)


@every_learner
def test_rows_of_nothing_teach_nothing(learner: str) -> None:
    made = MADE[learner]()
    ledger = sp.play(made, sp.LinearStream(np.zeros((5000, DIM)), np.ones(5000)), engine="compiled")
    healthy_enough = {
        name: np.isfinite(value).all()
        for name, value in made.state().items()
        if name != "meta.rate.value"
    }
    assert all(healthy_enough.values()), healthy_enough
    assert not ledger.decisions.any()
    np.testing.assert_array_equal(ledger.losses, 0.5)
    rows, targets = drifting(0, 1000)
    sp.play(made, sp.LinearStream(rows, targets), engine="compiled")
    healthy(made)


@every_learner
@pytest.mark.parametrize("target", [0.25, 5.0], ids=["within reach", "out of reach"])
def test_the_same_row_for_ever(learner: str, target: float) -> None:
    made = MADE[learner]()
    rows = np.tile([0.6, 0.0, 0.8], (200_000, 1))
    ledger = sp.play(made, sp.LinearStream(rows, np.full(len(rows), target)), engine="compiled")
    healthy(made)
    assert ledger.decisions[-1] == pytest.approx(min(target, 1.0) * rows[0], abs=SETTLED)


@every_learner
def test_cumulative_losses_stay_near_their_smallest(learner: str) -> None:
    """Only differences count, and a common part would in time swallow their digits."""
    made = MADE[learner]()
    rows, targets = drifting(0)
    sp.play(
        made, sp.LinearStream(rows, targets + 10.0), engine="compiled"
    )  # every round costs everyone
    memory = made.holder.memory
    one_round = 13.5 * made.domain.diameter  # |<g, x>| of any round
    assert abs(memory.experts[EXPERT.cumulative, : memory.expert_count].min()) <= one_round
