r"""Certificates: bounds on the regret against *every* comparator, from sums over a run's rounds.

Let :math:`g_t` be the gradient at the decision :math:`x_t`, :math:`g_{t,k}` the gradient at the
point :math:`x_{t,k}` of expert k, :math:`M_{t,k}` its prediction, :math:`\hat x_{t,k}` the base
point of the expert and :math:`\eta_{t,k} = 1/a_{t,k}` its step size. For any comparators
:math:`u_1, \dots, u_T` of path length P,

.. math:: \text{regret} \le \min_k \Big\{ \sum_t \langle g_t, x_t - x_{t,k} \rangle - B_{t,k}
    + \sum_t \tfrac{\eta_{t,k}}{2} \|g_{t,k} - M_{t,k}\|^2 - \tfrac{a_{t,k}}{2} \|x_{t,k} - \hat
      x_{t,k}\|^2
    + \text{distance}_k(P) \Big\}

**Proof.** The regret has two parts: that of the decisions against expert k, :math:`\sum_t f_t(x_t)
- f_t(x_{t,k})`, and that of expert k, which by convexity is at most :math:`\sum_t \langle g_{t,k},
x_{t,k} - u_t \rangle`. The first part equals the first sum, with :math:`B_{t,k} = f_t(x_{t,k}) -
f_t(x_t) - \langle g_t, x_{t,k} - x_t \rangle \ge 0`, the distance of the loss from its tangent at
the decision. (Where all experts use :math:`g_t`, their losses are those of the tangent, and B is
0.) For the second part, the two projections of a round give

.. math:: \langle g, x - u \rangle \le \tfrac{a}{2} (\|u - \hat x_t\|^2 - \|u - \hat x_{t+1}\|^2)
    + \tfrac{\eta}{2} \|g - M\|^2 - \tfrac{a}{2} \|x - \hat x_t\|^2 .

With :math:`w = \hat x - c`, c being the domain's centre, the bracket is :math:`\|w_t\|^2 -
\|w_{t+1}\|^2 + 2 \langle w_{t+1} - w_t, u_t - c \rangle`, which is *linear* in u. For constant
steps the sum by parts of the brackets is at most

.. math:: \text{distance}(P) = \sigma(a w_{T+1}) - \tfrac{a}{2} \|w_{T+1}\|^2 + P\, a \varrho,
    \qquad \varrho = \max_t \|w_t\|,

because :math:`w_1 = 0`. Here σ is the support function of the domain minus c. The norm of w
is at most the reach r, the largest distance of a point of the domain from c. The distance term is
therefore at most :math:`\tfrac{a}{2} r^2 + P a r`, which on a ball is :math:`a (D^2/8 + D P / 2)`.
It is much smaller in a ball that is too large. For step sizes that change, the sum by parts
contains a vector for each expert, the dual sum S:

.. math:: \text{distance}(P) = \sigma(S_T) - \tfrac{a_T}{2} \|w_{T+1}\|^2 + \tfrac12 \sum_t (a_t -
    a_{t-1}) \|w_t\|^2 + P \max_t \|S_t\|, \qquad S_t = \sum_{s \le t} a_s (w_{s+1} - w_s) = a_t
    w_{t+1} - \sum_{s \le t} (a_s - a_{s-1}) w_s .

With up to ``MAX_DIM_OF_DUAL_SUM`` coordinates S and its largest norm so far are stored. In more
dimensions another vector for each expert would cost too much memory and time. Then the bound
:math:`\|S_t\| \le a_t \|w_{t+1}\| + \sum_s |a_s - a_{s-1}| \|w_s\|` replaces the norm; its largest
value so far and the sum over s are stored. A second form replaces all distances by the diameter D:
:math:`\text{distance}(P) = \tfrac12 D^2 \Lambda + D P \max_t a_t` with :math:`\Lambda = a_1 +
\sum_{t \ge 2} (a_t - a_{t-1})_+`. The smaller of the two forms is used.

Every term is a sum over rounds. The differences of the sums between two moments, with w counted
from the first moment, bound the regret on the rounds between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np

from swordplay.core.state import MAX_MAGNITUDE, Field, array, check
from swordplay.core.types import Array, Domain, Matrix, Vector
from swordplay.parts.domains import Ball, Box, Simplex
from swordplay.parts.experts import ExpertStep
from swordplay.parts.experts.step_sizes import MAX_STEP_COST

MAX_DUAL_SUM = 1e153
"""Largest coordinate of S in a loaded state: the sum of its squares does not overflow."""
MAX_DIM_OF_DUAL_SUM = 8
"""Largest number of coordinates for which S is stored: each round updates its N d numbers."""
BLOCK_NUMBERS = 1 << 21
"""Largest number of coordinates in a block of axis directions, for domains of other classes."""
ROUNDING = float(np.finfo(np.float64).eps)
"""Twice the relative rounding error of an addition, for safety."""
OTHER_ROUNDINGS = 16
"""Number of rounding errors in a window's bound, apart from one in each round."""


