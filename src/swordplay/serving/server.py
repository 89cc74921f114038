"""Runs a server from start to end: socket, uvicorn, signals, and a last checkpoint."""

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

from swordplay.serving.app import App
from swordplay.serving.auth import Auth
from swordplay.serving.free_memory import set_large_block_threshold
from swordplay.serving.group_commit import GroupCommit
from swordplay.serving.http_protocol import protocol_class
from swordplay.serving.limits import Limits
from swordplay.serving.metrics import Metrics
from swordplay.serving.pages import PageFiles, ServerPages
from swordplay.serving.storage import Storage

BACKLOG = 1024
"""Connections that may wait to be accepted."""
SHUTDOWN_SECONDS = 10
"""Time that requests in progress have to finish when the server stops."""
GC_THRESHOLDS = (50_000, 20, 100)
"""For ``gc.set_threshold``: rarely, as each full collection visits all remembered tickets."""
SWITCH_SECONDS = 0.001
"""Time after which the event loop yields the GIL to the thread that waits for the disk."""
CHECKPOINT_CHECK_SECONDS = 1.0
"""Time between two checks of whether a checkpoint is due."""


class AddressError(ValueError):
    """The server cannot listen at an address; says which, and why."""


class Ready(NamedTuple):
    """What is reported when the server accepts connections."""

    host: str
    port: int
    replayed: int
    """Events that were replayed."""
    models: int
    """Number of models."""


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, which would end the process before the checkpoint."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address.

    Raises
    ------
    AddressError
        If the address is in use, or not one of this machine.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind)
    except (OSError, UnicodeError) as error:
        raise AddressError(
            f"there is no address {host!r}: {error}. Give one of this machine."
        ) from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise AddressError(
            f"cannot listen at {host} port {port}: {error.strerror or error}. Give another --port."
        ) from error
    return listening


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what creates uvloop's event loop, with which a request costs a quarter less.

    None if uvloop is not installed: Python's own loop is used.
    """
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def serve(
    storage: Storage,
    listening: socket.socket,
    auth: Auth,
    target: str,
    files: PageFiles,
    ready: Callable[[Ready], None],
) -> None:
    """Serve until SIGINT or SIGTERM; then finish requests in progress and save a checkpoint.

    Parameters
    ----------
    storage
        Models and their folder; closed at the end.
    listening
        Socket of the server.
    auth
        Decides which requests are handled.
    target
        What a model predicts that is created by its first request.
    files
        Files of the live page.
    ready
        Called once, when the server accepts connections.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*GC_THRESHOLDS)
    set_large_block_threshold()
    gc.freeze()  # objects that exist now stay: later collections need not visit them
    limits: Limits = storage.limits
    metrics = Metrics()
    commits = GroupCommit(storage, metrics)
    pages = ServerPages(storage, metrics, limits, files)
    app = App(commits, pages.app(), auth, limits, target)
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # it would log requests
    config = uvicorn.Config(
        app,
        http=protocol_class(limits.seconds, app),
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=int(limits.idle),
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    server = _Server(config)

    def stop() -> None:
        server.should_exit = True
        pages.stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    checkpoints = asyncio.create_task(_save_checkpoints(commits, pages.stop))
    host, port = listening.getsockname()[:2]
    loop.call_soon(ready, Ready(host, port, storage.replayed, len(storage.models.kinds)))
    try:
        await server.serve(sockets=[listening])
    finally:
        stop()
        await checkpoints
        await commits.close()


async def _save_checkpoints(commits: GroupCommit, stop: asyncio.Event) -> None:
    """Save checkpoints when they are due, until the server stops."""
    while not stop.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CHECKPOINT_CHECK_SECONDS):
                await stop.wait()
        commits.save_if_due()
