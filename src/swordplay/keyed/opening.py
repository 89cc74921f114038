"""One key out of many as an ordinary estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from swordplay.core.state import add_prefix, split_parts
from swordplay.core.types import State, Vector
from swordplay.engine.column_stats import WARM_UP, WARMED_UP
from swordplay.engine.record import EXPERTS, PROVEN, RECIPROCALS, ROUND
from swordplay.estimators.column_scaler import MAX_CENTER
from swordplay.estimators.level_intervals import LevelIntervals
from swordplay.estimators.linear_model import LinearModel
from swordplay.keyed.record import Form, Young


def model_of(form: Form, record: Vector, first: Young) -> LinearModel:
    """The model whose record this is: it goes on bit by bit, with the same coefficients and the
    same certificate.
    """
    model = LinearModel(form.dim, loss=form.loss, lags=form.lags)
    state, parts = split_parts(model.state()), form.parts(record)
    engine, columns = dict(state["engine"]), form.dim + form.lags
    experts = dict(zip(engine["expert_names"].split(), np.array(engine["experts"]), strict=True))
    numbers = dict(zip(engine["scalar_names"].split(), np.array(engine["scalars"]), strict=True))
    settings = dict(zip(engine["setting_names"].split(), np.array(engine["settings"]), strict=True))
    count = len(experts["weight"])
    numbers |= dict(zip(ROUND, parts["round"], strict=True))
    experts |= dict(zip(EXPERTS, parts["experts"].reshape(-1, count), strict=True))
    if form.proof:
        experts |= dict(zip(PROVEN, parts["proof"][1:].reshape(-1, count), strict=True))
        settings |= {
            "domain_size": parts["proof"][0],
            "diameter": settings["diameter_per_size"] * parts["proof"][0],
        }
    if numbers["rounds"] > 0:
        experts |= dict.fromkeys(RECIPROCALS, 1.0 / experts["step_size"])
    engine |= {
        "experts": np.stack(list(experts.values())),
        "scalars": np.array(list(numbers.values())),
        "settings": np.array(list(settings.values())),
        "last_row": parts["last"],
        "points": parts["points"].reshape(-1, count),
    }
    centers, spreads, counts = parts["scaler"].reshape(3, columns)
    place = parts["place"]
    scaler = {
        "centers": centers,
        "spreads": spreads,
        "counts": counts,
        "first_values": _settled(first.rows, counts),
    }
    target = {
        "centers": place[:1],
        "spreads": place[1:3],
        "counts": place[3:],
        "first_values": _settled(first.targets, place[3:]),
    }
    flat: State = (
        add_prefix("columns", scaler) | {"recent": parts["recent"]} | add_prefix("engine", engine)
    )
    model.load_state(flat if form.loss == "logistic" else flat | add_prefix("target", target))
    return model


def _settled(first: Any, counts: Vector) -> Any:
    """First values as a model keeps them: 0 beyond the last one, and a mark where they were given
    up.

    Those that were given up are replaced by the farthest that there may be: how far points may lie
    is judged by them.
    """
    values = np.where(np.arange(WARM_UP)[:, None] < counts, first, 0.0)
    middle = values[WARM_UP // 2 - 1 : WARM_UP // 2 + 1]
    done = (counts >= WARM_UP) & ((values[WARM_UP // 2] == WARMED_UP) | (middle[0] != middle[1]))
    values[:, done] = np.linspace(-MAX_CENTER, MAX_CENTER, WARM_UP)[:, None]
    values[WARM_UP // 2, done] = WARMED_UP
    return values


def regressor(form: Form, record: tuple[Vector, Young], names: Sequence[str] | None) -> Any:
    """A ``SwordRegressor`` that has learned the rows of a key."""
    from swordplay.estimators.sklearn_regressors import SwordRegressor

    estimator = SwordRegressor(loss=form.loss, lags=form.lags, curves=None)  # keys are first-order
    return _dressed(estimator, model_of(form, *record).state(), form, names)


def classifier(
    form: Form,
    records: Sequence[tuple[Vector, Young]],
    names: Sequence[str] | None,
    classes: Any,
    counts: Any,
) -> Any:
    """A ``SwordClassifier`` that has learned the rows of a key; ``counts`` of each class."""
    from swordplay.estimators.sklearn_classifier import SwordClassifier

    models = [model_of(form, *record) for record in records]
    estimator = SwordClassifier(lags=form.lags, curves=None)
    estimator._classes = np.asarray(classes)
    return _dressed(estimator, _state_of_classes(models, np.asarray(counts)), form, names)


def _state_of_classes(models: Sequence[LinearModel], counts: Any) -> State:
    """The state of a ``ClassModel`` with the heads of these models, one for each score.

    Without lags, heads that share their columns are a team; with lags each head is one. Equal heads
    of classes that were never seen are kept once.
    """
    flat: State = {}
    teams: list[int] = []
    seats: list[tuple[int, int]] = []
    known: dict[bytes, tuple[int, int]] = {}
    for k, model in enumerate(models):
        head = model.heads.learners[0].compact_state()
        bits = b"".join(
            np.asarray(head[name]).tobytes() for name in ("experts", "scalars", "points")
        )
        is_unseen = len(counts) > 2 and counts[k] == 0
        if is_unseen and bits in known:
            seats.append(known[bits])
            continue
        if not teams or len(model.recent):
            flat |= add_prefix(f"{len(teams)}", model.shared_state())
            teams.append(0)
        seats.append((len(teams) - 1, teams[-1]))
        flat |= add_prefix(f"{seats[-1][0]}.{seats[-1][1]}", head)
        teams[-1] += 1
        if is_unseen:
            known[bits] = seats[-1]
    team, place = np.array(seats, dtype=np.intp).T
    flat |= {
        "counts": counts.astype(np.float64),
        "first_negated": 0,
        "group": team,
        "position": place,
    }
    return flat


def _dressed(estimator: Any, state: State, form: Form, names: Sequence[str] | None) -> Any:
    from swordplay.estimators.labels import dump_classes

    around: State = {"columns": form.dim}
    if names is not None:
        import json

        around["names"] = json.dumps(list(names))
    if form.loss == "logistic":
        around["classes"] = dump_classes(estimator._classes)
    around |= LevelIntervals().state()
    estimator._resume(
        around | {f"model.{name}": value for name, value in state.items()}
    ).load_state(state)
    return estimator
