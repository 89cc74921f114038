"""Whether the rows of a table are in the order of time, and what to do where they are not.

A table is looked at as it is read. What is noticed is said once there is enough of it, and once
more at the end.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from swordplay.core.state import add_prefix, read_json, strip_prefix
from swordplay.core.types import State
from swordplay.tracking.clock import dates
from swordplay.tracking.series import Series, candidates
from swordplay.tracking.steps import Moves, Steps, moves

FEWEST_STEPS = 20
"""Steps in time before anything is said of them;"""
FEWEST_FALLS = 8
"""so few are enough if nearly all go down."""
NEARLY_ALL = 0.9
"""Share of the steps that go down where the newest rows come first."""
DEEP, DEEPER = 0.05, 0.25
"""Mean length of a step back to another series, as a share of all time.

The larger one counts where there is only one.
"""
FAR = 0.15
"""The same in shuffled rows, where it is a third: rows that go back less far are late."""
MANY, MANY_SHARE = 10, 0.02
"""Late rows, and copies of rows, are said if there are so many and they are such a share of the
rows.
"""
FEW_A_KEY = 200
"""With fewer rows for each of several series, it is said that they are few."""


class Remark(NamedTuple):
    """Something about the order of the rows."""

    kind: str
    """``newest first``, ``shuffled``, ``late rows``, ``stacked``, ``back``, ``side by side`` or
    ``copies``.
    """
    text: str
    """A sentence or two for the user."""
    remedy: str
    """The option that helps, such as ``--sort day``; empty where there is none."""


@final
class OrderWatch:
    """Looks at the dates of all rows of a table.

    Parameters
    ----------
    keyed
        Whether the rows are those of one key of many: columns that tell series apart are not looked
        for then.
    """

    def __init__(self, *, keyed: bool = False) -> None:
        self.clocks: dict[str, Steps] = {}
        """The columns of dates, the one that dates the rows first."""
        self.series: Series | None = None
        self.keyed = keyed

    def begin(self, head: Any, target: str) -> None:
        """Choose the columns to look at by the first rows, a pyarrow record batch."""
        self.clocks = {name: Steps() for name in dates(head.schema) if name != target}
        if self.clocks and not self.keyed:
            self.series = Series(candidates(head, (target, *self.clocks)))

    def add(self, batch: Any) -> None:
        """Look at further rows."""
        for k, (name, steps) in enumerate(self.clocks.items()):
            column = batch.column(name)
            rows = batch.filter(column.is_valid()) if column.null_count and not k else batch
            at = times(column.drop_null())
            if not len(at):
                continue
            ways = steps.add(at)
            if not k:
                steps.compare(rows, ways)
                if self.series is not None:
                    self.series.add(rows, at, ways)

    def remarks(self, *, key_option: bool = True) -> tuple[Remark, ...]:
        """What is noticed so far.

        ``key_option`` says whether the command has an option ``--key``.
        """
        if not self.clocks:
            return ()
        clock, *others = self.clocks
        ordered = any(moves([self.clocks[name]]).in_order for name in others)
        return told(
            clock, moves([self.clocks[clock]]), self.series, ordered=ordered, key_option=key_option
        )

    def state(self) -> State:
        """All that the next row needs."""
        clocks = {name: steps.state()["steps"] for name, steps in self.clocks.items()}
        series = {} if self.series is None else add_prefix("series", self.series.state())
        return {"clocks": json.dumps(clocks), "keyed": self.keyed} | series

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        clocks = read_json("order.clocks", saved["clocks"], {str: str})
        self.clocks, self.keyed = (
            {name: Steps.resumed({"steps": steps}) for name, steps in clocks.items()},
            saved["keyed"],
        )
        if series := strip_prefix("series", saved):
            self.series = Series(())
            self.series.load_state(series)


def told(
    clock: str,
    found: Moves,
    series: Series | None,
    *,
    ordered: bool = False,
    key_option: bool = True,
    within: str = "",
) -> tuple[Remark, ...]:
    """What is to be said about the steps of a column of dates.

    Parameters
    ----------
    clock
        The name of the column.
    found
        Its steps.
    series
        Columns that might tell series apart, where they were looked at.
    ordered
        Whether another column of dates is in order, so that this one need not be.
    key_option
        Whether there is an option ``--key``.
    within
        Words for where time was looked at, such as " within a key".
    """
    remarks: list[Remark] = []
    way = (
        -1 if found.falling <= 0.5 else 1
    )  # where series begin anew: time falls, or rises if the newest rows come first
    turns, length = (found.downs, found.depth) if way < 0 else (found.ups, found.height)
    stacked = None
    newest_first = found.falling >= NEARLY_ALL and found.steps >= FEWEST_FALLS
    if (newest_first or found.steps >= FEWEST_STEPS) and not ordered:
        deep = turns > 0 and length >= (DEEPER if turns == 1 else DEEP)
        stacked = series.stacked(way) if series is not None and deep else None
        if newest_first or (stacked and way > 0):
            remarks.append(_newest_first(clock, found, within))
        if stacked:
            remarks.append(
                _stacked(
                    clock,
                    turns,
                    way,
                    stacked,
                    _own_model(stacked, found.rows // (turns + 1), key_option),
                )
            )
        if not remarks:
            remarks += _disorder(clock, found, within)
    if not stacked and series is not None and (together := series.together()):
        advice = _own_model(together.key, found.rows // together.size, key_option)
        remarks.append(_side_by_side((clock, *together.parts), together.key, together.size, advice))
    if found.copies >= MANY and found.copies >= MANY_SHARE * found.rows:
        remarks.append(_copies(found))
    return tuple(remarks)


def _disorder(clock: str, found: Moves, within: str) -> list[Remark]:
    sort = f"--sort {shlex.quote(clock)}"
    if 1.0 - NEARLY_ALL < found.falling < NEARLY_ALL and found.depth >= FAR:
        changes = f"{100 * found.falling:.0f} % of its changes{within}"
        text = (
            f"The rows are not in the order of time: {clock} goes back at {changes}. Give {sort}."
        )
        return [Remark("shuffled", text, sort)]
    if found.downs and found.depth >= DEEPER and found.leap < found.depth / 2:
        times = "once" if found.downs == 1 else f"{found.downs:,} times"
        if within:
            text = (
                f"{clock} goes back to the beginning {times}{within}. If another column tells "
                "the parts apart, add it to --key."
            )
            return [Remark("back", text, "--key")]
        text = f"{clock} goes back to the beginning {times}, and no column tells the parts apart."
        return [Remark("back", f"{text} If they belong together, give {sort}.", sort)]
    if found.downs >= MANY and found.downs >= MANY_SHARE * found.rows:
        share = f"{100 * found.downs / found.rows:.0f} %"
        text = (
            f"{found.downs:,} rows ({share}) are dated before the row above them{within}. If "
            f"that is a mistake, give {sort}."
        )
        return [Remark("late rows", text, sort)]
    return []


def _newest_first(clock: str, found: Moves, within: str) -> Remark:
    text = (
        f"The newest rows come first: {clock} falls at {100 * found.falling:.0f} % of its "
        f"changes{within}. Give --reverse."
    )
    return Remark("newest first", text, "--reverse")


def _stacked(clock: str, turns: int, way: int, key: tuple[str, ...], advice: str) -> Remark:
    times = "once" if turns == 1 else f"{turns:,} times"
    turn = "goes back" if way < 0 else "jumps ahead"
    text = (
        f"Several series stand under one another: {clock} {turn} {times} where "
        f"{' or '.join(key)} changes."
    )
    return Remark("stacked", f"{text} {advice}", _key(key))


def _side_by_side(clock: tuple[str, ...], key: tuple[str, ...], size: int, advice: str) -> Remark:
    date = f"a value of {' and '.join(clock)} comes {size:,} times"
    text = f"Several series run side by side: {date}, once for each {' and '.join(key)}."
    return Remark("side by side", f"{text} {advice}", _key(key))


def _copies(found: Moves) -> Remark:
    share = f"{100 * found.copies / found.rows:.0f} %"
    text = (
        f"{found.copies:,} rows ({share}) are copies of the row above them, date included. If "
        "that is a mistake, remove them."
    )
    return Remark("copies", text, "")


def _own_model(key: tuple[str, ...], rows: int, key_option: bool) -> str:
    """What to try where a series has so many rows so far."""
    if not key_option:
        return f"`swordplay track` can give each a model and a past of its own with {_key(key)}."
    few = f"; so far there are about {rows:,}" if rows < FEW_A_KEY else ""
    return (
        f"They share one model. {_key(key)} gives each a model and a past of its own: try it, and "
        "keep what errs less. "
        f"It needs some hundred rows a key{few}."
    )


def _key(names: tuple[str, ...]) -> str:
    """The option as it is typed in a shell; a name that holds a comma stands in quotes."""
    listed = ",".join(f'"{name}"' if "," in name else name for name in names)
    return f"--key {shlex.quote(listed)}"


def times(values: Any) -> NDArray[Any]:
    """Dates as whole numbers; numbers as they are."""
    if pa.types.is_timestamp(values.type):
        values = pc.cast(values, pa.int64())
    return np.asarray(values.to_numpy(zero_copy_only=False))
