"""Changes of squared and other losses of linear predictions, against grids, samples and ascent."""

import numpy as np
import pytest

import swordplay as sp
from swordplay.parts.streams.linear import LinearRounds
from swordplay.theory.variation_linear import LinearChange
from theory.changes import (
    Segment,
    ascended_function_variation,
    domains,
    inside,
    squared,
    squared_changes,
    value_changes,
)
from tolerances import ASCENT, ROUNDING, SPHERE_GRID, TWIN

SLOPE_OF_SLOPES = 10.0
"""Bound on the relative change of the derivative along the drift, which replaces a small step."""


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dim", [1, 2, 4])
def test_function_variation_of_squared_losses_is_exact(seed, dim):
    rng = np.random.default_rng([seed, dim])
    stream = squared(rng, 3, dim)
    for domain in domains(dim, rng):
        answer, found = (
            sp.function_variation(stream, domain),
            ascended_function_variation(stream, domain, rng),
        )
        assert answer.exact
        assert found * (1 - ROUNDING) <= answer <= found * (1 + ASCENT)


def test_circle_and_interval_against_grids():
    rng = np.random.default_rng(0)
    stream, ball = squared(rng, 30, 2), sp.Ball(2, 1.5, [0.3, -2.0])
    angles = np.linspace(0, 2 * np.pi, 20_000, endpoint=False)
    circle = ball.center + ball.radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert sp.gradient_variation(stream, ball) == pytest.approx(
        squared_changes(stream, circle), rel=SPHERE_GRID
    )

    stream, grid = squared(rng, 30, 1), np.linspace(-1.0, 1.0, 20_001)[:, None]
    for interval in (sp.Ball(1), sp.Box(-1.0, 1.0), Segment([-1.0], [1.0])):
        gradients, values = (
            sp.gradient_variation(stream, interval),
            sp.function_variation(stream, interval),
        )
        assert gradients.exact
        assert values.exact
        assert gradients == pytest.approx(squared_changes(stream, grid), rel=ROUNDING)
        assert values == pytest.approx(value_changes(stream, grid), rel=SPHERE_GRID)


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
@pytest.mark.parametrize("drift", [0.03, 0.3, 3.0])
def test_no_sample_exceeds_a_single_supremum(loss, drift):
    rng = np.random.default_rng(len(loss))
    features = 1.0 + drift * rng.normal(size=(800, 2))
    targets = rng.integers(0, 2, 800) if loss == "logistic" else drift * rng.normal(size=800)
    stream = sp.LinearStream(features, targets, loss)
    change = LinearChange(LinearRounds.of_stream(stream))
    for domain in (
        Segment([-0.5, 1.0], [2.0, -0.3]),
        Segment([0.2, 0.1], [0.3, 0.4]),
        sp.Ball(2, 0.3),
    ):
        points = np.concatenate(
            [
                inside(domain, rng, 20),
                domain.project(np.array([[9.0, 9.0], [-9.0, 9.0], [9.0, -9.0]])),
            ]
        )
        gradients = np.max([change.squared_gradients(x) for x in points], axis=0)
        values = np.max([np.abs(change.values(x)) for x in points], axis=0)
        assert (gradients <= change.gradient_suprema(domain).values * (1 + TWIN)).all()
        assert (values <= change.function_suprema(domain).values * (1 + TWIN)).all()


def test_slow_drift_loses_no_digits():
    # Steps of 1e-9 on features of size 1: a difference of Hessians would have seven digits.
    T, step = 200, 1e-9
    features = 1.0 + step * np.arange(T)[:, None] * np.array([1.0, 0.0])
    stream = sp.LinearStream(features, np.zeros(T))
    ball = sp.Ball(2)
    answer = sp.gradient_variation(stream, ball)
    # d/dh of |(a'x) a| at a = (1, 1), along e = (1, 0): |(e'x) a + (a'x) e|^2 over the unit ball,
    # largest eigenvalue of M'M with M = a e' + e a' = [[2, 1], [1, 0]]: (1 + sqrt 2)^2.
    assert answer == pytest.approx(
        (T - 1) * step**2 * (1 + np.sqrt(2)) ** 2, rel=SLOPE_OF_SLOPES * T * step
    )


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_degenerate_rows(loss, scale):
    # Zeros, repeated, negated, multiplied and nearly equal rows: no warning, and still a bound.
    a = np.array([1.0, -2.0, 0.5])
    features = scale * np.array(
        [a, a, -a, 3 * a, 0 * a, 0 * a, [0, 0, 1.0], a, a + 1e-15 * a[::-1], a, [1e-200, 0, 0]]
    )
    stream = sp.LinearStream(features, np.arange(len(features)) % 2, loss)
    rng = np.random.default_rng(8)
    for domain in (*domains(3, rng), Segment([0.0, 0.0, 1.0], [1.0, 0.0, -1.0])):
        points = np.concatenate([inside(domain, rng, 500), domain.center[None]])
        assert squared_changes(stream, points) <= sp.gradient_variation(stream, domain) * (
            1 + ROUNDING
        )
        assert value_changes(stream, points) <= sp.function_variation(stream, domain) * (
            1 + ROUNDING
        )


def test_huber_losses_that_differ_only_in_their_threshold():
    stream = [sp.HuberLoss([1.0], 0.0, threshold=threshold) for threshold in (0.1, 1.0)]
    assert sp.gradient_variation(stream, sp.Ball(1)) >= 0.9**2
    assert sp.function_variation(stream, sp.Ball(1)) >= 0.5 - 0.095
