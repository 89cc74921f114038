"""Limits on the columns of series, and on rows times columns of a request.

A column that was ever sent stays, and a row has a number for each column of its series while it is
predicted or learned. The checks run before an event is written to the log, with the models as they
are then, and again before it is done: what other events have added in between counts, and a log
leads to the same refusals whenever it is replayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swordplay.core.arguments import short_repr
from swordplay.estimators.dict_columns import NumericRows
from swordplay.estimators.value_types import ValueTypes
from swordplay.serving.limits import Bounds
from swordplay.serving.refusals import Refusal
from swordplay.serving.requests import Ask, Drop, Part, Tell, Wanted
from swordplay.serving.series import Series

SeriesByName = Mapping[tuple[str, str], Series]
"""By model and key."""


def adds_columns(series: Series, part: Part, bounds: Bounds) -> bool:
    """Whether rows may give a series more columns.

    True also where only a closer look could tell.
    """
    known = series.rows_by_name
    if type(part) is Ask:
        if type(part.rows) is NumericRows:
            return not known.kinds.keys() >= set(part.rows.names)
        names = known.kinds.keys()
        for row in part.rows:  # noqa: SIM110  # a generator would double the cost of one row
            if not names >= row.keys():
                return True
        return False
    # Answers bring new words only, which matters only where all words together could pass the
    # limit.
    return known.max_columns > bounds.columns


def require_size(every: SeriesByName, bounds: Bounds, model: str, wanted: Wanted) -> None:
    """Refuse a request that leads to too many columns, or to too many rows times columns.

    Parameters
    ----------
    every
        All series of the server.
    bounds
        The limits.
    model, wanted
        The request.

    Raises
    ------
    Refusal
        429, with the limit and the option that raises it.
    """
    # Nothing to count for the usual request: few rows without a new column. Dropping a row needs no
    # table.
    few = wanted.rows * bounds.columns <= bounds.cells
    for part in wanted.parts:
        series = every.get((model, part.key))
        if type(part) is not Drop and (
            series is None or not few or adds_columns(series, part, bounds)
        ):
            _require_size(every, bounds, model, wanted.parts)
            return


def _require_size(
    every: SeriesByName, bounds: Bounds, model: str, wanted: Sequence[Ask | Tell]
) -> None:
    """The same with every column counted."""
    added, parts = 0, []
    for part in wanted:
        series = every.get((model, part.key))
        before = 0 if series is None else series.rows_by_name.columns
        after = _columns_after(series, part, bounds)
        if after > bounds.columns and after > before:
            raise Refusal(429, _too_many_columns(part, before, after, bounds))
        added += after - before
        parts.append((series, part, after))
    cells = sum(len(part.ids) * columns for _, part, columns in parts)
    if cells > bounds.cells:  # rows that came before are answered as they were, and need no table
        cells = sum(
            (len(part.ids) if series is None else series.new_rows(part)) * columns
            for series, part, columns in parts
        )
    if cells > bounds.cells:
        raise Refusal(
            429,
            f"a request has at most {bounds.cells:,} rows times columns of their series, got "
            f"{cells:,}. Send fewer rows at a time, or start the server with a higher --max-cells.",
        )
    if (
        added
        and (total := sum(series.rows_by_name.columns for series in every.values()) + added)
        > bounds.all_columns
    ):
        raise Refusal(
            429,
            f"all series of a server have at most {bounds.all_columns:,} columns, and would have "
            f"{total:,}. Send fewer, or start the server with a higher --max-all-columns.",
        )


def _columns_after(series: Series | None, part: Ask | Tell, bounds: Bounds) -> int:
    """Columns of a series once the rows of a part were learned."""
    if isinstance(part, Ask):
        return (ValueTypes() if series is None else series.rows_by_name).columns_after_reading(
            part.rows
        )
    if series is None:  # refused as unknown later
        return 0
    known, most = series.rows_by_name, series.rows_by_name.max_columns
    if most == known.columns or (most <= bounds.columns and most * len(part.ids) <= bounds.cells):
        return known.columns  # the words of the rows do not matter
    return known.columns_after_learning(series.kept_rows(part.ids))


def _too_many_columns(part: Ask | Tell, before: int, after: int, bounds: Bounds) -> str:
    told = (
        "Drop these tickets"
        if isinstance(part, Tell)
        else "Leave columns out, or use several models"
    )
    key = f" with key {short_repr(part.key)}" if part.key else ""
    return (
        f"a series has at most {bounds.columns:,} columns; the one{key} has {before:,}, and would "
        f"have {after:,} (a text has one for each of its words, a date six). {told}, or start the "
        "server with a higher --max-series-columns."
    )
