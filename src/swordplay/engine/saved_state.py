"""Saved state of a compiled learner: its numbers by name, checked before kernels use them.

``experts`` is an array with one row for each number of ``EXPERT`` that is saved, shape ``(F, N)``,
and ``expert_names`` is a text with the names of the rows; ``scalars`` with ``scalar_names`` and
``settings`` with ``setting_names`` are built alike. A state therefore does not depend on the order
of the declarations in ``layout``. Beside them are the last row, the coordinates of the points, the
frame of the domain and, where it is kept, the dual sum S. A learner that loads the state continues
identically.

The number of experts is used as an index of memory, and a number that is not finite would spread to
all others. The ranges of single numbers are declared in ``layout``; :func:`check_numbers` checks
rules over several of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.core.state import DAMAGED, ROUNDING_TOLERANCE, SAME_KIND_REMEDY, Field, check
from swordplay.core.types import Matrix, State, Vector
from swordplay.engine.layout import (
    BOX,
    EXPERT,
    MAX_SQUARE_SUM,
    SCALAR,
    SETTING,
    VECTOR,
    Saved,
    declarations,
    saved_fields,
)
from swordplay.engine.memory import LearnerMemory
from swordplay.engine.recipe import Recipe
from swordplay.parts.experts.step_sizes import AVERAGED_ROUNDS

NAMES = {"experts": "expert_names", "scalars": "scalar_names", "settings": "setting_names"}
"""Entries with numbers, and the entries with the names of these numbers."""
SAVED = {
    "experts": saved_fields(EXPERT),
    "scalars": saved_fields(SCALAR),
    "settings": saved_fields(SETTING),
}
"""Numbers of each entry that a learner loads, by name."""
MAKE_SETTINGS = tuple(
    name for name, declared in declarations(SETTING).items() if not isinstance(declared, Saved)
)
"""Settings that follow from the parts of a learner: equal for learners of one make."""

SMALLEST_SQUARE = 1e-300
"""Squares below this have lost digits."""
MAX_SAVED_SQUARE = 1e151
"""Largest squared gradient of a saved learner: rounds with squares beyond 1e150 are not played."""
COORDINATE = Field(-MAX_SQUARE_SUM, MAX_SQUARE_SUM)
"""Range of coordinates; :func:`_check_inside` then checks the points."""
ROW, DUAL_SUM = Field(-1e81, 1e81), Field(-1e79, 1e79)
"""Ranges of entries of rows and of S: sums of their squares are at most ``MAX_SQUARE_SUM``."""
MAX_EXPERTS = 128
"""Largest number of experts of a growing pool, which has 56 after 2^53 rounds."""


class SavedNumbers(NamedTuple):
    """A saved state after reading, its numbers by name."""

    experts: dict[str, Vector]
    """Each of shape ``(N,)``."""
    scalars: dict[str, float]
    settings: dict[str, float]
    last_row: Vector
    """Shape ``(d,)``."""
    points: Any
    """Coordinates, shape ``(d, N)`` on a ball, else ``(2 N, d)``."""
    frame: Matrix
    """Centre (or lower corner) and upper corner of the domain, shape ``(2, d)``."""
    dual_sum: Matrix | None
    """S of the experts, shape ``(d, N)``; None for learners that do not keep it."""


def state_of(memory: LearnerMemory) -> State:
    """Return the numbers that the next round needs, without padding."""
    n = memory.expert_count
    state: State = {
        "expert_names": " ".join(SAVED["experts"]),
        "experts": memory.experts[_indices(EXPERT, "experts"), :n],
        "scalar_names": " ".join(SAVED["scalars"]),
        "scalars": memory.scalars[_indices(SCALAR, "scalars")],
        "setting_names": " ".join(SETTING._fields),
        "settings": memory.settings.copy(),
        "last_row": memory.vectors[VECTOR.last_row].copy(),
        "points": memory.coordinates[_points_without_padding(memory, n)].copy(),
        "frame": memory.vectors[[VECTOR.center, VECTOR.upper]],
    }
    if memory.keeps_dual_sum:
        state["dual_sum"] = memory.experts[len(EXPERT) :, :n].copy()
    return state


def read(saved: Mapping[str, Any], dtype: Any = np.float64) -> SavedNumbers:
    """Return the numbers of a saved state; shapes fit each other, ranges are not checked.

    Raises
    ------
    ValueError
        Names what is missing or does not fit.
    """
    found = {entry: _by_name(saved, entry) for entry in NAMES}
    wanted: dict[str, Any] = SAVED | {"settings": SETTING._fields}
    missing = [name for entry in NAMES for name in wanted[entry] if name not in found[entry]]
    if missing:
        raise ValueError(f"state lacks {', '.join(missing)}. {SAME_KIND_REMEDY}")
    last_row, frame = _array(saved, "last_row", 1), _array(saved, "frame", 2)
    if frame.shape != (2, len(last_row)):
        raise ValueError(
            f"state['frame'] must have shape {(2, len(last_row))}, got {frame.shape}. Load an "
            "earlier state."
        )
    return SavedNumbers(
        experts=found["experts"],
        scalars={name: float(value) for name, value in found["scalars"].items()},
        settings={name: float(value) for name, value in found["settings"].items()},
        last_row=last_row,
        points=_array(saved, "points", 2, dtype),
        frame=frame,
        dual_sum=_array(saved, "dual_sum", 2) if "dual_sum" in saved else None,
    )


def write(memory: LearnerMemory, numbers: SavedNumbers) -> None:
    """Write checked numbers into the arrays of a learner."""
    n = len(numbers.experts["weight"])
    memory.allocate_dual_sum(numbers.dual_sum is not None)
    memory.reserve(n)
    memory.scalars[SCALAR.expert_count] = n
    for name in SAVED["scalars"]:
        memory.scalars[getattr(SCALAR, name)] = numbers.scalars[name]
    for name in SAVED["settings"]:
        memory.settings[getattr(SETTING, name)] = numbers.settings[name]
    for name in SAVED["experts"]:
        memory.experts[getattr(EXPERT, name), :n] = numbers.experts[name]
    if numbers.dual_sum is not None:
        memory.experts[len(EXPERT) :, :n] = numbers.dual_sum
    memory.vectors[VECTOR.last_row] = numbers.last_row
    memory.coordinates[_points_without_padding(memory, n)] = numbers.points
    memory.derive_fields()
    memory.fill_padding()


def describe(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return rounds, number of experts and effective step size of a saved learner."""
    numbers = read(state)
    weights, step_sizes = numbers.experts["weight"], numbers.experts["step_size"]
    return {
        "rounds": int(numbers.scalars["rounds"]),
        "experts": len(weights),
        "effective step size": float(np.exp(weights @ np.log(step_sizes))),
    }


