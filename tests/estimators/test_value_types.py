"""Rows by name as JSON has them: what is made of numbers, words, dates and gaps, and what is
refused.
"""

from datetime import date, datetime, time, timedelta, timezone

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimators.bad_input import Lying
from swordplay.estimators import value_types
from swordplay.estimators.value_types import DATE_FEATURES, ValueTypes
from swordplay.tables import date_features
from swordplay.tables.column_plans import MOST_CATEGORIES


def test_the_constants_are_those_of_tables():
    assert value_types.MAX_WORDS == MOST_CATEGORIES == 50
    assert (value_types.SECONDS_PER_DAY, value_types.DAYS_PER_WEEK, value_types.DAYS_PER_YEAR) == (
        date_features.DAY,
        date_features.WEEK,
        date_features.YEAR,
    )
    assert DATE_FEATURES == (
        "hour_sin",
        "hour_cos",
        "weekday_sin",
        "weekday_cos",
        "yearday_sin",
        "yearday_cos",
    )


@given(st.datetimes(datetime(1902, 1, 1), datetime(2200, 1, 1)))
def test_dates_become_the_circles_of_tables(moment):
    rows = ValueTypes()
    found = rows.numbers(rows.read({"when": moment.isoformat()}))
    assert list(found) == [("when", name) for name in DATE_FEATURES]
    wanted = date_features.circles(pa.array([moment], pa.timestamp("us")), hours=True)[0]
    assert np.allclose(list(found.values()), wanted, atol=1e-9)


def test_dates_of_many_makes_and_times():
    rows = ValueTypes()
    zone = timezone(timedelta(hours=2))
    same = [
        "2024-05-17T12:30:00",
        "2024-05-17T12:30:00Z",
        datetime(2024, 5, 17, 14, 30, tzinfo=zone),
        datetime(2024, 5, 17, 12, 30),
    ]
    read = [rows.read({"when": value}) for value in same]
    assert all(row == {"when": "2024-05-17T12:30:00"} for row in read)
    assert rows.read({"when": date(2024, 5, 17)}) == {"when": "2024-05-17T00:00:00"}
    assert rows.read({"at": time(6)}) == {"at": "06:00:00"}
    assert rows.numbers({"at": "06:00:00"}) == pytest.approx(
        {("at", "hour_sin"): 1.0, ("at", "hour_cos"): 0.0}, abs=1e-12
    )
    assert rows.kinds == {"when": "date", "at": "time"}


def test_numbers_truths_words_and_gaps():
    rows = ValueTypes()
    row = rows.read(
        {
            "a": 1,
            "b": True,
            "c": "3.5",
            "d": np.float32(0.5),
            "e": "wide",
            "f": None,
            "g": float("nan"),
            "h": " NA ",
        }
    )
    assert row == {"a": 1.0, "b": 1.0, "c": 3.5, "d": 0.5, "e": "wide"}
    assert rows.kinds == {"a": "number", "b": "number", "c": "number", "d": "number", "e": "word"}
    assert rows.read({"f": "first"}) == {"f": "first"}  # decided by the first value
    gaps = {"i": pd.NaT, "j": np.datetime64("NaT"), "k": np.float64("nan"), "l": Lying("nan")}
    assert rows.read(gaps) == {}
    for bad in (pd.NA, np.ma.masked, Lying(1e300), np.timedelta64(3, "s"), np.array(1.0), 1j, b"x"):
        with pytest.raises((TypeError, ValueError), match=r"x\['m'\] must be"):
            rows.read({"m": bad})


def test_words_join_when_they_are_learned_and_late_ones_share():
    rows = ValueTypes()
    first = rows.read({"town": "Bern"})
    assert rows.numbers(first) == {("town", "Bern"): 1.0}
    assert rows.numbers(rows.read({"town": "Genf"})) == {("town", "Genf"): 1.0}
    rows.learn(first)
    assert rows.numbers(rows.read({"town": "Genf"})) == {
        ("town", "Bern"): 0.0,
        ("town", "Genf"): 1.0,
    }
    for k in range(60):
        rows.learn(rows.read({"town": f"town {k}"}))
    assert len(rows.words["town"]) == 51
    assert rows.words["town"][-1] is None
    late = rows.numbers(rows.read({"town": "Chur"}))
    assert late[("town", None)] == 1.0
    assert sum(late.values()) == 1.0
    assert ValueTypes.from_state(rows.state()).words == rows.words


@pytest.mark.parametrize("bad", ["wide", "1_000", "inf", date(2024, 1, 1), 1e70])
def test_what_does_not_fit_numbers(bad):
    rows = ValueTypes()
    rows.read({"a": 1.0})
    with pytest.raises(ValueError, match=r"x\['a'\]"):
        rows.read({"b": 1.0, "a": bad})
    assert rows.kinds == {"a": "number"}


@pytest.mark.parametrize(
    ("first", "bad"),
    [
        ("wide", 3.0),
        ("wide", "x" * 1001),
        ("2024-01-01", 3.0),
        ("2024-01-01", "soon"),
        ("12:30", "x"),
    ],
)
def test_what_does_not_fit_words_dates_and_times(first, bad):
    rows = ValueTypes()
    rows.read({"a": first})
    with pytest.raises(ValueError, match=r"so far\. Send one of these, or None if it is missing"):
        rows.read({"a": bad})


@pytest.mark.parametrize(
    "broken",
    [
        {"kinds": '[["a"], ["colour"]]'},
        {"kinds": '[["a", "a"], ["number", "word"]]'},
        {"words": '[["town"], [["Bern", "Bern"]]]'},
        {"words": '[["a"], [["Bern"]]]'},
        {"words": '[["town"], [[null]]]'},
        {"words": '[["town"], [3]]'},
    ],
)
def test_states_that_no_rows_lead_to(broken):
    rows = ValueTypes()
    rows.learn(rows.read({"a": 1.0, "town": "Bern"}))
    with pytest.raises((ValueError, TypeError)):
        ValueTypes.from_state(rows.state() | broken)
