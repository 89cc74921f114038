"""The report of a run over many keys: all of them together, and which did best and worst."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from swordplay import __version__
from swordplay.report import findings, interval_charts
from swordplay.report import formatting as fmt
from swordplay.report.document import write
from swordplay.report.page import Answer, HtmlPage, ScoreBlock, Scores, Section, TableBlock, Text

if TYPE_CHECKING:
    from swordplay.tracking.keyed_story import KeyedStory, KeyLine
    from swordplay.tracking.story import RunStory

CAPTIONS = {
    "asked for": "What was asked for",
    "best": "Where it did best",
    "worst": "Where it did worst",
    "largest": "The keys with most rows",
}
RATIO = "× no change"
"""The head of the column of errors in units of those of no change."""


def write_keys(story: KeyedStory, path: str | os.PathLike[str], *, command: str = "") -> None:
    """Write the report of a run over many keys as one HTML file, all or nothing.

    Parameters
    ----------
    story
        What the run has to tell.
    path
        Of the file; one that is there is replaced.
    command
        How the run was made; left out unless given.
    """
    source, target = (
        fmt.clean_text(story.source, 60),
        fmt.clean_text(story.target, 60),
    )
    key = fmt.clean_text(" and ".join(story.key), 60)
    page = HtmlPage(
        title=f"{target} in {source}, each {key} by itself",
        facts=f"Every row was predicted by {story.learner} before its answer was seen",
        sections=keys_sections(story, command=command),
        footer=f"Made by swordplay {__version__}. This file is complete in itself and loads "
        "nothing.",
    )
    write(page, path)


def keys_sections(story: KeyedStory, *, command: str = "") -> tuple[Section, ...]:
    """The total, the keys, the columns, and how it was made."""
    return (
        Section("In short", _in_short(story)),
        *((Section("Which keys", _tables(story)),) if story.named else ()),
        *how_made(story, [("key", ", ".join(story.key))], command),
    )


def how_made(story: RunStory, more: Sequence[tuple[str, str]], command: str) -> tuple[Section, ...]:
    """The columns, and where it all comes from."""
    columns = tuple(
        (fmt.clean_text(column.name, 60), column.kind, column.note) for column in story.columns
    )
    facts = [("source", story.source), ("target", story.target), *more, ("task", story.task)]
    facts += [("swordplay", __version__), *([("command", command)] if command else [])]
    return (
        Section(
            "What was made of each column",
            (TableBlock("", ("column", "kind", "how it was used"), columns),),
        ),
        Section(
            "How this was made",
            (
                TableBlock(
                    "",
                    ("", ""),
                    tuple((name, fmt.clean_text(value, 300)) for name, value in facts),
                ),
            ),
        ),
    )


def scores_of(story: RunStory) -> tuple[ScoreBlock, ...]:
    """The errors of the learner and the baselines, as bars."""
    largest = max(story.errors.values()) or 1.0
    return tuple(
        ScoreBlock(name, figure(story, error), error / largest, ours=name == story.learner)
        for name, error in story.errors.items()
    )


def _in_short(story: KeyedStory) -> tuple[Answer | Text | Scores, ...]:
    if not story.rows:
        return (
            Text("No row was predicted and then learned, so there is nothing to tell.", lead=True),
        )
    plenty = f"{fmt.plural(story.keys, 'key')}, each with a model, baselines and lags of its own."
    counts = f"{fmt.plural(story.rows, 'row')} predicted and then learned; {plenty}"
    return (
        Answer("Is it good?", headline(story), lead=True),
        Scores(
            f"{story.measure[0].upper()}{story.measure[1:]} over the rows of all keys; less is "
            "better",
            scores_of(story),
        ),
        Text(counts),
        *(
            ()
            if story.intervals is None
            else (Text(interval_charts.in_words(story, story.intervals)),)
        ),
        *(Text(remark) for remark in story.remarks),
    )


def headline(story: KeyedStory) -> str:
    """The run in words: the total beside no change, and in how many keys it is ahead."""
    ours, theirs = (story.errors[name] for name in (story.learner, "no change"))
    last = "the last value" if story.measure == "RMSE" else "the last class"
    said = (
        f"was off by {figure(story, ours)} (RMSE)"
        if story.measure == "RMSE"
        else f"erred on {figure(story, ours)} of rows"
    )
    same = "by" if story.measure == "RMSE" else "on"
    said = (
        f"{story.learner} {said} over all keys, repeating {last} of the same key {same} "
        f"{figure(story, theirs)}."
    )
    return f"{findings.verdict(ours, theirs)} repeating {last}: {said} {_ahead(story)}"


def _ahead(story: KeyedStory) -> str:
    if not story.ahead:
        return (
            f"It is ahead of that in none of {fmt.plural(story.keys, 'key')}, not even where "
            "it did best."
        )
    return f"It is ahead of that in {story.ahead:,} of {fmt.plural(story.keys, 'key')}."


def _tables(story: KeyedStory) -> tuple[TableBlock, ...]:
    head = (" and ".join(story.key), "rows", *story.errors, RATIO)
    numbers = tuple(range(1, len(head)))
    return (
        *_spread(story),
        *(
            TableBlock(
                _caption(story, title), head, tuple(_line(story, line) for line in lines), numbers
            )
            for title, lines in story.named.items()
        ),
    )


def _spread(story: KeyedStory) -> tuple[TableBlock, ...]:
    """How errors are distributed over the keys."""
    if not story.spread:
        return ()
    head = ("so many of the keys", f"{story.measure} at most", f"{RATIO} at most")
    rows = tuple(
        (f"{one.share:.0%}", figure(story, one.error), fmt.number(one.ratio))
        for one in story.spread
    )
    return (
        TableBlock(
            "How the keys are spread, of those with ten predicted rows or more", head, rows, (1, 2)
        ),
    )


def _caption(story: KeyedStory, title: str) -> str:
    """What a table shows, by what it is sorted, and who in it loses against no change."""
    ranked = f"by {RATIO}" if story.measure == "RMSE" else "by the share of mistakes"
    losers = sum(line.ratio > 1.0 for line in story.named[title])
    lost = f"; {losers} of these lose against no change" if title == "best" and losers else ""
    return CAPTIONS[title] + ("" if title in ("largest", "asked for") else f", {ranked}{lost}")


def _line(story: KeyedStory, line: KeyLine) -> tuple[str, ...]:
    errors = (figure(story, line.errors[name]) for name in story.errors)
    return (
        fmt.clean_text(line.name, 60),
        f"{line.rows:,}",
        *errors,
        fmt.number(line.ratio),
    )


def figure(story: RunStory, error: float) -> str:
    """An error, for people."""
    return fmt.number(error) if story.measure == "RMSE" else fmt.percent(error)
