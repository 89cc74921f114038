"""Sword with nothing to set: the one to use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Domain, Gradient, Setting, Vector
from swordplay.parts import rates
from swordplay.parts.experts import (
    AdaGradNorm,
    Experts,
    Gauge,
    GaugedSteps,
    OEGDExperts,
    OGDExperts,
    from_center,
)
from swordplay.parts.experts.step_sizes import caution
from swordplay.parts.learners import certificate, sanity
from swordplay.parts.learners.assumptions import smoothness_of
from swordplay.parts.learners.ensemble import Ensemble, EnsembleState
from swordplay.parts.metas import LearnedOptimism, Meta, OptimisticHedge, telescoping_with_tail
from swordplay.parts.metas.meta import chosen

FLOOR = 1e-4
"""Of the rate: leaders that differ by less than this, relative to the largest surprise, are as
good as tied.
"""

MOST_MULTIPLIERS = 32
"""More than 4^31 rounds cannot be played; a saved state with more experts is damaged."""


@final
class Sword(Ensemble):
    r"""Track any moving target, given only where decisions live.

    Both kinds of experts of Sword_best, with steps that measure the gradients themselves
    (:math:`\eta = c \hat D / \sqrt{\sum q_s}`), a rate that all but follows the leader until the
    losses say otherwise, and optimism that follows the better of its two guesses. A pool that has
    become too short for the rounds played forks its fastest expert and doubles the copy's
    multiplier c.

    The domain may be far too large: the first expert of each kind never steps farther than the
    smoothness of the losses allows, and :math:`\hat D` is the diameter of the domain or twice as
    far as such an expert has been, whichever is less
    (:class:`~swordplay.parts.experts.GaugedSteps`). Losses that do not know their smoothness go
    without this protection.

    No decision changes when all losses are multiplied by one number, or when the domain and the
    losses are moved together. :meth:`certificate` is its guarantee.

    Parameters
    ----------
    domain
        Where decisions live.
    meta
        What weighs the experts, such as ``sp.metas.Squint()``; an optimistic Hedge that all but
        follows the leader unless given.

    Examples
    --------
    >>> from swordplay import Ball, SquaredLoss
    >>> learner = Sword(Ball(dim=1))
    >>> for _ in range(50):
    ...     learner.observe(SquaredLoss([1.0], target=0.5))
    >>> round(float(learner.decision[0]), 3)
    0.5
    """

    grows = True
    capped = True

    def __init__(self, domain: Domain, *, meta: Meta | None = None) -> None:
        steps = AdaGradNorm(arguments.domain(domain).diameter)
        super().__init__(
            domain,
            experts=[OEGDExperts(domain, steps), OGDExperts(domain, steps)],
            prior=_prior(1),
            hedge=chosen(
                meta,
                None,
                OptimisticHedge(
                    rates.SelfConfident(offset=0.0, floor=FLOOR), Setting(domain.diameter)
                ),
            ),
            optimism=LearnedOptimism(math.inf),
        )

    def settings(self) -> Mapping[str, Any]:
        """What the learner was made with.

        Its pool is told by nobody: which experts there are stands in the state.
        """
        return {**super().settings(), "step_sizes": self._concatenated_steps(self._begun(()))}

    def _start(self) -> EnsembleState:
        fresh = self._begun(Gauge(caution=caution(self.domain.dim)))
        sums = certificate.start(
            len(fresh.certificate.drift), self.domain.dim if self.headed else None
        )
        return fresh._replace(certificate=sums)

    @property
    def headed(self) -> bool:
        """Whether the certificate keeps S of every expert."""
        return self.domain.dim <= certificate.WIDEST

    def _begun(self, gauge: Gauge | tuple[()]) -> EnsembleState:
        """Before the first round.

        Without a gauge nobody is capped, as before there were capped experts.

        Who is capped is not alone: an expert that may step farther takes its own first step beside
        it.
        """
        fresh = super()._start()._replace(gauge=gauge)
        return self._forked(fresh) if gauge else fresh

    def _kinds(self, state_: EnsembleState, gauge: Gauge | tuple[()]) -> tuple[Experts, ...]:
        """Extra-gradient experts step as they looked ahead, by what was known before.

        Then everybody by what is known now.
        """
        before = state_.gauge
        if not (isinstance(before, Gauge) and isinstance(gauge, Gauge)):
            return self._experts
        X, D = self.domain, self.domain.diameter
        patient = GaugedSteps(D, gauge, gauge.average(state_.rounds))
        return OEGDExperts(
            X, GaugedSteps(D, before, before.rho), GaugedSteps(D, gauge, gauge.rho)
        ), OGDExperts(X, patient)

    def _measured(
        self, state_: EnsembleState, gradient: Gradient, observed: Vector
    ) -> Gauge | tuple[()]:
        gauge = state_.gauge
        if not isinstance(gauge, Gauge):
            return gauge
        farthest = np.linalg.norm(from_center(state_.experts[1], self.domain)[0])
        return gauge.after(
            smoothness_of(gradient), float(np.linalg.norm(observed)), float(farthest)
        )

    def _require_sane(self, new: EnsembleState) -> None:
        super()._require_sane(new)
        if isinstance(new.gauge, Gauge):
            sanity.require_gauge(
                new.gauge,
                np.concatenate([kind.energy for kind in new.experts]),
                self.domain.diameter,
            )

    def _grow(self, state_: EnsembleState) -> EnsembleState:
        """Fork while the fastest multiplier is too slow for a comparator that moved in every
        round.
        """
        # The best multiplier is of order sqrt(1 + 2 P_T / D), and P_T <= D t.
        enough = 1 + 2 * state_.rounds <= 4 ** (len(state_.experts[0].points) - 1)
        return state_ if enough else self._grow(self._forked(state_))

    def _forked(self, state_: EnsembleState) -> EnsembleState:
        """With a copy of the fastest expert of each kind, whose multiplier is doubled."""
        experts = len(state_.experts[0].points)
        kind = np.append(np.arange(experts), experts - 1)
        parents = np.concatenate([kind, experts + kind])
        kinds = self._kinds(state_, state_.gauge)
        return state_._replace(
            experts=tuple(kind.fork(was) for kind, was in zip(kinds, state_.experts, strict=True)),
            hedge=self._hedge.fork(state_.hedge, parents, _prior(experts + 1)),
            certificate=certificate.fork(state_.certificate, parents),
        )

    def _template(self, saved: Mapping[str, Any]) -> EnsembleState:
        """Saved after more rounds than this learner played, a state has more experts.

        One of before has no gauge or no S.
        """
        wanted = min(np.size(saved.get("hedge.weights", ())), 2 * MOST_MULTIPLIERS)
        gauge = Gauge(**{name: 1.0 for name in ("patience", "caution") if f"gauge.{name}" in saved})
        state_ = self._begun(gauge if "gauge.span" in saved else ())
        sums = certificate.as_saved(len(state_.certificate.drift), self.domain.dim, saved)
        state_ = state_._replace(certificate=sums)
        while len(state_.hedge.weights) < wanted:
            rounds = (4 ** (len(state_.experts[0].points) - 1) + 1) // 2
            state_ = self._grow(state_._replace(rounds=rounds))
        return state_


def _prior(experts: int) -> Vector:
    """Half for each kind, small multipliers first."""
    return np.tile(telescoping_with_tail(experts) / 2, 2)
