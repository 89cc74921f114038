"""All step sizes at once lose what each of them would lose alone, in a plain loop."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from swordplay.estimators.class_model import ClassModel
from swordplay.estimators.column_scaler import ColumnStats, TargetStats
from swordplay.estimators.linear_model import LinearModel
from swordplay.tracking.rungs import COUNT, STEP_SIZES, THRESHOLD, Places, Rungs
from tolerances import TWIN

TESTS = Path(__file__).parents[1]
CODE = """
import numba
from tracking.test_ladder import test_values, test_labels, test_a_third_class_joins
assert numba.config.DISABLE_JIT
test_values()
for classes in (2, 4):
    test_labels(classes)
test_a_third_class_joins()
"""


def rows(seed, count=60, dim=3):
    return np.random.default_rng(seed).normal(size=(count, dim)) * [1.0, 1e3, 1e-3]


def naive_values(table, targets, step):
    """Squared errors of gradient descent with one step size."""
    scaler, locator = ColumnStats(table.shape[1]), TargetStats(clip=THRESHOLD)
    point, lost = np.zeros(table.shape[1] + 1), 0.0
    for row, target in zip(table, targets, strict=True):
        scaled, norm = scaler.scale_and_update(row[None])
        center, spread, _ = locator.track(np.array([target]))[0]
        residual = scaled[0] @ point + center - target
        lost += residual**2
        point -= (
            step / norm[0] * np.clip(residual, -THRESHOLD * spread, THRESHOLD * spread) * scaled[0]
        )
    return lost


def naive_labels(table, labels, step, classes):
    """Mistakes of logistic regression with one step size, one point per class, or one in all for
    two classes.
    """
    scaler = ColumnStats(table.shape[1])
    points, lost = np.zeros((1 if classes == 2 else classes, table.shape[1] + 1)), 0
    for row, label in zip(table, labels, strict=True):
        scaled, norm = scaler.scale_and_update(row[None])
        scores = points @ scaled[0]
        lost += label != (scores[0] > 0 if classes == 2 else np.argmax(scores))
        wanted = np.array([label == 1]) if classes == 2 else np.arange(classes) == label
        slopes = 1 / (1 + np.exp(-scores)) - wanted
        points -= 4 * step / norm[0] * np.outer(slopes, scaled[0])
    return lost


def play_values(rungs, model, table, targets, losses):
    """Let them learn beside a model, from the rows that it has scaled."""
    model.predict_then_learn(
        table, targets, observer=lambda told, _: rungs.play_values(told, Places(losses[None]))
    )


def play_labels(rungs, table, labels, losses):
    classes = max(2, len(rungs.points))
    model = ClassModel(lambda: LinearModel(3, loss="logistic"), classes)

    def beside(told, places):
        rungs.play_labels(told, places, Places(losses[None]))

    for part in (slice(0, 7), slice(7, len(table))):
        model.predict_then_learn(table[part], labels[part].astype(int), observer=beside)


def test_values():
    table = rows(1)
    targets = table @ [1.0, 1e-3, 1e3] + 50.0
    targets[30] = 1e6  # beyond the threshold
    losses = np.zeros(COUNT)
    play_values(Rungs(3), LinearModel(3, loss="huber"), table, targets, losses)
    naive = [naive_values(table, targets, step) for step in STEP_SIZES]
    np.testing.assert_allclose(losses, naive, rtol=TWIN)
    assert np.ptp(losses) > 0


@pytest.mark.parametrize("classes", [2, 4])
def test_labels(classes):
    table = rows(2)
    edges = np.quantile(table[:, 0], np.arange(1, classes) / classes)
    labels = np.searchsorted(edges, table[:, 0]).astype(float)
    rungs, losses = Rungs(3), np.zeros(COUNT)
    rungs.grow(classes)
    play_labels(rungs, table, labels, losses)
    assert losses.tolist() == [naive_labels(table, labels, step, classes) for step in STEP_SIZES]
    assert np.ptp(losses) > 0


@pytest.mark.parametrize("cut", [1, 10, 13, 59])
def test_losses_are_added_where_they_belong(cut):
    """Stretch by stretch, the first of which has rows already."""
    table, width, opened = rows(5), 12, 5
    targets, labels = table @ [1.0, 1e-3, 1e3], (table[:, 0] > 0).astype(float)
    for kind in ("values", "labels"):
        found, wanted, tolds = np.zeros((6, COUNT)), np.zeros((6, COUNT)), []
        model = LinearModel(3) if kind == "values" else LinearModel(3, loss="logistic")
        truths = targets if kind == "values" else labels
        model.predict_then_learn(
            table, truths, observer=lambda *given, tolds=tolds: tolds.append(given)
        )
        ((told, _),) = tolds
        one, many = Rungs(3), Rungs(3)

        def play(rungs, first, stop, to, kind=kind, told=told):
            part = told.part(first, stop)
            rungs.play_values(part, to) if kind == "values" else rungs.play_labels(
                part, labels[first:stop], to
            )

        for k in range(len(table)):
            play(one, k, k + 1, Places(wanted[(opened + k) // width][None]))
        to = Places(found, opened, width)
        play(many, 0, cut, to)
        play(many, cut, len(table), to.after(cut))
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(one.points, many.points)
        assert (found.sum(axis=1) > 0).all() or kind == "labels"


def test_a_third_class_joins():
    """Two classes share a point; as one of three, it says the same about them as before."""
    table = rows(3)
    rungs = Rungs(3)
    play_labels(rungs, table, table[:, 0] > 0, np.zeros(COUNT))
    before = rungs.points.copy()
    rungs.grow(3)
    np.testing.assert_array_equal(
        rungs.points, np.concatenate([-before, before, np.zeros_like(before)])
    )
    assert before.any()


def test_a_late_column_changes_nothing_until_it_is_learned():
    table, targets = rows(4), np.arange(60.0)
    rungs, other, losses, others = Rungs(3), Rungs(3), np.zeros(COUNT), np.zeros(COUNT)
    models = LinearModel(3), LinearModel(3)
    for one, model, lost in ((rungs, models[0], losses), (other, models[1], others)):
        play_values(one, model, table[:30], targets[:30], lost)
    other.widen(4)
    models[1].widen(4)
    play_values(rungs, models[0], table[30:], targets[30:], losses)
    play_values(
        other, models[1], np.column_stack([table[30:], np.full(30, np.nan)]), targets[30:], others
    )
    np.testing.assert_allclose(losses, others, rtol=TWIN)


def test_uncompiled():
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
