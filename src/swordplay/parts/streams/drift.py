r"""Seeded random streams whose target drifts, with known comparators.

Every generator draws a sequence of comparators :math:`u_t` in a ball and, for each round, a vector
of features :math:`a_t` of length 1. The target is the prediction of the comparator with noise:

- ``loss="squared"`` or ``"huber"``: :math:`y_t = \langle a_t, u_t \rangle + \text{noise} \cdot
  z_t`, z standard normal;
- ``loss="logistic"``: the label is 1 where :math:`\langle a_t, u_t \rangle > 0`, flipped with
  probability ``noise``.

All losses have smoothness at most 1. The generators differ in how the comparators move. Parameters
of all generators:

rounds, dim
    T and d.
radius
    Radius of the domain, a ball around the origin.
noise
    Standard deviation of the targets, or share of flipped labels.
loss
    ``"squared"``, ``"huber"`` or ``"logistic"``.
threshold
    Residual at which the Huber loss turns linear; other losses do not use it.
seed
    Seed of the random numbers; equal seeds give equal streams.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Matrix, Vector
from swordplay.parts.domains import Ball
from swordplay.parts.streams.linear import LossName, PlantedStream

COMPARATOR_RADIUS_FRACTION = 0.8
"""Distance of comparators from the origin, as a fraction of the radius.

