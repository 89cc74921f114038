"""What drives the target: the columns whose coefficients moved the prediction most, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from swordplay.core.types import Array, Vector
from swordplay.tracking.story import Driver

MOST = 8
"""That are told of."""


def drivers(
    coefficients: Array, names: Sequence[str], spreads: Vector, classes: Mapping[int, str]
) -> tuple[Driver, ...]:
    """The columns that counted most over the run, largest first.

    A coefficient of a scaled column is already its effect times its spread, so their mean sizes can
    be compared.

    Parameters
    ----------
    coefficients
        Shape ``(B, classes, columns)``, NaN where there was none.
    names
        Of the columns; two of the same name are sine and cosine of one wave, whose size counts.
    spreads
        Of the columns now.
    classes
        What to call the model at each place; ``""`` for a regression.
    """
    stretches, places, width = coefficients.shape
    found: list[tuple[float, Driver]] = []
    for place, about in classes.items():
        if place >= places or not stretches:
            continue
        for name, columns in _together(names[:width]).items():
            parts = coefficients[:, place, columns]
            path = parts[:, 0] if len(columns) == 1 else np.sqrt(np.square(parts).sum(axis=1))
            known = np.abs(path[np.isfinite(path)])
            spread = float(spreads[columns[0]])
            unit = float(path[-1]) / spread if len(columns) == 1 and spread > 0.0 else float("nan")
            if len(known) and known.max() > 0.0:
                found.append(
                    (
                        float(known.sum()) / stretches,
                        Driver(name, about, path, unit, len(columns) > 1),
                    )
                )
    found.sort(key=lambda one: -one[0])
    return tuple(driver for _, driver in found[:MOST])


def _together(names: Sequence[str]) -> dict[str, list[int]]:
    """Places of the columns by their names."""
    groups: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        groups.setdefault(name, []).append(k)
    return groups
