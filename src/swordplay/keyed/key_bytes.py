"""The state of keys as bytes: one format for a folder, for Spark and for ``swordplay track``.

The bytes hold any number of keys, one or a million: a header, then arrays over all keys, one after
the other. Everything is numbers of eight bytes. Of the first rows of a key only those are written
that it has.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.types import Matrix
from swordplay.engine.column_stats import WARM_UP
from swordplay.keyed.record_layout import RecordLayout, WarmUpRows

HEADER = struct.Struct("<8sQQQ")
"""Digest of the settings, number of keys, number of first rows, numbers of a key's intervals."""
COMPRESSION_LEVEL = 1
"""More effort saves a hundredth and takes half as long again."""
MAX_BYTES = 1 << 31
"""Bytes of one key at the most: damaged bytes could ask for any amount of memory."""


class OtherSettings(ValueError):
    """A state was saved with other settings."""


class KeyStates(NamedTuple):
    """All that is known of K keys, in arrays."""

    last_seen: Any
    """Time or order of the last row that each has learned, shape ``(K,)``."""
    first_rows: Any
    """1 more than the number of first rows of each key; 0 if it needs none. Shape ``(K,)``."""
    records: list[Matrix]
    """Of each model of a key, shape ``(K, numbers)``."""
    warm_up: list[WarmUpRows]
    """Of each model, the first rows of those keys that need them."""
    calibrations: Matrix
    """Of the probabilities of three classes or more, shape ``(K, numbers)``."""
    class_counts: Any
    """Rows learned of each class, shape ``(K, classes)``."""
    intervals: Matrix
    """Shape ``(K, numbers)``; no numbers where there are no intervals."""


def join(parts: Sequence[KeyStates]) -> KeyStates:
    """Return the states of all keys of several parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    last_seen, first_rows, records, warm_up, calibrations, class_counts, intervals = zip(
        *parts, strict=True
    )
    return KeyStates(
        np.concatenate(last_seen),
        np.concatenate(first_rows),
        [np.concatenate(of_model) for of_model in zip(*records, strict=True)],
        [
            WarmUpRows(*map(np.concatenate, zip(*of_model, strict=True)))
            for of_model in zip(*warm_up, strict=True)
        ],
        np.concatenate(calibrations),
        np.concatenate(class_counts),
        np.concatenate(intervals),
    )


def split(states: KeyStates) -> Iterator[KeyStates]:
    """Yield the state of each key."""
    places = np.cumsum(states.first_rows > 0)  # behind the first rows of each key
    for k, stop in enumerate(places.tolist()):
        start = stop - int(states.first_rows[k] > 0)
        yield KeyStates(
            states.last_seen[k : k + 1],
            states.first_rows[k : k + 1],
            [records[k : k + 1] for records in states.records],
            [WarmUpRows(*(part[start:stop] for part in first)) for first in states.warm_up],
            states.calibrations[k : k + 1],
            states.class_counts[k : k + 1],
            states.intervals[k : k + 1],
        )


def to_bytes(states: KeyStates, digest: bytes) -> bytes:
    """Write keys.

    Parameters
    ----------
    states
        The keys.
    digest
        Eight bytes that stand for their settings.
    """
    held = states.first_rows[states.first_rows > 0] - 1
    header = HEADER.pack(digest, len(states.last_seen), int(held.sum()), states.intervals.shape[1])
    first: list[Any] = []
    if len(held):
        used = np.arange(WARM_UP) < held[:, None]
        first = [part[used] for warm_up in states.warm_up for part in warm_up]
    arrays = [
        states.last_seen,
        states.first_rows,
        *states.records,
        *first,
        states.calibrations,
        states.class_counts,
        states.intervals,
    ]
    return b"".join([header, *(np.ascontiguousarray(array).tobytes() for array in arrays)])


def from_bytes(
    data: bytes,
    keys: int,
    layout: RecordLayout,
    calibration: int,
    digests: tuple[bytes, ...] | None,
) -> KeyStates:
    """Read the bytes of keys; the numbers in them are not checked.

    Parameters
    ----------
    data, keys
        The bytes, and the number of keys that they are to hold.
    layout, calibration
        Of their records, and the numbers of a calibration.
    digests
        Digests of settings that are accepted; None for all.

    Raises
    ------
    OtherSettings
        If the keys were saved with other settings.
    ValueError
        If these are not the bytes of so many keys.
    """
    if len(data) < HEADER.size:
        raise damaged(len(data), keys)
    digest, count, rows, interval = HEADER.unpack_from(data)
    if digests is not None and digest not in digests:
        raise OtherSettings(
            "the state of the keys was saved with other settings. Go on with the key, features, "
            "target, order, loss, classes, lags, curves and buckets of the first start, or begin "
            "anew."
        )
    settings, position = layout.settings, HEADER.size

    def take(dtype: Any, *shape: int) -> Any:
        nonlocal position
        size = 1
        for length in shape:  # Python's integers: damaged ones would overflow numpy's
            size *= length
        if position + 8 * size > len(data):
            raise damaged(len(data), keys)
        array = np.frombuffer(data, dtype, size, position).reshape(shape)
        position += array.nbytes
        return array

    if count != keys:
        raise damaged(len(data), keys)
    last_seen, first_rows = take(np.int64, count), take(np.int64, count)
    held = first_rows[first_rows > 0] - 1
    if first_rows.min(initial=0) < 0 or held.max(initial=0) > WARM_UP or held.sum() != rows:
        raise damaged(len(data), keys)
    records = [take(np.float64, count, layout.size) for _ in range(settings.models)]
    warm_up = [layout.warm_up_rows(len(held)) for _ in range(settings.models)]
    if len(held):
        used = np.arange(WARM_UP) < held[:, None]
        for room in warm_up:
            for part in room:
                part[used] = take(np.float64, rows, part.shape[2])
    calibrations = take(np.float64, count, calibration)
    class_counts = take(np.int64, count, settings.classes)
    intervals = take(np.float64, count, interval)
    if position != len(data):
        raise damaged(len(data), keys)
    return KeyStates(last_seen, first_rows, records, warm_up, calibrations, class_counts, intervals)


def compress(data: bytes) -> bytes:
    """Compress the bytes of keys.

    The first bytes of all numbers come first, then the second bytes and so on: signs and exponents
    are much alike.
    """
    planes = np.frombuffer(data, np.uint8).reshape(-1, 8).T
    return zlib.compress(planes.tobytes(), COMPRESSION_LEVEL)


def decompress(data: bytes) -> bytes:
    """Undo :func:`compress`.

    Raises
    ------
    ValueError
        If the bytes are damaged.
    """
    try:
        planes = np.frombuffer(zlib.decompressobj().decompress(data, MAX_BYTES), np.uint8)
        return planes.reshape(8, -1).T.tobytes()
    except (zlib.error, ValueError) as error:
        raise ValueError(f"a state of {len(data)} bytes cannot be read ({error}).") from error


def damaged(size: int, keys: int) -> ValueError:
    """Return the error for bytes that are not the state of so many keys."""
    return ValueError(
        f"a state of {size} bytes for {keys} key(s) is damaged. Go back to an earlier checkpoint."
    )