class Displacement(NamedTuple):
    """Base points minus the centre, w, over a round: squared norms, shape ``(N,)``, and change."""

    squared_norm_before: Vector
    """norm(w_t)^2."""
    squared_norm_after: Vector
    """norm(w_{t+1})^2."""
    change: Matrix | float = 0.0
    """w_{t+1} - w_t, shape ``(N, d)``."""

    @classmethod
    def of(cls, before: Matrix, after: Matrix) -> Displacement:
        """Return the displacement from ``before`` to ``after``: w_t and w_{t+1}, ``(N, d)``."""
        return cls(_squares(before), _squares(after), after - before)


class DomainGeometry(NamedTuple):
    """Diameter, reach and support function of a domain, for certificates."""

    diameter: float
    """D."""
    reach: float
    """r: the largest distance of a point from the centre, or a bound on it."""
    support: Callable[[Array], Array]
    """σ: largest inner product of each direction with a point minus the centre."""

    @classmethod
    def of(cls, domain: Domain) -> DomainGeometry:
        """Return the geometry of any domain, in O(d) for the domains of this package.

        The reach is the norm of the vector of reaches along the axes, at most the diameter.
        """

        def support(directions: Array) -> Array:
            return np.asarray(domain.support(directions) - directions @ domain.center)

        if isinstance(domain, Ball):
            return cls(float(domain.diameter), float(domain.radius), support)
        axis_reaches = _axis_reaches(domain, support)
        reach = min(domain.diameter, float(np.sqrt(axis_reaches @ axis_reaches)))
        return cls(float(domain.diameter), float(reach), support)

    @classmethod
    def of_ball(cls, radius: float) -> DomainGeometry:
        """Return the geometry of a ball with that radius."""
        return cls(
            2.0 * radius,
            radius,
            lambda directions: (
                radius * np.sqrt(np.einsum("...i,...i->...", directions, directions))
            ),
        )


