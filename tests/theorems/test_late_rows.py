"""Late rows: the certificate holds for the rounds in the order told, whatever was said of them
before.
"""

import numpy as np
import pytest

from swordplay.estimators.linear_model import LinearModel

RADIUS = 3.0


def losses(rows, signs, points):
    """Weighted logistic losses of smoothness 1 at one point for each row, or at one for all."""
    norms = np.maximum((rows**2).sum(axis=1), 1e-12)
    return np.logaddexp(0.0, -signs * (rows * points).sum(axis=1)) / (0.25 * norms)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("delay", [1, 7, 40])
def test_regret_in_the_order_told_is_below_the_certificate(seed, delay):
    rng = np.random.default_rng(seed)
    count = 160
    model = LinearModel(2, loss="logistic", radius=RADIUS, standardize=False, intercept=False)
    rows = rng.normal(size=(count, 2)) * rng.choice([0.1, 1.0, 5.0], size=(count, 1))
    drift = RADIUS * np.column_stack([np.cos(np.arange(count) / 30), np.sin(np.arange(count) / 30)])
    labels = ((rows * drift).sum(axis=1) + rng.normal(size=count) > 0).astype(float)
    order = np.argsort(
        np.arange(count) + rng.integers(0, delay + 1, count), kind="stable"
    )  # answers overtake one another
    said, decided = {}, []
    for turn in range(count):
        said[turn] = model.expert_scores(rows[turn : turn + 1]).transpose(1, 0, 2)
        for t in order[[turn - delay]] if turn >= delay else ():
            before = (
                said[min(int(t), turn)]
                if rng.random() < 0.9
                else rng.normal(size=(1, 1, 29)) * 100.0
            )
            late = np.concatenate([np.full((1, 1, 1), float(delay)), before], axis=2)
            (part,) = model.learn(rows[[t]], labels[[t]], late_scores=late)
            decided.append((int(t), float(part.mixed[0])))
    places = np.array([t for t, _ in decided])
    signs, told = 2.0 * labels[places] - 1.0, rows[places]
    norms = (told**2).sum(axis=1)
    mine = np.logaddexp(0.0, -signs * np.array([score for _, score in decided])) / (0.25 * norms)
    fixed = RADIUS * rng.normal(size=(200, 2))
    fixed /= np.maximum(1.0, np.linalg.norm(fixed, axis=1, keepdims=True) / RADIUS)
    best = min(losses(told, signs, u[None]).sum() for u in fixed)
    head = model.head
    assert mine.sum() - best <= head.certificate(0.0) * (1 + 1e-9)
    moving = drift[places]
    path = np.linalg.norm(np.diff(moving, axis=0), axis=1).sum()
    assert mine.sum() - losses(told, signs, moving).sum() <= head.certificate(path) * (1 + 1e-9)
