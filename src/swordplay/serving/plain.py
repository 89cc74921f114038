"""Batches that are plain tables are read at once: rows of the same columns with nothing but numbers, and their answers.

Whatever is not plainly right is read row by row (see ``requests``), which finds out what is wrong with it and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeVar

import msgspec
import numpy as np

from swordplay.estimators.plain_rows import PlainRows
from swordplay.serving.limits import LONGEST_NAME, Limits

SMALL = 64
"""Rows of an ask that is no batch: it may be done together with others, and its rows are recognised one by one."""
OURS = "#"
"""What ids begin with that the server gives."""
WRONG = (msgspec.MsgspecError, ValueError, RecursionError)
"""What a body raises that is not of the kind that is looked for; UnicodeDecodeError is a ValueError."""

Row = TypeVar("Row")


class AskedRow(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A row to predict; whole numbers become floats."""

    x: dict[str, float]
    id: str | None = None
    key: str = ""


class ToldRow(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An answer."""

    id: str
    y: float | int | bool | str
    key: str = ""


_asked, _told = msgspec.json.Decoder(AskedRow), msgspec.json.Decoder(ToldRow)
_all_asked, _all_told = msgspec.json.Decoder(list[AskedRow]), msgspec.json.Decoder(list[ToldRow])


def asked(body: bytes, lines: bool, limits: Limits) -> tuple[str, list[str | None], PlainRows] | None:
    """Key, ids and rows of a batch of one series, with an id each or all without; None if it is anything else."""
    rows = _decoded(_all_asked, _asked, body, lines)
    if rows is None or not SMALL < len(rows) <= limits.rows:
        return None
    tables, ids, key = [row.x for row in rows], [row.id for row in rows], rows[0].key
    names = list(tables[0])
    if not 0 < len(names) <= limits.columns or not are_names(names) or not _is_one(key, [row.key for row in rows]):
        return None
    if [list(x) for x in tables].count(names) != len(tables):
        return None
    if ids.count(None) != len(ids) and (not are_names(ids) or OURS in {name[0] for name in ids if name}):
        return None
    values = np.fromiter(chain.from_iterable([x.values() for x in tables]), np.float64, len(rows) * len(names))
    return key, ids, PlainRows(names, values.reshape(len(rows), len(names)))


def told(body: bytes, lines: bool, limits: Limits) -> tuple[str, list[str], list[Any]] | None:
    """Key, ids and answers of a batch of one series; None if it is anything else."""
    rows = _decoded(_all_told, _told, body, lines)
    if rows is None or not 1 < len(rows) <= limits.rows:
        return None
    ids, values, key = [row.id for row in rows], [row.y for row in rows], rows[0].key
    texts = [value for value in values if type(value) is str]
    if not are_names(ids) or (texts and not are_names(texts)) or not _is_one(key, [row.key for row in rows]):
        return None
    return key, ids, values


def are_names(values: Sequence[Any]) -> bool:
    """Whether all are short texts without control characters."""
    if set(map(type, values)) != {str}:
        return False
    sizes = set(map(len, values))
    return min(sizes) > 0 and max(sizes) <= LONGEST_NAME and "".join(values).isprintable()


def _decoded(
    whole: msgspec.json.Decoder[list[Row]], each: msgspec.json.Decoder[Row], body: bytes, lines: bool
) -> list[Row] | None:
    try:
        if lines:
            return [each.decode(line) for line in body.split(b"\n") if line.strip()]
        return whole.decode(body) if body[:1] == b"[" else None
    except WRONG:
        return None


def _is_one(key: str, keys: list[str]) -> bool:
    return keys.count(key) == len(keys) and (key == "" or are_names([key]))
