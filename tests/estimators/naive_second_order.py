"""The second-order layer in plain Python, from the formulas: one expert, one number at a time."""

import math

import numpy as np


class Expert:
    """Least squares with forgetting; P = U diag(delta) U' with a unit upper triangular U."""

    def __init__(self, width, discount):
        self.theta, self.U, self.delta = np.zeros(width), np.eye(width), np.ones(width)
        self.discount, self.usual = discount, 1.0

    def score(self, a):
        return float(self.theta @ a)

    def learn(self, a, residual, curvature):
        P = self.U @ np.diag(self.delta) @ self.U.T
        share = self.discount / curvature
        gain = P @ a / (share + a @ P @ a)
        f, alpha, v = self.U.T @ a, share, self.delta * (self.U.T @ a)
        ahead = np.zeros(len(a))
        for j in range(len(a)):
            before, alpha = alpha, alpha + f[j] * v[j]
            self.delta[j] = min(self.delta[j] * before / alpha / self.discount, 1.0)
            old = self.U[:j, j].copy()
            self.U[:j, j] -= f[j] / before * ahead[:j]
            ahead[:j] += v[j] * old
            ahead[j] = v[j]
        self.theta = self.theta + gain * residual

    def leverage(self, a):
        return float(a @ self.U @ np.diag(self.delta) @ self.U.T @ a)


class Weights:
    """How far behind each forecaster is."""

    def __init__(self, prior, count):
        self.prior = np.array([prior] + [(1 - prior) / (count - 1)] * (count - 1))
        self.behind, self.sums, self.rounds = np.zeros(count), np.zeros(count), 0.0

    def shares(self):
        w = self.prior * np.exp(-self.behind)
        return w / w.sum()

    def best(self):
        return self.sums.min() / self.rounds

    def judge_numbers(self, said, target, reach):
        most = 100 * max(self.best(), 1e-18 * reach**2) if self.rounds >= 20 else math.inf
        losses = np.minimum((target - said) ** 2, most)
        self.rounds = 0.998 * self.rounds + 1
        self.sums = 0.998 * self.sums + losses
        scale = max(self.best(), 1e-18 * reach**2)
        if scale > 0:
            self.behind = 0.998 * self.behind + 0.1 * np.minimum(losses / scale, 1e6)
        self.behind = np.minimum(self.behind - self.behind.min(), 14)

    def judge_labels(self, said, target):
        right = np.clip(said if target else -said, -15, 15)
        self.behind = 0.998 * self.behind + 0.3 * np.log1p(np.exp(-right))
        self.behind = np.minimum(self.behind - self.behind.min(), 14)


class NaiveLayer:
    """Two experts without lags, two with three lags, no change and first order; intercept, complete rows."""

    def __init__(self, dim, logistic):
        self.logistic, self.dim = logistic, dim
        width = 1 + 3 + dim
        shortest = max(6, math.ceil(math.log2(2 * width)))
        self.experts = [Expert(width, 1 - 2.0 ** -(shortest + more)) for more in (0, 4, 0, 4)]
        self.correctors = [Expert(5 if logistic else 3, 1 - 2.0**-power) for power in (8, 10, 12, 14)]
        self.inner, self.outer = Weights(0.3, 6), Weights(0.5, 5)
        self.values = [[] for _ in range(dim + 1)]
        self.places = [None] * (dim + 1)
        self.recent, self.active, self.low, self.high, self.stay = [0.0] * 3, 0, -1.0, 1.0, 0.5

    def follow(self, j, value):
        if self.places[j] is None and (self.values[j] or value != 0):
            self.values[j].append(value)
            if len(self.values[j]) == 8:  # all of them differ in these tests
                center = sorted(self.values[j])[4]
                self.places[j] = center, 2 * sorted(abs(v - center) for v in self.values[j])[4]

    def cut(self, value):
        room = 0.5 * (self.high - self.low)
        return min(max(value, self.low - room), self.high + room)

    def row(self, raw, first, target):
        """The answer for a row, which is then learned."""
        answer = first
        if self.logistic or self.places[-1] is not None:
            center, spread = (0.0, 1.0) if self.logistic else self.places[-1]
            width, goal = self.high - self.low, (target - center) / spread
            if not self.logistic:
                goal = min(max(goal, self.low - width), self.high + width)
            mixed = self.round(raw, (first - center) / spread, goal) * spread + center
            answer = mixed if self.active else first
            self.remember(goal)
        else:
            self.follow(self.dim, target)
        for j, value in enumerate(raw):
            self.follow(j, value)
        return answer

    def round(self, raw, first, target):
        scaled = [0.0 if p is None else (v - p[0]) / p[1] for v, p in zip(raw, self.places, strict=False)]
        bare, full = np.array([1.0, 0, 0, 0, *scaled]), np.array([1.0, *self.recent, *scaled])
        rows = [bare, bare, full, full]
        scores = [one.score(a) for one, a in zip(self.experts, rows, strict=True)]
        odds = math.log(min(max(self.stay, 0.01), 0.99) / (1 - min(max(self.stay, 0.01), 0.99)))
        same = self.recent[0] * odds if self.logistic else self.recent[0]
        said = np.array([first, *(min(max(s, -8), 8) if self.logistic else self.cut(s) for s in scores), same])
        w = self.inner.shares()
        plain = w @ said
        sides = [first - plain, w[:3] @ said[:3] / w[:3].sum() - plain, w[3:] @ said[3:] / w[3:].sum() - plain]
        z = np.array(sides + [1.0, plain] * self.logistic)
        more = [one.score(z) for one in self.correctors]
        top = np.array([plain, *(min(max(plain + m, -15), 15) if self.logistic else self.cut(plain + m) for m in more)])
        mixed = self.outer.shares() @ top
        if self.logistic:
            self.inner.judge_labels(said, target)
            self.outer.judge_labels(top, target)
            unit = 1.0
        else:
            self.inner.judge_numbers(said, target, self.high - self.low)
            self.outer.judge_numbers(top, target, self.high - self.low)
            unit = self.inner.best()
        for one, a, score in zip(self.experts, rows, scores, strict=True):
            self.teach(one, a, score, target, 1.0)
        for one, score in zip(self.correctors, more, strict=True):
            if self.logistic:
                self.teach(one, z, score + plain, target, 1.0)
            else:
                self.teach(one, z, score, target - plain, 1.0 / unit)
        return mixed

    def teach(self, one, a, score, target, weight):
        if self.logistic:
            p = 1 / (1 + math.exp(-min(max(score, -30), 30)))
            curvature = max(p * (1 - p), 1e-3)
            residual, weight = (target - p) / curvature, weight * curvature
        else:
            residual = target - score
            size, most = abs(residual), 10 * one.usual
            residual = min(max(residual, -most), most)
            one.usual += (min(size, 2 * most) - one.usual) / 128
        one.learn(a, residual, min(weight, 1 / max(one.leverage(a), 1e-300)))

    def remember(self, target):
        now = 2 * target - 1 if self.logistic else target
        if self.logistic and self.active:
            self.stay += ((now == self.recent[0]) - self.stay) / 200
        if not self.logistic:
            width = self.high - self.low
            self.low, self.high = min(target, self.low + width / 4096), max(target, self.high - width / 4096)
        self.recent = [now, *self.recent[:2]]
        self.active += 1
