"""Who takes part in a contest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from swordplay import arguments
from swordplay.contest.field import Field
from swordplay.domains import Ball
from swordplay.engine import twin
from swordplay.estimators.model import LinearModel
from swordplay.learners import OEGD, OGD, Ader, Sword, SwordAgeless, SwordBest, SwordSmall, SwordVar
from swordplay.types import Matrix

LADDER = tuple(2.0**-k for k in range(-4, 10))
"""Step sizes of the best OGD of hindsight, in units of 1/L."""
Learner = OGD | OEGD | Ader | SwordVar | SwordSmall | SwordBest | Sword | SwordAgeless


class Contestant(NamedTuple):
    """A learner, or several of which the best counts."""

    name: str
    told: str
    """What it had to be told that only hindsight knows; empty if nothing."""
    entries: tuple[Callable[[Field], Matrix], ...]
    """Each plays the field and returns scores of shape ``(T, K)``; of several, the one with the least error counts."""
    labels: tuple[str, ...] = ()
    """What tells the entries apart, such as their step size."""


def contestants(field: Field, step_sizes: Iterable[float] = ()) -> Iterator[Contestant]:
    """All learners of the package for a field, and OGD with any step sizes asked for.

    Parameters
    ----------
    field
        Where they will play: T, G and L are taken from it for those that must be told.
    step_sizes
        Of further OGD learners, for the scaled rows.
    """
    horizon, bound, smoothness = len(field.rows), field.gradient_bound, field.smoothness
    yield Contestant(field.estimator, "", (estimator,))
    yield Contestant("Sword", "", (_player(Sword),))
    yield Contestant("SwordAgeless", "L", (_player(lambda X: SwordAgeless(X, smoothness=smoothness)),))
    yield Contestant("SwordBest", "T, G, L", (_tuned(SwordBest, field),))
    yield Contestant("SwordVar", "T, G, L", (_tuned(SwordVar, field),))
    yield Contestant("SwordSmall", "T, G, L", (_tuned(SwordSmall, field),))
    yield Contestant("Ader", "T, G", (_player(lambda X: Ader(X, horizon=horizon, gradient_bound=bound)),))
    for kind in (OEGD, OGD):
        steps = [step / smoothness for step in LADDER]
        yield Contestant(
            f"best {kind.__name__}",
            "step size",
            tuple(_descent(kind, step) for step in steps),
            tuple(f"{s:.2g}" for s in steps),
        )
    for step in step_sizes:
        step = arguments.positive("step_sizes", step)
        yield Contestant(f"OGD, step {step:g}", "", (_descent(OGD, step),))


def _tuned(kind: type[SwordVar] | type[SwordSmall] | type[SwordBest], field: Field) -> Callable[[Field], Matrix]:
    T, G, L = len(field.rows), field.gradient_bound, field.smoothness
    return _player(lambda domain: kind(domain, horizon=T, gradient_bound=G, smoothness=L))


def _descent(kind: type[OGD] | type[OEGD], step: float) -> Callable[[Field], Matrix]:
    return _player(lambda domain: kind(domain, step))


def _player(make: Callable[[Ball], Learner]) -> Callable[[Field], Matrix]:
    """Scores of a fresh learner for every stream of the field."""

    def scores(field: Field) -> Matrix:
        columns = []
        for stream in field.streams:
            engine = twin(make(field.domain), stream.loss)
            columns.append(engine.play(stream.features, stream.targets).predictions)
        return np.column_stack(columns)

    return scores


def estimator(field: Field) -> Matrix:
    """Scores of what ``swordplay track`` runs, on the raw rows."""
    if not field.classes:
        predictions = LinearModel(field.rows.shape[1]).predict_then_learn(field.rows, field.targets)
        predictions[0] = field.targets[0]
        return ((predictions - field.centers) / field.unit)[:, None]
    models = (LinearModel(field.rows.shape[1], loss="logistic") for _ in field.streams)
    return np.column_stack(
        [model.predict_then_learn(field.rows, stream.targets) for model, stream in zip(models, field.streams, strict=True)]
    )
