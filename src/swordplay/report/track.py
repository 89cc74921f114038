"""The report of one run over a table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from swordplay import __version__
from swordplay.report import track_charts, words
from swordplay.report.document import write
from swordplay.report.page import Page, Score, Scores, Section, Table, Text, Verbatim

if TYPE_CHECKING:
    from swordplay.tracking.story import Story

PHRASES = {
    "best step size": "the best step size chosen with hindsight",
    "no change": "repeating the last answer",
    "majority class": "always saying the commonest class",
    "running mean": "saying the mean so far",
}
"""Baselines in a sentence; others go by their names."""
LEVEL = 0.0005
"""Relative differences that a tenth of a percent does not show."""
TASKS = {"regression": "a number", "binary": "one of two classes", "multi-class": "one of several classes"}


def write_track(
    story: Story, path: str | os.PathLike[str], *, command: str = "", date: str = "", more: Sequence[Section] = ()
) -> None:
    """Write the report of a run as one HTML file, all or nothing.

    The same story gives the same bytes.

    Parameters
    ----------
    story
        What the run has to tell.
    path
        Of the file; one that is there is replaced.
    command, date
        How and when the run was made, in words; left out unless given.
    more
        Further sections, before those on columns and making.
    """
    *sections, columns, making = track_sections(story, command=command, date=date)
    source, target = words.shown(story.source, 60), words.shown(story.target, 60)
    page = Page(
        title=f"{story.learner} on {source}",
        facts=f"Predicting {target} in {source}, row by row, before each answer was seen",
        sections=(*sections, *more, columns, making),
        footer=f"Made by swordplay {__version__}. This file is complete in itself and loads nothing.",
    )
    write(page, path)


def track_sections(story: Story, *, command: str = "", date: str = "") -> tuple[Section, ...]:
    """All that a story gives: headline, errors, pace, optimism, bound, worst rows, columns, how it was made."""
    told = len(story.course.ends) > 0
    parts = [_headline(story)]
    if told:
        parts += [_errors(story), _pace(story), _trust(story), _bound(story), _worst(story)]
    return (*parts, _columns(story), _making(story, command, date))


def _headline(story: Story) -> Section:
    if not story.errors or not story.rows:
        return Section("In short", (Text("No row was learned, so there is nothing to tell.", lead=True),))
    return Section(
        "In short", (Text(headline(story), lead=True), _scoreboard(story), Text(_counts(story)), *map(Text, story.remarks))
    )


def headline(story: Story) -> str:
    """The run in a sentence or two: the learner beside the strongest baseline."""
    ours = story.errors[story.learner]
    others = {name: error for name, error in story.errors.items() if name != story.learner and np.isfinite(error)}
    rate = story.measure != "RMSE"
    said = (
        f"{story.learner} erred on {words.percent(ours)} of rows"
        if rate
        else f"{story.learner} was off by {words.number(ours)} (RMSE)"
    )
    if not others:
        return f"{said}."
    name = min(others, key=lambda key: others[key])
    theirs = others[name]
    phrase = PHRASES.get(name, words.shown(name, 60))
    return f"{said}; {phrase} {f'on {words.percent(theirs)}' if rate else f'by {words.number(theirs)}'}."


def _scoreboard(story: Story) -> Scores:
    ours = story.errors[story.learner]
    largest = max((error for error in story.errors.values() if np.isfinite(error)), default=1.0)
    lines = tuple(
        Score(
            name,
            words.number(error) if story.measure == "RMSE" else words.percent(error),
            error / largest if largest > 0 and np.isfinite(error) else 0.0,
            "" if name == story.learner else _against(ours, error, name, story),
            ours=name == story.learner,
        )
        for name, error in sorted(story.errors.items(), key=lambda item: (item[0] != story.learner, item[1]))
    )
    return Scores(f"{story.measure[0].upper()}{story.measure[1:]} over all rows; less is better", lines)


def _against(ours: float, theirs: float, name: str, story: Story) -> str:
    """How much less, or more, the learner erred."""
    note = f" (step size {words.step(story.best_step)})" if name == "best step size" and np.isfinite(story.best_step) else ""
    if not (theirs > 0.0 and np.isfinite(theirs)):
        return note.strip()
    change = ours / theirs - 1.0
    if abs(change) < LEVEL:
        return f"{story.learner} is level{note}"
    return f"{story.learner} is {words.percent(abs(change))} {'lower' if change < 0 else 'higher'}{note}"


def _counts(story: Story) -> str:
    text = f"{words.plural(story.rows, 'row')} predicted and then learned"
    if story.seconds > 0.0:
        text += f" in {words.number(story.seconds)} s ({words.number(story.rows / story.seconds)} rows a second)"
    text += f". The target is {TASKS[story.task]}."
    if story.unlabelled:
        text += f" {words.plural(story.unlabelled, 'row')} had no target: predicted, not learned."
    if story.refused:
        text += (
            f" {words.plural(story.refused, 'row')} could not be read and {'was' if story.refused == 1 else 'were'} skipped."
        )
    return text


def _errors(story: Story) -> Section:
    return Section("How well it did", (track_charts.errors_so_far(story), track_charts.errors_lately(story)))


def _pace(story: Story) -> Section:
    return Section("How fast the world moved", (Text(pace_in_words(story)), track_charts.pace(story)))


def pace_in_words(story: Story) -> str:
    """The effective step size of most rows, and where it was largest."""
    course = story.course
    widths = np.diff(course.ends, prepend=0.0)
    order = np.argsort(course.effective, kind="stable")
    shares = np.cumsum(widths[order]) / course.ends[-1]
    low, high = (words.near(float(course.effective[order[np.argmax(shares >= share)]])) for share in (0.25, 0.75))
    fastest = int(np.argmax(course.effective))
    return (
        f"Nobody told {story.learner} how fast to learn. For the middle half of all rows its effective step size lay "
        f"{f'near {low}' if low == high else f'between {low} and {high}'}; it was largest, "
        f"{words.number(float(course.effective[fastest]))}, around row {int(course.ends[fastest]):,}. "
        "A step size of 1 learns each row by heart; small ones average over many rows."
    )


def _trust(story: Story) -> Section:
    return Section("Which optimism was trusted", (track_charts.optimism(story),))


def _bound(story: Story) -> Section:
    paths, bounds = story.certificate
    if not len(paths) or not np.isfinite(bounds).all():
        return Section("What is certain", (Text("This run has no certificate."),))
    first, last = (words.number(float(paths[k])) for k in (0, -1))
    fixed = "any fixed model" if paths[0] == 0.0 else f"any model that travels {first}"
    text = (
        f"Whatever the data were: {story.learner} lost at most {words.number(float(bounds[0]))} more than {fixed}, and at most "
        f"{words.number(float(bounds[-1]))} more than any model that travels {last}."
    )
    return Section("What is certain", (Text(text), track_charts.certificate(story)))


def _worst(story: Story) -> Section:
    rows = tuple(
        (
            f"{moment.row:,}",
            words.shown(moment.prediction, 24),
            words.shown(moment.truth, 24),
            words.number(moment.loss),
            " · ".join(f"{words.shown(name, 24)}{words.TIE}{words.shown(value, 24)}" for name, value in moment.values.items()),
        )
        for moment in story.worst
    )
    unit = "squared error" if story.task == "regression" else "log loss"
    table = Table(
        "The rows that cost most, spread over the run",
        ("row", "predicted", "was", unit, "its columns"),
        rows,
        (0, 1, 2, 3),
        long=True,
    )
    return Section("Where it hurt", (track_charts.losses(story), *((table,) if rows else ())))


def _columns(story: Story) -> Section:
    rows = tuple((words.shown(column.name, 60), column.kind, column.note) for column in story.columns)
    return Section("What was made of each column", (Table("", ("column", "kind", "how it was used"), rows),))


def _making(story: Story, command: str, date: str) -> Section:
    facts = [("source", story.source), ("target", story.target), ("task", story.task), ("swordplay", __version__)]
    facts += [("command", command)] * bool(command) + [("made", date)] * bool(date)
    rows = tuple((name, words.shown(value, 300)) for name, value in facts)
    blocks = (Table("", ("", ""), rows), *((Verbatim("The model in its own words", story.summary),) if story.summary else ()))
    return Section("How this was made", blocks)
