"""Parses the bodies of requests: bytes to checked rows, or an error that names the place.

A request is accepted whole or not at all. The log is replayed with this parser, so it must go on
accepting whatever it has accepted before.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
import struct
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple, NoReturn

import msgspec
import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.estimators.dict_columns import NumericRows
from swordplay.serving.errors import RequestError
from swordplay.serving.limits import MAX_MODEL_NAME_LENGTH, MAX_NAME_LENGTH, Bounds, Limits
from swordplay.serving.log_format import Event
from swordplay.serving.messages import AskRow, Declaration, DropRow, TellRow

MODEL_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_MODEL_NAME_LENGTH}}}")
"""Names of models occur in paths, so they have neither slashes nor dots."""
DEFAULT_MODEL = "default"
"""The model of ``/ask`` and ``/tell``."""
SERVER_ID_PREFIX = "#"
"""First character of the ids that the server makes."""
MAX_SMALL_ROWS = 64
"""Longer asks of plain numbers are parsed as a table. Shorter requests may be merged."""
EXAMPLES = {
    "ask": 'Send {"x": {"column": value, ...}, "id": "...", "key": "..."} (id and key are '
    "optional), or a list of them.",
    "tell": 'Send {"id": "...", "y": value, "key": "..."} (key as when it was asked), or a list of '
    "them.",
    "drop": 'Send {"id": "...", "key": "..."} (key as when it was asked), or a list of them.',
    "declare": 'Send {"target": "number"}, {"target": "yes-no"} or {"target": "classes"}.',
}
ONE_VALUE = (
    "Send one JSON value, or several with the content type application/x-ndjson, one a line."
)


class AskRows(NamedTuple):
    """Rows of one series to predict."""

    key: str
    places: Sequence[int]
    """Positions of the rows in the request."""
    ids: list[Any]
    """The client's id of each row, or None."""
    rows: Any
    """Dictionaries, or ``NumericRows``."""


class TellRows(NamedTuple):
    """Answers to tickets of one series."""

    key: str
    places: Sequence[int]
    ids: list[str]
    values: list[Any]


class DropTickets(NamedTuple):
    """Tickets of one series that will not be answered."""

    key: str
    places: Sequence[int]
    ids: list[str]


SeriesPart = AskRows | TellRows | DropTickets
"""The rows of a request that belong to one series."""


class RowRequest(NamedTuple):
    """A request of rows."""

    parts: list[Any]
    """One :data:`SeriesPart` for each series, in the order of their first rows."""
    row_count: int
    is_list: bool
    """Whether the response is a list."""


Request = RowRequest | Declaration | Bounds


def check_model_name(name: str) -> None:
    """Reject the name of a model that has other characters than letters, digits, _ and -."""
    if not MODEL_NAME.fullmatch(name):
        raise RequestError(
            400,
            f"the name of a model has 1 to {MAX_MODEL_NAME_LENGTH} of the characters A-Z a-z 0-9 "
            f"_ -, got {short_repr(name)}. Rename it.",
        )


def parse(event: Event, limits: Limits) -> Request:
    """Parse the body of an event.

    Raises
    ------
    RequestError
        400 if it is invalid, 413 if it is too large.
    """
    if event.action == "ask" and (request := _parse_table(event, limits)) is not None:
        return request
    return parse_rows(event, limits)


def parse_rows(event: Event, limits: Limits) -> Request:
    """Parse the body of an event row by row, each as it is written, also if it is a table."""
    if event.action == "declare":
        declaration: Declaration = _decode(_declaration, event.body, "declare")
        _require_unique_names(event, 1)
        return declaration
    if event.action == "bounds":  # the server's own event
        return Bounds(**json.loads(event.body))
    rows, is_list = _decode_rows(event)
    _require_row_count(len(rows), limits)
    if not rows:
        return RowRequest([], 0, is_list)
    ids, keys = [row.id for row in rows], [row.key for row in rows]
    # An id that is null and a key that is empty count as missing.
    names = 2 * len(rows) - ids.count(None) - keys.count("")
    parts: list[SeriesPart] = []
    if event.action == "ask":
        table = [row.x for row in rows]
        _require_unique_names(event, names + len(rows) + sum(map(len, table)))
        _require_printable(key=keys, id=ids)
        _require_client_ids(ids)
        _require_columns(table, limits)
        for key, places in _places_by_key(keys):
            parts.append(AskRows(key, places, _select(ids, places), _select(table, places)))
    elif event.action == "tell":
        values = [row.y for row in rows]
        _require_unique_names(event, names + len(rows))
        _require_printable(key=keys, id=ids, y=values)
        for key, places in _places_by_key(keys):
            parts.append(TellRows(key, places, _select(ids, places), _select(values, places)))
    else:
        _require_unique_names(event, names)
        _require_printable(key=keys, id=ids)
        for key, places in _places_by_key(keys):
            parts.append(DropTickets(key, places, _select(ids, places)))
    return RowRequest(parts, len(rows), is_list)


