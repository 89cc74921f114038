"""Functions with many options: each is declared once, in a table of its own, and shown wherever the
function is looked up.

Such a function takes ``**options`` of a ``TypedDict``, which type checkers and editors know by
name, and a dictionary of the values that hold unless something is said. :func:`completed` joins the
two; :func:`spelled_out` lets ``help`` and notebooks show every option.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, ForwardRef, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])
D = TypeVar("D", bound=Mapping[str, Any])

PLACEHOLDER = re.compile(r"^\*\*options\n(?:    .+\n)*", re.MULTILINE)
"""The entry ``**options`` of a docstring without its indentation, which Python 3.13 strips.

The options replace it.
"""


def completed(function: str, given: Mapping[str, Any], usual: D) -> D:
    """Every option with the value that was given, or else its usual one.

    Raises
    ------
    TypeError
        For an option that there is not, as Python itself would say it.

    >>> completed("track", {"lags": 2}, {"lags": 0, "drop": ()})
    {'lags': 2, 'drop': ()}
    """
    for name in given:
        if name not in usual:
            near = difflib.get_close_matches(name, list(usual), 1)
            meant = f". Did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{meant}")
    return cast(D, {**usual, **given})


def spelled_out(declared: type, usual: Mapping[str, Any]) -> Callable[[F], F]:
    """A decorator that lets a function with ``**options`` show each of them in its signature and in
    its docstring.

    Parameters
    ----------
    declared
        The ``TypedDict`` of the options; its docstring describes them as the Parameters section of
        a function would.
    usual
        The values that hold unless something is said.
    """

    def shown(function: F) -> F:
        own = inspect.signature(function)
        named = [
            one for one in own.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        hints = {
            name: hint.__forward_arg__ if isinstance(hint, ForwardRef) else hint
            for name, hint in declared.__annotations__.items()
        }
        more = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=hints[name]
            )
            for name, value in usual.items()
        ]
        # because of mypy
        function.__signature__ = own.replace(parameters=[*named, *more])  # type: ignore[attr-defined]
        about = inspect.cleandoc(declared.__doc__ or "").partition("\n\n")[2]
        function.__doc__ = PLACEHOLDER.sub(
            lambda _: f"{about}\n", inspect.cleandoc(function.__doc__ or "")
        )
        return function

    return shown
