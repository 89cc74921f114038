"""Compiled code of hindsight: Newton systems on a chain of rounds, and halving of intervals.

Newton systems
--------------
Block elimination forward in time and substitution backward, which is a Kalman filter and its
smoother. The filter passes an information matrix J and an information vector j from round to round,
and not the estimate J^-1 j: after rounds that say little about the comparator the estimate is huge,
and so is its rounding error.

``factorize`` keeps two triangular factors of each round in one array of shape ``(n + 1, n)``:

- ``factors[i + 1, j]`` for j <= i: L, where L L' is the information J of this round and the past;
- ``factors[j, i]`` for j <= i: R, where R R' is M = I + L'CL, with 1 over its diagonal.

C = c I + p p' is the matrix of the move to the next round. The factors give

    (J^-1 + C)^-1 = L M^-1 L'   and   (J^-1 + C)^-1 J^-1 = L M^-1 L^-1

without cancellation, however small or large C is.
"""

from __future__ import annotations

import math

from swordplay.compile import inline, kernel
from swordplay.core.types import Array, Matrix, Vector

MIN_PIVOT = 1e-15
"""Smallest pivot, relative to its diagonal entry; smaller ones are rounding error."""


@inline
def cholesky(A: Matrix, inverse: Vector) -> None:
    """Replace the lower triangle of A by its Cholesky factor.

    On return ``inverse`` holds 1 over the diagonal of the factor.
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
        A[i, i] = math.sqrt(max(pivot, MIN_PIVOT * A[i, i]))
        inverse[i] = 1.0 / A[i, i]  # once for all rows below, because divisions are slow


@inline
def pass_information(
    L: Matrix, c: float, p: Vector, M: Matrix, inverse: Vector, K: Matrix, Lp: Vector, J: Matrix
) -> None:
    """Replace the information J = L L' by that after a move with matrix C = c I + p p'.

    J <- L M^-1 L' with M = I + L'CL. On return the argument M holds the Cholesky factor R of that
    matrix, and ``inverse`` holds 1 over the diagonal of R. K and Lp are buffers.
    """
    n = len(L)
    # Lp = L' p
    for i in range(n):
        dot = 0.0
        for k in range(i, n):
            dot += L[k, i] * p[k]
        Lp[i] = dot
    # M = I + Lp Lp' + c L'L, lower triangle
    for i in range(n):
        for j in range(i + 1):
            M[i, j] = Lp[i] * Lp[j]
        M[i, i] += 1.0
    for k in range(n):
        for i in range(k + 1):
            c_entry = c * L[k, i]
            for j in range(i + 1):
                M[i, j] += c_entry * L[k, j]
    cholesky(M, inverse)
    # K = L R^-T, by forward substitution
    for i in range(n):
        for j in range(n):
            dot = 0.0
            for k in range(j):
                dot += M[j, k] * K[i, k]
            entry = L[i, j] if j <= i else 0.0
            K[i, j] = (entry - dot) * inverse[j]
    # J = K K', lower triangle
    for i in range(n):
        for j in range(i + 1):
            dot = 0.0
            for k in range(n):
                dot += K[i, k] * K[j, k]
            J[i, j] = dot


@inline
def add_hessian(
    t: int,
    features: Matrix,
    feature_weights: Vector,
    matrices: Array,
    identity_weights: Vector,
    ball_directions: Matrix,
    normals: Matrix,
    normal_weights: Matrix,
    J: Matrix,
) -> None:
    """Add the Hessian of round t to the lower triangle of J."""
    n = len(J)
    a, q = features[t], ball_directions[t]
    # h a a' + q q' + rho I
    for i in range(n):
        feature_entry, direction_entry = feature_weights[t] * a[i], q[i]
        for j in range(i + 1):
            J[i, j] += feature_entry * a[j] + direction_entry * q[j]
        J[i, i] += identity_weights[t]
    if len(matrices) > 0:
        for i in range(n):
            for j in range(i + 1):
                J[i, j] += matrices[t, i, j]
    # sum_m k_m G_m G_m'; the normals of a box have one entry other than 0
    for m in range(len(normals)):
        for i in range(n):
            if normals[m, i] != 0.0:
                normal_entry = normal_weights[t, m] * normals[m, i]
                for j in range(i + 1):
                    J[i, j] += normal_entry * normals[m, j]


@kernel
def factorize(
    first: int,
    end: int,
    first_stored: int,
    features: Matrix,
    feature_weights: Vector,
    matrices: Array,
    identity_weights: Vector,
    ball_directions: Matrix,
    normals: Matrix,
    normal_weights: Matrix,
    move_scales: Vector,
    move_directions: Matrix,
    J: Matrix,
    work: Array,
    factors: Array,
) -> None:
    """Factorize rounds ``first`` to ``end`` - 1; J becomes the information for round ``end``.

    Parameters
    ----------
    first_stored
        The round whose factors are ``factors[0]``.
    features, feature_weights, matrices, identity_weights, ball_directions, normals, normal_weights
        The Hessians: a, h, M, rho, q, G and k of :class:`chain.Hessians`.
    move_scales, move_directions
        The matrices C = c I + p p' of the moves.
    J
        Information matrix from the rounds before ``first``; on return, from those before ``end``.
    work
        Buffer of shape ``(5, n, n)``.
    factors
        Result, as described in the module.
    """
    n = features.shape[1]
    L, M, K, Lp, inverse = work[0], work[1], work[2], work[3, 0], work[4, 0]
    for t in range(first, end):
        add_hessian(
            t,
            features,
            feature_weights,
            matrices,
            identity_weights,
            ball_directions,
            normals,
            normal_weights,
            J,
        )
        round_factors = factors[t - first_stored]
        for i in range(n):
            for j in range(i + 1):
                L[i, j] = J[i, j]
        cholesky(L, inverse)
        for i in range(n):
            for j in range(i + 1):
                round_factors[i + 1, j] = L[i, j]
        if t < len(move_scales):
            pass_information(L, move_scales[t], move_directions[t], M, inverse, K, Lp, J)
            for i in range(n):
                for j in range(i):
                    round_factors[j, i] = M[i, j]
                round_factors[i, i] = inverse[i]


@inline
def solve_lower(round_factors: Matrix, x: Vector) -> None:
    """x <- L^-1 x."""
    for i in range(len(x)):
        dot = 0.0
        for j in range(i):
            dot += round_factors[i + 1, j] * x[j]
        x[i] = (x[i] - dot) / round_factors[i + 1, i]


@inline
def add_transposed(round_factors: Matrix, y: Vector, x: Vector) -> None:
    """x <- x + L'y."""
    n = len(x)
    for i in range(n):
        for j in range(i + 1):
            x[j] += round_factors[i + 1, j] * y[i]


