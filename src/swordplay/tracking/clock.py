"""The clock of a table: which of its columns says when a row happened."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

MOST_DATES = 4
"""Columns of dates that are looked at."""
YEAR = "year"
"""A column of numbers that is called so dates the rows as well, where no column holds dates."""


def time_column(schema: Any) -> str | None:
    """The column that dates the rows: the first one that holds dates; None where there is none.

    Parameters
    ----------
    schema
        The pyarrow schema of the table.
    """
    return next((field.name for field in schema if pa.types.is_timestamp(field.type)), None)


def dates(schema: Any) -> list[str]:
    """The columns by which the order of the rows is judged: the clock first, then other columns of
    dates, if any.

    Where no column holds dates, it is one of numbers called ``year``.

    Parameters
    ----------
    schema
        The pyarrow schema of the table.
    """
    found = [field.name for field in schema if pa.types.is_timestamp(field.type)][:MOST_DATES]
    years = [
        field.name
        for field in schema
        if field.name.lower() == YEAR and pa.types.is_floating(field.type)
    ]
    return found or years[:1]
