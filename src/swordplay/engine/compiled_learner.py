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
from swordplay.engine.layout import EXPERT, SCALAR, SETTING, VECTOR
from swordplay.engine.memory import LearnerMemory
from swordplay.engine.recipe import NotCompilable, recipe
from swordplay.parts.experts.step_sizes import SMALLEST_SUM, underflow_message
from swordplay.parts.losses import HuberLoss, LogisticLoss, PinballLoss, SquaredLoss
from swordplay.parts.metas import Composition

CHUNK = 1 << 14
"""Rows per compiled call: a few milliseconds, so that Ctrl-C and progress are prompt."""
CHUNK_NUMBERS = 1 << 21
"""Entries per chunk of wide rows, for the same reason."""
ROWS_AT_ONCE = 4096
"""Rows of a block in which the first gradient other than 0 is looked for."""


class PlayResult(NamedTuple):
    """What a run over arrays wrote down."""

    predictions: Vector
    losses: Vector
    decisions: Matrix | None
    weights: list[Vector] | None
    max_gradient: float
    """Norm of the longest gradient that was evaluated, at any point."""
    max_squared_row: float
    """Squared norm of the longest row."""


class Facts:
    """Numbers of a learner, read from its arrays; an engine plays on them."""

    memory: LearnerMemory

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return self.memory.rounds

    @property
    def size(self) -> float:
        """Of the domain: the radius of a ball."""
        return float(self.memory.settings[SETTING.domain_size])

    @property
    def decision(self) -> Vector:
        """x_t of the coming round, shape ``(d,)``; formed when asked for."""
        return self.memory.decision()

    @property
    def weights(self) -> Vector:
        """p_t of the coming round, in the readable learner's order."""
        return self.memory.of_experts(EXPERT.weight)

    @property
    def step_sizes(self) -> Vector:
        """Step size of each expert, or the multiplier of one that adapts, in the readable
        learner's order.
        """
        return self.memory.of_experts(EXPERT.step_size)

    @property
    def extra_gradient(self) -> Any:
        """Which experts take a second step along the last field, in the readable learner's
        order.
        """
        return self.memory.of_experts(EXPERT.extra_gradient) == 1.0

    @property
    def trust(self) -> float:
        """How far the meta trusts its guess of the coming gradient, from 0 to 1."""
        return float(self.memory.scalars[SCALAR.trust])

    @property
    def diameter(self) -> float:
        """Of the domain of the coming round."""
        return float(self.memory.settings[SETTING.diameter])

    @property
    def columns(self) -> int:
        """How many experts there is room for."""
        return int(self.memory.experts.shape[1])

    def certificate_sums(self) -> dict[str, Vector]:
        """What the certificate is computed from, by the names of the readable state, in the
        readable learner's order.
        """
        sums = {
            name: self.memory.of_experts(place)
            for name, place in readable_state.CERTIFICATE.items()
        }
        return (
            sums | {"max_dual_norm": np.sqrt(sums["max_dual_norm"])}
            if self.memory.keeps_dual_sum
            else sums
        )

    def base_lengths(self) -> Vector:
        """How far the base point of each expert is from the centre of the ball, in the readable
        learner's order.
        """
        return np.sqrt(self.memory.of_experts(EXPERT.squared_norm))

    def state(self) -> State:
        """The readable learner's state."""
        return readable_state.state_of(self.memory)

    def compact_state(self) -> State:
        """The engine's own numbers by name, for a continuation that is the same bit by bit."""
        return saved_state.state_of(self.memory)