@inline
def multiply_gain(round_factors: Matrix, x: Vector) -> None:
    """x <- L M^-1 x."""
    n = len(x)
    # R^-1
    for i in range(n):
        dot = 0.0
        for j in range(i):
            dot += round_factors[j, i] * x[j]
        x[i] = (x[i] - dot) * round_factors[i, i]
    # R^-T
    for i in range(n - 1, -1, -1):
        dot = 0.0
        for j in range(i + 1, n):
            dot += round_factors[i, j] * x[j]
        x[i] = (x[i] - dot) * round_factors[i, i]
    # L, from the last row up, so that no entry is overwritten before its last use
    for i in range(n - 1, -1, -1):
        dot = 0.0
        for j in range(i + 1):
            dot += round_factors[i + 1, j] * x[j]
        x[i] = dot


@kernel
def filter_forward(
    first: int,
    end: int,
    first_stored: int,
    linear_terms: Matrix,
    wanted_moves: Matrix,
    factors: Array,
    carry: Vector,
    half_solved: Matrix,
) -> None:
    """Forward substitution for rounds ``first`` to ``end`` - 1: ``half_solved[t]`` becomes L^-1 j.

    ``linear_terms`` is b and ``wanted_moves`` is m of :class:`~.chain.Chain`. ``carry`` is the part
    of j from the rounds before ``first``; on return, from those before ``end``.
    """
    n = linear_terms.shape[1]
    for t in range(first, end):
        round_factors, x = factors[t - first_stored], half_solved[t]
        for i in range(n):
            x[i] = linear_terms[t, i] + carry[i]
        solve_lower(round_factors, x)
        if t < len(wanted_moves):
            # carry = L M^-1 (L^-1 j + L' m)
            for i in range(n):
                carry[i] = x[i]
            add_transposed(round_factors, wanted_moves[t], carry)
            multiply_gain(round_factors, carry)


