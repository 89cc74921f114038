"""What is said when a row is asked, and what is learned when its answer comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from swordplay.estimators.asked import Askable
from swordplay.estimators.bands import Bands
from swordplay.late.pending import Kept, of_labels, of_number
from swordplay.late.ticket import Ticket


def said(asks: Askable, bands: Bands, level: float | None, ids: Sequence[str], rows: Sequence[Any]) -> list[Ticket]:
    """Tickets of rows, by what is known now."""
    numbers = asks.numbers(rows)
    answers = asks.say(rows, numbers)
    if asks.of_classes:
        labels = asks.labels
        return [of_labels(id, labels, chances) for id, chances in zip(ids, answers, strict=True)]
    if not answers.shape[1]:
        return [Ticket(id, None) for id in ids]
    said = answers[:, 0]
    if level is None:
        return [of_number(id, one) for id, one in zip(ids, said.tolist(), strict=True)]
    bounds = bands.intervals(level, said, numbers)
    return [of_number(id, one, *ends) for id, one, ends in zip(ids, said.tolist(), bounds.tolist(), strict=True)]


def learn(asks: Askable, kept: Sequence[Kept], truths: Sequence[Any]) -> None:
    """Learn rows with the last targets that were known when they were asked, and remember those that are the last now."""
    teams = [team for team in asks.teams if len(team.recent)]
    now = [team.recent.copy() for team in teams]
    for k, team in enumerate(teams):  # one that joined since then knew nothing
        team.recent[:] = kept[0].lags[k] if k < len(kept[0].lags) else np.nan
    try:
        asks.learn([one.row for one in kept], truths)
    except BaseException:
        for team, recent in zip(teams, now, strict=True):
            team.recent[:] = recent
        raise
    for team, recent in zip(teams, now, strict=True):
        team.recent[1:] = recent[:-1]


def learn_intervals(asks: Askable, bands: Bands, level: float | None, kept: Sequence[Kept], truths: Sequence[Any]) -> None:
    """Let the intervals learn from what was predicted; those that were given count."""
    places = [k for k, one in enumerate(kept) if one.ticket.lower is not None]
    if places:
        said, *ends = ([getattr(kept[k].ticket, name) for k in places] for name in ("prediction", "lower", "upper"))
        rows = asks.numbers([kept[k].row for k in places])
        bands.learn_given(level, np.array(said), np.array([truths[k] for k in places]), rows, np.column_stack(ends))
