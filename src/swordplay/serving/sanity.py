"""What the parts of a server's checkpoint may hold: whatever was forged is refused when it is
loaded, and not met later.
"""

from __future__ import annotations

import math
from typing import Any

from swordplay.core.arguments import short_repr
from swordplay.core.state import DAMAGED

MOST = 2**53
"""Of whatever is counted."""
PLAIN = (str, bool, int, float, type(None))
"""Types of predictions and answers."""


def require(what: str, right: bool, found: Any) -> None:
    """Refuse what no events lead to.

    Raises
    ------
    ValueError
        Says what it is.
    """
    if not right:
        raise ValueError(f"{what} cannot be {short_repr(found)}. {DAMAGED}")


def is_count(value: Any, least: int = 0) -> bool:
    """Whether it is a whole number that counts something."""
    return type(value) is int and least <= value <= MOST


def is_size(value: Any) -> bool:
    """Whether it is a finite number, 0 or above, such as an error."""
    return type(value) in (int, float) and math.isfinite(value) and value >= 0


def is_end(value: Any) -> bool:
    """Whether it is an end of an interval, which may be infinite, or nothing."""
    return value is None or (type(value) in (int, float) and value == value)


def is_plain(value: Any) -> bool:
    """Whether it can be a prediction or an answer."""
    return type(value) in PLAIN and not (type(value) is float and not math.isfinite(value))


def is_share(value: Any) -> bool:
    """Whether it is a share of rows, or nothing."""
    return value is None or (is_size(value) and value <= 1)
