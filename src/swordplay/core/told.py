"""JSON texts of saved states, read against the shape that they must have: whatever else they
hold is refused in words.
"""

from __future__ import annotations

import json
from typing import Any

from swordplay.core.arguments import shown
from swordplay.core.state import DAMAGED, Range


class Either(tuple[Any, ...]):
    """One of several shapes."""


def read(name: str, text: Any, shape: Any) -> Any:
    """The value of a JSON text.

    Parameters
    ----------
    name
        Of the entry, for the message.
    text
        As it was saved.
    shape
        What the value must be: a type, ``None``, or a :class:`Range` of numbers (of whole ones, if
        it counts something); ``[shape]`` is a list of any length, ``(shape, shape)`` one of this
        length, ``{str: shape}`` a mapping, and ``Either((shape, shape))`` one of them.

    Raises
    ------
    ValueError
        If it is no JSON, or of another shape.

    >>> read("clocks", '{"day": [1, null]}', {str: (int, Either((str, None)))})
    {'day': [1, None]}
    """
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"state[{name!r}] must be JSON, got {shown(text)} ({error}). {DAMAGED}"
        ) from error
    require_shape(name, value, shape)
    return value


def require_shape(name: str, value: Any, shape: Any) -> None:
    """Refuse a value of JSON that has another shape; as in :func:`read`."""
    if not fits(value, shape):
        raise ValueError(
            f"state[{name!r}] holds something else than it should, {shown(value)}. {DAMAGED}"
        )


def fits(value: Any, shape: Any) -> bool:
    """Whether a value of JSON has this shape (see :func:`read`)."""
    if shape is None or isinstance(shape, type):
        return value is None if shape is None else type(value) is shape
    if isinstance(shape, Range):
        kinds = (int,) if shape.whole else (int, float)
        return type(value) in kinds and shape.least <= value <= shape.most
    if isinstance(shape, Either):
        return any(fits(value, one) for one in shape)
    if isinstance(shape, dict):
        return type(value) is dict and all(fits(one, shape[str]) for one in value.values())
    if isinstance(shape, list):
        return type(value) is list and all(fits(one, shape[0]) for one in value)
    return type(value) is list and len(value) == len(shape) and all(map(fits, value, shape))
