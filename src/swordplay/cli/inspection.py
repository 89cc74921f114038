"""``swordplay inspect``: describes what a checkpoint holds, by the kind of its state.

Each ``describe_...`` function returns facts by name, or None for a state of another kind; it may
raise any exception for a state that is damaged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

import click

EXAMPLES = """\b
Examples:
  swordplay inspect prices.state
  swordplay inspect prices.state --json
"""
MAX_NAMES = 8
"""Strings of a :class:`ShortList` that are printed."""
MAX_MODELS = 12
"""Models whose step sizes are printed."""
MAX_ENTRIES = 12
"""Entries of a state of unknown kind that are printed."""


class ShortList(tuple[str, ...]):
    """Strings of which the first few are printed in one line."""


Facts = dict[str, str | int | float | list[str] | ShortList]
"""What is printed about a state, by name: values, lists with a line per item, or short lists."""


@click.command("inspect", epilog=EXAMPLES)
@click.argument("state")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def inspect_command(state: str, as_json: bool) -> None:
    """Describe the checkpoint STATE: its kind, what it has learned, and where it continues.

    Reads any checkpoint of swordplay: of `swordplay track`, `swordplay learn` and `swordplay
    serve`, of an estimator, a model with late answers, a learner or an engine.
    """
    from swordplay.cli.errors import in_words
    from swordplay.cli.words import listed, printable

    with in_words():
        facts: dict[str, Any] = {
            name: listed(fact, most=MAX_NAMES) if isinstance(fact, ShortList) else fact
            for name, fact in describe(state).items()
        }
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
    """Describe a checkpoint file.

    Raises
    ------
    CheckpointError
        If it is not an intact checkpoint.
    """
    from swordplay.cli.words import in_bytes
    from swordplay.core import checkpoint

    state = checkpoint.load(path)
    kind, library = checkpoint.read_header(path)
    facts: Facts = {
        "kind": kind,
        "written by": f"swordplay {library}",
        "size": in_bytes(os.path.getsize(path)),
    }
    try:
        for describe_state in DESCRIBERS.values():
            if (found := describe_state(kind, state)) is not None:
                return facts | found
    # The checksum is right, but the entries are not those of this version.
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        facts["note"] = "laid out as no learner of this version does"
    return facts | {"entries": describe_entries(state)}


def describe_run(kind: str, state: Mapping[str, Any]) -> Facts | None:
    """Table, target, position and columns of a run of ``swordplay track`` or ``learn``."""
    from swordplay.core.state import strip_prefix
    from swordplay.tracking.job import KIND, LEARN

    if kind != KIND or "tracker.settings" not in state:
        return None
    options, position = json.loads(state["essence"]), strip_prefix("position", state)
    tracker = strip_prefix("tracker", state)
    task, why = json.loads(tracker["recognised"])[:2]
    command = (
        "a model that learned by `swordplay learn`, last from"
        if options.get(LEARN)
        else "a run of `swordplay track` over"
    )
    finished = ", finished" if state["finished"] else ""
    line = f", line {position['line']:,}" if position["line"] else ""
    facts: Facts = {
        "what": f"{command} {_table(position, options)}{finished}",
        "target": f"{options['--target']}, {task} ({why})",
        "rows": int(tracker["rows"]),
        "refused": int(state["bad"]) + int(tracker["refused"]),
        "unlabelled": int(tracker["unlabelled"]),
        "goes on": f"after row {int(state['done']):,}{line} of the input "
        f"(byte {position['offset']:,})",
    }
    if output := strip_prefix("output", state):
        facts["predictions"] = (
            f"{options['--output']}, {output['rows']:,} rows, {output['offset']:,} bytes"
        )
    plans = json.loads(tracker["encoder.plans"])
    facts["columns"] = ShortList(plan[0] for plan in plans if plan[1] != "left out")
    if left_out := ShortList(plan[0] for plan in plans if plan[1] == "left out"):
        facts["left out"] = left_out
    if "keys" in tracker:
        keys = json.loads(tracker["bulk.keys" if "bulk.keys" in tracker else "keys"])
        facts["keys"] = f"{len(keys):,} of {', '.join(options['--key'])}, a model each"
    else:
        if "contestants.places" in tracker:
            classes = json.loads(tracker["contestants.places"])
            facts["classes"] = ShortList(
                f"{name:g}" if isinstance(name, float) else str(name) for name in classes
            )
        facts |= _describe_models(strip_prefix("contestants.model", tracker))
    return facts | {"seconds": round(state["seconds"], 1)}


def _table(position: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """The format of the table of a run, or the order in which it was read."""
    if options.get("--sort"):
        return f"a table sorted by {options['--sort']}"
    if options.get("--reverse"):
        return "a table from its last row to its first"
    return f"a {position['format']} table"


def describe_server(kind: str, state: Mapping[str, Any]) -> Facts | None:
    """Models, series and tickets of a server."""
    from swordplay.serving.storage import KIND

    if kind != KIND:
        return None
    about = json.loads(bytes(state["about"]))
    counts = [json.loads(bytes(state[f"stats.{k}"]))[0] for k in range(len(about["series"]))]
    asked, told, dropped = (sum(count[k] for count in counts) for k in range(3))
    return {
        "what": "the models of a server (swordplay serve)",
        "models": [f"{name}: predicts {target}" for name, target in about["kinds"].items()],
        "series": len(about["series"]),
        "rows asked": asked,
        "rows told": told,
        "tickets dropped": dropped,
        "tickets pending": asked - told - dropped,
        "answered tickets remembered": len(json.loads(bytes(state["recent"]))),
    }


def describe_late_model(kind: str, state: Mapping[str, Any]) -> Facts | None:
    """Tickets, score and estimator of a model whose answers come late."""
    from swordplay.core.state import strip_prefix
    from swordplay.late.model import KIND
    from swordplay.late.score import Score

    if kind != KIND:
        return None
    score, estimator = Score.from_state(strip_prefix("score", state)), strip_prefix("model", state)
    of_classes = "labels" in estimator or "classes" in estimator
    first, *lines = score.lines(of_classes, float(state["level"]))
    facts: Facts = {
        "what": f"a model whose answers come late, around a {state['estimator']}",
        "tickets": first.removeprefix("LateModel: "),
    }
    facts |= {name: text.strip() for name, text in (one.strip().split("  ", 1) for one in lines)}
    if pending := json.loads(state["pending.ids"]):
        facts["pending"] = ShortList(pending)
    found = describe_estimator(str(state["estimator"]), estimator) or {}
    return facts | {name: fact for name, fact in found.items() if name != "what"}


def describe_estimator(kind: str, state: Mapping[str, Any]) -> Facts | None:
    """Parameters, columns and step sizes of an estimator."""
    from swordplay.core.state import strip_prefix

    if not any(name.startswith("parameter.") for name in state):
        return None
    parameters = strip_prefix("parameter", state).items()
    facts: Facts = {
        "what": "an estimator",
        "parameters": [f"{name} = {value}" for name, value in parameters],
    }
    if "columns" not in state and not any(name.startswith("model.") for name in state):
        return facts | {"rows": 0}
    if "names" in state:
        facts["columns"] = ShortList(str(name) for name in json.loads(state["names"]))
    elif "columns" in state:
        facts["columns"] = int(state["columns"])
    return facts | _describe_models(strip_prefix("model", state))


def _describe_models(state: Mapping[str, Any]) -> Facts:
    """Rounds and step sizes of one model, or of the model of each class."""
    from swordplay.core.state import strip_prefix
    from swordplay.estimators import class_model

    if engine := strip_prefix("engine", state):
        return _describe_engine(engine)
    if "counts" not in state:
        return {"entries": describe_entries(state)}
    found = class_model.read_state(state)
    seats = list(zip(found.group.tolist(), found.position.tolist(), strict=True))
    each = [_describe_engine(found.groups[team].heads[place]) for team, place in seats[:MAX_MODELS]]
    return {
        "models": len(seats),
        "rounds": each[0]["rounds"],
        "experts": each[0]["experts"],
        "effective step size": ", ".join(str(one["effective step size"]) for one in each),
    }


def _describe_engine(state: Mapping[str, Any]) -> Facts:
    """Rounds, experts and effective step size of an engine."""
    from swordplay import engine

    facts = engine.describe(state)
    return facts | {"effective step size": f"{facts['effective step size']:.3g}"}


def describe_engine(kind: str, state: Mapping[str, Any]) -> Facts | None:
    """Rounds, experts and effective step size of an engine that was saved alone."""
    from swordplay import engine

    if not engine.is_state(state):
        return None
    return {"what": "an engine's own arrays", **_describe_engine(state)}


def describe_learner(kind: str, state: Mapping[str, Any]) -> Facts | None:
    """Rounds, experts and settings of a learner."""
    from swordplay.core.state import describe_settings, split_settings

    if "rounds" not in state or not any(name.startswith("experts.") for name in state):
        return None
    points = [
        value
        for name, value in state.items()
        if name.startswith("experts.") and name.endswith(".points")
    ]
    facts: Facts = {
        "what": "a learner",
        "rounds": int(state["rounds"]),
        "experts": sum(len(value) for value in points),
        "coordinates": int(points[0].shape[1]),
    }
    _, settings = split_settings(state)
    return facts | ({"settings": describe_settings(settings)} if settings else {})


DESCRIBERS: dict[str, Callable[[str, Mapping[str, Any]], Facts | None]] = {
    "run": describe_run,
    "server": describe_server,
    "late model": describe_late_model,
    "estimator": describe_estimator,
    "engine": describe_engine,
    "learner": describe_learner,
}
"""Functions that describe a state, by what it belongs to."""


def describe_entries(state: Mapping[str, Any]) -> list[str]:
    """Names and shapes of the first entries of a state of unknown kind."""
    from swordplay.core.arguments import short_repr

    lines = []
    for name, value in list(state.items())[:MAX_ENTRIES]:
        if hasattr(value, "shape"):
            lines.append(f"{name}: {value.dtype} of shape {value.shape}")
        else:
            lines.append(f"{name}: {short_repr(value, 60)}")
    more = len(state) - len(lines)
    return lines + ([f"and {more:,} more"] if more else [])
