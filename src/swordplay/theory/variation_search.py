r"""From one logistic or Huber loss to the next: the rim of the domain's shadow is searched for
the largest change.

Largest change of gradients between logistic or between Huber losses, exactly: along the rim of
the domain's shadow.

With :math:`\zeta = \langle b, x \rangle` the prediction by the last row and :math:`\Delta = \langle
\delta, x \rangle` what the step of the rows adds to it, :math:`g = \|e\,a + v\,\delta\|^2` depends
on :math:`(\zeta, \Delta)` alone. It is convex in each of the two slopes, and slopes never fall, so
that it is largest on the rim of the domain's shadow in that plane: an ellipse for a ball, a polygon
for a box or a simplex. Along a piece of the rim of length h

.. math:: g \le \max\{g_{\text{start}}, g_{\text{end}}\} + \tfrac{h^2}{8} \sup |g''| ,

so pieces that cannot hold the maximum are dropped and the others are halved, until what is left is
rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple, Protocol, final

import numpy as np

from swordplay.core.types import Array, Domain, Vector
from swordplay.parts.domains import Ball, Box, Simplex, enclosing_ball, enclosing_box
from swordplay.parts.losses import HuberLoss, LinearLoss, LogisticLoss
from swordplay.parts.streams.linear import Rows
from swordplay.theory.plane_projection import Pairs, Plane, plane_of, shadow
from swordplay.theory.variation_quadratic import Suprema

RIMS = 1 << 12
"""Changes whose rims are searched together, so that memory does not grow with the rounds."""
SEGMENT_DIM = 24
"""Simplices of at most so many coordinates have all segments between two of their vertices
searched: 276 of them.
"""


def gradients_on_rims(domain: Domain, rows: Rows) -> Suprema:
    """Largest squared change of gradient from each row to the next: exact, or infinite where the
    search is not for it.
    """
    at_once = RIMS if isinstance(domain, Ball) else max(1, RIMS // domain.dim)
    starts = range(0, len(rows) - 1, at_once)
    parts = [
        _on_rim(domain, _alike(Pairs.of_rows(rows[i : i + at_once + 1]), rows.family), rows.family)
        for i in starts
    ]
    return Suprema(
        np.concatenate([part.values for part in parts]), all(part.exact for part in parts)
    )


def _alike(pairs: Pairs, family: LinearLoss) -> Pairs:
    """The same losses, with the row before turned round where that brings it nearer to its
    successor.

    A row and its target's mirror image are the same loss: what looks like a large change of both
    may be none at all.
    """
    turn = np.einsum("ij,ij->i", pairs.now, pairs.before) < 0
    mirrored = (
        1.0 - pairs.targets_before if isinstance(family, LogisticLoss) else -pairs.targets_before
    )
    return pairs._replace(
        before=np.where(turn[:, None], -pairs.before, pairs.before),
        targets_before=np.where(turn, mirrored, pairs.targets_before),
    )


@singledispatch
def _on_rim(domain: Domain, pairs: Pairs, family: LinearLoss) -> Suprema:
    by_ball, by_box = (
        _on_rim(around(domain), pairs, family) for around in (enclosing_ball, enclosing_box)
    )
    return Suprema(
        np.minimum(by_ball.values, by_box.values), exact=domain.dim == 1 and by_box.exact
    )


@_on_rim.register
def _(domain: Ball, pairs: Pairs, family: LinearLoss) -> Suprema:
    length, along, across = plane = plane_of(pairs.now, pairs.steps)
    # The plane has a = (length, 0), δ = (along, -across) and b = a - δ; the ball's shadow in it is
    # a disc.
    p = np.stack([pairs.before @ domain.center, pairs.steps @ domain.center])
    q, r = (
        domain.radius * np.stack([length - along, along]),
        domain.radius * np.stack([across, -across]),
    )
    slopes = _slopes(pairs, family)
    return Suprema(*largest_on_rim(arcs_of(p, q, r, slopes), slopes, plane, arcs=True))


@_on_rim.register
def _(domain: Box, pairs: Pairs, family: LinearLoss) -> Suprema:
    corners = _predicted(domain, pairs)
    return _along_edges(corners, np.roll(corners, -1, axis=1), pairs, family)


@_on_rim.register
def _(domain: Simplex, pairs: Pairs, family: LinearLoss) -> Suprema:
    if domain.dim > SEGMENT_DIM:
        return Suprema(np.full(len(pairs.now), np.inf), exact=False)
    # The shadow's edges are among the segments between any two of its vertices' images, and all of
    # these lie inside.
    corners = _predicted(domain, pairs)
    first, second = np.triu_indices(domain.dim, k=min(1, domain.dim - 1))
    return _along_edges(corners[:, first], corners[:, second], pairs, family)


def _predicted(domain: Box | Simplex, pairs: Pairs) -> Array:
    """Predictions by the last row, and what the step adds, at the shadow's corners: shape ``(2,
    V, B)``.
    """
    e, v = shadow(
        domain,
        pairs._replace(targets=np.zeros(len(pairs.now)), targets_before=np.zeros(len(pairs.now))),
    )
    return np.stack([v, e])


def _along_edges(start: Array, end: Array, pairs: Pairs, family: LinearLoss) -> Suprema:
    which = np.broadcast_to(np.arange(start.shape[2]), start.shape[1:]).ravel()
    slopes = _slopes(pairs, family)
    rim = edges_of(start.reshape(2, -1), end.reshape(2, -1), which, slopes)
    return Suprema(*largest_on_rim(rim, slopes, plane_of(pairs.now, pairs.steps), arcs=False))


def _slopes(pairs: Pairs, family: LinearLoss) -> Slopes:
    if isinstance(family, HuberLoss):
        return HuberSlopes(pairs.targets_before, pairs.targets, family.threshold)
    return LogisticSlopes(pairs.targets_before, pairs.targets)


HALVINGS = 56
"""Of a piece of the rim: beyond 53 its ends are one number."""
SHARP = 1e-10
"""Relative distance of the bounds from above and from below at which a supremum counts as exact."""
CROWD = 1 << 20
"""Pieces that are looked at together; where more are left, the bound from above is the answer."""
ARCS = 8
"""Pieces that the rim of a ball's shadow is cut into at first."""


