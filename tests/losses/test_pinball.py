"""The pinball loss: its values by hand, its minimiser, and regret against every moving quantile."""

import numpy as np
import pytest
from scipy.optimize import linprog

import swordplay as sp


@pytest.mark.parametrize(
    ("prediction", "value", "slope"),
    [(1.0, 0.9 * 2.0, -0.9), (3.0, 0.0, 0.0), (5.0, 0.1 * 2.0, 0.1), (-1.0, 0.9 * 4.0, -0.9)],
)
def test_by_hand(prediction, value, slope):
    loss = sp.PinballLoss([1.0], target=3.0, level=0.9)
    assert float(loss.value([prediction])) == pytest.approx(value)
    assert loss.gradient([prediction]).tolist() == [pytest.approx(slope)]
    assert sp.PinballLoss([2.0], 3.0, 0.9).gradient([prediction / 2]).tolist() == [
        pytest.approx(2 * slope)
    ]
    assert loss.smoothness is None


def test_the_level_is_a_half_by_default_and_must_lie_between_0_and_1():
    assert sp.PinballLoss([1.0], 0.0).level == 0.5
    for bad in (0.0, 1.0, -0.1, 90.0):
        with pytest.raises(ValueError, match=f"level must lie between 0 and 1, got {bad}"):
            sp.PinballLoss([1.0], 0.0, bad)


def test_the_sum_is_smallest_at_the_quantile():
    targets = np.random.default_rng(0).normal(size=1001)
    points = np.linspace(-3.0, 3.0, 601)
    for level in (0.1, 0.5, 0.9):
        sums = sum(sp.PinballLoss([1.0], y, level).value(points[:, None]) for y in targets.tolist())
        assert points[np.argmin(sums)] == pytest.approx(np.quantile(targets, level), abs=0.02)


def best_moving_quantile(scores, level, most, path):
    """The numbers in [0, most] that travel at most this far and pay the least, by linear
    programming: u, losses, moves.
    """
    T = len(scores)
    eye, zero = np.eye(T), np.zeros((T, T - 1))
    turns = np.diff(eye, axis=0)
    rows = np.block(
        [
            [-level * eye, -eye, zero],  # loss >= level (y - u)
            [(1.0 - level) * eye, -eye, zero],  # loss >= (1 - level) (u - y)
            [turns, np.zeros((T - 1, T)), -np.eye(T - 1)],
            [-turns, np.zeros((T - 1, T)), -np.eye(T - 1)],
            [np.zeros(2 * T), np.ones(T - 1)],
        ]
    )
    limits = np.concatenate(
        [-level * scores, (1.0 - level) * scores, np.zeros(2 * (T - 1)), [path]]
    )
    costs = np.concatenate([np.zeros(T), np.ones(T), np.zeros(T - 1)])
    found = linprog(
        costs, rows, limits, bounds=[(0.0, most)] * T + [(None, None)] * T + [(0.0, None)] * (T - 1)
    )
    assert found.success
    return found.x[:T, None]


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_the_certificate_holds_against_every_moving_quantile(level):
    """Sword follows a quantile that jumps.

    What it paid beyond the best sequence of any path length is at most certified.
    """
    rng = np.random.default_rng(1)
    scores = np.abs(rng.normal(size=90)) * np.repeat([1.0, 3.0, 0.5], 30)
    stream = [sp.PinballLoss([1.0], score, level) for score in scores.tolist()]
    learner = sp.Sword(sp.Box([0.0], [10.0]))
    ledger = sp.play(learner, stream)
    regrets = []
    for path in (0.0, 1.0, 5.0, 20.0, 100.0):
        best = best_moving_quantile(scores, level, 10.0, path)
        assert sp.path_length(best) <= path + 1e-9
        regrets.append(ledger.regret(best))
        assert regrets[-1] <= learner.certificate(path)
    assert regrets == sorted(regrets)
