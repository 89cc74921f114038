"""Whole arrays, one row at a time, many streams at once, readable halves: one state, the same
numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import swordplay as sp
from engine.duels import LEARNERS, LOSSES, Duel, duel, gap, state_gaps
from swordplay.engine.compiled_learner import sparse_rows
from tolerances import DRIVEN, SINGLE_PRECISION, TWIN

pytestmark = pytest.mark.xdist_group("sparse")  # one process compiles, and the others need not

LEARNER_NAMES = ("OGD", "OEGD", "Ader", "SwordBest", "SwordBest, doubling", "Sword")
BALLS = (0, 1, 2)
"""Seeds of duels on a ball: plain, small, and away from the origin."""

every_learner = pytest.mark.parametrize("learner", LEARNER_NAMES)
every_loss = pytest.mark.parametrize("loss", LOSSES)
every_ball = pytest.mark.parametrize("seed", BALLS)


def make(learner: str, game: Duel) -> Any:
    return LEARNERS[learner](game)


def same(game: Duel, ours: Any, theirs: Any, tolerance: float = DRIVEN) -> None:
    found = state_gaps(game, ours.state(), theirs.state())
    worst = max(found, key=found.__getitem__)
    assert found[worst] <= tolerance, f"{game.name}: {worst} differs by {found[worst]:.1e}"
    np.testing.assert_allclose(
        ours.decision, theirs.decision, rtol=0, atol=tolerance * game.units["points"]
    )


def rows_of(game: Duel) -> tuple[np.ndarray, np.ndarray]:
    stream = game.stream
    return (stream.features.toarray() if stream.sparse else stream.features), stream.targets


@every_learner
@every_loss
@every_ball
def test_one_by_one_is_the_whole_array(learner: str, loss: str, seed: int) -> None:
    game = duel(seed, loss)
    features, targets = rows_of(game)
    whole, single = make(learner, game), make(learner, game)
    ledger = sp.play(whole, game.stream, engine="compiled")
    model = sp.engine.online(single, loss, threshold=game.stream.threshold)
    predictions, losses = [], []
    for row, target in zip(features, targets.tolist(), strict=True):
        predictions.append(model.predict(row))
        losses.append(model.learn(row, target))
    assert gap(losses, ledger.losses) <= DRIVEN
    assert gap(predictions, np.einsum("ij,ij->i", features, ledger.decisions)) <= TWIN
    same(game, single, whole)


@every_learner
@pytest.mark.parametrize("threads", [1, 2])
def test_many_at_once_are_each_by_itself(learner: str, threads: int) -> None:
    """300 rounds a stream: more than one chunk, and a growing pool that grows between two of
    them.
    """
    game, streams = duel(1, "squared"), 5
    rng = np.random.default_rng(3)
    features = rng.normal(size=(streams, 300, game.domain.dim))
    targets = rng.normal(size=(streams, 300))
    together, alone = ([make(learner, game) for _ in range(streams)] for _ in range(2))
    losses = sp.engine.play_many(together, features, targets, threads=threads)
    for k in range(streams):
        ledger = sp.play(alone[k], sp.LinearStream(features[k], targets[k]), engine="compiled")
        assert gap(losses[k], ledger.losses) <= DRIVEN
        same(game, together[k], alone[k])


def test_the_number_of_threads_changes_nothing() -> None:
    game = duel(0, "squared")
    rng = np.random.default_rng(0)
    features, targets = rng.normal(size=(7, 400, game.domain.dim)), rng.normal(size=(7, 400))
    one, three = (
        sp.engine.play_many(
            [make("Sword", game) for _ in range(7)], features, targets, threads=threads
        )
        for threads in (1, 3)
    )
    np.testing.assert_array_equal(one, three)


def test_learners_of_different_age_go_on_together() -> None:
    game = duel(1, "squared")
    features, targets = rows_of(game)
    together, alone = ([make("Sword", game) for _ in range(2)] for _ in range(2))
    for pair in (together, alone):
        sp.play(pair[0], game.stream, engine="compiled")
    sp.engine.play_many(together, np.stack([features, features]), np.stack([targets, targets]))
    for learner in alone:
        sp.play(learner, game.stream, engine="compiled")
    for ours, theirs in zip(together, alone, strict=True):
        same(game, ours, theirs)


def test_a_learner_that_met_sparse_rows_is_still_of_the_same_make() -> None:
    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=(10, 300)), rng.normal(size=10)
    learners = [sp.Sword(sp.Ball(300)) for _ in range(2)]
    sp.play(learners[0], sp.LinearStream(scipy.sparse.csr_matrix(rows), targets), engine="compiled")
    sp.play(learners[1], sp.LinearStream(rows, targets), engine="compiled")
    losses = sp.engine.play_many(learners, np.stack([rows, rows]), np.stack([targets, targets]))
    assert gap(losses[0], losses[1]) <= DRIVEN


def whole(learner: Any, stream: sp.LinearStream) -> None:
    sp.play(learner, stream, engine="compiled", keep=())


def readable(learner: Any, stream: sp.LinearStream) -> None:
    sp.play(learner, stream, engine="python", keep=())


def one_by_one(learner: Any, stream: sp.LinearStream) -> None:
    model = sp.engine.online(learner, stream.loss, threshold=stream.threshold)
    for loss in stream:
        model.predict(loss.features)
        model.learn(loss.features, loss.target)


def fleet(learner: Any, stream: sp.LinearStream) -> None:
    rows = stream.features.toarray() if stream.sparse else stream.features
    sp.engine.play_many(
        [learner], rows[None], stream.targets[None], loss=stream.loss, threshold=stream.threshold
    )


def sparse(learner: Any, stream: sp.LinearStream) -> None:
    rows = scipy.sparse.csr_matrix(stream.features)
    whole(learner, sp.LinearStream(rows, stream.targets, stream.loss, threshold=stream.threshold))


DRIVES: dict[str, Callable[[Any, sp.LinearStream], None]] = {
    "whole": whole,
    "readable": readable,
    "one by one": one_by_one,
    "fleet": fleet,
    "sparse": sparse,
}


@cache
def three_parts() -> Duel:
    return duel(2, "squared", rounds=90)


@cache
def played(learner: str) -> Any:
    """The readable learner after all parts, which every pair of drives is held to."""
    plain = make(learner, three_parts())
    readable(plain, three_parts().stream)
    return plain


@pytest.mark.parametrize("first", DRIVES)
@pytest.mark.parametrize("second", DRIVES)
@pytest.mark.parametrize("learner", ["OEGD", "SwordBest", "Sword"])
def test_any_drive_goes_on_from_any_other(first: str, second: str, learner: str) -> None:
    """Three parts, the last driven as the first was: nothing may be left behind in what a drive
    had set up before.
    """
    game = three_parts()
    mixed = make(learner, game)
    for drive, part in ((first, slice(0, 9)), (second, slice(9, 60)), (first, slice(60, None))):
        DRIVES[drive](mixed, game.stream[part])
    assert mixed.rounds == game.horizon
    same(game, mixed, played(learner), TWIN)


@pytest.mark.parametrize("seed", [4, 5])
@every_learner
def test_halves_on_a_simplex_and_a_box(learner: str, seed: int) -> None:
    game = duel(seed, "squared")
    mixed, plain = make(learner, game), make(learner, game)
    whole(mixed, game.stream[:7])
    readable(mixed, game.stream[7:12])
    whole(mixed, game.stream[12:])
    readable(plain, game.stream)
    same(game, mixed, plain, TWIN)


@pytest.mark.parametrize("learner", ["SwordBest", "Sword"])
@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        np.ascontiguousarray,
        lambda rows: np.repeat(rows, 2, axis=0)[::2],
        lambda rows: np.flip(np.flip(rows, axis=0).copy(), axis=0),
        lambda rows: rows.astype(">f8"),
        scipy.sparse.csr_matrix,
        scipy.sparse.csc_matrix,
        scipy.sparse.csr_array,
    ],
    ids=["fortran", "contiguous", "strided", "backwards", "big-endian", "csr", "csc", "csr_array"],
)
def test_the_form_of_the_table_does_not_matter(
    learner: str, form: Callable[[np.ndarray], Any]
) -> None:
    game = duel(2, "squared")
    plain, other = make(learner, game), make(learner, game)
    sp.play(plain, game.stream, engine="compiled")
    sp.play(
        other, sp.LinearStream(form(game.stream.features), game.stream.targets), engine="compiled"
    )
    same(game, other, plain)


def frozen(rows: np.ndarray) -> np.ndarray:
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


@pytest.mark.parametrize("kind", [np.float32, np.int64, bool, "frozen"])
def test_the_type_of_the_table_does_not_matter(kind: Any) -> None:
    game = duel(0, "squared")
    rows = (
        frozen(game.stream.features)
        if kind == "frozen"
        else np.round(game.stream.features, 1).astype(kind)
    )
    plain, other = make("SwordBest", game), make("SwordBest", game)
    sp.play(plain, sp.LinearStream(rows.astype(float), game.stream.targets), engine="compiled")
    sp.play(other, sp.LinearStream(rows, game.stream.targets), engine="compiled")
    assert all(
        np.array_equal(ours, theirs)
        for ours, theirs in zip(other.state().values(), plain.state().values(), strict=True)
    )


def test_duplicates_in_a_sparse_table_are_summed_and_left_alone() -> None:
    rows = scipy.sparse.csr_matrix(
        (np.array([1.0, 2.0, 3.0, 0.5]), np.array([0, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 3)
    )
    twice, once = sp.Sword(sp.Ball(3)), sp.Sword(sp.Ball(3))
    sp.play(twice, sp.LinearStream(rows, [1.0, -2.0]), engine="compiled")
    sp.play(once, sp.LinearStream(rows.toarray(), [1.0, -2.0]), engine="compiled")
    np.testing.assert_array_equal(twice.decision, once.decision)
    np.testing.assert_array_equal(rows.data, [1.0, 2.0, 3.0, 0.5])


@pytest.mark.parametrize("kind", [np.float64, np.float32, bool])
@pytest.mark.parametrize("canonical", [True, False])
def test_rows_cut_from_a_sparse_table_are_those_rows_and_the_table_is_left_alone(
    kind: Any, canonical: bool
) -> None:
    rng = np.random.default_rng(5)
    whole = scipy.sparse.random(40, 7, 0.3, format="csr", rng=rng).astype(
        kind
    )  # some rows are empty
    if not canonical:
        whole = scipy.sparse.csr_matrix(
            (
                whole.data[::-1].copy(),
                whole.indices[::-1].copy(),
                whole.indptr[-1] - whole.indptr[::-1],
            )
        )
    for array in (whole.data, whole.indices, whole.indptr):
        array.flags.writeable = False
    before = whole.toarray()
    for first, last in ((0, 40), (0, 9), (9, 31), (31, 40), (12, 13)):
        values, indices, starts = sparse_rows(whole, slice(first, last))
        assert (values.dtype, indices.dtype, starts.dtype) == (np.float64, np.int64, np.int64)
        assert values.flags.carray
        cut = scipy.sparse.csr_matrix((values, indices, starts), shape=(last - first, 7)).toarray()
        np.testing.assert_array_equal(cut, before[first:last].astype(np.float64))
    np.testing.assert_array_equal(whole.toarray(), before)


@pytest.mark.parametrize("learner", ["OEGD", "SwordBest", "Sword"])
@pytest.mark.parametrize(
    "form",
    [np.asarray, pytest.param(scipy.sparse.csr_matrix, marks=pytest.mark.deep)],
    ids=["dense", "sparse"],
)
def test_single_precision_stays_close(learner: str, form: Any) -> None:
    game = duel(2, "squared")
    exact, coarse = make(learner, game), make(learner, game)
    ledger = sp.play(exact, game.stream, engine="compiled")
    engine = sp.engine.compiled_twin(coarse, "squared", dtype="float32")
    features, targets = rows_of(game)
    losses = engine.play(form(features), targets).losses
    assert engine.memory.coordinates.dtype == np.float32
    assert gap(losses, ledger.losses) <= SINGLE_PRECISION
    assert gap(coarse.decision, exact.decision, game.units["points"]) <= SINGLE_PRECISION
