"""``swordplay inspect``: what a checkpoint holds, in words."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:  # with numpy, which --help does without
    from swordplay.core.state import Describer, Facts

EXAMPLES = """\b
Examples:
  swordplay inspect prices.state
  swordplay inspect prices.state --json
"""
MOST_NAMES = 8
"""Names in a row."""


@click.command("inspect", epilog=EXAMPLES)
@click.argument("state")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def inspect_command(state: str, as_json: bool) -> None:
    """Say what the checkpoint STATE holds: whose it is, how many rows it has learned, where it
    would go on.

    Any checkpoint of swordplay will do: of `swordplay track` and `swordplay learn`, of an
    estimator, with or without tickets, of a learner or of the engine.
    """
    from swordplay.cli.errors import in_words
    from swordplay.cli.words import printable

    with in_words():
        facts = {name: _plain(fact) for name, fact in describe(state).items()}
    if as_json:
        click.echo(json.dumps(facts, indent=2, allow_nan=False))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        lines = value if isinstance(value, list) else [value]
        for k, line in enumerate(lines):
            click.echo(
                f"{name if k == 0 else '':{width}}  "
                f"{f'{line:,}' if isinstance(line, int) else printable(str(line))}"
            )


def describe(path: str) -> Facts:
    """Facts by name, as the room tells them that saved the checkpoint.

    Raises
    ------
    CheckpointError
        If it is not a whole checkpoint.
    """
    from swordplay.cli.words import in_bytes
    from swordplay.core import checkpoint
    from swordplay.core.checkpoint import header
    from swordplay.core.state import describe_entries

    state = checkpoint.load(path)
    kind, library = header(path)
    facts: Facts = {
        "kind": kind,
        "written by": f"swordplay {library}",
        "size": in_bytes(os.path.getsize(path)),
    }
    try:
        answers = (described(kind, state) for described in _describers())
        return facts | next(
            (found for found in answers if found is not None), {"entries": describe_entries(state)}
        )
    except (
        AttributeError,
        IndexError,
        KeyError,
        TypeError,
        ValueError,
    ):  # whole, but not laid out as this version would
        return facts | {
            "note": "laid out as no learner of this version does",
            "entries": describe_entries(state),
        }


def _describers() -> tuple[Describer, ...]:
    """The rooms that save states, each for its own."""
    from swordplay.estimators import description as estimator
    from swordplay.late import description as late
    from swordplay.parts.learners import description as learner
    from swordplay.serving import description as server
    from swordplay.tracking import description as run

    rooms = (
        run.described,
        server.described,
        late.described,
        estimator.described,
        estimator.engine_alone,
        learner.described,
    )
    return rooms


def _plain(fact: Any) -> Any:
    """A fact as it is printed and put into JSON: names stand in a row."""
    from swordplay.cli.words import listed
    from swordplay.core.state import ShortList

    return listed(fact, most=MOST_NAMES) if isinstance(fact, ShortList) else fact
