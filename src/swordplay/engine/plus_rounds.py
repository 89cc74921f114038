"""The rounds of Sword++ and the kernels that Python calls to play some: as ``rounds``, and by the same names."""

from __future__ import annotations

from typing import Any

from swordplay.base.compiling import kernel
from swordplay.base.types import Matrix, Vector
from swordplay.engine import ball, ball_sparse, foresight, plus_plus
from swordplay.engine.ball_sparse import Entries
from swordplay.engine.layout import LIVE, Arrays
from swordplay.engine.rounds import follow, make_round, predict_one, write_weights

__all__ = ["learn_one", "play_dense", "play_fleet", "play_sparse", "predict_one"]

_PLUS: dict[str, Any] = {
    "move": plus_plus.move,
    "fork": plus_plus.stay,
    "judge": plus_plus.judge,
    "weigh": plus_plus.weigh,
}
dense_round = make_round(ball.measure, ball.predict, keep=ball.keep, **_PLUS)
sparse_round = make_round(ball_sparse.measure, ball_sparse.predict, keep=ball_sparse.keep, **_PLUS)
foreseen_round = make_round(foresight.measure, foresight.predict, keep=ball.keep, **_PLUS)


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
    for t in range(len(targets)):
        if t < len(decisions):
            ball.decide(me, decisions[t])
        write_weights(me, weights, t)
        follow(live, config, schedule, t)
        played, predictions[t], losses[t] = dense_round(me, features[t], targets[t])
        if not played:
            return t
    return len(targets)


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
    """Sparse rows: cost in proportion to their non-zeros. ``last_indices`` says where the last features lie."""
    me = Arrays(coords, numbers, vectors, live, config)
    for t in range(len(targets)):
        if t < len(decisions):
            ball.decide(me, decisions[t])
        write_weights(me, weights, t)
        follow(live, config, schedule, t)
        before = last_indices if t == 0 else indices[starts[t - 1] : starts[t]]
        row = Entries(values[starts[t] : starts[t + 1]], indices[starts[t] : starts[t + 1]], before)
        played, predictions[t], losses[t] = sparse_round(me, row, targets[t])
        if not played:
            return t
    return len(targets)


@kernel
def learn_one(
    coords: Matrix, numbers: Matrix, vectors: Matrix, live: Vector, config: Vector, features: Vector, target: float
) -> float:
    """One round; NaN if the row would overflow, and then nothing has changed. Returns the loss."""
    me = Arrays(coords, numbers, vectors, live, config)
    played, _, loss = foreseen_round(me, features, target)
    if not played:
        live[LIVE.prepared] = 0.0
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
    """Learners ``first`` to ``stop`` of a fleet, each on its own rows; ``played`` counts their rounds."""
    for k in range(first, stop):
        me = Arrays(coords[k], numbers[k], vectors[k], lives[k], config)
        for t in range(targets.shape[1]):
            done, predictions[k, t], losses[k, t] = dense_round(me, features[k, t], targets[k, t])
            if not done:
                break
            played[k] = t + 1
