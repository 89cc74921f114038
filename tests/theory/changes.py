"""Domains, losses and searches for the tests of variations."""

from itertools import pairwise, product

import numpy as np

import swordplay as sp

STARTS = 40


class Segment:
    """A domain that is neither ball, box nor simplex: the points between two ends."""

    def __init__(self, start, end):
        self.start, self.end = np.asarray(start, float), np.asarray(end, float)
        self.dim, self.center = len(self.start), (self.start + self.end) / 2
        self.diameter = float(np.linalg.norm(self.end - self.start))

    def along(self, fraction):
        return self.start + fraction[..., None] * (self.end - self.start)

    def project(self, points):
        fraction = (points - self.start) @ (self.end - self.start) / self.diameter**2
        return self.along(np.clip(fraction, 0.0, 1.0))

    def contains(self, points, atol=1e-9):
        return np.linalg.norm(self.project(points) - points, axis=-1) <= atol

    def support(self, directions):
        return np.maximum(directions @ self.start, directions @ self.end)


def domains(dim, rng):
    yield sp.Ball(dim, rng.uniform(0.5, 2.0), rng.normal(size=dim))
    yield sp.Box(-rng.uniform(0.1, 2.0, dim), rng.uniform(0.1, 2.0, dim))
    if dim > 1:
        yield sp.Simplex(dim, rng.uniform(0.5, 2.0))


def quadratic(rng, dim, diagonal=False):
    root = rng.normal(size=(dim, dim))
    matrix = np.diag(rng.uniform(0.0, 2.0, dim)) if diagonal else root @ root.T
    return sp.QuadraticLoss(matrix, rng.normal(size=dim), rng.normal())


def squared(rng, rounds, dim):
    return sp.LinearStream(rng.normal(size=(rounds, dim)), rng.normal(size=rounds))


def inside(domain, rng, count=STARTS):
    return domain.project(domain.center + domain.diameter * rng.normal(size=(count, domain.dim)))


def ascend(domain, rng, value, gradient, steepest, steps=400):
    """Largest value that projected gradient ascent finds: a lower bound on the supremum."""
    points = np.concatenate([inside(domain, rng), domain.center[None]])
    for _ in range(steps):
        points = domain.project(points + gradient(points) / steepest)
    return float(value(points).max())


def ascended_function_variation(stream, domain, rng):
    def largest(now, before):
        return ascend(
            domain,
            rng,
            lambda x: now.value(x) - before.value(x),
            lambda x: now.gradient(x) - before.gradient(x),
            now.smoothness + before.smoothness,
        )

    return sum(max(largest(now, before), largest(before, now)) for before, now in pairwise(stream))


def squared_changes(stream, points):
    """Sum over rounds of the largest squared change of gradient over some points."""
    return sum(
        np.square(now.gradient(points) - before.gradient(points)).sum(axis=1).max()
        for before, now in pairwise(stream)
    )


def value_changes(stream, points):
    return sum(
        np.abs(now.value(points) - before.value(points)).max() for before, now in pairwise(stream)
    )


def ascended_gradient_variation(stream, domain, rng):
    """Ascent on a convex function over a ball: to the boundary point along the present slope."""
    total = 0.0
    for before, now in pairwise(stream):
        # bound to this round
        change = lambda x, n=now, b=before: n.gradient(x) - b.gradient(x)  # noqa: E731
        hessian = change(np.eye(domain.dim)) - change(np.zeros((1, domain.dim)))
        points = inside(domain, rng)
        for _ in range(500):
            slope = change(points) @ hessian
            points = domain.center + domain.radius * slope / np.linalg.norm(
                slope, axis=1, keepdims=True
            )
        total += np.square(change(points)).sum(axis=1).max()
    return total


def corners(domain):
    if isinstance(domain, sp.Simplex):
        return domain.total * np.eye(domain.dim)
    return np.array(list(product(*zip(domain.lower, domain.upper, strict=True))))
