"""Keys of groups that spread buckets evenly over the partitions, whatever their number.

Spark sends a group to the partition ``hash(key) mod P``, where the hash of a whole number is
Murmur3. Of 64 numbers, hashed into 16 partitions, one gets up to four times its share. So groups
are called by other numbers: bucket b by the one whose hash is b, which then goes to partition b mod
P. There is one such number for each b, as Murmur3 of 32 bits can be undone step by step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SEED = np.uint32(42)
"""With which Spark hashes."""
WHOLE = 1 << 32


def hashed(numbers: Any) -> Any:
    """Spark's ``hash`` of whole numbers of 32 bits."""
    k = np.asarray(numbers, dtype=np.int32).view(np.uint32) * np.uint32(0xCC9E2D51)
    k = _turned(k, 15) * np.uint32(0x1B873593)
    h = _turned(SEED ^ k, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    h ^= np.uint32(4)  # bytes that were hashed
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (h ^ (h >> np.uint32(16))).view(np.int32)


def called(buckets: Any) -> Any:
    """The whole numbers whose hashes are these: the way back from :func:`hashed`."""
    h = np.asarray(buckets, dtype=np.int32).view(np.uint32)
    h = (h ^ (h >> np.uint32(16))) * _undone(0xC2B2AE35)
    h = (h ^ (h >> np.uint32(13)) ^ (h >> np.uint32(26))) * _undone(0x85EBCA6B)
    h = h ^ (h >> np.uint32(16)) ^ np.uint32(4)
    h = (h - np.uint32(0xE6546B64)) * _undone(5)
    k = (_turned(h, 32 - 13) ^ SEED) * _undone(0x1B873593)
    return (_turned(k, 32 - 15) * _undone(0xCC9E2D51)).view(np.int32)


def _turned(numbers: Any, bits: int) -> Any:
    """Rotated to the left."""
    return (numbers << np.uint32(bits)) | (numbers >> np.uint32(32 - bits))


def _undone(factor: int) -> Any:
    """The number by which a product with an odd one is undone, modulo 2^32."""
    return np.uint32(pow(factor, -1, WHOLE))
