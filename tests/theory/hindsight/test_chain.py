"""Newton systems on a chain, against a dense solver."""

import itertools

import numpy as np
import pytest

from swordplay.theory.hindsight import chain
from swordplay.theory.hindsight.chain import Chain, Hessians, MoveMatrices
from tolerances import DENSE_SYSTEM


@pytest.mark.parametrize(
    ("rounds", "dim", "max_numbers"),
    [(1, 2, 1 << 24), (2, 1, 1 << 24), (7, 3, 1 << 24), (50, 4, 100)],
)
def test_chain_agrees_with_a_dense_solver(rounds, dim, max_numbers, monkeypatch):
    # With 100 numbers, segments are factorized again for each pass.
    monkeypatch.setattr(chain, "MAX_STORED_NUMBERS", max_numbers)
    rng, n = np.random.default_rng(rounds), dim
    matrices = rng.normal(size=(rounds, n, n))
    hessians = Hessians(
        features=rng.normal(size=(rounds, n)),
        feature_weights=rng.uniform(size=rounds),
        matrices=matrices @ matrices.transpose(0, 2, 1),
        identity_weights=rng.uniform(0.1, 1, size=rounds),
        ball_directions=rng.normal(size=(rounds, n)),
        normals=rng.normal(size=(5, n)),
        normal_weights=rng.uniform(size=(rounds, 5)),
    )
    scales, directions = 10 ** rng.uniform(-4, 2, size=rounds - 1), rng.normal(size=(rounds - 1, n))
    linear_terms, wanted_moves = rng.normal(size=(rounds, n)), rng.normal(size=(rounds - 1, n))
    system = Chain(rounds, n)
    system.factorize(hessians, MoveMatrices(scales, directions))
    points, duals = system.solve(linear_terms, wanted_moves, refine=True)

    # Stationarity of each round, H x + D'z = b; then the moves, D x - C z = m.
    H = np.zeros((rounds * n, rounds * n))
    for t, unit in itertools.product(range(rounds), np.eye(n)):
        point = np.zeros((rounds, n))
        point[t] = unit
        H[:, t * n + int(unit.argmax())] = hessians.multiply(point).ravel()
    D = np.kron(np.diff(np.eye(rounds), axis=0), np.eye(n))
    C = np.zeros((len(D), len(D)))
    for t in range(rounds - 1):
        C[t * n : t * n + n, t * n : t * n + n] = scales[t] * np.eye(n) + np.outer(
            directions[t], directions[t]
        )
    matrix = np.block([[H, D.T], [D, -C]])
    expected = np.linalg.solve(matrix, np.concatenate([linear_terms.ravel(), wanted_moves.ravel()]))
    np.testing.assert_allclose(
        np.concatenate([points.ravel(), duals.ravel()]), expected, atol=DENSE_SYSTEM
    )
