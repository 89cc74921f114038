import numpy as np
import pytest

from swordplay import datasets


@pytest.mark.parametrize(
    ("load", "shape", "mean"),
    [
        (datasets.electricity, (45312, 6), 0.42455),
        (datasets.bikesharing, (78253, 12), 319.129),
        (datasets.sulfur, (10081, 5), 0.08071),
    ],
)
def test_shipped_streams_are_whole(load, shape, mean):
    data = load()
    assert data.features.shape == shape
    assert data.targets.shape == shape[:1]
    assert len(data.names) == shape[1]
    assert data.target not in data.names
    assert np.isfinite(data.features).all()
    assert data.targets.mean() == pytest.approx(mean, rel=1e-3)
    assert data.features.flags.c_contiguous
