"""Kinds of states of services: models whose answers come late, servers, folders of keys."""

from __future__ import annotations

import json
import shutil
from typing import Any

import numpy as np

from checkpoint.kinds import Kind, bounded, refusing, rows, sane
from checkpoint.structured import changed, in_bytes
from swordplay.core import checkpoint
from swordplay.core.types import State


def named(values: Any, k: int) -> dict[str, Any]:
    """A row by names, with a word, a date and a gap in it."""
    row = dict(zip("abc", values, strict=True)) | {
        "town": ("Bern", "Genf", "Zug")[k % 3],
        "day": f"2024-02-{1 + k % 28:02}",
    }
    return row if k % 4 else row | {"b": None}


def late_kind(make: Any, labels: Any = None, *, by_name: bool = True) -> Kind:
    """A model some of whose answers are still to come."""
    from swordplay.late import LateModel, TooManyPending

    X, y = rows(60, seed=6)
    asked = [named(values, k) for k, values in enumerate(X.tolist())] if by_name else list(X)
    truths = y.tolist() if labels is None else [labels[k % len(labels)] for k in range(60)]
    model = LateModel(make())
    for k in range(40):
        model.ask(asked[k], id=str(k))
        if k >= 5:
            model.tell(str(k - 5), truths[k - 5])
    model.drop("35")

    def use(state: State, path: str) -> None:
        checkpoint.save(path, state, kind="LateModel")
        with refusing(checkpoint.CheckpointError):
            loaded = LateModel.load(path)
        for k, id in enumerate(list(loaded.pending)):
            loaded.tell(id, truths[k])
        with refusing(TooManyPending):  # fewer than it was made with
            tickets = [*(loaded.ask(row) for row in asked[40:42]), *loaded.ask_many(asked[42:46])]
        for ticket in tickets:
            if labels is None:
                sane(ticket.prediction)
                bounded([ticket.lower, ticket.upper])
            else:
                sane(list(ticket.probabilities.values()))
        loaded.tell_many(tickets, truths[40:46])
        loaded.summary()
        LateModel.from_state(loaded.state())

    return Kind(model.state(), use)


def server_kind() -> Kind:
    """The checkpoint of a server: models by name and key, tickets, what it remembers and what it
    shows.
    """
    from serving.test_models import Events
    from swordplay.serving.errors import RequestError
    from swordplay.serving.limits import Limits
    from swordplay.serving.log_format import Event
    from swordplay.serving.models import Models
    from swordplay.serving.requests import parse

    X, y = rows(12, seed=7)
    do = Events()
    for k, values in enumerate(X.tolist()):
        do(
            "ask",
            [
                {"x": named(values, k), "id": f"{k}"},
                {"x": {"a": values[0]}, "id": f"k{k}", "key": "other"},
            ],
        )
        do("ask", {"x": named(values, k), "id": f"{k}"}, "c", "classes")
        if k >= 2:
            do(
                "tell",
                [
                    {"id": f"{k - 2}", "y": float(y[k - 2])},
                    {"id": f"k{k - 2}", "y": 1.0, "key": "other"},
                ],
            )
            do("tell", {"id": f"{k - 2}", "y": "xyz"[k % 3]}, "c")
    do("drop", {"id": "11"})
    requests = [
        ("ask", {"x": named(X[0].tolist(), 0), "id": "new"}, "default"),
        ("ask", {"x": {"a": 1.0}, "id": "new", "key": "other"}, "m"),
        ("ask", {"x": named(X[1].tolist(), 1), "id": "new"}, "c"),
        ("ask", {"x": named(X[2].tolist(), 2), "id": "2"}, "m"),  # asked before
        ("tell", {"id": "10", "y": 1.5}, "m"),
        ("tell", {"id": "0", "y": float(y[0])}, "m"),  # told before
        ("tell", {"id": "new", "y": 0.5, "key": "other"}, "m"),
        ("tell", {"id": "new", "y": "x"}, "c"),
        ("drop", {"id": "11"}, "m"),
    ]

    def use(state: State, path: str) -> None:
        checkpoint.save(path, state, kind="serve")
        with refusing(checkpoint.CheckpointError):
            models = Models.from_state(checkpoint.load(path, kind="serve"))
        for number, (action, value, model) in enumerate(requests):
            event = Event(action, model, "number", json.dumps(value).encode())
            try:
                answer = json.loads(
                    models.apply(do.number + 1 + number, event, parse(event, Limits())),
                    parse_constant=_refuse,
                )
            except RequestError as refusal:
                if refusal.status == 500:
                    raise AssertionError("the server failed") from refusal
                continue
            if action == "ask" and "probabilities" not in answer:
                sane([answer["prediction"] or 0.0])
        for (model, _), series in models.series.items():
            models.series_of(model)
            for told in (series.stats.recent(), series.stats.overall(), *series.stats.newest()):
                json.dumps(told, allow_nan=False)
            json.dumps(series.stats.points, allow_nan=False)
        Models.from_state(models.state())

    return Kind(do.models.state(), use)


