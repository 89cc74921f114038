"""Rounds solved in blocks, against the whole chain."""

import numpy as np
import pytest

import swordplay as sp
from swordplay.theory.hindsight import blocks, interior_point
from swordplay.theory.hindsight.blocks import BlockLosses
from swordplay.theory.hindsight.sequence import Problem
from theory.hindsight.problems import FAMILIES, jumping_stream, small_ball_box_simplex
from tolerances import ROUNDING, SCIPY_MINIMUM, SEQUENCE_GAP


@pytest.mark.parametrize("loss", FAMILIES)
@pytest.mark.parametrize("penalty", [0.5, 20.0])
def test_blocks_and_the_whole_chain_have_the_same_objective(loss, penalty):
    for domain in small_ball_box_simplex(4):
        problem = Problem(jumping_stream(loss, 50, 4), domain, 1e-5)
        by_blocks = blocks.solve(problem.losses, problem.coordinates, penalty, problem.target_gap)
        at_once = interior_point.solve(
            problem.losses, problem.coordinates, penalty, problem.target_gap
        )
        assert by_blocks.gap <= problem.target_gap
        assert abs(by_blocks.objective - at_once.objective) <= problem.target_gap


def test_blocks_of_quadratic_losses():
    quadratics = [
        sp.QuadraticLoss(np.outer(f.features, f.features) + 0.1 * np.eye(3), f.target * f.features)
        for f in jumping_stream("squared", 60, 3)
    ]
    problem = Problem(quadratics, sp.Ball(3), None)
    by_blocks = blocks.solve(problem.losses, problem.coordinates, 3.0, problem.target_gap)
    at_once = interior_point.solve(problem.losses, problem.coordinates, 3.0, problem.target_gap)
    assert by_blocks.gap <= problem.target_gap
    assert abs(by_blocks.objective - at_once.objective) <= problem.target_gap


@pytest.mark.parametrize("loss", FAMILIES)
def test_a_block_is_the_sum_of_its_losses(loss):
    whole = Problem(jumping_stream(loss, 12, 3), sp.Ball(3), None).losses
    sums = BlockLosses(whole, [0, 5, 6])
    points = 0.3 * np.random.default_rng(0).normal(size=(3, 3))
    repeated = np.repeat(points, [5, 1, 6], axis=0)
    np.testing.assert_allclose(sums.spread_to_rounds(points), repeated)
    for ours, theirs in ((sums.values, whole.values), (sums.gradients, whole.gradients)):
        each = theirs(repeated)
        np.testing.assert_allclose(
            ours(points), [each[:5].sum(0), each[5], each[6:].sum(0)], rtol=ROUNDING
        )
    weights, _ = whole.curvature(repeated)
    hessians = weights[:, None, None] * whole.features[:, :, None] * whole.features[:, None, :]
    _, matrices = sums.curvature_of(weights)
    expected = [hessians[:5].sum(0), hessians[5], hessians[6:].sum(0)]
    np.testing.assert_allclose(matrices, expected, rtol=ROUNDING, atol=ROUNDING)


def test_block_starts_are_the_ends_of_moves():
    points = np.array([[0.0], [0.0], [1.0], [1.0 + 1e-6], [0.5]])
    assert blocks.block_starts(points, diameter=1.0).tolist() == [0, 2, 4]


def test_long_chains_are_solved_by_blocks(monkeypatch):
    """A budget, through the public function, with the limit lowered so that blocks are used."""
    stream, ball = jumping_stream("squared", 40, 8), sp.Ball(8)
    expected = sp.hindsight.best_sequence(stream, ball, path_length=2.0)
    monkeypatch.setattr(blocks, "MAX_NEWTON_WORK", 1e3)
    ours = sp.hindsight.best_sequence(stream, ball, path_length=2.0)
    scale = Problem(stream, ball, None).scale
    assert ours.gap <= SEQUENCE_GAP * scale
    assert abs(ours.loss - expected.loss) <= 2 * SEQUENCE_GAP * scale
    assert sp.path_length(ours.comparators) <= 2.0 * (1 + SCIPY_MINIMUM)


@pytest.mark.deep
@pytest.mark.parametrize("dim", [50, 100, 200])
def test_ten_thousand_rounds(dim):
    stream, ball = jumping_stream("squared", 10_000, dim), sp.Ball(dim)
    problem = Problem(stream, ball, None)
    penalty = problem.scale / len(stream) / ball.diameter * 5
    best = sp.hindsight.best_sequence(stream, ball, penalty=penalty)
    assert best.gap <= SEQUENCE_GAP * problem.scale
