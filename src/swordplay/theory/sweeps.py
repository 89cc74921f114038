"""Sweeps: many learners on many streams with many seeds, in parallel by joblib."""

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
"""Makes a new learner for a stream."""
MakeStream = Callable[..., Any]
"""Makes a stream from ``seed=...``."""
Measure = Callable[[Ledger, Any, Any], Mapping[str, Any]]
"""Computes further columns from a ledger, its learner and its stream."""
Row = dict[str, Any]
"""One line of the table: values by the names of the columns."""
DEFAULT_KEEP = None
"""Value of ``keep`` with which ``play`` keeps losses and, if they are not too many, decisions."""


class GameKey(NamedTuple):
    """Identifies a game of a sweep, in memory and in the results file."""

    learner: str
    """Name of the learner, a key of ``learners``."""
    stream: str
    """Name of the stream, a key of ``streams``."""
    seed: int
    engine: str
    measure: str | None
    """Name of the function ``measure``, or None."""
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
    """Play every stream with every learner and every seed, and return a table.

    Parameters
    ----------
    learners
        Functions that make a new learner for a stream, by name: ``lambda stream:
        sp.Sword(stream.domain)``.
    streams
        Functions that make a stream from ``seed=...``, by name:
        ``functools.partial(sp.streams.drift.jumps, 1000)``.
    seeds
        Whole numbers.
    measure
        Called with ledger, learner and stream after each game; returns further columns, numbers and
        strings by name. The ledger holds what :func:`swordplay.play` keeps by default.
    engine
        As in :func:`swordplay.play`.
    jobs
        Number of games at once; by default the number in ``joblib.parallel_config`` (which also
        chooses threads, processes or a cluster), or 1.
    file
        File of results, a line of JSON for each finished game. A sweep that was killed resumes from
        it: a game whose line is in the file is not played again. The line names learner, stream,
        seed, engine, the function ``measure`` and ``version``.
    version
        Version of your learners, streams and ``measure``. Changed code is not detected: give it
        another version, and all games are played with the new code. Lines of other versions stay in
        the file and are not used.
    progress
        Whether to show a progress bar if standard error is a terminal and rich is installed.

    Returns
    -------
    A tidy table, one dictionary a game in the order of learners, streams and seeds: learner,
    stream, seed, rounds, total_loss; regret and path_length if the stream has comparators; and the
    columns of ``measure``.

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
    with _results_file(file) as (results, write), _progress_bar(progress, len(games)) as advance:
        missing_games = [game for game in games if game not in results]
        advance(len(games) - len(missing_games))
        play_arguments = [
            (game, learners[game.learner], streams[game.stream], measure, engine)
            for game in missing_games
        ]
        for game, row in _play_all(play_arguments, jobs):
            results[game] = write(game, row)
            advance(1)
    return [results[game] for game in games]


def _games(
    learners: Mapping[str, MakeLearner],
    streams: Mapping[str, MakeStream],
    seeds: Iterable[int],
    engine: str,
    measure: Measure | None,
    version: str | int,
) -> list[GameKey]:
    """The keys of all games, in the order of the table."""
    seed_numbers = [arguments.integer("seeds", seed, least=0) for seed in seeds]
    _require_functions("learners", learners)
    _require_functions("streams", streams)
    if not isinstance(version, str | int) or isinstance(version, bool):
        raise TypeError(
            f"version must be a string or a whole number, got {arguments.short_repr(version)}."
        )
    measure_name = (
        None if measure is None else getattr(measure, "__qualname__", type(measure).__qualname__)
    )
    games = [
        GameKey(*names, engine, measure_name, str(version))
        for names in product(learners, streams, seed_numbers)
    ]
    if len(set(games)) < len(games) or not games:
        raise ValueError(
            "seeds must be one or more different numbers, got "
            f"{arguments.short_repr(seed_numbers)}."
        )
    return games


def _play(
    game: GameKey,
    make_learner: MakeLearner,
    make_stream: MakeStream,
    measure: Measure | None,
    engine: Literal["auto", "python", "compiled"],
) -> tuple[GameKey, Row]:
    """Play one game; return its key with its row, because rows arrive in any order."""
    try:
        stream = make_stream(seed=game.seed)
        learner = make_learner(stream)
        ledger = play(learner, stream, engine, keep=() if measure is None else DEFAULT_KEEP)
        row: Row = {"learner": game.learner, "stream": game.stream, "seed": game.seed}
        row |= {"rounds": ledger.rounds, "total_loss": ledger.total_loss}
        if (comparators := getattr(stream, "comparators", None)) is not None:
            row |= {"regret": ledger.regret(comparators), "path_length": path_length(comparators)}
        return game, row if measure is None else row | dict(measure(ledger, learner, stream))
    except Exception as error:
        raise RuntimeError(
            f"the game of learner {game.learner!r} on stream {game.stream!r} with seed "
            f"{game.seed} failed: {error}"
        ) from error


def _play_all(
    play_arguments: Sequence[tuple[Any, ...]], jobs: int | None
) -> Iterator[tuple[GameKey, Row]]:
    """Call ``_play`` with each tuple of arguments, in parallel; yields results in any order."""
    try:
        import joblib
        from joblib.parallel import get_active_backend
    except ImportError:
        raise ImportError(
            f"sweep needs joblib. Install it with: {extras.pip_command('sweep')}"
        ) from None
    backend, default_jobs = get_active_backend()
    job_count = default_jobs if jobs is None else jobs
    tasks = [joblib.delayed(_play)(*game_arguments) for game_arguments in play_arguments]
    if backend.supports_return_generator:
        yield from joblib.Parallel(n_jobs=job_count, return_as="generator_unordered")(tasks)
        return
    # This backend returns only when all games of a call are done, so a killed sweep loses them all.
    # Few games per call keep this loss small.
    games_per_call = 4 * backend.effective_n_jobs(job_count)
    for start in range(0, len(tasks), games_per_call):
        yield from joblib.Parallel(n_jobs=job_count)(tasks[start : start + games_per_call])


@contextmanager
def _results_file(
    file: str | os.PathLike[str] | None,
) -> Iterator[tuple[dict[GameKey, Row], Callable[[GameKey, Row], Row]]]:
    """Open the results file.

    Yields the results that the file holds, and a function that appends a row to the file and
    returns the row as it will be read from the file.
    """
    results: dict[GameKey, Row] = {}
    if file is None:
        yield results, lambda game, row: _encode(game, row)[1]
        return
    with open(file, "a+b") as results_file:
        results_file.seek(0)
        lines = results_file.read().splitlines(keepends=True)
        if lines and not lines[-1].endswith(b"\n"):  # the sweep was killed while it wrote the line
            results_file.truncate(sum(map(len, lines[:-1])))
            lines.pop()
        for number, line in enumerate(lines, start=1):
            try:
                entry = json.loads(line)
                results[GameKey(**entry["game"])] = dict(entry["row"])
            except (ValueError, KeyError, TypeError):
                raise ValueError(
                    f"line {number} of {os.fspath(file)!r} is not one that sweep wrote. Give "
                    "another file, or delete the line."
                ) from None

        def write(game: GameKey, row: Row) -> Row:
            line, decoded = _encode(game, row)
            results_file.write(line)
            results_file.flush()
            os.fsync(results_file.fileno())
            return decoded

        yield results, write


def _encode(game: GameKey, row: Row) -> tuple[bytes, Row]:
    """A line of the results file, and the row as it will be read from this line.

    Rows of the table are always decoded from lines, so that a resumed table equals an uninterrupted
    one.
    """
    line = json.dumps({"game": game._asdict(), "row": row}, default=_plain_number)
    return line.encode() + b"\n", json.loads(line)["row"]


def _plain_number(value: Any) -> Any:
    """A numpy scalar as a Python number."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(
        f"measure must give numbers and strings, got {arguments.short_repr(value)} "
        f"({type(value).__name__})."
    )


@contextmanager
def _progress_bar(is_wanted: bool, total: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar if standard error is a terminal and rich is installed.

    Yields a function that advances the bar by a number of games.
    """
    if not is_wanted or not os.isatty(2):
        yield lambda finished_games: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:  # the bar is optional
        yield lambda finished_games: None
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("games", total=total)
        yield lambda finished_games: bar.advance(task, finished_games)


def _require_functions(name: str, functions: Any) -> None:
    """Raise TypeError unless the argument is a non-empty dictionary from names to functions."""
    if not (isinstance(functions, Mapping) and functions) or not all(
        isinstance(key, str) and callable(function) for key, function in functions.items()
    ):
        raise TypeError(
            f"{name} must be a dictionary of functions by name, "
            f"got {arguments.short_repr(functions)}."
        )
