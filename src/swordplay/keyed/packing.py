"""The state of one key as bytes: its records, and of its first rows as many as it has.

The bytes of the numbers are sorted by their places in a number and then compressed: signs and
exponents are much alike. A key with three rows and ten columns then takes 700 bytes, and one that
has grown three quarters of its numbers.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from swordplay.engine.column_stats import WARM_UP
from swordplay.keyed.folder import Key, Row
from swordplay.keyed.group import Group, Piece
from swordplay.keyed.record import Young

START = struct.Struct("<B")
"""0 for a key that needs its first rows no more, else one more than it has.

Or SQUEEZED, and all of it compressed.
"""
SQUEEZED, LEVEL = 255, 1
"""The mark of a compressed state, and how hard to try: harder saves a hundredth and takes half
as long again.
"""
LARGEST = 1 << 31
"""Bytes of a state at the most: a damaged one could ask for any amount of memory."""


def packed(group: Group, numbers: Any, tallies: Any) -> Iterator[Row]:
    """The states of some keys, given by their numbers.

    Parameters
    ----------
    tallies
        Rows learned of each class, shape ``(K, classes)``, for all keys.
    """
    names, held = list(group.places), group.first_rows(numbers)
    for number, count in zip(numbers.tolist(), held.tolist(), strict=True):
        parts = [START.pack(count)]
        for record, first in group.record(number):
            parts.append(record.tobytes())
            if count:
                parts += [first.rows[: count - 1].tobytes(), first.targets[: count - 1].tobytes()]
        yield Row(
            names[number],
            int(group.orders[number]),
            squeezed(b"".join([*parts, tallies[number].tobytes()])),
        )


def squeezed(state: bytes) -> bytes:
    """A state, compressed."""
    numbers = np.frombuffer(state, np.uint8, offset=START.size).reshape(-1, 8).T.tobytes()
    return START.pack(SQUEEZED) + state[: START.size] + zlib.compress(numbers, LEVEL)


def plain(state: bytes) -> bytes:
    """The way back.

    Raises
    ------
    ValueError
        If it is none.
    """
    if state[: START.size] != START.pack(SQUEEZED):
        return state
    try:
        wide = zlib.decompressobj()
        numbers = wide.decompress(state[2 * START.size :], LARGEST)
        sorted_ = np.frombuffer(numbers, np.uint8).reshape(8, -1)
    except (zlib.error, ValueError) as error:
        raise ValueError(f"a state of {len(state)} bytes cannot be read ({error}).") from error
    return state[START.size : 2 * START.size] + sorted_.T.tobytes()


def fits(group: Group, row: Row, classes: int) -> bool:
    """Whether a state is as long as that of such a key is."""
    try:
        state = plain(row.state)
    except ValueError:
        return False
    return (
        bool(state) and state[0] <= WARM_UP + 1 and len(state) == _length(group, state[0], classes)
    )


def _length(group: Group, held: int, classes: int) -> int:
    """Bytes of the state of a key with so many first rows, and one more.

    0 if it needs none any more.
    """
    form = group.form
    return START.size + 8 * (
        group.models * (len(form.fresh) + max(held - 1, 0) * (form.dim + form.lags + 1)) + classes
    )


def unpacked(group: Group, rows: Sequence[Row], classes: int) -> tuple[Piece, Any]:
    """Keys with all that is known of them, and their tallies.

    Raises
    ------
    ValueError
        If a state is not one of such keys.
    """
    form, models = group.form, group.models
    width, count = len(form.fresh), len(rows)
    records, firsts = (
        [np.empty((count, width)) for _ in range(models)],
        [form.young(count) for _ in range(models)],
    )
    young, tallies = np.zeros(count, dtype=bool), np.zeros((count, classes), dtype=np.int64)
    shapes = [(room.shape[2]) for room in firsts[0]]
    for place, row in enumerate(row._replace(state=plain(row.state)) for row in rows):
        held = row.state[0] if row.state else WARM_UP + 2  # nothing at all is nobody's state
        kept = max(held - 1, 0)
        if held > WARM_UP + 1 or len(row.state) != _length(group, held, classes):
            raise ValueError(
                f"the state of key {row.key!r} has {len(row.state)} bytes, which is not what such "
                "a key has."
            )
        numbers, at = (
            np.frombuffer(row.state, np.float64, models * (width + kept * sum(shapes)), START.size),
            0,
        )
        young[place] = held > 0
        for k in range(models):
            records[k][place] = numbers[at : at + width]
            at += width
            for room, columns in zip(firsts[k], shapes, strict=True):
                room[place, :kept] = numbers[at : at + kept * columns].reshape(kept, columns)
                at += kept * columns
        tallies[place] = np.frombuffer(row.state, np.int64, classes, START.size + 8 * at)
    firsts = [Young(*(first[young] for first in every)) for every in firsts]
    for some, first in zip(records, firsts, strict=True):
        form.check_records(some, young, first)
    names: list[Key] = [row.key for row in rows]
    return Piece(
        names, np.array([row.seen for row in rows], dtype=np.int64), young, records, firsts
    ), tallies