def is_state(state: Mapping[str, Any]) -> bool:
    """Whether a state looks like one of a compiled learner."""
    return {"scalars", "points"} <= set(state)


# ------------------------------------------------------------------- checks


def check_make(memory: LearnerMemory, numbers: SavedNumbers) -> None:
    """Refuse the state of a learner with other parts, or with arrays of other shapes."""
    for name in MAKE_SETTINGS:
        own, other = float(memory.settings[getattr(SETTING, name)]), numbers.settings[name]
        if other != own:
            raise ValueError(
                f"state was saved by a learner of another make ({name} was {other:g} and is "
                f"{own:g} here). Make this one with the same settings."
            )
    n, dim = len(numbers.experts["weight"]), memory.vectors.shape[1]
    expected: dict[str, tuple[Any, Any]] = {
        "last_row": (numbers.last_row.shape, (dim,)),
        "points": (numbers.points.shape, (dim, n) if memory.recipe.on_ball else (2 * n, dim)),
    }
    if not memory.settings[SETTING.grows]:
        expected["experts"] = ((n,), (memory.expert_count,))
    if numbers.dual_sum is not None:
        rows = dim if memory.settings[SETTING.adaptive_steps] else 0
        expected["dual_sum"] = (numbers.dual_sum.shape, (rows, n))
    for name, (found, wanted) in expected.items():
        if found != wanted:
            raise ValueError(
                f"state[{name!r}] must have shape {wanted}, got {found}. Load it into the same "
                "make."
            )


