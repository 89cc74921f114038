"""OneProjection and PBGD: learners that play surrogate losses with another learner."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Literal, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import explain_overflow
from swordplay.core.state import (
    flatten_settings,
    settings_differences,
    settings_entries,
    split_settings,
)
from swordplay.core.types import Domain, Loss, State, Vector
from swordplay.parts.domains import ON_THE_DOMAIN, Ball, Shrunken, enclosing_ball, inner_radius
from swordplay.parts.learners.ader import Ader
from swordplay.parts.learners.assumptions import Assumptions, ObservedLoss
from swordplay.parts.learners.certificate import Moment
from swordplay.parts.learners.learner import REMEDY, StatefulLearner
from swordplay.parts.losses import FunctionLoss

WRAPPER = "wrapper"
"""Prefix of the settings that the inner learner does not have."""


class SurrogateLearner(ABC):
    """Base class of learners that play surrogate losses with an inner learner.

    The state is that of the inner learner. A subclass computes its decision from that of the inner
    learner, and the gradient of the surrogate loss of a round.
    """

    def __init__(self, domain: Domain, inner: StatefulLearner[Any]) -> None:
        self.domain = domain
        """X, the set of decisions."""
        self.inner = inner
        """The learner that plays the surrogate losses."""
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
        """Number of observed losses."""
        return self.inner.rounds

    @property
    def assumptions(self) -> Assumptions:
        """The constants of the inner learner beside the extremes of the surrogate losses."""
        return self.inner.assumptions

    def observe(self, loss: Loss) -> None:
        """Learn from a loss: the whole round happens or, on an error, nothing does."""
        gradient = self._surrogate_gradient(ObservedLoss(loss))
        self.inner.observe(
            FunctionLoss(lambda y: y @ gradient, lambda y: np.broadcast_to(gradient, y.shape), 0.0)
        )
        self._decision = None

    def settings(self) -> Mapping[str, Any]:
        """Return the settings that a saved state must agree with, without the inner learner's."""
        center, diameter = self.domain.center, self.domain.diameter
        return {
            "learner": type(self).__qualname__,
            "center": center,
            "diameter": diameter,
            "domain": self.domain,
        }

    def state(self) -> State:
        """Return the state for the next round and the settings, as named arrays and numbers."""
        return self.inner.state() | settings_entries(flatten_settings({WRAPPER: self.settings()}))

    def load_state(self, state_: Mapping[str, Any]) -> None:
        """Go on from a saved state; later rounds are bit for bit those of the saving learner.

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
        own_settings = _own_settings(flatten_settings({WRAPPER: self.settings()}))
        if differ := settings_differences(_own_settings(settings), own_settings):
            raise ValueError(f"state was saved with other settings: {differ}. {REMEDY}")
        inner = {
            path: value for path, value in settings.items() if not path.startswith(f"{WRAPPER}.")
        }
        self.inner.load_state(saved | settings_entries(inner))
        self._decision = None

    @abstractmethod
    def _decide(self) -> Vector:
        """Return the decision, computed from that of the inner learner, as a new array."""

    @abstractmethod
    def _surrogate_gradient(self, loss: ObservedLoss) -> Vector:
        """Return the gradient of the surrogate loss of a round, shape ``(d,)``."""


def _own_settings(flat: Mapping[str, Any]) -> State:
    """Return the settings of the outer learner from flat settings, without their prefix.

    The state of any other learner has none with this prefix: "learner" is then "not set".
    """
    own = {
        path.removeprefix(f"{WRAPPER}."): value
        for path, value in flat.items()
        if path.startswith(f"{WRAPPER}.")
    }
    return {"learner": "not set", **own}


def _checked_learner(value: Any) -> StatefulLearner[Any]:
    """Check that a value is a learner of this package, whose settings can be compared."""
    if not isinstance(value, StatefulLearner):
        raise TypeError(
            f"make must make a learner such as sp.Ader, got {arguments.short_repr(value)} "
            f"({type(value).__name__})."
        )
    return value


@final
class OneProjection(SurrogateLearner):
    r"""Any learner, played in a ball around the domain, with one projection on it a round.

    .. math:: x_t = \Pi_X[y_t], \qquad \tilde g_t = g_t - [\langle g_t, v_t \rangle < 0] \langle
        g_t, v_t \rangle v_t, \qquad v_t = \frac{y_t - x_t}{\|y_t - x_t\|}

    The inner learner plays the losses :math:`\langle \tilde g_t, y \rangle` with decisions
    :math:`y_t` in a ball Y that contains the domain X. For every u in X, :math:`\langle g_t, x_t -
    u \rangle \le \langle \tilde g_t, y_t - u \rangle`, and :math:`\|\tilde g_t\| \le \|g_t\|`: the
    regret bound of the inner learner for the ball and its certificate also hold for this learner. A
    round takes one gradient and one projection on X, however many experts there are; the
    projections of the experts are on a ball, which only scales.

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
        super().__init__(arguments.domain(domain), _checked_learner(make(enclosing_ball(domain))))

    def certificate(self, path_length: float, since: Moment | None = None) -> float:
        """Return an upper bound on the regret against every comparator sequence of a path length.

        Parameters
        ----------
        path_length
            P, the largest path length of the comparators in X over the rounds that count.
        since
            A moment that :attr:`moment` gave earlier: only the rounds after it count. All rounds
            unless given.
        """
        return self.inner.certificate(path_length, since)

    @property
    def moment(self) -> Moment:
        """The certificate's sums so far, for a later ``certificate(path_length, since=moment)``."""
        return self.inner.moment

    def _decide(self) -> Vector:
        return np.array(self.domain.project(self.inner.decision))

    def _surrogate_gradient(self, loss: ObservedLoss) -> Vector:
        return surrogate_gradient(
            loss.gradient(self.decision), self.inner.decision - self.decision, self.domain
        )


