"""Standard output for results, standard error for progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from swordplay.reproduce import Progress as Report


def results() -> Console:
    """Where results are printed; rich leaves out colour where there is no terminal or NO_COLOR is set."""
    return Console(highlight=False)


@contextmanager
def progress(quiet: bool) -> Iterator[Report | None]:
    """A bar on standard error for as long as it takes, and no trace of it afterwards.

    Yields None where nobody would see a bar: if quiet, or where standard error is no terminal.
    """
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda done, planned, label: bar.update(task, completed=done, total=planned, description=label)
