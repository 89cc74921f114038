"""Any learner on any domain with one projection a round: its experts live in a ball that holds
the domain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Domain, Loss, Vector
from swordplay.parts.domains import ON_THE_DOMAIN, Ball, enclosing_ball
from swordplay.parts.learners.certificate import Moment
from swordplay.parts.learners.wrapper import Wrapper, stateful


@final
class OneProjection(Wrapper):
    r"""A learner of a ball Y around the domain X, whose decisions are projected and whose gradients
    are bent accordingly.

    .. math:: x_t = \Pi_X[y_t], \qquad \tilde g_t = g_t - [\langle g_t, v_t \rangle < 0] \langle
        g_t, v_t \rangle v_t, \qquad v_t = \frac{y_t - x_t}{\|y_t - x_t\|}

    The learner inside plays the losses :math:`\langle \tilde g_t, y \rangle`, and
    :math:`\langle g_t, x_t - u \rangle \le \langle \tilde g_t, y_t - u \rangle` for every u of X,
    with :math:`\|\tilde g_t\| \le \|g_t\|`: its bound for the ball and its certificate hold here.
    One gradient and one projection on X a round, however many experts; the others are projections
    on a ball, which are scalings.

    Parameters
    ----------
    domain
        X, where decisions live; its projection may be expensive.
    make
        Makes the learner for the ball: ``lambda ball: sp.Ader(ball, horizon=T, gradient_bound=G)``.

    Examples
    --------
    >>> from swordplay import Ader, Simplex, SquaredLoss
    >>> learner = OneProjection(Simplex(3), lambda ball: Ader(ball, horizon=10, gradient_bound=1.0))
    >>> learner.observe(SquaredLoss([1.0, 0.0, 0.0], target=1.0))
    >>> bool(Simplex(3).contains(learner.decision))
    True

    References
    ----------
    Zhao, Xie, Zhang, Zhou (2022), "Efficient methods for non-stationary online learning"; Cutkosky
    (2020).
    """

    def __init__(self, domain: Domain, make: Callable[[Ball], Any]) -> None:
        if not callable(make):
            raise TypeError(
                "make must be a function such as lambda ball: sp.Ader(ball, ...), got "
                f"{arguments.short_repr(make)}."
            )
        super().__init__(arguments.domain(domain), stateful(make(enclosing_ball(domain))))

    def certificate(self, path_length: float, since: Moment | None = None) -> float:
        """An upper bound on the regret against every comparator sequence in X of at most this path
        length.

        ``since`` is a moment that :attr:`moment` gave: then only of the rounds from there on.
        """
        return self.inner.certificate(path_length, since)

    @property
    def moment(self) -> Moment:
        """Now, for a certificate of the rounds to come."""
        return self.inner.moment

    def _decide(self) -> Vector:
        return np.array(self.domain.project(self.inner.decision))

    def _gradient(self, loss: Loss) -> Vector:
        return bent(
            arguments.gradient_of(loss)(self.decision),
            self.inner.decision - self.decision,
            self.domain,
        )


def bent(gradient: Vector, outward: Vector, domain: Domain) -> Vector:
    """A gradient without its part along ``outward`` where following it would lead further away from
    the domain.

    Parameters
    ----------
    gradient
        g, shape ``(d,)``.
    outward
        y - Proj_X(y), shape ``(d,)``.
    domain
        X. What is as near to it as rounding lies in it: such a small difference has no direction.
    """
    size = float(np.linalg.norm(outward))
    if size <= ON_THE_DOMAIN * (domain.diameter + float(np.linalg.norm(domain.center))):
        return gradient
    direction = outward / size
    along = float(gradient @ direction)
    return np.asarray(gradient - along * direction) if along < 0 else gradient
