"""Words, dates and missing values in the estimators of scikit-learn: what ``swordplay track``
makes of them, bit by bit.
"""

from __future__ import annotations

import datetime
import io
import pickle
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import swordplay as sp
from swordplay.estimators.batch_solvers import TableScaling, measure_columns
from swordplay.estimators.linear_model import LinearModel
from swordplay.sklearn import SwordAggregator, SwordClassifier, SwordRegressor, TableEncoder

ROWS = 200


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {
            "size": rng.normal(size=ROWS),
            "town": [*["Bern"] * 60, *["Genf", "Zug"] * 70],
            "new": pd.array(rng.random(ROWS) < 0.5, dtype="boolean"),
        },
        index=pd.date_range("2024-03-01", periods=ROWS, freq="5h", name="day"),
    )
    table.iloc[[3, 120], 0] = np.nan
    table.iloc[[4, 61, 121], 1] = None
    table.iloc[[5, 122], 2] = pd.NA
    return table


@pytest.fixture(scope="module")
def price(table) -> np.ndarray:
    return 3.0 * table["size"].fillna(0.0).to_numpy() + (table["town"] == "Zug").to_numpy() + 50.0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator",
    [
        TableEncoder(),
        TableEncoder(missing="nan"),
        SwordRegressor(encode=True),
        SwordClassifier(encode=True),
    ],
)
def test_scikit_learns_own_checks(estimator):
    results = check_estimator(estimator, on_fail=None)
    assert [
        (one["check_name"], one["exception"]) for one in results if one["status"] == "failed"
    ] == []
    assert len(results) > 40


# ------------------------------------------------------------------ encode=True


@pytest.mark.parametrize(
    "model", [{}, {"lags": 0}, {"lags": 0, "curves": None}, {"lags": 2, "curves": None}], ids=str
)
def test_a_frame_is_predicted_as_track_predicts_it(table, price, model):
    """With curves, a number of lags are columns like others in ``track``, of which curves are
    made, too.
    """
    tracked = (
        sp.track(table.assign(price=price), "price", **model).predictions["prediction"].to_numpy()
    )
    said = SwordRegressor(encode=True, **model).predict_then_learn(table, price)
    np.testing.assert_array_equal(said[1:], tracked[1:])


@pytest.mark.parametrize("options", [{}, {"lags": 0}, {"lags": 0, "curves": None}], ids=str)
def test_labels_are_predicted_as_track_predicts_them(table, price, options):
    labels = np.where(price > 50.0, "dear", "cheap")
    tracked = (
        sp.track(table.assign(kind=labels), "kind", **options).predictions["prediction"].to_pylist()
    )
    second = int((labels != labels[0]).argmax()) + 1  # before it track knows one class only
    model = SwordClassifier(encode=True, **options).partial_fit(
        table[:1], labels[:1], classes=labels[:1]
    )
    model.predict_then_learn(table[1:second], labels[1:second])
    assert model.predict_then_learn(table[second:], labels[second:]).tolist() == tracked[second:]


@pytest.mark.parametrize("cuts", [(0, 1, 2, 59, 61, 62, ROWS), (0, 25, ROWS)])
def test_it_does_not_matter_how_the_rows_were_cut(table, price, cuts):
    whole, parts = SwordRegressor(encode=True), SwordRegressor(encode=True)
    wanted = whole.predict_then_learn(table, price)
    found = [parts.predict_then_learn(table[a:b], price[a:b]) for a, b in pairwise(cuts)]
    np.testing.assert_array_equal(np.concatenate(found), wanted)
    np.testing.assert_array_equal(parts.predict(table), whole.predict(table))
    assert parts.coef_names_.tolist() == whole.coef_names_.tolist()


def test_late_categories_join_and_unknown_ones_count_for_nothing(table, price):
    model = SwordRegressor(encode=True).partial_fit(table[:50], price[:50])
    assert [name for name in model.coef_names_ if "town" in name] == ["town_Bern"]
    assert len(model.coef_) == len(model.coef_names_)
    before = model.coef_.copy()
    strange = model.predict(table[:1].assign(town="Rom"))
    assert np.isfinite(strange).all()
    np.testing.assert_array_equal(model.coef_, before)
    model.partial_fit(table[50:], price[50:])
    assert [name for name in model.coef_names_ if "town" in name] == [
        "town_Bern",
        "town_Genf",
        "town_Zug",
    ]
    assert len(model.coef_) == len(model.coef_names_)


