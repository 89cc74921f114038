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
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, Arrays, Products
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
    inverse: Any
    played: Any
    at_base: Any
    norm: Any
    farthest: Any
    alpha: Any
    gamma: Any
    scale: Any
    unscale: Any
    coefficient: Any
    replay: Any
    lead: Any
    turned: Any
    charge: Any
    guess: Any
    energy: Any
    advantage: Any
    drift: Any
    cumulative: Any


@inline
def expert_rows(numbers: Matrix) -> ExpertRows:
    """Views of the rows of ``numbers``."""
    return ExpertRows(
        numbers[EXPERT.eta],
        numbers[EXPERT.inverse],
        numbers[EXPERT.played],
        numbers[EXPERT.at_base],
        numbers[EXPERT.norm],
        numbers[EXPERT.farthest],
        numbers[EXPERT.alpha],
        numbers[EXPERT.gamma],
        numbers[EXPERT.scale],
        numbers[EXPERT.unscale],
        numbers[EXPERT.coefficient],
        numbers[EXPERT.replay],
        numbers[EXPERT.lead],
        numbers[EXPERT.turned],
        numbers[EXPERT.charge],
        numbers[EXPERT.guess],
        numbers[EXPERT.energy],
        numbers[EXPERT.advantage],
        numbers[EXPERT.drift],
        numbers[EXPERT.cumulative],
    )


def make_round(measure: Any, predict: Any, keep: Any) -> Any:
    """Return the round of Sword++ for one kind of features.

    Parameters
    ----------
    measure
        ``(me, features) -> Products``.
    predict
        ``(me, products, features)`` -> the weighted sum of <a, x_i>, relative to the centre.
    keep
        ``(me, products, features, smallest scale)``: store the features for the next round.
    """

    @inline
    def play_round(me: Arrays, features: Any, target: float) -> tuple[bool, float, float]:
        """Play a round; return whether it was played, its prediction and its loss."""
        live, config, n = me.live, me.config, columns_of(me.numbers)
        of = measure(me, features)
        if overflows(me, of, target):
            return False, math.nan, math.nan
        centered = predict(me, of, features)
        prediction = centered + of.offset
        kind, threshold = int(config[CONFIG.loss]), config[CONFIG.threshold]
        loss = live[LIVE.weight] * phi(kind, threshold, prediction, target)
        if live[LIVE.rounds] == 0.0:
            begin(me)
        h = live[LIVE.weight] * slope(kind, threshold, prediction, target)
        error = distance(h, live[LIVE.candidate], of)
        gradient = SharedGradient(
            h,
            error,
            centered,
            live[LIVE.smallest],
            config[CONFIG.retention],
            config[CONFIG.charge],
            config[CONFIG.size],
        )
        experts = expert_rows(me.numbers)
        spread = optimism_error(n, h, experts)
        starts_afresh = update_learning_rate(live, config, 0.25 * spread * spread, error)
        live[LIVE.smallest], hoped, smallest_scale = step_and_charge(n, gradient, of, experts)
        live[LIVE.candidate] = h
        if starts_afresh:  # only the optimism is left
            me.numbers[EXPERT.cumulative] = 0.0
            live[LIVE.smallest] = 0.0
            hoped = least(n, me.numbers[EXPERT.guess])
        share(me, hoped, live[LIVE.rate])
        watch(live, of)
        live[LIVE.rounds] += 1.0
        live[LIVE.prepared] = 0.0
        keep(me, of, features, smallest_scale)
        return True, prediction, loss

    return play_round


@expert_loop
def optimism_error(n: int, h: float, e: ExpertRows) -> float:
    """Range of l_i - m_i over the experts, with the losses l_i = <g_t, x_i> + movement cost."""
    high, low = -math.inf, math.inf
    for i in range(n):
        wrong = h * e.played[i] + e.charge[i] - e.guess[i]
        high, low = larger(high, wrong), smaller(low, wrong)
    return high - low


@expert_loop
def step_and_charge(
    n: int, g: SharedGradient, row: Products, e: ExpertRows
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
        e.energy[i] += g.error
        e.advantage[i] += h * (g.prediction - e.played[i])  # <g_t, x_t - x_{t,i}>
        e.drift[i] += 0.5 * (eta * g.error - e.inverse[i] * e.lead[i])
        loss = h * e.played[i] + e.charge[i]
        so_far = g.retention * (e.cumulative[i] - g.least) + loss
        e.cumulative[i] = so_far
        smallest = smaller(smallest, so_far)
        # xhat_{t+1} = sigma (xhat_t - k a): W changes by a multiple of a, which stays pending.
        k, norm, at = eta * h, e.norm[i], e.at_base[i]
        once = larger(norm - 2.0 * k * at + k * k * row.norm, 0.0)
        sigma = radius / math.sqrt(once) if once > limit else 1.0
        scale = e.scale[i] * sigma
        e.coefficient[i] = -k * e.unscale[i]
        e.scale[i] = scale
        e.unscale[i] = 1.0 / scale
        smallest_scale = smaller(smallest_scale, scale)
        base = smaller(once, limit)
        now = sigma * (at - k * row.norm)  # <a, xhat_{t+1}>
        # x_{t+1} = tau (xhat_{t+1} - k a). A base point on the sphere may lie outside it by
        # rounding; a step of length 0 is not projected.
        twice = base - 2.0 * k * now + k * k * row.norm
        tau = radius / math.sqrt(twice) if twice > limit and k != 0.0 else 1.0
        gone, back = tau * k, tau - 1.0
        # norm(x_{t+1} - x_t)^2
        along, across, left = tau * sigma - e.alpha[i], tau * sigma * k + gone, e.gamma[i]
        squares = along * along * norm + across * across * row.norm + left * left * row.last_norm
        crossed = along * (left * e.turned[i] - across * at) - across * left * row.cross
        cost = g.charge * larger(squares + 2.0 * crossed, 0.0)
        e.norm[i] = base
        e.farthest[i] = larger(e.farthest[i], base)
        e.alpha[i] = tau
        e.gamma[i] = gone
        e.replay[i] = h
        e.lead[i] = larger(
            back * back * base - 2.0 * back * gone * now + gone * gone * row.norm, 0.0
        )
        e.turned[i] = now
        e.charge[i] = cost
        m = h * (tau * now - gone * row.norm) + cost
        e.guess[i] = m
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
    me = Arrays(coords, numbers, vectors, live, config)
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
    me = Arrays(coords, numbers, vectors, live, config)
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
    me = Arrays(coords, numbers, vectors, live, config)
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
        me = Arrays(coords[k], numbers[k], vectors[k], lives[k], config)
        played[k] = stream(me, features[k], targets[k], predictions[k], losses[k])
