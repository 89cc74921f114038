"""A frozen copy of a model, made when answers began to come late; predictions mix both.

A model that is trained once and deployed is such a copy. Where the stream has drifted by the time
an answer arrives, learning from it may be worse than not learning. So both predictions are mixed,
as they were when the rows were asked. The share of the model that goes on learning begins at 0 and
follows the slope of the loss of the mixed predictions in that share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from swordplay.core.state import ROW_COUNT, Field, add_prefix, check, strip_prefix
from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.estimators.deferred_rows import DeferredRows
from swordplay.late import kinds
from swordplay.late.blocks import Kept, Run, kept_of

FEWEST = 1_000
"""Answers that a model has learned before it is worth keeping as it is."""
STAKE = 0.25
"""Factor of the share of the model that goes on learning (see docs/theory.md)."""
PRIOR = 0.1
"""Prior weight of the model that goes on learning, when two are compared by exponential weights."""
LEAST = 0.001
"""The frozen model is dropped when exponential weights would give it less than this."""
RATE = 2.0 * math.log(1.0 / PRIOR)
"""Numerator of the squared learning rate of these weights."""
LET_GO = math.log((1.0 - LEAST) / LEAST * (1.0 - PRIOR) / PRIOR)
"""Minus the exponent at which the frozen model is dropped."""
MOST_SQUARE = 50.0
"""Largest exponent in a share."""
SUM = 1e300
"""Sums over all answers lie below."""


@final
class Anchor:
    """Two say what is predicted: the model, and itself as it was.

    Parameters
    ----------
    asks
        The estimator as it was.
    told
        How many answers it had learned.
    lead, energy
        Sum of what the model lost beyond its former self, and of (1/2 + m) times the squares of
        these, where m answers came between ask and answer: so much do exponential weights lose to
        losses that come late (docs/theory.md).
    pull, spread
        Sum of minus half the slopes of the losses in the share of the model, and of (1 + 2 m) times
        their squares.
    """

    def __init__(
        self,
        asks: DeferredRows,
        told: int,
        lead: float = 0.0,
        energy: float = 0.0,
        pull: float = 0.0,
        spread: float = 0.0,
    ) -> None:
        self.asks, self.told, self.lead, self.energy, self.pull, self.spread = (
            asks,
            told,
            lead,
            energy,
            pull,
            spread,
        )

    @classmethod
    def of(cls, asks: DeferredRows, told: int) -> Anchor:
        """The model as it is now."""
        return cls(_copy(asks, asks.estimator.kind(), asks.estimator.state()), told)

    @property
    def share(self) -> float:
        r"""Of the say: :math:`1 - \min(1, \epsilon x e^{x^2/2})` with :math:`x = pull /
        \sqrt{spread}`, all of it below 0.
        """
        if self.pull <= 0.0 or not self.spread:
            return 1.0
        ahead = self.pull / math.sqrt(self.spread)
        return 1.0 - min(1.0, STAKE * ahead * math.exp(min(0.5 * ahead * ahead, MOST_SQUARE)))

    def say(self, asks: DeferredRows, rows: Sequence[Any], numbers: Matrix, own: Matrix) -> Matrix:
        """What was predicted of rows by the model as it was, beside its ``own`` answers now,
        shape ``(T, K)``.
        """
        self.asks.follow(asks)
        found = self.asks.say(rows, self.asks.narrowed(rows, numbers))
        if not asks.of_classes:
            return found
        answer, places = (
            own.copy(),
            {label: k for k, label in enumerate(asks.labels)},
        )  # it says nothing of labels that joined
        answer[:, [places[label] for label in self.asks.labels]] = found
        return answer

    def mixed(self, own: Matrix, frozen: Matrix) -> Matrix:
        """Weighted mean of both predictions; probabilities are normalised."""
        both = (1.0 - self.share) * own + self.share * frozen
        if self.asks.of_classes:
            both = both / both.sum(axis=1, keepdims=True)
        return np.asarray(both)

    def judge(self, judged: Matrix, late: Vector) -> bool:
        """Weigh anew by answers (see :func:`_judged`), one after the other.

        False if it is over with one of them.
        """
        off, slope = judged[:, 0] - judged[:, 1], judged[:, 2]
        lead, energy = _summed(self.lead, off), _summed(self.energy, (0.5 + late) * off * off)
        if ((lead < 0.0) & (lead * lead * RATE > LET_GO * LET_GO * energy)).any():
            return False
        self.lead, self.energy = max(-SUM, min(float(lead[-1]), SUM)), min(float(energy[-1]), SUM)
        pull, spread = (
            _summed(self.pull, slope)[-1],
            _summed(self.spread, (1.0 + 2.0 * late) * slope * slope)[-1],
        )
        self.pull, self.spread = max(-SUM, min(float(pull), SUM)), min(float(spread), SUM)
        return True

    def state(self) -> State:
        """All of it."""
        numbers: State = {
            "told": self.told,
            "lead": self.lead,
            "energy": self.energy,
            "pull": self.pull,
            "spread": self.spread,
        }
        return (
            numbers
            | add_prefix("model", self.asks.estimator.state())
            | add_prefix("rows", self.asks.state())
        )

    @classmethod
    def of_state(cls, saved: Mapping[str, Any], like: DeferredRows) -> Anchor:
        """What was saved, checked; the former self of the estimator ``like``."""
        check("anchor.told", saved["told"], ROW_COUNT)
        check("anchor.lead", saved["lead"], Field(-SUM, SUM))
        check("anchor.energy", saved["energy"], Field(0.0, SUM))
        asks = _copy(
            strip_prefix("rows", saved), like.estimator.kind(), strip_prefix("model", saved)
        )
        if not set(asks.labels) <= set(like.labels):
            raise ValueError("the model as it was knows labels that it does not know now.")
        known = int(saved["told"]), float(saved["lead"]), float(saved["energy"])
        check("anchor.pull", saved["pull"], Field(-SUM, SUM))
        check("anchor.spread", saved["spread"], Field(0.0, SUM))
        return cls(asks, *known, float(saved["pull"]), float(saved["spread"]))


@final
class Anchors:
    """The former self of a model, from the first answer that comes late until it has nothing to say
    any more.

    Parameters
    ----------
    now
        The one that there is.
    taken
        Whether there is one, or was.
    """

    def __init__(self, now: Anchor | None = None, taken: bool = False) -> None:
        self.now, self.taken = now, taken

    def begins(self, late: Vector, told: int) -> int:
        """Which of the next answers is the first that comes late to a model that has learned
        enough; 0 also for none.
        """
        found = (k for k, rounds in enumerate(late.tolist()) if rounds and told + k >= FEWEST)
        return 0 if self.taken else next(found, 0)

    def judge(
        self,
        asks: DeferredRows,
        truths: Sequence[Any],
        late: Vector,
        told: int,
        runs: Sequence[Run],
    ) -> None:
        """Weigh by answers that are learned next.

        The first one that is late makes an anchor of the model as it is.

        Parameters
        ----------
        asks
            The model.
        truths, late
            Answers, and how many others came between.
        told
            How many answers there were before.
        runs
            Their tickets.
        """
        if not self.taken and late[0] and told >= FEWEST:
            self.now, self.taken = Anchor.of(asks, told), True
        if self.now is not None and not self.now.judge(_judged(truths, runs), late):
            self.now = None

    def lines(self) -> list[str]:
        """What there is to say, for people."""
        if self.now is None:
            return []
        return [
            f"  frozen      itself as of answer {self.now.told:,} has {100 * self.now.share:.0f} "
            "% of the say"
        ]

    def state(self) -> State:
        """All of it."""
        return {"anchored": self.taken} | (
            {} if self.now is None else add_prefix("anchor", self.now.state())
        )

    @classmethod
    def of_state(cls, saved: Mapping[str, Any], like: DeferredRows) -> Anchors:
        """What was saved, checked."""
        anchor = strip_prefix("anchor", saved)
        return cls(Anchor.of_state(anchor, like) if anchor else None, bool(saved["anchored"]))


def _summed(before: float, more: Vector) -> Vector:
    """A sum after each of some more terms, added one after the other: so it does not matter how
    many come at a time.
    """
    return np.cumsum(np.concatenate([[before], more]))[1:]


def _judged(truths: Sequence[Any], runs: Sequence[Run]) -> Matrix:
    """Squared errors of what the model and its former self said, and minus half the slope in the
    share of the model.

    Of numbers, or of the probabilities of all labels: with y the truth, p what was predicted, o and
    f what both said, the slope of (y - p)^2 is -2 (y - p) (o - f). All are 0 where there was no
    frozen copy, or the label was unknown.
    """
    judged = np.zeros((len(truths), 3))
    for run in runs:
        sides, told = run.block.sides, truths[run.first : run.last]
        if sides is None:
            continue
        given = run.block.given
        if given is not None or run.block.tickets[0].probabilities is None:
            said = (
                np.array([one.ticket.prediction for one in kept_of([run])])
                if given is None
                else given[run.places, 0]
            )
            both, ys = sides[run.places, :, 0], np.array(told)
            judged[run.first : run.last, :2] = (both - ys[:, None]) ** 2
            judged[run.first : run.last, 2] = (ys - said) * (both[:, 0] - both[:, 1])
        else:
            for k, (one, truth) in enumerate(
                zip(kept_of([run]), told, strict=True), start=run.first
            ):
                judged[k] = _label_judged(one, truth)
    return judged


def _label_judged(one: Kept, truth: Any) -> Array | float:
    chances, sides = one.ticket.probabilities, one.sides
    if chances is None or sides is None or truth not in chances:
        return 0.0
    wanted = np.zeros(len(chances))
    wanted[list(chances).index(truth)] = 1.0
    off = sides - wanted
    slope = (wanted - np.array(list(chances.values()))) @ (sides[0] - sides[1])
    return np.append((off * off).sum(axis=1), slope)


def _copy(
    rows: DeferredRows | Mapping[str, Any], kind: str, state: Mapping[str, Any]
) -> DeferredRows:
    asks = kinds.askable(kinds.estimator(kind).from_state(state))
    asks.load_state(rows if isinstance(rows, Mapping) else rows.state())
    return asks