def test_a_row_of_weight_zero_teaches_no_category(table, price):
    weights = (table["town"] != "Zug").to_numpy().astype(float)
    some, model = (
        weights > 0,
        SwordRegressor(encode=True).partial_fit(table, price, sample_weight=weights),
    )
    other = SwordRegressor(encode=True).partial_fit(table[some], price[some])
    np.testing.assert_array_equal(model.predict(table[some]), other.predict(table[some]))


@pytest.mark.parametrize("kind", [SwordRegressor, SwordClassifier])
@pytest.mark.parametrize("standardize", [True, False])
def test_fit_and_predict_and_a_file_between_them(kind, standardize, table, price, tmp_path):
    targets = price if kind is SwordRegressor else np.digitize(price, [47.0, 53.0])
    with pytest.warns(UserWarning, match="X: column 'empty' is left out: empty so far."):
        model = kind(encode=True, standardize=standardize).fit(table.assign(empty=np.nan), targets)
    said = model.predict(table.assign(empty=np.nan))
    assert model.score(table.assign(empty=np.nan), targets) > 0.7
    assert np.shape(model.coef_)[-1] == len(model.coef_names_)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(
        kind.load(tmp_path / "model").predict(table.assign(empty=np.nan)), said
    )


def test_a_block_takes_what_is_missing_for_usual():
    columns = np.array(
        [[1.0, np.nan, np.nan], [3.0, 4.0, np.nan], [2.0, 6.0, np.nan], [np.nan, 8.0, np.nan]]
    )
    centers, spreads = measure_columns(columns, 5.0)
    assert centers.tolist() == [2.0, 6.0, 0.0]
    np.testing.assert_allclose(spreads, [np.sqrt(2 / 3), np.sqrt(8 / 3), 0.0])
    scaled = TableScaling(centers, spreads, 5.0, 1).scale(columns)
    np.testing.assert_allclose(scaled[0], [-np.sqrt(3 / 2), 0.0, 0.0, 1.0])


@pytest.mark.parametrize("kind", [SwordRegressor, SwordClassifier])
def test_saved_and_loaded_it_goes_on_bit_by_bit(kind, table, price, tmp_path):
    targets = price if kind is SwordRegressor else np.digitize(price, [47.0, 50.0, 53.0])
    model = kind(encode=True, lags=1)
    model.predict_then_learn(table[:70], targets[:70])
    model.save(tmp_path / "model")
    loaded = kind.load(tmp_path / "model")
    assert loaded.encode is True
    for one in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(one.predict(table), model.predict(table))
        assert one.coef_names_.tolist() == model.coef_names_.tolist()
    after = [one.predict_then_learn(table[70:], targets[70:]) for one in (loaded, model)]
    np.testing.assert_array_equal(*after)
    assert not hasattr(clone(loaded), "encoder_")


@pytest.fixture(scope="module")
def learned(table, price):
    """A model of the table, which nobody changes."""
    return SwordRegressor(encode=True).partial_fit(table, price)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda t: t.rename(columns={"town": "city"}),
            "X has no column 'town', which it had at first",
        ),
        (lambda t: t.assign(more=1.0), "X has a column 'more' that it did not have at first"),
        (
            lambda t: t.assign(size="large"),
            "column 'size' holds 'large' in row 0, which is not a finite number",
        ),
        (
            lambda t: t.assign(size=pd.Timestamp("2024")),
            "column 'size' held numbers at first, and now holds 2024-01-01 00:00:00",
        ),
        (lambda t: t.assign(new=1.0), "column 'new' held truths at first, and now holds 1.0"),
        (lambda t: t.assign(size=np.inf), "column 'size' holds inf in row 0"),
        (lambda t: t.assign(new=[[1]] * len(t)), "column 'new' held truths"),
        (lambda t: pd.concat([t, t], axis=1), "two columns called"),
        (lambda t: t[:0], "0 sample|at least one row|minimum of 1"),
        (
            lambda t: t.to_numpy(),
            r"the columns of the first one \(day, size, town, new\), got an array",
        ),
    ],
)
def test_a_frame_of_another_make_is_refused_and_changes_nothing(
    table, price, change, message, learned
):
    model = learned
    before = model.predict(table)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(change(table), price[: len(change(table))])
    np.testing.assert_array_equal(model.predict(table), before)


