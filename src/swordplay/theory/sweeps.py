"""Many learners on many streams with many seeds, over all the cores or machines that joblib can
reach.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np

from swordplay.core import arguments, extras
from swordplay.theory.game import play
from swordplay.theory.ledger import Ledger
from swordplay.theory.quantities import path_length

MakeLearner = Callable[[Any], Any]
"""A fresh learner for a stream."""
MakeStream = Callable[..., Any]
"""A stream, called with ``seed=...``."""
Measure = Callable[[Ledger, Any, Any], Mapping[str, Any]]
"""More columns, from a ledger, its learner and its stream."""
Row = dict[str, Any]


class Game(NamedTuple):
    """What identifies a game of a sweep, in memory and in its file."""

    learner: str
    stream: str
    seed: int
    engine: str
    measure: str | None
    """Name of the function."""
    version: str


def sweep(
    learners: Mapping[str, MakeLearner],
    streams: Mapping[str, MakeStream],
    seeds: Iterable[int] = (0,),
    *,
    measure: Measure | None = None,
    engine: Literal["auto", "python", "compiled"] = "auto",
    jobs: int | None = None,
    file: str | os.PathLike[str] | None = None,
    version: str | int = 1,
    progress: bool = True,
) -> list[Row]:
    """Let every learner play every stream with every seed.

    Parameters
    ----------
    learners
        By name, functions that make a fresh learner for a stream: ``lambda stream:
        sp.Sword(stream.domain)``.
    streams
        By name, functions that make a stream from ``seed=...``:
        ``functools.partial(sp.streams.drift.jumps, 1000)``.
    seeds
        Whole numbers.
    measure
        Called with ledger, learner and stream after each game; its answer, numbers and strings by
        name, becomes more columns.
    engine
        As in :func:`swordplay.play`.
    jobs
        How many games at once; unless given, what ``joblib.parallel_config`` says (also of threads,
        processes, clusters), or 1.
    file
        Where finished games are noted, a line of JSON each. A sweep that was killed goes on from
        there: a game whose line is in the file is not played again. Its line names learner, stream,
        seed, engine, the function ``measure`` and ``version``.
    version
        Of your learners, streams and ``measure``. Changed code is not noticed: give another version
        with it, and all games are played with the new code. Lines of other versions stay in the
        file and are not used.
    progress
        Whether to show a bar, where standard error is a terminal and rich is installed.

    Returns
    -------
    A tidy table, one dictionary a game in the order of learners, streams and seeds, whoever played
    them: learner, stream, seed, rounds, total_loss; regret and path_length where the stream knows
    comparators; and what ``measure`` adds.

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
    games = _games(learners, streams, seeds, engine, measure, version)
    with _notebook(file) as (known, note), _bar(progress, len(games)) as advance:
        left = [game for game in games if game not in known]
        advance(len(games) - len(left))
        tasks = [
            (game, learners[game.learner], streams[game.stream], measure, engine) for game in left
        ]
        for game, row in _played(tasks, jobs):
            known[game] = note(game, row)
            advance(1)
    return [known[game] for game in games]


def _games(
    learners: Mapping[str, MakeLearner],
    streams: Mapping[str, MakeStream],
    seeds: Iterable[int],
    engine: str,
    measure: Measure | None,
    version: str | int,
) -> list[Game]:
    """All games, in the order of the table."""
    numbers = [arguments.integer("seeds", seed, least=0) for seed in seeds]
    _require_makers("learners", learners)
    _require_makers("streams", streams)
    if not isinstance(version, str | int) or isinstance(version, bool):
        raise TypeError(
            f"version must be a string or a whole number, got {arguments.short_repr(version)}."
        )
    named = (
        None if measure is None else getattr(measure, "__qualname__", type(measure).__qualname__)
    )
    games = [
        Game(*names, engine, named, str(version)) for names in product(learners, streams, numbers)
    ]
    if len(set(games)) < len(games) or not games:
        raise ValueError(
            f"seeds must be one or more different numbers, got {arguments.short_repr(numbers)}."
        )
    return games


def _play(
    game: Game,
    learner: MakeLearner,
    stream: MakeStream,
    measure: Measure | None,
    engine: Literal["auto", "python", "compiled"],
) -> tuple[Game, Row]:
    """Play one game and return its row with it: rows arrive in any order."""
    try:
        world = stream(seed=game.seed)
        player = learner(world)
        ledger = play(player, world, engine, keep=() if measure is None else None)
        row: Row = {"learner": game.learner, "stream": game.stream, "seed": game.seed}
        row |= {"rounds": ledger.rounds, "total_loss": ledger.total_loss}
        if (comparators := getattr(world, "comparators", None)) is not None:
            row |= {"regret": ledger.regret(comparators), "path_length": path_length(comparators)}
        return game, row if measure is None else row | dict(measure(ledger, player, world))
    except Exception as error:
        raise RuntimeError(
            f"the game of learner {game.learner!r} on stream {game.stream!r} with seed "
            f"{game.seed} failed: {error}"
        ) from error


def _played(games: Sequence[tuple[Any, ...]], jobs: int | None) -> Iterator[tuple[Game, Row]]:
    """Rows as they come in, in any order."""
    try:
        import joblib
        from joblib.parallel import get_active_backend
    except ImportError:
        raise ImportError(
            f"sweep needs joblib. Install it with: {extras.pip_command('sweep')}"
        ) from None
    backend, usual = get_active_backend()
    count = usual if jobs is None else jobs
    tasks = [joblib.delayed(_play)(*game) for game in games]
    if backend.supports_return_generator:
        yield from joblib.Parallel(n_jobs=count, return_as="generator_unordered")(tasks)
        return
    # Such a backend answers when all of a call is done: calls of a few games each, so that a kill
    # costs no more than these.
    size = 4 * backend.effective_n_jobs(count)
    for first in range(0, len(tasks), size):
        yield from joblib.Parallel(n_jobs=count)(tasks[first : first + size])


@contextmanager
def _notebook(
    file: str | os.PathLike[str] | None,
) -> Iterator[tuple[dict[Game, Row], Callable[[Game, Row], Row]]]:
    """What is known already, and a function that writes a row down and returns it as it would be
    read again.
    """
    known: dict[Game, Row] = {}
    if file is None:
        yield known, lambda game, row: _plain(game, row)[1]
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
                known[Game(**entry["game"])] = dict(entry["row"])
            except (ValueError, KeyError, TypeError):
                raise ValueError(
                    f"line {place} of {os.fspath(file)!r} is not one that sweep wrote. Give "
                    "another file, or delete the line."
                ) from None

        def note(game: Game, row: Row) -> Row:
            line, plain = _plain(game, row)
            book.write(line)
            book.flush()
            os.fsync(book.fileno())
            return plain

        yield known, note


def _plain(game: Game, row: Row) -> tuple[bytes, Row]:
    """A line of the notebook, and the row as it will be read from it: a resumed table must not
    differ from a fresh one.
    """
    line = json.dumps({"game": game._asdict(), "row": row}, default=_number)
    return line.encode() + b"\n", json.loads(line)["row"]


def _number(value: Any) -> Any:
    """Numbers of numpy as plain ones."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(
        f"measure must give numbers and strings, got {arguments.short_repr(value)} "
        f"({type(value).__name__})."
    )


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
        raise TypeError(
            f"{name} must be a dictionary of functions by name, got {arguments.short_repr(makers)}."
        )
