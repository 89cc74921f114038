"""Where stretches end: counted in rows alone, so that whoever is ahead of a recorder can tell as
well.

A stretch ends after a whole number of widths. When there is no room for another one, neighbours are
merged in pairs and the width doubles: an end that is no multiple of the new width is none any more,
and nobody asks later how the learner was then.
"""

from __future__ import annotations

from typing import NamedTuple, Self

MOST, FIRST_WIDTH = 1024, 16
"""Stretches (a picture has hardly more columns, and each one costs a call), and rows of each as
long as the run is short.
"""
FEW = 256
"""Stretches of a short run: twice as many as changes are looked for in
(``changes.MOST_BLOCKS``).
"""
EVERY = 2
"""Stretches between two looks at the coefficients: forming them costs more than anything else that
is kept. With half as many
looks, the lasting changes of ten years of bikes went unseen: a look is noisy."""


class Grid(NamedTuple):
    """How rows lie in stretches."""

    width: int
    """Rows of a stretch,"""
    closed: int
    """how many are complete,"""
    open: int
    """and rows behind these."""

    @property
    def rows(self) -> int:
        """All of them."""
        return self.closed * self.width + self.open

    def together(self, rows: int) -> int:
        """How many of so many further rows are put on record together.

        As many as the open stretch has room for; if it is empty, whole stretches up to where
        neighbours are merged.
        """
        if self.open or rows < self.width:
            return min(self.width - self.open, rows)
        return min(rows // self.width, room_for(self.width) - self.closed) * self.width

    def after(self, rows: int) -> Self:
        """The same so many rows later."""
        now = self
        while rows:
            count = now.together(rows)
            now, rows = now._and(count), rows - count
        return now

    def _and(self, rows: int) -> Self:
        """So many rows that belong together: what they complete is closed, and merged where
        there is no room.
        """
        whole, left = divmod(self.open + rows, self.width)
        width, closed = self.width, self.closed + whole
        while whole and is_full(width, closed):
            closed, width = closed // 2, 2 * width
        return type(self)(width, closed, left)


def room_for(width: int) -> int:
    """Return how many stretches of a width there may be: fewer if they are short.

    Looking at the learner at the end of a short stretch takes longer than learning its rows. All
    results are multiples of ``2 * EVERY``: coefficients are merged in pairs, too.
    """
    return min(MOST, max(FEW, 2 * width))


def is_full(width: int, closed: int) -> bool:
    """Whether there is no room for another stretch, so that neighbours are merged."""
    return closed >= room_for(width)
