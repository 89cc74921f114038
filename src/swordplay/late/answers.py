"""What is said when a row is asked, and what is learned when its answer comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from swordplay.base.types import Matrix, Vector
from swordplay.estimators.asked import Askable
from swordplay.estimators.bands import Bands
from swordplay.estimators.heads import Heads
from swordplay.estimators.second_order import SecondOrder
from swordplay.estimators.tempered import Tempered
from swordplay.estimators.voices import Voices, said_now
from swordplay.late.anchor import Anchor
from swordplay.late.pending import Kept, of_labels, of_number
from swordplay.late.ticket import Ticket


def said(
    asks: Askable,
    anchor: Anchor | None,
    bands: Bands,
    level: float | None,
    ids: Sequence[str],
    rows: Sequence[Any],
    numbers: Matrix,
) -> tuple[list[Ticket], list[Matrix | None]]:
    """Tickets of rows, by what is known now; and what the model and its former self have said, where there is one.

    Parameters
    ----------
    asks, anchor, bands, level
        Who says it.
    ids, rows, numbers
        Of what: rows as they are kept, and as the model sees them.
    """
    answers = asks.say(rows, numbers)
    sides: list[Matrix | None] = [None] * len(ids)
    if anchor is not None:
        frozen = anchor.say(asks, rows, answers)
        sides = list(np.stack([answers, frozen], axis=1))
        answers = anchor.mixed(answers, frozen)
    return _tickets(asks, bands, level, ids, numbers, answers), sides


def _tickets(
    asks: Askable, bands: Bands, level: float | None, ids: Sequence[str], numbers: Matrix, answers: Matrix
) -> list[Ticket]:
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


def voices(asks: Askable, numbers: Matrix) -> tuple[list[tuple[Matrix, ...]], Matrix]:
    """What decision and experts say of rows now, for each row and each team of heads; and what second-order experts note."""
    teams = [said_now(team, numbers) for team in asks.teams]
    return [tuple(team[k] for team in teams) for k in range(len(numbers))], asks.notes(numbers)


def learn(asks: Askable, kept: Sequence[Kept], truths: Sequence[Any], told: int) -> None:
    """Learn rows as they were asked.

    With the last targets that were known when they were asked; those that are the last now are remembered. And the meta is
    judged by what decision and experts said then, if other answers have come since: the experts that it trusts are those that
    are good at predicting as far ahead as the answers are late. The same holds of the second-order experts and their mixture.

    Parameters
    ----------
    asks
        The estimator.
    kept, truths
        Tickets and their answers; one of them where there are lags.
    told
        How many answers there were before.
    """
    if len(kept) > 1 and not asks.teams:  # those who learn come into being with the first row
        learn(asks, kept[:1], truths[:1], told)
        kept, truths, told = kept[1:], truths[1:], told + 1
    every, first = asks.teams, kept[0]
    teams = [team for team in every if len(team.recent)]
    now = [team.recent.copy() for team in teams]
    for k, team in enumerate(teams):  # one that joined since then knew nothing
        team.recent[:] = first.lags[k] if k < len(first.lags) else np.nan
    late = np.array([told + k - one.told for k, one in enumerate(kept)], dtype=np.float64)
    for k, team in enumerate(every if late.any() else ()):
        team.voices = _voices_for(k, team, kept, late)
    if asks.layer is not None and late.any():
        asks.layer.asked = _notes_for(asks.layer, kept, late)
    try:
        asks.learn([one.row for one in kept], truths)
    except BaseException:
        for team, recent in zip(teams, now, strict=True):
            team.recent[:] = recent
        raise
    finally:
        for team in asks.teams:
            team.voices = None
        if asks.layer is not None:
            asks.layer.asked = None
    for team, recent in zip(teams, now, strict=True):
        team.recent[1:] = recent[:-1]


def _voices_for(place: int, team: Heads, kept: Sequence[Kept], late: Vector) -> Voices:
    """What one team said of rows. Where it was not there yet all experts are taken to have said the same: nobody is judged."""
    said = np.zeros((len(team), len(kept), 1 + team.stack.experts))
    for k, one in enumerate(kept):
        if place < len(one.voices):
            said[: len(one.voices[place]), k] = one.voices[place]
    return Voices(late, said)


def _notes_for(layer: SecondOrder | Tempered, kept: Sequence[Kept], late: Vector) -> Matrix:
    """What second-order experts noted of rows; of those that are learned at once, or asked of others, nothing."""
    noted = np.zeros((len(kept), layer.noted))
    for k, one in enumerate(kept):
        if late[k] and len(one.notes) == layer.noted:
            noted[k] = one.notes
    return noted


def learn_intervals(asks: Askable, bands: Bands, level: float | None, kept: Sequence[Kept], truths: Sequence[Any]) -> None:
    """Let the intervals learn from what was predicted; those that were given count."""
    places = [k for k, one in enumerate(kept) if one.ticket.lower is not None]
    if places:
        said, *ends = ([getattr(kept[k].ticket, name) for k in places] for name in ("prediction", "lower", "upper"))
        rows = asks.numbers([kept[k].row for k in places])
        bands.learn_given(level, np.array(said), np.array([truths[k] for k in places]), rows, np.column_stack(ends))
