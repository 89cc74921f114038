"""What is to be tracked, from where to where, and what was saved of it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from swordplay import checkpoint
from swordplay.checkpoint.encoding import MAGIC
from swordplay.tables import OutputPosition, Position
from swordplay.tracking import nested, sanity
from swordplay.tracking.errors import TrackingError
from swordplay.tracking.tracker import Settings, Tracker
from swordplay.types import State

KIND = "track"
"""Of a checkpoint of a run."""


class Job(NamedTuple):
    """One table, one set of predictions."""

    source: str
    """Path, or ``"-"`` for standard input."""
    settings: Settings
    output: str | None = None
    """Where predictions go; ``"-"`` for standard output."""
    refused: str | None = None
    """Where rows go that cannot be used; without it the first such row ends the run."""
    state: str | None = None
    """Checkpoint to go on from, and to save to."""
    format: str | None = None
    encoding: str = "utf-8"
    rows: int | None = None
    """Stop after this row; not with a state, which only goes on from the end of a batch."""
    save_every: int | None = None
    """Rows between two checkpoints; without it seconds decide."""
    force: bool = False
    """Begin anew and replace what is there."""
    block_size: int = 1 << 22
    """Bytes of text per batch, about."""

    @property
    def on_bad(self) -> Literal["stop", "skip"]:
        """What happens at a row that cannot be used."""
        return "stop" if self.refused is None else "skip"

    def essence(self) -> dict[str, Any]:
        """What must be the same when the job goes on, by the name of its option."""
        options = {f"--{name}": value for name, value in self.settings._asdict().items()}
        return options | {
            "--output": self.output,
            "--on-bad": self.on_bad,
            "--format": self.format,
            "--encoding": self.encoding,
        }


class Saved(NamedTuple):
    """A run that can go on."""

    tracker: Tracker
    essence: str
    position: Position
    """In the input."""
    output: OutputPosition | None
    refused: OutputPosition | None
    remarks: tuple[str, ...]
    seconds: float
    finished: bool
    """Whether the output has its name."""


def save(job: Job, saved: Saved) -> None:
    """Write the checkpoint of a run."""
    assert job.state is not None
    outputs = {name: one._asdict() for name in ("output", "refused") if (one := getattr(saved, name)) is not None}
    state: State = {
        **nested.put("tracker", saved.tracker.state()),
        **nested.put("position", saved.position._asdict()),
        **{key: value for name, one in outputs.items() for key, value in nested.put(name, one).items()},
        "essence": saved.essence,
        "remarks": json.dumps(saved.remarks),
        "seconds": saved.seconds,
        "finished": saved.finished,
    }
    checkpoint.save(job.state, state, kind=KIND)


def load(job: Job) -> Saved | None:
    """The run that was saved; None if there is none.

    Raises
    ------
    CheckpointError
        If the file is not what :func:`save` wrote.
    TrackingError
        If it is the state of another job, or could not be saved to.
    """
    if job.state is None:
        return None
    folder = os.path.dirname(os.path.realpath(job.state))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise TrackingError(f"--state {job.state} cannot be written: there is no folder {folder!r} to write to. Make it first.")
    if job.force:
        _require_replaceable(job.state)
        return None
    try:
        state = checkpoint.load(job.state, kind=KIND)
    except checkpoint.CheckpointMissing:
        return None
    try:
        _compare(json.loads(state["essence"]), json.loads(json.dumps(job.essence())), job.state)
        return _restored(state)
    except TrackingError:
        raise
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError, RecursionError) as error:
        raise checkpoint.CheckpointError(
            f"the checkpoint {job.state!r} does not fit this version of swordplay ({error}). Begin anew with --force."
        ) from error


def forget(job: Job) -> None:
    """Remove the state that a forced run replaces: it would lead astray if that run did not live to save one."""
    if job.force and job.state is not None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.realpath(job.state))


def _require_replaceable(path: str) -> None:
    """Refuse to replace what is no checkpoint of a run; one that is damaged may go."""
    try:
        with open(path, "rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise TrackingError(
                    f"--state {path} is not a checkpoint of swordplay, and would be replaced. Give another path."
                )
        checkpoint.load(path)
    except (FileNotFoundError, checkpoint.CheckpointError):
        return
    except OSError as error:
        raise TrackingError(f"--state {path} cannot be replaced: {error.strerror}. Give another path.") from error
    try:
        checkpoint.load(path, kind=KIND)
    except checkpoint.CheckpointError as error:
        raise TrackingError(f"--state {path} is not of a run of track, and would be replaced. Give another path.") from error


def _restored(state: Mapping[str, Any]) -> Saved:
    outputs = [nested.take(name, state) for name in ("output", "refused")]
    tracker, position = Tracker.resumed(nested.take("tracker", state)), Position(**nested.take("position", state))
    sanity.require_layout(sanity.require_place(position), tracker)
    return Saved(
        tracker=tracker,
        essence=state["essence"],
        position=position,
        output=sanity.require_place(OutputPosition(**outputs[0])) if outputs[0] else None,
        refused=sanity.require_place(OutputPosition(**outputs[1])) if outputs[1] else None,
        remarks=sanity.require_remarks(json.loads(state["remarks"])),
        seconds=sanity.require_seconds(state["seconds"]),
        finished=bool(state["finished"]),
    )


def _compare(before: Mapping[str, Any], now: Mapping[str, Any], path: str) -> None:
    for option, value in now.items():
        if before.get(option) != value:
            raise TrackingError(
                f"the state {path} was saved with {_said(option, before.get(option))}, and now it is {_said(option, value)}. "
                "Repeat the options of the first run, give another --state, or begin anew with --force."
            )


def _said(option: str, value: Any) -> str:
    """An option as it is typed."""
    if value is None or value == []:
        return f"no {option}"
    return f"{option} {','.join(value) if isinstance(value, list) else value}"
