"""The repeated game, and the record of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np

from swordplay import arguments
from swordplay.regret.ledger import Ledger
from swordplay.types import Array, Learner, Loss, Vector

Kept = Literal["losses", "decisions", "weights"]
KEEPABLE = ("losses", "decisions", "weights")


class Round(NamedTuple):
    """One round as it was played."""

    number: int
    """t, from 1."""
    decision: Vector
    """x_t, said before the loss was known."""
    loss: Loss
    """f_t."""
    value: float
    """f_t(x_t)."""


def rounds(learner: Learner, stream: Iterable[Loss]) -> Iterator[Round]:
    """Play round by round: decide, be told the loss, learn. Constant memory, for streams without an end.

    A round is yielded after the learner has learned from it.
    """
    for number, loss in enumerate(stream, start=1):
        decision = learner.decision
        value = float(loss.value(decision))
        if not np.isfinite(value):
            raise ValueError(f"loss.value must be finite, got {value} at the decision of round {number}. Check that row.")
        learner.observe(loss)
        yield Round(number, decision, loss, value)


def play(
    learner: Learner,
    stream: Iterable[Loss],
    engine: Literal["auto", "python", "compiled"] = "auto",
    *,
    keep: Collection[Kept] = ("losses", "decisions"),
    max_rounds: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Ledger:
    """Let a learner play a stream, and write down what happened.

    Parameters
    ----------
    learner
        Goes on from where it is: playing two halves is playing the whole.
    stream
        Losses in their order in time: a list, a :class:`LinearStream`, an endless generator.
    engine
        ``"python"`` for the readable loop, ``"compiled"`` for the engine, ``"auto"`` for the engine where it can.
    keep
        What to write down each round, of ``"losses"``, ``"decisions"`` and ``"weights"``; the total is always kept.
        With ``keep=()`` memory does not grow.
    max_rounds
        Stop after so many rounds, for streams without an end.
    progress
        Called after every round with its number.

    Examples
    --------
    >>> import swordplay as sp
    >>> stream = sp.streams.paper.alternating(100)
    >>> ledger = sp.play(sp.Sword(stream.domain), stream)
    >>> round(ledger.regret(stream.comparators), 2)
    2.53
    """
    if unknown := sorted(set(keep) - set(KEEPABLE)):
        raise ValueError(f"keep must be among {list(KEEPABLE)}, got {unknown}.")
    if engine not in ("auto", "python", "compiled"):
        raise ValueError(f"engine must be 'auto', 'python' or 'compiled', got {arguments.shown(engine)}.")
    limit = None if max_rounds is None else arguments.whole("max_rounds", max_rounds)
    return _readable(learner, stream, keep, limit, progress)


def _readable(
    learner: Learner,
    stream: Iterable[Loss],
    keep: Collection[Kept],
    limit: int | None,
    progress: Callable[[int], None] | None,
) -> Ledger:
    total, count = 0.0, 0
    losses: list[float] = []
    decisions: list[Vector] = []
    weights: list[Vector] = []
    for number, decision, _, value in rounds(learner, islice(stream, limit)):
        total, count = total + value, number
        if "losses" in keep:
            losses.append(value)
        if "decisions" in keep:
            decisions.append(decision)
        if "weights" in keep:
            weights.append(learner.weights)  # type: ignore[attr-defined]  # because only meta-experts have them
        if progress is not None:
            progress(number)
    return Ledger(
        rounds=count,
        total_loss=total,
        losses=np.array(losses) if "losses" in keep else None,
        decisions=_table(decisions, len(learner.decision)) if "decisions" in keep else None,
        weights=weights if "weights" in keep else None,
        stream=stream,
    )


def _table(rows: list[Vector], width: int) -> Array:
    return np.array(rows) if rows else np.empty((0, width))
