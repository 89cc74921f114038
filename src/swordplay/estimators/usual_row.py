"""The row that comes every time: the names of the row before, a plain number each, and nothing that
takes a closer look.

From the dictionary it goes straight to where the compiled calls read, without a list, an array or a
second check on the way. Whatever is not plainly such a row is left to the ways that look at
everything; the numbers are the same, bit by bit.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Hashable, Sequence
from operator import itemgetter
from typing import Any, final

import numpy as np

from swordplay.estimators.heads import Heads
from swordplay.estimators.second_order import SecondOrder
from swordplay.estimators.tuning import LARGEST
from swordplay.estimators.voices import OVERFLOW

PLAIN = frozenset({float, int, bool, np.float64})
"""Types of values that need no closer look."""


@final
class UsualRow:
    """Rows with these names, of a model with one head.

    Parameters
    ----------
    names
        Of all columns of the model, in their order.
    heads
        One head.
    second
        What stands beside it.
    """

    def __init__(self, names: Sequence[Hashable], heads: Heads, second: SecondOrder | None) -> None:
        self.bench = bench = heads.bench
        lags = len(heads.recent)
        self._learn, self._ask = bench.learn, bench.ask
        # Views whose entries Python reads as plain numbers, three times as fast as those of an
        # array.
        self._target: Any = bench.target.data
        self._answer: Any = bench.answer[0].data
        self._said: Any = bench.scratch.predictions[0].data
        self._center: Any = None
        self._result: Any = None
        self._recent = (bench.raw[0, :lags], heads.recent) if lags else None
        if heads.loss != "logistic":
            self._center = heads.target.arrays.centers.data
        self._learn_more: Callable[[], Any] | None = None
        if second is not None:
            beside = second.beside(bench, lags)
            self._learn_more, self._ask_more, self._result = (
                beside.learn,
                beside.ask,
                beside.answer.data,
            )
        self.take = _taker(names, bench.raw.reshape(-1), lags, heads, second)
        """Puts a row in its place; False if it is no such row, or the model not what it was."""

    def ask(self) -> float:
        """The score of the row that was taken."""
        if self._recent is not None:
            self._recent[0][:] = self._recent[1]
        self._ask()
        if self._center is not None:
            self._answer[0] += self._center[0]
        if self._learn_more is None:
            return self._answer[0]  # type: ignore[no-any-return]  # a double out of an array
        self._ask_more()
        return self._result[0]  # type: ignore[no-any-return]  # a double out of an array

    def learn(self, target: float) -> float:
        """Learn it; the score that it had before."""
        self._target[0] = target
        if not self._learn():
            raise ValueError(f"the row {OVERFLOW}")
        if self._learn_more is None:
            return self._said[0]  # type: ignore[no-any-return]  # a double out of an array
        self._learn_more()
        return self._result[0]  # type: ignore[no-any-return]  # a double out of an array


def _taker(
    names: Sequence[Hashable], place: Any, lags: int, heads: Heads, second: SecondOrder | None
) -> Callable[[Any], bool]:
    """What puts rows with these names behind the lags."""
    count, bench, room, first, plain = (
        len(names),
        heads.bench,
        place.data,
        8 * lags,
        PLAIN.issuperset,
    )
    pick, pack, hypot = itemgetter(*names), struct.Struct(f"{count}d").pack_into, math.hypot

    def take(x: Any) -> bool:
        if (
            type(x) is not dict
            or len(x) != count
            or heads._bench is not bench
            or heads.voices is not None
        ):
            return False
        if second is not None and second.asked is not None:
            return False
        try:
            values = pick(x) if count > 1 else (pick(x),)
            # A length is a number only if all entries are, and none of them is longer.
            if not plain(map(type, values)) or not hypot(*values) <= LARGEST:
                return False
        except (KeyError, OverflowError):
            return False
        pack(room, first, *values)
        return True

    return take
