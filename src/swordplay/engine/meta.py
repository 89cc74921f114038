"""The meta in numbers: rates, trust, weights and the certificate, over rows of the layout.

Twins of ``rates``, ``metas.optimism``, ``metas.hedge`` and ``learners.certificate``. All gradients of a round are multiples
of its features a, so vectors become numbers: g_t = h a, M_t = w a', with a' the features of the round before.
"""

from __future__ import annotations

import math

from swordplay.base.compiling import expert_loop, part
from swordplay.base.types import Matrix, Vector
from swordplay.engine.layout import (
    ADVANTAGE,
    AHEAD,
    BLOCK,
    CONFIG,
    CUMULATIVE,
    DOUBLING,
    DRIFT,
    ENERGY,
    ETA,
    EXTRA,
    FIXED,
    GROWTH,
    GUESS,
    INVERSE,
    LARGEST,
    LEAD,
    LEARNED,
    LIVE,
    LOG_PRIOR,
    NO_OPTIMISM,
    PLAYED,
    REPLAY,
    SCRATCH,
    SLOPE,
    STEP,
    WEIGHT,
)
from swordplay.engine.scalar import fading, slope
from swordplay.parts.metas.hedge import SMALLEST_WEIGHT
from swordplay.parts.metas.optimism import TIED
from swordplay.parts.rates import TIE


