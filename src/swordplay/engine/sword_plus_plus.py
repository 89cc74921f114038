"""Rounds of Sword++ on a ball: one shared gradient, and a meta that charges for movement.

The same updates as in ``parts.learners.sword_plus_plus``. A round needs one gradient, g_t = slope
a, taken at the decision. It moves every base point and is the expected gradient of experts and meta
in the next round, so that |g_t - g_{t-1}|^2 is one number for all experts. The meta adds the
movement cost 2L |x_{t+1} - x_t|^2 to the losses and to the optimism. With k = eta slope, a' the
features of the round before, and the points of ``ball``,

    xhat_{t+1} = sigma (xhat_t - k a)
    x_{t+1} = tau (xhat_{t+1} - k a)
    x_t = lookahead_scale xhat_t - lookahead_step a'

where sigma and tau are the factors of the two projections, and therefore

    x_{t+1} - x_t = (tau sigma - lookahead_scale) xhat_t - (tau sigma k + tau k) a
        + lookahead_step a'

Its squared norm is a quadratic form of products that are known: <a', xhat_t> is kept from the round
before as ``EXPERT.last_base_prediction``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from swordplay.compile import expert_loop, inline, kernel, larger, smaller
from swordplay.core.types import Array, Matrix, Vector
from swordplay.engine import ball
from swordplay.engine.layout import (
    EXPERT,
    SCALAR,
    SETTING,
    ExpertRows,
    LearnerArrays,
    RoundOutputs,
    RowProducts,
    SparseRows,
)
from swordplay.engine.meta import (
    hedge_weights,
    normalise_weights,
    note_extremes,
    squared_distance,
    update_learning_rate,
)
from swordplay.engine.rounds import (
    kept_prediction,
    kept_row_products,
    learner_at,
    make_rows,
    of_dense,
    of_sparse,
    overflows,
    predict_one,
)
from swordplay.engine.scalar_functions import (
    columns_of,
    expert_rows,
    loss_slope,
    loss_value,
    minimum,
)
from swordplay.engine.step_sizes import start_constant_steps

__all__ = ["learn_one", "play_dense", "play_each", "play_sparse", "predict_one"]


class SharedGradient(NamedTuple):
    """Numbers of a round that are the same for all experts."""

    slope: float
    """g_t = slope a."""
    squared_error: float
    """|g_t - g_{t-1}|^2."""
    prediction: float
    """<a, x_t>, less that of the centre."""
    least_cumulative: float
    """Least cumulative loss, subtracted from all of them."""
    decay: float
    """Factor of the cumulative losses."""
    movement_charge: float
    """2L: price of a squared movement."""
    radius: float


def make_round(row_products: Any, predict: Any, keep_row: Any) -> Any:
    """Return the inline function of a round of Sword++, as ``rounds.make_round`` does.

    Parameters
    ----------
    row_products
        ``(learner, row) -> RowProducts``.
    predict
        ``(learner, products, row)``: sets the predictions of all experts, and returns their
        weighted sum <a, x_t> less the prediction of the centre.
    keep_row
        ``(learner, products, row, smallest scale)``: makes the row the last row.
    """

    @inline
    def play_round(learner: LearnerArrays, row: Any, target: float) -> tuple[bool, float, float]:
        """Play a round; return whether it was played, the prediction and its loss."""
        scalars, settings = learner.scalars, learner.settings
        n, e = columns_of(learner), expert_rows(learner)
        products = row_products(learner, row)
        if overflows(learner, products, target):
            return False, math.nan, math.nan
        centered = predict(learner, products, row)  # <a, x_t - c>
        prediction = centered + products.offset
        kind, threshold = int(settings[SETTING.loss]), settings[SETTING.threshold]
        weight = scalars[SCALAR.loss_weight]
        loss = weight * loss_value(kind, threshold, prediction, target)
        if scalars[SCALAR.rounds] == 0.0:
            start_constant_steps(learner)
        slope = weight * loss_slope(kind, threshold, prediction, target)
        # replayed_slope is that of g_{t-1}
        squared_error = squared_distance(slope, scalars[SCALAR.replayed_slope], products)
        error_range = optimism_error_range(n, slope, e)
        restarts = update_learning_rate(
            scalars, settings, 0.25 * error_range * error_range, squared_error
        )
        gradient = SharedGradient(
            slope,
            squared_error,
            centered,
            scalars[SCALAR.least_cumulative],
            settings[SETTING.decay],
            settings[SETTING.movement_charge],
            settings[SETTING.domain_size],
        )
        least_cumulative, least_expected, smallest_scale = step_and_charge(n, gradient, products, e)
        scalars[SCALAR.least_cumulative] = least_cumulative
        scalars[SCALAR.replayed_slope] = slope
        if restarts:  # only the optimism remains
            learner.experts[EXPERT.cumulative] = 0.0
            scalars[SCALAR.least_cumulative] = 0.0
            least_expected = minimum(n, e.optimism)
        hedge_weights(learner, least_expected)
        note_extremes(scalars, products)
        scalars[SCALAR.rounds] += 1.0
        scalars[SCALAR.has_prediction] = 0.0
        keep_row(learner, products, row, smallest_scale)
        return True, prediction, loss

    return play_round


@expert_loop
def optimism_error_range(n: int, slope: float, e: ExpertRows) -> float:
    """Range of l_i - m_i over the experts, with the losses l_i = <g_t, x_i> + movement cost."""
    highest, lowest = -math.inf, math.inf
    for i in range(n):
        error = slope * e.prediction[i] + e.movement_cost[i] - e.optimism[i]
        highest, lowest = larger(highest, error), smaller(lowest, error)
    return highest - lowest


@expert_loop
def step_and_charge(
    n: int, g: SharedGradient, row: RowProducts, e: ExpertRows
) -> tuple[float, float, float]:
    """Certificate sums, losses, both projected steps, movement costs and optimism of all experts.

    Returns the least cumulative loss, the least sum of cumulative loss and optimism, and the
    smallest scale.
    """
    least_cumulative, least_expected, smallest_scale = math.inf, math.inf, math.inf
    slope, radius, a_a = g.slope, g.radius, row.squared_norm
    limit = radius * radius
    for i in range(n):
        eta = e.eta[i]
        e.squared_error_sum[i] += g.squared_error
        e.linear_regret[i] += slope * (g.prediction - e.prediction[i])  # <g_t, x_t - x_{t,i}>
        e.step_cost[i] += 0.5 * (eta * g.squared_error - e.inverse_step[i] * e.squared_lookahead[i])
        # L_t = decay L_{t-1} + l_t, less a constant
        loss = slope * e.prediction[i] + e.movement_cost[i]
        cumulative = g.decay * (e.cumulative[i] - g.least_cumulative) + loss
        e.cumulative[i] = cumulative
        least_cumulative = smaller(least_cumulative, cumulative)

        # xhat_{t+1} = sigma (xhat_t - k a). The coordinates would change by a multiple of a: only
        # the factor is kept, in pending_update.
        k, old_square, old_product = eta * slope, e.squared_norm[i], e.base_prediction[i]
        moved_square = larger(old_square - 2.0 * k * old_product + k * k * a_a, 0.0)
        sigma = radius / math.sqrt(moved_square) if moved_square > limit else 1.0
        scale = e.scale[i] * sigma
        e.pending_update[i] = -k * e.inverse_scale[i]
        e.scale[i] = scale
        e.inverse_scale[i] = 1.0 / scale
        smallest_scale = smaller(smallest_scale, scale)
        base_square = smaller(moved_square, limit)
        product = sigma * (old_product - k * a_a)  # <a, xhat_{t+1}>

        # x_{t+1} = tau (xhat_{t+1} - k a). With k = 0 there is no step: nothing is projected, even
        # if rounding has put the base point just outside.
        ahead_square = base_square - 2.0 * k * product + k * k * a_a
        tau = radius / math.sqrt(ahead_square) if ahead_square > limit and k != 0.0 else 1.0
        tau_k, change = tau * k, tau - 1.0

        # |x_{t+1} - x_t|^2 with x_{t+1} - x_t = along xhat_t - across a + left a'
        along = tau * sigma - e.lookahead_scale[i]
        across = tau * sigma * k + tau_k
        left = e.lookahead_step[i]
        squares = (
            along * along * old_square + across * across * a_a + left * left * row.last_squared_norm
        )
        mixed = (
            along * (left * e.last_base_prediction[i] - across * old_product)
            - across * left * row.dot_last
        )
        movement_cost = g.movement_charge * larger(squares + 2.0 * mixed, 0.0)

        e.squared_norm[i] = base_square
        e.max_squared_norm[i] = larger(e.max_squared_norm[i], base_square)
        e.lookahead_scale[i] = tau
        e.lookahead_step[i] = tau_k
        e.expected_slope[i] = slope
        # |x_{t+1} - xhat_{t+1}|^2
        e.squared_lookahead[i] = larger(
            change * change * base_square - 2.0 * change * tau_k * product + tau_k * tau_k * a_a,
            0.0,
        )
        e.last_base_prediction[i] = product
        e.movement_cost[i] = movement_cost
        optimism = slope * (tau * product - tau_k * a_a) + movement_cost
        e.optimism[i] = optimism
        least_expected = smaller(least_expected, cumulative + optimism)
    return least_cumulative, least_expected, smallest_scale


dense_round = make_round(ball.row_products, ball.predict, ball.keep_row)
sparse_round = make_round(ball.sparse_row_products, ball.predict_sparse, ball.keep_sparse_row)
round_after_prediction = make_round(kept_row_products, kept_prediction, ball.keep_row)

play_dense_rows = make_rows(of_dense(dense_round))
play_sparse_rows = make_rows(of_sparse(sparse_round))


@kernel
def play_dense(
    learner: LearnerArrays, rows: Matrix, targets: Vector, schedule: Matrix, outputs: RoundOutputs
) -> int:
    """Play dense rows."""
    return int(play_dense_rows(learner, rows, targets, schedule, rows[:0], outputs))


@kernel
def play_sparse(
    learner: LearnerArrays,
    rows: SparseRows,
    targets: Vector,
    schedule: Matrix,
    outputs: RoundOutputs,
) -> int:
    """Play sparse rows, in time proportional to their non-zero entries."""
    return int(play_sparse_rows(learner, rows, targets, schedule, schedule[:0], outputs))


@kernel
def learn_one(learner: LearnerArrays, row: Vector, target: float) -> float:
    """Play one round; return its loss, or NaN, with nothing changed, if it overflows."""
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
    """Let learners ``first`` to ``stop`` play dense rows of their own.

    ``played`` receives the number of rounds of each learner.
    """
    for k in range(first, stop):
        empty = rows[k][:0]  # no schedule, no deferred rows, no decisions and no weights
        learner = learner_at(learners, k, empty.shape[1])
        outputs = RoundOutputs(predictions[k], losses[k], empty, empty)
        played[k] = play_dense_rows(learner, rows[k], targets[k], empty, empty, outputs)
