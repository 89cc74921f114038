"""Data frames as Arrow tables."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from swordplay.tables import TableError, frame, open_table


def read(table):
    """What is read of a frame."""
    with open_table(frame(table), target=None) as opened:
        return pa.Table.from_batches([batch.rows for batch in opened.batches()])


DAY = datetime.datetime(2024, 5, 17)


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (pd.array([1, None], dtype="Int64"), "double", [1.0, None]),
        (pd.array([True, None], dtype="boolean"), "bool", [True, None]),
        (pd.array(["a", None], dtype="string"), "string", ["a", None]),
        (pd.array([1.5, None], dtype="Float64"), "double", [1.5, None]),
        (pd.Categorical(["a", None]), "string", ["a", None]),
        (pd.Categorical([3, None]), "double", [3.0, None]),
        (np.array([1, 2], dtype=np.uint8), "double", [1.0, 2.0]),
        (np.array([1.0, np.nan], dtype=np.float16), "double", [1.0, None]),
        (pd.arrays.SparseArray([0.0, 2.0]), "double", [0.0, 2.0]),
        (pd.to_datetime(["2024-05-17", None]), "timestamp[ns]", [pd.Timestamp(DAY), None]),
        (
            pd.PeriodIndex(["2024-05-17", "2024-05-17"], freq="D"),
            "timestamp[ns]",
            [pd.Timestamp(DAY)] * 2,
        ),
        (pd.Series([DAY.date(), None], dtype=object), "timestamp[us]", [DAY, None]),
        (pd.Series([decimal.Decimal("1.5"), None], dtype=object), "double", [1.5, None]),
        (pd.Series([True, None], dtype=object), "bool", [True, None]),
        (pd.Series([1, 2.5], dtype=object), "double", [1.0, 2.5]),
        (pd.Series([None, None], dtype=object), "double", [None, None]),
        (pd.Series(["a", 3], dtype=object), "string", ["a", "3"]),
        (pd.Series(["a", np.nan], dtype=object), "string", ["a", None]),
        (pd.Series([DAY, "soon"], dtype=object), "string", ["2024-05-17 00:00:00", "soon"]),
        (pd.Series([pd.NA, 3], dtype=object), "double", [None, 3.0]),
    ],
)
def test_columns_of_pandas(values, kind, expected):
    column = read(pd.DataFrame({"x": values, "one": 1.0})).column("x")
    assert str(column.type) == kind
    assert column.to_pylist() == expected


def test_a_mix_with_something_missing_becomes_words():
    values = pd.Series(["a", 3, None, np.nan, pd.NA, pd.NaT], dtype=object)
    assert read(pd.DataFrame({"x": values, "one": 1.0})).column("x").to_pylist() == [
        "a",
        "3",
        None,
        None,
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("index", "names"),
    [
        (pd.RangeIndex(2), ["x"]),
        (pd.Index(["a", "b"], name="town"), ["x"]),
        (pd.date_range("2024", periods=2), ["index", "x"]),
        (pd.date_range("2024", periods=2, tz="Europe/Zurich", name="day"), ["day", "x"]),
        (pd.period_range("2024", periods=2, freq="M", name="month"), ["month", "x"]),
        (pd.date_range("2024", periods=2, name="x"), ["x"]),
        (
            pd.MultiIndex.from_product(
                [["a"], pd.date_range("2024", periods=2)], names=["town", "day"]
            ),
            ["day", "x"],
        ),
    ],
)
def test_dates_in_the_index_are_a_column(index, names):
    rows = frame(pd.DataFrame({"x": [1.0, 2.0]}, index=index)).rows
    assert rows.column_names == names
    assert len(rows) == 2


def test_names_of_columns():
    many = pd.DataFrame(
        [[1.0, 2.0]], columns=pd.MultiIndex.from_tuples([("wind", "north"), ("rain", "")])
    )
    assert frame(many).rows.column_names == ["wind_north", "rain"]
    assert frame(pd.DataFrame([[1.0, 2.0]])).rows.column_names == ["0", "1"]
    assert frame(np.array([[1.0, "a"]], dtype=object)).rows.column_names == ["x0", "x1"]
    twice = pd.DataFrame([[1.0, 2.0]], columns=["x", "x"])
    with pytest.raises(TableError, match="columns 1 and 2 are both called 'x'"):
        read(twice)


def test_arrays_and_strangers():
    assert read(np.array([[1.0, "a"], [2.0, None]], dtype=object)).to_pydict() == {
        "x0": [1.0, 2.0],
        "x1": ["a", None],
    }
    for table, message in (
        (np.zeros(3), "two dimensions"),
        (object(), "got object"),
        (None, "got NoneType"),
    ):
        with pytest.raises(TableError, match=message):
            frame(table)
    assert str(frame(np.zeros((1, 1)))) == "the table"
