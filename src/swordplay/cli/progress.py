"""How far a run is: a live line on a terminal, a plain line now and then elsewhere.

Always on standard error.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from swordplay.cli.words import LONGEST_NAME, columns, counted, printable
from swordplay.tables import Refusal
from swordplay.tracking import Progress as Report
from swordplay.tracking.saving import RunClock
from swordplay.tracking.trackers import AnyTracker
from swordplay.tracking.verdict import figure

FIRST_LINE, BETWEEN_LINES = 2.0, 10.0
"""Seconds before the first plain line, and between two of them."""
NARROW = 100
"""Terminals with fewer columns than this get a shorter bar."""


@final
class Watch:
    """Is called again and again: says at first what was recognised, then what is noticed, and how
    far it is.

    Parameters
    ----------
    say
        Prints a line.
    show
        Shows how far it is, told in words.
    """

    def __init__(self, say: Callable[[str], None], show: Callable[[Any, str], None]) -> None:
        self.say, self.show = say, show
        self.comparing = False
        """Whether the rows that an earlier run has read were compared."""
        self.begun, self.lasting = False, RunClock()
        """Whether anything was learned, and how long it takes."""
        self.remarks = self.refusals = 0
        """How many of them were said,"""
        self.silent = False
        """and whether it was said that refused rows are only counted now."""
        self.tracker: AnyTracker | None = None
        self.order: set[str] = set()
        """Kinds of remarks on the order of the rows that were made."""

    def compared(self, share: float) -> None:
        """Show how much of the rows that an earlier run has read is compared."""
        self.comparing = True
        self.show(Part(0, share), "comparing the rows that were read before")

    def start(self, remark: str) -> None:
        """Say something before the first row, if there is anything to say."""
        if remark:
            self.say(remark)

    def __call__(self, report: Report) -> None:
        """Say what there is to say."""
        if not self.begun:
            self.begun = True
            for line in _recognised(report):
                self.say(line)
            if report.resumed:
                self.refusals = len(report.refusals)
        else:
            for line in report.remarks[self.remarks :]:
                self.say(line)
            if report.tracker is not self.tracker:
                for line in columns(report.tracker.encoder.plans):
                    self.say(line)
        for refusal in report.refusals[self.refusals :]:
            self.say(f"Left out {_row(refusal)}")
        if not self.silent and len(report.refusals) < report.refused:
            self.silent = True
            self.say("More rows are left out; from now on they are only listed and counted.")
        self.tracker, self.remarks, self.refusals = (
            report.tracker,
            len(report.remarks),
            len(report.refusals),
        )
        for remark in report.tracker.remarks():
            if remark.kind not in self.order:
                self.say(remark.text)
                self.order.add(remark.kind)
        pace = (report.rows - report.resumed) / max(self.lasting.seconds(0.0), 1e-9)
        self.show(report, _told(report, pace))


@contextmanager
def shown(name: str, quiet: bool, plain: bool = False) -> Iterator[Watch]:
    """Something to call after every few rows.

    Parameters
    ----------
    name
        Of the input.
    quiet
        Whether to show nothing.
    plain
        Whether to print lines even on a terminal, which may show something else.
    """
    console = Console(stderr=True, highlight=False)
    if quiet:
        yield Watch(lambda line: None, lambda report, told: None)
    elif plain or not console.is_terminal:
        say = _plainly(console)
        watch = Watch(say, _now_and_then(say))
        timer = threading.Timer(
            FIRST_LINE,
            lambda: (
                watch.begun or watch.comparing or say(f"{name}: waiting for the first rows ...")
            ),
        )
        timer.daemon = True
        timer.start()
        try:
            yield watch
        finally:
            timer.cancel()
    else:
        with _bar(name, console) as show:
            yield Watch(_plainly(console), show)


class Part(NamedTuple):
    """How much of a table is done."""

    rows: int
    share: float | None
    """From 0 to 1, where that is known."""


@contextmanager
def counted_rows(name: str, quiet: bool) -> Iterator[Callable[[int, float | None], None]]:
    """Something to call with rows that are done, and what share of all of them that is, where
    nothing is learned.

    Parameters
    ----------
    name, quiet
        As for :func:`shown`.
    """
    console, since = Console(stderr=True, highlight=False), time.monotonic()

    def telling(show: Callable[[Any, str], None]) -> Callable[[int, float | None], None]:
        def told(rows: int, share: float | None) -> None:
            pace = rows / max(time.monotonic() - since, 1e-9)
            show(Part(rows, share), f"{counted(rows, 'row')} predicted, {pace:,.0f}/s")

        return told

    if quiet or not console.is_terminal:
        yield telling(_now_and_then((lambda line: None) if quiet else _plainly(console)))
    else:
        with _bar(name, console) as show:
            yield telling(show)


def _plainly(console: Console) -> Callable[[str], None]:
    return lambda line: console.print(Text(printable(line)), soft_wrap=not console.is_terminal)


def _now_and_then(say: Callable[[str], None]) -> Callable[[Any, str], None]:
    """A line every so often, the first one soon."""
    next_line = time.monotonic() + FIRST_LINE

    def show(report: Any, told: str) -> None:
        nonlocal next_line
        if time.monotonic() >= next_line:
            next_line = time.monotonic() + BETWEEN_LINES
            say(f"{'' if report.share is None else f'{100 * report.share:.0f} %, '}{told}")

    return show


@contextmanager
def _bar(name: str, console: Console) -> Iterator[Callable[[Any, str], None]]:
    """A bar that leaves no trace; without an end where nobody knows it."""
    name = printable(name)
    short = name if len(name) <= 16 else f"{name[:7]}…{name[-8:]}"
    bar = BarColumn(bar_width=10 if console.width < NARROW else 30)
    parts = (
        TextColumn("{task.description}", markup=False),
        bar,
        TextColumn("{task.fields[told]}", markup=False),
    )
    with Progress(*parts, console=console, transient=True) as live:
        task = live.add_task(short, total=None, told="reading ...")
        yield lambda report, told: live.update(
            task,
            completed=report.share or 0.0,
            total=None if report.share is None else 1.0,
            told=told,
        )


def _recognised(report: Report) -> list[str]:
    tracker = report.tracker
    if report.resumed:
        return [f"Going on after row {report.resumed:,}."]
    task = (
        f"{printable(tracker.settings.target, LONGEST_NAME)}: {tracker.recognised.task}, as "
        f"{tracker.recognised.why}."
    )
    return [*report.remarks, task, *columns(tracker.encoder.plans)]


def _row(refusal: Refusal) -> str:
    """A row that was left out: which one, and why."""
    line = "" if refusal.line is None else f" (line {refusal.line:,})"
    column = "" if refusal.column is None else f", column {refusal.column!r}"
    return f"row {refusal.row:,}{line}{column}: '{refusal.value}' {refusal.reason}."


def _told(report: Report, pace: float) -> str:
    # Imported with the first line of progress: importing it takes some milliseconds.
    from swordplay.report.formatting import power_of_two

    tracker = report.tracker
    parts = [counted(report.rows, "row"), f"{pace:,.0f}/s"]
    if tracker.predictions.scored:
        measure = "RMSE" if tracker.task == "regression" else "error"
        parts.append(f"{measure} {figure(tracker.predictions.error, tracker.task)}")
        if not tracker.settings.key:
            parts.append(f"step {power_of_two(tracker.effective_step_size)}")
    return ", ".join(parts)
