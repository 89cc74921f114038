"""Measurements that explain why a goal is missed: what they take away, and what they count."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from benchmarks.missed.child import Spans
from benchmarks.missed.command import SPANS, watched
from benchmarks.missed.section import Section
from benchmarks.missed.stages import Stage, replaced, variants
from benchmarks.workloads import dense

import swordplay as sp
from benchmarks import tracking
from swordplay.engine import meta, rounds


@pytest.mark.parametrize(
    ("value", "at_most", "said"),
    [(4.0, True, "reached"), (6.0, True, "**missed**"), (4.0, False, "**missed**")],
)
def test_a_goal_that_is_missed_is_called_missed(value, at_most, said):
    section = Section(
        "A goal", value, 5.0, " s", "Because\nof it.", ["what", "s"], [["all", "4"]], at_most
    )
    text = section.markdown()
    assert text.startswith("### A goal\n\nGoal: ")
    assert f"This run: {value:g} s, {said}. Because of it." in text
    assert "| all | 4 |" in text


def test_time_within_counts_once(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])

    def work(seconds):
        clock[0] += seconds

    spans = Spans()
    inner = spans.around(work, "inner")
    spans.around(lambda: (inner(2.0), work(1.0), inner(3.0)), "outer")()
    assert spans.seconds == {"inner": 5.0, "outer": 1.0}


@pytest.mark.deep
def test_a_round_with_nothing_taken_away_is_the_engine_s():
    world = dense(200, 3)
    ours, theirs = world.learner(), world.learner()
    before = rounds.play_dense
    stage = Stage("whole", world.learner, world)
    with replaced(rounds, play_dense=stage.kernel):
        found = sp.play(ours, world.stream(), engine="compiled")
    assert rounds.play_dense is before
    wanted = sp.play(theirs, world.stream(), engine="compiled")
    np.testing.assert_allclose(found.losses, wanted.losses, rtol=1e-12)
    stage.turn()
    assert 0.0 < stage.best < 1e6
    assert 0.0 < stage.around < 1e6


def test_all_that_is_taken_away_is_there():
    for names, parts in variants().values():
        for module, replacements in names.items():
            assert all(hasattr(module, name) for name in replacements)
        assert set(parts) <= {"move", "track_distance"}
    assert callable(meta.learn_losses)


@pytest.mark.deep
def test_a_process_that_watches_itself(tmp_path):
    path = tmp_path / "table.csv"
    tracking.make(path, 500)
    told = watched("times", path, tmp_path)["told"]
    assert {"learn", "open", "rest"} <= set(told["spans"])
    assert set(told["spans"]) <= {*SPANS, *(f"{name} (beside)" for name in SPANS)}
    assert (
        sum(seconds for name, seconds in told["spans"].items() if "beside" not in name)
        <= told["end"] - told["began"]
    )
    if Path("/proc/self/task").is_dir():
        assert {"learning", "pyarrow"} <= set(watched("threads", path, tmp_path)["told"])
