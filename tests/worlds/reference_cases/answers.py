"""Answers that come late, in a seeded order or never; and intervals around any forecaster."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from worlds.reference_cases import Cases
from worlds.reference_cases.estimators import summary_numbers
from worlds.reference_cases.rows import labels, numbers


def described(count: int, kind: str) -> tuple[list[dict[str, Any]], list[Any]]:
    """Rows by name with words, dates and gaps, and their answers."""
    rng = np.random.default_rng(90)
    rows, answers = [], []
    for t in range(count):
        rain, route = (
            float(rng.normal()),
            ["north", "south", "coast"][int(rng.integers(0, 2 + (t > count // 2)))],
        )
        rows.append(
            {
                "day": f"2024-{t % 12 + 1:02d}-{t % 28 + 1:02d}",
                "rain": None if t % 11 == 5 else rain,
                "route": None if t % 17 == 3 else route,
                "weekend": t % 7 > 4,
            }
        )
        y = (
            10
            + 2 * np.cos(t / 80) * rain
            + {"north": 0, "south": 3, "coast": -2}[route]
            + 0.3 * rng.normal()
        )
        answers.append(
            float(y)
            if kind == "regression"
            else ["late", "early", "on time"][int(y > 10) + int(y > 13)]
        )
    return rows, answers


def _by_place(count: int, kind: str) -> tuple[Any, list[Any]]:
    table = numbers(count) if kind == "regression" else labels(count, 3)
    return list(table.X), table.y.tolist()


def late(make: Any, rows: Any, delay: int, folder: Path) -> Mapping[str, Any]:
    """At first told at once.

    Then answers up to ``delay`` rows late, in any order, one in 50 never; saved on the way.
    """
    from swordplay.late import LateModel

    xs, ys = rows()
    model, rng = make(), np.random.default_rng(91)
    waiting: list[tuple[int, Any, Any]] = []
    said, losses = [], []
    for t, (x, y) in enumerate(zip(xs, ys, strict=True)):
        if t == len(ys) * 2 // 3:
            model.save(folder / "model.late")
            model = LateModel.load(folder / "model.late")
        ticket = model.ask(x, id=f"row {t}")
        said.append(_numbers_of(ticket))
        comes = t if t < len(ys) // 3 else t + int(rng.integers(0, delay + 1))
        if rng.random() < 0.02:
            model.drop(ticket)
        else:
            waiting.append((comes, f"row {t}", y))
        due = [one for one in waiting if one[0] <= t]
        waiting = [one for one in waiting if one[0] > t]
        for place in rng.permutation(len(due)):
            losses.append(model.tell(due[place][1], due[place][2]))
    tickets = model.ask_many(xs[:20])
    return {
        "said": [number for numbers_ in said for number in numbers_],
        "losses": losses,
        "pending": len(model.pending),
        "ahead": [number for ticket in tickets for number in _numbers_of(ticket)],
        "numbers of the summary": summary_numbers(model.summary()),
    }


def in_blocks(kind: str, _folder: Path) -> Mapping[str, Any]:
    """Asked and told many at a time."""
    from swordplay.late import LateModel

    xs, ys = described(600, kind)
    model, said, losses, tickets = LateModel(kind), [], [], []
    for first in range(0, 600, 25):
        tickets.append((model.ask_many(xs[first : first + 25]), ys[first : first + 25]))
        said.extend(number for ticket in tickets[-1][0] for number in _numbers_of(ticket))
        if len(tickets) > 2:
            losses.extend(np.atleast_1d(model.tell_many(*tickets.pop(0))).tolist())
    return {"said": said, "losses": losses, "pending": len(model.pending)}


def _numbers_of(ticket: Any) -> list[float]:
    """Prediction and interval of a number, or the probabilities of labels by name."""
    if ticket.probabilities is not None:
        return [ticket.probabilities[name] for name in sorted(ticket.probabilities, key=str)]
    return [
        float("nan") if x is None else float(x)
        for x in (ticket.prediction, ticket.lower, ticket.upper)
    ]


def _new(kind: str, **settings: Any) -> Any:
    def make() -> Any:
        from swordplay.late import LateModel

        return LateModel(kind, **settings)

    return make


def _around(library: str, name: str, **settings: Any) -> Any:
    def make() -> Any:
        import swordplay.river
        import swordplay.sklearn
        from swordplay.late import LateModel

        return LateModel(
            getattr({"sklearn": swordplay.sklearn, "river": swordplay.river}[library], name)(
                **settings
            )
        )

    return make


def _forecasts(ties: bool = False) -> tuple[Any, Any, Any]:
    """Forecasts, truths whose noise comes and goes, and columns of which one tells it."""
    rng = np.random.default_rng(92)
    forecasts = np.sin(np.arange(1200) / 50)
    columns = rng.normal(size=(1200, 3))
    truths = forecasts + np.repeat([0.1, 0.5, 0.1], 400) * np.exp(0.7 * columns[:, 1]) * rng.normal(
        size=1200
    )
    if ties:
        truths[300:500] = forecasts[300:500]
        columns[::50, 0] = np.nan
    return forecasts, truths, columns


def intervals(level: Any, ties: bool, features: bool, folder: Path) -> Mapping[str, Any]:
    """Whole arrays, a save and a load, then one by one with truths that come late."""
    from swordplay.intervals import SwordIntervals

    forecasts, truths, columns = _forecasts(ties)
    rows = {"features": columns} if features else {}
    model = SwordIntervals(level)
    first = model.interval_then_learn(
        forecasts[:900], truths[:900], **{name: x[:900] for name, x in rows.items()}
    )
    model.save(folder / "intervals.ckpt")
    model = SwordIntervals(level)
    model.load(folder / "intervals.ckpt")
    said = []
    for t in range(900, 1100):
        row = {name: x[t] for name, x in rows.items()}
        said.append(np.ravel(model.interval(forecasts[t], **row)))
        late = t - (0 if t < 1000 else 9)
        if t < 1000 or late >= 1000:
            model.learn(
                forecasts[late], truths[late], **{name: x[late] for name, x in rows.items()}
            )
    ahead = model.intervals(forecasts[1100:], **{name: x[1100:] for name, x in rows.items()})
    return {"first": first, "said": np.array(said), "ahead": ahead, "balances": model.balances}


def handed_back(_folder: Path) -> Mapping[str, Any]:
    """Intervals that the caller keeps and hands back with the truth, some of them late."""
    from swordplay.intervals import SwordIntervals

    forecasts, truths, _ = _forecasts()
    model, said = SwordIntervals(0.8), []
    for t in range(600):
        said.append(model.intervals(forecasts[t : t + 1])[0].ravel())
        late = {"late": 7} if t > 300 else {}
        model.learn(forecasts[t], truths[t], given=tuple(said[-1].tolist()), **late)
    return {"said": np.array(said)}


CASES: Cases = {}
for _kind in ("regression", "classification"):
    for _delay in (0, 12, 150):
        CASES[f"late, {_kind}, {_delay} rows"] = partial(
            late, _new(_kind), partial(described, 900, _kind), _delay
        )
    CASES[f"late, {_kind}, blocks"] = partial(in_blocks, _kind)
CASES["late, regression, after a long history"] = partial(
    late, _new("regression"), partial(described, 3600, "regression"), 60
)
CASES["late, regression, no level"] = partial(
    late,
    _new("regression", level=None, columns={"day": "word"}),
    partial(described, 400, "regression"),
    5,
)
CASES["late, sklearn regressor"] = partial(
    late, _around("sklearn", "SwordRegressor"), partial(_by_place, 700, "regression"), 15
)
CASES["late, sklearn regressor, lags"] = partial(
    late, _around("sklearn", "SwordRegressor", lags=2), partial(_by_place, 700, "regression"), 15
)
CASES["late, sklearn classifier"] = partial(
    late, _around("sklearn", "SwordClassifier"), partial(_by_place, 700, "classification"), 15
)
for _name, _level in (("0.9", 0.9), ("0.5", 0.5), ("two levels", (0.5, 0.95))):
    for _features in (False, True):
        _columns = ", columns" if _features else ""
        CASES[f"intervals, {_name}{_columns}"] = partial(intervals, _level, False, _features)
CASES["intervals, 0.5, ties"] = partial(intervals, 0.5, True, False)
CASES["intervals, 0.9, ties and gaps"] = partial(intervals, 0.9, True, True)
CASES["intervals handed back"] = handed_back
