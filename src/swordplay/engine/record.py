"""A learner on a ball as a row of numbers, for many learners in one table: what predictions need
and, if wanted, certificates.

What only pools that grow, adaptive steps or a schedule of one's own need stays behind: the learners
of a table are of one make, with constant steps, and every round has its schedule. A record has two
blocks: the numbers of the round, in the order of ``ROUND``, and behind what the owner of the record
puts in between, the last features, the experts' numbers in the order of ``EXPERTS``, N of each, and
their coordinates, ``(d, N)``. Where certificates are wanted, the radius of the last round and the
sums of ``PROVEN``, N of each, come last.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swordplay.compile import inline
from swordplay.core.state import ROUNDING_TOLERANCE as SLACK
from swordplay.core.state import Field
from swordplay.core.types import Vector
from swordplay.engine.layout import (
    ADAPTIVE,
    CERTIFICATE,
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
from swordplay.engine.memory import LearnerMemory
from swordplay.engine.rounds import play_planned
from swordplay.engine.saved_state import COORDINATE as SIGNED
from swordplay.engine.saved_state import ROW

__all__ = [
    "EXPERTS",
    "PROVEN",
    "ROUND",
    "ROW",
    "SIGNED",
    "SLACK",
    "Blocks",
    "LearnerArrays",
    "blocks_of",
    "expert_range",
    "play_planned",
    "read",
    "read_experts",
    "read_proof",
    "read_round",
    "round_range",
    "write",
    "write_experts",
    "write_proof",
    "write_round",
]

LEFT_OUT = (
    CERTIFICATE,
    SHARP_CERTIFICATE,
    ADAPTIVE,
    GROWING,
    SCHEDULED,
    MOVEMENT_COST,
    DISPLAY,
)
ROUND = tuple(saved_fields(SCALAR, without=LEFT_OUT))
EXPERTS = tuple(saved_fields(EXPERT, without=LEFT_OUT))
RECIPROCALS = ("inverse_step", "inverse_growth", "inverse_largest")
"""Of the certificate's sums, those that are 1 / step from the first round on where steps are
constant.
"""
PROVEN = tuple(
    name
    for name, declared in saved_fields(EXPERT).items()
    if declared.needed_by == CERTIFICATE and name not in RECIPROCALS
)
_ROUND_PLACES = tuple(SCALAR._fields.index(name) for name in ROUND)
_EXPERT_PLACES = tuple(EXPERT._fields.index(name) for name in EXPERTS)
_RECIPROCAL_PLACES = tuple(EXPERT._fields.index(name) for name in RECIPROCALS)
_PROVEN_PLACES = tuple(EXPERT._fields.index(name) for name in PROVEN)


def round_range(name: str) -> Field:
    """Range of a number that changes each round."""
    return saved_fields(SCALAR)[name].field


def expert_range(name: str) -> Field:
    """Range of a number of an expert."""
    return saved_fields(EXPERT)[name].field


class Blocks(NamedTuple):
    """The parts of a record."""

    round: Vector
    last: Vector
    experts: Vector
    points: Vector
    proof: Vector


def blocks_of(memory: LearnerMemory) -> Blocks:
    """The record of a learner as it is now, part by part."""
    n = memory.expert_count
    return Blocks(
        memory.scalars[list(_ROUND_PLACES)],
        memory.vectors[VECTOR.last_row].copy(),
        memory.experts[list(_EXPERT_PLACES), :n].ravel(),
        np.ascontiguousarray(memory.coordinates[:, :n]).ravel(),
        np.append(memory.settings[SETTING.domain_size], memory.experts[list(_PROVEN_PLACES), :n]),
    )


@inline
def read(record: Vector, at: int, answer: Any, count: int) -> int:
    """Copy the next numbers of a record; returns where it goes on."""
    for i in range(count):
        answer[i] = record[at + i]
    return at + count


@inline
def write(record: Vector, at: int, numbers: Any, count: int) -> int:
    """Copy numbers into a record; returns where it goes on."""
    for i in range(count):
        record[at + i] = numbers[i]
    return at + count


@inline
def read_round(record: Vector, at: int, me: LearnerArrays) -> int:
    """The numbers of the round into the arrays of a learner."""
    for place in _ROUND_PLACES:
        me.scalars[place] = record[at]
        at += 1
    me.scalars[SCALAR.has_prediction] = 0.0
    return at


@inline
def write_round(record: Vector, at: int, me: LearnerArrays) -> int:
    """The numbers of the round into a record."""
    for place in _ROUND_PLACES:
        record[at] = me.scalars[place]
        at += 1
    return at


@inline
def read_experts(record: Vector, at: int, me: LearnerArrays) -> int:
    """Last features, numbers and coordinates into the arrays.

    Padded columns become copies, as ``LearnerMemory.fill_padding`` makes them.
    """
    coords, numbers = me.coordinates, me.experts
    experts, columns = int(me.scalars[SCALAR.expert_count]), numbers.shape[1]
    at = read(record, at, me.vectors[VECTOR.last_row], me.vectors.shape[1])
    for place in _EXPERT_PLACES:
        at = read(record, at, numbers[place], experts)
        for i in range(experts, columns):
            numbers[place, i] = numbers[place, experts - 1]
    for i in range(columns):
        numbers[EXPERT.inverse_scale, i] = 1.0 / numbers[EXPERT.scale, i]
    for i in range(experts, columns):
        numbers[EXPERT.weight, i] = 0.0
    for j in range(coords.shape[0]):
        at = read(record, at, coords[j], experts)
        for i in range(experts, columns):
            coords[j, i] = coords[j, experts - 1]
    return at


@inline
def write_experts(record: Vector, at: int, me: LearnerArrays) -> int:
    """Last features, numbers and coordinates into a record."""
    experts = int(me.scalars[SCALAR.expert_count])
    at = write(record, at, me.vectors[VECTOR.last_row], me.vectors.shape[1])
    for place in _EXPERT_PLACES:
        at = write(record, at, me.experts[place], experts)
    for j in range(me.coordinates.shape[0]):
        at = write(record, at, me.coordinates[j], experts)
    return at


@inline
def read_proof(record: Vector, at: int, me: LearnerArrays) -> int:
    """The certificate's sums into the arrays."""
    experts, columns = int(me.scalars[SCALAR.expert_count]), me.experts.shape[1]
    me.settings[SETTING.domain_size] = record[at]
    at += 1
    for place in _PROVEN_PLACES:
        at = read(record, at, me.experts[place], experts)
        for i in range(experts, columns):
            me.experts[place, i] = me.experts[place, experts - 1]
    for place in _RECIPROCAL_PLACES:
        for i in range(columns):
            me.experts[place, i] = (
                1.0 / me.experts[EXPERT.step_size, i] if me.scalars[SCALAR.rounds] > 0.0 else 0.0
            )
    (
        me.experts[EXPERT.squared_norm_change],
        me.experts[EXPERT.weighted_norm_change],
        me.experts[EXPERT.max_dual_norm],
    ) = (
        0.0,
        0.0,
        0.0,
    )  # of steps that change
    # A record does not tell how far an expert has been: not beyond the domain of its last round.
    me.experts[EXPERT.max_squared_norm] = (
        me.settings[SETTING.domain_size] * me.settings[SETTING.domain_size]
    )
    return at


@inline
def write_proof(record: Vector, at: int, me: LearnerArrays) -> int:
    """The certificate's sums into a record."""
    record[at] = me.settings[SETTING.domain_size]
    at += 1
    for place in _PROVEN_PLACES:
        at = write(record, at, me.experts[place], int(me.scalars[SCALAR.expert_count]))
    return at
