"""The arrays of one learner: made, padded, and given more room."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.engine import layout
from swordplay.engine.layout import BLOCK, CONFIG, EXPERT, LIVE, VECTOR, Arrays
from swordplay.engine.recipe import Recipe
from swordplay.parts.experts.step_sizes import step_shrink

FEWEST_COLUMNS = 16
"""Of a pool that grows.

Sums over 8 columns and over more are added up in another order: from here on they are the same.
"""
CACHE_LINE = 64
"""Bytes. A register that is loaded across two lines costs two loads, which wide learners feel."""


def zeros(shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
    """An array of zeros that begins at a cache line, which numpy does not promise."""
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    room = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    skip = -room.ctypes.data % CACHE_LINE
    return room[skip : skip + size].view(kind).reshape(shape)


def padded(experts: int) -> int:
    """Columns to allocate for so many experts."""
    return -(-experts // BLOCK) * BLOCK


class Memory:
    """The five arrays of one learner (see ``layout``).

    Parameters
    ----------
    recipe
        What the learner is made of.
    dtype
        Of the coordinates: doubles, or single precision at half the memory.
    """

    def __init__(self, recipe: Recipe, dtype: Any = np.float64) -> None:
        self.recipe = recipe
        self.config = recipe.config
        experts, dim = len(recipe.steps), recipe.frame.shape[1]
        self.live: Vector = np.zeros(len(LIVE))
        columns = max(padded(experts), FEWEST_COLUMNS if recipe.config[CONFIG.grows] else 0)
        self.numbers: Matrix = zeros((len(EXPERT) + (dim if recipe.headed else 0), columns))
        self.coords: Any = zeros(self._shape(columns, dim), dtype)
        self._room: Any = None
        """Where ``coords`` has room to be widened, if it was widened before."""
        self.vectors: Matrix = np.zeros((len(VECTOR), dim))
        self.vectors[VECTOR.center], self.vectors[VECTOR.upper] = recipe.frame
        self._made: bytes = (
            b"|".join(
                array.tobytes()
                for array in (
                    recipe.config,
                    recipe.steps,
                    recipe.extra,
                    recipe.prior,
                    np.array(self.coords.shape),
                )
            )
            + self.coords.dtype.str.encode()
        )
        self._begin(experts)

    @property
    def arrays(self) -> Arrays:
        """What every kernel takes first."""
        return Arrays(self.coords, self.numbers, self.vectors, self.live, self.config)

    @property
    def make(self) -> bytes:
        """What learners of one make have in common, and no others.

        Of growing pools, what they began with.
        """
        return self._made + bytes([int(self.config[CONFIG.capped]), self.headed])

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return int(self.live[LIVE.rounds])

    @property
    def experts(self) -> int:
        """How many experts there are."""
        return int(self.live[LIVE.experts])

    @property
    def order(self) -> Any:
        """The column of each expert of the readable learner, which stacks the kinds where a
        growing pool alternates.
        """
        columns = np.arange(self.experts)
        return (
            np.concatenate([columns[0::2], columns[1::2]]) if self.config[CONFIG.grows] else columns
        )

    def of_experts(self, place: int) -> Vector:
        """One number of every expert, in the readable learner's order."""
        return np.asarray(self.numbers[place, self.order])

    @property
    def headed(self) -> bool:
        """Whether S is kept (see ``certificate_sum``)."""
        return len(self.numbers) > len(EXPERT)

    def keep_heading(self, kept: bool) -> None:
        """Make room for S of every expert, or do without."""
        if kept != self.headed:
            dim, columns = self.vectors.shape[1], self.numbers.shape[1]
            numbers = zeros((len(EXPERT) + (dim if kept else 0), columns))
            numbers[: len(EXPERT)] = self.numbers[: len(EXPERT)]
            self.numbers = numbers
            self.live[LIVE.stepped] = 0.0

    def make_again(self) -> None:
        """Everything that follows from the recipe and from the numbers that are saved, and the
        padding but for coordinates.
        """
        recipe, numbers, n = self.recipe, self.numbers, self.experts
        if self.config[CONFIG.grows]:
            numbers[EXPERT.step, :n] = np.repeat(0.5 * 2.0 ** np.arange(n // 2), 2)
            numbers[EXPERT.extra, :n] = np.tile([1.0, 0.0], n // 2)
        else:
            numbers[EXPERT.step, :n], numbers[EXPERT.extra, :n] = recipe.steps, recipe.extra
            numbers[EXPERT.log_prior, :n] = np.log(recipe.prior)
        numbers[EXPERT.eta, :n] = numbers[EXPERT.coming, :n] = numbers[
            EXPERT.step, :n
        ]  # adaptive ones are made anew
        numbers[EXPERT.unscale, :n] = 1.0 / numbers[EXPERT.scale, :n]
        self.live[LIVE.entropy] = -numbers[EXPERT.log_prior, :n].min()
        self.live[LIVE.prepared] = self.live[LIVE.stepped] = 0.0
        self._mirror_numbers()

    def mirror(self) -> None:
        """Make the padded columns copies of the last expert, without a prior."""
        self._mirror_numbers()
        n, columns = self.experts, self.numbers.shape[1]
        if self.recipe.on_ball:
            self.coords[:, n:] = self.coords[:, n - 1 : n]
        else:
            self.coords[n:columns] = self.coords[n - 1]
            self.coords[columns + n :] = self.coords[columns + n - 1]

    def _mirror_numbers(self) -> None:
        n = self.experts
        self.numbers[:, n:] = self.numbers[:, n - 1 : n]
        self.numbers[EXPERT.log_prior, n:], self.numbers[EXPERT.weight, n:] = -np.inf, 0.0

    def reserve(self, experts: int) -> None:
        """Make room for so many experts."""
        old, new = self.numbers.shape[1], padded(experts)
        if new <= old:
            return
        numbers = zeros((len(self.numbers), new))
        numbers[:, :old] = self.numbers
        coords = zeros(self._shape(new, self.vectors.shape[1]), self.coords.dtype)
        if self.recipe.on_ball:
            coords[:, :old] = self.coords
        else:
            coords[:old], coords[new : new + old] = self.coords[:old], self.coords[old:]
        self.numbers, self.coords = numbers, coords
        self.mirror()

    def reserve_rounds(self, rounds: int) -> None:
        """Make room for the experts that a growing pool will have after so many more rounds."""
        if self.config[CONFIG.grows]:
            count = self.experts // 2
            while 1 + 2 * (self.rounds + rounds) > 4 ** (count - 1):
                count += 1
            self.reserve(2 * count)

    def widen(self, dim: int, last: int = 0) -> None:
        """Make room for more coordinates on a ball around the origin.

        Every point starts at 0 there.

        The ``last`` coordinates stay behind the new ones. Room is made for twice as many, so that
        coordinates that join one by one cost no more than if they had joined together.
        """
        self.keep_heading(False)
        now, columns = self.coords.shape
        room = self._room
        if room is None or len(room) < dim or room.ctypes.data != self.coords.ctypes.data:
            room = self._room = zeros((2 * dim, columns), self.coords.dtype)
            room[:now] = self.coords
        moved = room[now - last : now].copy()
        room[now - last : dim - last] = 0.0
        room[dim - last : dim] = moved
        self.coords = room[:dim]
        self.vectors = np.insert(self.vectors, np.full(dim - now, now - last), 0.0, axis=1)

    def offsets(self) -> Matrix:
        """On a ball, xhat of every column as seen from the centre, shape ``(columns, d)``."""
        pending = np.multiply.outer(self.numbers[EXPERT.coefficient], self.vectors[VECTOR.last])
        return np.asarray(self.numbers[EXPERT.scale][:, None] * (self.coords.T + pending))

    def base_points(self) -> Matrix:
        """xhat of every column, shape ``(columns, d)``."""
        if not self.recipe.on_ball:
            return np.asarray(self.coords[: self.numbers.shape[1]])
        return np.asarray(self.vectors[VECTOR.center] + self.offsets())

    def points(self) -> Matrix:
        """x of every column, shape ``(columns, d)``."""
        if not self.recipe.on_ball:
            return np.asarray(self.coords[self.numbers.shape[1] :])
        ahead = np.multiply.outer(self.numbers[EXPERT.gamma], self.vectors[VECTOR.last])
        return np.asarray(
            self.vectors[VECTOR.center]
            + (self.numbers[EXPERT.alpha][:, None] * self.offsets() - ahead)
        )

    def decision(self) -> Vector:
        """x_t, shape ``(d,)``."""
        n = self.experts
        weights = self.numbers[EXPERT.weight, :n]
        if not self.recipe.on_ball:
            return np.asarray(weights @ self.points()[:n])
        # sum_i p_i x_i, with x_i = center + alpha_i xhat_i - gamma_i a and xhat_i = scale_i (c_i +
        # coefficient_i a), without an array of all points: a is the last row of features.
        alpha, gamma = self.numbers[EXPERT.alpha, :n], self.numbers[EXPERT.gamma, :n]
        shares = weights * alpha * self.numbers[EXPERT.scale, :n]
        last_share = shares @ self.numbers[EXPERT.coefficient, :n] - weights @ gamma
        last = self.vectors[VECTOR.last]
        return np.asarray(
            self.vectors[VECTOR.center] + (self.coords[:, :n] @ shares + last_share * last)
        )

    def _shape(self, columns: int, dim: int) -> tuple[int, int]:
        return (dim, columns) if self.recipe.on_ball else (2 * columns, dim)

    def _begin(self, experts: int) -> None:
        """The state before the first round: everyone at the centre."""
        recipe, numbers, now = self.recipe, self.numbers, self.live
        now[LIVE.refresh_at], now[LIVE.weight] = self.config[CONFIG.refresh], 1.0
        now[LIVE.experts], now[LIVE.rate], now[LIVE.level], now[LIVE.trust] = (
            experts,
            recipe.rate,
            recipe.level,
            recipe.trust,
        )
        now[LIVE.caution] = (
            step_shrink(recipe.frame.shape[1]) if self.config[CONFIG.capped] else 0.0
        )
        numbers[EXPERT.log_prior, :experts] = np.log(recipe.prior)
        numbers[EXPERT.weight, :experts] = recipe.prior
        numbers[EXPERT.scale, :experts] = 1.0
        numbers[EXPERT.alpha, :experts] = 1.0
        if not recipe.on_ball:
            self.coords[:] = self.center
        self.make_again()

    @property
    def center(self) -> Vector:
        """Of the domain, shape ``(d,)``."""
        box = self.config[CONFIG.domain] == layout.BOX
        return (
            np.asarray(self.vectors[[VECTOR.center, VECTOR.upper]].mean(axis=0))
            if box
            else self.vectors[VECTOR.center]
        )
