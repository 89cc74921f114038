"""Changes of quadratics and maxima of quadratics over a ball, against samples and ascent."""

import numpy as np
import pytest

import pairs
import swordplay as sp
from swordplay.theory.variation_quadratic import (
    ball_maximum,
    largest_magnitude,
    largest_squared_gradient,
)
from theory.changes import (
    ascended_function_variation,
    ascended_gradient_variation,
    corners,
    domains,
    quadratic,
    squared,
    squared_changes,
)
from tolerances import ASCENT, ROUNDING, SPHERE_GRID, TWIN

SAMPLES = 20_000


@pytest.mark.parametrize(("seed", "dim"), pairs.of(range(4), [1, 2, 3, 5]))
@pytest.mark.parametrize("kind", ["squared", "quadratic", "mixed"])
def test_gradient_variation_of_quadratics_is_exact(seed, dim, kind):
    rng = np.random.default_rng([seed, dim])
    stream = list(squared(rng, 6, dim))
    if kind != "squared":
        stream = [
            quadratic(rng, dim) if kind == "quadratic" or t % 3 else loss
            for t, loss in enumerate(stream)
        ]
    ball, *polytopes = domains(dim, rng)
    answer = sp.gradient_variation(stream, ball)
    assert answer.exact
    found = ascended_gradient_variation(stream, ball, rng)
    assert found * (1 - ROUNDING) <= answer <= found * (1 + ASCENT)
    for domain in polytopes:
        answer = sp.gradient_variation(stream, domain)
        assert answer.exact
        assert answer == pytest.approx(squared_changes(stream, corners(domain)), rel=TWIN)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dim", [1, 2, 4])
@pytest.mark.parametrize("diagonal", [True, False])
def test_function_variation_of_quadratics(seed, dim, diagonal):
    rng = np.random.default_rng([seed, dim])
    stream = [quadratic(rng, dim, diagonal) for _ in range(3)]
    for domain in domains(dim, rng):
        answer, found = (
            sp.function_variation(stream, domain),
            ascended_function_variation(stream, domain, rng),
        )
        assert answer >= found * (1 - ROUNDING)
        if isinstance(domain, sp.Ball) or (isinstance(domain, sp.Box) and (diagonal or dim == 1)):
            assert answer.exact
        if answer.exact:
            assert answer <= found * (1 + ASCENT)


def test_a_supremum_at_a_vertex_of_the_simplex_is_exact():
    stream = [sp.QuadraticLoss(np.zeros((3, 3)), b) for b in ([0.0, 0.0, 0.0], [1.0, 2.0, -5.0])]
    answer = sp.function_variation(stream, sp.Simplex(3))
    assert answer.exact
    assert answer == 5.0


def test_boxes_of_many_dimensions_have_an_upper_bound():
    rng = np.random.default_rng(5)
    stream, box = [quadratic(rng, 12) for _ in range(4)], sp.Box(-np.ones(12), np.ones(12))
    answer = sp.gradient_variation(stream, box)
    assert not answer.exact
    assert squared_changes(stream, corners(box)) <= answer


def test_squared_losses_and_equal_quadratics_agree():
    rng = np.random.default_rng(4)
    stream = squared(rng, 20, 4)
    outer = [
        sp.QuadraticLoss(np.outer(f.features, f.features), f.target * f.features, 0.5 * f.target**2)
        for f in stream
    ]
    for domain in domains(4, rng):
        assert sp.gradient_variation(outer, domain) == pytest.approx(
            sp.gradient_variation(stream, domain), rel=TWIN
        )
        bound = sp.function_variation(outer, domain)
        assert bound >= sp.function_variation(stream, domain) * (1 - TWIN)
        assert bound.exact == isinstance(domain, sp.Ball)


def circle(radius):
    angles = np.linspace(0.0, 2 * np.pi, SAMPLES, endpoint=False)
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, -1)])
def test_ball_maximum_is_the_maximum_over_a_disc(seed, signs):
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


def test_ball_maximum_in_the_hard_case():
    # No slope along the axis of largest curvature: z_2 = p_2 / (q_1 - q_2) = 0.3, and z_1 is the
    # rest of the radius.
    q, p = np.array([[2.0, 1.0]]), np.array([[0.0, 0.3]])
    expected = 2.0 * (1 - 0.3**2) + 0.3**2 + 2 * 0.3 * 0.3
    assert ball_maximum(q, p, 1.0)[0] == pytest.approx(expected, rel=ROUNDING)


@pytest.mark.parametrize("slope", [1e-300, 1e-100, 1e-30, 1e-12, 1e-6])
def test_ball_maximum_near_the_hard_case(slope):
    q, p = np.array([[2.0, 1.0]]), np.array([[slope, 0.3]])
    limit = 2.0 * (1 - 0.3**2) + 0.3**2 + 2 * 0.3 * 0.3
    answer = ball_maximum(q, p, 1.0)[0]
    assert limit * (1 - ROUNDING) <= answer <= limit + 2 * slope + ROUNDING


def test_ball_maximum_without_slopes_is_the_largest_curvature():
    assert ball_maximum(np.array([[3.0, -1.0], [-2.0, -1.0]]), np.zeros((2, 2)), 2.0).tolist() == [
        12.0,
        0.0,
    ]


def test_ball_maximum_inside_the_ball():
    assert ball_maximum(np.array([[-2.0]]), np.array([[1.0]]), 1.0)[0] == pytest.approx(
        0.5, rel=ROUNDING
    )


@pytest.mark.parametrize("seed", range(5))
def test_suprema_of_rotated_quadratics_agree_with_samples(seed):
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
