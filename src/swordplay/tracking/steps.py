"""How dates go from row to row: up, down or not at all, how far, and whether rows are copies of
those before them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from swordplay.core.state import DAMAGED, ROWS, Field, OneOf, read_json
from swordplay.core.types import State
from swordplay.tables.lean import values_of

POSITIVE, ANY = Field(0.0, np.inf), Field(-np.inf, np.inf)
"""What lengths and dates may be in a saved state."""
SHAPES: dict[str, Any] = {
    **dict.fromkeys(("rows", "ups", "downs", "copies"), ROWS),
    **dict.fromkeys(("risen", "fallen", "highest"), POSITIVE),
    **dict.fromkeys(("low", "high"), ANY),
    "last": OneOf((ANY, None)),
    "mark": str,
}
"""What the numbers of :class:`Steps` may be in a saved state."""

FEWEST_UPS, LATE = 20, 0.01
"""A column of dates is in order if it goes up so often, and down at no more than such a share of
its steps.
"""


class Moves(NamedTuple):
    """What the steps of one or several series come to."""

    rows: int
    """Rows with a date."""
    ups: int
    downs: int
    depth: float
    """Mean length of a step down, as a share of the time that its series spans.

    0 where there is none.
    """
    height: float
    """The same of steps up."""
    leap: float
    """The longest step up, as such a share: the mean over the steps down of their series.

    0 where there is none.
    """
    copies: int
    """Rows that are in every column like the row before them."""

    @property
    def steps(self) -> int:
        """Steps that go anywhere."""
        return self.ups + self.downs

    @property
    def falling(self) -> float:
        """Share of the steps that go down."""
        return self.downs / max(self.steps, 1)

    @property
    def in_order(self) -> bool:
        """Whether time goes forward, but for a few late rows."""
        return self.ups >= FEWEST_UPS and self.falling <= LATE


@final
class Steps:
    """Follows one column of dates through the rows of one series.

    All it keeps is a handful of numbers.
    """

    def __init__(self) -> None:
        self.rows = self.ups = self.downs = self.copies = 0
        self.risen = self.fallen = self.highest = 0.0
        """Sums of the steps up and down, and the longest step up."""
        self.last: float | None = None
        """The last date as a number: a whole one, as long as the column holds dates."""
        self.low, self.high = np.inf, -np.inf
        self.mark = ""
        """Of the last row."""

    def add(self, times: NDArray[Any]) -> NDArray[np.int8]:
        """Follow further dates.

        Returns which way the step to each goes: 1, -1 or 0 (the very first one is 0).
        """
        before = np.concatenate(
            [np.array([times[0] if self.last is None else self.last], times.dtype), times[:-1]]
        )
        ways = (times > before).astype(np.int8) - (times < before).astype(np.int8)
        lengths = times.astype(np.float64) - before.astype(np.float64)
        up, down = lengths[ways > 0], -lengths[ways < 0]
        # Added one by one: numpy's own sum would depend on where the rows were cut into batches.
        self.risen = float(np.cumsum(np.concatenate([[self.risen], up]))[-1])
        self.fallen = float(np.cumsum(np.concatenate([[self.fallen], down]))[-1])
        self.highest = max(self.highest, float(up.max(initial=0.0)))
        self.rows, self.ups, self.downs = (
            self.rows + len(times),
            self.ups + len(up),
            self.downs + len(down),
        )
        self.low, self.high = min(self.low, float(times.min())), max(self.high, float(times.max()))
        self.last = times[-1].item()
        return ways

    def compare(self, batch: Any, ways: NDArray[np.int8]) -> None:
        """Count the rows that are in every column like the row before.

        ``ways`` are those of :meth:`add`.
        """
        again = np.flatnonzero(ways[1:] == 0) + 1
        for column in batch.columns:
            if not len(again):
                break
            here, before = column.take(pa.array(again)), column.take(pa.array(again - 1))
            same = pc.or_(
                pc.equal(here, before).fill_null(False), pc.and_(here.is_null(), before.is_null())
            )
            again = again[same.to_numpy(zero_copy_only=False)]
        self.copies += len(again)
        if self.mark and ways[0] == 0 and self.mark == _mark(batch, 0):
            self.copies += 1
        self.mark = _mark(batch, len(batch) - 1)

    def state(self) -> State:
        """All that the next row needs."""
        return {"steps": json.dumps([self.__dict__[name] for name in _NAMES])}

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        found = dict(
            zip(
                _NAMES,
                read_json("order.steps", saved["steps"], tuple(SHAPES[name] for name in _NAMES)),
                strict=True,
            )
        )
        if (
            type(found["last"]) is int and not -(2**63) <= found["last"] < 2**63
        ):  # numpy knows no larger whole numbers
            raise ValueError(f"the last of the dates is {found['last']}. {DAMAGED}")
        vars(self).update(found)

    @classmethod
    def resumed(cls, saved: Mapping[str, Any]) -> Self:
        """The steps that were saved."""
        steps = cls()
        steps.load_state(saved)
        return steps


_NAMES = tuple(Steps().__dict__)


def moves(every: Iterable[Steps]) -> Moves:
    """The steps of all series together."""
    parts = [(one, 1.0 / (one.high - one.low) if one.high > one.low else 0.0) for one in every]
    ups, downs = sum(one.ups for one, _ in parts), sum(one.downs for one, _ in parts)
    return Moves(
        rows=sum(one.rows for one, _ in parts),
        ups=ups,
        downs=downs,
        depth=sum(one.fallen * per for one, per in parts) / max(downs, 1),
        height=sum(one.risen * per for one, per in parts) / max(ups, 1),
        leap=sum(one.highest * per * one.downs for one, per in parts) / max(downs, 1),
        copies=sum(one.copies for one, _ in parts),
    )


def _mark(batch: Any, row: int) -> str:
    """A row in sixteen letters."""
    values = [values_of(column[row : row + 1])[0] for column in batch.columns]
    return hashlib.blake2b(repr(values).encode(), digest_size=8).hexdigest()
