"""Bad input and its results: one table for the estimators of scikit-learn and river.

A case takes a good row (names to numbers) and its target and spoils them. REFUSED means an error
and a state that is the same bit by bit; ACCEPTED means no error, and predictions afterwards that
are as good as if the row had been a good one. Where the conventions of the two libraries differ,
the case says so.
"""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

REFUSED, ACCEPTED = "refused", "accepted"
NAMES = ("a", "b", "c", "d")
"""Of the columns of a good row; d is an indicator."""
BEFORE, AFTER = 1000, 3000
"""Good rows before and after the bad one."""
GRACE = 100
"""Rows that one bad row may degrade, at the most."""


class Case(NamedTuple):
    name: str
    task: Literal["both", "regression", "classification"]
    spoil: Callable[[dict[str, Any], Any], tuple[dict[Any, Any], Any]]
    sklearn: str
    river: str


def feature(
    name: str, value: Any, sklearn: str, river: str | None = None, column: str = "a"
) -> Case:
    return Case(
        name, "both", lambda row, target: (row | {column: value}, target), sklearn, river or sklearn
    )


def target(name: str, value: Any, sklearn: str, river: str | None = None) -> Case:
    return Case(name, "regression", lambda row, _: (row, value), sklearn, river or sklearn)


def label(name: str, value: Any, sklearn: str, river: str | None = None) -> Case:
    return Case(name, "classification", lambda row, _: (row, value), sklearn, river or sklearn)


def row(
    name: str,
    change: Callable[[dict[str, Any]], dict[Any, Any]],
    sklearn: str,
    river: str | None = None,
) -> Case:
    return Case(
        name, "both", lambda good, target: (change(good), target), sklearn, river or sklearn
    )


class Lying(float):
    """Whatever it is, it says that it is small and equal to everything."""

    def __le__(self, other: object) -> bool:
        return True

    __ge__ = __lt__ = __gt__ = __eq__ = __le__  # type: ignore[assignment]  # lies, on purpose

    def __hash__(self) -> int:
        return 0

    def __abs__(self) -> float:
        return 0.0


