"""Methods of the papers for the radius of an interval: scores |truth - forecast| in, radii out,
with the papers' constants.

Each function takes the scores of a whole stream and the share of misses alpha, and returns for
every row the radius on either side that was said before its score was seen. All are compiled, so
that their times can be compared. Bibliography: docs/bibliography.md.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from benchmarks.intervals.windows import add, fresh, quantile, share_at_least

BURN_IN = 50
"""Rows that no figure counts.

SF-OGD and SAOCP, which have to be told the largest score, are told that of these rows.
"""


def aci(scores: Any, alpha: float, gamma: float = 0.005) -> Any:
    """Gibbs and Candès (2021), equation 2.

    Gamma = 0.005 as in their section 2.2, quantiles of the last 500 scores.
    """
    return _aci(scores, alpha, gamma, *fresh())


@njit(cache=True)
def _aci(scores: Any, alpha: float, gamma: float, newest: Any, by_size: Any) -> Any:
    level, radii = alpha, np.empty(len(scores))
    for t, score in enumerate(scores):
        radii[t] = quantile(by_size, t, level)
        level += gamma * (alpha - (1.0 if score > radii[t] else 0.0))
        add(newest, by_size, t, score)
    return radii


GAMMAS = np.array(
    [0.0, 5e-6, 5e-5, *(k * unit for unit in (1e-4, 1e-3, 1e-2) for k in range(1, 10))]
)
"""Zaffran et al. (2022), section 5: K = 30 values."""


@njit(cache=True)
def _boa(
    prior: Any,
    regret: Any,
    variance: Any,
    widest: Any,
    rate: Any,
    answers: Any,
    said: float,
    slope: float,
) -> Any:
    """Bernstein online aggregation (Wintenberger 2017) with the gradient trick, as in the R package
    opera, which AgACI uses.

    Returns the weights of the next row.
    """
    gains = slope * (said - answers)
    widest[:] = np.maximum(widest, np.abs(gains))
    power = 2.0 ** np.ceil(np.log2(np.maximum(widest, 1e-300)))
    old = rate.copy()
    variance += gains * gains
    rate[:] = np.minimum(1.0 / power, np.sqrt(-np.log(prior) / np.maximum(variance, 1e-300)))
    regret += 0.5 * (gains - np.minimum(old, rate) * gains**2 + power * (rate * gains > 0.5))
    log_weights = np.log(prior) + np.log(rate) + rate * regret
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


def agaci(scores: Any, alpha: float) -> Any:
    """Zaffran et al. (2022), algorithm 1: ACI at 30 gammas, aggregated by BOA on the pinball loss
    of the end at 1 - alpha / 2.

    Scores are symmetric, so that both ends are one radius. Infinite radii are cut at the largest
    score so far (section 5).
    """
    return _agaci(scores, alpha, GAMMAS, *fresh())


@njit(cache=True)
def _agaci(scores: Any, alpha: float, gammas: Any, newest: Any, by_size: Any) -> Any:
    count = len(gammas)
    levels, each, radii, widest = np.full(count, alpha), np.empty(count), np.empty(len(scores)), 0.0
    prior = np.full(count, 1.0 / count)
    regret, variance, ranges, rate = (
        np.zeros(count),
        np.zeros(count),
        np.zeros(count),
        np.full(count, math.exp(350.0)),
    )
    weights = prior
    for t, score in enumerate(scores):
        for k in range(count):
            each[k] = quantile(by_size, t, levels[k])
        radii[t] = math.inf
        if widest > 0.0:
            cut = np.minimum(each, widest)
            said = float(np.sum(weights * cut))
            radii[t] = said
            # An end at its quantile 1 - alpha / 2 is passed by a share alpha of the scores in all,
            # alpha / 2 on either side.
            slope = -(1.0 - alpha) if score > said else alpha
            weights = _boa(prior, regret, variance, ranges, rate, cut, said, slope)
        levels += gammas * (alpha - (score > each))
        add(newest, by_size, t, score)
        widest = max(widest, score)
    return radii


def dtaci(scores: Any, alpha: float) -> Any:
    """Gibbs and Candès (2024), algorithm 1 with their eight gammas, sigma = 1 / (2 I) and eta
    for windows of I = 500 rows.
    """
    gammas = 0.001 * 2.0 ** np.arange(8)
    span, count = 500, len(gammas)
    spread = (1.0 - alpha) ** 2 * alpha**3 + alpha**2 * (1.0 - alpha) ** 3
    eta = math.sqrt(3.0 / span) * math.sqrt((math.log(2 * span * count) + 1.0) / spread)
    return _dtaci(scores, alpha, gammas, eta, 1.0 / (2 * span), *fresh())


@njit(cache=True)
def _dtaci(
    scores: Any, alpha: float, gammas: Any, eta: float, sigma: float, newest: Any, by_size: Any
) -> Any:
    count = len(gammas)
    levels, weights, radii = (
        np.full(count, alpha),
        np.full(count, 1.0 / count),
        np.empty(len(scores)),
    )
    for t, score in enumerate(scores):
        radii[t] = quantile(by_size, t, np.sum(weights * levels))
        beta = share_at_least(by_size, t, score)
        off = beta - levels
        weights = weights * np.exp(-eta * (alpha * off - np.minimum(0.0, off)))
        weights = (1.0 - sigma) * weights / weights.sum() + sigma / count
        levels += gammas * (alpha - (levels > beta))
        add(newest, by_size, t, score)
    return radii


def sf_ogd(scores: Any, alpha: float) -> Any:
    """Bhatnagar et al. (2023), equation 8: scale-free gradient descent with steps D / sqrt(3), D
    the largest score.
    """
    return np.maximum(_sf_ogd(scores, alpha, scores[:BURN_IN].max() / math.sqrt(3.0)), 0.0)


@njit(cache=True)
def _sf_ogd(scores: Any, alpha: float, step: float) -> Any:
    radius, squares, radii = 0.0, 0.0, np.empty(len(scores))
    for t, score in enumerate(scores):
        radii[t] = radius
        slope = -(1.0 - alpha) if score > radius else alpha
        squares += slope * slope
        radius -= step * slope / math.sqrt(squares)
    return radii


def saocp(scores: Any, alpha: float, multiplier: int = 8) -> Any:
    """Bhatnagar et al. (2023), algorithm 1: an SF-OGD begins every row and lives g 2^u rows, g = 8.

    Bets weigh them.
    """
    largest = float(scores[:BURN_IN].max()) or 1.0
    most = multiplier * (len(scores).bit_length() + 1)  # alive at once: of each u at most g
    return np.maximum(_saocp(scores, alpha, multiplier, largest, np.zeros((7, most))), 0.0)


@njit(cache=True)
def _pinball(at: float, score: float, alpha: float) -> float:
    return max((1.0 - alpha) * (score - at), alpha * (at - score))


@njit(cache=True)
def _saocp(scores: Any, alpha: float, multiplier: int, largest: float, experts: Any) -> Any:
    """A column of ``experts`` has birth, end, place, squares, sum of gains, bet, wealth."""
    step, count, said, radii = largest / math.sqrt(3.0), 0, 0.0, np.empty(len(scores))
    for t, score in enumerate(scores, 1):
        alive = 0
        for k in range(count):
            if experts[1, k] > t:
                experts[:, alive] = experts[:, k]
                alive += 1
        count = alive + 1
        experts[:, alive] = 0.0
        experts[0, alive], experts[1, alive], experts[2, alive] = t, t + multiplier * (t & -t), said
        births, place, bets = experts[0, :count], experts[2, :count], experts[5, :count]
        prior = 1.0 / (births**2 * (1.0 + np.floor(np.log2(births))))
        shares = prior * np.maximum(bets, 0.0)
        if not shares.sum() > 0.0:
            shares = prior
        said = np.sum(shares * place) / shares.sum()
        radii[t - 1] = said
        for k in range(count):
            gain = (_pinball(said, score, alpha) - _pinball(place[k], score, alpha)) / largest
            gain = gain if bets[k] > 0.0 else max(gain, 0.0)
            experts[4, k] += gain
            experts[6, k] += bets[k] * gain
            bets[k] = experts[4, k] * (1.0 + experts[6, k]) / (t - births[k] + 1.0)
            slope = -(1.0 - alpha) if score > place[k] else alpha
            experts[3, k] += slope * slope
            place[k] -= step * slope / math.sqrt(experts[3, k])
    return radii


def quantile_tracking(scores: Any, alpha: float, rate: float = 0.1, span: int = 100) -> Any:
    """Angelopoulos, Candès, Tibshirani (2023), quantile tracking.

    Steps of 0.1 times the largest of the last 100 scores.
    """
    return np.maximum(_pid(scores, alpha, rate, span, False), 0.0)


def conformal_pid(scores: Any, alpha: float, rate: float = 0.1, span: int = 100) -> Any:
    """The same with their integrator, and the constants that they propose: delta = 0.01, K the
    largest score.

    No scorecaster: it is a second forecaster, of the scores, which users have to bring along.
    """
    return np.maximum(_pid(scores, alpha, rate, span, True), 0.0)


@njit(cache=True)
def _pid(scores: Any, alpha: float, rate: float, span: int, integrate: bool) -> Any:
    horizon = max(len(scores), 3)
    saturation = 2.0 / math.pi * (math.ceil(math.log(horizon) * 0.01) - 1.0 / math.log(horizon))
    tracked, missed, largest, radii = 0.0, 0.0, 0.0, np.empty(len(scores))
    for t, score in enumerate(scores, 1):
        turn = missed * math.log(t + 1) / (saturation * (t + 1))
        push = math.tan(turn) if abs(turn) < math.pi / 2 else math.copysign(math.inf, turn)
        radius = tracked + (largest * push if integrate and largest > 0.0 else 0.0)
        radii[t - 1] = radius
        miss = 1.0 if score > radius else 0.0
        tracked += rate * scores[max(t - span, 0) : t].max() * (miss - alpha)
        missed += miss - alpha
        largest = max(largest, score)
    return radii


PEERS = {
    "ACI": aci,
    "AgACI": agaci,
    "DtACI": dtaci,
    "SF-OGD": sf_ogd,
    "SAOCP": saocp,
    "quantile tracking": quantile_tracking,
    "conformal PID": conformal_pid,
}
