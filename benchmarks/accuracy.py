"""How well the estimators do on real streams, with nothing set: `python -m benchmarks.accuracy FILE.csv.gz:TARGET ...`.

Each file is a table in time order, numbers only, with a header. Every row is predicted before it is learned. Beside the
estimators stand "no change" (the last target) and the best single step size of a standardised OGD, chosen with hindsight.
A target with two values 0 and 1 is a classification: the figure is the share of wrong labels; otherwise it is the RMSE.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np

import swordplay as sp
from swordplay.estimators.model import LinearModel
from swordplay.estimators.scaler import Locator, Scaler

STEPS = 2.0 ** -np.arange(-4, 10)
"""Step sizes of the hindsight OGD, relative to the 99th percentile of the rows' smoothness."""
RADIUS = 32.0


def read(path: Path, target: str) -> tuple[Any, Any]:
    """Columns and target of a table."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        names = lines.readline().strip().split(",")
        table = np.loadtxt(lines, delimiter=",", ndmin=2)
    if target not in names:
        raise SystemExit(f"{path.name} has no column {target!r}. It has: {', '.join(names)}.")
    place = names.index(target)
    return np.ascontiguousarray(np.delete(table, place, axis=1)), table[:, place]


def figure(scores: Any, targets: Any, labels: bool) -> float:
    """Share of wrong labels, or RMSE."""
    return float(np.mean((scores > 0) != (targets > 0.5)) if labels else np.sqrt(np.mean((scores - targets) ** 2)))


def hindsight_step(rows: Any, targets: Any, labels: bool) -> float:
    """The best figure of OGD over all step sizes, on columns scaled as the estimators scale them."""
    scaled, norms = Scaler(rows.shape[1]).scale_and_follow(rows)
    center = 0.0 if labels else Locator(10.0).locate_and_follow(targets)[:, 0]
    unit = 1.0 if labels else float(np.std(targets))
    smoothness = np.percentile(norms, 99) * (0.25 if labels else 1.0)
    best = np.inf
    for step in STEPS / smoothness:
        engine = sp.engine.twin(sp.OGD(sp.Ball(scaled.shape[1], RADIUS), step), "logistic" if labels else "squared")
        played = engine.play(scaled, targets if labels else (targets - center) / unit).predictions
        best = min(best, figure(played if labels else played * unit + center, targets, labels))
    return best


def main(arguments: list[str]) -> None:
    if not arguments or any(":" not in argument for argument in arguments):
        raise SystemExit(__doc__)
    print(f"{'stream':24} {'no change':>10} {'best OGD':>10} {'Sword':>10} {'lags=1':>10}")
    for argument in arguments:
        name, target = argument.rsplit(":", 1)
        rows, targets = read(Path(name), target)
        labels = bool(np.isin(targets, (0.0, 1.0)).all())
        loss: Any = "logistic" if labels else "squared"
        last = np.concatenate([targets[:1], targets[:-1]])
        figures = [
            figure(2 * last - 1 if labels else last, targets, labels),
            hindsight_step(rows, targets, labels),
            *(
                figure(LinearModel(rows.shape[1], loss=loss, lags=lags).predict_then_learn(rows, targets), targets, labels)
                for lags in (0, 1)
            ),
        ]
        print(f"{Path(name).name:24} " + " ".join(f"{number:10.4g}" for number in figures))


if __name__ == "__main__":
    main(sys.argv[1:])
