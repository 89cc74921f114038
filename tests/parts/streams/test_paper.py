"""The two instances have the properties that the paper states."""

import numpy as np
import pytest

import swordplay as sp
from tolerances import ROUNDING


@pytest.mark.parametrize("instance", [sp.streams.paper.gradual, sp.streams.paper.alternating])
@pytest.mark.parametrize("T", [2, 3, 100, 101])
def test_comparators_minimise_each_loss_over_the_interval(instance, T):
    stream = instance(T)
    grid = np.linspace(-1.0, 1.0, 2001)[:, None]
    for loss, u in zip(stream, stream.comparators, strict=True):
        assert loss.value(u) <= loss.value(grid).min() + ROUNDING


def test_instance_1_has_small_variation_and_large_losses():
    stream = sp.streams.paper.gradual(1000)
    T = len(stream)
    assert T == 1001
    assert sp.path_length(stream.comparators) == 2.0
    # grad f_t(x) - grad f_{t-1}(x) = (a_t^2 - a_{t-1}^2) x - (a_t - a_{t-1}), largest at an end of
    # [-1, 1]
    ends = np.array([[-1.0], [1.0]])
    gradients = np.array([loss.gradient(ends)[:, 0] for loss in stream])
    assert np.square(np.diff(gradients, axis=0)).max(axis=1).sum() <= 4 / T
    assert sp.comparator_loss(stream, stream.comparators) >= T / 10


def test_instance_2_has_no_loss_and_large_variation():
    stream = sp.streams.paper.alternating(1000)
    assert sp.path_length(stream.comparators) == 2.0
    assert sp.comparator_loss(stream, stream.comparators) == 0.0
    ends = np.array([[-1.0], [1.0]])
    gradients = np.array([loss.gradient(ends)[:, 0] for loss in stream])
    assert np.square(np.diff(gradients, axis=0)).max(axis=1).sum() >= len(stream) / 2


@pytest.mark.parametrize("instance", [sp.streams.paper.gradual, sp.streams.paper.alternating])
def test_a_horizon_of_zero_is_refused(instance):
    with pytest.raises(ValueError, match="T must be at least 1, got 0"):
        instance(0)
