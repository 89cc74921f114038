"""The harness: who plays, who is missing, what is reported.

No test looks at how long anything took.
"""

import math
import os
from contextlib import contextmanager

import numpy as np
import pytest
from benchmarks.growth import Growth
from benchmarks.ours import Readable
from benchmarks.report import comparison
from benchmarks.timing import Contender, Missing, measure, pinned

from benchmarks import workloads


class Zero(Contender):
    name, learns, most_rounds = "zero", "nothing", 50

    def __init__(self, turns):
        self.turns = turns

    @contextmanager
    def ready(self, workload):
        def run():
            self.turns.append((self.name, workload.rounds))
            return np.zeros(workload.rounds)

        yield run


class Other(Zero):
    name, most_rounds = "other", 1_000


class Absent(Contender):
    name, learns = "absent", "nothing"

    @contextmanager
    def ready(self, workload):
        raise Missing("not installed")
        yield


def test_contenders_warm_up_take_turns_and_play_their_share():
    turns = []
    measure([Zero(turns), Other(turns)], workloads.dense(200, 3), turns=2)
    assert turns == [("zero", 50), ("other", 200)] * 3


def test_a_missing_contender_is_named_with_its_reason_and_others_go_on():
    workload = workloads.dense(200, 3)
    zero, absent = measure([Zero([]), Absent()], workload, turns=1)
    assert zero.mean_loss == np.mean(workload.targets[:50] ** 2) / 2
    assert math.isnan(absent.microseconds)
    assert absent.note == "not installed"
    assert any(
        row[:4] == ["absent", "nothing", "missing", "not installed"]
        for row in comparison("", [zero, absent], "zero").rows
    )


def test_the_readable_learner_beats_saying_zero():
    readable, zero = measure([Readable(), Other([])], workloads.dense(600, 3), turns=1)
    assert readable.mean_loss < 0.8 * zero.mean_loss


def test_workloads_are_the_same_each_time_and_planted_within_the_told_constants():
    first, second = workloads.sparse(100, 60, 5), workloads.sparse(100, 60, 5)
    assert (first.features != second.features).nnz == 0
    np.testing.assert_array_equal(first.targets, second.targets)
    stream = first.stream()
    assert math.isclose(stream.smoothness, first.smoothness)
    assert math.isclose(stream.gradient_bound(first.learner().domain), first.gradient_bound)


def test_rows_say_the_same_as_arrays_dictionaries_and_vowpal_lines():
    for workload in (workloads.dense(3, 4), workloads.sparse(3, 20, 4)):
        rows = (
            workload.features
            if isinstance(workload.features, np.ndarray)
            else workload.features.toarray()
        )
        for row, target, named, line in zip(
            rows, workload.targets, workload.dictionaries, workload.vowpal_lines, strict=True
        ):
            assert named == {str(j): value for j, value in enumerate(row) if value != 0}
            label, features = line.split(" | ")
            assert float(label) == target
            assert {
                name: float(value) for name, value in (pair.split(":") for pair in features.split())
            } == named


def test_exponents_are_slopes_of_logarithms():
    assert math.isclose(Growth("", [1, 2, 4], [3.0, 12.0, 48.0]).exponent, 2.0)


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="this system does not pin processes to cores"
)
def test_pinning_is_undone():
    before = os.sched_getaffinity(0)
    with pinned():
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before
