"""Remarks on the order of a table's rows: whether they go forward in time, and what to do if not.

The first 10,000 rows are analyzed: the direction of their dates, several series in one table,
copies of rows. Of all further rows two numbers are counted, the steps forward and back in time.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from swordplay.core.arguments import short_repr
from swordplay.core.state import ROW_COUNT_RANGE, check_number, damaged, number, read_json
from swordplay.core.types import State
from swordplay.tables.categories import codes_of
from swordplay.tables.column_plans import ALL_DIFFERENT, ColumnPlan
from swordplay.tables.table import HEAD_ROWS
from swordplay.tracking.clock import dates
from swordplay.tracking.series_detection import key_candidates, side_by_side, stacked_key

FEWEST_STEPS = 20
"""Steps in time that are needed for a remark."""
FEWEST_FALLS = 8
"""Steps that suffice if nearly all of them go back."""
NEARLY_ALL = 0.9
"""Share of the steps that go back where the newest rows come first."""
DEEP, DEEPEST = 0.05, 0.25
"""Mean length of a step back to another series, as a share of all time: of several such steps, and
of a single one.
"""
FAR = 0.15
"""Mean length of a step back in shuffled rows, as a share of all time. One third is expected; rows
that go back less far are late rows.
"""
MANY, MANY_SHARE = 10, 0.02
"""Number and share of the rows from which late rows, and copies of rows, are remarked."""
FEW_ROWS = 200
"""Rows of a series below which a remark on series says that they are few."""
DATE = number(-math.inf, math.inf, nan=True)
"""What the date of the last row may be in a state."""
FEWEST_UPS, LATE_SHARE = 20, 0.01
"""A column of dates is in order if it goes up at least so often, and down at no more than this
share of its steps.
"""


class OrderRemark(NamedTuple):
    """A remark on the order of the rows."""

    kind: str
    """``newest first``, ``shuffled``, ``late rows``, ``stacked``, ``back``, ``side by side`` or
    ``copies``.
    """
    text: str
    """One or two sentences for the user."""
    remedy: str
    """The option that helps, such as ``--sort day``; empty if there is none."""


@final
class DateOrder:
    """The remarks on one series of rows, and the steps in time of all its rows.

    Make one with :meth:`begin`.
    """

    def __init__(self) -> None:
        self.found: tuple[OrderRemark, ...] = ()
        """The remarks on the first rows."""
        self.clock = ""
        """The only column of dates, whose steps are counted.

        Empty if there is none or more than one: of several columns, any may date the rows.
        """
        self.ups = self.downs = 0
        """Steps forward and back in time."""
        self.last = math.nan
        """Date of the last row that has one."""

    @classmethod
    def begin(cls, head: Any, target: str) -> Self:
        """Analyze the first rows of a table, a pyarrow record batch; they are not counted yet."""
        order = cls()
        names = _date_columns(head, target)
        order.clock = names[0] if len(names) == 1 else ""
        order.found = order_remarks(head, target)
        return order

    def add(self, batch: Any) -> None:
        """Count the steps in time of further rows, a pyarrow record batch."""
        if not self.clock or self.found:
            return
        times = _times(batch.column(self.clock).drop_null()).astype(np.float64)
        if not len(times):
            return
        before = np.concatenate([[self.last], times[:-1]])  # NaN before the first date: no step
        self.ups += int(np.count_nonzero(times > before))
        self.downs += int(np.count_nonzero(times < before))
        self.last = float(times[-1])

    def remarks(self, rows: int) -> tuple[OrderRemark, ...]:
        """Return the remarks on the first rows or, if there are none, on the counted steps.

        Parameters
        ----------
        rows
            Number of rows so far.
        """
        steps = self.ups + self.downs
        if self.found or not self.clock or steps < FEWEST_FALLS:
            return self.found
        falling = self.downs / steps
        if falling >= NEARLY_ALL:
            return (_newest_first(self.clock, falling),)
        if steps >= FEWEST_STEPS and self.downs >= MANY and self.downs >= MANY_SHARE * rows:
            return (_late_rows(self.clock, self.downs, rows),)
        return ()

    def check(self, plans: Sequence[ColumnPlan]) -> None:
        """Check that the column of a saved state whose steps are counted holds dates or years.

        Raises
        ------
        ValueError
            Names the column.
        """
        one = next((one for one in plans if one.name == self.clock), None)
        if self.clock and (
            one is None
            or one.kind not in ("date", "date and time", "number", "left out")
            or one.why == ALL_DIFFERENT
        ):
            raise damaged(f"the column {short_repr(self.clock)} is watched, and holds no dates")

    def state(self) -> State:
        """Return what the next rows and the remarks need."""
        return {
            "found": to_json(self.found),
            "clock": self.clock,
            "ups": self.ups,
            "downs": self.downs,
            "last": self.last,
        }

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state.

        Raises
        ------
        ValueError
            If the state is damaged.
        """
        for name in ("ups", "downs"):
            check_number(f"order.{name}", saved[name], ROW_COUNT_RANGE)
        check_number("order.last", saved["last"], DATE)
        self.found, self.clock = from_json(saved["found"]), str(saved["clock"])
        self.ups, self.downs, self.last = saved["ups"], saved["downs"], float(saved["last"])