Of a random walk it is the distance of the first comparator: later ones may reach the boundary.
Comparators are inside the ball, so that a loss without noise has its minimum there, and far enough
from the centre for their moves to change the losses.
"""


def rotation(
    rounds: int,
    dim: int = 2,
    *,
    turns: float = 1.0,
    radius: float = 1.0,
    noise: float = 0.1,
    loss: LossName = "squared",
    threshold: float = 1.0,
    seed: int = 0,
) -> PlantedStream:
    r"""Return a stream whose comparators move on a circle at constant speed.

    The path length :math:`P_T` is close to :math:`2 \pi \cdot 0.8\, r \cdot` ``turns``.

    Parameters
    ----------
    rounds, dim, radius, noise, loss, threshold, seed
        See the module; ``dim`` is at least 2.
    turns
        Full turns over the whole stream.

    Examples
    --------
    >>> stream = rotation(100, turns=0.5)
    >>> stream.comparators.shape, bool(stream.domain.contains(stream.comparators).all())
    ((100, 2), True)
    """
    T, d = arguments.integer("rounds", rounds), arguments.integer("dim", dim, least=2)
    rng, domain = _generator(seed), Ball(d, radius)
    angles = 2 * np.pi * arguments.real("turns", turns) * np.arange(T) / T
    plane_basis = np.linalg.qr(rng.normal(size=(d, 2)))[0]  # orthonormal columns, shape (d, 2)
    comparators = (
        COMPARATOR_RADIUS_FRACTION
        * domain.radius
        * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        @ plane_basis.T
    )
    return _with_targets(rng, domain, comparators, _directions(rng, T, d), noise, loss, threshold)


def random_walk(
    rounds: int,
    dim: int = 2,
    *,
    step: float = 0.02,
    radius: float = 1.0,
    noise: float = 0.1,
    loss: LossName = "squared",
    threshold: float = 1.0,
    seed: int = 0,
) -> PlantedStream:
    """Return a stream whose comparators make a random walk within the ball.

    Parameters
    ----------
    rounds, dim, radius, noise, loss, threshold, seed
        See the module.
    step
        Length of the move of each round (less where it is projected onto the ball).
    """
    T, d = arguments.integer("rounds", rounds), arguments.integer("dim", dim)
    rng, domain = _generator(seed), Ball(d, radius)
    moves = arguments.nonnegative("step", step) * _directions(rng, T, d)
    comparators = np.empty((T, d))
    comparators[0] = _random_points(rng, domain, 1)[0]
    for t in range(1, T):
        comparators[t] = domain.project(comparators[t - 1] + moves[t])
    return _with_targets(rng, domain, comparators, _directions(rng, T, d), noise, loss, threshold)


def jumps(
    rounds: int,
    dim: int = 2,
    *,
    every: int = 100,
    radius: float = 1.0,
    noise: float = 0.1,
    loss: LossName = "squared",
    threshold: float = 1.0,
    seed: int = 0,
) -> PlantedStream:
    """Return a stream whose comparators are constant between jumps to random points.

    Parameters
    ----------
    rounds, dim, radius, noise, loss, threshold, seed
        See the module.
    every
        Rounds between two jumps.
    """
    T, d = arguments.integer("rounds", rounds), arguments.integer("dim", dim)
    rng, domain = _generator(seed), Ball(d, radius)
    comparators = _jumping_comparators(rng, domain, T, arguments.integer("every", every))
    return _with_targets(rng, domain, comparators, _directions(rng, T, d), noise, loss, threshold)


def noise_then_jumps(
    rounds: int,
    dim: int = 2,
    *,
    every: int = 100,
    radius: float = 1.0,
    noise: float = 1.0,
    loss: LossName = "squared",
    threshold: float = 1.0,
    seed: int = 0,
) -> PlantedStream:
    """Return a stream of noise around a constant comparator, then of jumps without noise.

    Small steps are best in the first half, large ones in the second.

    Parameters
    ----------
    rounds, dim, radius, loss, threshold, seed
        See the module.
    every
        Rounds between two jumps of the second half.
    noise
        Noise of the first half; the second has none. At most 1 for the logistic loss.
    """
    T, d, noisy_rounds, quiet_rounds, rng, domain = _checked_setup_in_halves(
        rounds, dim, radius, seed
    )
    constant_half = np.repeat(_random_points(rng, domain, 1), noisy_rounds, axis=0)
    comparators = np.concatenate(
        [
            constant_half,
            _jumping_comparators(rng, domain, quiet_rounds, arguments.integer("every", every)),
        ]
    )
    noise_levels = np.repeat([_noise_level(noise, loss), 0.0], [noisy_rounds, quiet_rounds])
    return _with_targets(
        rng, domain, comparators, _directions(rng, T, d), noise_levels, loss, threshold
    )


def jumps_then_noise(
    rounds: int,
    dim: int = 2,
    *,
    every: int = 100,
    radius: float = 1.0,
    noise: float = 1.0,
    loss: LossName = "squared",
    threshold: float = 1.0,
    seed: int = 0,
) -> PlantedStream:
    """Return a stream of jumps without noise, then of noise around a constant comparator.

    Large steps are best in the first half, small ones in the second.

    Parameters
    ----------
    rounds, dim, radius, loss, threshold, seed
        See the module.
    every
        Rounds between two jumps of the first half.
    noise
        Noise of the second half; the first has none. At most 1 for the logistic loss.
    """
    T, d, quiet_rounds, noisy_rounds, rng, domain = _checked_setup_in_halves(
        rounds, dim, radius, seed
    )
    jumping_half = _jumping_comparators(
        rng, domain, quiet_rounds, arguments.integer("every", every)
    )
    constant_half = np.repeat(
        jumping_half[-1:] if quiet_rounds else _random_points(rng, domain, 1), noisy_rounds, axis=0
    )
    noise_levels = np.repeat([0.0, _noise_level(noise, loss)], [quiet_rounds, noisy_rounds])
    return _with_targets(
        rng,
        domain,
        np.concatenate([jumping_half, constant_half]),
        _directions(rng, T, d),
        noise_levels,
        loss,
        threshold,
    )


def adversarial_alternation(
    rounds: int,
    dim: int = 2,
    *,
    every: int = 1,
    radius: float = 1.0,
    noise: float = 0.0,
    loss: LossName = "squared",
    threshold: float = 1.0,
    seed: int = 0,
) -> PlantedStream:
    """Return a stream whose comparators alternate between two opposite points.

    A learner that minimises the last loss is wrong in every round after a swap. All rounds have the
    same features; the path length is of order T / ``every``, and the best fixed decision is the
    point between the two.

    Parameters
    ----------
    rounds, dim, radius, noise, loss, threshold, seed
        See the module.
    every
        Rounds between two swaps.
    """
    T, d = arguments.integer("rounds", rounds), arguments.integer("dim", dim)
    rng, domain = _generator(seed), Ball(d, radius)
    direction = _directions(rng, 1, d)
    sides = np.where(np.arange(T) // arguments.integer("every", every) % 2 == 0, 1.0, -1.0)
    comparators = COMPARATOR_RADIUS_FRACTION * domain.radius * sides[:, None] * direction
    return _with_targets(
        rng, domain, comparators, np.repeat(direction, T, axis=0), noise, loss, threshold
    )


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(arguments.integer("seed", seed, least=0))


def _checked_setup_in_halves(
    rounds: int, dim: int, radius: float, seed: int
) -> tuple[int, int, int, int, np.random.Generator, Ball]:
    """Return T, d, the lengths of the first and second half, the generator and the domain."""
    T, d = arguments.integer("rounds", rounds), arguments.integer("dim", dim)
    return T, d, T // 2, T - T // 2, _generator(seed), Ball(d, radius)


def _directions(rng: np.random.Generator, count: int, dim: int) -> Matrix:
    """Return uniformly distributed unit vectors, shape ``(count, dim)``."""
    draws = rng.normal(size=(count, dim))
    return np.asarray(draws / np.linalg.norm(draws, axis=1, keepdims=True))


def _random_points(rng: np.random.Generator, domain: Ball, count: int) -> Matrix:
    """Return random points at 0.8 radii, ``COMPARATOR_RADIUS_FRACTION``: shape ``(count, d)``."""
    return COMPARATOR_RADIUS_FRACTION * domain.radius * _directions(rng, count, domain.dim)


def _jumping_comparators(rng: np.random.Generator, domain: Ball, rounds: int, every: int) -> Matrix:
    """Return comparators that jump to a random point every ``every`` rounds, ``(rounds, d)``."""
    segments = -(-rounds // every)  # rounded up
    points = _random_points(rng, domain, segments)
    return np.repeat(points, every, axis=0)[:rounds]


def _noise_level(noise: Any, loss: str) -> float:
    """Return the noise after a check: not negative, and at most 1 for labels."""
    level = arguments.nonnegative("noise", noise)
    if loss == "logistic" and level > 1:
        raise ValueError(
            f"noise must be at most 1 for the logistic loss, got {level}: it is the share of "
            "flipped labels."
        )
    return level


def _with_targets(
    rng: np.random.Generator,
    domain: Ball,
    comparators: Matrix,
    features: Matrix,
    noise: float | Vector,
    loss: LossName,
    threshold: float,
) -> PlantedStream:
    """Return the stream whose targets are the predictions of the comparators with noise."""
    noise_levels = (
        noise
        if isinstance(noise, np.ndarray)
        else np.full(len(comparators), _noise_level(noise, loss))
    )
    predictions = np.einsum("ij,ij->i", features, comparators)
    if loss == "logistic":
        is_flipped = rng.random(len(predictions)) < noise_levels
        targets = ((predictions > 0) ^ is_flipped).astype(np.float64)
    else:
        targets = predictions + noise_levels * rng.normal(size=len(predictions))
    return PlantedStream(
        features, targets, loss, domain=domain, comparators=comparators, threshold=threshold
    )
