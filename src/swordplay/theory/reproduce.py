"""The paper's experiment: regret of every learner on both instances, beside the bounds.

References
----------
Zhao et al. (2020), Instances 1 and 2, and Theorems 3, 5 and 7 (Sword_var, Sword_small, Sword_best).
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypedDict

from swordplay.core import arguments
from swordplay.parts import pools, rates
from swordplay.parts.learners import (
    CBCE,
    OEGD,
    OGD,
    SACS,
    SAOL,
    Ader,
    Sword,
    SwordBest,
    SwordPlusPlus,
    SwordSmall,
    SwordVar,
)
from swordplay.parts.streams import PlantedStream, paper
from swordplay.theory import bounds
from swordplay.theory.game import play
from swordplay.theory.ledger import Ledger
from swordplay.theory.quantities import comparator_loss, path_length, squared_gradients
from swordplay.theory.variation import gradient_variation

__all__ = [
    "DEFAULT_ROUNDS",
    "ENTRIES",
    "FEWEST_ROUNDS",
    "INSTANCES",
    "Progress",
    "Row",
    "Tuning",
    "horizons",
    "paper_tuned",
    "reproduce",
]

DEFAULT_ROUNDS = 100_000
"""Default of the largest T. The paper uses it, and the engine plays it in some seconds."""
FEWEST_ROUNDS = 10
"""Smallest T for which the second half of an instance is more than a few rounds."""
FIRST_HORIZON = 100
"""Smallest value of :func:`horizons`; each next one is ten times as long."""
MAX_STRONGLY_ADAPTIVE_HORIZON = 1_000
"""Largest T of SAOL, CBCE and SACS.

The compiled engine does not have them, and the Python loop takes about 0.3 ms a round.
"""
OPTIMISM_RATE = 2.0
"""Rate at which the paper's Sword_best learns its optimism.

The paper claims that the loss of the optimism is exp-concave at this rate: true for G <= 1/4.
"""
MAX_RUNS = 6
"""A run is repeated, at most this often, until its rate agrees with the paper's formula for it.

2 to 5 runs are usual.
"""
RATE_TOLERANCE = 0.01
"""Relative difference up to which two rates count as equal; regrets then differ as little."""
ROUNDS_PER_REPORT = 100
"""Rounds between two reports: often enough to see it move, too rarely to cost measurable time."""

Tuning = Literal["paper", "self-confident", "none", "baseline"]
"""How a learner is tuned.

