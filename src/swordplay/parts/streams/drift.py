r"""Worlds that drift: seeded streams whose comparators are known, because the stream was made from
them.

Every generator plants a sequence :math:`u_t` in a ball, draws a direction :math:`a_t` of length 1
for each round and answers with a noisy target:

- ``loss="squared"`` or ``"huber"``: :math:`y_t = \langle a_t, u_t \rangle + \text{noise} \cdot
  z_t`, z standard normal;
- ``loss="logistic"``: the label is 1 where :math:`\langle a_t, u_t \rangle > 0`, flipped with
  probability ``noise``.

All have smoothness at most 1. They differ in how the comparators move. Options that all share:

rounds, dim
    T and d.
radius
    Of the ball around the origin that decisions live in.
noise
    How far targets stray from the comparator's own prediction.
loss, threshold
    As in :class:`~swordplay.LinearStream`.
seed
    The same seed, the same stream.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Matrix, Vector
from swordplay.parts.domains import Ball
from swordplay.parts.streams.linear import LossName, PlantedStream

REACH = 0.8
"""Comparators that stay at one distance from the origin stay at this share of the radius: inside,
so that a noiseless
loss has its minimum there, and far enough out for a move to be worth following."""


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
    r"""A target that circles slowly in one plane: :math:`P_T` close to :math:`2 \pi \cdot 0.8\, r
    \cdot` ``turns``.

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
    rng, domain = _world(seed), Ball(d, radius)
    angles = 2 * np.pi * arguments.real("turns", turns) * np.arange(T) / T
    plane = np.linalg.qr(rng.normal(size=(d, 2)))[0]
    comparators = (
        REACH * domain.radius * np.stack([np.cos(angles), np.sin(angles)], axis=1) @ plane.T
    )
    return _answered(rng, domain, comparators, _directions(rng, T, d), noise, loss, threshold)


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
    """A target that strolls about and never leaves the ball.

    Parameters
    ----------
    rounds, dim, radius, noise, loss, threshold, seed
        See the module.
    step
        Length of the move of each round (less where the ball stops it).
    """
    T, d = arguments.integer("rounds", rounds), arguments.integer("dim", dim)
    rng, domain = _world(seed), Ball(d, radius)
    moves = arguments.nonnegative("step", step) * _directions(rng, T, d)
    comparators = np.empty((T, d))
    comparators[0] = _places(rng, domain, 1)[0]
    for t in range(1, T):
        comparators[t] = domain.project(comparators[t - 1] + moves[t])
    return _answered(rng, domain, comparators, _directions(rng, T, d), noise, loss, threshold)


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
    """A target that stands still and then, without warning, stands elsewhere.

    Parameters
    ----------
    rounds, dim, radius, noise, loss, threshold, seed
        See the module.
    every
        Rounds between two jumps.
    """
    T, d = arguments.integer("rounds", rounds), arguments.integer("dim", dim)
    rng, domain = _world(seed), Ball(d, radius)
    comparators = _jumping(rng, domain, T, arguments.integer("every", every))
    return _answered(rng, domain, comparators, _directions(rng, T, d), noise, loss, threshold)


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
    """A loud half in which nothing moves, then a silent half of jumps.

    The first half teaches small steps, the second needs large ones at once.

    Parameters
    ----------
    rounds, dim, radius, loss, threshold, seed
        See the module.
    every
        Rounds between two jumps of the second half.
    noise
        Of the first half; the second has none. At most 1 for the logistic loss.
    """
    T, d, loud, quiet, rng, domain = _halves(rounds, dim, radius, seed)
    still = np.repeat(_places(rng, domain, 1), loud, axis=0)
    comparators = np.concatenate(
        [still, _jumping(rng, domain, quiet, arguments.integer("every", every))]
    )
    levels = np.repeat([_level(noise, loss), 0.0], [loud, quiet])
    return _answered(rng, domain, comparators, _directions(rng, T, d), levels, loss, threshold)


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
    """A silent half of jumps, then a loud half in which nothing moves.

    The first half teaches large steps, which the second punishes.

    Parameters
    ----------
    rounds, dim, radius, loss, threshold, seed
        See the module.
    every
        Rounds between two jumps of the first half.
    noise
        Of the second half; the first has none. At most 1 for the logistic loss.
    """
    T, d, quiet, loud, rng, domain = _halves(rounds, dim, radius, seed)
    moving = _jumping(rng, domain, quiet, arguments.integer("every", every))
    still = np.repeat(moving[-1:] if quiet else _places(rng, domain, 1), loud, axis=0)
    levels = np.repeat([0.0, _level(noise, loss)], [quiet, loud])
    return _answered(
        rng,
        domain,
        np.concatenate([moving, still]),
        _directions(rng, T, d),
        levels,
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
    """A target that swaps between two opposite points: whoever replays the last loss is always
    late.

    All rounds ask along the same direction, so the path length is of order T / ``every`` and
    standing still between the two points is the best fixed answer.

    Parameters
    ----------
    rounds, dim, radius, noise, loss, threshold, seed
        See the module.
    every
        Rounds between two swaps.
    """
    T, d = arguments.integer("rounds", rounds), arguments.integer("dim", dim)
    rng, domain = _world(seed), Ball(d, radius)
    direction = _directions(rng, 1, d)
    sides = np.where(np.arange(T) // arguments.integer("every", every) % 2 == 0, 1.0, -1.0)
    comparators = REACH * domain.radius * sides[:, None] * direction
    return _answered(
        rng, domain, comparators, np.repeat(direction, T, axis=0), noise, loss, threshold
    )


def _world(seed: int) -> np.random.Generator:
    return np.random.default_rng(arguments.integer("seed", seed, least=0))


def _halves(
    rounds: int, dim: int, radius: float, seed: int
) -> tuple[int, int, int, int, np.random.Generator, Ball]:
    """T, d, the lengths of the two halves, and the world."""
    T, d = arguments.integer("rounds", rounds), arguments.integer("dim", dim)
    return T, d, T // 2, T - T // 2, _world(seed), Ball(d, radius)


def _directions(rng: np.random.Generator, count: int, dim: int) -> Matrix:
    """Directions of length 1, none preferred; shape ``(count, dim)``."""
    draws = rng.normal(size=(count, dim))
    return np.asarray(draws / np.linalg.norm(draws, axis=1, keepdims=True))


def _places(rng: np.random.Generator, domain: Ball, count: int) -> Matrix:
    """Points at ``REACH`` of the radius, shape ``(count, d)``."""
    return REACH * domain.radius * _directions(rng, count, domain.dim)


def _jumping(rng: np.random.Generator, domain: Ball, rounds: int, every: int) -> Matrix:
    places = _places(rng, domain, -(-rounds // every))
    return np.repeat(places, every, axis=0)[:rounds]


def _level(noise: Any, loss: str) -> float:
    level = arguments.nonnegative("noise", noise)
    if loss == "logistic" and level > 1:
        raise ValueError(
            f"noise must be at most 1 for the logistic loss, got {level}: it is the share of "
            "flipped labels."
        )
    return level


def _answered(
    rng: np.random.Generator,
    domain: Ball,
    comparators: Matrix,
    features: Matrix,
    noise: float | Vector,
    loss: LossName,
    threshold: float,
) -> PlantedStream:
    """The stream that asks along ``features`` and answers for the comparators."""
    levels = (
        noise if isinstance(noise, np.ndarray) else np.full(len(comparators), _level(noise, loss))
    )
    predictions = np.einsum("ij,ij->i", features, comparators)
    if loss == "logistic":
        flipped = rng.random(len(predictions)) < levels
        targets = ((predictions > 0) ^ flipped).astype(np.float64)
    else:
        targets = predictions + levels * rng.normal(size=len(predictions))
    return PlantedStream(
        features, targets, loss, domain=domain, comparators=comparators, threshold=threshold
    )