class Rim(NamedTuple):
    r"""Pieces of rims, :math:`(\zeta, \Delta) = p + q c(s) + r d(s)`: c, d are cosine and sine
    on arcs, s and 0 on edges.
    """

    change: Any
    """Which change a piece belongs to, shape ``(K,)``."""
    p: Array
    q: Array
    r: Array
    """Shape ``(2, K)`` each."""
    start: Vector
    end: Vector

    def take(self, which: Any) -> Rim:
        """Some of the pieces."""
        return Rim(*(part[..., which] for part in self))

    def halves(self) -> Rim:
        """Each piece in two."""
        middle = 0.5 * (self.start + self.end)
        first, second = self._replace(end=middle), self._replace(start=middle)
        return Rim(*(np.concatenate(parts, axis=-1) for parts in zip(first, second, strict=True)))

    def at(self, s: Vector, arcs: bool) -> Array:
        """ζ and Δ, shape ``(2, K)``."""
        return np.asarray(
            self.p + self.q * np.cos(s) + self.r * np.sin(s) if arcs else self.p + self.q * s
        )


class Bends(NamedTuple):
    """Bounds on derivatives of the slopes φ' over a piece of the rim, shape ``(K,)`` each."""

    before: Vector
    """Of φ'' at the last row's predictions."""
    now: Vector
    """Of φ'' at the new row's."""
    apart: Vector
    """Of the difference of the two."""
    before_third: Vector
    now_third: Vector
    apart_third: Vector
    """The same of φ'''."""


class Slopes(Protocol):
    """The slopes of a family of losses, in pairs of rows."""

    def pair(self, change: Any, zeta: Vector, step: Vector) -> tuple[Vector, Vector]:
        """e and v of some changes at predictions ζ and ζ + Δ."""
        ...

    def bends(self, change: Any, zeta: Vector, step: Vector, reach: Vector, most: Vector) -> Bends:
        """Bounds for predictions within ``reach`` of ζ and of ζ + Δ, where no step is longer
        than ``most``.
        """
        ...

    def corners(self) -> Array:
        """ζ, and ζ + Δ, at which a slope has a corner, shape ``(2, C, B)``.

        Pieces of the rim end there.
        """
        ...


