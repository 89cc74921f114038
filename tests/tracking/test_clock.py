"""Which column dates the rows."""

import pyarrow as pa

from swordplay.tracking.clock import time_column


def test_the_first_column_of_dates_is_the_clock():
    day, sold = pa.field("day", pa.timestamp("us")), pa.field("sold", pa.timestamp("us", "UTC"))
    assert time_column(pa.schema([pa.field("x", pa.float64()), day, sold])) == "day"


def test_a_table_without_dates_has_none():
    assert (
        time_column(pa.schema([pa.field("x", pa.float64()), pa.field("word", pa.string())])) is None
    )
