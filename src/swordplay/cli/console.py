"""Standard output for results, standard error for progress."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from swordplay.theory.reproduce import Progress as Report

BETWEEN_LINES = 10.0
"""Seconds between two plain lines where standard error is no terminal."""


def results() -> Console:
    """Where results are printed.

    Rich leaves out colour where there is no terminal or NO_COLOR is set.
    """
    return Console(highlight=False)


@contextmanager
def progress(quiet: bool, about: str = "") -> Iterator[Report | None]:
    """A bar on standard error for as long as it takes, and no trace of it afterwards.

    Elsewhere a plain line now and then.

    Parameters
    ----------
    quiet
        Whether to show nothing; then None is yielded.
    about
        What takes its time, a line said at first where standard error is no terminal.
    """
    console = Console(stderr=True)
    if quiet:
        yield None
        return
    if not console.is_terminal:
        if about:
            console.print(about, markup=False, highlight=False, soft_wrap=True)
        yield _now_and_then(console)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda done, planned, label: bar.update(
            task, completed=done, total=planned, description=label
        )


def _now_and_then(console: Console) -> Report:
    """A line every so often."""
    next_line = time.monotonic() + BETWEEN_LINES

    def show(done: int, planned: int, label: str) -> None:
        nonlocal next_line
        if time.monotonic() >= next_line:
            next_line = time.monotonic() + BETWEEN_LINES
            console.print(
                f"{done} of {planned}: {label}", markup=False, highlight=False, soft_wrap=True
            )

    return show
