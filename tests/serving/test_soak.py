"""An hour under load, and a million events: memory, disk and answers stay what they were.

SWORDPLAY_SOAK sets another number of seconds.
"""

import os

import pytest

benchmark = pytest.importorskip("benchmarks.serving")

SECONDS = float(os.environ.get("SWORDPLAY_SOAK", "3600"))
GROWTH = 1.15
"""Memory at the end over that after a fifth of the time, when everything that is remembered is
full.
"""
FLAT = 1.03
"""The most that there was in the second half of a million events over that in the first: it
breathes with checkpoints.
"""
MOST_DISK = 300.0
"""Megabytes: two checkpoints, and 64 MB of events behind each of them."""


@pytest.mark.deep
def test_an_hour_under_load():
    figures = benchmark.soak(SECONDS)
    print("\n".join(f"{name:45} {figure:10,.2f}" for name, figure in figures.items()))
    by_name = {
        name: [figures[f"tenth {k}: {name}"] for k in range(1, 11)]
        for name in ("MB", "MB on the disk")
    }
    assert by_name["MB"][-1] < GROWTH * by_name["MB"][1], by_name
    assert max(by_name["MB on the disk"]) < MOST_DISK, by_name


@pytest.mark.deep
def test_a_million_events_leave_memory_as_it_was():
    figures = benchmark.memory(1_000_000)
    print(figures)
    sizes = [figures[f"MB after {k} tenths"] for k in range(1, 11)]
    assert max(sizes[5:]) < FLAT * max(sizes[:5]), sizes
