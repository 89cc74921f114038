"""The exact search for logistic and Huber losses, against grids and by hand."""

import numpy as np
import pytest

import pairs
import swordplay as sp
from swordplay.parts.streams.linear import LinearRounds
from swordplay.theory.variation_linear import LinearChange
from tolerances import ASCENT, BOUNDARY_GRID, ROUNDING, TWIN


@pytest.mark.parametrize("loss", ["logistic", "huber"])
@pytest.mark.parametrize(("scale", "drift"), pairs.of([0.3, 3.0, 20.0], [1e-7, 1.0]))
def test_gradient_variation_is_attained_on_the_boundary(loss, scale, drift):
    """The largest change at many points of the boundary is close to the result, and below it."""
    rng = np.random.default_rng(7)
    features = scale * (rng.normal(size=2) + drift * rng.normal(size=(12, 2)))
    targets = (
        rng.integers(0, 2, 12) * (drift == 1.0)
        if loss == "logistic"
        else scale * drift * rng.normal(size=12)
    )
    stream = sp.LinearStream(features, targets, loss, threshold=0.5 * scale)
    angles = np.linspace(0.0, 2 * np.pi, 40_001)
    ball, box, simplex = (
        sp.Ball(2, 0.9, [0.1, -0.2]),
        sp.Box([-0.5, 0.1], [0.7, 0.9]),
        sp.Simplex(2, 1.5),
    )
    boundaries = {
        ball: ball.center + ball.radius * np.stack([np.cos(angles), np.sin(angles)], axis=1),
        box: box.project(box.center + 9.0 * np.stack([np.cos(angles), np.sin(angles)], axis=1)),
        simplex: np.stack(
            [1.5 * np.linspace(0, 1, 40_001), 1.5 - 1.5 * np.linspace(0, 1, 40_001)], axis=1
        ),
    }
    square = np.linspace(0, 1, 10_001)[:, None]
    edges = [box.lower + square * np.array([0.0, 0.8]), box.upper - square * np.array([0.0, 0.8])]
    edges += [box.lower + square * np.array([1.2, 0.0]), box.upper - square * np.array([1.2, 0.0])]
    boundaries[box] = np.concatenate(edges)
    change = LinearChange(LinearRounds.of_stream(stream))
    for domain, boundary in boundaries.items():
        largest = np.zeros(len(stream) - 1)
        for x in boundary[::16]:
            largest = np.maximum(largest, change.squared_gradients(x))
        answer = sp.gradient_variation(stream, domain)
        assert answer.exact
        assert largest.sum() <= answer * (
            1 + ASCENT
        )  # at a drift of 1e-7 the samples' own differences lose seven digits
        assert answer <= largest.sum() * (1 + BOUNDARY_GRID)


def test_losses_with_slopes_at_their_limits_by_hand():
    """Opposite labels change the slope by 1, saturated Huber losses by twice the threshold."""
    flip = sp.LinearStream([[3.0, 4.0], [3.0, 4.0]], [0, 1], "logistic")
    assert sp.gradient_variation(flip, sp.Ball(2)) == pytest.approx(25.0, rel=TWIN)
    jump = sp.LinearStream([[3.0, 4.0], [3.0, 4.0]], [-100.0, 100.0], "huber", threshold=0.5)
    assert sp.gradient_variation(jump, sp.Ball(2)) == pytest.approx(25.0, rel=TWIN)


def test_simplices_of_many_dimensions_have_an_upper_bound():
    stream = sp.LinearStream(np.random.default_rng(0).normal(size=(3, 30)), [0, 1, 0], "logistic")
    assert not sp.gradient_variation(stream, sp.Simplex(30)).exact
    assert sp.gradient_variation(stream, sp.Box(-np.ones(30), np.ones(30))).exact


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_variations_shrink_with_the_drift(loss):
    # A bound from the smoothness of each round alone would not shrink.
    rng = np.random.default_rng(1)
    walk, ball = np.cumsum(rng.normal(size=(50, 3)), axis=0), sp.Ball(3)
    gradients, values = [], []
    for drift in (1e-1, 1e-3, 1e-5):
        stream = sp.LinearStream(1.0 + drift * walk, np.ones(50), loss)
        gradients.append(sp.gradient_variation(stream, ball))
        values.append(sp.function_variation(stream, ball))
    assert gradients[2] < 1e-3 * gradients[1] < 1e-6 * gradients[0]
    assert values[2] < 2e-2 * values[1] < 4e-4 * values[0]


def test_opposite_labels_change_the_logistic_gradient_by_the_features():
    stream = sp.LinearStream([[3.0, 4.0], [3.0, 4.0]], [0, 1], "logistic")
    assert sp.gradient_variation(stream, sp.Ball(2)) == pytest.approx(25.0, rel=ROUNDING)