def test_columns_may_come_in_another_order(table, price):
    model = SwordRegressor(encode=True).partial_fit(table, price)
    np.testing.assert_array_equal(
        model.predict(table[["new", "town", "size"]]), model.predict(table)
    )
    arrow = pa.Table.from_pandas(table.reset_index(), preserve_index=False)
    np.testing.assert_array_equal(model.predict(arrow), model.predict(table))


@pytest.mark.parametrize("targets", [np.arange(ROWS - 1.0), np.full(ROWS, np.nan), None])
def test_targets_that_do_not_fit_change_nothing(table, price, targets):
    model = SwordRegressor(encode=True).partial_fit(table[:50], price[:50])
    before = model.predict(table)
    with pytest.raises(ValueError, match=r"\by\b|\[200, 199\]"):
        model.partial_fit(table, targets)
    np.testing.assert_array_equal(model.predict(table), before)


# ------------------------------------------------------------------ strings, as from a plain
# read_csv


def from_csv(rows: int = ROWS) -> pd.DataFrame:
    """What ``pd.read_csv`` makes of a table with dates, shares, amounts and times: strings."""
    rng, days = np.random.default_rng(3), pd.date_range("2012-01-01", periods=rows)
    table = pd.DataFrame(
        {
            "day": days.strftime("%d/%m/%Y"),
            "iso": days.strftime("%Y-%m-%d"),
            "share": [f"{k}%" for k in rng.integers(0, 100, rows)],
            "amount": [f"${amount:,.2f}" for amount in rng.uniform(0, 5000, rows)],
            "at": [f"{hour:02d}:30" for hour in rng.integers(0, 24, rows)],
            "marked": [*["-"], *map(str, range(rows - 1))],
            "compact_date": days.strftime("%Y%m%d"),
            "town": ["Bern", "Zug"] * (rows // 2),
            "price": rng.normal(size=rows),
        }
    )
    read = pd.read_csv(io.StringIO(table.to_csv(index=False)))
    assert read.loc[0, "day"] == "01/01/2012"
    return read


CIRCLES = ["weekday_sin", "weekday_cos", "yearday_sin", "yearday_cos"]


def test_strings_are_read_and_predicted_as_track_does():
    table = from_csv()
    tracked = sp.track(table, "price").predictions["prediction"].to_numpy()
    model = SwordRegressor(encode=True)
    said = model.predict_then_learn(table.drop(columns="price"), table["price"])
    np.testing.assert_array_equal(said[1:], tracked[1:])
    dates = [f"{name}_{part}" for name in ("day", "iso") for part in CIRCLES]
    rest = [
        "share",
        "amount",
        "at_hour_sin",
        "at_hour_cos",
        "marked",
        *(f"compact_date_{part}" for part in CIRCLES),
    ]
    assert model.coef_names_.tolist() == [*dates, *rest, "town_Bern", "town_Zug"]


def test_strings_are_read_to_the_right_values():
    rows = (
        TableEncoder(missing="nan")
        .fit(from_csv())
        .transform(from_csv()[:2].assign(share=["50%", "7 %"], amount=["$1,280", "-"]))
    )
    np.testing.assert_array_equal(rows[:, 8:10], [[50.0, 1280.0], [7.0, np.nan]])
    np.testing.assert_array_equal(rows[:, 12], [np.nan, 0.0])
    np.testing.assert_array_equal(rows[:, :4], rows[:, 4:8])  # 01/01/2012 and 2012-01-01
    np.testing.assert_allclose(
        rows[0, :4], [np.sin(12 * np.pi / 7), np.cos(12 * np.pi / 7), 0.0, 1.0], atol=1e-12
    )  # a Sunday


@pytest.mark.parametrize("kind", [SwordRegressor, SwordClassifier])
def test_readings_are_kept_in_files_and_pickles(kind, tmp_path):
    table = from_csv()
    X, y = (
        table.drop(columns="price"),
        table["price"] if kind is SwordRegressor else table["price"] > 0,
    )
    model = kind(encode=True).partial_fit(
        X[:100], y[:100], **({} if kind is SwordRegressor else {"classes": [False, True]})
    )
    model.save(tmp_path / "model")
    others = [kind.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))]
    wanted = model.predict_then_learn(X[100:], y[100:])
    for other in others:
        np.testing.assert_array_equal(other.predict_then_learn(X[100:], y[100:]), wanted)
        np.testing.assert_array_equal(
            other.predict(X[:1]), model.predict(X[:1])
        )  # one row, where day or month may be first


