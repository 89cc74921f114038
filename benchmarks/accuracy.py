"""How well estimators do on real streams: `python -m benchmarks.accuracy [--only NAME]
[FILE.csv.gz:TARGET ...]`.

Every row is predicted before it is learned, in the order of the table, by models as their
documentation sets them up; the first row, before which nothing is known, does not count. The
streams are the shipped ones and those that come with river and scikit-learn, or the files that are
named (numbers only, with a header). Of a target with few whole values the figures are the share of
wrong labels, log loss, Brier score and calibration error (ten bins of the most probable label), of
others the RMSE. Times are microseconds a row, on whatever machine this ran. Who needs a package
that is not installed is missing, and so are forests on streams of more than 6,000 rows, where they
take hours. Below the tables stand geometric means over the streams, the linear model of first order
being 1. All goes to ``benchmarks/accuracy.md``, unless files are named. With ``--only NAME`` those
play whose names begin like that, and the other rows stay as they were measured before.
"""

from __future__ import annotations

import gzip
import sys
import time
from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import Table, number
from swordplay import datasets
from swordplay.sklearn import SwordClassifier, SwordRegressor

FILE = Path(__file__).with_name("accuracy.md")
MOST_LABELS = 50
FORGETTING = 0.999
"""Of the plain recursive least squares."""
BATCH = 100
"""Rows that scikit-learn's SGD predicts and learns at a time."""
REFIT, WINDOW = 500, 5000
"""Rows after which LightGBM is fitted anew, and how many of the last ones it is fitted to."""
EARLY_FITS = 50, 100, 200
"""The same before the first of these."""
LONGEST_FOR_FORESTS = 6000
PLAIN = "swordplay, lags=0, curves=None"


class Stream(NamedTuple):
    """A table in time order; labels are 0 .. K - 1."""

    name: str
    rows: Any
    targets: Any
    labels: int
    """K, or 0 where targets are numbers."""


def read(path: Path, target: str) -> Stream:
    """A table of numbers."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        names = lines.readline().strip().split(",")
        table = np.loadtxt(lines, delimiter=",", ndmin=2)
    if target not in names:
        raise SystemExit(f"{path.name} has no column {target!r}. It has: {', '.join(names)}.")
    place = names.index(target)
    return made(path.name, np.delete(table, place, axis=1), table[:, place])


def made(name: str, rows: Any, targets: Any, of_labels: bool | None = None) -> Stream:
    """A stream of numbers, or of labels if there are few whole ones."""
    found = np.unique(targets)
    if of_labels or (
        of_labels is None and len(found) <= MOST_LABELS and np.array_equal(found, np.floor(found))
    ):
        return Stream(
            name,
            np.ascontiguousarray(rows, dtype=np.float64),
            np.searchsorted(found, targets),
            len(found),
        )
    return Stream(
        name, np.ascontiguousarray(rows, dtype=np.float64), np.asarray(targets, dtype=np.float64), 0
    )


def streams() -> list[Stream]:
    """All that come with installed packages."""
    shipped = {"sulfur": datasets.sulfur(), "bikes": datasets.bikesharing()}
    found = [made(name, data.features, data.targets, False) for name, data in shipped.items()]
    electricity = datasets.electricity()
    for target in ("nswdemand", "nswprice", "transfer"):
        place = electricity.names.index(target)
        rest = np.delete(electricity.features, place, axis=1)
        found.append(made(f"electricity, {target}", rest, electricity.features[:, place], False))
    river, bundled = import_module("river.datasets"), import_module("sklearn.datasets")
    for name in ("TrumpApproval", "WaterFlow", "SP500Stocks", "ChickWeights", "AirlinePassengers"):
        found.append(made(name, *_pairs(getattr(river, name)()), False))
    found.append(made("diabetes", *bundled.load_diabetes(return_X_y=True), False))
    found.append(made("electricity", electricity.features, electricity.targets))
    for name in ("Bananas", "Phishing", "ImageSegments"):
        found.append(made(name, *_pairs(getattr(river, name)()), True))
    for name in ("breast_cancer", "digits"):
        found.append(made(name, *getattr(bundled, f"load_{name}")(return_X_y=True), True))
    return found


def _pairs(pairs: Any) -> tuple[Any, Any]:
    pairs = list(pairs)
    return np.array([[_number(value) for value in row.values()] for row, _ in pairs]), np.array(
        [target for _, target in pairs]
    )


def _number(value: Any) -> float:
    return value.timestamp() if isinstance(value, datetime) else float(value)


def ours(**settings: Any) -> Callable[[Stream], Any]:
    """Estimators of swordplay."""

    def play(stream: Stream) -> Any:
        if not stream.labels:
            return SwordRegressor(**settings).predict_then_learn(stream.rows, stream.targets)
        model = SwordClassifier(**settings)
        model.partial_fit(stream.rows[:1], stream.targets[:1], classes=np.arange(stream.labels))
        return np.vstack(
            [
                _uniform(stream)[:1],
                model.predict_proba_then_learn(stream.rows[1:], stream.targets[1:]),
            ]
        )

    return play


def no_change(stream: Stream) -> Any:
    """The last target again."""
    if not stream.labels:
        return np.append(0.0, stream.targets[:-1])
    said = _uniform(stream)
    said[np.arange(1, len(said)), stream.targets[:-1]] += 1.0
    return said / said.sum(axis=1, keepdims=True)


def least_squares(stream: Stream) -> Any:
    """Recursive least squares on scaled columns, one forgetting factor."""
    if stream.labels:
        return None
    scaler = import_module("sklearn.preprocessing").StandardScaler()
    rows = np.hstack(
        [scaler.fit_transform(stream.rows), np.ones((len(stream.rows), 1))]
    )  # with hindsight, to its advantage
    P, theta, said = 1e3 * np.eye(rows.shape[1]), np.zeros(rows.shape[1]), np.empty(len(rows))
    for t, (a, y) in enumerate(zip(rows, stream.targets, strict=True)):
        said[t] = theta @ a
        v = P @ a
        gain = v / (FORGETTING + a @ v)
        theta += gain * (y - said[t])
        P = (P - np.outer(gain, v)) / FORGETTING
        P = (P + P.T) / 2
    return said


def river_linear(stream: Stream) -> Any:
    """river's scaler and its linear (logistic, softmax) regression."""
    models, scaling = import_module("river.linear_model"), import_module("river.preprocessing")
    last = (
        models.SoftmaxRegression()
        if stream.labels > 2
        else models.LogisticRegression()
        if stream.labels
        else None
    )
    return _one_by_one(scaling.StandardScaler() | (last or models.LinearRegression()), stream)


