"""The order of a round, and the kernels that Python calls to play rounds.

A kernel returns how many rounds it played. Fewer than it was given means that the next one would
have overflowed; that round has changed nothing.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import inline, kernel
from swordplay.core.types import Matrix, Vector
from swordplay.engine import (
    ball,
    ball_sparse,
    ball_steps,
    foresight,
    heading,
    points,
)
from swordplay.engine.adapting import track_distance, track_dual_norm
from swordplay.engine.growth import fork_numbers, is_growing
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, Arrays, Products
from swordplay.engine.meta import judge, watch
from swordplay.engine.rates import update_trust
from swordplay.engine.scalar import phi
from swordplay.engine.succession import (
    follow,
    make_rows,
    make_single,
    make_sparse_rows,
    make_stream,
)
from swordplay.engine.weights import normalise_weights, weigh

LARGEST_SQUARE = 1e150
"""A squared gradient beyond this could overflow once steps multiply it.

Losses of that size are mistakes.
"""


def make_round(
    measure: Any,
    predict: Any,
    move: Any,
    fork: Any,
    keep: Any,
    track_distance: Any = track_dual_norm,
    lean: Any = heading.stay,
) -> Any:
    """Return the round of one kind of points and features; its parts run in this order.

    Parameters
    ----------
    measure
        ``(me, features) -> Products``.
    predict
        ``(me, products, features)`` -> the weighted sum of <a, x_i>, less the centre's.
    move
        ``(me, products, features, target)`` -> the smallest scale: both steps of every expert.
    fork
        The same arguments: points for experts that have just joined.
    keep
        ``(me, products, features, smallest scale)``: make these features the last ones.
    track_distance
        ``(me)``: how far experts have been.
    lean
        ``(me, smallest scale)``: what the certificate keeps of the move, where it keeps vectors.
    """

    @inline
    def play_round(me: Arrays, features: Any, target: float) -> tuple[bool, float, float]:
        """Whether the round was played, its prediction and its loss."""
        live, config = me.live, me.config
        of = measure(me, features)
        if overflows(me, of, target):
            return False, math.nan, math.nan
        centered = predict(me, of, features)
        prediction = centered + of.offset
        loss = live[LIVE.weight] * phi(
            int(config[CONFIG.loss]), config[CONFIG.threshold], prediction, target
        )
        h = judge(me, of, centered, target)
        update_trust(live, config, of, h)  # early: its exponential then overlaps with the moves
        smallest = move(me, of, features, target)
        live[LIVE.rounds] += 1.0
        while is_growing(live, config):
            fork_numbers(me.numbers, live, config)
            fork(me, of, features, target)
        weigh(me, of, target)
        watch(live, of)
        live[LIVE.prepared] = 0.0
        keep(me, of, features, smallest)
        track_distance(me)  # after norms that had shrunk were measured
        lean(me, smallest)
        return True, prediction, loss

    return play_round


@inline
def overflows(me: Arrays, of: Products, target: float) -> bool:
    """Whether the squared gradient of an expert could overflow double precision, or is NaN."""
    reach = abs(target) + abs(of.offset) + me.config[CONFIG.size] * math.sqrt(of.norm)
    gradient = me.live[LIVE.weight] * reach
    return not (gradient * gradient * of.norm < LARGEST_SQUARE and of.norm < LARGEST_SQUARE)


_BALL: dict[str, Any] = {
    "move": ball_steps.move,
    "fork": ball_steps.fork,
    "lean": heading.lean,
}
dense_round = make_round(ball.measure, ball.predict, keep=ball.keep, **_BALL)
sparse_round = make_round(ball_sparse.measure, ball_sparse.predict, keep=ball_sparse.keep, **_BALL)
points_round = make_round(
    ball.measure,
    points.predict,
    points.move,
    points.fork,
    points.keep,
    track_distance=track_distance,
)
foreseen_round = make_round(foresight.measure, foresight.predict, keep=ball.keep, **_BALL)

dense_rows, points_rows = (
    make_rows(ball.decide, dense_round),
    make_rows(points.decide, points_round),
)
sparse_rows, single, stream = (
    make_sparse_rows(sparse_round),
    make_single(foreseen_round),
    make_stream(dense_round),
)


@inline
def hear(me: Arrays, asked: Matrix, t: int) -> None:
    """How many rounds ago a row was asked, and what the decision and every expert said then.

    0 rounds for any other row.
    """
    if t < len(asked) and asked[t, 0] > 0.0:
        experts = asked.shape[1] - 2
        me.live[LIVE.late], me.live[LIVE.asked] = asked[t, 0], asked[t, 1]
        for i in range(me.numbers.shape[1]):  # padded columns are copies of the last expert
            me.numbers[EXPERT.asked, i] = asked[t, 2 + min(i, experts - 1)]


@inline
def play_planned(
    me: Arrays,
    features: Matrix,
    targets: Vector,
    schedule: Matrix,
    asked: Matrix,
    predictions: Vector,
) -> int:
    """Dense rows on a ball whose rounds are all planned; only the predictions are kept."""
    for t in range(len(targets)):
        weight = me.live[LIVE.weight]
        follow(me.live, me.config, schedule, t)
        hear(me, asked, t)
        played, predictions[t], _ = dense_round(me, features[t], targets[t])
        if not played:
            me.live[LIVE.weight], me.live[LIVE.late] = weight, 0.0
            normalise_weights(me)
            return t
    normalise_weights(me)
    return len(targets)


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
    """Dense rows on a ball. ``decisions`` and ``weights`` are filled as far as they have rows."""
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
    """Sparse rows on a ball: cost in proportion to their non-zeros.

    ``last_indices`` says where the last features lie.
    """
    me = Arrays(coords, numbers, vectors, live, config)
    rows = values, indices, starts, last_indices, targets
    return int(sparse_rows(me, *rows, schedule, predictions, losses, decisions, weights))


@kernel
def play_points(
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
    """Dense rows on a simplex or a box."""
    me = Arrays(coords, numbers, vectors, live, config)
    return int(
        points_rows(me, features, targets, schedule, predictions, losses, decisions, weights)
    )


@kernel
def predict_one(
    coords: Matrix, numbers: Matrix, vectors: Matrix, live: Vector, config: Vector, features: Vector
) -> float:
    """The prediction for a row on a ball; what it computed waits for ``learn_one``."""
    me = Arrays(coords, numbers, vectors, live, config)
    of = ball.measure(me, features)
    if not of.norm < math.inf:
        live[LIVE.prepared] = 0.0
        return math.nan
    centered = ball.predict(me, of, features)
    foresight.prepare(me, of, centered, features)
    return float(centered + of.offset)


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
    """One round on a ball; NaN if the row would overflow, and then nothing has changed.

    Returns the loss.
    """
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
    """Learners ``first`` to ``stop`` of a fleet, each on its own rows, on a ball.

    ``played`` counts their rounds.
    """
    for k in range(first, stop):
        me = Arrays(coords[k], numbers[k], vectors[k], lives[k], config)
        played[k] = stream(me, features[k], targets[k], predictions[k], losses[k])