@pytest.fixture(scope="module")
def read():
    """An estimator and an encoder that have read a table of strings, which nobody changes."""
    table = from_csv()
    X, y = table.drop(columns="price"), table["price"]
    return SwordRegressor(encode=True).partial_fit(X, y), TableEncoder().fit(X)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (
            "day",
            "01/31/2012",
            "holds '01/31/2012' in row 1, which is not a date with the day first .*category",
        ),
        ("iso", "soon", "holds 'soon' in row 1, which is not a date such as .*category"),
        (
            "share",
            "much",
            "holds 'much' in row 1, which is not a number such as 12.5%.* Repair it; .*category",
        ),
        ("at", "25:00", "holds '25:00' in row 1, which is not a time of the day"),
    ],
)
def test_a_string_that_does_not_fit_is_named_and_changes_nothing(column, value, message, read):
    table = from_csv()
    X, y = table.drop(columns="price"), table["price"]
    strange = X.copy()
    strange.loc[1, column] = value
    with pytest.raises(ValueError, match=f"X: column '{column}' {message}"):
        SwordRegressor(encode=True).fit(strange, y)
    model, encoder = read
    before, rows = model.predict(X), encoder.transform(X)
    for call in (
        model.predict,
        lambda X: model.partial_fit(X, y),
        encoder.transform,
        encoder.partial_fit,
    ):
        with pytest.raises(ValueError, match=f"X: column '{column}' {message}"):
            call(strange)
    np.testing.assert_array_equal(model.predict(X), before)
    np.testing.assert_array_equal(encoder.transform(X), rows)


def test_values_in_place_of_what_was_written_and_the_other_way_round():
    X = from_csv().drop(columns="price")
    encoder = TableEncoder(missing="nan").fit(X)
    wanted = encoder.transform(X)
    values = X.assign(
        day=pd.to_datetime(X["iso"]),
        iso=pd.to_datetime(X["iso"]),
        marked=[np.nan, *range(ROWS - 1)],
    )
    np.testing.assert_array_equal(encoder.transform(values), wanted)
    np.testing.assert_array_equal(
        TableEncoder(missing="nan")
        .fit(values)
        .transform(X[["marked"]].join(values.drop(columns="marked"))),
        wanted,
    )
    np.testing.assert_array_equal(
        encoder.transform(X.assign(compact_date=X["compact_date"].astype(str))), wanted
    )
    for name, value in (("share", 50.0), ("amount", 3), ("at", 5.0), ("day", 20120101)):
        with pytest.raises(
            ValueError,
            match=f"column '{name}' held texts, each .*, at first, and now holds {value}",
        ):
            encoder.transform(X.assign(**{name: value}))


def test_dates_beyond_nanoseconds_are_refused_where_there_were_nanoseconds():
    encoder = TableEncoder().fit(
        pd.DataFrame({"d": pd.date_range("2024", periods=30).as_unit("ns")})
    )
    late = pd.DataFrame({"d": pd.Series(["2500-01-01"]).astype("datetime64[us]")})
    with pytest.raises(
        ValueError, match="column 'd' held dates at first, and now holds 2500-01-01 00:00:00"
    ):
        encoder.transform(late)


def test_categories_stay_words():
    codes = [f"{k}%" for k in (1, 2)] * 20
    for column in (pd.Categorical(codes), pa.array(codes).dictionary_encode()):
        table = pa.table({"code": pa.array(column)})
        assert TableEncoder().fit(table).get_feature_names_out().tolist() == ["code_1%", "code_2%"]
    assert TableEncoder().fit(pa.table({"code": codes})).get_feature_names_out().tolist() == [
        "code"
    ]
    numbers = pd.DataFrame({"code": pd.Categorical([1, 2] * 20)})
    assert TableEncoder().fit(numbers).get_feature_names_out().tolist() == ["code"]


