"""One key's learner as a row of numbers: only those that the next round needs.

In this order: the meta's sums (11 numbers), the last targets where there are lags, the target's
place (4), centre, spread and count of each column (3 d), the last scaled row (w = d + 1), nine
numbers of each of the N experts, and the experts' points (w N). With d = 10 columns and N = 28
experts these are 616 numbers; certificates need 85 more. A young key, with fewer than 32 rows or
with a column that is mostly one value, also keeps its first rows, because medians are taken of
them.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.state import Field, check, ranges
from swordplay.core.types import Matrix, Vector
from swordplay.engine.column_stats import WARM_UP, WARMED_UP
from swordplay.engine.record import (
    EXPERTS,
    ROUND,
    ROW,
    SIGNED,
    SLACK,
    blocks_of,
    expert_range,
    round_range,
)
from swordplay.engine.row_rounds import ROW_SETTING
from swordplay.estimators.column_scaler import MAX_CENTER, ColumnState
from swordplay.estimators.linear_model import LinearModel
from swordplay.estimators.model_settings import (
    CURVATURES,
    LARGEST,
    REACH,
    SMALLEST_NORM,
    THRESHOLDS,
    LossName,
)
from swordplay.keyed import kernel


class Young(NamedTuple):
    """The first rows of K keys."""

    rows: Any
    """Sorted by column, shape ``(K, 32, d)``."""
    targets: Any
    """Sorted, shape ``(K, 32, 1)``."""


class Form:
    """How records of one kind of model are laid out, and the arrays to play them in.

    Parameters
    ----------
    dim
        Number of columns d.
    loss
        ``"squared"``, ``"huber"`` or ``"logistic"`` (targets 0 and 1).
    lags
        How many of the last targets join the columns.
    proof
        Whether records hold what certificates need.
    start
        A model of the same kind that every key begins as; a fresh one unless given.
    """

    def __init__(
        self,
        dim: int,
        loss: LossName,
        lags: int = 0,
        *,
        proof: bool = False,
        start: LinearModel | None = None,
    ) -> None:
        self.dim, self.loss, self.lags, self.proof = dim, loss, lags, proof
        model = LinearModel(dim, loss=loss, lags=lags)
        self._memory = model.head.learner.memory
        self._steps = model.head.learner.step_sizes.copy()
        begin = start or model
        columns, target = begin.columns.state(), begin.target.state()
        self._first = (
            None
            if start is None
            else Young(columns["first_values"][None], target["first_values"][None])
        )
        self._scaler = np.stack([columns["centers"], columns["spreads"], columns["counts"]])
        self._place = np.concatenate([target["centers"], target["spreads"], target["counts"]])
        self._recent = begin.recent.copy()
        self._setting = np.zeros(len(ROW_SETTING))
        self._setting[ROW_SETTING.is_logistic] = loss == "logistic"
        self._setting[ROW_SETTING.curvature], self._setting[ROW_SETTING.threshold] = (
            CURVATURES[loss],
            THRESHOLDS[loss],
        )
        self._setting[ROW_SETTING.max_deviation], self._setting[ROW_SETTING.min_squared_norm] = (
            REACH,
            SMALLEST_NORM,
        )
        self._setting[ROW_SETTING.radius] = model.radius
        self._setting[ROW_SETTING.column_clip], self._setting[ROW_SETTING.target_clip] = (
            model.columns.clip,
            model.target.clip,
        )
        blocks = blocks_of(begin.head.learner.memory)
        experts, self.width = self._memory.expert_count, len(blocks.last)
        around = (self._recent, self._place, self._scaler.ravel())
        parts = (
            blocks.round,
            *around,
            blocks.last,
            blocks.experts,
            blocks.points,
            blocks.proof[: None if proof else 0],
        )
        self.fresh: Vector = np.concatenate(parts)
        """The record of a key that has learned nothing."""
        ends = np.cumsum([len(part) for part in parts])
        names = ("round", "recent", "place", "scaler", "last", "experts", "points", "proof")
        self._parts = {
            name: slice(a, b) for name, a, b in zip(names, [0, *ends[:-1]], ends, strict=True)
        }
        self._place_count = int(ends[2]) - 1
        self._counts, self._last = slice(ends[3] - dim - lags, ends[3]), slice(ends[3], ends[4])
        self._numbers = {
            name: slice(ends[4] + k * experts, ends[4] + (k + 1) * experts)
            for k, name in enumerate(EXPERTS)
        }
        self._coords, self._proof = slice(ends[5], ends[6]), slice(ends[6], ends[7])
        meta = [(name, k, round_range(name)) for k, name in enumerate(ROUND)]
        columns_ = [
            slice(ends[3] - (3 - k) * (dim + lags), ends[3] - (2 - k) * (dim + lags))
            for k in range(3)
        ]
        scaler = ranges(ColumnState)
        names_of_columns = ("centers", "spreads", "counts")
        self._ranges: list[tuple[str, Any, Field]] = [
            *meta,
            ("recent", slice(ends[0], ends[1]), Field(-LARGEST, LARGEST, nan=True)),
            ("target's centre", int(ends[1]), scaler["centers"]),
            ("target's spreads", slice(ends[1] + 1, ends[1] + 3), scaler["spreads"]),
            ("target's count", self._place_count, scaler["counts"]),
            *(
                (name, where, scaler[name])
                for name, where in zip(names_of_columns, columns_, strict=True)
            ),
            ("last row", self._last, ROW),
            *(
                (f"experts.{name}", where, expert_range(name))
                for name, where in self._numbers.items()
            ),
            ("points", self._coords, SIGNED),
            ("certificate", self._proof, SIGNED),
        ]
        """What a saved record may hold, and where it stands."""

    def parts(self, record: Vector) -> dict[str, Vector]:
        """The parts of one record by name."""
        return {name: record[where].copy() for name, where in self._parts.items()}

    def young(self, count: int) -> Young:
        """Room for the first rows of so many keys."""
        if self._first is not None:
            return Young(*(np.repeat(first, count, axis=0) for first in self._first))
        # Different values, as those of a grown key may be: a young one writes them before it reads
        # them.
        values = np.arange(float(WARM_UP))[:, None]
        return Young(
            *(np.tile(values, (count, 1, columns)) for columns in (self.dim + self.lags, 1))
        )

    def check_records(self, records: Matrix, are_young: Any, young: Young) -> None:
        """Refuse records with numbers that no rows lead to: the kernel takes counts for places.

        Parameters
        ----------
        records
            Of K keys.
        are_young, young
            Which of them have first rows, shape ``(K,)``, and these.

        Raises
        ------
        ValueError
            Names what is wrong.
        """
        for name, where, allowed in self._ranges:
            check(name, records[:, where], allowed)
        for first, counts in zip(
            young,
            (records[are_young, self._counts], records[are_young, self._place_count, None]),
            strict=True,
        ):
            values = first.copy()
            values[:, WARM_UP // 2][
                (values[:, WARM_UP // 2] == WARMED_UP) & (counts >= WARM_UP)
            ] = 0.0  # a mark, see scaling
            check("first rows", values, ranges(ColumnState)["centers"])
        numbers, last = (
            {name: records[:, where] for name, where in self._numbers.items()},
            np.abs(records[:, self._last]).max(axis=1),
        )
        moved = numbers["scale"] * (
            np.abs(self._points(records)).max(axis=1)
            + np.abs(numbers["pending_update"]) * last[:, None]
        )
        for name, far in (
            ("points", moved),
            ("points ahead", np.abs(numbers["lookahead_step"]) * last[:, None]),
        ):
            check(name, far, Field(0.0, MAX_CENTER))
        check(
            "sum of the weights",
            records[:, self._numbers["weight"]].sum(axis=1),
            Field(1.0 - SLACK, 1.0 + SLACK),
        )

    def most_seen(self, records: Matrix) -> Any:
        """How many of its first rows each key has, by the column that has most; shape ``(K,)``."""
        counts = np.concatenate(
            [records[:, self._counts], records[:, self._place_count, None]], axis=1
        )
        return np.minimum(counts.max(axis=1), WARM_UP).astype(np.int64)

    def are_young(self, records: Matrix, young: Young, who: Any, slots: Any) -> Any:
        """Which of some keys still need their first rows, shape ``(M,)``.

        ``who`` and ``slots`` as in :meth:`play`.

        A column that is mostly one value, such as an indicator, may need them for ever; it is known
        by its middle values.
        """
        middle = slice(WARM_UP // 2 - 1, WARM_UP // 2 + 1)
        still = [
            (np.diff(first[:, middle][slots], axis=1) == 0.0).any(axis=(1, 2)) for first in young
        ]
        needed = (records[:, self._counts][who].min(axis=1) < WARM_UP) | still[0]
        return (
            needed
            if self.loss == "logistic"
            else needed | (records[:, self._place_count][who] < WARM_UP) | still[1]
        )

    def play(
        self,
        records: Matrix,
        young: Young,
        who: Any,
        slots: Any,
        edges: Any,
        rows: Matrix,
        targets: Vector,
    ) -> Vector:
        """Scores of rows, each made before its own target is learned.

        Parameters
        ----------
        records, young
            Of all keys; those of the keys that play are replaced.
        who, slots
            Where the key of each run of rows has its record, and where its first rows; shape
            ``(M,)``.
        edges
            Where the runs begin, and where the last one ends, shape ``(M + 1,)``.
        rows, targets
            Finite and moderate, shapes ``(T, d)`` and ``(T,)``, each run in its order in time.
        """
        count, memory = len(targets), self._memory
        raw = np.empty((count, self.dim + self.lags))
        raw[:, self.lags :] = rows
        scores = np.empty(count)
        scratch = (
            np.empty((count, self.width)),
            np.empty(count),
            np.empty((count, 6)),
            np.empty(count),
        )
        played = kernel.play_keys(
            records,
            *young,
            who,
            slots,
            edges,
            raw,
            np.ascontiguousarray(
                targets
            ),  # a column of a table would be another type, and compiled for
            self._setting,
            *memory.arrays,
            self._scaler,
            self._place,
            self._recent,
            *scratch,
            scores,
        )
        if played < len(who):
            raise ValueError(
                f"a row of key number {who[played]} would overflow. Leave out rows of such numbers."
            )
        return scores

    def weights(self, records: Matrix) -> tuple[Matrix, Vector]:
        """The weights of the experts in each record, and the experts' step sizes."""
        return records[:, self._numbers["weight"]], self._steps

    def ask(self, records: Matrix, who: Any, edges: Any, rows: Matrix) -> Vector:
        """Scores of rows by what each key knows now, run by run as in :meth:`play`.

        Nothing is learned.
        """
        raw, scores = np.empty((len(rows), self.dim + self.lags)), np.empty(len(rows))
        raw[:, self.lags :] = rows
        memory = self._memory
        kept = (self._setting, *memory.arrays, self._scaler, self._place, self._recent)
        scratch = (np.empty(memory.arrays[1].shape[1]), np.empty(self.width), np.empty(self.width))
        kernel.ask_keys(records, who, edges, raw, *kept, *scratch, scores)
        return scores

    def twin(self) -> Form:
        """The same form with arrays of its own to play in, for another thread."""
        other = copy.copy(self)
        other._memory = LinearModel(self.dim, loss=self.loss, lags=self.lags).head.learner.memory
        other._scaler, other._place, other._recent = (
            self._scaler.copy(),
            self._place.copy(),
            self._recent.copy(),
        )
        return other

    def _points(self, records: Matrix) -> Any:
        """The experts' coordinates, a view of shape ``(K, w, N)``."""
        return records[:, self._coords].reshape(len(records), self.width, -1)
