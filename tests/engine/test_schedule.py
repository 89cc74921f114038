"""Rounds with a weight and a threshold of their own: the engine's schedule against losses that
say so themselves.
"""

from __future__ import annotations

import numpy as np
import pytest

import swordplay as sp
from tolerances import TWIN

KINDS = {
    "squared": lambda row, target, threshold: sp.SquaredLoss(row, target),
    "huber": lambda row, target, threshold: sp.HuberLoss(row, target, threshold),
    "logistic": lambda row, target, threshold: sp.LogisticLoss(row, target),
}


@pytest.mark.parametrize("loss", KINDS)
@pytest.mark.parametrize(
    "make",
    [lambda d: sp.SwordAgeless(d, smoothness=1.0, memory=50), sp.Sword],
    ids=["ageless", "sword"],
)
def test_a_schedule_is_a_stream_of_weighted_losses(loss, make):
    rng = np.random.default_rng(7)
    T, d = 150, 4
    rows = rng.normal(size=(T, d))
    targets = rows @ rng.normal(size=d) + rng.normal(size=T)
    targets = (targets > 0).astype(float) if loss == "logistic" else targets
    weights, thresholds = rng.uniform(0.1, 3.0, size=T), rng.uniform(0.5, 2.0, size=T)
    domain = sp.Ball(d, radius=1.5)
    losses = [
        sp.WeightedLoss(KINDS[loss](row, target, threshold), weight)
        for row, target, threshold, weight in zip(rows, targets, thresholds, weights, strict=True)
    ]
    readable = make(domain)
    theirs = sp.play(readable, losses)
    engine = sp.engine.compiled_twin(make(domain), loss)
    schedule = np.column_stack([weights, thresholds, np.full(T, domain.radius)])
    ours = engine.play(rows, targets, schedule=schedule, keep_decisions=True)
    assert np.abs(ours.losses - theirs.losses).max() <= TWIN * np.abs(theirs.losses).max()
    assert np.abs(ours.decisions - theirs.decisions).max() <= TWIN * domain.diameter
    assert np.abs(engine.weights - readable.weights).max() <= TWIN


def test_a_ball_may_grow_and_points_keep_their_place():
    rng = np.random.default_rng(8)
    T, d = 200, 3
    rows, truth = rng.normal(size=(T, d)), np.array([3.0, -4.0, 5.0])
    targets = rows @ truth
    radii = np.where(np.arange(T) < 100, 1.0, 20.0)
    engine = sp.engine.compiled_twin(
        sp.SwordAgeless(sp.Ball(d, radius=1.0), smoothness=1.0), "squared"
    )
    schedule = np.column_stack([1 / np.square(rows).sum(axis=1), np.ones(T), radii])
    decisions = engine.play(rows, targets, schedule=schedule, keep_decisions=True).decisions
    norms = np.linalg.norm(decisions, axis=1)
    assert (norms <= radii * (1 + 1e-12)).all()
    assert norms[99] > 0.9  # held back by the small ball
    assert np.linalg.norm(decisions[-1] - truth) < 0.01 * np.linalg.norm(
        truth
    )  # and not by the large one


@pytest.mark.parametrize("d", [3, 10], ids=["S kept", "not kept"])
def test_what_a_round_leaves_for_the_next_is_not_of_a_smaller_ball(d):
    """Steps that adapt are made ahead.

    Where the ball has grown since, they are what one makes who was just loaded.
    """
    rng = np.random.default_rng(9)
    rows = rng.normal(size=(200, d))
    targets = rows @ np.linspace(-3.0, 5.0, d)
    schedule = np.column_stack([np.ones((200, 2)), np.where(np.arange(200) < 120, 1.0, 20.0)])
    first, again = (sp.engine.online(sp.Sword(sp.Ball(d, radius=1.0))) for _ in range(2))
    first.play(rows[:120], targets[:120], schedule=schedule[:120])
    again.load_compact_state(first.compact_state())
    ours, theirs = (
        engine.play(rows[120:], targets[120:], schedule=schedule[120:]) for engine in (first, again)
    )
    np.testing.assert_array_equal(ours.losses, theirs.losses)
    np.testing.assert_array_equal(
        first.compact_state()["experts"], again.compact_state()["experts"]
    )
