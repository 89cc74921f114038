"""How the model of a key lies in a row of numbers: written, read, checked and learned.

A record holds what the next row needs and nothing else, in this order: the numbers of the round,
the last targets where there are lags, centre, spreads and count of the target (4), centre, spread
and count of each column (3 d), the last scaled row (w = d + 1), nine numbers of each of the N
experts, the points of the experts (w N), the sums of the certificate if it is kept, and the
second-order layer, whose factors come last. The first rows of a key, of which medians are taken,
are kept apart until it has 32 (see ``WarmUpRows``).
"""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.state import ROUNDING_TOLERANCE, Field, check, ranges
from swordplay.core.types import Matrix, State, Vector
from swordplay.engine.column_stats import WARM_UP, WARMED_UP
from swordplay.engine.record import (
    CERTIFICATE,
    COORDINATE,
    EXPERTS,
    ROUND,
    ROW,
    expert_range,
    round_range,
)
from swordplay.engine.second_order.features import MIN_SPREAD
from swordplay.engine.second_order.layer import PRIOR, WITHOUT_LAGS
from swordplay.engine.second_order.layout import COLUMN, COUNTER, FEATURE_NUMBERS, LayerArrays
from swordplay.engine.second_order.layout import WARM_UP as LAYER_WARM_UP
from swordplay.engine.second_order.newton import LANES
from swordplay.estimators import second_order_layer as layers
from swordplay.estimators.class_probabilities import MAX_CLASSES
from swordplay.estimators.coefficients import forecast_weights
from swordplay.estimators.column_scaler import MAX_CENTER, ColumnState
from swordplay.estimators.linear_model import LinearModel
from swordplay.estimators.model_settings import AUTO, LARGEST, LossName
from swordplay.estimators.second_order_layer import SecondOrderLayer
from swordplay.keyed import kernels
from swordplay.keyed.kernels import KeyArrays, KeyRuns, RowArrays


class WarmUpRows(NamedTuple):
    """The first rows of K keys, sorted within each column."""

    columns: Any
    """Shape ``(K, 32, lags + d)``."""
    targets: Any
    """Shape ``(K, 32, 1)``."""


class KeyModel(NamedTuple):
    """What every key of a table learns with: the model of an estimator, and its intervals."""

    dim: int
    """Number of columns."""
    loss: LossName
    """``"squared"`` or ``"huber"``, and ``"logistic"`` for classes."""
    classes: int = 0
    """How many; 0 for a regression. Two share a model, three or more have one each."""
    lags: int | str = AUTO
    """As in ``SwordRegressor``."""
    curves: str | None = AUTO
    """As in ``SwordRegressor``."""
    certificates: bool = False
    """Whether records hold what certificates need."""
    lag_columns: bool = False
    """Whether a number of lags are columns like all others, for the second-order layer, too."""
    level: float | None = None
    """Share of the targets that intervals shall hold; None for no intervals."""

    @property
    def models(self) -> int:
        """Number of models of each key."""
        return self.classes if self.classes > 2 else 1

    def digest(self, *more: Any) -> bytes:
        """Eight bytes that stand for all settings but the level, and for the layout of a record."""
        settings = [*self._replace(level=None), *more, ROUND, EXPERTS, CERTIFICATE]
        return hashlib.sha256(json.dumps(settings).encode()).digest()[:8]

    def make(self) -> tuple[LinearModel, SecondOrderLayer | None]:
        """A fresh model and its second-order layer."""
        lags = 0 if self.lags == AUTO else int(self.lags)
        if self.models > 1:
            # The layers of many classes know nothing of the last labels.
            model = LinearModel(self.dim, loss=self.loss, lags=lags)
            curves = self.curves if self.classes <= MAX_CLASSES else None
            return model, LinearModel(self.dim, loss=self.loss, curves=curves).second_order
        if self.lag_columns:
            model = LinearModel(self.dim, loss=self.loss, lags=lags)
            wide = LinearModel(self.dim + lags, loss=self.loss, curves=self.curves)
            return model, wide.second_order
        model = LinearModel(self.dim, loss=self.loss, lags=self.lags, curves=self.curves)
        return model, model.second_order


