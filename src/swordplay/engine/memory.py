"""The arrays of one learner: made, padded, and given more room."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.engine import layout
from swordplay.engine.layout import BLOCK, EXPERT, SCALAR, SETTING, VECTOR, LearnerArrays
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


class LearnerMemory:
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
        self.settings = recipe.config
        experts, dim = len(recipe.steps), recipe.frame.shape[1]
        self.scalars: Vector = np.zeros(len(SCALAR))
        columns = max(padded(experts), FEWEST_COLUMNS if recipe.config[SETTING.grows] else 0)
        self.experts: Matrix = zeros((len(EXPERT) + (dim if recipe.keeps_dual_sum else 0), columns))
        self.coordinates: Any = zeros(self._shape(columns, dim), dtype)
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
                    np.array(self.coordinates.shape),
                )
            )
            + self.coordinates.dtype.str.encode()
        )
        self._begin(experts)

    @property
    def arrays(self) -> LearnerArrays:
        """What every kernel takes first."""
        return LearnerArrays(
            self.coordinates, self.experts, self.vectors, self.scalars, self.settings
        )

    @property
    def make(self) -> bytes:
        """What learners of one make have in common, and no others.

        Of growing pools, what they began with.
        """
        return self._made + bytes(
            [int(self.settings[SETTING.uses_domain_scale]), self.keeps_dual_sum]
        )

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return int(self.scalars[SCALAR.rounds])

    @property
    def expert_count(self) -> int:
        """How many experts there are."""
        return int(self.scalars[SCALAR.expert_count])

    @property
    def order(self) -> Any:
        """The column of each expert of the readable learner, which stacks the kinds where a
        growing pool alternates.
        """
        columns = np.arange(self.expert_count)
        return (
            np.concatenate([columns[0::2], columns[1::2]])
            if self.settings[SETTING.grows]
            else columns
        )

    def of_experts(self, place: int) -> Vector:
        """One number of every expert, in the readable learner's order."""
        return np.asarray(self.experts[place, self.order])

    @property
    def keeps_dual_sum(self) -> bool:
        """Whether S is kept (see ``certificate_sum``)."""
        return len(self.experts) > len(EXPERT)

    def allocate_dual_sum(self, kept: bool) -> None:
        """Make room for S of every expert, or do without."""
        if kept != self.keeps_dual_sum:
            dim, columns = self.vectors.shape[1], self.experts.shape[1]
            numbers = zeros((len(EXPERT) + (dim if kept else 0), columns))
            numbers[: len(EXPERT)] = self.experts[: len(EXPERT)]
            self.experts = numbers
            self.scalars[SCALAR.steps_ready] = 0.0

    def derive_fields(self) -> None:
        """Everything that follows from the recipe and from the numbers that are saved, and the
        padding but for coordinates.
        """
        recipe, numbers, n = self.recipe, self.experts, self.expert_count
        if self.settings[SETTING.grows]:
            numbers[EXPERT.step_size, :n] = np.repeat(0.5 * 2.0 ** np.arange(n // 2), 2)
            numbers[EXPERT.extra_gradient, :n] = np.tile([1.0, 0.0], n // 2)
        else:
            numbers[EXPERT.step_size, :n], numbers[EXPERT.extra_gradient, :n] = (
                recipe.steps,
                recipe.extra,
            )
            numbers[EXPERT.log_prior, :n] = np.log(recipe.prior)
        numbers[EXPERT.eta, :n] = numbers[EXPERT.next_eta, :n] = numbers[
            EXPERT.step_size, :n
        ]  # adaptive ones are made anew
        numbers[EXPERT.inverse_scale, :n] = 1.0 / numbers[EXPERT.scale, :n]
        self.scalars[SCALAR.prior_cost] = -numbers[EXPERT.log_prior, :n].min()
        self.scalars[SCALAR.has_prediction] = self.scalars[SCALAR.steps_ready] = 0.0
        self._mirror_numbers()

    def fill_padding(self) -> None:
        """Make the padded columns copies of the last expert, without a prior."""
        self._mirror_numbers()
        n, columns = self.expert_count, self.experts.shape[1]
        if self.recipe.on_ball:
            self.coordinates[:, n:] = self.coordinates[:, n - 1 : n]
        else:
            self.coordinates[n:columns] = self.coordinates[n - 1]
            self.coordinates[columns + n :] = self.coordinates[columns + n - 1]

    def _mirror_numbers(self) -> None:
        n = self.expert_count
        self.experts[:, n:] = self.experts[:, n - 1 : n]
        self.experts[EXPERT.log_prior, n:], self.experts[EXPERT.weight, n:] = -np.inf, 0.0

    def reserve(self, experts: int) -> None:
        """Make room for so many experts."""
        old, new = self.experts.shape[1], padded(experts)
        if new <= old:
            return
        numbers = zeros((len(self.experts), new))
        numbers[:, :old] = self.experts
        coords = zeros(self._shape(new, self.vectors.shape[1]), self.coordinates.dtype)
        if self.recipe.on_ball:
            coords[:, :old] = self.coordinates
        else:
            coords[:old], coords[new : new + old] = self.coordinates[:old], self.coordinates[old:]
        self.experts, self.coordinates = numbers, coords
        self.fill_padding()

    def reserve_rounds(self, rounds: int) -> None:
        """Make room for the experts that a growing pool will have after so many more rounds."""
        if self.settings[SETTING.grows]:
            count = self.expert_count // 2
            while 1 + 2 * (self.rounds + rounds) > 4 ** (count - 1):
                count += 1
            self.reserve(2 * count)

    def widen(self, dim: int, last: int = 0) -> None:
        """Make room for more coordinates on a ball around the origin.

        Every point starts at 0 there.

        The ``last`` coordinates stay behind the new ones. Room is made for twice as many, so that
        coordinates that join one by one cost no more than if they had joined together.
        """
        self.allocate_dual_sum(False)
        now, columns = self.coordinates.shape
        room = self._room
        if room is None or len(room) < dim or room.ctypes.data != self.coordinates.ctypes.data:
            room = self._room = zeros((2 * dim, columns), self.coordinates.dtype)
            room[:now] = self.coordinates
        moved = room[now - last : now].copy()
        room[now - last : dim - last] = 0.0
        room[dim - last : dim] = moved
        self.coordinates = room[:dim]
        self.vectors = np.insert(self.vectors, np.full(dim - now, now - last), 0.0, axis=1)

    def offsets(self) -> Matrix:
        """On a ball, xhat of every column as seen from the centre, shape ``(columns, d)``."""
        pending = np.multiply.outer(
            self.experts[EXPERT.pending_update], self.vectors[VECTOR.last_row]
        )
        return np.asarray(self.experts[EXPERT.scale][:, None] * (self.coordinates.T + pending))

    def base_points(self) -> Matrix:
        """xhat of every column, shape ``(columns, d)``."""
        if not self.recipe.on_ball:
            return np.asarray(self.coordinates[: self.experts.shape[1]])
        return np.asarray(self.vectors[VECTOR.center] + self.offsets())

    def points(self) -> Matrix:
        """x of every column, shape ``(columns, d)``."""
        if not self.recipe.on_ball:
            return np.asarray(self.coordinates[self.experts.shape[1] :])
        ahead = np.multiply.outer(
            self.experts[EXPERT.lookahead_step], self.vectors[VECTOR.last_row]
        )
        return np.asarray(
            self.vectors[VECTOR.center]
            + (self.experts[EXPERT.lookahead_scale][:, None] * self.offsets() - ahead)
        )

    def decision(self) -> Vector:
        """x_t, shape ``(d,)``."""
        n = self.expert_count
        weights = self.experts[EXPERT.weight, :n]
        if not self.recipe.on_ball:
            return np.asarray(weights @ self.points()[:n])
        # sum_i p_i x_i, with x_i = center + alpha_i xhat_i - gamma_i a and xhat_i = scale_i (c_i +
        # coefficient_i a), without an array of all points: a is the last row of features.
        alpha, gamma = (
            self.experts[EXPERT.lookahead_scale, :n],
            self.experts[EXPERT.lookahead_step, :n],
        )
        shares = weights * alpha * self.experts[EXPERT.scale, :n]
        last_share = shares @ self.experts[EXPERT.pending_update, :n] - weights @ gamma
        last = self.vectors[VECTOR.last_row]
        return np.asarray(
            self.vectors[VECTOR.center] + (self.coordinates[:, :n] @ shares + last_share * last)
        )

    def _shape(self, columns: int, dim: int) -> tuple[int, int]:
        return (dim, columns) if self.recipe.on_ball else (2 * columns, dim)

    def _begin(self, experts: int) -> None:
        """The state before the first round: everyone at the centre."""
        recipe, numbers, now = self.recipe, self.experts, self.scalars
        now[SCALAR.refresh_at], now[SCALAR.loss_weight] = self.settings[SETTING.refresh_rounds], 1.0
        (
            now[SCALAR.expert_count],
            now[SCALAR.learning_rate],
            now[SCALAR.rate_level],
            now[SCALAR.trust],
        ) = (
            experts,
            recipe.rate,
            recipe.level,
            recipe.trust,
        )
        now[SCALAR.step_shrink] = (
            step_shrink(recipe.frame.shape[1]) if self.settings[SETTING.uses_domain_scale] else 0.0
        )
        numbers[EXPERT.log_prior, :experts] = np.log(recipe.prior)
        numbers[EXPERT.weight, :experts] = recipe.prior
        numbers[EXPERT.scale, :experts] = 1.0
        numbers[EXPERT.lookahead_scale, :experts] = 1.0
        if not recipe.on_ball:
            self.coordinates[:] = self.center
        self.derive_fields()

    @property
    def center(self) -> Vector:
        """Of the domain, shape ``(d,)``."""
        box = self.settings[SETTING.domain] == layout.BOX
        return (
            np.asarray(self.vectors[[VECTOR.center, VECTOR.upper]].mean(axis=0))
            if box
            else self.vectors[VECTOR.center]
        )
