"""Saved state of a compiled learner: its numbers by name, so that it goes on bit by bit.

Each group of numbers is one array and one text that names its rows or places, so that a state does
not depend on where the engine has a number: ``experts`` ``(F, N)`` with ``expert_names``, ``round``
with ``round_names``, ``settings`` with ``setting_names``; beside them ``last`` (the last features)
and ``points`` (the coordinates).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.core.types import Matrix, State, Vector
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, VECTOR, fields, kept_names
from swordplay.engine.memory import Memory

KEPT_OF_EXPERTS, KEPT_OF_ROUND, CHANGED_SETTINGS = (
    kept_names(EXPERT),
    kept_names(LIVE),
    kept_names(CONFIG),
)
MADE_SETTINGS = tuple(name for name, field in fields(CONFIG).items() if not field.kept)
"""What tells one make from another."""
NAMES = {"experts": "expert_names", "round": "round_names", "settings": "setting_names"}
"""The groups, and the entries that name what is in them."""


class Numbers(NamedTuple):
    """A saved state, read: what it holds by name."""

    experts: dict[str, Vector]
    """Numbers of the experts, each of shape ``(N,)``."""
    round: dict[str, float]
    settings: dict[str, float]
    last: Vector
    points: Any
    frame: Matrix
    """Centre (or lower corner) and upper corner of the domain, shape ``(2, d)``."""
    heading: Matrix | None
    """S of the experts, shape ``(d, N)``; None for learners that do not keep it."""


def state_of(memory: Memory) -> State:
    """The numbers that the next round needs, without padding."""
    n, columns = memory.experts, memory.numbers.shape[1]
    points = (
        memory.coords[:, :n]
        if memory.recipe.on_ball
        else memory.coords[np.r_[:n, columns : columns + n]]
    )
    heading = {"heading": memory.numbers[len(EXPERT) :, :n].copy()} if memory.headed else {}
    return heading | {
        "expert_names": " ".join(KEPT_OF_EXPERTS),
        "experts": memory.numbers[_places(EXPERT, KEPT_OF_EXPERTS), :n],
        "round_names": " ".join(KEPT_OF_ROUND),
        "round": memory.live[_places(LIVE, KEPT_OF_ROUND)],
        "setting_names": " ".join(CONFIG._fields),
        "settings": memory.config.copy(),
        "last": memory.vectors[VECTOR.last].copy(),
        "points": points.copy(),
        "frame": memory.vectors[[VECTOR.center, VECTOR.upper]],
    }


def read(saved: Mapping[str, Any], dtype: Any = np.float64) -> Numbers:
    """Return the numbers of a saved state; shapes fit each other, ranges are not checked.

    Raises
    ------
    ValueError
        Names what is missing or does not fit.
    """
    by_name = {group: _named(saved, group, names) for group, names in NAMES.items()}
    missing = [
        name
        for group, wanted in (
            ("experts", KEPT_OF_EXPERTS),
            ("round", KEPT_OF_ROUND),
            ("settings", CONFIG._fields),
        )
        for name in wanted
        if name not in by_name[group]
    ]
    if missing:
        raise ValueError(
            f"state lacks {', '.join(missing)}. Load a state that the same kind of learner saved."
        )
    last, frame = _array(saved, "last", 1), _array(saved, "frame", 2)
    points = _array(saved, "points", 2, dtype)
    if frame.shape != (2, len(last)):
        raise ValueError(
            f"state['frame'] must have shape {(2, len(last))}, got {frame.shape}. Load an earlier "
            "state."
        )
    numbers = {
        group: {name: float(value) for name, value in by_name[group].items()}
        for group in ("round", "settings")
    }
    heading = _array(saved, "heading", 2) if "heading" in saved else None
    return Numbers(
        by_name["experts"], **numbers, last=last, points=points, frame=frame, heading=heading
    )


def describe(state: Mapping[str, Any]) -> dict[str, Any]:
    """What a saved state says of its learner: rounds, number of experts, effective step size."""
    numbers = read(state)
    weights, steps = numbers.experts["weight"], numbers.experts["step"]
    return {
        "rounds": int(numbers.round["rounds"]),
        "experts": len(weights),
        "effective step size": float(np.exp(weights @ np.log(steps))),
    }


def is_state(state: Mapping[str, Any]) -> bool:
    """Whether a state looks like one that an engine saved."""
    return {"round", "points"} <= set(state)


def write(memory: Memory, numbers: Numbers) -> None:
    """Put numbers that were found sane in place."""
    n = len(numbers.experts["weight"])
    memory.keep_heading(numbers.heading is not None)
    memory.reserve(n)
    columns = memory.numbers.shape[1]
    memory.live[LIVE.experts] = n
    for name in KEPT_OF_ROUND:
        memory.live[LIVE._fields.index(name)] = numbers.round[name]
    for name in CHANGED_SETTINGS:
        memory.config[CONFIG._fields.index(name)] = numbers.settings[name]
    for name in KEPT_OF_EXPERTS:
        memory.numbers[EXPERT._fields.index(name), :n] = numbers.experts[name]
    if numbers.heading is not None:
        memory.numbers[len(EXPERT) :, :n] = numbers.heading
    memory.vectors[VECTOR.last] = numbers.last
    if memory.recipe.on_ball:
        memory.coords[:, :n] = numbers.points
    else:
        memory.coords[np.r_[:n, columns : columns + n]] = numbers.points
    memory.make_again()
    memory.mirror()


def require_make(memory: Memory, numbers: Numbers) -> None:
    """Refuse the state of a learner with other parts, or with arrays of other shapes."""
    for name in MADE_SETTINGS:
        mine, theirs = float(memory.config[CONFIG._fields.index(name)]), numbers.settings[name]
        if theirs != mine:
            raise ValueError(
                f"state was saved by a learner of another make ({name} was {theirs:g} and is "
                f"{mine:g} here). Make this one with the same settings."
            )
    n, dim = len(numbers.experts["weight"]), memory.vectors.shape[1]
    expected: dict[str, tuple[Any, Any]] = {
        "last": (numbers.last.shape, (dim,)),
        "points": (numbers.points.shape, (dim, n) if memory.recipe.on_ball else (2 * n, dim)),
    }
    if not memory.config[CONFIG.grows]:
        expected["experts"] = ((n,), (memory.experts,))
    if numbers.heading is not None:
        expected["heading"] = (
            numbers.heading.shape,
            (dim if memory.config[CONFIG.adaptive] else 0, n),
        )
    for name, (found, wanted) in expected.items():
        if found != wanted:
            raise ValueError(
                f"state[{name!r}] must have shape {wanted}, got {found}. Load it into the same "
                "make."
            )


def _places(places: Any, names: Sequence[str]) -> list[int]:
    return [places._fields.index(name) for name in names]


def _named(saved: Mapping[str, Any], group: str, names: str) -> dict[str, Any]:
    """The rows or places of one group by their names."""
    told = _entry(saved, names)
    numbers = _array(saved, group, 2 if group == "experts" else 1)
    each = told.split() if isinstance(told, str) else []
    if (
        len(each) != len(numbers)
        or len(set(each)) != len(each)
        or (group == "experts" and not numbers.shape[1])
    ):
        raise ValueError(
            f"state[{names!r}] must name the {len(numbers)} numbers of state[{group!r}], got "
            f"{short_repr(told)}. "
            "Load an earlier state."
        )
    return dict(zip(each, numbers, strict=True))


def _entry(saved: Mapping[str, Any], name: str) -> Any:
    if name not in saved:
        raise ValueError(f"state lacks {name!r}. Load a state that the same kind of learner saved.")
    return saved[name]


def _array(saved: Mapping[str, Any], name: str, ndim: int, dtype: Any = np.float64) -> Any:
    value = np.array(_entry(saved, name), dtype=dtype)
    if value.ndim != ndim or np.isnan(value).any():
        raise ValueError(f"state[{name!r}] is damaged. Load an earlier one.")
    return value
