"""Pages of the keys of a bucket, and the numbers by which Spark spreads buckets evenly.

A bucket is a group of keys whose rows Spark gives to one call of a processor. HASH_BITS, the digest
and both formats of bytes are part of saved states: they cannot change.

The first bits of the hash of a key determine its page. The list of the pages (how many bits, and
which) takes a few bytes a page. A micro-batch reads the list and the pages of its keys, and writes
the pages whose keys have learned.

Spark sends a bucket to the partition ``hash(number) mod P``, where the hash of a whole number is
Murmur3. When 64 numbers are hashed into 16 partitions, a partition may get four times its share. So
the number of bucket b is the one whose hash is b: it then goes to partition b mod P. There is one
such number for each b, as each step of Murmur3 of 32 bits can be inverted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np

MAX_KEYS = 32
"""Keys of a page before it is split. More keys are more bytes to write; fewer, a longer list."""
HASH_BITS = 48
"""Bits of a hash that pages use. Keys that agree in all of them share a page."""


class KeyPage(NamedTuple):
    """All keys whose hashes begin with these bits."""

    depth: int
    """Number of bits."""
    bits: int

    @property
    def name(self) -> str:
        """The name of its entry in the state."""
        return f"{self.depth}:{self.bits:x}"

    def half_of(self, key: str) -> KeyPage:
        """The half of this page that a key belongs to."""
        return KeyPage(self.depth + 1, _hash(key) >> (HASH_BITS - self.depth - 1))


@final
class Pages:
    """The pages of a bucket.

    Parameters
    ----------
    saved
        What ``to_bytes`` wrote; one page with all keys unless given.
    """

    def __init__(self, saved: bytes | None = None) -> None:
        numbers = [0, 0] if saved is None else np.frombuffer(saved, "<u8").tolist()
        self.all = {
            KeyPage(depth, bits) for depth, bits in zip(numbers[::2], numbers[1::2], strict=True)
        }

    def to_bytes(self) -> bytes:
        """Return the list of the pages as bytes."""
        return np.array(sorted(self.all), dtype="<u8").tobytes()

    def of(self, keys: Iterable[str]) -> dict[KeyPage, list[str]]:
        """Return the pages of some keys, each with its keys among these."""
        found: dict[KeyPage, list[str]] = {}
        for key in keys:
            code = _hash(key)
            page = next(
                page
                for d in range(HASH_BITS + 1)
                if (page := KeyPage(d, code >> (HASH_BITS - d))) in self.all
            )
            found.setdefault(page, []).append(key)
        return found

    def split(self, page: KeyPage, keys: Iterable[str]) -> dict[KeyPage, list[str]]:
        """Split a page if it has too many keys; return its parts with their keys."""
        keys = list(keys)
        if len(keys) <= MAX_KEYS or page.depth == HASH_BITS:
            return {page: keys}
        self.all.remove(page)
        halves = KeyPage(page.depth + 1, 2 * page.bits), KeyPage(page.depth + 1, 2 * page.bits + 1)
        self.all.update(halves)
        parts: dict[KeyPage, list[str]] = {half: [] for half in halves}
        for key in keys:
            parts[page.half_of(key)].append(key)
        return {
            part: part_keys
            for half, half_keys in parts.items()
            for part, part_keys in self.split(half, half_keys).items()
        }


def keys_to_bytes(keys: Sequence[str]) -> bytes:
    """Write keys: how many they are, their lengths in bytes, their texts."""
    texts = [key.encode() for key in keys]
    return np.array([len(keys), *map(len, texts)], dtype="<u4").tobytes() + b"".join(texts)


def split_keys(data: bytes) -> tuple[list[str], bytes]:
    """Return the keys that :func:`keys_to_bytes` wrote, and the bytes behind them."""
    count = int(np.frombuffer(data, "<u4", 1)[0])
    start = 4 * (count + 1)
    ends = np.cumsum(np.frombuffer(data, "<u4", count, 4), dtype=np.int64) + start
    edges = [start, *ends.tolist()]
    return [data[a:b].decode() for a, b in pairwise(edges)], data[edges[-1] :]


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=HASH_BITS // 8).digest(), "big")


MURMUR3_SEED = np.uint32(42)
"""The seed of Spark's ``hash``."""
TWO_TO_32 = 1 << 32


def murmur3(numbers: Any) -> Any:
    """Spark's ``hash`` of whole numbers of 32 bits."""
    k = np.asarray(numbers, dtype=np.int32).view(np.uint32) * np.uint32(0xCC9E2D51)
    k = _rotate_left(k, 15) * np.uint32(0x1B873593)
    h = _rotate_left(MURMUR3_SEED ^ k, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    h ^= np.uint32(4)  # bytes that were hashed
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (h ^ (h >> np.uint32(16))).view(np.int32)


def partition_key(buckets: Any) -> Any:
    """Whole numbers whose hashes are the buckets: the inverse of :func:`murmur3`."""
    h = np.asarray(buckets, dtype=np.int32).view(np.uint32)
    h = (h ^ (h >> np.uint32(16))) * _inverse_factor(0xC2B2AE35)
    h = (h ^ (h >> np.uint32(13)) ^ (h >> np.uint32(26))) * _inverse_factor(0x85EBCA6B)
    h = h ^ (h >> np.uint32(16)) ^ np.uint32(4)
    h = (h - np.uint32(0xE6546B64)) * _inverse_factor(5)
    k = (_rotate_left(h, 32 - 13) ^ MURMUR3_SEED) * _inverse_factor(0x1B873593)
    return (_rotate_left(k, 32 - 15) * _inverse_factor(0xCC9E2D51)).view(np.int32)


def _rotate_left(numbers: Any, bits: int) -> Any:
    """Rotate whole numbers of 32 bits to the left."""
    return (numbers << np.uint32(bits)) | (numbers >> np.uint32(32 - bits))


def _inverse_factor(factor: int) -> Any:
    """The inverse of an odd factor modulo 2^32."""
    return np.uint32(pow(factor, -1, TWO_TO_32))
