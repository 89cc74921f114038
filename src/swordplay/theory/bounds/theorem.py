"""The decorator ``@theorem``, which checks the arguments and assumptions of a bound."""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from swordplay.core import arguments

Bound = TypeVar("Bound", bound=Callable[..., float])

Positive = Annotated[float, arguments.positive]
"""A finite number greater than 0."""
NonNegative = Annotated[float, arguments.nonnegative]
"""A finite number of at least 0."""
PositiveInt = Annotated[int, arguments.integer]  # refuses numbers below 1
"""A whole number of at least 1."""
NonNegativeInt = Annotated[int, functools.partial(arguments.integer, least=0)]
"""A whole number of at least 0."""
Tuning = Literal["safe", "paper"]
"""``"safe"``: for the library's default pools and rates; ``"paper"``: for the paper's own."""

Check = Callable[[str, Any], Any]
"""Takes name and value of an argument; returns the converted value or raises an error."""

CALLER_STACKLEVEL = 5
"""``stacklevel`` for warnings in a bound's helper: they point at the line that called the bound.

It is the fifth frame: 1 the helper, 2 the bound, 3 and 4 the wrappers of
``arguments.explain_overflow`` and ``theorem``, 5 the caller.
"""


def theorem(bound: Bound) -> Bound:
    """Check the arguments of a bound before it is computed, and its result for overflow.

    Every parameter annotated by ``Positive``, ``NonNegative``, ``PositiveInt``,
    ``NonNegativeInt``, a ``Literal`` of strings, or another ``Annotated`` type that carries a check
    is checked and converted to a float or an int. ``None`` passes where the annotation is
    ``... | None``. If the keyword argument ``assumptions`` is given, its method
    ``require`` raises an error unless they hold. If the formula overflows, or
    divides by a number that underflowed to 0, a ``ValueError`` names the arguments. Only arguments
    passed by keyword are checked: the parameters of a bound are keyword-only.

    >>> @theorem
    ... def half(*, diameter: Positive) -> float:
    ...     return diameter / 2
    >>> half(diameter=-1.0)
    Traceback (most recent call last):
        ...
    ValueError: diameter must be greater than 0, got -1.0. Give a positive number.
    """
    hints = typing.get_type_hints(bound, include_extras=True)
    checks = {name: check for name, hint in hints.items() if (check := _check_of(hint)) is not None}
    overflow_checked_bound = arguments.explain_overflow(bound)

    @functools.wraps(bound)
    def checked_bound(*args: Any, **kwargs: Any) -> float:
        if kwargs.get("assumptions") is not None:
            kwargs["assumptions"].require(f"bounds.{bound.__name__}")
        for name, check in checks.items():
            if name in kwargs:
                kwargs[name] = check(name, kwargs[name])
        return overflow_checked_bound(*args, **kwargs)

    return checked_bound  # type: ignore[return-value]  # functools.wraps keeps the signature


def _check_of(hint: Any) -> Check | None:
    """The check that an annotation asks for, or None."""
    origin, members = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):  # X | None
        alternatives = [member for member in members if member is not types.NoneType]
        inner_check = _check_of(alternatives[0]) if len(alternatives) == 1 else None
        return None if inner_check is None else functools.partial(_check_unless_none, inner_check)
    if origin is Annotated:  # Annotated[type, check]
        check: Check = members[1]
        return check
    if origin is Literal:  # Literal["first choice", ...]
        return functools.partial(_check_choice, members)
    return None


def _check_unless_none(check: Check, name: str, value: Any) -> Any:
    return None if value is None else check(name, value)


def _check_choice(choices: tuple[str, ...], name: str, value: Any) -> str:
    if not (isinstance(value, str) and value in choices):
        allowed = " or ".join(map(repr, choices))
        raise ValueError(f"{name} must be {allowed}, got {arguments.short_repr(value)}.")
    return value
