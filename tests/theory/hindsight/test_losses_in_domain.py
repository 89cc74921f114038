"""Coordinates of ball_box_simplex, and the same losses in every form that a stream can have."""

import itertools

import numpy as np
import pytest
import scipy.sparse

import swordplay as sp
from swordplay.theory.hindsight.losses_in_domain import coordinates_of
from swordplay.theory.hindsight.sequence import Problem
from theory.hindsight.problems import (
    FAMILIES,
    ball_box_simplex,
    drifting_stream,
    saturated_huber_stream,
    value,
)
from tolerances import ROUNDING, SCIPY_MINIMUM


def test_coordinates_keep_distances():
    rng = np.random.default_rng(2)
    for domain in (*ball_box_simplex(4), sp.Box([0.0, 1.0, -1.0, 2.0], [1.0, 1.0, 0.5, 2.0])):
        coordinates = coordinates_of(domain)
        points = domain.project(domain.center + domain.diameter * rng.normal(size=(30, 4)))
        inner = coordinates.to_coordinates(points)
        np.testing.assert_allclose(coordinates.to_points(inner), points, atol=ROUNDING * 10)
        np.testing.assert_allclose(
            np.linalg.norm(np.diff(inner, axis=0), axis=1),
            np.linalg.norm(np.diff(points, axis=0), axis=1),
        )
        assert (inner @ coordinates.normals.T <= coordinates.offsets + ROUNDING * 10).all()
        assert coordinates.inner_radius > 0


@pytest.mark.parametrize("loss", FAMILIES)
def test_all_forms_of_a_stream_have_the_same_best_sequence(loss):
    stream = drifting_stream(loss, 25, 3)
    sparse = sp.LinearStream(
        scipy.sparse.csr_matrix(stream.features), stream.targets, loss, threshold=0.5
    )
    doubled = [sp.WeightedLoss(sp.WeightedLoss(f, 4.0), 0.25) for f in stream]
    functions = [sp.FunctionLoss(f.value, f.gradient) for f in stream]
    mixed = [*functions[:10], *itertools.islice(stream, 10, None)]
    for domain in ball_box_simplex(3):
        expected = value(sp.hindsight.best_sequence(stream, domain, penalty=0.3))
        for other in (sparse, list(stream), iter(stream), doubled, functions, mixed):
            assert value(sp.hindsight.best_sequence(other, domain, penalty=0.3)) == pytest.approx(
                expected, rel=1e-5
            )


def test_squared_losses_equal_quadratics_and_huber_losses_with_large_thresholds():
    stream, ball = drifting_stream("squared", 25, 3), sp.Ball(3, 0.7)
    quadratics = [
        sp.QuadraticLoss(np.outer(f.features, f.features), f.target * f.features, 0.5 * f.target**2)
        for f in stream
    ]
    hubers = [sp.HuberLoss(f.features, f.target, 1e3) if t % 2 else f for t, f in enumerate(stream)]
    expected = value(sp.hindsight.best_sequence(stream, ball, penalty=0.3))
    for other in (quadratics, hubers, [*list(stream)[:10], *quadratics[10:]]):
        assert value(sp.hindsight.best_sequence(other, ball, penalty=0.3)) == pytest.approx(
            expected, rel=1e-5
        )


def test_coordinates_along_flat_sides_of_a_box_do_not_change():
    stream = drifting_stream("squared", 25, 3)
    flat = sp.Box([-1.0, 0.4, -1.0], [1.0, 0.4, 0.5])
    nearly = sp.Box([-1.0, 0.4 - 1e-7, -1.0], [1.0, 0.4 + 1e-7, 0.5])
    ours, theirs = (sp.hindsight.best_sequence(stream, box, penalty=0.3) for box in (flat, nearly))
    assert (ours.comparators[:, 1] == 0.4).all()
    assert value(ours) == pytest.approx(value(theirs), rel=SCIPY_MINIMUM)


def test_saturated_huber_losses_keep_values_and_gradients():
    """Everywhere on the domain, with residuals beyond the threshold on both sides and within it."""
    stream, ball = saturated_huber_stream(5.0), sp.Ball(3, 0.3, center=[0.1, -0.2, 0.3])
    problem = Problem(stream, ball, None)
    assert 5 < np.count_nonzero(problem.losses.constants) < 35
    points = ball.project(np.random.default_rng(1).normal(size=(40, 3)))
    inside = points - ball.center
    both = list(zip(stream, points, strict=True))
    np.testing.assert_allclose(
        problem.losses.values(inside), [f.value(x) for f, x in both], rtol=1e-12
    )
    expected = [f.gradient(x) for f, x in both]
    np.testing.assert_allclose(problem.losses.gradients(inside), expected, rtol=1e-12, atol=1e-12)
