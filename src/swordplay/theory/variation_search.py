r"""Exact search for the largest change of gradient between logistic or between Huber losses.

With :math:`\zeta = \langle b, x \rangle` the prediction by the previous row b and :math:`\Delta =
\langle \delta, x \rangle` the difference of the new row's prediction from it, :math:`g = \|e\,a +
v\,\delta\|^2` depends on :math:`(\zeta, \Delta)` alone. If only one of the two predictions
changes, g is a convex function of a slope that never decreases, so it is largest at an end of the
range. Hence its maximum lies on the boundary of the domain's projection onto this plane: an ellipse
for a ball, a polygon for a box or a simplex.

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

CHUNK = 1 << 12
"""Changes searched together over a ball, d times as many as elsewhere; it limits the memory."""
MAX_SIMPLEX_DIM = 24
"""Largest dimension of simplices: the 276 segments between two corners are searched."""
MAX_HALVINGS = 56
"""Most halvings of a piece of the boundary: after 53 its ends are one double."""
EXACT_WITHIN = 1e-10
"""Relative distance of upper and lower bound at which a supremum counts as exact."""
MAX_PIECES = 1 << 20
"""Most pieces that are searched together; if more remain, the result is an upper bound."""
FIRST_ARCS = 8
"""Pieces of an ellipse to begin with."""


def search_gradient_suprema(domain: Domain, rows: LinearRounds) -> Suprema:
    """Largest squared norm of the change of gradient from each row to the next over a domain.

    Infinite, and not exact, where the search would have too many pieces.
    """
    pairs_per_chunk = CHUNK if isinstance(domain, Ball) else max(1, CHUNK // domain.dim)
    chunks = [
        _suprema_on_boundary(
            domain,
            _with_similar_signs(RowPairs.of_rows(rows[i : i + pairs_per_chunk + 1]), rows.family),
            rows.family,
        )
        for i in range(0, len(rows) - 1, pairs_per_chunk)
    ]
    return Suprema(
        np.concatenate([chunk.values for chunk in chunks]), all(chunk.is_exact for chunk in chunks)
    )


def _with_similar_signs(pairs: RowPairs, family: LinearLoss) -> RowPairs:
    """The same losses, with the previous row negated where that brings it nearer to the new row.

    A negated row with the mirrored target is the same loss. Without this, a pair of equal losses
    could look like a large change of both row and target.
    """
    is_opposite = np.einsum("ij,ij->i", pairs.rows, pairs.rows_before) < 0
    mirrored = (
        1.0 - pairs.targets_before if isinstance(family, LogisticLoss) else -pairs.targets_before
    )
    return pairs._replace(
        rows_before=np.where(is_opposite[:, None], -pairs.rows_before, pairs.rows_before),
        targets_before=np.where(is_opposite, mirrored, pairs.targets_before),
    )


@singledispatch
def _suprema_on_boundary(domain: Domain, pairs: RowPairs, family: LinearLoss) -> Suprema:
    # Domains of other kinds: the better of the bounds for an enclosing ball and an enclosing box.
    by_ball, by_box = (
        _suprema_on_boundary(enclose(domain), pairs, family)
        for enclose in (enclosing_ball, enclosing_box)
    )
    return Suprema(
        np.minimum(by_ball.values, by_box.values), is_exact=domain.dim == 1 and by_box.is_exact
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
    return Suprema(*largest_on_boundary(pieces, slopes, plane, is_arc=True))


@_suprema_on_boundary.register
def _(domain: Box, pairs: RowPairs, family: LinearLoss) -> Suprema:
    corners = _predictions_at_corners(domain, pairs)
    return _suprema_on_segments(corners, np.roll(corners, -1, axis=1), pairs, family)


@_suprema_on_boundary.register
def _(domain: Simplex, pairs: RowPairs, family: LinearLoss) -> Suprema:
    if domain.dim > MAX_SIMPLEX_DIM:
        return Suprema(np.full(len(pairs.rows), np.inf), is_exact=False)
    # The edges of the projection are among the segments between the images of any two corners, and
    # all of these segments lie in the projection.
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
    change = np.broadcast_to(np.arange(start.shape[2]), start.shape[1:]).ravel()
    slopes = _slopes(pairs, family)
    pieces = pieces_of_segments(start.reshape(2, -1), end.reshape(2, -1), change, slopes)
    plane = plane_of(pairs.rows, pairs.differences)
    return Suprema(*largest_on_boundary(pieces, slopes, plane, is_arc=False))


def _slopes(pairs: RowPairs, family: LinearLoss) -> Slopes:
    if isinstance(family, HuberLoss):
        return HuberSlopes(pairs.targets_before, pairs.targets, family.threshold)
    return LogisticSlopes(pairs.targets_before, pairs.targets)


def largest_on_boundary(
    pieces: BoundaryPieces, slopes: Slopes, plane: Plane, is_arc: bool
) -> tuple[Vector, bool]:
    r"""Largest :math:`\|e a + v \delta\|^2` of each change over its pieces, by branch and bound.

    Parameters
    ----------
    pieces
        Pieces of the boundary, without a corner of a slope inside.
    slopes
        The family of losses.
    plane
        The planes of the B changes.
    is_arc
        Whether the pieces are arcs of ellipses; otherwise they are segments.

    Returns
    -------
    tuple
        The largest values, shape ``(B,)``, and whether they are exact; otherwise upper bounds.
    """
    # Largest value found, and largest upper bound of the pieces that are dropped.
    lower, upper = np.zeros(len(plane.length)), np.zeros(len(plane.length))
    for _ in range(MAX_HALVINGS):
        at_ends = np.maximum(
            *(
                _squared_changes(pieces, s, slopes, plane, is_arc)
                for s in (pieces.start, pieces.end)
            )
        )
        np.maximum.at(lower, pieces.change, at_ends)
        bounds = at_ends + np.square(pieces.end - pieces.start) / 8 * _second_derivative_bounds(
            pieces, slopes, plane, is_arc
        )
        is_open = bounds > (1.0 + EXACT_WITHIN) * lower[pieces.change]
        np.maximum.at(upper, pieces.change[~is_open], bounds[~is_open])
        pieces = pieces.select(is_open)
        if not len(pieces.change):
            return np.maximum(upper, lower), True
        if 2 * len(pieces.change) > MAX_PIECES:
            break
        pieces = pieces.halves()
    np.maximum.at(upper, pieces.change, np.full(len(pieces.change), np.inf))
    return np.maximum(upper, lower), False


class BoundaryPieces(NamedTuple):
    r"""K pieces of boundaries: arcs of ellipses, or segments.

    Arcs are :math:`(\zeta, \Delta) = p + q \cos s + r \sin s`, segments :math:`p + q s`, for s from
    start to end.
    """

    change: Any
    """Which change a piece belongs to, shape ``(K,)``."""
    p: Array
    """Shape ``(2, K)``, as q and r."""
    q: Array
    r: Array
    start: Vector
    """Shape ``(K,)``, as end."""
    end: Vector

    def select(self, indices: Any) -> BoundaryPieces:
        """The pieces of the given indices."""
        return BoundaryPieces(*(part[..., indices] for part in self))

    def halves(self) -> BoundaryPieces:
        """Two pieces for each piece."""
        middle = 0.5 * (self.start + self.end)
        lower_halves, upper_halves = self._replace(end=middle), self._replace(start=middle)
        return BoundaryPieces(
            *(
                np.concatenate(parts, axis=-1)
                for parts in zip(lower_halves, upper_halves, strict=True)
            )
        )

    def at(self, s: Vector, is_arc: bool) -> Array:
        """ζ and Δ at one s for each piece, shape ``(2, K)``."""
        return np.asarray(
            self.p + self.q * np.cos(s) + self.r * np.sin(s) if is_arc else self.p + self.q * s
        )


def arcs_of_ellipses(p: Array, q: Array, r: Array, slopes: Slopes) -> BoundaryPieces:
    """Arcs of B ellipses, one for each change, cut at corners of the slopes.

    The ellipses are p + q cos(s) + r sin(s), with p, q and r of shape ``(2, B)``.
    """
    # ζ and ζ + Δ are x cos s + y sin s + constant. They reach a level at s = atan2(y, x) ±
    # acos(level / |(x, y)|).
    level = slopes.corners() - np.stack([p[0], p[0] + p[1]])[:, None]
    x, y = np.stack([q[0], q[0] + q[1]])[:, None], np.stack([r[0], r[0] + r[1]])[:, None]
    amplitude = np.hypot(x, y)
    # A quotient beyond ±1 is a level that is not reached; clipped, it gives a harmless cut.
    quotient = np.divide(level, amplitude, out=np.full(level.shape, 2.0), where=amplitude > 0)
    half_angle = np.arccos(np.clip(quotient, -1.0, 1.0))
    center_angle = np.broadcast_to(np.arctan2(y, x), half_angle.shape)
    at_corners = np.concatenate(
        [center_angle - half_angle, center_angle + half_angle], axis=1
    ).reshape(-1, p.shape[1])
    even_cuts = np.linspace(0.0, 2 * np.pi, FIRST_ARCS + 1)[:, None]
    even_cuts = np.broadcast_to(even_cuts, (FIRST_ARCS + 1, p.shape[1]))
    cuts = np.concatenate([even_cuts, at_corners % (2 * np.pi)])
    return _pieces_between(cuts, p, q, r, np.arange(p.shape[1]))


def pieces_of_segments(start: Array, end: Array, change: Any, slopes: Slopes) -> BoundaryPieces:
    """Segments, cut at corners of the slopes.

    Parameters
    ----------
    start, end
        Ends (ζ, Δ), shape ``(2, K)`` each.
    change
        Which change each segment belongs to, shape ``(K,)``.
    slopes
        The family of losses.
    """
    direction = end - start
    level = slopes.corners()[:, :, change] - np.stack([start[0], start[0] + start[1]])[:, None]
    speed = np.stack([direction[0], direction[0] + direction[1]])[:, None]
    at_corners = np.divide(level, speed, out=np.zeros(level.shape), where=speed != 0).reshape(
        -1, start.shape[1]
    )
    ends = np.zeros((2, start.shape[1]))
    ends[1] = 1.0
    cuts = np.concatenate([ends, np.clip(at_corners, 0.0, 1.0)])
    return _pieces_between(cuts, start, direction, np.zeros_like(direction), change)


def _pieces_between(cuts: Array, p: Array, q: Array, r: Array, change: Any) -> BoundaryPieces:
    """The pieces between the cuts of K curves, shape ``(C, K)``, in any order."""
    cuts = np.sort(cuts, axis=0)
    cut, curve = np.nonzero(cuts[1:] > cuts[:-1])
    return BoundaryPieces(
        change[curve],
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
    """Slopes φ' of a family of losses, for B pairs of rows.

    ``step`` is Δ, not a step of descent, and ``change`` holds indices of pairs of rows.
    """

    def pair(self, change: Any, zeta: Vector, step: Vector) -> tuple[Vector, Vector]:
        """e and v of changes with the given indices at predictions ζ and ζ + Δ, all ``(K,)``."""
        ...

    def derivative_bounds(
        self, change: Any, zeta: Vector, step: Vector, reach: Vector, largest_step: Vector
    ) -> DerivativeBounds:
        """Bounds for predictions within ``reach`` of ζ and of ζ + Δ and |Δ| <= largest_step."""
        ...

    def corners(self) -> Array:
        """ζ, and ζ + Δ, at which a slope is not differentiable, shape ``(2, C, B)``."""
        ...


@final
@dataclass(frozen=True)
class LogisticSlopes:
    """φ' = σ(z) - y with the sigmoid σ."""

    targets_before: Vector
    """Targets of the previous rows, shape ``(B,)``."""
    targets: Vector
    """Targets of the new rows, shape ``(B,)``."""

    def pair(self, change: Any, zeta: Vector, step: Vector) -> tuple[Vector, Vector]:
        """e = σ(z) - σ(ζ) + y_{t-1} - y_t and v = σ(ζ) - y_{t-1}, without cancellation.

        σ(z) - σ(ζ) = σ(z) σ(-ζ) (1 - exp(-Δ)), with z and ζ exchanged where Δ is negative, as
        exp(-Δ) could overflow.
        """
        is_decrease = step < 0
        high = np.where(is_decrease, zeta, zeta + step)
        low = np.where(is_decrease, zeta + step, zeta)
        rise = _sigmoid(high) * _sigmoid(-low) * -np.expm1(-np.abs(step))
        y, y_before = self.targets[change], self.targets_before[change]
        # σ(ζ) - 1 = -σ(-ζ): exact where σ(ζ) is near 1.
        v = np.where(y_before > 0.5, -_sigmoid(-zeta), _sigmoid(zeta))
        return np.where(is_decrease, -rise, rise) + (y_before - y), v

    def derivative_bounds(
        self, change: Any, zeta: Vector, step: Vector, reach: Vector, largest_step: Vector
    ) -> DerivativeBounds:
        """σ' <= 1/4, |σ''| <= 0.097, |σ'''| <= 1/8, and each is at most exp(-|z|)."""
        tail_before = np.exp(-np.maximum(np.abs(zeta) - reach, 0.0))
        tail_new = np.exp(-np.maximum(np.abs(zeta + step) - reach, 0.0))
        largest_tail = np.maximum(tail_before, tail_new)
        second = np.minimum(0.25, tail_before), np.minimum(0.25, tail_new)
        third = np.minimum(0.097, tail_before), np.minimum(0.097, tail_new)
        # A difference of derivatives is bounded by the mean value theorem and by their sizes.
        difference = np.minimum(0.097 * largest_step, np.maximum(*second))
        third_difference = np.minimum(0.125 * largest_step, 2.0 * np.minimum(0.097, largest_tail))
        return DerivativeBounds(*second, difference, *third, third_difference)

    def corners(self) -> Array:
        """None: the slopes are smooth."""
        return np.empty((2, 0, len(self.targets)))


