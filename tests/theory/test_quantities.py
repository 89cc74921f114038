"""Path lengths and sums at the decisions, against plain loops."""

import math
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import swordplay as sp
from tolerances import ROUNDING, TWIN

BALL = sp.Ball(2)
STREAM = sp.LinearStream([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]], [1.0, -2.0, 0.5])


def stream(loss, rounds=25, dim=4, sparse=False, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rounds, dim)) * (rng.random((rounds, dim)) < 0.6)
    targets = rng.integers(0, 2, rounds)
    return sp.LinearStream(
        scipy.sparse.csr_matrix(features) if sparse else features, targets, loss, threshold=0.4
    )


class TestQuantity:
    def test_is_a_float_that_says_what_it_is(self):
        bound = sp.Quantity(2.5, exact=False)
        assert bound == 2.5
        assert not bound.exact
        assert repr(bound) == "Quantity(2.5, exact=False)"

    def test_arithmetic_claims_nothing(self):
        assert type(sp.Quantity(2.5, exact=True) + 1) is float


class TestPathLength:
    def test_by_hand(self):
        comparators = [[0.0, 0.0], [3.0, 4.0], [3.0, 4.0], [3.0, 2.0]]
        assert sp.path_length(comparators) == 7.0
        assert sp.squared_path_length(comparators) == 29.0

    def test_one_comparator_goes_nowhere(self):
        assert sp.path_length([[1.0, 2.0]]) == 0.0

    @given(st.integers(2, 30), st.integers(1, 4), st.integers(0, 2**32))
    def test_squares_are_bounded_by_the_longest_step(self, rounds, dim, seed):
        comparators = np.random.default_rng(seed).normal(size=(rounds, dim))
        longest = max(np.linalg.norm(v - u) for u, v in pairwise(comparators))
        P, S = sp.path_length(comparators), sp.squared_path_length(comparators)
        assert P**2 / (rounds - 1) * (1 - ROUNDING) <= S <= longest * P * (1 + ROUNDING)

    @pytest.mark.parametrize("length", [sp.path_length, sp.squared_path_length])
    def test_refusals(self, length):
        with pytest.raises(ValueError, match=r"comparators must have shape \(T, d\), got \(3,\)"):
            length([1.0, 2.0, 3.0])
        with pytest.raises(ValueError, match="comparators must be finite"):
            length([[0.0], [np.nan]])


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
@pytest.mark.parametrize("sparse", [False, True])
class TestAgainstLoops:
    def test_comparator_loss(self, loss, sparse):
        losses, points = stream(loss, sparse=sparse), np.random.default_rng(1).normal(size=(25, 4))
        expected = sum(float(f.value(u)) for f, u in zip(losses, points, strict=True))
        for kind in (losses, list(losses)):
            assert sp.comparator_loss(kind, points) == pytest.approx(expected, rel=TWIN)

    def test_squared_gradients(self, loss, sparse):
        losses, points = stream(loss, sparse=sparse), np.random.default_rng(1).normal(size=(25, 4))
        expected = sum(
            float(f.gradient(x) @ f.gradient(x)) for f, x in zip(losses, points, strict=True)
        )
        for kind in (losses, list(losses), iter(losses)):
            assert sp.squared_gradients(kind, points) == pytest.approx(expected, rel=TWIN)

    def test_empirical_gradient_variation(self, loss, sparse):
        losses, points = stream(loss, sparse=sparse), np.random.default_rng(1).normal(size=(25, 4))
        changes = [
            f.gradient(x) - g.gradient(x)
            for (g, f), x in zip(pairwise(losses), points[1:], strict=True)
        ]
        expected = sum(float(change @ change) for change in changes)
        for kind in (losses, list(losses), iter(losses)):
            assert sp.empirical_gradient_variation(kind, points) == pytest.approx(
                expected, rel=TWIN
            )

    def test_decisions_see_no_more_than_the_supremum(self, loss, sparse):
        losses, rng = stream(loss, sparse=sparse), np.random.default_rng(2)
        for domain in (sp.Ball(4, 2.0, np.ones(4)), sp.Box(-np.ones(4), np.ones(4)), sp.Simplex(4)):
            points = domain.project(rng.normal(size=(25, 4)) * 3)
            seen = sp.empirical_gradient_variation(losses, points)
            assert 0 < seen <= sp.gradient_variation(losses, domain)


def test_one_point_serves_all_rounds():
    losses, point = stream("squared"), np.array([1.0, -1.0, 0.5, 2.0])
    expected = sp.comparator_loss(losses, np.tile(point, (25, 1)))
    assert sp.comparator_loss(losses, point) == pytest.approx(expected, rel=ROUNDING)


