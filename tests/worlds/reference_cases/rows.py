"""Tables of rows whose target drifts, seeded."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Rows(NamedTuple):
    """Columns and a target."""

    X: Any
    y: Any


def numbers(count: int = 600, columns: int = 4, *, seed: int = 70, outliers: bool = False) -> Rows:
    """Columns of very different units and a target whose coefficients turn."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, columns)) * 10.0 ** rng.integers(-3, 4, columns) + rng.normal(
        size=columns
    )
    turn = np.arange(count)[:, None] / 150 + np.arange(columns)
    units = X.std(axis=0)
    y = (
        20
        + (np.cos(turn) * (X - X.mean(axis=0)) / units).sum(axis=1)
        + 0.2 * rng.normal(size=count)
    )
    y[count // 2 :] += 3.0  # a jump of the level
    if outliers:
        y[::97] += 500.0
        X[5::83, 0] *= 1e6
    return Rows(X, y)


def labels(count: int = 600, kinds: int = 2, *, seed: int = 71) -> Rows:
    """Labels whose borders move; of three and more kinds the last one begins half-way."""
    X, y = numbers(count, seed=seed)
    level = (y - np.median(y)) / y.std()
    if kinds == 2:
        return Rows(X, (level > 0).astype(int))
    names = np.array([f"class {k}" for k in range(kinds)])
    place = np.clip(np.floor((level + 1.5) / 3.0 * kinds), 0, kinds - 1).astype(int)
    place[: count // 2] = np.minimum(place[: count // 2], kinds - 2)
    return Rows(X, names[place])


def frame(count: int = 500, *, seed: int = 72, kind: str = "number") -> Rows:
    """A pandas frame of numbers, words, truths, dates and gaps."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    when = pd.date_range("2024-01-30", periods=count, freq="7h")
    words = np.array(["dry", "rain", "snow", "fog"])[
        np.minimum(rng.integers(0, 4, count), np.arange(count) * 5 // count)
    ]
    table = pd.DataFrame(
        {
            "when": when,
            "temperature": rng.normal(10, 8, count),
            "weather": words,
            "holiday": rng.random(count) < 0.1,
            "share": [f"{k % 101}%" for k in rng.integers(0, 1000, count)],
        }
    )
    y = (
        100
        + 5 * table["temperature"]
        - 40 * (words == "rain")
        + 30 * np.sin(2 * np.pi * when.hour / 24)
        + rng.normal(size=count)
    )
    table.loc[::37, "temperature"] = None
    table.loc[5::41, "weather"] = None
    return Rows(table, y if kind == "number" else np.where(y > y.median(), "many", "few"))


def dictionaries(rows: Rows, *, gaps: bool = False) -> list[dict[str, float]]:
    """Rows by name; with gaps, one column joins late and another is missing now and then."""
    X = np.asarray(rows.X)
    found = []
    for t, row in enumerate(X):
        x = {f"x{j}": float(value) for j, value in enumerate(row)}
        if gaps:
            if t < len(X) // 3:
                del x["x1"]
            if t % 7 == 3:
                del x["x2"]
        found.append(x)
    return found
