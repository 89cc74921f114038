"""The record of a game."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from swordplay.regret.quantities import comparator_loss
from swordplay.types import Loss, Matrix, Vector


class Ledger:
    r"""What happened in a game, one line a round.

    Attributes
    ----------
    rounds
        T, how many were played.
    total_loss
        :math:`F^x_T = \sum_t f_t(x_t)`.
    losses
        f_t(x_t), shape ``(T,)``, or None if they were not kept.
    decisions
        x_t, shape ``(T, d)``, or None if they were not kept.
    weights
        p_t of each round, or None if they were not kept; their number may grow.
    """

    def __init__(
        self,
        rounds: int,
        total_loss: float,
        losses: Vector | None,
        decisions: Matrix | None,
        weights: Sequence[Vector] | None,
        stream: Iterable[Loss],
    ) -> None:
        self.rounds = rounds
        self.total_loss = total_loss
        self.losses = losses
        self.decisions = decisions
        self.weights = weights
        # An iterator is spent once it was played: only what can be looped over again can answer for comparators.
        self._stream = None if isinstance(stream, Iterator) else stream

    def __repr__(self) -> str:
        return f"Ledger(rounds={self.rounds}, total_loss={self.total_loss:.6g})"

    @property
    def stream(self) -> Iterable[Loss]:
        """The stream that was played, where it can be looped over again."""
        if self._stream is None:
            raise ValueError(
                "the stream was an iterator and is spent. Play list(stream), or compute the comparators' loss yourself."
            )
        return self._stream

    def regret(self, comparators: Any) -> float:
        """Total loss less that of the comparators.

        Parameters
        ----------
        comparators
            u_t, shape ``(T, d)`` for dynamic regret, or one point ``(d,)`` for static regret against it.
        """
        return self.total_loss - comparator_loss(self.stream, comparators, rounds=self.rounds)
