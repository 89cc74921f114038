"""pyarrow without pandas: asked for any array, it imports pandas where that is installed, which
takes longer than a short run.

For whom it does not make a difference: nobody hands over a frame in a process of the command. Only
values of nanoseconds are something else for Python with pandas than without, so that a table which
has some gets pandas after all. Where there is none, ``values_of`` says what pandas would: Python's
own times end at the microsecond, and pyarrow would raise.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pyarrow as pa


class _Without(MetaPathFinder):
    """Says that there is no pandas."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Nothing about all other modules."""
        if name == "pandas":
            raise ModuleNotFoundError("not now", name=name)
        return None


def leave_pandas_out() -> None:
    """Let pyarrow look for pandas, once and for all, while there is none.

    For processes in which nobody else uses it.
    """
    if "pandas" in sys.modules:
        return
    finder = _Without()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0.0])
    finally:
        sys.meta_path.remove(finder)


def take_pandas_in(schema: pa.Schema) -> None:
    """Let pyarrow look again, if a table has columns that need it, and pandas is there."""
    if any("[ns" in str(kind) for kind in schema.types):
        with contextlib.suppress(ImportError):  # as it always was for those who do not have it
            pa.array([0.0]).to_pandas()


class NanosecondTime(datetime):
    """A time with nanoseconds that says them, as pandas' own does."""

    nanosecond = 0
    """Of the microsecond, 0 to 999."""

    def isoformat(self, sep: str = "T", timespec: str = "auto") -> str:
        """With nine digits behind the point, whatever is asked for; ``str`` calls this, too."""
        text = super().isoformat(sep, "microseconds")
        point = text.index(".") + 7
        return f"{text[:point]}{self.nanosecond:03d}{text[point:]}"


def values_of(column: Any) -> list[Any]:
    """The values of a pyarrow array as Python has them, nanoseconds with or without pandas.

    >>> [str(one) for one in values_of(pa.array([1, 2_000, None], pa.timestamp("ns")))]
    ['1970-01-01 00:00:00.000000001', '1970-01-01 00:00:00.000002', 'None']
    """
    try:
        return list(column.to_pylist())
    except ValueError:
        if not str(column.type).endswith("[ns]") and "[ns, " not in str(column.type):
            raise
        return [_value(one) for one in column]


def _value(scalar: Any) -> Any:
    with contextlib.suppress(ValueError):
        return scalar.as_py()
    return to_the_nanosecond(scalar)


def to_the_nanosecond(scalar: Any) -> Any:
    """One value as pandas has it.

    Times of the day and durations lose what is below the microsecond.
    """
    microseconds, nanoseconds = divmod(scalar.value, 1000)
    if pa.types.is_time(scalar.type):
        return (datetime.min + timedelta(microseconds=microseconds)).time()
    if pa.types.is_duration(scalar.type):
        return timedelta(microseconds=microseconds)
    found = pa.scalar(microseconds, pa.timestamp("us", scalar.type.tz)).as_py()
    moment = NanosecondTime.combine(found.date(), found.time(), found.tzinfo)
    moment.nanosecond = nanoseconds
    return moment
