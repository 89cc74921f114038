r"""Exact search for the largest change of gradient between logistic or between Huber losses.

Let b be the previous row, a the new row and :math:`\delta = a - b`. The previous prediction is
:math:`\zeta = \langle b, x \rangle`, and the new one is larger by :math:`\Delta = \langle \delta, x
\rangle`. With v the previous slope :math:`\varphi'` and e the change of the slope, the squared
gradient of the change is :math:`g = \|e\,a + v\,\delta\|^2`, a function of :math:`(\zeta, \Delta)`
alone. While one of the two predictions is fixed, g is convex in the slope of the other, and this
slope never decreases, so g is largest at an end of the range. Hence its maximum lies on the
boundary of the domain's projection to :math:`(\zeta, \Delta)`: an ellipse for a ball, a polygon for
a box or a simplex.

The boundary is cut into pieces. On a piece of length h

.. math:: g \le \max\{g_{\text{start}}, g_{\text{end}}\} + \tfrac{h^2}{8} \sup |g''| ,

so pieces that cannot hold the maximum are dropped and the others are halved (branch and bound),
until the bounds differ by rounding error only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple, Protocol, final

import numpy as np

from swordplay.core.types import Array, Domain, Vector
from swordplay.parts.domains import Ball, Box, Simplex, enclosing_ball, enclosing_box
from swordplay.parts.losses import HuberLoss, LinearLoss, LogisticLoss
from swordplay.parts.streams.linear import LinearRounds
from swordplay.theory.plane_projection import Plane, RowPairs, plane_of, project_corners
from swordplay.theory.variation_quadratic import Suprema

CHUNK_CHANGES = 1 << 12
"""Changes searched together over a ball, to limit the memory.

