"""Numbers and lists as people write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

LONGEST_NAME, MOST_NAMES = 40, 6
"""Letters of a name that are shown, and names in a row."""
WIDTH, WIDEST_NAME, MOST_COLUMNS = 80, 24, 20
"""Of a terminal, of a name in a list of columns, and columns in it."""
KINDS = {"category": "words, one column each", "truth": "true or false", "time": "time of the day"}
"""What a use of a column is called, where its own name says too little."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number of things.

    >>> counted(1, "row"), counted(45312, "row"), counted(2, "category", "categories")
    ('1 row', '45,312 rows', '2 categories')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def printable(text: str, most: int | None = None) -> str:
    r"""Text that does nothing to a terminal: control characters and marks of direction are written
    out, and it may be cut.

    >>> printable("a\x1b[31m\n"), printable("abcdef", most=4)
    ('a\\x1b[31m\\n', 'abc…')
    """
    safe = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    return safe if most is None or len(safe) <= most else f"{safe[: most - 1]}…"


def echo(text: str, *, err: bool = False) -> None:
    """Print lines for people.

    The one way for text with names and paths of the user's, which may hold anything.
    """
    click.echo("\n".join(map(printable, text.split("\n"))), err=err)


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Names in a row, the first few of many.

    >>> listed(["a", "b", "c"]), listed(list("abcdefgh"), most=3)
    ('a, b, c', 'a, b, c and 5 more')
    """
    shown = [printable(name, LONGEST_NAME) for name in names[:most]]
    return ", ".join(shown) + (f" and {len(names) - most} more" if len(names) > most else "")


def in_bytes(size: int) -> str:
    """A size in the unit that suits it.

    >>> in_bytes(512), in_bytes(20480), in_bytes(3_000_000)
    ('512 bytes', '20 kB', '3.0 MB')
    """
    if size < 1000:
        return counted(size, "byte")
    return f"{size / 1e3:.0f} kB" if size < 1_000_000 else f"{size / 1e6:.1f} MB"


def columns(plans: Sequence[Any]) -> list[str]:
    """What is made of each column, a line each.

    Of many, those first about which there is something to say.
    """
    if not plans:
        return ["No column is of use: only the target itself is known."]
    notes = {plan.name: f"{KINDS.get(plan.kind, plan.kind)}{_more(plan)}" for plan in plans}
    telling = sorted(plans, key=lambda plan: not (plan.how or plan.why))[:MOST_COLUMNS]
    chosen = [plan for plan in plans if plan in telling]
    names = [printable(plan.name, WIDEST_NAME) for plan in chosen]
    wide = max(map(len, names))
    lines = [
        f"  {name:<{wide}}  {printable(notes[plan.name])}"
        for name, plan in zip(names, chosen, strict=True)
    ]
    rest = len(plans) - len(chosen)
    more = [f"  ... and {rest} more"] if rest else []
    return [*(printable(line, WIDTH) for line in lines), *more]


def _more(plan: Any) -> str:
    """Why a column is left out, or how it is written."""
    from swordplay.tables.column_plans import (
        MOST_CATEGORIES,
    )  # brings pyarrow, which --help does without

    many = f"; the {MOST_CATEGORIES + 1}st and later share one" if plan.many else ""
    return many + (f": {plan.why}" if plan.why else f", {plan.how}" if plan.how else "")
