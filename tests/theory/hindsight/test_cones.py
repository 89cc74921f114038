"""The scaling of cone pairs, against its defining equations."""

import numpy as np

from swordplay.theory.hindsight.cones import ConePoints, NesterovToddScaling


def test_scaling_maps_both_points_to_one():
    rng = np.random.default_rng(0)
    tails = rng.normal(size=(2, 20, 3))
    primal, dual = (ConePoints(np.linalg.norm(tail, axis=1) * 1.1 + 0.01, tail) for tail in tails)
    scaling = NesterovToddScaling(primal, dual)
    for ours, theirs in zip(scaling.solve(primal), scaling.multiply(dual), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    back = scaling.multiply(scaling.solve(primal))
    np.testing.assert_allclose(back.tail, primal.tail, atol=1e-9)


def test_longest_step_ends_on_the_boundary():
    rng = np.random.default_rng(1)
    tail, step = (
        rng.normal(size=(1, 3)),
        ConePoints(rng.normal(size=1), 3 * rng.normal(size=(1, 3))),
    )
    point = ConePoints(np.linalg.norm(tail, axis=1) + 0.5, tail)
    inward = ConePoints(np.ones(1), np.zeros((1, 3)))
    scaling = NesterovToddScaling(point, point)
    for fraction in (scaling.longest_step(step, inward), scaling.longest_step(inward, step)):
        head, end = point.head + fraction * step.head, point.tail + fraction * step.tail
        np.testing.assert_allclose(head, np.linalg.norm(end, axis=1), rtol=1e-9)
    assert scaling.longest_step(inward, inward) == np.inf


def test_corrector_solves_its_equation():
    rng = np.random.default_rng(2)
    primal, dual, dual_step = (
        ConePoints(np.linalg.norm(t, axis=1) + 0.1, t) for t in rng.normal(size=(3, 20, 3))
    )
    scaling, mu = NesterovToddScaling(primal, dual), 0.3
    x, m, scaled = (
        scaling.corrector(mu, dual_step),
        scaling.scaled_points,
        scaling.multiply(dual_step),
    )
    # the scaled primal step of the predictor
    last = ConePoints(-m.head - scaled.head, -m.tail - scaled.tail)

    def jordan(left, right):
        head = left.head * right.head + (left.tail * right.tail).sum(axis=1)
        return np.column_stack(
            [head, left.head[:, None] * right.tail + right.head[:, None] * left.tail]
        )

    expected = mu * np.eye(4)[0] - jordan(m, m) - jordan(last, scaled)
    np.testing.assert_allclose(jordan(m, x), expected, atol=1e-8)
