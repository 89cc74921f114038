"""The comparison itself: every participant plays the field, then all are ranked and held to what
hindsight could have had.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swordplay.comparison.field import FEWEST_ROWS, Contest, ParticipantPredictions
from swordplay.comparison.participants import Kind, Participant, descents, participants
from swordplay.comparison.rivals import Absent
from swordplay.core.types import Vector
from swordplay.tables.errors import nearest
from swordplay.theory import hindsight
from swordplay.theory.quantities import comparator_loss, path_length

Progress = Callable[[int, int, str], None]
"""Called with how much is done, how much is planned, and what is being done."""
PIECES = (10, 100)
"""Comparators that stand still within so many blocks of rows."""
STRETCHES = 500
"""Points of a participant's course."""


class UnknownLearner(ValueError):
    """A name that no participant has. The message lists the names."""


class Benchmark(NamedTuple):
    """What hindsight could have had."""

    name: str
    path_length: float
    """How far it travels, summed over classes."""
    loss: float
    """Its total loss."""


class Result(NamedTuple):
    """How a participant did."""

    rank: int
    """1 for the least error."""
    name: str
    kind: Kind
    told: str
    """What it had to be told that only hindsight knows."""
    setting: str
    """Which of its entries was the best, such as its step size; empty if it had one."""
    error: float
    """RMSE, or share of wrong labels."""
    loss: float
    """Total loss, in which regret is counted; NaN for those who say a class and no probability."""
    regrets: Mapping[str, float]
    """Loss beyond that of each benchmark, by its name; NaN where there is no loss."""
    microseconds: float
    """Time per row, of the entry that counts."""
    course: Vector
    """Error over all rows so far at ``Comparison.ends``."""


class Comparison(NamedTuple):
    """The result of :func:`compare`: how every learner did on one table.

    The command prints it and the report draws it.
    """

    rows: int
    """How many there are,"""
    width: int
    """and how many columns of numbers they have."""
    measure: str
    """``"RMSE"`` or ``"error rate"``."""
    radius: float
    benchmarks: tuple[Benchmark, ...]
    results: tuple[Result, ...]
    ends: NDArray[np.int64]
    """Rows played at each point of the courses."""
    absent: Mapping[str, str]
    """Rivals that did not take part, and why."""

    def of(self, kind: Kind) -> tuple[Result, ...]:
        """Those of one kind, by rank."""
        return tuple(one for one in self.results if one.kind == kind)


