"""Threads that share keys among them: the compiled calls let others run beside them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, Protocol, Self, TypeVar, final

import numpy as np

FEWEST_ROWS = 2000
"""Rows that are worth a thread: some milliseconds of work."""


class Twinned(Protocol):
    """What each thread needs one of: arrays to play in."""

    def twin(self) -> Self:
        """The same with arrays of its own."""


T = TypeVar("T", bound=Twinned)


@final
class Crew(Generic[T]):
    """Threads, each with arrays of its own to play in.

    Parameters
    ----------
    form
        Of the records.
    threads
        How many.
    """

    def __init__(self, form: T, threads: int) -> None:
        self._forms = [form, *(form.twin() for _ in range(threads - 1))]
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def share(self, work: Callable[[T, int, int], None], edges: Any) -> None:
        """Call ``work(form, a, b)`` for runs a to b of keys, about as many rows for each thread.

        Parameters
        ----------
        edges
            Where the runs of rows begin, and where the last one ends.
        """
        rows, count = int(edges[-1]), len(edges) - 1
        parts = max(1, min(len(self._forms), rows // FEWEST_ROWS))
        cuts = np.searchsorted(edges, np.linspace(0, rows, parts + 1)).tolist()
        cuts[0], cuts[-1] = 0, count
        if self._pool is None or parts == 1:
            work(self._forms[0], 0, count)
            return
        asked = [
            self._pool.submit(work, form, a, b)
            for form, a, b in zip(self._forms, cuts[:-1], cuts[1:], strict=False)
            if b > a
        ]
        for one in asked:
            one.result()
