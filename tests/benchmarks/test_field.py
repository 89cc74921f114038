"""The worlds of docs/field.md are what the page says they are, and its tables have everybody."""

import sys
from pathlib import Path

import numpy as np
import pytest

import swordplay as sp

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def field():
    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks import field
    finally:
        sys.path.remove(str(ROOT))
    return field


def test_the_page_has_everybody(field):
    page = (ROOT / "docs" / "field.md").read_text(encoding="utf-8")
    for name in field.LEARNERS:
        (line,) = [
            line for line in page.splitlines() if line.startswith(f"| {name} |") and line.count("|") == len(field.WORLDS) + 3
        ]
        assert all(any(c.isdigit() for c in cell) for cell in line.split("|")[2:-1])
    assert all(f" {world} |" in page for world in field.WORLDS)
    assert (ROOT / "docs" / "figures" / "field.svg").stat().st_size > 10_000


def test_the_worlds(field):
    varying = field.total_variation(0)
    assert np.abs(np.diff(varying.comparators, axis=0)).sum() <= 4.0
    assert 0 < sp.path_length(varying.comparators) < 4.0
    table = field.WORLDS["electricity"](seed=1)
    assert len(table) == field.ROUNDS
    assert len(np.unique(table.comparators[:, 0])) <= 10


def test_a_game_of_the_page(field):
    stream = field.WORLDS["jumps"](seed=0)
    learner = field.Timed(field.LEARNERS["OGD, textbook step"](stream))
    ledger = sp.play(learner, stream, engine="python")
    assert ledger.regret(stream.comparators) > 0
    assert field.cost(ledger, learner, stream)["microseconds"] > 0


def test_how_long_it_takes_to_find_a_new_target(field):
    quick = field.readapted(lambda stream: sp.OGD(stream.domain, 0.5), age=100)
    slow = field.readapted(lambda stream: sp.OGD(stream.domain, 1e-4), age=100)
    assert 0 < quick < 50
    assert slow is None
