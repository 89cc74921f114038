"""Numbers and lists as people write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def figure(error: float, task: str) -> str:
    """An error with as many digits as anybody needs: an RMSE in the target's units, or per cent of mistakes.

    >>> figure(0.08203, "binary"), figure(89.5041, "regression"), figure(123456.7, "regression")
    ('8.20 %', '89.50', '123457')
    """
    if task != "regression":
        return f"{100 * error:.2f} %"
    return f"{error:.0f}" if error >= 10_000 else f"{error:#.4g}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number of things.

    >>> counted(1, "row"), counted(45312, "row"), counted(2, "category", "categories")
    ('1 row', '45,312 rows', '2 categories')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names in a row, the first few of many.

    >>> listed(["a", "b", "c"]), listed(list("abcdefgh"), most=3)
    ('a, b, c', 'a, b, c and 5 more')
    """
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def in_bytes(size: int) -> str:
    """A size in the unit that suits it.

    >>> in_bytes(512), in_bytes(20480), in_bytes(3_000_000)
    ('512 bytes', '20 kB', '3.0 MB')
    """
    if size < 1000:
        return counted(size, "byte")
    return f"{size / 1e3:.0f} kB" if size < 1_000_000 else f"{size / 1e6:.1f} MB"


def columns(plans: Sequence[Any]) -> list[str]:
    """What is made of the columns, in a line or two."""
    kinds = {"number": "numbers", "truth": "truths", "category": "categories", "date": "dates"}
    named = {kind: [plan.name for plan in plans if plan.kind.removesuffix(" and time") == kind] for kind in kinds}
    used = [f"{kinds[kind]} {listed(names)}" for kind, names in named.items() if names]
    without = [f"{plan.name} ({plan.why})" for plan in plans if plan.kind == "left out"]
    lines = [f"Columns: {'; '.join(used) or 'none of use'}."]
    return [*lines, f"Left out: {listed(without)}."] if without else lines
