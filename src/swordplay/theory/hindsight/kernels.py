"""Newton systems on a chain of rounds, compiled: Kalman's filter forwards, his smoother backwards.

The filter keeps information (J, j), not points (J^-1 j): a round that knows little would have its
point far away, and rounding with it. Per round two triangles are kept in one array of shape ``(n +
1, n)``: ``[i + 1, j]`` for j <= i holds the factor L of its information J = L L', ``[j, i]`` for j
<= i the factor R of M = I + L'CL, with 1 over its diagonal; C is how far the next move yields. With
them

    (J^-1 + C)^-1 = L M^-1 L'   and   (J^-1 + C)^-1 J^-1 = L M^-1 L^-1 ,

and nothing cancels, however small or large C is.

Cuts of a chain and forces along it, compiled; for one coordinate.
"""

from __future__ import annotations

import math

from swordplay.compile import inline, kernel
from swordplay.core.types import Array, Matrix, Vector

TINY = 1e-15
"""Smallest pivot relative to its diagonal entry: below it is rounding."""


@inline
def factor(A: Matrix, inverse: Vector) -> None:
    """Cholesky factor of a positive definite matrix, both in the lower triangle.

    And 1 over its diagonal.
    """
    n = len(A)
    for i in range(n):
        for j in range(i):
            dot = 0.0
            for k in range(j):
                dot += A[i, k] * A[j, k]
            A[i, j] = (A[i, j] - dot) * inverse[j]
        dot = 0.0
        for k in range(i):
            dot += A[i, k] * A[i, k]
        pivot = A[i, i] - dot
        A[i, i] = math.sqrt(max(pivot, TINY * A[i, i]))
        inverse[i] = 1.0 / A[i, i]  # once, because divisions are slow


@inline
def pass_on(
    L: Matrix, c: float, p: Vector, M: Matrix, inverse: Vector, K: Matrix, Lp: Vector, J: Matrix
) -> None:
    """Information that survives a move that yields by c I + p p': J <- L M^-1 L'.

    M becomes its factor.
    """
    n = len(L)
    for i in range(n):
        dot = 0.0
        for k in range(i, n):
            dot += L[k, i] * p[k]
        Lp[i] = dot
    for i in range(n):
        for j in range(i + 1):
            M[i, j] = Lp[i] * Lp[j]
        M[i, i] += 1.0
    for k in range(n):
        for i in range(k + 1):
            scaled = c * L[k, i]
            for j in range(i + 1):
                M[i, j] += scaled * L[k, j]
    factor(M, inverse)
    for i in range(n):
        for j in range(n):
            dot = 0.0
            for k in range(j):
                dot += M[j, k] * K[i, k]
            entry = L[i, j] if j <= i else 0.0
            K[i, j] = (entry - dot) * inverse[j]
    for i in range(n):
        for j in range(i + 1):
            dot = 0.0
            for k in range(n):
                dot += K[i, k] * K[j, k]
            J[i, j] = dot


@inline
def own_hessian(
    t: int,
    features: Matrix,
    bends: Vector,
    matrices: Array,
    ridges: Vector,
    rims: Matrix,
    normals: Matrix,
    walls: Matrix,
    J: Matrix,
) -> None:
    """Add a round's Hessian to the lower triangle of J."""
    n = len(J)
    a, q = features[t], rims[t]
    for i in range(n):
        along, across = bends[t] * a[i], q[i]
        for j in range(i + 1):
            J[i, j] += along * a[j] + across * q[j]
        J[i, i] += ridges[t]
    if len(matrices) > 0:
        for i in range(n):
            for j in range(i + 1):
                J[i, j] += matrices[t, i, j]
    for m in range(len(normals)):
        for i in range(n):
            if normals[m, i] != 0.0:
                along = walls[t, m] * normals[m, i]
                for j in range(i + 1):
                    J[i, j] += along * normals[m, j]


@kernel
def eliminate(
    first: int,
    last: int,
    base: int,
    features: Matrix,
    bends: Vector,
    matrices: Array,
    ridges: Vector,
    rims: Matrix,
    normals: Matrix,
    walls: Matrix,
    yields: Vector,
    leans: Matrix,
    J: Matrix,
    work: Array,
    kept: Array,
) -> None:
    """Rounds first to last - 1: from the information J that came from the past to what goes on
    to the future, in J.
    """
    n = features.shape[1]
    L, M, K, Lp, inverse = work[0], work[1], work[2], work[3, 0], work[4, 0]
    for t in range(first, last):
        own_hessian(t, features, bends, matrices, ridges, rims, normals, walls, J)
        here = kept[t - base]
        for i in range(n):
            for j in range(i + 1):
                L[i, j] = J[i, j]
        factor(L, inverse)
        for i in range(n):
            for j in range(i + 1):
                here[i + 1, j] = L[i, j]
        if t < len(yields):
            pass_on(L, yields[t], leans[t], M, inverse, K, Lp, J)
            for i in range(n):
                for j in range(i):
                    here[j, i] = M[i, j]
                here[i, i] = inverse[i]