class RecordLayout:
    """Records of one kind of model, and the arrays in which kernels play them.

    Parameters
    ----------
    settings
        What the keys learn with.
    """

    def __init__(self, settings: KeyModel) -> None:
        self.settings = settings
        self._make_buffers()
        arrays = self._arrays
        wide, experts = len(arrays.centers), self._model.heads.expert_count
        self.width = self._model.columns.width
        """Entries of a scaled row."""
        kept = arrays.layer_kept
        self._factors = 0 if self._layer is None else self._layer.arrays.lanes.size
        sizes = {
            "round": len(ROUND),
            "recent": len(arrays.recent),
            "target centre": 1,
            "target spreads": 2,
            "target count": 1,
            "centers": wide,
            "spreads": wide,
            "counts": wide,
            "last row": self.width,
            **{f"experts.{name}": experts for name in EXPERTS},
            "points": self.width * experts,
            "certificate": (1 + len(CERTIFICATE) * experts) * settings.certificates,
            "layer": kept,
            "factors": self._factors,
        }
        ends = np.cumsum(list(sizes.values()))
        self._parts = {
            name: slice(int(end) - size, int(end))
            for (name, size), end in zip(sizes.items(), ends, strict=True)
        }
        """Where each part of a record stands."""
        self._layer_places = self._find_layer_places()
        self.size = int(ends[-1])
        """Numbers of a record."""
        self._columns = len(arrays.recent) + settings.dim
        self.fresh, self.fresh_warm_up = self.encode(self._model, self._layer)

    def _make_buffers(self) -> None:
        """Make the model in whose arrays records are played."""
        self._model, self._layer = self.settings.make()
        self._arrays = self.arrays_of(self._model, self._layer)

    def __reduce__(self) -> Any:
        return RecordLayout, (self.settings,)  # buffers are made anew

    def with_own_buffers(self) -> RecordLayout:
        """Return a copy with buffers of its own, for another thread."""
        other = copy.copy(self)
        other._make_buffers()
        return other

    def arrays_of(
        self, model: LinearModel, layer: SecondOrderLayer | None, head: int = 0
    ) -> KeyArrays:
        """The arrays of one of the heads of a model, to unpack records into or to pack."""
        columns, target, settings = model.columns.arrays, model.target.arrays, self.settings
        lags = len(model.recent)
        empty, no_rows = np.empty(0), np.empty((0, LANES))
        parts = LayerArrays(empty, empty, no_rows, no_rows, empty)
        kept = 0
        if layer is not None:
            parts = layer.arrays
            kept = len(parts.numbers) - FEATURE_NUMBERS * layer.curves
        return KeyArrays(
            learner=model.heads.learners[head].memory.arrays,
            centers=columns.centers,
            spreads=columns.spreads,
            counts=columns.counts,
            target_centers=target.centers,
            target_spreads=target.spreads,
            target_counts=target.counts,
            recent=model.recent,
            settings=model.row_model.settings,
            layer=parts,
            layer_kept=kept,
            layer_offset=0 if settings.lag_columns else lags,
            has_certificate=int(settings.certificates),
            waits_for_class=int(settings.models > 1),
        )

    # ------------------------------------------------------------------ one record

    def encode(
        self, model: LinearModel, layer: SecondOrderLayer | None, head: int = 0
    ) -> tuple[Vector, WarmUpRows]:
        """The record of one of the heads of a model, and its first rows, ``(1, 32, ...)``."""
        record = np.zeros(self.size)
        kernels.pack_record(record, self.arrays_of(model, layer, head))
        if layer is not None:
            record[self._parts["factors"]] = layer.arrays.lanes.ravel()
        columns, target = model.columns.arrays.first_values, model.target.arrays.first_values
        return record, WarmUpRows(columns[None].copy(), target[None].copy())

    def decode(
        self,
        record: Vector,
        first: WarmUpRows,
        model: LinearModel,
        layer: SecondOrderLayer | None,
        head: int = 0,
    ) -> None:
        """Write a record and the first rows of its key into one of the heads of a fresh model."""
        arrays = self.arrays_of(model, layer, head)
        kernels.unpack_record(np.ascontiguousarray(record), arrays)
        if layer is not None:
            layer.arrays.lanes[...] = record[self._parts["factors"]].reshape(-1, LANES)
        model.columns.arrays.first_values[...] = _model_warm_up(first.columns, arrays.counts)
        model.target.arrays.first_values[...] = _model_warm_up(first.targets, arrays.target_counts)

    def has_learned(self, record: Vector) -> bool:
        """Whether the layer of a record has learned any row."""
        return self._layer is not None and bool(
            record[self._layer_places["counters"][COUNTER.rounds]]
        )

    def weight_of_last_targets(self, records: Matrix) -> Vector:
        """Weight of the forecasts that use the last targets in each key's next mixture.

        It is 0 where they do not compete with others: either none uses them, or all do.
        """
        if self._layer is None or not self._layer.competes:
            return np.zeros(len(records))
        lag_behind = records[:, self._layer_places["lag_behind"]]
        weights = forecast_weights(lag_behind, PRIOR)
        return np.asarray(weights[:, WITHOUT_LAGS:].sum(axis=1))

    # ------------------------------------------------------------------ first rows

    def warm_up_rows(self, count: int) -> WarmUpRows:
        """Room for the first rows of K keys."""
        # Values that differ: a key without any row needs its first rows (see still_needed).
        values = np.arange(float(WARM_UP))[:, None]
        return WarmUpRows(
            np.tile(values, (count, 1, self._columns)), np.tile(values, (count, 1, 1))
        )

    def rows_seen(self, records: Matrix) -> Any:
        """Number of first rows of each key, of the column that has most; shape ``(K,)``."""
        counts = np.concatenate(
            [records[:, self._parts["counts"]], records[:, self._parts["target count"]]], axis=1
        )
        return np.minimum(counts.max(axis=1), WARM_UP).astype(np.int64)

    def still_needed(self, records: Matrix, warm_up: WarmUpRows, keys: Any, slots: Any) -> Any:
        """Mask of the keys that still need their first rows, shape ``(M,)``.

        A column that is mostly one value, such as an indicator, may need them for ever; its two
        middle values are equal.

        Parameters
        ----------
        records, warm_up
            Of all keys.
        keys, slots
            Where the records and first rows of M keys are.
        """
        middle = slice(WARM_UP // 2 - 1, WARM_UP // 2 + 1)
        constant = [
            (np.diff(first[:, middle][slots], axis=1) == 0.0).any(axis=(1, 2)) for first in warm_up
        ]
        counts = records[:, self._parts["counts"]][keys]
        needed = (counts.min(axis=1, initial=WARM_UP) < WARM_UP) | constant[0]
        if self.settings.loss == "logistic":
            return needed
        target_count = records[:, self._parts["target count"]][keys, 0]
        return needed | (target_count < WARM_UP) | constant[1]

    # ------------------------------------------------------------------ rows of many keys

    def learn(
        self, records: Matrix, warm_up: WarmUpRows, runs: KeyRuns, rows: Matrix, targets: Vector
    ) -> Vector:
        """Scores of rows, each made before its own target is learned.

        Parameters
        ----------
        records, warm_up
            Of all keys; those of the keys of these runs are replaced.
        runs
            The keys of the rows; rows of a key are in their order in time.
        rows, targets
            Shapes ``(T, d)`` and ``(T,)``; NaN in a row stands for a missing entry.
        """
        block = self._rows(rows, len(rows))
        learned = kernels.learn_keys(
            records, *warm_up, runs, block, np.ascontiguousarray(targets), self._arrays
        )
        if learned < len(runs.records):
            raise ValueError(
                f"a row of key number {runs.records[learned]} would overflow. Leave out rows with "
                "such numbers."
            )
        return np.asarray(block.scores)

    def predict(self, records: Matrix, runs: KeyRuns, follows: Any, rows: Matrix) -> Vector:
        """Scores of rows by what each key knows now; nothing is learned.

        ``follows`` says of which runs the first row follows the last learned row of its key.
        """
        block = self._rows(rows, 1)
        experts = self._arrays.learner.experts.shape[1]
        kernels.predict_keys(
            records, runs, follows, block, np.empty(experts), np.empty(self.width), self._arrays
        )
        return np.asarray(block.scores)

    def _rows(self, rows: Matrix, scaled: int) -> RowArrays:
        count = len(rows)
        raw = np.empty((count, self._columns))
        raw[:, len(self._arrays.recent) :] = rows
        layer_columns = self._columns - self._arrays.layer_offset
        return RowArrays(
            raw=raw,
            scaled=np.empty((scaled, self.width)),
            norms=np.empty(count),
            rounds=np.empty((count, 6)),
            relative_targets=np.empty(count),
            column_centers=np.empty((count if self._layer is not None else 0, layer_columns)),
            plan=np.ones((count, 2)),
            scores=np.empty(count),
        )

    def weights(self, records: Matrix) -> tuple[Matrix, Vector]:
        """The weights of the experts in each record, and the experts' step sizes."""
        return records[:, self._parts["experts.weight"]], self._model.head.step_sizes.copy()

    # ------------------------------------------------------------------ checks of saved records

    def check(self, records: Matrix, has_warm_up: Any, warm_up: WarmUpRows) -> None:
        """Refuse saved records with numbers that no rows lead to: kernels trust them.

        Parameters
        ----------
        records
            Of K keys.
        has_warm_up, warm_up
            Which of them have first rows, shape ``(K,)``, and these rows.

        Raises
        ------
        ValueError
            Names what is wrong.
        """
        part = {name: records[:, where] for name, where in self._parts.items()}
        scaler = ranges(ColumnState)
        for k, name in enumerate(ROUND):
            check(name, part["round"][:, k], round_range(name))
        for name, allowed in {
            "recent": Field(-LARGEST, LARGEST, nan=True),
            "target centre": scaler["centers"],
            "target spreads": scaler["spreads"],
            "target count": scaler["counts"],
            **{name: scaler[name] for name in ("centers", "spreads", "counts")},
            "last row": ROW,
            **{f"experts.{name}": expert_range(name) for name in EXPERTS},
            "points": COORDINATE,
            "certificate": COORDINATE,
        }.items():
            check(name, part[name], allowed)
        for first, counts in zip(
            warm_up, (part["counts"][has_warm_up], part["target count"][has_warm_up]), strict=True
        ):
            values = first.copy()
            middle = values[:, WARM_UP // 2]
            middle[(middle == WARMED_UP) & (counts >= WARM_UP)] = 0.0  # a mark, see column_stats
            check("first rows", values, scaler["centers"])
        self._check_points(records, part)
        if self._layer is not None:
            self._check_layer(records)

    def _check_points(self, records: Matrix, part: dict[str, Matrix]) -> None:
        """Refuse points beyond all numbers, and weights that do not sum to 1."""
        last = np.abs(part["last row"]).max(axis=1)[:, None]
        points = np.abs(part["points"].reshape(len(records), self.width, -1)).max(axis=1)
        moved = points + np.abs(part["experts.pending_update"]) * last
        for name, far in (
            ("points", part["experts.scale"] * moved),
            ("points ahead", np.abs(part["experts.lookahead_step"]) * last),
        ):
            check(name, far, Field(0.0, MAX_CENTER))
        total = part["experts.weight"].sum(axis=1)
        near_one = Field(1.0 - ROUNDING_TOLERANCE, 1.0 + ROUNDING_TOLERANCE)
        check("sum of the weights", total, near_one)

    def _find_layer_places(self) -> dict[str, Any]:
        """Places in a record of each part of the layer, in the shape of the part."""
        if self._layer is None:
            return {}
        numbers, factors = self._layer.arrays.numbers, self._layer.arrays.lanes
        before = numbers.copy(), factors.copy()
        kept = self._arrays.layer_kept
        numbers[:kept] = np.arange(kept) + self._parts["layer"].start
        factors[...] = np.arange(factors.size).reshape(factors.shape) + self._parts["factors"].start
        places = {name: part.astype(np.intp) for name, part in self._layer.state().items()}
        numbers[:], factors[:] = before
        return {name: part for name, part in places.items() if name != "features"}

    def _check_layer(self, records: Matrix) -> None:
        """Check the second-order layers of saved records, as those of saved models."""
        part: State = {name: records[:, place] for name, place in self._layer_places.items()}
        for name, values in part.items():
            plain = name.removeprefix("correcting_").removeprefix("curved_")
            check(f"second.{name}", values, layers.RANGES.get(plain, layers.ANY_NUMBER))
        widths, columns = np.diff(part["target_range"], axis=1), part["columns"]
        check("second.target_range", widths, Field(0.0, 2.0 * layers.MAX_TARGET))
        check("second.columns", columns[:, COLUMN.counted], Field(0.0, LAYER_WARM_UP, whole=True))
        learn_every = part["counters"][:, COUNTER.learn_every :]
        check("second.counters", learn_every, Field(1.0, layers.MAX_LEARN_EVERY, whole=True))
        spreads = columns[:, COLUMN.spread]
        check("second.columns", spreads[spreads != 0.0], Field(MIN_SPREAD, 2.0 * LARGEST))


def _model_warm_up(first: Any, counts: Vector) -> Any:
    """First rows as a model keeps them: 0 beyond the last one, a mark where they are not needed.

    Values that are not needed are replaced by the farthest that there may be: how far points may
    lie is judged by them.
    """
    values = np.where(np.arange(WARM_UP)[:, None] < counts, first, 0.0)
    middle = values[WARM_UP // 2 - 1 : WARM_UP // 2 + 1]
    done = (counts >= WARM_UP) & ((values[WARM_UP // 2] == WARMED_UP) | (middle[0] != middle[1]))
    values[:, done] = np.linspace(-MAX_CENTER, MAX_CENTER, WARM_UP)[:, None]
    values[WARM_UP // 2, done] = WARMED_UP
    return values