def _one_by_one(model: Any, stream: Stream) -> Any:
    said = []
    for row, target in zip(stream.rows.tolist(), stream.targets.tolist(), strict=True):
        features = dict(enumerate(row))
        if stream.labels:
            chances = model.predict_proba_one(features)
            said.append([chances.get(k, 0.0) for k in range(stream.labels)])
            model.learn_one(features, bool(target) if stream.labels == 2 else target)
        else:
            said.append(model.predict_one(features))
            model.learn_one(features, target)
    return np.array(said)


def river_forest(stream: Stream) -> Any:
    """river's adaptive random forest."""
    if len(stream.targets) > LONGEST_FOR_FORESTS:
        return None
    forest = import_module("river.forest")
    return _one_by_one(
        forest.ARFClassifier(seed=1) if stream.labels else forest.ARFRegressor(seed=1), stream
    )


def descent(stream: Stream) -> Any:
    """scikit-learn's scaler and SGD, some rows at a time."""
    models, scaler = (
        import_module("sklearn.linear_model"),
        import_module("sklearn.preprocessing").StandardScaler(),
    )
    model = (
        models.SGDClassifier(loss="log_loss", random_state=0)
        if stream.labels
        else models.SGDRegressor(random_state=0)
    )
    more = {"classes": np.arange(stream.labels)} if stream.labels else {}
    said = _uniform(stream) if stream.labels else np.zeros(len(stream.targets))
    for first in range(0, len(stream.targets), BATCH):
        rows, targets = stream.rows[first : first + BATCH], stream.targets[first : first + BATCH]
        if first:
            known = scaler.transform(rows)
            said[first : first + BATCH] = (
                model.predict_proba(known) if stream.labels else model.predict(known)
            )
        model.partial_fit(scaler.partial_fit(rows).transform(rows), targets, **more)
    return said


def boosting(stream: Stream) -> Any:
    """LightGBM, fitted anew now and then to the last rows, on one core.

    Before the first fit, the last target.
    """
    models = import_module("lightgbm")
    said, count = no_change(stream), len(stream.targets)
    edges = [*(first for first in EARLY_FITS if first < count), *range(REFIT, count, REFIT), count]
    for first, stop in pairwise(edges):
        past, rows = slice(max(0, first - WINDOW), first), stream.rows[first:stop]
        kind = models.LGBMClassifier if stream.labels else models.LGBMRegressor
        if stream.labels and len(np.unique(stream.targets[past])) < 2:
            continue
        model = kind(verbose=-1, n_jobs=1).fit(stream.rows[past], stream.targets[past])
        if stream.labels:
            said[first:stop] = 1e-9
            said[first:stop, model.classes_] = model.predict_proba(rows)
        else:
            said[first:stop] = model.predict(rows)
    return said


def _uniform(stream: Stream) -> Any:
    return np.full((len(stream.targets), stream.labels), 1.0 / stream.labels)


def figures(said: Any, stream: Stream) -> list[float]:
    """RMSE; or wrong in per cent, log loss, Brier score and calibration error."""
    truth = stream.targets[1:]
    if not stream.labels:
        said = np.where(np.isfinite(said[1:]), said[1:], stream.targets[:-1])
        return [float(np.sqrt(np.mean((said - truth) ** 2)))]
    said, places = said[1:], np.arange(len(truth))
    best, sure = said.argmax(axis=1), said.max(axis=1)
    bins = np.minimum((10 * sure).astype(int), 9)
    off = np.bincount(bins, weights=(best == truth) - sure, minlength=10)
    return [
        float(100 * np.mean(best != truth)),
        float(-np.mean(np.log(np.clip(said[places, truth], 1e-9, 1.0)))),
        float(np.mean(((said - np.eye(stream.labels)[truth]) ** 2).sum(axis=1))),
        float(np.abs(off).sum() / len(truth)),
    ]


