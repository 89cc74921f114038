"""The order of a round, the loop over rows, and the kernels that Python calls to play rounds.

A kernel returns how many rounds it played. If these are fewer than the rows it was given, the next
row would have overflowed; that row has changed nothing.

A row may be predicted before it is learned: the products of the prediction are then kept in the
learner's scalars until the target arrives.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import inline, kernel
from swordplay.core.types import Array, Matrix, Vector
from swordplay.engine import ball, dual_sum, explicit_points
from swordplay.engine.layout import (
    EXPERT,
    SCALAR,
    SETTING,
    VECTOR,
    LearnerArrays,
    RoundOutputs,
    RowProducts,
    SparseRows,
)
from swordplay.engine.meta import (
    learn_losses,
    normalise_weights,
    note_extremes,
    update_trust,
    update_weights,
)
from swordplay.engine.scalar_functions import loss_value
from swordplay.engine.step_sizes import (
    copy_fastest,
    pool_too_slow,
    track_distance,
    track_dual_norm,
)

MAX_SQUARED_GRADIENT = 1e150
"""A larger squared gradient could overflow when it is multiplied by steps."""

# ------------------------------------------------------------------- a round


def make_round(
    row_products: Any,
    predict: Any,
    move: Any,
    copy_points: Any,
    keep_row: Any,
    track_distance: Any = track_dual_norm,
    add_dual_sum: Any = dual_sum.no_op,
) -> Any:
    """Return the inline function of a round for one kind of points and rows.

    Parameters
    ----------
    row_products
        ``(learner, row) -> RowProducts``.
    predict
        ``(learner, products, row)``: sets the predictions of all experts, and returns their
        weighted sum <a, x_t> less the prediction of the centre.
    move
        ``(learner, products, row, target)``: takes both steps of every expert, and returns the
        smallest scale.
    copy_points
        With the same arguments: copies points for two experts that have just joined.
    keep_row
        ``(learner, products, row, smallest scale)``: makes the row the last row.
    track_distance
        ``(learner)``: tracks largest distances from the centre for the certificate.
    add_dual_sum
        ``(learner, smallest scale)``: adds the round to the dual sum where it is kept.
    """

    @inline
    def play_round(learner: LearnerArrays, row: Any, target: float) -> tuple[bool, float, float]:
        """Play a round; return whether it was played, the prediction and its loss."""
        scalars, settings = learner.scalars, learner.settings
        products = row_products(learner, row)
        if overflows(learner, products, target):
            return False, math.nan, math.nan
        centered = predict(learner, products, row)  # <a, x_t - c>
        prediction = centered + products.offset
        loss = scalars[SCALAR.loss_weight] * loss_value(
            int(settings[SETTING.loss]), settings[SETTING.threshold], prediction, target
        )
        slope = learn_losses(learner, products, centered, target)  # g_t = slope a
        # Before the steps: its exponential then overlaps with their arithmetic.
        update_trust(learner, products, slope)
        smallest_scale = move(learner, products, row, target)  # xhat_{t+1} and x_{t+1}
        scalars[SCALAR.rounds] += 1.0
        while pool_too_slow(scalars, settings):
            copy_fastest(learner)
            copy_points(learner, products, row, target)
        update_weights(learner, products, target)  # p_{t+1}
        note_extremes(scalars, products)
        scalars[SCALAR.has_prediction] = 0.0
        keep_row(learner, products, row, smallest_scale)
        track_distance(learner)  # after keep_row: it may compute the norms again
        add_dual_sum(learner, smallest_scale)
        return True, prediction, loss

    return play_round


@inline
def overflows(learner: LearnerArrays, products: RowProducts, target: float) -> bool:
    """Whether the squared gradient of an expert could overflow double precision, or is NaN."""
    squared_norm = products.squared_norm
    max_prediction = learner.settings[SETTING.domain_size] * math.sqrt(squared_norm)
    max_slope = learner.scalars[SCALAR.loss_weight] * (
        abs(target) + abs(products.offset) + max_prediction
    )
    return not (
        max_slope * max_slope * squared_norm < MAX_SQUARED_GRADIENT
        and squared_norm < MAX_SQUARED_GRADIENT
    )


# ------------------------------------------------------------------- a prediction before its round


@inline
def keep_products(
    learner: LearnerArrays, products: RowProducts, prediction: float, row: Vector
) -> None:
    """Keep what a prediction has computed for the round that learns the same row."""
    scalars, predicted_row = learner.scalars, learner.vectors[VECTOR.predicted_row]
    scalars[SCALAR.squared_norm] = products.squared_norm
    scalars[SCALAR.dot_last] = products.dot_last
    scalars[SCALAR.dot_change] = products.dot_change
    scalars[SCALAR.squared_change] = products.squared_change
    scalars[SCALAR.offset] = products.offset
    scalars[SCALAR.prediction] = prediction
    for j in range(len(row)):
        predicted_row[j] = row[j]
    scalars[SCALAR.has_prediction] = 1.0


@inline
def kept_row_products(learner: LearnerArrays, row: Vector) -> RowProducts:
    """Products that the prediction of the same row has kept, or new ones."""
    scalars, predicted_row = learner.scalars, learner.vectors[VECTOR.predicted_row]
    is_same = scalars[SCALAR.has_prediction] == 1.0
    for j in range(len(row)):
        is_same = is_same and predicted_row[j] == row[j]
    scalars[SCALAR.has_prediction] = 1.0 if is_same else 0.0
    if is_same:
        return RowProducts(
            scalars[SCALAR.squared_norm],
            scalars[SCALAR.last_squared_norm],
            scalars[SCALAR.dot_last],
            scalars[SCALAR.dot_change],
            scalars[SCALAR.squared_change],
            scalars[SCALAR.offset],
        )
    return ball.row_products(learner, row)


@inline
def kept_prediction(learner: LearnerArrays, products: RowProducts, row: Vector) -> float:
    """The prediction of the same row that was kept, or a new one."""
    if learner.scalars[SCALAR.has_prediction] == 1.0:
        return float(learner.scalars[SCALAR.prediction])
    return float(ball.predict(learner, products, row))


# ------------------------------------------------------------------- the loop over rows


@inline
def apply_schedule(learner: LearnerArrays, schedule: Matrix, t: int) -> None:
    """Set weight, threshold and domain size of round t, if the schedule has a row for it."""
    if t < len(schedule):
        scalars, settings = learner.scalars, learner.settings
        weight, threshold, size = schedule[t, 0], schedule[t, 1], schedule[t, 2]
        scalars[SCALAR.loss_weight] = weight
        settings[SETTING.threshold] = threshold
        if settings[SETTING.domain_size] != size:
            scalars[SCALAR.steps_ready] = 0.0
        settings[SETTING.domain_size] = size
        settings[SETTING.diameter] = settings[SETTING.diameter_per_size] * size


@inline
def load_deferred(learner: LearnerArrays, deferred: Matrix, t: int) -> None:
    """Set how many rounds ago row t was predicted, and the predictions of that round.

    A row of ``deferred`` holds the number of rounds (0 for a row predicted now), the prediction of
    the decision, and those of all experts. There may be fewer rows than rounds.
    """
    if t < len(deferred) and deferred[t, 0] > 0.0:
        scalars, predictions = learner.scalars, learner.experts[EXPERT.deferred_prediction]
        scalars[SCALAR.rounds_late] = deferred[t, 0]
        scalars[SCALAR.deferred_prediction] = deferred[t, 1]
        for i in range(len(predictions)):  # the padding is copies of the last expert
            predictions[i] = deferred[t, min(2 + i, deferred.shape[1] - 1)]


@inline
def write_weights(learner: LearnerArrays, weights: Matrix, t: int) -> None:
    """Write the weights of the next round into row t; columns of no expert yet stay 0."""
    normalise_weights(learner)
    for i in range(int(learner.scalars[SCALAR.expert_count])):
        weights[t, i] = learner.experts[EXPERT.weight, i]


def of_dense(play_round: Any) -> Any:
    """Return the inline function of the round of row t of a matrix."""

    @inline
    def play_row(
        learner: LearnerArrays, rows: Matrix, t: int, target: float
    ) -> tuple[bool, float, float]:
        """Play the round of row t."""
        return play_round(learner, rows[t], target)  # type: ignore[no-any-return]

    return play_row


def of_sparse(play_round: Any) -> Any:
    """Return the inline function of the round of row t of a sparse matrix."""

    @inline
    def play_row(
        learner: LearnerArrays, rows: SparseRows, t: int, target: float
    ) -> tuple[bool, float, float]:
        """Play the round of row t."""
        values, indices, starts = rows.values, rows.indices, rows.starts
        last_indices = rows.last_indices if t == 0 else indices[starts[t - 1] : starts[t]]
        first, stop = starts[t], starts[t + 1]
        row = ball.SparseRow(values[first:stop], indices[first:stop], last_indices)
        return play_round(learner, row, target)  # type: ignore[no-any-return]

    return play_row


def make_rows(play_row: Any, decide: Any = ball.decide) -> Any:
    """Return the inline function of the loop over rows, each predicted before it is learned.

    Parameters
    ----------
    play_row
        Result of :func:`of_dense` or :func:`of_sparse`.
    decide
        ``(learner, decision)``: writes the decision of the next round.
    """

    @inline
    def play_rows(
        learner: LearnerArrays,
        rows: Any,
        targets: Vector,
        schedule: Matrix,
        deferred: Matrix,
        outputs: RoundOutputs,
    ) -> int:
        """Play rows in their order; return how many were played."""
        scalars = learner.scalars
        predictions, losses, decisions, weights = outputs
        for t in range(len(targets)):
            if t < len(decisions):
                decide(learner, decisions[t])
            if t < len(weights):
                write_weights(learner, weights, t)
            old_weight = scalars[SCALAR.loss_weight]
            apply_schedule(learner, schedule, t)
            load_deferred(learner, deferred, t)
            was_played, prediction, loss = play_row(learner, rows, t, targets[t])
            if not was_played:
                scalars[SCALAR.loss_weight], scalars[SCALAR.rounds_late] = old_weight, 0.0
                normalise_weights(learner)
                return t
            predictions[t] = prediction
            if t < len(losses):
                losses[t] = loss
        normalise_weights(learner)
        return len(targets)

    return play_rows


dense_round = make_round(
    ball.row_products,
    ball.predict,
    ball.move,
    ball.copy_points,
    ball.keep_row,
    add_dual_sum=dual_sum.add_dual_sum,
)
sparse_round = make_round(
    ball.sparse_row_products,
    ball.predict_sparse,
    ball.move,
    ball.copy_points,
    ball.keep_sparse_row,
    add_dual_sum=dual_sum.add_dual_sum,
)
round_after_prediction = make_round(
    kept_row_products,
    kept_prediction,
    ball.move,
    ball.copy_points,
    ball.keep_row,
    add_dual_sum=dual_sum.add_dual_sum,
)
points_round = make_round(
    ball.row_products,
    explicit_points.predict,
    explicit_points.move,
    explicit_points.copy_points,
    explicit_points.keep_row,
    track_distance=track_distance,
)

play_dense_rows = make_rows(of_dense(dense_round))
play_sparse_rows = make_rows(of_sparse(sparse_round))
points_rows = make_rows(of_dense(points_round), explicit_points.decide)


@inline
def play_planned(
    learner: LearnerArrays,
    rows: Matrix,
    targets: Vector,
    schedule: Matrix,
    deferred: Matrix,
    predictions: Vector,
) -> int:
    """Play dense rows on a ball, of which only the predictions are kept; return how many."""
    outputs = RoundOutputs(predictions, predictions[:0], rows[:0], rows[:0])
    return int(play_dense_rows(learner, rows, targets, schedule, deferred, outputs))


# ------------------------------------------------------------------- kernels


@kernel
def play_dense(
    learner: LearnerArrays, rows: Matrix, targets: Vector, schedule: Matrix, outputs: RoundOutputs
) -> int:
    """Play dense rows on a ball."""
    return int(play_dense_rows(learner, rows, targets, schedule, rows[:0], outputs))


@kernel
def play_sparse(
    learner: LearnerArrays,
    rows: SparseRows,
    targets: Vector,
    schedule: Matrix,
    outputs: RoundOutputs,
) -> int:
    """Play sparse rows on a ball, in time proportional to their non-zero entries."""
    return int(play_sparse_rows(learner, rows, targets, schedule, schedule[:0], outputs))


@kernel
def play_points(
    learner: LearnerArrays, rows: Matrix, targets: Vector, schedule: Matrix, outputs: RoundOutputs
) -> int:
    """Play dense rows on a simplex or a box."""
    return int(points_rows(learner, rows, targets, schedule, rows[:0], outputs))


@kernel
def predict_one(learner: LearnerArrays, row: Vector) -> float:
    """Predict a row on a ball, and keep its products for ``learn_one``; NaN if it overflows."""
    products = ball.row_products(learner, row)
    if not products.squared_norm < math.inf:
        learner.scalars[SCALAR.has_prediction] = 0.0
        return math.nan
    centered = ball.predict(learner, products, row)
    keep_products(learner, products, centered, row)
    return float(centered + products.offset)


@kernel
def learn_one(learner: LearnerArrays, row: Vector, target: float) -> float:
    """Play one round on a ball; return its loss, or NaN, with nothing changed, if it overflows."""
    was_played, _, loss = round_after_prediction(learner, row, target)
    normalise_weights(learner)
    if not was_played:
        learner.scalars[SCALAR.has_prediction] = 0.0
    return float(loss)


@kernel
def play_each(
    learners: LearnerArrays,
    rows: Array,
    targets: Matrix,
    predictions: Matrix,
    losses: Matrix,
    played: Any,
    first: int,
    stop: int,
) -> None:
    """Let learners ``first`` to ``stop`` on a ball play dense rows of their own.

    ``played`` receives the number of rounds of each learner.
    """
    for k in range(first, stop):
        none = rows[k][:0]
        learner = learner_at(learners, k, none.shape[1])
        outputs = RoundOutputs(predictions[k], losses[k], none, none)
        played[k] = play_dense_rows(learner, rows[k], targets[k], none, none, outputs)


@inline
def learner_at(learners: LearnerArrays, k: int, dim: int) -> LearnerArrays:
    """Arrays of learner k of a stack, which may have room for more than ``dim`` coordinates."""
    return LearnerArrays(
        learners.coordinates[k][:dim],
        learners.experts[k],
        learners.vectors[k],
        learners.scalars[k],
        learners.settings[k],
    )
