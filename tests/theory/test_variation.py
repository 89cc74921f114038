"""V_T and V^f_T of streams of all kinds, against samples of points."""

import numpy as np
import pytest
import scipy.sparse

import swordplay as sp
from theory.changes import (
    Segment,
    domains,
    inside,
    quadratic,
    squared,
    squared_changes,
    value_changes,
)
from tolerances import ROUNDING, TWIN


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("drift", [0.01, 1.0])
def test_no_sample_exceeds_the_result(loss, dim, drift):
    rng = np.random.default_rng([dim, len(loss)])
    features = np.cumsum(rng.normal(size=(40, dim)) * drift, axis=0) + 1.0
    targets = (
        rng.integers(0, 2, 40) if loss == "logistic" else np.cumsum(rng.normal(size=40) * drift)
    )
    stream = sp.LinearStream(features, targets, loss, threshold=0.3)
    for domain in (*domains(dim, rng), Segment(rng.normal(size=dim), rng.normal(size=dim))):
        points = inside(domain, rng, 2000)
        gradients, values = (
            sp.gradient_variation(stream, domain),
            sp.function_variation(stream, domain),
        )
        assert squared_changes(stream, points) <= gradients * (1 + ROUNDING)
        assert value_changes(stream, points) <= values * (1 + ROUNDING)
        assert gradients.exact == (dim == 1 or not isinstance(domain, Segment))


@pytest.mark.parametrize("dim", [1, 3])
def test_equal_consecutive_losses_add_exactly_0(dim):
    rng = np.random.default_rng(2)
    function = sp.FunctionLoss(lambda x: np.abs(x).sum(-1), np.sign)  # not even smooth
    losses = [
        *(
            loss(rng.normal(size=dim), 1.0)
            for loss in (sp.SquaredLoss, sp.LogisticLoss, sp.HuberLoss)
        ),
        quadratic(rng, dim),
        function,
    ]
    for loss in losses:
        for domain in domains(dim, rng):
            assert sp.gradient_variation([loss] * 4, domain) == 0.0
            assert sp.function_variation([loss] * 4, domain) == 0.0


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_all_forms_of_a_stream_have_the_same_variation(loss):
    rng = np.random.default_rng(3)
    features = rng.normal(size=(30, 6)) * (rng.random((30, 6)) < 0.4)
    targets = rng.integers(0, 2, 30)
    dense = sp.LinearStream(features, targets, loss)
    sparse = sp.LinearStream(scipy.sparse.csr_matrix(features), targets, loss)
    for domain in domains(6, rng):
        for variation in (sp.gradient_variation, sp.function_variation):
            expected = variation(dense, domain)
            for other in (sparse, list(dense), iter(dense)):
                answer = variation(other, domain)
                assert answer == pytest.approx(float(expected), rel=TWIN)
                assert answer.exact == expected.exact


def test_losses_of_several_families_are_bounded():
    rng = np.random.default_rng(6)
    stream = [
        sp.SquaredLoss(rng.normal(size=3), 1.0),
        sp.LogisticLoss(rng.normal(size=3), 1),
        sp.HuberLoss(rng.normal(size=3), 0.2, threshold=0.5),
        sp.HuberLoss(rng.normal(size=3), 0.2, threshold=2.0),
        quadratic(rng, 3),
        sp.FunctionLoss(lambda x: 0.5 * (x**2).sum(-1), lambda x: x, smoothness=1.0),
    ]
    for domain in domains(3, rng):
        points = inside(domain, rng, 2000)
        gradients, values = (
            sp.gradient_variation(stream, domain),
            sp.function_variation(stream, domain),
        )
        assert not gradients.exact
        assert not values.exact
        assert squared_changes(stream, points) <= gradients
        assert value_changes(stream, points) <= values


@pytest.mark.parametrize("T", [2, 101, 1000, 5001])
def test_paper_instances(T):
    gradual = sp.streams.paper.gradual(T)
    variation = sp.gradient_variation(gradual, gradual.domain)
    assert variation.exact
    assert 0 < variation <= 4 / len(gradual)

    alternating = sp.streams.paper.alternating(T)
    # Within a half the gradients are (x - u) and (x - u)/4 with u = 1 or -1: they differ by 3/2 at
    # most.
    half = len(alternating) // 2
    turn = squared_changes(alternating[half - 1 : half + 1], np.array([[-1.0], [1.0]]))
    expected = 1.5**2 * (2 * half - 2) + turn
    assert sp.gradient_variation(alternating, alternating.domain) == pytest.approx(
        expected, rel=ROUNDING
    )


def test_chunks_contain_every_change(monkeypatch):
    rng = np.random.default_rng(7)
    stream, ball = squared(rng, 50, 3), sp.Ball(3)
    mixed = [quadratic(rng, 3) if t % 7 == 0 else loss for t, loss in enumerate(stream)]
    whole = sp.gradient_variation(stream, ball), sp.function_variation(mixed, ball)
    monkeypatch.setattr("swordplay.theory.variation.CHUNK_NUMBERS", 36)
    assert sp.gradient_variation(stream, ball) == pytest.approx(whole[0], rel=ROUNDING)
    assert sp.function_variation(mixed, ball) == pytest.approx(whole[1], rel=ROUNDING)


@pytest.mark.parametrize("rounds", [0, 1])
def test_streams_of_at_most_one_round_have_no_variation(rounds):
    stream = sp.LinearStream(np.ones((rounds, 2)), np.ones(rounds))
    for kind in (stream, list(stream)):
        assert sp.gradient_variation(kind, sp.Ball(2)) == 0.0
        assert sp.function_variation(kind, sp.Ball(2)).exact


class TestRefusals:
    def test_unknown_smoothness(self):
        stream = [sp.FunctionLoss(lambda x: np.abs(x).sum(-1), np.sign) for _ in range(2)]
        with pytest.raises(ValueError, match=r"smoothness is None.*smoothness=L"):
            sp.gradient_variation(stream, sp.Ball(2))
        with pytest.raises(ValueError, match="smoothness is None"):
            sp.function_variation(stream, sp.Ball(2))

    @pytest.mark.parametrize("variation", [sp.gradient_variation, sp.function_variation])
    def test_other_dimensions(self, variation):
        stream = sp.LinearStream(np.ones((3, 2)), np.ones(3))
        for kind in (stream, list(stream)):
            with pytest.raises(ValueError, match="domain must have the stream's dimension 2"):
                variation(kind, sp.Ball(3))

    def test_no_domain(self):
        with pytest.raises(TypeError, match="domain must be a domain"):
            sp.gradient_variation(sp.LinearStream(np.ones((3, 2)), np.ones(3)), 2.0)