def check_numbers(
    recipe: Recipe, frame: Matrix, saved: SavedNumbers, reach: float | None = None
) -> None:
    """Refuse numbers that no rounds of this learner lead to; their shapes fit already.

    Parameters
    ----------
    recipe
        What the learner is made of.
    frame
        Centre (or lower corner) and upper corner of its domain, shape ``(2, d)``.
    saved
        The numbers.
    reach
        On a ball, largest distance of points from the centre: a ball that became smaller leaves
        them outside for a while; 0 if the next ball is a point. The saved size unless given.

    Raises
    ------
    ValueError
        Names the number and its place.
    """
    experts, scalars, settings = saved.experts, saved.scalars, saved.settings
    for entry, numbers in (("scalars", scalars), ("experts", experts), ("settings", settings)):
        for name, declared in SAVED[entry].items():
            check(f"{entry}.{name}", numbers[name], declared.field)
    check("last_row", saved.last_row, ROW)
    check("points", saved.points, COORDINATE)
    if saved.dual_sum is not None:
        check("dual_sum", saved.dual_sum, DUAL_SUM)
    slope = float(max(abs(scalars["replayed_slope"]), np.abs(experts["expected_slope"]).max()))
    squared_gradient = slope * slope * float(scalars["last_squared_norm"])
    check("squared gradients", squared_gradient, Field(0.0, MAX_SAVED_SQUARE))
    if settings["uses_domain_scale"] == 1.0:
        _check_scale(scalars, experts["squared_error_sum"])
    # The guess of a doubling rate never falls below the first one; other levels begin at 0.
    least_level = recipe.rate_level * (1.0 - ROUNDING_TOLERANCE)
    check("scalars.rate_level", scalars["rate_level"], Field(least_level, MAX_SQUARE_SUM))
    size = settings["domain_size"]
    diameter = recipe.settings[SETTING.diameter_per_size] * size
    _check_equal("a diameter", settings["diameter"], diameter)
    squared_norm = saved.last_row @ saved.last_row
    _check_equal("a norm of the last row", scalars["last_squared_norm"], squared_norm)
    _check_equal("weights", experts["weight"].sum(), 1.0)
    _check_equal("corners of the domain", saved.frame, frame)
    losses, least = experts["cumulative"], scalars["least_cumulative"]
    if not abs(least - losses.min()) <= ROUNDING_TOLERANCE * np.abs(losses).max():
        raise ValueError(
            f"state['least_cumulative'] must be the least loss {losses.min():g}, got {least:g}. "
            f"{DAMAGED}"
        )
    _check_pool(recipe, scalars["rounds"], experts, settings["uses_domain_scale"] == 1.0)
    if reach is None:
        reach = size
    elif reach > 0.0:
        reach = max(reach, size)
    _check_inside(recipe, saved, reach)


def _check_equal(name: str, found: Any, wanted: Any) -> None:
    """Refuse numbers that differ from those that follow from other numbers."""
    with np.errstate(all="ignore"):
        tolerance = SMALLEST_SQUARE + ROUNDING_TOLERANCE * np.abs(wanted)
        is_equal = np.abs(found - wanted) <= tolerance
    if not is_equal.all():
        raise ValueError(f"state has {name} that do not follow from its other numbers. {DAMAGED}")


def _check_scale(scalars: Mapping[str, float], squared_error_sums: Vector) -> None:
    """Refuse a scale of the domain whose steps would over- or underflow.

    1 / eta is 2 L m for the capped experts, and sqrt(squared_error_sum) / (c W) for the others.
    """
    rho, width = float(scalars["step_shrink"]), float(scalars["used_width"])
    check("scalars.step_shrink", rho, Field(1.0, MAX_SQUARE_SUM))
    max_smoothness = MAX_SQUARE_SUM / (2.0 * max(rho, AVERAGED_ROUNDS))
    check("scalars.smoothness", scalars["smoothness"], Field(0.0, max_smoothness))
    if width != 0.0:
        root = math.sqrt(max(1.0, float(squared_error_sums.max())))
        min_width = 2.0 * rho**2 * root / MAX_SQUARE_SUM
        check("scalars.used_width", width, Field(min_width, math.inf))


