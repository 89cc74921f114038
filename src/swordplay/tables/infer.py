"""What each column of a table holds: inferred from its first values, or as the user declares it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swordplay.core.arguments import short_repr
from swordplay.tables.date_parser import (
    TimeParser,
    infer_dates,
    infer_durations,
    infer_numeric_epoch,
    infer_times,
    looks_like_date,
    looks_like_time,
)
from swordplay.tables.errors import TableError, shell_name
from swordplay.tables.lean import values_of
from swordplay.tables.number_parser import (
    STYLES,
    NumberParser,
    infer_numbers,
    looks_like_number,
)
from swordplay.tables.parsers import (
    BOOL,
    DATES,
    DOUBLE,
    NULL_MARKS,
    NULL_TEXTS,
    STRING,
    BoolParser,
    Parser,
    TextParser,
    as_mask,
    commonest_plain_type,
    has_inexact_integers,
    null_marks_removed,
    null_where,
    plain_misfits,
    plain_misfits_without_marks,
    sample_places,
    trimmed_texts,
)
from swordplay.tables.schema import (
    EMPTY,
    KINDS,
    PARSERS,
    ColumnRequest,
    KnownColumn,
    TableSchema,
    plain_parser,
)

MIN_CODE_DIGITS = 5
"""Whole numbers of so many digits or more, equally long and some with a leading zero, are codes
such as postal codes.
"""
BOOL_TEXTS = {"true", "True", "TRUE", "false", "False", "FALSE"}


class InferredParser(NamedTuple):
    """The parser of a column, and what the user should know about it."""

    parser: Parser | None
    """None if all values are missing, or none fits."""
    remarks: tuple[str, ...] = ()


class ColumnDecision(NamedTuple):
    """What a column becomes."""

    type: pa.DataType | None = None
    """Of its values; None if it is left out."""
    parser: Parser | None = None
    """Of its values if they are not plain."""
    remark: str = ""
    """What the user should know."""
    left_out: str = ""
    """Why it cannot be used."""
    problem: str = ""
    """Why the table cannot be read."""


LEAVE_OUT = ColumnDecision()


# ------------------------------------------------------------------ the parser of a column


def infer_parser(
    name: str, values: pa.Array, *, decimal: str = ".", target: bool = False
) -> InferredParser:
    """Infer the parser of a column: more than half of its texts fit it, and no other fits better.

    Parameters
    ----------
    name
        Of the column: dates written as plain numbers are recognised by it.
    values
        Its first texts, a pyarrow array of strings.
    decimal
        Decimal sign of the other columns.
    target
        Whether it is to be predicted: plain numbers then stay numbers.

    Examples
    --------
    >>> parser = infer_parser("price", pa.array(["$1,280.50", "$7", "-"])).parser
    >>> parser.kind, parser.description, parser.parse(pa.array(["($3)"])).values.to_pylist()
    ('number', 'in $, thousands by commas', [-3.0])
    """
    texts = null_where(trimmed_texts(values), NULL_TEXTS).drop_null()
    if not len(texts):
        return InferredParser(None)
    texts = null_where(texts, NULL_MARKS).drop_null()
    if not len(texts):
        return InferredParser(TextParser())
    sample = texts.take(pa.array(sample_places(len(texts)))).to_pylist()
    if set(sample) <= BOOL_TEXTS:
        return InferredParser(BoolParser())
    plain_numbers = NumberParser(decimal)
    if not _misfit_count(plain_numbers, texts):
        if not target and is_code(texts):
            return InferredParser(TextParser(), (_code_remark(name),))
        is_bare = decimal == "." and not _has_other_signs(texts)
        date = None
        if is_bare and not target:
            date = infer_numeric_epoch(name, texts.cast(DOUBLE))
        return InferredParser(date or plain_numbers)
    candidates, remarks = _candidates(name, sample, texts, decimal)
    misfits = {parser: _misfit_count(parser, texts) for parser in [plain_numbers, *candidates]}
    best = min(misfits, key=lambda parser: misfits[parser])  # the first one of several
    if 2 * misfits[best] >= len(texts):
        return InferredParser(TextParser(), remarks)
    return InferredParser(best, remarks if best is not plain_numbers else ())


def _candidates(
    name: str, sample: Sequence[str], texts: pa.Array, decimal: str
) -> tuple[list[Parser], tuple[str, ...]]:
    """Return parsers that may fit better than plain numbers, and remarks about them.

    A cheap look at the sample decides whether all texts are looked at.
    """
    if 2 * sum(1 for text in sample if re.search(r"\d", text)) <= len(sample):
        return [], ()
    if parser := infer_times(sample) or infer_durations(sample):
        return [parser], ()
    if any(infer_dates(name, sample, decimal)):
        dates = infer_dates(name, texts.to_pylist(), decimal)
        if any(dates):
            return _parser_and_remark(dates.parser, dates.remark)
    if any(infer_numbers(name, sample, decimal)):
        numbers = infer_numbers(name, texts.to_pylist(), decimal)
        return _parser_and_remark(numbers.parser, numbers.remark)
    return [], ()


def _parser_and_remark(parser: Parser | None, remark: str) -> tuple[list[Parser], tuple[str, ...]]:
    return [parser] if parser else [], (remark,) if remark else ()


def parser_for(name: str, values: pa.Array, kind: str, *, decimal: str = ".") -> InferredParser:
    """Return the parser of the declared kind that fits a column best; None if most do not fit.

    Parameters
    ----------
    name, values, decimal
        As for :func:`infer_parser`.
    kind
        One of :data:`KINDS`, but not ``"skip"``.
    """
    texts = null_where(trimmed_texts(values), (*NULL_TEXTS, *NULL_MARKS)).drop_null()
    parsers, remarks = _parsers_of_kind(name, texts, kind, decimal)
    if not parsers:
        return InferredParser(None)
    misfits = [_misfit_count(parser, texts) for parser in parsers]
    least = min(misfits)
    fits = 2 * least < max(1, len(texts))
    return InferredParser(parsers[misfits.index(least)] if fits else None, remarks)


def _parsers_of_kind(
    name: str, texts: pa.Array, kind: str, decimal: str
) -> tuple[list[Parser], tuple[str, ...]]:
    """Return parsers of a declared kind that may fit."""
    if KINDS[kind] in ("truth", "word", "time"):
        return [PARSERS[KINDS[kind]]()], ()
    values = texts.to_pylist()
    if KINDS[kind] == "number":
        if duration := infer_durations(values):
            return [duration], ()
        sign = {"decimal-comma": ",", "decimal-point": "."}.get(kind)
        styles = None if sign is None else [style for style in STYLES[sign] if style[0] == sign]
        numbers = infer_numbers(name, values, sign or decimal, styles)
        found, remarks = _parser_and_remark(numbers.parser, numbers.remark)
        return [NumberParser(sign or decimal), *found], remarks
    dates = infer_dates(name, values, decimal, kind)
    parsers, remarks = _parser_and_remark(dates.parser, dates.remark)
    is_plain_number = not _misfit_count(NumberParser(), texts) and not _has_other_signs(texts)
    if is_plain_number and kind != "day-first":
        epoch = infer_numeric_epoch(name, texts.cast(DOUBLE), declared=True)
        parsers += [epoch] if epoch else []
    return parsers, remarks


def _misfit_count(parser: Parser, texts: pa.Array) -> int:
    return int(np.count_nonzero(parser.parse(texts).bad))


def _has_other_signs(texts: pa.Array) -> bool:
    """Whether there is more than digits, signs, points and exponents."""
    return bool(as_mask(pc.match_substring_regex(texts, r"[^\d.eE+-]")).any())


def is_code(values: pa.Array) -> bool:
    """Whether texts are equally long numbers of five digits or more, some beginning with 0."""
    length = len(values[0].as_py()) if len(values) else 0
    if length < MIN_CODE_DIGITS:
        return False
    return bool(
        pc.all(pc.equal(pc.utf8_length(values), length), min_count=0).as_py()
        and pc.any(pc.starts_with(values, "0"), min_count=0).as_py()
        and pc.all(pc.match_substring_regex(values, r"^\d+$"), min_count=0).as_py()
        and len(values.unique()) > 1
    )


def _code_remark(name: str) -> str:
    return (
        f"Column {name!r} holds numbers of one length with leading zeros: it is taken for codes, "
        f"that is for words. --types {shell_name(name)}=number overrules."
    )


def value_kind(text: str) -> str | None:
    """Return ``"number"`` (with or without a unit), ``"date"`` or ``"time"``; None for a name.

    >>> [value_kind(text) for text in ("12.5", "€ 3", "31-Jan-2012", "13:30", "price", "x1", "kg")]
    ['number', 'number', 'date', 'time', None, None, None]
    """
    if looks_like_number(text):
        return "number"
    if looks_like_time(text):
        return "time"
    return "date" if looks_like_date(text) else None


# ------------------------------------------------------------------ decisions about columns


def decide_texts(
    name: str, values: pa.Array, request: ColumnRequest, decimal: str = "."
) -> ColumnDecision:
    """Decide what a column of texts becomes.

    Parameters
    ----------
    name
        Of the column.
    values
        Strings of the first rows, null where missing.
    request
        What the user asked for.
    decimal
        Decimal sign of plain numbers in this table.
    """
    if request.leaves_out(name):
        return LEAVE_OUT
    if name in request.known:
        known = request.known[name]
        is_plain = known.parser is None or known.type == STRING or known.plain_decimal == decimal
        return ColumnDecision(known.type, None if is_plain else known.parser)
    if name in request.types:
        return _decide_declared_texts(name, values, request, decimal)
    if values.null_count == len(values):
        return ColumnDecision(EMPTY, remark=empty_remark(name))
    plain = null_marks_removed(values)
    has_marks = plain.null_count > values.null_count
    type = commonest_plain_type(plain, [DOUBLE, BOOL, *DATES], decimal)
    misfits = len(values)
    if type != STRING:
        misfits = int(np.count_nonzero(plain_misfits_without_marks(plain, type, decimal)))
    is_target = name == request.target
    if not misfits and type == DOUBLE:
        return _decide_plain_numbers(name, plain, decimal, target=is_target, has_marks=has_marks)
    if misfits:
        inferred = infer_parser(name, values, decimal=decimal, target=is_target)
        parser, remark = inferred.parser, " ".join(inferred.remarks)
        if (
            parser is not None
            and parser.type != STRING
            and np.count_nonzero(parser.parse(values).bad) < misfits
        ):
            return ColumnDecision(parser.type, parser, remark)
        if type == STRING:
            return ColumnDecision(STRING, remark=remark)
    return ColumnDecision(type, plain_parser(type, decimal) if has_marks else None)


def _decide_plain_numbers(
    name: str, values: pa.Array, decimal: str, *, target: bool, has_marks: bool
) -> ColumnDecision:
    """Decide about plain numbers without marks: they may be codes, or dates, or too large."""
    if not target and decimal == ".":
        texts = pc.utf8_trim_whitespace(values.drop_null())
        if is_code(texts):
            return ColumnDecision(STRING, remark=_code_remark(name))
        if date := infer_numeric_epoch(name, texts):
            return ColumnDecision(date.type, date)
    remark = rounding_remark(name) if has_inexact_integers(values) else ""
    return ColumnDecision(DOUBLE, plain_parser(DOUBLE, decimal) if has_marks else None, remark)


def _decide_declared_texts(
    name: str, values: pa.Array, request: ColumnRequest, decimal: str
) -> ColumnDecision:
    """Decide about a column of texts that the user declares."""
    inferred = parser_for(name, values, request.types[name], decimal=decimal)
    if inferred.parser is None:
        return ColumnDecision(problem=_misfit_problem(name, values, request))
    type = inferred.parser.type
    if type == STRING or not plain_misfits(values, type, decimal).any():
        has_marks = null_marks_removed(values).null_count > values.null_count
        return ColumnDecision(type, inferred.parser if type != STRING and has_marks else None)
    return ColumnDecision(type, inferred.parser, " ".join(inferred.remarks))


def _misfit_problem(name: str, values: pa.Array, request: ColumnRequest) -> str:
    """Return why a column is not what the user declares, with an example."""
    declared, option = request.types[name], shell_name(name)
    known = null_marks_removed(values).drop_null()
    if not len(known):
        return (
            f"--types {option}={declared} cannot be followed: the column has no value to tell "
            "by. Leave it out of --types."
        )
    parsers: dict[str, Parser] = {
        "number": NumberParser(),
        "truth": BoolParser(),
        "time": TimeParser(),
    }
    parser = parsers.get(KINDS[declared])
    place = int(parser.parse(known).bad.argmax()) if parser else 0
    example = values_of(known)[place]
    expected = {
        "number": "a number",
        "truth": "true or false",
        "time": "a time of the day such as 13:30",
    }.get(KINDS[declared], "a date")
    is_ordered = declared.endswith("-first")
    order = f" with the {declared.removesuffix('-first')} first" if is_ordered else ""
    remedy = f"say {option}=word or {option}=skip"
    if name == request.target:
        remedy = "choose another --target"
    return (
        f"--types {option}={declared} does not fit: {short_repr(example)} is not {expected}{order}."
        f" Leave it out of --types, or {remedy}."
    )


def _decide_stored_as_known(
    name: str, values: pa.Array, type: pa.DataType, known: KnownColumn
) -> ColumnDecision:
    """Decide about a column that holds no texts, and was in an earlier table."""
    if known.type is None:
        return LEAVE_OUT
    if known.parser is not None and known.parser.stored == type:
        return ColumnDecision(known.type, known.parser)
    # A parser with a unit does not apply to numbers: 3.5 in a column of 50% may be 3.5% or 350%.
    is_plain = known.plain_decimal or known.parser is None or not known.parser.description
    has_same_type = type == known.type or (type in DATES and known.type in DATES)
    if values.null_count == len(values) or (is_plain and has_same_type):
        return ColumnDecision(type)
    present = values.drop_null()
    example = short_repr(str(values_of(present[:1])[0]), 40) if len(present) else "nothing"
    return ColumnDecision(
        problem=f"column {name!r} held {known.contents} before, and here it holds {example}. "
        "Convert it, or leave it empty."
    )


def decide_absent(known: KnownColumn) -> tuple[ColumnDecision, pa.DataType | None]:
    """Decide about a column of an earlier table without values; also return its input type."""
    if known.plain_decimal or known.parser is None:
        return ColumnDecision(known.type), known.type
    return ColumnDecision(known.type, known.parser), known.parser.stored


def decide_stored_numbers(name: str, values: pa.Array, request: ColumnRequest) -> ColumnDecision:
    """Decide what a column becomes that holds numbers in the input, and not texts of them."""
    if request.leaves_out(name):
        return LEAVE_OUT
    if name in request.known:
        return _decide_stored_as_known(name, values, DOUBLE, request.known[name])
    if name not in request.types:
        date = None if name == request.target else infer_numeric_epoch(name, values)
        return ColumnDecision(date.type, date) if date else ColumnDecision(DOUBLE)
    kind = KINDS[request.types[name]]
    if kind == "number":
        return ColumnDecision(DOUBLE)
    if kind == "date":
        date = infer_numeric_epoch(name, values, declared=True)
        if date is None:
            return ColumnDecision(problem=_misfit_problem(name, values.cast(STRING), request))
        return ColumnDecision(date.type, date)
    return _decide_declared_stored(name, values, request)


def decide_stored(
    name: str, values: pa.Array, type: pa.DataType, request: ColumnRequest
) -> ColumnDecision:
    """Decide what a column becomes that holds booleans, dates or times in the input."""
    if request.leaves_out(name):
        return LEAVE_OUT
    if name in request.known:
        return _decide_stored_as_known(name, values, type, request.known[name])
    declared = request.types.get(name)
    fits = {"truth": type == BOOL, "date": type in DATES, "time": str(type).startswith("time64")}
    if declared is None or fits.get(KINDS[declared], False):
        return ColumnDecision(type)
    return _decide_declared_stored(name, values, request)


def _decide_declared_stored(name: str, values: pa.Array, request: ColumnRequest) -> ColumnDecision:
    """Decide about a declared column that holds no texts: its values are parsed as texts."""
    parser = parser_for(name, values, request.types[name]).parser
    if parser is None:
        return ColumnDecision(problem=_misfit_problem(name, values.cast(STRING), request))
    return ColumnDecision(parser.type, parser)


def decide_nested(name: str, what: str, request: ColumnRequest) -> ColumnDecision:
    """Decide about a column of lists and the like: left out, unless the user asked for it."""
    if request.leaves_out(name):
        return LEAVE_OUT
    if name in request.known and request.known[name].type is not None:
        held = request.known[name].contents
        return ColumnDecision(
            problem=f"column {name!r} held {held} before, and here it holds {what}. Flatten it, or "
            "leave it empty."
        )
    if request.names_column(name):
        remedy = f"Flatten it first, or --drop {shell_name(name)}"
        if name == request.target:
            remedy = "Choose another column as --target"
        return ColumnDecision(
            problem=f"column {name!r} holds {what}, which cannot be used. {remedy}."
        )
    return ColumnDecision(left_out=f"it holds {what}")


def make_schema(
    where: str,
    names: Sequence[str],
    decisions: Iterable[ColumnDecision],
    request: ColumnRequest,
    remarks: list[str],
    stored: dict[str, pa.DataType] | None = None,
) -> TableSchema:
    """Return the schema of all decisions; all problems of a table become one error.

    Parameters
    ----------
    where
        What messages call the input.
    names, decisions
        Of all columns.
    request
        What the user asked for.
    remarks
        List to which remarks are appended.
    stored
        Types in the input of columns that are not texts, by name.

    Raises
    ------
    TableError
        If a column is not what the user declares, or cannot be used and has to be.
    """
    stored = stored or {}
    decided = dict(zip(names, decisions, strict=True))
    problems = [decision.problem for decision in decided.values() if decision.problem]
    for name, decision in decided.items():
        if decision.parser is not None and stored.get(name) == STRING != decision.parser.stored:
            problems.append(
                f"column {name!r} held {request.known[name].contents} before, and here it holds "
                "texts. Convert it."
            )
    if request.target is not None and request.types.get(request.target) == "skip":
        problems.append(
            f"--types says skip of the target {request.target!r}. Choose another target, or leave "
            "it out of --types."
        )
    if problems:
        raise TableError(f"{where}: " + "\n".join(problems))
    remarks.extend(decision.remark for decision in decided.values() if decision.remark)
    unusable = {name: one.left_out for name, one in decided.items() if one.left_out}
    if unusable:
        listed = ", ".join(
            f"{name!r} ({why.removeprefix('it ')})" for name, why in list(unusable.items())[:6]
        )
        more = f" and {len(unusable) - 6} more" if len(unusable) > 6 else ""
        remarks.append(f"Left out, as numbers, words and dates are needed: {listed}{more}.")
    skipped = {
        name: "as asked"
        for name, kind in request.types.items()
        if kind == "skip" and name != request.target
    }
    parsers = {name: one.parser for name, one in decided.items() if one.parser is not None}
    return TableSchema(
        tuple(names),
        tuple(decision.type for decision in decided.values()),
        parsers,
        {name: stored.get(name, parser.stored) for name, parser in parsers.items()},
        skipped | unusable,
        request.missing,
    )


def rounding_remark(name: str) -> str:
    """Return the remark about whole numbers that doubles cannot hold."""
    return (
        f"Column {name!r} holds whole numbers beyond 2^53: they are rounded to 16 digits, so "
        "do not rely on it as an id."
    )


def empty_remark(name: str) -> str:
    """Return the remark about a column without values in the first rows."""
    return f"Column {name!r} is empty at the beginning of the table: it joins with its first value."
