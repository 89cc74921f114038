"""Theory as a slope: how regret grows with the horizon on the paper's two instances."""

from __future__ import annotations

import numpy as np
import pytest

from swordplay.theory.reproduce import Row

CONSTANT, ROOT = 0.15, 0.35
"""Exponents in T: regret that hardly grows stays below the first.

Regret of order sqrt(T) exceeds the second.
"""

BARELY_GROW = [
    (instance, learner, tuning)
    for instance, specialist in (("gradual", "SwordVar"), ("alternating", "SwordSmall"))
    for learner in (specialist, "SwordBest")
    for tuning in ("paper", "self-confident")
] + [(instance, "Sword", "none") for instance in ("gradual", "alternating")]


def exponent(rows: list[Row], instance: str, learner: str, tuning: str) -> float:
    """The slope of log regret over log T, by least squares."""
    mine = [
        row
        for row in rows
        if (row.instance, row.learner, row.tuning) == (instance, learner, tuning)
    ]
    assert len(mine) >= 3
    return float(
        np.polyfit(
            np.log([row.rounds for row in mine]), np.log([row.regret for row in mine]), deg=1
        )[0]
    )


@pytest.mark.parametrize("who", BARELY_GROW, ids=" ".join)
def test_regret_barely_grows(who: tuple[str, str, str], quick_rows: list[Row]) -> None:
    assert exponent(quick_rows, *who) < CONSTANT


@pytest.mark.parametrize("instance", ["gradual", "alternating"])
def test_ader_grows_like_the_root(instance: str, quick_rows: list[Row]) -> None:
    assert exponent(quick_rows, instance, "Ader", "baseline") > ROOT


@pytest.mark.deep
@pytest.mark.parametrize("who", BARELY_GROW, ids=" ".join)
def test_regret_barely_grows_to_the_longest_horizon(
    who: tuple[str, str, str], deep_rows: list[Row]
) -> None:
    assert exponent(deep_rows, *who) < CONSTANT


@pytest.mark.deep
@pytest.mark.parametrize("instance", ["gradual", "alternating"])
def test_ader_grows_like_the_root_to_the_longest_horizon(
    instance: str, deep_rows: list[Row]
) -> None:
    assert exponent(deep_rows, instance, "Ader", "baseline") > ROOT
