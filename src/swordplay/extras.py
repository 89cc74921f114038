"""What the optional parts of the package need: the command that installs it, for messages about a package that is missing."""

from __future__ import annotations

import shlex
from importlib import metadata


def installation(extra: str) -> str:
    """The pip command that brings what an extra needs; it works wherever swordplay itself was installed from.

    Parameters
    ----------
    extra
        Its name in ``pyproject.toml``, such as ``"cli"``.

    Examples
    --------
    >>> installation("sweep")
    "pip install 'joblib>=1.4'"
    """
    wanted = [line.partition(";") for line in metadata.requires("swordplay") or ()]
    names = [requirement.strip() for requirement, _, marker in wanted if marker.split("==")[-1].strip(" \"'") == extra]
    return f"pip install {shlex.join(sorted(names))}"
