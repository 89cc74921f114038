"""Checkpoints as an adversary or a bad disk would make them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from swordplay.core import checkpoint

START_STRUCT, DIGEST_SIZE = checkpoint.START_STRUCT, checkpoint.DIGEST_SIZE


def sealed(header: Any, payload: bytes = b"", version: int = checkpoint.FORMAT_VERSION) -> bytes:
    """Bytes with any header at all, whose lengths and checksum are right."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    size = START_STRUCT.size + len(text) + len(payload) + DIGEST_SIZE
    content = START_STRUCT.pack(checkpoint.MAGIC, version, len(text), size) + text + payload
    return content + hashlib.sha256(content).digest()


def resealed(data: bytes) -> bytes:
    """Mutated bytes with a start and a checksum that fit them again, as far as there is room for
    these.
    """
    header_size = (
        START_STRUCT.unpack(data[: START_STRUCT.size])[2] if len(data) >= START_STRUCT.size else 0
    )
    body = data[START_STRUCT.size : len(data) - DIGEST_SIZE]
    content = (
        START_STRUCT.pack(
            checkpoint.MAGIC,
            checkpoint.FORMAT_VERSION,
            header_size,
            START_STRUCT.size + len(body) + DIGEST_SIZE,
        )
        + body
    )
    return content + hashlib.sha256(content).digest()


def mutated(data: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Another sequence of bytes: flips, blocks lost, doubled, zeroed or moved, pieces of another
    checkpoint.
    """
    while True:
        result = MUTATIONS[rng.integers(len(MUTATIONS))](bytearray(data), other, rng)
        if result != data and result != other:
            return bytes(result)


def _block(size: int, rng: np.random.Generator) -> slice:
    first = int(rng.integers(size))
    return slice(first, first + 1 + int(rng.integers(min(64, size - first))))


def _flip(data: bytearray, other: bytes, rng: np.random.Generator) -> bytearray:
    for _ in range(rng.integers(1, 4)):
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
    return data


def _overwrite(data: bytearray, other: bytes, rng: np.random.Generator) -> bytearray:
    block = _block(len(data), rng)
    data[block] = (
        rng.bytes(block.stop - block.start)
        if rng.random() < 0.5
        else bytes(block.stop - block.start)
    )
    return data


def _remove(data: bytearray, other: bytes, rng: np.random.Generator) -> bytearray:
    del data[_block(len(data), rng)]
    return data


def _insert(data: bytearray, other: bytes, rng: np.random.Generator) -> bytearray:
    place = int(rng.integers(len(data) + 1))
    data[place:place] = (
        data[_block(len(data), rng)] if rng.random() < 0.5 else rng.bytes(1 + int(rng.integers(64)))
    )
    return data


def _truncate(data: bytearray, other: bytes, rng: np.random.Generator) -> bytearray:
    return data[: rng.integers(len(data))]


def _swap(data: bytearray, other: bytes, rng: np.random.Generator) -> bytearray:
    one, two = _block(len(data), rng), _block(len(data), rng)
    data[one], data[two] = data[two], data[one]
    return data


def _splice(data: bytearray, other: bytes, rng: np.random.Generator) -> bytearray:
    """The beginning of one and the end of the other: what a file written in place would be after
    a crash.
    """
    place = int(rng.integers(min(len(data), len(other)) + 1))
    return data[:place] + other[place:]


def _concatenate(data: bytearray, other: bytes, rng: np.random.Generator) -> bytearray:
    return data + other


MUTATIONS = (_flip, _overwrite, _remove, _insert, _truncate, _swap, _splice, _concatenate)
