"""Compiled Sword++ against the readable one: arrays, single rows, sparse rows, streams, files."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pairs
import swordplay as sp
from engine.duels import LOSSES, Duel, bouncing, duel, gap, gaps, state_gaps
from swordplay.engine.layout import EXPERT, SCALAR
from tolerances import DRIVEN, TWIN

pytestmark = pytest.mark.xdist_group("sparse")  # one process compiles, and the others need not

LEARNERS: dict[str, Callable[[Duel], Any]] = {
    "as it is": lambda game: sp.SwordPlusPlus(game.domain, **game.constants),
    "doubling": lambda game: sp.SwordPlusPlus(
        game.domain, **game.constants, learning_rate=sp.rates.Doubling()
    ),
    "long steps": lambda game: sp.SwordPlusPlus(
        game.domain, **game.constants, pool=[4 / game.smoothness, 1 / game.smoothness]
    ),
}
ON_BALL = [seed for seed in range(24) if seed % 6 < 4]
"""Seeds of duels on a ball: plain, small, away from the origin, and with sparse rows.

Every world comes up.
"""


def agree(learner: str, games: list[Duel]) -> None:
    assert 8 * len(bouncing(LEARNERS[learner], games)) <= len(games)


@pytest.mark.parametrize(("learner", "loss"), pairs.of(LEARNERS, LOSSES))
def test_engine_and_readable_learner_agree(learner: str, loss: str) -> None:
    agree(learner, [duel(seed, loss) for seed in ON_BALL[:8]])


def test_they_agree_where_an_expert_is_projected_and_norms_were_measured_afresh() -> None:
    agree("long steps", [duel(0, "squared", rounds=2_100)])


STEPS = {
    "longest first": 0.5 ** np.arange(20),
    "shortest first": 0.5 ** np.arange(20)[::-1],
}
"""More than two blocks of experts: those with the longest steps are projected."""


@pytest.mark.parametrize("steps", STEPS)
def test_arrays_in_pieces_are_the_readable_learner(steps: str) -> None:
    game = duel(1, "squared", rounds=300)
    pool = 4 / game.smoothness * STEPS[steps]
    pieces, whole = (sp.SwordPlusPlus(game.domain, **game.constants, pool=pool) for _ in range(2))
    model = sp.engine.online(pieces)
    for first in range(0, 300, 50):
        model.play(
            game.stream.features[first : first + 50], game.stream.targets[first : first + 50]
        )
        apart = np.sum((model.memory.points() - model.memory.base_points()) ** 2, axis=1)
        assert gap(model.memory.experts[EXPERT.squared_lookahead], apart) <= DRIVEN
    sp.play(whole, game.stream, engine="python", keep=())
    assert max(state_gaps(game, pieces.state(), whole.state()).values()) <= TWIN


def test_arrays_go_on_from_any_other_way() -> None:
    """Single rows, then an array after a prediction that no target followed, then single rows."""
    game = duel(2, "squared")
    turns, whole = (LEARNERS["long steps"](game) for _ in range(2))
    model, third = sp.engine.online(turns), game.horizon // 3
    for first in (0, 2 * third):
        for loss in game.stream[first : first + third]:
            model.learn(loss.features, loss.target)
        if first == 0:
            model.predict(game.stream.features[third])
            model.play(
                game.stream.features[third : 2 * third], game.stream.targets[third : 2 * third]
            )
    sp.play(whole, game.stream[: 3 * third], engine="python", keep=())
    assert max(state_gaps(game, turns.state(), whole.state()).values()) <= TWIN


@pytest.mark.deep
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("loss", LOSSES)
def test_they_agree_in_many_games(learner: str, loss: str) -> None:
    agree(learner, [duel(seed, loss) for seed in range(300) if seed % 6 < 4])


def test_they_agree_after_the_norms_were_measured_afresh() -> None:
    agree("as it is", [duel(1, "squared", rounds=2_100)])


def test_they_agree_while_the_rate_is_infinite() -> None:
    """One round after nothing was met: the leader takes all.

    (Leaders that tie are told apart by rounding alone.)
    """
    game = duel(0, "squared", rounds=2)
    found = gaps(
        game,
        lambda it: sp.SwordPlusPlus(
            it.domain, **it.constants, learning_rate=sp.rates.SelfConfident(offset=0.0)
        ),
    )
    assert max(found.values()) <= TWIN


def test_projections_are_active_in_some_of_these_games() -> None:
    touching = 0
    for seed in ON_BALL[:8]:
        game = duel(seed, "squared")
        learner = LEARNERS["long steps"](game)
        sp.play(learner, game.stream, engine="compiled", keep=())
        stretched = game.domain.center + (1 + 1e-6) * (learner.points - game.domain.center)
        touching += bool((~game.domain.contains(stretched, atol=1e-12)).any())
    assert touching >= 4


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_by_one_and_many_at_once_are_the_whole_array(seed: int) -> None:
    game = duel(seed, "squared")
    whole, single, fleet = (LEARNERS["long steps"](game) for _ in range(3))
    ledger = sp.play(whole, game.stream, engine="compiled")
    model = sp.engine.online(single)
    for loss, lost in zip(game.stream, ledger.losses, strict=True):
        model.predict(loss.features)
        assert (
            gap(
                model.learn(loss.features, loss.target),
                lost,
                game.gradient_bound * game.domain.diameter,
            )
            <= DRIVEN
        )
    losses = sp.engine.play_many([fleet], game.stream.features[None], game.stream.targets[None])
    assert gap(losses[0], ledger.losses) <= DRIVEN
    for other in (single, fleet):
        assert max(state_gaps(game, other.state(), whole.state()).values()) <= DRIVEN


@pytest.mark.parametrize("learner", ["as it is", "long steps"])
@pytest.mark.parametrize("seed", [1, 3])
def test_halves_in_turns_are_the_whole(learner: str, seed: int) -> None:
    """Readable and compiled take turns: the charge goes over with the guesses, to both sides."""
    game = duel(seed, "huber")
    middle, end = game.horizon // 3, 2 * game.horizon // 3
    turns, whole = (LEARNERS[learner](game) for _ in range(2))
    parts = [game.stream[:middle], game.stream[middle:end], game.stream[end:]]
    for part, engine in zip(parts, ("compiled", "python", "compiled"), strict=True):
        sp.play(turns, part, engine=engine, keep=())
    sp.play(whole, game.stream, engine="python", keep=())
    assert max(state_gaps(game, turns.state(), whole.state()).values()) <= TWIN


@pytest.mark.parametrize("seed", [1, 3])
def test_a_saved_engine_goes_on_bit_by_bit(seed: int) -> None:
    game = duel(seed, "squared")
    first, again = (sp.engine.online(LEARNERS["long steps"](game)) for _ in range(2))
    middle = game.horizon // 2
    rows, targets = game.stream.features, game.stream.targets
    first.play(rows[:middle], targets[:middle])
    saved = first.compact_state()
    assert "movement_cost" in saved["expert_names"].split()
    again.load_compact_state(saved)
    np.testing.assert_array_equal(
        first.play(rows[middle:], targets[middle:]).losses,
        again.play(rows[middle:], targets[middle:]).losses,
    )
    damaged = saved | {"experts": saved["experts"].copy()}
    damaged["experts"][saved["expert_names"].split().index("movement_cost")] = -1.0
    with pytest.raises(ValueError, match="movement_cost"):
        again.load_compact_state(damaged)


def test_a_checkpoint_of_the_learner_goes_on(tmp_path: Any) -> None:
    game = duel(2, "logistic")
    first, again = (LEARNERS["as it is"](game) for _ in range(2))
    middle = game.horizon // 2
    sp.play(first, game.stream[:middle], engine="compiled")
    first.save(tmp_path / "half.npz")
    again.load(tmp_path / "half.npz")
    for learner in (first, again):
        sp.play(learner, game.stream[middle:], engine="compiled")
    assert max(state_gaps(game, again.state(), first.state()).values()) <= TWIN


def test_play_takes_the_engine_by_itself() -> None:
    game = duel(0, "squared")
    learner = LEARNERS["as it is"](game)
    sp.play(learner, game.stream)
    assert learner.holder is not None
    assert learner.holder.rounds == game.horizon


@pytest.mark.parametrize("domain", [sp.Simplex(3), sp.Box(-np.ones(3), np.ones(3))])
def test_off_the_ball_it_says_so_and_play_goes_on(domain: Any) -> None:
    stream = sp.LinearStream(np.eye(3), np.ones(3))
    learner = sp.SwordPlusPlus(domain, horizon=3, gradient_bound=2.0, smoothness=1.0)
    with pytest.raises(sp.engine.NotCompilable, match="on a Ball"):
        sp.play(learner, stream, engine="compiled")
    assert sp.play(learner, stream).rounds == 3


def test_the_first_two_charges_by_hand() -> None:
    """On [-1, 1] with a = 1, y = 1, L = 1, eta = 1/8: g_1 = -1, x_2 = 2/8.

    g_2 = -3/4, xhat_3 = 7/32, x_3 = 10/32.
    """
    learner = sp.SwordPlusPlus(
        sp.Ball(1), horizon=2, gradient_bound=2.0, smoothness=1.0, pool=[1 / 8]
    )
    model = sp.engine.online(learner)
    for moved, guess in ((2 / 8, -1.0), (10 / 32 - 2 / 8, -3 / 4)):
        model.learn([1.0], 1.0)
        x = float(learner.decision[0])
        expected = guess * x + 2 * moved**2
        assert math.isclose(learner.state()["meta.optimism"][0], expected, rel_tol=1e-12)
    assert math.isclose(x, 10 / 32, rel_tol=1e-12)


POOL = 0.3 * 0.5 ** np.arange(11)
RATES = {
    "self-confident": lambda: None,
    "doubling": lambda: sp.rates.Doubling(),
    "doubling from little": lambda: sp.rates.Doubling(initial=0.5),
    "forgetting": lambda: sp.rates.SelfConfident(memory=3.0),
    "forgetting all": lambda: sp.rates.SelfConfident(memory=3.0, offset=0.0),
    "fixed": lambda: sp.rates.Fixed(0.05),
}


def drifting_game(loss: str, radius: float, rounds: int = 150, dim: int = 5) -> Duel:
    """Rows around the origin, with a target that moves; the centre of the ball lies elsewhere."""
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(rounds, dim)) / np.sqrt(dim)
    targets = rows @ np.linspace(-0.5, 1.0, dim) + np.sin(np.arange(rounds) / 20) * rows[:, 0]
    if loss == "logistic":
        targets = (targets > 0).astype(float)
    stream = sp.LinearStream(rows, targets, loss, threshold=0.4)
    return Duel(sp.Ball(dim, radius, center=np.full(dim, 0.1)), stream, f"{loss}, radius {radius}")


def made(of: Duel, rate: str = "self-confident") -> Any:
    return sp.SwordPlusPlus(of.domain, **of.constants, pool=POOL, learning_rate=RATES[rate]())


def played(of: Duel, rate: str = "self-confident") -> Any:
    """The compiled learner after one call for all rows."""
    model = sp.engine.online(made(of, rate), of.stream.loss)
    model.play(of.stream.features, of.stream.targets)
    return model


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_without_projections_it_agrees_for_every_rate(loss: str, rate: str) -> None:
    """Losses, decisions, weights, certificates and the state, on a ball that no expert leaves."""
    one = drifting_game(loss, radius=60.0)
    found = gaps(one, lambda it: made(it, rate))
    assert max(found.values()) <= TWIN, found
    assert played(one, rate).memory.experts[EXPERT.max_squared_norm].max() < 60.0**2


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_it_agrees_when_projections_begin_during_the_game(share: float) -> None:
    """The radius is a share of the distance that the longest steps reach without projections."""
    free = drifting_game("squared", radius=60.0)
    radius = share * math.sqrt(played(free).memory.experts[EXPERT.max_squared_norm].max())
    one = drifting_game("squared", radius)
    found = gaps(one, made)
    assert max(found.values()) <= TWIN, found
    farthest = played(one).memory.experts[EXPERT.max_squared_norm]
    assert farthest.max() == pytest.approx(radius**2)
    assert farthest.min() < radius**2 / 2


def test_a_meta_that_starts_afresh_forgets_all_losses() -> None:
    """Doubling from a first level that is passed again and again."""
    one = drifting_game("squared", radius=60.0)
    found = gaps(one, lambda it: made(it, "doubling from little"))
    assert max(found.values()) <= TWIN, found
    assert played(one, "doubling from little").memory.scalars[SCALAR.rate_level] >= 8 * 0.5


def test_pieces_of_different_lengths_agree() -> None:
    one = drifting_game("squared", radius=60.0)
    pieces, whole = made(one), made(one)
    model = sp.engine.online(pieces)
    for first, stop in ((0, 1), (1, 3), (3, 6), (6, 40), (40, 150)):
        model.play(one.stream.features[first:stop], one.stream.targets[first:stop])
    sp.play(whole, one.stream, engine="python", keep=())
    assert max(state_gaps(one, pieces.state(), whole.state()).values()) <= TWIN


def test_they_agree_while_the_rate_is_infinite_after_a_long_pause() -> None:
    """A meta that forgets meets no gradient for so long that its rate is infinite."""
    one = drifting_game("squared", radius=60.0, rounds=3_000)
    rows = np.array(one.stream.features)
    rows[100:2_900] = 0.0
    still = Duel(one.domain, sp.LinearStream(rows, one.stream.targets), "a long pause")
    model = sp.engine.online(made(still, "forgetting all"))
    model.play(rows[:2_800], still.stream.targets[:2_800])
    assert model.memory.scalars[SCALAR.learning_rate] == np.inf
    found = gaps(still, lambda it: made(it, "forgetting all"))
    assert max(found.values()) <= TWIN, found
