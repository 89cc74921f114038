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

    def shares(self, n):
        """Of the first n; the others are not asked."""
        prior = np.array([self.prior[0]] + [(1 - self.prior[0]) / (n - 1)] * (n - 1))
        w = prior * np.exp(-self.behind[:n])
        return w / w.sum()

    def best(self, n):
        return self.sums[:n].min() / self.rounds

    def judge_numbers(self, said, target, reach):
        n, self.before = len(said), self.behind[: len(said)].min()
        most = 100 * max(self.best(n), 1e-18 * reach**2) if self.rounds >= 20 else math.inf
        losses = np.minimum((target - said) ** 2, most)
        self.rounds = 0.998 * self.rounds + 1
        self.sums[:n] = 0.998 * self.sums[:n] + losses
        scale = max(self.best(n), 1e-18 * reach**2)
        if scale > 0:
            self.behind[:n] = 0.998 * self.behind[:n] + 0.1 * np.minimum(losses / scale, 1e6)
        self.settle(n)

    def settle(self, n):
        """The leader at 0.

        Who was not asked stays where he was, seen from the best of those who were.
        """
        self.behind[n:] -= self.before
        self.behind[:n] -= self.behind[:n].min()
        self.behind = np.minimum(self.behind - self.behind.min(), 14)

    def judge_labels(self, said, target):
        n = len(said)
        right = np.clip(said if target else -said, -15, 15)
        self.before = self.behind[:n].min()
        self.behind[:n] = 0.998 * self.behind[:n] + 0.3 * np.log1p(np.exp(-right))
        self.settle(n)


class NaiveLayer:
    """Two experts without lags, two with three lags, no change and first order.

    Intercept, complete rows; given curves.
    """

    def __init__(self, dim, logistic, shapes):
        self.logistic, self.dim, self.shapes = logistic, dim, shapes
        self.pace = 2 if logistic else 4
        self.benders = [
            Expert(1 + len(shapes), 1 - self.pace * 2.0**-power) for power in (8, 10, 12, 14)
        ]
        width = 1 + 3 + 1 + dim
        shortest = max(6, math.ceil(math.log2(2 * width)))
        self.experts = [Expert(width, 1 - 2.0 ** -(shortest + more)) for more in (0, 4, 0, 4)]
        self.correctors = [
            Expert(5 if logistic else 3, 1 - 2.0**-power) for power in (8, 10, 12, 14)
        ]
        self.inner, self.outer = Weights(0.3, 6), Weights(0.5, 9)
        self.values = [[] for _ in range(dim + 1)]
        self.places = [None] * (dim + 1)
        self.error = 0.0
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
        scaled = [
            0.0 if p is None else (v - p[0]) / p[1] for v, p in zip(raw, self.places, strict=False)
        ]
        bare, full = (
            np.array([1.0, 0, 0, 0, 0, *scaled]),
            np.array([1.0, *self.recent, self.error, *scaled]),
        )
        rows = [bare, bare, full, full]
        scores = [one.score(a) for one, a in zip(self.experts, rows, strict=True)]
        odds = math.log(min(max(self.stay, 0.01), 0.99) / (1 - min(max(self.stay, 0.01), 0.99)))
        same = self.recent[0] * odds if self.logistic else self.recent[0]
        if self.logistic:  # log-odds are less sure the less is known of their row
            doubts = [
                math.sqrt(1 + math.pi / 8 * one.leverage(a))
                for one, a in zip(self.experts, rows, strict=True)
            ]
            told = [min(max(s / doubt, -8), 8) for s, doubt in zip(scores, doubts, strict=True)]
        else:
            told = [self.cut(s) for s in scores]
        said = np.array([first, *told, same])
        w = self.inner.shares(6)
        plain = w @ said
        self.error = target - (1 / (1 + math.exp(-said[2])) if self.logistic else said[2])
        sides = [
            first - plain,
            w[:3] @ said[:3] / w[:3].sum() - plain,
            w[3:] @ said[3:] / w[3:].sum() - plain,
        ]
        z = np.array(sides + [1.0, plain] * self.logistic)
        more = [one.score(z) for one in self.correctors]
        straight, bending = self.outer.behind[:5].min(), self.outer.behind[5:].min()
        awake = (
            self.active % 8 == 0
            or self.active < 500
            or bending < straight + (7 if self.logistic else -0.1)
        )
        curves = np.array([1.0, *(self.curve(shape, scaled) for shape in self.shapes)])
        bent = [one.score(curves) for one in self.benders] if awake else []
        top = [
            plain,
            *(
                min(max(plain + m, -15), 15) if self.logistic else self.cut(plain + m)
                for m in more + bent
            ),
        ]
        top = np.array(top)
        mixed = self.outer.shares(len(top)) @ top
        if self.logistic:
            self.inner.judge_labels(said, target)
            self.outer.judge_labels(top, target)
            unit = 1.0
        else:
            self.inner.judge_numbers(said, target, self.high - self.low)
            self.outer.judge_numbers(top, target, self.high - self.low)
            unit = self.inner.best(6)
        for one, a, score in zip(self.experts, rows, scores, strict=True):
            self.teach(one, a, score, target, 1.0)
        if awake and self.active >= 500 and self.active % self.pace:
            return mixed  # whoever corrects rests
        for one, score in zip(self.correctors, more, strict=True):
            if self.logistic:
                self.teach(one, z, score + plain, target, 1.0)
            else:
                self.teach(one, z, score, target - plain, 1.0 / unit)
        for one, score in zip(self.benders, bent, strict=False):
            offset = plain if self.logistic else 0.0
            self.teach(
                one, curves, score + offset, target if self.logistic else target - plain, 1.0
            )
        return mixed

    def curve(self, shape, scaled):
        one, other = (min(max(scaled[int(j)], -4), 4) for j in shape[:2])
        return (
            abs(one)
            if shape[2] == 0
            else math.sqrt(2) * math.cos(shape[2] * one + shape[3] * other + shape[4])
        )

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
            self.low, self.high = (
                min(target, self.low + width / 4096),
                max(target, self.high - width / 4096),
            )
        self.recent = [now, *self.recent[:2]]
        self.active += 1
