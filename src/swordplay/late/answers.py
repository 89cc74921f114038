"""What is said when a row is asked, and what is learned when its answer comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.estimators.deferred_rows import DeferredRows
from swordplay.estimators.dict_columns import NumericRows
from swordplay.estimators.forecast import Forecast
from swordplay.estimators.level_intervals import LevelIntervals
from swordplay.late import kinds
from swordplay.late.anchor import Anchor
from swordplay.late.blocks import Block, Run, between, given_of, joined, kept_of, lateness, table_of
from swordplay.late.pending import of_labels
from swordplay.late.ticket import Ticket

CELLS = 2**20
"""Rows times columns of a table that is made at a time, 8 MB: of more rows one part is asked, or
learned, after the other.
"""
FEW_COLUMNS, DENSE = 128, 4
"""A table is kept until the answers come if it has few columns, or at most so many cells for
each value of its rows.
"""


def at_a_time(asks: DeferredRows) -> int:
    """Rows that are asked or learned by one call at the most."""
    return max(1, CELLS // asks.columns)


def asked(
    asks: DeferredRows,
    anchor: Anchor | None,
    bands: LevelIntervals,
    level: float | None,
    ids: list[str],
    rows: Sequence[Any],
    told: int,
) -> Block:
    """Rows that are asked: as :func:`_asked`, a part at a time where all of them would be a
    large table.
    """
    step = at_a_time(asks)
    if len(rows) <= step:
        return _asked(asks, anchor, bands, level, ids, rows, told)
    return joined(
        [
            _asked(asks, anchor, bands, level, ids[k : k + step], rows[k : k + step], told)
            for k in range(0, len(rows), step)
        ],
        rows,
    )


def _asked(
    asks: DeferredRows,
    anchor: Anchor | None,
    bands: LevelIntervals,
    level: float | None,
    ids: list[str],
    rows: Sequence[Any],
    told: int,
) -> Block:
    """Rows that are asked: their tickets, by what is known now, and what has to be kept of them.

    Parameters
    ----------
    asks, anchor, bands, level
        Who says it.
    ids, rows
        Of what, as it is kept.
    told
        How many answers there were before.
    """
    numbers, known = asks.table(rows)
    said = asks.forecast(rows, numbers)
    answers, sides = said.scores, None
    if anchor is not None:
        frozen = anchor.say(asks, rows, numbers, answers)
        sides = np.stack([answers, frozen], axis=1)
        answers = anchor.mixed(answers, frozen)
    tickets: list[Ticket] | Matrix
    if level is not None and not asks.of_classes and answers.shape[1]:
        tickets = np.column_stack([answers[:, 0], bands.intervals(level, answers[:, 0], numbers)])
    else:
        tickets = _tickets(asks, ids, answers)
    explicit = kinds.lags(asks.estimator)
    lags = tuple(said.lags[0].reshape(-1, explicit)) if said.lags.size else ()
    seen = (numbers, asks.version) if known and _is_dense(rows, numbers) else None
    voices = (said.expert_scores,) if said.expert_scores.size else ()
    return Block(ids, tickets, rows, told, lags, voices, said.notes, sides, seen)


def _is_dense(rows: Sequence[Any], table: Matrix) -> bool:
    """Whether a table of rows takes about as much memory as the rows do.

    Else it is made again when they are learned.
    """
    if table.shape[1] <= FEW_COLUMNS:
        return True
    values = rows.values.size if isinstance(rows, NumericRows) else sum(map(len, rows))
    return bool(table.size <= DENSE * values)


def _tickets(asks: DeferredRows, ids: Sequence[str], answers: Matrix) -> list[Ticket]:
    if asks.of_classes:
        labels = asks.labels
        return [of_labels(id, labels, chances) for id, chances in zip(ids, answers, strict=True)]
    if not answers.shape[1]:
        return [Ticket(id, None) for id in ids]
    return list(map(Ticket, ids, answers[:, 0].tolist()))


def learn(
    asks: DeferredRows, truths: Sequence[Any], told: int, runs: Sequence[Run]
) -> Matrix | None:
    """Learn rows as they were asked.

    Returns them as the model sees them, where it did so when they were asked.

    With the last targets that were known when they were asked; those that are the last now are
    remembered. And the meta is judged by what decision and experts said then, if other answers have
    come since: the experts that it trusts are those that are good at predicting as far ahead as the
    answers are late. The same holds of the second-order experts and their mixture.

    Parameters
    ----------
    asks
        The estimator.
    truths
        Answers; one of them where there are lags.
    told
        How many answers there were before.
    runs
        Their tickets.
    """
    if len(truths) > 1 and not asks.rounds:  # those who learn come into being with the first row
        learn(asks, truths[:1], told, between(runs, 0, 1))
        learn(asks, truths[1:], told + 1, between(runs, 1, len(truths)))
        return None
    late, table = lateness(runs, told), table_of(asks, runs)
    asked = _forecast_of(runs, asks.rounds - told) if late.any() or runs[0].block.lags else None
    asks.learn([one.row for one in kept_of(runs)] if table is None else [], truths, table, asked)
    return table


def _forecast_of(runs: Sequence[Run], before: int) -> Forecast:
    """What was said of rows when they were asked, by a model that had learned ``before`` rows at
    first.
    """
    parts = []
    for run in runs:
        block, places, count = run.block, run.places, run.last - run.first
        some = block.voices[0][places] if block.voices else np.zeros((count, 0, 0))
        lags = np.concatenate(block.lags) if block.lags else np.empty(0)
        rounds = np.full(count, float(before + block.told))
        parts.append(
            Forecast(
                np.zeros((count, 0)), some, np.tile(lags, (count, 1)), block.notes[places], rounds
            )
        )
    return Forecast.join(parts)


def learn_intervals(
    asks: DeferredRows,
    bands: LevelIntervals,
    level: float | None,
    truths: Sequence[Any],
    table: Matrix | None,
    runs: Sequence[Run],
    late: Vector,
) -> Matrix | None:
    """Let the intervals learn from what was predicted; those that were given count.

    Returns predictions and ends of all, where they are known as one table (see :func:`given_of`).
    """
    if table is not None and (known := given_of(runs)) is not None:
        bands.learn_given(
            level, known[:, 0].copy(), np.array(truths, dtype=np.float64), table, known[:, 1:], late
        )
        return known
    kept = list(kept_of(runs))
    places = [k for k, one in enumerate(kept) if one.ticket.lower is not None]
    if places:
        given = np.array([kept[k].ticket[1:4] for k in places], dtype=np.float64)
        if table is None:
            rows = asks.numbers([kept[k].row for k in places])
        else:
            rows = table if len(places) == len(table) else table[places]
        bands.learn_given(
            level,
            given[:, 0].copy(),
            np.array([truths[k] for k in places]),
            rows,
            given[:, 1:],
            late[places],
        )
    return None
