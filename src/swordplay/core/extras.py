"""Messages about optional packages that are missing, with the command that installs them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager


def pip_command(extra: str) -> str:
    """Return the pip command that installs the packages of an extra, from the package metadata.

    Parameters
    ----------
    extra
        Name of the extra in ``pyproject.toml``, such as ``"cli"``.

    Examples
    --------
    >>> pip_command("sweep")
    "pip install 'joblib>=1.4'"
    """
    from importlib import metadata  # slow to import, and needed for error messages only

    # Each line of the metadata is "requirement; marker", as in: click>=8.1; extra == "cli"
    marker_of_extra = re.compile(rf"""\bextra\s*==\s*["']{re.escape(extra)}["']""")
    declared = [line.partition(";") for line in metadata.requires("swordplay") or ()]
    requirements = [
        requirement.strip() for requirement, _, marker in declared if marker_of_extra.search(marker)
    ]
    return f"pip install {shlex.join(sorted(requirements))}"


@contextmanager
def require_extra(feature: str, extra: str, *modules: str) -> Iterator[None]:
    """Context for imports of optional packages: the error for a missing one has the pip command.

    Parameters
    ----------
    feature
        The part of swordplay that needs the packages, for the message.
    extra
        The extra in ``pyproject.toml`` that lists the packages.
    modules
        Import names of the packages. If any other module is missing, its own ModuleNotFoundError
        is raised unchanged.

    Raises
    ------
    ImportError
        If one of ``modules`` is not installed.

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
        missing = (error.name or "").partition(".")[0]  # the package of a missing submodule
        if missing not in modules:
            raise
        message = (
            f"{feature} needs {missing}, which is not installed. "
            f"Install it with: {pip_command(extra)}"
        )
        raise ImportError(message, name=error.name) from error
