"""A learner on a ball as a row of numbers, for many learners in one table: what predictions need
and, if wanted, certificates.

What only pools that grow, adaptive steps or a schedule of one's own need stays behind: the learners
of a table are of one make, with constant steps, and every round has its schedule. A record has two
blocks: the numbers of the round, in the order of ``ROUND``, and behind what the owner of the record
puts in between, the last features, the experts' numbers in the order of ``EXPERTS``, N of each, and
their coordinates, ``(d, N)``. Where certificates are wanted, the radius of the last round and the
sums of ``CERTIFICATE``, N of each, come last.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swordplay.compile import inline
from swordplay.core.types import Vector
from swordplay.engine.layout import (
    ADAPTIVE,
    CHARGED,
    CONFIG,
    EXPERT,
    GROWING,
    LIVE,
    PROOF,
    SCHEDULED,
    SHARPER,
    SHOWN,
    SLACK,
    VECTOR,
    Arrays,
    fields,
    kept_names,
)
from swordplay.engine.memory import Memory
from swordplay.engine.rounds import play_planned
from swordplay.engine.saved_state import ROW, SIGNED, expert_range, round_range

__all__ = [
    "CERTIFICATE",
    "EXPERTS",
    "ROUND",
    "ROW",
    "SIGNED",
    "SLACK",
    "Arrays",
    "Blocks",
    "blocks_of",
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

LEFT_OUT = (PROOF, SHARPER, ADAPTIVE, GROWING, SCHEDULED, CHARGED, SHOWN)
ROUND, EXPERTS = kept_names(LIVE, without=LEFT_OUT), kept_names(EXPERT, without=LEFT_OUT)
RECIPROCALS = ("inverse", "growth", "largest")
"""Of the certificate's sums, those that are 1 / step from the first round on where steps are
constant.
"""
CERTIFICATE = tuple(
    name
    for name in kept_names(EXPERT)
    if fields(EXPERT)[name].when == PROOF and name not in RECIPROCALS
)
_ROUND_PLACES = tuple(LIVE._fields.index(name) for name in ROUND)
_EXPERT_PLACES = tuple(EXPERT._fields.index(name) for name in EXPERTS)
_RECIPROCAL_PLACES = tuple(EXPERT._fields.index(name) for name in RECIPROCALS)
_CERTIFICATE_PLACES = tuple(EXPERT._fields.index(name) for name in CERTIFICATE)


class Blocks(NamedTuple):
    """The parts of a record."""

    round: Vector
    last: Vector
    experts: Vector
    points: Vector
    proof: Vector


def blocks_of(memory: Memory) -> Blocks:
    """The record of a learner as it is now, part by part."""
    n = memory.experts
    return Blocks(
        memory.live[list(_ROUND_PLACES)],
        memory.vectors[VECTOR.last].copy(),
        memory.numbers[list(_EXPERT_PLACES), :n].ravel(),
        np.ascontiguousarray(memory.coords[:, :n]).ravel(),
        np.append(memory.config[CONFIG.size], memory.numbers[list(_CERTIFICATE_PLACES), :n]),
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
def read_round(record: Vector, at: int, me: Arrays) -> int:
    """The numbers of the round into the arrays of a learner."""
    for place in _ROUND_PLACES:
        me.live[place] = record[at]
        at += 1
    me.live[LIVE.prepared] = 0.0
    return at


@inline
def write_round(record: Vector, at: int, me: Arrays) -> int:
    """The numbers of the round into a record."""
    for place in _ROUND_PLACES:
        record[at] = me.live[place]
        at += 1
    return at


@inline
def read_experts(record: Vector, at: int, me: Arrays) -> int:
    """Last features, numbers and coordinates into the arrays.

    Padded columns become copies, as ``Memory.mirror`` makes them.
    """
    coords, numbers = me.coords, me.numbers
    experts, columns = int(me.live[LIVE.experts]), numbers.shape[1]
    at = read(record, at, me.vectors[VECTOR.last], me.vectors.shape[1])
    for place in _EXPERT_PLACES:
        at = read(record, at, numbers[place], experts)
        for i in range(experts, columns):
            numbers[place, i] = numbers[place, experts - 1]
    for i in range(columns):
        numbers[EXPERT.unscale, i] = 1.0 / numbers[EXPERT.scale, i]
    for i in range(experts, columns):
        numbers[EXPERT.weight, i] = 0.0
    for j in range(coords.shape[0]):
        at = read(record, at, coords[j], experts)
        for i in range(experts, columns):
            coords[j, i] = coords[j, experts - 1]
    return at


@inline
def write_experts(record: Vector, at: int, me: Arrays) -> int:
    """Last features, numbers and coordinates into a record."""
    experts = int(me.live[LIVE.experts])
    at = write(record, at, me.vectors[VECTOR.last], me.vectors.shape[1])
    for place in _EXPERT_PLACES:
        at = write(record, at, me.numbers[place], experts)
    for j in range(me.coords.shape[0]):
        at = write(record, at, me.coords[j], experts)
    return at


@inline
def read_certificate(record: Vector, at: int, me: Arrays) -> int:
    """The certificate's sums into the arrays."""
    experts, columns = int(me.live[LIVE.experts]), me.numbers.shape[1]
    me.config[CONFIG.size] = record[at]
    me.config[CONFIG.diameter] = me.config[CONFIG.diameter_per_size] * record[at]
    at += 1
    for place in _CERTIFICATE_PLACES:
        at = read(record, at, me.numbers[place], experts)
        for i in range(experts, columns):
            me.numbers[place, i] = me.numbers[place, experts - 1]
    for place in _RECIPROCAL_PLACES:
        for i in range(columns):
            me.numbers[place, i] = (
                1.0 / me.numbers[EXPERT.step, i] if me.live[LIVE.rounds] > 0.0 else 0.0
            )
    me.numbers[EXPERT.swing], me.numbers[EXPERT.turning], me.numbers[EXPERT.pull] = (
        0.0,
        0.0,
        0.0,
    )  # of steps that change
    # A record does not tell how far an expert has been: not beyond the domain of its last round.
    me.numbers[EXPERT.farthest] = me.config[CONFIG.size] * me.config[CONFIG.size]
    return at


@inline
def write_certificate(record: Vector, at: int, me: Arrays) -> int:
    """The certificate's sums into a record."""
    record[at] = me.config[CONFIG.size]
    at += 1
    for place in _CERTIFICATE_PLACES:
        at = write(record, at, me.numbers[place], int(me.live[LIVE.experts]))
    return at
