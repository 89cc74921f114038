"""Learners with one step size: the experts on their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Domain, GameConstants, Vector
from swordplay.parts.experts import (
    Constant,
    Experts,
    ExpertState,
    OEGDExperts,
    OGDExperts,
    base_offset,
    has_constant_steps,
)
from swordplay.parts.learners.assumptions import ObservedLoss
from swordplay.parts.learners.certificate import CertificateState, Lengths
from swordplay.parts.learners.learner import CertifiedLearner, frozen, require_measurable
from swordplay.parts.metas import Composition, NullOptimism, uniform
from swordplay.parts.rates import Fixed


class SingleState(NamedTuple):
    """One expert and its certificate."""

    rounds: int
    experts: tuple[ExpertState]
    certificate: CertificateState


class SingleExpert(CertifiedLearner[SingleState]):
    """A learner that is one expert."""

    def __init__(self, domain: Domain, expert: Experts) -> None:
        self._expert = expert
        super().__init__(domain)

    @property
    def parts(self) -> Composition:
        """What this learner is made of."""
        nothing_to_weigh = Fixed(1.0)
        constants = GameConstants(self.domain.diameter)
        return Composition(
            self.domain,
            (self._expert,),
            uniform(1),
            nothing_to_weigh,
            constants,
            NullOptimism(),
            has_meta=False,
        )

    @property
    def step_sizes(self) -> Vector:
        """The one step size, shape ``(1,)``."""
        return frozen(self._expert.step_sizes(self._state.experts[0]))

    def settings(self) -> Mapping[str, Any]:
        """What the learner was made with."""
        steps = self._expert.step_sizes(self._expert.start())
        return {**super().settings(), "step_sizes": steps, "experts": (self._expert,)}

    @property
    def _constant_steps(self) -> Any:
        return has_constant_steps(self._expert)

    def _start(self) -> SingleState:
        return SingleState(0, (self._expert.start(),), CertificateState.at_start(experts=1))

    def _advance(self, now: SingleState, loss: ObservedLoss) -> SingleState:
        expert, move = self._expert.step(now.experts[0], loss.gradient)
        require_measurable([expert], loss)
        lengths = Lengths.of(
            base_offset(now.experts[0], self.domain), base_offset(expert, self.domain)
        )
        sums = now.certificate.with_round(np.zeros(1), move, lengths)
        return SingleState(now.rounds + 1, (expert,), sums)

    def _decide(self, now: SingleState) -> Vector:
        return np.array(now.experts[0].points[0])


@final
class OGD(SingleExpert):
    """Online gradient descent with a step size that you choose.

    Parameters
    ----------
    domain
        Where decisions live.
    step_size
        How far to go along the negative gradient, greater than 0.
    """

    def __init__(self, domain: Domain, step_size: float) -> None:
        steps = Constant([arguments.positive("step_size", step_size)])
        super().__init__(domain, OGDExperts(arguments.domain(domain), steps))


@final
class OEGD(SingleExpert):
    """Online extra-gradient descent with a step size that you choose.

    Parameters
    ----------
    domain
        Where decisions live.
    step_size
        How far to go along the negative gradient, greater than 0.
    """

    def __init__(self, domain: Domain, step_size: float) -> None:
        steps = Constant([arguments.positive("step_size", step_size)])
        super().__init__(domain, OEGDExperts(arguments.domain(domain), steps))
