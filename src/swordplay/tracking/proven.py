r"""What a run has proven stretch by stretch: a short series of moments, and a certificate from each
to the next.

The certificate of a window (``docs/theory.md``) bounds how much less any *fixed* coefficients of
the scaled columns, up to r long, can have lost in it than the predictions. With :math:`a = 1/\eta`
the inverse step of expert k, w where it steps from, and "then" and "now" the two ends of the
window, it is

.. math:: \min_k \Big\{ \text{owed}_k + a_k \Big( r \|w_{now} - w_{then}\| + \tfrac12 \|w_{then}\|^2
    - \tfrac12 \|w_{now}\|^2 \Big) \Big\}

where owed is what the predictions lost to the expert and the expert's own account (see
``parts.learners.certificate``), both over the window alone. The predictions are those of the
mixture with second-order experts: what it lost more than the first-order model is known and part of
owed. It holds for every r up to the radius of the ball at once, so r may be chosen afterwards: the
length of the longest base point of an expert at either end. (The ball itself is far larger, so that
no stream leaves it, and a bound against all of it would say nothing.)

Nothing is kept of a window but some numbers an expert, and of the last moment where its experts
stood. When there are too many windows, neighbours are merged: sums are added, and as no way is
longer than its parts together, so are the distances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np

from swordplay.core.state import DAMAGED, ROWS, Field, add_prefix, check, strip_prefix
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators.head import Standing
from swordplay.tracking.contestants import Played
from swordplay.tracking.story import Proven
from swordplay.tracking.stretches import Grid

MOST_WINDOWS, FIRST_WIDTH = 64, 256
"""Windows at the most, and rows of each as long as the run is short."""
MOST_WAITING = 64
"""Batches whose losses wait to be added up."""
PARTS = ("owed", "moved", "length", "radius", "lost")
"""What is kept of a window."""
Certified = Callable[[], Standing | None]
"""Tells what the learner knows now; None where there is no certificate of its predictions."""
LONGEST, LARGEST = 1e75, 1e200
"""Of coefficients and of losses: beyond what targets and their squares lead to."""


class Window(NamedTuple):
    """The rows between two moments."""

    edge: int
    """Rows on record at its end,"""
    time: float
    """and when the last of them happened: milliseconds since 1970, NaN where nobody knows."""
    owed: Vector
    """What the certificate adds up of each expert, shape ``(N,)``."""
    moved: Vector
    """How far each expert's base point has come at the most, shape ``(N,)``."""
    length: Vector
    """How far it is from the centre at the end, shape ``(N,)``."""
    radius: float
    """Of the ball at the end."""
    lost: float
    """Loss of the predictions, in the same losses of smoothness 1."""


@final
class Due:
    """When windows end: what they count, counted by somebody who is ahead of them.

    Parameters
    ----------
    width, count, edge
        Rows of a window, how many moments there are, and rows on record at the last one.
    mixed
        What the learner knew then (see ``Standing``); None before the first moment.
    """

    def __init__(self, width: int, count: int, edge: int, mixed: float | None) -> None:
        self.width, self.count, self.edge, self.mixed = width, count, edge, mixed

    @classmethod
    def of(cls, windows: Windows) -> Due:
        """As they are."""
        if windows.last is None:
            return cls(windows.width, 0, 0, None)
        return cls(
            windows.width, len(windows.windows), windows.windows[-1].edge, windows.last.mixed
        )

    def after(self, grid: Grid) -> int:
        """The row after which the windows ask next: at the end of a stretch, the first one if
        there is no moment yet.
        """
        return grid.end_from(
            grid.rows + 1 if self.mixed is None else max(grid.rows + 1, self.edge + self.width)
        )

    def at(self, rows: int, standing: Certified) -> tuple[Standing | None, ...]:
        """What the windows will ask for after so many rows: nothing, or what the learner knows
        now.
        """
        if self.mixed is not None and rows - self.edge < self.width:
            return ()
        now = standing()
        if now is None or (self.mixed is not None and now.mixed != self.mixed):
            self.width, self.count, self.edge, self.mixed = FIRST_WIDTH, 0, 0, None
        if now is not None:
            self.count, self.edge, self.mixed = self.count + 1, rows, now.mixed
        if self.count > MOST_WINDOWS:
            self.count, self.width = 1 + (self.count - 1) // 2, 2 * self.width
        return (now,)


