"""Whole rounds: the kernels that Python calls.

Each returns how many rounds it played. Fewer than it was given means that the next one would have overflowed; that round
has changed nothing.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.base.compiling import kernel, part
from swordplay.base.types import Matrix, Vector
from swordplay.engine import ball, points
from swordplay.engine.layout import CONFIG, ETA, LAST, LIVE, LOG_PRIOR, ROWS, STEP, WEIGHT
from swordplay.engine.meta import judge, look_back, weigh
from swordplay.engine.scalar import phi

LARGEST_SQUARE = 1e150
"""A squared gradient beyond this could overflow once steps multiply it; losses of that size are mistakes."""


@part
def overflows(live: Vector, config: Vector, target: float) -> bool:
    """Whether some expert's squared gradient could pass what double precision can hold (or is NaN)."""
    reach = abs(target) + abs(live[LIVE.offset]) + config[CONFIG.size] * math.sqrt(live[LIVE.norm])
    gradient = live[LIVE.weight] * reach
    return not (gradient * gradient * live[LIVE.norm] < LARGEST_SQUARE and live[LIVE.norm] < LARGEST_SQUARE)


@part
def follow(live: Vector, config: Vector, schedule: Matrix, t: int) -> None:
    """What a round has of its own, where there is a schedule: weight, threshold of the Huber loss, size of the domain."""
    if t < len(schedule):
        live[LIVE.weight] = schedule[t, 0]
        config[CONFIG.threshold] = schedule[t, 1]
        config[CONFIG.size] = schedule[t, 2]
        config[CONFIG.diameter] = config[CONFIG.diameter_per_size] * schedule[t, 2]


@part
def is_growing(live: Vector, config: Vector) -> bool:
    """Whether the fastest multiplier is too slow for a comparator that moved in every round."""
    # 4 ** (n - 1) = 2 ** (experts - 2), as there are two experts for every multiplier.
    return bool(config[CONFIG.grows] == 1.0 and 1.0 + 2.0 * live[LIVE.rounds] > 2.0 ** (live[LIVE.experts] - 2.0))


@part
def fork_numbers(rows: Matrix, live: Vector) -> None:
    """Copy the last expert of either kind, double the copies' multipliers and share the weight by the new priors.

    Columns take turns: extra-gradient, descent, extra-gradient, ... so that a fork appends two columns.
    """
    experts = int(live[LIVE.experts])
    count = experts // 2
    for kind in range(2):
        parent, child = experts - 2 + kind, experts + kind
        for row in range(ROWS):
            rows[row, child] = rows[row, parent]
        rows[STEP, child] = 2.0 * rows[STEP, parent]
        rows[ETA, child] = 2.0 * rows[ETA, parent]
        # The last prior 1/n splits into 1/(n (n + 1)) and 1/(n + 1), half of each for either kind.
        rows[LOG_PRIOR, parent] = -math.log(2.0 * count * (count + 1.0))
        rows[LOG_PRIOR, child] = -math.log(2.0 * (count + 1.0))
        rows[WEIGHT, child] = rows[WEIGHT, parent] * (count / (count + 1.0))
        rows[WEIGHT, parent] /= count + 1.0
    for column in range(experts + 2, rows.shape[1]):
        for row in range(ROWS):
            rows[row, column] = rows[row, experts + 1]
        rows[LOG_PRIOR, column], rows[WEIGHT, column] = -math.inf, 0.0
    live[LIVE.experts] = experts + 2.0
    live[LIVE.entropy] = math.log(2.0 * count * (count + 1.0))  # the smallest prior is the parent's


@part
def end_on_ball(coords: Matrix, rows: Matrix, live: Vector, config: Vector, target: float) -> float:
    """The part of a round after the prediction, for products that are in place. Returns the smallest scale."""
    h = judge(rows, live, config, target)
    smallest = ball.move(rows, live, config, target)
    live[LIVE.rounds] += 1.0
    while is_growing(live, config):
        fork_numbers(rows, live)
        experts = int(live[LIVE.experts])
        for j in range(coords.shape[0]):
            coords[j, experts - 2] = coords[j, experts - 4]
            for column in range(experts - 1, rows.shape[1]):
                coords[j, column] = coords[j, experts - 3]
        ball.look_ahead(rows, live, config, target)
    look_back(live, config, h)
    weigh(rows, live, config, target)
    live[LIVE.prepared] = 0.0
    return smallest


