"""The order of a round, loops over rows, and the kernels that Python calls to play rounds.

A kernel returns how many rounds it played. Fewer than it was given means that the next one would
have overflowed; that round has changed nothing.

A row may be predicted before it is learned: the products of the prediction are then kept in the
learner's scratch until the target arrives.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.compile import inline, kernel
from swordplay.core.types import Matrix, Vector
from swordplay.engine import (
    ball,
    certificate_sum,
    explicit_points,
)
from swordplay.engine.ball import Entries
from swordplay.engine.layout import EXPERT, SCALAR, SETTING, VECTOR, LearnerArrays, RowProducts
from swordplay.engine.meta import judge, normalise_weights, update_trust, watch, weigh
from swordplay.engine.scalar_functions import phi
from swordplay.engine.step_sizes import fork_numbers, is_growing, track_distance, track_dual_norm

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
    lean: Any = certificate_sum.stay,
) -> Any:
    """Return the round of one kind of points and features; its parts run in this order.

    Parameters
    ----------
    measure
        ``(me, features) -> RowProducts``.
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
    def play_round(me: LearnerArrays, features: Any, target: float) -> tuple[bool, float, float]:
        """Whether the round was played, its prediction and its loss."""
        live, config = me.scalars, me.settings
        of = measure(me, features)
        if overflows(me, of, target):
            return False, math.nan, math.nan
        centered = predict(me, of, features)
        prediction = centered + of.offset
        loss = live[SCALAR.loss_weight] * phi(
            int(config[SETTING.loss]), config[SETTING.threshold], prediction, target
        )
        h = judge(me, of, centered, target)
        update_trust(live, config, of, h)  # early: its exponential then overlaps with the moves
        smallest = move(me, of, features, target)
        live[SCALAR.rounds] += 1.0
        while is_growing(live, config):
            fork_numbers(me.experts, live, config)
            fork(me, of, features, target)
        weigh(me, of, target)
        watch(live, of)
        live[SCALAR.has_prediction] = 0.0
        keep(me, of, features, smallest)
        track_distance(me)  # after norms that had shrunk were measured
        lean(me, smallest)
        return True, prediction, loss

    return play_round


@inline
def overflows(me: LearnerArrays, of: RowProducts, target: float) -> bool:
    """Whether the squared gradient of an expert could overflow double precision, or is NaN."""
    reach = (
        abs(target) + abs(of.offset) + me.settings[SETTING.domain_size] * math.sqrt(of.squared_norm)
    )
    gradient = me.scalars[SCALAR.loss_weight] * reach
    return not (
        gradient * gradient * of.squared_norm < LARGEST_SQUARE and of.squared_norm < LARGEST_SQUARE
    )


@inline
def follow(live: Vector, config: Vector, schedule: Matrix, t: int) -> None:
    """Take weight, threshold and domain size of a round from the schedule, if there is one."""
    if t < len(schedule):
        live[SCALAR.loss_weight] = schedule[t, 0]
        config[SETTING.threshold] = schedule[t, 1]
        if config[SETTING.domain_size] != schedule[t, 2]:
            live[SCALAR.steps_ready] = 0.0
        config[SETTING.domain_size] = schedule[t, 2]
        config[SETTING.diameter] = config[SETTING.diameter_per_size] * schedule[t, 2]


@inline
def write_weights(me: LearnerArrays, weights: Matrix, t: int) -> None:
    """Keep the weights of a round if there is room for them.

    What is not an expert yet stays at 0.
    """
    if t < len(weights):
        normalise_weights(me)
        for i in range(int(me.scalars[SCALAR.expert_count])):
            weights[t, i] = me.experts[EXPERT.weight, i]


