"""How many gradients a round asks for: points are counted, not calls."""

import numpy as np
import pytest

import swordplay as sp
from swordplay.parts.streams import drift


class Counter:
    """A loss that counts the points at which its gradient is asked for."""

    def __init__(self, loss):
        self.points = self.values = 0
        self.inside = loss
        self.loss = sp.FunctionLoss(self.value, self.gradient, loss.smoothness)

    def value(self, points):
        self.values += 1
        return self.inside.value(points)

    def gradient(self, points):
        self.points += int(np.prod(points.shape[:-1]))
        return self.inside.gradient(points)


STREAM = drift.jumps(40, 3, every=10)
CONSTANTS = {
    "horizon": 40,
    "gradient_bound": STREAM.gradient_bound(STREAM.domain),
    "smoothness": 1.0,
}


@pytest.mark.parametrize(
    ("learner", "expected"),
    [
        (sp.OGD(STREAM.domain, 0.1), lambda n: 1),
        (sp.OEGD(STREAM.domain, 0.1), lambda n: 2),
        (sp.Ader(STREAM.domain, horizon=40, gradient_bound=2.0), lambda n: 1),
        (sp.SwordVar(STREAM.domain, **CONSTANTS), lambda n: 2 * n + 2),
        (sp.SwordSmall(STREAM.domain, **CONSTANTS), lambda n: n + 1),
        (sp.SwordBest(STREAM.domain, **CONSTANTS), lambda n: 2 * (n // 2) + n // 2 + 2),
        (
            sp.SwordBest(
                STREAM.domain, **CONSTANTS, variation_pool=[0.1, 0.2, 0.4], small_loss_pool=[0.3]
            ),
            lambda n: 2 * 3 + 1 + 2,
        ),
        (sp.Sword(STREAM.domain), lambda n: 2 * (n // 2) + n // 2 + 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_gradients_asked_for_in_a_round(learner, expected):
    for loss in STREAM:
        counter = Counter(loss)
        experts = len(learner.step_sizes)
        learner.observe(counter.loss)
        assert counter.points == expected(experts)
        alone = isinstance(
            learner, sp.OGD | sp.OEGD | sp.Ader
        )  # one expert, or all along one gradient
        assert counter.values == (
            1 if alone else 2
        )  # at the decision for what is watched; there and at the experts' points
