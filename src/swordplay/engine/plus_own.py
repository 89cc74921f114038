"""Coordinates of their own of experts of Sword++, those that were projected: passes over blocks of them for ``plus_sum``."""

from __future__ import annotations

from typing import Any

from swordplay.base.compiling import lane_loop, part
from swordplay.base.types import Vector
from swordplay.engine.ball import sweep_four
from swordplay.engine.layout import BLOCK, EXPERT, LIVE, VECTOR, Arrays

SUM = VECTOR.under_way
"""theta, relative to nothing: a sum of gradients."""
OWN = EXPERT.slope
"""<a, W>: 0 for whoever stands on the line."""


@part
def change_all(me: Arrays, features: Vector) -> None:
    """W += change theta and <a, W>, as in ``ball.sweep``."""
    common, dim = me.vectors[SUM], len(features)
    whole = dim - dim % 4
    for first in range(int(me.live[LIVE.first]), int(me.live[LIVE.beyond]), BLOCK):
        beyond = first + BLOCK
        products, change = me.numbers[OWN][first:beyond], me.numbers[EXPERT.coefficient][first:beyond]
        products[:] = 0.0
        columns = BLOCK * (len(change) // BLOCK)
        for j in range(0, whole, 4):
            u, v = me.coords[j][first:beyond], me.coords[j + 1][first:beyond]
            w, x = me.coords[j + 2][first:beyond], me.coords[j + 3][first:beyond]
            sweep_four(columns, u, v, w, x, change, common[j : j + 4], features[j : j + 4], products)
        change_rest(me.coords, first, whole, change, common, features, products)
        change[:] = 0.0


@lane_loop
def change_rest(
    coords: Any, first: int, whole: int, change: Vector, common: Vector, features: Vector, products: Vector
) -> None:
    """The coordinates that are left over, side by side as in ``read_block``."""
    a, b, c, d = products[0], products[1], products[2], products[3]
    e, f, g, h = products[4], products[5], products[6], products[7]
    for j in range(whole, len(features)):
        w, s, y = coords[j][first : first + BLOCK], common[j], features[j]
        k, o, m, n = w[0] + change[0] * s, w[1] + change[1] * s, w[2] + change[2] * s, w[3] + change[3] * s
        p, q, r, t = w[4] + change[4] * s, w[5] + change[5] * s, w[6] + change[6] * s, w[7] + change[7] * s
        w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7] = k, o, m, n, p, q, r, t
        a, b, c, d = a + k * y, b + o * y, c + m * y, d + n * y
        e, f, g, h = e + p * y, f + q * y, g + r * y, h + t * y
    products[0], products[1], products[2], products[3] = a, b, c, d
    products[4], products[5], products[6], products[7] = e, f, g, h


@part
def read_all(me: Arrays, features: Vector) -> None:
    """<a, W>."""
    for first in range(int(me.live[LIVE.first]), int(me.live[LIVE.beyond]), BLOCK):
        read_block(me.coords, first, features, me.numbers[OWN][first : first + BLOCK])


@lane_loop
def read_block(coords: Any, first: int, features: Vector, products: Vector) -> None:
    """Eight columns side by side: two vector registers, which stay what they are from one coordinate to the next."""
    a = b = c = d = e = f = g = h = 0.0
    dim = len(features)
    whole = dim - dim % 4
    for j in range(0, whole, 4):
        p, q = coords[j][first : first + BLOCK], coords[j + 1][first : first + BLOCK]
        r, s = coords[j + 2][first : first + BLOCK], coords[j + 3][first : first + BLOCK]
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
        p, w = coords[j][first : first + BLOCK], features[j]
        a, b, c, d = a + p[0] * w, b + p[1] * w, c + p[2] * w, d + p[3] * w
        e, f, g, h = e + p[4] * w, f + p[5] * w, g + p[6] * w, h + p[7] * w
    products[0], products[1], products[2], products[3] = a, b, c, d
    products[4], products[5], products[6], products[7] = e, f, g, h
