"""Every entry on both instances at every horizon."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from swordplay.core import arguments
from swordplay.parts.streams import PlantedStream, paper
from swordplay.theory.reproduce import constants
from swordplay.theory.reproduce.constants import Game
from swordplay.theory.reproduce.entries import ENTRIES, Entry, Tuning
from swordplay.theory.reproduce.meter import Meter, Progress

DEFAULT_ROUNDS = 100_000
"""The largest T that is played unless another is asked for: as far as the paper goes, and
seconds for the engine.
"""
FEWEST_ROUNDS = 10
"""Below this the instances hardly have a second half."""
FIRST_HORIZON = 100
"""Horizons are this, ten times this, and so on."""

INSTANCES: dict[str, Callable[[int], PlantedStream]] = {
    "gradual": paper.gradual,
    "alternating": paper.alternating,
}
"""Instance 1 (V_T far below F_T) and Instance 2 (the reverse)."""


class Row(NamedTuple):
    """One learner in one game."""

    instance: str
    """A key of ``INSTANCES``."""
    learner: str
    """Name of its class."""
    tuning: Tuning
    """``"paper"``, ``"self-confident"``, ``"none"`` (nothing to tune) or ``"baseline"``."""
    horizon: int
    """T as it was asked for."""
    rounds: int
    """T as it was played: Instance 1 needs it odd, Instance 2 even."""
    experts: int
    """N at the end of the game."""
    regret: float
    """Dynamic regret against the instance's comparators, the minimisers of each round."""
    bound: float | None
    """What the learner's theorem promises for this game.

    None for Sword, whose promise is its certificate.
    """
    certificate: float | None
    """What the run itself certifies against all comparators of the instance's path length.

    None for the covers of experts.
    """

    @property
    def at_its_word(self) -> bool:
        """Whether the bound takes the paper's claim about learned optimism at its word, which
        holds for G <= 1/4 only.
        """
        return (self.learner, self.tuning) == ("SwordBest", "paper")


def horizons(largest: int = DEFAULT_ROUNDS) -> list[int]:
    """100, 1000, ... up to ``largest``, which is always the last.

    >>> horizons(20_000)
    [100, 1000, 10000, 20000]
    """
    largest = arguments.integer("largest", largest, least=FEWEST_ROUNDS)
    powers = (FIRST_HORIZON * 10**k for k in range(len(str(largest))))
    return [*(power for power in powers if power < largest), largest]


def reproduce(
    rounds: Sequence[int] | None = None, *, progress: Progress | None = None
) -> list[Row]:
    """Play both instances at every horizon with every learner.

    Parameters
    ----------
    rounds
        The horizons T; ``horizons()`` unless given.
    progress
        Called now and then with rounds done, rounds to do, and what is being played.

    Examples
    --------
    >>> rows = reproduce([100])
    >>> [round(row.regret, 1) for row in rows if row.learner == "Sword"]
    [0.4, 2.5]
    """
    wanted = (
        horizons()
        if rounds is None
        else [arguments.integer("rounds", T, least=FEWEST_ROUNDS) for T in rounds]
    )
    games = [(name, T, make(T)) for T in wanted for name, make in INSTANCES.items()]
    planned = sum(
        len(stream) * entry.runs
        for _, T, stream in games
        for entry in ENTRIES
        if _takes_part(entry, T)
    )
    meter = Meter(progress, planned=planned)
    return [
        row for name, T, stream in games for row in _rows(name, T, constants.game(stream), meter)
    ]


def _rows(instance: str, horizon: int, game: Game, meter: Meter) -> Iterator[Row]:
    """Every entry in one game."""
    for entry in ENTRIES:
        if not _takes_part(entry, horizon):
            continue
        meter.label = f"{entry.learner}, {instance}, T = {horizon:,}"
        learner, ledger = entry.enter(game, meter)
        experts = len(learner.step_sizes)
        yield Row(
            instance=instance,
            learner=entry.learner,
            tuning=entry.tuning,
            horizon=horizon,
            rounds=ledger.rounds,
            experts=experts,
            regret=ledger.regret(game.stream.comparators),
            bound=entry.bound(game, experts),
            certificate=learner.certificate(game.path_length) if entry.certified else None,
        )


def _takes_part(entry: Entry, horizon: int) -> bool:
    return entry.most is None or horizon <= entry.most
