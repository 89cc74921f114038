"""Data frames as Arrow tables: pandas, polars and whatever else hands out its columns by Arrow's
interface.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from swordplay.core.arguments import is_missing, is_real, short_repr
from swordplay.tables.errors import TableError

INDEX = "index"
"""Name of the column that dates in a nameless index become."""


class Frame(NamedTuple):
    """A table in memory, to be opened in place of a file."""

    rows: pa.Table
    name: str = "the table"
    """What messages call it."""

    def __str__(self) -> str:
        return self.name


def frame(table: Any, name: str = "the table") -> Frame:
    """A data frame as a table that can be read.

    Parameters
    ----------
    table
        A pandas or polars data frame, a pyarrow table, record batch or reader (which is read to its
        end), anything else with Arrow's interface (``__arrow_c_stream__`` or
        ``__arrow_c_array__``), or a two-dimensional array, whose columns are called x0, x1, ...
        Dates in the index of a pandas frame are a column in front, called as the index.
    name
        What messages call it.

    Raises
    ------
    TableError
        If it is none of these, or a column cannot be had as Arrow; says which one and why.
    """
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(table, pandas.DataFrame):
        return Frame(_of_pandas(table), name)
    if isinstance(table, pa.RecordBatchReader):
        return Frame(table.read_all(), name)
    if isinstance(table, np.ndarray):
        return Frame(_of_array(table), name)
    try:
        return Frame(pa.table(table), name)
    except (TypeError, ValueError, AttributeError) as error:
        raise TableError(
            f"{name} must be a pandas or polars data frame, an Arrow table or a path, got "
            f"{type(table).__name__}. "
            f"{'Call .collect() first.' if type(table).__name__ == 'LazyFrame' else 'Convert it first.'}"  # noqa: E501
        ) from error


def _of_array(values: Any) -> pa.Table:
    if values.ndim != 2:
        raise TableError(
            f"an array must have two dimensions, got shape {values.shape}. Use reshape(-1, 1) for "
            "one column."
        )
    names = [f"x{k}" for k in range(values.shape[1])]
    return pa.Table.from_arrays(
        [_column(name, values[:, k]) for k, name in enumerate(names)], names
    )


def _of_pandas(table: Any) -> pa.Table:
    names = [_flat(name) for name in table.columns]
    columns = [(name, table.iloc[:, k]) for k, name in enumerate(names)]
    both = [*((name, dates) for name, dates in _dates(table.index) if name not in names), *columns]
    return pa.Table.from_arrays(
        [_column(name, values) for name, values in both], [name for name, _ in both]
    )


def _flat(name: Any) -> str:
    """The name of a column; of several levels, their names joined.

    >>> _flat("price"), _flat(2020), _flat(("wind", "north", ""))
    ('price', '2020', 'wind_north')
    """
    return (
        "_".join(str(part) for part in name if part != "") if isinstance(name, tuple) else str(name)
    )


def _dates(index: Any) -> Iterator[tuple[str, Any]]:
    """Levels of an index that hold dates, with their names."""
    for k in range(index.nlevels):
        values = index.get_level_values(k)
        if values.dtype.kind == "M":
            yield str(values.name) if values.name is not None else INDEX, values.to_series()
        elif str(values.dtype).startswith("period"):
            yield (
                str(values.name) if values.name is not None else INDEX,
                values.to_timestamp().to_series(),
            )


def _column(name: str, values: Any) -> pa.Array:
    """A column of pandas or numpy; one that mixes kinds becomes words, as it would be in a file."""
    if str(values.dtype).startswith("period"):
        values = values.dt.to_timestamp()
    elif str(values.dtype).startswith("Sparse"):
        values = np.asarray(values)
    try:
        return _whole(pa.array(values, from_pandas=True))
    except MemoryError:
        raise
    except Exception as error:  # pyarrow also passes on what an odd object raises
        if values.dtype != object:
            raise TableError(
                f"column {name!r} holds values of type {values.dtype}, and not numbers, truths, "
                "words or dates. Convert it or drop it."
            ) from error
        return pa.array(_words(name, list(values)), pa.string())


def _whole(values: Any) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _words(name: str, values: Sequence[Any]) -> list[str | None]:
    """Values of several kinds as words, None where missing."""
    known = {k: value for k, value in enumerate(values) if not is_missing(value)}
    texts: list[str | None] = [None] * len(values)
    first: dict[str, Any] = {}
    for k, value in known.items():
        plain = isinstance(
            value,
            str | bytes | Decimal | datetime.date | datetime.time | datetime.timedelta | np.generic,
        )
        try:
            if not (plain or is_real(value) or type(value).__name__ in ("Period", "Interval")):
                raise TypeError
            texts[k] = text = str(value)
            text.encode()
        except (
            TypeError,
            ValueError,
        ) as error:  # Python writes no whole number of more than 4,300 digits
            raise TableError(
                f"column {name!r} holds {type(value).__name__} objects such as "
                f"{short_repr(value, 40)}, and not numbers, truths, "
                "words or dates. Convert it or drop it."
            ) from error
        other = first.setdefault(text, value)
        if isinstance(other, str) != isinstance(value, str):
            raise TableError(
                f"column {name!r} holds {short_repr(other, 40)} ({type(other).__name__}) and "
                f"{short_repr(value, 40)} "
                f"({type(value).__name__}), which are the same as text. Convert one of them."
            )
    return texts
