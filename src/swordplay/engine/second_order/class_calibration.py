r"""Probabilities of many classes, calibrated.

One model a class, divided by their sum, is too little (or too) confident, and ignores the last
label. From its logarithms :math:`l_k` experts make :math:`q_k \propto \exp(\tau l_k + c\,[k \text{
is the last label}])` and learn :math:`\tau`, or both, by Newton's method with forgetting. They and
the uncalibrated probabilities are mixed by their recent losses.
"""

from __future__ import annotations

import math

from swordplay.compile import inline_ordered, kernel
from swordplay.core.types import Matrix, Vector
from swordplay.engine.second_order import mixing

LAST, BEHIND, SHARP, STAY, NUMBERS = 0, 1, 4, 6, 11
"""Places: the last label (-1 before any), how far behind three are, tau and its curvature, tau,
c and their curvatures.
"""
EXPERTS = 3
MEMORY = 2000.0
"""Rounds that are remembered."""
RIDGE = 10.0
"""What is known in the beginning, in rounds: that tau is 1 and c is 0. It is never forgotten."""
LEAST = -20.0
"""Logarithms of probabilities below this count as this."""
SHARPEST, SURE = 8.0, 10.0
"""tau lies between 1/SHARPEST and SHARPEST, c between -SURE and SURE."""
LONGEST = 0.5
"""No step moves tau or c farther."""
PRIOR = 0.5
"""Weight of the probabilities as they are in the beginning."""


@inline_ordered
def put_logs(scores: Vector, logs: Vector) -> None:
    """Logarithms of the logistic of each score divided by their sum."""
    most = -math.inf
    for k in range(len(scores)):
        logs[k] = min(scores[k], 0.0) - math.log1p(math.exp(-abs(scores[k])))
        most = max(most, logs[k])
    total = 0.0
    for k in range(len(scores)):
        logs[k] -= most
        total += math.exp(logs[k])
    for k in range(len(scores)):
        logs[k] = max(logs[k] - math.log(total), LEAST)


@inline_ordered
def put_chances(logs: Vector, last: int, sharp: float, stay: float, chances: Vector) -> None:
    """q of every class."""
    most = -math.inf
    for k in range(len(logs)):
        chances[k] = sharp * logs[k] + (stay if k == last else 0.0)
        most = max(most, chances[k])
    total = 0.0
    for k in range(len(logs)):
        chances[k] = math.exp(chances[k] - most)
        total += chances[k]
    for k in range(len(logs)):
        chances[k] /= total


@inline_ordered
def say(
    numbers: Vector,
    scores: Vector,
    last: int,
    logs: Vector,
    chances: Matrix,
    weights: Vector,
    answer: Vector,
) -> None:
    """What the three say of a row, in ``chances``, and their mixture.

    Without a last label the third one is left out.
    """
    put_logs(scores, logs)
    put_chances(logs, -1, 1.0, 0.0, chances[0])
    put_chances(logs, -1, numbers[SHARP], 0.0, chances[1])
    put_chances(logs, last, numbers[STAY], numbers[STAY + 1], chances[2])
    asked = EXPERTS if last >= 0 else EXPERTS - 1
    mixing.weigh(numbers[BEHIND : BEHIND + asked], PRIOR, weights)
    for k in range(len(scores)):
        answer[k] = 0.0
        for i in range(asked):
            answer[k] += weights[i] * chances[i, k]


@inline_ordered
def learn(
    numbers: Vector, label: int, last: int, weight: float, logs: Vector, chances: Matrix
) -> None:
    """Judge the three, and let two of them take a Newton step."""
    behind, fade = numbers[BEHIND : BEHIND + EXPERTS], 1.0 - 1.0 / MEMORY
    for i in range(EXPERTS):
        loss = -math.log(max(chances[i, label], math.exp(LEAST)))
        behind[i] = (1.0 - 1.0 / mixing.MEMORY) * behind[i] + mixing.LABEL_RATE * weight * loss
    mixing.catch_up(behind)
    first = second = third = square = mixed = 0.0
    for k in range(len(logs)):
        first += chances[1, k] * logs[k]
        second += chances[1, k] * logs[k] * logs[k]
        third += chances[2, k] * logs[k]
        square += chances[2, k] * logs[k] * logs[k]
    numbers[SHARP + 1] = (
        fade * numbers[SHARP + 1] + (1.0 - fade) * RIDGE + weight * (second - first * first)
    )
    step = weight * (first - logs[label]) / numbers[SHARP + 1]
    numbers[SHARP] = between(
        numbers[SHARP] - between(step, LONGEST, -LONGEST), SHARPEST, 1.0 / SHARPEST
    )
    if last < 0:
        return
    stays = chances[2, last]
    mixed = stays * (logs[last] - third)
    a, b, d = STAY + 2, STAY + 3, STAY + 4
    numbers[a] = fade * numbers[a] + (1.0 - fade) * RIDGE + weight * (square - third * third)
    numbers[b] = fade * numbers[b] + weight * mixed
    numbers[d] = fade * numbers[d] + (1.0 - fade) * RIDGE + weight * stays * (1.0 - stays)
    g, h = weight * (third - logs[label]), weight * (stays - (1.0 if label == last else 0.0))
    whole = numbers[a] * numbers[d] - numbers[b] * numbers[b]
    sharper, stayer = (
        (numbers[d] * g - numbers[b] * h) / whole,
        (numbers[a] * h - numbers[b] * g) / whole,
    )
    numbers[STAY] = between(
        numbers[STAY] - between(sharper, LONGEST, -LONGEST), SHARPEST, 1.0 / SHARPEST
    )
    numbers[STAY + 1] = between(numbers[STAY + 1] - between(stayer, LONGEST, -LONGEST), SURE, -SURE)


@inline_ordered
def between(value: float, most: float, least: float) -> float:
    """A number that lies in a range."""
    return float(min(max(value, least), most))


@kernel
def learn_rows(
    scores: Matrix,
    labels: Vector,
    weights: Vector,
    asked: Matrix,
    numbers: Vector,
    scratch: Matrix,
    answer: Matrix,
) -> None:
    """Probabilities of rows, each made before its own label is learned.

    ``asked`` holds the last labels that were known when rows were asked, shape ``(T, 2)``, behind a
    1; ``scratch`` has shape ``(5, max(K, 3))``.
    """
    K = scores.shape[1]
    for t in range(len(labels)):
        label, last = int(labels[t]), int(numbers[LAST])
        if len(asked) > 0 and asked[t, 0] == 1.0:
            last = int(asked[t, 1])
        say(numbers, scores[t], last, scratch[0, :K], scratch[1:4, :K], scratch[4], answer[t])
        learn(
            numbers,
            label,
            last,
            weights[t] if len(weights) > 0 else 1.0,
            scratch[0, :K],
            scratch[1:4, :K],
        )
        numbers[LAST] = label


@kernel
def predict_rows(
    scores: Matrix, following: int, numbers: Vector, scratch: Matrix, answer: Matrix
) -> None:
    """The same of rows that are not learned; so many of them follow the last one learned."""
    K = scores.shape[1]
    for t in range(len(scores)):
        last = int(numbers[LAST]) if t < following else -1
        say(numbers, scores[t], last, scratch[0, :K], scratch[1:4, :K], scratch[4], answer[t])
