"""One optimistic expert with nothing to set, that takes your own guesses of the coming gradient."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Domain
from swordplay.parts.experts import AdaGradNorm, OptimisticExperts
from swordplay.parts.learners.single import SingleExpert


@final
class OptimisticOGD(SingleExpert):
    r"""Optimistic gradient descent with steps that measure how wrong its guesses were.

    .. math:: \hat x_{t+1} = \Pi[\hat x_t - \eta_t g_t], \quad x_{t+1} = \Pi[\hat x_{t+1} -
        \eta_{t+1} M_{t+1}], \quad \eta_{t+1} = \frac{D}{2 \sqrt{\sum_{s \le t} \|g_s - M_s\|^2}}

    The guess is the last gradient unless :meth:`expect` gives another one. Regret at most
    :math:`\sqrt{E_T} (2.2808 D + 2 P_T)`, :math:`E_T = \sum \|g_t - M_t\|^2`:
    ``bounds.optimistic_ogd``; and there is a certificate.

    Parameters
    ----------
    domain
        Where decisions live.

    Examples
    --------
    >>> from swordplay import Ball, SquaredLoss
    >>> learner = OptimisticOGD(Ball(dim=1))
    >>> learner.observe(SquaredLoss([1.0], target=0.5))
    >>> learner.expect([-1.0])  # you know that the next loss will pull to the right
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
        """Say what you think the gradient of the coming round will be; the decision follows.

        Parameters
        ----------
        gradient
            M_{t+1}, shape ``(d,)``. It counts for one round; before the first gradient was met it
            is not used.
        """
        guess = arguments.vector("gradient", gradient, self.domain.dim)
        if np.abs(guess).max() > arguments.LARGEST_GRADIENT:
            raise ValueError(
                f"gradient must not pass {arguments.LARGEST_GRADIENT:g}: its square overflows. "
                "Rescale the losses."
            )
        current = self._state
        expert = self._optimistic.expect(current.experts[0], guess[None])
        self._replace_state(current._replace(experts=(expert,)), self._seen)
