"""What is printed of a run over many keys beside the errors over all of them."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from swordplay.cli.words import LONGEST_NAME, counted, printable
from swordplay.tracking.keyed_story import KeyedStory
from swordplay.tracking.verdict import figure

LONGEST_KEY = 28
"""Letters of a key in a table of 80 columns."""


def table(story: KeyedStory) -> Table:
    """The keys that did best and worst, and the largest ones."""
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    grid.add_column("")
    grid.add_column(printable(", ".join(story.key), LONGEST_KEY), no_wrap=True)
    for name in ("rows", story.learner, "no change", "ratio"):
        grid.add_column(name, justify="right", no_wrap=True)
    for title, lines in story.named.items():
        for k, line in enumerate(lines):
            errors = (
                figure(line.errors[name], story.task) for name in (story.learner, "no change")
            )
            grid.add_row(
                Text("" if k else title, style="dim"),
                Text(printable(line.name, LONGEST_KEY)),
                f"{line.rows:,}",
                *errors,
                Text(f"{line.ratio:#.3g}", style="yellow" if line.ratio > 1.0 else ""),
            )
    return grid


def lines(story: KeyedStory) -> list[str]:
    """How many keys there are, and in how many the learner is ahead."""
    key = printable(" and ".join(story.key), LONGEST_NAME)
    ahead = f"{story.ahead:,}" if story.ahead else "none"
    spread = {one.share: f"{one.ratio:#.3g}" for one in story.spread}
    told = (
        f"Half of the keys err at most {spread[0.5]} times no change, a tenth at most {spread[0.1]}"
        if spread
        else ""
    )
    return [
        f"{counted(story.keys, 'key')} ({key}); {story.learner} is ahead of no change in {ahead}.",
        *(
            [
                f"{told}, nine tenths at most {spread[0.9]} (of those with ten predicted rows or "
                "more)."
            ]
            if spread
            else []
        ),
        *(
            ["ratio: its error divided by that of no change; above 1 it lost."]
            if story.named
            else []
        ),
    ]