def compare(
    game: Contest,
    *,
    step_sizes: Iterable[float] = (),
    only: Collection[str] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Let the estimator, baselines, rivals from outside and all learners of the package predict the
    same rows.

    Parameters
    ----------
    game
        What :func:`field` made of a table.
    step_sizes
        Of OGD learners to be added.
    only
        Names of the participants beside the estimator (see :func:`chosen`); all unless given.
    progress
        See :data:`Progress`.
    """
    entered = [*chosen(participants(game), only), *descents(step_sizes)]
    planned = sum(len(one.entries) for one in entered) + 1 + len(PIECES)
    done = 0

    def step(label: str) -> None:
        nonlocal done
        if progress is not None:
            progress(done, planned, label)
        done += 1

    ends = np.unique(np.linspace(FEWEST_ROWS, len(game.rows), STRETCHES).astype(np.int64))
    plays, absent = [], {}
    for one in entered:
        try:
            plays.append(_best(one, game, ends, step))
        except Absent as reason:
            absent[one.name] = str(reason)
    benchmarks = _benchmarks(game, step)
    ranked = sorted(plays, key=lambda one: one.error)
    return Comparison(
        rows=len(game.rows),
        width=game.rows.shape[1],
        measure="error rate" if game.classes else "RMSE",
        radius=game.domain.radius,
        benchmarks=benchmarks,
        results=tuple(
            one._replace(
                rank=rank, regrets={mark.name: one.loss - mark.loss for mark in benchmarks}
            )
            for rank, one in enumerate(ranked, start=1)
        ),
        ends=ends,
        absent=absent,
    )


def chosen(entered: Iterable[Participant], only: Collection[str] | None) -> list[Participant]:
    """Return the estimator and those of the other participants that were asked for.

    Parameters
    ----------
    entered
        All participants.
    only
        Names as they are shown (``"sp.Sword"``), or the class or package alone (``"Sword"``,
        ``"river"``); all participants unless given.

    Raises
    ------
    UnknownLearner
        If a name is none of these.
    """
    known = list(entered)
    if only is None:
        return known
    asked = {name.strip().casefold(): name for name in only}
    names = {short: one.name for one in known for short in (one.name.casefold(), _short(one.name))}
    for name in (asked[folded] for folded in asked if folded not in names):
        listed = ", ".join(one.name for one in known if one.kind != "estimator")
        raise UnknownLearner(
            f"there is none called {name!r}.{nearest(name, names)} There are: {listed}."
        )
    wanted = {names[name] for name in asked}
    return [one for one in known if one.kind == "estimator" or one.name in wanted]


def _short(name: str) -> str:
    """The class, or the package from outside.

    >>> _short("best sp.OGD"), _short("scikit-learn SGD"), _short("river linear"), _short("running mean")
    ('ogd', 'scikit-learn', 'river', 'running mean')
    """  # noqa: E501
    folded = name.casefold().removeprefix("best ").removeprefix("sp.")
    return folded.split(" ")[0] if folded.startswith(("river ", "scikit-learn ")) else folded


def _best(
    participant: Participant, game: Contest, ends: NDArray[np.int64], step: Callable[[str], None]
) -> Result:
    """The entry of a participant with the least error."""
    best: Result | None = None
    for number, play in enumerate(participant.entries):
        step(participant.name)
        if number == 0:
            play(game.head(FEWEST_ROWS))  # compiles, so that the clock below sees only the rows
        started = time.perf_counter()
        said = play(game)
        seconds = time.perf_counter() - started
        mistakes = game.mistakes(said.predictions)
        error = game.error(mistakes)
        if best is not None and not error < best.error:
            continue
        means = np.cumsum(mistakes)[ends - 2] / (ends - 1)
        best = Result(
            rank=0,
            name=participant.name,
            kind=participant.kind,
            told=participant.told,
            setting=participant.settings[number] if participant.settings else "",
            error=error,
            loss=_loss(game, said),
            regrets={},
            microseconds=1e6 * seconds / len(game.rows),
            course=means if game.classes else np.sqrt(means),
        )
    assert best is not None  # every participant has an entry
    return best


def _loss(game: Contest, said: ParticipantPredictions) -> float:
    """Total loss in the game."""
    if said.scores is None:
        return math.nan
    return sum(
        float(stream.values_of(said.scores[:, k]).sum()) for k, stream in enumerate(game.streams)
    )


def _benchmarks(game: Contest, step: Callable[[str], None]) -> tuple[Benchmark, ...]:
    """The best fixed coefficients, and the best that change between blocks of rows."""
    found = []
    step("best fixed of hindsight")
    sequences = [[hindsight.best_fixed(stream, game.domain)] for stream in game.streams]
    found.append(
        Benchmark(
            "fixed",
            0.0,
            sum(comparator_loss(s, u) for s, (u,) in zip(game.streams, sequences, strict=True)),
        )
    )
    for pieces in PIECES:
        if len(game.rows) < 2 * pieces:
            continue
        step(f"best {pieces} of hindsight")
        length = -(-len(game.rows) // pieces)
        moving = [
            hindsight.block_minimizers(stream, game.domain, length) for stream in game.streams
        ]
        loss = sum(comparator_loss(s, u) for s, u in zip(game.streams, moving, strict=True))
        found.append(Benchmark(f"{pieces} pieces", sum(path_length(u) for u in moving), loss))
    return tuple(found)
