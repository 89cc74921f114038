"""Three real streams that drift, shipped with the package.

``NOTICE.md`` beside them says where they come from.

>>> from swordplay import datasets
>>> prices = datasets.electricity()
>>> prices.features.shape, prices.target, float(prices.targets.mean().round(3))
((45312, 6), 'price_up', 0.425)
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np

from swordplay.core.types import Matrix, Vector


class Dataset(NamedTuple):
    """A table of numbers in time order."""

    features: Matrix
    """Shape ``(T, d)``."""
    targets: Vector
    """Shape ``(T,)``."""
    names: tuple[str, ...]
    """Of the d columns."""
    target: str
    """Name of the target's column."""
    path: Path
    """The file: CSV with a header, gzipped."""


def electricity() -> Dataset:
    """Elec2: whether the price of electricity in New South Wales rises (1) or falls (0).

    Every half hour, 1996-1998; 45,312 rows.
    """
    return _read("electricity.csv.gz", "price_up")


def bikesharing() -> Dataset:
    """Bikes rented in Washington, DC, per hour, 2010-2019; 78,253 rows.

    Columns: clock, weather, counts of a day and a week ago.
    """
    return _read("bikesharing.csv.gz", "count")


def sulfur() -> Dataset:
    """Hydrogen sulfide in the tail gas of a sulfur recovery unit; 10,081 rows.

    Columns: the flows of five gases and of air.
    """
    return _read("sulfur.csv.gz", "h2s")


def _read(name: str, target: str) -> Dataset:
    path = Path(__file__).with_name(name)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        names = lines.readline().strip().split(",")
        table = np.loadtxt(lines, delimiter=",")
    place = names.index(target)
    features = np.ascontiguousarray(np.delete(table, place, axis=1))
    return Dataset(
        features, table[:, place].copy(), tuple(n for n in names if n != target), target, path
    )
