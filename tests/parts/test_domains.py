"""Properties of projections and support functions of balls, boxes and simplices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
import swordplay as sp
from strategies import domains, tables
from tolerances import PROJECTION


@st.composite
def domains_and_points(draw: st.DrawFn):
    domain = draw(domains())
    return domain, draw(tables(8, domain.dim, 100.0))


def slack(domain, points):
    """Rounding, in the units of what was projected."""
    return PROJECTION * (
        domain.diameter + np.linalg.norm(domain.center) + np.linalg.norm(points, axis=-1).max()
    )


@given(domains_and_points())
def test_projections_are_feasible(given_):
    domain, points = given_
    assert domain.contains(domain.project(points), atol=slack(domain, points)).all()


@given(domains_and_points())
def test_projections_are_idempotent(given_):
    domain, points = given_
    once = domain.project(points)
    np.testing.assert_allclose(domain.project(once), once, rtol=0, atol=slack(domain, points))


@given(domains_and_points())
def test_projections_are_nonexpansive(given_):
    domain, points = given_
    nearest = domain.project(points)
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    assert (
        np.linalg.norm(nearest[:, None] - nearest[None], axis=-1) <= apart + slack(domain, points)
    ).all()


@given(domains_and_points())
def test_projections_satisfy_the_variational_inequality(given_):
    """<x - p, z - p> <= 0 for every feasible z: true of the nearest point p only."""
    domain, points = given_
    p = domain.project(points)
    angles = np.einsum("ij,ikj->ik", points - p, p[None] - p[:, None])
    reach = domain.diameter + np.linalg.norm(points - p, axis=1)
    assert (angles <= slack(domain, points) * reach[:, None]).all()


@given(domains_and_points())
def test_no_point_of_the_domain_is_nearer(given_):
    domain, points = given_
    p = domain.project(points)
    nearest = np.linalg.norm(points - p, axis=1)
    to_others = np.linalg.norm(points[:, None] - p[None], axis=-1)
    assert (nearest[:, None] <= to_others + slack(domain, points)).all()


@given(domains_and_points())
def test_a_batch_is_its_rows(given_):
    domain, points = given_
    nearest = domain.project(points)
    np.testing.assert_allclose(
        nearest, [domain.project(x) for x in points], rtol=0, atol=slack(domain, points)
    )
    np.testing.assert_array_equal(nearest, domain.project(points.reshape(2, 4, -1)).reshape(8, -1))


@given(domains_and_points())
def test_projections_agree_with_plain_loops(given_):
    domain, points = given_
    project = naive.projection(domain)
    expected = [project(x.tolist()) for x in points]
    np.testing.assert_allclose(domain.project(points), expected, rtol=0, atol=slack(domain, points))


@given(domains_and_points())
def test_the_diameter_is_the_longest_distance(given_):
    domain, points = given_
    feasible = domain.project(points)
    apart = np.linalg.norm(feasible[:, None] - feasible[None], axis=-1)
    assert (apart <= domain.diameter + slack(domain, points)).all()


@given(domains_and_points())
def test_the_support_function_bounds_every_inner_product(given_):
    domain, directions = given_
    feasible = domain.project(directions)
    room = slack(domain, directions) * (1 + np.linalg.norm(directions, axis=1))
    assert (directions @ feasible.T <= (domain.support(directions) + room)[:, None]).all()


def test_the_diameter_is_reached():
    ball = sp.Ball(3, 2.0, [1.0, 1.0, 1.0])
    ends = ball.project(ball.center + 100 * np.array([[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]]))
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(ball.diameter)
    box = sp.Box([0.0, -1.0], [3.0, 3.0])
    assert box.diameter == 5.0 == np.linalg.norm(box.upper - box.lower)
    simplex = sp.Simplex(5, 3.0)
    corners = simplex.project(100 * np.eye(5))
    assert np.linalg.norm(corners[0] - corners[4]) == pytest.approx(simplex.diameter)


@pytest.mark.parametrize("domain", [sp.Ball(2), sp.Box([0, 0], [1, 1]), sp.Simplex(2)], ids=repr)
class TestRefusals:
    @pytest.mark.parametrize("method", ["project", "contains", "support"])
    @pytest.mark.parametrize("points", [np.zeros(3), np.zeros((4, 1)), np.float64(1.0)])
    def test_the_wrong_width_is_refused(self, domain, method, points):
        with pytest.raises(ValueError, match=r"(points|directions) must have shape \(\.\.\., 2\)"):
            getattr(domain, method)(points)

    def test_nan_is_refused(self, domain):
        with pytest.raises(ValueError, match=r"points must be finite, got nan at index \(1, 0\)"):
            domain.project(np.array([[0.5, 5.0], [np.nan, 0.0]]))

    def test_the_centre_cannot_be_written(self, domain):
        with pytest.raises(ValueError, match="read-only"):
            domain.center[0] = 7.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sp.Ball(0), "dim must be at least 1, got 0"),
        (lambda: sp.Ball(2.5), "dim must be a whole number, got 2.5"),
        (lambda: sp.Ball("2"), "dim must be a whole number"),
        (lambda: sp.Ball(True), "dim must be a whole number"),
        (lambda: sp.Ball(2, 0.0), "radius must be greater than 0, got 0.0"),
        (lambda: sp.Ball(2, -1.0), "radius must be greater than 0, got -1.0"),
        (lambda: sp.Ball(2, np.inf), "radius must be finite, got inf"),
        (lambda: sp.Ball(2, None), "radius must be a real number, got None"),
        (lambda: sp.Ball(2, center=[0.0]), "center must have length 2, got length 1"),
        (lambda: sp.Ball(2, center=[0.0, np.nan]), "center must be finite, got nan at index 1"),
        (lambda: sp.Ball(2, center=["a", "b"]), "center must hold real numbers"),
        (
            lambda: sp.Box([0.0, 2.0], [1.0, 1.0]),
            r"lower must not exceed upper, got lower\[1\] = 2.0",
        ),
        (lambda: sp.Box([0.0], [1.0, 1.0]), "upper must have length 1, got length 2"),
        (lambda: sp.Box([0.0], [np.inf]), "upper must be finite, got inf"),
        (
            lambda: sp.Box([1.0, 1.0], [1.0, 1.0]),
            "upper must exceed lower in at least one",
        ),
        (lambda: sp.Box([], []), "lower must not be empty"),
        (lambda: sp.Simplex(1), "dim must be at least 2, got 1"),
        (lambda: sp.Simplex(3, 0.0), "total must be greater than 0"),
        (lambda: sp.Simplex(3, np.nan), "total must be finite, got nan"),
    ],
)
def test_bad_domains_are_refused_in_words(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_a_ball_is_right_for_points_whose_squares_overflow():
    np.testing.assert_allclose(sp.Ball(2).project(np.array([3e200, 4e200])), [0.6, 0.8])


def test_a_simplex_is_right_when_every_coordinate_is_huge():
    np.testing.assert_allclose(
        sp.Simplex(3).project(np.array([1e15, 1e15 + 0.5, 0.0])), [0.25, 0.75, 0.0]
    )
