"""A server from its start to its end: the folder, the socket, uvicorn, and a checkpoint before
it goes.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable, Generator
from typing import NamedTuple

import uvicorn

from swordplay.serving import memory
from swordplay.serving.connection import patient
from swordplay.serving.door import Door
from swordplay.serving.keeper import Keeper
from swordplay.serving.limits import Limits
from swordplay.serving.metrics import Counts
from swordplay.serving.pages import Files, Pages
from swordplay.serving.scribe import Scribe
from swordplay.serving.tokens import Gate

BACKLOG = 1024
"""Connections that may wait to be taken."""
GRACE = 10
"""Seconds that requests under way have to finish when the server stops."""
RARELY = (50_000, 20, 100)
"""When garbage is looked for (``gc.set_threshold``): seldom, as all that is remembered would be
looked at again each time.
"""
SWITCH = 0.001
"""Seconds after which the thread that waits for the disk gets Python's lock back."""
TICK = 1.0
"""Seconds between two looks at whether a checkpoint is due."""


class AddressError(ValueError):
    """An address that cannot be listened at; says which, and why."""


class Ready(NamedTuple):
    """What a server says when it is there."""

    host: str
    port: int
    replayed: int
    """Events that were done again."""
    models: int


class _Quiet(uvicorn.Server):
    """uvicorn without its own handling of signals, which would end the process before the
    checkpoint.
    """

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def listen(host: str, port: int) -> socket.socket:
    """A socket at an address.

    Raises
    ------
    AddressError
        If it is taken, or not ours.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind)
    except (OSError, UnicodeError) as error:
        raise AddressError(
            f"there is no address {host!r}: {error}. Give one of this machine."
        ) from error
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(BACKLOG)
    except OSError as error:
        found.close()
        raise AddressError(
            f"cannot listen at {host} port {port}: {error.strerror or error}. Give another --port."
        ) from error
    return found


def quick_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the event loop: uvloop where it is installed, as a request costs a quarter less.

    None for Python's own.
    """
    try:
        import uvloop
    except ImportError:  # there is none for this system: everything works, a little slower
        return None
    made: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return made


async def serve(
    keeper: Keeper,
    at: socket.socket,
    gate: Gate,
    target: str,
    files: Files,
    ready: Callable[[Ready], None],
) -> None:
    """Serve until SIGINT or SIGTERM; then finish what is under way, save a checkpoint and return.

    Parameters
    ----------
    keeper
        Models and their folder; closed at the end.
    at
        Where to listen.
    gate
        Who may change something.
    target
        What a model predicts that is made by its first use.
    files
        The live page.
    ready
        Called once, when clients may come.
    """
    sys.setswitchinterval(SWITCH)
    gc.set_threshold(*RARELY)
    memory.return_large()
    # what is there now stays: nobody has to look for it again and again while clients wait
    gc.freeze()
    limits: Limits = keeper.limits
    counts = Counts()
    scribe = Scribe(keeper, counts)
    pages = Pages(keeper, counts, limits, files)
    door = Door(scribe, pages.app(), gate, limits, target)
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # it would log what clients sent
    config = uvicorn.Config(
        door,
        http=patient(limits.seconds, door),
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=int(limits.idle),
        timeout_graceful_shutdown=GRACE,
    )
    server = _Quiet(config)

    def leave() -> None:
        server.should_exit = True
        pages.stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, leave)
    ticking = asyncio.create_task(_tick(scribe, pages.stop))
    host, port = at.getsockname()[:2]
    loop.call_soon(ready, Ready(host, port, keeper.replayed, len(keeper.models.kinds)))
    try:
        await server.serve(sockets=[at])
    finally:
        leave()
        await ticking
        await scribe.close()


async def _tick(scribe: Scribe, stop: asyncio.Event) -> None:
    while not stop.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TICK):
                await stop.wait()
        scribe.tick()
