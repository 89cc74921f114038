"""The interior-point method in hard cases: steep rows, saturated slopes; bounds without a step."""

import numpy as np
import pytest

import swordplay as sp
from swordplay.theory.hindsight import interior_point
from swordplay.theory.hindsight.sequence import Problem
from theory.hindsight.problems import (
    FAMILIES,
    jumping_stream,
    saturated_huber_stream,
    small_ball_box_simplex,
)
from tolerances import ROUNDING, SCIPY_MINIMUM, SEQUENCE_GAP


@pytest.mark.parametrize("steepness", [1.0, 1e3, 1e7])
def test_logistic_losses_of_any_steepness(steepness):
    stream = jumping_stream("logistic", 60, 3, steepness=steepness)
    for domain in small_ball_box_simplex(3):
        for penalty in (1e-6 * steepness, 0.3 * steepness, 100.0 * steepness):
            best = sp.hindsight.best_sequence(stream, domain, penalty=penalty)
            assert best.gap <= SEQUENCE_GAP * Problem(stream, domain, None).scale


@pytest.mark.parametrize("far", [10.0, 20.0, 40.0])
@pytest.mark.parametrize("dim", [2, 5])
def test_logistic_losses_with_saturated_slopes(dim, far):
    """All slopes are close to their limits, some within 1e-20."""
    rng = np.random.default_rng(dim)
    features = np.abs(rng.normal(size=(50, dim))) + 0.3
    stream = sp.LinearStream(features, np.ones(50), "logistic")
    for domain in (
        sp.Ball(dim, 4.0, np.full(dim, far)),
        sp.Box(np.full(dim, far - 3.0), np.full(dim, far + 3.0)),
    ):
        problem = Problem(stream, domain, None)
        for fraction in (1e-3, 0.1, 1.0):
            best = sp.hindsight.best_sequence(stream, domain, penalty=fraction * problem.scale)
            assert best.gap <= problem.target_gap <= 2 * SEQUENCE_GAP * problem.scale


@pytest.mark.parametrize("loss", FAMILIES)
def test_rows_of_very_different_sizes(loss):
    stream = jumping_stream(loss, 60, 3)
    sizes = 10.0 ** np.random.default_rng(0).uniform(-3, 7, size=(60, 1))
    targets = stream.targets if loss == "logistic" else sizes[:, 0] * stream.targets
    uneven = sp.LinearStream(sizes * stream.features, targets, loss, threshold=0.5)
    for domain in small_ball_box_simplex(3)[:2]:
        problem = Problem(uneven, domain, None)
        best = sp.hindsight.best_sequence(uneven, domain, penalty=0.1 * problem.scale / 60)
        assert best.gap <= SEQUENCE_GAP * problem.scale
        fixed = sp.comparator_loss(uneven, sp.hindsight.best_fixed(uneven, domain))
        stationary = sp.hindsight.best_sequence(
            uneven, domain, penalty=10 * problem.scale, tolerance=1e-9
        )
        assert fixed <= stationary.loss + 3e-9 * problem.scale


@pytest.mark.parametrize(("radius", "size"), [(0.01, 1e3), (0.01, 1e4), (0.001, 1e3), (0.01, 1e6)])
def test_frontier_of_saturated_huber_losses(radius, size):
    """Losses that are linear on the domain: both ends of the frontier by hand."""
    stream, ball = saturated_huber_stream(size), sp.Ball(3, radius)
    linear = [f for f in stream if abs(f.target) > 1 + 2 * radius * np.linalg.norm(f.features)]
    assert len(linear) >= 38
    gradients = np.array([f.gradient(np.zeros(3)) for f in stream])
    found = sp.hindsight.frontier(stream, ball)
    at_center = sum(f.value(np.zeros(3)) for f in stream)
    rounding = 1e-6 * radius * np.linalg.norm(gradients, axis=1).sum() + 1e-12 * at_center
    assert found.losses[0] == pytest.approx(
        at_center - radius * np.linalg.norm(gradients.sum(axis=0)), abs=2 * rounding
    )
    assert found.losses[-1] == pytest.approx(
        at_center - radius * np.linalg.norm(gradients, axis=1).sum(), abs=2 * rounding
    )


def test_no_gap_is_larger_than_that_of_the_centre():
    """Losses that are almost flat: the centre has a small gap without a step."""
    stream = sp.LinearStream(
        1e-9 * np.ones((5, 2)), [1e4, -1e4, 1e4, -1e4, 0.0], "huber", threshold=1e3
    )
    problem = Problem(stream, sp.Ball(2), None)
    at_center = interior_point.solution_at_center(problem.losses, problem.coordinates, 1.0)
    # four rounds with a slope of the threshold, over a radius of 1
    by_hand = 4 * 1e3 * 1e-9 * np.sqrt(2)
    assert at_center.gap <= by_hand * (1 + SCIPY_MINIMUM)
    solution = interior_point.solve(problem.losses, problem.coordinates, 1.0, 0.0)
    assert solution.gap <= by_hand * (1 + SCIPY_MINIMUM)


def test_sums_of_gradients_prove_that_the_centre_is_best():
    """Gradients that cancel each other in time, and a penalty too large for any move."""
    stream = sp.LinearStream([[1.0, 0.0]] * 4, [1.0, -1.0, 1.0, -1.0])
    problem = Problem(stream, sp.Ball(2), None)
    at_center = interior_point.solution_at_center(problem.losses, problem.coordinates, 2.0)
    assert at_center.gap <= ROUNDING
