"""Rows of a bucket: which are refused and why, what the others are told, and that the order of
arrival means nothing.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from spark.worlds import FEATURES, MODEL, alone, world
from swordplay.estimators.class_model import ClassModel
from swordplay.estimators.linear_model import LinearModel
from swordplay.spark.plan import QueryPlan
from swordplay.spark.rows import LATE, NO_KEY, NO_ORDER, track
from tolerances import TWIN

pytestmark = pytest.mark.xdist_group("spark")  # one process compiles, and the others need not

PLAN = QueryPlan(tuple(FEATURES), "squared", 0, "auto", buckets=1)
COLUMNS = ["key", "at", *FEATURES, "y"]


def batch(frame, plan=PLAN):
    return pa.RecordBatch.from_pandas(
        frame[COLUMNS].set_axis(plan.schema.names, axis=1), schema=plan.schema, preserve_index=False
    )


def tracked(frame, table, plan=PLAN):
    return track(batch(frame, plan), plan, table, lambda keys: None)[0].to_pandas()


def bad_rows():
    """A fair row of each kind of foul, and what it is told."""
    fair = {"key": "key 0", "at": 10_000, "x0": 1.0, "x1": 2.0, "x2": 3.0, "y": 4.0}
    beyond = "is null, NaN, infinite or beyond 1e+60"
    fouls = [
        ({"key": None}, NO_KEY),
        ({"at": None}, NO_ORDER),
        ({"x0": None}, f"feature 'x0' {beyond}"),
        ({"x1": np.nan}, f"feature 'x1' {beyond}"),
        ({"x2": -np.inf}, f"feature 'x2' {beyond}"),
        ({"x1": 1e61}, f"feature 'x1' {beyond}"),
        ({"y": np.inf}, "target is NaN, infinite or beyond 1e+60"),
        ({"at": 0}, LATE),
        ({"key": None, "at": None, "y": None}, NO_KEY),
    ]
    frame = pd.DataFrame([fair | foul for foul, _ in fouls])
    frame["at"] = frame["at"].astype("Int64")
    return frame, [reason for _, reason in fouls]


def test_rows_that_cannot_be_learned_say_why_and_leave_no_trace():
    rows, table = world(20, 6, seed=1), PLAN.table()
    expected, said = alone(rows), []
    foul, reasons = bad_rows()
    for number, part in rows.groupby("batch"):
        part = part.astype({"at": "Int64"})
        mixed = pd.concat([part, foul.assign(batch=number)]) if number > 2 else part
        answer = tracked(mixed.sample(frac=1.0, random_state=number), table)
        fine = answer[answer["error"].isna()]
        said.append(fine)
        if number > 2:
            wrong = answer[answer["error"].notna()]
            assert sorted(wrong["error"]) == sorted(reasons)
            assert wrong["prediction"].isna().all()
    said = pd.concat(said).rename(columns={"order": "at"})
    found = rows.merge(said, on=["key", "at"], how="left", validate="one_to_one")
    assert np.array_equal(found["prediction"], expected)


def test_a_key_with_nothing_but_bad_rows_is_not_admitted():
    table = PLAN.table()
    foul, _ = bad_rows()
    answer = tracked(foul[foul["at"].fillna(1) != 0], table)
    assert answer["error"].notna().all()
    assert not table.numbers


def test_the_order_of_arrival_means_nothing():
    rows = world(30, 3, seed=2)
    doubled = pd.concat(
        [rows, rows.sample(40, random_state=1).assign(y=5.0), rows.sample(20, random_state=2)]
    )
    answers = []
    for seed in range(3):
        table = PLAN.table()
        parts = [
            tracked(part.sample(frac=1.0, random_state=seed), table)
            for _, part in doubled.groupby("batch")
        ]
        columns = ["key", "order", "target", "prediction", "error"]
        answers.append(pd.concat(parts).sort_values(columns, ignore_index=True))
    assert answers[0]["error"].eq(LATE).sum() == 60
    for other in answers[1:]:
        pd.testing.assert_frame_equal(other, answers[0], check_exact=True)


def test_of_two_rows_of_one_order_the_smaller_one_counts():
    """From left to right, as Spark sorts a table."""
    pair = pd.DataFrame(
        {
            "key": "one",
            "at": 5,
            "x0": [1.0, 1.0, 2.0],
            "x1": [3.0, 2.0, 0.0],
            "x2": [0.0, 9.0, 0.0],
            "y": 7.0,
        }
    )
    assert tracked(pair, PLAN.table())["error"].tolist() == [LATE, None, LATE]


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_are_told_as_by_one_model_per_class(classes):
    plan = QueryPlan(tuple(FEATURES), "logistic", classes, "auto", buckets=1)
    rows = world(1, 40, seed=3, most=9).sort_values("at")
    rows["y"] = np.digitize(rows["y"], [0.0, 2.0][: classes - 1]).astype(float)
    answer = tracked(rows, plan.table(), plan)
    model = ClassModel(lambda: LinearModel(len(FEATURES), loss="logistic", **MODEL), classes)
    expected = model.predict_then_learn(
        rows[FEATURES].to_numpy(copy=True), rows["y"].to_numpy(dtype=int)
    )
    rounding = 0.0 if classes == 2 else 1e-12  # calibrated in another loop
    np.testing.assert_allclose(np.stack(answer["probabilities"]), expected, 0.0, rounding)
    assert np.array_equal(answer["prediction"], expected.argmax(axis=1))
    one = batch(rows.assign(at=rows["at"] + 10**6).head(1), plan)
    strange = one.set_column(
        one.num_columns - 1, "target", pa.array([np.nan])
    )  # what Columns makes of an unknown label
    foreign = track(strange, plan, plan.table(), lambda keys: None)[0].to_pandas()
    assert foreign["error"].tolist() == ["target is not one of the classes"]
    assert foreign["target"].isna().all()
    assert foreign["probabilities"].tolist() == [None]


@pytest.mark.parametrize("level", [None, 0.9])
def test_rows_without_a_target_are_predicted_by_what_their_key_knows_by_then(level):
    """They leave no trace; with their target they are learned as if nobody had asked."""
    plan = QueryPlan(tuple(FEATURES), "squared", 0, "auto", buckets=1, level=level)
    rows, rng = world(8, 12, seed=9, most=8), np.random.default_rng(9)
    table, straight, found = plan.table(), plan.table(), []
    for _, part in rows.groupby("batch"):
        asked = part[rng.random(len(part)) < 0.4].assign(y=np.nan)
        said = tracked(pd.concat([part, asked]).sample(frac=1.0, random_state=1), table, plan)
        assert said["error"].isna().all()
        expected = tracked(part, straight, plan)
        both = said[said["target"].isna()].merge(
            expected, on=["key", "order"], validate="one_to_one"
        )
        assert len(both) == len(asked)
        for name in (
            "prediction",
            *(("lower", "upper") if level else ()),
        ):  # asked before it was learned, and told the same
            np.testing.assert_allclose(both[f"{name}_x"], both[f"{name}_y"], rtol=TWIN)
        found.append(said[said["target"].notna()])
    for key in straight.numbers:
        assert table.to_bytes([table.numbers[key]]) == straight.to_bytes([straight.numbers[key]])
    stranger = tracked(rows.head(1).assign(key="new", y=np.nan), table, plan)
    assert stranger["prediction"].tolist() == [0.0]
    assert "new" not in table.numbers
