"""Time and memory of hindsight grow in proportion to the rounds: counted, not timed."""

import tracemalloc

import numpy as np
import pytest

import swordplay as sp
from swordplay.theory.hindsight import blocks, chain
from swordplay.theory.hindsight.blocks import BlockLosses
from swordplay.theory.hindsight.chain import Chain
from swordplay.theory.hindsight.sequence import Problem
from theory.hindsight.problems import FAMILIES, jumping_stream

MAX_RATIO = 6.5
"""Largest ratio of work for four times the rounds: 4, times 1.6 for slowly growing Newton steps."""
MAX_NUMBERS = 80
"""Most numbers in memory for each number of the stream: docs/hindsight.md says about 60."""


class TestCost:
    """Multiplications of factorized rounds and of summed Hessians, and peak memory."""

    @pytest.fixture
    def work(self, monkeypatch):
        """A list whose only number counts the multiplications."""
        counted, factorize, matrices = [0.0], Chain._factorize_segment, BlockLosses._matrices

        def count_factorize(self, number):
            first, end, _ = segment = factorize(self, number)
            counted[0] += (end - first) * self._dim**3
            return segment

        def count_matrices(self, *curvature):
            counted[0] += self.losses.features.shape[0] * self.losses.features.shape[1] ** 2
            return matrices(self, *curvature)

        monkeypatch.setattr(Chain, "_factorize_segment", count_factorize)
        monkeypatch.setattr(BlockLosses, "_matrices", count_matrices)
        return counted

    def cost(self, work, loss, rounds, dim):
        """Multiplications of one penalty, and numbers in memory for each number of the stream."""
        stream, ball = jumping_stream(loss, rounds, dim), sp.Ball(dim)
        penalty = 5 * Problem(stream, ball, None).scale / rounds / ball.diameter
        work[0] = 0.0
        tracemalloc.start()
        try:
            sp.hindsight.best_sequence(stream, ball, penalty=penalty)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        return work[0], most / 8 / rounds / dim

    @pytest.mark.parametrize("loss", FAMILIES)
    @pytest.mark.parametrize(
        ("dim", "max_newton_work"), [(6, np.inf), (30, 1e3)], ids=["whole chain", "blocks"]
    )
    def test_work_is_proportional_to_the_rounds(
        self, monkeypatch, work, loss, dim, max_newton_work
    ):
        monkeypatch.setattr(blocks, "MAX_NEWTON_WORK", max_newton_work)
        self.cost(work, loss, 50, dim)  # work that is done once
        (few, _), (many, numbers) = (self.cost(work, loss, rounds, dim) for rounds in (500, 2_000))
        assert few > 0
        assert many <= MAX_RATIO * few
        assert numbers <= MAX_NUMBERS

    def test_a_chain_that_exceeds_the_memory_costs_a_few_times_as_much(self, monkeypatch, work):
        """Its segments are factorized again for each pass: two for each of at most four solves."""
        monkeypatch.setattr(blocks, "MAX_NEWTON_WORK", np.inf)
        fits, _ = self.cost(work, "squared", 1_000, 6)
        monkeypatch.setattr(chain, "MAX_STORED_NUMBERS", 4_000)
        beyond, _ = self.cost(work, "squared", 1_000, 6)
        assert fits < beyond <= 9 * fits
        four_times, _ = self.cost(work, "squared", 4_000, 6)
        assert four_times <= MAX_RATIO * beyond
