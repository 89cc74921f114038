r"""Calibrated probabilities of three or more classes.

Normalised one-vs-rest logistic probabilities are over- or underconfident, and do not use the last
label. From their logarithms :math:`l_k` two more forecasts are made,
:math:`q_k \propto \exp(\tau l_k + c\,[k \text{ is the last label}])`. The first has c = 0 and
learns :math:`\tau`; the second learns its own :math:`\tau` and c, both by Newton steps with
forgetting. Both and the uncalibrated probabilities are mixed by their recent losses.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from swordplay.compile import inline_ordered, kernel
from swordplay.core.types import Matrix, Vector
from swordplay.engine.second_order import mixing


class _Place(NamedTuple):
    last_label: int = 0  # -1 before any
    lag_behind: int = 1  # three: discounted loss minus that of the best forecast (see ``mixing``)
    tau: int = 4  # of the forecast without c
    tau_curvature: int = 5
    stay_tau: int = 6  # of the forecast with c
    stay: int = 7  # c
    stay_tau_curvature: int = 8  # Hessian in (tau, c)
    stay_mixed_curvature: int = 9
    stay_curvature: int = 10


PLACE = _Place()
"""Places in the array ``numbers``, which is the whole state."""
NUMBERS = 11
FORECASTS = 3
CURVATURE_MEMORY = 2000.0
"""Rounds that curvatures are remembered for."""
RIDGE = 10.0
"""Added to the curvatures of tau and c; it never fades, and keeps steps small."""
MIN_LOG = -20.0
"""Logarithms of probabilities are clipped here."""
MAX_TAU, MAX_STAY = 8.0, 10.0
"""tau lies between 1/MAX_TAU and MAX_TAU, c between -MAX_STAY and MAX_STAY."""
MAX_STEP = 0.5
"""Largest step of tau or c."""
PRIOR = 0.5
"""Initial weight of the uncalibrated probabilities."""


@inline_ordered
def log_probabilities(scores: Vector, log_p: Vector) -> None:
    """Write log(s_k / sum(s)) of the logistic s_k of each score."""
    largest = -math.inf
    for k in range(len(scores)):
        log_p[k] = min(scores[k], 0.0) - math.log1p(math.exp(-abs(scores[k])))
        largest = max(largest, log_p[k])
    total = 0.0
    for k in range(len(scores)):
        log_p[k] -= largest
        total += math.exp(log_p[k])
    for k in range(len(scores)):
        log_p[k] = max(log_p[k] - math.log(total), MIN_LOG)


@inline_ordered
def tempered_softmax(log_p: Vector, last: int, tau: float, stay: float, q: Vector) -> None:
    """Write q of every class."""
    largest = -math.inf
    for k in range(len(log_p)):
        q[k] = tau * log_p[k] + (stay if k == last else 0.0)
        largest = max(largest, q[k])
    total = 0.0
    for k in range(len(log_p)):
        q[k] = math.exp(q[k] - largest)
        total += q[k]
    for k in range(len(log_p)):
        q[k] /= total


@inline_ordered
def mix_probabilities(
    numbers: Vector,
    scores: Vector,
    last: int,
    log_p: Vector,
    q: Matrix,
    weights: Vector,
    answer: Vector,
) -> None:
    """Write the three forecasts of a row into ``q``, and their mixture.

    Without a last label the third one is left out.
    """
    log_probabilities(scores, log_p)
    tempered_softmax(log_p, -1, 1.0, 0.0, q[0])
    tempered_softmax(log_p, -1, numbers[PLACE.tau], 0.0, q[1])
    tempered_softmax(log_p, last, numbers[PLACE.stay_tau], numbers[PLACE.stay], q[2])
    count = FORECASTS if last >= 0 else FORECASTS - 1
    mixing.write_weights(numbers[PLACE.lag_behind : PLACE.lag_behind + count], PRIOR, weights)
    for k in range(len(scores)):
        answer[k] = 0.0
        for i in range(count):
            answer[k] += weights[i] * q[i, k]


@inline_ordered
def learn(numbers: Vector, label: int, last: int, weight: float, log_p: Vector, q: Matrix) -> None:
    """Score the three forecasts, and let two of them take a Newton step."""
    lag_behind = numbers[PLACE.lag_behind : PLACE.lag_behind + FORECASTS]
    decay = 1.0 - 1.0 / CURVATURE_MEMORY
    for i in range(FORECASTS):
        loss = -math.log(max(q[i, label], math.exp(MIN_LOG)))
        past = (1.0 - 1.0 / mixing.MEMORY) * lag_behind[i]
        lag_behind[i] = past + mixing.LOG_LOSS_RATE * weight * loss
    mixing.recenter(lag_behind)
    # Means and mean squares of the logarithms under the second and the third forecast.
    mean = square = stay_mean = stay_square = 0.0
    for k in range(len(log_p)):
        mean += q[1, k] * log_p[k]
        square += q[1, k] * log_p[k] * log_p[k]
        stay_mean += q[2, k] * log_p[k]
        stay_square += q[2, k] * log_p[k] * log_p[k]
    ridge, variance = (1.0 - decay) * RIDGE, square - mean * mean
    curvature = decay * numbers[PLACE.tau_curvature] + ridge + weight * variance
    numbers[PLACE.tau_curvature] = curvature
    step = weight * (mean - log_p[label]) / curvature
    tau = numbers[PLACE.tau] - clip(step, -MAX_STEP, MAX_STEP)
    numbers[PLACE.tau] = clip(tau, 1.0 / MAX_TAU, MAX_TAU)
    if last < 0:
        return
    # (tau, c) -= H^-1 g, with g the gradient of this loss and H = [[a, b], [b, d]].
    stay_q = q[2, last]
    covariance = stay_q * (log_p[last] - stay_mean)
    variance = stay_square - stay_mean * stay_mean
    a = decay * numbers[PLACE.stay_tau_curvature] + ridge + weight * variance
    b = decay * numbers[PLACE.stay_mixed_curvature] + weight * covariance
    d = decay * numbers[PLACE.stay_curvature] + ridge + weight * stay_q * (1.0 - stay_q)
    numbers[PLACE.stay_tau_curvature] = a
    numbers[PLACE.stay_mixed_curvature] = b
    numbers[PLACE.stay_curvature] = d
    tau_slope = weight * (stay_mean - log_p[label])
    stay_slope = weight * (stay_q - (1.0 if label == last else 0.0))
    determinant = a * d - b * b
    tau_step = (d * tau_slope - b * stay_slope) / determinant
    stay_step = (a * stay_slope - b * tau_slope) / determinant
    tau = numbers[PLACE.stay_tau] - clip(tau_step, -MAX_STEP, MAX_STEP)
    numbers[PLACE.stay_tau] = clip(tau, 1.0 / MAX_TAU, MAX_TAU)
    stay = numbers[PLACE.stay] - clip(stay_step, -MAX_STEP, MAX_STEP)
    numbers[PLACE.stay] = clip(stay, -MAX_STAY, MAX_STAY)


@inline_ordered
def clip(value: float, low: float, high: float) -> float:
    """Return a number clipped to a range."""
    return float(min(max(value, low), high))


@kernel
def learn_rows(
    scores: Matrix,
    labels: Vector,
    weights: Vector,
    notes: Matrix,
    numbers: Vector,
    scratch: Matrix,
    answer: Matrix,
) -> None:
    """Write probabilities of rows, each made before its own label is learned.

    ``notes[t]`` is (1, the last label at the time of its prediction) if row t is late, else
    (0, anything); there may be no notes. ``scratch`` has shape ``(5, max(K, 3))``.
    """
    K = scores.shape[1]
    log_p, q, mixture_weights = scratch[0, :K], scratch[1:4, :K], scratch[4]
    for t in range(len(labels)):
        label, last = int(labels[t]), int(numbers[PLACE.last_label])
        if len(notes) > 0 and notes[t, 0] == 1.0:
            last = int(notes[t, 1])
        mix_probabilities(numbers, scores[t], last, log_p, q, mixture_weights, answer[t])
        weight = weights[t] if len(weights) > 0 else 1.0
        learn(numbers, label, last, weight, log_p, q)
        numbers[PLACE.last_label] = label


@kernel
def predict_rows(
    scores: Matrix, following: int, numbers: Vector, scratch: Matrix, answer: Matrix
) -> None:
    """Write probabilities of rows; only the first ``following`` of them use the last label."""
    K = scores.shape[1]
    for t in range(len(scores)):
        last = int(numbers[PLACE.last_label]) if t < following else -1
        mix_probabilities(
            numbers, scores[t], last, scratch[0, :K], scratch[1:4, :K], scratch[4], answer[t]
        )