@final
@dataclass(frozen=True)
class HuberSlopes:
    """φ' = the residual, clipped at the threshold."""

    targets_before: Vector
    """Targets of the previous rows, shape ``(B,)``."""
    targets: Vector
    """Targets of the new rows, shape ``(B,)``."""
    threshold: float

    def pair(self, change: Any, zeta: Vector, step: Vector) -> tuple[Vector, Vector]:
        """e and v; where neither residual is clipped, e is their difference, computed exactly."""
        threshold, residual = self.threshold, zeta - self.targets_before[change]
        difference = step + (self.targets_before[change] - self.targets[change])
        v = np.clip(residual, -threshold, threshold)
        u = np.clip(residual + difference, -threshold, threshold)
        is_unclipped = (np.abs(residual) <= threshold) & (
            np.abs(residual + difference) <= threshold
        )
        return np.where(is_unclipped, difference, u - v), v

    def derivative_bounds(
        self, change: Any, zeta: Vector, step: Vector, reach: Vector, largest_step: Vector
    ) -> DerivativeBounds:
        """φ'' is 1 within the threshold and 0 beyond; a piece lies on one side of it."""
        second_before = (np.abs(zeta - self.targets_before[change]) <= self.threshold).astype(
            np.float64
        )
        second_new = (np.abs(zeta + step - self.targets[change]) <= self.threshold).astype(
            np.float64
        )
        zero = np.zeros_like(second_before)
        return DerivativeBounds(
            second_before, second_new, np.abs(second_new - second_before), zero, zero, zero
        )

    def corners(self) -> Array:
        """Predictions with residuals of plus and minus the threshold."""
        ends = np.array([-self.threshold, self.threshold])[:, None]
        return np.stack([self.targets_before + ends, self.targets + ends])


