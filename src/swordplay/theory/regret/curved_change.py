"""From one logistic or Huber loss to the next: the rim of the domain's shadow is searched for the largest change of gradient."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from swordplay.base.types import Array, Domain
from swordplay.parts.domains import Ball, Box, Simplex
from swordplay.parts.losses import HuberLoss
from swordplay.theory.regret.affine_change import Suprema
from swordplay.theory.regret.enclosures import enclosing_ball, enclosing_box
from swordplay.theory.regret.rim import HuberSlopes, LogisticSlopes, Rim, Slopes, arcs_of, edges_of, largest_on_rim
from swordplay.theory.regret.rows import Rows
from swordplay.theory.regret.shadows import Plane, shadow

RIMS = 1 << 12
"""Changes whose rims are searched together, so that memory does not grow with the rounds."""
SEGMENT_DIM = 24
"""Simplices of at most so many coordinates have all segments between two of their vertices searched: 276 of them."""


def gradients_on_rims(domain: Domain, rows: Rows, plane: Plane) -> Suprema:
    """Largest squared change of gradient from each row to the next: exact, or infinite where the search is not for it."""
    at_once = RIMS if isinstance(domain, Ball) else max(1, RIMS // domain.dim)
    starts = range(0, len(rows) - 1, at_once)
    parts = [_on_rim(domain, rows[i : i + at_once + 1], Plane(*(part[i : i + at_once] for part in plane))) for i in starts]
    return Suprema(np.concatenate([part.values for part in parts]), all(part.exact for part in parts))


@singledispatch
def _on_rim(domain: Domain, rows: Rows, plane: Plane) -> Suprema:
    by_ball, by_box = (_on_rim(around(domain), rows, plane) for around in (enclosing_ball, enclosing_box))
    return Suprema(np.minimum(by_ball.values, by_box.values), exact=domain.dim == 1 and by_box.exact)


@_on_rim.register
def _(domain: Ball, rows: Rows, plane: Plane) -> Suprema:
    length, along, across = plane
    steps = rows.features[1:] - rows.features[:-1]
    # The plane has a = (length, 0), δ = (along, -across) and b = a - δ; the ball's shadow in it is a disc.
    p = np.stack([rows[:-1].predictions(domain.center), np.asarray(steps @ domain.center)])
    q, r = domain.radius * np.stack([length - along, along]), domain.radius * np.stack([across, -across])
    slopes = _slopes(rows)
    return _searched(arcs_of(p, q, r, slopes), slopes, plane, arcs=True)


@_on_rim.register
def _(domain: Box, rows: Rows, plane: Plane) -> Suprema:
    corners = _predicted(domain, rows)
    return _along_edges(corners, np.roll(corners, -1, axis=1), rows, plane)


@_on_rim.register
def _(domain: Simplex, rows: Rows, plane: Plane) -> Suprema:
    if domain.dim > SEGMENT_DIM:
        return Suprema(np.full(len(plane.length), np.inf), exact=False)
    # The shadow's edges are among the segments between any two of its vertices' images, and all of these lie inside.
    corners = _predicted(domain, rows)
    first, second = np.triu_indices(domain.dim, k=min(1, domain.dim - 1))
    return _along_edges(corners[:, first], corners[:, second], rows, plane)


def _predicted(domain: Box | Simplex, rows: Rows) -> Array:
    """Predictions by the last row, and what the step adds, at the shadow's corners: shape ``(2, V, B)``."""
    e, v = shadow(domain, rows)
    return np.stack([v + rows.targets[:-1], e + np.diff(rows.targets)])


def _along_edges(start: Array, end: Array, rows: Rows, plane: Plane) -> Suprema:
    which = np.broadcast_to(np.arange(start.shape[2]), start.shape[1:]).ravel()
    slopes = _slopes(rows)
    rim = edges_of(start.reshape(2, -1), end.reshape(2, -1), which, slopes)
    return _searched(rim, slopes, plane, arcs=False)


def _searched(rim: Rim, slopes: Slopes, plane: Plane, *, arcs: bool) -> Suprema:
    return Suprema(*largest_on_rim(rim, slopes, plane, arcs))


def _slopes(rows: Rows) -> Slopes:
    before, now, family = rows.targets[:-1], rows.targets[1:], rows.family
    return HuberSlopes(before, now, family.threshold) if isinstance(family, HuberLoss) else LogisticSlopes(before, now)
