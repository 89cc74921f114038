"""What a page is made of: sections of text, tables, scoreboards and charts. All of it is data."""

from __future__ import annotations

from typing import NamedTuple

from swordplay.report.charts import Chart


class Text(NamedTuple):
    """A paragraph; ``lead`` makes it the sentence to remember."""

    text: str
    lead: bool = False


class ScoreBlock(NamedTuple):
    """One line of a scoreboard."""

    name: str
    value: str
    share: float
    """Length of the bar, in [0, 1]."""
    note: str = ""
    ours: bool = False
    second: str = ""
    """Another figure, which has no bar."""


class Scores(NamedTuple):
    """Bars with their figures, which need no script."""

    caption: str
    lines: tuple[ScoreBlock, ...]
    head: tuple[str, str] = ("", "")
    """What the figure and the other one are called, where there are two."""


class TableBlock(NamedTuple):
    """Rows under a head; on a narrow screen it scrolls by itself."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    """Columns that are set flush right."""
    strong: tuple[int, ...] = ()
    """Rows in bold."""
    long: bool = False
    """Whether the last column is long text, which goes under the others on a narrow screen."""


class Answer(NamedTuple):
    """A question that everybody has, and its answer in a sentence or two, and perhaps a list."""

    question: str
    text: str
    points: tuple[str, ...] = ()
    lead: bool = False
    """Whether the text is the sentence to remember."""


class Counts(NamedTuple):
    """How often each of several things was taken for each of them, as a table of shaded cells."""

    caption: str
    corner: str
    """What the rows and the columns are."""
    names: tuple[str, ...]
    counts: tuple[tuple[float, ...], ...]


class Verbatim(NamedTuple):
    """Text as it was printed."""

    caption: str
    text: str


class LiveSlot(NamedTuple):
    """A place that a script of the page fills and fills again, and what stands there until then."""

    name: str
    text: str


class Pair(NamedTuple):
    """Charts side by side where there is room."""

    charts: tuple[Chart, ...]


Block = Text | Answer | Scores | Counts | TableBlock | Verbatim | LiveSlot | Pair | Chart


class Section(NamedTuple):
    """A heading and what stands under it."""

    title: str
    blocks: tuple[Block, ...]


class HtmlPage(NamedTuple):
    """A whole report before it is written as HTML: made by the builders of this room, read by
    ``document.render``.
    """

    title: str
    facts: str
    """One line under the title: what this is about."""
    sections: tuple[Section, ...]
    footer: str = ""
