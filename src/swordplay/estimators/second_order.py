"""Second-order experts beside a first-order model: arrays, compiled calls and saved state.

They learn from the same rows, scaled once and for all, some of them with the last targets as
further columns; and what all of them, the first-order model and "no change" say is mixed (see
``engine.second_order``). The first-order model learns as if they were not there.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Mapping
from typing import Any, final

import numpy as np

from swordplay.core.state import DAMAGED, Field, check
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators import second_order_units
from swordplay.estimators.scratch import NONE_MISSING, Bench, SecondBench, aligned, quick, writable
from swordplay.estimators.second_order_units import RawUnits
from swordplay.estimators.tuning import LARGEST

WIDEST_SECOND_ORDER = 64
"""Columns; a row costs their square. Wider tables do without."""
AUTO_LAGS = 3
"""Last targets that experts with lags are told of where these compete with others."""
SHORTEST = 6
"""2^6 rows are remembered by the shortest memory, and at the least two for each column."""
COMPETING, TOGETHER = (0, 4, 0, 4), (0, 2, 4, 6)
"""Powers of two by which the experts' memories are longer than the shortest: without and with
lags in turn, or all alike.
"""
CORRECTING = (8, 10, 12, 14)
"""Powers of two of the memories of those that correct the mixture, in rounds."""
BENDS, RICH_BENDS = 16, 64
"""Curves, and those of ``curves="rich"``."""
NO_WEIGHTS, NOT_ASKED = np.empty(0), np.empty((0, 0))


@functools.cache
def _engine_module(part: str) -> Any:
    """A module of ``engine.second_order``, imported when first used, as it imports numba."""
    return importlib.import_module(f"swordplay.engine.second_order.{part}")


VAST = 1e150
MAX_FACTOR = 1e100
"""Largest saved entry of a triangular factor, small enough for all further rows."""
MAX_WAVE = 100.0
"""Largest frequency and phase of a saved wave."""
MAX_PACE = 1000.0
"""Largest number of rounds from one that is learned to the next."""
ANYTHING = Field(-VAST, VAST)
FARTHEST = 1e63
"""Largest end of the range to which predictions are clipped; targets are up to 1e60."""
ALLOWED = {
    "known": ANYTHING,
    "factors": Field(-MAX_FACTOR, MAX_FACTOR),
    # targets, and the error of the last one
    "recent": Field(-2.0 * FARTHEST, 2.0 * FARTHEST),
    "ends": Field(-FARTHEST, FARTHEST),
    "columns": Field(-LARGEST, 2.0 * LARGEST),
    "behind": Field(0.0, 14.0),
    "top_behind": Field(0.0, 14.0),
    "sums": Field(0.0, np.inf),
    "top_sums": Field(0.0, np.inf),
    "variances": Field(0.0, 1.0),
    "discounts": Field(0.5, 1.0),
    "residuals": Field(0.0, VAST),
}
"""Ranges of the parts of a saved layer, by name; those of other parts are ``ANYTHING``."""


@final
class SecondOrder:
    """The layer of one score.

    Parameters
    ----------
    dim
        Number of columns.
    logistic
        Whether scores are log-odds and targets 0 and 1.
    intercept
        Whether experts have an intercept.
    lags
        How many of the last targets all of them are told of; None lets experts with AUTO_LAGS
        compete with experts without and with "no change".
    bends
        How many curves are made of the columns that are there in the beginning (see
        ``engine.second_order.features``).
    """

    _views: dict[str, Any] | None = None

    def __init__(
        self, dim: int, *, logistic: bool, intercept: bool, lags: int | None, bends: int = BENDS
    ) -> None:
        self.logistic, self.intercept, self.compete, self.bends = (
            logistic,
            intercept,
            lags is None,
            bends,
        )
        self.lags = AUTO_LAGS if lags is None else lags
        self.errors = int(
            self.compete
        )  # numbers about the last error that experts with lags are told
        self._hold(dim)
        parts = self._parts()
        parts["shapes"][:] = _engine_module("features").drawn(dim, bends)
        known = _engine_module("layout").KNOWN
        parts["known"][known.stay], parts["known"][known.pace] = 0.5, self._pace
        parts["ends"][:] = -1.0, 1.0

    def unbent(self) -> SecondOrder:
        """A fresh layer like this one, without curves."""
        lags = None if self.compete else self.lags
        return SecondOrder(
            self.dim, logistic=self.logistic, intercept=self.intercept, lags=lags, bends=0
        )

    def _hold(self, dim: int) -> None:
        """Arrays of a fresh layer."""
        from swordplay.engine.second_order import newton

        layout = _engine_module("layout")
        self.dim, self._views = dim, None
        self._row: SecondBench | None = None
        told, width = self.lags + self.errors, dim + self.lags + self.errors + int(self.intercept)
        corrections = (3 if self.compete else 1) + 2 * int(self.logistic)
        self._setting = np.array(
            [
                self.logistic,
                self.intercept,
                dim,
                self.lags,
                self.compete,
                max(1, told),
                width,
                corrections,
                self.bends,
            ],
            dtype=np.float64,
        )
        self._numbers = np.zeros(layout.book_size(dim, max(1, told), self.compete, self.bends))
        shortest = max(SHORTEST, math.ceil(math.log2(2 * width)))
        powers = shortest + np.array(COMPETING if self.compete else TOGETHER)
        groups = [
            np.empty((newton.rows_of(wide), newton.LANES))
            for wide in (width, corrections, 1 + self.bends)
        ]
        newton.fresh(groups[0], 1.0 - 2.0**-powers)
        newton.fresh(groups[1], 1.0 - 2.0 ** -np.array(CORRECTING))
        newton.fresh(
            groups[2], 1.0 - self._pace * 2.0 ** -np.array(CORRECTING)
        )  # the same rounds, of which it learns a few
        self._lanes = aligned((sum(map(len, groups)), newton.LANES))
        np.concatenate(groups, out=self._lanes)
        shape, length = layout.desk_size(width, corrections, self.compete, self.bends)
        self._scratch = aligned(shape), np.empty(length)

    @property
    def _pace(self) -> int:
        bends = _engine_module("features")
        return int(bends.PACE_OF_LABELS if self.logistic else bends.PACE)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_row": None, "_views": None}

    @property
    def width(self) -> int:
        """Coefficients of an expert."""
        return int(self._setting[_engine_module("layout").SETTING.width])

    @property
    def active(self) -> bool:
        """Whether its experts have learned from any row."""
        return bool(self.at_hand["known"][_engine_module("layout").KNOWN.active] > 0)

    @property
    def gain(self) -> float:
        """Loss of the mixture less that of the first-order model, summed, in losses of
        smoothness 1; mostly negative.
        """
        return float(self.at_hand["known"][_engine_module("layout").KNOWN.gain])

    def learn(
        self,
        rows: Matrix,
        targets: Vector,
        weights: Vector | None,
        first: Vector,
        plan: Matrix,
        middles: Matrix = NONE_MISSING,
        notes: Matrix | None = None,
    ) -> Vector:
        """Mixed forecasts of rows, each made before its own target is learned.

        Parameters
        ----------
        rows, targets, weights
            As in :meth:`Heads.learn`.
        first
            What the first-order model said, shape ``(T,)``.
        plan
            Weight and threshold of each row's loss, shape ``(T, 2)``.
        middles
            Where each column lies before each row, shape ``(T, d)``, if any entry is missing.
        notes
            What was noted of rows that were asked earlier (see :meth:`ask`), 0 for the others.
        """
        answer = np.empty(len(rows))
        noted = NOT_ASKED if notes is None else np.array(notes)  # the kernel writes into it
        arrays = (
            writable(rows),
            writable(middles),
            writable(targets),
            NO_WEIGHTS if weights is None else writable(weights),
        )
        _engine_module("layer").learn_rows(
            *arrays, writable(first), plan, noted, *self.arrays, answer
        )
        return answer

    @property
    def noted(self) -> int:
        """Numbers that are noted of a row."""
        layout, recent = _engine_module("layout"), max(1, self.lags + self.errors)
        return (
            1
            + recent
            + int(layout.forecasts(float(self.compete)))
            + int(layout.tops(float(self.bends)))
        )

    def ask(
        self, rows: Matrix, first: Vector, middles: Matrix = NONE_MISSING
    ) -> tuple[Vector, Matrix]:
        """Mixed forecasts of rows whose targets come later, each as if it were the next.

        And what has to be kept of them.

        These are the last targets and all forecasts of the row, ``(T, noted)``: when the target
        arrives, experts learn the row with these last targets and are scored on these forecasts.
        """
        if len(rows) == 1 and not len(middles):
            self.predict_row(rows[0], float(first[0]))
            bench = self._row or self._bench()
            return bench.answer.copy(), bench.notes.copy()
        answer, notes = np.empty(len(rows)), np.empty((len(rows), self.noted))
        arrays = writable(rows), writable(middles), writable(first), len(rows), *self.arrays
        _engine_module("layer").predict_rows(*arrays, notes, answer)
        return answer, notes

    def predict(
        self, rows: Matrix, first: Vector, following: int, middles: Matrix = NONE_MISSING
    ) -> Vector:
        """Mixed forecasts.

        So many of the rows follow the last one learned, of the others no last target is known.
        """
        if len(rows) == 1 == following and not len(middles):
            return np.array([self.predict_row(rows[0], float(first[0]))])
        answer, nothing = np.empty(len(rows)), np.empty((len(rows), 0))
        _engine_module("layer").predict_rows(
            writable(rows),
            writable(middles),
            writable(first),
            following,
            *self.arrays,
            nothing,
            answer,
        )
        return answer

    def predict_row(self, row: Vector, first: float, middles: Matrix = NONE_MISSING) -> float:
        """The same of one row that follows the last one."""
        if len(middles):
            return float(self.predict(row[None], np.array([first]), 1, middles)[0])
        bench = self._row or self._bench()
        bench.row[0], bench.asked[0] = row, first
        bench.ask()
        return float(bench.answer[0])

    def learn_row(
        self,
        row: Vector,
        target: float,
        first: float,
        plan: Vector,
        middles: Matrix = NONE_MISSING,
        notes: Matrix | None = None,
    ) -> float:
        """:meth:`learn` of one row, faster."""
        if len(middles):
            alone = (
                row[None],
                np.array([target], dtype=np.float64),
                None,
                np.array([first]),
                plan[None].copy(),
            )
            return float(self.learn(*alone, middles, notes)[0])
        bench = self._row or self._bench()
        bench.row[0], bench.first[0], bench.target[0], bench.plan[0] = row, first, target, plan
        if notes is None:
            bench.learn()
        else:
            bench.noted[:] = notes
            bench.learn_late()
        return float(bench.answer[0])

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What kernels take: the setting, all that is kept, and scratch."""
        return self._setting, self._numbers, self._lanes, *self._scratch

    def _bench(self) -> SecondBench:
        return self._made(
            np.empty((1, self.dim)), np.empty(1), np.empty(1), np.empty(1), np.empty((1, 2))
        )

    def beside(self, bench: Bench, lags: int) -> SecondBench:
        """The same with the arrays of the first-order model for one row: what it wrote is read
        where it stands.
        """
        scratch = bench.scratch
        return self._made(
            bench.raw[:, lags:],
            bench.target,
            scratch.predictions[0],
            bench.answer[0],
            scratch.rounds[:, 3:5],
        )

    def _made(
        self, row: Matrix, target: Vector, first: Vector, asked: Vector, plan: Matrix
    ) -> SecondBench:
        answer, notes, noted = np.empty(1), np.empty((1, self.noted)), np.empty((1, self.noted))
        kernel, given = (
            _engine_module("layer").learn_rows,
            (row, NONE_MISSING, target, NO_WEIGHTS, first, plan),
        )
        learn, late = (
            functools.partial(kernel, *given, some, *self.arrays, answer)
            for some in (NOT_ASKED, noted)
        )
        ask = functools.partial(
            _engine_module("layer").predict_rows,
            row,
            NONE_MISSING,
            asked,
            1,
            *self.arrays,
            notes,
            answer,
        )
        self._row = SecondBench(
            row,
            target,
            first,
            asked,
            plan,
            answer,
            notes,
            noted,
            quick(learn),
            quick(late),
            quick(ask),
        )
        return self._row

    # ------------------------------------------------------------------ growing, reading, saving

    def widen(self, dim: int) -> None:
        """Make room for columns that appear late, behind the others.

        Their coefficients start at 0.
        """
        old, were = self._parts(), self.dim
        self._hold(dim)
        for name, new in self._parts().items():
            kept = old[name]
            if name == "columns":
                new[:, :were], new[:, -1] = kept[:, :were], kept[:, -1]
            else:
                new[: len(kept)] = kept

    @property
    def at_hand(self) -> dict[str, Any]:
        """:meth:`_parts`, cached for callers that read them often."""
        self._views = self._views or self._parts()
        return self._views

    def _parts(self) -> dict[str, Any]:
        """Views of all numbers that are kept, by name."""
        from swordplay.engine.second_order import newton

        layout = _engine_module("layout")
        book: dict[str, Any] = layout.parts_of(
            self._numbers, self._setting, layout.forecasts(float(self.compete))
        )._asdict()
        edge = 0
        widths = self.width, int(self._setting[layout.SETTING.corrections]), 1 + self.bends
        for before, wide in zip(("", "correcting_", "bending_"), widths, strict=True):
            group, edge = (
                self._lanes[edge : edge + newton.rows_of(wide)],
                edge + newton.rows_of(wide),
            )
            book |= {
                f"{before}coefficients": group[:wide],
                f"{before}variances": group[wide : 2 * wide],
                f"{before}discounts": group[2 * wide],
                f"{before}residuals": group[2 * wide + 1],
                f"{before}factors": group[2 * wide + 2 :],
            }
        return book

    def state(self) -> State:
        """All that the next row needs, as named arrays."""
        return {name: part.copy() for name, part in self._parts().items()}

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state, bit by bit."""
        parts = self._parts()
        for name, found in checked_parts(saved, parts).items():
            parts[name][...] = found
        self._row = None

    def in_raw_units(self) -> RawUnits:
        """What the mixture of a row that follows the last one is made of, where nothing is cut,
        bent or doubted.
        """
        return second_order_units.in_raw_units(self)

    def weights(self) -> dict[str, float]:
        """Weight of each kind of forecasts in the mixture of the next row, before it is
        corrected.
        """
        return second_order_units.weights(self)


def checked_parts(saved: Mapping[str, Any], parts: Mapping[str, Any]) -> State:
    """Check the parts of a saved layer against the shapes of ``parts``, and return arrays.

    Raises
    ------
    ValueError
        If a part has another shape, or numbers out of its range.
    """
    from swordplay.engine.second_order.features import LEAST_SPREAD
    from swordplay.engine.second_order.layout import COUNT, KNOWN, SPREAD, WARM_UP

    answer: State = {}
    for name, part in parts.items():
        found = np.array(saved[name], dtype=np.float64)
        if found.shape != part.shape:
            raise ValueError(
                f"state[{'second.' + name!r}] must have shape {part.shape}, got {found.shape}. "
                f"{DAMAGED}"
            )
        check(
            f"second.{name}",
            found,
            ALLOWED.get(name.removeprefix("correcting_").removeprefix("bending_"), ANYTHING),
        )
        answer[name] = found
    check("second.ends", np.diff(answer["ends"]), Field(0.0, 2.0 * FARTHEST))
    check("second.columns", answer["columns"][COUNT], Field(0.0, WARM_UP, whole=True))
    check(
        "second.shapes",
        answer["shapes"][:, :2],
        Field(0.0, answer["columns"].shape[1] - 2.0, whole=True),
    )
    check("second.shapes", answer["shapes"][:, 2:], Field(-MAX_WAVE, MAX_WAVE))
    check("second.known", answer["known"][KNOWN.pace :], Field(1.0, MAX_PACE, whole=True))
    spreads = answer["columns"][SPREAD]
    check("second.columns", spreads[spreads != 0.0], Field(LEAST_SPREAD, 2.0 * LARGEST))
    return answer
