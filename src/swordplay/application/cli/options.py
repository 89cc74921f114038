"""Options that are checked before anything long begins."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path
from typing import Any

import click

from swordplay.base import extras

MOST_ROUNDS = 10_000_000
"""Beyond this a run takes days: more likely a slip of the keyboard than a wish."""
NOT_ASKED = "it was not asked for (--no-hindsight)"
"""Why a report does not look back."""


REVERSE = click.option("--reverse", is_flag=True, help="Take the last row first, where the newest rows stand at the top.")
SORT = click.option("--sort", metavar="COLUMN", help="Sort the rows by this column, such as their date.")


def order(reverse: bool, sort: str | None) -> Any:
    """Another order of the rows than that of the file."""
    from swordplay.application.tracking.ordered import Order

    if reverse and sort is not None:
        raise click.UsageError("--reverse and --sort do not go together: --sort puts the oldest row first anyway.")
    return Order(reverse, sort)


def rounds(context: click.Context, option: click.Parameter, value: str) -> int:
    """A number of rounds: 1000, or 1e3 as people write it."""
    from swordplay.base import arguments
    from swordplay.theory.reproduce import FEWEST_ROUNDS

    try:
        number = arguments.whole(str(option.name), float(value), least=FEWEST_ROUNDS)
    except (TypeError, ValueError):
        number = MOST_ROUNDS + 1
    if number > MOST_ROUNDS:
        raise click.BadParameter(f"must be a whole number from {FEWEST_ROUNDS} to {MOST_ROUNDS}, such as 1000, got {value!r}.")
    return number


def figure_path(context: click.Context, option: click.Parameter, value: str | None) -> Path | None:
    """Somewhere a figure can be written, which is tried at once: a long run must not end in a typing error."""
    if value is None:
        return None
    from swordplay.application.report import SUFFIXES

    path = Path(value)
    if path.suffix.lower() not in SUFFIXES:
        raise click.BadParameter(f"must end in {' or '.join(SUFFIXES)}, got {value!r}.")
    if importlib.util.find_spec("matplotlib") is None:
        raise click.BadParameter(f"needs matplotlib. Install it with: {extras.installation('cli')}")
    try_to_write(path)
    return path


def report_path(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Somewhere a page can be written."""
    if value is not None:
        if Path(value).suffix.lower() not in (".html", ".htm"):
            raise click.BadParameter(f"must end in .html, got {value!r}.")
        if importlib.util.find_spec("vl_convert") is None:
            raise click.BadParameter(f"needs vl-convert-python. Install it with: {extras.installation('cli')}")
        try_to_write(Path(value))
    return value


def try_to_write(path: Path) -> None:
    """Refuse a path that cannot be written; what is there stays as it is."""
    existed = path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise click.BadParameter(f"cannot write {str(path)!r}: {error.strerror}.") from error
    if not existed:
        path.unlink()


def ids(context: click.Context, option: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Names of columns between commas; the word none for no column at all."""
    return () if value == "none" else names(context, option, value)


def types(context: click.Context, option: click.Parameter, value: str | None) -> dict[str, str] | None:
    """What columns are: names and kinds between commas, such as price=number,day=date."""
    if value is None:
        return None
    from swordplay.data.tables.errors import nearest
    from swordplay.data.tables.readings import KINDS

    found: dict[str, str] = {}
    for part in names(context, option, value) or ():
        name, equals, kind = part.rpartition("=")
        if not equals or not name.strip():
            raise click.BadParameter(f"must be columns and kinds such as price=number,day=date, got {part!r}.")
        if kind.strip() not in KINDS:
            raise click.BadParameter(
                f"{part!r}: there is no kind {kind.strip()!r}.{nearest(kind, KINDS)} There are: {', '.join(KINDS)}."
            )
        found[name.strip()] = kind.strip()
    return found


def missing(context: click.Context, option: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Texts between commas."""
    return names(context, option, value) or ()


def header(context: click.Context, option: click.Parameter, value: str | None) -> bool | None:
    """Yes or no."""
    return None if value is None else value == "yes"


def names(context: click.Context, option: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Names of columns between commas; those that hold a comma stand in quotes."""
    if value is None:
        return None
    found = tuple(name.strip() for name in next(csv.reader([value], skipinitialspace=True), []))
    if not all(found) or not found:
        raise click.BadParameter(f"must be names of columns between commas, such as a,b, got {value!r}.")
    return found
