"""Loops over rows, built from a round: dense rows, sparse rows, a single row, rows of a fleet.

``rounds`` and ``sword_plus_plus`` build their kernels from these.
"""

from __future__ import annotations

from typing import Any

from swordplay.compile import inline
from swordplay.core.types import Matrix, Vector
from swordplay.engine import ball
from swordplay.engine.ball_sparse import Entries
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, Arrays
from swordplay.engine.weights import normalise_weights


@inline
def follow(live: Vector, config: Vector, schedule: Matrix, t: int) -> None:
    """What a round has of its own, where there is a schedule: weight, threshold of the Huber
    loss, size of the domain.
    """
    if t < len(schedule):
        live[LIVE.weight] = schedule[t, 0]
        config[CONFIG.threshold] = schedule[t, 1]
        if config[CONFIG.size] != schedule[t, 2]:
            live[LIVE.stepped] = 0.0
        config[CONFIG.size] = schedule[t, 2]
        config[CONFIG.diameter] = config[CONFIG.diameter_per_size] * schedule[t, 2]


@inline
def write_weights(me: Arrays, weights: Matrix, t: int) -> None:
    """Keep the weights of a round if there is room for them.

    What is not an expert yet stays at 0.
    """
    if t < len(weights):
        normalise_weights(me)
        for i in range(int(me.live[LIVE.experts])):
            weights[t, i] = me.numbers[EXPERT.weight, i]


def make_rows(decide: Any, play_round: Any) -> Any:
    """Dense rows in their order; ``decide(me, decision)`` writes what would be decided next."""

    @inline
    def play_rows(
        me: Arrays,
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
            follow(me.live, me.config, schedule, t)
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
        me: Arrays,
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
            follow(me.live, me.config, schedule, t)
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
    def play_single(me: Arrays, features: Vector, target: float) -> float:
        """The loss; NaN if the row would overflow, and then nothing has changed."""
        played, _, loss = play_round(me, features, target)
        normalise_weights(me)
        if not played:
            me.live[LIVE.prepared] = 0.0
        return float(loss)

    return play_single


def make_stream(play_round: Any) -> Any:
    """Dense rows of one learner of a fleet."""

    @inline
    def play_stream(
        me: Arrays, features: Matrix, targets: Vector, predictions: Vector, losses: Vector
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