``"paper"``: with the paper's fixed rates; ``"self-confident"``: with our defaults, given T, G and
L; ``"none"``: not at all; ``"baseline"``: as other authors tune their learner.
"""
Progress = Callable[[int, int, str], None]
"""Called with rounds done, rounds planned, and a label of the game being played."""

INSTANCES: dict[str, Callable[[int], PlantedStream]] = {
    "gradual": paper.gradual,
    "alternating": paper.alternating,
}
"""Instance 1 (V_T far below F_T) and Instance 2 (the reverse), by name."""


class Row(NamedTuple):
    """Result of one learner in one game."""

    instance: str
    """A key of ``INSTANCES``."""
    learner: str
    """Name of the learner's class."""
    tuning: Tuning
    """How the learner was tuned."""
    horizon: int
    """T, the argument of ``reproduce``."""
    rounds: int
    """Rounds played: T or T + 1, an odd number for Instance 1, an even one for Instance 2."""
    experts: int
    """N at the end of the game."""
    regret: float
    """Dynamic regret against the instance's comparators, the minimisers of each round."""
    bound: float | None
    """Bound of the learner's theorem in this game; None for Sword, which has a certificate."""
    certificate: float | None
    """Certificate of the run for the instance's path length; None for SAOL, CBCE and SACS."""

    @property
    def assumes_optimism_claim(self) -> bool:
        """Whether the bound assumes the paper's claim about learned optimism, true for G <= 1/4."""
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
        The horizons T; ``horizons()`` by default.
    progress
        Called now and then with rounds done, rounds planned, and a label of the game being played.

    Examples
    --------
    >>> rows = reproduce([100])
    >>> [round(row.regret, 1) for row in rows if row.learner == "Sword"]
    [0.4, 2.6]
    """
    horizons_played = (
        horizons()
        if rounds is None
        else [arguments.integer("rounds", T, least=FEWEST_ROUNDS) for T in rounds]
    )
    games = [
        (name, T, make_stream(T))
        for T in horizons_played
        for name, make_stream in INSTANCES.items()
    ]
    planned_rounds = sum(
        len(stream) * entry.max_runs for _, T, stream in games for entry in _entries(T)
    )
    counter = ProgressCounter(progress, planned_rounds)
    return [
        row
        for name, T, stream in games
        for row in _rows(name, T, StreamQuantities.of_stream(stream), counter)
    ]


SwordName = Literal["SwordVar", "SwordSmall", "SwordBest"]
PaperSword = SwordVar | SwordSmall | SwordBest


def paper_tuned(name: SwordName, stream: PlantedStream) -> PaperSword:
    """A new learner with the paper's pools, fixed rate and optimism rate for a stream.

    The rates depend on quantities that are known only after the game: the gradient variation, and
    for Sword_small and Sword_best the squared gradients of their own run. These are found by
    repeating the run until its rate is the paper's rate for its own squared gradients. The tuning
    serves to reproduce the paper; the learners' defaults do not depend on the future.

    Parameters
    ----------
    name
        ``"SwordVar"``, ``"SwordSmall"`` or ``"SwordBest"``.
    stream
        The stream, with its domain and comparators.

    Examples
    --------
    >>> from swordplay import play
    >>> from swordplay.parts import streams
    >>> stream = streams.paper.gradual(100)
    >>> ledger = play(paper_tuned("SwordVar", stream), stream)
    >>> round(ledger.regret(stream.comparators), 1)
    4.1
    """
    if name not in PAPER_SWORDS:
        raise ValueError(
            f"name must be one of {list(PAPER_SWORDS)}, got {arguments.short_repr(name)}."
        )
    tuning = PaperTuning(name, StreamQuantities.of_stream(stream))
    *_, rate = _play_at_fixed_point(tuning, ProgressCounter())
    return tuning.learner(rate)


class TuningConstants(TypedDict):
    """T, G and L as keyword arguments of a tuned learner."""

    horizon: int
    gradient_bound: float
    smoothness: float


class StreamQuantities(NamedTuple):
    """A stream with the constants and quantities that the theorems depend on."""

    stream: PlantedStream
    diameter: float
    """D."""
    gradient_bound: float
    """G."""
    smoothness: float
    """L."""
    rounds: int
    """T, the length of the stream."""
    path_length: float
    """P_T of the stream's comparators."""
    variation: float
    """V_T."""
    comparator_loss: float
    """F_T of the stream's comparators."""

    @staticmethod
    def of_stream(stream: PlantedStream) -> StreamQuantities:
        """The quantities of a stream: D, G, L, T, P_T, V_T and F_T."""
        return StreamQuantities(
            stream=stream,
            diameter=stream.domain.diameter,
            gradient_bound=stream.gradient_bound(stream.domain),
            smoothness=stream.smoothness,
            rounds=len(stream),
            path_length=path_length(stream.comparators),
            variation=float(gradient_variation(stream, stream.domain)),
            comparator_loss=comparator_loss(stream, stream.comparators),
        )

    @property
    def tuning_constants(self) -> TuningConstants:
        """T, G and L as keyword arguments of a tuned learner."""
        return {
            "horizon": self.rounds,
            "gradient_bound": self.gradient_bound,
            "smoothness": self.smoothness,
        }


