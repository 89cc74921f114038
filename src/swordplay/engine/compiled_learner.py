"""One compiled learner, which plays whole arrays or single rows; checks of rows and targets."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swordplay.core import arguments
from swordplay.core.model_lock import LockedModel, locks_itself
from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.engine import readable_state, saved_state
from swordplay.engine.layout import (
    EXPERT,
    SCALAR,
    SETTING,
    VECTOR,
    LearnerArrays,
    RoundOutputs,
    SparseRows,
)
from swordplay.engine.memory import LearnerMemory
from swordplay.engine.recipe import NotCompilable, recipe
from swordplay.parts.experts.step_sizes import SMALLEST_SUM, underflow_message
from swordplay.parts.losses import HuberLoss, LogisticLoss, PinballLoss, SquaredLoss
from swordplay.parts.metas import Composition

CHUNK = 1 << 14
"""Largest number of rows of a compiled call: a few milliseconds, so that Ctrl-C acts promptly."""
CHUNK_NUMBERS = 1 << 21
"""Largest number of entries of wide rows in a compiled call, for the same reason."""
ROWS_AT_ONCE = 4096
"""Rows of a block in which the first gradient other than 0 is looked for."""


class PlayResult(NamedTuple):
    """What a run over arrays recorded."""

    predictions: Vector
    losses: Vector
    decisions: Matrix | None
    weights: list[Vector] | None
    max_gradient: float
    """Largest norm of a gradient that was evaluated, at any point."""
    max_squared_row: float
    """Largest squared norm of a row."""


class CompiledLearner(LockedModel):
    """The compiled twin of a learner, for losses of a linear prediction.

    The *readable* learner is the one of ``parts``, in plain Python; a readable state is its state.
    It lists extra-gradient experts before the others, the *readable order*; here the two kinds take
    turns if the pool grows.

    Parameters
    ----------
    parts
        What the learner is made of.
    loss
        ``"squared"``, ``"logistic"``, ``"huber"`` or ``"pinball"``.
    threshold
        Of the Huber loss, or the level of the pinball loss.
    state
        The readable state to continue from; a fresh start unless given.
    dtype
        Of the coordinates: ``float64``, or ``float32`` at half the memory.
    """

    def __init__(
        self,
        parts: Composition,
        loss: str = "squared",
        *,
        threshold: float = 1.0,
        state: Mapping[str, Any] | None = None,
        dtype: Any = np.float64,
    ) -> None:
        self.loss, self.threshold, self.dtype = loss, threshold, np.dtype(dtype).name
        self.dim = parts.domain.dim
        self.memory = LearnerMemory(recipe(parts, loss, threshold, dtype), dtype)
        if state is not None:
            readable_state.load(self.memory, state)
        self._predict: Callable[..., float] | None = None
        self._learn: Callable[..., float] | None = None
        self._reserved_rounds = 0
        """Rounds until which the arrays have room for the experts of a growing pool."""
        self._is_released = False
        self._has_met_gradient = False

    def _copied_attributes(self) -> dict[str, Any]:
        # Machine code cannot be copied; it is found again by the next call.
        return vars(self) | {"_predict": None, "_learn": None}

    # ------------------------------------------------------------------- properties

    @property
    def rounds(self) -> int:
        """Number of rounds played."""
        return self.memory.rounds

    @property
    def size(self) -> float:
        """Size of the domain: the radius of a ball."""
        return float(self.memory.settings[SETTING.domain_size])

    @property
    def diameter(self) -> float:
        """Diameter of the domain in the next round."""
        return float(self.memory.settings[SETTING.diameter])

    @property
    def decision(self) -> Vector:
        """x_t, the decision of the next round, shape ``(d,)``; computed at each access."""
        return self.memory.decision()

    @property
    def weights(self) -> Vector:
        """p_t, the weights of the next round, in the order of the readable learner."""
        return self.memory.of_experts(EXPERT.weight)

    @property
    def step_sizes(self) -> Vector:
        """Step size of each expert, or its multiplier if steps adapt, in the readable order."""
        return self.memory.of_experts(EXPERT.step_size)

    @property
    def extra_gradient(self) -> Any:
        """Which experts are extra-gradient experts, in the order of the readable learner."""
        return self.memory.of_experts(EXPERT.extra_gradient) == 1.0

    @property
    def trust(self) -> float:
        """Trust of the meta in its prediction of the next gradient, from 0 to 1."""
        return float(self.memory.scalars[SCALAR.trust])

    @property
    def columns(self) -> int:
        """Number of columns of the arrays: experts and padding."""
        return int(self.memory.experts.shape[1])

    def certificate_sums(self) -> dict[str, Vector]:
        """Return the sums of the certificate by the names of ``CertificateState``."""
        return readable_state.certificate_sums(self.memory)

    def base_lengths(self) -> Vector:
        """Distances of the base points from the centre of the ball, in the readable order."""
        return np.sqrt(self.memory.of_experts(EXPERT.squared_norm))

    # ------------------------------------------------------------------- state

    def state(self) -> State:
        """Return the state of the readable learner after the same rounds."""
        return readable_state.state_of(self.memory)

    def compact_state(self) -> State:
        """Return the engine's own numbers by name; a learner continues from them identically."""
        return saved_state.state_of(self.memory)

    def load_compact_state(self, state: Mapping[str, Any], reach: float | None = None) -> None:
        """Continue from the numbers of a learner of the same make; on an error nothing changes.

        Parameters
        ----------
        state
            Result of :meth:`compact_state`.
        reach
            Largest distance of points from the centre, if larger than the size of the domain.
        """
        memory = self.memory
        numbers = saved_state.read(state, memory.coordinates.dtype)
        saved_state.check_make(memory, numbers)
        domain_vectors = memory.vectors[[VECTOR.center, VECTOR.upper]]
        saved_state.check_numbers(memory.recipe, domain_vectors, numbers, reach)
        saved_state.write(memory, numbers)
        self._learn = None
        self._has_met_gradient = False

    def use_arrays(self, arrays: LearnerArrays) -> None:
        """Use other arrays with the same numbers, such as slices of a larger block."""
        self.memory.arrays = arrays
        self.dim = len(arrays.coordinates)

    def widen(self, dim: int, last: int = 0) -> None:
        """Add features in front of the ``last`` ones; their coefficients start at 0."""
        self.memory.widen(dim, last)
        self.dim = dim

    def release(self) -> None:
        """Refuse further rounds: the learner continues without this engine."""
        self._is_released, self._predict, self._learn = True, None, None

    def check_attached(self) -> None:
        """Refuse to play for a learner that has continued without this engine."""
        if self._is_released:
            raise RuntimeError(
                "the learner went on without this engine (it observed or loaded something, or "
                "plays another loss or dtype). "
                "Ask sp.engine.online(learner) for the one that it has now."
            )

    # ------------------------------------------------------------------- many rows

    @property
    def _is_sword_plus_plus(self) -> bool:
        """Whether the meta charges for movement, which only that of Sword++ does."""
        return bool(self.memory.settings[SETTING.movement_charge])

    @property
    def kernels(self) -> Any:
        """The module with the kernels of this kind of learner."""
        # numba is imported with the first round, not with the package
        if self._is_sword_plus_plus:
            from swordplay.engine import sword_plus_plus

            return sword_plus_plus
        from swordplay.engine import rounds

        return rounds

    def play(
        self,
        features: Any,
        targets: Vector,
        *,
        schedule: Matrix | None = None,
        checked: bool = False,
        keep_decisions: bool = False,
        keep_weights: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> PlayResult:
        """Play rows in their order, each predicted before it is learned.

        Parameters
        ----------
        features
            Finite rows, dense ``(T, d)`` of any order and real dtype, or scipy CSR.
        targets
            Finite targets, shape ``(T,)``.
        schedule
            Weight of the loss, Huber threshold (or pinball level) and size of the domain of every
            round, shape ``(T, 3)``. Unless given, weights are 1, and threshold and size stay.
        checked
            Whether the arrays are known to fit and to be finite, as those of a ``LinearStream``
            are.
        keep_decisions, keep_weights
            Whether to record those of each round.
        progress
            Called with the number of rows played, after each compiled call.
        """
        self.check_attached()
        if not checked:
            features, targets = check_rows(features, targets, self.dim, self.loss)
        count = len(targets)
        if schedule is None:
            self.memory.scalars[SCALAR.loss_weight] = 1.0
            self.check_underflow(features, targets)
        elif schedule.shape == (count, 3):
            self.check_underflow(features, targets, schedule[:, 1], schedule[:, 0])
        else:
            raise ValueError(
                f"schedule must have shape ({count}, 3), got {schedule.shape}: weight, threshold, "
                "radius."
            )
        self._reset_extremes()
        predictions, losses = np.empty(count), np.empty(count)
        decisions = np.empty((count if keep_decisions else 0, self.dim))
        weights: list[Vector] | None = [] if keep_weights else None
        size = CHUNK
        if not is_sparse(features):
            size = max(1, min(CHUNK, CHUNK_NUMBERS // self.dim))
        for first in range(0, count, size):
            rows = slice(first, min(first + size, count))
            length = rows.stop - first
            self.memory.reserve_rounds(length)
            chunk_weights = np.zeros((length if keep_weights else 0, self.columns))
            outputs = RoundOutputs(predictions[rows], losses[rows], decisions[rows], chunk_weights)
            chunk_schedule = np.empty((0, 3))
            if schedule is not None:
                chunk_schedule = np.ascontiguousarray(schedule[rows])
            played = self._play_chunk(features, rows, targets, chunk_schedule, outputs)
            if weights is not None:
                weights.extend(self._readable_weights(chunk_weights[:played]))
            if played < length:
                raise ValueError(
                    f"row {first + played} would overflow: its features or target are too large "
                    f"for the loss. Rescale or drop it. The {first + played} row(s) before "
                    "it are learned."
                )
            if progress is not None:
                progress(rows.stop)
        return PlayResult(
            predictions,
            losses,
            decisions if keep_decisions else None,
            weights,
            max_gradient=self._max_gradient(),
            max_squared_row=float(self.memory.scalars[SCALAR.max_squared_row]),
        )

    def _play_chunk(
        self, features: Any, rows: slice, targets: Vector, schedule: Matrix, outputs: RoundOutputs
    ) -> int:
        """Play some rows in one compiled call; return how many were played."""
        memory, kernels = self.memory, self.kernels
        chunk_targets = np.require(targets[rows], dtype=np.float64, requirements=["C", "W"])
        if is_sparse(features) and memory.recipe.on_ball:
            self._apply_pending_updates()
            last_indices = np.flatnonzero(memory.vectors[VECTOR.last_row])
            entries = SparseRows(*sparse_rows(features, rows), last_indices)
            return int(
                kernels.play_sparse(memory.arrays, entries, chunk_targets, schedule, outputs)
            )
        part = features[rows].toarray() if is_sparse(features) else features[rows]
        part = np.require(part, dtype=np.float64, requirements=["C", "W"])
        kernel = kernels.play_dense if memory.recipe.on_ball else kernels.play_points
        return int(kernel(memory.arrays, part, chunk_targets, schedule, outputs))

    def _apply_pending_updates(self) -> None:
        """Prepare for sparse rounds, which touch only the coordinates of a row's entries.

        Makes the norms be recomputed from all coordinates only every 8 d rounds, so that this takes
        no more time than the rounds in between, and applies the pending update.
        """
        memory = self.memory
        refresh_rounds = max(memory.settings[SETTING.refresh_rounds], 8 * self.dim)
        memory.settings[SETTING.refresh_rounds] = refresh_rounds
        updates = memory.experts[EXPERT.pending_update]
        if updates.any():
            last_row = memory.vectors[VECTOR.last_row]
            touched = np.flatnonzero(last_row)
            memory.coordinates[touched] += np.multiply.outer(last_row[touched], updates)
            updates[:] = 0.0

    def _readable_weights(self, weights: Matrix) -> list[Vector]:
        """Return weights in the readable order, each row cut to the experts of its round."""
        if not self.memory.settings[SETTING.grows]:
            return list(weights[:, : self.memory.expert_count])
        counts = (weights > 0).sum(axis=1)
        return [
            np.concatenate([row[0:n:2], row[1:n:2]])
            for row, n in zip(weights, counts.tolist(), strict=True)
        ]

    def _reset_extremes(self) -> None:
        """Forget the largest gradients and rows of the calls before."""
        self.memory.scalars[SCALAR.max_squared_gradient] = 0.0
        self.memory.scalars[SCALAR.max_squared_row] = 0.0
        self.memory.experts[EXPERT.max_squared_gradient] = 0.0

    def _max_gradient(self) -> float:
        """Largest norm of a gradient since ``play`` began."""
        scalars, experts = self.memory.scalars, self.memory.experts
        # Replayed gradients of the last round are recorded only by the next round: add them here.
        last_slope = np.abs(experts[EXPERT.expected_slope]).max()
        last = last_slope**2 * scalars[SCALAR.last_squared_norm]
        of_experts = experts[EXPERT.max_squared_gradient].max()
        return math.sqrt(max(scalars[SCALAR.max_squared_gradient], of_experts, last))

    def check_underflow(
        self, features: Any, targets: Vector, threshold: Any = None, weights: Any = 1.0
    ) -> None:
        """Refuse rows whose first gradient underflows, if no gradient was met yet.

        Parameters
        ----------
        features, targets
            Rows that were checked, and their targets.
        threshold, weights
            As in a schedule; the engine's own threshold and weights of 1 unless given.
        """
        if self._has_met_gradient or self.loss == "linear":
            return
        # Before the first gradient the sums of squares are 0, and all experts are at one point.
        squares = self.memory.experts[EXPERT.squared_error_sum]
        self._has_met_gradient = bool(squares.max() > 0.0)
        if not self._has_met_gradient:
            parameter = self.threshold if threshold is None else threshold
            decision = self.memory.decision()
            check_first_gradient(features, targets, self.loss, parameter, weights, decision)

    # ------------------------------------------------------------------- one row

    @locks_itself
    def predict(self, features: Any) -> float:
        """Return <a, x_t>, the prediction for a row of shape ``(d,)``."""
        row = check_row(features, self.dim)
        with self._lock:
            predict = self._predict
            if predict is None:
                predict = self._predict = self._one_row_call("predict_one", row)
            prediction = predict(self.memory.arrays, row)
        if prediction - prediction != 0.0:
            arguments.vector("features", features, self.dim)
            raise ValueError("features are too large: their prediction overflows. Rescale them.")
        return prediction

    @locks_itself
    def learn(self, features: Any, target: float) -> float:
        """Learn from a row of shape ``(d,)`` and its target; return the loss of its prediction."""
        row, target = check_row(features, self.dim), check_target(target, self.loss)
        with self._lock:
            if not self._has_met_gradient:
                self.check_underflow(row[None], np.array([target]))
            learn, memory = self._learn, self.memory
            if learn is None or memory.scalars[SCALAR.rounds] >= self._reserved_rounds:
                learn = self._learn = self._one_row_call("learn_one", row, target)
            loss = learn(memory.arrays, row, target)
        if loss != loss:
            arguments.vector("features", features, self.dim)
            raise ValueError(
                f"features or target ({target}) are too large: the loss overflows. Rescale them."
            )
        return loss

    def _one_row_call(self, name: str, *given: Any) -> Callable[..., float]:
        """Reserve room for the experts of many rounds, and return the machine code of a kernel.

        Types of the arguments are then compared once, and not in each call.
        """
        from swordplay.compile import machine_code  # imports numba

        self.check_attached()
        if not self.memory.recipe.on_ball:
            raise NotCompilable(
                "one row at a time the engine plays on a Ball. Use play on arrays, or the "
                "readable learner."
            )
        ahead = 3 * self.memory.rounds + 16
        self.memory.reserve_rounds(ahead)
        grows = self.memory.settings[SETTING.grows]
        self._reserved_rounds = self.memory.rounds + ahead if grows else sys.maxsize
        kernel: Callable[..., float] = getattr(self.kernels, name)
        return machine_code(kernel, (self.memory.arrays, *given))


def is_sparse(features: Any) -> bool:
    """Whether rows are a sparse matrix, stored by rows."""
    return hasattr(features, "indptr")


def check_rows(features: Any, targets: Any, dim: int, loss: str) -> tuple[Any, Vector]:
    """Return rows of ``dim`` features and their targets as arrays, or refuse them."""
    if hasattr(features, "tocsr"):
        arguments.check_sparse_indices("features", features)
        features = features.tocsr()  # the kernels know no other format
    table: Any = features if is_sparse(features) else arguments.without_mask("features", features)
    target_array = arguments.array("targets", targets, ndim=1)
    if table.shape != (len(target_array), dim):
        raise ValueError(
            f"features must have shape ({len(target_array)}, {dim}), got {table.shape}. Give one "
            "row per target."
        )
    if is_sparse(table):
        arguments.check_sparse_indices("features", table)
    arguments.array("features", table.data if is_sparse(table) else table)
    if loss == "logistic" and not np.isin(target_array, (0.0, 1.0)).all():
        raise ValueError(
            "targets must be 0 or 1 for the logistic loss. Encode the two labels as 0 and 1."
        )
    return table, target_array


def sparse_rows(features: Any, rows: slice) -> tuple[Vector, NDArray[np.int64], NDArray[np.int64]]:
    """Return values, indices and starts of some rows of a CSR matrix, each index once in a row.

    If the matrix is in scipy's canonical format, only indices are copied; a slice made by scipy
    would copy the values, too.
    """
    if features.has_canonical_format:
        starts = features.indptr[rows.start : rows.stop + 1].astype(np.int64)
        values, indices = (
            features.data[starts[0] : starts[-1]],
            features.indices[starts[0] : starts[-1]],
        )
        starts -= starts[0]
    else:
        part = features[rows]
        part.sum_duplicates()
        values, indices, starts = part.data, part.indices, part.indptr.astype(np.int64)
    return (
        np.require(values, dtype=np.float64, requirements=["C", "W"]),
        indices.astype(np.int64),
        starts,
    )


@np.errstate(over="ignore", invalid="ignore")  # such rows are refused when they are played
def check_first_gradient(
    features: Any, targets: Vector, loss: str, parameter: Any, weights: Any, decision: Vector
) -> None:
    """Refuse rows whose first gradient other than 0 has a square that underflows.

    Steps and certificates are computed from these squares. Before the first gradient all experts
    are at one point, so that this gradient is known before the rows are played.

    Parameters
    ----------
    features, targets
        Rows that were checked, dense or CSR, shape ``(T, d)``, and their targets, shape ``(T,)``.
    loss, parameter
        Name of the loss, and its threshold or level, for all rows or one for each.
    weights
        Weight of the loss, for all rows or one for each.
    decision
        The point of all experts, shape ``(d,)``.

    Raises
    ------
    ValueError
        Names the largest entry of the gradient, and the remedy.
    """
    # The first row alone, as its gradient nearly always differs from 0, and then blocks of rows.
    edges = [0, *range(1, len(targets), ROWS_AT_ONCE), len(targets)]
    for first, stop in pairwise(edges):
        block = slice(first, stop)
        part = features[block]
        largest = abs(part).max(axis=1)
        largest = largest.toarray().reshape(-1) if is_sparse(part) else largest
        of_block = parameter[block] if np.ndim(parameter) else parameter
        slopes = np.abs(slopes_of(loss, of_block, part @ decision, targets[block]))
        slopes = slopes * (weights[block] if np.ndim(weights) else weights)
        met = slopes * largest > 0.0
        if not met.any():
            continue
        k = int(met.argmax())
        row = part[[k]].toarray()[0] if is_sparse(part) else part[k]
        gradient = slopes[k] * np.asarray(row, dtype=np.float64)
        if gradient @ gradient < SMALLEST_SUM:
            raise ValueError(underflow_message(float(np.abs(gradient).max())))
        return


def slopes_of(loss: str, parameter: Any, predictions: Array, targets: Vector) -> Array:
    """Return the derivative of a loss in the prediction, for each row, shape ``(T,)``."""
    # The losses are elementwise: one loss object with all targets computes all rows.
    one: Any = np.ones(1)
    every: Any = targets
    if loss == "huber":
        return HuberLoss.trusted(one, every, threshold=parameter).slope(predictions)
    if loss == "pinball":
        return PinballLoss.trusted(one, every, level=parameter).slope(predictions)
    family = SquaredLoss if loss == "squared" else LogisticLoss
    return family.trusted(one, every).slope(predictions)


def check_row(features: Any, dim: int) -> Vector:
    """Return a row of ``dim`` features as a contiguous array, or refuse it."""
    if type(features) is np.ndarray and features.dtype == np.float64 and features.shape == (dim,):
        return features if features.flags.carray else features.copy()
    return arguments.vector("features", features, dim)


def check_target(value: Any, loss: str) -> float:
    """Return the target of one row as a float, or refuse it."""
    if type(value) is not float or value - value != 0.0:
        value = arguments.real(
            "target", float(value) if isinstance(value, bool | np.bool_) else value
        )
    if loss == "logistic" and value not in (0.0, 1.0):
        raise ValueError(
            f"target must be 0 or 1 for the logistic loss, got {value}. Encode the two labels as "
            "0 and 1."
        )
    return value  # type: ignore[no-any-return]  # a float by now, of a value that could be anything
