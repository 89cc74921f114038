"""Messages about optional packages that are missing, with the command that installs them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager


def pip_command(extra: str) -> str:
    """The pip command that installs the packages of an extra, from the metadata of swordplay.

    Parameters
    ----------
    extra
        Its name in ``pyproject.toml``, such as ``"cli"``.

    Examples
    --------
    >>> pip_command("sweep")
    "pip install 'joblib>=1.4'"
    """
    from importlib import metadata  # slow to import, and needed for error messages only

    wanted = [line.partition(";") for line in metadata.requires("swordplay") or ()]
    names = [
        requirement.strip()
        for requirement, _, marker in wanted
        if marker.split("==")[-1].strip(" \"'") == extra
    ]
    return f"pip install {shlex.join(sorted(names))}"


@contextmanager
def require_extra(what: str, extra: str, *modules: str) -> Iterator[None]:
    """Context for imports of optional packages: names a missing one and how to install it.

    Parameters
    ----------
    what
        The part of swordplay that needs them, for the message.
    extra
        The extra in ``pyproject.toml`` that lists the packages.
    modules
        Names under which they are imported; the absence of any other module is not reported.

    Raises
    ------
    ImportError
        If one of them is not installed.

    Examples
    --------
    >>> with require_extra("this example", "sweep", "no_such_package"):
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
            f"{what} needs {missing}, which is not installed. Install it with: {pip_command(extra)}"
        )
        raise ImportError(message, name=error.name) from error
