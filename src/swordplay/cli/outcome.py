"""How a run ended, for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from swordplay.cli import keys
from swordplay.cli.words import LONGEST_NAME, counted, printable
from swordplay.report.formatting import number, power_of_two, step
from swordplay.tracking import Outcome, Story, figures
from swordplay.tracking.contestants import LEARNER
from swordplay.tracking.figures import AnyStory, verdict_of
from swordplay.tracking.keyed_story import KeyedStory
from swordplay.tracking.story import Intervals
from swordplay.tracking.tracker import Tracker
from swordplay.tracking.verdict import figure

MEANINGS = {
    LEARNER: "",
    "no change": "the last one again",
    "running mean": "the mean of all before",
    "majority class": "the most frequent one before",
}

LONG = 0.5
"""Seconds of compiling that are worth a line."""


def show(outcome: Outcome, story: AnyStory, files: Mapping[str, str], out: Console) -> None:
    """Print the errors beside those of the baselines, with keys the best and the worst of them,
    and where everything is.
    """
    out.print(
        Text(
            f"{printable(story.source)}: {printable(story.target, LONGEST_NAME)}, {story.task}",
            style="bold",
        )
    )
    many = story if isinstance(story, KeyedStory) else None
    if story.rows:
        out.print()
        out.print(_table(story))
        out.print()
        if said := verdict_of(outcome, story):
            out.print(Text(said))
            if many:
                out.print()
        if many and many.named:
            out.print(keys.table(many))
            out.print()
    for line in [*(keys.lines(many) if many else []), *_lines(outcome, story)]:
        out.print(Text(line))
    for what, path in files.items():
        out.print(Text(f"{what.capitalize():12}  {printable(path)}"), soft_wrap=True)


def _table(story: AnyStory) -> Table:
    """The error of the learner and of each baseline, and what that is."""
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    grid.add_column("")
    grid.add_column(story.measure, justify="right", no_wrap=True)
    absolute = story.more if isinstance(story, Story) and story.task == "regression" else None
    if absolute is not None:
        grid.add_column("MAE", justify="right", no_wrap=True)
    grid.add_column("")
    least = min(story.errors.values())
    for name, error in story.errors.items():
        style = "bold" if error == least else ""
        more = (
            []
            if absolute is None
            else [Text(figure(absolute[name], story.task) if name in absolute else "")]
        )
        shown = Text(name, style=style), Text(figure(error, story.task), style=style)
        grid.add_row(*shown, *more, Text(_meaning(story, name), style="dim"))
    return grid


def _meaning(story: AnyStory, name: str) -> str:
    if isinstance(story, KeyedStory):
        return f"{MEANINGS[name]}, of the same key" if MEANINGS.get(name) else "over all keys"
    return MEANINGS.get(name, f"one learning rate ({step(story.best_step)}), best in hindsight")


def _lines(outcome: Outcome, story: AnyStory) -> list[str]:
    tracker, seconds = outcome.tracker, max(outcome.seconds, 1e-9)
    lines = [
        f"{counted(tracker.rows, 'row')} in {seconds:.1f} s ({tracker.rows / seconds:,.0f} rows/s)."
    ]
    if outcome.compiling >= LONG:
        lines.append(
            f"Before that, {outcome.compiling:.1f} s of compiling: once, the next run finds it on "
            "disk."
        )
    if outcome.resumed:
        lines.append(
            f"{counted(outcome.news, 'row')} of the input were new, after {outcome.resumed:,} of "
            "earlier runs."
        )
    if story.unlabelled:
        lines.append(
            f"{counted(story.unlabelled, 'row')} without a target: predicted, not learned."
        )
    if story.refused:
        lines.append(f"{counted(story.refused, 'row')} refused.")
    if story.intervals is not None:
        lines.append(_interval_words(story.intervals))
    if not isinstance(story, Story):
        return [*lines, *story.remarks]
    if isinstance(tracker, Tracker) and story.rows:
        lines.append(
            f"At the end {tracker.looks_back} (effective step size "
            f"{power_of_two(tracker.effective_step_size)})."
        )
    return [*lines, *(remark.text for remark in tracker.remarks())]


def _interval_words(found: Intervals) -> str:
    """Coverage beside its level, and the mean width."""
    wide = "" if found.mean_width is None else f", {number(found.mean_width)} wide on average"
    return (
        f"Intervals held {100.0 * found.coverage:.1f} % of the truths, {100.0 * found.level:g} "
        f"% asked for{wide}."
    )


def as_json(outcome: Outcome, story: AnyStory, files: Mapping[str, str]) -> str:
    """One object.

    All of it but ``seconds`` and ``rows_per_second`` is the same however often the run was
    interrupted.
    """
    return json.dumps(figures(outcome, story, files), indent=2, allow_nan=False)
