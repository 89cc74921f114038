"""A comparison is nothing but the learners of the package on the same stream: everything in it
can be had another way.
"""

import numpy as np
import pytest

import swordplay as sp
from swordplay.comparison import LeftOut, UnknownLearner, compare, field, perspective
from swordplay.comparison.estimator import estimator
from swordplay.comparison.perspective import affordable, predicted
from swordplay.sklearn import SwordClassifier, SwordRegressor
from tolerances import ROUNDING, SCIPY_MINIMUM, SEEN_FROM_THE_END


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(900, 3)) * [1.0, 50.0, 0.1]
    turn = np.arange(900) / 200
    targets = (
        10
        + np.cos(turn) * rows[:, 0]
        + 0.02 * np.sin(turn) * rows[:, 1]
        + 0.1 * rng.normal(size=900)
    )
    rows[7, 2] = np.nan
    return rows, targets


@pytest.fixture(scope="module")
def regression(table):
    return compare(field(*table), step_sizes=[0.125])


def result(of, name):
    (found,) = [one for one in of.results if one.name == name]
    return found


def test_every_learner_of_the_package_takes_part(regression):
    names = {one.name for one in regression.results}
    learners = {"Sword", "SwordAgeless", "SwordBest", "SwordVar", "SwordSmall", "Ader"}
    assert names >= {f"sp.{name}" for name in learners} | {
        "best sp.OGD",
        "best sp.OEGD",
        "OGD, step 0.125",
    }
    assert names >= {
        "SwordRegressor",
        "no change",
        "running mean",
        "scikit-learn SGD",
        "river linear",
    }
    assert [one.name for one in regression.of("estimator")] == ["SwordRegressor"]
    assert not regression.absent


def test_ranks_follow_the_error(regression):
    errors = [one.error for one in regression.results]
    assert errors == sorted(errors)
    assert [one.rank for one in regression.results] == list(range(1, len(errors) + 1))
    assert all(one.microseconds > 0 for one in regression.results)


def test_the_estimator_is_the_one_of_scikit_learn():
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(300, 2))
    targets = rows @ [1.0, -2.0] + 0.1 * rng.normal(size=300)
    labels = (targets > 0.3).astype(int)
    predictions = SwordRegressor().predict_then_learn(rows, targets)
    rmse = np.sqrt(np.mean((predictions - targets)[1:] ** 2))  # nobody can tell the first one
    assert result(compare(field(rows, targets), only=[]), "SwordRegressor").error == pytest.approx(
        rmse, rel=ROUNDING
    )
    assert result(
        compare(field(rows, labels, 2), only=[]), "SwordClassifier"
    ).error == pytest.approx(row_by_row(rows, labels))


def row_by_row(rows, labels):
    """Share of wrong labels of SwordClassifier if each class is a surprise, the very first row
    left out.
    """
    model, wrong, seen = SwordClassifier(), [], set()
    for row, label in zip(rows, labels, strict=True):
        said = model.predict([row])[0] if seen else None
        model.predict_then_learn([row], [label])
        wrong.append(label not in seen or said != label)
        seen.add(label)
    return np.mean(wrong[1:])


def test_losses_and_regrets_are_those_of_the_game(table, regression):
    place = field(*table)
    ledger = sp.play(sp.OGD(place.domain, 0.125), place.streams[0], engine="python")
    fixed = sp.hindsight.best_fixed(place.streams[0], place.domain)
    mine = result(regression, "OGD, step 0.125")
    assert mine.loss == pytest.approx(ledger.total_loss, rel=ROUNDING)
    assert mine.regrets["fixed"] == pytest.approx(ledger.regret(fixed), rel=SCIPY_MINIMUM)
    assert mine.course[-1] == pytest.approx(mine.error)


def test_the_best_step_size_is_no_worse_than_any_other_on_the_ladder(table, regression):
    place = field(*table)
    best = result(regression, "best sp.OGD")
    for share in (1.0, 0.25, 1 / 64):
        (other,) = [
            one
            for one in compare(place, step_sizes=[share / place.smoothness], only=[]).results
            if one.name.startswith("OGD, step")
        ]
        assert best.error <= other.error * (1 + ROUNDING)
    assert float(best.setting) > 0


def test_more_freedom_in_hindsight_loses_less(regression):
    losses = [mark.loss for mark in regression.benchmarks]
    assert [mark.name for mark in regression.benchmarks] == ["fixed", "10 pieces", "100 pieces"]
    assert losses == sorted(losses, reverse=True)
    assert regression.benchmarks[0].path_length == 0
    assert regression.benchmarks[1].path_length > 0


