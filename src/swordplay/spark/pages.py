"""Pages of keys: each holds a few dozen of them, and is split in two when it is full.

Which page a key is on is told by the first bits of its hash. The list of the pages that there are
(how many bits, and which) is a few bytes a page, so that a micro-batch reads the list and the pages
that its keys are on, and writes those again on which somebody has learned.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple, final

import numpy as np

MOST = 32
"""Keys of a page before it is split: the more, the more is written again for one of them.

The fewer, the longer the list.
"""
DEEPEST = 48
"""Bits of a hash by which keys are told apart.

Keys beyond, which no one has ever seen, share a page however many they are.
"""


class Page(NamedTuple):
    """All keys whose hashes begin with these bits."""

    depth: int
    """How many bits."""
    bits: int

    @property
    def name(self) -> str:
        """Under which it is kept."""
        return f"{self.depth}:{self.bits:x}"

    def of(self, key: str) -> Page:
        """The half of this page that a key belongs to."""
        return Page(self.depth + 1, _hash(key) >> (DEEPEST - self.depth - 1))


@final
class Pages:
    """The pages of a bucket.

    Parameters
    ----------
    saved
        What ``dumps`` wrote; one page with all keys unless given.
    """

    def __init__(self, saved: bytes | None = None) -> None:
        numbers = [0, 0] if saved is None else np.frombuffer(saved, "<u8").tolist()
        self.all = {
            Page(depth, bits) for depth, bits in zip(numbers[::2], numbers[1::2], strict=True)
        }

    def dumps(self) -> bytes:
        """The list of the pages as bytes."""
        return np.array(sorted(self.all), dtype="<u8").tobytes()

    def of(self, keys: Iterable[str]) -> dict[Page, list[str]]:
        """The keys on each page that one of them is on."""
        found: dict[Page, list[str]] = {}
        for key in keys:
            code = _hash(key)
            page = next(
                page
                for d in range(DEEPEST + 1)
                if (page := Page(d, code >> (DEEPEST - d))) in self.all
            )
            found.setdefault(page, []).append(key)
        return found

    def split(self, page: Page, keys: Iterable[str]) -> dict[Page, list[str]]:
        """The pages that take the place of one with these keys: itself, if it is not too full."""
        keys = list(keys)
        if len(keys) <= MOST or page.depth == DEEPEST:
            return {page: keys}
        self.all.remove(page)
        halves = Page(page.depth + 1, 2 * page.bits), Page(page.depth + 1, 2 * page.bits + 1)
        self.all.update(halves)
        parts: dict[Page, list[str]] = {half: [] for half in halves}
        for key in keys:
            parts[page.of(key)].append(key)
        return {
            small: some
            for half, mine in parts.items()
            for small, some in self.split(half, mine).items()
        }


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=DEEPEST // 8).digest(), "big")