def _places_by_key(keys: list[str]) -> list[tuple[str, Sequence[int]]]:
    """Return each key and the positions of its rows."""
    if keys.count(keys[0]) == len(keys):
        return [(keys[0], range(len(keys)))]
    places: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return [*places.items()]


def _select(values: list[Any], places: Sequence[int]) -> list[Any]:
    return values if len(places) == len(values) else [values[place] for place in places]


# ---------------------------------------------------------------------- decoding

_declaration = msgspec.json.Decoder(Declaration)
_ROW_TYPES = {"ask": AskRow, "tell": TellRow, "drop": DropRow}
_one_or_many = {
    action: msgspec.json.Decoder(kind | list[kind])  # type: ignore[valid-type]
    for action, kind in _ROW_TYPES.items()
}
_one = {action: msgspec.json.Decoder(kind) for action, kind in _ROW_TYPES.items()}
INVALID = (msgspec.MsgspecError, ValueError, RecursionError)
"""Exceptions of msgspec for a body that is not of the type of a decoder."""


def _decode_rows(event: Event) -> tuple[list[Any], bool]:
    """Return the rows of a body, and whether the response is a list."""
    if not event.is_ndjson:
        found = _decode(_one_or_many[event.action], event.body, event.action)
        return (found, True) if isinstance(found, list) else ([found], False)
    rows, offset = list[Any](), 0
    for number, line in enumerate(event.body.split(b"\n"), start=1):
        if line.strip():
            decoder = _one[event.action]
            rows.append(_decode(decoder, line, event.action, len(rows), offset, line=number))
        offset += len(line) + 1
    return rows, True


def _decode(
    decoder: msgspec.json.Decoder[Any],
    body: bytes,
    action: str,
    row: int = 0,
    offset: int = 0,
    **where: int,
) -> Any:
    """Decode a JSON value.

    Parameters
    ----------
    decoder
        Decoder of the type that the value must have.
    body
        The value.
    action
        Action of the event, for the example in the error message.
    row, offset, where
        Position of the value in the request, for the error.
    """
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise _invalid(error, body, action, row, where) from None
    except INVALID:
        # Python reads a little more than msgspec (lone surrogates), and says what is wrong where.
        value = _decode_with_python(body, offset, where)
    try:
        return msgspec.convert(value, decoder.type)
    except msgspec.ValidationError as error:
        raise _invalid(error, body, action, row, where) from None
    except UnicodeEncodeError:
        reason = "the name of a field has a lone surrogate"
        raise RequestError(400, f"{reason}. {EXAMPLES[action]}", row=row, **where) from None


def _invalid(
    error: msgspec.ValidationError, body: bytes, action: str, row: int, where: dict[str, int]
) -> RequestError:
    """Return the error for a JSON value that is not of the type of a request."""
    reason = str(error)
    if action != "declare":
        found = re.search(r" - at `\$\[(\d+)\]", reason)
        where = where | {"row": row + (int(found[1]) if found else 0)}
        if ".x[...]" in reason and (column := _find_invalid_column(body, where["row"] - row)):
            reason = reason.replace("x[...]", f"x[{short_repr(column)}]")
    return RequestError(400, f"{reason[0].lower()}{reason[1:]}. {EXAMPLES[action]}", **where)


def _find_invalid_column(body: bytes, row: int) -> str | None:
    """Return the first column of a row whose value has a type that rows cannot have."""
    with contextlib.suppress(ValueError, RecursionError):  # invalid JSON behind the row
        value = json.loads(body)
        x = (value[row] if isinstance(value, list) else value)["x"]
        types = (float, int, str, bool, type(None))
        return next((column for column, one in x.items() if type(one) not in types), None)
    return None


def _reject_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number of JSON; omit missing values, or write null")


