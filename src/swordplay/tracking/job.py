"""What is to be tracked, from where to where, and what was saved of it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_type_hints

from swordplay.core import checkpoint
from swordplay.core.checkpoint import MAGIC
from swordplay.core.state import (
    ROUND_COUNT_RANGE,
    ROW_COUNT_RANGE,
    OneOf,
    add_prefix,
    check_json,
    check_number,
    read_json,
    strip_prefix,
)
from swordplay.core.types import State
from swordplay.tables import Frame, OutputPosition, Position, Refusal
from swordplay.tables.source import is_live
from swordplay.tracking import trackers
from swordplay.tracking.errors import TrackingError
from swordplay.tracking.ordered import AS_IT_IS, Order
from swordplay.tracking.ranges import SUM
from swordplay.tracking.settings import Settings
from swordplay.tracking.trackers import AnyTracker

FORMATS = ("csv", "ndjson", "parquet", "memory")
REFUSAL = (int, OneOf((None, int)), OneOf((None, str)), str, str)
"""Shape of a saved :class:`~swordplay.tables.Refusal`, in the order of its fields."""
KIND = "track"
"""Of a checkpoint of a run."""
LEARN, PIPE = "learn", "pipe"
"""In the essence of a job: whether the model learned by ``swordplay learn``, and whether from a
pipe.
"""


class Job(NamedTuple):
    """One table, one set of predictions."""

    source: str | Frame
    """Path, or ``"-"`` for standard input; or a table in memory."""
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
    order: Order = AS_IT_IS
    """Another order of the rows than that of the file."""
    output_format: str | None = None
    """``"csv"``, ``"ndjson"`` or ``"parquet"``.

    By the name of the output unless given, and a stream follows the input.
    """
    wait: float | None = None
    """Seconds to wait for another run that has the lock of the state; None for no limit."""
    learn: bool = False
    """Whether the state may have learned other tables before (``swordplay learn``)."""

    @property
    def on_bad(self) -> Literal["stop", "skip"]:
        """What happens at a row that cannot be used."""
        return "stop" if self.refused is None else "skip"

    @property
    def pipe(self) -> bool:
        """Whether the source cannot be read again from its beginning."""
        return isinstance(self.source, str) and (self.source == "-" or is_live(self.source))

    @property
    def reading(self) -> dict[str, Any]:
        """How the table is read."""
        read = self.settings.reading(
            self.order, format=self.format, encoding=self.encoding, on_bad=self.on_bad
        )
        return {**read, "block_size": self.block_size}

    def essence(self) -> dict[str, Any]:
        """What must be the same when the job goes on, by the name of its option."""
        options = {f"--{name}": value for name, value in self.settings._asdict().items()}
        return options | {
            "--id": "none" if self.settings.id == () else self.settings.id,
            "--key": self.settings.key or None,
            "--reverse": self.order.reverse or None,
            "--sort": self.order.sort,
            "--output": self.output,
            "--output-format": self.output_format,
            "--on-bad": self.on_bad,
            "--format": self.format,
            "--encoding": self.encoding,
            **({LEARN: True, PIPE: self.pipe} if self.learn else {}),
        }


class RunState(NamedTuple):
    """A run that can go on."""

    tracker: AnyTracker
    essence: str
    position: Position
    """In the input,"""
    done: int
    """and the number of its row there."""
    output: OutputPosition | None
    refused: OutputPosition | None
    remarks: tuple[str, ...]
    bad: int
    """Rows that could not be read,"""
    refusals: tuple[Refusal, ...]
    """and the first few rows of all that were refused."""
    seconds: float
    finished: bool
    """Whether the output has its name."""


def save(job: Job, saved: RunState) -> None:
    """Write the checkpoint of a run."""
    assert job.state is not None
    outputs = {
        name: one._asdict()
        for name in ("output", "refused")
        if (one := getattr(saved, name)) is not None
    }
    state: State = {
        **add_prefix("tracker", saved.tracker.state()),
        **add_prefix("position", saved.position._asdict()),
        **{
            key: value
            for name, one in outputs.items()
            for key, value in add_prefix(name, one).items()
        },
        "done": saved.done,
        "bad": saved.bad,
        "refusals": json.dumps(saved.refusals),
        "essence": saved.essence,
        "remarks": json.dumps(saved.remarks),
        "seconds": saved.seconds,
        "finished": saved.finished,
    }
    checkpoint.save(job.state, state, kind=KIND)


def load(job: Job) -> RunState | None:
    """The run that was saved; None if there is none.

    Raises
    ------
    CheckpointError
        If the file is not what :func:`save` wrote.
    TrackingError
        If it is the state of another job.
    """
    if job.state is None:
        return None
    if job.force:
        _require_replaceable(job.state)
        return None
    try:
        state = checkpoint.load(job.state, kind=KIND)
    except checkpoint.CheckpointMissing:
        return None
    try:
        _require_same(json.loads(state["essence"]), state, job)
        return _restored(state, job)
    except TrackingError:
        raise
    except (
        LookupError,
        TypeError,
        ValueError,
        OverflowError,
        AttributeError,
        RecursionError,
    ) as error:
        raise checkpoint.CheckpointError(
            f"the checkpoint {job.state!r} does not fit this version of swordplay ({error}). "
            "Begin anew with --force."
        ) from error


def _require_same(before: Mapping[str, Any], state: Mapping[str, Any], job: Job) -> None:
    """A run goes on with the options that it had.

    What has been learned can learn whatever comes.
    """
    if job.learn and not before.get(LEARN) and not state["finished"]:
        raise TrackingError(
            f"the state {job.state} is of a run of `swordplay track` that is not at its end. Run "
            "that command again first."
        )
    if before.get(LEARN) and not job.learn:
        raise TrackingError(
            f"the state {job.state} holds a model that learns by `swordplay learn`. Go on with "
            f"`swordplay learn FILE --state {job.state}`, or give track another --state."
        )
    if not job.learn:
        _compare(before, json.loads(json.dumps(job.essence())), str(job.state))


def forget(job: Job) -> None:
    """Remove the state that a forced run replaces: it would lead astray if that run did not live
    to save one.
    """
    if job.force and job.state is not None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.realpath(job.state))


def _require_replaceable(path: str) -> None:
    """Refuse to replace what is no checkpoint of a run; one that is damaged may go."""
    try:
        with open(path, "rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise TrackingError(
                    f"--state {path} is not a checkpoint of swordplay, and would be replaced. "
                    "Give another path."
                )
        checkpoint.load(path)
    except (FileNotFoundError, checkpoint.CheckpointError):
        return
    except OSError as error:
        raise TrackingError(
            f"--state {path} cannot be replaced: {error.strerror}. Give another path."
        ) from error
    try:
        checkpoint.load(path, kind=KIND)
    except checkpoint.CheckpointError as error:
        raise TrackingError(
            f"--state {path} is not of a run of track, and would be replaced. Give another path."
        ) from error


def _restored(state: Mapping[str, Any], job: Job) -> RunState:
    outputs = [strip_prefix(name, state) for name in ("output", "refused")]
    tracker, position = (
        trackers.resumed(strip_prefix("tracker", state)),
        Position(**strip_prefix("position", state)),
    )
    _compare(_plain(tracker.settings), _plain(job.settings), str(job.state))
    check_position(position)
    trackers.check_layout(position.layout, tracker)
    for name in ("done", "bad"):
        check_number(name, state[name], ROW_COUNT_RANGE)
    check_number("seconds", state["seconds"], SUM)
    positions = [OutputPosition(**one) if one else None for one in outputs]
    for one in positions:
        if one is not None:
            check_position(one)
    return RunState(
        tracker=tracker,
        essence=state["essence"],
        position=position,
        done=int(state["done"]),
        output=None if job.learn else positions[0],
        refused=positions[1],
        remarks=tuple(read_json("remarks", state["remarks"], [str])),
        bad=int(state["bad"]),
        refusals=tuple(
            Refusal(*one) for one in read_json("refusals", state["refusals"], [REFUSAL])
        ),
        seconds=float(state["seconds"]),
        finished=bool(state["finished"]),
    )


def check_position(position: Position | OutputPosition) -> None:
    """Check a saved position: texts, and numbers of bytes, lines and rows.

    Raises
    ------
    ValueError
        Names the field.
    """
    shapes = {str: str, int: ROUND_COUNT_RANGE, bool: bool}
    for name, kind in get_type_hints(type(position)).items():
        check_json(f"position.{name}", getattr(position, name), shapes[kind])
    check_json("position.format", position.format, OneOf(FORMATS))


def _plain(settings: Settings) -> dict[str, Any]:
    """Settings as they are compared; a key that names a column twice is that column."""
    found = settings._replace(key=tuple(dict.fromkeys(settings.key)))
    return {f"--{name}": value for name, value in json.loads(json.dumps(found._asdict())).items()}


def _compare(before: Mapping[str, Any], now: Mapping[str, Any], path: str) -> None:
    for option, value in now.items():
        # A run that a bad row has stopped may leave bad rows out from now on.
        if option == "--on-bad" and value == "skip":
            continue
        if _or_none(before[option]) != _or_none(value):
            raise TrackingError(
                f"the state {path} was saved with {_said(option, before[option])}, and now it is "
                f"{_said(option, value)}. Repeat the options of the first run, give another "
                "--state, or begin anew with --force."
            )


def _or_none(value: Any) -> Any:
    """Return the value of an option, or None if it names nothing, as ``[]`` and False do."""
    return None if value is False or value in ([], {}) else value  # 0 is a value


def _said(option: str, value: Any) -> str:
    """An option as it is typed."""
    if option == "--curves" and value is None:  # unlike others: not to type it is to have some
        return "--curves none"
    if _or_none(value) is None:
        return f"no {option}"
    if value is True:
        return option
    if isinstance(value, dict):
        value = [f"{name}={kind}" for name, kind in value.items()]
    return f"{option} {','.join(value) if isinstance(value, list) else value}"
