"""Batches that are plain tables are read at once: rows of the same columns with nothing but
numbers, and their answers.

Whatever is not plainly right is read row by row (see ``requests``), which finds out what is wrong
with it and says so.
"""

from __future__ import annotations

import functools
import json
import struct
from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeVar

import msgspec
import numpy as np

from swordplay.estimators.dict_columns import NumericRows
from swordplay.serving.bodies import has_names
from swordplay.serving.limits import LONGEST_NAME, Limits

SMALL = 64
"""Rows of an ask that is no batch: it may be done together with others, and its rows are
recognised one by one.
"""
FAR = 16 * 2**10
"""Bytes at the beginning of a batch that are likely to hold as many rows."""
OURS = "#"
"""What ids begin with that the server gives."""
ESCAPED = frozenset('"\\')
"""What columns of a plain table have not in their names, as msgspec would not find these."""
WRONG = (msgspec.MsgspecError, ValueError, RecursionError)
"""What a body raises that is not of the kind that is looked for.

UnicodeDecodeError is a ValueError.
"""

Row = TypeVar("Row")


class ToldRow(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An answer."""

    id: str
    y: float | int | bool | str
    key: str = ""


_told, _all_told = msgspec.json.Decoder(ToldRow), msgspec.json.Decoder(list[ToldRow])
_first = json.JSONDecoder().raw_decode
Decoders = tuple[msgspec.json.Decoder[list[Any]], msgspec.json.Decoder[Any]]
"""Of many rows, and of one."""


def asked(
    body: bytes, lines: bool, limits: Limits
) -> tuple[str, list[str | None], NumericRows] | None:
    """Key, ids and rows of a batch of one series, with an id each or all without.

    None if it is anything else.
    """
    # A row has two of them, and is seldom as long as that: most bodies need not be looked through
    # to their ends.
    if body.count(b"{", 0, FAR) <= 2 * SMALL and body.count(b"{") <= 2 * SMALL:
        return None
    names = _names(body)
    if (
        names is None
        or not 0 < len(names) <= limits.columns
        or not are_names(names)
        or ESCAPED & set("".join(names))
    ):
        return None
    rows = _decoded(*_decoders(tuple(names)), body, lines)
    if rows is None or not SMALL < len(rows) <= limits.rows:
        return None
    ids, key = [row.id for row in rows], rows[0].key
    # A name that is there twice is found, and refused, row by row.
    if has_names(body) != len(rows) * (1 + len(names) + (key != "")) + len(rows) - ids.count(None):
        return None
    if not _is_one(key, [row.key for row in rows]):
        return None
    if ids.count(None) != len(ids) and (not are_names(ids) or _has_ours(ids)):
        return None
    values = np.empty((len(rows), len(names)))
    numbers = chain.from_iterable(map(msgspec.structs.astuple, [row.x for row in rows]))
    struct.pack_into(
        f"{values.size}d", values.data, 0, *numbers
    )  # thrice as fast as what numpy has for it
    return key, ids, NumericRows(names, values)


def _has_ours(ids: list[Any]) -> bool:
    """Whether one of some texts is as the server names them."""
    return OURS in "".join(ids) and OURS in {name[0] for name in ids}


def _names(body: bytes) -> list[str] | None:
    """The columns of the first row, in their order; None if there is none."""
    try:
        text = body.decode("utf-8")
        row, _ = _first(text, text.index("{"))
    except WRONG:
        return None
    found = row.get("x")
    return list(found) if type(found) is dict else None


@functools.lru_cache(maxsize=32)
def _decoders(names: tuple[str, ...]) -> Decoders:
    """For rows with exactly these columns, in any order, and numbers in all of them: thrice as
    fast as for rows of any.
    """
    fields = [f"column_{k}" for k in range(len(names))]
    columns: Any = msgspec.defstruct(
        "Columns",
        [(field, float) for field in fields],
        rename=dict(zip(fields, names, strict=True)),
        forbid_unknown_fields=True,
        gc=False,
    )
    row: Any = msgspec.defstruct(
        "AskedRow",
        [("x", columns), ("id", str | None, None), ("key", str, "")],
        forbid_unknown_fields=True,
        gc=False,
    )
    return msgspec.json.Decoder(list[row]), msgspec.json.Decoder(row)


def told(body: bytes, lines: bool, limits: Limits) -> tuple[str, list[str], list[Any]] | None:
    """Key, ids and answers of a batch of one series; None if it is anything else."""
    rows = _decoded(_all_told, _told, body, lines)
    if rows is None or not 1 < len(rows) <= limits.rows:
        return None
    ids, values, key = [row.id for row in rows], [row.y for row in rows], rows[0].key
    if has_names(body) != len(rows) * (
        2 + (key != "")
    ):  # a name is there twice: refused row by row
        return None
    texts = [value for value in values if type(value) is str]
    if (
        not are_names(ids)
        or (texts and not are_names(texts))
        or not _is_one(key, [row.key for row in rows])
    ):
        return None
    return key, ids, values


def are_names(values: Sequence[Any]) -> bool:
    """Whether all are short texts without control characters."""
    if set(map(type, values)) != {str}:
        return False
    sizes = set(map(len, values))
    return min(sizes) > 0 and max(sizes) <= LONGEST_NAME and "".join(values).isprintable()


def _decoded(
    whole: msgspec.json.Decoder[list[Row]],
    each: msgspec.json.Decoder[Row],
    body: bytes,
    lines: bool,
) -> list[Row] | None:
    try:
        if lines:
            return [each.decode(line) for line in body.split(b"\n") if line.strip()]
        return whole.decode(body) if body[:1] == b"[" else None
    except WRONG:
        return None


def _is_one(key: str, keys: list[str]) -> bool:
    return keys.count(key) == len(keys) and (key == "" or are_names([key]))
