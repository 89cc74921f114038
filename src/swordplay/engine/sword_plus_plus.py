"""Sword++ on a ball in kernels: one shared gradient a round, and a meta that charges for movement.

Twin of ``SwordPlusPlus``. A round needs one gradient, g_t = h a, taken at the decision.
It moves every base point and is the optimism of experts and meta for the coming round, so that
norm(g_t - g_{t-1})^2 is one number for all experts. The meta adds the movement cost
2L norm(x_{t+1} - x_t)^2 to the losses and to the optimism. With k = eta h, a' the features of the
round before, and the points of ``ball``, xhat_{t+1} = sigma (xhat_t - k a) and
x_t = alpha xhat_t - gamma a',

    x_{t+1} - x_t = (tau sigma - alpha) xhat_t - (tau sigma k + tau k) a + gamma a',

where sigma and tau are the factors of the two projections. The squared norm is a quadratic form of
products that are known: <a', xhat_t> is stored by the round before.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from swordplay.compile import expert_loop, inline, kernel, larger, smaller
from swordplay.core.types import Matrix, Vector
from swordplay.engine import ball
from swordplay.engine.layout import EXPERT, SCALAR, SETTING, LearnerArrays, RowProducts
from swordplay.engine.meta import distance, share, update_learning_rate, watch
from swordplay.engine.rounds import (
    make_rows,
    make_single,
    make_sparse_rows,
    make_stream,
    measure_prepared,
    overflows,
    predict_one,
    predict_prepared,
)
from swordplay.engine.scalar_functions import columns_of, least, phi, slope
from swordplay.engine.step_sizes import begin

__all__ = ["learn_one", "play_dense", "play_fleet", "play_sparse", "predict_one"]


class SharedGradient(NamedTuple):
    """Numbers of a round that are the same for all experts."""

    h: float
    """g_t = h a."""
    error: float
    """norm(g_t - g_{t-1})^2."""
    prediction: float
    """<a, x_t>."""
    least: float
    """The smallest cumulative loss, taken off all of them."""
    retention: float
    """The share of the cumulative losses that is kept."""
    charge: float
    """2L: the meta's price of a squared distance."""
    radius: float
    """Of the ball."""


class ExpertRows(NamedTuple):
    """The rows of ``numbers`` that a round reads and writes, by their names in ``EXPERT``."""

    eta: Any
    inverse_step: Any
    prediction: Any
    base_prediction: Any
    squared_norm: Any
    max_squared_norm: Any
    lookahead_scale: Any
    lookahead_step: Any
    scale: Any
    inverse_scale: Any
    pending_update: Any
    field_slope: Any
    squared_lookahead: Any
    last_base_product: Any
    movement_cost: Any
    optimism: Any
    squared_error_sum: Any
    linear_regret: Any
    step_cost: Any
    cumulative: Any


@inline
def expert_rows(numbers: Matrix) -> ExpertRows:
    """Views of the rows of ``numbers``."""
    return ExpertRows(
        numbers[EXPERT.eta],
        numbers[EXPERT.inverse_step],
        numbers[EXPERT.prediction],
        numbers[EXPERT.base_prediction],
        numbers[EXPERT.squared_norm],
        numbers[EXPERT.max_squared_norm],
        numbers[EXPERT.lookahead_scale],
        numbers[EXPERT.lookahead_step],
        numbers[EXPERT.scale],
        numbers[EXPERT.inverse_scale],
        numbers[EXPERT.pending_update],
        numbers[EXPERT.field_slope],
        numbers[EXPERT.squared_lookahead],
        numbers[EXPERT.last_base_product],
        numbers[EXPERT.movement_cost],
        numbers[EXPERT.optimism],
        numbers[EXPERT.squared_error_sum],
        numbers[EXPERT.linear_regret],
        numbers[EXPERT.step_cost],
        numbers[EXPERT.cumulative],
    )


