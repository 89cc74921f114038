"""Intervals once more, in plain Python from the formulas of the docs: slow, and easy to read."""

import math

import numpy as np

from swordplay.engine.column_stats import WARM_UP, ColumnArrays, scale_and_update

STEP_SIZES = [2.0**-k for k in range(1, 9)]
PACES = [0.5, 0.1]


def clip(value, limit):
    return max(-limit, min(limit, value))


def scaled_columns(rows):
    d = rows.shape[1]
    answer, norms = np.empty((len(rows), d)), np.empty(len(rows))
    scale_and_update(
        rows,
        ColumnArrays(np.zeros(d), np.zeros(d), np.zeros(d), np.zeros((WARM_UP, d))),
        5.0,
        answer,
        norms,
    )
    return answer


def in_bins(columns):
    """For each scaled column a 1 in the one of its 24 bins between -2 and 2 that it lies in, and
    none if it is 0.
    """
    answer = np.zeros((*columns.shape, 24))
    for where in np.argwhere(columns != 0.0):
        answer[*where, min(max(math.floor((columns[*where] + 2) * 6), 0), 23)] = 1.0
    return answer.reshape(len(columns), -1)


class Follower:
    """Experts that go a share of the way to what is seen, weighed by their squared errors."""

    def __init__(self, width):
        self.experts = [
            (step, np.zeros(columns)) for columns in (1, 7, width) for step in STEP_SIZES
        ]
        self.experts += [(0.0, np.zeros(1))] * 8  # those who expect nothing
        self.losses = [0.0] * len(self.experts)

    def guess(self, row, still):
        self.experts[-8:] = [(0.0, np.array([still]))] * 8
        self.said = [float(w @ row[: len(w)]) for _, w in self.experts]
        shares = np.exp(-0.1 * (np.array(self.losses) - min(self.losses)))
        return float(shares @ self.said / shares.sum())

    def learn(self, row, seen, unit):
        for k, (step, w) in enumerate(self.experts):
            off = seen - self.said[k]
            self.losses[k] = (1 - 1 / 500) * self.losses[k] + min((off / unit) ** 2, 400.0)
            part = row[: len(w)]
            w += step * off * part / (part @ part)


class Level:
    """The scale and the balance of one level."""

    def __init__(self, level):
        self.alpha = 1 - level
        self.radii, self.debts, self.balance = [0.0] * 8, [0.0] * 8, 0.0

    def radius(self, rows, usual_score, largest_score):
        if rows < 5 or self.balance >= 9.5:
            return math.inf
        if self.balance <= -9.5:
            return -1.0
        shares = np.exp(-0.1 / self.alpha * (np.array(self.debts) - min(self.debts)))
        quantile = float(shares @ self.radii / shares.sum())
        radius = quantile + max(quantile, usual_score) * self.wider() * (1 + self.haste())
        if (rows + 1) * self.alpha < 1:
            radius = max(radius, largest_score)
        return max(radius, 0.0)

    def wider(self):
        return 0.02 * self.balance * (1 + 4 * (self.balance / 9.5) ** 2)

    def haste(self):
        return 16 * self.alpha**2 if self.balance < 0 else 0.0

    def settle(self, missed):
        if missed:
            self.balance += 1 - self.alpha
        elif self.balance > -9.5:
            self.balance -= self.alpha

    def learn(self, score, usual):
        for k in range(8):
            off = score - self.radii[k]
            self.debts[k] = (1 - 1 / 500) * self.debts[k] + (
                off * (1 - self.alpha) if off > 0 else -off * self.alpha
            ) / usual
            step = usual / self.alpha / 32 / 2**k
            self.radii[k] = max(
                self.radii[k] + step * ((1 - self.alpha) * (off > 0) - self.alpha * (off < 0)), 0.0
            )


