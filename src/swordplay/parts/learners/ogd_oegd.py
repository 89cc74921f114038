"""Learners that are one expert with one step size: OGD, OEGD and OptimisticOGD."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.state import OBSERVED_ROUNDS_RANGE
from swordplay.core.types import Domain, GameConstants, Vector
from swordplay.parts.experts import (
    AdaGradNorm,
    Constant,
    Experts,
    ExpertState,
    OEGDExperts,
    OGDExperts,
    OptimisticExperts,
    base_offset,
    has_constant_steps,
)
from swordplay.parts.learners.assumptions import ObservedLoss
from swordplay.parts.learners.certificate import CertificateState, Displacement
from swordplay.parts.learners.learner import CertifiedLearner, read_only, refuse_underflow
from swordplay.parts.metas import Composition, NullOptimism, uniform
from swordplay.parts.rates import Fixed


class SingleState(NamedTuple):
    """State of one expert between two rounds, and the sums of its certificate."""

    rounds: Annotated[int, OBSERVED_ROUNDS_RANGE]
    experts: tuple[ExpertState]
    certificate: CertificateState


class SingleExpert(CertifiedLearner[SingleState]):
    """Base class of learners that play the point of a single expert, without a meta.

    Parameters
    ----------
    domain
        X, the set of decisions.
    expert
        A pool with one step size.
    """

    def __init__(self, domain: Domain, expert: Experts) -> None:
        self._expert = expert
        super().__init__(domain)

    def _advance(self, state: SingleState, loss: ObservedLoss) -> SingleState:
        expert, expert_step = self._expert.step(state.experts[0], loss.gradient)
        refuse_underflow([expert], loss)
        displacement = Displacement.of(
            base_offset(state.experts[0], self.domain), base_offset(expert, self.domain)
        )
        certificate = state.certificate.with_round(
            np.zeros(1),  # <g_t, x_t - x_{t,1}>: the decision is the expert's point
            expert_step,
            displacement,
        )
        return SingleState(state.rounds + 1, (expert,), certificate)

    def _decide(self, state: SingleState) -> Vector:
        return np.array(state.experts[0].points[0])

    @property
    def parts(self) -> Composition:
        """The parts of this learner; those of a meta, which it does not have, are placeholders."""
        return Composition(
            self.domain,
            (self._expert,),
            uniform(1),
            Fixed(1.0),
            GameConstants(self.domain.diameter),
            NullOptimism(),
            has_meta=False,
        )

    @property
    def step_sizes(self) -> Vector:
        """Step size of the coming round, shape ``(1,)``."""
        return read_only(self._expert.step_sizes(self._state.experts[0]))

    def settings(self) -> Mapping[str, Any]:
        """Return the settings that are saved with a state and compared when it is loaded."""
        steps = self._expert.step_sizes(self._expert.start())
        return {**super().settings(), "step_sizes": steps, "experts": (self._expert,)}

    @property
    def _constant_steps(self) -> Any:
        return has_constant_steps(self._expert)

    def _start(self) -> SingleState:
        return SingleState(0, (self._expert.start(),), CertificateState.at_start(experts=1))


@final
class OGD(SingleExpert):
    """Online gradient descent with one constant step size.

    Parameters
    ----------
    domain
        X, the set of decisions.
    step_size
        Factor of the negative gradient in each step, greater than 0.
    """

    def __init__(self, domain: Domain, step_size: float) -> None:
        steps = Constant([arguments.positive("step_size", step_size)])
        super().__init__(domain, OGDExperts(arguments.domain(domain), steps))


@final
class OEGD(SingleExpert):
    """Online extra-gradient descent with one constant step size.

    Parameters
    ----------
    domain
        X, the set of decisions.
    step_size
        Factor of the negative gradient in each step, greater than 0.
    """

    def __init__(self, domain: Domain, step_size: float) -> None:
        steps = Constant([arguments.positive("step_size", step_size)])
        super().__init__(domain, OEGDExperts(arguments.domain(domain), steps))


@final
class OptimisticOGD(SingleExpert):
    r"""Optimistic gradient descent whose step size follows the errors of its predicted gradients.

    .. math:: \hat x_{t+1} = \Pi[\hat x_t - \eta_t g_t], \quad x_{t+1} = \Pi[\hat x_{t+1} -
        \eta_{t+1} M_{t+1}], \quad \eta_{t+1} = \frac{D}{2 \sqrt{\sum_{s \le t} \|g_s - M_s\|^2}}

    :math:`g_t` is the gradient at the decision :math:`x_t`, and the predicted gradient
    :math:`M_{t+1}` is :math:`g_t` unless :meth:`expect` gives another one. The regret is at most
    :math:`\sqrt{E_T} (2.2808 D + 2 P_T)`, :math:`E_T = \sum_t \|g_t - M_t\|^2`:
    ``bounds.optimistic_ogd``.

    Parameters
    ----------
    domain
        X, the set of decisions.

    Examples
    --------
    >>> from swordplay import Ball, SquaredLoss
    >>> learner = OptimisticOGD(Ball(dim=1))
    >>> learner.observe(SquaredLoss([1.0], target=0.5))
    >>> learner.expect([-1.0])  # you know that the next loss has a minimum on the right
    >>> float(learner.decision[0])
    1.0

    References
    ----------
    Rakhlin and Sridharan (2013), "Online learning with predictable sequences"; Jadbabaie et al.
    (2015).
    """

    def __init__(self, domain: Domain) -> None:
        self._optimistic = OptimisticExperts(arguments.domain(domain), AdaGradNorm(domain.diameter))
        super().__init__(domain, self._optimistic)

    def expect(self, gradient: Any) -> None:
        """Set the predicted gradient of the coming round, on which its decision depends.

        Parameters
        ----------
        gradient
            M_{t+1}, shape ``(d,)``, for the coming round only. It has no effect before the first
            gradient that is not 0, as there is no step size yet.
        """
        expected = arguments.vector("gradient", gradient, self.domain.dim)
        if np.abs(expected).max() > arguments.LARGEST_GRADIENT:
            raise ValueError(
                f"gradient must not pass {arguments.LARGEST_GRADIENT:g}: its square overflows. "
                "Rescale the losses."
            )
        state = self._state
        expert = self._optimistic.expect(state.experts[0], expected[None])
        self._replace_state(state._replace(experts=(expert,)), self._loss_extremes)