@final
@dataclass(frozen=True)
class LogisticSlopes:
    """φ' = sigmoid(z) - y."""

    before: Vector
    """Targets of the last rows, shape ``(B,)``."""
    now: Vector

    def pair(self, change: Any, zeta: Vector, step: Vector) -> tuple[Vector, Vector]:
        """σ(z) - σ(ζ) = σ(z) σ(-ζ) (1 - exp(-Δ)), or mirrored where that would overflow."""
        back = step < 0
        high, low = np.where(back, zeta, zeta + step), np.where(back, zeta + step, zeta)
        rise = _sigmoid(high) * _sigmoid(-low) * -np.expm1(-np.abs(step))
        y, y_before = self.now[change], self.before[change]
        # 1 - σ(ζ) loses nothing: where σ(ζ) is near 1, σ(-ζ) is what is left.
        v = np.where(y_before > 0.5, -_sigmoid(-zeta), _sigmoid(zeta))
        return np.where(back, -rise, rise) + (y_before - y), v

    def bends(self, change: Any, zeta: Vector, step: Vector, reach: Vector, most: Vector) -> Bends:
        """σ' is at most 1/4, |σ''| 0.097, |σ'''| 1/8, and all of them at most exp(-|z|)."""
        fade_before = np.exp(-np.maximum(np.abs(zeta) - reach, 0.0))
        fade_now = np.exp(-np.maximum(np.abs(zeta + step) - reach, 0.0))
        most_fade = np.maximum(fade_before, fade_now)
        first = np.minimum(0.25, fade_before), np.minimum(0.25, fade_now)
        second = np.minimum(0.097, fade_before), np.minimum(0.097, fade_now)
        # Between the two predictions the derivatives may be larger than at both, but no difference
        # is.
        apart = np.minimum(0.097 * most, np.maximum(*first))
        apart_third = np.minimum(0.125 * most, 2.0 * np.minimum(0.097, most_fade))
        return Bends(*first, apart, *second, apart_third)

    def corners(self) -> Array:
        """None."""
        return np.empty((2, 0, len(self.now)))


@final
@dataclass(frozen=True)
class HuberSlopes:
    """φ' = the residual, clipped at the threshold."""

    before: Vector
    now: Vector
    threshold: float

    def pair(self, change: Any, zeta: Vector, step: Vector) -> tuple[Vector, Vector]:
        """Where neither is clipped, e is the step of the residuals itself."""
        t, residual = self.threshold, zeta - self.before[change]
        move = step + (self.before[change] - self.now[change])
        v, u = np.clip(residual, -t, t), np.clip(residual + move, -t, t)
        free = (np.abs(residual) <= t) & (np.abs(residual + move) <= t)
        return np.where(free, move, u - v), v

    def bends(self, change: Any, zeta: Vector, step: Vector, reach: Vector, most: Vector) -> Bends:
        """1 inside of the threshold and 0 outside: a piece lies on one side of it."""
        before = (np.abs(zeta - self.before[change]) <= self.threshold).astype(np.float64)
        now = (np.abs(zeta + step - self.now[change]) <= self.threshold).astype(np.float64)
        none = np.zeros_like(before)
        return Bends(before, now, np.abs(now - before), none, none, none)

    def corners(self) -> Array:
        """At both thresholds."""
        ends = np.array([-self.threshold, self.threshold])[:, None]
        return np.stack([self.before + ends, self.now + ends])


def arcs_of(p: Array, q: Array, r: Array, slopes: Slopes) -> Rim:
    """Whole ellipses, one per change, cut at their corners; p, q and r of shape ``(2, B)``."""
    # x cos s + y sin s = c at s = atan2(y, x) ± acos(c / |(x, y)|).
    level = slopes.corners() - np.stack([p[0], p[0] + p[1]])[:, None]
    x, y = np.stack([q[0], q[0] + q[1]])[:, None], np.stack([r[0], r[0] + r[1]])[:, None]
    size = np.hypot(x, y)
    share = np.divide(level, size, out=np.full(level.shape, 2.0), where=size > 0)
    turn = np.arccos(np.clip(share, -1.0, 1.0))
    middle = np.broadcast_to(np.arctan2(y, x), turn.shape)
    hits = np.concatenate([middle - turn, middle + turn], axis=1).reshape(-1, p.shape[1])
    even = np.broadcast_to(np.linspace(0.0, 2 * np.pi, ARCS + 1)[:, None], (ARCS + 1, p.shape[1]))
    return _between(np.concatenate([even, hits % (2 * np.pi)]), p, q, r, np.arange(p.shape[1]))


def edges_of(start: Array, end: Array, change: Any, slopes: Slopes) -> Rim:
    """Edges of polygons, cut at their corners.

    Ends of shape ``(2, K)``, and which change each belongs to.
    """
    way = end - start
    level = slopes.corners()[:, :, change] - np.stack([start[0], start[0] + start[1]])[:, None]
    speed = np.stack([way[0], way[0] + way[1]])[:, None]
    hits = np.divide(level, speed, out=np.zeros(level.shape), where=speed != 0).reshape(
        -1, start.shape[1]
    )
    both = np.zeros((2, start.shape[1]))
    both[1] = 1.0
    return _between(
        np.concatenate([both, np.clip(hits, 0.0, 1.0)]), start, way, np.zeros_like(way), change
    )