def make_round(measure: Any, predict: Any, keep: Any) -> Any:
    """Return the round of Sword++ for one kind of features.

    Parameters
    ----------
    measure
        ``(me, features) -> RowProducts``.
    predict
        ``(me, products, features)`` -> the weighted sum of <a, x_i>, relative to the centre.
    keep
        ``(me, products, features, smallest scale)``: store the features for the next round.
    """

    @inline
    def play_round(me: LearnerArrays, features: Any, target: float) -> tuple[bool, float, float]:
        """Play a round; return whether it was played, its prediction and its loss."""
        live, config, n = me.scalars, me.settings, columns_of(me.experts)
        of = measure(me, features)
        if overflows(me, of, target):
            return False, math.nan, math.nan
        centered = predict(me, of, features)
        prediction = centered + of.offset
        kind, threshold = int(config[SETTING.loss]), config[SETTING.threshold]
        loss = live[SCALAR.loss_weight] * phi(kind, threshold, prediction, target)
        if live[SCALAR.rounds] == 0.0:
            begin(me)
        h = live[SCALAR.loss_weight] * slope(kind, threshold, prediction, target)
        error = distance(h, live[SCALAR.field_slope], of)
        gradient = SharedGradient(
            h,
            error,
            centered,
            live[SCALAR.least_cumulative],
            config[SETTING.decay],
            config[SETTING.movement_charge],
            config[SETTING.domain_size],
        )
        experts = expert_rows(me.experts)
        spread = optimism_error(n, h, experts)
        starts_afresh = update_learning_rate(live, config, 0.25 * spread * spread, error)
        live[SCALAR.least_cumulative], hoped, smallest_scale = step_and_charge(
            n, gradient, of, experts
        )
        live[SCALAR.field_slope] = h
        if starts_afresh:  # only the optimism is left
            me.experts[EXPERT.cumulative] = 0.0
            live[SCALAR.least_cumulative] = 0.0
            hoped = least(n, me.experts[EXPERT.optimism])
        share(me, hoped, live[SCALAR.learning_rate])
        watch(live, of)
        live[SCALAR.rounds] += 1.0
        live[SCALAR.has_prediction] = 0.0
        keep(me, of, features, smallest_scale)
        return True, prediction, loss

    return play_round


@expert_loop
def optimism_error(n: int, h: float, e: ExpertRows) -> float:
    """Range of l_i - m_i over the experts, with the losses l_i = <g_t, x_i> + movement cost."""
    high, low = -math.inf, math.inf
    for i in range(n):
        wrong = h * e.prediction[i] + e.movement_cost[i] - e.optimism[i]
        high, low = larger(high, wrong), smaller(low, wrong)
    return high - low


@expert_loop
def step_and_charge(
    n: int, g: SharedGradient, row: RowProducts, e: ExpertRows
) -> tuple[float, float, float]:
    """Certificate sums, losses, both projected steps, movement costs and optimism of all experts.

    Returns the smallest cumulative loss, the smallest sum of it and the optimism, and the smallest
    scale.
    """
    smallest, hoped, smallest_scale = math.inf, math.inf, math.inf
    h, radius = g.h, g.radius
    limit = radius * radius
    for i in range(n):
        eta = e.eta[i]
        e.squared_error_sum[i] += g.error
        e.linear_regret[i] += h * (g.prediction - e.prediction[i])  # <g_t, x_t - x_{t,i}>
        e.step_cost[i] += 0.5 * (eta * g.error - e.inverse_step[i] * e.squared_lookahead[i])
        loss = h * e.prediction[i] + e.movement_cost[i]
        so_far = g.retention * (e.cumulative[i] - g.least) + loss
        e.cumulative[i] = so_far
        smallest = smaller(smallest, so_far)
        # xhat_{t+1} = sigma (xhat_t - k a): W changes by a multiple of a, which stays pending.
        k, norm, at = eta * h, e.squared_norm[i], e.base_prediction[i]
        once = larger(norm - 2.0 * k * at + k * k * row.squared_norm, 0.0)
        sigma = radius / math.sqrt(once) if once > limit else 1.0
        scale = e.scale[i] * sigma
        e.pending_update[i] = -k * e.inverse_scale[i]
        e.scale[i] = scale
        e.inverse_scale[i] = 1.0 / scale
        smallest_scale = smaller(smallest_scale, scale)
        base = smaller(once, limit)
        now = sigma * (at - k * row.squared_norm)  # <a, xhat_{t+1}>
        # x_{t+1} = tau (xhat_{t+1} - k a). A base point on the sphere may lie outside it by
        # rounding; a step of length 0 is not projected.
        twice = base - 2.0 * k * now + k * k * row.squared_norm
        tau = radius / math.sqrt(twice) if twice > limit and k != 0.0 else 1.0
        gone, back = tau * k, tau - 1.0
        # norm(x_{t+1} - x_t)^2
        along, across, left = (
            tau * sigma - e.lookahead_scale[i],
            tau * sigma * k + gone,
            e.lookahead_step[i],
        )
        squares = (
            along * along * norm
            + across * across * row.squared_norm
            + left * left * row.last_squared_norm
        )
        crossed = (
            along * (left * e.last_base_product[i] - across * at) - across * left * row.dot_last
        )
        cost = g.charge * larger(squares + 2.0 * crossed, 0.0)
        e.squared_norm[i] = base
        e.max_squared_norm[i] = larger(e.max_squared_norm[i], base)
        e.lookahead_scale[i] = tau
        e.lookahead_step[i] = gone
        e.field_slope[i] = h
        e.squared_lookahead[i] = larger(
            back * back * base - 2.0 * back * gone * now + gone * gone * row.squared_norm, 0.0
        )
        e.last_base_product[i] = now
        e.movement_cost[i] = cost
        m = h * (tau * now - gone * row.squared_norm) + cost
        e.optimism[i] = m
        hoped = smaller(hoped, so_far + m)
    return smallest, hoped, smallest_scale


