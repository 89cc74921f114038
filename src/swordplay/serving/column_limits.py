"""Limits on the columns of series, and on the rows of a request times the columns of their series.

A column that was ever sent stays, and a row has a number for each column of its series while it is
predicted or learned. The limits are checked before an event is written to the log, with the models
as they are then, and again before it is applied: what other events added in between counts, and a
replay of the log leads to the same errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swordplay.core.arguments import short_repr
from swordplay.estimators.dict_columns import NumericRows
from swordplay.estimators.value_types import ValueTypes
from swordplay.serving.errors import RequestError
from swordplay.serving.limits import Bounds
from swordplay.serving.requests import AskRows, DropTickets, RowRequest, SeriesPart, TellRows
from swordplay.serving.series import Series

SeriesByName = Mapping[tuple[str, str], Series]
"""Series by model and key."""


def may_add_columns(series: Series, part: SeriesPart, bounds: Bounds) -> bool:
    """Whether rows may give a series more columns; True also if only a closer look could tell."""
    known = series.value_types
    if type(part) is AskRows:
        if type(part.rows) is NumericRows:
            return not known.kinds.keys() >= set(part.rows.names)
        names = known.kinds.keys()
        for row in part.rows:  # noqa: SIM110  # a generator would double the cost of one row
            if not names >= row.keys():
                return True
        return False
    # Answers bring new words only. They matter only if all words together could pass the limit.
    return known.max_columns > bounds.columns


def require_size(all_series: SeriesByName, bounds: Bounds, model: str, request: RowRequest) -> None:
    """Reject a request that leads to too many columns, or to too many rows times columns.

    Parameters
    ----------
    all_series
        All series of the server.
    bounds
        Limits of the server.
    model, request
        Name of the model, and the request.

    Raises
    ------
    RequestError
        429.
    """
    # The usual request has few rows and no new columns: there is nothing to count.
    is_small = request.row_count * bounds.columns <= bounds.cells
    for part in request.parts:
        series = all_series.get((model, part.key))
        if type(part) is not DropTickets and (
            series is None or not is_small or may_add_columns(series, part, bounds)
        ):
            _require_size(all_series, bounds, model, request.parts)
            return


def _require_size(
    all_series: SeriesByName, bounds: Bounds, model: str, parts: Sequence[AskRows | TellRows]
) -> None:
    """Check the limits with every column counted."""
    added, sized = 0, []
    for part in parts:
        series = all_series.get((model, part.key))
        before = 0 if series is None else series.value_types.columns
        after = _columns_after(series, part, bounds)
        if after > bounds.columns and after > before:
            raise RequestError(429, _too_many_columns(part, before, after, bounds))
        added += after - before
        sized.append((series, part, after))
    cells = sum(len(part.ids) * columns for _, part, columns in sized)
    if cells > bounds.cells:  # repeated rows do not count: their responses are known
        cells = sum(
            (len(part.ids) if series is None else series.count_new_rows(part)) * columns
            for series, part, columns in sized
        )
    if cells > bounds.cells:
        raise RequestError(
            429,
            f"a request has at most {bounds.cells:,} rows times columns of their series, got "
            f"{cells:,}. Send fewer rows at a time, or start the server with a higher --max-cells.",
        )
    if not added:
        return
    total = sum(series.value_types.columns for series in all_series.values()) + added
    if total > bounds.all_columns:
        raise RequestError(
            429,
            f"all series of a server have at most {bounds.all_columns:,} columns, and would have "
            f"{total:,}. Send fewer, or start the server with a higher --max-all-columns.",
        )


def _columns_after(series: Series | None, part: AskRows | TellRows, bounds: Bounds) -> int:
    """Return the columns of a series after the rows of a part were learned."""
    if isinstance(part, AskRows):
        return (ValueTypes() if series is None else series.value_types).columns_after_reading(
            part.rows
        )
    if series is None:  # rejected as unknown later
        return 0
    known, most = series.value_types, series.value_types.max_columns
    if most == known.columns or (most <= bounds.columns and most * len(part.ids) <= bounds.cells):
        return known.columns  # the words in the rows do not matter
    return known.columns_after_learning(series.pending_rows(part.ids))


def _too_many_columns(part: AskRows | TellRows, before: int, after: int, bounds: Bounds) -> str:
    remedy = "Leave columns out, or use several models"
    if isinstance(part, TellRows):
        remedy = "Drop these tickets"
    key = f" with key {short_repr(part.key)}" if part.key else ""
    return (
        f"a series has at most {bounds.columns:,} columns; the one{key} has {before:,}, and would "
        f"have {after:,} (a text has one for each of its words, a date six). {remedy}, or start "
        "the server with a higher --max-series-columns."
    )