def to_json(remarks: Sequence[OrderRemark]) -> str:
    """Return remarks as JSON, for a state."""
    return json.dumps(remarks)


def from_json(saved: str) -> tuple[OrderRemark, ...]:
    """Return the remarks of a state."""
    found = read_json("remarks on the order of rows", saved, [(str, str, str)])
    return tuple(OrderRemark(*one) for one in found)


def order_remarks(
    rows: Any, target: str, key: Sequence[str] = (), *, key_option: bool = True
) -> tuple[OrderRemark, ...]:
    """Analyze the order of the first rows of a table.

    Parameters
    ----------
    rows
        A pyarrow record batch; at most ``HEAD_ROWS`` rows of it are looked at.
    target
        Name of the target column.
    key
        Columns that tell series apart: the order is that within each series then.
    key_option
        Whether the command has the option ``--key``.
    """
    is_all, rows = len(rows) < HEAD_ROWS, rows.slice(0, HEAD_ROWS)
    names = _date_columns(rows, target)
    if not names or not len(rows):
        return ()
    where = "" if is_all else f" in the first {HEAD_ROWS:,} rows"
    if key:
        where = f" within a key{where}"
    codes = _key_codes(rows, key)
    clock, *others = names
    is_ordered = any(_dated(rows, name, codes).steps().in_order for name in others)
    dated = _dated(rows, clock, codes)
    if not len(dated.times):
        return ()
    found = dated.steps()
    remarks: list[OrderRemark] = []
    # Where a series begins, time goes back; or it goes ahead, if the newest rows come first.
    way = -1 if found.falling <= 0.5 else 1
    turns, length = (found.downs, found.depth) if way < 0 else (found.ups, found.height)
    is_reversed = found.falling >= NEARLY_ALL and found.changes >= FEWEST_FALLS
    candidates = [] if key else key_candidates(rows, (target, *names))
    stacked = None
    if (is_reversed or found.changes >= FEWEST_STEPS) and not is_ordered:
        is_deep = turns > 0 and length >= (DEEPEST if turns == 1 else DEEP)
        stacked = (
            stacked_key(dated.rows, candidates, dated.ways, way) if candidates and is_deep else None
        )
        if is_reversed or (stacked and way > 0):
            remarks.append(_newest_first(clock, found.falling, where))
        if stacked:
            advice = _key_advice(stacked, found.rows // (turns + 1), is_all, key_option)
            remarks.append(_stacked(clock, turns, way, stacked, where, advice))
        if not remarks:
            remarks += _disorder(clock, found, where, is_keyed=bool(key))
    if not stacked and candidates and (beside := side_by_side(dated.rows, candidates, dated.times)):
        advice = _key_advice(beside.key, found.rows // beside.size, is_all, key_option)
        remarks.append(_side_by_side((clock, *beside.parts), beside.key, beside.size, advice))
    copies = dated.copies()
    if copies >= MANY and copies >= MANY_SHARE * found.rows:
        remarks.append(_copies(copies, found.rows, where))
    return tuple(remarks)


class DateSteps(NamedTuple):
    """The steps of a column of dates from row to row, within one or several series."""

    rows: int
    """Rows with a date."""
    ups: int
    downs: int
    depth: float
    """Mean length of a step back, as a share of the time that its series spans; 0 if none."""
    height: float
    """Mean length of a step forward, as such a share; 0 if there is none."""
    leap: float
    """The longest step forward of a series, as such a share; its mean over the steps back."""

    @property
    def changes(self) -> int:
        """Steps forward and back."""
        return self.ups + self.downs

    @property
    def falling(self) -> float:
        """Share of the steps that go back."""
        return self.downs / max(self.changes, 1)

    @property
    def in_order(self) -> bool:
        """Whether time goes forward, but for a few late rows."""
        return self.ups >= FEWEST_UPS and self.falling <= LATE_SHARE


class DatedRows(NamedTuple):
    """Rows that have a date, series by series, in the order of the table within each."""

    rows: Any
    """A pyarrow record batch."""
    times: NDArray[Any]
    """Their dates as numbers, shape ``(n,)``."""
    series: NDArray[np.intp]
    """Number of the series of each row, ascending."""

    @property
    def ways(self) -> NDArray[np.int8]:
        """Direction of time from the row above: 1, 0 or -1; 0 in the first row of a series."""
        ways = np.zeros(len(self.times), np.int8)
        # Compared, not subtracted: a difference of whole numbers may overflow.
        after, before = self.times[1:], self.times[:-1]
        ways[1:] = (after > before).astype(np.int8) - (after < before).astype(np.int8)
        ways[self.starts] = 0
        return ways

    @property
    def starts(self) -> NDArray[np.intp]:
        """Places of the first rows of the series."""
        return np.flatnonzero(np.diff(self.series, prepend=-1))

    def steps(self) -> DateSteps:
        """Summarize the steps from row to row."""
        if not len(self.times):
            return DateSteps(0, 0, 0, 0.0, 0.0, 0.0)
        times, ways, starts = self.times.astype(np.float64), self.ways, self.starts
        span = np.maximum.reduceat(times, starts) - np.minimum.reduceat(times, starts)
        span[span == 0.0] = math.inf  # all rows of the series have one date
        lengths = np.abs(np.diff(times, prepend=times[0])) / span[self.series]
        is_up, is_down = ways > 0, ways < 0
        ups, downs = int(is_up.sum()), int(is_down.sum())
        longest = np.maximum.reduceat(np.where(is_up, lengths, 0.0), starts)
        return DateSteps(
            rows=len(times),
            ups=ups,
            downs=downs,
            depth=float(lengths[is_down].sum()) / max(downs, 1),
            height=float(lengths[is_up].sum()) / max(ups, 1),
            leap=float(longest @ np.add.reduceat(is_down.astype(float), starts)) / max(downs, 1),
        )

    def copies(self) -> int:
        """Count the rows that equal the row above them, of the same series, in every column."""
        is_first = np.zeros(len(self.times), dtype=bool)
        is_first[self.starts] = True
        again = np.flatnonzero((self.ways == 0) & ~is_first)
        for column in self.rows.columns:
            if not len(again):
                break
            here, before = column.take(pa.array(again)), column.take(pa.array(again - 1))
            same = pc.or_(
                pc.equal(here, before).fill_null(False), pc.and_(here.is_null(), before.is_null())
            )
            again = again[same.to_numpy(zero_copy_only=False)]
        return len(again)


def _date_columns(rows: Any, target: str) -> list[str]:
    """Return the columns of dates, the one that dates the rows first."""
    return [name for name in dates(rows.schema) if name != target]


def _key_codes(rows: Any, key: Sequence[str]) -> NDArray[np.intp]:
    """Return the number of the series of each row, from 0; one series without a key."""
    found = np.zeros(len(rows), np.intp)
    for name in key:
        codes, values = codes_of(rows.column(name))
        found = np.unique(found * (len(values) + 1) + codes + 1, return_inverse=True)[1]
    return found


def _dated(rows: Any, name: str, codes: NDArray[np.intp]) -> DatedRows:
    """Return the rows with a date in this column, series by series."""
    places = np.flatnonzero(rows.column(name).is_valid().to_numpy(zero_copy_only=False))
    places = places[np.argsort(codes[places], kind="stable")]
    taken = rows.take(pa.array(places))
    series = np.unique(codes[places], return_inverse=True)[1]
    return DatedRows(taken, _times(taken.column(name)), series)


def _times(values: Any) -> NDArray[Any]:
    """Return dates as whole numbers; years, which are numbers, as they are."""
    if pa.types.is_timestamp(values.type):
        values = pc.cast(values, pa.int64())
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _disorder(clock: str, found: DateSteps, where: str, *, is_keyed: bool) -> list[OrderRemark]:
    """Return a remark on rows that are shuffled, begin anew, or are late."""
    sort = f"--sort {shlex.quote(clock)}"
    if 1.0 - NEARLY_ALL < found.falling < NEARLY_ALL and found.depth >= FAR:
        changes = f"{100 * found.falling:.0f} % of its changes{where}"
        text = (
            f"The rows are not in the order of time: {clock} goes back at {changes}. Give {sort}."
        )
        return [OrderRemark("shuffled", text, sort)]
    if found.downs and found.depth >= DEEPEST and found.leap < found.depth / 2:
        times = f"{_times_in_words(found.downs)}{where}"
        if is_keyed:
            text = (
                f"{clock} goes back to the beginning {times}. If another column tells the parts "
                "apart, add it to --key."
            )
            return [OrderRemark("back", text, "--key")]
        text = f"{clock} goes back to the beginning {times}, and no column tells the parts apart."
        return [OrderRemark("back", f"{text} If they belong together, give {sort}.", sort)]
    if found.downs >= MANY and found.downs >= MANY_SHARE * found.rows:
        return [_late_rows(clock, found.downs, found.rows, where)]
    return []


def _newest_first(clock: str, falling: float, where: str = "") -> OrderRemark:
    text = (
        f"The newest rows come first: {clock} falls at {100 * falling:.0f} % of its changes{where}."
        " Give --reverse."
    )
    return OrderRemark("newest first", text, "--reverse")


def _late_rows(clock: str, late: int, rows: int, where: str = "") -> OrderRemark:
    sort = f"--sort {shlex.quote(clock)}"
    text = (
        f"{late:,} rows ({100 * late / rows:.0f} %) are dated before the row above them{where}. If "
        f"that is a mistake, give {sort}."
    )
    return OrderRemark("late rows", text, sort)


def _stacked(
    clock: str, turns: int, way: int, key: tuple[str, ...], where: str, advice: str
) -> OrderRemark:
    turn = "goes back" if way < 0 else "jumps ahead"
    text = (
        f"Several series stand under one another: {clock} {turn} {_times_in_words(turns)}{where} "
        f"where {' or '.join(key)} changes."
    )
    return OrderRemark("stacked", f"{text} {advice}", _key_option(key))


def _side_by_side(
    clock: tuple[str, ...], key: tuple[str, ...], size: int, advice: str
) -> OrderRemark:
    date = f"a value of {' and '.join(clock)} comes {size:,} times"
    text = f"Several series run side by side: {date}, once for each {' and '.join(key)}."
    return OrderRemark("side by side", f"{text} {advice}", _key_option(key))


def _copies(copies: int, rows: int, where: str) -> OrderRemark:
    text = (
        f"{copies:,} rows ({100 * copies / rows:.0f} %) are copies of the row above them, date "
        f"included{where}. If that is a mistake, remove them."
    )
    return OrderRemark("copies", text, "")


def _times_in_words(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _key_advice(key: tuple[str, ...], rows: int, is_all: bool, key_option: bool) -> str:
    """Return the advice for several series with so many rows each.

    How few they are is said only if these are all rows of the table so far (``is_all``).
    """
    if not key_option:
        option = _key_option(key)
        return f"`swordplay track` can give each a model and a past of its own with {option}."
    few = f"; so far there are about {rows:,}" if rows < FEW_ROWS and is_all else ""
    return (
        f"They share one model. {_key_option(key)} gives each a model and a past of its own: try "
        f"it, and keep what errs less. It needs some hundred rows a key{few}."
    )


def _key_option(names: tuple[str, ...]) -> str:
    """Return the option as it is typed in a shell; a name that holds a comma stands in quotes."""
    listed = ",".join(f'"{name}"' if "," in name else name for name in names)
    return f"--key {shlex.quote(listed)}"