dense_round = make_round(ball.measure, ball.predict, ball.keep)
sparse_round = make_round(ball.measure_sparse, ball.predict_sparse, ball.keep_sparse)
foreseen_round = make_round(measure_prepared, predict_prepared, ball.keep)

dense_rows = make_rows(ball.decide, dense_round)
sparse_rows = make_sparse_rows(sparse_round)
single = make_single(foreseen_round)
stream = make_stream(dense_round)


@kernel
def play_dense(
    coords: Matrix,
    numbers: Matrix,
    vectors: Matrix,
    live: Vector,
    config: Vector,
    features: Matrix,
    targets: Vector,
    schedule: Matrix,
    predictions: Vector,
    losses: Vector,
    decisions: Matrix,
    weights: Matrix,
) -> int:
    """Play dense rows; ``decisions`` and ``weights`` are filled as far as they have rows."""
    me = LearnerArrays(coords, numbers, vectors, live, config)
    return int(dense_rows(me, features, targets, schedule, predictions, losses, decisions, weights))


@kernel
def play_sparse(
    coords: Matrix,
    numbers: Matrix,
    vectors: Matrix,
    live: Vector,
    config: Vector,
    values: Vector,
    indices: Any,
    starts: Any,
    last_indices: Any,
    targets: Vector,
    schedule: Matrix,
    predictions: Vector,
    losses: Vector,
    decisions: Matrix,
    weights: Matrix,
) -> int:
    """Play sparse rows: the cost is in proportion to their non-zero entries.

    ``last_indices`` holds the places of the non-zero entries of the row before.
    """
    me = LearnerArrays(coords, numbers, vectors, live, config)
    rows = values, indices, starts, last_indices, targets
    return int(sparse_rows(me, *rows, schedule, predictions, losses, decisions, weights))


@kernel
def learn_one(
    coords: Matrix,
    numbers: Matrix,
    vectors: Matrix,
    live: Vector,
    config: Vector,
    features: Vector,
    target: float,
) -> float:
    """Play one round and return its loss; NaN, with nothing changed, if the row would overflow."""
    me = LearnerArrays(coords, numbers, vectors, live, config)
    return float(single(me, features, target))


@kernel
def play_fleet(
    coords: Any,
    numbers: Any,
    vectors: Any,
    lives: Matrix,
    config: Vector,
    features: Any,
    targets: Matrix,
    predictions: Matrix,
    losses: Matrix,
    played: Any,
    first: int,
    stop: int,
) -> None:
    """Play learners ``first`` to ``stop`` of a fleet, each on its own rows.

    ``played`` receives the number of rounds of each.
    """
    for k in range(first, stop):
        me = LearnerArrays(coords[k], numbers[k], vectors[k], lives[k], config)
        played[k] = stream(me, features[k], targets[k], predictions[k], losses[k])