@pytest.mark.parametrize("make", [TableEncoder, lambda: SwordRegressor(encode=True)])
def test_what_is_left_out_or_in_doubt_is_told_in_one_warning(make):
    days = [f"{1 + k % 12:02d}/{1 + k % 5:02d}/2012" for k in range(40)]
    table = pd.DataFrame(
        {"name": [f"row {k} x" for k in range(40)], "day": days, "n": np.arange(40.0)}
    )
    with pytest.warns(
        UserWarning, match="X: column 'name' is left out: every value is different"
    ) as warned:
        model = make().fit(table, table["n"])
    assert len(warned) == 1
    told = str(warned[0].message)
    assert told.startswith(
        "X: column 'name' is left out: every value is different. Column 'day': dates such as "
    )
    assert told.endswith(" Convert it first if that is wrong.")
    assert "--" not in told
    (model.transform if isinstance(model, TableEncoder) else model.predict)(
        table
    )  # and never again: warnings are errors here


# ------------------------------------------------------------------ without encoding


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a"] * ROWS, "column 'extra' holds words such as 'a', and not numbers"),
        (pd.Categorical(["a"] * ROWS), "column 'extra' holds words such as 'a'"),
        (pd.date_range("2024", periods=ROWS), "column 'extra' holds dates such as '2024-01-01"),
        (pd.date_range("2024", periods=ROWS, tz="UTC"), "column 'extra' holds dates"),
        ([datetime.date(2024, 1, 1)] * ROWS, "column 'extra' holds dates such as '2024-01-01'"),
        (pd.to_timedelta(range(ROWS)), "column 'extra' holds lengths of time"),
    ],
)
def test_the_plain_estimator_names_the_column_and_the_remedy(table, price, column, message):
    frame = pd.DataFrame({"size": np.zeros(ROWS), "extra": column})
    for model in (SwordRegressor(), SwordClassifier()):
        with pytest.raises(
            ValueError, match=rf"{message}.*{type(model).__name__}\(encode=True\).*TableEncoder"
        ):
            model.fit(frame, price > 50)
    with pytest.raises(ValueError, match=rf"{message}.* Put swordplay.sklearn.TableEncoder"):
        SwordAggregator().fit(frame, price)
    fitted = SwordRegressor().fit(frame[["size"]].assign(extra=0.0), price)
    with pytest.raises(ValueError, match=message):
        fitted.predict(frame)


