"""What becomes of the columns of a table."""

import datetime
import math

import numpy as np
import pyarrow as pa
import pytest

from swordplay.estimators.model_settings import LARGEST
from swordplay.tables import TableError
from swordplay.tables.column_plans import FEWEST_COUNTS, MOST_CATEGORIES, ColumnPlan, plan
from swordplay.tables.encoder import Encoder
from swordplay.tracking.lags import Lags
from tolerances import ROUNDING


def planned(**columns):
    head = pa.record_batch({**columns, "y": np.zeros(len(next(iter(columns.values()))))})
    return {one.name: one for one in plan(head, "y", None, ())}


def encoded(encoder, learned=True, **columns):
    batch = pa.record_batch(columns)
    return encoder.encode(batch, np.empty((len(batch), 0)), learned)


def test_kinds():
    kinds = planned(
        number=[1.0, None],
        truth=[True, None],
        word=["a", None],
        day=[datetime.datetime(2024, 1, 1), None],
        moment=[datetime.datetime(2024, 1, 1, 5), None],
    )
    assert [one.kind for one in kinds.values()] == [
        "number",
        "truth",
        "category",
        "date",
        "date and time",
    ]


def test_names_and_counts_are_left_out():
    rows = FEWEST_COUNTS
    kinds = planned(
        name=[f"n{k}" for k in range(rows)],
        nearly=[f"n{k // 2}" for k in range(rows)],
        count=np.arange(7.0, rows + 7.0),
        clock=np.arange(float(rows)) % 1440,
    )
    assert {name: one.kind for name, one in kinds.items()} == {
        "name": "left out",
        "nearly": "category",
        "count": "left out",
        "clock": "number",
    }
    assert kinds["name"].why == "every value is different"


def test_a_few_names_may_be_chance():
    assert planned(name=[f"n{k}" for k in range(19)])["name"].kind == "category"


def test_asked_for_is_used_and_the_rest_is_not():
    head = pa.record_batch(
        {"a": [f"n{k}" for k in range(50)], "b": np.arange(50.0), "y": np.arange(50.0)}
    )
    assert [one.kind for one in plan(head, "y", ("a",), ())] == ["category", "left out"]
    assert [one.kind for one in plan(head, "y", None, ("b",))] == ["left out", "left out"]


@pytest.mark.parametrize(
    ("features", "drop", "told"),
    [
        (
            ("prise",),
            (),
            r"--features names the column 'prise', which is not there. Did you mean 'price'\?",
        ),
        (None, ("y",), "--drop names the target 'y'"),
        (("y",), (), "--features names the target 'y'"),
    ],
)
def test_columns_that_are_not_there(features, drop, told):
    head = pa.record_batch({"price": [1.0], "size": [1.0], "y": [1.0]})
    with pytest.raises(TableError, match=told):
        plan(head, "y", features, drop)


def test_numbers_and_truths():
    encoder = Encoder(
        [ColumnPlan("a", "number"), ColumnPlan("b", "truth"), ColumnPlan("c", "left out")],
        0,
        of_classes=False,
    )
    found = encoded(encoder, a=[1.5, None, 1e80], b=[True, False, None], c=["x", "y", "z"])
    np.testing.assert_array_equal(found.rows, [[1.5, 1.0], [np.nan, 0.0], [LARGEST, np.nan]])
    assert found.widths == {}


def test_categories_join_in_the_rows_where_they_appear():
    encoder = Encoder(
        [ColumnPlan("a", "category"), ColumnPlan("n", "number"), ColumnPlan("b", "category")],
        0,
        of_classes=False,
    )
    found = encoded(encoder, a=["x", "x", "y", None], n=[7.0] * 4, b=["p", "q", "p", "r"])
    assert found.widths == {0: 3, 1: 4, 2: 5, 3: 6}
    nan = np.nan
    # The columns: n, a=x, b=p, b=q, a=y, b=r.
    expected = [[7, 1, 1, 0, 0, 0], [7, 1, 0, 1, 0, 0], [7, 0, 1, 0, 1, 0], [7, nan, 0, 0, nan, 1]]
    np.testing.assert_array_equal(found.rows, expected)
    later = encoded(encoder, a=["y"], n=[8.0], b=["q"])
    np.testing.assert_array_equal(later.rows, [[8, 0, 0, 1, 1, 0]])
    assert later.widths == {}


