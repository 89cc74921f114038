"""The report of a run over rows that come twice: what was predicted when they were new, judged
when they were answered.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from swordplay import __version__
from swordplay.report import first_screen, interval_charts, words
from swordplay.report.document import write
from swordplay.report.keys import figure, how_made, scores_of
from swordplay.report.page import Answer, Page, Scores, Section, Text

if TYPE_CHECKING:
    from swordplay.tracking.twice_story import TwiceStory


def write_twice(story: TwiceStory, path: str | os.PathLike[str], *, command: str = "") -> None:
    """Write the report of a run over rows that come twice as one HTML file, all or nothing.

    Parameters
    ----------
    story, path, command
        As for ``write_keys``.
    """
    source, target = words.shown(story.source, 60), words.shown(story.target, 60)
    page = Page(
        title=f"{target} in {source}, answers later",
        facts=f"Every row was predicted by {story.learner} when it was new, and learned when its "
        "answer came",
        sections=(
            Section("In short", _in_short(story)),
            *how_made(story, [("rows are recognised by", ", ".join(story.id))], command),
        ),
        footer=f"Made by swordplay {__version__}. This file is complete in itself and loads "
        "nothing.",
    )
    write(page, path)


def _in_short(story: TwiceStory) -> tuple[Answer | Text | Scores, ...]:
    counts = (
        f"{words.plural(story.asked, 'row')} predicted; {story.answered:,} were answered, "
        f"{story.pending:,} wait."
    )
    if not story.rows:
        return (
            Text("No prediction was judged yet, so there is little to tell.", lead=True),
            Text(counts),
        )
    ours, theirs = (story.errors[name] for name in (story.learner, "no change"))
    last = "the last value" if story.measure == "RMSE" else "the last class"
    told = (
        f"{figure(story, ours)} beside {figure(story, theirs)} ({story.measure}) of {last} "
        "that was known then."
    )
    return (
        Answer(
            "Is it good?",
            f"{first_screen.verdict(ours, theirs)} repeating {last}: {told}",
            lead=True,
        ),
        Scores(
            f"{story.measure[0].upper()}{story.measure[1:]} of answered rows; less is better",
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
