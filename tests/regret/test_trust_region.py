"""The dual of a quadratic over a ball, against points on it."""

import numpy as np
import pytest

from swordplay.theory.variation_quadratic import (
    ball_maximum,
    largest_magnitude,
    largest_squared_gradient,
)
from tolerances import ROUNDING, SPHERE_GRID

SAMPLES = 20_000


def circle(radius):
    angles = np.linspace(0.0, 2 * np.pi, SAMPLES, endpoint=False)
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, -1)])
def test_is_the_maximum_over_the_disc(seed, signs):
    rng = np.random.default_rng(seed)
    q = np.abs(rng.normal(size=(8, 2))) * signs
    p, radius = (
        rng.normal(size=(8, 2)) * rng.choice([1e-6, 0.1, 1.0, 10.0], size=(8, 1)),
        rng.uniform(0.1, 3.0),
    )
    # The maximum lies on the circle or where the slope q z + p vanishes.
    flat = -p / q
    flat *= np.minimum(1.0, radius / np.linalg.norm(flat, axis=1))[:, None]
    on_circle = (
        (q[:, None] * circle(radius) ** 2 + 2 * p[:, None] * circle(radius)).sum(axis=2).max(axis=1)
    )
    found = np.maximum(on_circle, (q * flat**2 + 2 * p * flat).sum(axis=1))
    answer = ball_maximum(q, p, radius)
    scale = np.abs(q).max(axis=1) * radius**2 + np.abs(p).sum(axis=1) * radius
    assert (answer >= found - ROUNDING * scale).all()
    assert (answer <= found + SPHERE_GRID * scale).all()


def test_hard_case():
    # No slope along the steepest axis: z_2 = p_2 / (q_1 - q_2) = 0.3 and z_1 takes up the rest of
    # the radius.
    q, p = np.array([[2.0, 1.0]]), np.array([[0.0, 0.3]])
    expected = 2.0 * (1 - 0.3**2) + 0.3**2 + 2 * 0.3 * 0.3
    assert ball_maximum(q, p, 1.0)[0] == pytest.approx(expected, rel=ROUNDING)


@pytest.mark.parametrize("whisper", [1e-300, 1e-100, 1e-30, 1e-12, 1e-6])
def test_nearly_hard_case(whisper):
    q, p = np.array([[2.0, 1.0]]), np.array([[whisper, 0.3]])
    limit = 2.0 * (1 - 0.3**2) + 0.3**2 + 2 * 0.3 * 0.3
    answer = ball_maximum(q, p, 1.0)[0]
    assert limit * (1 - ROUNDING) <= answer <= limit + 2 * whisper + ROUNDING


def test_no_slope_at_all_is_the_largest_eigenvalue():
    assert ball_maximum(np.array([[3.0, -1.0], [-2.0, -1.0]]), np.zeros((2, 2)), 2.0).tolist() == [
        12.0,
        0.0,
    ]


def test_inner_maximum_of_a_concave_quadratic():
    assert ball_maximum(np.array([[-2.0]]), np.array([[1.0]]), 1.0)[0] == pytest.approx(
        0.5, rel=ROUNDING
    )


@pytest.mark.parametrize("seed", range(5))
def test_rotated_problems_agree_with_samples(seed):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(4, 2, 2))
    M, g, c = M + np.swapaxes(M, 1, 2), rng.normal(size=(4, 2)), rng.normal(size=4)
    z, flat = circle(1.5), -np.linalg.solve(M, g[..., None])[..., 0]
    flat *= np.minimum(1.0, 1.5 / np.linalg.norm(flat, axis=1))[:, None]
    z = np.concatenate([np.broadcast_to(z, (4, SAMPLES, 2)), flat[:, None]], axis=1)
    moved = z @ M  # M is symmetric
    gradients = np.square(moved + g[:, None]).sum(axis=2).max(axis=1)
    values = np.abs(c[:, None] + (g[:, None] * z).sum(axis=2) + 0.5 * (moved * z).sum(axis=2)).max(
        axis=1
    )
    np.testing.assert_allclose(largest_squared_gradient(M, g, 1.5), gradients, rtol=SPHERE_GRID)
    np.testing.assert_allclose(largest_magnitude(M, g, c, 1.5), values, rtol=SPHERE_GRID)
