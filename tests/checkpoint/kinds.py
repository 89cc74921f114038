"""Kinds of states: an example of each, how it is changed, loaded and used, and what a refusal
looks like.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import swordplay as sp
from checkpoint.structured import changed
from swordplay.core import checkpoint
from swordplay.core.types import State

LARGEST_PREDICTION = 1e70
"""Targets of 1e60 and radii of a hundred spreads: beyond this a prediction has blown up."""
USED = 50
"""Rows that are learned by what loads."""


class Kind(NamedTuple):
    """A kind of state: an example, how to load and use one, and what a refusal looks like."""

    state: Any
    use: Callable[[Any, str], None]
    """Takes a changed state and a path to write it to; returns, or raises a refusal."""
    change: Callable[[Any, np.random.Generator], tuple[Any, Any]] = changed
    """Returns another state, and what is different about it, to be printed."""


def rows(count: int, seed: int, dim: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(count, dim)) * [1.0, 20.0, 0.1][:dim] + [0.0, 1e3, 0.0][:dim]
    return table, table[:, 0] + 0.1 * table[:, 1] - 3 * table[:, 2] + 0.3 * rng.normal(size=count)


class Refused(Exception):
    """The changed state was refused as it should be."""


@contextlib.contextmanager
def refusing(*errors: type[Exception]) -> Any:
    try:
        yield
    except errors as error:
        raise Refused(str(error)) from error


def sane(values: Any) -> None:
    numbers = np.asarray(values, dtype=np.float64)
    assert np.isfinite(numbers).all(), "not finite"
    assert (np.abs(numbers) <= LARGEST_PREDICTION).all(), f"blew up: {np.abs(numbers).max():g}"


def bounded(bounds: Any) -> None:
    """Intervals that are intervals; infinite ones are."""
    lower, upper = np.moveaxis(np.asarray(bounds, dtype=np.float64), -1, 0)
    assert (lower <= upper).all(), "no interval"


def framed(table: Any) -> Any:
    """The same rows as a table with words, truths and dates beside them, some of them missing."""
    import pyarrow as pa

    rng, count = np.random.default_rng(len(table)), len(table)
    columns = dict(zip("abc", table.T, strict=True)) | {
        "town": pa.array(rng.choice(["Bern", "Genf", "Zug"], count), mask=rng.random(count) < 0.1),
        "open": pa.array(rng.random(count) < 0.5),
        "day": pa.array(
            np.datetime64("2024-02-27", "us") + 5 * np.arange(count) * np.timedelta64(1, "h")
        ),
    }
    return pa.table(columns)


def sklearn_kind(
    name: str, labels: Any = None, *, online: bool = False, level: Any = None, **settings: Any
) -> Kind:
    """An estimator right after ``fit``, with the block that answers then, or one that has learned
    ``online``.

    One that was asked for intervals (or sets) of a ``level`` has their state beside its own.
    """
    from swordplay import sklearn

    make = getattr(sklearn, name)
    X, y = rows(40, seed=1)
    more, truth = rows(USED, seed=2)
    if labels is not None:
        y, truth = (
            np.array(labels)[np.digitize(one, [99.5, 101.0][: len(labels) - 1])]
            for one in (y, truth)
        )
    if settings.get("encode"):
        X, more = framed(X), framed(more)
    estimator = (
        make(**settings).partial_fit(X, y, **({} if labels is None else {"classes": labels}))
        if online
        else None
    )
    estimator = estimator or make(**settings).fit(X, y)
    if level is not None:
        (
            estimator.predict_interval_then_learn
            if labels is None
            else estimator.predict_set_then_learn
        )(X, y, level=level)
    state = saved(estimator)
    assert ("batch.coefficients" in state) == (
        not online and level is None and name != "SwordAggregator"
    )
    assert any(entry.startswith("intervals.0.") for entry in state) == (level is not None)
    curved, many = (
        getattr(estimator, "curves", None) is not None,
        labels is not None and len(labels) > 2,
    )
    assert any(".second." in entry for entry in state) == (curved and not many)
    assert any(".calibration." in entry for entry in state) == (curved and many)

    def use(state: State, path: str) -> None:
        checkpoint.save(path, state, kind=name)
        with refusing(checkpoint.CheckpointError):
            loaded = make.load(path)
        ask = loaded.predict if labels is None else loaded.predict_proba
        sane(ask(more))
        loaded.partial_fit(
            more,
            truth if labels is None else loaded.classes_[np.arange(USED) % len(loaded.classes_)],
        )
        sane(ask(more))
        if level is not None and labels is None:
            bounded(loaded.predict_interval(more, level=level))
        elif level is not None:
            assert loaded.predict_set(more, level=level).any(axis=1).all()
        make.from_state(loaded.state())

    return Kind(state, use)


def river_kind(name: str, labels: Any = None, *, intervals: bool = False, **settings: Any) -> Kind:
    from swordplay import river

    make = getattr(river, name)
    X, y = rows(40, seed=1)
    estimator = make(**settings)
    if labels is not None:
        y = np.array(labels)[np.digitize(y, [99.5, 101.0][: len(labels) - 1])]
    for values, target in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(zip("abc", values, strict=True))
        if intervals:
            estimator.predict_one(x, with_interval=True)
        estimator.learn_one(x, target)
    more, truth = rows(USED // 5, seed=2)

    def use(state: State, path: str) -> None:
        checkpoint.save(path, state, kind=f"river.{name}")
        with refusing(checkpoint.CheckpointError):
            loaded = make.load(path)
        for values, target in zip(more.tolist(), truth.tolist(), strict=True):
            x = dict(zip("abc", values, strict=True))
            if intervals:
                found = loaded.predict_one(x, with_interval=True)
                bounded([found.lower, found.upper])
            sane(
                loaded.predict_one(x)
                if labels is None
                else list(loaded.predict_proba_one(x).values())
            )
            loaded.learn_one(x, target if labels is None else loaded.classes_[0])
        make.from_state(loaded.state())

    return Kind(saved(estimator), use)


def saved(estimator: Any) -> State:
    with tempfile.TemporaryDirectory() as folder:
        estimator.save(f"{folder}/x")
        return checkpoint.load(f"{folder}/x")


def learner_kind(make: Callable[[], Any]) -> Kind:
    X, y = rows(40, seed=1)
    losses = [
        sp.SquaredLoss(row, target)
        for row, target in zip(X / [1.0, 1e3, 0.1], y / 100.0, strict=True)
    ]
    stream = sp.LinearStream(X / [1.0, 1e3, 0.1], y / 100.0)
    learner = make()
    for loss in losses:
        learner.observe(loss)

    def use(state: State, path: str) -> None:
        checkpoint.save(path, state, kind=type(learner).__name__)
        loaded = make()
        with refusing(checkpoint.CheckpointError):
            loaded.load(path)
        for loss in losses[:5]:
            loaded.observe(loss)
            sane(loaded.decision)
        with refusing(sp.engine.NotCompilable):
            played = sp.play(loaded, stream, engine="compiled")
        sane(played.losses)
        assert loaded.domain.contains(loaded.decision, atol=1e-6)
        assert np.isfinite(loaded.certificate(1.0))
        loaded.save(path)

    return Kind(saved(learner), use)


def table_kind() -> Kind:
    """Every learner of the table of conformance, with one changed at a time."""
    from theory.test_conformance import BANDITS, FORECASTERS, METAS, SINGLES

    domain, rng = sp.Ball(3, 2.0, [1.0, -5.0, 0.3]), np.random.default_rng(0)
    makes = {
        name: make
        for name, make in (SINGLES | METAS | BANDITS | FORECASTERS).items()
        if hasattr(make(domain), "save")
    }
    losses = [sp.SquaredLoss(row, float(row[0])) for row in rng.normal(size=(40, 3))]
    wanted = [
        sp.QuadraticLoss(np.eye(3), point, 0.5 * float(point @ point))
        for point in rng.normal(size=(40, 3))
    ]

    def play(name: str, learner: Any, rounds: int) -> None:
        for loss in (wanted if name in FORECASTERS else losses)[:rounds]:
            learner.observe(loss)

    def state_of(name: str) -> State:
        learner = makes[name](domain)
        play(name, learner, 20)
        return saved(learner)

    def use(one: tuple[str, State], path: str) -> None:
        name, state = one if isinstance(one, tuple) else next(iter(one.items()))
        loaded = makes[name](domain)
        checkpoint.save(path, state, kind=type(loaded).__name__)
        with refusing(checkpoint.CheckpointError):
            loaded.load(path)
        with refusing(OverflowError):  # more rounds than it was told that there would be
            play(name, loaded, 3)
        sane(loaded.decision)
        assert domain.contains(loaded.decision, atol=1e-6)
        loaded.load_state(loaded.state())

    def change(states: dict[str, State], rng: np.random.Generator) -> tuple[tuple[str, State], Any]:
        name = list(states)[rng.integers(len(states))]
        state, told = changed(states[name], rng)
        return (name, state), (name, told)

    return Kind({name: state_of(name) for name in makes}, use, change)


def intervals_kind(level: Any, columns: int) -> Kind:
    """``SwordIntervals`` around somebody's forecasts, some of their truths still to come."""
    from swordplay.intervals import SwordIntervals

    X, y = rows(60, seed=3)
    more, truth = rows(20, seed=4)
    features, coming = (X[:, :columns], more[:, :columns]) if columns else (None, None)
    known = SwordIntervals(level)
    known.interval_then_learn(y + 1.0, y, features)
    for k in range(3):
        known.interval(float(k), None if features is None else features[k])

    def use(state: State, path: str) -> None:
        checkpoint.save(path, state, kind="SwordIntervals")
        loaded = SwordIntervals(level)
        with refusing(checkpoint.CheckpointError):
            loaded.load(path)
        for k in range(3):
            loaded.learn(float(k), float(k), None if coming is None else coming[k])
        bounded(loaded.interval_then_learn(truth - 1.0, truth, coming))
        assert np.isfinite(loaded.balances).all()
        SwordIntervals(level).load_state(loaded.state())

    return Kind(known.state(), use)
