"""Coordinates of their own of experts of Sword++, those that were projected: passes over blocks
of them for ``plus_sum``.
"""

from __future__ import annotations

from typing import Any

from swordplay.compile import inline, tail_view, unrolled_loop
from swordplay.core.types import Vector
from swordplay.engine.layout import BLOCK, EXPERT, LIVE, VECTOR, Arrays

SUM = VECTOR.under_way
"""theta, relative to nothing: a sum of gradients."""
OWN = EXPERT.slope
"""<a, W>: 0 for whoever stands on the line."""


@inline
def change_all(me: Arrays, features: Vector) -> None:
    """W += change theta and <a, W>."""
    for first in range(int(me.live[LIVE.first]), int(me.live[LIVE.beyond]), BLOCK):
        change = me.numbers[EXPERT.coefficient][first : first + BLOCK]
        change_block(
            me.coords, first, change, me.vectors[SUM], features, tail_view(me.numbers[OWN], first)
        )
        change[:] = 0.0


@unrolled_loop
def change_block(
    coords: Any, first: int, change: Vector, common: Vector, features: Vector, products: Vector
) -> None:
    """Eight columns side by side, as in ``read_block``."""
    a = b = c = d = e = f = g = h = 0.0
    i, k, m, n, o, p, q, r = (
        change[0],
        change[1],
        change[2],
        change[3],
        change[4],
        change[5],
        change[6],
        change[7],
    )
    for j in range(len(features)):
        w, s, y = tail_view(coords[j], first), common[j], features[j]
        w[0], w[1], w[2], w[3] = w[0] + i * s, w[1] + k * s, w[2] + m * s, w[3] + n * s
        w[4], w[5], w[6], w[7] = w[4] + o * s, w[5] + p * s, w[6] + q * s, w[7] + r * s
        a, b, c, d = a + w[0] * y, b + w[1] * y, c + w[2] * y, d + w[3] * y
        e, f, g, h = e + w[4] * y, f + w[5] * y, g + w[6] * y, h + w[7] * y
    products[0], products[1], products[2], products[3] = a, b, c, d
    products[4], products[5], products[6], products[7] = e, f, g, h


@inline
def read_all(me: Arrays, features: Vector) -> None:
    """<a, W>."""
    for first in range(int(me.live[LIVE.first]), int(me.live[LIVE.beyond]), BLOCK):
        read_block(me.coords, first, features, tail_view(me.numbers[OWN], first))


@unrolled_loop
def read_block(coords: Any, first: int, features: Vector, products: Vector) -> None:
    """Eight columns side by side: two vector registers, which stay what they are from one
    coordinate to the next.
    """
    a = b = c = d = e = f = g = h = 0.0
    dim = len(features)
    whole = dim - dim % 4
    for j in range(0, whole, 4):
        p, q = tail_view(coords[j], first), tail_view(coords[j + 1], first)
        r, s = tail_view(coords[j + 2], first), tail_view(coords[j + 3], first)
        w, x, y, z = features[j], features[j + 1], features[j + 2], features[j + 3]
        a += (p[0] * w + q[0] * x) + (r[0] * y + s[0] * z)
        b += (p[1] * w + q[1] * x) + (r[1] * y + s[1] * z)
        c += (p[2] * w + q[2] * x) + (r[2] * y + s[2] * z)
        d += (p[3] * w + q[3] * x) + (r[3] * y + s[3] * z)
        e += (p[4] * w + q[4] * x) + (r[4] * y + s[4] * z)
        f += (p[5] * w + q[5] * x) + (r[5] * y + s[5] * z)
        g += (p[6] * w + q[6] * x) + (r[6] * y + s[6] * z)
        h += (p[7] * w + q[7] * x) + (r[7] * y + s[7] * z)
    for j in range(whole, dim):
        p, w = tail_view(coords[j], first), features[j]
        a, b, c, d = a + p[0] * w, b + p[1] * w, c + p[2] * w, d + p[3] * w
        e, f, g, h = e + p[4] * w, f + p[5] * w, g + p[6] * w, h + p[7] * w
    products[0], products[1], products[2], products[3] = a, b, c, d
    products[4], products[5], products[6], products[7] = e, f, g, h
