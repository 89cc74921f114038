"""A comparison in figures: what ``swordplay compare --json`` prints."""

from __future__ import annotations

import math
from typing import Any

from swordplay import __version__
from swordplay.comparison.compare import Comparison, Result


def figures(found: Comparison, source: str, target: str) -> dict[str, Any]:
    """Text, numbers, lists and dictionaries only.

    Parameters
    ----------
    found
        The comparison.
    source, target
        What the table and the column to predict are called.
    """
    return {
        "swordplay": __version__,
        "source": source,
        "target": target,
        "rows": found.rows,
        "measure": found.measure,
        "radius": found.radius,
        "benchmarks": [mark._asdict() for mark in found.benchmarks],
        "standings": [_result(one) for one in found.results],
        "absent": dict(found.absent),
    }


def _result(one: Result) -> dict[str, Any]:
    """One participant; None where it has no loss and no regret."""
    regrets = {name: known(regret) for name, regret in one.regrets.items()}
    return {k: v for k, v in one._asdict().items() if k != "course"} | {
        "loss": known(one.loss),
        "regrets": regrets,
    }


def known(value: float) -> float | None:
    """A number, or None where there is none."""
    return None if math.isnan(value) else value
