"""Answers as JSON: a ticket, and what became of it."""

from __future__ import annotations

import json
import math
from typing import Any

from swordplay.late import Ticket

LARGEST = 1e300
"""Numbers below are finite."""
_text = json.encoder.encode_basestring_ascii
_value = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def ticket(found: Ticket) -> str:
    """A prediction, and how sure it is: an interval, or a probability for each class.

    An interval that is infinite, as the first ones are, has null for its ends.
    """
    name, said, lower, upper, chances = found
    finite = lower is not None and upper is not None and -LARGEST <= lower <= upper <= LARGEST
    if chances is None and type(said) is float and finite:
        return f'{{"id":{_text(name)},"prediction":{said!r},"lower":{lower!r},"upper":{upper!r}}}'  # the usual case
    start = f'{{"id":{_text(found.id)},"prediction":{_plain(found.prediction)}'
    if found.probabilities is not None:
        probabilities = ",".join(f"{_text(_name(label))}:{share!r}" for label, share in found.probabilities.items())
        return f'{start},"probabilities":{{{probabilities}}}}}'
    return f'{start},"lower":{_end(found.lower)},"upper":{_end(found.upper)}}}'


def told(found: Ticket, y: Any, error: float) -> str:
    """What was predicted, and how far off it was."""
    if type(y) is float and type(said := found.prediction) is float and error <= LARGEST:  # the usual case
        return f'{{"id":{_text(found.id)},"prediction":{said!r},"y":{y!r},"error":{error!r}}}'
    return f'{{"id":{_text(found.id)},"prediction":{_plain(found.prediction)},"y":{_plain(y)},"error":{_end(error)}}}'


def dropped(name: str) -> str:
    """A ticket that is gone."""
    return f'{{"id":{_text(name)},"dropped":true}}'


def listed(parts: list[str], many: bool) -> bytes:
    """The answers of a request, in the order of its rows."""
    return (f"[{','.join(parts)}]" if many else parts[0]).encode("ascii")


def body(value: Any) -> bytes:
    """Anything else."""
    return _value(value).encode("ascii")


def _end(value: float | None) -> str:
    return "null" if value is None or not math.isfinite(value) else repr(value)


def _plain(value: Any) -> str:
    return repr(value) if type(value) is float else _value(value)


def _name(label: Any) -> str:
    """A label as a name of JSON: texts as they are, truth values and numbers as JSON writes them."""
    return label if isinstance(label, str) else _value(label)
