"""The model as it was when answers began to come late: it learns nothing more, and has its share in what is predicted.

Whoever trains once and deploys has such a model. Where the world has moved on by the time an answer arrives, learning from it
may be worse than that; so the two are mixed, by what each of them said when the rows were asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

import numpy as np

from swordplay.base import nested
from swordplay.base.state import ROWS, Range, require
from swordplay.base.types import Matrix, State
from swordplay.estimators.asked import Askable
from swordplay.late import kinds
from swordplay.late.blocks import Kept, runs_of

FEWEST = 1_000
"""Answers that a model has learned before it is worth keeping as it is."""
PRIOR = 0.1
"""Share of the say that the model which goes on learning has at first: learning late has to earn the rest."""
LEAST = 0.001
"""Share of the say below which the frozen one is let go."""
RATE = 2.0 * math.log(1.0 / PRIOR)
"""Numerator of the squared learning rate."""
LET_GO = math.log((1.0 - LEAST) / LEAST * (1.0 - PRIOR) / PRIOR)
"""Minus the exponent at which that happens."""
TINY, MOST_POWER = 1e-15, 500.0
"""Probabilities whose logarithms are taken, and exponents, do not pass these."""
SUM = 1e300
"""Sums over all answers lie below."""


@final
class Anchor:
    """Two say what is predicted: the model, and itself as it was; weighed by exponential weights for late losses.

    Parameters
    ----------
    asks
        The estimator as it was.
    told
        How many answers it had learned.
    lead, energy
        Sum of what the model lost beyond its former self, and of (1/2 + m) times the squares of these, where m answers came
        between ask and answer: so much do exponential weights lose to losses that come late (docs/theory.md).
    """

    def __init__(self, asks: Askable, told: int, lead: float = 0.0, energy: float = 0.0) -> None:
        self.asks, self.told, self.lead, self.energy = asks, told, lead, energy

    @classmethod
    def of(cls, asks: Askable, told: int) -> Anchor:
        """The model as it is now."""
        return cls(_copy(asks, asks.estimator.kind(), asks.estimator.state()), told)

    @property
    def share(self) -> float:
        r"""Of the say: :math:`(1 - p) / (1 - p + p e^{-\eta\, lead})` with p for PRIOR.

        The rate is :math:`\eta = \sqrt{2 \ln(1/p) / energy}`.
        """
        if not self.energy:
            return 1.0 - PRIOR
        power = self.lead * math.sqrt(RATE / self.energy)
        return (1.0 - PRIOR) / (1.0 - PRIOR + PRIOR * math.exp(-max(-MOST_POWER, min(power, MOST_POWER))))

    @property
    def is_over(self) -> bool:
        """Whether its share is below LEAST."""
        return self.lead < 0.0 and self.lead * self.lead * RATE > LET_GO * LET_GO * self.energy

    def say(self, asks: Askable, rows: Sequence[Any], numbers: Matrix, own: Matrix) -> Matrix:
        """What was predicted of rows by the model as it was, beside its ``own`` answers now, shape ``(T, K)``."""
        self.asks.follow(asks)
        found = self.asks.say(rows, self.asks.narrowed(rows, numbers))
        if not asks.of_classes:
            return found
        answer, places = own.copy(), {label: k for k, label in enumerate(asks.labels)}  # it says nothing of labels that joined
        answer[:, [places[label] for label in self.asks.labels]] = found
        return answer

    def mixed(self, own: Matrix, frozen: Matrix) -> Matrix:
        """Both together: the mean of numbers, and of the logarithms of probabilities, as a mean of coefficients would be."""
        share = self.share
        if not self.asks.of_classes:
            return (1.0 - share) * own + share * frozen
        logs = (1.0 - share) * np.log(np.maximum(own, TINY)) + share * np.log(np.maximum(frozen, TINY))
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def judge(self, own: float, frozen: float, late: float) -> None:
        """Weigh anew by an answer: by squared errors of what the model and this one said of its row."""
        off = own - frozen
        self.lead = max(-SUM, min(self.lead + off, SUM))
        self.energy = min(self.energy + (0.5 + late) * off * off, SUM)

    def state(self) -> State:
        """All of it."""
        numbers = {"told": self.told, "lead": self.lead, "energy": self.energy}
        return numbers | nested.put("model", self.asks.estimator.state()) | nested.put("rows", self.asks.state())

    @classmethod
    def of_state(cls, saved: Mapping[str, Any], like: Askable) -> Anchor:
        """What was saved, checked; the former self of the estimator ``like``."""
        require("anchor.told", saved["told"], ROWS)
        require("anchor.lead", saved["lead"], Range(-SUM, SUM))
        require("anchor.energy", saved["energy"], Range(0.0, SUM))
        asks = _copy(nested.take("rows", saved), like.estimator.kind(), nested.take("model", saved))
        if not set(asks.labels) <= set(like.labels):
            raise ValueError("the model as it was knows labels that it does not know now.")
        return cls(asks, int(saved["told"]), float(saved["lead"]), float(saved["energy"]))


@final
class Anchors:
    """The former self of a model, from the first answer that comes late until it has nothing to say any more.

    Parameters
    ----------
    now
        The one that there is.
    taken
        Whether there is one, or was.
    """

    def __init__(self, now: Anchor | None = None, taken: bool = False) -> None:
        self.now, self.taken = now, taken

    def begins(self, late: Sequence[int], told: int) -> int:
        """Which of the next answers is the first that comes late to a model that has learned enough; 0 also for none."""
        found = (k for k, rounds in enumerate(late) if rounds and told + k >= FEWEST)
        return 0 if self.taken else next(found, 0)

    def judge(self, asks: Askable, kept: Sequence[Kept], truths: Sequence[Any], late: Sequence[int], told: int) -> None:
        """Weigh by answers that are learned next; the first one that is late makes an anchor of the model as it is.

        Parameters
        ----------
        asks
            The model.
        kept, truths, late
            Tickets, their answers, and how many answers came between.
        told
            How many answers there were before.
        """
        if not self.taken and late[0] and told >= FEWEST:
            self.now, self.taken = Anchor.of(asks, told), True
        if self.now is None:
            return
        for (own, frozen), rounds in zip(_errors(kept, truths), late, strict=True):
            self.now.judge(own, frozen, rounds)
            if self.now.is_over:
                self.now = None
                return

    def lines(self) -> list[str]:
        """What there is to say, for people."""
        if self.now is None:
            return []
        return [f"  frozen      itself as of answer {self.now.told:,} has {100 * self.now.share:.0f} % of the say"]

    def state(self) -> State:
        """All of it."""
        return {"anchored": self.taken} | ({} if self.now is None else nested.put("anchor", self.now.state()))

    @classmethod
    def of_state(cls, saved: Mapping[str, Any], like: Askable) -> Anchors:
        """What was saved, checked; files of before there were anchors have none."""
        anchor = nested.take("anchor", saved)
        return cls(Anchor.of_state(anchor, like) if anchor else None, bool(saved.get("anchored", False)))


def _errors(kept: Sequence[Kept], truths: Sequence[Any]) -> Iterator[tuple[float, float]]:
    """Squared errors of what the model and its former self said, of numbers or of the probabilities of all labels.

    The same of both where there was no former self, or nobody knew the label.
    """
    for run in runs_of(kept):
        sides, told = run.block.sides, truths[run.first : run.last]
        if sides is None:
            yield from [(0.0, 0.0)] * len(told)
        elif kept[run.first].ticket.probabilities is None:
            off = sides[run.places, :, 0] - np.array(told)[:, None]
            yield from (off * off).tolist()
        else:
            for one, truth in zip(kept[run.first : run.last], told, strict=True):
                yield _label_errors(one, truth)


def _label_errors(one: Kept, truth: Any) -> tuple[float, float]:
    chances, sides = one.ticket.probabilities, one.sides
    if chances is None or sides is None or truth not in chances:
        return 0.0, 0.0
    off = sides.copy()
    off[:, list(chances).index(truth)] -= 1.0
    own, frozen = (off * off).sum(axis=1).tolist()
    return own, frozen


def _copy(rows: Askable | Mapping[str, Any], kind: str, state: Mapping[str, Any]) -> Askable:
    asks = kinds.askable(kinds.estimator(kind).from_state(state))
    asks.load_state(rows if isinstance(rows, Mapping) else rows.state())
    return asks
