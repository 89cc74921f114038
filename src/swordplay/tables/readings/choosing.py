"""The reading of a column: by its texts, or as a user says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swordplay.tables.readings import guess_dates, guess_numbers
from swordplay.tables.readings.amounts import Amount
from swordplay.tables.readings.moments import Epoch, TimeOfDay, Written
from swordplay.tables.readings.plain import Iso, Truth, Word
from swordplay.tables.readings.reading import (
    MARKS,
    MISSING,
    NUMBER,
    Reading,
    known,
    mask,
    texts,
)

READINGS: dict[str, Any] = {
    one.name: one for one in (Amount, Truth, Word, Iso, Written, TimeOfDay, Epoch)
}
ASKED = 128
"""Texts that decide whether a column may hold numbers or dates at all, spread evenly."""
SHORTEST_CODE = 5
"""Whole numbers of so many digits or more, all as long and some with a leading zero, are codes
such as those of the post.
"""
TRUTHS = {"true", "True", "TRUE", "false", "False", "FALSE"}
KINDS: Mapping[str, str] = {
    "number": "number",
    "decimal-comma": "number",
    "decimal-point": "number",
    "truth": "truth",
    "word": "word",
    "category": "word",
    "date": "date",
    "day-first": "date",
    "month-first": "date",
    "year-first": "date",
    "time": "time",
    "skip": "skip",
}
"""What a user may say that a column is, and the kind of reading that this means.