def evaluate(
    bound: Callable[..., float], quantities: StreamQuantities, **extra_arguments: Any
) -> float:
    """Evaluate a bound, or a rate of the paper, for a stream.

    Parameters
    ----------
    bound
        A function of keyword arguments.
    quantities
        The stream. Its quantities are passed as the arguments of the same names, T as ``horizon``.
    extra_arguments
        Further arguments, passed if the function has a parameter of that name.
    """
    available_arguments = quantities._asdict() | {"horizon": quantities.rounds} | extra_arguments
    parameters = inspect.signature(bound).parameters
    return bound(
        **{name: value for name, value in available_arguments.items() if name in parameters}
    )


class ProgressCounter:
    """Counts the rounds of many runs and reports the progress now and then.

    Parameters
    ----------
    report
        The function to call, or None.
    planned_rounds
        Largest number of rounds of all runs together.
    """

    def __init__(self, report: Progress | None = None, planned_rounds: int = 0) -> None:
        self.label = ""
        """Label of the game being played."""
        self._report = report
        self._planned_rounds = planned_rounds
        self._begun_rounds = 0

    def progress_of_run(self, rounds: int) -> Callable[[int], None] | None:
        """Return the argument ``progress`` of ``play`` for the next run, of that many rounds."""
        if self._report is None:
            return None
        report, rounds_before, reported_round = self._report, self._begun_rounds, 0
        self._begun_rounds += rounds

        def report_round(round_number: int) -> None:
            nonlocal reported_round
            # The engine calls every few thousand rounds, the Python loop after each round.
            if round_number - reported_round >= ROUNDS_PER_REPORT or round_number == rounds:
                reported_round = round_number
                report(rounds_before + round_number, self._planned_rounds, self.label)

        return report_round

    def cancel(self, rounds: int) -> None:
        """Subtract planned rounds that are not needed."""
        self._planned_rounds -= rounds


PAPER_SWORDS: dict[str, tuple[type[PaperSword], Callable[..., float]]] = {
    "SwordVar": (SwordVar, rates.paper_variation),
    "SwordSmall": (SwordSmall, rates.paper_small_loss),
    "SwordBest": (SwordBest, rates.paper_best),
}
"""Class and fixed rate of each of the paper's learners, by name."""


class PaperTuning:
    """One of the paper's learners with the paper's pools and rate, for one game."""

    def __init__(self, name: str, quantities: StreamQuantities) -> None:
        self.quantities = quantities
        self._learner_class, self._rate_formula = PAPER_SWORDS[name]
        constants = quantities.tuning_constants
        variation_pool = pools.variation(diameter=quantities.diameter, **constants)
        small_loss_pool = pools.small_loss(diameter=quantities.diameter, **constants)
        self._options: dict[str, Any]
        if name == "SwordVar":
            self._options, self._expert_count = {"pool": variation_pool}, len(variation_pool)
        elif name == "SwordSmall":
            self._options, self._expert_count = {"pool": small_loss_pool}, len(small_loss_pool)
        else:
            self._options = {
                "variation_pool": variation_pool,
                "small_loss_pool": small_loss_pool,
                "optimism_rate": OPTIMISM_RATE,
            }
            self._expert_count = len(variation_pool) + len(small_loss_pool)

    def rate(self, squared_gradients: float) -> float:
        """The paper's rate for a run with this sum of squared gradients, Fbar_T."""
        return evaluate(
            self._rate_formula,
            self.quantities,
            experts=self._expert_count,
            squared_gradients=squared_gradients,
        )

    def learner(self, rate: float) -> PaperSword:
        """A new learner with the paper's pools and this fixed rate."""
        options = {
            **self.quantities.tuning_constants,
            **self._options,
            "learning_rate": rates.Fixed(rate),
        }
        return self._learner_class(self.quantities.stream.domain, **options)


