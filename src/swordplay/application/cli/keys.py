"""How a run over many keys ended, for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from swordplay.application.cli.outcome import MEANINGS
from swordplay.application.cli.words import LONGEST_NAME, counted, printable
from swordplay.application.tracking import Outcome
from swordplay.application.tracking.figures import keyed_figures, verdict_of
from swordplay.application.tracking.keyed import KeyedStory
from swordplay.application.tracking.verdict import figure

LONGEST_KEY = 28
"""Letters of a key in a table of 80 columns."""


def show(outcome: Outcome, story: KeyedStory, files: Mapping[str, str], out: Console) -> None:
    """Print the errors over all keys beside those of the baselines, and the keys that did best and worst."""
    out.print(Text(f"{printable(story.source)}: {printable(story.target, LONGEST_NAME)}, {story.task}", style="bold"))
    if story.rows:
        out.print()
        out.print(_total(story))
        out.print()
        if said := verdict_of(outcome, story):
            out.print(Text(said))
            out.print()
        if story.named:
            out.print(_keys(story))
            out.print()
    for line in _lines(outcome, story):
        out.print(Text(line))
    for what, path in files.items():
        out.print(Text(f"{what.capitalize():12}  {printable(path)}"), soft_wrap=True)


def _total(story: KeyedStory) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    grid.add_column("")
    grid.add_column(story.measure, justify="right", no_wrap=True)
    grid.add_column("")
    least = min(story.errors.values())
    for name, error in story.errors.items():
        meaning = f"{MEANINGS[name]}, of the same key" if MEANINGS.get(name) else "over all keys"
        style = "bold" if error == least else ""
        grid.add_row(Text(name, style=style), Text(figure(error, story.task), style=style), Text(meaning, style="dim"))
    return grid


def _keys(story: KeyedStory) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    grid.add_column("")
    grid.add_column(printable(", ".join(story.key), LONGEST_KEY), no_wrap=True)
    for name in ("rows", story.learner, "no change", "ratio"):
        grid.add_column(name, justify="right", no_wrap=True)
    for title, lines in story.named.items():
        for k, line in enumerate(lines):
            errors = (figure(line.errors[name], story.task) for name in (story.learner, "no change"))
            grid.add_row(
                Text("" if k else title, style="dim"),
                Text(printable(line.name, LONGEST_KEY)),
                f"{line.rows:,}",
                *errors,
                Text(f"{line.ratio:#.3g}", style="yellow" if line.ratio > 1.0 else ""),
            )
    return grid


def _lines(outcome: Outcome, story: KeyedStory) -> list[str]:
    rows, seconds = outcome.tracker.rows, max(outcome.seconds, 1e-9)
    key = printable(" and ".join(story.key), LONGEST_NAME)
    ahead = f"{story.ahead:,}" if story.ahead else "none"
    lines = [
        f"{counted(story.keys, 'key')} ({key}); {story.learner} is ahead of no change in {ahead}.",
        *(["ratio: its error divided by that of no change; above 1 it lost."] if story.named else []),
        f"{counted(rows, 'row')} in {seconds:.1f} s ({rows / seconds:,.0f} rows/s).",
    ]
    if outcome.resumed:
        lines.append(f"{counted(outcome.news, 'row')} of the input were new, after {outcome.resumed:,} of earlier runs.")
    if story.unlabelled:
        lines.append(f"{counted(story.unlabelled, 'row')} without a target: predicted, not learned.")
    if story.refused:
        lines.append(f"{counted(story.refused, 'row')} refused.")
    return [*lines, *story.remarks]


def as_json(outcome: Outcome, story: KeyedStory, files: Mapping[str, str]) -> str:
    """One object; all of it but ``seconds`` and ``rows_per_second`` is the same however often the run was interrupted."""
    return json.dumps(keyed_figures(outcome, story, files), indent=2, allow_nan=False)
