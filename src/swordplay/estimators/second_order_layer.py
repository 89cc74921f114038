"""SecondOrderLayer: second-order experts beside a first-order model; arrays, calls and saved state.

The experts learn from the same rows with columns that are scaled once and for all, some of them
with the last targets as further columns. Their forecasts, that of the first-order model and "no
change" are mixed and corrected (see ``engine.second_order``). The first-order model learns as if
they were not there.
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
from swordplay.estimators.model_settings import LARGEST
from swordplay.estimators.workspace import NO_NOTES, NO_WEIGHTS, writable

MAX_COLUMNS = 64
"""Wider tables do without the layer, as a row costs the square of its columns."""
AUTO_LAGS = 3
"""Last targets of the experts with lags, where these compete with experts without."""
MIN_MEMORY_POWER = 6
"""The shortest memory is 2^6 rows, and at least two for each column."""
COMPETING, TOGETHER = (0, 4, 0, 4), (0, 2, 4, 6)
"""Powers of two by which the memories of the four experts are longer than the shortest one.

If experts compete, the first two have no lags and the last two have; else all have them.
"""
CORRECTING = (8, 10, 12, 14)
"""Powers of two of the memories, in rounds, of the experts that correct the mixture."""
CURVES, RICH_CURVES = 16, 64
"""Curves of the columns, and those of ``curves="rich"``."""
NO_CENTERS: Matrix = np.empty((0, 0))
CACHE_LINE_NUMBERS = 8

MAX_NUMBER = 1e150
MAX_FACTOR = 1e100
"""Largest saved entry of a triangular factor, small enough for all further rows."""
MAX_FREQUENCY = 100.0
"""Largest frequency and phase of a saved wave."""
MAX_LEARN_EVERY = 1000.0
"""Largest number of rounds from one that is learned to the next."""
ANY_NUMBER = Field(-MAX_NUMBER, MAX_NUMBER)
MAX_TARGET = 1e63
"""Largest end of the range to which predictions are clipped; targets are up to 1e60."""
RANGES = {
    "counters": ANY_NUMBER,
    "factors": Field(-MAX_FACTOR, MAX_FACTOR),
    # targets, and the error of the last one
    "recent": Field(-2.0 * MAX_TARGET, 2.0 * MAX_TARGET),
    "target_range": Field(-MAX_TARGET, MAX_TARGET),
    "columns": Field(-LARGEST, 2.0 * LARGEST),
    "lag_behind": Field(0.0, 14.0),
    "corrected_lag_behind": Field(0.0, 14.0),
    "loss_sums": Field(0.0, np.inf),
    "corrected_loss_sums": Field(0.0, np.inf),
    "variances": Field(0.0, 1.0),
    "discounts": Field(0.5, 1.0),
    "residuals": Field(0.0, MAX_NUMBER),
}
"""Ranges of the parts of a saved layer, by name; those of other parts are ``ANY_NUMBER``."""


@functools.cache
def engine_module(part: str) -> Any:
    """Return a module of ``engine.second_order``, imported when first used, as it imports numba."""
    return importlib.import_module(f"swordplay.engine.second_order.{part}")


@final
class SecondOrderLayer:
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
        Number of last targets that all experts have as columns. None lets two experts with
        AUTO_LAGS compete with two without and with "no change".
    curves
        Number of curves of the columns that are there in the beginning (see
        ``engine.second_order.features``).
    """

    _views: dict[str, Any] | None = None

    def __init__(
        self, dim: int, *, logistic: bool, intercept: bool, lags: int | None, curves: int = CURVES
    ) -> None:
        self.logistic, self.intercept = logistic, intercept
        self.competes, self.curves = lags is None, curves
        self.lags = AUTO_LAGS if lags is None else lags
        self._hold(dim)
        parts = self._parts()
        parts["features"][:] = engine_module("features").draw_features(dim, curves)
        counter = engine_module("layout").COUNTER
        parts["counters"][counter.stay_share] = 0.5
        parts["counters"][counter.learn_every] = self._learn_every
        parts["target_range"][:] = -1.0, 1.0

    def without_curves(self) -> SecondOrderLayer:
        """Return a fresh layer like this one, without curves."""
        lags = None if self.competes else self.lags
        return SecondOrderLayer(
            self.dim, logistic=self.logistic, intercept=self.intercept, lags=lags, curves=0
        )

    def _hold(self, dim: int) -> None:
        """Make the arrays of a fresh layer."""
        layout, newton = engine_module("layout"), engine_module("newton")
        self.dim, self._views = dim, None
        recent = max(1, self.lags + int(self.competes))  # the lags, and the last error
        width = dim + self.lags + int(self.competes) + int(self.intercept)
        corrections = (3 if self.competes else 1) + 2 * int(self.logistic)
        self._settings = np.zeros(len(layout.SETTING))
        values = {
            "is_logistic": self.logistic,
            "intercept": self.intercept,
            "dim": dim,
            "lags": self.lags,
            "competes": self.competes,
            "recent": recent,
            "width": width,
            "corrections": corrections,
            "curves": self.curves,
        }
        for name, place in layout.SETTING._asdict().items():
            self._settings[place] = values[name]
        self._numbers = np.zeros(layout.numbers_size(dim, recent, self.competes, self.curves))
        shortest = max(MIN_MEMORY_POWER, math.ceil(math.log2(2 * width)))
        powers = shortest + np.array(COMPETING if self.competes else TOGETHER)
        groups = [
            np.empty((newton.rows_of(wide), newton.LANES))
            for wide in (width, corrections, 1 + self.curves)
        ]
        newton.initialize(groups[0], 1.0 - 2.0**-powers)
        newton.initialize(groups[1], 1.0 - 2.0 ** -np.array(CORRECTING))
        # Experts with curves learn in few rounds, and remember as many as the others.
        newton.initialize(groups[2], 1.0 - self._learn_every * 2.0 ** -np.array(CORRECTING))
        self._lanes = aligned((sum(map(len, groups)), newton.LANES))
        np.concatenate(groups, out=self._lanes)
        shape, length = layout.scratch_size(width, corrections, self.competes, self.curves)
        self._scratch = aligned(shape), np.empty(length)

    @property
    def _learn_every(self) -> int:
        features = engine_module("features")
        return int(features.LEARN_LABELS_EVERY if self.logistic else features.LEARN_EVERY)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_views": None}

    @property
    def width(self) -> int:
        """Number of coefficients of an expert."""
        return int(self._settings[engine_module("layout").SETTING.width])

    @property
    def is_active(self) -> bool:
        """Whether the experts have learned from any row."""
        return bool(self.views["counters"][engine_module("layout").COUNTER.active] > 0)

    @property
    def gain(self) -> float:
        """Sum of the losses of the mixture minus those of the first-order model.

        The unit is a loss of smoothness 1; mostly negative.
        """
        return float(self.views["counters"][engine_module("layout").COUNTER.gain])

    @property
    def note_count(self) -> int:
        """Numbers that are noted of a row whose target comes late (see :meth:`forecast`)."""
        layout = engine_module("layout")
        recent = int(self._settings[layout.SETTING.recent])
        forecasts = int(layout.forecast_count(float(self.competes)))
        return 1 + recent + forecasts + int(layout.corrected_count(float(self.curves)))

    @property
    def arrays(self) -> Any:
        """All arrays as ``LayerArrays`` for the kernels."""
        layout = engine_module("layout")
        return layout.LayerArrays(self._settings, self._numbers, self._lanes, *self._scratch)

    def learn(
        self,
        rows: Matrix,
        targets: Vector,
        weights: Vector | None,
        first: Vector,
        plan: Matrix,
        column_centers: Matrix = NO_CENTERS,
        notes: Matrix | None = None,
    ) -> Vector:
        """Return mixed forecasts of rows, each made before its own target is learned.

        Parameters
        ----------
        rows, targets, weights
            As in ``LinearModel.predict_then_learn``.
        first
            Forecasts of the first-order model, shape ``(T,)``.
        plan
            Weight and threshold of each row's loss, shape ``(T, 2)``.
        column_centers
            Centre of each missing entry before its row, shape ``(T, d)``; no rows if none is.
        notes
            What was noted of late rows (see :meth:`forecast`), 0 for the others.
        """
        answer = np.empty(len(rows))
        engine_module("layer").learn_rows(
            writable(rows),
            writable(column_centers),
            writable(targets),
            NO_WEIGHTS if weights is None else writable(weights),
            writable(first),
            plan,
            NO_NOTES if notes is None else np.array(notes),  # the kernel writes into it
            self.arrays,
            answer,
        )
        return answer

    def forecast(
        self, rows: Matrix, first: Vector, column_centers: Matrix = NO_CENTERS
    ) -> tuple[Vector, Matrix]:
        """Return mixed forecasts of rows whose targets come later, and what to note of them.

        Each row is predicted as if it were the next one. The notes, shape ``(T, note_count)``, are
        the last targets and all forecasts of the row: when its target arrives, experts learn the
        row with these last targets, and they are scored on these forecasts.
        """
        notes = np.empty((len(rows), self.note_count))
        return self._predict(rows, first, len(rows), column_centers, notes), notes

    def predict(
        self,
        rows: Matrix,
        first: Vector,
        following: int,
        column_centers: Matrix = NO_CENTERS,
    ) -> Vector:
        """Return mixed forecasts of rows, of which ``following`` follow the last one learned.

        Of the others no last target is known.
        """
        return self._predict(rows, first, following, column_centers, np.empty((len(rows), 0)))

    def _predict(
        self, rows: Matrix, first: Vector, following: int, column_centers: Matrix, notes: Matrix
    ) -> Vector:
        answer = np.empty(len(rows))
        given = writable(rows), writable(column_centers), writable(first), following, self.arrays
        engine_module("layer").predict_rows(*given, notes, answer)
        return answer

    # ------------------------------------------------------------------ growing, reading, saving

    def widened(self, dim: int) -> SecondOrderLayer | None:
        """Return the layer with columns up to ``dim``, whose coefficients start at 0.

        None if there are too many columns.
        """
        if dim > MAX_COLUMNS:
            return None
        if dim > self.dim:
            old, known = self._parts(), self.dim
            self._hold(dim)
            for name, new in self._parts().items():
                kept = old[name]
                if name == "columns":  # the target is the last one
                    new[:, :known], new[:, -1] = kept[:, :known], kept[:, -1]
                else:
                    new[: len(kept)] = kept
        return self

    @property
    def views(self) -> dict[str, Any]:
        """Views of all saved numbers by name, cached for frequent readers."""
        self._views = self._views or self._parts()
        return self._views

    def _parts(self) -> dict[str, Any]:
        layout, newton = engine_module("layout"), engine_module("newton")
        count = layout.forecast_count(float(self.competes))
        parts: dict[str, Any] = layout.parts_of(self._numbers, self._settings, count)._asdict()
        first = 0
        corrections = int(self._settings[layout.SETTING.corrections])
        for prefix, width in (
            ("", self.width),
            ("correcting_", corrections),
            ("curved_", 1 + self.curves),
        ):
            group = self._lanes[first : first + newton.rows_of(width)]
            first += len(group)
            parts |= {
                f"{prefix}coefficients": group[:width],
                f"{prefix}variances": group[width : 2 * width],
                f"{prefix}discounts": group[2 * width],
                f"{prefix}residuals": group[2 * width + 1],
                f"{prefix}factors": group[2 * width + 2 :],
            }
        return parts

    def state(self) -> State:
        """Return all that the next row needs, as named arrays."""
        return {name: part.copy() for name, part in self._parts().items()}

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Continue from a saved state; all further results are identical."""
        parts = self._parts()
        for name, found in checked_parts(saved, parts).items():
            parts[name][...] = found

    def loaded(self, saved: Mapping[str, Any], dim: int) -> SecondOrderLayer | None:
        """Return the layer that continues from a saved state of ``dim`` columns."""
        layer = self.widened(dim)
        if layer is None:
            return None
        if not np.size(saved["features"]):
            # It began without columns, and has no curves though there are columns now.
            layer = layer.without_curves()
        layer.load_state(saved)
        return layer


def checked_parts(saved: Mapping[str, Any], parts: Mapping[str, Any]) -> State:
    """Check the parts of a saved layer against the shapes of ``parts``, and return arrays.

    Raises
    ------
    ValueError
        If a part has another shape, or numbers out of its range.
    """
    from swordplay.engine.second_order.features import MIN_SPREAD
    from swordplay.engine.second_order.layout import COLUMN, COUNTER, WARM_UP

    answer: State = {}
    for name, part in parts.items():
        found = np.array(saved[name], dtype=np.float64)
        if found.shape != part.shape:
            raise ValueError(
                f"state[{'second.' + name!r}] must have shape {part.shape}, got {found.shape}. "
                f"{DAMAGED}"
            )
        kind = name.removeprefix("correcting_").removeprefix("curved_")
        check(f"second.{name}", found, RANGES.get(kind, ANY_NUMBER))
        answer[name] = found
    check("second.target_range", np.diff(answer["target_range"]), Field(0.0, 2.0 * MAX_TARGET))
    columns, features = answer["columns"], answer["features"]
    check("second.columns", columns[COLUMN.counted], Field(0.0, WARM_UP, whole=True))
    check("second.features", features[:, :2], Field(0.0, columns.shape[1] - 2.0, whole=True))
    check("second.features", features[:, 2:], Field(-MAX_FREQUENCY, MAX_FREQUENCY))
    learn_every = answer["counters"][COUNTER.learn_every :]
    check("second.counters", learn_every, Field(1.0, MAX_LEARN_EVERY, whole=True))
    spreads = columns[COLUMN.spread]
    check("second.columns", spreads[spreads != 0.0], Field(MIN_SPREAD, 2.0 * LARGEST))
    return answer


def aligned(shape: tuple[int, int]) -> Matrix:
    """Return an array that begins at a cache line: no vector register is loaded from two lines."""
    size = shape[0] * shape[1]
    room = np.empty(size + CACHE_LINE_NUMBERS)
    first = -room.ctypes.data // room.itemsize % CACHE_LINE_NUMBERS
    return room[first : first + size].reshape(shape)
