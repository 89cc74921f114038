"""A learner that an engine plays for is still the learner: whatever it is asked, it answers for
the rounds played.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import swordplay as sp
from engine.duels import LEARNERS, duel, gap, state_gaps
from tolerances import DRIVEN, ROUNDING, TWIN

GAME = duel(2, "squared")
FEATURES, TARGETS = GAME.stream.features, GAME.stream.targets
META = ("SwordVar", "SwordSmall", "SwordBest", "Sword", "Ader")


def pair(learner: str) -> tuple[Any, Any]:
    return LEARNERS[learner](GAME), LEARNERS[learner](GAME)


@pytest.mark.parametrize("learner", META)
def test_it_answers_as_the_readable_one_does(learner: str) -> None:
    ours, theirs = pair(learner)
    sp.play(ours, GAME.stream, engine="compiled")
    sp.play(theirs, GAME.stream, engine="python")
    assert ours.rounds == theirs.rounds == GAME.horizon
    for name in ("decision", "points", "weights", "step_sizes", "trust", "effective_step_size"):
        assert (
            gap(getattr(ours, name), getattr(theirs, name), unit=1.0 if name == "trust" else 0.0)
            <= TWIN
        ), name
    for path in (0.0, 1.0, 100.0):
        assert gap(ours.certificate(path), theirs.certificate(path)) <= TWIN
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("learner", META)
def test_it_observes_what_the_engine_does_not_know(learner: str) -> None:
    ours, theirs = pair(learner)
    sp.play(ours, GAME.stream, engine="compiled")
    sp.play(theirs, GAME.stream, engine="python")
    bowl = sp.QuadraticLoss(np.eye(GAME.domain.dim), GAME.domain.center)
    for one in (ours, theirs):
        one.observe(bowl)
    assert ours.rounds == GAME.horizon + 1
    assert max(state_gaps(GAME, ours.state(), theirs.state()).values()) <= TWIN


def test_after_a_loss_that_is_not_linear_only_the_readable_learner_goes_on() -> None:
    """Replayed gradients are then no multiples of a row.

    The engine says so; left to choose, play goes on readably.
    """
    ours, theirs = pair("SwordBest")
    bowl = sp.QuadraticLoss(np.diag(1.0 + np.arange(GAME.domain.dim)), np.ones(GAME.domain.dim))
    for one in (ours, theirs):
        sp.play(one, GAME.stream[:20], engine="python")
        one.observe(bowl)
    before = ours.state()
    with pytest.raises(sp.engine.NotCompilable, match="not one of a linear prediction"):
        sp.play(ours, GAME.stream[20:], engine="compiled")
    assert all(np.array_equal(ours.state()[name], value) for name, value in before.items())
    sp.play(ours, GAME.stream[20:], engine="auto")
    sp.play(theirs, GAME.stream[20:], engine="python")
    assert ours.decision.tobytes() == theirs.decision.tobytes()


@pytest.mark.parametrize("learner", ["OEGD", *META])
def test_a_state_moves_to_another_learner(learner: str) -> None:
    first, second = pair(learner)
    sp.play(first, GAME.stream[:20], engine="compiled")
    second.load_state(first.state())
    assert all(np.array_equal(second.state()[name], value) for name, value in first.state().items())
    for one in (first, second):
        sp.play(one, GAME.stream[20:], engine="compiled")
    assert max(state_gaps(GAME, second.state(), first.state()).values()) <= DRIVEN


def test_a_loaded_state_is_the_one_that_counts() -> None:
    """Loading takes the learner back from its engine.

    An engine that played on would play from the past.
    """
    learner, fresh = pair("SwordBest")
    young = fresh.state()
    sp.play(learner, GAME.stream, engine="compiled")
    learner.load_state(young)
    assert learner.rounds == 0
    again = sp.play(learner, GAME.stream, engine="compiled")
    first = sp.play(fresh, GAME.stream, engine="compiled")
    np.testing.assert_array_equal(again.losses, first.losses)


@pytest.mark.parametrize("learner", ["SwordBest", "Sword"])
def test_predicting_is_free(learner: str) -> None:
    """Predict twice, or for other features, or not at all: the lesson is the same to the last
    bit.
    """
    curious, plain = pair(learner)
    asks, learns = sp.engine.online(curious), sp.engine.online(plain)
    rng = np.random.default_rng(0)
    for row, target in zip(FEATURES, TARGETS.tolist(), strict=True):
        before = curious.state()
        assert asks.predict(row) == asks.predict(row)
        asks.predict(rng.normal(size=len(row)))
        assert max(state_gaps(GAME, curious.state(), before).values()) <= ROUNDING
        assert asks.learn(row, target) == learns.learn(row, target)
    assert all(
        np.array_equal(curious.state()[name], value) for name, value in plain.state().items()
    )


def test_features_may_be_changed_after_a_prediction() -> None:
    """The caller's array is the caller's: products made for it are not used for what it has
    become.
    """
    model, plain = (sp.engine.online(learner) for learner in pair("SwordBest"))
    row = FEATURES[0].copy()
    model.predict(row)
    row[:] = FEATURES[1]
    model.learn(row, 1.0)
    plain.learn(FEATURES[1], 1.0)
    np.testing.assert_array_equal(model.decision, plain.decision)


def test_a_model_sees_what_play_and_play_many_did() -> None:
    """One engine for all: a prediction after an array was played is that of the learner's
    decision.
    """
    for learner in ("SwordBest", "Sword"):
        one, _ = pair(learner)
        model = sp.engine.online(one)
        model.predict(FEATURES[0])
        model.learn(FEATURES[0], float(TARGETS[0]))
        long = sp.LinearStream(np.tile(FEATURES, (20, 1)), np.tile(TARGETS, 20))
        sp.play(one, long)
        assert model.predict(FEATURES[3]) == pytest.approx(FEATURES[3] @ one.decision, rel=TWIN)
        sp.engine.play_many([one], long.features[None], long.targets[None])
        assert model.predict(FEATURES[3]) == pytest.approx(FEATURES[3] @ one.decision, rel=TWIN)
        before = one.rounds
        model.learn(FEATURES[3], float(TARGETS[3]))
        assert one.rounds == model.rounds == before + 1


def test_a_learner_follows_its_model() -> None:
    learner, _ = pair("Sword")
    model = sp.engine.online(learner)
    for row, target in zip(FEATURES[:30], TARGETS.tolist(), strict=False):
        assert model.predict(row) == pytest.approx(
            row @ learner.decision, rel=TWIN, abs=TWIN * np.linalg.norm(row)
        )
        model.learn(row, target)
    assert learner.rounds == model.rounds == 30
    np.testing.assert_array_equal(model.weights, learner.weights)
    assert sp.engine.online(learner) is model


@pytest.mark.parametrize("learner", ["SwordBest", "Sword"])
def test_weights_are_kept_round_by_round(learner: str) -> None:
    """More rounds than fit into one compiled call, in which a growing pool grows."""
    rows = np.tile(FEATURES, (1 + 20_000 // len(FEATURES), 1))[:20_000]
    stream = sp.LinearStream(rows, np.resize(TARGETS, len(rows)))
    ours, theirs = pair(learner)
    kept = sp.play(ours, stream, engine="compiled", keep=("weights",))
    assert (kept.losses, kept.decisions) == (None, None)
    assert len(kept.weights) == len(rows)
    beginning = sp.play(theirs, stream[:300], engine="python", keep=("weights",))
    for mine, other in zip(kept.weights, beginning.weights, strict=False):
        assert gap(mine, other, 1.0) <= TWIN
    np.testing.assert_array_equal([len(w) for w in kept.weights[-2:]], [len(ours.weights)] * 2)


def test_weights_of_a_learner_without_any_are_refused_by_the_engine_too() -> None:
    with pytest.raises(ValueError, match="weights"):
        sp.play(sp.OGD(GAME.domain, 0.1), GAME.stream, engine="compiled", keep=("weights",))


def test_rounds_can_be_limited() -> None:
    short, long = pair("SwordBest")
    ledger = sp.play(short, GAME.stream, engine="compiled", max_rounds=11)
    assert ledger.rounds == short.rounds == len(ledger.losses) == len(ledger.decisions) == 11
    everything = sp.play(long, GAME.stream, engine="compiled", max_rounds=10**6)
    assert everything.rounds == GAME.horizon
    np.testing.assert_array_equal(ledger.losses, everything.losses[:11])


def test_progress_is_told_as_it_goes() -> None:
    rows = np.tile(FEATURES, (1 + 40_000 // len(FEATURES), 1))[:40_000]
    heard: list[int] = []
    sp.play(
        pair("OGD")[0],
        sp.LinearStream(rows, np.zeros(len(rows))),
        engine="compiled",
        keep=(),
        progress=heard.append,
    )
    assert heard[-1] == 40_000
    assert len(heard) > 1
    assert heard == sorted(set(heard))


def test_an_empty_stream_is_no_round() -> None:
    learner, _ = pair("Sword")
    empty = sp.LinearStream(np.zeros((0, GAME.domain.dim)), np.zeros(0))
    ledger = sp.play(learner, empty, engine="compiled")
    assert (ledger.rounds, ledger.total_loss, ledger.losses.shape) == (0, 0.0, (0,))
    assert learner.rounds == 0


def _observe(learner):
    learner.observe(sp.SquaredLoss(np.ones(3), 1.0))


def _load(learner):
    learner.load_state(sp.Sword(sp.Ball(3)).state())


def _other_loss(learner):
    sp.engine.online(learner, loss="logistic")


@pytest.mark.parametrize("take_back", [_observe, _load, _other_loss])
def test_an_engine_that_was_left_behind_says_so(take_back):
    learner = sp.Sword(sp.Ball(3))
    model = sp.engine.online(learner)
    model.learn(np.ones(3), 0.5)
    take_back(learner)
    before = learner.state()
    uses = (
        lambda: model.learn(np.ones(3), 0.5),
        lambda: model.predict(np.ones(3)),
        lambda: model.play(np.ones((2, 3)), np.ones(2)),
    )
    for use in uses:
        with pytest.raises(RuntimeError, match="online"):
            use()
    assert all(np.array_equal(before[name], now) for name, now in learner.state().items())


def test_a_shallow_copy_is_a_learner_of_its_own():
    learner = sp.Sword(sp.Ball(3))
    model = sp.engine.online(learner)
    model.learn(np.ones(3), 0.5)
    twin = copy.copy(learner)
    before = learner.decision
    sp.engine.online(twin).learn(np.ones(3), -0.5)
    assert np.array_equal(learner.decision, before)
    assert twin.rounds == 2
    model.learn(np.ones(3), 0.5)  # is not disturbed by the twin
    assert learner.rounds == 2


def test_a_learner_that_the_engine_plays_is_saved_with_its_settings(tmp_path):
    stream = sp.streams.drift.jumps(40, 2, every=10)
    played, other = sp.Sword(stream.domain), sp.Sword(stream.domain)
    sp.play(played, stream, engine="compiled")
    played.save(tmp_path / "a.ckpt")
    other.load(tmp_path / "a.ckpt")
    assert other.decision.tobytes() == played.decision.tobytes()
    sp.play(other, stream, engine="compiled")
    assert other.rounds == 80
