"""``swordplay serve``: models behind an address."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from swordplay.cli.words import counted, echo

if TYPE_CHECKING:  # with starlette, which --help does without
    import socket

    from swordplay.serving.limits import Limits
    from swordplay.serving.server import Ready
    from swordplay.serving.storage import Storage

EXTRA = ("starlette", "uvicorn", "httptools", "anyio")
"""Packages of the extra ``serve``."""
VARIABLE = "SWORDPLAY_TOKEN"
"""The environment variable that holds the token."""
PORT = 8400
KINDS = ("number", "yes-no", "classes")
"""Those of ``serving.messages``, repeated as importing it would slow down ``--help``."""
HELP = """Serve models over HTTP: predict a row now, learn it when its answer is known.

POST /ask predicts a row and returns a ticket. POST /tell learns the answer of a ticket, hours or
days later and in any order. /models/NAME/ask and /models/NAME/tell address a model by name, and a
field "key" in the request one of many series. / is a live page; /openapi.json describes the API.

A request is acknowledged after it is on the disk, in DIR: after a crash the server continues with
the same models. Requests with an id can be sent again safely.

The server listens on 127.0.0.1 unless --host is given. On other addresses it needs a token, in the
environment variable SWORDPLAY_TOKEN or in a file (--token-file), and requests that change something
have to send it. Clients address the server by an IP address, or by a name given with --allow-host.
Ctrl-C or SIGTERM stops it.
"""
EXAMPLES = """\b
Examples:
  swordplay serve --state prices.server
  swordplay serve --state prices.server --target-kind yes-no --port 9000
  SWORDPLAY_TOKEN=... swordplay serve --state prices.server --host 0.0.0.0
