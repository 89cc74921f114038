"""The clock of a table: which of its columns says when a row happened."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def time_column(schema: Any) -> str | None:
    """The column that dates the rows: the first one that holds dates; None where there is none.

    Parameters
    ----------
    schema
        The pyarrow schema of the table.
    """
    return next((field.name for field in schema if pa.types.is_timestamp(field.type)), None)
