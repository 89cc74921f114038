"""Descent on sums over blocks: a result does not depend on the other blocks of the batch."""

import numpy as np
import pytest

import swordplay as sp
from swordplay.theory.hindsight import descent
from theory.hindsight.problems import FAMILIES, ball_box_simplex, drifting_stream
from tolerances import PROJECTION


@pytest.mark.parametrize("loss", FAMILIES)
def test_a_block_alone_has_the_same_minimum(loss):
    stream = drifting_stream(loss, 21, 3)
    for domain in ball_box_simplex(3):
        (sums,) = descent.sums_over_blocks(stream, domain, 7)
        together = descent.minimize(sums, domain, 1e-6, 1_000)
        assert together.all_within_tolerance
        for k in range(3):
            alone = descent.minimize(sums.select(np.array([k])), domain, 1e-6, 1_000)
            np.testing.assert_allclose(alone.points[0], together.points[k], atol=PROJECTION)
            assert alone.gaps[0] == pytest.approx(together.gaps[k], abs=PROJECTION)


def test_the_gap_is_that_of_a_linear_function():
    """By hand: <g, x> less its minimum -2 |g| over a ball of radius 2."""
    found = descent.gaps(sp.Ball(2, 2.0), np.array([[1.0, 0.0]]), np.array([[3.0, 4.0]]))
    assert found.tolist() == [13.0]


def test_steps_that_do_not_suffice_leave_the_gap_open():
    stream = drifting_stream("logistic", 40, 5)
    (sums,) = descent.sums_over_blocks(stream, sp.Ball(5, 3.0), None)
    assert not descent.minimize(sums, sp.Ball(5, 3.0), 1e-9, 2).all_within_tolerance
