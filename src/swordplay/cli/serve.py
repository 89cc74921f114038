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

    from swordplay.serving.keeper import Keeper
    from swordplay.serving.limits import Limits
    from swordplay.serving.run import Ready

EXTRA = ("starlette", "uvicorn", "httptools", "anyio")
"""What the server is made with."""
VARIABLE = "SWORDPLAY_TOKEN"
"""The environment variable that holds the token."""
PORT = 8400
KINDS = ("number", "yes-no", "classes")
"""Those of ``serving.requests``, told without importing it."""
HELP = """Serve models over HTTP: predict now, learn when the answers come.

POST /ask predicts a row and gives a ticket, POST /tell learns its answer, hours or days later and
in any order; /models/NAME/ask does so for a model of another name, and a field "key" for each of
many series. / is a live page, /openapi.json describes the rest.

Everything that was acknowledged is on the disk, in DIR: after a crash the server goes on as if
nothing had happened. Requests with an id can be sent again without harm.

It listens on this machine only, unless --host says otherwise, and then wants a token for everything
that changes something: in the environment variable SWORDPLAY_TOKEN, or in a file (--token-file).
Clients address it by an IP address or by a name that --allow-host gives. Ctrl-C or SIGTERM ends it.
"""
EXAMPLES = """\b
Examples:
  swordplay serve --state prices.server
  swordplay serve --state prices.server --target-kind yes-no --port 9000
  SWORDPLAY_TOKEN=... swordplay serve --state prices.server --host 0.0.0.0
"""
LIMITS = {
    "body": ("--max-body", "BYTES", "Of a request."),
    "rows": ("--max-rows", "N", "Rows of a request."),
    "columns": ("--max-columns", "N", "Columns of a row."),
    "series_columns": (
        "--max-series-columns",
        "N",
        "Columns of a series: a text has one for each of its words.",
    ),
    "all_columns": ("--max-all-columns", "N", "Columns of all series together."),
    "cells": ("--max-cells", "N", "Rows of a request times the columns of their series."),
    "pending": ("--max-pending", "N", "Tickets of a series that wait for their answer."),
    "models": ("--max-models", "N", "Models."),
    "series": ("--max-series", "N", "Models and the keys within them."),
    "remembered": ("--remember", "N", "Answered tickets that a repeated request is recognised by."),
    "behind": ("--checkpoint-every", "N", "Events; so many are done again after a crash."),
    "seconds": (
        "--timeout",
        "SECONDS",
        "That a client may keep it waiting in the middle of a request or an answer.",
    ),
    "log": ("--max-log", "BYTES", "Of the log of events; beyond, requests are answered 507."),
}
"""Options by the limit that they set."""


def _limits(command: Any) -> Any:
    """The options of all limits."""
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
    help="Where models, log and checkpoints are; made if need be.",
)
@click.option(
    "--host", default="127.0.0.1", metavar="ADDRESS", help="Where to listen.  [default: 127.0.0.1]"
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    help=f"0 for any that is free.  [default: {PORT}]",
)
@click.option("--token-file", metavar="PATH", help="A file that holds the token.")
@click.option(
    "--allow-host",
    "names",
    multiple=True,
    metavar="NAME",
    help="A name of it that clients use; may be repeated.",
)
@click.option(
    "--target-kind",
    "target",
    type=click.Choice(KINDS),
    default=KINDS[0],
    help="Of models made by their first use; number.",
)
@_limits
@click.option(
    "--skip-event",
    "skip",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="N",
    help="Leave event N out of every replay.",
)
@click.option(
    "--repair", is_flag=True, help="Go on with what is intact if the log of events is damaged."
)
@click.option("--quiet", is_flag=True, help="Say nothing but the address.")
def serve_command(**typed: Any) -> None:
    """Wire it; HELP says what it does."""
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
    from swordplay.serving import learning, run
    from swordplay.serving.keeper import FolderError
    from swordplay.serving.tokens import LOCAL, Gate, is_local

    token, local = _token(typed["token_file"]), is_local(typed["host"])
    if not local and token is None:
        raise Refused(
            f"--host {typed['host']} can be reached from other machines, which needs a token: "
            f"set {VARIABLE}, or give --token-file."
        )
    level = logging.WARNING if typed["quiet"] else logging.INFO
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(message)s")
    try:
        at = run.listen(typed["host"], typed["port"])
        keeper = _kept(at, typed)
    except (run.AddressError, FolderError) as error:
        raise Refused(str(error)) from error
    learning.warm({typed["target"], *keeper.models.kinds.values()})
    gate = Gate(token, {*LOCAL, typed["host"], *typed["names"]}, addresses=not local)
    said = _Said(token is not None, typed["target"])
    with asyncio.Runner(loop_factory=run.quick_loop()) as runner:
        runner.run(run.serve(keeper, at, gate, typed["target"], files, said))
    if not typed["quiet"]:
        echo("stopped; everything is saved.", err=True)


def _kept(at: socket.socket, typed: dict[str, Any]) -> Keeper:
    """The folder, or an error and the address is given free."""
    from swordplay.serving.keeper import FolderError, Keeper

    try:
        return Keeper(
            typed["folder"], _chosen(typed), skip=typed["skip"], may_repair=typed["repair"]
        )
    except FolderError:
        at.close()
        raise


def _chosen(typed: dict[str, Any]) -> Limits:
    from swordplay.serving.limits import Limits

    return Limits(**{name: typed[name] for name in LIMITS if typed[name] is not None})


def _token(path: str | None) -> str | None:
    """The token of the file or of the environment.

    Raises
    ------
    Refused
        If it cannot be read, or is too short to keep anybody out.
    """
    from swordplay.cli.errors import Refused
    from swordplay.serving.tokens import SHORTEST

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
        len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token
    ):
        raise Refused(
            f"a token has at least {SHORTEST} letters, digits or signs and no blank. Try: openssl "
            "rand -hex 16"
        )
    return token


class _Said:
    """What is printed when clients may come: the address, and something to try."""

    def __init__(self, token: bool, target: str) -> None:
        self.token, self.target = token, target

    def __call__(self, ready: Ready) -> None:
        host = f"[{ready.host}]" if ":" in ready.host else ready.host
        address = f"http://{host}:{ready.port}"
        if ready.models:
            again = f", {counted(ready.replayed, 'event')} done again" if ready.replayed else ""
            echo(f"{counted(ready.models, 'model')} taken up{again}.", err=True)
        echo(f"swordplay serves at {address} (live page, Ctrl-C stops it)")
        head = f'-H "Authorization: Bearer ${VARIABLE}" ' if self.token else ""
        row = shlex.quote('{"x": {"temperature": 21.5, "day": "monday"}, "id": "a1"}')
        echo(f"Try: curl {head}{address}/ask -d {row}")
        answer = shlex.quote(
            f'{{"id": "a1", "y": {"42.0" if self.target == "number" else "true"}}}'
        )
        echo(f"     curl {head}{address}/tell -d {answer}")
        sys.stdout.flush()
