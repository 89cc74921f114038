"""Changed states with valid checksums, loaded and used, in a process of their own: whatever kills it is told with its change.

python -m checkpoint.campaign FIRST COUNT [KIND]    from the folder ``tests``
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import swordplay as sp
from checkpoint.structured import changed, number
from swordplay.base import checkpoint
from swordplay.base.types import State

LARGEST_PREDICTION = 1e70
"""Targets of 1e60 and radii of a hundred spreads: beyond this a prediction has blown up."""
USED = 50
"""Rows that are learned by what loads."""


class Kind(NamedTuple):
    """A kind of state: an example, how to load and use one, and what a refusal looks like."""

    state: Any
    use: Callable[[Any, str], None]
    """Takes a changed state and a path to write it to; returns, or raises a refusal."""
    change: Callable[[Any, np.random.Generator], tuple[Any, str]] = changed


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


def framed(table: Any) -> Any:
    """The same rows as a table with words, truths and dates beside them, some of them missing."""
    import pyarrow as pa

    rng, count = np.random.default_rng(len(table)), len(table)
    columns = dict(zip("abc", table.T, strict=True)) | {
        "town": pa.array(rng.choice(["Bern", "Genf", "Zug"], count), mask=rng.random(count) < 0.1),
        "open": pa.array(rng.random(count) < 0.5),
        "day": pa.array(np.datetime64("2024-02-27", "us") + 5 * np.arange(count) * np.timedelta64(1, "h")),
    }
    return pa.table(columns)


def sklearn_kind(name: str, labels: Any = None, *, online: bool = False, **settings: Any) -> Kind:
    """An estimator right after ``fit``, with the block that answers then, or one that has learned ``online``."""
    from swordplay import sklearn

    make = getattr(sklearn, name)
    X, y = rows(40, seed=1)
    more, truth = rows(USED, seed=2)
    if labels is not None:
        y, truth = (np.array(labels)[np.digitize(one, [99.5, 101.0][: len(labels) - 1])] for one in (y, truth))
    if settings.get("encode"):
        X, more = framed(X), framed(more)
    estimator = make(**settings).partial_fit(X, y, **({} if labels is None else {"classes": labels})) if online else None
    estimator = estimator or make(**settings).fit(X, y)
    state = saved(estimator)
    assert ("block.coefficients" in state) == (not online and name != "SwordAggregator")

    def use(state: State, path: str) -> None:
        checkpoint.save(path, state, kind=name)
        with refusing(checkpoint.CheckpointError):
            loaded = make.load(path)
        ask = loaded.predict if labels is None else loaded.predict_proba
        for time in range(2):
            sane(ask(more))
            if not time:
                loaded.partial_fit(more, truth if labels is None else loaded.classes_[np.arange(USED) % len(loaded.classes_)])
        loaded.save(path)
        make.load(path)

    return Kind(state, use)


def river_kind(name: str, labels: Any = None, **settings: Any) -> Kind:
    from swordplay import river

    make = getattr(river, name)
    X, y = rows(40, seed=1)
    estimator = make(**settings)
    if labels is not None:
        y = np.array(labels)[np.digitize(y, [99.5, 101.0][: len(labels) - 1])]
    for values, target in zip(X.tolist(), y.tolist(), strict=True):
        estimator.learn_one(dict(zip("abc", values, strict=True)), target)
    more, truth = rows(USED // 5, seed=2)

    def use(state: State, path: str) -> None:
        checkpoint.save(path, state, kind=f"river.{name}")
        with refusing(checkpoint.CheckpointError):
            loaded = make.load(path)
        for values, target in zip(more.tolist(), truth.tolist(), strict=True):
            x = dict(zip("abc", values, strict=True))
            sane(loaded.predict_one(x) if labels is None else list(loaded.predict_proba_one(x).values()))
            loaded.learn_one(x, target if labels is None else loaded.classes_[0])
        loaded.save(path)
        make.load(path)

    return Kind(saved(estimator), use)


def saved(estimator: Any) -> State:
    with tempfile.TemporaryDirectory() as folder:
        estimator.save(f"{folder}/x")
        return checkpoint.load(f"{folder}/x")


def learner_kind(make: Callable[[], Any]) -> Kind:
    X, y = rows(40, seed=1)
    losses = [sp.SquaredLoss(row, target) for row, target in zip(X / [1.0, 1e3, 0.1], y / 100.0, strict=True)]
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


def tracker_kind(task: str) -> Kind:
    import pyarrow as pa

    from swordplay.application.tracking import Settings, Tracker
    from tracking.worlds import column, tracked, world

    batch = world(task, 150, seed=3)
    tracker, _ = tracked(batch.slice(0, 100), Settings("y", lags=2), [100])
    more, numbers = batch.slice(100), np.arange(101, 151)

    def use(state: State, path: str) -> None:
        checkpoint.save(path, state, kind="track")
        with refusing(KeyError, TypeError, ValueError, LookupError, OverflowError, AttributeError, RecursionError):
            loaded = Tracker.resumed(checkpoint.load(path))
        for name in ("loss", "running_error", *(["prediction"] if task == "regression" else [])):
            with refusing(KeyError):  # a column that this table has not: a run of its own compares them first
                tracked_rows = loaded.track(more, numbers).predictions
            found = column(pa.Table.from_batches([tracked_rows]), name)
            assert (np.abs(found[~np.isnan(found)]) <= LARGEST_PREDICTION**2).all()
            assert name != "prediction" or not np.isnan(found).any()
        loaded.story("x")
        Tracker.resumed(loaded.state())

    return Kind(tracker.state(), use)


def keyed_kind(task: str) -> Kind:
    """A tracker of several series."""
    from swordplay.application.tracking import Settings, trackers
    from tracking.worlds import column, world

    batch = world(task, 150, seed=3)
    keyed = trackers.begin(Settings("y", lags=1, key=("colour", "flag")), batch)
    keyed.track(batch.slice(0, 100), np.arange(1, 101))
    more, numbers = batch.slice(100), np.arange(101, 151)

    def use(state: State, path: str) -> None:
        import pyarrow as pa

        checkpoint.save(path, state, kind="track")
        with refusing(KeyError, TypeError, ValueError, LookupError, OverflowError, AttributeError, RecursionError):
            loaded = trackers.resumed(checkpoint.load(path))
        with refusing(KeyError):
            answers = pa.Table.from_batches([loaded.track(more, numbers).predictions])
        for name in ("loss", "running_error"):
            found = column(answers, name)
            assert (np.abs(found[~np.isnan(found)]) <= LARGEST_PREDICTION**2).all()
        loaded.story("x")
        trackers.resumed(loaded.state())

    return Kind(keyed.state(), use)


def early_kind() -> Kind:
    """The first rows of a pipe, kept until there are enough of them."""
    from swordplay.application.tracking.early import Early
    from tracking.worlds import world

    batch = world("regression", 60, seed=3)
    more, numbers = batch.slice(40), np.arange(41, 61)

    def use(state: State, path: str) -> None:
        checkpoint.save(path, state, kind="track")
        with refusing(KeyError, TypeError, ValueError):
            loaded = Early.read(checkpoint.load(path))
        if not loaded.rows.schema.equals(batch.schema) or loaded.numbers[-1:] > 40:
            raise Refused("a run compares them with its columns and with the rows that it has done")
        together = loaded.and_(more, numbers)
        together.enough("y")
        together.rows.to_pylist()
        Early.read(together.state())

    return Kind(Early(batch.slice(0, 40), np.arange(1, 41)).state(), use)


def job_kind() -> Kind:
    """The whole file of a run, given to ``track`` again."""
    from swordplay.application.tracking import Job, Settings, TrackingError, run
    from swordplay.data.tables import TableError

    folder = tempfile.mkdtemp()
    X, y = rows(60, seed=4)
    lines = ["a,b,c,y", *(",".join(f"{v:.6g}" for v in [*row, target]) for row, target in zip(X, y, strict=True))]
    source, out, state_file = (os.path.join(folder, name) for name in ("in.csv", "out.csv", "state"))
    Path(source).write_text("\n".join(lines[:41]) + "\n")
    job = Job(source, Settings("y"), out, state=state_file)
    run(job)
    written = Path(out).read_bytes()
    Path(source).write_text("\n".join(lines) + "\n")

    def use(state: State, path: str) -> None:
        Path(out).write_bytes(written)
        Path(f"{out}.partial").unlink(missing_ok=True)
        checkpoint.save(state_file, state, kind="track")
        with refusing(TableError, TrackingError, checkpoint.CheckpointError):
            outcome = run(job)
        sane(list(outcome.tracker.errors()[0].values()))

    return Kind(checkpoint.load(state_file), use)


def spark_kind(loss: str, classes: int, single: bool) -> Kind:
    from swordplay.keyed.group import HEADER
    from swordplay.spark.plan import Plan

    plan = Plan(("a", "b", "c"), loss, classes, 2, 4, layout="packed", single=single)
    X, y = rows(60, seed=5)
    targets = (y > np.median(y)).astype(float) if classes else y
    group = plan.group()
    group.admit(["one", "two"])
    group.play(np.repeat([0, 1], [50, 10]), np.arange(60), X, targets)
    more = np.repeat([0, 1], [10, 10])

    def use(data: bytes, path: str) -> None:
        fresh = plan.group()
        with refusing(ValueError):
            fresh.loads([(["one", "two"], data)])
        sane(fresh.play(more, np.arange(20), X[:20], targets[:20]))
        plan.group().loads([(["one", "two"], fresh.dumps())])

    def change(data: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
        place = HEADER.size + 16 + 2 + 8 * int(rng.integers((len(data) - HEADER.size - 18) // 8))
        if rng.random() < 0.1:
            place = int(rng.integers(len(data) - 8))
        now = float(np.frombuffer(data, "<f8", 1, place)[0])
        put = number(now, rng)
        return data[:place] + np.array([put], dtype="<f8").tobytes() + data[place + 8 :], f"byte {place}: {now} -> {put}"

    return Kind(group.dumps(single=single), use, change)


KINDS: dict[str, Callable[[], Kind]] = {
    "sklearn regressor": lambda: sklearn_kind("SwordRegressor"),
    "sklearn regressor, lags": lambda: sklearn_kind("SwordRegressor", lags=2, loss="huber"),
    "sklearn regressor, online": lambda: sklearn_kind("SwordRegressor", online=True),
    "sklearn regressor, encode": lambda: sklearn_kind("SwordRegressor", encode=True),
    "sklearn classifier, encode": lambda: sklearn_kind("SwordClassifier", ["low", "high"], encode=True),
    "sklearn classifier, encode, online": lambda: sklearn_kind("SwordClassifier", [1, 5, 7], encode=True, online=True),
    "sklearn classifier": lambda: sklearn_kind("SwordClassifier", ["low", "high"]),
    "sklearn classifier, three": lambda: sklearn_kind("SwordClassifier", [1, 5, 7], lags=1),
    "sklearn aggregator": lambda: sklearn_kind("SwordAggregator"),
    "river regressor": lambda: river_kind("SwordRegressor", lags=1),
    "river classifier": lambda: river_kind("SwordClassifier", ["low", "middle", "high"]),
    "Sword": lambda: learner_kind(lambda: sp.Sword(sp.Ball(3, radius=2.0))),
    "SwordBest": lambda: learner_kind(
        lambda: sp.SwordBest(sp.Box(-np.ones(3), np.ones(3)), horizon=100, gradient_bound=10.0, smoothness=9.0)
    ),
    "OGD": lambda: learner_kind(lambda: sp.OGD(sp.Simplex(3), step_size=0.1)),
    "tracker of values": lambda: tracker_kind("regression"),
    "tracker of classes": lambda: tracker_kind("multi-class"),
    "tracker of keys, values": lambda: keyed_kind("regression"),
    "tracker of keys, classes": lambda: keyed_kind("multi-class"),
    "first rows of a pipe": early_kind,
    "file of track": job_kind,
    "Spark, values": lambda: spark_kind("squared", 0, single=False),
    "Spark, classes": lambda: spark_kind("logistic", 2, single=True),
}


def seeded(name: str, turn: int) -> np.random.Generator:
    return np.random.default_rng([zlib.crc32(name.encode()), turn])


def run(first: int, count: int, names: list[str], note: Path) -> dict[str, int]:
    """Use ``count`` changed states of each kind; ``note`` always says which one is being used."""
    import warnings

    warnings.simplefilter("error")
    outcome = {"refused": 0, "used": 0}
    folder = tempfile.mkdtemp()
    for name in names:
        kind = KINDS[name]()
        kind.use(kind.state, f"{folder}/x")
        with note.open("r+b", buffering=0) as pen:
            for turn in range(first, first + count):
                pen.seek(0)
                pen.write(f"{name}|{turn}\n".encode().ljust(80))
                state, told = kind.change(kind.state, seeded(name, turn))
                try:
                    kind.use(state, f"{folder}/x")
                    outcome["used"] += 1
                except Refused:
                    outcome["refused"] += 1
                except Exception as error:
                    error.add_note(f"{name}, change {turn}: {told}")
                    raise
    return outcome


def isolated(first: int, count: int, names: list[str] | None = None) -> dict[str, int]:
    """The same in a process of its own.

    Raises
    ------
    AssertionError
        With the change that killed it or that it did not survive.
    """
    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder) / "note"
        note.write_bytes(b" " * 80)
        command = [
            sys.executable,
            "-X",
            "faulthandler",
            "-m",
            "checkpoint.campaign",
            str(first),
            str(count),
            str(note),
            *(names or KINDS),
        ]
        path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": folder}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3600)
        if done.returncode:
            name, _, turn = note.read_text().strip().partition("|")
            told = "" if not turn else KINDS[name]().change(KINDS[name]().state, seeded(name, int(turn)))[1]
            raise AssertionError(f"exit code {done.returncode} at {name}, change {turn}: {told}\n{done.stderr[-3000:]}")
        return {what: int(number) for what, number in (pair.split("=") for pair in done.stdout.split())}


if __name__ == "__main__":
    found = run(int(sys.argv[1]), int(sys.argv[2]), sys.argv[4:], Path(sys.argv[3]))
    print(*(f"{what}={number}" for what, number in found.items()))
