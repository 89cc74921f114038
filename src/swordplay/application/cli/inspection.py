"""``swordplay inspect``: what a checkpoint holds, in words."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import click

EXAMPLES = """\b
Examples:
  swordplay inspect prices.state
  swordplay inspect prices.state --json
"""
MOST_ENTRIES = 12
"""Entries of an unknown kind that are listed."""


@click.command("inspect", epilog=EXAMPLES)
@click.argument("state")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def inspect_command(state: str, as_json: bool) -> None:
    """Say what the checkpoint STATE holds: whose it is, how many rows it has learned, where it would go on.

    Any checkpoint of swordplay will do: of `swordplay track`, of an estimator, of a learner or of the engine.
    """
    from swordplay.application.cli.errors import in_words
    from swordplay.application.cli.words import printable

    with in_words():
        facts = describe(state)
    if as_json:
        click.echo(json.dumps(facts, indent=2, allow_nan=False))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        lines = value if isinstance(value, list) else [value]
        for k, line in enumerate(lines):
            click.echo(f"{name if k == 0 else '':{width}}  {f'{line:,}' if isinstance(line, int) else printable(str(line))}")


class Header(NamedTuple):
    """What a checkpoint says of itself."""

    kind: str
    library: str


def describe(path: str) -> dict[str, Any]:
    """Facts by name, strings and numbers and lists of strings.

    Raises
    ------
    CheckpointError
        If it is not a whole checkpoint.
    """
    from swordplay.application.cli.words import in_bytes
    from swordplay.base import checkpoint

    state = checkpoint.load(path)
    header = _header(path)
    facts: dict[str, Any] = {
        "kind": header.kind,
        "written by": f"swordplay {header.library}",
        "size": in_bytes(os.path.getsize(path)),
    }
    try:
        return facts | _told(header.kind, state)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # whole, but not laid out as this version would
        return facts | {"note": "laid out as no learner of this version does", "entries": _entries(state)}


def _header(path: str) -> Header:
    """Kind and library of a checkpoint that has been checked."""
    from swordplay.base.checkpoint.encoding import START

    with open(path, "rb") as file:
        size = START.unpack(file.read(START.size))[2]
        header = json.loads(file.read(size))
    return Header(header["kind"], str(header.get("library", "unknown")))


def _told(kind: str, state: Mapping[str, Any]) -> dict[str, Any]:
    from swordplay.engine import is_state

    if kind == "track" and "tracker.settings" in state:
        return _of_track(state)
    if any(name.startswith("parameter.") for name in state):
        return _of_estimator(state)
    if is_state(state):
        return {"what": "an engine's own arrays", **_of_engine(state)}
    if "rounds" in state and any(name.startswith("experts.") for name in state):
        return _of_learner(state)
    return {"entries": _entries(state)}


def _of_track(state: Mapping[str, Any]) -> dict[str, Any]:
    from swordplay.application.tracking import nested

    settings = json.loads(state["essence"])
    tracker = nested.take("tracker", state)
    position = nested.take("position", state)
    plans = json.loads(tracker["encoder.plans"])
    used = [plan[0] for plan in plans if plan[1] != "left out"]
    task, why = json.loads(tracker["recognised"])[:2]
    place = f"row {int(state['done']):,}" + (f", line {position['line']:,}" if position["line"] else "")
    facts = {
        "what": f"a run of `swordplay track` over {_table(position, settings)}" + (", finished" if state["finished"] else ""),
        "target": f"{settings['--target']}, {task} ({why})",
        "rows": int(tracker["rows"]),
        "refused": int(state["bad"]) + int(tracker["refused"]),
        "unlabelled": int(tracker["unlabelled"]),
        "goes on": f"after {place} of the input (byte {position['offset']:,})",
    }
    if output := nested.take("output", state):
        facts["predictions"] = f"{settings['--output']}, {output['rows']:,} rows, {output['offset']:,} bytes"
    facts["columns"] = _listed(used)
    if without := [plan[0] for plan in plans if plan[1] == "left out"]:
        facts["left out"] = _listed(without)
    if "keys" in tracker:
        facts["keys"] = f"{len(json.loads(tracker['keys'])):,} of {', '.join(settings['--key'])}, a model each"
        return facts | {"seconds": round(state["seconds"], 1)}
    if "contestants.places" in tracker:
        facts["classes"] = _listed(
            [f"{label:g}" if isinstance(label, float) else str(label) for label in json.loads(tracker["contestants.places"])]
        )
    return facts | _of_models(nested.take("contestants.model", tracker)) | {"seconds": round(state["seconds"], 1)}


def _table(position: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """What was read, and in which order."""
    if settings.get("--sort"):
        return f"a table sorted by {settings['--sort']}"
    return "a table from its last row to its first" if settings.get("--reverse") else f"a {position['format']} table"


def _of_estimator(state: Mapping[str, Any]) -> dict[str, Any]:
    from swordplay.application.tracking import nested

    parameters = [f"{name} = {value}" for name, value in nested.take("parameter", state).items()]
    facts: dict[str, Any] = {"what": "an estimator", "parameters": parameters}
    if "columns" not in state and not any(name.startswith("model.") for name in state):
        return facts | {"rows": 0}
    if "names" in state:
        facts["columns"] = _listed([str(name) for name in json.loads(state["names"])])
    elif "columns" in state:
        facts["columns"] = int(state["columns"])
    return facts | _of_models(nested.take("model", state))


def _of_models(state: Mapping[str, Any]) -> dict[str, Any]:
    """Rounds and step sizes of one model, or of the model of each class."""
    from swordplay.application.tracking import nested

    if engine := nested.take("engine", state):
        return _of_engine(engine)
    each = [_of_engine(engine) for k in range(len(state)) if (engine := nested.take(f"{k}.engine", state))]
    if not each:
        return {"entries": _entries(state)}
    return (
        {"models": len(each)}
        | {name: each[0][name] for name in ("rounds", "experts")}
        | {"effective step size": ", ".join(one["effective step size"] for one in each[:MOST_ENTRIES])}
    )


def _of_engine(state: Mapping[str, Any]) -> dict[str, Any]:
    from swordplay.engine import describe

    facts = describe(state)
    return facts | {"effective step size": f"{facts['effective step size']:.3g}"}


def _of_learner(state: Mapping[str, Any]) -> dict[str, Any]:
    points = [value for name, value in state.items() if name.startswith("experts.") and name.endswith(".points")]
    return {
        "what": "a learner",
        "rounds": int(state["rounds"]),
        "experts": sum(len(value) for value in points),
        "coordinates": int(points[0].shape[1]),
    }


def _entries(state: Mapping[str, Any]) -> list[str]:
    """Names and shapes of the first entries."""
    lines = [f"{name}: {_shape(value)}" for name, value in list(state.items())[:MOST_ENTRIES]]
    more = len(state) - len(lines)
    return lines + ([f"and {more:,} more"] if more else [])


def _shape(value: Any) -> str:
    import numpy as np

    from swordplay.base.arguments import shown

    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    return shown(value, 60)


def _listed(names: list[str]) -> str:
    from swordplay.application.cli.words import listed

    return listed(names, most=8)
