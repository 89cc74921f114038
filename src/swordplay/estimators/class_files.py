"""Saved states of several classes: which heads there are, which columns each of them is told of,
and whose they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from swordplay.core import state
from swordplay.core.arguments import short_repr
from swordplay.core.state import DAMAGED, ROW_COUNT_RANGE, Field, add_prefix, part_of, split_parts
from swordplay.core.types import State, Vector
from swordplay.estimators.heads import Heads


class SavedTeam(NamedTuple):
    """Heads that share their columns."""

    shared: State
    """What they share, split into its parts."""
    heads: list[State]


class SavedClasses(NamedTuple):
    """All that the next row needs."""

    counts: Vector
    turned: int
    teams: list[SavedTeam]
    team: Any
    """Of each score: in which team its head is,"""
    place: Any
    """and where in this team."""


def write(counts: Vector, turned: int, teams: list[Heads], team: Any, place: Any) -> State:
    """A state with every scaler and every head once, however many classes they stand for."""
    flat: State = {
        "counts": counts.copy(),
        "turned": turned,
        "team": team.copy(),
        "place": place.copy(),
    }
    for number, one in enumerate(teams):
        flat |= add_prefix(f"{number}", one.shared_state())
        for k, engine in enumerate(one.stack.learners):
            flat |= add_prefix(f"{number}.{k}", engine.compact_state())
    return flat


def read(saved: Mapping[str, Any]) -> SavedClasses:
    """A saved state, checked.

    Raises
    ------
    ValueError
        If its parts do not fit together.
    """
    counts, turned = np.array(saved["counts"], dtype=np.float64), saved["turned"]
    if counts.ndim != 1 or not len(counts) or turned not in ((0,) if len(counts) < 3 else (0, 1)):
        raise ValueError(
            f"state has counts of shape {counts.shape} and turned = {short_repr(turned)}. {DAMAGED}"
        )
    state.check("counts", counts, ROW_COUNT_RANGE)
    parts = split_parts(saved)
    return SavedClasses(counts, int(turned), *_seated(parts, counts, int(turned)))


def _seated(
    parts: Mapping[str, Any], counts: Vector, turned: int
) -> tuple[list[SavedTeam], Any, Any]:
    scores = 1 if len(counts) < 3 else len(counts)
    for name in ("team", "place"):
        if np.shape(parts[name]) != (scores,):
            raise ValueError(
                f"state[{name!r}] must have shape ({scores},), got {np.shape(parts[name])}. "
                f"{DAMAGED}"
            )
        state.check(name, parts[name], Field(0.0, scores - 1.0, whole=True))
    team, place = (np.array(parts[name], dtype=np.intp) for name in ("team", "place"))
    seats, seat, sharing = np.unique(
        np.stack([team, place]), axis=1, return_inverse=True, return_counts=True
    )
    number, members = np.unique(seats[0], return_counts=True)
    if not np.array_equal(number, np.arange(len(number))) or any(
        not np.array_equal(seats[1][seats[0] == k], np.arange(count))
        for k, count in enumerate(members.tolist())
    ):
        raise ValueError(f"state['place'] leaves heads out. {DAMAGED}")
    together = sharing[seat.ravel()] > 1
    if counts[: len(together)][together].any() or together[:turned].any():
        raise ValueError(
            f"state['place'] has one head for several classes that have been seen. {DAMAGED}"
        )
    teams = []
    for k, count in enumerate(members.tolist()):
        shared = split_parts(part_of(str(k), parts))
        teams.append(SavedTeam(shared, [part_of(str(h), shared) for h in range(count)]))
    return teams, team, place
