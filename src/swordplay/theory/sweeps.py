"""Many learners on many streams with many seeds, over all the cores or machines that joblib can reach."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np

from swordplay.base import arguments, extras
from swordplay.theory.fingerprints import fingerprint
from swordplay.theory.game import play
from swordplay.theory.regret import Ledger, path_length

MakeLearner = Callable[[Any], Any]
"""A fresh learner for a stream."""
MakeStream = Callable[..., Any]
"""A stream, called with ``seed=...``."""
Measure = Callable[[Ledger, Any, Any], Mapping[str, Any]]
"""More columns, from a ledger, its learner and its stream."""
Row = dict[str, Any]


class Cell(NamedTuple):
    """One game of a sweep."""

    learner: str
    stream: str
    seed: int


def sweep(
    learners: Mapping[str, MakeLearner],
    streams: Mapping[str, MakeStream],
    seeds: Iterable[int] = (0,),
    *,
    measure: Measure | None = None,
    engine: Literal["auto", "python", "compiled"] = "auto",
    jobs: int | None = None,
    file: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> list[Row]:
    """Let every learner play every stream with every seed.

    Parameters
    ----------
    learners
        By name, functions that make a fresh learner for a stream: ``lambda stream: sp.Sword(stream.domain)``.
    streams
        By name, functions that make a stream from ``seed=...``: ``functools.partial(sp.streams.drift.jumps, 1000)``.
    seeds
        Whole numbers.
    measure
        Called with ledger, learner and stream after each game; its answer, numbers and strings by name, becomes more columns.
    engine
        As in :func:`swordplay.play`.
    jobs
        How many games at once; unless given, what ``joblib.parallel_config`` says (also of threads, processes, clusters), or 1.
    file
        Where finished games are noted, a line of JSON each. A sweep that was killed goes on from there; games that changed
        their name, their code or what they were made with are played again (see ``fingerprints``).
    progress
        Whether to show a bar, where standard error is a terminal and rich is installed.

    Returns
    -------
    A tidy table, one dictionary a game in the order of learners, streams and seeds, whoever played them: learner, stream,
    seed, rounds, total_loss; regret and path_length where the stream knows comparators; and what ``measure`` adds.

    Examples
    --------
    >>> import functools
    >>> import swordplay as sp
    >>> table = sweep(
    ...     {"Sword": lambda stream: sp.Sword(stream.domain)},
    ...     {"jumps": functools.partial(sp.streams.drift.jumps, 200)},
    ...     seeds=range(2),
    ... )
    >>> [(row["learner"], row["seed"], row["rounds"]) for row in table]
    [('Sword', 0, 200), ('Sword', 1, 200)]
    """
    cells = _cells(learners, streams, seeds)
    keys = _keys(cells, learners, streams, measure, engine) if file is not None else [str(cell) for cell in cells]
    with _notebook(file) as (known, note), _bar(progress, len(cells)) as advance:
        left = [k for k, key in enumerate(keys) if key not in known]
        advance(len(cells) - len(left))
        games = [(k, cells[k], learners[cells[k].learner], streams[cells[k].stream], measure, engine) for k in left]
        for number, row in _played(games, jobs):
            known[keys[number]] = note(keys[number], row)
            advance(1)
    return [known[key] for key in keys]


def _cells(learners: Mapping[str, MakeLearner], streams: Mapping[str, MakeStream], seeds: Iterable[int]) -> list[Cell]:
    """All games, in the order of the table."""
    numbers = [arguments.whole("seeds", seed, least=0) for seed in seeds]
    _require_makers("learners", learners)
    _require_makers("streams", streams)
    cells = [Cell(*names) for names in product(learners, streams, numbers)]
    if len(set(cells)) < len(cells) or not cells:
        raise ValueError(f"seeds must be one or more different numbers, got {arguments.shown(numbers)}.")
    return cells


def _game(
    number: int,
    cell: Cell,
    learner: MakeLearner,
    stream: MakeStream,
    measure: Measure | None,
    engine: Literal["auto", "python", "compiled"],
) -> tuple[int, Row]:
    """Play one game; its number comes back with its row."""
    try:
        world = stream(seed=cell.seed)
        player = learner(world)
        ledger = play(player, world, engine, keep=() if measure is None else None)
        row: Row = {**cell._asdict(), "rounds": ledger.rounds, "total_loss": ledger.total_loss}
        if (comparators := getattr(world, "comparators", None)) is not None:
            row |= {"regret": ledger.regret(comparators), "path_length": path_length(comparators)}
        return number, row if measure is None else row | dict(measure(ledger, player, world))
    except Exception as error:
        raise RuntimeError(
            f"the game of learner {cell.learner!r} on stream {cell.stream!r} with seed {cell.seed} failed: {error}"
        ) from error


def _played(games: Sequence[tuple[Any, ...]], jobs: int | None) -> Iterator[tuple[int, Row]]:
    """Rows as they come in, in any order."""
    try:
        import joblib
        from joblib.parallel import get_active_backend
    except ImportError:
        raise ImportError(f"sweep needs joblib. Install it with: {extras.installation('sweep')}") from None
    backend, usual = get_active_backend()
    count = usual if jobs is None else jobs
    tasks = [joblib.delayed(_game)(*game) for game in games]
    if backend.supports_return_generator:
        yield from joblib.Parallel(n_jobs=count, return_as="generator_unordered")(tasks)
        return
    # Such a backend answers when all of a call is done: calls of a few games each, so that a kill costs no more than these.
    size = 4 * backend.effective_n_jobs(count)
    for first in range(0, len(tasks), size):
        yield from joblib.Parallel(n_jobs=count)(tasks[first : first + size])


@contextmanager
def _notebook(file: str | os.PathLike[str] | None) -> Iterator[tuple[dict[str, Row], Callable[[str, Row], Row]]]:
    """What is known already, and a function that writes a row down and returns it as it would be read again."""
    known: dict[str, Row] = {}
    if file is None:
        yield known, lambda key, row: _plain(key, row)[1]
        return
    with open(file, "a+b") as book:
        book.seek(0)
        lines = book.read().splitlines(keepends=True)
        if lines and not lines[-1].endswith(b"\n"):  # whoever wrote it was killed in the middle
            book.truncate(sum(map(len, lines[:-1])))
            lines.pop()
        for place, line in enumerate(lines, start=1):
            try:
                entry = json.loads(line)
                known[entry["key"]] = entry["row"]
            except (ValueError, KeyError, TypeError):
                raise ValueError(
                    f"line {place} of {os.fspath(file)!r} is not one that sweep wrote. Give another file, or delete the line."
                ) from None

        def note(key: str, row: Row) -> Row:
            line, plain = _plain(key, row)
            book.write(line)
            book.flush()
            os.fsync(book.fileno())
            return plain

        yield known, note


def _plain(key: str, row: Row) -> tuple[bytes, Row]:
    """A line of the notebook, and the row as it will be read from it: a resumed table must not differ from a fresh one."""
    line = json.dumps({"key": key, "row": row}, default=_number)
    return line.encode() + b"\n", json.loads(line)["row"]


def _number(value: Any) -> Any:
    """Numbers of numpy as plain ones."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"measure must give numbers and strings, got {arguments.shown(value)} ({type(value).__name__}).")


