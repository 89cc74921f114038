"""Predicts rows as blocks of tickets, and learns the rows of tickets when their targets arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.estimators.deferred_rows import DeferredRows
from swordplay.estimators.dict_columns import NumericRows
from swordplay.estimators.level_intervals import LevelIntervals
from swordplay.late.frozen_copy import FrozenCopy
from swordplay.late.tickets import LOWER, PREDICTION, UPPER, TicketBlock

MAX_CELLS = 2**20
"""Cells of a table that is made at a time, 8 MB."""
FEW_COLUMNS = 128
"""A table with at most so many columns is kept until its rows are learned."""
MAX_CELLS_PER_VALUE = 4
"""A wider table is kept if it has at most so many cells for each value of its rows."""


def max_rows(deferred: DeferredRows) -> int:
    """Return how many rows one table may have."""
    return max(1, MAX_CELLS // deferred.columns)


def ask_rows(
    deferred: DeferredRows,
    frozen: FrozenCopy | None,
    intervals: LevelIntervals,
    level: float | None,
    ids: list[str],
    rows: Sequence[Any],
) -> TicketBlock:
    """Predict rows, and return their tickets.

    Parameters
    ----------
    deferred
        The estimator.
    frozen
        Its frozen copy, if it has one.
    intervals, level
        Intervals of the estimator and their level; None for no intervals.
    ids
        Ids of the tickets, shape ``(T,)``.
    rows
        Rows in the form that ``deferred.read`` returned.
    """
    step = max_rows(deferred)
    if len(rows) <= step:
        return _ask_table(deferred, frozen, intervals, level, ids, rows)
    blocks = [
        _ask_table(deferred, frozen, intervals, level, ids[k : k + step], rows[k : k + step])
        for k in range(0, len(rows), step)
    ]
    return TicketBlock.join(blocks, rows)


def _ask_table(
    deferred: DeferredRows,
    frozen: FrozenCopy | None,
    intervals: LevelIntervals,
    level: float | None,
    ids: list[str],
    rows: Sequence[Any],
) -> TicketBlock:
    """Predict rows that fit in one table."""
    table, version = deferred.table(rows)
    forecast = deferred.forecast(rows, table)
    scores = forecast.scores
    both = np.empty((len(rows), 2, 0 if frozen is None else scores.shape[1]))
    if frozen is not None:
        both[:, 0] = scores
        both[:, 1] = frozen.scores(deferred, rows, table, scores)
        scores = frozen.mix(scores, both[:, 1])
    if deferred.predicts_labels:
        labels, predictions = deferred.labels, scores
    else:
        labels, predictions = None, np.full((len(rows), 3), np.nan)
        if scores.shape[1]:
            predictions[:, PREDICTION] = scores[:, 0]
            if level is not None:
                predictions[:, LOWER : UPPER + 1] = intervals.intervals(level, scores[:, 0], table)
    forecast = forecast._replace(scores=scores[:, :0])
    is_kept = version is not None and _is_small(rows, table)
    seen = (table, version) if is_kept else (None, None)
    return TicketBlock(ids, rows, labels, predictions, forecast, both, *seen)


def _is_small(rows: Sequence[Any], table: Matrix) -> bool:
    """Whether a table takes about as much memory as its rows do."""
    if table.shape[1] <= FEW_COLUMNS:
        return True
    values = rows.values.size if isinstance(rows, NumericRows) else sum(map(len, rows))
    return bool(table.size <= MAX_CELLS_PER_VALUE * values)


def lateness(deferred: DeferredRows, block: TicketBlock) -> Vector:
    """Return how many targets are learned between ticket and target of each row, shape ``(T,)``.

    The rows are learned next, in their order.
    """
    return block.forecast.ages(deferred.rounds)


def learn_rows(
    deferred: DeferredRows, block: TicketBlock, answers: Sequence[Any], late: Vector
) -> Matrix | None:
    """Learn rows as they were asked, with the forecasts that were made then.

    Returns the table of the rows if the model still sees them as it did then; None otherwise.
    """
    if len(answers) > 1 and not deferred.rounds:  # the first row makes the model
        learn_rows(deferred, block.select(slice(0, 1)), answers[:1], late[:1])
        learn_rows(deferred, block.select(slice(1, None)), answers[1:], late[1:])
        return None
    table = block.table if block.version == deferred.version else None
    is_needed = block.forecast.lags.shape[1] > 0 or bool(late.any())
    asked = block.forecast if is_needed else None
    deferred.learn(block.rows, answers, asked, table)
    return table


def learn_intervals(
    deferred: DeferredRows,
    intervals: LevelIntervals,
    level: float | None,
    block: TicketBlock,
    answers: Sequence[Any],
    table: Matrix | None,
    late: Vector,
) -> None:
    """Learn intervals by those that were given; ``table`` is the result of :func:`learn_rows`."""
    if level is None or block.labels is not None:
        return
    targets = np.array(answers, dtype=np.float64)
    if not block.has_intervals:
        places = np.flatnonzero(~np.isnan(block.predictions[:, LOWER])).tolist()
        if not places:
            return
        table = None if table is None else table[places]
        block, targets, late = block.select(places), targets[places], late[places]
    if table is None:
        table = deferred.table(block.rows)[0]
    predictions = block.predictions[:, PREDICTION].copy()
    given = block.predictions[:, LOWER : UPPER + 1]
    intervals.learn_given(level, predictions, targets, table, given, late)