Over other domains it is divided by d, because their boundaries have more pieces.
"""
MAX_SIMPLEX_DIM = 24
"""Largest dimension of simplices that are searched: 276 segments between two corners."""
MAX_HALVINGS = 56
"""Most halvings of a piece of the boundary: after 53 its two ends are adjacent doubles."""
EXACT_TOLERANCE = 1e-10
"""Relative distance of upper and lower bound at which a supremum counts as exact."""
MAX_PIECES = 1 << 20
"""Most pieces that are searched together; if more remain, their suprema are set to infinity."""
INITIAL_ARCS = 8
"""Number of pieces of an ellipse before any of them is halved."""


def search_gradient_suprema(domain: Domain, rows: LinearRounds) -> Suprema:
    """Largest squared norm of the change of gradient from each row to the next over a domain.

    Infinite, and not exact, where the search would have too many pieces.
    """
    changes_per_chunk = (
        CHUNK_CHANGES if isinstance(domain, Ball) else max(1, CHUNK_CHANGES // domain.dim)
    )
    chunks = [
        _suprema_on_boundary(
            domain,
            _with_similar_signs(RowPairs.of_rounds(rows[i : i + changes_per_chunk + 1]), rows.loss),
            rows.loss,
        )
        for i in range(0, len(rows) - 1, changes_per_chunk)
    ]
    return Suprema(
        np.concatenate([chunk.values for chunk in chunks]), all(chunk.is_exact for chunk in chunks)
    )


def _with_similar_signs(pairs: RowPairs, family: LinearLoss) -> RowPairs:
    """Negate the previous row and mirror its target where that brings the two rows nearer.

    A loss does not change when its row is negated and its target mirrored, but two equal losses
    written with opposite rows would look like a large change.
    """
    is_opposite = np.einsum("ij,ij->i", pairs.rows, pairs.rows_before) < 0
    mirrored_targets = (
        1.0 - pairs.targets_before if isinstance(family, LogisticLoss) else -pairs.targets_before
    )
    return pairs._replace(
        rows_before=np.where(is_opposite[:, None], -pairs.rows_before, pairs.rows_before),
        targets_before=np.where(is_opposite, mirrored_targets, pairs.targets_before),
    )


@singledispatch
def _suprema_on_boundary(domain: Domain, pairs: RowPairs, family: LinearLoss) -> Suprema:
    # Domains of other kinds: the better of the bounds for an enclosing ball and an enclosing box.
    ball_bounds, box_bounds = (
        _suprema_on_boundary(enclose(domain), pairs, family)
        for enclose in (enclosing_ball, enclosing_box)
    )
    return Suprema(
        np.minimum(ball_bounds.values, box_bounds.values),
        is_exact=domain.dim == 1 and box_bounds.is_exact,
    )


@_suprema_on_boundary.register
def _(domain: Ball, pairs: RowPairs, family: LinearLoss) -> Suprema:
    length, along, across = plane = plane_of(pairs.rows, pairs.differences)
    # The plane has a = (length, 0), δ = (along, -across) and b = a - δ. The projection of the ball
    # onto it is a disc, whose boundary in (ζ, Δ) is the ellipse p + q cos(s) + r sin(s).
    p = np.stack([pairs.rows_before @ domain.center, pairs.differences @ domain.center])
    q = domain.radius * np.stack([length - along, along])
    r = domain.radius * np.stack([across, -across])
    slopes = _slopes(pairs, family)
    pieces = arcs_of_ellipses(p, q, r, slopes)
    return largest_on_boundary(pieces, slopes, plane, is_arc=True)


@_suprema_on_boundary.register
def _(domain: Box, pairs: RowPairs, family: LinearLoss) -> Suprema:
    corners = _predictions_at_corners(domain, pairs)
    return _suprema_on_segments(corners, np.roll(corners, -1, axis=1), pairs, family)


@_suprema_on_boundary.register
def _(domain: Simplex, pairs: RowPairs, family: LinearLoss) -> Suprema:
    if domain.dim > MAX_SIMPLEX_DIM:
        return Suprema(np.full(len(pairs.rows), np.inf), is_exact=False)
    # The edges of the projection are among the segments between any two projected corners, and all
    # of these segments lie in the projection.
    corners = _predictions_at_corners(domain, pairs)
    start_corners, end_corners = np.triu_indices(domain.dim, k=min(1, domain.dim - 1))
    return _suprema_on_segments(corners[:, start_corners], corners[:, end_corners], pairs, family)


def _predictions_at_corners(domain: Box | Simplex, pairs: RowPairs) -> Array:
    """(ζ, Δ) at the corners of the projection, shape ``(2, V, B)``."""
    zeros = np.zeros(len(pairs.rows))
    # With targets of 0 the coordinates e and v of a corner are Δ and ζ.
    e, v = project_corners(domain, pairs._replace(targets=zeros, targets_before=zeros))
    return np.stack([v, e])


def _suprema_on_segments(start: Array, end: Array, pairs: RowPairs, family: LinearLoss) -> Suprema:
    """Suprema over segments between points (ζ, Δ), shape ``(2, S, B)`` each."""
    pair_index = np.broadcast_to(np.arange(start.shape[2]), start.shape[1:]).ravel()
    slopes = _slopes(pairs, family)
    pieces = pieces_of_segments(start.reshape(2, -1), end.reshape(2, -1), pair_index, slopes)
    plane = plane_of(pairs.rows, pairs.differences)
    return largest_on_boundary(pieces, slopes, plane, is_arc=False)


def _slopes(pairs: RowPairs, family: LinearLoss) -> Slopes:
    if isinstance(family, HuberLoss):
        return HuberSlopes(pairs.targets_before, pairs.targets, family.threshold)
    return LogisticSlopes(pairs.targets_before, pairs.targets)


def largest_on_boundary(
    pieces: BoundaryPieces, slopes: Slopes, plane: Plane, is_arc: bool
) -> Suprema:
    r"""Largest :math:`\|e a + v \delta\|^2` of each change over its pieces, by branch and bound.

    Parameters
    ----------
    pieces
        Pieces of the boundary, without a kink of a slope inside.
    slopes
        Slopes of the B pairs of losses.
    plane
        The planes of the B changes.
    is_arc
        Whether the pieces are arcs of ellipses; otherwise they are segments.
    """
    # The largest value found, and the largest upper bound of the dropped pieces, for each change.
    lower, upper = np.zeros(len(plane.length)), np.zeros(len(plane.length))
    for _ in range(MAX_HALVINGS):
        values_at_ends = np.maximum(
            *(
                _squared_changes(pieces, s, slopes, plane, is_arc)
                for s in (pieces.start, pieces.end)
            )
        )
        np.maximum.at(lower, pieces.pair_index, values_at_ends)
        lengths = pieces.end - pieces.start
        bounds = values_at_ends + np.square(lengths) / 8 * _second_derivative_bounds(
            pieces, slopes, plane, is_arc
        )
        may_hold_maximum = bounds > (1.0 + EXACT_TOLERANCE) * lower[pieces.pair_index]
        np.maximum.at(upper, pieces.pair_index[~may_hold_maximum], bounds[~may_hold_maximum])
        pieces = pieces.select(may_hold_maximum)
        if not len(pieces.pair_index):
            return Suprema(np.maximum(upper, lower), is_exact=True)
        if 2 * len(pieces.pair_index) > MAX_PIECES:
            break
        pieces = pieces.halves()
    np.maximum.at(upper, pieces.pair_index, np.full(len(pieces.pair_index), np.inf))
    return Suprema(np.maximum(upper, lower), is_exact=False)


class BoundaryPieces(NamedTuple):
    r"""K pieces of boundaries: arcs of ellipses, or segments.

    Arcs are :math:`(\zeta, \Delta) = p + q \cos s + r \sin s`, segments :math:`p + q s`, for s from
    start to end.
    """

    pair_index: Any
    """Index of the change that a piece belongs to, shape ``(K,)``."""
    p: Array
    """Coordinates ζ and Δ of p, shape ``(2, K)``."""
    q: Array
    """Coordinates of q, shape ``(2, K)``."""
    r: Array
    """Coordinates of r, shape ``(2, K)``; not used by segments."""
    start: Vector
    """Smallest s of each piece, shape ``(K,)``."""
    end: Vector
    """Largest s of each piece, shape ``(K,)``."""

    def select(self, indices: Any) -> BoundaryPieces:
        """The pieces with these indices, or for which a boolean mask is true."""
        return BoundaryPieces(*(array[..., indices] for array in self))

    def halves(self) -> BoundaryPieces:
        """The two halves of each piece."""
        middle = 0.5 * (self.start + self.end)
        first_halves, second_halves = self._replace(end=middle), self._replace(start=middle)
        return BoundaryPieces(
            *(
                np.concatenate(arrays, axis=-1)
                for arrays in zip(first_halves, second_halves, strict=True)
            )
        )

    def zeta_and_increase(self, s: Vector, is_arc: bool) -> Array:
        """ζ and Δ at one s for each piece, shape ``(2, K)``."""
        return np.asarray(
            self.p + self.q * np.cos(s) + self.r * np.sin(s) if is_arc else self.p + self.q * s
        )


def arcs_of_ellipses(p: Array, q: Array, r: Array, slopes: Slopes) -> BoundaryPieces:
    """Arcs of B ellipses, one for each change, cut at kinks of the slopes.

    The ellipses are p + q cos(s) + r sin(s), with p, q and r of shape ``(2, B)``.
    """
    # ζ and ζ + Δ are constant + x cos s + y sin s. They reach a kink, which is `level` above the
    # constant, at s = atan2(y, x) ± acos(level / |(x, y)|).
    level = slopes.kinks() - np.stack([p[0], p[0] + p[1]])[:, None]
    x, y = np.stack([q[0], q[0] + q[1]])[:, None], np.stack([r[0], r[0] + r[1]])[:, None]
    amplitude = np.hypot(x, y)
    # A quotient beyond ±1 is a level that is not reached; clipped, it gives a harmless cut.
    quotient = np.divide(level, amplitude, out=np.full(level.shape, 2.0), where=amplitude > 0)
    half_angle = np.arccos(np.clip(quotient, -1.0, 1.0))
    center_angle = np.broadcast_to(np.arctan2(y, x), half_angle.shape)
    s_at_kinks = np.concatenate(
        [center_angle - half_angle, center_angle + half_angle], axis=1
    ).reshape(-1, p.shape[1])
    equidistant_cuts = np.linspace(0.0, 2 * np.pi, INITIAL_ARCS + 1)[:, None]
    equidistant_cuts = np.broadcast_to(equidistant_cuts, (INITIAL_ARCS + 1, p.shape[1]))
    cuts = np.concatenate([equidistant_cuts, s_at_kinks % (2 * np.pi)])
    return _pieces_between(cuts, p, q, r, np.arange(p.shape[1]))


def pieces_of_segments(start: Array, end: Array, pair_index: Any, slopes: Slopes) -> BoundaryPieces:
    """Segments, cut at kinks of the slopes.

    Parameters
    ----------
    start, end
        Ends (ζ, Δ), shape ``(2, K)`` each.
    pair_index
        Index of the change that each segment belongs to, shape ``(K,)``.
    slopes
        Slopes of the pairs of losses.
    """
    direction = end - start
    # ζ and ζ + Δ are constant + speed s. They reach a kink, which is `level` above the constant, at
    # s = level / speed.
    level = slopes.kinks()[:, :, pair_index] - np.stack([start[0], start[0] + start[1]])[:, None]
    speed = np.stack([direction[0], direction[0] + direction[1]])[:, None]
    s_at_kinks = np.divide(level, speed, out=np.zeros(level.shape), where=speed != 0).reshape(
        -1, start.shape[1]
    )
    s_at_ends = np.zeros((2, start.shape[1]))
    s_at_ends[1] = 1.0
    cuts = np.concatenate([s_at_ends, np.clip(s_at_kinks, 0.0, 1.0)])
    return _pieces_between(cuts, start, direction, np.zeros_like(direction), pair_index)


def _pieces_between(cuts: Array, p: Array, q: Array, r: Array, pair_index: Any) -> BoundaryPieces:
    """The pieces between the cuts of K curves, shape ``(C, K)``, in any order."""
    cuts = np.sort(cuts, axis=0)
    cut, curve = np.nonzero(cuts[1:] > cuts[:-1])  # indices of the pieces that are not empty
    return BoundaryPieces(
        pair_index[curve],
        p[:, curve],
        q[:, curve],
        r[:, curve],
        cuts[cut, curve],
        cuts[cut + 1, curve],
    )


class DerivativeBounds(NamedTuple):
    """Bounds on absolute values of derivatives of φ over pieces, shape ``(K,)`` each."""

    second_before: Vector
    """φ'' of the previous loss."""
    second_new: Vector
    """φ'' of the new loss."""
    second_difference: Vector
    """Difference of the two φ''."""
    third_before: Vector
    """φ''' of the previous loss."""
    third_new: Vector
    """φ''' of the new loss."""
    third_difference: Vector
    """Difference of the two φ'''."""


class Slopes(Protocol):
    """Slopes φ' of a family of losses, for B pairs of a previous and a new row.

    Arguments have shape ``(K,)``: ``pair_index`` chooses the pair of rows, ``zeta`` is the previous
    prediction ζ, ``increase`` is Δ.
    """

    def e_and_v(self, pair_index: Any, zeta: Vector, increase: Vector) -> tuple[Vector, Vector]:
        """e, the change of the slope, and v, the previous slope, at predictions ζ + Δ and ζ."""
        ...

    def derivative_bounds(
        self,
        pair_index: Any,
        zeta: Vector,
        increase: Vector,
        radius: Vector,
        max_abs_increase: Vector,
    ) -> DerivativeBounds:
        """Bounds over predictions within ``radius`` of ζ and of ζ + Δ, with the largest |Δ|."""
        ...

    def kinks(self) -> Array:
        """C values of ζ, and of ζ + Δ, at which a slope is not differentiable, ``(2, C, B)``."""
        ...


@final
@dataclass(frozen=True)
class LogisticSlopes:
    """φ' = σ(z) - y with the sigmoid σ."""

    targets_before: Vector
    """Targets of the previous rows, shape ``(B,)``."""
    targets: Vector
    """Targets of the new rows, shape ``(B,)``."""

    def e_and_v(self, pair_index: Any, zeta: Vector, increase: Vector) -> tuple[Vector, Vector]:
        """e = σ(z) - σ(ζ) + y_{t-1} - y_t and v = σ(ζ) - y_{t-1}, without cancellation.

        σ(z) - σ(ζ) = σ(z) σ(-ζ) (1 - exp(-Δ)), with z and ζ exchanged where Δ is negative, as
        exp(-Δ) could overflow.
        """
        is_decrease = increase < 0
        high = np.where(is_decrease, zeta, zeta + increase)
        low = np.where(is_decrease, zeta + increase, zeta)
        rise = _sigmoid(high) * _sigmoid(-low) * -np.expm1(-np.abs(increase))
        y, y_before = self.targets[pair_index], self.targets_before[pair_index]
        # σ(ζ) - 1 = -σ(-ζ): exact where σ(ζ) is near 1.
        v = np.where(y_before > 0.5, -_sigmoid(-zeta), _sigmoid(zeta))
        return np.where(is_decrease, -rise, rise) + (y_before - y), v

    def derivative_bounds(
        self,
        pair_index: Any,
        zeta: Vector,
        increase: Vector,
        radius: Vector,
        max_abs_increase: Vector,
    ) -> DerivativeBounds:
        """From σ' <= 1/4, |σ''| <= 0.097, |σ'''| <= 1/8; each is also at most exp(-|z|)."""
        tail_before = np.exp(-np.maximum(np.abs(zeta) - radius, 0.0))
        tail_new = np.exp(-np.maximum(np.abs(zeta + increase) - radius, 0.0))
        largest_tail = np.maximum(tail_before, tail_new)
        second = np.minimum(0.25, tail_before), np.minimum(0.25, tail_new)
        third = np.minimum(0.097, tail_before), np.minimum(0.097, tail_new)
        # A difference of derivatives is bounded by the mean value theorem and by their sizes.
        second_difference = np.minimum(0.097 * max_abs_increase, np.maximum(*second))
        third_difference = np.minimum(
            0.125 * max_abs_increase, 2.0 * np.minimum(0.097, largest_tail)
        )
        return DerivativeBounds(*second, second_difference, *third, third_difference)

    def kinks(self) -> Array:
        """None: the slopes are smooth."""
        return np.empty((2, 0, len(self.targets)))


@final
@dataclass(frozen=True)
class HuberSlopes:
    """φ' = the residual, clipped to [-threshold, threshold]."""

    targets_before: Vector
    """Targets of the previous rows, shape ``(B,)``."""
    targets: Vector
    """Targets of the new rows, shape ``(B,)``."""
    threshold: float

    def e_and_v(self, pair_index: Any, zeta: Vector, increase: Vector) -> tuple[Vector, Vector]:
        """e and v; where neither residual is clipped, e is their difference, computed exactly."""
        threshold, residual = self.threshold, zeta - self.targets_before[pair_index]
        residual_change = increase + (self.targets_before[pair_index] - self.targets[pair_index])
        v = np.clip(residual, -threshold, threshold)
        u = np.clip(residual + residual_change, -threshold, threshold)
        is_unclipped = (np.abs(residual) <= threshold) & (
            np.abs(residual + residual_change) <= threshold
        )
        return np.where(is_unclipped, residual_change, u - v), v

    def derivative_bounds(
        self,
        pair_index: Any,
        zeta: Vector,
        increase: Vector,
        radius: Vector,
        max_abs_increase: Vector,
    ) -> DerivativeBounds:
        """φ'' is 1 within the threshold and 0 beyond; a piece lies on one side of it."""
        second_before = (np.abs(zeta - self.targets_before[pair_index]) <= self.threshold).astype(
            np.float64
        )
        second_new = (np.abs(zeta + increase - self.targets[pair_index]) <= self.threshold).astype(
            np.float64
        )
        zero = np.zeros_like(second_before)
        return DerivativeBounds(
            second_before, second_new, np.abs(second_new - second_before), zero, zero, zero
        )

    def kinks(self) -> Array:
        """Predictions whose residual is minus or plus the threshold."""
        limits = np.array([-self.threshold, self.threshold])[:, None]
        return np.stack([self.targets_before + limits, self.targets + limits])


