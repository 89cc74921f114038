"""Methods of the papers for the radius of an interval: scores |truth - forecast| in, radii out, with the papers' constants.

Each function takes the scores of a whole stream and the share of misses alpha, and returns for every row the radius on either
side that was said before its score was seen. Bibliography: docs/bibliography.md.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np

from benchmarks.intervals.windows import Window

BURN_IN = 50
"""Rows that no figure counts. SF-OGD and SAOCP, which have to be told the largest score, are told that of these rows."""


def aci(scores: Any, alpha: float, gamma: float = 0.005) -> Any:
    """Gibbs and Candès (2021), equation 2; gamma = 0.005 as in their section 2.2, quantiles of the last 500 scores."""
    window, level, radii = Window(), alpha, []
    for score in scores.tolist():
        radii.append(window.quantile(level))
        level += gamma * (alpha - (score > radii[-1]))
        window.add(score)
    return np.array(radii)


GAMMAS = np.array([0.0, 5e-6, 5e-5, *(k * unit for unit in (1e-4, 1e-3, 1e-2) for k in range(1, 10))])
"""Zaffran et al. (2022), section 5: K = 30 values."""


class _Boa:
    """Bernstein online aggregation (Wintenberger 2017) with the gradient trick, as in the R package opera, which AgACI uses."""

    def __init__(self, experts: int) -> None:
        self.prior = np.full(experts, 1.0 / experts)
        self.regret, self.variance, self.range = np.zeros(experts), np.zeros(experts), np.zeros(experts)
        self.rate, self.weights = np.full(experts, math.exp(350.0)), self.prior

    def learn(self, answers: Any, said: float, slope: float) -> None:
        gains = slope * (said - answers)
        self.range = np.maximum(self.range, np.abs(gains))
        power = 2.0 ** np.ceil(np.log2(np.maximum(self.range, 1e-300)))
        old = self.rate
        self.variance += gains * gains
        self.rate = np.minimum(1.0 / power, np.sqrt(-np.log(self.prior) / np.maximum(self.variance, 1e-300)))
        self.regret += 0.5 * (gains - np.minimum(old, self.rate) * gains**2 + power * (self.rate * gains > 0.5))
        log_weights = np.log(self.prior) + np.log(self.rate) + self.rate * self.regret
        weights = np.exp(log_weights - log_weights.max())
        self.weights = weights / weights.sum()


def agaci(scores: Any, alpha: float) -> Any:
    """Zaffran et al. (2022), algorithm 1: ACI at 30 gammas, aggregated by BOA on the pinball loss of the end at 1 - alpha / 2.

    Scores are symmetric, so that both ends are one radius. Infinite radii are cut at the largest score so far (section 5).
    """
    window, levels, boa, radii, widest = Window(), np.full(len(GAMMAS), alpha), _Boa(len(GAMMAS)), [], 0.0
    for score in scores.tolist():
        each = np.array([window.quantile(level) for level in levels.tolist()])
        cut = np.minimum(each, widest) if widest else each
        said = float(boa.weights @ cut) if widest else math.inf
        radii.append(said)
        if widest:
            # An end at its quantile 1 - alpha / 2 is passed by a share alpha of the scores in all, alpha / 2 on either side.
            boa.learn(cut, said, -(1.0 - alpha) if score > said else alpha)
        levels += GAMMAS * (alpha - (score > each))
        window.add(score)
        widest = max(widest, score)
    return np.array(radii)


def dtaci(scores: Any, alpha: float) -> Any:
    """Gibbs and Candès (2024), algorithm 1 with their eight gammas, sigma = 1 / (2 I) and eta for windows of I = 500 rows."""
    gammas = 0.001 * 2.0 ** np.arange(8)
    span, count = 500, len(gammas)
    spread = (1.0 - alpha) ** 2 * alpha**3 + alpha**2 * (1.0 - alpha) ** 3
    eta = math.sqrt(3.0 / span) * math.sqrt((math.log(2 * span * count) + 1.0) / spread)
    sigma = 1.0 / (2 * span)
    window, levels, weights, radii = Window(), np.full(count, alpha), np.full(count, 1.0 / count), []
    for score in scores.tolist():
        radii.append(window.quantile(float(weights @ levels)))
        beta = window.share_at_least(score)
        off = beta - levels
        weights = weights * np.exp(-eta * (alpha * off - np.minimum(0.0, off)))
        weights = (1.0 - sigma) * weights / weights.sum() + sigma / count
        levels += gammas * (alpha - (levels > beta))
        window.add(score)
    return np.array(radii)


def sf_ogd(scores: Any, alpha: float) -> Any:
    """Bhatnagar et al. (2023), equation 8: scale-free gradient descent with steps D / sqrt(3), D the largest score."""
    step, radius, squares, radii = scores[:BURN_IN].max() / math.sqrt(3.0), 0.0, 0.0, []
    for score in scores.tolist():
        radii.append(radius)
        slope = -(1.0 - alpha) if score > radius else alpha
        squares += slope * slope
        radius -= step * slope / math.sqrt(squares)
    return np.maximum(radii, 0.0)


def saocp(scores: Any, alpha: float, multiplier: int = 8) -> Any:
    """Bhatnagar et al. (2023), algorithm 1: an SF-OGD begins every row and lives g 2^u rows, g = 8; bets weigh them."""
    largest = float(scores[:BURN_IN].max()) or 1.0
    step = largest / math.sqrt(3.0)
    births = lives = np.empty(0)
    place = squares = sums = bets = wealth = np.empty(0)
    said, radii = 0.0, []

    def pinball(at: Any, score: float) -> Any:
        return np.maximum((1.0 - alpha) * (score - at), alpha * (at - score))

    for t, score in enumerate(scores.tolist(), start=1):
        alive = births + lives > t
        births, lives, place, squares, sums, bets, wealth = (
            each[alive] for each in (births, lives, place, squares, sums, bets, wealth)
        )
        births, lives = np.append(births, t), np.append(lives, multiplier * (t & -t))
        place, squares = np.append(place, said), np.append(squares, 0.0)
        sums, bets, wealth = np.append(sums, 0.0), np.append(bets, 0.0), np.append(wealth, 0.0)
        prior = 1.0 / (births**2 * (1.0 + np.floor(np.log2(births))))
        prior /= prior.sum()
        shares = prior * np.maximum(bets, 0.0)
        shares = shares / shares.sum() if shares.sum() > 0.0 else prior
        said = float(shares @ place)
        radii.append(said)
        gains = (pinball(said, score) - pinball(place, score)) / largest
        gains = np.where(bets > 0.0, gains, np.maximum(gains, 0.0))
        sums, wealth = sums + gains, wealth + bets * gains
        bets = sums * (1.0 + wealth) / (t - births + 1.0)
        slope = np.where(score > place, -(1.0 - alpha), alpha)
        squares = squares + slope * slope
        place = place - step * slope / np.sqrt(squares)
    return np.maximum(radii, 0.0)


def quantile_tracking(scores: Any, alpha: float, rate: float = 0.1, span: int = 100) -> Any:
    """Angelopoulos, Candès, Tibshirani (2023), quantile tracking; steps of 0.1 times the largest of the last 100 scores."""
    return _pid(scores, alpha, rate, span, integrate=False)


def conformal_pid(scores: Any, alpha: float, rate: float = 0.1, span: int = 100) -> Any:
    """The same with their integrator, and the constants that they propose: delta = 0.01, K the largest score.

    No scorecaster: it is a second forecaster, of the scores, which users have to bring along.
    """
    return _pid(scores, alpha, rate, span, integrate=True)


def _pid(scores: Any, alpha: float, rate: float, span: int, *, integrate: bool) -> Any:
    horizon = max(len(scores), 3)
    saturation = 2.0 / math.pi * (math.ceil(math.log(horizon) * 0.01) - 1.0 / math.log(horizon))
    tracked = missed = largest = 0.0
    newest: deque[tuple[int, float]] = deque()  # those of the last scores that no later one exceeds: the first is the largest
    radii = []
    for t, score in enumerate(scores.tolist(), start=1):
        turn = missed * math.log(t + 1) / (saturation * (t + 1))
        push = math.tan(turn) if abs(turn) < math.pi / 2 else math.copysign(math.inf, turn)
        radius = tracked + (largest * push if integrate and largest else 0.0)
        radii.append(radius)
        miss = score > radius
        while newest and newest[-1][1] <= score:
            newest.pop()
        newest.append((t, score))
        if newest[0][0] <= t - span:
            newest.popleft()
        tracked += rate * newest[0][1] * (miss - alpha)
        missed += miss - alpha
        largest = max(largest, score)
    return np.maximum(radii, 0.0)


PEERS = {
    "ACI": aci,
    "AgACI": agaci,
    "DtACI": dtaci,
    "SF-OGD": sf_ogd,
    "SAOCP": saocp,
    "quantile tracking": quantile_tracking,
    "conformal PID": conformal_pid,
}
