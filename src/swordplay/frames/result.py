"""What a run over a table gives back."""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

from swordplay.tracking import Story
from swordplay.tracking.keyed import KeyedStory


class TrackResult(NamedTuple):
    """Predictions, figures and the story of a run; shows itself as a small table, also in a notebook."""

    predictions: Any
    """A pyarrow table, a line for each row that could be used: ``row`` (1 for the first), ``prediction`` (made before the row
    was learned, so missing for the very first one), ``truth``, ``loss`` and ``running_error``; for classes also
    ``probability``. ``predictions.to_pandas()`` makes a data frame of it."""
    summary: dict[str, Any]
    """The figures that ``swordplay track --json`` prints: task, rows, errors beside those of the baselines, columns, ..."""
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
        return "\n".join([self._head(), *lines])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(name)}</td><td>{escape(figure)}</td></tr>"
            for name, figure in self._figures()
        )
        head = f"<tr><th></th><th>{escape(self.summary['measure'])}</th></tr>"
        return f"<div><p>{escape(self._head())}</p><table>{head}{rows}</table></div>"

    def _head(self) -> str:
        told = self.summary
        refused = f", {told['refused']:,} left out" if told["refused"] else ""
        return f"{told['source']}: {told['target']}, {told['task']}, {told['rows']:,} rows{refused}; {told['measure']}"

    def _figures(self) -> list[tuple[str, str]]:
        rate = self.summary["measure"] == "error rate"
        return [(name, f"{100 * error:.2f} %" if rate else f"{error:.5g}") for name, error in self.errors.items()]
