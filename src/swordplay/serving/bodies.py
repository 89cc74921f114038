"""Bodies of requests as values: JSON, or a JSON value a line (NDJSON).

Or a refusal that names the byte where it goes wrong.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from typing import Any, NoReturn

import msgspec
import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.serving.refusals import Refusal


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number of JSON; leave out what is missing, or write null")


def _whole_number(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(
            f"{text[:20]}... is a whole number of {len(text)} digits, and {MOST_DIGITS} are the "
            "most"
        )
    return int(text)


MOST_DIGITS = 4300
"""Of a whole number: more are not read by Python, whose own words name an internal limit."""
_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_int=_whole_number)
_quick = msgspec.json.Decoder().decode
SHORT = 2**10
"""Bytes of a body that numpy would not search faster."""
COLON, QUOTE, BLANK = map(ord, ':" ')
BEFORE_COLON = (b'":', b" :", b"\t:", b"\n:", b"\r:")
"""A colon that follows a name, with what may stand before it."""
HINT = "Send one JSON value, or several with the content type application/x-ndjson, one a line."


def parsed(body: bytes, lines: bool) -> Any:
    """The value of a body; a list for NDJSON, empty lines left out.

    Raises
    ------
    Refusal
        400, with the byte (and of NDJSON the line) at which it cannot be read, or if an object has
        a name twice.
    """
    if not lines:
        value = _value(body, 0, {})
        named = _named(value if isinstance(value, list) else [value])
        # As many colons as names: no name is there twice. Other colons may stand in texts.
        if body.count(b":") != named and has_names(body) != named:
            _refuse_doubled(body)
        return value
    values, first = [], 0
    for number, line in enumerate(body.split(b"\n"), start=1):
        if line.strip():
            values.append(_value(line, first, {"line": number}))
        first += len(line) + 1
    if has_names(body) != _named(values):
        for line in filter(bytes.strip, body.split(b"\n")):
            _refuse_doubled(line)
    return values


def has_names(body: bytes) -> int:
    """How many names the objects of a body of JSON have: all that it should have if none is there
    twice, or more.

    It counts colons behind a quote or a blank, as all of them are that follow a name. Texts may
    hold others, so that a count that is too high tells nothing, and one that is right tells that no
    name is there twice.
    """
    if len(body) < SHORT:
        count = body.count(b":")
        return count if count == body.count(b'":') else sum(body.count(one) for one in BEFORE_COLON)
    data = np.frombuffer(body, dtype=np.uint8)
    before = data[np.flatnonzero(data[1:] == COLON)]
    return int(np.count_nonzero((before == QUOTE) | (before <= BLANK)))


def _named(rows: list[Any]) -> int:
    """How many names rows of a request have, with those of their values."""
    count = 0
    for row in rows:
        if type(row) is dict:
            count += len(row)
            x = row.get("x")
            if type(x) is dict:
                count += len(x)
    return count


def _refuse_doubled(body: bytes) -> None:
    """Refuse a value if one of its objects has a name twice.

    Values within values are looked at, too.
    """

    def pairs(found: list[tuple[str, Any]]) -> None:
        if len(names := Counter(name for name, _ in found)) < len(found):
            name = names.most_common(1)[0][0]
            raise Refusal(
                400,
                f"the name {short_repr(name)} is there twice in one object of JSON. Send each name "
                "once.",
            )

    with contextlib.suppress(ValueError, RecursionError):  # what cannot be read was refused before
        json.loads(body, object_pairs_hook=pairs, parse_int=str, parse_float=str)


def _value(body: bytes, first: int, where: dict[str, int]) -> Any:
    """A value whose bytes begin at ``first`` of the request."""
    try:
        return _quick(
            body
            # what it reads is what Python reads, and the rest is left to Python, which says what is
            # wrong
        )
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refusal(
            400,
            f"byte {first + error.start} is not UTF-8. {HINT}",
            byte=first + error.start,
            **where,
        ) from None
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        byte = first + len(text[: error.pos].encode("utf-8"))
        raise Refusal(
            400, f"not JSON at byte {byte}: {error.msg}. {HINT}", byte=byte, **where
        ) from None
    except RecursionError:
        raise Refusal(
            400, f"not a row: values within values, too deep to read. {HINT}", byte=first, **where
        ) from None
    except ValueError as error:  # Infinity, NaN, a number of thousands of digits
        raise Refusal(400, f"{error}. {HINT}", byte=first, **where) from None