def _axis_reaches(domain: Domain, support: Callable[[Array], Array]) -> Vector:
    """Largest distance from the centre along each axis, in either direction, shape ``(d,)``."""
    if type(domain) is Box:
        return np.maximum(domain.upper - domain.center, domain.center - domain.lower)
    if type(domain) is Simplex:
        return np.maximum(domain.total - domain.center, domain.center)
    reaches = np.empty(domain.dim)
    block_length = max(1, min(256, BLOCK_NUMBERS // domain.dim))
    for start in range(0, domain.dim, block_length):
        block = slice(start, min(start + block_length, domain.dim))
        axes = np.zeros((block.stop - start, domain.dim))
        axes[np.arange(len(axes)), np.arange(start, block.stop)] = 1.0
        reaches[block] = np.maximum(support(axes), support(-axes))
    return reaches


class CertificateState(NamedTuple):
    """The sums of the certificate over the rounds so far, for each expert k."""

    linear_regret: Annotated[Vector, array("experts")]
    """Sum of <g_t, x_t - x_{t,k}>, the linearised regret of the decisions, shape ``(N,)``."""
    step_cost: Annotated[Vector, array("experts")]
    """Sum of eta/2 norm(g - M)^2 - norm(x - xhat)^2 / (2 eta) - B, shape ``(N,)``."""
    inverse_step: Annotated[Vector, array("experts", low=0.0)]
    """1/eta of the last round, 0 before any, shape ``(N,)``."""
    inverse_growth: Annotated[Vector, array("experts", low=0.0)]
    """Lambda: all increases of 1/eta, the first from 0, shape ``(N,)``."""
    inverse_largest: Annotated[Vector, array("experts", low=0.0)]
    """The largest 1/eta so far, shape ``(N,)``."""
    squared_norm_change: Annotated[Vector, array("experts")]
    """Sum of (1/eta_t - 1/eta_{t-1}) norm(w_t)^2 / 2, shape ``(N,)``."""
    max_squared_norm: Annotated[Vector, array("experts", low=0.0)]
    """The largest norm(w)^2 so far, shape ``(N,)``."""
    weighted_norm_change: Annotated[Vector, array("experts", low=0.0)]
    """Sum of |1/eta_t - 1/eta_{t-1}| norm(w_t), shape ``(N,)``; 0 if S is kept."""
    max_dual_norm: Annotated[Vector, array("experts", low=0.0)]
    """The largest norm(S_t) so far, or its bound norm(w_{t+1})/eta_t + ..., shape ``(N,)``."""
    dual_sum: Annotated[Matrix | None, array("experts", "dim", optional=True)] = None
    """S, sum of (w_{t+1} - w_t) / eta_t, shape ``(N, d)``; None if it is not kept."""

    def check(self, diameter: float) -> None:
        """Refuse saved sums that could overflow in the next round.

        Raises
        ------
        ValueError
            If a sum is too large; names it.
        """
        D = max(1.0, diameter)
        for name in ("inverse_step", "inverse_growth", "inverse_largest"):
            check(
                f"certificate.{name}",
                getattr(self, name),
                Field(low=0.0, high=MAX_STEP_COST / D**2),
            )
        largest_sum = MAX_MAGNITUDE / D
        check(
            "certificate.weighted_norm_change",
            self.weighted_norm_change,
            Field(low=0.0, high=largest_sum),
        )
        if self.dual_sum is not None:
            check(
                "certificate.dual_sum", self.dual_sum, Field(low=-MAX_DUAL_SUM, high=MAX_DUAL_SUM)
            )
            largest_sum = 3.0 * MAX_DUAL_SUM  # the norm of at most 8 such coordinates
        check("certificate.max_dual_norm", self.max_dual_norm, Field(low=0.0, high=largest_sum))

    @property
    def has_dual_sum(self) -> bool:
        """Whether S is kept."""
        return self.dual_sum is not None

    @classmethod
    def at_start(cls, experts: int, dim: int | None = None) -> CertificateState:
        """Return the sums before the first round, with S of ``dim`` coordinates if given."""
        sums = {name: np.zeros(experts) for name in SCALAR_SUMS}
        return cls(**sums, dual_sum=None if dim is None else np.zeros((experts, dim)))

    def with_round(
        self,
        linear_regret: Vector,
        step: ExpertStep,
        displacement: Displacement,
        gap: Vector | float = 0.0,
    ) -> CertificateState:
        """Return the sums with one more round.

        Parameters
        ----------
        linear_regret
            <g_t, x_t - x_{t,k}>, shape ``(N,)``.
        step
            Step sizes and squared distances of the experts' steps.
        displacement
            Squared norms of w before and after the round, and the change of w.
        gap
            B, the distance of the loss from its tangent at each expert, shape ``(N,)``.
        """
        inverse = 1.0 / step.step_sizes  # a_t
        increase = inverse - self.inverse_step  # a_t - a_{t-1}
        # eta/2 norm(g - M)^2; until the first gradient eta is infinite and the product set to 0.
        has_error = step.squared_error > 0
        finite_steps = np.where(has_error, step.step_sizes, 0.0)
        error_cost = np.where(has_error, finite_steps * step.squared_error, 0.0) / 2
        dual_sum, norm_change = self.dual_sum, self.weighted_norm_change
        if dual_sum is not None:
            change = displacement.change if step.change is None else step.change
            dual_sum = dual_sum + inverse[:, None] * change
            dual_norm = np.sqrt(_squares(dual_sum))
        else:
            norm_change = norm_change + np.abs(increase) * np.sqrt(displacement.squared_norm_before)
            dual_norm = inverse * np.sqrt(displacement.squared_norm_after) + norm_change
        return CertificateState(
            linear_regret=self.linear_regret + linear_regret,
            step_cost=self.step_cost + error_cost - inverse * step.squared_lookahead / 2 - gap,
            inverse_step=inverse,
            inverse_growth=self.inverse_growth + np.maximum(increase, 0.0),
            inverse_largest=np.maximum(self.inverse_largest, inverse),
            squared_norm_change=self.squared_norm_change
            + increase * displacement.squared_norm_before / 2,
            max_squared_norm=np.maximum(self.max_squared_norm, displacement.squared_norm_after),
            weighted_norm_change=norm_change,
            max_dual_norm=np.maximum(self.max_dual_norm, dual_norm),
            dual_sum=dual_sum,
        )

    def of_experts(self, indices: Any) -> CertificateState:
        """Return the sums of the experts with these indices, which may repeat, shape ``(N',)``."""
        selected: list[Any] = [None if sums is None else sums[indices] for sums in self]
        return CertificateState(*selected)

    def bound(
        self,
        geometry: DomainGeometry,
        path_length: float,
        base_offsets: Matrix,
        constant_steps: Any,
    ) -> float:
        """Return the bound on the regret of all rounds against comparators of a path length.

        Parameters
        ----------
        geometry
            Diameter, reach and support function of the domain.
        path_length
            P.
        base_offsets
            w after the last round: base points minus the centre, shape ``(N, d)``.
        constant_steps
            Which experts never change their step size, shape ``(N,)`` or one value for all.
        """
        a, max_norm = self.inverse_step, np.sqrt(self.max_squared_norm)
        if self.dual_sum is not None:
            last_terms = geometry.support(self.dual_sum) - a * _squares(base_offsets) / 2
        else:
            last_terms = geometry.support(a[:, None] * base_offsets)
            last_terms = last_terms - a * _squares(base_offsets) / 2
            last_terms = last_terms + geometry.reach * np.where(
                constant_steps, 0.0, self.weighted_norm_change
            )
        by_parts = (
            last_terms
            + self.squared_norm_change
            + path_length * np.where(constant_steps, a * max_norm, self.max_dual_norm)
        )
        by_diameter = _distance_by_diameter(
            geometry, self.inverse_growth, self.inverse_largest, path_length
        )
        distance = np.where(constant_steps, by_parts, np.minimum(by_parts, by_diameter))
        return float((self.linear_regret + self.step_cost + distance).min())

    def window_bound(
        self,
        geometry: DomainGeometry,
        path_length: float,
        base_offsets: Matrix,
        constant_steps: Any,
        *,
        since: Moment,
        ancestors: Any,
        rounds: int,
    ) -> float:
        """Return the bound on the regret of the rounds after a moment.

        The bound is computed from differences of sums over the whole run. The rounding error of the
        sums is added: that of one addition a round to numbers as large as the sums before and
        after the window.

        Parameters
        ----------
        geometry, path_length, base_offsets, constant_steps
            As in :meth:`bound`.
        since
            The snapshot of the sums at that moment.
        ancestors
            For each present expert its index at that moment, or the index of the expert that it is
            a copy of, shape ``(N,)``.
        rounds
            Number of rounds after the moment.
        """
        before = since.sums.of_experts(ancestors)
        offsets_before = since.base_offsets[ancestors]
        a, b = self.inverse_step, before.inverse_step  # 1/eta at the end and at the start
        max_norm = np.sqrt(self.max_squared_norm)
        squares, squares_before = _squares(base_offsets), _squares(offsets_before)
        norm_before = np.sqrt(squares_before)
        # ..._magnitude: sum of the magnitudes of all terms, to which rounding errors are relative
        if self.dual_sum is not None and before.dual_sum is not None:
            dual_norm = np.sqrt(_squares(self.dual_sum))
            dual_norm_before = np.sqrt(_squares(before.dual_sum))
            last_terms = geometry.support(self.dual_sum - before.dual_sum)
            # norm(S_t - S) <= norm(S_t) + norm(S), S being the dual sum at the window's start
            max_dual_norm = self.max_dual_norm + dual_norm_before
            by_parts_magnitude = geometry.reach * (dual_norm + dual_norm_before)
        else:
            norm_change = np.where(
                constant_steps, 0.0, self.weighted_norm_change - before.weighted_norm_change
            )
            last_terms = geometry.support(a[:, None] * base_offsets - b[:, None] * offsets_before)
            last_terms = last_terms + geometry.reach * norm_change
            max_dual_norm = self.max_dual_norm - before.weighted_norm_change + b * norm_before
            norm_changes_magnitude = np.where(
                constant_steps, 0.0, self.weighted_norm_change + before.weighted_norm_change
            )
            by_parts_magnitude = geometry.reach * (
                norm_changes_magnitude + a * np.sqrt(squares) + b * norm_before
            )
        # σ(S_T - S) - a/2 norm(w_T)^2 + b/2 norm(w)^2, w being the offset at the window's start
        last_terms = last_terms + (b * norm_before**2 - a * squares) / 2
        squared_change = self.squared_norm_change - before.squared_norm_change
        per_unit_of_path = np.where(
            constant_steps, a * np.minimum(geometry.diameter, max_norm + norm_before), max_dual_norm
        )
        by_parts = last_terms + squared_change + path_length * per_unit_of_path
        by_parts_magnitude = by_parts_magnitude + (b * squares_before + a * squares) / 2
        by_parts_magnitude = (
            by_parts_magnitude
            + np.abs(self.squared_norm_change)
            + np.abs(before.squared_norm_change)
        )
        by_parts_magnitude = by_parts_magnitude + path_length * (
            self.max_dual_norm + before.weighted_norm_change + b * norm_before
        )

        growth = b + self.inverse_growth - before.inverse_growth
        by_diameter = _distance_by_diameter(geometry, growth, self.inverse_largest, path_length)
        growth_magnitude = self.inverse_growth + before.inverse_growth
        by_diameter_magnitude = _distance_by_diameter(
            geometry, b + growth_magnitude, self.inverse_largest, path_length
        )

        relative_error = ROUNDING * (rounds + OTHER_ROUNDINGS)
        by_parts = by_parts + relative_error * by_parts_magnitude
        by_diameter = by_diameter + relative_error * by_diameter_magnitude
        distance = np.where(constant_steps, by_parts, np.minimum(by_parts, by_diameter))
        regret_terms = self.linear_regret - before.linear_regret + self.step_cost - before.step_cost
        regret_magnitude = np.abs(self.linear_regret) + np.abs(before.linear_regret)
        regret_magnitude = regret_magnitude + np.abs(self.step_cost) + np.abs(before.step_cost)
        return float((regret_terms + relative_error * regret_magnitude + distance).min())


SCALAR_SUMS = CertificateState._fields[:-1]
"""Names of the sums with one number for each expert."""


class Moment(NamedTuple):
    """A snapshot of a certificate's sums, for the bound of the window of rounds after it."""

    rounds: int
    """Number of rounds played before the snapshot."""
    sums: CertificateState
    base_offsets: Matrix
    """w, shape ``(N, d)``."""


def _distance_by_diameter(
    geometry: DomainGeometry, growth: Vector, largest: Vector, path_length: float
) -> Vector:
    """Return distance(P) in the second form, D^2 Lambda / 2 + D P max a, shape ``(N,)``."""
    return geometry.diameter**2 * growth / 2 + geometry.diameter * path_length * largest


def _squares(rows: Matrix) -> Vector:
    """Return the squared norm of each row."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
