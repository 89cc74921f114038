"""Workspace: the arrays that compiled calls need for some rows of a model, and these calls."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, final

import numpy as np

from swordplay.core.types import Array, Matrix, Vector

if TYPE_CHECKING:
    from swordplay.estimators.linear_model import LinearModel

NO_WEIGHTS: Vector = np.empty(0)
NO_NOTES: Matrix = np.empty((0, 0))
OVERFLOW = "would overflow: its features or target are too large for the loss. Rescale or drop it."
WEIGHT_AND_THRESHOLD = slice(3, 5)
"""Weight and threshold of a row's loss, in the columns of ``Workspace.rounds``."""

Observer = Callable[["Workspace", Vector], None]
"""Is called with the workspace and the targets of some rows after a model has learned them."""


@final
class Workspace:
    """Arrays for T rows that a model learns.

    Parameters
    ----------
    model
        A model with H heads.
    rows, targets
        Shapes ``(T, d)`` and ``(T,)``.
    weights
        Of the losses, shape ``(T,)``; all are 1 unless given.
    late_scores, notes
        A late row was predicted some rounds before its target came. ``late_scores``, shape
        ``(H, T, 2 + N)``, are its age and scores then; ``notes``, shape ``(T, n)``, what the
        second-order layer wrote down then, first 1 if the row is late (see ``Forecast``). The
        kernels overwrite both.
    always_centers
        Whether there is room for centres of missing entries even if none is missing now.
    """

    __slots__ = (
        "column_centers",
        "late_scores",
        "mixed",
        "model",
        "notes",
        "relative_targets",
        "rounds",
        "rows",
        "rows_with_lags",
        "scaled",
        "scores",
        "squared_norms",
        "targets",
        "weights",
    )

    def __init__(
        self,
        model: LinearModel,
        rows: Matrix,
        targets: Vector,
        weights: Vector | None = None,
        late_scores: Array | None = None,
        notes: Matrix | None = None,
        *,
        always_centers: bool = False,
    ) -> None:
        count, heads, width = len(rows), len(model.heads), model.columns.width
        self.model = model
        self.rows_with_lags: Matrix = with_lags(model, rows)
        """Rows with room for the last targets in front, which the kernels write."""
        self.rows: Matrix = (
            self.rows_with_lags[:, len(model.recent) :] if count == 1 else writable(rows)
        )
        """The rows without lags: of one row a view, which ``RowWorkspace`` relies on."""
        self.targets: Vector = writable(targets)
        self.weights: Vector = NO_WEIGHTS if weights is None else writable(weights)
        self.late_scores: Array = np.empty((heads, 0, 0)) if late_scores is None else late_scores
        self.notes: Matrix = NO_NOTES if notes is None else notes
        self.scaled: Matrix = np.empty((count, width))
        self.squared_norms: Vector = np.empty(count)
        self.rounds: Matrix = np.empty((count, 6))
        """Target place and schedule of each round (see ``engine.row_rounds``)."""
        self.relative_targets: Matrix = np.empty((heads, count))
        self.scores: Matrix = np.empty((heads, count))
        """Scores of the heads before they learned each row, shape ``(H, T)``."""
        centers = count if always_centers or np.isnan(rows).any() else 0
        self.column_centers: Matrix = np.empty((centers, model.dim))
        """Centre of each missing entry's column, as it was before that row; empty if none is."""
        self.mixed: Vector = self.scores[0]
        """Scores of the model before it learned each row, second-order experts included."""
        if model.second_order is not None:
            self.mixed = np.empty(count)

    @property
    def target_place(self) -> Matrix:
        """Centre, spread and largest spread of the target before each row, shape ``(T, 3)``."""
        return self.rounds[:, :3]

    def part(self, first: int, stop: int) -> Workspace:
        """Return the workspace of some rows of a model with one head; the arrays are shared."""
        here = slice(first, stop)
        part = object.__new__(Workspace)
        part.model = self.model
        for name in ("rows", "rows_with_lags", "targets", "scaled", "squared_norms", "rounds"):
            setattr(part, name, getattr(self, name)[here])
        part.mixed = self.mixed[here]
        for name in ("weights", "notes", "column_centers"):
            array = getattr(self, name)
            setattr(part, name, array[here] if len(array) else array)
        part.late_scores = self.late_scores[:, here]
        part.relative_targets, part.scores = self.relative_targets[:, here], self.scores[:, here]
        return part

    @property
    def learn_arguments(self) -> tuple[Any, ...]:
        """Arguments of ``row_rounds.learn_rows``."""
        from swordplay.engine import row_rounds  # numba is imported with the first row

        batch = row_rounds.RowBatch(
            self.rows_with_lags, self.targets, self.weights, self.late_scores
        )
        arrays = row_rounds.RoundArrays(
            self.scaled,
            self.squared_norms,
            self.rounds,
            self.relative_targets,
            self.scores,
            self.column_centers,
        )
        return batch, self.model.row_model, self.model.heads.arrays, arrays

    @property
    def mix_arguments(self) -> tuple[Any, ...]:
        """Arguments of ``second_order.layer.learn_rows``."""
        layer = self.model.second_order
        assert layer is not None
        return (
            self.rows,
            self.column_centers,
            self.targets,
            self.weights,
            self.scores[0],
            np.ascontiguousarray(self.rounds[:, WEIGHT_AND_THRESHOLD]),
            self.notes,
            layer.arrays,
            self.mixed,
        )

    def learn(self, first: int = 0) -> None:
        """Learn all rows; write the score of each as it was before that.

        Raises
        ------
        ValueError
            If the arithmetic of a row would overflow; the rows before it are learned. ``first`` is
            the number of the first row in its message.
        """
        from swordplay.engine import row_rounds

        learn: Any = row_rounds.learn_rows
        learned = learn(*self.learn_arguments)
        if learned < len(self.rows):
            if self.model.second_order is not None and learned:
                self.part(0, learned)._mix()
            row = first + learned
            raise ValueError(f"row {row} {OVERFLOW} The {row} row(s) before it are learned.")
        if self.model.second_order is not None:
            self._mix()

    def _mix(self) -> None:
        from swordplay.engine.second_order import layer

        learn: Any = layer.learn_rows
        learn(*self.mix_arguments)


