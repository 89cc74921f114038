"""Bodies of requests as values: JSON, or a JSON value a line (NDJSON); or a refusal that names the byte where it goes wrong."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import msgspec

from swordplay.serving.refusals import Refusal


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number of JSON; leave out what is missing, or write null")


def _whole_number(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"{text[:20]}... is a whole number of {len(text)} digits, and {MOST_DIGITS} are the most")
    return int(text)


MOST_DIGITS = 4300
"""Of a whole number: more are not read by Python, whose own words name an internal limit."""
_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_int=_whole_number)
_quick = msgspec.json.Decoder().decode
HINT = "Send one JSON value, or several with the content type application/x-ndjson, one a line."


def parsed(body: bytes, lines: bool) -> Any:
    """The value of a body; a list for NDJSON, empty lines left out.

    Raises
    ------
    Refusal
        400, with the byte (and of NDJSON the line) at which it cannot be read.
    """
    if not lines:
        return _value(body, 0, {})
    values, first = [], 0
    for number, line in enumerate(body.split(b"\n"), start=1):
        if line.strip():
            values.append(_value(line, first, {"line": number}))
        first += len(line) + 1
    return values


def _value(body: bytes, first: int, where: dict[str, int]) -> Any:
    """A value whose bytes begin at ``first`` of the request."""
    try:
        return _quick(body)  # what it reads is what Python reads, and the rest is left to Python, which says what is wrong
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refusal(400, f"byte {first + error.start} is not UTF-8. {HINT}", byte=first + error.start, **where) from None
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        byte = first + len(text[: error.pos].encode("utf-8"))
        raise Refusal(400, f"not JSON at byte {byte}: {error.msg}. {HINT}", byte=byte, **where) from None
    except RecursionError:
        raise Refusal(400, f"not a row: values within values, too deep to read. {HINT}", byte=first, **where) from None
    except ValueError as error:  # Infinity, NaN, a number of thousands of digits
        raise Refusal(400, f"{error}. {HINT}", byte=first, **where) from None
