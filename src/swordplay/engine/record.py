"""Inline functions that copy a learner on a ball into a row of numbers, its record, and back.

A record holds what the next round needs and, if wanted, what certificates need. It leaves out what
only growing pools, adaptive steps or the learner's own schedule need: the learners of a table have
constant steps, and every round is given its schedule. The owner of a record puts its parts in any
order: the numbers of the round (``ROUND``); the last row, the numbers of the N experts
(``EXPERTS``, N of each) and their points ``(d, N)``; and for certificates the radius of the last
round and the sums of ``CERTIFICATE``, N of each.
"""

from __future__ import annotations

from typing import Any

from swordplay.compile import inline
from swordplay.core.state import Field
from swordplay.core.types import Vector
from swordplay.engine import layout
from swordplay.engine.layout import (
    ADAPTIVE,
    DISPLAY,
    EXPERT,
    GROWING,
    MOVEMENT_COST,
    SCALAR,
    SCHEDULED,
    SETTING,
    SHARP_CERTIFICATE,
    VECTOR,
    LearnerArrays,
    saved_fields,
)
from swordplay.engine.rounds import play_planned
from swordplay.engine.saved_state import COORDINATE, ROW

__all__ = [
    "CERTIFICATE",
    "COORDINATE",
    "EXPERTS",
    "ROUND",
    "ROW",
    "LearnerArrays",
    "expert_range",
    "play_planned",
    "read",
    "read_certificate",
    "read_experts",
    "read_round",
    "round_range",
    "write",
    "write_certificate",
    "write_experts",
    "write_round",
]

NOT_IN_ROUND = (
    layout.CERTIFICATE,
    SHARP_CERTIFICATE,
    ADAPTIVE,
    GROWING,
    SCHEDULED,
    MOVEMENT_COST,
    DISPLAY,
)
"""Groups of numbers that the next round of a learner with constant steps does not need."""
ROUND = tuple(saved_fields(SCALAR, without=NOT_IN_ROUND))
EXPERTS = tuple(saved_fields(EXPERT, without=NOT_IN_ROUND))
RECIPROCALS = ("inverse_step", "inverse_growth", "inverse_largest")
"""Sums of the certificate that are 1 / step size from the first round on if steps are constant."""
CERTIFICATE = tuple(
    name
    for name, declared in saved_fields(EXPERT).items()
    if declared.needed_by == layout.CERTIFICATE and name not in RECIPROCALS
)
_ROUND_PLACES = tuple(SCALAR._fields.index(name) for name in ROUND)
_EXPERT_PLACES = tuple(EXPERT._fields.index(name) for name in EXPERTS)
_RECIPROCAL_PLACES = tuple(EXPERT._fields.index(name) for name in RECIPROCALS)
_CERTIFICATE_PLACES = tuple(EXPERT._fields.index(name) for name in CERTIFICATE)


def round_range(name: str) -> Field:
    """Return the range of a number that changes in every round."""
    return saved_fields(SCALAR)[name].field


def expert_range(name: str) -> Field:
    """Return the range of a number of an expert."""
    return saved_fields(EXPERT)[name].field


@inline
def read(record: Vector, at: int, numbers: Any, count: int) -> int:
    """Copy the next numbers of a record; returns the place behind them."""
    for i in range(count):
        numbers[i] = record[at + i]
    return at + count


@inline
def write(record: Vector, at: int, numbers: Any, count: int) -> int:
    """Copy numbers into a record; returns the place behind them."""
    for i in range(count):
        record[at + i] = numbers[i]
    return at + count


@inline
def read_round(record: Vector, at: int, learner: LearnerArrays) -> int:
    """Copy the numbers of the round into a learner; returns the place behind them."""
    for place in _ROUND_PLACES:
        learner.scalars[place] = record[at]
        at += 1
    learner.scalars[SCALAR.has_prediction] = 0.0
    return at


@inline
def write_round(record: Vector, at: int, learner: LearnerArrays) -> int:
    """Copy the numbers of the round into a record; returns the place behind them."""
    for place in _ROUND_PLACES:
        record[at] = learner.scalars[place]
        at += 1
    return at


@inline
def read_experts(record: Vector, at: int, learner: LearnerArrays) -> int:
    """Copy the last row, and numbers and points of the experts, into a learner.

    Padding columns become copies of the last expert, as ``LearnerMemory.fill_padding`` makes them.
    """
    points, experts = learner.coordinates, learner.experts
    count, columns = int(learner.scalars[SCALAR.expert_count]), experts.shape[1]
    at = read(record, at, learner.vectors[VECTOR.last_row], learner.vectors.shape[1])
    for place in _EXPERT_PLACES:
        at = read(record, at, experts[place], count)
        for i in range(count, columns):
            experts[place, i] = experts[place, count - 1]
    for i in range(columns):
        experts[EXPERT.inverse_scale, i] = 1.0 / experts[EXPERT.scale, i]
    for i in range(count, columns):
        experts[EXPERT.weight, i] = 0.0
    for j in range(points.shape[0]):
        at = read(record, at, points[j], count)
        for i in range(count, columns):
            points[j, i] = points[j, count - 1]
    return at


@inline
def write_experts(record: Vector, at: int, learner: LearnerArrays) -> int:
    """Copy the last row, and numbers and points of the experts, into a record."""
    count = int(learner.scalars[SCALAR.expert_count])
    at = write(record, at, learner.vectors[VECTOR.last_row], learner.vectors.shape[1])
    for place in _EXPERT_PLACES:
        at = write(record, at, learner.experts[place], count)
    for j in range(learner.coordinates.shape[0]):
        at = write(record, at, learner.coordinates[j], count)
    return at


@inline
def read_certificate(record: Vector, at: int, learner: LearnerArrays) -> int:
    """Copy the sums of the certificate into a learner; returns the place behind them."""
    experts, settings = learner.experts, learner.settings
    count, columns = int(learner.scalars[SCALAR.expert_count]), experts.shape[1]
    settings[SETTING.domain_size] = record[at]
    settings[SETTING.diameter] = settings[SETTING.diameter_per_size] * record[at]
    at += 1
    for place in _CERTIFICATE_PLACES:
        at = read(record, at, experts[place], count)
        for i in range(count, columns):
            experts[place, i] = experts[place, count - 1]
    has_learned = learner.scalars[SCALAR.rounds] > 0.0
    for place in _RECIPROCAL_PLACES:
        for i in range(columns):
            experts[place, i] = 1.0 / experts[EXPERT.step_size, i] if has_learned else 0.0
    # Sums over steps that change: there are none.
    experts[EXPERT.squared_norm_change] = 0.0
    experts[EXPERT.weighted_norm_change] = 0.0
    experts[EXPERT.max_dual_norm] = 0.0
    # A record does not hold how far an expert has been: not beyond the domain of its last round.
    experts[EXPERT.max_squared_norm] = settings[SETTING.domain_size] * settings[SETTING.domain_size]
    return at


@inline
def write_certificate(record: Vector, at: int, learner: LearnerArrays) -> int:
    """Copy the sums of the certificate into a record; returns the place behind them."""
    record[at] = learner.settings[SETTING.domain_size]
    at += 1
    for place in _CERTIFICATE_PLACES:
        at = write(record, at, learner.experts[place], int(learner.scalars[SCALAR.expert_count]))
    return at
