"""Options that are checked before anything long begins."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import click

from swordplay import arguments
from swordplay.report import SUFFIXES
from swordplay.reproduce import FEWEST_ROUNDS

MOST_ROUNDS = 10_000_000
"""Beyond this a run takes days: more likely a slip of the keyboard than a wish."""


def rounds(context: click.Context, option: click.Parameter, value: str) -> int:
    """A number of rounds: 1000, or 1e3 as people write it."""
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
    path = Path(value)
    if path.suffix.lower() not in SUFFIXES:
        raise click.BadParameter(f"must end in {' or '.join(SUFFIXES)}, got {value!r}.")
    if importlib.util.find_spec("matplotlib") is None:
        raise click.BadParameter("needs matplotlib. Install it with: pip install 'swordplay[cli]'")
    existed = path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise click.BadParameter(f"cannot write {value!r}: {error.strerror}.") from error
    if not existed:
        path.unlink()
    return path