def _play_at_fixed_point(
    tuning: PaperTuning, counter: ProgressCounter
) -> tuple[PaperSword, Ledger, float]:
    """Repeat a run until its rate is the paper's rate for its own squared gradients.

    Returns the learner and ledger of the last run, and its rate.
    """
    stream, rounds = tuning.quantities.stream, tuning.quantities.rounds
    next_rate = tuning.rate(tuning.quantities.gradient_bound**2 * rounds)  # G^2 T bounds Fbar_T
    for runs_left in reversed(range(MAX_RUNS)):  # noqa: B007
        rate = next_rate
        learner = tuning.learner(rate)
        ledger = play(learner, stream, keep={"decisions"}, progress=counter.progress_of_run(rounds))
        next_rate = tuning.rate(squared_gradients(stream, ledger.decisions))
        if math.isclose(next_rate, rate, rel_tol=RATE_TOLERANCE):
            break
    counter.cancel(runs_left * rounds)
    return learner, ledger, rate


Participant = PaperSword | Sword | SwordPlusPlus | Ader | OGD | OEGD | SAOL | CBCE | SACS


class Entry(NamedTuple):
    """A learner of the experiment with its tuning and its theorem."""

    learner: str
    """Name of the learner's class."""
    tuning: Tuning
    play: Callable[[StreamQuantities, ProgressCounter], tuple[Participant, Ledger]]
    """Plays a game; returns the learner and the ledger."""
    bound: Callable[[StreamQuantities, int], float] | None
    """Bound of the theorem in a game with N experts; None if there is no theorem."""
    max_runs: int = 1
    """Largest number of runs of one game."""
    max_horizon: int | None = None
    """Largest T that it plays, if longer games would take minutes."""
    has_certificate: bool = True
    """Whether the learner has a method ``certificate``."""


def _paper_entry(name: SwordName, bound: Callable[..., float]) -> Entry:
    """An entry with the paper's pools and rate."""

    def play_paper(
        quantities: StreamQuantities, counter: ProgressCounter
    ) -> tuple[Participant, Ledger]:
        learner, ledger, _ = _play_at_fixed_point(PaperTuning(name, quantities), counter)
        return learner, ledger

    return Entry(
        name, "paper", play_paper, _as_function_of_stream(bound, tuning="paper"), max_runs=MAX_RUNS
    )


def _entry(
    make_learner: Callable[[StreamQuantities], Participant],
    learner_class: type[Participant],
    tuning: Tuning,
    bound: Callable[[StreamQuantities, int], float] | None,
    **options: Any,
) -> Entry:
    """An entry that plays each game once; ``options`` are further fields of :class:`Entry`."""

    def play_once(
        quantities: StreamQuantities, counter: ProgressCounter
    ) -> tuple[Participant, Ledger]:
        learner = make_learner(quantities)
        return learner, play(
            learner, quantities.stream, keep=(), progress=counter.progress_of_run(quantities.rounds)
        )

    return Entry(learner_class.__name__, tuning, play_once, bound, **options)


def _tuned_entry(
    learner_class: type[SwordVar | SwordSmall | SwordBest | SwordPlusPlus],
    bound: Callable[..., float],
) -> Entry:
    """An entry with the default pools and rates, given T, G and L."""
    return _entry(
        lambda quantities: learner_class(quantities.stream.domain, **quantities.tuning_constants),
        learner_class,
        "self-confident",
        _as_function_of_stream(bound),
    )


def _strongly_adaptive_entry(
    learner_class: type[SAOL | CBCE | SACS], bound: Callable[..., float]
) -> Entry:
    """An entry of a strongly adaptive learner, given G.

    Its bound holds on every interval against a constant comparator. The comparators of an instance
    are constant in each half, so the bounds of the two halves are added.
    """

    def bound_of_halves(quantities: StreamQuantities, experts: int) -> float:
        T, half = quantities.rounds, (quantities.rounds + 1) // 2
        return sum(
            evaluate(bound, quantities, first=first, last=last)
            for first, last in ((1, half), (half + 1, T))
        )

    return _entry(
        lambda quantities: learner_class(
            quantities.stream.domain, gradient_bound=quantities.gradient_bound
        ),
        learner_class,
        "baseline",
        bound_of_halves,
        max_horizon=MAX_STRONGLY_ADAPTIVE_HORIZON,
        has_certificate=False,
    )