@kernel
def smooth_backward(
    first: int,
    end: int,
    first_stored: int,
    wanted_moves: Matrix,
    move_scales: Vector,
    move_directions: Matrix,
    factors: Array,
    dual: Vector,
    points: Matrix,
    duals: Matrix,
) -> None:
    """Backward substitution for rounds ``end`` - 1 down to ``first``: points and dual variables.

    ``points`` holds L^-1 j on entry and the solution on return; ``dual`` is a buffer.
    """
    n = points.shape[1]
    for t in range(end - 1, first - 1, -1):
        round_factors, x = factors[t - first_stored], points[t]
        if t == len(wanted_moves):
            # The last round has no move after it: x = L^-T (L^-1 j).
            for i in range(n - 1, -1, -1):
                x[i] /= round_factors[i + 1, i]
                for j in range(i):
                    x[j] -= round_factors[i + 1, j] * x[i]
            continue
        # dual z = L M^-1 (L'(x_{t+1} - m) - L^-1 j), then x_t = x_{t+1} - m - C z
        for i in range(n):
            dual[i] = -x[i]
            x[i] = points[t + 1, i] - wanted_moves[t, i]
        add_transposed(round_factors, x, dual)
        multiply_gain(round_factors, dual)
        along = 0.0
        for i in range(n):
            along += move_directions[t, i] * dual[i]
            duals[t, i] = dual[i]
        for i in range(n):
            x[i] -= move_scales[t] * dual[i] + along * move_directions[t, i]


@kernel
def halve_intervals(slopes: Vector, penalty: float, low: Vector, high: Vector) -> None:
    r"""Replace each round's interval, in one coordinate, by the half with the best comparator.

    Consecutive rounds with the same interval form one problem, :math:`\min \sum_t s_t b_t + \lambda
    \sum_t |b_t - b_{t-1}|` over :math:`b_t \in \{0, 1\}`, where s are the slopes at the middle of
    the interval and b = 1 means that the comparator is above the middle. A neighbour with another
    interval is known to be above (b = 1) or below (b = 0).

    Parameters
    ----------
    slopes
        s, shape ``(T,)``; overwritten by the messages of the dynamic programme: the least cost of
        rounds 1 to t with b_t = 1, minus the least cost with b_t = 0.
    penalty
        λ.
    low, high
        The intervals, shape ``(T,)``; halved in place.
    """
    last = len(slopes) - 1
    # Forward pass: the messages.
    message = 0.0
    for t in range(last + 1):
        if t > 0:
            if low[t - 1] == low[t] and high[t - 1] == high[t]:
                message = min(max(message, -penalty), penalty)
            else:  # staying on the known side of round t - 1 costs nothing, the other side λ
                message = -penalty if low[t - 1] >= high[t] else penalty
        message += slopes[t]
        slopes[t] = message
    # Backward pass: the choices, given that of the next round, whose interval before halving was
    # next_low to next_high.
    is_above, next_low, next_high = False, 0.0, 0.0
    for t in range(last, -1, -1):
        if t == last:
            is_above = slopes[t] < 0.0
        elif low[t] == next_low and high[t] == next_high:
            is_above = slopes[t] < -penalty or (is_above and slopes[t] <= penalty)
        else:
            is_above = slopes[t] + (-penalty if next_low >= high[t] else penalty) < 0.0
        next_low, next_high = low[t], high[t]
        middle = 0.5 * (low[t] + high[t])
        if is_above:
            low[t] = middle
        else:
            high[t] = middle


@kernel
def duals_of_points(gradients: Vector, points: Vector, penalty: float, duals: Vector) -> None:
    r"""Dual variables of the moves, in one coordinate: ±λ where a point moves, else clipped sums.

    Where a point lies on the boundary of the domain, gradients need not be balanced by dual
    variables: clipping leaves the excess over λ to the boundary.
    """
    dual = 0.0
    for t in range(len(duals)):
        dual = min(max(dual + gradients[t], -penalty), penalty)
        if points[t + 1] > points[t]:
            dual = penalty
        elif points[t + 1] < points[t]:
            dual = -penalty
        duals[t] = dual