@final
class Windows:
    """Moments of one run, and what happened between them.

    Begins with the first stretch that is looked at.
    """

    def __init__(self) -> None:
        self.width = FIRST_WIDTH
        self.windows: list[Window] = []
        """The first is no window but the first moment."""
        self.last: Standing | None = None
        """What the learner knew at the last moment; None before the first one."""
        self._lost = 0.0
        self._waiting: list[Played] = []
        """Rows whose losses are still to be added: many at a time take no longer than a few."""

    def _begin_anew(self) -> None:
        self.width, self.windows, self.last, self._lost, self._waiting = (
            FIRST_WIDTH,
            [],
            None,
            0.0,
            [],
        )

    @property
    def lost(self) -> float:
        """Loss of the predictions since the last moment."""
        if self._waiting:
            costs = weighed(self._waiting)
            self._lost = float(
                np.cumsum(np.concatenate([[self._lost], costs]))[-1]
            )  # one by one, wherever batches end
            self._waiting = []
        return self._lost

    def add(self, played: Played) -> None:
        """Add what rows cost, weighed as the learner weighs them."""
        if self.last is not None and len(played.plan):
            self._waiting.append(played)
            if len(self._waiting) >= MOST_WAITING:
                self._lost = self.lost

    def look(self, rows: int, time: float, standing: Certified) -> None:
        """Take note of the end of a stretch, and end a window if it is due.

        Parameters
        ----------
        rows, time
            On record, and when the last one happened.
        standing
            What the learner knows now; None where there is no certificate of its predictions: then
            all begins anew.
        """
        if self.last is not None and rows - self.windows[-1].edge < self.width:
            return
        now = standing()
        if now is None or (
            self.last is not None and now.mixed != self.last.mixed
        ):  # too many columns for second order now
            self._begin_anew()
        if now is None:
            return
        self.windows.append(self._window(rows, time, now))
        self.last, self._lost = now, 0.0
        if len(self.windows) > MOST_WINDOWS:
            self._merge()

    def _window(self, rows: int, time: float, now: Standing) -> Window:
        """From the last moment until now; the first one is as long as nothing."""
        length = np.sqrt(np.einsum("ij,ij->i", now.base, now.base))
        if self.last is None:
            return Window(
                rows, time, np.zeros_like(length), np.zeros_like(length), length, now.radius, 0.0
            )
        way = now.base - widened(self.last.base, now.base.shape[1])
        moved = np.sqrt(np.einsum("ij,ij->i", way, way))
        return Window(rows, time, now.owed - self.last.owed, moved, length, now.radius, self.lost)

    def _merge(self) -> None:
        """Neighbours become one window: sums are added, and no way is longer than by the centre."""
        first, *others = self.windows
        joined = [first]
        for one, two in zip(others[0::2], others[1::2], strict=True):
            moved = np.minimum(one.moved + two.moved, joined[-1].length + two.length)
            joined.append(
                two._replace(owed=one.owed + two.owed, moved=moved, lost=one.lost + two.lost)
            )
        self.windows, self.width = joined, 2 * self.width

    def told(self, rows: int, time: float, now: Standing | None) -> tuple[Proven, ...]:
        """What was proven of each window, the open one included."""
        if now is None or self.last is None:
            return ()
        over = rows == self.windows[-1].edge or now.mixed != self.last.mixed
        windows = self.windows if over else [*self.windows, self._window(rows, time, now)]
        return tuple(
            Proven(
                then.edge + 1,
                one.edge,
                then.time,
                one.time,
                one.lost,
                *bound(then, one, now.inverse),
            )
            for then, one in pairwise(windows)
        )

    def state(self) -> State:
        """All that the next row needs."""
        if self.last is None:
            return {"width": self.width}
        parts = {name: np.array([getattr(one, name) for one in self.windows]) for name in PARTS}
        counts = {
            "edges": np.array([one.edge for one in self.windows]),
            "times": np.array([one.time for one in self.windows]),
        }
        return (
            {"width": self.width, "since": self.lost}
            | parts
            | counts
            | add_prefix("last", self.last._asdict())
        )

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state; one of before there were windows begins now."""
        self._begin_anew()
        if not saved:
            return
        self.width = int(saved["width"])
        check("windows.width", self.width, Field(FIRST_WIDTH, ROWS.high, whole=True))
        if "edges" not in saved:
            return
        then = strip_prefix("last", saved)
        owed, base, inverse = (np.asarray(then[name]) for name in ("owed", "base", "inverse"))
        last = Standing(owed, base, inverse, float(then["radius"]), float(then["mixed"]))
        self._require(saved, last)
        columns = (saved[name] for name in ("edges", "times", *PARTS))
        self.windows = [
            Window(int(edge), float(time), *parts)
            for edge, time, *parts in zip(*columns, strict=True)
        ]
        self.last, self._lost = last, float(saved["since"])

    def _require(self, saved: Mapping[str, Any], last: Standing) -> None:
        """Refuse shapes and numbers that no run leads to."""
        count, experts = np.size(saved["edges"]), np.size(last.owed)
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(
            ("edges", "times", "radius", "lost"), (count,)
        )
        shapes |= dict.fromkeys(("owed", "moved", "length"), (count, experts))
        right = all(np.shape(saved[name]) == shape for name, shape in shapes.items())
        right = (
            right
            and last.base.ndim == 2
            and np.shape(last.owed) == np.shape(last.inverse) == last.base.shape[:1]
        )
        if not right or not 1 <= count <= MOST_WINDOWS or (np.diff(saved["edges"]) <= 0).any():
            raise ValueError(f"windows have {count} edges and {experts} experts. {DAMAGED}")
        check("windows.edges", saved["edges"], ROWS)
        check("windows.times", saved["times"], Field(-1e15, 1e15, nan=True))
        for name, most in (
            ("moved", LONGEST),
            ("length", LONGEST),
            ("radius", LONGEST),
            ("lost", LARGEST),
            ("since", LARGEST),
        ):
            check(f"windows.{name}", saved[name], Field(0.0, most))
        check("windows.owed", saved["owed"], Field(-LARGEST, LARGEST))
        ranges = {
            "owed": Field(-LARGEST, LARGEST),
            "base": Field(-LONGEST, LONGEST),
            "inverse": Field(0.0, 1e10),
        }
        ranges |= {"radius": Field(0.0, LONGEST), "mixed": Field(0.0, 1.0, whole=True)}
        for name, allowed in ranges.items():
            check(f"windows.last.{name}", getattr(last, name), allowed)


def require_windows(windows: Windows, rows: int, now: Standing | None) -> None:
    """Refuse windows of another learner, or of rows to come.

    ``now`` is what the learner of the run knows.
    """
    last = windows.last
    if last is None:
        return
    other = now is not None and (
        len(now.base) != len(last.base) or now.base.shape[1] < last.base.shape[1]
    )
    if other or not last.base.size or windows.windows[-1].edge > rows:
        raise ValueError(
            f"windows are of experts {last.base.shape} up to row {windows.windows[-1].edge}. "
            f"{DAMAGED}"
        )


def weighed(played: Sequence[Played]) -> Vector:
    """What each row cost in losses of smoothness 1: Huber's, or log losses."""
    weights, thresholds = np.concatenate([one.plan for one in played]).T
    if not played[0].values.shape[1]:
        return np.asarray(weights * np.concatenate([one.losses for one in played]))
    off = np.abs(np.concatenate([one.values[:, 2] for one in played]))
    return np.asarray(
        weights * np.where(off <= thresholds, off * off / 2, thresholds * (off - thresholds / 2))
    )


def bound(then: Window, window: Window, inverse: Vector) -> tuple[float, float]:
    """The certificate of a window against coefficients that stay what they are, and how long they
    may be.

    Parameters
    ----------
    then, window
        The window before, and this one.
    inverse
        1/η of each expert, shape ``(N,)``.
    """
    reach = min(
        then.radius, float(max(then.length.max(), window.length.max()))
    )  # the ball may have grown since
    way = reach * window.moved + (then.length**2 - window.length**2) / 2
    return float((window.owed + inverse * way).min()), reach


def widened(base: Matrix, width: int) -> Matrix:
    """Base points before some columns joined: at 0 there. The intercept stays the last."""
    more = width - base.shape[1]
    return base if more <= 0 else np.insert(base, np.full(more, base.shape[1] - 1), 0.0, axis=1)
