"""Tables as streams: equal losses for dense and sparse, single and batched evaluation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import swordplay as sp
from strategies import domains, seeds
from tolerances import ROUNDING

KINDS = ["squared", "logistic", "huber"]


def table(kind, rounds=20, dim=4, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rounds, dim)) * (rng.random((rounds, dim)) < 0.6)
    targets = (
        rng.integers(0, 2, rounds).astype(float) if kind == "logistic" else rng.normal(size=rounds)
    )
    return features, targets


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "layout", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array, np.asfortranarray]
)
def test_every_layout_gives_the_same_losses(kind, layout):
    features, targets = table(kind)
    dense, other = (
        sp.LinearStream(features, targets, kind),
        sp.LinearStream(layout(features), targets, kind),
    )
    x = np.linspace(-1.0, 1.0, 4)
    for one, two in zip(dense, other, strict=True):
        assert float(one.value(x)) == pytest.approx(float(two.value(x)), rel=ROUNDING, abs=ROUNDING)
        np.testing.assert_allclose(one.gradient(x), two.gradient(x), rtol=ROUNDING, atol=ROUNDING)
    rows = np.tile(x, (20, 1)) * np.arange(20)[:, None]
    np.testing.assert_allclose(dense.values(rows), other.values(rows), rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(dense.values(x), other.values(x), rtol=ROUNDING, atol=ROUNDING)
    assert other.smoothness == pytest.approx(dense.smoothness)
    assert other.gradient_bound(sp.Ball(4)) == pytest.approx(dense.gradient_bound(sp.Ball(4)))


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_the_losses(kind):
    stream = sp.LinearStream(*table(kind), kind, threshold=0.5)
    decisions = np.random.default_rng(1).normal(size=(20, 4))
    np.testing.assert_allclose(
        stream.values(decisions),
        [f.value(x) for f, x in zip(stream, decisions, strict=True)],
        rtol=ROUNDING,
    )
    np.testing.assert_allclose(
        stream.values(decisions[0]), [f.value(decisions[0]) for f in stream], rtol=ROUNDING
    )


def test_a_slice_is_a_stream():
    stream = sp.LinearStream(*table("huber"), "huber", threshold=0.3)
    part = stream[5:12]
    assert len(part) == 7
    assert part.threshold == 0.3
    assert [f.target for f in part] == [f.target for f in stream][5:12]
    with pytest.raises(TypeError, match="rows must be a slice"):
        stream[3]


def test_a_stream_can_be_looped_over_again():
    stream = sp.LinearStream(*table("squared"))
    assert [f.target for f in stream] == [f.target for f in stream] == stream.targets.tolist()


@given(domains(4), seeds, st.sampled_from(KINDS))
def test_the_gradient_bound_is_never_exceeded_and_nearly_reached(domain, seed, kind):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(5, domain.dim))
    targets = rng.integers(0, 2, 5).astype(float) if kind == "logistic" else rng.normal(size=5)
    stream = sp.LinearStream(features, targets, kind)
    G = stream.gradient_bound(domain)
    ends = domain.project(
        domain.center + 1e6 * domain.diameter * np.concatenate([features, -features])
    )
    inside = domain.project(domain.center + domain.diameter * rng.normal(size=(50, domain.dim)))
    longest = max(
        np.linalg.norm(f.gradient(x), axis=1).max() for f in stream for x in (ends, inside)
    )
    assert longest <= G * (1 + 1e-9)
    assert longest >= G * (1 - 1e-4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sp.LinearStream([1.0], [1.0]), r"features must have shape \(T, d\), got \(1,\)"),
        (
            lambda: sp.LinearStream([[1.0]], [1.0, 2.0]),
            r"targets must have one entry per row of features \(1\), got 2",
        ),
        (
            lambda: sp.LinearStream([[np.nan]], [1.0]),
            "features must be finite, got nan in row 0, column 0",
        ),
        (lambda: sp.LinearStream([[1.0]], [np.inf]), "targets must be finite, got inf in row 0"),
        (lambda: sp.LinearStream(sparse.csr_matrix([[np.inf]]), [1.0]), "features must be finite"),
        (
            lambda: sp.LinearStream(np.zeros((2, 0)), [1.0, 1.0]),
            "features must have at least one column",
        ),
        (
            lambda: sp.LinearStream([[1.0]], [1.0], "hinge"),
            r"loss must be one of \['huber', 'logistic', 'pinball', 'squared'\], got 'hinge'",
        ),
        (
            lambda: sp.LinearStream([[1.0], [1.0]], [1.0, 2.0], "logistic"),
            "targets must be 0 or 1 .* got 2.0 in row 1",
        ),
        (
            lambda: sp.LinearStream([[1.0]], [1.0], "huber", threshold=-1.0),
            "threshold must be greater than 0",
        ),
        (
            lambda: sp.PlantedStream([[1.0]], [1.0], domain=sp.Ball(1), comparators=[[2.0]]),
            "comparators must lie in the domain",
        ),
        (
            lambda: sp.PlantedStream([[1.0]], [1.0], domain=sp.Ball(1), comparators=[[0.0], [0.0]]),
            r"comparators must have shape \(1, 1\), got \(2, 1\)",
        ),
    ],
)
def test_bad_tables_are_refused_in_words(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_squared_norms_of_sparse_rows_with_empty_rows_and_duplicate_entries():
    rng = np.random.default_rng(3)
    table = sparse.random(
        9000, 20, density=0.05, format="csr", random_state=4
    )  # a third of the rows is empty
    stream = sp.LinearStream(table, rng.normal(size=9000))
    np.testing.assert_allclose(
        stream.squared_norms(), np.square(table.toarray()).sum(axis=1), rtol=1e-13
    )
    twice = sparse.csr_matrix(
        (np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 2, 3])), shape=(3, 2)
    )
    assert sp.LinearStream(twice, np.zeros(3)).squared_norms().tolist() == [9.0, 0.0, 16.0]
