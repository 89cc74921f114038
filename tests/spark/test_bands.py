"""Intervals of keys on Spark: those of each key alone, kept in a record that is optional in a
state.
"""

import numpy as np
import pandas as pd
import pytest

from spark.test_rows import tracked
from spark.worlds import FEATURES, world
from swordplay.intervals import SwordIntervals
from swordplay.keyed.bands import NUMBERS_OF_BANDS, BandForm
from swordplay.keyed.group import FORMAT
from swordplay.spark.bucket import WITH_BANDS
from swordplay.spark.plan import Plan

pytestmark = pytest.mark.xdist_group("spark")  # one process compiles, and the others need not


def plan(level=0.9):
    return Plan(tuple(FEATURES), "squared", 0, 0, buckets=1, level=level)


def played(rows, settings, restart):
    """Answers batch by batch.

    The group is written and read again between them where ``restart`` says so.
    """
    group, answers = settings.group(), []
    for number, part in rows.groupby("batch"):
        answers.append(tracked(part, group, settings))
        if restart(number):
            names, saved = list(group.places), group.dumps()
            group = settings.group()
            group.loads([(names, saved)])
    return group, pd.concat(answers, ignore_index=True)


def around(answers, level=0.9):
    """The intervals that each key alone would have, in the order of the answers."""
    found = np.full((len(answers), 2), np.nan)
    for _, mine in answers.sort_values("order", kind="stable").groupby("key"):
        bounds = SwordIntervals(level).interval_then_learn(
            mine["prediction"].to_numpy(), mine["target"].to_numpy()
        )
        found[mine.index] = np.where(np.isfinite(bounds), bounds, np.nan)
    return found


@pytest.mark.parametrize("every", [1, 3])
def test_each_key_has_the_intervals_that_it_would_have_alone(every):
    rows = world(12, 30, seed=4, most=6)
    _, answers = played(rows, plan(), lambda number: number % every == 0)
    assert answers.columns.tolist() == [
        "key",
        "order",
        "target",
        "prediction",
        "lower",
        "upper",
        "error",
    ]
    np.testing.assert_array_equal(answers[["lower", "upper"]], around(answers))
    assert answers["upper"].isna().sum() == 5 * answers["key"].nunique()
    _, without = played(rows, plan(None), lambda number: False)
    assert without.columns.tolist() == ["key", "order", "target", "prediction", "error"]
    np.testing.assert_array_equal(answers["prediction"], without["prediction"])


def test_a_state_without_intervals_goes_on_and_its_intervals_begin():
    rows = world(4, 20, seed=6, most=6)
    first, rest = rows[rows["batch"] < 10], rows[rows["batch"] >= 10]
    old, _ = played(first, plan(None), lambda number: False)
    group = plan().group()
    group.loads([(list(old.places), old.dumps())], old.format)
    answers = pd.concat(
        [tracked(part, group, plan()) for _, part in rest.groupby("batch")], ignore_index=True
    )
    _, straight = played(rows, plan(None), lambda number: False)
    np.testing.assert_array_equal(answers["prediction"], straight["prediction"][len(first) :])
    np.testing.assert_array_equal(answers[["lower", "upper"]], around(answers))
    assert (old.format, group.format) == (FORMAT, WITH_BANDS) == (1, 2)


def test_without_a_level_and_under_another_one_intervals_are_left_behind():
    rows = world(4, 6, seed=7, most=6)
    group, _ = played(rows, plan(), lambda number: False)
    names, saved = list(group.places), group.dumps()
    without, other, same = plan(None).group(), plan(0.5).group(), plan().group()
    for each in (without, other, same):
        each.loads([(names, saved)], WITH_BANDS)
    size = 8 * NUMBERS_OF_BANDS * len(names)
    assert without.dumps() == saved[:-size]
    assert same.dumps() == saved
    assert other.dumps() == saved[:-size] + np.tile(BandForm(0.5).fresh, (len(names), 1)).tobytes()


def test_a_record_keeps_nothing_twice():
    # Level, 7 scalars, 2 + 5 sizes of residuals, twice 8 + 56 coefficients and 24 losses, 8
    # quantiles and their losses, a balance, and the statistics of the forecasts: 3 numbers and
    # their first 32.
    assert NUMBERS_OF_BANDS == 1 + 14 + 2 * (8 + 56 + 24) + 8 + 8 + 1 + 3 + 32 == 243


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [(1, -1.0, "rows"), (1, np.nan, "scalars"), (100, 1e80, "intervals"), (0, 0.9, None)],
)
def test_damaged_intervals_are_refused(place, value, words):
    rows = world(2, 3, seed=8)
    group, _ = played(rows, plan(), lambda number: False)
    names, saved = list(group.places), bytearray(group.dumps())
    bands = np.frombuffer(saved, np.float64, offset=len(saved) - 8 * NUMBERS_OF_BANDS * len(names))
    bands[place] = value
    if words is None:
        plan().group().loads([(names, bytes(saved))])
        return
    with pytest.raises(ValueError, match=words):
        plan().group().loads([(names, bytes(saved))])


def test_a_state_that_was_cut_is_refused():
    rows = world(2, 3, seed=8)
    group, _ = played(rows, plan(), lambda number: False)
    with pytest.raises(ValueError, match="damaged"):
        plan().group().loads([(list(group.places), group.dumps()[:-8])])
