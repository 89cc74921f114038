"""The first rows of a table that comes slowly: kept until there are enough of them to decide on
task and columns for good.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from swordplay.core.arguments import short_repr
from swordplay.core.state import DAMAGED
from swordplay.core.types import State
from swordplay.tables import Batch, TableError
from swordplay.tables.layout import TYPES
from swordplay.tables.table import HEAD_ROWS

PATIENCE = 1.0
"""Seconds after the first target of a pipe by which a first guess is made."""
SURE = 200
"""Rows with a target by which they are decided for good: with fewer it is a first guess, which
is looked at again.
"""


class Early(NamedTuple):
    """Rows that were learned under a first guess."""

    rows: Any
    """A pyarrow record batch."""
    numbers: NDArray[np.int64]
    """Their numbers in the input."""

    def and_(self, rows: Any, numbers: NDArray[np.int64]) -> Self:
        """The same with more rows; columns that one part lacks are missing there."""
        return self._replace(
            rows=together([self.rows, rows]), numbers=np.concatenate([self.numbers, numbers])
        )

    def enough(self, target: str) -> int | None:
        """How many of the rows suffice to decide for good; None if there are too few."""
        known = np.flatnonzero(self.rows.column(target).is_valid().to_numpy(zero_copy_only=False))
        if len(known) >= SURE and known[SURE - 1] < HEAD_ROWS:
            return int(known[SURE - 1]) + 1
        return HEAD_ROWS if len(self.rows) >= HEAD_ROWS else None

    def state(self) -> State:
        """As an array of bytes, for a checkpoint."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.rows.schema) as writer:
            writer.write_batch(self.rows)
        return {
            "rows": np.frombuffer(sink.getvalue(), np.uint8).copy(),
            "numbers": self.numbers.copy(),
        }

    @classmethod
    def read(cls, saved: Mapping[str, Any]) -> Self:
        """The way back.

        Raises
        ------
        ValueError
            If they are no rows.
        """
        try:
            with pa.ipc.open_stream(pa.py_buffer(np.asarray(saved["rows"]).tobytes())) as reader:
                early = cls(together(list(reader)), np.array(saved["numbers"]))
                early.rows.validate(full=True)
                kinds = {field.name: str(field.type) for field in early.rows.schema}
                for column in early.rows.columns:
                    _require_dates(column)
        except MemoryError:
            raise
        except (pa.ArrowException, OSError, UnicodeError, OverflowError) as error:
            raise ValueError(f"the first rows cannot be read ({error}). {DAMAGED}") from error
        if len(kinds) < early.rows.num_columns or not set(kinds.values()) <= TYPES.keys():
            raise ValueError(f"the first rows have the columns {short_repr(kinds)}. {DAMAGED}")
        numbers = early.numbers
        right = numbers.dtype == np.int64 and numbers.shape == (len(early.rows),)
        # Compared, not subtracted: a difference of vast ones would overflow.
        if not right or (numbers[:1] < 1).any() or (numbers[1:] <= numbers[:-1]).any():
            raise ValueError(f"the first rows have no numbers that ascend. {DAMAGED}")
        return early


def _require_dates(column: Any) -> None:
    """Refuse dates and times of the day that there are not."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    if pa.types.is_temporal(column.type):
        pc.min_max(column).as_py()  # raises what Python's own dates do


class Gathered(NamedTuple):
    """The first batches of a table."""

    batches: list[Batch]
    ended: bool
    """Whether that is all there is."""
    trouble: TableError | None
    """What ended a pipe; what has come of it may not come again, so it is learned first."""


def gathered(
    batches: Iterable[Batch | None], target: str, *, live: bool, told: Callable[[], bool]
) -> Gathered:
    """Take batches until there are enough rows.

    Of a pipe those that come within a while after the first target.

    Parameters
    ----------
    batches
        As they come; None whenever none has come for a while.
    target
        Its name.
    live
        Whether it is a pipe.
    told
        Whether to stop, which is a ``KeyboardInterrupt`` here.
    """
    found: list[Batch] = []
    deadline, rows = math.inf, 0
    try:
        for batch in batches:
            if batch is not None:
                found.append(batch)
                rows += len(batch.rows)
                if live and batch.rows.column(target).null_count < len(batch.rows):
                    deadline = min(deadline, time.monotonic() + PATIENCE)
            if rows >= HEAD_ROWS or time.monotonic() > deadline:
                return Gathered(found, False, None)
            if told():
                raise KeyboardInterrupt
    except TableError as error:
        if deadline == math.inf:
            raise
        return Gathered(found, False, error)
    return Gathered(found, True, None)


def together(parts: list[Any]) -> Any:
    """Record batches as one; a column that a part does not have is missing in its rows."""
    if len(parts) > 1 and all(
        part.schema.equals(parts[0].schema, check_metadata=True) for part in parts
    ):
        return (
            pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
            if sum(map(len, parts))
            else parts[0]
        )
    table = pa.concat_tables(
        [pa.Table.from_batches([part]) for part in parts], promote_options="default"
    )
    found = table.combine_chunks().to_batches()
    return found[0] if found else pa.RecordBatch.from_pylist([], table.schema)
