"""Jumps that are there are found near their place, and noise is left alone. All seeds are fixed."""

import numpy as np
import pyarrow as pa
import pytest

from swordplay.tracking import Settings, Tracker
from swordplay.tracking.changes import FEWEST_BLOCKS, SHORTEST, changes, cuts, long_run_variance

SERIES = 150
RARE = 0.01
"""Share of series without a jump that may be cut, as the module promises."""


@pytest.mark.parametrize("blocks", [FEWEST_BLOCKS, 40, 128])
def test_noise_is_hardly_ever_cut(blocks):
    rng = np.random.default_rng(blocks)
    assert np.mean([bool(cuts(rng.normal(size=blocks))) for _ in range(SERIES)]) <= RARE
    # the logarithm of a mean squared error over 64 rows
    assert np.mean([bool(cuts(np.log(rng.chisquare(64, size=blocks)))) for _ in range(SERIES)]) <= RARE


@pytest.mark.parametrize("alike", [0.5, 0.8])
def test_neighbours_that_resemble_one_another_are_seldom_cut(alike):
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(60):
        values = rng.normal(size=328)
        for t in range(1, len(values)):
            values[t] += alike * values[t - 1]
        found += bool(cuts(values[200:]))
    assert found <= 4


def test_the_variance_counts_resemblance():
    rng = np.random.default_rng(8)
    noise = rng.normal(size=20_000)
    assert long_run_variance(noise) == pytest.approx(1.0, rel=0.1)
    jumped = noise + 50.0 * (np.arange(20_000) > 9_000)
    assert long_run_variance(jumped) == pytest.approx(1.0, rel=0.1)
    pairs = (noise[1:] + noise[:-1]) / np.sqrt(2.0)  # variance 1, neighbours share half: ρ = 1/2 and (1 + ρ)/(1 - ρ) = 3
    assert long_run_variance(pairs) == pytest.approx(3.0, rel=0.15)
    assert long_run_variance(np.ones(50)) == 0.0


@pytest.mark.parametrize("jump", [3.0, 6.0, 50.0])
def test_jumps_are_found_where_they_are(jump):
    rng = np.random.default_rng(int(jump))
    values = rng.normal(size=128) + jump * ((np.arange(128) >= 40) & (np.arange(128) < 90))
    first, second = cuts(values)
    assert abs(first - 40) <= 2
    assert abs(second - 90) <= 2


def test_a_cut_leaves_enough_on_both_sides():
    values = np.random.default_rng(9).normal(size=60)
    values[-1] += 100.0
    assert all(SHORTEST <= place <= 60 - SHORTEST for place in cuts(values))
    assert cuts(np.zeros(60)) == []
    assert cuts(np.arange(5.0)) == []


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
    assert turn.time == pytest.approx(hours[turn.row - 1].astype("datetime64[ms]").astype(float), abs=3.6e6)


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
