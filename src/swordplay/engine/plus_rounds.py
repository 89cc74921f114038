"""The rounds of Sword++ and the kernels that Python calls to play some: as ``rounds``, and by
the same names.
"""

from __future__ import annotations

from typing import Any

from swordplay.compile import kernel
from swordplay.core.types import Matrix, Vector
from swordplay.engine import ball, ball_sparse, foresight, plus_form, plus_plus, plus_sum
from swordplay.engine.layout import Arrays
from swordplay.engine.rounds import make_round, predict_one
from swordplay.engine.succession import make_rows, make_single, make_sparse_rows, make_stream

__all__ = ["learn_one", "play_dense", "play_fleet", "play_sparse", "predict_one"]

_PLUS: dict[str, Any] = {
    "move": plus_plus.moved,
    "fork": plus_plus.stay,
    "judge": plus_plus.judge,
    "weigh": plus_plus.weighed,
    "venture": plus_plus.ventured,
}
dense_round = make_round(ball.measure, ball.predict, keep=ball.keep, **_PLUS)
sum_round = make_round(
    plus_sum.measure, plus_sum.predict, keep=plus_sum.keep, **(_PLUS | {"judge": plus_sum.judge})
)
sparse_round = make_round(ball_sparse.measure, ball_sparse.predict, keep=ball_sparse.keep, **_PLUS)
foreseen_round = make_round(foresight.measure, foresight.predict, keep=ball.keep, **_PLUS)

sum_rows, sparse_rows = make_rows(plus_sum.decide, sum_round), make_sparse_rows(sparse_round)
single, stream = make_single(foreseen_round), make_stream(dense_round)


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
    """Dense rows. ``decisions`` and ``weights`` are filled as far as they have rows."""
    me = Arrays(coords, numbers, vectors, live, config)
    plus_form.begin(me)
    count = sum_rows(me, features, targets, schedule, predictions, losses, decisions, weights)
    plus_form.settle(me)
    plus_plus.finish(me)
    return int(count)


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
    """Sparse rows: cost in proportion to their non-zeros.

    ``last_indices`` says where the last features lie.
    """
    me = Arrays(coords, numbers, vectors, live, config)
    rows = values, indices, starts, last_indices, targets
    count = sparse_rows(me, *rows, schedule, predictions, losses, decisions, weights)
    plus_plus.finish(me)
    return int(count)


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
    """One round; NaN if the row would overflow, and then nothing has changed. Returns the loss."""
    me = Arrays(coords, numbers, vectors, live, config)
    loss = single(me, features, target)
    plus_plus.finish(me)
    return float(loss)


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
    """Learners ``first`` to ``stop`` of a fleet, each on its own rows.

    ``played`` counts their rounds.
    """
    for k in range(first, stop):
        me = Arrays(coords[k], numbers[k], vectors[k], lives[k], config)
        played[k] = stream(me, features[k], targets[k], predictions[k], losses[k])
        plus_plus.finish(me)
