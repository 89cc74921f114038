"""Domains known only by a projection and a support function, against the same known exactly."""

import pytest

import swordplay as sp
from swordplay.theory.hindsight.sequence import Problem
from theory.hindsight.problems import (
    FAMILIES,
    ProjectionOnly,
    ball_box_simplex,
    drifting_stream,
    value,
)
from tolerances import ROUNDING


@pytest.mark.parametrize("loss", FAMILIES)
def test_same_objective_as_for_the_known_domain(loss):
    stream = drifting_stream(loss, 20, 2)
    for domain in ball_box_simplex(2):
        best = sp.hindsight.best_sequence(stream, ProjectionOnly(domain), penalty=0.3)
        asked = Problem(stream, ProjectionOnly(domain), None).target_gap
        assert domain.contains(best.comparators).all()
        assert best.gap <= asked
        assert value(best) == pytest.approx(
            Problem(stream, domain, None).solve(0.3).objective, abs=asked
        )


def test_exact_in_one_dimension():
    functions = [sp.FunctionLoss(f.value, f.gradient) for f in drifting_stream("logistic", 30, 1)]
    best = sp.hindsight.best_sequence(functions, ProjectionOnly(sp.Ball(1)), penalty=0.3)
    assert best.gap <= 100 * ROUNDING
