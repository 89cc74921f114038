"""From one logistic or Huber loss to the next: the rim of the domain's shadow is searched for
the largest change.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from swordplay.core.types import Array, Domain
from swordplay.parts.domains import Ball, Box, Simplex, enclosing_ball, enclosing_box
from swordplay.parts.losses import HuberLoss, LinearLoss, LogisticLoss
from swordplay.parts.streams.linear import Rows
from swordplay.theory.affine_change import Suprema
from swordplay.theory.rim import (
    HuberSlopes,
    LogisticSlopes,
    Slopes,
    arcs_of,
    edges_of,
    largest_on_rim,
)
from swordplay.theory.shadows import Pairs, plane_of, shadow

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
