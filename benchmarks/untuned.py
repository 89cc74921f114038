"""Errors on the shipped streams with nothing tuned, ours and other people's: `python -m
benchmarks.untuned [--quick | --ours]`.

Every row is predicted before it is learned, in the order of time, by models as their documentation
sets them up. A prediction that is not finite counts as the last value. The table goes to
``benchmarks/untuned.md``; the README quotes it, and a test holds the two together. ``--quick``
leaves out the forests, which take most of the time, and writes nothing; ``--ours`` plays our own
models only, and leaves the other rows of the table as they were measured before.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import Table, number
from swordplay import datasets

REFIT = 1000
"""Rows after which the notebook's model is fitted again, on all rows so far."""
FILE = Path(__file__).with_name("untuned.md")


class Stream(NamedTuple):
    """A table in time order."""

    name: str
    rows: Any
    targets: Any
    labels: bool
    """Whether the targets are 0 and 1."""


def streams() -> list[Stream]:
    """The shipped ones."""
    loaded = {
        "electricity": datasets.electricity(),
        "bikes": datasets.bikesharing(),
        "sulfur": datasets.sulfur(),
    }
    return [
        Stream(name, data.features, data.targets, name == "electricity")
        for name, data in loaded.items()
    ]


def figure(said: Any, stream: Stream) -> float:
    """Share of wrong labels in per cent, or RMSE.

    The first row, before which nothing is known, does not count.
    """
    said, truth = np.asarray(said, dtype=np.float64)[1:], stream.targets[1:]
    said = np.where(np.isfinite(said), said, stream.targets[:-1])
    if stream.labels:
        return float(100.0 * np.mean((said > 0.5) != (truth > 0.5)))
    return float(np.sqrt(np.mean((said - truth) ** 2)))


def swordplay(stream: Stream, **settings: Any) -> Any:
    """Ours."""
    models = import_module("swordplay.sklearn")
    model = (models.SwordClassifier if stream.labels else models.SwordRegressor)(**settings)
    return model.predict_then_learn(stream.rows, stream.targets)


def no_change(stream: Stream) -> Any:
    """The last target again."""
    return np.concatenate([[np.nan], stream.targets[:-1]])


def notebook(stream: Stream) -> Any:
    """scikit-learn's ridge (for labels its logistic regression) on scaled columns, fitted again
    now and then.
    """
    linear, pipeline, scaling = (
        import_module(f"sklearn.{part}") for part in ("linear_model", "pipeline", "preprocessing")
    )
    said = no_change(stream)[:REFIT]
    parts = [said]
    for start in range(REFIT, len(stream.targets), REFIT):
        model = pipeline.make_pipeline(
            scaling.StandardScaler(),
            linear.LogisticRegression() if stream.labels else linear.Ridge(),
        )
        model.fit(stream.rows[:start], stream.targets[:start])
        parts.append(model.predict(stream.rows[start : start + REFIT]))
    return np.concatenate(parts)


def river_linear(stream: Stream) -> Any:
    """river's scaler and its linear (logistic) regression."""
    models, scaling = import_module("river.linear_model"), import_module("river.preprocessing")
    model = models.LogisticRegression() if stream.labels else models.LinearRegression()
    return _one_by_one(scaling.StandardScaler() | model, stream)


def river_passive(stream: Stream) -> Any:
    """river's scaler and its passive-aggressive model."""
    models, scaling = import_module("river.linear_model"), import_module("river.preprocessing")
    return _one_by_one(
        scaling.StandardScaler()
        | (models.PAClassifier() if stream.labels else models.PARegressor()),
        stream,
    )


def river_forest(stream: Stream) -> Any:
    """river's adaptive random forest of 10 trees."""
    forest = import_module("river.forest")
    return _one_by_one(
        forest.ARFClassifier(seed=0) if stream.labels else forest.ARFRegressor(seed=0), stream
    )


def _one_by_one(model: Any, stream: Stream) -> Any:
    said = []
    for row, target in zip(stream.rows.tolist(), stream.targets.tolist(), strict=True):
        features = dict(enumerate(row))
        answer = model.predict_one(features)
        said.append(np.nan if answer is None else float(answer))
        model.learn_one(features, bool(target) if stream.labels else target)
    return said


def vowpal(options: str) -> Callable[[Stream], Any]:
    """Vowpal Wabbit, one line of its text format after the other."""

    def play(stream: Stream) -> Any:
        loss = "--loss_function logistic --link logistic" if stream.labels else ""
        vw = import_module("vowpalwabbit").Workspace(f"--quiet {options} {loss}")
        said = []
        for row, target in zip(stream.rows.tolist(), stream.targets.tolist(), strict=True):
            label = 2 * target - 1 if stream.labels else target
            example = vw.parse(
                f"{label} | " + " ".join(f"{k}:{value!r}" for k, value in enumerate(row))
            )
            vw.learn(example)
            said.append(example.get_simplelabel_prediction())  # what it said before it learned
            vw.finish_example(example)
        vw.finish()
        return said

    return play


CONTENDERS: dict[str, Callable[[Stream], Any]] = {
    "swordplay": swordplay,
    "swordplay, lags=0, curves=None": lambda stream: swordplay(stream, lags=0, curves=None),
    "no change": no_change,
    "scikit-learn ridge, refitted every 1,000 rows": notebook,
    "river scaler + linear model": river_linear,
    "river scaler + passive-aggressive": river_passive,
    "river adaptive random forest": river_forest,
    "Vowpal Wabbit": vowpal(""),
    "Vowpal Wabbit --coin": vowpal("--coin"),
}
SLOW = ("river adaptive random forest",)


def shown(value: float, stream: Stream) -> str:
    """A figure as the table has it."""
    if stream.labels:
        return f"{value:.1f} %"
    return f"{value:.0e}" if value >= 1e5 else number(value) if value >= 1.0 else f"{value:.4f}"


def measured() -> dict[str, list[str]]:
    """The rows of the table as it was written last, by their first cell."""
    lines = FILE.read_text(encoding="utf-8").split("| nothing tuned |")[1].splitlines()[2:]
    rows = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("|")
    )
    return {first: rest for first, *rest in rows}


def main(arguments: list[str]) -> None:
    """Play everything and write the table."""
    games, rows = streams(), []
    known = measured() if "--ours" in arguments else {}
    for name, play in CONTENDERS.items():
        if name in SLOW and "--quick" in arguments:
            continue
        if "--ours" in arguments and not name.startswith("swordplay"):
            rows.append([name, *known[name]])
            continue
        started = time.perf_counter()
        figures = [shown(figure(play(stream), stream), stream) for stream in games]
        rows.append([name, *figures])
        print(f"{name:48} {'  '.join(figures)}   {time.perf_counter() - started:.0f} s", flush=True)
    header = [
        "nothing tuned",
        *(f"{stream.name}, {'wrong' if stream.labels else 'RMSE'}" for stream in games),
    ]
    table = Table(
        "Errors of untuned models",
        header,
        rows,
        (__doc__ or "").split("\n\n")[1].replace("\n", " "),
    )
    if "--quick" not in arguments:
        FILE.write_text(
            "Written by `python -m benchmarks.untuned`.\n\n" + table.markdown(), encoding="utf-8"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
