"""Golden runs of the command: tasks x formats x keys x orders, straight and stopped.

Learn and predict; compare.
"""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from worlds.reference_cases import Cases
from worlds.reference_cases.commands import LONGEST, leaves, run
from worlds.reference_cases.estimators import dataset
from worlds.reference_cases.keys import panel
from worlds.reference_cases.rows import frame

FORMATS = ("csv", "ndjson", "parquet")
TASKS = ("regression", "binary", "multi-class")


def table(task: str, count: int = 600, *, missing: bool = True) -> Any:
    """A pandas frame of numbers, words, truths, dates, percentages and gaps, with a target ``y``
    that is missing at times.
    """
    rows, level = frame(count, seed=120)
    found = rows.assign(name=[f"row {k}" for k in range(count)])
    names = np.array(["low", "middle", "high"])
    y = {
        "regression": lambda: level.to_numpy(),
        "binary": lambda: (level > level.median()).to_numpy(),
        "multi-class": lambda: names[
            (level > 90).astype(int) + ((level > 150) & (np.arange(count) > count // 2)).astype(int)
        ],
    }[task]()
    found["y"] = y
    if missing:
        found["y"] = found["y"].astype(object)
        found.loc[found.index % 13 == 6, "y"] = None
        if task == "regression":
            found["y"] = found["y"].astype(float)
    return found


def with_keys(words: bool) -> Any:
    """Interleaved series whose key is a column, and a target."""
    import pandas as pd

    key, X, y = panel(2500, 10, seed=121)
    found = pd.DataFrame(X, columns=["a", "b", "c"]).assign(shop=key, y=y)
    if words:
        found["kind"] = np.array(["x", "y", "z"])[np.arange(len(found)) * 7 % 3]
    return found


def write(path: Path, rows: Any) -> Path:
    """A frame as a file of the format of its name.

    Written by plain code, so that the bytes are the same everywhere.
    """
    if path.suffix == ".parquet":
        rows.to_parquet(path, index=False)
    elif path.suffix == ".ndjson":
        path.write_text(
            rows.to_json(orient="records", lines=True, date_format="iso", double_precision=15)
        )
    else:
        rows.to_csv(path, index=False)
    return path


def output_values(path: Path) -> dict[str, Any]:
    """The bytes of an output and each of its columns."""
    import pandas as pd

    if path.suffix == ".parquet":
        rows = pd.read_parquet(path)
    elif path.suffix == ".ndjson":
        rows = pd.read_json(
            io.StringIO(path.read_text()), lines=True, convert_dates=False, precise_float=True
        )
    else:
        rows = pd.read_csv(path, float_precision="round_trip")
    found: dict[str, Any] = {} if path.suffix == ".parquet" else {"bytes": path.read_bytes()}
    for name in rows.columns:
        column = rows[name]
        found[f"column {name}"] = (
            column.to_numpy(float) if column.dtype.kind in "fiub" else column.astype(str).to_numpy()
        )
    return found


def track(
    rows: Any, options: Sequence[str], given: str, folder: Path, *, pipe: bool = False
) -> Mapping[str, Any]:
    """One run from start to end."""
    path = write(folder / f"table.{given}", rows())
    output = folder / f"predictions.{given}"
    source, data = ("-", path.read_bytes()) if pipe else (path.name, None)
    said = run(
        "track",
        source,
        "--target",
        "y",
        "-o",
        output.name,
        "--json",
        "--quiet",
        *options,
        folder=folder,
        given=data,
    )
    return {**output_values(output), **leaves(json.loads(said))}


def grown(rows: Any, options: Sequence[str], given: str, folder: Path) -> Mapping[str, Any]:
    """The first half of a file, then the whole of it from the state of before."""
    whole = rows()
    path, output = folder / f"table.{given}", folder / f"predictions.{given}"
    command = (
        "track",
        path.name,
        "--target",
        "y",
        "-o",
        output.name,
        "--state",
        "run.state",
        "--json",
        "--quiet",
        *options,
    )
    write(path, whole[: len(whole) // 2])
    run(*command, folder=folder)
    write(path, whole)
    said = run(*command, folder=folder)
    return {**output_values(output), **leaves(json.loads(said))}


def stopped(name: str, given: str, folder: Path) -> Mapping[str, Any]:
    """A run that is asked to stop as soon as it has saved, and the same command again."""
    import pandas as pd

    data = dataset(name)
    path = write(
        folder / f"table.{given}",
        pd.DataFrame(data.X[:10_000]).rename(columns=str).assign(y=data.y[:10_000]),
    )
    output = folder / f"predictions.{given}"
    arguments = [
        "track",
        path.name,
        "--target",
        "y",
        "-o",
        output.name,
        "--state",
        "run.state",
        "--save-every",
        "1000",
    ]
    command = [sys.executable, "-m", "swordplay", *arguments, "--json", "--quiet"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    began = time.monotonic()
    while process.poll() is None and time.monotonic() - began < LONGEST:
        if (folder / "run.state").exists():
            process.send_signal(signal.SIGTERM)
            break
        time.sleep(0.01)
    process.wait(LONGEST)
    said = run(*arguments, "--json", "--quiet", folder=folder)
    return {**output_values(output), **leaves(json.loads(said))}


def shipped(name: str, count: int, folder: Path) -> Mapping[str, Any]:
    """The first rows of a stream that comes with the package."""
    import pandas as pd

    data = dataset(name)
    rows = pd.DataFrame(data.X[:count]).rename(columns=lambda k: f"x{k}").assign(y=data.y[:count])
    return track(lambda: rows, (), "csv", folder)


def learn_and_predict(rows: Any, options: Sequence[str], folder: Path) -> Mapping[str, Any]:
    """Half of a table is learned, the rest predicted, learned and predicted again."""
    whole = rows()
    half = len(whole) // 2
    write(folder / "first.csv", whole[:half])
    write(folder / "second.csv", whole[half:])
    write(folder / "ahead.csv", whole[half:].drop(columns="y"))
    state = ("--state", "model.state", "--quiet")
    first = run("learn", "first.csv", "--target", "y", *state, "--json", *options, folder=folder)
    run("predict", "ahead.csv", *state, "-o", "one.csv", folder=folder)
    second = run("learn", "second.csv", *state, "--json", folder=folder)
    run("predict", "ahead.csv", *state, "-o", "two.csv", folder=folder)
    found: dict[str, Any] = {}
    for name, values in (
        ("first", leaves(json.loads(first))),
        ("second", leaves(json.loads(second))),
        ("before", output_values(folder / "one.csv")),
        ("after", output_values(folder / "two.csv")),
    ):
        found.update({f"{name}: {label}": value for label, value in values.items()})
    return found


def compare(task: str, folder: Path) -> Mapping[str, Any]:
    """Errors, losses and regrets of all learners in a table, by their names."""
    write(folder / "table.csv", table(task, 400, missing=False))
    said = json.loads(
        run(
            "compare",
            "table.csv",
            "--target",
            "y",
            "--json",
            "--quiet",
            folder=folder,
        )
    )
    for name in ("standings", "benchmarks"):
        said[name] = {str(entry["name"]): entry for entry in said[name]}
    return leaves(said)


def frames(task: str, _folder: Path) -> Mapping[str, Any]:
    """`swordplay.track` of a data frame."""
    import warnings

    import swordplay as sp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = sp.track(table(task, 400), target="y")
    predictions = result.predictions
    predictions = predictions.to_pandas() if hasattr(predictions, "to_pandas") else predictions
    values = predictions["prediction"]
    return {
        "prediction": values.to_numpy(float)
        if task == "regression"
        else values.astype(str).to_numpy()
    }


CASES: Cases = {}
for _task in TASKS:
    _rows = partial(table, _task)
    for _format in FORMATS:
        CASES[f"{_format}, {_task}"] = partial(track, _rows, (), _format)
    CASES[f"pipe, {_task}"] = partial(
        track, _rows, ("--task", _task, "--format", "csv"), "csv", pipe=True
    )
    CASES[f"grown csv, {_task}"] = partial(grown, _rows, (), "csv")
    CASES[f"sorted, {_task}"] = partial(
        track,
        lambda task=_task: table(task).sample(frac=1.0, random_state=3),
        ("--sort", "when"),
        "csv",
    )
    CASES[f"learn and predict, {_task}"] = partial(learn_and_predict, _rows, ())
    CASES[f"data frame, {_task}"] = partial(frames, _task)
CASES["grown ndjson, regression"] = partial(grown, partial(table, "regression"), (), "ndjson")
CASES["stopped, sulfur, parquet"] = partial(stopped, "sulfur", "parquet")
CASES["stopped, electricity, csv"] = partial(stopped, "electricity", "csv")
CHEAP_KEYS = ("--key", "shop", "--curves", "none")
"""Keys with models of first order."""
for _name, _words, _options in (
    ("numbers", False, (*CHEAP_KEYS, "--no-interval")),
    ("numbers, intervals", False, CHEAP_KEYS),
    ("numbers, lags", False, (*CHEAP_KEYS, "--no-interval", "--lags", "2")),
    ("words", True, CHEAP_KEYS),
):
    CASES[f"keys, {_name}"] = partial(track, partial(with_keys, _words), _options, "csv")
CASES["keys, parquet"] = partial(
    track, partial(with_keys, False), (*CHEAP_KEYS, "--no-interval"), "parquet"
)
CASES["keys, pipe"] = partial(
    track,
    partial(with_keys, False),
    (*CHEAP_KEYS, "--no-interval", "--task", "regression"),
    "csv",
    pipe=True,
)
CASES["keys, grown"] = partial(
    grown, partial(with_keys, False), (*CHEAP_KEYS, "--no-interval"), "csv"
)
CASES["keys, classes"] = partial(
    track, lambda: table("multi-class").assign(shop=np.arange(600) % 3), CHEAP_KEYS, "csv"
)
CASES["keys, learn and predict"] = partial(
    learn_and_predict, partial(with_keys, False), (*CHEAP_KEYS, "--no-interval")
)
for _name, _options in {
    "lags of 3": ("--lags", "3"),
    "no curves": ("--curves", "none", "--lags", "0"),
    "rich curves": ("--curves", "rich"),
    "huber": ("--loss", "huber"),
    "level": ("--level", "0.5"),
    "columns": ("--drop", "share", "--id", "name,when"),
    "types": ("--types", "share=word,when=skip", "--missing", "dry"),
    "reversed": ("--reverse",),
}.items():
    CASES[f"options: {_name}"] = partial(track, partial(table, "regression"), _options, "csv")
for _name in ("sulfur", "bikesharing", "electricity"):
    CASES[f"shipped: {_name}"] = partial(shipped, _name, 3000)
for _task in TASKS:
    CASES[f"compare, {_task}"] = partial(compare, _task)
for _name, _words in (("numbers", False), ("words", True)):
    CASES[f"keys, whole models, {_name}"] = partial(
        track, partial(with_keys, _words), ("--key", "shop"), "csv"
    )
