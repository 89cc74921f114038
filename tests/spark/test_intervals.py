"""Intervals of keys on Spark: those of each key alone, kept in a record that is optional in a
state.
"""

import numpy as np
import pandas as pd
import pytest

from spark.test_rows import tracked
from spark.worlds import FEATURES, world
from swordplay.intervals import SwordIntervals
from swordplay.keyed.interval_layout import IntervalLayout
from swordplay.keyed.key_bytes import HEADER
from swordplay.spark.plan import QueryPlan

pytestmark = pytest.mark.xdist_group("spark")  # one process compiles, and the others need not


NUMBERS = len(IntervalLayout(0.5).fresh)
"""Numbers of the intervals of a key, at any level."""


def plan(level=0.9):
    return QueryPlan(tuple(FEATURES), "squared", 0, "auto", buckets=1, level=level)


def played(rows, settings, restart):
    """Answers batch by batch.

    The table is written and read again between them where ``restart`` says so.
    """
    table, answers = settings.table(), []
    for number, part in rows.groupby("batch"):
        answers.append(tracked(part, table, settings))
        if restart(number):
            names, saved = list(table.numbers), table.to_bytes()
            table = settings.table()
            table.from_bytes([(names, saved)])
    return table, pd.concat(answers, ignore_index=True)


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
    table = plan().table()
    table.from_bytes([(list(old.numbers), old.to_bytes())])
    answers = pd.concat(
        [tracked(part, table, plan()) for _, part in rest.groupby("batch")], ignore_index=True
    )
    _, straight = played(rows, plan(None), lambda number: False)
    np.testing.assert_array_equal(answers["prediction"], straight["prediction"][len(first) :])
    np.testing.assert_array_equal(answers[["lower", "upper"]], around(answers))


def test_without_a_level_and_under_another_one_intervals_are_left_behind():
    rows = world(4, 6, seed=7, most=6)
    table, _ = played(rows, plan(), lambda number: False)
    names, saved = list(table.numbers), table.to_bytes()
    without, other, same = plan(None).table(), plan(0.5).table(), plan().table()
    for each in (without, other, same):
        each.from_bytes([(names, saved)])
    size = 8 * NUMBERS * len(names)
    learned = slice(HEADER.size, -size)  # the header says how many numbers intervals have
    assert without.to_bytes()[HEADER.size :] == saved[learned]
    assert same.to_bytes() == saved
    fresh = np.tile(IntervalLayout(0.5).fresh, (len(names), 1))
    assert other.to_bytes()[HEADER.size :] == saved[learned] + fresh.tobytes()


def test_a_record_keeps_nothing_twice():
    # Level, 7 scalars, 2 + 5 sizes of residuals, twice 8 + 56 coefficients and 24 losses, 8
    # quantiles and their losses, a balance, and the statistics of the forecasts: 3 numbers and
    # their first 32.
    assert NUMBERS == 1 + 14 + 2 * (8 + 56 + 24) + 8 + 8 + 1 + 3 + 32 == 243


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [(1, -1.0, "rows"), (1, np.nan, "scalars"), (100, 1e80, "intervals"), (0, 0.9, None)],
)
def test_damaged_intervals_are_refused(place, value, words):
    rows = world(2, 3, seed=8)
    table, _ = played(rows, plan(), lambda number: False)
    names, saved = list(table.numbers), bytearray(table.to_bytes())
    bands = np.frombuffer(saved, np.float64, offset=len(saved) - 8 * NUMBERS * len(names))
    bands[place] = value
    if words is None:
        plan().table().from_bytes([(names, bytes(saved))])
        return
    with pytest.raises(ValueError, match=words):
        plan().table().from_bytes([(names, bytes(saved))])


def test_a_state_that_was_cut_is_refused():
    rows = world(2, 3, seed=8)
    table, _ = played(rows, plan(), lambda number: False)
    with pytest.raises(ValueError, match="damaged"):
        plan().table().from_bytes([(list(table.numbers), table.to_bytes()[:-8])])
