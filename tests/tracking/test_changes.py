"""What changed in a run: planted changes are told with their dates and levels.

All seeds are fixed.
"""

import numpy as np
import pyarrow as pa
import pytest

from swordplay.tracking import Settings, Tracker
from swordplay.tracking.changes import changes


def tracked(columns, targets, clock=None):
    table = {f"x{k}": columns[:, k] for k in range(columns.shape[1])} | {"y": targets}
    if clock is not None:
        table = {"when": clock} | table
    batch = pa.record_batch(table)
    tracker = Tracker.begin(Settings("y"), batch.slice(0, 1000))
    tracker.track(batch, np.arange(1, len(batch) + 1))
    return tracker.story("made.csv")


def made(rows, seed, turn=None, louder=None):
    """A regression whose first coefficient turns, or whose noise doubles, from a row on."""
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(rows, 3))
    signs = np.where(np.arange(rows) < (rows if turn is None else turn), 2.0, -2.0)
    noise = np.where(np.arange(rows) < (rows if louder is None else louder), 0.5, 1.5)
    return columns, signs * columns[:, 0] + columns[:, 1] + noise * rng.normal(size=rows)


@pytest.mark.parametrize("seed", range(3))
def test_a_planted_turn_is_found_with_its_date(seed):
    hours = np.datetime64("2012-01-01", "h") + np.arange(6000)
    found = changes(tracked(*made(6000, seed, turn=4000), clock=hours.astype("datetime64[us]")))
    turn = max(found, key=lambda one: one.strength)
    assert turn.what == "x0"
    assert turn.before == pytest.approx(2.0, abs=0.3)
    assert turn.after == pytest.approx(-2.0, abs=0.5)
    assert abs(turn.row - 4000) <= 200
    assert turn.time == pytest.approx(
        hours[turn.row - 1].astype("datetime64[ms]").astype(float), abs=3.6e6
    )


@pytest.mark.parametrize("seed", range(3))
def test_louder_noise_is_found(seed):
    found = changes(tracked(*made(6000, seed, louder=3000)))
    (error,) = [one for one in found if one.what == "error"]
    assert abs(error.row - 3000) <= 200
    assert error.after / error.before == pytest.approx(3.0, rel=0.2)
    assert error.time is None


@pytest.mark.parametrize("seed", range(6))
def test_a_world_that_stands_still_has_no_changes(seed):
    assert changes(tracked(*made(5000, seed))) == ()


def test_mistakes_of_classes_are_watched_too():
    rng = np.random.default_rng(5)
    columns = rng.normal(size=(6000, 2))
    wrong = rng.random(6000) < np.where(np.arange(6000) < 3000, 0.05, 0.3)
    found = changes(tracked(columns, np.where((columns[:, 0] > 0) != wrong, "yes", "no")))
    (error,) = [one for one in found if one.what == "error"]
    assert abs(error.row - 3000) <= 300
    assert (error.before, error.after) == pytest.approx((0.07, 0.31), abs=0.04)


def test_classes_that_change_their_shares_are_told():
    rng = np.random.default_rng(6)
    place = np.arange(6000)
    rain = rng.random(6000) < np.where(place < 4000, 0.7, 0.0)
    other = np.where(place < 4000, "sun", np.where(rng.random(6000) < 0.7, "fog", "sun"))
    found = changes(tracked(rng.normal(size=(6000, 2)), np.where(rain, "rain", other)))
    shares = {one.about: one for one in found if one.kind == "share"}
    assert set(shares) == {"rain", "fog"}
    for one in shares.values():
        assert one.what == "y"
        assert abs(one.row - 4000) <= 100
        assert one.since_row is None
    assert (shares["rain"].before, shares["rain"].after) == pytest.approx((0.7, 0.0), abs=0.06)
    assert (shares["fog"].before, shares["fog"].after) == pytest.approx((0.0, 0.7), abs=0.06)


def test_of_two_classes_one_is_told():
    rng = np.random.default_rng(7)
    yes = rng.random(6000) < np.where(np.arange(6000) < 2500, 0.2, 0.6)
    (share,) = [
        one
        for one in changes(tracked(rng.normal(size=(6000, 2)), np.where(yes, "yes", "no")))
        if one.kind == "share"
    ]
    assert share.about == "yes"
    assert (share.before, share.after) == pytest.approx((0.2, 0.6), abs=0.08)


def test_a_new_level_of_the_target_is_told():
    columns, targets = made(6000, 1)
    targets = targets + np.where(np.arange(6000) < 3500, 12.0, 40.0)
    (level,) = [one for one in changes(tracked(columns, targets)) if one.kind == "target"]
    assert (level.what, level.about) == ("y", "")
    assert abs(level.row - 3500) <= 100
    assert (level.before, level.after) == pytest.approx((12.0, 40.0), abs=1.0)


@pytest.mark.parametrize("seed", range(2))
def test_errors_that_grow_slowly_have_two_dates(seed):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(12_000, 2))
    noise = np.exp(np.linspace(0.0, 2.0, 12_000))
    days = np.datetime64("1980-01-01", "D") + np.arange(12_000)
    found = changes(
        tracked(
            columns,
            columns[:, 0] + noise * rng.normal(size=12_000),
            clock=days.astype("datetime64[us]"),
        )
    )
    (error,) = [one for one in found if one.kind == "error"]
    for row, time, level in (
        (error.since_row, error.since_time, error.before),
        (error.row, error.time, error.after),
    ):
        assert level == pytest.approx(noise[row - 1], rel=0.15)
        assert time == pytest.approx(
            days[row - 1].astype("datetime64[ms]").astype(float), abs=86_400_000
        )
    assert error.row - error.since_row > 6000


def test_errors_with_seasons_are_no_changes():
    rng = np.random.default_rng(9)
    columns = rng.normal(size=(12_000, 2))
    noise = np.exp(0.7 * np.sin(2.0 * np.pi * np.arange(12_000) / 1500.0))
    assert changes(tracked(columns, columns[:, 0] + noise * rng.normal(size=12_000))) == ()
