"""Projections of boxes and simplices onto planes, against the images of all corners."""

from itertools import product

import numpy as np
import pytest

import swordplay as sp
from swordplay.theory.plane_projection import RowPairs, plane_of, project_corners
from tolerances import ROUNDING


def row_pairs(dim, count=20):
    rng = np.random.default_rng(dim)
    return RowPairs(*rng.normal(size=(2, count, dim)), *rng.normal(size=(2, count)))


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_a_box_projects_to_the_hull_of_its_corners(dim):
    """In every direction, the polygon reaches as far as the images of all 2^d corners."""
    rng, pairs = np.random.default_rng(0), row_pairs(dim)
    box = sp.Box(-rng.uniform(0.1, 2.0, dim), rng.uniform(0.1, 2.0, dim))
    e, v = project_corners(box, pairs)
    assert e.shape == v.shape == (2 * dim, 20)
    corners = np.array(list(product(*zip(box.lower, box.upper, strict=True))))
    all_e = corners @ pairs.differences.T + pairs.target_decreases
    all_v = corners @ pairs.rows_before.T - pairs.targets_before
    for angle in np.linspace(0.0, 2 * np.pi, 60):
        x, y = np.cos(angle), np.sin(angle)
        np.testing.assert_allclose(
            (x * e + y * v).max(axis=0), (x * all_e + y * all_v).max(axis=0), atol=100 * ROUNDING
        )


def test_a_simplex_projects_to_the_hull_of_its_corners():
    pairs, simplex = row_pairs(4), sp.Simplex(4, 1.5)
    e, v = project_corners(simplex, pairs)
    corners = 1.5 * np.eye(4)
    np.testing.assert_allclose(e, corners @ pairs.differences.T + pairs.target_decreases)
    np.testing.assert_allclose(v, corners @ pairs.rows_before.T - pairs.targets_before)


def test_norms_in_the_plane_are_those_of_the_vectors():
    pairs = row_pairs(5)
    e, v = np.random.default_rng(1).normal(size=(2, 20))
    vectors = e[:, None] * pairs.rows + v[:, None] * pairs.differences
    found = plane_of(pairs.rows, pairs.differences).squared_norms(e, v)
    np.testing.assert_allclose(found, np.square(vectors).sum(axis=1), rtol=1e-10)


def test_a_row_of_zeros_spans_a_line():
    plane = plane_of(np.zeros((1, 3)), np.array([[3.0, 0.0, 4.0]]))
    assert (plane.length[0], plane.along[0], plane.across[0]) == (0.0, 0.0, 5.0)
