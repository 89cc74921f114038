"""A prediction is made before its outcome is used, and no row is touched before its turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import swordplay as sp
from engine.duels import LEARNERS, LOSSES, duel

KEPT = ("losses", "decisions", "weights")
FORMS = {"dense": np.array, "sparse": scipy.sparse.csr_matrix}

every_learner = pytest.mark.parametrize(
    "learner", ["Ader", "SwordBest", "SwordBest, doubling", "Sword"]
)


def played(learner: str, seed: int, loss: str, features: Any, targets: np.ndarray) -> sp.Ledger:
    game = duel(seed, loss)
    stream = sp.LinearStream(features, targets, loss, threshold=game.stream.threshold)
    return sp.play(LEARNERS[learner](game), stream, engine="compiled", keep=KEPT)


def bytes_of(ledger: sp.Ledger, rounds: int) -> list[bytes]:
    assert ledger.losses is not None
    assert ledger.decisions is not None
    assert ledger.weights is not None
    return [
        ledger.losses[:rounds].tobytes(),
        ledger.decisions[:rounds].tobytes(),
        *(w.tobytes() for w in ledger.weights[:rounds]),
    ]


@every_learner
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("seed", "form"), [(2, "dense"), (2, "sparse"), (4, "dense"), (5, "dense")]
)
def test_later_rows_change_nothing_before_them(
    learner: str, loss: str, seed: int, form: str
) -> None:
    """Corrupt the rows from the 13th on: losses, decisions and weights up to then are the same
    bits.
    """
    game = duel(seed, loss)
    features, targets, cut = game.stream.features, game.stream.targets, 12
    spoilt, wrong = features.copy(), targets.copy()
    spoilt[cut:] = 1e6 * np.random.default_rng(0).normal(size=spoilt[cut:].shape)
    wrong[cut:] = 1.0 - wrong[cut:]
    clean = played(learner, seed, loss, FORMS[form](features), targets)
    corrupted = played(learner, seed, loss, FORMS[form](spoilt), wrong)
    assert bytes_of(corrupted, cut) == bytes_of(clean, cut)
    assert corrupted.losses[cut:].tobytes() != clean.losses[cut:].tobytes()


@every_learner
@pytest.mark.parametrize(("seed", "form"), [(2, "dense"), (2, "sparse"), (4, "dense")])
def test_a_prediction_does_not_know_its_target(learner: str, seed: int, form: str) -> None:
    game = duel(seed, "squared")
    features, targets, t = game.stream.features, game.stream.targets, 15
    other = targets.copy()
    other[t] += 3.0
    first = played(learner, seed, "squared", FORMS[form](features), targets)
    second = played(learner, seed, "squared", FORMS[form](features), other)
    # The decision of the round is said before; the next one has heard of the target.
    assert first.decisions[: t + 1].tobytes() == second.decisions[: t + 1].tobytes()
    assert first.decisions[t + 1].tobytes() != second.decisions[t + 1].tobytes()


@every_learner
def test_many_streams_do_not_look_ahead_or_aside(learner: str) -> None:
    game = duel(1, "squared")
    rng = np.random.default_rng(1)
    features, targets = rng.normal(size=(3, 40, game.domain.dim)), rng.normal(size=(3, 40))
    spoilt, wrong = features.copy(), targets.copy()
    spoilt[:, 25:], wrong[:, 25:] = -1e3, 7.0
    spoilt[1], wrong[1] = 2.0, 1.0  # another stream altogether
    clean, corrupted = (
        sp.engine.play_many([LEARNERS[learner](game) for _ in range(3)], rows, answers, threads=2)
        for rows, answers in ((features, targets), (spoilt, wrong))
    )
    np.testing.assert_array_equal(clean[[0, 2], :25], corrupted[[0, 2], :25])