def test_frames_of_numbers_pass_as_ever(price):
    frame = pd.DataFrame(
        {
            "a": price,
            "b": pd.array(range(ROWS), dtype="Int64"),
            "c": pd.Categorical([1, 2] * (ROWS // 2)),
        }
    )
    frame["d"] = pd.Series(price, dtype=object)
    wanted = (
        SwordRegressor()
        .fit(frame.to_numpy(dtype=float), price)
        .predict(frame.to_numpy(dtype=float))
    )
    np.testing.assert_array_equal(SwordRegressor().fit(frame, price).predict(frame), wanted)


# ------------------------------------------------------------------ TableEncoder


def test_the_encoder_by_hand():
    days = pd.to_datetime(["2024-01-01 06:00", "2024-01-02 18:00", None])
    table = pd.DataFrame(
        {"n": [1.0, np.nan, 4.0], "w": ["b", "a", None], "t": [True, False, True], "d": days}
    )
    encoder = TableEncoder(missing="nan").fit(table)
    names = [
        "n",
        "t",
        *(f"d_{part}_{wave}" for part in ("hour", "weekday", "yearday") for wave in ("sin", "cos")),
        "w_b",
        "w_a",
    ]
    assert encoder.get_feature_names_out().tolist() == names
    rows = encoder.transform(table)
    np.testing.assert_array_equal(
        rows[:, [0, 1, 8, 9]], [[1, 1, 1, 0], [np.nan, 0, 0, 1], [4, 1, np.nan, np.nan]]
    )
    np.testing.assert_allclose(
        rows[:2, 2:4], [[1, 0], [-1, 0]], atol=1e-12
    )  # six o'clock, and six in the evening
    np.testing.assert_allclose(rows[0, 4:6], [0, 1], atol=1e-12)  # a Monday
    assert np.isnan(rows[2, 2:8]).all()
    filled = TableEncoder().fit(table).transform(table)
    np.testing.assert_allclose(filled[:, [0, 8, 9]], [[1, 1, 0], [2.5, 0, 1], [4, 0.5, 0.5]])
    assert encoder.n_features_in_ == 4
    assert encoder.feature_names_in_.tolist() == ["n", "w", "t", "d"]


@pytest.mark.parametrize("missing", ["mean", "nan"])
def test_the_encoder_learns_in_parts_what_it_learns_at_once(table, missing):
    whole, parts = TableEncoder(missing=missing).fit(table), TableEncoder(missing=missing)
    for a, b in ((0, 25), (25, 61), (61, 62), (62, ROWS)):
        parts.partial_fit(table[a:b])
    np.testing.assert_allclose(parts.transform(table), whole.transform(table), rtol=1e-12)
    assert parts.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()
    np.testing.assert_array_equal(whole.fit_transform(table), whole.transform(table))


@pytest.mark.parametrize(("days", "width"), [(19, 6), (20, 4)])
def test_a_few_midnights_say_nothing_about_hours(days, width):
    table = pd.DataFrame({"d": pd.date_range("2024-01-01", periods=days)})
    assert len(TableEncoder().fit(table).get_feature_names_out()) == width


def test_unknown_categories_are_nothing_and_transforming_teaches_nothing(table):
    encoder = TableEncoder().fit(table[:50])
    rows = encoder.transform(table.assign(town="Rom"))
    assert rows.shape[1] == len(encoder.get_feature_names_out())
    np.testing.assert_array_equal(rows[:, -1], 0.0)
    assert encoder.get_feature_names_out()[-1] == "town_Bern"
    many = pd.DataFrame({"w": [f"w{k // 2}" for k in range(120)]})
    assert TableEncoder().fit(many).get_feature_names_out()[-2:].tolist() == ["w_w49", "w_other"]


def test_in_a_pipeline_with_any_estimator(table, price):
    for last in (Ridge(), SwordRegressor()):
        assert make_pipeline(TableEncoder(), last).fit(table, price).score(table, price) > 0.8
    frame = TableEncoder().set_output(transform="pandas").fit(table).transform(table)
    assert frame.columns.tolist()[-1] == "town_Zug"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"a": [[1], [2]]}), "column 'a' holds values of type list"),
        (pd.DataFrame({"a": [b"x", b"y"]}), "column 'a' holds values of type binary"),
        (pd.DataFrame({"a": [1.0, -np.inf]}), "column 'a' holds -inf in row 1"),
        (pd.DataFrame({"a": []}), r"got shape \(0, 1\)"),
        (pd.DataFrame(), r"got shape \(0, 0\)"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns called 'a'"),
        (np.zeros(3), "Expected 2D array"),
        ("words", "."),
    ],
)
def test_tables_that_cannot_be_encoded(table, message):
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(table)


def test_misuse_is_named(table):
    with pytest.raises(ValueError, match="missing must be 'mean' or 'nan', got 'zero'"):
        TableEncoder(missing="zero").fit(table)
    with pytest.raises(NotFittedError):
        TableEncoder().transform(table)
    with pytest.raises(ValueError, match="input_features"):
        TableEncoder().fit(table).get_feature_names_out(["a"])


def test_without_pyarrow_it_says_what_to_install(table, price, monkeypatch):
    for name in [
        name for name in sys.modules if name.startswith(("swordplay.encoding", "swordplay.tables"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for model in (SwordRegressor(encode=True), TableEncoder()):
        with pytest.raises(
            ImportError, match=r"needs pyarrow, which is not installed.*pip install .*'pyarrow>="
        ):
            model.fit(table, price)


# ------------------------------------------------------------------ models that grow


def test_a_model_that_grows_is_one_that_is_widened_by_hand():
    rng = np.random.default_rng(0)
    rows, targets = np.hstack([rng.normal(size=(40, 1)), np.zeros((40, 3))]), rng.normal(size=40)
    rows[10:, 1], rows[20:, 3], rows[5, 2] = (
        1.0,
        1.0,
        np.nan,
    )  # column 2 holds nothing, and comes with column 3
    ours, theirs = LinearModel(1, grows=True), LinearModel(1)
    expected = [theirs.predict_then_learn(rows[:10, :1].copy(), targets[:10])]
    theirs.widen(2)
    expected.append(theirs.predict_then_learn(rows[10:20, :2].copy(), targets[10:20]))
    theirs.widen(4)
    expected.append(theirs.predict_then_learn(rows[20:].copy(), targets[20:]))
    np.testing.assert_array_equal(ours.predict_then_learn(rows, targets), np.concatenate(expected))
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))
