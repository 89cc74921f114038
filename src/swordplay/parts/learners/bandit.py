"""Learning from values alone: no gradient is ever asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import checked
from swordplay.core.types import Domain, Loss, Vector
from swordplay.parts.domains import Shrunken, inner_radius
from swordplay.parts.learners.ader import Ader
from swordplay.parts.learners.wrapper import Wrapper


@final
class PBGD(Wrapper):
    r"""Parameter-free bandit gradient descent: Ader on gradients that are estimated from one or two
    values.

    With a random direction s of length 1 in each round, d coordinates and experts on the domain
    shrunken by :math:`\delta/r`, r the radius of a ball inside it:

    .. math:: x_t = y_t + \delta s_t, \qquad \tilde g_t = \frac{d}{\delta} f_t(y_t + \delta s_t)\,
        s_t \quad\text{or}\quad \tilde g_t = \frac{d}{2\delta} \big(f_t(y_t + \delta s_t) - f_t(y_t
        - \delta s_t)\big)\, s_t

    Expected dynamic regret of order :math:`T^{3/4} (1 + P_T)^{1/2}` from one value a round and
    :math:`\sqrt{T (1 + P_T)}` from two.

    Parameters
    ----------
    domain
        Where decisions live. It must have an inside: a simplex, which is flat, will not do.
    horizon
        T, how many rounds will be played.
    gradient_bound
        G, no gradient on the domain is longer.
    value_bound
        C, no value on the domain is larger in magnitude; needed for one point only.
    points
        1 or 2 values a round.
    inner_radius
        r; known for balls and boxes.
    step
        :math:`\delta`; unless given :math:`\sqrt{d C D / (G (3 + D/r))}\; T^{-1/4}` for one point
        and :math:`r/\sqrt T` for two, and r/2 where that is not below r.
    seed
        Of the directions. The direction of a round depends on it and on the round's number only.

    References
    ----------
    Zhao, Wang, Zhang, Zhou (2021), "Bandit convex optimization in non-stationary environments".
    """

    @checked
    def __init__(
        self,
        domain: Domain,
        *,
        horizon: int,
        gradient_bound: float,
        value_bound: float | None = None,
        points: Literal[1, 2] = 2,
        inner_radius: float | None = None,
        step: float | None = None,
        seed: int = 0,
    ) -> None:
        D, G = (
            arguments.domain(domain).diameter,
            arguments.positive("gradient_bound", gradient_bound),
        )
        T = arguments.integer("horizon", horizon)
        if arguments.integer("points", points) not in (1, 2):
            raise ValueError(f"points must be 1 or 2, got {arguments.short_repr(points)}.")
        if points == 1 and value_bound is None:
            raise ValueError(
                "value_bound must be given where points is 1: no value on the domain may be "
                "larger in magnitude."
            )
        self.points = int(points)
        """How many values are asked for in a round."""
        self.seed = arguments.integer("seed", seed, least=0)
        C = 0.0 if value_bound is None else arguments.positive("value_bound", value_bound)
        r = _radius(domain, inner_radius)
        default = one_point_step(D, G, C, r, domain.dim, T) if points == 1 else r / math.sqrt(T)
        self.step = default if step is None else arguments.positive("step", step)
        """delta."""
        if self.step >= r:
            if step is not None:
                raise ValueError(f"step must be below the inner radius of {r}, got {self.step}.")
            self.step = r / 2
        longest = domain.dim * (C / self.step if points == 1 else G)
        inner = Shrunken(domain, 1 - self.step / r)
        super().__init__(domain, Ader(inner, horizon=T, gradient_bound=longest))

    def settings(self) -> Mapping[str, Any]:
        """What the learner was made with."""
        return {**super().settings(), "step": self.step, "points": self.points, "seed": self.seed}

    @property
    def direction(self) -> Vector:
        """s_t of the coming round, shape ``(d,)``."""
        draw = np.random.default_rng([self.seed, self.rounds]).normal(size=self.domain.dim)
        return np.asarray(draw / np.linalg.norm(draw))

    def _decide(self) -> Vector:
        return np.array(self.inner.decision + self.step * self.direction)

    def _gradient(self, loss: Loss) -> Vector:
        values, s, d = arguments.values_of(loss), self.direction, self.domain.dim
        if self.points == 1:
            return np.asarray(d / self.step * values(self.decision) * s)
        here, there = values(np.stack([self.decision, self.inner.decision - self.step * s]))
        return np.asarray(d / (2 * self.step) * (here - there) * s)


def one_point_step(D: float, G: float, C: float, r: float, dim: int, T: int) -> float:
    r"""Where :math:`(d C/\delta) D \sqrt T`, the price of the estimates, equals :math:`\delta G
    T (3 + D/r)`, the shift's.
    """
    return math.sqrt(dim * C * D / (G * (3 + D / r))) / math.sqrt(math.sqrt(T))


def _radius(domain: Domain, given: float | None) -> float:
    radius = inner_radius(domain) if given is None else arguments.positive("inner_radius", given)
    if radius <= 0:
        raise ValueError(
            f"domain must have an inside, got {domain!r}, which is flat: values tell nothing "
            "across it."
        )
    return radius