@part
def tidy(coords: Matrix, rows: Matrix, vectors: Matrix, live: Vector, config: Vector, smallest: float) -> None:
    """Rescale before a scale gets too small, and measure the norms afresh every so often."""
    if smallest < config[CONFIG.smallest_scale] or live[LIVE.rounds] >= live[LIVE.refresh_at]:
        ball.flush(coords, rows, vectors)
        live[LIVE.refresh_at] = live[LIVE.rounds] + config[CONFIG.refresh]


@part
def begin_on_ball(coords: Matrix, rows: Matrix, vectors: Matrix, live: Vector, config: Vector, features: Vector) -> None:
    """All products of a round whose features were measured, and its prediction."""
    ball.sweep(coords, rows, vectors, features)
    ball.predict(rows, live)


@kernel
def play_dense(
    coords: Matrix,
    rows: Matrix,
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
    for t in range(len(targets)):
        if t < len(decisions):
            ball.decide(coords, rows, vectors, int(live[LIVE.experts]), decisions[t])
        write_weights(rows, live, weights, t)
        follow(live, config, schedule, t)
        ball.measure(live, config, vectors, features[t])
        if overflows(live, config, targets[t]):
            return t
        begin_on_ball(coords, rows, vectors, live, config, features[t])
        predictions[t] = live[LIVE.prediction] + live[LIVE.offset]
        losses[t] = live[LIVE.weight] * phi(int(config[CONFIG.loss]), config[CONFIG.threshold], predictions[t], targets[t])
        smallest = end_on_ball(coords, rows, live, config, targets[t])
        ball.keep_features(live, vectors, features[t])
        tidy(coords, rows, vectors, live, config, smallest)
    return len(targets)


@kernel
def play_sparse(
    coords: Matrix,
    rows: Matrix,
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
    """Sparse rows on a ball: cost in proportion to their non-zeros. ``last_indices`` says where the last features lie."""
    for t in range(len(targets)):
        if t < len(decisions):
            ball.decide(coords, rows, vectors, int(live[LIVE.experts]), decisions[t])
        write_weights(rows, live, weights, t)
        follow(live, config, schedule, t)
        here = indices[starts[t] : starts[t + 1]]
        entries = values[starts[t] : starts[t + 1]]
        ball.measure_sparse(live, config, vectors, entries, here)
        if overflows(live, config, targets[t]):
            return t
        ball.sweep_sparse(coords, rows, entries, here)
        ball.predict(rows, live)
        predictions[t] = live[LIVE.prediction] + live[LIVE.offset]
        losses[t] = live[LIVE.weight] * phi(int(config[CONFIG.loss]), config[CONFIG.threshold], predictions[t], targets[t])
        smallest = end_on_ball(coords, rows, live, config, targets[t])
        before = last_indices if t == 0 else indices[starts[t - 1] : starts[t]]
        for position in range(len(before)):
            vectors[LAST, before[position]] = 0.0
        for position in range(len(here)):
            vectors[LAST, here[position]] = entries[position]
        live[LIVE.last_norm] = live[LIVE.norm]
        # A change that is to be scaled down far may be too large for single precision: flush() applies it in double.
        if smallest >= config[CONFIG.smallest_scale]:
            ball.scatter(coords, rows, entries, here)
        tidy(coords, rows, vectors, live, config, smallest)
    return len(targets)


@kernel
def play_points(
    coords: Matrix,
    rows: Matrix,
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
    for t in range(len(targets)):
        if t < len(decisions):
            points.decide(coords, rows, int(live[LIVE.experts]), decisions[t])
        write_weights(rows, live, weights, t)
        follow(live, config, schedule, t)
        ball.measure(live, config, vectors, features[t])
        points.predict(coords, rows, live, features[t])
        if overflows(live, config, targets[t]):
            return t
        predictions[t] = live[LIVE.prediction]
        losses[t] = live[LIVE.weight] * phi(int(config[CONFIG.loss]), config[CONFIG.threshold], predictions[t], targets[t])
        end_on_points(coords, rows, vectors, live, config, features[t], targets[t])
    return len(targets)


@part
def end_on_points(
    coords: Matrix, rows: Matrix, vectors: Matrix, live: Vector, config: Vector, features: Vector, target: float
) -> None:
    """The part of a round after the prediction, where points are written out."""
    h = judge(rows, live, config, target)
    points.move(coords, rows, vectors, live, config, features, target)
    live[LIVE.rounds] += 1.0
    while is_growing(live, config):
        fork_numbers(rows, live)
        experts = int(live[LIVE.experts])
        for j in range(len(features)):
            coords[experts - 2, j] = coords[experts - 4, j]
            for row in range(experts - 1, rows.shape[1]):
                coords[row, j] = coords[experts - 3, j]
        for child in range(experts - 2, rows.shape[1]):
            points.look_ahead(coords, rows, vectors, child, live, config, features, target)
    look_back(live, config, h)
    weigh(rows, live, config, target)
    ball.keep_features(live, vectors, features)
    live[LIVE.prepared] = 0.0


@part
def write_weights(rows: Matrix, live: Vector, weights: Matrix, t: int) -> None:
    """Keep the weights of a round if there is room for them; what is not an expert yet stays at 0."""
    if t < len(weights):
        for i in range(int(live[LIVE.experts])):
            weights[t, i] = rows[WEIGHT, i]


@kernel
def predict_one(coords: Matrix, rows: Matrix, vectors: Matrix, live: Vector, config: Vector, features: Vector) -> float:
    """The prediction for one row on a ball; its products are kept for the row's lesson."""
    ball.measure(live, config, vectors, features)
    if not live[LIVE.norm] < math.inf:
        live[LIVE.prepared] = 0.0
        return math.nan
    begin_on_ball(coords, rows, vectors, live, config, features)
    ball.take_under_way(vectors, features)
    live[LIVE.prepared] = 1.0
    return float(live[LIVE.prediction] + live[LIVE.offset])


@kernel
def learn_one(
    coords: Matrix, rows: Matrix, vectors: Matrix, live: Vector, config: Vector, features: Vector, target: float
) -> float:
    """One round on a ball; NaN if the row would overflow, and then nothing has changed. Returns the loss."""
    prepared = live[LIVE.prepared] == 1.0 and ball.same_as_under_way(vectors, features)
    if not prepared:
        ball.measure(live, config, vectors, features)
    if overflows(live, config, target):
        live[LIVE.prepared] = 0.0
        return math.nan
    if not prepared:
        begin_on_ball(coords, rows, vectors, live, config, features)
    loss = live[LIVE.weight] * phi(
        int(config[CONFIG.loss]), config[CONFIG.threshold], live[LIVE.prediction] + live[LIVE.offset], target
    )
    smallest = end_on_ball(coords, rows, live, config, target)
    ball.keep_features(live, vectors, features)
    tidy(coords, rows, vectors, live, config, smallest)
    return float(loss)


@kernel
def play_fleet(
    coords: Any,
    rows: Any,
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
    """Learners ``first`` to ``stop`` of a fleet, each on its own rows, on a ball; ``played`` counts their rounds."""
    for k in range(first, stop):
        for t in range(targets.shape[1]):
            ball.measure(lives[k], config, vectors[k], features[k, t])
            if overflows(lives[k], config, targets[k, t]):
                break
            begin_on_ball(coords[k], rows[k], vectors[k], lives[k], config, features[k, t])
            predictions[k, t] = lives[k, LIVE.prediction] + lives[k, LIVE.offset]
            losses[k, t] = lives[k, LIVE.weight] * phi(
                int(config[CONFIG.loss]), config[CONFIG.threshold], predictions[k, t], targets[k, t]
            )
            smallest = end_on_ball(coords[k], rows[k], lives[k], config, targets[k, t])
            ball.keep_features(lives[k], vectors[k], features[k, t])
            tidy(coords[k], rows[k], vectors[k], lives[k], config, smallest)
            played[k] = t + 1