CONTENDERS: dict[str, Callable[[Stream], Any]] = {
    "swordplay": ours(),
    PLAIN: ours(lags=0, curves=None),
    'swordplay, curves="rich"': ours(curves="rich"),
    "no change": no_change,
    "recursive least squares": least_squares,
    "river scaler + linear model": river_linear,
    "river adaptive random forest": river_forest,
    "scikit-learn scaler + SGD": descent,
    "LightGBM, refitted": boosting,
}


def earlier(only: str) -> dict[bool, dict[tuple[str, str], list[str]]]:
    """Rows that were written before, by stream and model, of all that are not played now.

    For numbers and for labels.
    """
    rows: dict[bool, dict[tuple[str, str], list[str]]] = {False: {}, True: {}}
    for line in FILE.read_text(encoding="utf-8").splitlines() if only and FILE.exists() else []:
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if len(cells) in (4, 7) and cells[1] in CONTENDERS and not cells[1].startswith(only):
            rows[len(cells) == 7][cells[0], cells[1]] = cells
    return rows


def means(found: dict[tuple[str, bool, str], list[float]]) -> str:
    """Geometric means of errors and log losses over all streams that somebody played, first
    order being 1; and the worst.
    """
    rows = []
    for name in CONTENDERS:
        cells = [name]
        for labels, place in ((False, 0), (True, 0), (True, 1)):
            ratios = [
                found[game, labels, name][place] / found[game, labels, PLAIN][place]
                for game, kind, who in found
                if who == name and kind == labels
            ]
            cells.append(
                f"{np.exp(np.mean(np.log(ratios))):.3f} (worst {max(ratios):.3f}, of {len(ratios)})"
                if ratios
                else ""
            )
        rows.append(cells)
    header = ["first order = 1", "RMSE", "wrong labels", "log loss"]
    return Table("Together", header, [row for row in rows if any(row[1:])], "").markdown()


def main(arguments: list[str]) -> None:
    """Play everything and write the tables."""
    only = arguments[1] if arguments[:1] == ["--only"] and len(arguments) > 1 else ""
    files = arguments[2:] if only else arguments
    if any(":" not in argument for argument in files):
        raise SystemExit(__doc__)
    games = [
        read(Path(name), target) for name, target in (one.rsplit(":", 1) for one in files)
    ] or streams()
    kept = earlier(only)
    rows: dict[bool, list[list[str]]] = {False: [], True: []}
    found: dict[tuple[str, bool, str], list[float]] = {}
    missing: dict[str, str] = {}
    for name, play in CONTENDERS.items():  # compiled before it is timed
        if name.startswith("swordplay"):
            for labels in (0, 2, 3):
                play(
                    Stream(
                        "",
                        np.arange(40.0)[:, None],
                        np.arange(40) % labels if labels else np.arange(40.0),
                        labels,
                    )
                )
    for game in games:
        of_labels = bool(game.labels)
        for name, play in CONTENDERS.items():
            line = kept[of_labels].get((game.name, name))
            if line is None and name.startswith(only):
                line = _played(game, name, play, missing)
            if line is None:
                continue
            found[game.name, of_labels, name] = [
                float(cell.replace(",", "")) for cell in line[2:-1]
            ]
            rows[of_labels].append(line)
    tables = [
        Table("Numbers", ["stream", "model", "RMSE", "µs a row"], rows[False], ""),
        Table(
            "Labels",
            ["stream", "model", "wrong, %", "log loss", "Brier", "calibration", "µs a row"],
            rows[True],
            "",
        ),
    ]
    if not files:
        told = " ".join((__doc__ or "").split("\n\n")[1].split())
        parts = [
            "Written by `python -m benchmarks.accuracy`.",
            told,
            *(table.markdown() for table in tables),
            means(found),
        ]
        parts += list(missing.values())
        FILE.write_text("\n\n".join(parts), encoding="utf-8")


def _played(
    game: Stream, name: str, play: Callable[[Stream], Any], missing: dict[str, str]
) -> list[str] | None:
    """A row of a table; None for whom it is missing."""
    started = time.perf_counter()
    try:
        said = play(game)
    except ModuleNotFoundError as error:
        missing[name] = f"{name}: missing, as {error.name} is not installed."
        return None
    if said is None:
        return None
    spent = f"{1e6 * (time.perf_counter() - started) / len(game.targets):.1f}"
    line = [
        game.name,
        name,
        *(number(value) if value >= 1.0 else f"{value:.4f}" for value in figures(said, game)),
        spent,
    ]
    print("  ".join(line), flush=True)
    return line


if __name__ == "__main__":
    main(sys.argv[1:])