def test_paper_instances():
    alternating = sp.streams.paper.alternating(1000)
    assert sp.comparator_loss(alternating, alternating.comparators) == 0.0
    assert sp.path_length(alternating.comparators) == 2.0
    assert sp.squared_gradients(alternating, alternating.comparators) == 0.0
    gradual = sp.streams.paper.gradual(1000)
    # Losses 0.5 (1 - |a|)^2 with |a| <= 1/2: between T/8 and T/2.
    assert len(gradual) / 8 <= sp.comparator_loss(gradual, gradual.comparators) <= len(gradual) / 2


@pytest.mark.parametrize("rounds", [0, 1])
def test_short_streams(rounds):
    losses, points = sp.LinearStream(np.ones((rounds, 2)), np.zeros(rounds)), np.ones((rounds, 2))
    for kind in (losses, list(losses)):
        assert sp.empirical_gradient_variation(kind, points) == 0.0
        assert sp.squared_gradients(kind, points) == 8.0 * rounds
        assert sp.comparator_loss(kind, points) == 2.0 * rounds


@pytest.mark.parametrize(
    "quantity", [sp.comparator_loss, sp.squared_gradients, sp.empirical_gradient_variation]
)
class TestRefusals:
    def test_rows_that_do_not_match_the_rounds(self, quantity):
        losses = stream("squared")
        for kind in (losses, list(losses)):
            with pytest.raises(ValueError, match=r"must have one row per round \(25\), got 24"):
                quantity(kind, np.ones((24, 4)))

    def test_columns_that_do_not_match_the_stream(self, quantity):
        with pytest.raises(ValueError, match=r"must have the stream's 4 coordinate\(s\), got 3"):
            quantity(stream("squared"), np.ones((25, 3)))
        with pytest.raises(ValueError, match=r"must have shape \(..., 4\)"):
            quantity(list(stream("squared")), np.ones((25, 3)))

    def test_numbers_that_are_not_finite(self, quantity):
        points = np.ones((25, 4))
        points[3, 1] = np.inf
        with pytest.raises(ValueError, match=r"must be finite, got inf at index \(3, 1\)"):
            quantity(stream("squared"), points)


class TestConstants:
    def test_smoothness(self):
        losses = [
            sp.SquaredLoss([3.0, 4.0], 1.0),
            sp.WeightedLoss(sp.LogisticLoss([2.0, 0.0], 1), 30.0),
        ]
        assert sp.smoothness(losses) == 30.0
        assert sp.smoothness(STREAM) == sp.smoothness(list(STREAM)) == 25.0
        assert sp.smoothness([]) == 0.0
        with pytest.raises(ValueError, match=r"smoothness is None, number 1.*smoothness=L"):
            sp.smoothness([losses[0], sp.FunctionLoss(lambda x: x.sum(-1), np.ones_like)])

    @pytest.mark.parametrize("domain", [BALL, sp.Box([-1.0, 0.0], [0.5, 2.0]), sp.Simplex(2, 1.5)])
    def test_gradient_bound_is_attained_and_never_passed(self, domain):
        rng = np.random.default_rng(0)
        matrix = rng.normal(size=(2, 2))
        losses = [
            sp.SquaredLoss([3.0, 4.0], 1.0),
            sp.LogisticLoss([2.0, 1.0], 1),
            sp.HuberLoss([1.0, -2.0], 0.3, 0.4),
            sp.WeightedLoss(sp.SquaredLoss([0.5, 1.0], -1.0), 7.0),
            sp.QuadraticLoss(matrix @ matrix.T, [1.0, -2.0]),
        ]
        points = domain.project(domain.center + 3 * rng.normal(size=(20_000, 2)))
        for loss in losses:
            found = sp.gradient_bound([loss], domain)
            sampled = np.linalg.norm(loss.gradient(points), axis=1).max()
            assert found.exact
            assert sampled <= found * (1 + ROUNDING)
            assert found <= sampled * 1.001
        assert sp.gradient_bound(losses, domain) == max(
            sp.gradient_bound([loss], domain) for loss in losses
        )
        assert sp.gradient_bound(list(STREAM), domain) == pytest.approx(
            STREAM.gradient_bound(domain), rel=ROUNDING
        )

    def test_other_losses_are_bounded_by_their_smoothness(self):
        other = sp.FunctionLoss(
            lambda x: 0.5 * ((x - 3.0) ** 2).sum(-1), lambda x: x - 3.0, smoothness=1.0
        )
        found = sp.gradient_bound([other], BALL)
        assert found == pytest.approx(math.sqrt(18) + 1.0, rel=ROUNDING)
        assert not found.exact
