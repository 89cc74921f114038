"""Rows of many keys, some thousand at a time: what they are made into on the way stays in the
cache of a processor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.keyed.record import Form, Young

AT_ONCE = 4096
"""Rows: with ten columns about a megabyte of numbers."""


class Turn(NamedTuple):
    """One model of many keys and the rows that they are to learn (see ``Form.play``)."""

    records: Matrix
    young: Young
    who: Any
    slots: Any
    edges: Any
    order: Any
    """Places of the rows, key by key."""
    rows: Matrix
    targets: Vector
    scores: Any
    """Written, at the places of the rows."""

    def play(self, form: Form, a: int, b: int) -> None:
        """Let the keys of runs a to b learn."""
        for first, last in parts(self.edges, a, b):
            of, edges = (
                self.order[self.edges[first] : self.edges[last]],
                self.edges[first : last + 1] - self.edges[first],
            )
            who, slots = self.who[first:last], self.slots[first:last]
            self.scores[of] = form.play(
                self.records, self.young, who, slots, edges, self.rows[of], self.targets[of]
            )


def parts(edges: Any, a: int, b: int) -> Iterator[tuple[int, int]]:
    """Runs a to b in parts of about as many rows as are best played at once; a run is never cut.

    Parameters
    ----------
    edges
        Where the runs begin, and where the last one ends.
    """
    while a < b:
        last = min(b, max(a + 1, int(np.searchsorted(edges, edges[a] + AT_ONCE, side="right")) - 1))
        yield a, last
        a = last
