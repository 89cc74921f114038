"""Kinds of states of tables and clusters: trackers, whole files of ``track`` and ``learn``,
records of Spark.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from checkpoint.kinds import LARGEST_PREDICTION, Kind, bounded, refusing, rows, sane
from checkpoint.structured import in_bytes
from swordplay.core import checkpoint
from swordplay.core.types import State


def tracker_kind(task: str) -> Kind:
    import pyarrow as pa

    from swordplay.tracking import Settings, Tracker
    from tracking.worlds import column, tracked, world

    batch = world(task, 150, seed=3)
    tracker, _ = tracked(batch.slice(0, 100), Settings("y", lags=2, level=0.9), [100])
    more, numbers = batch.slice(100), np.arange(101, 151)

    def use(state: State, path: str) -> None:
        checkpoint.save(path, state, kind="track")
        with refusing(
            KeyError,
            TypeError,
            ValueError,
            LookupError,
            OverflowError,
            AttributeError,
            RecursionError,
        ):
            loaded = Tracker.resumed(checkpoint.load(path))
        with refusing(
            KeyError
        ):  # a column that this table has not: a run of its own compares them first
            answers = pa.Table.from_batches([loaded.track(more, numbers).predictions])
        for name in ("loss", "running_error", *(["prediction"] if task == "regression" else [])):
            found = column(answers, name)
            assert (np.abs(found[~np.isnan(found)]) <= LARGEST_PREDICTION**2).all()
            assert name != "prediction" or not np.isnan(found).any()
        loaded.story("x")
        Tracker.resumed(loaded.state())

    return Kind(tracker.state(), use)


def keyed_kind(task: str) -> Kind:
    """A tracker of several series."""
    from swordplay.tracking import Settings, trackers
    from tracking.worlds import column, world

    batch = world(task, 150, seed=3)
    keyed = trackers.begin(Settings("y", lags=1, key=("flag",), level=0.9), batch)
    keyed.track(batch.slice(0, 100), np.arange(1, 101))
    more, numbers = batch.slice(100), np.arange(101, 151)

    def use(state: State, path: str) -> None:
        import pyarrow as pa

        checkpoint.save(path, state, kind="track")
        with refusing(
            KeyError,
            TypeError,
            ValueError,
            LookupError,
            OverflowError,
            AttributeError,
            RecursionError,
        ):
            loaded = trackers.resumed(checkpoint.load(path))
        with refusing(KeyError):
            answers = pa.Table.from_batches([loaded.track(more, numbers).predictions])
        for name in ("loss", "running_error"):
            found = column(answers, name)
            assert (np.abs(found[~np.isnan(found)]) <= LARGEST_PREDICTION**2).all()
        loaded.story("x")
        trackers.resumed(loaded.state())

    return Kind(keyed.state(), use)


SHOPS = 4


def bulk_kind() -> Kind:
    """A tracker of many series of numbers, which learn in bulk."""
    from swordplay.tracking import Settings, trackers
    from swordplay.tracking.bulk import BulkTracker
    from tracking.test_bulk import table

    batch, settings = table(1, 150, SHOPS), Settings("y", key=("shop",), lags="auto", curves="auto")
    bulk = trackers.begin(settings, batch.slice(0, 100))
    bulk.track(batch.slice(0, 100), np.arange(1, 101))
    more, numbers = batch.slice(100), np.arange(101, 151)
    assert isinstance(bulk, BulkTracker)

    def use(state: State, path: str) -> None:
        checkpoint.save(path, state, kind="track")
        with refusing(
            KeyError,
            TypeError,
            ValueError,
            LookupError,
            OverflowError,
            AttributeError,
            RecursionError,
        ):
            loaded = trackers.resumed(checkpoint.load(path))
        with refusing(KeyError):
            answers = loaded.track(more, numbers).predictions
        said = answers.column("prediction")
        assert (
            said.null_count <= SHOPS
        )  # where keys have changed, others are new, and nothing is said of their first row
        sane(said.drop_null().to_numpy(zero_copy_only=False))
        loaded.story("x")
        trackers.resumed(loaded.state())

    return Kind(bulk.state(), use)


def job_kind() -> Kind:
    """The whole file of a run, given to ``track`` again."""
    from swordplay.tables import TableError
    from swordplay.tracking import Job, Settings, TrackingError, run

    folder = tempfile.mkdtemp()
    X, y = rows(60, seed=4)
    lines = [
        "a,b,c,y",
        *(",".join(f"{v:.6g}" for v in [*row, target]) for row, target in zip(X, y, strict=True)),
    ]
    source, out, state_file = (
        os.path.join(folder, name) for name in ("in.csv", "out.csv", "state")
    )
    Path(source).write_text("\n".join(lines[:41]) + "\n")
    job = Job(source, Settings("y", level=0.8), out, state=state_file)
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


def taught_kind() -> Kind:
    """The file of ``learn``, given to ``predict``: everything that ``track`` knows, and a table
    without answers.
    """
    from swordplay.tables import TableError
    from swordplay.tracking import Job, Settings, TrackingError, run
    from swordplay.tracking.predicting import predict
    from swordplay.tracking.taught import taught

    folder = tempfile.mkdtemp()
    X, y = rows(60, seed=4)
    lines = [",".join(f"{v:.6g}" for v in [*row, target]) for row, target in zip(X, y, strict=True)]
    source, coming, out, state_file = (
        os.path.join(folder, name) for name in ("in.csv", "new.csv", "out.csv", "state")
    )
    Path(source).write_text("\n".join(["a,b,c,y", *lines[:40]]) + "\n")
    Path(coming).write_text(
        "\n".join(["a,b,c", *(line.rpartition(",")[0] for line in lines[40:])]) + "\n"
    )
    run(Job(source, Settings("y", level=0.9), None, state=state_file))

    def use(state: State, path: str) -> None:
        checkpoint.save(path, state, kind="track")
        with refusing(TableError, TrackingError, checkpoint.CheckpointError):
            model = taught(path)
            predict(Job(coming, model.settings, out, force=True), model, path)
        sane(np.genfromtxt(out, delimiter=",", names=True)["prediction"])

    return Kind(checkpoint.load(state_file), use)


def spark_kind(loss: str, classes: int, level: float | None = None) -> Kind:
    from swordplay.keyed.key_bytes import HEADER
    from swordplay.spark.plan import QueryPlan

    plan = QueryPlan(("a", "b", "c"), loss, classes, 2, 4, level=level)
    X, y = rows(60, seed=5)
    targets = (y > np.median(y)).astype(float) if classes else y
    table, numbers = plan.table(), np.repeat([0, 1], [50, 10])
    table.add(["one", "two"])
    table.intervals(numbers, table.learn(numbers, np.arange(60), X, targets)[:, 0], targets)
    more = np.repeat([0, 1], [10, 10])

    def use(data: bytes, path: str) -> None:
        fresh = plan.table()
        with refusing(ValueError):
            fresh.from_bytes([(["one", "two"], data)])
        scores = fresh.learn(more, np.arange(20), X[:20], targets[:20])
        sane(scores)
        if level is not None:
            bounded(fresh.intervals(more, scores[:, 0], targets[:20]))
        plan.table().from_bytes([(["one", "two"], fresh.to_bytes())])

    def change(data: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
        return in_bytes(data, HEADER.size + 32, rng)

    return Kind(table.to_bytes(), use, change)