def _as_function_of_stream(
    bound: Callable[..., float],
    step_size: Callable[[StreamQuantities], float] | None = None,
    **extra_arguments: Any,
) -> Callable[[StreamQuantities, int], float]:
    """The bound as a function of a stream's quantities and a number of experts.

    Warnings about the paper's claim are not shown.
    """

    def bound_for_stream(quantities: StreamQuantities, experts: int) -> float:
        options = (
            extra_arguments
            if step_size is None
            else extra_arguments | {"step_size": step_size(quantities)}
        )
        with warnings.catch_warnings():
            # Row.assumes_optimism_claim marks such bounds in the table.
            warnings.filterwarnings("ignore", message=".*learned optimism")
            return evaluate(bound, quantities, experts=experts, **options)

    return bound_for_stream


def _oegd_step_size(quantities: StreamQuantities) -> float:
    """1/(4L), the longest step of the paper's theorem on OEGD."""
    return 1 / (4 * quantities.smoothness)


def _ogd_step_size(quantities: StreamQuantities) -> float:
    """D/(G sqrt T), the textbook step of OGD (Zinkevich 2003)."""
    return quantities.diameter / (quantities.gradient_bound * math.sqrt(quantities.rounds))


ENTRIES: tuple[Entry, ...] = (
    _paper_entry("SwordVar", bounds.sword_var),
    _paper_entry("SwordSmall", bounds.sword_small),
    _paper_entry("SwordBest", bounds.sword_best),
    _tuned_entry(SwordVar, bounds.sword_var),
    _tuned_entry(SwordSmall, bounds.sword_small),
    _tuned_entry(SwordBest, bounds.sword_best),
    _tuned_entry(SwordPlusPlus, bounds.sword_plus_plus),
    _entry(lambda quantities: Sword(quantities.stream.domain), Sword, "none", None),
    _entry(
        lambda quantities: Ader(
            quantities.stream.domain,
            horizon=quantities.rounds,
            gradient_bound=quantities.gradient_bound,
        ),
        Ader,
        "baseline",
        _as_function_of_stream(bounds.ader),
    ),
    _strongly_adaptive_entry(SAOL, bounds.saol),
    _strongly_adaptive_entry(CBCE, bounds.cbce),
    _strongly_adaptive_entry(SACS, bounds.sacs),
    _entry(
        lambda quantities: OEGD(quantities.stream.domain, _oegd_step_size(quantities)),
        OEGD,
        "baseline",
        _as_function_of_stream(bounds.oegd, _oegd_step_size),
    ),
    _entry(
        lambda quantities: OGD(quantities.stream.domain, _ogd_step_size(quantities)),
        OGD,
        "baseline",
        _as_function_of_stream(bounds.ogd, _ogd_step_size),
    ),
)
"""The learners of the experiment, in the order of the table."""


def _entries(horizon: int) -> list[Entry]:
    """The entries that play games of a horizon."""
    return [entry for entry in ENTRIES if entry.max_horizon is None or horizon <= entry.max_horizon]


def _rows(
    instance: str, horizon: int, quantities: StreamQuantities, counter: ProgressCounter
) -> Iterator[Row]:
    """The rows of all entries in one game."""
    for entry in _entries(horizon):
        counter.label = f"{entry.learner}, {instance}, T = {horizon:,}"
        learner, ledger = entry.play(quantities, counter)
        experts = len(learner.step_sizes)
        yield Row(
            instance=instance,
            learner=entry.learner,
            tuning=entry.tuning,
            horizon=horizon,
            rounds=ledger.rounds,
            experts=experts,
            regret=ledger.regret(quantities.stream.comparators),
            bound=None if entry.bound is None else entry.bound(quantities, experts),
            certificate=learner.certificate(quantities.path_length)
            if entry.has_certificate
            else None,
        )