def surrogate_gradient(gradient: Vector, outward: Vector, domain: Domain) -> Vector:
    """Return a gradient without its part along ``outward`` if descent would lead that way.

    Parameters
    ----------
    gradient
        g, shape ``(d,)``.
    outward
        y - Proj_X(y), shape ``(d,)``.
    domain
        X. If ``outward`` is only rounding error, y counts as a point of X.
    """
    distance = float(np.linalg.norm(outward))
    if distance <= ON_THE_DOMAIN * (domain.diameter + float(np.linalg.norm(domain.center))):
        return gradient
    direction = outward / distance  # v
    along = float(gradient @ direction)  # <g, v>
    return np.asarray(gradient - along * direction) if along < 0 else gradient


@final
class PBGD(SurrogateLearner):
    r"""Parameter-free bandit gradient descent: Ader on gradients estimated from one or two values.

    With a random direction :math:`s_t` of length 1 in each round, d coordinates, and the decision
    :math:`y_t` of Ader in the domain scaled by :math:`1 - \delta/r`, r being the radius of a ball
    inside the domain:

    .. math:: x_t = y_t + \delta s_t, \qquad \tilde g_t = \frac{d}{\delta} f_t(y_t + \delta s_t)\,
        s_t \quad\text{or}\quad \tilde g_t = \frac{d}{2\delta} \big(f_t(y_t + \delta s_t) - f_t(y_t
        - \delta s_t)\big)\, s_t

    The expected dynamic regret is of order :math:`T^{3/4} (1 + P_T)^{1/2}` from one value a round
    and :math:`\sqrt{T (1 + P_T)}` from two.

    Parameters
    ----------
    domain
        Where decisions live. It must have interior points; a simplex has none.
    horizon
        T, how many rounds will be played.
    gradient_bound
        G, largest norm of a gradient on the domain.
    value_bound
        C, the largest magnitude of a value on the domain; needed only if ``points`` is 1.
    points
        1 or 2 values a round.
    inner_radius
        r; known for balls and boxes.
    step
        :math:`\delta`; unless given :math:`\sqrt{d C D / (G (3 + D/r))}\; T^{-1/4}` for one point
        and :math:`r/\sqrt T` for two, or r/2 if the formula gives r or more.
    seed
        Seed of the directions. The direction of a round depends on the seed and the number of the
        round only.

    References
    ----------
    Zhao, Wang, Zhang, Zhou (2021), "Bandit convex optimization in non-stationary environments".
    """

    @explain_overflow
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
        D = arguments.domain(domain).diameter
        G = arguments.positive("gradient_bound", gradient_bound)
        T = arguments.integer("horizon", horizon)
        if arguments.integer("points", points) not in (1, 2):
            raise ValueError(f"points must be 1 or 2, got {arguments.short_repr(points)}.")
        if points == 1 and value_bound is None:
            raise ValueError(
                "value_bound must be given if points is 1: no value on the domain may be "
                "larger in magnitude."
            )
        self.points = int(points)
        """Number of values in a round."""
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
        # Largest norm of an estimated gradient: d C / delta or (two values) d G.
        estimate_bound = domain.dim * (C / self.step if points == 1 else G)
        inner = Shrunken(domain, 1 - self.step / r)
        super().__init__(domain, Ader(inner, horizon=T, gradient_bound=estimate_bound))

    def settings(self) -> Mapping[str, Any]:
        """Return what a saved state and the learner that loads it must have in common."""
        return {**super().settings(), "step": self.step, "points": self.points, "seed": self.seed}

    @property
    def direction(self) -> Vector:
        """s_t of the coming round, shape ``(d,)``."""
        draw = np.random.default_rng([self.seed, self.rounds]).normal(size=self.domain.dim)
        return np.asarray(draw / np.linalg.norm(draw))

    def _decide(self) -> Vector:
        return np.array(self.inner.decision + self.step * self.direction)

    def _surrogate_gradient(self, loss: ObservedLoss) -> Vector:
        limit = arguments.LARGEST_GRADIENT
        s, d = self.direction, self.domain.dim
        if self.points == 1:
            return np.asarray(d / self.step * loss.value(self.decision, limit) * s)
        # f_t(y_t + delta s) and f_t(y_t - delta s)
        points = np.stack([self.decision, self.inner.decision - self.step * s])
        value_forward, value_backward = loss.value(points, limit)
        return np.asarray(d / (2 * self.step) * (value_forward - value_backward) * s)


def one_point_step(D: float, G: float, C: float, r: float, dim: int, T: int) -> float:
    r"""Return the :math:`\delta` that balances the errors of estimates and of shifted points.

    The regret bound contains :math:`(d C/\delta) D \sqrt T` for the estimates and :math:`\delta G T
    (3 + D/r)` for the shift. At this :math:`\delta` both are equal.
    """
    return math.sqrt(dim * C * D / (G * (3 + D / r))) / math.sqrt(math.sqrt(T))


def _radius(domain: Domain, given: float | None) -> float:
    """Return the radius of a ball around the centre inside the domain, and refuse flat domains."""
    radius = inner_radius(domain) if given is None else arguments.positive("inner_radius", given)
    if radius <= 0:
        raise ValueError(
            f"domain must have interior points, got {domain!r}, which is flat: values on it do not "
            "determine the gradient across it. Give a ball or a box."
        )
    return radius
