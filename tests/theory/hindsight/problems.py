"""Streams, domains and objectives of the tests of hindsight."""

import numpy as np

import swordplay as sp

FAMILIES = ["squared", "logistic", "huber"]


def drifting_stream(loss, rounds, dim, seed=0, noise=0.3):
    """Noisy targets of linear coefficients that change four times."""
    rng = np.random.default_rng([seed, rounds, dim])
    features = rng.normal(size=(rounds, dim))
    truth = np.repeat(rng.normal(size=(5, dim)), -(-rounds // 5), axis=0)[:rounds]
    scores = np.einsum("ij,ij->i", features, truth) + noise * rng.normal(size=rounds)
    return sp.LinearStream(
        features, (scores > 0).astype(float) if loss == "logistic" else scores, loss, threshold=0.5
    )


def ball_box_simplex(dim):
    """A domain of each kind, some away from the origin."""
    yield sp.Ball(dim, 0.8, np.full(dim, 0.3))
    yield sp.Box(-np.ones(dim), np.linspace(0.1, 0.6, dim))
    if dim > 1:
        yield sp.Simplex(dim, 1.5)


def jumping_stream(loss, rounds, dim, seed=0, steepness=1.0):
    """Noisy targets of unit coefficients that change three times; features times the steepness."""
    rng = np.random.default_rng([seed, rounds, dim])
    features = rng.normal(size=(rounds, dim))
    truth = np.repeat(rng.normal(size=(4, dim)), -(-rounds // 4), axis=0)[:rounds]
    scores = np.einsum(
        "ij,ij->i", features, truth / np.linalg.norm(truth, axis=1)[:, None]
    ) + 0.3 * rng.normal(size=rounds)
    targets = (scores > 0).astype(float) if loss == "logistic" else scores
    return sp.LinearStream(steepness * features, targets, loss, threshold=0.5)


def small_ball_box_simplex(dim):
    """A smaller domain of each kind, for unit coefficients."""
    return (
        sp.Ball(dim, 0.8, np.full(dim, 0.1)),
        sp.Box(-0.3 * np.ones(dim), 0.4 * np.ones(dim)),
        sp.Simplex(dim, 1.5),
    )


class ProjectionOnly:
    """A domain that offers only what the protocol requires."""

    def __init__(self, domain):
        self.dim, self.diameter, self.center = domain.dim, domain.diameter, domain.center
        self.project, self.contains, self.support = domain.project, domain.contains, domain.support


def penalised_loss(stream, penalty, comparators):
    """Losses of comparators plus penalty times path length."""
    return sp.comparator_loss(stream, comparators) + penalty * sp.path_length(comparators)


def value(best):
    """The objective of a best sequence for a penalty."""
    return best.loss + best.penalty * best.path_length


def saturated_huber_stream(size, seed=0):
    """Huber losses whose residuals are far beyond the threshold, if size is large."""
    rng = np.random.default_rng(seed)
    return sp.LinearStream(
        rng.normal(size=(40, 3)), size * rng.normal(size=40), "huber", threshold=1.0
    )
