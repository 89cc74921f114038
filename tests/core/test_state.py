"""Saving, loading and checking of states: nested tuples, declared fields, learners, JSON."""

import json
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swordplay as sp
from strategies import domains, seeds, tracking_losses
from swordplay.core import state
from swordplay.core.state import (
    MAX_ROUNDS,
    ROW_COUNT_RANGE,
    Field,
    OneOf,
    array,
    fits_json,
    number,
    read_json,
)
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
    damages = [
        ({key: leaf for key, leaf in before.items() if key != name}, "state lacks"),
        ({**before, "surprise": 1.0}, r"state has unknown entries \['surprise'\]"),
        ({**before, name: before[name][:, :1]}, "must have shape"),
        ({**before, name: np.full_like(before[name], np.nan)}, "must hold numbers from .* got nan"),
        ({**before, name: "points"}, "must hold numbers"),
        ({**before, "rounds": 1.5}, "must hold whole numbers from .*, got 1.5"),
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
    flat = state.save(tree)
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
    back = state.load(tree, flat)
    assert isinstance(back.inner.count, int)
    assert back.number == 0.5
    assert same(state.save(back), flat)
    assert back.parts[0].values is not tree.parts[0].values


# ---------------------------------------------------------------------- declared fields


class Rate(NamedTuple):
    value: Annotated[float, number(0.0, np.inf)]
    started: Annotated[float | None, number(optional=True)] = None


class Pool(NamedTuple):
    points: Annotated[np.ndarray, array("pool", "dim", low=-1.0, high=1.0)]
    energy: Annotated[np.ndarray, array("pool", low=0.0)]
    offset: Annotated[np.ndarray | None, array("pool", "dim", optional=True)] = None


class Declared(NamedTuple):
    rounds: Annotated[int, number(0.0, MAX_ROUNDS, whole=True)]
    pools: tuple[Pool, ...]
    weights: Annotated[np.ndarray, array("experts", low=0.0, high=1.0)]
    known: Annotated[np.ndarray, array("experts", 2, nan=True)]
    rate: Rate
    rule: Any


SIZES = {"dim": 2}


def declared():
    pools = (
        Pool(np.zeros((3, 2)), np.ones(3)),
        Pool(np.ones((1, 2)), np.zeros(1), np.ones((1, 2))),
    )
    return Declared(
        5, pools, np.full(4, 0.25), np.full((4, 2), np.nan), Rate(np.inf), Inner(np.zeros(2), 1)
    )


def test_a_state_with_declared_fields_comes_back():
    flat = state.save(declared())
    back = state.load(declared(), flat, SIZES)
    assert same_nan(state.save(back), flat)
    assert back.pools[0].offset is None
    assert "rate.started" not in flat
    assert isinstance(back.rounds, int)
    assert isinstance(back.rate, Rate)
    assert isinstance(back.rule, Inner)
    assert back.pools[1].points is not flat["pools.1.points"]


def same_nan(one, other):
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name], equal_nan=True) for name in one
    )


def test_a_class_without_open_fields_needs_no_example():
    flat = state.save(declared().pools[0])
    assert same(state.save(state.load(Pool, flat)), flat)


def test_axes_that_are_not_free_have_the_lengths_of_the_example():
    """A pool may have grown: the lengths of free axes are those of the saved arrays."""
    grown = declared()._replace(
        pools=(Pool(np.zeros((7, 2)), np.ones(7)), declared().pools[1]),
        weights=np.full(9, 0.1),
        known=np.zeros((9, 2)),
    )
    flat = state.save(grown)
    free = ("experts", "pool")
    assert same(state.save(state.load(declared(), flat, SIZES, free_axes=free)), flat)
    for name in ("experts", "pool"):
        with pytest.raises(ValueError, match="must have shape"):
            state.load(declared(), flat, SIZES, free_axes=(name,))


def test_trusted_entries_are_checked_for_their_shape_only():
    flat = state.save(declared()) | {"weights": np.full(4, np.inf), "rate.value": -1.0}
    assert state.load(declared(), flat, SIZES, trusted=True).rate.value == -1.0
    with pytest.raises(ValueError, match="must have shape"):
        state.load(declared(), flat | {"weights": np.ones(3)}, SIZES, trusted=True)
    with pytest.raises(ValueError, match="got nan"):
        state.load(declared(), flat | {"weights": np.full(4, np.nan)}, SIZES, trusted=True)