def begin(parts, spread, usual, newest):
    """Spreads begin at the usual size, radii at the quantiles of exponential scores.

    Returns usual and largest score.
    """
    for _, w in spread.experts:
        w[0] = usual
    for part in parts.values():
        part.radii = [math.log(1 / part.alpha)] * 8
    return 1.0, min(max(newest) / usual, 20.0)


def bounds(levels, predictions, targets, features=None):
    """Intervals of every row and level, each said before its row is learned.

    Shape ``(T, levels, 2)``.
    """
    columns = scaled_columns(np.empty((len(targets), 0)) if features is None else features)
    columns = np.hstack([columns, in_bins(columns)])
    levels_of_forecasts = scaled_columns(predictions[:, None])
    width = 7 + columns.shape[1]
    location, spread = Follower(width), Follower(width)
    parts = {level: Level(level) for level in sorted(levels)}
    usual = last = truth = score_unit = largest_score = largest = 0.0
    late, newest, said = [0.0] * 2, [], []
    for rows, (prediction, target) in enumerate(
        zip(predictions.tolist(), targets.tolist(), strict=True)
    ):
        gap = clip((truth - prediction) / usual, 5) if usual > 1e-300 else 0.0
        own = (
            [clip(last / usual, 5), *(min(v / usual, 5) - 1 for v in late), gap, abs(gap) - 1]
            if usual > 1e-300
            else [0.0] * 5
        )
        row = np.array([1.0, *own, *levels_of_forecasts[rows], *columns[rows]])
        mu, sigma = location.guess(row, 0.0), max(spread.guess(row, usual), 0.2 * usual)
        # Say.
        widest, here = -1.0, {}
        for level, part in parts.items():
            widest = max(widest, part.radius(rows, score_unit, largest_score))
            half = widest if widest == math.inf else min(widest * sigma, 1.5 * largest)
            middle = prediction + mu * max(1 + part.haste() * part.wider(), 0.0)
            inside = (prediction, prediction) if widest < 0 else (middle - half, middle + half)
            inner = [prediction, *(end for lower in here.values() for end in lower)]
            here[level] = min(inside[0], *inner), max(inside[1], *inner)
        said.append([here[level] for level in levels])
        # Learn.
        for level, part in parts.items():
            part.settle(not here[level][0] <= target <= here[level][1])
        residual, truth = target - prediction, target
        begun = rows >= 5 and usual > 1e-300
        newest = [*newest, abs(residual)][-5:]
        middle = sorted(newest)[(len(newest) - 1) // 2]
        if rows < 5:
            usual, late = middle, [middle] * 2
            last, largest = clip(residual, 20 * middle), 20 * middle
            if rows == 4 and usual > 1e-300:
                score_unit, largest_score = begin(parts, spread, usual, newest)
            continue
        largest = max(abs(residual), (1 - 1 / 500) * largest)
        seen = (
            clip(residual, max(20 * usual, 2 * middle, newest[-2])) if usual > 1e-300 else residual
        )
        score = min(abs(seen - mu) / sigma, 1e12) if sigma > 0 else 0.0
        score = score if score >= 1e-200 else 0.0
        if score_unit > 0:
            score = min(score, 20 * score_unit)
            for part in parts.values():
                part.learn(score, score_unit)
            if score > 0:
                score_unit += max(1 / (rows + 1), 1 / 500) * (score - score_unit)
                largest_score = max(largest_score, score)
        if usual > 1e-300:
            unit = math.sqrt(usual * sigma)
            location.learn(row, seen, unit)
            spread.learn(row, abs(seen - mu), unit)
        last = seen
        if abs(seen) > 1e-300:
            if usual > 1e-300:
                usual += max(1 / (rows + 1), 1 / 500) * (abs(seen) - usual)
                late = [v + pace * (abs(seen) - v) for v, pace in zip(late, PACES, strict=True)]
                usual = min(usual, 20 * late[1])
            else:
                usual, late = abs(seen), [abs(seen)] * 2
        if not begun and usual > 1e-300:
            score_unit, largest_score = begin(parts, spread, usual, newest)
    return np.array(said)
