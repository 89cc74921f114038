"""Blocks of a page as HTML.

Everything foreign is cut to length, cleaned and escaped here, in one place.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import Any

from swordplay.report import formatting as fmt
from swordplay.report import vega
from swordplay.report.charts import Chart
from swordplay.report.page import (
    Answer,
    Block,
    Counts,
    LiveSlot,
    Pair,
    Scores,
    Section,
    TableBlock,
    Text,
    Verbatim,
)


class Drawer:
    """Blocks to markup; counts the charts, because each has a name of its own."""

    def __init__(self) -> None:
        self.charts = 0
        """Drawn so far."""

    def section(self, section: Section) -> str:
        """A heading and its blocks."""
        blocks = "\n".join(self.block(block) for block in section.blocks)
        return f"<section>\n<h2>{escaped(section.title)}</h2>\n{blocks}\n</section>"

    def block(self, block: Block) -> str:
        """Any block."""
        match block:
            case Text(text, lead):
                return f"{_tag('p', 'lead', lead)}{escaped(text, 2000)}</p>"
            case Answer():
                return _answer(block)
            case Counts():
                return _counts(block)
            case Scores():
                return _scores(block)
            case TableBlock():
                return _table(block)
            case Verbatim(caption, text):
                clean = html.escape(fmt.HIDDEN_MARKS.sub("\N{REPLACEMENT CHARACTER}", text))
                return (
                    f"<figure><figcaption>{escaped(caption)}</figcaption>\n"
                    f"<pre>{clean}</pre></figure>"
                )
            case LiveSlot(name, text):
                return f'<div id="{escaped(name)}"><p>{escaped(text)}</p></div>'
            case Pair(charts):
                return "\n".join(['<div class="pair">', *map(self.chart, charts), "</div>"])
            case Chart():
                return self.chart(block)

    def chart(self, chart: Chart) -> str:
        """A still picture, and the data from which the page's script makes a live one."""
        self.charts += 1
        name = f"chart-{self.charts}"
        keys = "".join(
            f'<li style="color: var(--{colour})">{escaped(key)}</li>' for key, colour in chart.keys
        )
        about = {"spec": chart.spec, "readout": chart.readout, "group": chart.group or name}
        return "\n".join(
            [
                f'<figure class="chart" id="{name}">',
                f"<figcaption><h3>{escaped(chart.title)}</h3><p>{escaped(chart.words, 1000)}</p></figcaption>",  # noqa: E501
                f'<ul class="keys">{keys}</ul>' if keys else "",
                '<div class="plot" role="img" '
                f'aria-label="{escaped(chart.title)}">{vega.still(chart.spec, name)}</div>',
                f'<script type="application/json">{_json(about)}</script>\n</figure>',
            ]
        )


def _answer(answer: Answer) -> str:
    points = "".join(f"<li>{escaped(point, 400)}</li>" for point in answer.points)
    listed = f"\n<ul>{points}</ul>" if points else ""
    text = (
        f"{_tag('p', 'lead', answer.lead)}{escaped(answer.text, 1000)}</p>" if answer.text else ""
    )
    return f'<div class="answer"><h3>{escaped(answer.question)}</h3>\n{text}{listed}</div>'


def _counts(counts: Counts) -> str:
    """The shade of a cell is its share of its row."""
    head = "".join(f'<th scope="col"><bdi>{escaped(name, 24)}</bdi></th>' for name in counts.names)
    lines = []
    for name, row in zip(counts.names, counts.counts, strict=True):
        total = sum(row) or 1.0
        cells = "".join(
            f'<td class="number" style="--share: {count / total:.3f}">{count:,.0f}<small>'
            f"{fmt.percent(count / total)}</small></td>"
            for count in row
        )
        lines.append(f'<tr><th scope="row"><bdi>{escaped(name, 24)}</bdi></th>{cells}</tr>')
    body = "\n".join(lines)
    corner = f'<thead><tr><th scope="col">{escaped(counts.corner)}</th>{head}</tr></thead>'
    caption = f"<figcaption><p>{escaped(counts.caption, 400)}</p></figcaption>"
    return (
        f'<figure>{caption}\n<div class="wide"><table class="counts">{corner}\n<tbody>\n{body}\n'
        "</tbody></table></div></figure>"
    )


def _scores(scores: Scores) -> str:
    lines = "\n".join(
        f'{_tag("tr", "ours", line.ours)}<th scope="row"><bdi>{escaped(line.name)}</bdi></th>'
        '<td class="bar"><span style="width: '
        f'{100 * min(1.0, max(0.0, line.share)):.1f}%"></span></td>'
        f"<td>{escaped(line.value)}</td>{_second(scores, line.second)}<td>{escaped(line.note)}</td></tr>"  # noqa: E501
        for line in scores.lines
    )
    names = "".join(f'<th scope="col">{escaped(name)}</th>' for name in scores.head)
    head = (
        f'<thead><tr><th></th><th class="bar"></th>{names}<th></th></tr></thead>'
        if any(scores.head)
        else ""
    )
    return (
        f'<table class="scores"><caption>{escaped(scores.caption, 200)}</caption>{head}\n<tbody>\n'
        f"{lines}\n"
        "</tbody></table>"
    )


def _second(scores: Scores, text: str) -> str:
    return f'<td class="second">{escaped(text)}</td>' if any(scores.head) else ""


def _table(table: TableBlock) -> str:
    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(
            f"{_tag(tag, 'number', k in table.numbers)}<bdi>{escaped(cell, 300)}</bdi></{tag}>"
            for k, cell in enumerate(row)
        )

    rows = "\n".join(
        f"{_tag('tr', 'ours', k in table.strong)}{cells(row, 'td')}</tr>"
        for k, row in enumerate(table.rows)
    )
    head = f"<thead><tr>{cells(table.head, 'th')}</tr></thead>" if any(table.head) else ""
    caption = (
        f"<figcaption><p>{escaped(table.caption, 300)}</p></figcaption>" if table.caption else ""
    )
    body = f"{_tag('table', 'long', table.long)}{head}\n<tbody>\n{rows}\n</tbody></table>"
    return f'<figure>{caption}\n<div class="wide">{body}</div></figure>'


def escaped(text: str, longest: int = fmt.MAX_LETTERS) -> str:
    """Foreign text, fit to stand between tags and in quoted attributes."""
    return html.escape(fmt.clean_text(text, longest))


def _tag(name: str, look: str, wanted: bool) -> str:
    return f'<{name} class="{look}">' if wanted else f"<{name}>"


def _json(value: Any) -> str:
    """JSON that cannot end the script element that it stands in."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
