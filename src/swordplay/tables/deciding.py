"""What is made of each column, decided from the head of the input or said by the user."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swordplay.core.arguments import short_repr
from swordplay.tables import columns
from swordplay.tables.columns import Choice
from swordplay.tables.earlier import Earlier, plainly
from swordplay.tables.errors import TableError
from swordplay.tables.joining import EMPTY
from swordplay.tables.layout import Layout
from swordplay.tables.lean import values_of
from swordplay.tables.readings import (
    KINDS,
    Amount,
    Reading,
    TimeOfDay,
    Truth,
    reading_as,
    reading_of,
)
from swordplay.tables.readings.choosing import codes_remark, is_code
from swordplay.tables.readings.guess_dates import of_numbers
from swordplay.tables.readings.guess_numbers import shell
from swordplay.tables.readings.reading import DATES, NUMBER, TRUTH, WORD


class Decision(NamedTuple):
    """What is made of one column."""

    type: pa.DataType | None = None
    """Of its values; None if it is left out."""
    reading: Reading | None = None
    """How it is read, where its values are not written plainly."""
    remark: str = ""
    left: str = ""
    """Why it cannot be used."""
    problem: str = ""
    """Why the table cannot be read."""


LEFT_OUT = Decision()


def of_texts(name: str, values: pa.Array, choice: Choice, decimal: str = ".") -> Decision:
    """What is made of a column of texts.

    Parameters
    ----------
    name
        Of the column.
    values
        Strings of the head, null where missing.
    choice
        What the user says.
    decimal
        Of numbers that are written plainly in this table.
    """
    if choice.leaves_out(name):
        return LEFT_OUT
    if name in choice.before:
        return _texts_as_before(name, values, choice.before[name], decimal)
    if name in choice.types:
        return _as_said(name, values, choice, decimal)
    plain = columns.unmarked(values)
    kind = columns.vote(values, [NUMBER, TRUTH, *DATES], decimal, plain)
    if kind is None:
        return Decision(EMPTY, remark=columns.empty(name))
    marked = plain.null_count > values.null_count
    misfits = (
        int(np.count_nonzero(columns.misfits_beside_marks(plain, kind, decimal)))
        if kind != WORD
        else len(values)
    )
    if not misfits and kind == NUMBER:
        return _of_numerals(name, plain, decimal, target=name == choice.target, marked=marked)
    if misfits:
        found = reading_of(name, values, decimal=decimal, target=name == choice.target)
        reading, remark = found.reading, " ".join(found.remarks)
        if (
            reading is not None
            and reading.type != WORD
            and np.count_nonzero(reading.convert(values).bad) < misfits
        ):
            return Decision(reading.type, reading, remark)
        if kind == WORD:
            return Decision(WORD, remark=remark)
    return Decision(kind, plainly(kind, decimal) if marked else None)


def _of_numerals(
    name: str, values: pa.Array, decimal: str, *, target: bool, marked: bool
) -> Decision:
    """Numbers that are written plainly may be codes, or dates, or too large.

    There are no marks among them any more.
    """
    known = values.drop_null()
    if not target and decimal == ".":
        texts = pc.utf8_trim_whitespace(known)
        if is_code(texts):
            return Decision(WORD, remark=codes_remark(name))
        if date := of_numbers(name, texts):
            return Decision(date.type, date)
    remark = columns.rounded(name) if columns.beyond_exact(values) else ""
    return Decision(NUMBER, plainly(NUMBER, decimal) if marked else None, remark)


def _as_said(name: str, values: pa.Array, choice: Choice, decimal: str) -> Decision:
    """What the user says that a column of texts is."""
    said = choice.types[name]
    found = reading_as(name, values, said, decimal=decimal)
    if found.reading is None:
        return Decision(problem=_unfit(name, values, choice))
    kind = found.reading.type
    if kind == WORD or not columns.misfits(values, kind, decimal).any():
        marked = kind != WORD and columns.unmarked(values).null_count > values.null_count
        return Decision(kind, found.reading if marked else None)
    return Decision(kind, found.reading, " ".join(found.remarks))


def _unfit(name: str, values: pa.Array, choice: Choice) -> str:
    """Why a column is not what the user says, by an example."""
    said = choice.types[name]
    known = columns.unmarked(values).drop_null()
    if not len(known):
        return (
            f"--types {shell(name)}={said} cannot be followed: the column has no value to tell "
            "by. Leave it out of --types."
        )
    readings: dict[str, Reading] = {"number": Amount(), "truth": Truth(), "time": TimeOfDay()}
    bad = (
        readings[KINDS[said]].convert(known).bad
        if KINDS[said] in readings
        else np.ones(len(known), bool)
    )
    example = values_of(known)[int(bad.argmax())]
    kind = {
        "number": "a number",
        "truth": "true or false",
        "time": "a time of the day such as 13:30",
    }.get(KINDS[said], "a date")
    order = f" with the {said.removesuffix('-first')} first" if said.endswith("-first") else ""
    skip = (
        f"say {shell(name)}=word or {shell(name)}=skip"
        if name != choice.target
        else "choose another --target"
    )
    return (
        f"--types {shell(name)}={said} does not fit: {short_repr(example)} is not {kind}{order}. "
        f"Leave it out of --types, or {skip}."
    )


def _texts_as_before(name: str, values: pa.Array, earlier: Earlier, decimal: str) -> Decision:
    """A column of texts, read as in an earlier table."""
    if earlier.reading is None or earlier.type == WORD:
        return Decision(earlier.type)
    return Decision(earlier.type, None if earlier.plain == decimal else earlier.reading)


def _stored_as_before(name: str, values: pa.Array, kind: pa.DataType, earlier: Earlier) -> Decision:
    """A column that holds no texts, taken for what it was in an earlier table."""
    if earlier.type is None:
        return LEFT_OUT
    if earlier.reading is not None and earlier.reading.stored == kind:
        return Decision(earlier.type, earlier.reading)
    unsaid = (
        earlier.plain or earlier.reading is None or not earlier.reading.said
    )  # such as 3.5 where 50% was: 3.5% or 350%?
    if values.null_count == len(values) or (
        unsaid and (kind == earlier.type or (kind in DATES and earlier.type in DATES))
    ):
        return Decision(kind)
    return Decision(problem=_differs(name, values, earlier))


def unseen(earlier: Earlier) -> tuple[Decision, pa.DataType | None]:
    """A column of an earlier table that has no value here, and what its values would be in the
    input.
    """
    if earlier.plain or earlier.reading is None:
        return Decision(earlier.type), earlier.type
    return Decision(earlier.type, earlier.reading), earlier.reading.stored


def _differs(name: str, values: pa.Array, earlier: Earlier) -> str:
    known = values.drop_null()
    example = short_repr(str(values_of(known[:1])[0]), 40) if len(known) else "nothing"
    return (
        f"column {name!r} held {earlier.meaning} before, and here it holds {example}. Convert "
        "it, or leave it empty."
    )


def of_numbers_stored(name: str, values: pa.Array, choice: Choice) -> Decision:
    """What is made of a column that holds numbers in the input, and not texts of them."""
    if choice.leaves_out(name):
        return LEFT_OUT
    if name in choice.before:
        return _stored_as_before(name, values, NUMBER, choice.before[name])
    if name not in choice.types:
        date = None if name == choice.target else of_numbers(name, values)
        return Decision(date.type, date) if date else Decision(NUMBER)
    said = choice.types[name]
    if KINDS[said] == "number":
        return Decision(NUMBER)
    if KINDS[said] == "date":
        date = of_numbers(name, values, sure=True)
        return (
            Decision(date.type, date)
            if date
            else Decision(problem=_unfit(name, values.cast(WORD), choice))
        )
    return _stored(name, values, choice)


def of_others_stored(name: str, values: pa.Array, kind: pa.DataType, choice: Choice) -> Decision:
    """What is made of a column that holds truths, dates or times in the input."""
    if choice.leaves_out(name):
        return LEFT_OUT
    if name in choice.before:
        return _stored_as_before(name, values, kind, choice.before[name])
    said = choice.types.get(name)
    same = {"truth": kind == TRUTH, "date": kind in DATES, "time": str(kind).startswith("time64")}
    if said is None or same.get(KINDS[said], False):
        return Decision(kind)
    return _stored(name, values, choice)


def _stored(name: str, values: pa.Array, choice: Choice) -> Decision:
    """What the user says that a column is which holds no texts: they are turned into texts and
    read.
    """
    found = reading_as(name, values, choice.types[name])
    if found.reading is None:
        return Decision(problem=_unfit(name, values.cast(WORD), choice))
    return Decision(found.reading.type, found.reading)


def nested(name: str, what: str, choice: Choice) -> Decision:
    """A column of lists and the like: it is left out, unless somebody insists."""
    if choice.leaves_out(name):
        return LEFT_OUT
    if name in choice.before and choice.before[name].type is not None:
        held = choice.before[name].meaning
        return Decision(
            problem=f"column {name!r} held {held} before, and here it holds {what}. Flatten it, or "
            "leave it empty."
        )
    if choice.insists(name):
        remedy = (
            "Choose another column as --target"
            if name == choice.target
            else f"Flatten it first, or --drop {shell(name)}"
        )
        return Decision(problem=f"column {name!r} holds {what}, which cannot be used. {remedy}.")
    return Decision(left=f"it holds {what}")


def layout(
    where: str,
    names: Sequence[str],
    decisions: Iterable[Decision],
    choice: Choice,
    remarks: list[str],
    stored: dict[str, pa.DataType] | None = None,
) -> Layout:
    """All decisions together; all problems of a table in one message.

    Parameters
    ----------
    where
        What messages call the input.
    names, decisions
        Of all columns.
    choice
        What the user says.
    remarks
        Where to put those of the decisions.
    stored
        What values are in the input where they are not texts, by name.

    Raises
    ------
    TableError
        If a column is not what the user says, or cannot be used and has to be.
    """
    made = dict(zip(names, decisions, strict=True))
    problems = [one.problem for one in made.values() if one.problem]
    for name, one in made.items():
        if one.reading is not None and (stored or {}).get(name) == WORD != one.reading.stored:
            problems.append(
                f"column {name!r} held {choice.before[name].meaning} before, and here it holds "
                "texts. Convert it."
            )
    if choice.target is not None and choice.types.get(choice.target) == "skip":
        problems.append(
            f"--types says skip of the target {choice.target!r}. Choose another target, or leave "
            "it out of --types."
        )
    if problems:
        raise TableError(f"{where}: " + "\n".join(problems))
    remarks.extend(one.remark for one in made.values() if one.remark)
    left = {name: one.left for name, one in made.items() if one.left}
    if left:
        listed = ", ".join(
            f"{name!r} ({why.removeprefix('it ')})" for name, why in list(left.items())[:6]
        )
        more = f" and {len(left) - 6} more" if len(left) > 6 else ""
        remarks.append(f"Left out, as numbers, words and dates are needed: {listed}{more}.")
    asked = {
        name: "as asked"
        for name, kind in choice.types.items()
        if kind == "skip" and name != choice.target
    }
    readings = {name: one.reading for name, one in made.items() if one.reading is not None}
    from_input = {name: (stored or {}).get(name, one.stored) for name, one in readings.items()}
    return Layout(
        tuple(names),
        tuple(one.type for one in made.values()),
        readings,
        from_input,
        asked | left,
        choice.missing,
    )
