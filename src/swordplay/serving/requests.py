"""What clients ask for: rows to predict, answers to learn, tickets to drop, models to declare.

All of it is checked before any of it is done: a request is accepted whole or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from swordplay.core.arguments import short_repr
from swordplay.serving import plain
from swordplay.serving.bodies import parsed
from swordplay.serving.limits import LONGEST_MODEL, LONGEST_NAME, Bounds, Limits
from swordplay.serving.log import Event
from swordplay.serving.plain import OURS
from swordplay.serving.refusals import Refusal

MODEL = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_MODEL}}}")
"""Names of models: neither a slash nor a dot, as they stand in addresses."""
DEFAULT = "default"
"""The model of ``/ask`` and ``/tell``."""
KINDS = ("number", "yes-no", "classes")
"""What a model predicts."""
VALUES = frozenset({float, int, str, bool, type(None)})
"""Types of values in rows; null is missing."""
LABELS = frozenset({float, int, str, bool})
"""Types of answers."""
ASKED, TOLD, DROPPED = (
    frozenset({"x", "id", "key"}),
    frozenset({"id", "y", "key"}),
    frozenset({"id", "key"}),
)
"""Fields of a row of each action."""
ASK = (
    'Send {"x": {"column": value, ...}, "id": "...", "key": "..."} (id and key if you like), '
    "or a list of such."
)
TELL = 'Send {"id": "...", "y": value, "key": "..."} (key as when it was asked), or a list of such.'
DROP = 'Send {"id": "...", "key": "..."} (key as when it was asked), or a list of such.'


class Ask(NamedTuple):
    """Rows of one series to predict."""

    key: str
    places: Any  # a list or a range
    """Where each row stands in the request."""
    ids: list[str | None]
    rows: Any
    """Dictionaries, or ``NumericRows``."""


class Tell(NamedTuple):
    """Answers for tickets of one series."""

    key: str
    places: Any  # a list or a range
    ids: list[str]
    values: list[Any]


class Drop(NamedTuple):
    """Tickets of one series that will not be answered."""

    key: str
    places: list[int]
    ids: list[str]


class Declaration(NamedTuple):
    """What a model predicts, said before its first row."""

    kind: str


Part = Ask | Tell | Drop


class Wanted(NamedTuple):
    """A request: its parts, a series each, and whether the answer is a list."""

    parts: list[Any]
    rows: int
    """How many it has."""
    many: bool


Change = Wanted | Declaration | Bounds
"""What an event may want."""


def model_name(text: str) -> str:
    """A name of a model, or a refusal."""
    if not MODEL.fullmatch(text):
        raise Refusal(
            400,
            f"a model is named by 1 to {LONGEST_MODEL} of the letters A-Z a-z 0-9 _ -, got "
            f"{short_repr(text)}. Rename it.",
        )
    return text


def read(event: Event, limits: Limits) -> Change:
    """What an event wants.

    Raises
    ------
    Refusal
        If it cannot be read, or is too much for one request.
    """
    return _batch(event, limits) or by_row(event, limits)


def by_row(event: Event, limits: Limits) -> Change:
    """The same row by row, each as it is written, also of a batch that is a plain table."""
    value = parsed(event.body, event.lines)
    if event.action == "declare":
        return _declaration(value)
    if event.action == "bounds":  # the server itself, when it is started with other limits
        return Bounds(**value)
    many = isinstance(value, list)
    items = value if many else [value]
    if len(items) > limits.rows:
        raise Refusal(
            413, f"a request has at most {limits.rows:,} rows, got {len(items):,}. Send several."
        )
    reader, words = READERS[event.action]
    parts: dict[str, Any] = {}
    for place, item in enumerate(items):
        if type(item) is not dict:
            raise Refusal(400, f"got {short_repr(item)}. {words}", row=place)
        try:
            reader(parts, place, item, limits)
        except Refusal as refusal:
            refusal.where.setdefault("row", place)
            raise
    return Wanted(list(parts.values()), len(items), many)


def _batch(event: Event, limits: Limits) -> Wanted | None:
    """What an event wants that is a plain table; None for any other."""
    if (
        event.action == "ask"
        and (asked := plain.asked(event.body, event.lines, limits)) is not None
    ):
        key, ids, rows = asked
        return Wanted([Ask(key, range(len(rows)), ids, rows)], len(rows), True)
    if event.action == "tell" and (told := plain.told(event.body, event.lines, limits)) is not None:
        return Wanted([Tell(told[0], range(len(told[1])), *told[1:])], len(told[1]), True)
    return None


def _ask(parts: dict[str, Any], place: int, item: dict[str, Any], limits: Limits) -> None:
    if not item.keys() <= ASKED:
        _refuse_field(item, ASKED, ASK)
    row, name, key = item.get("x"), item.get("id"), item.get("key", "")
    if type(row) is not dict:
        raise Refusal(
            400, f"x must be an object of columns and their values, got {short_repr(row)}. {ASK}"
        )
    if key != "":
        _text("key", key)
    if name is not None and _text("id", name)[0] == OURS:
        raise Refusal(
            400,
            f"ids that begin with {OURS} are given by the server, got {short_repr(name)}. Choose "
            "another one.",
        )
    part = parts.get(key)
    if part is None:
        part = parts[key] = Ask(key, [], [], [])
    rows = part.rows
    if not rows or rows[-1].keys() != row.keys():
        _check_columns(row, limits)
    if not VALUES.issuperset(map(type, row.values())):
        _refuse_value(row)
    part.places.append(place)
    part.ids.append(name)
    rows.append(row)


def _tell(parts: dict[str, Any], place: int, item: dict[str, Any], limits: Limits) -> None:
    if not item.keys() <= TOLD:
        _refuse_field(item, TOLD, TELL)
    name, value = _text("id", item.get("id")), item.get("y")
    if type(value) not in LABELS:
        raise Refusal(
            400, f"y must be a number, a truth value or a text, got {short_repr(value)}. {TELL}"
        )
    if type(value) is str:
        _text("y", value)
    key = item.get("key", "")
    if key != "":
        _text("key", key)
    part = parts.get(key) or parts.setdefault(key, Tell(key, [], [], []))
    part.places.append(place)
    part.ids.append(name)
    part.values.append(value)


def _drop(parts: dict[str, Any], place: int, item: dict[str, Any], limits: Limits) -> None:
    if not item.keys() <= DROPPED:
        _refuse_field(item, DROPPED, DROP)
    key = item.get("key", "")
    if key != "":
        _text("key", key)
    part = parts.get(key) or parts.setdefault(key, Drop(key, [], []))
    part.places.append(place)
    part.ids.append(_text("id", item.get("id")))


READERS: dict[str, tuple[Callable[[dict[str, Any], int, dict[str, Any], Limits], None], str]] = {
    "ask": (_ask, ASK),
    "tell": (_tell, TELL),
    "drop": (_drop, DROP),
}
"""What reads one row of each action, and what to send."""


def _declaration(value: Any) -> Declaration:
    words = 'Send {"target": "number"}, {"target": "yes-no"} or {"target": "classes"}.'
    if type(value) is not dict or value.keys() != {"target"} or value["target"] not in KINDS:
        raise Refusal(
            400, f"a model is declared by what it predicts, got {short_repr(value)}. {words}"
        )
    return Declaration(value["target"])


def _text(what: str, value: Any) -> str:
    """A short text without control characters."""
    if type(value) is not str or not 0 < len(value) <= LONGEST_NAME or not value.isprintable():
        raise Refusal(
            400,
            f"{what} must be a text of 1 to {LONGEST_NAME} printable letters, got "
            f"{short_repr(value)}.",
        )
    return value


def _refuse_field(item: dict[str, Any], names: frozenset[str], words: str) -> None:
    raise Refusal(400, f"there is no field {short_repr(min(item.keys() - names))}. {words}")


def _check_columns(row: dict[str, Any], limits: Limits) -> None:
    if len(row) > limits.columns:
        raise Refusal(413, f"a row has at most {limits.columns:,} columns, got {len(row):,}.")
    if row and not plain.are_names(list(row)):
        for column in row:  # which of them it is
            _text("a column's name", column)


def _refuse_value(row: dict[str, Any]) -> None:
    for column, value in row.items():
        if type(value) not in VALUES:
            raise Refusal(
                400,
                f"x[{short_repr(column)}] must be a number, a text, true, false or null, got "
                f"{short_repr(value)}.",
            )