Skip leaves it out.
"""


class Found(NamedTuple):
    """A reading, and what there is to say about it."""

    reading: Reading | None
    """None where everything is missing, or nothing fits."""
    remarks: tuple[str, ...] = ()


def from_declared(declared: Mapping[str, Any]) -> Reading:
    """The way back from :meth:`Reading.declared`."""
    parameters = dict(declared)
    reading: Reading = READINGS[parameters.pop("name")](**parameters)
    return reading


def reading_of(name: str, values: pa.Array, *, decimal: str = ".", target: bool = False) -> Found:
    """How the texts of a column are to be read: what more than half of them fit, and most of them
    best.

    Parameters
    ----------
    name
        Of the column: dates written as plain numbers are recognised by it.
    values
        Its first texts, a pyarrow array of strings.
    decimal
        Sign that numbers of other columns have.
    target
        Whether it is to be predicted: plain numbers then stay numbers.

    Examples
    --------
    >>> found = reading_of("price", pa.array(["$1,280.50", "$7", "-"]))
    >>> found.reading.kind, found.reading.said, found.reading.convert(pa.array(["($3)"])).values.to_pylist()
    ('number', 'in $, thousands by commas', [-3.0])
    """  # noqa: E501
    rows = known(texts(values), MISSING).drop_null()
    if not len(rows):
        return Found(None)
    marked = known(rows, MARKS).drop_null()
    if not len(marked):
        return Found(Word())
    sample = marked.take(pa.array(_evenly(len(marked)))).to_pylist()
    if set(sample) <= TRUTHS:
        return Found(Truth())
    plain = Amount(decimal)
    if not _misfits(plain, marked):
        return _of_plain_numbers(name, marked, plain, decimal, target)
    candidates, remarks = _candidates(name, sample, marked, decimal)
    misfits = {one: _misfits(one, marked) for one in [plain, *candidates]}
    best = min(misfits, key=lambda one: misfits[one])  # the first one of several
    if 2 * misfits[best] >= len(marked):
        return Found(Word(), remarks)
    return Found(best, remarks if best is not plain else ())


def reading_as(name: str, values: pa.Array, kind: str, *, decimal: str = ".") -> Found:
    """How the texts of a column are to be read as a user says; None if most of them do not fit.

    Parameters
    ----------
    name, values, decimal
        As for :func:`reading_of`.
    kind
        One of :data:`KINDS`, but not ``"skip"``.
    """
    rows = known(known(texts(values), MISSING), MARKS).drop_null()
    readings, remarks = _of_kind(name, rows, kind, decimal)
    if not readings:
        return Found(None)
    misfits = [_misfits(one, rows) for one in readings]
    least = min(misfits)
    return Found(readings[misfits.index(least)] if 2 * least < max(1, len(rows)) else None, remarks)


def _of_kind(
    name: str, rows: pa.Array, kind: str, decimal: str
) -> tuple[list[Reading], tuple[str, ...]]:
    """Readings of the kind that may fit."""
    if KINDS[kind] in ("truth", "word", "time"):
        return [READINGS[KINDS[kind]]()], ()
    values = rows.to_pylist()
    if KINDS[kind] == "number":
        sign = {"decimal-comma": ",", "decimal-point": "."}.get(kind)
        styles = (
            None
            if sign is None
            else [style for style in guess_numbers.STYLES[sign] if style[0] == sign]
        )
        written, remark = guess_numbers.guess(name, values, sign or decimal, styles)
        return [Amount(sign or decimal), *([written] if written else [])], (remark,) * bool(remark)
    date = guess_dates.guess(name, values, decimal, kind)
    numeric = rows.cast(NUMBER) if not _misfits(Amount(), rows) and not _grouped(rows) else None
    counted = (
        guess_dates.of_numbers(name, numeric, sure=True)
        if numeric is not None and kind != "day-first"
        else None
    )
    return [one for one in (date.reading, counted) if one], (date.remark,) * bool(date.remark)


def _grouped(rows: pa.Array) -> bool:
    """Whether there is more than digits, signs and exponents."""
    return bool(mask(pc.match_substring_regex(rows, r"[^\d.eE+-]")).any())


def _of_plain_numbers(
    name: str, rows: pa.Array, plain: Amount, decimal: str, target: bool
) -> Found:
    """Numbers that are written plainly may still be codes or dates."""
    if not target and is_code(rows):
        return Found(Word(), (codes_remark(name),))
    date = (
        guess_dates.of_numbers(name, rows.cast(NUMBER))
        if not target and decimal == "." and not _grouped(rows)
        else None
    )
    return Found(date or plain)


def is_code(values: pa.Array) -> bool:
    """Whether texts are whole numbers of the same length, five digits or more, and some begin
    with zero.
    """
    first = values[0].as_py() if len(values) else ""
    if len(first) < SHORTEST_CODE:
        return False
    same = pc.all(pc.equal(pc.utf8_length(values), len(first)), min_count=0).as_py()
    return bool(
        same
        and pc.any(pc.starts_with(values, "0"), min_count=0).as_py()
        and pc.all(pc.match_substring_regex(values, r"^\d+$"), min_count=0).as_py()
        and len(values.unique()) > 1
    )


def codes_remark(name: str) -> str:
    """A remark."""
    return (
        f"Column {name!r} holds numbers of one length with leading zeros: it is taken for codes, "
        f"that is for words. --types {guess_numbers.shell(name)}=number overrules."
    )


def _candidates(
    name: str, sample: Sequence[str], rows: pa.Array, decimal: str
) -> tuple[list[Reading], tuple[str, ...]]:
    """Readings that may fit better than plain numbers, and what there is to say about them."""
    if 2 * sum(1 for text in sample if re.search(r"\d", text)) <= len(sample):
        return [], ()
    found: list[Reading] = []
    remarks: list[str] = []
    if guess_dates.clock(sample).reading:
        return [TimeOfDay()], ()
    if (
        guess_dates.guess(name, sample, decimal).reading
        or guess_dates.guess(name, sample, decimal).remark
    ):
        date = guess_dates.guess(name, rows.to_pylist(), decimal)
        found += [date.reading] if date.reading else []
        remarks += [date.remark] if date.remark else []
    if not found and not remarks:
        first, remark = guess_numbers.guess(name, sample, decimal)
        if first or remark:
            first, remark = guess_numbers.guess(name, rows.to_pylist(), decimal)
        found += [first] if first else []
        remarks += [remark] if remark else []
    return found, tuple(remarks)


def _misfits(reading: Reading, rows: pa.Array) -> int:
    return int(np.count_nonzero(reading.convert(rows).bad))


def _evenly(count: int) -> list[int]:
    """Places that are spread evenly."""
    return sorted({i * (count - 1) // (ASKED - 1) for i in range(ASKED)})
