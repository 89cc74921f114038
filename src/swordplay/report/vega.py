"""The Vega chart library from the package vl-convert-python: its script for pages, and SVG.

Only this module imports vl-convert. Nothing is downloaded: the package contains the library.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from swordplay.core import extras
from swordplay.core.files import PRIVATE_MODE, write_atomic

LONG_NUMBER = re.compile(r"(\.\d\d)\d+")
"""Digits of a coordinate beyond a hundredth of a pixel."""
PATH = re.compile(r'(?<= d=")[^"]*(?=")')
CLIP = re.compile(r"(?<=id=\")clip\d+(?=\")|(?<=url\(#)clip\d+(?=\))")
SNIPPET = "window.vegaEmbed = vegaEmbed;"
"""What the bundle exports. ``vega`` itself is null in a bundle of vl-convert 1.9, so pages draw by
vega-embed.
"""
LARGEST_SCRIPT = 1 << 23
"""Bytes of a cached script that are read at most; the library has 0.9 MB."""


@functools.cache
def script() -> str:
    """Return the library as a script for a page, 0.9 MB.

    vl-convert takes 1.5 s to bundle it. The result depends on the version of vl-convert alone and
    is kept in the user's cache folder.
    """
    package, folder = _package(), _cache_folder()
    key = hashlib.sha256(SNIPPET.encode()).hexdigest()[:8]
    name = f"vega-{package.__version__}-{key}.js"
    cached = None if folder is None else _read_cached(folder, name)
    if cached is not None:
        return cached
    bundle = str(package.javascript_bundle(snippet=SNIPPET))
    if folder is not None:
        _write_cached(folder, name, bundle)
    return bundle


def still(spec: Mapping[str, Any], name: str) -> str:
    """Draw a chart as SVG, for readers without JavaScript.

    Parameters
    ----------
    spec
        The chart in Vega's language.
    name
        Of the chart, unique in its page. Clipping paths are named by it: Vega numbers them over all
        charts that a process has drawn, so that equal charts would give different SVG.
    """
    picture = PATH.sub(
        lambda path: LONG_NUMBER.sub(r"\1", path[0]), str(_package().vega_to_svg(dict(spec)))
    )
    numbers = {path: k for k, path in enumerate(dict.fromkeys(CLIP.findall(picture)))}
    return CLIP.sub(lambda path: f"{name}-clip{numbers[path[0]]}", picture)


def png(spec: Mapping[str, Any]) -> bytes:
    """Draw a figure as PNG, with two pixels for each CSS pixel."""
    return bytes(_package().vega_to_png(dict(spec), scale=2))


def _cache_folder() -> Path | None:
    """Return the user's cache folder for scripts; None if the environment names none."""
    # The XDG base directory specification says that relative paths are to be ignored.
    places = os.environ.get("XDG_CACHE_HOME", ""), os.path.expanduser("~/.cache")
    found = next((place for place in places if os.path.isabs(place)), None)
    return None if found is None else Path(found, "swordplay", "report")


def _read_cached(folder: Path, name: str) -> str | None:
    """Return a cached script, or None if it is missing, damaged or writable by other users.

    The script runs in the reader's browser, so neither the file nor its folder may be writable by
    anyone but this user. Both are opened once and checked by their descriptors, so that they cannot
    be exchanged between check and use.
    """
    follow_no_link = os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | follow_no_link)
        try:
            if not _is_private(os.fstat(opened), stat.S_ISDIR):
                return None
            # O_NONBLOCK: opening a pipe would wait for a writer.
            descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | follow_no_link, dir_fd=opened)
        finally:
            os.close(opened)
        with open(descriptor, "rb") as file:
            if not _is_private(os.fstat(descriptor), stat.S_ISREG):
                return None
            digest, _, content = file.read(LARGEST_SCRIPT).partition(b"\n")
    except OSError:
        return None
    return content.decode() if digest == _digest(content) else None


def _is_private(found: os.stat_result, is_expected: Callable[[int], bool]) -> bool:
    """Whether a file or folder belongs to this user, who alone may write it."""
    return (
        is_expected(found.st_mode)
        and found.st_uid == os.geteuid()
        and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _write_cached(folder: Path, name: str, script: str) -> None:
    """Keep a script behind its digest; without a writable folder the next process bundles again."""
    content = script.encode()
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(folder / name, _digest(content) + b"\n" + content, PRIVATE_MODE)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _package() -> Any:
    try:
        import vl_convert
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            f"reports need vl-convert-python. Install it with: {extras.pip_command('cli')}",
            name="vl_convert",
        ) from missing
    return vl_convert
