"""Calls of kernels that may have to be compiled first."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

PATIENCE = 0.7
"""Seconds after which a call that is still compiling says so."""

_called: set[str] = set()


def patiently(kernel: Callable[..., Any], *arguments: Any) -> Any:
    """Call a kernel; if it takes long because it is being compiled, say so on a terminal."""
    name = getattr(kernel, "__qualname__", repr(kernel))
    if name in _called or sys.stderr is None or not sys.stderr.isatty():  # None if it was closed (2>&-)
        return kernel(*arguments)
    _called.add(name)
    message = "swordplay: compiling the engine (once; kept on disk for the next time) ..."
    timer = threading.Timer(PATIENCE, print, args=(message,), kwargs={"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        return kernel(*arguments)
    finally:
        timer.cancel()
