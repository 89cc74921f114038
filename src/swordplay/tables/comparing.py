"""Read again what an earlier run has read, and compare it with the digests that the run saved."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from swordplay.tables.digests import LEAST_BYTES, TextDigest, agreed_place
from swordplay.tables.errors import TableChanged, changed
from swordplay.tables.source import STANDARD_INPUT, Source
from swordplay.tables.table import Position
from swordplay.tables.text_format import Format

BLOCK = 1 << 22
"""Bytes of text that are read at a time."""


def read_again(
    source: Source, format: Format, position: Position, progress: Callable[[float], None]
) -> tuple[TextDigest, bytes]:
    """Read a text up to a position.

    Parameters
    ----------
    source
        The text from its beginning; it stands at the position afterwards.
    format
        How rows are written.
    position
        Where an earlier reading got to.
    progress
        Is called with the share that is compared, from 0 to 1.

    Returns
    -------
    tuple[TextDigest, bytes]
        The digest of the text in front of the position, and its last byte.

    Raises
    ------
    TableChanged
        If the text is another one or shorter; counts the rows in front of the last place at which
        it agrees.
    """
    if source.live or source.name == STANDARD_INPUT:
        return _read_again(source, format, position, progress, is_counting=True)
    try:
        return _read_again(source, format, position, progress, is_counting=False)
    except (
        TableChanged
    ):  # the rows are counted on a second pass, as that takes longer than all else
        with contextlib.closing(Source(source.name, source.encoding)) as again:
            return _read_again(again, format, position, progress, is_counting=True)


def _read_again(
    source: Source,
    format: Format,
    position: Position,
    progress: Callable[[float], None],
    *,
    is_counting: bool,
) -> tuple[TextDigest, bytes]:
    """The same, once; rows are counted for the error only if ``is_counting``."""
    head = b""
    while len(head) < position.start and (data := _taken(source, position.start - len(head))):
        head += data
    digest, size = TextDigest(head), position.offset - position.start
    rows = shared = 0
    carry, last, agrees = b"", head[-1:], len(head) == position.start
    while (
        agrees and digest.count < size and (data := _taken(source, min(BLOCK, size - digest.count)))
    ):
        digest.add(data)
        block, last = carry + data, data[-1:]
        begin, prefixes = digest.count - len(block), digest.digests.prefix_digests
        place = agreed_place(prefixes, position.prefix_digests, LEAST_BYTES)
        if is_counting and place > begin:
            shared = rows + _records(format, block[: place - begin])
        agrees = position.prefix_digests.startswith(prefixes)
        if is_counting:
            end = format.cut(block)
            rows, carry = rows + _records(format, block[:end]), block[end:]
        progress(digest.count / size)
    is_shorter = agrees and digest.count < size
    if not agrees or is_shorter or digest.digests.fingerprint != position.fingerprint:
        raise changed(source.name, position.row, shared, is_shorter=is_shorter)
    return digest, last


def _taken(source: Source, size: int) -> bytes:
    """At most so many bytes; none at the end."""
    data = source.read(size)
    if len(data) > size:  # decoding may return more than was asked for
        source.unread(data[size:])
    return data[:size]


def _records(format: Format, text: bytes) -> int:
    """Complete records of a text that begins with one."""
    end = format.cut(text)
    return len(format.split(text[:end])[0]) if end else 0