@final
class RowWorkspace:
    """Arrays for one row, and compiled calls that are bound to them.

    Binding checks the types of the arguments once; an unbound call takes several times as long as
    the arithmetic. The arrays are overwritten by the next call. Code that replaces an array of the
    model (new columns, heads or a loaded state) must make it drop its workspace.
    """

    def __init__(self, model: LinearModel) -> None:
        from swordplay.compile import bound_call
        from swordplay.engine import row_rounds

        self._model, heads = model, model.heads
        self.lags = len(model.recent)
        """Entries of ``row`` before those of the columns."""
        experts, layer = heads.expert_count, model.second_order
        # The workspace of this one row.
        self.block = Workspace(
            model,
            np.empty((1, model.dim)),
            np.empty(1),
            None,
            np.zeros((len(heads), 1, 2 + experts)),
            NO_NOTES if layer is None else np.zeros((1, layer.note_count)),
            always_centers=True,
        )
        block = self.block
        self.row: Vector = block.rows_with_lags[0]
        """Where the row is written, behind its lags."""
        self.scores: Matrix = np.empty((1, len(heads)))
        """Scores of the heads for the row that was predicted."""
        self.expert_scores: Array = np.empty((1, len(heads), 1 + experts))
        self.notes: Matrix = np.empty((1, 0 if layer is None else layer.note_count))
        """What the second-order layer noted of the row that was predicted."""
        # Python reads entries of a memoryview as plain numbers, three times as fast as an array's.
        self._target: Any = block.targets.data
        self._learned_score: Any = block.mixed.data
        self._learn = bound_call(functools.partial(row_rounds.learn_rows, *block.learn_arguments))
        scratch = row_rounds.PredictScratch(
            np.empty(heads.columns),
            np.empty((len(heads), model.columns.width)),
            np.empty(model.columns.width),
        )
        self._predict = bound_call(
            functools.partial(
                row_rounds.predict_rows,
                block.rows_with_lags,
                model.predict_model,
                heads.arrays,
                scratch,
                block.column_centers,
                self.scores,
            )
        )
        self._predict_experts: Callable[[], Any] | None = None
        self._mix: Callable[[], Any] | None = None
        self._mix_prediction: Callable[[], Any] | None = None
        mixed = self.scores[0]
        if layer is not None:
            from swordplay.engine.second_order import layer as kernels

            mixed = np.empty(1)
            self._mix = bound_call(functools.partial(kernels.learn_rows, *block.mix_arguments))
            predicted = block.rows, block.column_centers, self.scores[0], 1, layer.arrays
            self._mix_prediction = bound_call(
                functools.partial(kernels.predict_rows, *predicted, self.notes, mixed)
            )
        self._predicted_score: Any = mixed.data

    def predict(self) -> float:
        """Predict the row that was written."""
        self._predict()
        if self._mix_prediction is not None:
            self._mix_prediction()
        return self._predicted_score[0]  # type: ignore[no-any-return]  # a double out of an array

    def predict_experts(self) -> None:
        """Write the scores of all experts for the row into ``expert_scores``."""
        if self._predict_experts is None:  # only late rows need them
            from swordplay.compile import bound_call
            from swordplay.engine import row_rounds

            model, scaled = self._model, np.empty(self._model.columns.width)
            arguments = self.block.rows_with_lags, model.predict_model, model.heads.arrays, scaled
            self._predict_experts = bound_call(
                functools.partial(row_rounds.predict_experts, *arguments, self.expert_scores)
            )
        self._predict_experts()

    def learn(self, target: float) -> float:
        """Learn the row that was written; return its score before that.

        Raises
        ------
        ValueError
            If its arithmetic would overflow. The statistics of the target and the last targets
            count the row all the same.
        """
        self._target[0] = target
        if not self._learn():
            raise ValueError(f"the row {OVERFLOW}")
        if self._mix is not None:
            self._mix()
        return self._learned_score[0]  # type: ignore[no-any-return]  # a double out of an array

    def learn_late(self, target: float, late_scores: Array, notes: Matrix | None) -> float:
        """Learn the row that was written, which was predicted earlier (see :class:`Workspace`)."""
        block = self.block
        block.late_scores[:] = late_scores
        if notes is not None:
            block.notes[:] = notes
        try:
            return self.learn(target)
        finally:  # the next row is not late
            block.late_scores[:, :, 0] = 0.0
            if len(block.notes):
                block.notes[:, 0] = 0.0


def with_lags(model: LinearModel, rows: Matrix) -> Matrix:
    """Return rows with room for the lags in front, or the rows themselves if there are none."""
    lags = len(model.recent)
    if not lags:
        return np.asarray(writable(rows))
    answer = np.empty((len(rows), model.columns.dim))
    answer[:, lags:] = rows
    return answer


def writable(array: Any) -> Any:
    """Return contiguous writable doubles: kernels would be compiled again for any other layout."""
    if type(array) is np.ndarray and array.dtype == np.float64:
        # the usual cases; numpy.require takes ten times as long
        return array if array.flags.carray else array.copy()
    return np.require(array, dtype=np.float64, requirements=["C", "W"])
