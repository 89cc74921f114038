"""Find the other Python interpreters of this machine that can run the tests: one for each version,
besides this one.

``python3 tests/interpreters.py`` prints a line "VERSION PATH" for each. ``.ci/run`` runs ``make
test-quick`` with them.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LOWEST = (3, 11)
"""As ``requires-python`` in pyproject.toml."""
PATIENCE = 60.0
"""Seconds in which an interpreter must have started."""
PROBE = """
import ensurepip, sys, venv  # Debian leaves out ensurepip and venv unless python3-venv is installed
usable = sys.implementation.name == "cpython" and sys.version_info.releaselevel == "final"
free_threaded = not getattr(sys, "_is_gil_enabled", lambda: True)()
print(*sys.version_info[:2] if usable and not free_threaded else ())
"""


def candidates() -> Iterator[Path]:
    """Files named like interpreters: those on PATH, then those of pyenv, whose shims on PATH
    fail unless it selects them.
    """
    for folder in filter(None, os.environ.get("PATH", "").split(os.pathsep)):
        yield from sorted(
            file
            for file in Path(folder).glob("python3.*")
            if re.fullmatch(r"python3\.\d+", file.name)
        )
    if (pyenv := shutil.which("pyenv")) and (root := _output([pyenv, "root"])):
        yield from sorted(Path(root).glob("versions/*/bin/python3"), reverse=True)


def version(interpreter: Path) -> tuple[int, int] | None:
    """Version of an interpreter, or None if it does not start or cannot make an environment for
    the tests.
    """
    numbers = _output([str(interpreter), "-I", "-c", PROBE]).split()
    return (int(numbers[0]), int(numbers[1])) if len(numbers) == 2 else None


def others(without: tuple[int, int]) -> dict[tuple[int, int], Path]:
    """The first usable interpreter of each version from the lowest supported one on, except for
    one version.
    """
    found: dict[tuple[int, int], Path] = {}
    for interpreter in candidates():
        number = version(interpreter)
        if number is not None and number >= LOWEST and number != without:
            found.setdefault(number, interpreter)
    return dict(sorted(found.items()))


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


if __name__ == "__main__":
    for (major, minor), interpreter in others(sys.version_info[:2]).items():
        print(f"{major}.{minor} {interpreter}")