"""
LIMITS = {
    "body": ("--max-body", "BYTES", "Largest request."),
    "rows": ("--max-rows", "N", "Most rows of a request."),
    "columns": ("--max-columns", "N", "Most columns of a row."),
    "series_columns": (
        "--max-series-columns",
        "N",
        "Most columns of a series; a text column has one for each of its words.",
    ),
    "all_columns": ("--max-all-columns", "N", "Most columns of all series together."),
    "cells": ("--max-cells", "N", "Most rows of a request, times the columns of their series."),
    "pending": ("--max-pending", "N", "Most tickets of a series without an answer."),
    "models": ("--max-models", "N", "Most models."),
    "series": ("--max-series", "N", "Most models and keys together."),
    "remembered": (
        "--remember",
        "N",
        "Answered tickets that are kept to recognise repeated requests.",
    ),
    "behind": (
        "--checkpoint-every",
        "N",
        "Events between two checkpoints, which are replayed after a crash.",
    ),
    "seconds": (
        "--timeout",
        "SECONDS",
        "Longest pause of a client within a request or a response.",
    ),
    "log": ("--max-log", "BYTES", "Largest event log; beyond it, requests fail with status 507."),
}
"""Options by the limit that they set."""


def _limits(command: Any) -> Any:
    """Add the options of all limits to a command."""
    for name, (option, what, about) in reversed(LIMITS.items()):
        kind: Any = click.IntRange(min=1) if name != "seconds" else click.FloatRange(min=0.1)
        command = click.option(option, name, type=kind, metavar=what, help=about)(command)
    return command


@click.command("serve", help=HELP, epilog=EXAMPLES)
@click.option(
    "--state",
    "folder",
    required=True,
    metavar="DIR",
    help="Folder of the models, the event log and the checkpoints; created if missing.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    metavar="ADDRESS",
    help="Address to listen on.  [default: 127.0.0.1]",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    help=f"Port to listen on; 0 for any free port.  [default: {PORT}]",
)
@click.option("--token-file", metavar="PATH", help="File with the token.")
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="Host name that clients may use for the server. Can be repeated.",
)
@click.option(
    "--target-kind",
    "target",
    type=click.Choice(KINDS),
    default=KINDS[0],
    help="Kind of the target of models that are made by their first request.  [default: number]",
)
@_limits
@click.option(
    "--skip-event",
    "skip",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="N",
    help="Leave event N out of every replay of the log. Can be repeated.",
)
@click.option(
    "--repair", is_flag=True, help="If the event log is damaged, continue with its intact part."
)
@click.option("--quiet", is_flag=True, help="Print the address only.")
def serve_command(**typed: Any) -> None:
    """Run the server; HELP describes it to users."""
    from swordplay.cli.errors import Refused
    from swordplay.core import extras

    try:
        _serve(typed)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in EXTRA:
            raise
        raise Refused(
            f"serve needs {missing.name}. Install it with: {extras.pip_command('serve')}"
        ) from missing


def _serve(typed: dict[str, Any]) -> None:
    import asyncio
    import logging

    from swordplay.cli.errors import Refused
    from swordplay.report.live import files
    from swordplay.serving import server
    from swordplay.serving.auth import LOOPBACK_NAMES, Auth, is_loopback
    from swordplay.serving.series import compile_models
    from swordplay.serving.storage import StorageError

    token, local = _token(typed["token_file"]), is_loopback(typed["host"])
    if not local and token is None:
        raise Refused(
            f"--host {typed['host']} can be reached from other machines, which needs a token: "
            f"set {VARIABLE}, or give --token-file."
        )
    level = logging.WARNING if typed["quiet"] else logging.INFO
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(message)s")
    try:
        listening = server.listen(typed["host"], typed["port"])
        storage = _open_storage(listening, typed)
    except (server.AddressError, StorageError) as error:
        raise Refused(str(error)) from error
    compile_models({typed["target"], *storage.models.kinds.values()})
    names = {*LOOPBACK_NAMES, typed["host"], *typed["names"]}
    auth = Auth(token, names, allow_addresses=not local)
    announce = _Announcement(token is not None, typed["target"])
    with asyncio.Runner(loop_factory=server.loop_factory()) as runner:
        runner.run(server.serve(storage, listening, auth, typed["target"], files, announce))
    if not typed["quiet"]:
        echo("stopped; everything is saved.", err=True)


def _open_storage(listening: socket.socket, typed: dict[str, Any]) -> Storage:
    """Open the folder of the server; close the socket if that fails."""
    from swordplay.serving.storage import Storage, StorageError

    try:
        return Storage(
            typed["folder"], _limits_of(typed), skip=typed["skip"], may_repair=typed["repair"]
        )
    except StorageError:
        listening.close()
        raise


def _limits_of(typed: dict[str, Any]) -> Limits:
    """Return the limits that the options set."""
    from swordplay.serving.limits import Limits

    return Limits(**{name: typed[name] for name in LIMITS if typed[name] is not None})


def _token(path: str | None) -> str | None:
    """Return the token of the file or of the environment; None if there is none.

    Raises
    ------
    Refused
        If it cannot be read, or is too short.
    """
    from swordplay.cli.errors import Refused
    from swordplay.serving.auth import MIN_TOKEN_LENGTH

    token = os.environ.get(VARIABLE)
    if path is not None:
        try:
            with open(path, encoding="utf-8") as file:
                token = file.read().strip()
        except (OSError, UnicodeError) as error:
            raise Refused(
                f"--token-file {path!r} cannot be read: "
                f"{getattr(error, 'strerror', None) or error}."
            ) from error
    if token is not None and (
        len(token) < MIN_TOKEN_LENGTH
        or not token.isascii()
        or not token.isprintable()
        or " " in token
    ):
        raise Refused(
            f"a token has at least {MIN_TOKEN_LENGTH} letters, digits or signs and no blank. Try: "
            "openssl rand -hex 16"
        )
    return token


class _Announcement:
    """Prints the address and commands to try, when the server accepts connections."""

    def __init__(self, token: bool, target: str) -> None:
        self.token, self.target = token, target

    def __call__(self, ready: Ready) -> None:
        host = f"[{ready.host}]" if ":" in ready.host else ready.host
        address = f"http://{host}:{ready.port}"
        if ready.models:
            replayed = f", {counted(ready.replayed, 'event')} replayed" if ready.replayed else ""
            echo(f"{counted(ready.models, 'model')} restored{replayed}.", err=True)
        echo(f"swordplay serves at {address} (live page, Ctrl-C stops it)")
        head = f'-H "Authorization: Bearer ${VARIABLE}" ' if self.token else ""
        row = shlex.quote('{"x": {"temperature": 21.5, "day": "monday"}, "id": "a1"}')
        echo(f"Try: curl {head}{address}/ask -d {row}")
        answer = shlex.quote(
            f'{{"id": "a1", "y": {"42.0" if self.target == "number" else "true"}}}'
        )
        echo(f"     curl {head}{address}/tell -d {answer}")
        sys.stdout.flush()