def test_categories_join_when_they_are_learned():
    encoder = Encoder([ColumnPlan("a", "category")], 0, of_classes=False)
    found = encoded(encoder, np.array([False, True, False, True]), a=["x", "y", "z", "x"])
    assert found.widths == {1: 1, 3: 2}
    np.testing.assert_array_equal(found.rows[1:], [[1, 0], [0, 0], [0, 1]])


def test_late_categories_share_a_column():
    encoder = Encoder([ColumnPlan("a", "category")], 0, of_classes=False)
    values = [f"v{k}" for k in range(MOST_CATEGORIES + 10)]
    found = encoded(encoder, a=values)
    assert encoder.width == MOST_CATEGORIES + 1
    np.testing.assert_array_equal(
        found.rows.argmax(axis=1), [*range(MOST_CATEGORIES), *[MOST_CATEGORIES] * 10]
    )
    np.testing.assert_array_equal(found.rows.sum(axis=1), 1.0)
    assert (
        encoder.columns(np.ones(encoder.width))[0][2]
        == "50 categories, one column each; later ones share one"
    )


def test_dates_lie_on_circles():
    encoder = Encoder(
        [ColumnPlan("t", "date and time"), ColumnPlan("d", "date")], 0, of_classes=False
    )
    moments = [
        datetime.datetime(2024, 1, 1, 6),
        datetime.datetime(1969, 12, 29, 18),
        None,
    ]  # two Mondays
    days = [
        datetime.datetime(2024, 1, 1),
        datetime.datetime(2023, 1, 3),
        datetime.datetime(2024, 7, 2),
    ]
    rows = encoded(
        encoder, t=pa.array(moments, pa.timestamp("us")), d=pa.array(days, pa.timestamp("ns"))
    ).rows
    np.testing.assert_allclose(rows[0, :4], [1, 0, 0, 1], atol=ROUNDING)
    np.testing.assert_allclose(rows[1, :4], [-1, 0, 0, 1], atol=ROUNDING)
    assert np.isnan(rows[2, :6]).all()
    angle = 2 * math.pi * 183 / 365.2425
    tuesday = 2 * math.pi / 7
    np.testing.assert_allclose(
        rows[2, 6:],
        [math.sin(tuesday), math.cos(tuesday), math.sin(angle), math.cos(angle)],
        atol=ROUNDING,
    )


def test_notes_tell_what_was_made_of_a_column():
    encoder = Encoder(
        [
            ColumnPlan("a", "number"),
            ColumnPlan("b", "number"),
            ColumnPlan("c", "left out", "as asked"),
        ],
        0,
        of_classes=False,
    )
    encoded(encoder, a=[1.0, None], b=[2.0, 2.0], c=[0.0, 0.0])
    notes = [note for _, _, note in encoder.columns(np.array([1.0, 0.0]))]
    assert notes == [
        "as it is; 1 missing, taken as usual",
        "always the same, which tells nothing",
        "left out: as asked",
    ]


def test_lags_are_the_last_targets_that_were_learned():
    lags, rng = Lags(3), np.random.default_rng(5)
    targets = np.where(rng.random(40) < 0.4, np.nan, rng.normal(size=40))
    learned = ~np.isnan(targets)
    found = np.concatenate(
        [lags.before(targets[a:b], learned[a:b]) for a, b in ((0, 1), (1, 20), (20, 40))]
    )
    for t in range(40):
        before = targets[:t][learned[:t]][::-1][:3]
        np.testing.assert_array_equal(
            found[t], np.concatenate([before, np.full(3 - len(before), np.nan)])
        )


def test_lags_of_classes_are_categories():
    encoder = Encoder([], 1, of_classes=True)
    batch = pa.record_batch({"y": np.zeros(4)})
    found = encoder.encode(batch, np.array([[np.nan], [0.0], [1.0], [0.0]]))
    assert found.widths == {1: 1, 2: 2}
    np.testing.assert_array_equal(found.rows, [[np.nan, np.nan], [1, 0], [0, 1], [1, 0]])


def test_an_encoder_goes_on_as_it_was():
    plans = [ColumnPlan("a", "category"), ColumnPlan("b", "number")]
    encoder = Encoder(plans, 0, of_classes=False)
    encoded(encoder, a=["x", "y", None], b=[1.0, 2.0, None])
    again = Encoder.resumed(encoder.state(), 0, of_classes=False)
    assert again.state() == encoder.state()
    rows = {"a": ["y", "z", "x"], "b": [1.0, 2.0, 3.0]}
    np.testing.assert_array_equal(encoded(again, **rows).rows, encoded(encoder, **rows).rows)
