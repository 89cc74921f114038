"""Saved state of a compiled learner: its numbers by name, checked before kernels use them.

Each group of numbers is one array and one text that names its rows or places, so that a state does
not depend on where the engine has a number: ``experts`` ``(F, N)`` with ``expert_names``,
``scalars`` with ``scalar_names``, ``settings`` with ``setting_names``; beside them ``last_row``
(the last features) and ``points`` (the coordinates). A learner that loads it continues bit for bit.

The number of experts is used as an index of memory, and a number that is not finite would spread to
all others. Ranges of single numbers are declared in ``layout``; :func:`check_numbers` holds the
rules over several.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.core.state import DAMAGED, Field, check
from swordplay.core.types import Matrix, State, Vector
from swordplay.engine.layout import (
    BOX,
    EXPERT,
    SCALAR,
    SETTING,
    SLACK,
    VAST,
    VECTOR,
    fields,
    saved_names,
)
from swordplay.engine.memory import LearnerMemory
from swordplay.engine.recipe import Recipe
from swordplay.parts.experts.step_sizes import AVERAGED_ROUNDS

SAVED_OF_EXPERTS, SAVED_SCALARS, CHANGED_SETTINGS = (
    saved_names(EXPERT),
    saved_names(SCALAR),
    saved_names(SETTING),
)
MADE_SETTINGS = tuple(name for name, field in fields(SETTING).items() if not field.kept)
"""What tells one make from another."""
NAMES = {"experts": "expert_names", "scalars": "scalar_names", "settings": "setting_names"}
"""The groups, and the entries that name what is in them."""

TINIEST = 1e-300
"""Squares below this have lost their digits."""
LONGEST_SQUARE = 1e151
"""Squares of gradients of saved learners: rounds with squares beyond 1e150 are not played."""
SIGNED = Field(-VAST, VAST)
ROW, DUAL_SUM = Field(-1e81, 1e81), Field(-1e79, 1e79)
"""Entries of rows, and of S of a certificate: their squares are summed, and the sums are at most
``VAST``.
"""
MOST_EXPERTS = 128
"""Of a pool that grows: one that has played for 2^53 rounds has 56."""


class Numbers(NamedTuple):
    """A saved state, read: what it holds by name."""

    experts: dict[str, Vector]
    """Numbers of the experts, each of shape ``(N,)``."""
    scalars: dict[str, float]
    settings: dict[str, float]
    last_row: Vector
    points: Any
    frame: Matrix
    """Centre (or lower corner) and upper corner of the domain, shape ``(2, d)``."""
    dual_sum: Matrix | None
    """S of the experts, shape ``(d, N)``; None for learners that do not keep it."""


def state_of(memory: LearnerMemory) -> State:
    """The numbers that the next round needs, without padding."""
    n, columns = memory.expert_count, memory.experts.shape[1]
    points = (
        memory.coordinates[:, :n]
        if memory.recipe.on_ball
        else memory.coordinates[np.r_[:n, columns : columns + n]]
    )
    dual_sum = (
        {"dual_sum": memory.experts[len(EXPERT) :, :n].copy()} if memory.keeps_dual_sum else {}
    )
    return dual_sum | {
        "expert_names": " ".join(SAVED_OF_EXPERTS),
        "experts": memory.experts[_places(EXPERT, SAVED_OF_EXPERTS), :n],
        "scalar_names": " ".join(SAVED_SCALARS),
        "scalars": memory.scalars[_places(SCALAR, SAVED_SCALARS)],
        "setting_names": " ".join(SETTING._fields),
        "settings": memory.settings.copy(),
        "last_row": memory.vectors[VECTOR.last_row].copy(),
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
            ("experts", SAVED_OF_EXPERTS),
            ("scalars", SAVED_SCALARS),
            ("settings", SETTING._fields),
        )
        for name in wanted
        if name not in by_name[group]
    ]
    if missing:
        raise ValueError(
            f"state lacks {', '.join(missing)}. Load a state that the same kind of learner saved."
        )
    last_row, frame = _array(saved, "last_row", 1), _array(saved, "frame", 2)
    points = _array(saved, "points", 2, dtype)
    if frame.shape != (2, len(last_row)):
        raise ValueError(
            f"state['frame'] must have shape {(2, len(last_row))}, got {frame.shape}. Load an "
            "earlier state."
        )
    numbers = {
        group: {name: float(value) for name, value in by_name[group].items()}
        for group in ("scalars", "settings")
    }
    dual_sum = _array(saved, "dual_sum", 2) if "dual_sum" in saved else None
    return Numbers(
        by_name["experts"],
        **numbers,
        last_row=last_row,
        points=points,
        frame=frame,
        dual_sum=dual_sum,
    )


def describe(state: Mapping[str, Any]) -> dict[str, Any]:
    """What a saved state says of its learner: rounds, number of experts, effective step size."""
    numbers = read(state)
    weights, steps = numbers.experts["weight"], numbers.experts["step_size"]
    return {
        "rounds": int(numbers.scalars["rounds"]),
        "experts": len(weights),
        "effective step size": float(np.exp(weights @ np.log(steps))),
    }


def is_state(state: Mapping[str, Any]) -> bool:
    """Whether a state looks like one that an engine saved."""
    return {"scalars", "points"} <= set(state)


def write(memory: LearnerMemory, numbers: Numbers) -> None:
    """Put checked numbers in place."""
    n = len(numbers.experts["weight"])
    memory.allocate_dual_sum(numbers.dual_sum is not None)
    memory.reserve(n)
    columns = memory.experts.shape[1]
    memory.scalars[SCALAR.expert_count] = n
    for name in SAVED_SCALARS:
        memory.scalars[SCALAR._fields.index(name)] = numbers.scalars[name]
    for name in CHANGED_SETTINGS:
        memory.settings[SETTING._fields.index(name)] = numbers.settings[name]
    for name in SAVED_OF_EXPERTS:
        memory.experts[EXPERT._fields.index(name), :n] = numbers.experts[name]
    if numbers.dual_sum is not None:
        memory.experts[len(EXPERT) :, :n] = numbers.dual_sum
    memory.vectors[VECTOR.last_row] = numbers.last_row
    if memory.recipe.on_ball:
        memory.coordinates[:, :n] = numbers.points
    else:
        memory.coordinates[np.r_[:n, columns : columns + n]] = numbers.points
    memory.derive_fields()
    memory.fill_padding()


def require_make(memory: LearnerMemory, numbers: Numbers) -> None:
    """Refuse the state of a learner with other parts, or with arrays of other shapes."""
    for name in MADE_SETTINGS:
        mine, theirs = float(memory.settings[SETTING._fields.index(name)]), numbers.settings[name]
        if theirs != mine:
            raise ValueError(
                f"state was saved by a learner of another make ({name} was {theirs:g} and is "
                f"{mine:g} here). Make this one with the same settings."
            )
    n, dim = len(numbers.experts["weight"]), memory.vectors.shape[1]
    expected: dict[str, tuple[Any, Any]] = {
        "last_row": (numbers.last_row.shape, (dim,)),
        "points": (numbers.points.shape, (dim, n) if memory.recipe.on_ball else (2 * n, dim)),
    }
    if not memory.settings[SETTING.grows]:
        expected["experts"] = ((n,), (memory.expert_count,))
    if numbers.dual_sum is not None:
        expected["dual_sum"] = (
            numbers.dual_sum.shape,
            (dim if memory.settings[SETTING.adaptive_steps] else 0, n),
        )
    for name, (found, wanted) in expected.items():
        if found != wanted:
            raise ValueError(
                f"state[{name!r}] must have shape {wanted}, got {found}. Load it into the same "
                "make."
            )


def range_of(places: Any, name: str) -> Field:
    """The declared range of a number of ``EXPERT``, ``SCALAR`` or ``SETTING``."""
    number = fields(places)[name]
    return Field(number.low, number.high, number.whole)


def round_range(name: str) -> Field:
    """The declared range of a number that changes each round."""
    return range_of(SCALAR, name)


def expert_range(name: str) -> Field:
    """The declared range of a number of an expert."""
    return range_of(EXPERT, name)


def check_numbers(
    recipe: Recipe, frame: Matrix, saved: Numbers, reach: float | None = None
) -> None:
    """Refuse numbers that no game of this learner leads to; their shapes fit already.

    Parameters
    ----------
    recipe
        What the learner is made of.
    frame
        Centre (or lower corner) and upper corner of its domain, shape ``(2, d)``.
    saved
        What was read.
    reach
        On a ball, how far from the centre points may lie: a ball that shrank leaves them outside
        for a while; 0 if the next round is played on a point. The present size unless given.

    Raises
    ------
    ValueError
        Names the number and where it stands.
    """
    experts, now, settings = saved.experts, saved.scalars, saved.settings
    for name in saved_names(SCALAR):
        check(f"scalars.{name}", now[name], range_of(SCALAR, name))
    for name in saved_names(EXPERT):
        check(f"experts.{name}", experts[name], range_of(EXPERT, name))
    for name in saved_names(SETTING):
        check(f"settings.{name}", settings[name], range_of(SETTING, name))
    check("last_row", saved.last_row, ROW)
    for name, values, allowed in (
        ("points", saved.points, SIGNED),
        ("dual_sum", saved.dual_sum, DUAL_SUM),
    ):
        if values is not None:
            check(name, values, allowed)
    size = settings["domain_size"]
    steepest = float(max(abs(now["field_slope"]), np.abs(experts["field_slope"]).max()))
    check(
        "squared gradients",
        steepest * steepest * float(now["last_squared_norm"]),
        Field(0.0, LONGEST_SQUARE),
    )
    if settings["uses_domain_scale"] == 1.0:
        _require_gauge(now, experts["squared_error_sum"])
    # A guess that is doubled never falls below the first one; other levels begin at 0.
    check("scalars.rate_level", now["rate_level"], Field(recipe.level * (1.0 - SLACK), VAST))
    _equal("a diameter", settings["diameter"], recipe.config[SETTING.diameter_per_size] * size)
    _equal("a norm of the last row", now["last_squared_norm"], saved.last_row @ saved.last_row)
    _equal("weights", experts["weight"].sum(), 1.0)
    _equal("corners of the domain", saved.frame, frame)
    losses = experts["cumulative"]
    if not abs(now["least_cumulative"] - losses.min()) <= SLACK * np.abs(losses).max():
        raise ValueError(
            f"state['least_cumulative'] must be the least loss {losses.min():g}, got "
            f"{now['least_cumulative']:g}. {DAMAGED}"
        )
    _require_pool(recipe, now["rounds"], experts, settings["uses_domain_scale"] == 1.0)
    _require_inside(recipe, saved, size if reach is None else max(reach, size) if reach else 0.0)


def _equal(name: str, found: Any, wanted: Any) -> None:
    with np.errstate(all="ignore"):
        right = np.abs(found - wanted) <= TINIEST + SLACK * np.abs(wanted)
    if not right.all():
        raise ValueError(f"state has {name} that do not follow from its other numbers. {DAMAGED}")


def _require_gauge(now: Mapping[str, float], energy: Vector) -> None:
    """What was measured leads to steps that are numbers: 1 / eta is 2 L m for the capped,
    root(energy) / (c W) for others.
    """
    rho, span = float(now["step_shrink"]), float(now["used_width"])
    check("scalars.step_shrink", rho, Field(1.0, VAST))
    most = VAST / (2.0 * max(rho, AVERAGED_ROUNDS))
    check("scalars.smoothness", now["smoothness"], Field(0.0, most))
    if span != 0.0:
        least = 2.0 * rho**2 * math.sqrt(max(1.0, float(energy.max()))) / VAST
        check("scalars.used_width", span, Field(least, math.inf))


def _require_pool(recipe: Recipe, rounds: float, saved: dict[str, Vector], capped: bool) -> None:
    """The experts that a learner of this make has after so many rounds.

    Two of each kind from the start if one is capped.
    """
    experts, steps = len(saved["weight"]), recipe.steps
    if recipe.config[SETTING.grows]:
        pairs = experts // 2
        least = (4 if capped else 1) if rounds == 0 else 1 + 2 * rounds
        if (
            experts % 2
            or experts > MOST_EXPERTS
            or 4.0 ** (pairs - 1) < least
            or (pairs > 1 and 4.0 ** (pairs - 2) >= least)
        ):
            raise ValueError(f"state has {experts} experts after {rounds:g} rounds. {DAMAGED}")
        steps = np.repeat(0.5 * 2.0 ** np.arange(pairs), 2)
    else:
        _equal("priors", saved["log_prior"], np.log(recipe.prior))
    _equal("step sizes", saved["step_size"], steps)


def _require_inside(recipe: Recipe, saved: Numbers, reach: float) -> None:
    """Points within the domain."""
    experts, points = saved.experts, saved.points.astype(np.float64)
    if not recipe.on_ball:
        if recipe.config[SETTING.domain] == BOX:
            inside = (points >= recipe.frame[0] - SLACK * reach) & (
                points <= recipe.frame[1] + SLACK * reach
            )
        else:
            inside = (points >= -SLACK * reach) & (
                abs(points.sum(axis=1, keepdims=True) - reach) <= SLACK * reach
            )
        farthest = 0.0 if inside.all() else np.inf
    else:
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # points whose squares are no numbers lie outside
            base = experts["scale"] * (
                points + np.multiply.outer(saved.last_row, experts["pending_update"])
            )
            ahead = experts["lookahead_scale"] * base - np.multiply.outer(
                saved.last_row, experts["lookahead_step"]
            )
            farthest = float(
                np.sqrt([(where * where).sum(axis=0) for where in (base, ahead)]).max()
            )
    if not farthest <= reach * (1.0 + SLACK):
        raise ValueError(f"state has points outside the domain. {DAMAGED}")


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
            f"{short_repr(told)}. Load an earlier state."
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
