"""OneProjection and PBGD: learners that let another learner play surrogate losses."""

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
from swordplay.parts.domains import OUTSIDE_TOLERANCE, Ball, Shrunken, enclosing_ball, inner_radius
from swordplay.parts.learners.ader import Ader
from swordplay.parts.learners.assumptions import Assumptions, ObservedLoss
from swordplay.parts.learners.certificate import Moment
from swordplay.parts.learners.learner import SETTINGS_REMEDY, StatefulLearner
from swordplay.parts.losses import FunctionLoss

OUTER_PREFIX = "outer"
"""Prefix of the outer learner's settings in a state; the inner learner's settings have none."""


class SurrogateLearner(ABC):
    """Base class of learners that let an inner learner play surrogate losses.

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
        """The inner learner's constants, and whether the surrogate losses satisfy them."""
        return self.inner.assumptions

    def observe(self, loss: Loss) -> None:
        """Learn from the loss of a round; on an error the learner is unchanged."""
        gradient = self._surrogate_gradient(ObservedLoss(loss))
        self.inner.observe(
            FunctionLoss(lambda y: y @ gradient, lambda y: np.broadcast_to(gradient, y.shape), 0.0)
        )
        self._decision = None

    def settings(self) -> Mapping[str, Any]:
        """Return the settings of the outer learner that are saved with a state."""
        return {
            "learner": type(self).__qualname__,
            "center": self.domain.center,
            "diameter": self.domain.diameter,
            "domain": self.domain,
        }

    def state(self) -> State:
        """Return the state for the next round and the settings, as named arrays and numbers."""
        return self.inner.state() | settings_entries(
            flatten_settings({OUTER_PREFIX: self.settings()})
        )

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Continue from a saved state; later rounds are identical to those of the saved learner.

        Raises
        ------
        ValueError
            If the state is damaged, or was saved by a learner with other settings; nothing changes.
        """
        if not isinstance(saved, Mapping):
            raise TypeError(
                f"state must be the dictionary that state() returned, got {type(saved).__name__}."
            )
        entries, settings = split_settings(saved)
        outer_settings = _outer_settings(flatten_settings({OUTER_PREFIX: self.settings()}))
        if differences := settings_differences(_outer_settings(settings), outer_settings):
            raise ValueError(
                f"state was saved with other settings: {differences}. {SETTINGS_REMEDY}"
            )
        inner_settings = {
            path: value
            for path, value in settings.items()
            if not path.startswith(f"{OUTER_PREFIX}.")
        }
        self.inner.load_state(entries | settings_entries(inner_settings))
        self._decision = None

    @abstractmethod
    def _decide(self) -> Vector:
        """Return the decision, computed from that of the inner learner, as a new array."""

    @abstractmethod
    def _surrogate_gradient(self, loss: ObservedLoss) -> Vector:
        """Return the gradient of the surrogate loss of a round, shape ``(d,)``."""


def _outer_settings(flat: Mapping[str, Any]) -> State:
    """Return the settings of the outer learner from flat settings, without their prefix.

    If there is none, as in a state of an inner learner alone, "learner" is "not set".
    """
    outer = {
        path.removeprefix(f"{OUTER_PREFIX}."): value
        for path, value in flat.items()
        if path.startswith(f"{OUTER_PREFIX}.")
    }
    return {"learner": "not set", **outer}


def _checked_learner(value: Any) -> StatefulLearner[Any]:
    """Check that a value is a learner of this package, whose settings are known."""
    if not isinstance(value, StatefulLearner):
        raise TypeError(
            f"make must make a learner such as sp.Ader, got {arguments.short_repr(value)} "
            f"({type(value).__name__})."
        )
    return value


@final
class OneProjection(SurrogateLearner):
    r"""Any learner, played in a ball around the domain: one projection on the domain a round.

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
        X, the set of decisions; its projection may be expensive.
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
            A snapshot that :attr:`moment` gave earlier: only the rounds after it count. All rounds
            unless given.
        """
        return self.inner.certificate(path_length, since)

    @property
    def moment(self) -> Moment:
        """A snapshot of the certificate's sums, for ``certificate(path_length, since=moment)``."""
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
        X. If ``outward`` is only rounding error, g is returned: y counts as a point of X.
    """
    distance = float(np.linalg.norm(outward))
    if distance <= OUTSIDE_TOLERANCE * (domain.diameter + float(np.linalg.norm(domain.center))):
        return gradient
    direction = outward / distance  # v
    component = float(gradient @ direction)  # <g, v>
    return np.asarray(gradient - component * direction) if component < 0 else gradient


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
        X, the set of decisions. It must have interior points; a simplex has none.
    horizon
        T, the number of rounds that will be played.
    gradient_bound
        G, the largest norm of a gradient on the domain.
    value_bound
        C, the largest magnitude of a value on the domain; needed only if ``points`` is 1.
    points
        Number of points at which each loss is evaluated, 1 or 2.
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
        """Number of points at which each loss is evaluated."""
        self.seed = arguments.integer("seed", seed, least=0)
        C = 0.0 if value_bound is None else arguments.positive("value_bound", value_bound)
        r = _inner_radius(domain, inner_radius)
        default_step = (
            one_point_step(D, G, C, r, domain.dim, T) if points == 1 else r / math.sqrt(T)
        )
        self.step = default_step if step is None else arguments.positive("step", step)
        """delta, the distance of the evaluated points from the decision of Ader."""
        if self.step >= r:
            if step is not None:
                raise ValueError(f"step must be below the inner radius of {r}, got {self.step}.")
            self.step = r / 2
        # Largest norm of an estimated gradient: d C / delta or (two values) d G.
        estimated_gradient_bound = domain.dim * (C / self.step if points == 1 else G)
        inner = Shrunken(domain, 1 - self.step / r)
        super().__init__(domain, Ader(inner, horizon=T, gradient_bound=estimated_gradient_bound))

    def settings(self) -> Mapping[str, Any]:
        """Return the settings that are saved with a state and compared when it is loaded."""
        return {**super().settings(), "step": self.step, "points": self.points, "seed": self.seed}

    @property
    def direction(self) -> Vector:
        """s_t of the coming round, shape ``(d,)``."""
        draw = np.random.default_rng([self.seed, self.rounds]).normal(size=self.domain.dim)
        return np.asarray(draw / np.linalg.norm(draw))

    def _decide(self) -> Vector:
        return np.array(self.inner.decision + self.step * self.direction)

    def _surrogate_gradient(self, loss: ObservedLoss) -> Vector:
        limit = (
            arguments.LARGEST_GRADIENT
        )  # of values, too: estimated gradients are multiples of them
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
    (3 + D/r)` for the shift. At this :math:`\delta` both terms are equal.
    """
    return math.sqrt(dim * C * D / (G * (3 + D / r))) / math.sqrt(math.sqrt(T))


def _inner_radius(domain: Domain, declared: float | None) -> float:
    """Return the radius of a ball around the centre inside the domain; refuse a flat domain."""
    radius = (
        inner_radius(domain) if declared is None else arguments.positive("inner_radius", declared)
    )
    if radius <= 0:
        raise ValueError(
            f"domain must have interior points, got {domain!r}, which is flat: values on it do not "
            "determine the gradient across it. Give a ball or a box."
        )
    return radius
