"""Loops over experts: how they become vectors, and what they compute."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import swordplay as sp
from swordplay.compile import inline_compiler, jit
from swordplay.engine import (
    ball,
    layout,
    meta,
    scalar_functions,
    step_sizes,
)
from swordplay.engine.layout import EXPERT, SCALAR, SETTING, SQUARED, LearnerArrays, RowProducts
from swordplay.engine.scalar_functions import expert_rows

ROUNDING = 1e-13
"""Relative; passes add up in other orders."""
COLUMNS, RADIUS = 16, 2.0


def test_blocks_of_the_compiler_are_those_of_the_layout():
    assert inline_compiler.EXPERTS_PER_ITERATION == layout.BLOCK


NESTED = """\
define void @f() {
entry:
  br label %"B0"
B0:
  br label %"B10"
B10:
  br i1 %"x", label %"B20", label %"B90"
B20:
  br label %"B30"
B30:
  br i1 %"y", label %"B40", label %"B50"
B40:
  br label %"B40.endif"
B50:
  br label %"B10"
B90:
  ret void
B40.endif:
  br label %"B30"
}"""


def test_innermost_loops_are_marked_and_no_others():
    """Whichever place a block has in the text: its name says where it belongs."""
    text = inline_compiler.mark_loops(NESTED)
    lines = text.splitlines()
    marked = [line.strip() for line in lines if "!llvm.loop !" in line]
    assert [line.split(",")[0] for line in marked] == ['br label %"B10"', 'br label %"B30"']
    said = {line.split(" = ")[0]: line.split(" = ")[1] for line in lines if line.startswith("!")}
    outer, inner = (said[line.split("!llvm.loop ")[1]] for line in marked)
    whole = [
        said[name.strip()] for name in inner.removeprefix("distinct !{").rstrip("}").split(",")[1:]
    ]
    assert whole == [
        '!{!"llvm.loop.vectorize.width", i32 8}',
        '!{!"llvm.loop.interleave.count", i32 1}',
        '!{!"llvm.loop.unroll.disable"}',
    ]
    assert [
        said[name.strip()] for name in outer.removeprefix("distinct !{").rstrip("}").split(",")[1:]
    ] == whole[-1:]


def numbers_of(rng, rows=0):
    """Numbers of experts in a round, some of whom are about to leave the ball, some with steps
    that are infinite yet.
    """
    numbers = rng.uniform(0.1, 1.0, (len(EXPERT) + rows, COLUMNS))
    numbers[EXPERT.extra_gradient] = rng.integers(0, 2, COLUMNS)
    numbers[EXPERT.base_prediction], numbers[EXPERT.prediction] = rng.normal(size=(2, COLUMNS))
    numbers[EXPERT.squared_norm] = rng.uniform(0.5, 1.0, COLUMNS) * RADIUS**2
    numbers[EXPERT.inverse_scale] = 1.0 / numbers[EXPERT.scale]
    numbers[EXPERT.slope] = rng.normal(size=COLUMNS)
    numbers[[EXPERT.eta, EXPERT.next_eta], 3] = math.inf
    numbers[EXPERT.squared_norm, 5] = numbers[EXPERT.slope, 5] = 0.0
    numbers[EXPERT.max_squared_norm, 7] = 1e300
    return numbers


def learner_of(numbers, weight=1.5):
    scalars, settings = np.zeros(len(SCALAR)), np.zeros(len(SETTING))
    scalars[SCALAR.loss_weight] = weight
    settings[SETTING.domain_size], settings[SETTING.loss] = RADIUS, SQUARED
    settings[SETTING.adaptive_steps] = 1.0
    return LearnerArrays(np.zeros((3, COLUMNS)), numbers, np.zeros((4, 3)), scalars, settings)


@jit.kernel
def move(learner, products, target):
    """Both steps of every expert, and their largest dual norms."""
    smallest_scale = ball.move(learner, products, learner.vectors[0], target)
    step_sizes.track_dual_norm(learner)
    return smallest_scale


@jit.kernel
def bounded_weights(learner, rate, slope, least):
    """``meta.bounded_hedge_weights``, which takes rows that Python cannot make."""
    return meta.bounded_hedge_weights(COLUMNS, rate, slope, least, expert_rows(learner))


@jit.kernel
def any_weights(learner, rate, slope):
    """``meta.set_optimism``, then ``meta.exponential_weights``."""
    e = expert_rows(learner)
    least = meta.set_optimism(COLUMNS, slope, e)
    return meta.exponential_weights(COLUMNS, rate, least, e)


@jit.kernel
def minimum_of(learner):
    """``scalar_functions.minimum`` of a row."""
    return scalar_functions.minimum(COLUMNS, expert_rows(learner).scale)


@pytest.mark.parametrize("slope", [0.0, 0.4, -3.0, 40.0])
def test_weights_are_the_same_whichever_number_is_subtracted_from_their_exponents(slope):
    """Below and above what is bounded."""
    rng = np.random.default_rng(1)
    prior = np.log(rng.dirichlet(np.ones(COLUMNS)))
    cumulative, ahead = rng.uniform(3.0, 9.0, COLUMNS), rng.normal(size=COLUMNS)
    rate, answers = 1.3, []
    for is_bounded in (True, False):
        numbers = np.zeros((len(EXPERT), COLUMNS))
        numbers[EXPERT.log_prior], numbers[EXPERT.cumulative] = prior, cumulative
        numbers[EXPERT.next_prediction] = ahead
        learner = learner_of(numbers)
        if is_bounded:
            total = bounded_weights(learner, rate, slope, cumulative.min())
        else:
            total = any_weights(learner, rate, slope)
        np.testing.assert_allclose(numbers[EXPERT.optimism], slope * ahead, rtol=ROUNDING)
        answers.append(numbers[EXPERT.weight] / total)
        assert total == pytest.approx(numbers[EXPERT.weight].sum(), rel=ROUNDING)
    np.testing.assert_allclose(*answers, rtol=1e-12)
    exact = prior - rate * (cumulative + slope * ahead)
    np.testing.assert_allclose(
        answers[0], np.exp(exact - exact.max()) / np.exp(exact - exact.max()).sum(), rtol=1e-12
    )


@pytest.mark.parametrize("rate", [1e-3, 1.0, 1e6, math.inf])
def test_no_rate_is_too_large_for_the_guesses(rate):
    """Guesses of losses of 1e6: exponents beyond those that doubles have, unless the least sum
    is taken off.
    """
    game = sp.LinearStream(np.full((40, 2), 1e3), 1e3 * np.cos(np.arange(40.0)))
    readable, compiled = (
        sp.SwordBest(
            sp.Ball(2),
            horizon=40,
            gradient_bound=1e7,
            smoothness=2e6,
            learning_rate=sp.rates.Fixed(min(rate, 1e6)),
        )
        for _ in range(2)
    )
    sp.play(readable, game, engine="python")
    sp.play(compiled, game, engine="compiled")
    np.testing.assert_allclose(compiled.weights, readable.weights, rtol=1e-9, atol=1e-12)


@jit.kernel
def scale_changes(learner, products, slope):
    """``step_sizes.scale_changes``."""
    return step_sizes.scale_changes(learner, products, slope)


@jit.kernel
def update_scale(learner, products, slope):
    """``step_sizes.update_scale`` and ``step_sizes.update_limits``."""
    step_sizes.update_scale(learner, products, slope)
    step_sizes.update_limits(learner)


def test_a_scale_that_does_not_change_would_not_be_changed():
    """A stream of rows of many lengths: where ``scale_changes`` is False, both updates that it
    leaves out would change nothing.
    """
    rng = np.random.default_rng(2)
    learner = learner_of(numbers_of(rng))
    learner.settings[SETTING.uses_domain_scale], learner.settings[SETTING.diameter] = 1.0, 100.0
    learner.scalars[SCALAR.step_shrink] = 1.5
    left_out = 0
    for t in range(200):
        learner.scalars[SCALAR.rounds] = t
        learner.experts[EXPERT.squared_norm, 1] = rng.exponential() * (1.0 + t / 50.0)
        products = RowProducts(rng.exponential(), 0.0, 0.0, 0.0, 0.0, 0.0)
        slope = rng.normal() * (2000.0 if t % 20 == 19 else 2.0)
        changes = scale_changes(learner, products, slope)
        before = learner.scalars.copy(), learner.experts.copy()
        update_scale(learner, products, slope)
        if not changes:
            left_out += 1
            np.testing.assert_array_equal(learner.scalars, before[0])
            np.testing.assert_array_equal(learner.experts, before[1])
    assert 100 < left_out < 192


@pytest.mark.parametrize(
    ("dim", "columns"),
    [*((dim, 24) for dim in (1, 2, 3, 84, 85, 86, 87, 127, 300)), (129, 16), (17, 256), (9, 4096)],
)
def test_pending_updates_over_any_number_of_coordinates(dim, columns):
    """W += c a', and <a, W> of the new W; nothing is pending then.

    So many coordinates at a time: 85, 128, 8 and 8.
    """
    rng = np.random.default_rng(dim)
    numbers, table = rng.normal(size=(len(EXPERT), columns)), np.full((300 + dim, columns), np.nan)
    line, vectors = np.full(300 + dim, np.nan), rng.normal(size=(4, dim))
    coords, features = table[:dim], line[:dim]  # whatever lies behind them is no number
    coords[:], features[:] = rng.normal(size=(dim, columns)), rng.normal(size=dim)
    wanted = coords + np.multiply.outer(
        vectors[layout.VECTOR.last_row], numbers[EXPERT.pending_update]
    )
    scalars, settings = np.zeros(len(SCALAR)), np.zeros(len(SETTING))
    ball.apply_pending_updates(LearnerArrays(coords, numbers, vectors, scalars, settings), features)
    np.testing.assert_allclose(coords, wanted, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(
        numbers[EXPERT.base_prediction], features @ wanted, rtol=ROUNDING, atol=1e-12
    )
    assert not numbers[EXPERT.pending_update].any()
    assert np.isnan(table[dim:]).all()


@pytest.mark.parametrize("values", [[-3.0, -1.0, -2.0, -5.0] * 4, [math.inf, 1.0] * 8])
def test_minimum(values):
    numbers = np.zeros((len(EXPERT), COLUMNS))
    numbers[EXPERT.scale] = values
    assert minimum_of(learner_of(numbers)) == min(values)


LEARNERS = {
    "Sword": lambda: sp.Sword(sp.Ball(4)),
    "Sword on a simplex": lambda: sp.Sword(sp.Simplex(4)),
    "Sword++": lambda: sp.SwordPlusPlus(
        sp.Ball(4), horizon=300, gradient_bound=1e3, smoothness=1e3
    ),
}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", LEARNERS)
def test_the_longest_row_is_noted_wherever_it_stands(sparse, name):
    features = np.random.default_rng(3).normal(size=(300, 4))
    features[170] *= 9.0
    features[:120] = 0.0  # nothing to be seen in the first rows
    rows = pytest.importorskip("scipy.sparse").csr_matrix(features) if sparse else features
    learner = LEARNERS[name]()
    sp.play(learner, sp.LinearStream(rows, features @ np.ones(4)), engine="compiled")
    longest = np.square(features).sum(axis=1).max()
    assert learner.assumptions.seen.smoothness == pytest.approx(longest, rel=ROUNDING)
    sp.play(
        learner, sp.LinearStream(rows[:50], np.zeros(50)), engine="compiled"
    )  # each call has a longest row of its own
    assert learner.assumptions.seen.smoothness == pytest.approx(longest, rel=ROUNDING)


@pytest.mark.skipif(jit.JIT_DISABLED or jit.CHECKED, reason="no vectors are made")
def test_passes_become_vectors(tmp_path):
    """LLVM complains of a loop that is marked and cannot be one.

    In a process of its own, as pieces are compiled but once.
    """
    script = "import sys; sys.path.insert(0, sys.argv[1]); import test_passes as t; t.play()"
    done = subprocess.run(
        [sys.executable, "-c", script, str(Path(__file__).parent)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""


def play():
    learner = learner_of(numbers_of(np.random.default_rng(0)))
    move(learner, RowProducts(1.7, 1.1, 0.3, 1.4, 2.2, 0.25), 0.4)
    game = sp.LinearStream(np.ones((3, 2)), np.ones(3))
    given = {"horizon": 3, "gradient_bound": 9.0, "smoothness": 9.0}
    for learner in (sp.Sword(sp.Ball(2)), sp.SwordPlusPlus(sp.Ball(2), **given)):
        sp.play(learner, game, engine="compiled")
