"""Formulas whose numbers may leave the range of doubles."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable
from typing import Any, TypeVar

from swordplay.core.arguments import shown

F = TypeVar("F", bound=Callable[..., Any])


def representable(function: F) -> F:
    """Let a function of numbers refuse, in words, those that no double can carry through its
    formula.

    Each number may be fine by itself; squared and multiplied with the others it may overflow, or
    vanish in a denominator.
    """

    @functools.wraps(function)
    def watched(*given: Any, **named: Any) -> Any:
        try:
            return function(*given, **named)
        except (OverflowError, ZeroDivisionError):
            numbers_ = {
                name: value for name, value in named.items() if isinstance(value, numbers.Real)
            }
            told = ", ".join(f"{name}={shown(value, 24)}" for name, value in numbers_.items())
            raise ValueError(
                f"{function.__qualname__.removesuffix('.__init__')}({told}) leaves the range of "
                "doubles: these numbers are too "
                "large or too small together. Choose other units, such as losses divided by their "
                "usual size."
            ) from None

    return watched  # type: ignore[return-value]  # the same arguments as the function it stands for