@inline
def undo_lower(here: Matrix, x: Vector) -> None:
    """x <- L^-1 x."""
    for i in range(len(x)):
        dot = 0.0
        for j in range(i):
            dot += here[i + 1, j] * x[j]
        x[i] = (x[i] - dot) / here[i + 1, i]


@inline
def add_upper(here: Matrix, y: Vector, x: Vector) -> None:
    """x <- x + L'y."""
    n = len(x)
    for i in range(n):
        for j in range(i + 1):
            x[j] += here[i + 1, j] * y[i]


@inline
def pass_force(here: Matrix, x: Vector) -> None:
    """x <- L M^-1 x."""
    n = len(x)
    for i in range(n):
        dot = 0.0
        for j in range(i):
            dot += here[j, i] * x[j]
        x[i] = (x[i] - dot) * here[i, i]
    for i in range(n - 1, -1, -1):
        dot = 0.0
        for j in range(i + 1, n):
            dot += here[i, j] * x[j]
        x[i] = (x[i] - dot) * here[i, i]
    for i in range(n - 1, -1, -1):
        dot = 0.0
        for j in range(i + 1):
            dot += here[i + 1, j] * x[j]
        x[i] = dot


@kernel
def filter_forwards(
    first: int,
    last: int,
    base: int,
    sides: Matrix,
    wanted: Matrix,
    kept: Array,
    force: Vector,
    scaled: Matrix,
) -> None:
    """Rounds first to last - 1: L^-1 j of each.

    Force holds the part of j that comes from the past, then what goes on.
    """
    n = sides.shape[1]
    for t in range(first, last):
        here, x = kept[t - base], scaled[t]
        for i in range(n):
            x[i] = sides[t, i] + force[i]
        undo_lower(here, x)
        if t < len(wanted):
            for i in range(n):
                force[i] = x[i]
            add_upper(here, wanted[t], force)
            pass_force(here, force)


@kernel
def smooth_backwards(
    first: int,
    last: int,
    base: int,
    wanted: Matrix,
    yields: Vector,
    leans: Matrix,
    kept: Array,
    force: Vector,
    points: Matrix,
    forces: Matrix,
) -> None:
    """Rounds last - 1 down to first: from L^-1 j to the points with the future, and the forces
    of the moves.
    """
    n = points.shape[1]
    for t in range(last - 1, first - 1, -1):
        here, x = kept[t - base], points[t]
        if t == len(wanted):
            for i in range(n - 1, -1, -1):
                x[i] /= here[i + 1, i]
                for j in range(i):
                    x[j] -= here[i + 1, j] * x[i]
            continue
        for i in range(n):
            force[i] = -x[i]
            x[i] = points[t + 1, i] - wanted[t, i]
        add_upper(here, x, force)
        pass_force(here, force)
        lean = 0.0
        for i in range(n):
            lean += leans[t, i] * force[i]
            forces[t, i] = force[i]
        for i in range(n):
            x[i] -= yields[t] * force[i] + lean * leans[t, i]


@kernel
def cut(slopes: Vector, penalty: float, low: Vector, high: Vector) -> None:
    r"""Halve the interval of every round, by the slopes at its middle: the best comparator lies
    above it or below.

    Rounds with the same interval are one problem: :math:`\min \sum_t s_t b_t + \lambda \sum_t |b_t
    - b_{t-1}|` over :math:`b_t \in \{0, 1\}`, b = 1 for above. Neighbours with other intervals are
    known to be above or below. The slopes become the messages of the dynamic programme: what being
    above would cost, given the best past.
    """
    last = len(slopes) - 1
    message = 0.0
    for t in range(last + 1):
        if t > 0:
            if low[t - 1] == low[t] and high[t - 1] == high[t]:
                message = min(max(message, -penalty), penalty)
            else:
                message = -penalty if low[t - 1] >= high[t] else penalty
        message += slopes[t]
        slopes[t] = message
    above, low_ahead, high_ahead = False, 0.0, 0.0
    for t in range(last, -1, -1):
        if t == last:
            above = slopes[t] < 0.0
        elif low[t] == low_ahead and high[t] == high_ahead:
            above = slopes[t] < -penalty or (above and slopes[t] <= penalty)
        else:
            above = slopes[t] + (-penalty if low_ahead >= high[t] else penalty) < 0.0
        low_ahead, high_ahead = low[t], high[t]
        middle = 0.5 * (low[t] + high[t])
        if above:
            low[t] = middle
        else:
            high[t] = middle


@kernel
def forces_along(gradients: Vector, points: Vector, penalty: float, forces: Vector) -> None:
    r"""Forces that balance the gradients: λ towards the next point where it moves, else the sum of
    what came before.

    Where the boundary holds a comparator, the clipped sum leaves to the boundary what it can carry,
    and nothing else.
    """
    force = 0.0
    for t in range(len(forces)):
        force = min(max(force + gradients[t], -penalty), penalty)
        if points[t + 1] > points[t]:
            force = penalty
        elif points[t + 1] < points[t]:
            force = -penalty
        forces[t] = force
