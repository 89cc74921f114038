"""The arrays of one compiled learner: made, padded and widened; its points and its decision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.engine.layout import (
    BLOCK,
    BOX,
    EXPERT,
    SCALAR,
    SETTING,
    VECTOR,
    LearnerArrays,
)
from swordplay.engine.recipe import Recipe
from swordplay.parts.experts.step_sizes import step_shrink

MIN_GROWING_COLUMNS = 16
"""Fewest columns of a pool that grows.

Sums over 8 columns are added in another order than sums over more; from 16 on the order stays.
"""
CACHE_LINE = 64
"""Bytes. A register that is loaded across two lines takes two loads."""


def aligned_zeros(shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
    """Return an array of zeros that begins at a cache line, which numpy does not guarantee."""
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    room = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + size].view(kind).reshape(shape)


def padded(experts: int) -> int:
    """Return the number of columns for so many experts: whole blocks."""
    return -(-experts // BLOCK) * BLOCK


class LearnerMemory:
    """The arrays of one learner, see ``layout``.

    Parameters
    ----------
    recipe
        What the learner is made of.
    dtype
        Of the coordinates: double precision, or single precision at half the memory.
    """

    def __init__(self, recipe: Recipe, dtype: Any = np.float64) -> None:
        self.recipe = recipe
        experts, dim = len(recipe.step_sizes), recipe.frame.shape[1]
        columns = padded(experts)
        if recipe.settings[SETTING.grows]:
            columns = max(columns, MIN_GROWING_COLUMNS)
        rows = len(EXPERT) + (dim if recipe.keeps_dual_sum else 0)
        vectors = np.zeros((len(VECTOR), dim))
        vectors[VECTOR.center], vectors[VECTOR.upper] = recipe.frame
        self.arrays = LearnerArrays(
            coordinates=aligned_zeros(self._shape(columns, dim), dtype),
            experts=aligned_zeros((rows, columns)),
            vectors=vectors,
            scalars=np.zeros(len(SCALAR)),
            settings=recipe.settings,
        )
        """The arrays; a named tuple that is replaced whenever one of them is."""
        self._spare_coordinates: Any = None
        """Array that ``coordinates`` is the beginning of, after :meth:`widen`."""
        # what learners of one make have in common, before settings change
        parts = (recipe.settings, recipe.step_sizes, recipe.extra_gradient, recipe.prior)
        shape = np.array(self.coordinates.shape)
        self._first_make: bytes = b"|".join(array.tobytes() for array in (*parts, shape))
        self._first_make += self.coordinates.dtype.str.encode()
        self._start(experts)

    # ------------------------------------------------------------------- the arrays

    @property
    def coordinates(self) -> Any:
        """``LearnerArrays.coordinates``."""
        return self.arrays.coordinates

    @property
    def experts(self) -> Matrix:
        """``LearnerArrays.experts``."""
        return self.arrays.experts  # type: ignore[no-any-return]  # structs of kernels are untyped

    @property
    def vectors(self) -> Matrix:
        """``LearnerArrays.vectors``."""
        return self.arrays.vectors  # type: ignore[no-any-return]

    @property
    def scalars(self) -> Vector:
        """``LearnerArrays.scalars``."""
        return self.arrays.scalars  # type: ignore[no-any-return]

    @property
    def settings(self) -> Vector:
        """``LearnerArrays.settings``."""
        return self.arrays.settings  # type: ignore[no-any-return]

    @property
    def make(self) -> bytes:
        """Text that is equal for learners of one make only: same parts, shapes and precision."""
        flags = [int(self.settings[SETTING.uses_domain_scale]), self.keeps_dual_sum]
        return self._first_make + bytes(flags)

    @property
    def rounds(self) -> int:
        """Number of rounds played."""
        return int(self.scalars[SCALAR.rounds])

    @property
    def expert_count(self) -> int:
        """Number of experts, without the padding."""
        return int(self.scalars[SCALAR.expert_count])

    @property
    def order(self) -> Any:
        """Column of each expert of the readable learner, which stacks the kinds of experts.

        A growing pool alternates them.
        """
        columns = np.arange(self.expert_count)
        if self.settings[SETTING.grows]:
            return np.concatenate([columns[0::2], columns[1::2]])
        return columns

    def of_experts(self, row: int) -> Vector:
        """Return one number of every expert, in the order of the readable learner."""
        return np.asarray(self.experts[row, self.order])

    @property
    def keeps_dual_sum(self) -> bool:
        """Whether the dual sum S is kept, see ``dual_sum``."""
        return len(self.experts) > len(EXPERT)

    @property
    def center(self) -> Vector:
        """Centre of the domain, shape ``(d,)``."""
        if self.settings[SETTING.domain] == BOX:
            return np.asarray(self.vectors[[VECTOR.center, VECTOR.upper]].mean(axis=0))
        return np.asarray(self.vectors[VECTOR.center])

    def _shape(self, columns: int, dim: int) -> tuple[int, int]:
        return (dim, columns) if self.recipe.on_ball else (2 * columns, dim)

    # ------------------------------------------------------------------- filling them

    def _start(self, experts: int) -> None:
        """Write the state before the first round: all points at the centre."""
        recipe, scalars, numbers = self.recipe, self.scalars, self.experts
        scalars[SCALAR.refresh_at] = self.settings[SETTING.refresh_rounds]
        scalars[SCALAR.loss_weight] = 1.0
        scalars[SCALAR.expert_count] = experts
        scalars[SCALAR.learning_rate] = recipe.learning_rate
        scalars[SCALAR.rate_level] = recipe.rate_level
        scalars[SCALAR.trust] = recipe.trust
        if self.settings[SETTING.uses_domain_scale]:
            scalars[SCALAR.step_shrink] = step_shrink(recipe.frame.shape[1])
        numbers[EXPERT.log_prior, :experts] = np.log(recipe.prior)
        numbers[EXPERT.weight, :experts] = recipe.prior
        numbers[EXPERT.scale, :experts] = 1.0
        numbers[EXPERT.lookahead_scale, :experts] = 1.0
        if not recipe.on_ball:
            self.coordinates[:] = self.center
        self.derive_fields()

    def derive_fields(self) -> None:
        """Compute the derived numbers and the padding, except for that of the coordinates."""
        recipe, numbers, n = self.recipe, self.experts, self.expert_count
        if self.settings[SETTING.grows]:
            numbers[EXPERT.step_size, :n] = np.repeat(0.5 * 2.0 ** np.arange(n // 2), 2)
            numbers[EXPERT.extra_gradient, :n] = np.tile([1.0, 0.0], n // 2)
        else:
            numbers[EXPERT.step_size, :n] = recipe.step_sizes
            numbers[EXPERT.extra_gradient, :n] = recipe.extra_gradient
            numbers[EXPERT.log_prior, :n] = np.log(recipe.prior)
        # of constant steps; adaptive ones are computed by the next round
        numbers[EXPERT.eta, :n] = numbers[EXPERT.next_eta, :n] = numbers[EXPERT.step_size, :n]
        numbers[EXPERT.inverse_scale, :n] = 1.0 / numbers[EXPERT.scale, :n]
        self.scalars[SCALAR.prior_cost] = -numbers[EXPERT.log_prior, :n].min()
        self.scalars[SCALAR.has_prediction] = self.scalars[SCALAR.steps_ready] = 0.0
        self._fill_padding_of_experts()

    def fill_padding(self) -> None:
        """Make the columns of the padding copies of the last expert, without a prior."""
        self._fill_padding_of_experts()
        n, columns = self.expert_count, self.experts.shape[1]
        if self.recipe.on_ball:
            self.coordinates[:, n:] = self.coordinates[:, n - 1 : n]
        else:
            self.coordinates[n:columns] = self.coordinates[n - 1]
            self.coordinates[columns + n :] = self.coordinates[columns + n - 1]

    def _fill_padding_of_experts(self) -> None:
        n = self.expert_count
        self.experts[:, n:] = self.experts[:, n - 1 : n]
        self.experts[EXPERT.log_prior, n:], self.experts[EXPERT.weight, n:] = -np.inf, 0.0

    # ------------------------------------------------------------------- more room

    def allocate_dual_sum(self, wanted: bool) -> None:
        """Add the rows of the dual sum S, or remove them."""
        if wanted == self.keeps_dual_sum:
            return
        dim, columns = self.vectors.shape[1], self.experts.shape[1]
        experts = aligned_zeros((len(EXPERT) + (dim if wanted else 0), columns))
        experts[: len(EXPERT)] = self.experts[: len(EXPERT)]
        self.arrays = self.arrays._replace(experts=experts)
        self.scalars[SCALAR.steps_ready] = 0.0

    def reserve(self, experts: int) -> None:
        """Make room for so many experts."""
        old, new = self.experts.shape[1], padded(experts)
        if new <= old:
            return
        numbers = aligned_zeros((len(self.experts), new))
        numbers[:, :old] = self.experts
        coordinates = aligned_zeros(self._shape(new, self.vectors.shape[1]), self.coordinates.dtype)
        if self.recipe.on_ball:
            coordinates[:, :old] = self.coordinates
        else:
            coordinates[:old] = self.coordinates[:old]
            coordinates[new : new + old] = self.coordinates[old:]
        self.arrays = self.arrays._replace(experts=numbers, coordinates=coordinates)
        self.fill_padding()

    def reserve_rounds(self, rounds: int) -> None:
        """Make room for the experts that a growing pool has after so many more rounds.

        Kernels allocate nothing, so that this is done before they are called.
        """
        if self.settings[SETTING.grows]:
            count = self.expert_count // 2
            while 1 + 2 * (self.rounds + rounds) > 4 ** (count - 1):
                count += 1
            self.reserve(2 * count)

    def widen(self, dim: int, last: int = 0) -> None:
        """Add coordinates in front of the ``last`` ones, on a ball around the origin.

        Every point is 0 in them. Memory is reserved for twice as many, so that adding coordinates
        one by one takes no more time than adding them together.
        """
        self.allocate_dual_sum(False)
        old, columns = self.coordinates.shape
        spare = self._spare_coordinates
        if spare is None or len(spare) < dim or spare.ctypes.data != self.coordinates.ctypes.data:
            spare = aligned_zeros((2 * dim, columns), self.coordinates.dtype)
            spare[:old] = self.coordinates
            self._spare_coordinates = spare
        insert_zero_rows(spare, old, dim, last)
        vectors = np.insert(self.vectors, np.full(dim - old, old - last), 0.0, axis=1)
        self.arrays = self.arrays._replace(coordinates=spare[:dim], vectors=vectors)

    # ------------------------------------------------------------------- points

    def offsets(self) -> Matrix:
        """xhat - c of every column, on a ball, shape ``(C, d)``."""
        updates = np.multiply.outer(
            self.experts[EXPERT.pending_update], self.vectors[VECTOR.last_row]
        )
        return np.asarray(self.experts[EXPERT.scale][:, None] * (self.coordinates.T + updates))

    def base_points(self) -> Matrix:
        """xhat of every column, shape ``(C, d)``."""
        if not self.recipe.on_ball:
            return np.asarray(self.coordinates[: self.experts.shape[1]])
        return np.asarray(self.vectors[VECTOR.center] + self.offsets())

    def points(self) -> Matrix:
        """x of every column, shape ``(C, d)``."""
        if not self.recipe.on_ball:
            return np.asarray(self.coordinates[self.experts.shape[1] :])
        steps = np.multiply.outer(
            self.experts[EXPERT.lookahead_step], self.vectors[VECTOR.last_row]
        )
        scaled = self.experts[EXPERT.lookahead_scale][:, None] * self.offsets()
        return np.asarray(self.vectors[VECTOR.center] + (scaled - steps))

    def decision(self) -> Vector:
        """x_t = sum_i p_i x_i, shape ``(d,)``."""
        n = self.expert_count
        weights = self.experts[EXPERT.weight, :n]
        if not self.recipe.on_ball:
            return np.asarray(weights @ self.points()[:n])
        # as in ball.write_decision, without an array of all points
        scaled_weights = weights * self.experts[EXPERT.lookahead_scale, :n]
        shares = scaled_weights * self.experts[EXPERT.scale, :n]
        last_share = shares @ self.experts[EXPERT.pending_update, :n]
        last_share -= weights @ self.experts[EXPERT.lookahead_step, :n]
        offset = self.coordinates[:, :n] @ shares + last_share * self.vectors[VECTOR.last_row]
        return np.asarray(self.vectors[VECTOR.center] + offset)


def insert_zero_rows(rows: Any, old: int, new: int, last: int) -> None:
    """Move the last of ``old`` used rows to the end of ``new``, and set those between to 0.

    ``rows`` may have further axes; its first has at least ``new`` rows.
    """
    moved = rows[old - last : old].copy()
    rows[old - last : new - last] = 0.0
    rows[new - last : new] = moved