def _refuse(constant: str) -> None:
    raise AssertionError(f"an answer holds {constant}")


def folder_kind(task: str, **settings: Any) -> Kind:
    """A folder of keys: what they share, and the bytes of each."""
    from swordplay.keyed import Keyed
    from swordplay.keyed.sqlite_store import SqliteStore, StoredKey

    X, y = rows(80, seed=8)
    keys = np.array(["one", "two", "three", "four"])[np.minimum(np.arange(80) // 35, 3)]
    targets = (
        y
        if task == "regression"
        else np.array(["low", "high", "middle"])[np.digitize(y, [99.5, 101.0])]
    )
    known = Keyed(task, **settings, threads=1)
    known.predict_then_learn(keys, X, targets)

    def parse(path: str) -> dict[str, Any]:
        folder = SqliteStore(path)
        about = folder.open()
        told = {
            f"rows.{k}": np.frombuffer(row.state, np.uint8)
            for k, row in enumerate(folder.read_all())
        }
        names = [[row.key, row.seen] for row in folder.read_all()]
        shared = {
            "settings": about["settings"].decode(),
            "start": np.frombuffer(about["start"], np.uint8),
        }
        return {"names": json.dumps(names), **shared, **told}

    def written(state: State, path: str) -> None:
        """Through the door by which keys are saved: every checksum is right."""
        shutil.rmtree(path, ignore_errors=True)
        names = json.loads(state["names"])
        states = [state[f"rows.{k}"].tobytes() for k in range(len(names))]
        about = {"settings": state["settings"].encode(), "start": state["start"].tobytes()}
        some = [StoredKey(key, seen, data) for (key, seen), data in zip(names, states, strict=True)]
        SqliteStore(path).write(about, some, since=None)

    def use(state: State, path: str) -> None:
        path = f"{path}.keys"
        with refusing(
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            OverflowError,
            checkpoint.CheckpointError,
        ):
            written(state, path)  # what cannot be written is no attack
        with refusing(checkpoint.CheckpointError):
            loaded = Keyed.load(path, threads=1)
            every = loaded.keys()
            asked = [*(key for key in every if type(key) is str), "new"][
                :5
            ]  # whole numbers among them cannot be asked for
            loaded.predict(asked, X[: len(asked)])
        ask = loaded.predict if task == "regression" else loaded.predict_proba
        sane(ask(keys[:40], X[:40]))
        known_labels = (
            targets if task == "regression" else loaded.classes[np.arange(80) % len(loaded.classes)]
        )
        loaded.predict_then_learn(keys, X, known_labels)
        sane(ask(keys[40:], X[40:]))
        with refusing(checkpoint.CheckpointError):
            sane(loaded.model(asked[0]).coef_ if asked[0] in every else 0.0)
        loaded.save(path)
        Keyed.load(path, threads=1).keys()

    def change(state: State, rng: np.random.Generator) -> tuple[State, Any]:
        if rng.random() < 0.5:
            name = f"rows.{rng.integers(3)}"
            data, told = in_bytes(state[name].tobytes(), 1, rng)
            return {**state, name: np.frombuffer(data, np.uint8)}, f"{name}: {told}"
        return changed(state, rng)

    import tempfile

    with tempfile.TemporaryDirectory() as path:
        known.save(path)
        return Kind(parse(path), use, change)