def _squared_changes(
    pieces: BoundaryPieces, s: Vector, slopes: Slopes, plane: Plane, is_arc: bool
) -> Vector:
    """g = |e a + v δ|^2 at one s for each piece, shape ``(K,)``."""
    e, v = slopes.e_and_v(pieces.pair_index, *pieces.zeta_and_increase(s, is_arc))
    length, along, across = (array[pieces.pair_index] for array in plane)
    return np.asarray(np.square(e * length + v * along) + np.square(v * across))


class SizeAndDerivatives(NamedTuple):
    """Bounds on a function of s over each of K pieces, shape ``(K,)`` each."""

    size_at_middle: Vector
    """Absolute value in the middle of the piece."""
    first_derivative: Vector
    """Absolute value of the first derivative."""
    second_derivative: Vector
    """Absolute value of the second derivative."""


def _second_derivative_bounds(
    pieces: BoundaryPieces, slopes: Slopes, plane: Plane, is_arc: bool
) -> Vector:
    """Bound on |g''| over each piece, by the chain rule: the smaller of two bounds.

    The bound from g = |e a + v δ|^2 is small where δ, the difference of the rows, is short. The
    bound from g = |u a - v b|^2, with u the new slope, is small where u or v is constant.
    """
    half_length = 0.5 * (pieces.end - pieces.start)
    zeta, increase = pieces.zeta_and_increase(pieces.start + half_length, is_arc)
    # Bounds on the first (_d1) and second (_d2) derivatives by s of ζ, Δ and the new prediction
    # z = ζ + Δ.
    zeta_d1, increase_d1 = _largest_speed(pieces.q, pieces.r, is_arc)
    z_d1 = _largest_speed(pieces.q[0] + pieces.q[1], pieces.r[0] + pieces.r[1], is_arc)
    zeta_d2, increase_d2, z_d2 = (
        (zeta_d1, increase_d1, z_d1) if is_arc else (np.zeros_like(zeta_d1),) * 3
    )
    bounds = slopes.derivative_bounds(
        pieces.pair_index,
        zeta,
        increase,
        np.maximum(zeta_d1, z_d1) * half_length,
        np.abs(increase) + increase_d1 * half_length,
    )
    e, v = slopes.e_and_v(pieces.pair_index, zeta, increase)
    # v = φ'(ζ): v' = φ''(ζ) ζ' and v'' = φ'''(ζ) ζ'^2 + φ''(ζ) ζ''; u alike, with z.
    v_bounds = SizeAndDerivatives(
        np.abs(v),
        bounds.second_before * zeta_d1,
        bounds.third_before * zeta_d1**2 + bounds.second_before * zeta_d2,
    )
    u_bounds = SizeAndDerivatives(
        np.abs(e + v),
        bounds.second_new * z_d1,
        bounds.third_new * z_d1**2 + bounds.second_new * z_d2,
    )
    # e = u - v: e' = φ''(z) Δ' + (φ''(z) - φ''(ζ)) ζ' and
    # e'' = φ''(z) Δ'' + (φ''(z) - φ''(ζ)) ζ'' + φ'''(z) Δ' (z' + ζ') + (φ'''(z) - φ'''(ζ)) ζ'^2.
    e_bounds = SizeAndDerivatives(
        np.abs(e),
        bounds.second_new * increase_d1 + bounds.second_difference * zeta_d1,
        bounds.second_new * increase_d2
        + bounds.second_difference * zeta_d2
        + bounds.third_new * increase_d1 * (z_d1 + zeta_d1)
        + bounds.third_difference * zeta_d1**2,
    )
    length, along, across = (array[pieces.pair_index] for array in plane)
    # In the coordinates of the plane g = (e length + v along)^2 + (v across)^2.
    bound_from_difference = _squared_sum_bounds(
        (e_bounds, length), (v_bounds, np.abs(along)), half_length=half_length
    )
    bound_from_difference = bound_from_difference + _squared_sum_bounds(
        (v_bounds, across), half_length=half_length
    )
    length_of_b = np.hypot(length - along, across)
    bound_from_rows = _squared_sum_bounds(
        (u_bounds, length), (v_bounds, length_of_b), half_length=half_length
    )
    return np.minimum(bound_from_difference, bound_from_rows)


def _squared_sum_bounds(*terms: tuple[SizeAndDerivatives, Vector], half_length: Vector) -> Vector:
    """Bound on |(h^2)''| over each piece, for h the sum of the functions times their factors.

    (h^2)'' = 2 (h'^2 + h h'') with |h| <= |h in the middle| + half_length max |h'|.
    """
    size = sum(
        (bounds.size_at_middle + bounds.first_derivative * half_length) * factor
        for bounds, factor in terms
    )
    first = sum(bounds.first_derivative * factor for bounds, factor in terms)
    second = sum(bounds.second_derivative * factor for bounds, factor in terms)
    return np.asarray(2.0 * (np.square(first) + size * second))


def _largest_speed(q: Array, r: Array, is_arc: bool) -> Array:
    """Largest |derivative by s| of coordinates with the coefficients q and r, any shape."""
    return np.hypot(q, r) if is_arc else np.abs(q)


def _sigmoid(z: Array) -> Array:
    """1 / (1 + exp(-z)), without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -z)))