@contextmanager
def _bar(wanted: bool, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, if somebody can see it and rich, which draws it, is there."""
    if not wanted or not os.isatty(2):
        yield lambda steps: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:  # a picture is no reason to refuse the work
        yield lambda steps: None
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("games", total=total)
        yield lambda steps: bar.advance(task, steps)


def _require_makers(name: str, makers: Any) -> None:
    fine = isinstance(makers, Mapping) and makers
    if not fine or not all(isinstance(key, str) and callable(make) for key, make in makers.items()):
        raise TypeError(f"{name} must be a dictionary of functions by name, got {arguments.shown(makers)}.")


def _keys(
    cells: Sequence[Cell], learners: Mapping[str, Any], streams: Mapping[str, Any], measure: Any, engine: str
) -> list[str]:
    """A name for every game that stays the same as long as its code and all that it was made with do."""
    players = {name: fingerprint(f"learner {name!r}", make) for name, make in learners.items()}
    worlds = {name: fingerprint(f"stream {name!r}", make) for name, make in streams.items()}
    rest = [fingerprint("measure", measure), engine]
    texts = (json.dumps([*cell, players[cell.learner], worlds[cell.stream], *rest]) for cell in cells)
    return [hashlib.sha256(text.encode()).hexdigest()[:32] for text in texts]