@part
def columns_of(rows: Matrix) -> int:
    """How many columns a loop over experts runs over, in a form that shows that they make whole blocks."""
    return int(BLOCK * (rows.shape[1] // BLOCK))


@part
def distance(now: float, before: float, norm: float, last_norm: float, cross: float, turn: float, gap: float) -> float:
    """norm(now * a - before * a')^2, by whichever of two forms cancels less.

    Expanding the square is right unless the two gradients are nearly the same. Then
    now a - before a' = (now - before) a + before (a - a') loses nothing, because turn = <a, a - a'> and
    gap = norm(a - a')^2 were summed entry by entry.
    """
    change = now - before
    apart = now * now * norm + before * before * last_norm
    close = change * change * norm + before * before * gap
    expanded = apart - 2.0 * now * before * cross
    nearby = close + 2.0 * change * before * turn
    return max(nearby if close < apart else expanded, 0.0)


@part
def adaptive_step(multiplier: float, diameter: float, energy: float) -> float:
    """c D / sqrt(energy), infinite as long as no gradient was met."""
    return multiplier * diameter / math.sqrt(energy) if energy > 0.0 else math.inf


@part
def judge(rows: Matrix, live: Vector, config: Vector, target: float) -> float:
    """What a loss says about every expert: gradients, the certificate's sums, and the meta's losses.

    Returns h, with g_t = h a the gradient at the decision.
    """
    n = columns_of(rows)
    loss, threshold = int(config[CONFIG.loss]), config[CONFIG.threshold]
    prediction, norm, last_norm = live[LIVE.prediction], live[LIVE.norm], live[LIVE.last_norm]
    cross, turn, gap = live[LIVE.cross], live[LIVE.turn], live[LIVE.gap]
    weight = live[LIVE.weight]
    h = weight * slope(loss, threshold, prediction + live[LIVE.offset], target)
    if config[CONFIG.shared] == 1.0:
        rows[SLOPE] = h
    else:
        slopes(n, loss, threshold, weight, rows[PLAYED], live[LIVE.offset], target, rows[SLOPE])
    if config[CONFIG.adaptive] == 1.0:
        diameter = config[CONFIG.diameter]
        adapt(
            n,
            norm,
            last_norm,
            cross,
            turn,
            gap,
            diameter,
            rows[SLOPE],
            rows[REPLAY],
            rows[STEP],
            rows[EXTRA],
            rows[ENERGY],
            rows[ETA],
        )
    if config[CONFIG.adaptive] == 1.0 or live[LIVE.rounds] == 0.0:
        follow_steps(n, rows[ETA], rows[INVERSE], rows[GROWTH], rows[LARGEST])
    account(
        n,
        norm,
        last_norm,
        cross,
        turn,
        gap,
        h,
        prediction,
        live[LIVE.smallest],
        config[CONFIG.retention],
        rows[PLAYED],
        rows[SLOPE],
        rows[REPLAY],
        rows[ETA],
        rows[INVERSE],
        rows[LEAD],
        rows[GUESS],
        rows[ENERGY],
        rows[ADVANTAGE],
        rows[DRIFT],
        rows[CUMULATIVE],
        rows[SCRATCH],
    )
    spread = largest(n, rows[SCRATCH]) - least(n, rows[SCRATCH])
    live[LIVE.smallest] = least(n, rows[CUMULATIVE])
    guess = live[LIVE.trust] * live[LIVE.candidate]
    if retune(live, config, 0.25 * spread * spread, distance(h, guess, norm, last_norm, cross, turn, gap)):
        rows[CUMULATIVE] = 0.0
        live[LIVE.smallest] = 0.0
    return float(h)


@expert_loop
def slopes(
    n: int, loss: int, threshold: float, weight: float, at: Vector, offset: float, target: float, answer: Vector
) -> None:
    """Derivative of the loss at every expert's prediction."""
    for i in range(n):
        answer[i] = weight * slope(loss, threshold, at[i] + offset, target)


@expert_loop
def adapt(
    n: int,
    norm: float,
    last_norm: float,
    cross: float,
    turn: float,
    gap: float,
    diameter: float,
    slope_: Vector,
    replay: Vector,
    multiplier: Vector,
    extra: Vector,
    energy: Vector,
    eta: Vector,
) -> None:
    """Adaptive steps of this round."""
    for i in range(n):
        surprise = distance(slope_[i], replay[i], norm, last_norm, cross, turn, gap)
        # Extra-gradient experts step with what they knew before the round, unless they knew nothing.
        known = energy[i] + (1.0 - extra[i]) * surprise
        eta[i] = adaptive_step(multiplier[i], diameter, known if known > 0.0 else energy[i] + surprise)


@expert_loop
def follow_steps(n: int, eta: Vector, inverse: Vector, growth: Vector, largest: Vector) -> None:
    """The certificate's account of 1/eta: its increases and its largest value."""
    for i in range(n):
        now = 1.0 / eta[i]
        growth[i] += max(now - inverse[i], 0.0)
        largest[i] = max(largest[i], now)
        inverse[i] = now


@expert_loop
def account(
    n: int,
    norm: float,
    last_norm: float,
    cross: float,
    turn: float,
    gap: float,
    h: float,
    prediction: float,
    off: float,
    retention: float,
    played: Vector,
    slope_: Vector,
    replay: Vector,
    eta: Vector,
    inverse: Vector,
    lead: Vector,
    guess: Vector,
    energy: Vector,
    advantage: Vector,
    drift: Vector,
    cumulative: Vector,
    wrong: Vector,
) -> None:
    """All sums of a round, in one pass over the experts.

    The certificate's <g_t, x_t - x_i> and eta/2 surprise - lead/(2 eta), the surprises, and the meta's losses
    l_i = <g_t, x_i> = h <a, x_i>, added to what is retained of the past, less ``off``, which was their smallest sum;
    ``wrong`` is by how much they were misjudged.
    """
    for i in range(n):
        surprise = distance(slope_[i], replay[i], norm, last_norm, cross, turn, gap)
        price = eta[i] * surprise if surprise > 0.0 else 0.0  # an infinite step has met no gradient
        energy[i] += surprise
        advantage[i] += h * (prediction - played[i])
        drift[i] += 0.5 * (price - inverse[i] * lead[i])
        loss = h * played[i]
        wrong[i] = loss - guess[i]
        cumulative[i] = retention * (cumulative[i] - off) + loss


@part
def retune(live: Vector, config: Vector, mismatch: float, surprise: float) -> bool:
    """One step of ``rates.Fixed``, ``SelfConfident`` or ``Doubling``; True if the meta has to start afresh."""
    if config[CONFIG.rate] == FIXED:
        return False
    lam = live[LIVE.entropy]
    diameter = config[CONFIG.diameter]
    if config[CONFIG.rate] == DOUBLING:
        live[LIVE.total] += surprise
        if live[LIVE.total] <= live[LIVE.level] * (1.0 + TIE):
            return False
        doublings = math.ceil(math.log2(live[LIVE.total]) - math.log2(live[LIVE.level]) - TIE)
        live[LIVE.level] = math.ldexp(live[LIVE.level], int(doublings))
        live[LIVE.rate] = min(config[CONFIG.cap], math.sqrt((2.0 + lam) / (diameter * diameter * live[LIVE.level])))
        return True
    retention = config[CONFIG.retention]
    live[LIVE.total] = retention * live[LIVE.total] + mismatch
    live[LIVE.level] = max(retention * live[LIVE.level], surprise)
    blur = config[CONFIG.floor] * diameter
    denominator = config[CONFIG.offset] + live[LIVE.total] + blur * blur * live[LIVE.level]
    if denominator > 0.0:
        ceiling = live[LIVE.rate] if retention == 1.0 else config[CONFIG.cap]
        live[LIVE.rate] = min(ceiling, math.sqrt(config[CONFIG.factor] * lam / denominator))
    return False


@part
def look_back(live: Vector, config: Vector, h: float) -> None:
    """Judge the replayed gradient v a' against a guess of 0, and set the trust for the next one."""
    if config[CONFIG.optimism] == LEARNED:
        v, by_zero = live[LIVE.candidate], h * h * live[LIVE.norm]
        change = v * v * live[LIVE.last_norm] - 2.0 * h * v * live[LIVE.cross]  # norm(h a - v a')^2 - norm(h a)^2
        live[LIVE.difference] += change
        live[LIVE.magnitude] += change + 2.0 * by_zero
        live[LIVE.trust] = trust(config[CONFIG.kappa], live[LIVE.difference], live[LIVE.magnitude])


@part
def trust(kappa: float, difference: float, magnitude: float) -> float:
    """1 / (1 + exp(kappa * difference)), 1/2 on a tie, as in ``metas.optimism``."""
    if abs(difference) <= TIE * magnitude:
        return TIED
    score = kappa * difference
    small = fading(-abs(score))
    return (small if score >= 0.0 else 1.0) / (1.0 + small)


@part
def weigh(rows: Matrix, live: Vector, config: Vector, target: float) -> None:
    """Replay the field at old weights and new points, then weigh the experts for the coming round."""
    n = columns_of(rows)
    guess = 0.0
    if config[CONFIG.optimism] != NO_OPTIMISM:
        mean = dot(n, rows[WEIGHT], rows[AHEAD])
        loss, threshold = int(config[CONFIG.loss]), config[CONFIG.threshold]
        live[LIVE.candidate] = live[LIVE.weight] * slope(loss, threshold, mean + live[LIVE.offset], target)
        guess = live[LIVE.trust] * live[LIVE.candidate]
    rate = live[LIVE.rate]
    if rate < math.inf:
        score(n, guess, rate, rows[AHEAD], rows[LOG_PRIOR], rows[CUMULATIVE], rows[GUESS], rows[WEIGHT])
    else:
        score_leaders(n, guess, rows[AHEAD], rows[LOG_PRIOR], rows[CUMULATIVE], rows[GUESS], rows[WEIGHT])
    normalise(n, rows[WEIGHT], exponentials(n, largest(n, rows[WEIGHT]), rows[WEIGHT]))


@expert_loop
def largest(n: int, values: Vector) -> float:
    """The largest of whole blocks of values.

    Four maxima side by side: one alone would wait for itself, and a maximum within a loop that does something else would
    keep that loop from becoming vector instructions.
    """
    a, b, c, d = values[0], values[1], values[2], values[3]
    for i in range(0, n, 4):
        a, b = max(a, values[i]), max(b, values[i + 1])
        c, d = max(c, values[i + 2]), max(d, values[i + 3])
    return float(max(max(a, b), max(c, d)))


@expert_loop
def least(n: int, values: Vector) -> float:
    """The least of whole blocks of values."""
    a, b, c, d = values[0], values[1], values[2], values[3]
    for i in range(0, n, 4):
        a, b = min(a, values[i]), min(b, values[i + 1])
        c, d = min(c, values[i + 2]), min(d, values[i + 3])
    return float(min(min(a, b), min(c, d)))


@expert_loop
def dot(n: int, left: Vector, right: Vector) -> float:
    """<left, right>."""
    total = 0.0
    for i in range(n):
        total += left[i] * right[i]
    return total


@expert_loop
def score(
    n: int, guess: float, rate: float, ahead: Vector, log_prior: Vector, cumulative: Vector, guesses: Vector, answer: Vector
) -> None:
    """ln prior - rate * (loss so far + guess), the guess being m_i = <M, x_i> = w <a, x_i>."""
    for i in range(n):
        m = guess * ahead[i]
        guesses[i] = m
        answer[i] = log_prior[i] - rate * (cumulative[i] + m)


@expert_loop
def score_leaders(
    n: int, guess: float, ahead: Vector, log_prior: Vector, cumulative: Vector, guesses: Vector, answer: Vector
) -> None:
    """The limit of an infinite rate: ln prior for those who lead, nothing for the rest."""
    smallest = math.inf
    for i in range(n):
        guesses[i] = guess * ahead[i]
        smallest = min(smallest, cumulative[i] + guesses[i])
    for i in range(n):
        answer[i] = log_prior[i] if cumulative[i] + guesses[i] <= smallest else -math.inf


@expert_loop
def exponentials(n: int, highest: float, values: Vector) -> float:
    """exp(v - highest) in place; returns their sum."""
    total = 0.0
    for i in range(n):
        values[i] = fading(values[i] - highest)
        total += values[i]
    return total


@expert_loop
def normalise(n: int, weights: Vector, total: float) -> None:
    """Weights with a sum of 1, none of them 0."""
    share = 1.0 / total
    for i in range(n):
        weights[i] = max(weights[i] * share, SMALLEST_WEIGHT)
