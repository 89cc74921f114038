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
            line
            for line in page.splitlines()
            if line.startswith(f"| {name} |") and line.count("|") == len(field.WORLDS) + 3
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
    quick = field.ages.readable(lambda T: sp.OGD(field.ages.BALL, 0.5))
    slow = field.ages.readable(lambda T: sp.OGD(field.ages.BALL, 1e-4))
    assert 0 < field.ages.rounds_to_find(quick, 100) < 50
    assert field.ages.rounds_to_find(slow, 100) is None


@pytest.mark.deep  # numba takes seconds over them, and whoever makes the page checks the same
@pytest.mark.parametrize("kind", ["CBCE", "SACS", "SAOL"])
def test_the_covers_of_the_page_are_those_of_the_library(field, kind):
    """Decision by decision, over a jump."""
    rows, targets = field.ages.drawn(np.random.default_rng(0), 70, field.ages.HERE)
    targets[40:] *= -1
    assert field.ages.differs(kind, rows, targets, 2.5) <= field.ages.AGREEMENT


def test_every_part_has_its_place(field):
    """Each is between its marks on one page; the covers play to the oldest age."""
    for part in field.PARTS:
        page = field.PAGES.get(part, field.PAGE).read_text(encoding="utf-8")
        assert page.count(f"<!-- {part}: made by python -m benchmarks.field -->") == 1
    assert 2 ** (field.ages.differs.__globals__["LEVELS"] - 1) > max(field.ages.AGES)