class Matrices(NamedTuple):
    curvature: Annotated[np.ndarray, Field(semidefinite=True)]


def test_matrices_are_symmetric_and_semidefinite():
    good = np.array([[2e200, 1e200], [1e200, 2e200]])
    assert (state.load(Matrices, {"curvature": good}).curvature == good).all()
    assert state.load(Matrices, {"curvature": np.array([-1.0, 2.0])}).curvature[0] == -1.0
    for wrong in ([[1.0, 0.1], [0.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]]):
        with pytest.raises(ValueError, match="symmetric matrices without negative eigenvalues"):
            state.load(Matrices, {"curvature": wrong})


def test_the_example_tells_the_optional_entries():
    flat = state.save(declared())
    with pytest.raises(ValueError, match=r"unknown entries \['pools.0.offset'\]"):
        state.load(declared(), flat | {"pools.0.offset": np.zeros((3, 2))}, SIZES)
    del flat["pools.1.offset"]
    with pytest.raises(ValueError, match=r"lacks \['pools.1.offset'\]"):
        state.load(declared(), flat, SIZES)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("rounds", -1, r"whole numbers from 0 to 9.0072e\+15, got -1\. The state is damaged"),
        ("rounds", 1.5, r"whole numbers from 0 to .*, got 1\.5"),
        ("rounds", 10**400, "whole numbers from 0"),
        ("rounds", np.zeros(1), "be one number"),
        ("rounds", "5", "hold numbers, got '5'"),
        ("rounds", True, "hold numbers, got True"),
        ("pools.0.points", np.full((3, 2), 1.5), r"from -1 to 1, got 1\.5 at \(0, 0\)"),
        ("pools.0.points", np.full((3, 2), np.nan), "from -1 to 1, got nan"),
        ("pools.0.points", np.zeros((3, 3)), r"shape \(3, 2\), got \(3, 3\)"),
        ("pools.0.points", [[1.0], [1.0, 2.0]], "hold numbers, got"),
        ("pools.0.energy", np.ones(2), r"shape \(3,\), got \(2,\)"),
        ("pools.1.offset", np.ones((2, 2)), r"shape \(1, 2\), got \(2, 2\)"),
        ("weights", np.full(4, 1e-9) - 1.0, "from 0 to 1, got -1 at 0"),
        ("weights", 0.5, r"have shape \(4\), got \(\)"),
        ("known", np.zeros((3, 2)), r"shape \(4, 2\), got \(3, 2\)"),
        ("known", np.full((4, 2), np.inf), "from -1e\\+300 to 1e\\+300, got inf"),
        ("rate.value", np.nan, "from 0 to inf, got nan"),
        ("rule.values", np.zeros(3), r"shape \(2,\), got \(3,\)"),
        ("rule.values", [0.0, np.nan], "got nan at 1"),
        ("rule.count", 0.5, "whole numbers"),
    ],
)
def test_a_value_outside_its_declaration_is_refused_by_name(name, value, message):
    with pytest.raises(ValueError, match=rf"^state\['{name}'\] must .*{message}"):
        state.load(declared(), state.save(declared()) | {name: value}, SIZES)


@pytest.mark.parametrize("name", sorted(state.save(declared())))
def test_a_missing_entry_is_named(name):
    flat = {key: value for key, value in state.save(declared()).items() if key != name}
    with pytest.raises(ValueError, match=rf"^state lacks \['{name}'\]\. Load a state"):
        state.load(declared(), flat, SIZES)


def test_missing_entries_are_told_before_wrong_ones():
    with pytest.raises(ValueError, match=r"^state lacks \['energy', 'points'\]"):
        state.load(Pool, {"offset": "x"})


@pytest.mark.parametrize("name", ["other", "pools.2.points", "rate.value.more", 3])
def test_an_unknown_entry_is_named(name):
    with pytest.raises(ValueError, match=rf"^state has unknown entries \['{name}'\]"):
        state.load(declared(), state.save(declared()) | {name: 1.0}, SIZES)


