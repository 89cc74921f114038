"""What a run over a table gives back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from swordplay.api.words import translated
from swordplay.tracking import Story
from swordplay.tracking.keyed_story import KeyedStory


class TrackResult(NamedTuple):
    """Predictions, figures and the story of a run.

    Shows itself as a small table, also in a notebook.
    """

    predictions: Any
    """A pyarrow table, a line for each row that could be used: ``row`` (1 for the first),
    ``prediction`` (made before the row
    was learned, so missing for the very first one), ``truth``, ``loss`` and ``running_error``; for
    classes also ``probability``. ``predictions.to_pandas()`` makes a data frame of it."""
    summary: dict[str, Any]
    """The figures that ``swordplay track --json`` prints: task, rows, errors beside those of the
    baselines, columns, ...
    """
    story: Story | KeyedStory
    """All that a report needs."""
    refused: Any
    """A pyarrow table of the rows that could not be used, with the reasons (``on_bad="skip"``)."""

    @property
    def errors(self) -> dict[str, float]:
        """RMSE, or share of mistakes, of the learner and of the baselines."""
        return dict(self.summary["errors"])

    def __repr__(self) -> str:
        wide = max((len(name) for name in self.errors), default=0)
        lines = [f"  {name:{wide}}  {figure}" for name, figure in self._figures()]
        keys = [f"  {' | '.join(cells)}" for cells in self._keys()]
        return "\n".join([self._head(), *lines, *keys, *self._said()])

    def _repr_html_(self) -> str:
        measure = self.summary["measure"]
        parts = [f"<p>{escape(self._head())}</p>", _grid(("", measure), self._figures())]
        if keys := self._keys():
            parts.append(_grid(keys[0], keys[1:]))
        parts += [f"<p>{escape(line)}</p>" for line in self._said()]
        return f"<div>{''.join(parts)}</div>"

    def _said(self) -> list[str]:
        """The verdict and the remarks, in the words of Python."""
        return [
            translated(line) for line in (self.summary["verdict"], *self.summary["remarks"]) if line
        ]

    def _keys(self) -> list[tuple[str, ...]]:
        """How many keys there are, and those that did best and worst, a line each below its head.

        None without keys.
        """
        if not isinstance(self.story, KeyedStory):
            return []
        told = self.story
        names = (told.learner, "no change")
        head = (
            f"{told.keys:,} key{'s' * (told.keys != 1)} ({', '.join(told.key)})",
            "rows",
            *names,
        )
        lines = (
            (f"{what}: {line.name}", line)
            for what in ("best", "worst")
            for line in getattr(told, what)
        )
        return [
            head,
            *(
                (name, f"{line.rows:,}", *(self._shown(line.errors[one]) for one in names))
                for name, line in lines
            ),
        ]

    def _head(self) -> str:
        told = self.summary
        refused = f", {told['refused']:,} left out" if told["refused"] else ""
        return (
            f"{told['source']}: {told['target']}, {told['task']}, {told['rows']:,} "
            f"rows{refused}; {told['measure']}"
        )

    def _figures(self) -> list[tuple[str, str]]:
        return [(name, self._shown(error)) for name, error in self.errors.items()]

    def _shown(self, error: float) -> str:
        return f"{100 * error:.2f} %" if self.summary["measure"] == "error rate" else f"{error:.5g}"


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of HTML; the first column is text."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = (
        f"<td style='text-align:left'>{escape(cells[0])}</td>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells[1:])
        for cells in rows
    )
    return f"<table><tr>{top}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