class CompiledLearner(Facts, LockedModel):
    """The compiled twin of a learner for losses of a linear prediction.

    Parameters
    ----------
    parts
        What the learner is made of.
    loss
        ``"squared"``, ``"logistic"``, ``"huber"`` or ``"pinball"``.
    threshold
        Where the Huber loss turns linear, or the level of the pinball loss.
    state
        The readable state to go on from; a fresh start unless given.
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
        self._room = 0
        self._released = False
        self._has_met_gradient = False

    @property
    def kernels(self) -> Any:
        """The rounds of this kind of learner."""
        # numba is imported with the first round, not with the package
        if self.memory.settings[SETTING.movement_charge]:
            from swordplay.engine import sword_plus_plus

            return sword_plus_plus
        from swordplay.engine import rounds

        return rounds

    def _copied_attributes(self) -> dict[str, Any]:
        # Kernels and the arrays at hand are found again when they are needed.
        return {name: value for name, value in vars(self).items() if name != "_arrays"} | {
            "_predict": None,
            "_learn": None,
        }

    def release(self) -> None:
        """Play no more: the learner goes on without this engine, and two of them would drift
        apart.
        """
        self._released, self._predict, self._learn = True, None, None

    def check_attached(self) -> None:
        """Refuse to play for a learner that has gone on without this engine."""
        if self._released:
            raise RuntimeError(
                "the learner went on without this engine (it observed or loaded something, or "
                "plays another loss or dtype). "
                "Ask sp.engine.online(learner) for the one that it has now."
            )

    def load_compact_state(self, state: Mapping[str, Any], reach: float | None = None) -> None:
        """Go on from the numbers of an engine of the same make; on an error nothing changes.

        Parameters
        ----------
        state
            What :meth:`compact_state` gave.
        reach
            How far out points may lie, if farther than the size of the domain.
        """
        memory = self.memory
        numbers = saved_state.read(state, memory.coordinates.dtype)
        saved_state.require_make(memory, numbers)
        frame = memory.vectors[[VECTOR.center, VECTOR.upper]]
        saved_state.check_numbers(memory.recipe, frame, numbers, reach)
        saved_state.write(memory, numbers)
        self._predict = self._learn = None
        self._has_met_gradient = False

    def widen(self, dim: int, last: int = 0) -> None:
        """Make room for more features; their coefficients start at 0.

        The ``last`` ones stay behind the new ones.
        """
        self.memory.widen(dim, last)
        self.dim = dim
        self._predict = self._learn = None

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
            round, shape ``(T, 3)``. Unless given, weights are 1, and threshold and size stay what
            they were.
        checked
            True if the arrays are known to fit and to be finite, as those of a ``LinearStream``
            are.
        keep_decisions, keep_weights
            Whether to write them down each round.
        progress
            Called with the number of rows played, after each chunk.
        """
        self.check_attached()
        if not checked:
            features, targets = check_rows(features, targets, self.dim, self.loss)
        count = len(targets)
        predictions, losses = np.empty(count), np.empty(count)
        decisions = np.empty((count if keep_decisions else 0, self.dim))
        kept_weights: list[Vector] | None = [] if keep_weights else None
        plan = np.empty((0, 3)) if schedule is None else schedule
        self.memory.scalars[
            [SCALAR.max_squared_gradient, SCALAR.max_squared_row]
        ] = self.memory.experts[EXPERT.max_squared_gradient] = 0.0
        if schedule is None:
            self.memory.scalars[SCALAR.loss_weight] = 1.0
        elif schedule.shape != (count, 3):
            raise ValueError(
                f"schedule must have shape ({count}, 3), got {schedule.shape}: weight, threshold, "
                "radius."
            )
        size = max(1, min(CHUNK, CHUNK_NUMBERS // self.dim)) if not is_sparse(features) else CHUNK
        if schedule is None:
            self.check_measurable(features, targets)
        else:
            self.check_measurable(features, targets, schedule[:, 1], schedule[:, 0])
        for first in range(0, count, size):
            rows = slice(first, min(first + size, count))
            self.memory.reserve_rounds(rows.stop - first)
            kept = np.zeros(
                (rows.stop - first if keep_weights else 0, self.memory.experts.shape[1])
            )
            done = self._chunk(features, rows, targets, plan, predictions, losses, decisions, kept)
            if kept_weights is not None:
                kept_weights.extend(self._readable_weights(kept[:done]))
            if first + done < rows.stop:
                raise ValueError(
                    f"row {first + done} would overflow: its features or target are too large for "
                    "the loss. "
                    f"Rescale or drop it. The {first + done} row(s) before it are learned."
                )
            if progress is not None:
                progress(rows.stop)
        noted = self._max_gradient(), float(self.memory.scalars[SCALAR.max_squared_row])
        return PlayResult(
            predictions, losses, decisions if keep_decisions else None, kept_weights, *noted
        )

    def check_measurable(
        self, features: Any, targets: Vector, threshold: Any = None, weights: Any = 1.0
    ) -> None:
        """Refuse rows as the readable learner does, if no gradient was met and theirs underflow.

        Parameters
        ----------
        features, targets
            Rows that were checked, and their targets.
        threshold, weights
            As in a schedule; the engine's own threshold and weights of 1 unless given.
        """
        if self._has_met_gradient or self.loss == "linear":
            return
        # While nothing was met the sums of squares are 0, and all experts are at one point.
        self._has_met_gradient = bool(self.memory.experts[EXPERT.squared_error_sum].max() > 0.0)
        if not self._has_met_gradient:
            number = self.threshold if threshold is None else threshold
            check_measurable(features, targets, self.loss, number, weights, self.memory.decision())

    def _max_gradient(self) -> float:
        """Norm of the longest gradient since ``play`` began.

        Those that were replayed last no round has noted yet.
        """
        live, numbers = self.memory.scalars, self.memory.experts
        last = np.abs(numbers[EXPERT.field_slope]).max() ** 2 * live[SCALAR.last_squared_norm]
        return math.sqrt(
            max(live[SCALAR.max_squared_gradient], numbers[EXPERT.max_squared_gradient].max(), last)
        )

    def _chunk(
        self,
        features: Any,
        rows: slice,
        targets: Vector,
        schedule: Matrix,
        predictions: Vector,
        losses: Vector,
        decisions: Matrix,
        kept: Matrix,
    ) -> int:
        """One compiled call."""
        outputs = (
            np.ascontiguousarray(schedule[rows]),
            predictions[rows],
            losses[rows],
            decisions[rows],
            kept,
        )
        wanted = np.require(targets[rows], dtype=np.float64, requirements=["C", "W"])
        if not is_sparse(features):
            part = np.require(features[rows], dtype=np.float64, requirements=["C", "W"])
            kernel = (
                self.kernels.play_dense if self.memory.recipe.on_ball else self.kernels.play_points
            )
            return int(kernel(*self.memory.arrays, part, wanted, *outputs))
        if not self.memory.recipe.on_ball:
            return int(
                self.kernels.play_points(
                    *self.memory.arrays, features[rows].toarray(), wanted, *outputs
                )
            )
        self._flush_for_sparse()
        entries = sparse_rows(features, rows)
        last = np.flatnonzero(self.memory.vectors[VECTOR.last_row])
        done = self.kernels.play_sparse(*self.memory.arrays, *entries, last, wanted, *outputs)
        return int(done)

    def _flush_for_sparse(self) -> None:
        """Sparse rounds expect nothing pending, and a refresh that costs no more than the rounds
        between two of them.
        """
        memory = self.memory
        memory.settings[SETTING.refresh_rounds] = max(
            memory.settings[SETTING.refresh_rounds], 8 * self.dim
        )
        pending = memory.experts[EXPERT.pending_update]
        if pending.any():
            touched = np.flatnonzero(memory.vectors[VECTOR.last_row])
            memory.coordinates[touched] += np.multiply.outer(
                memory.vectors[VECTOR.last_row, touched], pending
            )
            pending[:] = 0.0

    def _readable_weights(self, kept: Matrix) -> list[Vector]:
        """Rows of weights as long as there were experts, in the readable order."""
        if not self.memory.settings[SETTING.grows]:
            return list(kept[:, : self.memory.expert_count])
        counts = (kept > 0).sum(axis=1)
        return [
            np.concatenate([row[0:n:2], row[1:n:2]])
            for row, n in zip(kept, counts.tolist(), strict=True)
        ]

    @locks_itself
    def predict(self, features: Any) -> float:
        """<a, x_t>: the prediction for a row of shape ``(d,)``."""
        row = check_row(features, self.dim)
        with self._lock:
            kernel = self._predict or self._prepare_single()[0]
            memory = self.memory  # its arrays may have been replaced since the last call
            answer = kernel(
                memory.coordinates,
                memory.experts,
                memory.vectors,
                memory.scalars,
                memory.settings,
                row,
            )
        if answer - answer != 0.0:
            arguments.vector("features", features, self.dim)
            raise ValueError("features are too large: their prediction overflows. Rescale them.")
        return answer

    @locks_itself
    def learn(self, features: Any, target: float) -> float:
        """Learn from a row of shape ``(d,)`` and its target; returns the loss of its prediction."""
        row, target = check_row(features, self.dim), check_target(target, self.loss)
        with self._lock:
            if not self._has_met_gradient:
                self.check_measurable(row[None], np.array([target]))
            kernel, memory = self._learn, self.memory
            if kernel is None or memory.scalars[SCALAR.rounds] >= self._room:
                kernel = self._prepare_single()[1]
            loss = kernel(
                memory.coordinates,
                memory.experts,
                memory.vectors,
                memory.scalars,
                memory.settings,
                row,
                target,
            )
        if loss != loss:
            arguments.vector("features", features, self.dim)
            raise ValueError(
                f"features or target ({target}) are too large: the loss overflows. Rescale them."
            )
        return loss

    def _prepare_single(self) -> tuple[Callable[..., float], Callable[..., float]]:
        """Room for the experts of many rounds to come, and the kernels at hand."""
        self.check_attached()
        if not self.memory.recipe.on_ball:
            raise NotCompilable(
                "one row at a time the engine plays on a Ball. Use play on arrays, or the "
                "readable learner."
            )
        ahead = 3 * self.memory.rounds + 16
        self.memory.reserve_rounds(ahead)
        self._room = (
            self.memory.rounds + ahead if self.memory.settings[SETTING.grows] else sys.maxsize
        )
        self._predict, self._learn = self.kernels.predict_one, self.kernels.learn_one
        return self._predict, self._learn


def is_sparse(features: Any) -> bool:
    """Whether rows are a sparse matrix by rows."""
    return hasattr(features, "indptr")


def check_rows(features: Any, targets: Any, dim: int, loss: str) -> tuple[Any, Vector]:
    """Many rows of ``dim`` features and their targets."""
    if hasattr(features, "tocsr"):
        arguments.check_sparse_indices("features", features)
        features = features.tocsr()  # the kernels know no other format
    table: Any = features if is_sparse(features) else arguments.without_mask("features", features)
    goals = arguments.array("targets", targets, ndim=1)
    if table.shape != (len(goals), dim):
        raise ValueError(
            f"features must have shape ({len(goals)}, {dim}), got {table.shape}. Give one row per "
            "target."
        )
    if is_sparse(table):
        arguments.check_sparse_indices("features", table)
    arguments.array("features", table.data if is_sparse(table) else table)
    if loss == "logistic" and not np.isin(goals, (0.0, 1.0)).all():
        raise ValueError(
            "targets must be 0 or 1 for the logistic loss. Encode the two labels as 0 and 1."
        )
    return table, goals


def sparse_rows(features: Any, rows: slice) -> tuple[Vector, NDArray[np.int64], NDArray[np.int64]]:
    """Values, indices and starts of some rows of a CSR matrix, as the kernels take them: each index
    once a row.

    Only the indices are copied if the matrix is in scipy's canonical format: cutting it by scipy
    would copy all of it.
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
def check_measurable(
    features: Any, targets: Vector, loss: str, number: Any, weights: Any, decision: Vector
) -> None:
    """Refuse rows whose first gradient other than 0 has a square that underflows.

    Steps and certificates are made of these squares. A learner that has met no gradient stands at
    one point with all its experts, so that this gradient is known before the rows are played.

    Parameters
    ----------
    features, targets
        Rows that were checked, dense or CSR, shape ``(T, d)``, and their targets, shape ``(T,)``.
    loss, number
        Name of the loss, and its threshold or level, for all rows or one for each.
    weights
        Weight of the loss, for all rows or one for each.
    decision
        Where the learner and its experts stand, shape ``(d,)``.

    Raises
    ------
    ValueError
        Names the largest entry of the gradient, and the remedy.
    """
    # The first row alone, as it is nearly always the one, and then blocks of rows.
    edges = [0, *range(1, len(targets), ROWS_AT_ONCE), len(targets)]
    for first, stop in pairwise(edges):
        block = slice(first, stop)
        part = features[block]
        largest = abs(part).max(axis=1)
        largest = largest.toarray().reshape(-1) if is_sparse(part) else largest
        some = number[block] if np.ndim(number) else number
        slopes = np.abs(slopes_of(loss, some, part @ decision, targets[block]))
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


def slopes_of(loss: str, number: Any, predictions: Array, targets: Vector) -> Array:
    """Return the derivative of a loss in the prediction, for each row, shape ``(T,)``."""
    # The losses are elementwise, so one loss with all targets stands for all rows.
    one: Any = np.ones(1)
    every: Any = targets
    if loss == "huber":
        return HuberLoss.trusted(one, every, threshold=number).slope(predictions)
    if loss == "pinball":
        return PinballLoss.trusted(one, every, level=number).slope(predictions)
    family = SquaredLoss if loss == "squared" else LogisticLoss
    return family.trusted(one, every).slope(predictions)


def check_row(features: Any, dim: int) -> Vector:
    """One row of ``dim`` features."""
    if type(features) is np.ndarray and features.dtype == np.float64 and features.shape == (dim,):
        return features if features.flags.carray else features.copy()
    return arguments.vector("features", features, dim)


def check_target(value: Any, loss: str) -> float:
    """The target of one row."""
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
