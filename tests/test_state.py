"""State: out and in again, bit by bit; damaged states refused with nothing changed."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swordplay as sp
from strategies import domains, seeds, tracking_losses
from swordplay.core import state
from swordplay.parts import rates
from swordplay.parts.streams import drift

MAKES = {
    "OGD": lambda domain: sp.OGD(domain, 0.1),
    "OEGD": lambda domain: sp.OEGD(domain, 0.1),
    "Ader": lambda domain: sp.Ader(domain, horizon=100, gradient_bound=2.0),
    "SwordVar": lambda domain: sp.SwordVar(domain, horizon=100, gradient_bound=2.0, smoothness=1.0),
    "SwordSmall": lambda domain: sp.SwordSmall(
        domain, horizon=100, gradient_bound=2.0, smoothness=1.0
    ),
    "SwordBest": lambda domain: sp.SwordBest(
        domain, horizon=100, gradient_bound=2.0, smoothness=1.0
    ),
    "SwordBest doubling": lambda domain: sp.SwordBest(
        domain,
        horizon=100,
        gradient_bound=2.0,
        smoothness=1.0,
        learning_rate=rates.Doubling(initial=0.01),
    ),
    "Sword": sp.Sword,
}
every_learner = pytest.mark.parametrize("make", MAKES.values(), ids=MAKES.keys())


def same(one, other):
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name]) for name in one
    )


@every_learner
@settings(max_examples=12)
@given(domains(3), st.integers(0, 30), st.integers(1, 30), st.integers(0, 80), seeds)
def test_a_loaded_learner_goes_on_bit_by_bit(make, domain, before, after, elsewhere, seed):
    """Into a fresh learner, and into one that has a (longer or shorter) past of its own."""
    rng = np.random.default_rng(seed)
    first, rest = tracking_losses(domain, before, rng), tracking_losses(domain, after, rng)
    learner, fresh, busy = make(domain), make(domain), make(domain)
    for loss in tracking_losses(domain, elsewhere, rng):
        busy.observe(loss)
    for loss in first:
        learner.observe(loss)
    saved = learner.state()
    for other in (fresh, busy):
        other.load_state(saved)
        assert other.rounds == before
    for loss in rest:
        assert learner.decision.tobytes() == fresh.decision.tobytes() == busy.decision.tobytes()
        for each in (learner, fresh, busy):
            each.observe(loss)
    assert same(learner.state(), fresh.state())
    assert same(learner.state(), busy.state())


def started(make):
    stream = drift.jumps(20, 2, every=5)
    learner = make(stream.domain)
    for loss in stream:
        learner.observe(loss)
    return learner


@every_learner
def test_a_state_is_plain_numbers_and_a_copy(make):
    learner = started(make)
    saved = learner.state()
    for name, leaf in saved.items():
        assert isinstance(name, str)
        assert isinstance(leaf, int | float | np.ndarray), name
        if isinstance(leaf, np.ndarray):
            assert leaf.dtype == np.float64
            leaf.fill(0.0)
    assert not same(learner.state(), saved)
    assert same(learner.state(), started(make).state())


@every_learner
def test_a_damaged_state_is_refused_and_nothing_changes(make):
    learner = started(make)
    before = learner.state()
    name = next(
        name for name, leaf in before.items() if isinstance(leaf, np.ndarray) and leaf.ndim == 2
    )
    whole = "rounds"
    damages = [
        ({key: leaf for key, leaf in before.items() if key != name}, "state lacks"),
        ({**before, "surprise": 1.0}, r"state has unknown entries \['surprise'\]"),
        ({**before, name: before[name][:, :1]}, "must have shape"),
        ({**before, name: np.full_like(before[name], np.nan)}, "holds NaN"),
        ({**before, name: "points"}, "must hold numbers"),
        ({**before, whole: 1.5}, "must be a whole number, got 1.5"),
        ({}, "state lacks"),
        ({1: 2.0}, "state lacks"),
        (
            {**before, "settings.center": "here"},
            "state was saved with other settings: center was here and is",
        ),
    ]
    for damaged, message in damages:
        with pytest.raises(ValueError, match=message):
            learner.load_state(damaged)
    with pytest.raises(TypeError, match="state must be the dictionary"):
        learner.load_state([1, 2])
    assert same(learner.state(), before)
    assert learner.decision.tobytes() == started(make).decision.tobytes()


def test_a_state_of_another_learner_is_refused():
    learner = sp.Sword(sp.Ball(2))
    other, larger = sp.OGD(sp.Ball(2), 0.1).state(), sp.Sword(sp.Ball(3)).state()
    with pytest.raises(
        ValueError,
        match=r"state was saved with other settings: learner was OGD and is Sword here. Make",
    ):
        learner.load_state(other)
    with pytest.raises(
        ValueError,
        match=r"state was saved with other settings: center was array\(\[0., 0., 0.\]\) and is",
    ):
        learner.load_state(larger)
    with pytest.raises(
        ValueError, match="state lacks"
    ):  # as saved before settings were part of a state
        learner.load_state(without_settings(other))
    with pytest.raises(ValueError, match="must have shape"):
        learner.load_state(without_settings(larger))


def without_settings(saved):
    return {name: leaf for name, leaf in saved.items() if not name.startswith("settings.")}


class Inner(NamedTuple):
    values: np.ndarray
    count: int


class Outer(NamedTuple):
    number: float
    parts: tuple[Inner, ...]
    inner: Inner


def test_nested_tuples_become_dotted_names_and_come_back():
    tree = Outer(0.5, (Inner(np.arange(2.0), 1), Inner(np.ones((1, 2)), 2)), Inner(np.zeros(0), 3))
    flat = state.flatten(tree)
    assert sorted(flat) == sorted(
        [
            "number",
            "parts.0.values",
            "parts.0.count",
            "parts.1.values",
            "parts.1.count",
            "inner.values",
            "inner.count",
        ]
    )
    back = state.restore(tree, flat)
    assert isinstance(back.inner.count, int)
    assert back.number == 0.5
    assert same(state.flatten(back), flat)
    assert back.parts[0].values is not tree.parts[0].values
