"""Bad input to the river estimators: refused with nothing changed, or tolerated; never NaN."""

import copy
from functools import cache

import numpy as np
import pandas as pd
import pytest

from estimators.bad_input import AFTER, BEFORE, CASES, GRACE, REFUSED, cases, degraded, world
from swordplay.core import checkpoint
from swordplay.river import SwordClassifier, SwordRegressor

TASKS = {"regression": SwordRegressor, "classification": SwordClassifier}
REFUSALS = (TypeError, ValueError, OverflowError)
ROWS = 600
"""After a strange first row."""


def losses_of(estimator, rows, targets):
    """Absolute errors, or minus the logarithm of the truth's probability, each before its row is
    learned.
    """
    losses = []
    for x, y in zip(rows, targets.tolist(), strict=True):
        if isinstance(estimator, SwordClassifier):
            losses.append(-np.log(estimator.predict_proba_one(x)[y]))
        else:
            losses.append(abs(estimator.predict_one(x) - y))
        estimator.learn_one(x, y)
    assert np.isfinite(losses).all()
    return np.array(losses)


def everything(estimator):
    """All that an estimator is."""
    labels = estimator.classes_ if isinstance(estimator, SwordClassifier) else None
    state = {} if estimator._model is None else estimator._model.state()
    return list(estimator._columns.column_of.items()), labels, checkpoint.dumps(state, kind="x")


@pytest.fixture(scope="module", params=TASKS)
def lived(request):
    """An estimator that has seen good rows, the good rows to come, and what it loses on them
    undisturbed.
    """
    task = request.param
    rows, targets = world(BEFORE + 1 + AFTER, task)
    estimator = TASKS[task]()
    estimator.learn_many(pd.DataFrame(rows[:BEFORE]), targets[:BEFORE])
    twin = copy.deepcopy(estimator)
    twin.learn_one(rows[BEFORE], targets[BEFORE].item())
    undisturbed = losses_of(twin, rows[BEFORE + 1 :], targets[BEFORE + 1 :])
    return task, estimator, rows[BEFORE:], targets[BEFORE:], undisturbed


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_table(case, lived):
    task, estimator, rows, targets, undisturbed = lived
    if case not in cases(task):
        pytest.skip("of the other task")
    estimator = copy.deepcopy(estimator)
    row, target = case.spoil(rows[0], targets[0].item())
    before = everything(estimator)
    if case.river == REFUSED:
        with pytest.raises(REFUSALS):
            estimator.learn_one(row, target)
        if case.task == "both":
            with pytest.raises(REFUSALS):
                estimator.predict_one(row)
        assert everything(estimator) == before
        return
    estimator.learn_one(row, target)
    assert everything(estimator) != before
    assert degraded(losses_of(estimator, rows[1:], targets[1:]), undisturbed) <= GRACE


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.river == REFUSED], ids=lambda case: case.name
)
def test_what_is_refused_alone_is_refused_among_others(case, lived):
    task, estimator, rows, targets, _ = lived
    if case not in cases(task):
        pytest.skip("of the other task")
    estimator = copy.deepcopy(estimator)
    row, target = case.spoil(rows[0], targets[0].item())
    before = everything(estimator)
    labels = pd.Series([*targets[1:4].tolist(), target], dtype=object)
    with pytest.raises(REFUSALS):
        estimator.learn_many(pd.DataFrame([*rows[1:4], row], dtype=object), labels)
    assert everything(estimator) == before


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.river == REFUSED], ids=lambda case: case.name
)
def test_a_first_row_that_is_refused_was_never_there(case):
    for task in TASKS:
        if case in cases(task):
            rows, targets = world(1, task)
            estimator = TASKS[task]()
            before = everything(estimator)
            with pytest.raises(REFUSALS):
                estimator.learn_one(*case.spoil(rows[0], targets[0].item()))
            assert everything(estimator) == before


def losses_after(estimator, task):
    """What is lost on the rows after the first one."""
    rows, targets = world(ROWS, task)
    for y in (0, 1) if task == "classification" else ():  # so that both labels have a probability
        estimator.learn_one(rows[1], y)
    return losses_of(estimator, rows[1:], targets[1:])


@cache
def losses_of_a_fresh_one(task):
    return losses_after(TASKS[task](), task)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.river != REFUSED], ids=lambda case: case.name
)
def test_a_strange_first_row_does_not_last(case):
    for task in TASKS:
        if case in cases(task):
            rows, targets = world(ROWS, task)
            estimator = TASKS[task]()
            estimator.learn_one(*case.spoil(rows[0], targets[0].item()))
            assert (
                losses_after(estimator, task)[400:].mean()
                <= 1.5 * losses_of_a_fresh_one(task)[400:].mean()
            )


@pytest.mark.parametrize("x", [None, [1.0, 2.0], "a", 3.0, [("a", 1.0)], {"a"}], ids=repr)
def test_rows_that_are_no_dictionaries(x):
    for estimator, y in ((SwordRegressor(), 1.0), (SwordClassifier(), True)):
        for call in (
            lambda one=estimator, good=y: one.learn_one(x, good),
            lambda one=estimator: one.predict_one(x),
        ):
            with pytest.raises(TypeError, match="x must be a dictionary of features"):
                call()


def test_batches_whose_lengths_differ():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    for estimator in (SwordRegressor(), SwordClassifier()):
        for y in (pd.Series([1, 0]), pd.Series([1, 0, 1, 0]), pd.DataFrame({"y": [1, 0, 1]})):
            before = everything(estimator)
            with pytest.raises(ValueError, match="y must have one entry for each of the 3 rows"):
                estimator.learn_many(frame, y)
            assert everything(estimator) == before


def test_errors_name_the_feature_the_value_and_the_remedy():
    with pytest.raises(
        TypeError, match=r"x\['wind'\] must be a number, got 'strong' \(str\)\. Encode it"
    ):
        SwordRegressor().learn_one({"sun": 1.0, "wind": "strong"}, 1.0)
    with pytest.raises(
        ValueError, match=r"x\['wind'\] must be finite .* got nan\. Repair it, or leave it out"
    ):
        SwordRegressor().learn_one({"sun": 1.0, "wind": float("nan")}, 1.0)
    with pytest.raises(ValueError, match=r"X\['wind'\], row 1 must be finite"):
        SwordRegressor().learn_many(pd.DataFrame({"wind": [1.0, np.inf]}), pd.Series([1.0, 2.0]))
