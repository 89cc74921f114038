"""Experts of Sword++ that stand on one line have their numbers in common: all is as if each had
its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import swordplay as sp
from engine.duels import Duel, gaps, state_gaps
from swordplay.engine.layout import LIVE
from tolerances import TWIN

pytestmark = pytest.mark.xdist_group("sparse")  # one process compiles, and the others need not

POOL = 0.3 * 0.5 ** np.arange(11)
RATES = {
    "self-confident": lambda: None,
    "doubling": lambda: sp.rates.Doubling(),
    "doubling from little": lambda: sp.rates.Doubling(initial=0.5),
    "forgetting": lambda: sp.rates.SelfConfident(memory=3.0),
    "forgetting all": lambda: sp.rates.SelfConfident(memory=3.0, offset=0.0),
    "fixed": lambda: sp.rates.Fixed(0.05),
}


def game(loss: str, radius: float, rounds: int = 150, dim: int = 5) -> Duel:
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


def played(of: Duel, rate: str = "self-confident") -> np.ndarray[Any, Any]:
    """What ``live`` holds after one call for all rows."""
    model = sp.engine.online(made(of, rate), of.stream.loss)
    model.play(of.stream.features, of.stream.targets)
    return np.array(model.memory.live)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_where_nobody_is_projected_all_is_the_readable_learner(loss: str, rate: str) -> None:
    """Losses, decisions, weights, certificates and the state.

    The line is really in use, and left when the call ends.
    """
    one = game(loss, radius=60.0)
    found = gaps(one, lambda it: made(it, rate))
    assert max(found.values()) <= TWIN, found
    live = played(one, rate)
    assert live[LIVE.outmost] > 0.0
    assert live[LIVE.beyond] == live[LIVE.in_line] == 0.0


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_who_gets_to_the_edge_on_the_way_leaves_the_line(share: float) -> None:
    """The longest steps lead to an edge at a share of how far they would lead: some rounds
    before it are on the line.
    """
    free = game("squared", radius=60.0)
    radius = share * POOL[0] * float(np.sqrt(played(free)[LIVE.outmost]))
    one = game("squared", radius)
    found = gaps(one, made)
    assert max(found.values()) <= TWIN, found
    live = played(one)
    assert live[LIVE.outmost] > 0.0
    assert live[LIVE.beyond] > 0.0


def test_a_meta_that_starts_afresh_on_the_line_forgets_all_losses() -> None:
    """Doubling from a first level that is passed again and again."""
    one = game("squared", radius=60.0)
    found = gaps(one, lambda it: made(it, "doubling from little"))
    assert max(found.values()) <= TWIN, found
    assert played(one, "doubling from little")[LIVE.level] >= 8 * 0.5


def test_every_call_gets_on_the_line_and_leaves_it() -> None:
    """Pieces of an array, of different lengths: from one round, which never gets there, to many."""
    one = game("squared", radius=60.0)
    pieces, whole = made(one), made(one)
    model = sp.engine.online(pieces)
    for first, stop in ((0, 1), (1, 3), (3, 6), (6, 40), (40, 150)):
        model.play(one.stream.features[first:stop], one.stream.targets[first:stop])
    sp.play(whole, one.stream, engine="python", keep=())
    assert max(state_gaps(one, pieces.state(), whole.state()).values()) <= TWIN


def test_an_infinite_rate_leaves_the_line() -> None:
    """A meta that forgets meets nothing for so long that its rate is infinite: whoever leads has
    all.
    """
    one = game("squared", radius=60.0, rounds=3_000)
    rows = np.array(one.stream.features)
    rows[100:2_900] = 0.0
    still = Duel(one.domain, sp.LinearStream(rows, one.stream.targets), "a long pause")
    model = sp.engine.online(made(still, "forgetting all"))
    model.play(rows[:2_800], still.stream.targets[:2_800])
    assert model.memory.live[LIVE.rate] == np.inf
    found = gaps(still, lambda it: made(it, "forgetting all"))
    assert max(found.values()) <= TWIN, found
