"""Who takes part in a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np

from swordplay.comparison import baselines, rivals
from swordplay.comparison.estimator import estimator
from swordplay.comparison.field import Contest, ParticipantPredictions
from swordplay.core import arguments
from swordplay.engine import compiled_twin
from swordplay.parts.domains import Ball
from swordplay.parts.learners import (
    OEGD,
    OGD,
    Ader,
    Sword,
    SwordAgeless,
    SwordBest,
    SwordSmall,
    SwordVar,
)

LADDER = tuple(2.0**-k for k in range(-4, 10))
"""Step sizes of the best OGD of hindsight, in units of 1/L."""
Kind = Literal["estimator", "baseline", "rival", "learner"]
"""What ``swordplay track`` runs, what anybody could do, packages from outside, and learners of
the game on a ball.
"""
Learner = OGD | OEGD | Ader | SwordVar | SwordSmall | SwordBest | Sword | SwordAgeless


class Participant(NamedTuple):
    """A learner, or several of which the best counts."""

    name: str
    kind: Kind
    told: str
    """What it had to be told that only hindsight knows; empty if nothing."""
    entries: tuple[Callable[[Contest], ParticipantPredictions], ...]
    """Each plays the field; of several, the one with the least error counts."""
    settings: tuple[str, ...] = ()
    """What tells the entries apart, such as their step size."""


def participants(field: Contest) -> Iterator[Participant]:
    """Yield the estimator, the baselines, models of other packages, and learners of this package.

    Parameters
    ----------
    field
        Where they will play: T, G and L are taken from it for those that must be told.
    """
    horizon, bound, smoothness = len(field.rows), field.gradient_bound, field.smoothness
    yield Participant(field.estimator, "estimator", "", (estimator,))
    yield Participant("no change", "baseline", "", (baselines.no_change,))
    usual = "majority class" if field.classes else "running mean"
    yield Participant(
        usual,
        "baseline",
        "",
        (baselines.majority_class if field.classes else baselines.running_mean,),
    )
    yield Participant("scikit-learn SGD", "rival", "", (rivals.scikit_learn,))
    yield Participant(
        f"river {'logistic' if field.classes else 'linear'}", "rival", "", (rivals.river,)
    )
    yield learner("sp.Sword", "", Sword)
    yield learner("sp.SwordAgeless", "L", lambda X: SwordAgeless(X, smoothness=smoothness))
    yield learner("sp.SwordBest", "T, G, L", _tuned(SwordBest, field))
    yield learner("sp.SwordVar", "T, G, L", _tuned(SwordVar, field))
    yield learner("sp.SwordSmall", "T, G, L", _tuned(SwordSmall, field))
    yield learner("sp.Ader", "T, G", lambda X: Ader(X, horizon=horizon, gradient_bound=bound))
    for kind in (OEGD, OGD):
        steps = [step / smoothness for step in LADDER]
        yield Participant(
            f"best sp.{kind.__name__}",
            "learner",
            "step size",
            tuple(_descent(kind, step) for step in steps),
            tuple(f"{s:.2g}" for s in steps),
        )


def descents(step_sizes: Iterable[float]) -> Iterator[Participant]:
    """OGD with any step sizes, for the scaled rows."""
    for step in step_sizes:
        step = arguments.positive("step_sizes", step)
        yield Participant(f"OGD, step {step:.3g}", "learner", "", (_descent(OGD, step),))


def learner(name: str, told: str, make: Callable[[Ball], Learner]) -> Participant:
    """Return a participant that is a learner of this package, which plays the game on a ball."""
    return Participant(name, "learner", told, (_player(make),))


def _tuned(
    kind: type[SwordVar | SwordSmall | SwordBest], field: Contest
) -> Callable[[Ball], Learner]:
    T, G, L = len(field.rows), field.gradient_bound, field.smoothness
    return lambda domain: kind(domain, horizon=T, gradient_bound=G, smoothness=L)


def _descent(
    kind: type[OGD] | type[OEGD], step: float
) -> Callable[[Contest], ParticipantPredictions]:
    return _player(lambda domain: kind(domain, step))


def _player(make: Callable[[Ball], Learner]) -> Callable[[Contest], ParticipantPredictions]:
    """Lets a fresh learner play every stream of the field."""

    def play(field: Contest) -> ParticipantPredictions:
        columns = []
        for stream in field.streams:
            engine = compiled_twin(make(field.domain), stream.loss)
            columns.append(engine.play(stream.features, stream.targets).predictions)
        return field.said(np.column_stack(columns))

    return play
