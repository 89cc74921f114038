"""The report of one run over a table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from swordplay import __version__
from swordplay.report import (
    findings,
    interval_charts,
    result_charts,
    time_axis,
    track_charts,
)
from swordplay.report import formatting as fmt
from swordplay.report.document import write
from swordplay.report.page import (
    Answer,
    HtmlPage,
    ScoreBlock,
    Scores,
    Section,
    TableBlock,
    Text,
    Verbatim,
)
from swordplay.tracking.changes import changes

if TYPE_CHECKING:
    from swordplay.tracking.changes import DetectedChange
    from swordplay.tracking.story import Story

LEVEL = 0.0005
"""Relative differences that a tenth of a percent does not show."""
START_UP = 0.02
"""Share of the run in which the learner finds its pace: what its step size does there says
nothing about the world.
"""
MOST_CHANGES = 4
"""On the first screen."""
MIDNIGHT = " 00:00:00"
"""Behind every date of a column without times."""
NO_CHANGES = (
    "Nothing that stands out: neither the errors, the coefficients nor {level} took a lasting "
    "step or kept going one way "
    "beyond what noise and swings explain."
)
TASKS = {
    "regression": "a number",
    "binary": "one of two classes",
    "multi-class": "one of several classes",
}


def write_track(
    story: Story,
    path: str | os.PathLike[str],
    *,
    command: str = "",
    date: str = "",
    more: Sequence[Section] = (),
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
    source, target = (
        fmt.clean_text(story.source, 60),
        fmt.clean_text(story.target, 60),
    )
    page = HtmlPage(
        title=f"{target} in {source}",
        facts=f"Every row was predicted by {story.learner} before its answer was seen",
        sections=(*sections, *more, columns, making),
        footer=f"Made by swordplay {__version__}. This file is complete in itself and loads "
        "nothing.",
    )
    write(page, path)


def track_sections(story: Story, *, command: str = "", date: str = "") -> tuple[Section, ...]:
    """All that a story gives: first what everybody asks, then pictures of the results, then how the
    learner worked.

    The last two sections tell what was made of each column, and how the run was made.
    """
    if not story.errors or not story.rows:
        nothing = Section(
            "In short", (Text("No row was learned, so there is nothing to tell.", lead=True),)
        )
        return (nothing, _columns(story), _making(story, command, date))
    found = changes(story)
    results = [
        _short(story, found),
        _answers(story),
        *_intervals(story),
        *_drivers(story, found),
        _changes(story, found),
        _errors(story),
    ]
    worked = [
        _course(story, found),
        _curious(),
        _pace(story),
        _trust(story),
    ]
    return (*results, *worked, _columns(story), _making(story, command, date))


def _short(story: Story, found: tuple[DetectedChange, ...]) -> Section:
    clearest = sorted(found, key=lambda one: -one.strength)[:MOST_CHANGES]
    told = tuple(findings.change_in_words(story, one) for one in found if one in clearest)
    calm = "" if told else _calm(story)
    return Section(
        "In short",
        (
            Answer("Is it good?", findings.is_it_good(story), lead=True),
            _scoreboard(story),
            Answer("Can I trust it?", findings.can_i_trust_it(story)),
            Answer("What changed, and when?", calm, told),
            Text(_counts(story)),
            *map(Text, story.remarks),
        ),
    )


def _calm(story: Story) -> str:
    return NO_CHANGES.format(
        level="the level of the target"
        if story.task == "regression"
        else "the shares of the classes"
    )


def _answers(story: Story) -> Section:
    if story.task == "regression":
        return Section(
            "Actual and predicted",
            (result_charts.actual_and_predicted(story), result_charts.last_rows(story)),
        )
    return Section("Actual and predicted", (result_charts.class_shares(story),))


def _intervals(story: Story) -> tuple[Section, ...]:
    """How unsure it was; nothing where no intervals were asked for."""
    if story.intervals is None:
        return ()
    said = Text(interval_charts.in_words(story, story.intervals))
    charts = (interval_charts.coverage(story, story.intervals), interval_charts.width(story))
    return (Section("How sure it was", (said, *charts)),)


def _drivers(story: Story, found: tuple[DetectedChange, ...]) -> tuple[Section, ...]:
    """What drives the target; nothing where no column counts."""
    if not story.drivers:
        return ()
    jumps = [one for one in found if one.kind == "coefficient" and one.since_row is None]
    remarks = [
        (one.row - 1, one.what, one.about, findings.change_in_words(story, one)) for one in jumps
    ]
    rows = tuple(
        (
            result_charts.driver_name(story, driver.name, driver.about),
            fmt.number(float(driver.path[-1])),
            fmt.number(driver.per_unit),
        )
        for driver in sorted(
            story.drivers, key=lambda one: -abs(float(np.nan_to_num(one.path[-1])))
        )
    )
    effect = fmt.clean_text(story.target, 30) if story.task == "regression" else "log-odds"
    head = ("column", f"{effect} per standard deviation", f"{effect} per unit")
    watched, there = story.watched
    note = (
        f" Only the first {watched:,} of {there:,} columns of numbers were watched."
        if watched < there
        else ""
    )
    caption = f"At the end of the run, the largest per standard deviation first.{note}"
    return (
        Section(
            "What drives it",
            (result_charts.coefficients(story, remarks), TableBlock(caption, head, rows, (1, 2))),
        ),
    )


def _changes(story: Story, found: tuple[DetectedChange, ...]) -> Section:
    if not found:
        return Section("What changed, and when", (Text(_calm(story)),))
    dated = bool(story.clock)
    rows = tuple(_change(story, one)[0 if dated else 1 :] for one in found)
    head = ("when", "row", "what", "before", "after")[0 if dated else 1 :]
    text = (
        "Lasting changes that stand out from noise and ordinary swings. With one date: the levels "
        "just before and just after it. With two: a slow change, the levels around both. A "
        "coefficient is told per standard deviation of its column."
    )
    return Section(
        "What changed, and when",
        (Text(text), TableBlock("", head, rows, (1, 3, 4) if dated else (0, 2, 3))),
    )


def _change(story: Story, one: DetectedChange) -> tuple[str, ...]:
    what = {
        "error": story.measure,
        "coefficient": f"coefficient of {result_charts.driver_name(story, one.what, one.about)}",
        "target": f"level of {fmt.clean_text(one.what, 40)}",
        "share": f"share of {fmt.clean_text(one.about, 24)}",
    }[one.kind]
    when = time_axis.when_changed(story, one)
    for word in ("in ", "on ", "from "):
        when = when.removeprefix(word)
    row = f"{one.row:,}" if one.since_row is None else f"{one.since_row:,} to {one.row:,}"
    return (when, row, what, *findings.levels(story, one))


def _errors(story: Story) -> Section:
    """How large errors were, or who was taken for whom; and the rows that cost most."""
    if story.task == "regression":
        dots = track_charts.worst_dots(story)
        sizes, course = (
            result_charts.residual_histogram(story),
            result_charts.residuals_over_time(story, dots),
        )
        return Section("How wrong it was", (sizes, course, *_worst(story)))
    charts = (result_charts.confusion(story), result_charts.calibration(story))
    return Section("How wrong it was", (*charts, track_charts.losses(story), *_worst(story)))


def _course(story: Story, found: tuple[DetectedChange, ...]) -> Section:
    jumps = [one for one in found if one.kind == "error" and one.since_row is None]
    remarks = [(one.row - 1, findings.change_in_words(story, one)) for one in jumps]
    return Section(
        "Beside the baselines",
        (track_charts.errors_so_far(story), track_charts.errors_lately(story, remarks)),
    )


def _curious() -> Section:
    text = "How the learner itself worked. Nothing below is needed to use its predictions."
    return Section("For the curious", (Text(text),))


def _scoreboard(story: Story) -> Scores:
    ours, two = story.errors[story.learner], story.task == "regression"
    largest = max((error for error in story.errors.values() if np.isfinite(error)), default=1.0)
    ranked = sorted(story.errors.items(), key=lambda item: (item[0] != story.learner, item[1]))
    shown = (
        [fmt.number(error) for _, error in ranked]
        if two
        else fmt.percents([error for _, error in ranked])
    )
    lines = tuple(
        ScoreBlock(
            name,
            text,
            error / largest if largest > 0 and np.isfinite(error) else 0.0,
            "" if name == story.learner else _against(ours, error, name, story),
            ours=name == story.learner,
            second=fmt.number(story.more[name]) if two and name in story.more else "",
        )
        for (name, error), text in zip(ranked, shown, strict=True)
    )
    if two:
        caption = "Errors over all rows; less is better. The bars are RMSE."
        return Scores(caption, lines, ("RMSE", "MAE"))
    return Scores(
        f"{story.measure[0].upper()}{story.measure[1:]} over all rows; less is better", lines
    )


def _against(ours: float, theirs: float, name: str, story: Story) -> str:
    """How much less, or more, the learner erred."""
    note = (
        f" (step size {fmt.step(story.best_step)})"
        if name == "best step size" and np.isfinite(story.best_step)
        else ""
    )
    if not (theirs > 0.0 and np.isfinite(theirs)):
        return note.strip()
    change = ours / theirs - 1.0
    if abs(change) < LEVEL:
        return f"{story.learner} is level{note}"
    # per cent of an error that is itself in per cent would be read as points
    by = fmt.percent(abs(change)) if story.task == "regression" else fmt.points(abs(ours - theirs))
    return f"{story.learner} is {by} {'lower' if change < 0 else 'higher'}{note}"


def _counts(story: Story) -> str:
    text = f"{fmt.plural(story.rows, 'row')} predicted and then learned"
    if story.seconds > 0.0:
        text += (
            f" in {fmt.number(story.seconds)} s ({fmt.number(story.rows / story.seconds)} "
            "rows a second)"
        )
    text += f". The target is {TASKS[story.task]}."
    if story.unlabelled:
        text += f" {fmt.plural(story.unlabelled, 'row')} had no target: predicted, not learned."
    if story.refused:
        text += (
            f" {fmt.plural(story.refused, 'row')} could not be read and "
            f"{'was' if story.refused == 1 else 'were'} skipped."
        )
    return text


def _pace(story: Story) -> Section:
    return Section(
        "How fast the world moved", (Text(pace_in_words(story)), track_charts.pace(story))
    )


def pace_in_words(story: Story) -> str:
    """The effective step size of most rows, and where its drawn curve was highest once it had
    started up.
    """
    course, drawn = story.course, track_charts.effective_step(story)
    widths = np.diff(course.ends, prepend=0.0)
    order = np.argsort(course.effective, kind="stable")
    shares = np.cumsum(widths[order]) / course.ends[-1]
    low, high = (
        fmt.power_of_two(float(course.effective[order[np.argmax(shares >= share)]]))
        for share in (0.25, 0.75)
    )
    start = min(max(time_axis.back(story)[0], int(START_UP * len(drawn))), len(drawn) - 1)
    fastest = start + int(np.argmax(drawn[start:]))
    time = float(course.times[fastest + 1]) if story.clock else None
    return (
        f"Nobody told {story.learner} how fast to learn. For the middle half of all rows its "
        f"effective step size lay {f'near {low}' if low == high else f'between {low} and {high}'}; "
        f"after the start-up its curve was highest, {fmt.number(float(drawn[fastest]))}, "
        f"{time_axis.when(story, int(course.ends[fastest]), time)}. A step size of 1 learns each "
        "row by heart; small ones average over many rows."
    )


def _trust(story: Story) -> Section:
    return Section("Which optimism was trusted", (track_charts.optimism(story),))


def _worst(story: Story) -> tuple[TableBlock, ...]:
    moments = story.worst[: track_charts.MOST_WORST]
    timed = {
        name
        for one in moments
        for name, value in one.values.items()
        if not value.endswith(MIDNIGHT)
    }
    rows = tuple(
        (
            f"{moment.row:,}",
            fmt.clean_text(moment.prediction, 24),
            fmt.clean_text(moment.truth, 24),
            fmt.number(moment.loss ** (0.5 if story.task == "regression" else 1.0)),
            " · ".join(
                f"{fmt.clean_text(name, 24)}{fmt.TIE}{fmt.clean_text(value if name in timed else value.removesuffix(MIDNIGHT), 24)}"  # noqa: E501
                for name, value in moment.values.items()
            ),
        )
        for moment in moments
    )
    unit = "off by" if story.task == "regression" else "log loss"
    head = ("row", "predicted", "was", unit, "its columns")
    table = TableBlock(
        "The rows that cost most, spread over the run", head, rows, (0, 1, 2, 3), long=True
    )
    return (table,) if rows else ()


def _columns(story: Story) -> Section:
    rows = tuple(
        (fmt.clean_text(column.name, 60), column.kind, column.note) for column in story.columns
    )
    return Section(
        "What was made of each column",
        (TableBlock("", ("column", "kind", "how it was used"), rows),),
    )


def _making(story: Story, command: str, date: str) -> Section:
    facts = [
        ("source", story.source),
        ("target", story.target),
        ("task", story.task),
        ("swordplay", __version__),
    ]
    facts += [("command", command)] * bool(command) + [("made", date)] * bool(date)
    rows = tuple((name, fmt.clean_text(value, 300)) for name, value in facts)
    blocks = (
        TableBlock("", ("", ""), rows),
        *((Verbatim("The model in its own words", story.summary),) if story.summary else ()),
    )
    return Section("How this was made", blocks)
