"""When a run saves its state."""

import pytest

from swordplay.tracking import saving
from swordplay.tracking.saving import BETWEEN_SAVES, SaveClock


@pytest.fixture
def now(monkeypatch):
    """The time in seconds, to be set."""
    time = [100.0]
    monkeypatch.setattr(saving.time, "monotonic", lambda: time[0])
    return time


def test_ten_seconds_unless_rows_are_said():
    assert BETWEEN_SAVES == 10.0


def test_by_the_clock(now):
    clock = SaveClock(None, rows=5)
    now[0] += BETWEEN_SAVES - 0.5
    assert not clock.is_time(9)
    now[0] += 0.5
    assert clock.is_time(9)
    clock.saved(9)
    now[0] += BETWEEN_SAVES - 0.5
    assert not clock.is_time(12)
    now[0] += BETWEEN_SAVES
    assert clock.is_time(12)
    assert not clock.is_time(9)  # nothing new since the last save


def test_by_rows(now):
    clock = SaveClock(4, rows=5)
    assert [rows for rows in range(5, 12) if clock.is_time(rows)] == [9, 10, 11]
    clock.saved(10)
    now[0] += 100 * BETWEEN_SAVES
    assert [rows for rows in range(10, 16) if clock.is_time(rows)] == [14, 15]
