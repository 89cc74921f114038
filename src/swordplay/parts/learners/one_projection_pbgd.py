"""OneProjection and PBGD: learners that play surrogate losses with another learner."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Literal, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import checked
from swordplay.core.state import compare_settings, made_with, settings_entries, split_settings
from swordplay.core.types import Domain, Loss, State, Vector
from swordplay.parts.domains import ON_THE_DOMAIN, Ball, Shrunken, enclosing_ball, inner_radius
from swordplay.parts.learners.ader import Ader
from swordplay.parts.learners.assumptions import Assumptions, ObservedLoss
from swordplay.parts.learners.certificate import Moment
from swordplay.parts.learners.learner import REMEDY, StatefulLearner
from swordplay.parts.losses import FunctionLoss

AROUND = "around"
"""How the names of the settings begin that the learner inside does not have."""


class Wrapper(ABC):
    """A learner around another one, whose state is all that it keeps.

    A subclass says how a decision follows from that of the learner inside, and which gradient to
    tell it after a round.
    """

    def __init__(self, domain: Domain, inner: StatefulLearner[Any]) -> None:
        self.domain = domain
        """X, where the decisions live."""
        self.inner = inner
        """Who plays the changed game."""
        self._decision: Vector | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.domain!r}, {self.inner!r})"

    @property
    def decision(self) -> Vector:
        """x_t of the coming round, shape ``(d,)``."""
        if self._decision is None:
            self._decision = self._decide()
            self._decision.flags.writeable = False
        return self._decision

    @property
    def rounds(self) -> int:
        """How many losses were observed."""
        return self.inner.rounds

    @property
    def assumptions(self) -> Assumptions:
        """What the learner inside was told about the gradients that it is handed, beside what
        was seen of them.
        """
        return self.inner.assumptions

    def observe(self, loss: Loss) -> None:
        """Learn from a loss: the whole round happens or, on an error, nothing does."""
        gradient = self._gradient(loss)
        self.inner.observe(
            FunctionLoss(lambda y: y @ gradient, lambda y: np.broadcast_to(gradient, y.shape), 0.0)
        )
        self._decision = None

    def settings(self) -> Mapping[str, Any]:
        """What the learner was made with, beside what the learner inside was made with."""
        center, diameter = self.domain.center, self.domain.diameter
        return {
            "learner": type(self).__qualname__,
            "center": center,
            "diameter": diameter,
            "domain": self.domain,
        }

    def state(self) -> State:
        """All that the next round needs and all that the learner was made with, as named arrays
        and numbers.
        """
        return self.inner.state() | settings_entries(made_with({AROUND: self.settings()}))

    def load_state(self, state_: Mapping[str, Any]) -> None:
        """Go on from a saved state, bit by bit as the learner that saved it.

        Raises
        ------
        ValueError
            If the state is damaged, or was saved by a learner with other settings; nothing changes.
        """
        if not isinstance(state_, Mapping):
            raise TypeError(
                f"state must be the dictionary that state() returned, got {type(state_).__name__}."
            )
        saved, settings = split_settings(state_)
        here = _inside(made_with({AROUND: self.settings()}))
        if differ := compare_settings(_inside(settings), here):
            raise ValueError(f"state was saved with other settings: {differ}. {REMEDY}")
        inner = {
            path: value for path, value in settings.items() if not path.startswith(f"{AROUND}.")
        }
        self.inner.load_state(saved | settings_entries(inner))
        self._decision = None

    @abstractmethod
    def _decide(self) -> Vector:
        """The decision that the learner inside leads to; a new array."""

    @abstractmethod
    def _gradient(self, loss: Loss) -> Vector:
        """What the learner inside is told of a loss: a gradient, shape ``(d,)``."""


def _inside(flat: Mapping[str, Any]) -> State:
    """The settings that begin with ``AROUND``, without it.

    A state that has none was saved by another learner.
    """
    own = {
        path.removeprefix(f"{AROUND}."): value
        for path, value in flat.items()
        if path.startswith(f"{AROUND}.")
    }
    return {"learner": "not set", **own}


def stateful(value: Any) -> StatefulLearner[Any]:
    """A learner of this package, which says its settings."""
    if not isinstance(value, StatefulLearner):
        raise TypeError(
            f"make must make a learner such as sp.Ader, got {arguments.short_repr(value)} "
            f"({type(value).__name__})."
        )
    return value


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
            ObservedLoss(loss).gradient(self.decision),
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
        observed, limit = ObservedLoss(loss), arguments.LARGEST_GRADIENT
        s, d = self.direction, self.domain.dim
        if self.points == 1:
            return np.asarray(d / self.step * observed.value(self.decision, limit) * s)
        both = np.stack([self.decision, self.inner.decision - self.step * s])
        here, there = observed.value(both, limit)
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
