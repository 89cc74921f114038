"""Lower bounds by duality, against the best sequence of a grid and random dual variables."""

import itertools

import numpy as np
import pytest

import swordplay as sp
from swordplay.theory.hindsight.duality import (
    Solution,
    clip_duals,
    penalised_loss,
    solution_of_points,
    stationarity_residuals,
)
from swordplay.theory.hindsight.sequence import Problem
from theory.hindsight.problems import FAMILIES, ball_box_simplex, drifting_stream
from tolerances import ROUNDING


@pytest.mark.parametrize("loss", FAMILIES)
def test_no_dual_variables_give_a_bound_above_any_sequence(loss):
    rng, penalty = np.random.default_rng(0), 0.4
    stream = drifting_stream(loss, 6, 2)
    for domain in ball_box_simplex(2):
        problem = Problem(stream, domain, None)
        shape = problem.losses.features.shape
        least = problem.solve(penalty).objective
        for size in (0.0, 0.1, 10.0):
            inside = domain.project(domain.center + rng.normal(size=(6, 2)))
            points = problem.coordinates.to_coordinates(inside)
            duals = clip_duals(size * rng.normal(size=(shape[0] - 1, shape[1])), penalty)
            found = solution_of_points(problem.losses, problem.coordinates, penalty, points, duals)
            assert found.bound <= least * (1 + ROUNDING)
            assert found.objective >= least * (1 - 1e-6)
            assert found.objective == penalised_loss(problem.losses, points, penalty)


def test_the_bound_is_the_minimum_over_a_grid_for_optimal_dual_variables():
    """Two rounds in one coordinate, by hand: both move towards each other by the penalty."""
    problem = Problem(sp.LinearStream([[1.0], [1.0]], [0.0, 1.0]), sp.Ball(1), None)
    grid = np.linspace(-1.0, 1.0, 201)
    least = min(
        penalised_loss(problem.losses, np.array([[u], [v]]), 0.25)
        for u, v in itertools.product(grid, grid)
    )
    solution = solution_of_points(
        problem.losses, problem.coordinates, 0.25, np.array([[0.25], [0.75]]), np.array([[0.25]])
    )
    assert solution.bound == pytest.approx(least, rel=1e-9)
    assert solution.gap <= ROUNDING


def test_stationarity_residuals_by_hand():
    residuals = stationarity_residuals(np.array([[1.0], [2.0], [4.0]]), np.array([[0.5], [0.25]]))
    assert residuals.tolist() == [[0.5], [2.25], [4.25]]


def test_clipping_shortens_only_long_dual_variables():
    clipped = clip_duals(np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]]), 1.0)
    np.testing.assert_allclose(clipped, [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]], rtol=ROUNDING)


def test_combining_takes_the_better_sequence_and_the_better_bound():
    first = Solution(np.zeros((2, 1)), 3.0, 1.0, np.zeros((1, 1)))
    second = Solution(np.ones((2, 1)), 2.0, 0.5, np.ones((1, 1)))
    best = first.with_best_parts_of(second)
    assert (best.objective, best.bound, best.gap) == (2.0, 1.0, 1.0)
    assert best.points is second.points
    assert best.duals is first.duals