def _squared_changes(
    pieces: BoundaryPieces, s: Vector, slopes: Slopes, plane: Plane, is_arc: bool
) -> Vector:
    """g = |e a + v δ|^2 at one s for each piece, shape ``(K,)``."""
    e, v = slopes.pair(pieces.change, *pieces.at(s, is_arc))
    length, along, across = (part[pieces.change] for part in plane)
    return np.asarray(np.square(e * length + v * along) + np.square(v * across))


class SizeAndDerivatives(NamedTuple):
    """Bounds on a function of s over each of K pieces, shape ``(K,)`` each."""

    at_middle: Vector
    """Absolute value in the middle of the piece."""
    first: Vector
    """Absolute value of the first derivative."""
    second: Vector
    """Absolute value of the second derivative."""


def _second_derivative_bounds(
    pieces: BoundaryPieces, slopes: Slopes, plane: Plane, is_arc: bool
) -> Vector:
    """Bound on |g''| over each piece, by the chain rule: the smaller of two bounds.

    One, from g = |e a + v δ|^2, is small where δ, the difference of the rows, is short. The other,
    from g = |u a - v b|^2, is small where one of the slopes u and v is constant.
    """
    half_length = 0.5 * (pieces.end - pieces.start)
    zeta, step = pieces.at(pieces.start + half_length, is_arc)
    # Bounds on first and second derivatives of ζ, Δ and the new prediction z = ζ + Δ.
    zeta_1, step_1 = _largest_speed(pieces.q, pieces.r, is_arc)
    z_1 = _largest_speed(pieces.q[0] + pieces.q[1], pieces.r[0] + pieces.r[1], is_arc)
    zeta_2, step_2, z_2 = (zeta_1, step_1, z_1) if is_arc else (np.zeros_like(zeta_1),) * 3
    bounds = slopes.derivative_bounds(
        pieces.change,
        zeta,
        step,
        np.maximum(zeta_1, z_1) * half_length,
        np.abs(step) + step_1 * half_length,
    )
    e, v = slopes.pair(pieces.change, zeta, step)
    # v = φ'(ζ): v' = φ''(ζ) ζ' and v'' = φ'''(ζ) ζ'^2 + φ''(ζ) ζ''; u alike, with z.
    v_bounds = SizeAndDerivatives(
        np.abs(v),
        bounds.second_before * zeta_1,
        bounds.third_before * zeta_1**2 + bounds.second_before * zeta_2,
    )
    u_bounds = SizeAndDerivatives(
        np.abs(e + v), bounds.second_new * z_1, bounds.third_new * z_1**2 + bounds.second_new * z_2
    )
    # e = u - v: e' = φ''(z) Δ' + (φ''(z) - φ''(ζ)) ζ' and
    # e'' = φ''(z) Δ'' + (φ''(z) - φ''(ζ)) ζ'' + φ'''(z) Δ' (z' + ζ') + (φ'''(z) - φ'''(ζ)) ζ'^2.
    e_bounds = SizeAndDerivatives(
        np.abs(e),
        bounds.second_new * step_1 + bounds.second_difference * zeta_1,
        bounds.second_new * step_2
        + bounds.second_difference * zeta_2
        + bounds.third_new * step_1 * (z_1 + zeta_1)
        + bounds.third_difference * zeta_1**2,
    )
    length, along, across = (part[pieces.change] for part in plane)
    by_steps = _squared_sum_bounds(
        (e_bounds, length), (v_bounds, np.abs(along)), half_length=half_length
    )
    by_steps = by_steps + _squared_sum_bounds((v_bounds, across), half_length=half_length)
    length_of_b = np.hypot(length - along, across)
    by_rows = _squared_sum_bounds(
        (u_bounds, length), (v_bounds, length_of_b), half_length=half_length
    )
    return np.minimum(by_steps, by_rows)


def _squared_sum_bounds(*terms: tuple[SizeAndDerivatives, Vector], half_length: Vector) -> Vector:
    """Bound on the second derivative of the square of a sum of functions times factors.

    (h^2)'' = 2 (h'^2 + h h'') with |h| <= |h in the middle| + half_length |h'|.
    """
    size = sum((bounds.at_middle + bounds.first * half_length) * factor for bounds, factor in terms)
    first = sum(bounds.first * factor for bounds, factor in terms)
    second = sum(bounds.second * factor for bounds, factor in terms)
    return np.asarray(2.0 * (np.square(first) + size * second))


def _largest_speed(q: Array, r: Array, is_arc: bool) -> Array:
    """Largest derivative by s of a coordinate of the boundary."""
    return np.hypot(q, r) if is_arc else np.abs(q)


def _sigmoid(z: Array) -> Array:
    """1 / (1 + exp(-z)), without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -z)))
