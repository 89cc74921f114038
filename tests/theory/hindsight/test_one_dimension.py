"""The method for one coordinate, against a grid, the interior-point method and by hand."""

import numpy as np
import pytest

import pairs
import swordplay as sp
from swordplay.theory.hindsight import interior_point, one_dimension
from swordplay.theory.hindsight.sequence import Problem
from theory.hindsight.problems import FAMILIES, drifting_stream, value
from tolerances import ROUNDING


@pytest.mark.parametrize("loss", FAMILIES)
@pytest.mark.parametrize("penalty", [0.05, 0.4, 3.0])
def test_no_path_over_a_grid_is_better(loss, penalty):
    """All paths over a grid at once, by Viterbi's algorithm."""
    stream, box = drifting_stream(loss, 40, 1), sp.Box([-0.7], [0.9])
    grid = np.linspace(-0.7, 0.9, 401)
    steps = penalty * np.abs(grid[:, None] - grid)
    costs = np.zeros(len(grid))
    for f in stream:
        costs = (costs[:, None] + steps).min(axis=0) + f.value(grid[:, None])
    best = sp.hindsight.best_sequence(stream, box, penalty=penalty)
    assert value(best) <= costs.min() + ROUNDING * costs.min()
    assert costs.min() <= value(best) * (1 + 1e-3)  # the grid is fine enough to make that a test
    assert best.gap <= ROUNDING * Problem(stream, box, None).scale * 10


@pytest.mark.parametrize(("loss", "penalty"), pairs.of(FAMILIES, [1e-3, 0.1, 1.0, 100.0]))
def test_same_objective_as_the_interior_point_method(loss, penalty):
    problem = Problem(drifting_stream(loss, 120, 1), sp.Ball(1, 0.8, [0.1]), None)
    exact = one_dimension.solve(problem.losses, problem.coordinates, penalty)
    other = interior_point.solve(problem.losses, problem.coordinates, penalty, problem.target_gap)
    assert other.gap <= problem.target_gap
    assert abs(other.objective - exact.objective) <= problem.target_gap


def test_a_simplex_of_two_coordinates_has_one_dimension():
    stream, simplex = drifting_stream("squared", 30, 2), sp.Simplex(2)
    best = sp.hindsight.best_sequence(stream, simplex, penalty=0.3)
    assert best.gap <= ROUNDING * sp.comparator_loss(stream, simplex.center) * 10
    assert simplex.contains(best.comparators).all()


def test_comparators_between_moves_are_equal_in_every_bit():
    stream = sp.LinearStream(np.ones((6, 1)), [0.0, 0.1, 0.0, 1.0, 0.9, 1.0])
    best = sp.hindsight.best_sequence(stream, sp.Box([-2.0], [2.0]), penalty=0.3)
    # each half moves from its mean towards the other half by the penalty over its length
    mean, shift = 1 / 30, 0.3 / 3
    expected = np.repeat([mean + shift, 1 - mean - shift], 3)
    np.testing.assert_allclose(best.comparators[:, 0], expected, atol=ROUNDING)
    assert np.count_nonzero(np.diff(best.comparators[:, 0])) == 1