def _check_pool(
    recipe: Recipe, rounds: float, saved: dict[str, Vector], uses_domain_scale: bool
) -> None:
    """Refuse a pool that a learner of this make does not have after so many rounds."""
    experts, step_sizes = len(saved["weight"]), recipe.step_sizes
    if recipe.settings[SETTING.grows]:
        pairs = experts // 2
        # fewest pairs with 4^(pairs - 1) >= 1 + 2 t; two from the start if one is capped
        needed = 1 + 2 * rounds if rounds > 0 else 4 if uses_domain_scale else 1
        is_possible = (
            experts % 2 == 0
            and experts <= MAX_EXPERTS
            and 4.0 ** (pairs - 1) >= needed
            and (pairs <= 1 or 4.0 ** (pairs - 2) < needed)
        )
        if not is_possible:
            raise ValueError(f"state has {experts} experts after {rounds:g} rounds. {DAMAGED}")
        step_sizes = np.repeat(0.5 * 2.0 ** np.arange(pairs), 2)
    else:
        _check_equal("priors", saved["log_prior"], np.log(recipe.prior))
    _check_equal("step sizes", saved["step_size"], step_sizes)


def _check_inside(recipe: Recipe, saved: SavedNumbers, reach: float) -> None:
    """Refuse points outside the domain, by more than rounding."""
    experts, points = saved.experts, saved.points.astype(np.float64)
    slack = ROUNDING_TOLERANCE * reach
    if recipe.on_ball:
        # squares that overflow are of points outside
        with np.errstate(over="ignore", invalid="ignore"):
            updates = np.multiply.outer(saved.last_row, experts["pending_update"])
            base = experts["scale"] * (points + updates)
            steps = np.multiply.outer(saved.last_row, experts["lookahead_step"])
            ahead = experts["lookahead_scale"] * base - steps
            squares = [(offset * offset).sum(axis=0) for offset in (base, ahead)]
            is_inside = float(np.sqrt(squares).max()) <= reach + slack
    elif recipe.settings[SETTING.domain] == BOX:
        is_inside = (
            (points >= recipe.frame[0] - slack) & (points <= recipe.frame[1] + slack)
        ).all()
    else:
        totals = points.sum(axis=1, keepdims=True)
        is_inside = ((points >= -slack) & (abs(totals - reach) <= slack)).all()
    if not is_inside:
        raise ValueError(f"state has points outside the domain. {DAMAGED}")


# ------------------------------------------------------------------- entries


def _indices(indices: Any, entry: str) -> list[int]:
    """Return the indices of the saved numbers of an entry."""
    return [getattr(indices, name) for name in SAVED[entry]]


def _points_without_padding(memory: LearnerMemory, n: int) -> Any:
    """Return the index of the coordinates of n experts."""
    if memory.recipe.on_ball:
        return np.s_[:, :n]
    columns = memory.experts.shape[1]
    return np.r_[:n, columns : columns + n]


def _by_name(saved: Mapping[str, Any], entry: str) -> dict[str, Any]:
    """Return the numbers of an entry by their names."""
    text = _entry(saved, NAMES[entry])
    numbers = _array(saved, entry, 2 if entry == "experts" else 1)
    names = text.split() if isinstance(text, str) else []
    has_experts = entry != "experts" or numbers.shape[1] > 0
    if len(names) != len(numbers) or len(set(names)) != len(names) or not has_experts:
        raise ValueError(
            f"state[{NAMES[entry]!r}] must name the {len(numbers)} numbers of state[{entry!r}], "
            f"got {short_repr(text)}. Load an earlier state."
        )
    return dict(zip(names, numbers, strict=True))


def _entry(saved: Mapping[str, Any], name: str) -> Any:
    """Return an entry of a saved state, or refuse a state without it."""
    if name not in saved:
        raise ValueError(f"state lacks {name!r}. {SAME_KIND_REMEDY}")
    return saved[name]


def _array(saved: Mapping[str, Any], name: str, ndim: int, dtype: Any = np.float64) -> Any:
    """Return an entry as a new array of numbers, or refuse it."""
    value = np.array(_entry(saved, name), dtype=dtype)
    if value.ndim != ndim or np.isnan(value).any():
        raise ValueError(f"state[{name!r}] is damaged. Load an earlier one.")
    return value
