"""What the optional parts of the package need: the command that installs it, for messages about
a package that is missing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager


def installation(extra: str) -> str:
    """The pip command that brings what an extra needs.

    It works wherever swordplay itself was installed from.

    Parameters
    ----------
    extra
        Its name in ``pyproject.toml``, such as ``"cli"``.

    Examples
    --------
    >>> installation("sweep")
    "pip install 'joblib>=1.4'"
    """
    from importlib import (
        metadata,
    )  # takes longer to import than all the rest here, and is for messages only

    wanted = [line.partition(";") for line in metadata.requires("swordplay") or ()]
    names = [
        requirement.strip()
        for requirement, _, marker in wanted
        if marker.split("==")[-1].strip(" \"'") == extra
    ]
    return f"pip install {shlex.join(sorted(names))}"


@contextmanager
def needing(what: str, extra: str, *modules: str) -> Iterator[None]:
    """Imports of an optional part: a package that is not installed is named, with the command that
    installs it.

    Parameters
    ----------
    what
        The part, for the message.
    extra
        Where its packages are listed (see :func:`installation`).
    modules
        Names of these packages in Python; if another one is missing, that is an error of its own.

    Raises
    ------
    ImportError
        If one of them is not installed.

    Examples
    --------
    >>> with needing("this example", "sweep", "no_such_package"):
    ...     import no_such_package
    Traceback (most recent call last):
    ...
    ImportError: this example needs no_such_package, which is not installed. Install it with: pip
    install 'joblib>=1.4'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in modules:
            raise
        message = (
            f"{what} needs {missing}, which is not installed. Install it with: "
            f"{installation(extra)}"
        )
        raise ImportError(message, name=error.name) from error