def test_three_classes_are_those_of_scikit_learn_too(table):
    rows, targets = table[0][8:], table[1][8:]  # without the missing entry
    labels = np.digitize(targets, [9.5, 10.5])
    found = compare(field(rows, labels, 3), only=["Sword", "majority class", "river"])
    assert found.measure == "error rate"
    assert result(found, "SwordClassifier").error == pytest.approx(row_by_row(rows, labels))
    assert all(0 <= one.error <= 1 for one in found.results)


def test_the_names_of_the_classes_do_not_matter(table):
    rows, targets = table[0][:300], table[1][:300]
    labels = np.digitize(targets, [9.5, 10.5])
    for count, some in ((3, labels), (2, np.minimum(labels, 1))):
        place, renamed = field(rows, some, count), field(rows, count - 1 - some, count)
        ours, theirs = estimator(place), estimator(renamed)
        assert (ours.predictions == count - 1 - theirs.predictions).all()
        assert ours.scores == pytest.approx(theirs.scores[:, ::-1] if count > 2 else -theirs.scores)


def test_only_those_asked_for_take_part_beside_the_estimator(table):
    found = compare(field(*table), only=["Sword", "no change", "River", "best sp.OGD"])
    assert {one.name for one in found.results} == {
        "SwordRegressor",
        "sp.Sword",
        "no change",
        "river linear",
        "best sp.OGD",
    }
    with pytest.raises(
        UnknownLearner, match=r"'Swort'. Did you mean 'sword'\? There are: no change, running mean"
    ):
        compare(field(*table), only=["Swort"])


def test_progress_reaches_its_plan(table):
    calls = []
    compare(
        field(*table),
        only=["OGD", "Sword"],
        progress=lambda done, planned, label: calls.append((done, planned, label)),
    )
    assert [done for done, _, _ in calls] == list(range(len(calls)))
    assert calls[-1][0] == calls[-1][1] - 1


@pytest.mark.parametrize(
    ("rows", "radius", "message"),
    [
        (np.zeros((3, 2)), 8.0, "at least 10 rows"),
        (np.zeros(30), 8.0, "table"),
        (np.zeros((30, 2)), -1.0, "radius"),
    ],
)
def test_bad_input_is_named(rows, radius, message):
    with pytest.raises(ValueError, match=message):
        field(rows, np.zeros(len(rows)), radius=radius)


def test_a_bad_step_size_is_named(table):
    with pytest.raises(ValueError, match="step_sizes"):
        compare(field(*table), step_sizes=[0.0])


def test_seen_from_the_end_the_certificate_stands_above_the_regret(table):
    place = field(*table)
    view = perspective(place, rows=300)
    assert (view.rows, view.of, view.name) == (300, 900, "SwordRegressor")
    assert (view.curve.regrets + view.curve.gaps <= view.curve.certificate).all()
    head = place.head(300)
    ledger = sp.play(sp.Sword(head.domain), head.streams[0])
    assert view.total == ledger.total_loss
    fixed = sp.hindsight.best_fixed(head.streams[0], head.domain)
    assert view.curve.regrets[0] == pytest.approx(ledger.regret(fixed), rel=SEEN_FROM_THE_END)
    assert (np.diff(view.curve.regrets) >= 0).all()


def test_several_classes_have_no_single_curve(table):
    rows, targets = table
    view = perspective(field(rows, np.digitize(targets, [9.5, 10.5]), 3))
    assert isinstance(view, LeftOut)
    assert "of several classes each has its own" in view.why


def test_many_columns_are_not_begun():
    rng = np.random.default_rng(3)
    view = perspective(field(rng.normal(size=(400, 300)), rng.normal(size=400)))
    # 90 steps of 300 rows: 8e-6 + 5e-8 * 301^2 + 1.3e-9 * 301^3 seconds each
    assert view == LeftOut(
        "with 300 columns of numbers it would take about 1,080 seconds for 300 rows alone, and 10 "
        "are allowed"
    )


@pytest.mark.parametrize(
    ("rows", "width", "seconds", "count"),
    [
        (900, 4, 10.0, 900),
        (10**6, 4, 10.0, 3000),
        (10**6, 30, 10.0, 630),
        (900, 54, 10.0, 300),
        (900, 55, 10.0, 0),
        (20, 60, 1.0, 20),
    ],
)
def test_fewer_rows_are_looked_at_where_there_are_many_columns(rows, width, seconds, count):
    assert affordable(rows, width, seconds) == count
    assert predicted(count, width) <= seconds


def test_the_clock_has_the_last_word(table, monkeypatch):
    def late(*_, **__):
        raise sp.hindsight.OutOfTime("late")

    monkeypatch.setattr("swordplay.theory.hindsight.frontier", late)
    assert perspective(field(*table), seconds=7.0) == LeftOut(
        "the 7 seconds that it may take were over before it was done"
    )