CASES = [
    feature("NaN", float("nan"), REFUSED),
    feature("infinity", float("inf"), REFUSED),
    feature("minus infinity", float("-inf"), REFUSED),
    feature("NaN of numpy, single precision", np.float32("nan"), REFUSED),
    feature("1e308", 1e308, REFUSED),
    feature("-1e308", -1e308, REFUSED),
    feature("1e101", 1e101, REFUSED),
    feature("1e20", 1e20, ACCEPTED),
    feature("-1e20", -1e20, ACCEPTED),
    feature("1e6", 1e6, ACCEPTED),
    feature("-1e6", -1e6, ACCEPTED),
    feature("1e6 in an indicator", 1e6, ACCEPTED, column="d"),
    feature("1e20 in an indicator", 1e20, ACCEPTED, column="d"),
    feature("a column shifted by 1e9", 1e9, ACCEPTED),
    feature("a denormal", 5e-324, ACCEPTED),
    feature("minus zero", -0.0, ACCEPTED),
    feature("a truth", True, ACCEPTED),
    feature("a whole number", 3, ACCEPTED),
    feature("a whole number of 30 digits", 10**30, ACCEPTED),
    feature("a whole number of 400 digits", 10**400, REFUSED),
    feature("a number of numpy", np.float64(0.5), ACCEPTED),
    feature("half precision", np.float16(0.5), ACCEPTED),
    feature("a word", "much", REFUSED),
    feature("a number in quotes", "1.5", REFUSED),
    feature("an empty string", "", REFUSED),
    feature("bytes", b"1.5", REFUSED),
    feature("None", None, REFUSED),
    feature("a complex number", 1.0 + 2.0j, REFUSED),
    feature("a list", [1.0, 2.0], REFUSED),
    feature("an empty list", [], REFUSED),
    feature("a dictionary", {"a": 1.0}, REFUSED),
    feature("a date", date(2024, 1, 1), REFUSED),
    feature("a function", len, REFUSED),
    feature("a float that lies about its size", Lying("nan"), REFUSED),
    feature("a float that lies, infinite", Lying("inf"), REFUSED),
    feature("a float that lies, harmless", Lying(0.5), ACCEPTED),
    feature("a whole number beyond 2^53", np.uint64(2**63 + 1), ACCEPTED),
    feature("a missing value of pandas", pd.NA, REFUSED),
    feature("a date that is none", pd.NaT, REFUSED),
    feature("a masked number", np.ma.masked, REFUSED),
    feature("a decimal NaN", Decimal("nan"), REFUSED),
    row("all NaN", lambda good: dict.fromkeys(good, float("nan")), REFUSED),
    row("all zeros", lambda good: dict.fromkeys(good, 0.0), ACCEPTED),
    row("all the same", lambda good: dict.fromkeys(good, 7.0), ACCEPTED),
    row(
        "all times 1e6", lambda good: {name: 1e6 * value for name, value in good.items()}, ACCEPTED
    ),
    row(
        "all times 1e-6",
        lambda good: {name: 1e-6 * value for name, value in good.items()},
        ACCEPTED,
    ),
    row("all 1e20", lambda good: dict.fromkeys(good, 1e20), ACCEPTED),
    row("all 1e308", lambda good: dict.fromkeys(good, 1e308), REFUSED),
    row("all None", lambda good: dict.fromkeys(good), REFUSED),
    # river's rows come and go by name; scikit-learn's tables have the columns that they were fitted
    # with.
    row(
        "a feature is missing",
        lambda good: {name: good[name] for name in NAMES[1:]},
        REFUSED,
        ACCEPTED,
    ),
    row("a feature too many", lambda good: good | {"e": 1.0}, REFUSED, ACCEPTED),
    row("a feature too many, huge", lambda good: good | {"e": 1e308}, REFUSED),
    row(
        "a feature renamed",
        lambda good: {"z" if name == "a" else name: v for name, v in good.items()},
        REFUSED,
        ACCEPTED,
    ),
    row("no features", lambda good: {}, REFUSED, ACCEPTED),
    row("in another order", lambda good: dict(reversed(good.items())), REFUSED, ACCEPTED),
    target("target NaN", float("nan"), REFUSED),
    target("target infinite", float("inf"), REFUSED),
    target("target minus infinite", float("-inf"), REFUSED),
    target("target 1e308", 1e308, REFUSED),
    target("target 1e101", 1e101, REFUSED),
    target("target 1e20", 1e20, ACCEPTED),
    target("target -1e20", -1e20, ACCEPTED),
    target("target 1e6", 1e6, ACCEPTED),
    target("target -1e6", -1e6, ACCEPTED),
    target("target a denormal", 5e-324, ACCEPTED),
    target("target a whole number", 3, ACCEPTED),
    target("target a truth", True, ACCEPTED),
    target("target a word", "much", REFUSED),
    target("target in quotes", "1.5", REFUSED),
    target("target a float that lies", Lying("nan"), REFUSED),
    target("target a missing value of pandas", pd.NA, REFUSED),
    target("target masked", np.ma.masked, REFUSED),
    target("target None", None, REFUSED),
    target("target complex", 1.0 + 2.0j, REFUSED),
    target("target a list", [1.0, 2.0], REFUSED),
    target("target a dictionary", {"y": 1.0}, REFUSED),
    target("target a decimal NaN", Decimal("nan"), REFUSED),
    # A label that was never declared: scikit-learn's partial_fit refuses it, river lets new classes
    # in.
    label("label outside the set", 7, REFUSED, ACCEPTED),
    label("label negative", -1, REFUSED, ACCEPTED),
    label("label a word among numbers", "maybe", REFUSED, ACCEPTED),
    label("label NaN", float("nan"), REFUSED),
    label("label infinite", float("inf"), REFUSED),
    label("label a float that lies", Lying("nan"), REFUSED),
    label("label a missing value of pandas", pd.NA, REFUSED),
    label("label None", None, REFUSED),
    label("label a fraction", 0.5, REFUSED, ACCEPTED),
    label("label complex", 1.0 + 2.0j, REFUSED),
    label("label a list", [0, 1], REFUSED),
    label("label 1.0 for 1", 1.0, ACCEPTED),
    label("label a truth", True, ACCEPTED),
]


def cases(task: str) -> list[Case]:
    """Those of a task."""
    return [case for case in CASES if case.task in ("both", task)]


def world(rows: int, task: str, seed: int = 0) -> tuple[list[dict[str, float]], Any]:
    """Good rows and their targets; labels are 0 and 1."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(rows, len(NAMES)))
    table[:, 3] = rng.random(rows) < 0.1
    targets = table @ [2.0, -1.0, 0.5, 3.0] + 1.0 + 0.3 * rng.normal(size=rows)
    if task == "classification":
        targets = (targets > 1.3).astype(int)
    return [dict(zip(NAMES, values.tolist(), strict=True)) for values in table], targets


def degraded_windows(losses: Any, undisturbed: Any, window: int = 25) -> Any:
    """Rows at which windows begin whose mean loss is half as large again as without the bad row."""
    mean = np.ones(window) / window
    ours, theirs = np.convolve(losses, mean, "valid"), np.convolve(undisturbed, mean, "valid")
    return np.flatnonzero(ours > 1.5 * np.maximum(theirs, theirs.mean() / 2))


def degraded(losses: Any, undisturbed: Any) -> int:
    """Rows until the last such window has begun."""
    late = degraded_windows(losses, undisturbed)
    return int(late[-1]) + 1 if len(late) else 0