MAX_DIGITS = 4300
"""Digits of an integer: Python reads no more, and its own message names an internal limit."""


def _parse_int(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(
            f"{text[:20]}... is an integer of {len(text)} digits, and {MAX_DIGITS} is the limit"
        )
    return int(text)


_python = json.JSONDecoder(parse_constant=_reject_constant, parse_int=_parse_int)


def _decode_with_python(body: bytes, offset: int, where: dict[str, int]) -> Any:
    """Decode a JSON value that msgspec cannot decode; the error names the byte of the request."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = offset + error.start
        raise RequestError(
            400, f"byte {byte} is not UTF-8. {ONE_VALUE}", byte=byte, **where
        ) from None
    try:
        return _python.decode(text)
    except json.JSONDecodeError as error:
        byte = offset + len(text[: error.pos].encode("utf-8"))
        raise RequestError(
            400, f"invalid JSON at byte {byte}: {error.msg}. {ONE_VALUE}", byte=byte, **where
        ) from None
    except RecursionError:
        raise RequestError(
            400, f"values are nested too deeply. {ONE_VALUE}", byte=offset, **where
        ) from None
    except ValueError as error:  # Infinity, NaN, or an integer of too many digits
        raise RequestError(400, f"{error}. {ONE_VALUE}", byte=offset, **where) from None


# ---------------------------------------------------------------------- names that occur twice

SHORT_BODY = 2**10
"""Bytes of a body that numpy would not search faster."""
COLON, QUOTE, BLANK = map(ord, ':" ')
NAME_ENDS = (b'":', b" :", b"\t:", b"\n:", b"\r:")
"""The colon behind a name, with what can be before it."""


def count_name_ends(body: bytes) -> int:
    """Count the colons behind a quote or a blank, which all colons behind a name are.

    The count is at least the number of names in the objects of a body. It may be higher, as strings
    can contain such colons. So if it equals the number of names that were decoded, no name occurs
    twice in an object.
    """
    if len(body) < SHORT_BODY:
        colons = body.count(b":")
        quoted = body.count(NAME_ENDS[0])
        return colons if colons == quoted else sum(body.count(end) for end in NAME_ENDS)
    data = np.frombuffer(body, dtype=np.uint8)
    before = data[np.flatnonzero(data[1:] == COLON)]
    return int(np.count_nonzero((before == QUOTE) | (before <= BLANK)))


def _require_unique_names(event: Event, names: int) -> None:
    """Reject an object with a name that occurs twice, which decoders accept.

    Parameters
    ----------
    event
        An event whose body was decoded.
    names
        Number of names in the decoded objects.
    """
    if count_name_ends(event.body) == names:
        return

    def check(pairs: list[tuple[str, Any]]) -> None:
        counts = Counter(name for name, _ in pairs)
        if len(counts) < len(pairs):
            name = counts.most_common(1)[0][0]
            raise RequestError(
                400,
                f"the name {short_repr(name)} occurs twice in one JSON object. Send each name "
                "once.",
            )

    for value in event.body.split(b"\n") if event.is_ndjson else [event.body]:
        # Blank lines have no value.
        with contextlib.suppress(ValueError, RecursionError):
            json.loads(value, object_pairs_hook=check, parse_int=str, parse_float=str)


# ---------------------------------------------------------------------- checks of rows


def are_names(values: Sequence[Any]) -> bool:
    """Whether all values are strings of 1 to 200 printable characters."""
    if set(map(type, values)) != {str}:
        return False
    lengths = set(map(len, values))
    return min(lengths) > 0 and max(lengths) <= MAX_NAME_LENGTH and "".join(values).isprintable()


def _require_row_count(count: int, limits: Limits) -> None:
    if count > limits.rows:
        raise RequestError(
            413, f"a request has at most {limits.rows:,} rows, got {count:,}. Send several."
        )


def _require_printable(**fields: list[Any]) -> None:
    """Reject strings with control characters, given the values of each field."""
    texts = [one for values in fields.values() for one in values if type(one) is str]
    if "".join(texts).isprintable():
        return
    for field, values in fields.items():
        for row, value in enumerate(values):
            if type(value) is str and not value.isprintable():
                raise RequestError(400, _not_a_name(field, value), row=row)


def _not_a_name(field: str, value: Any) -> str:
    return (
        f"{field} must be a string of 1 to {MAX_NAME_LENGTH} printable characters, got "
        f"{short_repr(value)}."
    )


def _require_client_ids(ids: list[str | None]) -> None:
    """Reject ids that only the server makes."""
    for row, name in enumerate(ids):
        if name is not None and name[0] == SERVER_ID_PREFIX:
            raise RequestError(
                400,
                f"ids that begin with {SERVER_ID_PREFIX} are made by the server, got "
                f"{short_repr(name)}. Choose another one.",
                row=row,
            )


def _require_columns(table: list[dict[str, Any]], limits: Limits) -> None:
    """Reject rows with too many columns, or with names of columns that are not printable."""
    checked = None
    for row, values in enumerate(table):
        if checked is not None and values.keys() == checked:
            continue
        checked = values.keys()
        if len(values) > limits.columns:
            raise RequestError(
                413,
                f"a row has at most {limits.columns:,} columns, got {len(values):,}.",
                row=row,
            )
        if values and not are_names(list(values)):
            wrong = next(name for name in values if not are_names([name]))
            raise RequestError(400, _not_a_name("the name of a column", wrong), row=row)


# ---------------------------------------------------------------------- tables

LONG_PREFIX = 16 * 2**10
"""Bytes at the beginning of a body that usually have more than ``MAX_SMALL_ROWS`` rows."""
ESCAPED = frozenset('"\\')
"""Characters that column names of a table must not have, as JSON escapes them."""
_decode_first = json.JSONDecoder().raw_decode


def _parse_table(event: Event, limits: Limits) -> RowRequest | None:
    """Parse an ask of many rows of one series that have the same columns and only numbers.

    None if the body is anything else: :func:`parse_rows` then accepts it or says what is wrong.
    """
    body = event.body
    # Each row has two braces. Most long bodies have enough of them at their beginning.
    if body.count(b"{", 0, LONG_PREFIX) <= 2 * MAX_SMALL_ROWS >= body.count(b"{"):
        return None
    names = _first_columns(body)
    if names is None or not 0 < len(names) <= limits.columns:
        return None
    if not are_names(names) or ESCAPED & set("".join(names)):
        return None
    decode_all, decode_one = _table_decoders(tuple(names))
    try:
        if event.is_ndjson:
            rows = [decode_one(line) for line in body.split(b"\n") if line.strip()]
        else:
            rows = decode_all(body)
    except INVALID:
        return None
    if not MAX_SMALL_ROWS < len(rows) <= limits.rows:
        return None
    ids, keys = [row.id for row in rows], [row.key for row in rows]
    has_key, named = keys[0] != "", len(rows) - ids.count(None)
    if count_name_ends(body) != len(rows) * (1 + len(names) + has_key) + named:
        return None  # perhaps a name occurs twice
    if keys.count(keys[0]) != len(keys) or (has_key and not are_names(keys[:1])):
        return None
    if named and (not are_names(ids) or _has_server_id(ids)):
        return None
    values = np.empty((len(rows), len(names)))
    numbers = chain.from_iterable(map(msgspec.structs.astuple, [row.x for row in rows]))
    # values.flat[:] = list(numbers), in a third of the time
    struct.pack_into(f"{values.size}d", values.data, 0, *numbers)
    part = AskRows(keys[0], range(len(rows)), ids, NumericRows(names, values))
    return RowRequest([part], len(rows), True)


def _has_server_id(ids: list[Any]) -> bool:
    return SERVER_ID_PREFIX in "".join(ids) and SERVER_ID_PREFIX in {name[0] for name in ids}


def _first_columns(body: bytes) -> list[str] | None:
    """Return the names of the columns of the first row; None if there is none."""
    try:
        text = body.decode("utf-8")
        row, _ = _decode_first(text, text.index("{"))
    except INVALID:
        return None
    x = row.get("x")
    return list(x) if type(x) is dict else None


@functools.lru_cache(maxsize=32)
def _table_decoders(names: tuple[str, ...]) -> tuple[Any, Any]:
    """Return decoders of many rows, and of one, with exactly these columns and only numbers.

    A type made for the columns is decoded three times as fast as dictionaries.
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
        "TableRow",
        [("x", columns), ("id", str | None, None), ("key", str, "")],
        forbid_unknown_fields=True,
        gc=False,
    )
    return msgspec.json.Decoder(list[row]).decode, msgspec.json.Decoder(row).decode