def make_rows(decide: Any, play_round: Any) -> Any:
    """Dense rows in their order; ``decide(me, decision)`` writes what would be decided next."""

    @inline
    def play_rows(
        me: LearnerArrays,
        features: Matrix,
        targets: Vector,
        schedule: Matrix,
        predictions: Vector,
        losses: Vector,
        decisions: Matrix,
        weights: Matrix,
    ) -> int:
        """How many were played.

        ``decisions`` and ``weights`` are filled as far as they have rows.
        """
        for t in range(len(targets)):
            if t < len(decisions):
                decide(me, decisions[t])
            write_weights(me, weights, t)
            follow(me.scalars, me.settings, schedule, t)
            played, predictions[t], losses[t] = play_round(me, features[t], targets[t])
            if not played:
                normalise_weights(me)
                return t
        normalise_weights(me)
        return len(targets)

    return play_rows


def make_sparse_rows(play_round: Any) -> Any:
    """Sparse rows on a ball in their order: the cost is in proportion to their non-zeros."""

    @inline
    def play_sparse_rows(
        me: LearnerArrays,
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
        """How many were played.

        ``last_indices`` says where the features of the round before lie.
        """
        for t in range(len(targets)):
            if t < len(decisions):
                ball.decide(me, decisions[t])
            write_weights(me, weights, t)
            follow(me.scalars, me.settings, schedule, t)
            before = last_indices if t == 0 else indices[starts[t - 1] : starts[t]]
            row = Entries(
                values[starts[t] : starts[t + 1]], indices[starts[t] : starts[t + 1]], before
            )
            played, predictions[t], losses[t] = play_round(me, row, targets[t])
            if not played:
                normalise_weights(me)
                return t
        normalise_weights(me)
        return len(targets)

    return play_sparse_rows


def make_single(play_round: Any) -> Any:
    """One row whose prediction may have been asked for before."""

    @inline
    def play_single(me: LearnerArrays, features: Vector, target: float) -> float:
        """The loss; NaN if the row would overflow, and then nothing has changed."""
        played, _, loss = play_round(me, features, target)
        normalise_weights(me)
        if not played:
            me.scalars[SCALAR.has_prediction] = 0.0
        return float(loss)

    return play_single


def make_stream(play_round: Any) -> Any:
    """Dense rows of one learner of a fleet."""

    @inline
    def play_stream(
        me: LearnerArrays, features: Matrix, targets: Vector, predictions: Vector, losses: Vector
    ) -> int:
        """How many were played."""
        for t in range(len(targets)):
            played, predictions[t], losses[t] = play_round(me, features[t], targets[t])
            if not played:
                normalise_weights(me)
                return t
        normalise_weights(me)
        return len(targets)

    return play_stream


@inline
def prepare_row(me: LearnerArrays, of: RowProducts, prediction: float, features: Vector) -> None:
    """Leave what a prediction has computed for the round that will learn the same features."""
    live, under_way = me.scalars, me.vectors[VECTOR.predicted_row]
    (
        live[SCALAR.squared_norm],
        live[SCALAR.dot_last],
        live[SCALAR.dot_change],
        live[SCALAR.squared_change],
    ) = (
        of.squared_norm,
        of.dot_last,
        of.dot_change,
        of.squared_change,
    )
    live[SCALAR.offset], live[SCALAR.prediction] = of.offset, prediction
    for j in range(len(features)):
        under_way[j] = features[j]
    live[SCALAR.has_prediction] = 1.0


@inline
def check_prepared(me: LearnerArrays, features: Vector) -> None:
    """Forget what was prepared, unless it was for these features."""
    under_way = me.vectors[VECTOR.predicted_row]
    same = me.scalars[SCALAR.has_prediction] == 1.0
    for j in range(len(features)):
        same = same and under_way[j] == features[j]
    me.scalars[SCALAR.has_prediction] = 1.0 if same else 0.0


@inline
def measure_prepared(me: LearnerArrays, features: Vector) -> RowProducts:
    """The products that were prepared, or new ones."""
    check_prepared(me, features)
    live = me.scalars
    if live[SCALAR.has_prediction] == 1.0:
        return RowProducts(
            live[SCALAR.squared_norm],
            live[SCALAR.last_squared_norm],
            live[SCALAR.dot_last],
            live[SCALAR.dot_change],
            live[SCALAR.squared_change],
            live[SCALAR.offset],
        )
    return ball.measure(me, features)


@inline
def predict_prepared(me: LearnerArrays, of: RowProducts, features: Vector) -> float:
    """The prediction that was prepared, or a new one."""
    if me.scalars[SCALAR.has_prediction] == 1.0:
        return float(me.scalars[SCALAR.prediction])
    return float(ball.predict(me, of, features))


_BALL: dict[str, Any] = {
    "move": ball.move,
    "fork": ball.fork,
    "lean": certificate_sum.lean,
}
dense_round = make_round(ball.measure, ball.predict, keep=ball.keep, **_BALL)
sparse_round = make_round(ball.measure_sparse, ball.predict_sparse, keep=ball.keep_sparse, **_BALL)
points_round = make_round(
    ball.measure,
    explicit_points.predict,
    explicit_points.move,
    explicit_points.fork,
    explicit_points.keep,
    track_distance=track_distance,
)
foreseen_round = make_round(measure_prepared, predict_prepared, keep=ball.keep, **_BALL)

dense_rows, points_rows = (
    make_rows(ball.decide, dense_round),
    make_rows(explicit_points.decide, points_round),
)
sparse_rows, single, stream = (
    make_sparse_rows(sparse_round),
    make_single(foreseen_round),
    make_stream(dense_round),
)


@inline
def hear(me: LearnerArrays, asked: Matrix, t: int) -> None:
    """Set how many rounds ago a late row was predicted, and what was predicted then.

    A row of ``asked`` holds the rounds (0 for a row that is not late), the prediction of the
    decision, and those of all experts.
    """
    if t < len(asked) and asked[t, 0] > 0.0:
        experts = asked.shape[1] - 2
        me.scalars[SCALAR.rounds_late], me.scalars[SCALAR.deferred_prediction] = (
            asked[t, 0],
            asked[t, 1],
        )
        for i in range(me.experts.shape[1]):  # padded columns are copies of the last expert
            me.experts[EXPERT.deferred_prediction, i] = asked[t, 2 + min(i, experts - 1)]


@inline
def play_planned(
    me: LearnerArrays,
    features: Matrix,
    targets: Vector,
    schedule: Matrix,
    asked: Matrix,
    predictions: Vector,
) -> int:
    """Dense rows on a ball whose rounds are all planned; only the predictions are kept."""
    for t in range(len(targets)):
        weight = me.scalars[SCALAR.loss_weight]
        follow(me.scalars, me.settings, schedule, t)
        hear(me, asked, t)
        played, predictions[t], _ = dense_round(me, features[t], targets[t])
        if not played:
            me.scalars[SCALAR.loss_weight], me.scalars[SCALAR.rounds_late] = weight, 0.0
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
    """Sparse rows on a ball: cost in proportion to their non-zeros.

    ``last_indices`` says where the last features lie.
    """
    me = LearnerArrays(coords, numbers, vectors, live, config)
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
    me = LearnerArrays(coords, numbers, vectors, live, config)
    return int(
        points_rows(me, features, targets, schedule, predictions, losses, decisions, weights)
    )


@kernel
def predict_one(
    coords: Matrix, numbers: Matrix, vectors: Matrix, live: Vector, config: Vector, features: Vector
) -> float:
    """The prediction for a row on a ball; what it computed waits for ``learn_one``."""
    me = LearnerArrays(coords, numbers, vectors, live, config)
    of = ball.measure(me, features)
    if not of.squared_norm < math.inf:
        live[SCALAR.has_prediction] = 0.0
        return math.nan
    centered = ball.predict(me, of, features)
    prepare_row(me, of, centered, features)
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
    """Learners ``first`` to ``stop`` of a fleet, each on its own rows, on a ball.

    ``played`` counts their rounds.
    """
    for k in range(first, stop):
        me = LearnerArrays(coords[k], numbers[k], vectors[k], lives[k], config)
        played[k] = stream(me, features[k], targets[k], predictions[k], losses[k])