def _between(cuts: Array, p: Array, q: Array, r: Array, change: Any) -> Rim:
    """The pieces between sorted cuts, shape ``(C, K)``."""
    cuts = np.sort(cuts, axis=0)
    pieces, which = np.nonzero(cuts[1:] > cuts[:-1])
    return Rim(
        change[which],
        p[:, which],
        q[:, which],
        r[:, which],
        cuts[pieces, which],
        cuts[pieces + 1, which],
    )


def largest_on_rim(rim: Rim, slopes: Slopes, plane: Plane, arcs: bool) -> tuple[Vector, bool]:
    r"""Largest :math:`\|e a + v \delta\|^2` of each change along its rim, and whether that is exact
    or an upper bound.

    Parameters
    ----------
    rim
        The pieces; no corner of a slope inside of one.
    slopes
        The family of losses.
    plane
        Lengths and angles of a and δ for each change.
    arcs
        Whether the pieces are arcs, or edges.
    """
    lowest, settled = np.zeros(len(plane.length)), np.zeros(len(plane.length))
    for _ in range(HALVINGS):
        ends = [_heights(rim, s, slopes, plane, arcs) for s in (rim.start, rim.end)]
        np.maximum.at(lowest, rim.change, np.maximum(*ends))
        above = np.maximum(*ends) + np.square(rim.end - rim.start) / 8 * _bending(
            rim, slopes, plane, arcs
        )
        open_ = above > (1.0 + SHARP) * lowest[rim.change]
        np.maximum.at(settled, rim.change[~open_], above[~open_])
        rim = rim.take(open_)
        if not len(rim.change):
            return np.maximum(settled, lowest), True
        if 2 * len(rim.change) > CROWD:
            break
        rim = rim.halves()
    np.maximum.at(settled, rim.change, np.full(len(rim.change), np.inf))
    return np.maximum(settled, lowest), False


def _heights(rim: Rim, s: Vector, slopes: Slopes, plane: Plane, arcs: bool) -> Vector:
    e, v = slopes.pair(rim.change, *rim.at(s, arcs))
    length, along, across = (part[rim.change] for part in plane)
    return np.asarray(np.square(e * length + v * along) + np.square(v * across))


def _bending(rim: Rim, slopes: Slopes, plane: Plane, arcs: bool) -> Vector:
    """A bound on |g''| over each piece, by the chain rule: the smaller of two.

    That of e a + v δ is in proportion to the step of the rows, however short; that of u a - v b
    knows which of the two rows has a slope that stands still.
    """
    half = 0.5 * (rim.end - rim.start)
    zeta, step = rim.at(rim.start + half, arcs)
    (z1, d1), n1 = (
        _speed(rim.q, rim.r, arcs),
        _speed(rim.q[0] + rim.q[1], rim.r[0] + rim.r[1], arcs),
    )
    z2, d2, n2 = (z1, d1, n1) if arcs else (np.zeros_like(z1),) * 3
    bend = slopes.bends(rim.change, zeta, step, np.maximum(z1, n1) * half, np.abs(step) + d1 * half)
    e, v = slopes.pair(rim.change, zeta, step)
    v_way = (np.abs(v), bend.before * z1, bend.before_third * z1**2 + bend.before * z2)
    u_way = (np.abs(e + v), bend.now * n1, bend.now_third * n1**2 + bend.now * n2)
    e1 = bend.now * d1 + bend.apart * z1
    e2 = (
        bend.now * d2 + bend.apart * z2 + bend.now_third * d1 * (n1 + z1) + bend.apart_third * z1**2
    )
    e_way = (np.abs(e), e1, e2)
    length, along, across = (part[rim.change] for part in plane)
    by_steps = _squared((e_way, length), (v_way, np.abs(along)), half=half) + _squared(
        (v_way, across), half=half
    )
    by_rows = _squared((u_way, length), (v_way, np.hypot(length - along, across)), half=half)
    return np.minimum(by_steps, by_rows)


def _squared(*terms: tuple[tuple[Vector, Vector, Vector], Vector], half: Vector) -> Vector:
    """A bound on the second derivative of a squared sum.

    Of each term its size in the middle and two derivatives.
    """
    size = sum((at + first * half) * factor for (at, first, _), factor in terms)
    first = sum(way[1] * factor for way, factor in terms)
    second = sum(way[2] * factor for way, factor in terms)
    return np.asarray(2.0 * (np.square(first) + size * second))


def _speed(q: Array, r: Array, arcs: bool) -> Array:
    """The fastest that a point of the rim moves along an axis."""
    return np.hypot(q, r) if arcs else np.abs(q)


def _sigmoid(z: Array) -> Array:
    return np.asarray(np.exp(-np.logaddexp(0.0, -z)))
