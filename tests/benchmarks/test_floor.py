"""The C floor is a third implementation of SwordBest: it must say what the readable learner
says.
"""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import floor, workloads
from tolerances import THIRD_IMPLEMENTATION

pytestmark = pytest.mark.skipif(floor.compiler() is None, reason="no C compiler on the PATH")

BUILDS = pytest.mark.parametrize("flags", floor.BUILDS.values(), ids=floor.BUILDS)

DENSE = {
    "one feature": (1, 2.0, 7),
    "even width, roomy ball": (10, 2.0, 7),
    "odd width, tight ball": (7, 0.3, 7),
    "one expert of each kind": (4, 0.5, 1),
    "whole vectors, no padding": (5, 0.5, 8),
    "three vectors": (33, 1.0, 10),
}


@pytest.mark.parametrize("case", DENSE.values(), ids=DENSE)
def test_losses_weights_and_sums_of_the_certificate_are_those_of_the_readable_learner(case):
    dim, radius, pool_size = case
    assert (
        floor.disagreement(workloads.dense(400, dim, radius), floor.BUILDS.values(), pool_size)
        <= THIRD_IMPLEMENTATION
    )


@pytest.mark.parametrize("radius", [0.05, 2.0])
def test_sparse_rows_give_what_the_readable_learner_says(radius):
    assert (
        floor.disagreement(workloads.sparse(400, 300, 12, radius), floor.BUILDS.values())
        <= THIRD_IMPLEMENTATION
    )


@BUILDS
def test_sparse_and_dense_rows_give_the_same(flags):
    sparse = workloads.sparse(1_000, 60, 12, 0.5)
    dense = replace(sparse, features=sparse.features.toarray())
    for ours, theirs in zip(
        floor.play(sparse, flags)[:4], floor.play(dense, flags)[:4], strict=True
    ):
        np.testing.assert_allclose(
            ours, theirs, rtol=0, atol=THIRD_IMPLEMENTATION * np.abs(theirs).max()
        )


@pytest.mark.deep
def test_agreement_outlasts_folded_scales_and_refreshed_norms():
    # Longer than one refresh of the norms; in so tight a ball the lazy scales fall below their
    # limit again and again.
    assert (
        floor.disagreement(workloads.dense(5_000, 2, 0.1), floor.BUILDS.values())
        <= THIRD_IMPLEMENTATION
    )


def test_the_tight_balls_do_make_experts_of_both_kinds_project():
    workload = workloads.dense(400, 7, 0.3)
    learner = workload.learner()
    on_boundary = np.zeros(2 * workloads.POOL)
    for loss in workload.stream():
        learner.observe(loss)
        on_boundary += np.linalg.norm(learner.points, axis=1) > workload.radius * (
            1 - THIRD_IMPLEMENTATION
        )
    extra_gradient, gradient_descent = np.split(on_boundary, 2)
    assert extra_gradient.max() >= 20
    assert gradient_descent.max() >= 20


def test_the_comparison_notices_a_step_that_is_off_by_a_millionth():
    workload = workloads.dense(400, 10)
    off = replace(workload, smoothness=workload.smoothness * (1 + 1e-6))
    right, wrong = floor.play(workload).predictions, floor.play(off).predictions
    assert np.abs(right - wrong).max() > 100 * THIRD_IMPLEMENTATION * np.abs(right).max()


def test_predictions_never_see_the_future():
    workload = workloads.dense(200, 5)
    spoiled = replace(workload, features=workload.features.copy(), targets=workload.targets.copy())
    spoiled.features[101:], spoiled.targets[100:] = 1e3, -1e3
    np.testing.assert_array_equal(
        floor.play(workload).predictions[:101], floor.play(spoiled).predictions[:101]
    )


def test_a_compiler_that_refuses_is_quoted():
    with pytest.raises(RuntimeError, match=r"refused floor\.c with -no-such-flag"):
        floor.library(("-no-such-flag",))
