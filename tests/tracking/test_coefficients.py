"""Coefficients of stretches: columns and classes may join, memory stays bounded."""

import numpy as np
import pytest

from swordplay.tracking.coefficients import CELLS, MOST_CLASSES, Paths
from swordplay.tracking.drivers import drivers


def test_columns_and_classes_join_late():
    paths = Paths(4)
    paths.put(0, {1: np.array([1.0])})
    paths.put(1, {0: np.array([5.0, 6.0]), 1: np.array([2.0, 3.0]), 2: np.array([7.0, 8.0])})
    told = paths.told(2, {0: np.zeros(2), 1: np.full(2, 9.0), 2: np.zeros(2)})
    assert told.shape == (3, 3, 2)
    np.testing.assert_array_equal(told[:, 1], [[1.0, np.nan], [2.0, 3.0], [9.0, 9.0]])
    np.testing.assert_array_equal(told[:, 0, 0], [np.nan, 5.0, 0.0])


def test_what_single_precision_has_no_room_for_is_the_largest_number():
    paths = Paths(1)
    paths.put(0, {0: np.array([1e60, -1e60, 1.0])})
    np.testing.assert_array_equal(
        paths.kept[0, 0], np.array([3.4028235e38, -3.4028235e38, 1.0], np.float32)
    )


@pytest.mark.parametrize(
    "shape", [(1, 1, 3), (3, 1, 3), (2, 0, 3), (2, MOST_CLASSES + 1, 3), (2, 1, CELLS + 1), (2, 3)]
)
def test_coefficients_of_other_stretches_are_refused(shape):
    with pytest.raises(ValueError, match="coefficients have shape"):
        Paths(4).load_state({"coefficients": np.zeros(shape, np.float32)}, 2)
    with pytest.raises(ValueError, match="coefficients are of type float64"):
        Paths(4).load_state({"coefficients": np.zeros((2, 1, 3))}, 2)


def test_memory_is_bounded_whatever_the_width():
    paths = Paths(4)
    paths.put(0, {0: np.arange(2.0 * CELLS)})
    assert paths.kept.shape == (4, 1, CELLS)
    assert paths.kept[0, 0, -1] == CELLS - 1
    paths.put(1, {k: np.full(2 * CELLS, float(k)) for k in range(9)})
    assert paths.kept.shape == (4, MOST_CLASSES, CELLS // MOST_CLASSES)
    assert paths.kept[0, 0, -1] == CELLS // MOST_CLASSES - 1


def test_resuming_leaves_no_trace():
    whole, resumed = Paths(4), Paths(4)
    for here, width in enumerate([2, 3]):
        whole.put(here, {0: np.arange(float(width))})
    resumed.load_state(whole.state(2), 2)
    for one in (whole, resumed):
        one.put(2, {0: np.ones(4)})
        one.merge(1)
    np.testing.assert_array_equal(whole.kept, resumed.kept)
    np.testing.assert_array_equal(whole.kept[0, 0, :3], [0.0, 1.0, 2.0])


def test_the_largest_drive_and_waves_are_one():
    paths = np.array([[[1.0, 3.0, -4.0, 0.5]], [[1.0, 4.0, -3.0, -0.5]]])
    found = drivers(
        paths, ["small", "hour", "hour", "tiny"], np.array([2.0, 1.0, 1.0, 0.0]), {0: ""}
    )
    assert [one.name for one in found] == ["hour", "small", "tiny"]
    np.testing.assert_array_equal(found[0].path, [5.0, 5.0])
    assert found[0].swing
    assert np.isnan(found[0].per_unit)
    assert found[1].per_unit == 0.5
    assert np.isnan(found[2].per_unit)  # a column that has not spread has no unit


def test_columns_that_never_counted_are_not_named():
    assert drivers(np.zeros((3, 1, 2)), ["a", "b"], np.ones(2), {0: ""}) == ()
    assert drivers(np.full((3, 1, 1), np.nan), ["a"], np.ones(1), {0: ""}) == ()
