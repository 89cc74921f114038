"""The model as it was when answers began to come late: it learns nothing more, and has its share in what is predicted.

Whoever trains once and deploys has such a model. Where the world has moved on by the time an answer arrives, learning from it
may be worse than that; so the two are mixed, by what each of them said when the rows were asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from swordplay.base import nested
from swordplay.base.state import ROWS, Range, require
from swordplay.base.types import Matrix, State
from swordplay.estimators.asked import Askable
from swordplay.late import kinds
from swordplay.late.blocks import Kept

FEWEST = 1_000
"""Answers that a model has learned before it is worth keeping as it is."""
LEAST = 0.001
"""Share of the say below which it is let go."""
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
        r"""Of the say: :math:`1 / (1 + \exp(-\eta\, lead))` with :math:`\eta = \sqrt{2 \ln 2 / energy}`; a half at first."""
        if not self.energy:
            return 0.5
        power = self.lead * math.sqrt(2.0 * math.log(2.0) / self.energy)
        return 1.0 / (1.0 + math.exp(-max(-MOST_POWER, min(power, MOST_POWER))))

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
        if not self.asks.of_classes:
            return (1.0 - self.share) * own + self.share * frozen
        logs = (1.0 - self.share) * np.log(np.maximum(own, TINY)) + self.share * np.log(np.maximum(frozen, TINY))
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def judge(self, kept: Kept, truth: Any, late: float) -> None:
        """Weigh anew by an answer: by squared errors, of numbers or of the probabilities of all labels."""
        if kept.sides is None:
            return
        chances = kept.ticket.probabilities
        if chances is None:
            own, frozen = ((kept.sides[:, 0] - truth) ** 2).tolist()
        elif truth not in chances:
            return
        else:
            errors = kept.sides.copy()
            errors[:, list(chances).index(truth)] -= 1.0
            own, frozen = (errors**2).sum(axis=1).tolist()
        self.lead = float(np.clip(self.lead + own - frozen, -SUM, SUM))
        self.energy = min(self.energy + (0.5 + late) * (own - frozen) ** 2, SUM)

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
        for one, truth, rounds in zip(kept, truths, late, strict=True):
            if self.now is None:
                return
            self.now.judge(one, truth, rounds)
            if self.now.share < LEAST:
                self.now = None

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


def _copy(rows: Askable | Mapping[str, Any], kind: str, state: Mapping[str, Any]) -> Askable:
    asks = kinds.askable(kinds.estimator(kind).from_state(state))
    asks.load_state(rows if isinstance(rows, Mapping) else rows.state())
    return asks
