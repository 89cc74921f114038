"""Sizes of errors in buckets, beside the errors themselves."""

import numpy as np
import pytest

from swordplay.tracking.sketch import COUNT, EDGES, PARTS, Sketch, buckets


def sketched(errors, pieces=1):
    sketch = Sketch()
    for part in np.array_split(errors, pieces):
        sketch.add(part)
    return sketch


def test_every_size_lies_in_its_bucket():
    sizes = np.concatenate(
        [np.random.default_rng(0).lognormal(sigma=20.0, size=2000), 2.0 ** np.arange(-150, 200)]
    )
    places = buckets(np.where(np.arange(len(sizes)) % 2, sizes, -sizes))
    assert len(EDGES) == COUNT + 2
    assert ((EDGES[places] <= sizes) & (sizes < EDGES[places + 1])).all()
    assert (np.diff(EDGES[1:]) / EDGES[1:-1]).max() <= 1 / PARTS


def test_what_is_zero_or_beyond_measure_is_counted_too():
    assert buckets(np.array([0.0, -0.0, 1e-300, 1e300])).tolist() == [0, 0, 0, COUNT]
    assert sketched(np.zeros(3)).quantile(0.9) == 0.0
    assert np.isnan(Sketch().quantile(0.5))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_quantiles_are_near(scale, share):
    errors = scale * np.random.default_rng(1).normal(size=20_000)
    assert sketched(errors).quantile(share) == pytest.approx(
        np.quantile(abs(errors), share), rel=1 / PARTS
    )


def test_a_histogram_counts_everything_once():
    errors = np.random.default_rng(2).normal(loc=0.3, size=20_000)
    edges = np.linspace(-6.0, 6.0, 25)
    counts = sketched(errors).histogram(edges)
    assert counts.sum() == pytest.approx(len(errors))
    np.testing.assert_allclose(counts, np.histogram(errors, edges)[0], atol=0.02 * len(errors))
    assert counts[12:].sum() == np.count_nonzero(errors >= 0.0)  # zero is an edge of buckets


def test_pieces_and_resuming_leave_no_trace():
    errors = np.random.default_rng(3).standard_cauchy(size=1000)
    whole, cut = sketched(errors), sketched(errors, pieces=7)
    resumed = Sketch()
    resumed.load_state(sketched(errors[:400]).state())
    resumed.add(errors[400:])
    for other in (cut, resumed):
        np.testing.assert_equal(other.state(), whole.state())
    assert whole.total == 1000