def test_single_numbers_and_bytes():
    state.check_number("x", 1, ROW_COUNT_RANGE)
    for wrong in ([1.0], np.zeros(0)):
        with pytest.raises(ValueError, match="must be one number"):
            state.check_number("x", wrong, ROW_COUNT_RANGE)
    assert state.entry_bytes("x", np.frombuffer(b"ab", np.uint8)) == b"ab"
    assert state.axis_length("x", {"x": np.zeros((2, 3))}, 1) == 3
    with pytest.raises(ValueError, match="must be an array"):
        state.axis_length("x", {"x": np.zeros(2)}, 1)


# ---------------------------------------------------------------------- parts


def test_parts_of_a_state():
    whole = state.add_prefix("a", {"b": 1, "c.d": 2}) | {"e": 3}
    assert whole == {"a.b": 1, "a.c.d": 2, "e": 3}
    assert state.strip_prefix("a", whole) == {"b": 1, "c.d": 2}
    parts = state.split_parts(whole)
    assert parts == {"a": {"b": 1, "c.d": 2}, "e": 3}
    assert state.part_of("a", parts) == {"b": 1, "c.d": 2}
    for name in ("e", "x"):
        with pytest.raises(ValueError, match=rf"^state lacks '{name}\.\*'"):
            state.part_of(name, parts)
    for both in ({"a": 1, "a.b": 2}, {"a.b": 2, "a": 1}):
        with pytest.raises(ValueError, match="state has 'a' as well as parts of it"):
            state.split_parts(both)


# ---------------------------------------------------------------------- JSON

SHARE = Field(0.0, 1.0)


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (3, int),
        (None, None),
        (True, bool),
        (0, ROW_COUNT_RANGE),
        (1, SHARE),
        (0.5, SHARE),
        ([], [str]),
        (["a", "b"], [str]),
        ([1, "a"], (int, str)),
        ({}, {str: int}),
        ({"a": 1}, {str: int}),
        ({"a": 1, "b": "x"}, {"b": str, "a": int}),
        (None, OneOf((None, [str]))),
        (["a"], OneOf((None, [str]))),
    ],
)
def test_json_that_fits(value, shape):
    assert fits_json(value, shape)
    assert read_json("x", json.dumps(value), shape) == value


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (3.0, int),
        (True, int),
        (0, None),
        (1.0, ROW_COUNT_RANGE),
        (-1, ROW_COUNT_RANGE),
        (10**300, ROW_COUNT_RANGE),
        (True, SHARE),
        (1.1, SHARE),
        (float("nan"), SHARE),
        ([], SHARE),
        ([[]], SHARE),
        ("0.5", SHARE),
        ("ab", [str]),
        (["a", 1], [str]),
        ([1], (int, str)),
        ([1, "a", "a"], (int, str)),
        ({"a": "1"}, {str: int}),
        ({"a": 1}, {"b": str, "a": int}),
        ({"a": 1, "b": "x", "c": 1}, {"b": str, "a": int}),
        ({"a": 1, "b": 1}, {"b": str, "a": int}),
        ([1, "x"], {"b": str, "a": int}),
        ([["a", 1]], {str: int}),
        (0, OneOf((None, [str]))),
    ],
)
def test_json_that_does_not_fit(value, shape):
    assert not fits_json(value, shape)
    with pytest.raises(
        ValueError,
        match=r"state\['x'\] must not hold .*The state is damaged",
    ):
        read_json("x", json.dumps(value), shape)


@pytest.mark.parametrize("text", ["", "[", "x", 3, "[" * 100_000])
def test_text_that_is_no_json(text):
    with pytest.raises(ValueError, match=r"state\['x'\] must be JSON"):
        read_json("x", text, [])


def test_settings_with_nan_equal_themselves():
    before = state.flatten_settings({"learner": "x", "priors": np.array([np.nan, 1.0, 2.0])})
    assert state.settings_differences(before, before) == ""
    after = state.flatten_settings({"learner": "x", "priors": np.array([np.nan, 1.0, 3.0])})
    # long arrays have the same text, so that the first different entry is named
    many = [
        {"learner": "x", "priors": np.concatenate([flat["priors"], np.zeros(100)])}
        for flat in (before, after)
    ]
    assert state.settings_differences(*many) == "priors[2] was 2.0 and is 3.0 here"
    without = {"learner": "x", "priors": np.array([0.0, 1.0, 2.0])}
    assert state.settings_differences(before, without) != ""
