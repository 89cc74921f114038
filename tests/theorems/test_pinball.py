"""The certificate of Sword on pinball losses, against every moving quantile."""

import numpy as np
import pytest
from scipy.optimize import linprog

import swordplay as sp


def best_moving_quantile(scores, level, most, path):
    """Sequence in [0, most] of least total loss whose path length is at most ``path``.

    A linear program in u, the losses and the moves.
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
    """Its regret against the best sequence of any path length is at most the certificate."""
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
