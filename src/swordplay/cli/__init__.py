"""The command ``swordplay``: parse, wire, print; no arithmetic.

Exit codes: 0 done; 1 it failed on the way; 2 it could not be started as asked (a bad option, a path
that cannot be written, an extra that is not installed); 130 or 143 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from swordplay.core import extras

EXTRA = ("click", "rich", "pyarrow", "vl_convert")
"""What the commands are made with; the library itself never imports it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with its exit code."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit code.

    Parameters
    ----------
    arguments
        What follows ``swordplay`` on the command line; the process's own arguments unless given.
    """
    try:
        from swordplay.cli import commands

        return commands.run(arguments)
    except ModuleNotFoundError as missing:
        package = (missing.name or "").split(".")[0]
        if package not in EXTRA:
            raise
        print(
            f"swordplay: the command needs {package}. Install it with: {extras.pip_command('cli')}",
            file=sys.stderr,
        )
        return 2
