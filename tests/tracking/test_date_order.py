"""What is noticed about the order of the rows: every disorder with its remedy, and nothing where
there is none.
"""

from __future__ import annotations

import datetime
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swordplay import datasets
from swordplay.report import track_sections
from swordplay.report.page import Text
from swordplay.tables import open_table
from swordplay.tracking import Settings, Tracker
from swordplay.tracking.clock import dates
from swordplay.tracking.date_order import DatedRows, DateOrder, DateSteps, order_remarks
from swordplay.tracking.series_detection import SideBySide, is_part, side_by_side
from tracking.worlds import world

DAY = datetime.datetime(2020, 1, 1)
ROWS = 300


def days(count, step=1):
    return [DAY + datetime.timedelta(step * k) for k in range(count)]


def table(when, seed=0, **columns):
    """Rows with these dates; further columns stand between the numbers."""
    rng = np.random.default_rng(seed)
    plain = {"hour": [float(k % 24) for k in range(len(when))], "x": rng.normal(size=len(when))}
    clock = {"day": pa.array(when, pa.timestamp("us"))}
    return pa.record_batch(
        {
            "colour": rng.choice(["red", "green"], len(when)),
            **clock,
            **plain,
            **columns,
            "y": plain["x"],
        }
    )


def told(batch):
    """Kinds and remedies of the remarks on a table."""
    return [(remark.kind, remark.remedy) for remark in order_remarks(batch, "y")]


def stacked(count, size=30, step=1):
    """Series of different lengths under one another, each with its name, and a group of names."""
    sizes = [size + k % 3 for k in range(count)]
    names = [f"c{k}" for k, one in enumerate(sizes) for _ in range(one)]
    groups = [f"g{k // 4}" for k, one in enumerate(sizes) for _ in range(one)]
    return table([day for one in sizes for day in days(one, step)], group=groups, country=names)


def taken(batch, places):
    return batch.take(pa.array(np.asarray(places)))


def by_day(batch):
    return taken(
        batch, np.argsort(batch.column("day").to_numpy(zero_copy_only=False), kind="stable")
    )


def test_rows_in_order_call_for_nothing():
    assert told(table(days(ROWS))) == []


def test_newest_first():
    batch = table(days(ROWS)[::-1])
    assert told(batch) == [("newest first", "--reverse")]
    assert (
        order_remarks(batch, "y")[0].text
        == "The newest rows come first: day falls at 100 % of its changes. Give --reverse."
    )
    assert told(taken(batch, range(ROWS)[::-1])) == []


@pytest.mark.parametrize(("falls", "expected"), [(7, []), (8, ["newest first"])])
def test_eight_steps_are_enough_if_all_go_down(falls, expected):
    assert [kind for kind, _ in told(table(days(falls + 1)[::-1]))] == expected


def test_shuffled():
    batch = taken(table(days(ROWS)), np.random.default_rng(0).permutation(ROWS))
    assert told(batch) == [("shuffled", "--sort day")]
    assert told(by_day(batch)) == []


@pytest.mark.parametrize(
    ("late", "rows", "expected"), [(9, 300, []), (10, 300, ["late rows"]), (10, 700, [])]
)
def test_late_rows_are_said_if_there_are_many(late, rows, expected):
    places = np.arange(rows)
    for k in range(late):
        places[[20 + 5 * k, 21 + 5 * k]] = places[[21 + 5 * k, 20 + 5 * k]]
    found = order_remarks(taken(table(days(rows)), places), "y")
    assert [remark.kind for remark in found] == expected
    assert all(
        remark.text.startswith("10 rows (3 %) are dated before the row above them.")
        for remark in found
    )


def test_series_under_one_another():
    batch = stacked(8)
    assert told(batch) == [("stacked", "--key country")]
    assert order_remarks(batch, "y")[0].text == (
        "Several series stand under one another: day goes back 7 times where country changes. "
        "They share one model. --key country gives each a model and a past of its own: try it, "
        "and keep what errs less. "
        "It needs some hundred rows a key; so far there are about 30."
    )
    assert told(stacked(2)) == [("stacked", "--key country")]


def test_series_under_one_another_newest_first():
    assert told(taken(stacked(8), range(len(stacked(8)))[::-1])) == [
        ("newest first", "--reverse"),
        ("stacked", "--key country"),
    ]


def test_series_of_short_length_and_of_other_spans():
    assert told(stacked(40, size=3, step=300)) == [("stacked", "--key country")]
    later = table(
        [*days(300), *days(600)[200:400], *days(500)[350:450]],
        country=["a"] * 300 + ["b"] * 200 + ["c"] * 100,
    )
    assert told(later) == [("stacked", "--key country")]


@pytest.mark.parametrize(("back", "expected"), [(60, []), (120, ["stacked"])])
def test_a_single_step_back_must_be_long(back, expected):
    """Sixty of 400 days may be a correction, even where a column changes there."""
    when = [*days(300), *days(700)[300 - back : 400]]
    assert [
        kind for kind, _ in told(table(when, country=["a"] * 300 + ["b"] * (100 + back)))
    ] == expected


@pytest.mark.parametrize(("alone", "expected"), [(2, ["side by side"]), (10, [])])
def test_nearly_every_date_must_be_shared(alone, expected):
    """Blocks of 30 dates with three countries each, and then of so many dates with one."""
    rows = [(k, name) for k in range(300) for name in ("abc" if k % (30 + alone) < 30 else "a")]
    batch = table(
        [DAY + datetime.timedelta(k) for k, _ in rows], country=[name for _, name in rows]
    )
    assert [kind for kind, _ in told(batch)] == expected


def test_series_side_by_side():
    batch = by_day(stacked(8))
    assert told(batch) == [("side by side", "--key country")]
    assert (
        "a value of day comes 8 times, once for each country." in order_remarks(batch, "y")[0].text
    )
    shuffled = by_day(taken(stacked(8), np.random.default_rng(1).permutation(len(stacked(8)))))
    assert told(shuffled) == [("side by side", "--key country")]
    newest = taken(
        batch, np.argsort(-batch.column("day").cast(pa.int64()).to_numpy(), kind="stable")
    )
    assert told(newest) == [("newest first", "--reverse"), ("side by side", "--key country")]


def test_two_columns_may_be_the_key():
    shops, goods, length = 4, 5, 30
    when = days(length) * (shops * goods)
    shop = np.repeat(np.arange(float(shops)), goods * length)
    good = np.tile(np.repeat([f"g {k}" for k in range(goods)], length), shops)
    batch = table(when, **{"the shop": shop, "good": good})
    assert told(batch) == [("stacked", "--key 'good,the shop'")]
    assert told(by_day(batch)) == [("side by side", "--key 'good,the shop'")]


def test_a_name_with_a_comma_is_typed_in_quotes():
    batch = stacked(8).rename_columns(["colour", "the day", "hour", "x", "group", "a,b", "y"])
    assert [remark.remedy for remark in order_remarks(batch, "y")] == ["--key '\"a,b\"'"]
    assert [
        remark.remedy
        for remark in order_remarks(taken(batch, np.random.default_rng(0).permutation(200)), "y")
    ] == ["--sort 'the day'"]


def test_a_truth_and_a_whole_number_may_be_the_key():
    when = days(60) * 2
    for column in ([False] * 60 + [True] * 60, [7.0] * 60 + [3.0] * 60):
        assert told(table(when, which=column)) == [("stacked", "--key which")]
    assert told(table(when, which=[0.5] * 60 + [1.5] * 60)) == [
        ("back", "--sort day")
    ]  # fractions name nothing


def yearly(columns, years=60):
    """Rows of some years with these columns, each repeated for every year."""
    (size,) = {len(values) for values in columns.values()}
    whole = {name: pa.array(list(values) * years) for name, values in columns.items()}
    y = np.random.default_rng(0).normal(size=years * size)
    return pa.record_batch({"year": np.repeat(1959.0 + np.arange(years), size), **whole, "y": y})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("quarter", [1.0, 2.0, 3.0, 4.0]),
        ("Quarter", ["Q1", "Q2", "Q3", "Q4"]),
        ("month", list("JFMAmjAaSONd")),
        ("periodNo", [10.0, 20.0, 30.0]),
        ("n", [1.0, 2.0, 3.0, 4.0]),
        ("n", [float(k) for k in range(12)]),
        ("n", [float(k) for k in range(1, 53)]),
    ],
)
def test_a_part_of_the_date_is_no_key(name, values):
    assert told(yearly({name: values})) == []


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("store", [1.0, 2.0, 3.0]),  # ascending, but no part of a year
        ("n", [4.0, 3.0, 2.0, 1.0]),
        ("n", [2.0, 3.0, 4.0, 5.0]),
        ("country", ["a", "b", "c", "d"]),
    ],
)
def test_other_columns_in_ascending_order_are_keys(name, values):
    assert told(yearly({name: values})) == [("side by side", f"--key {name}")]


def test_hours_of_a_day_are_no_key_and_stores_are():
    for name, count, expected in [
        ("n", 24, []),
        ("n", 48, []),
        ("hr", 9, []),
        ("n", 12, [("side by side", "--key n")]),
    ]:
        when = [day for day in days(40) for _ in range(count)]
        assert told(table(when, **{name: [float(k) for k in range(count)] * 40})) == expected


def test_series_side_by_side_within_the_quarters_of_a_year():
    batch = yearly({"quarter": np.repeat([1.0, 2.0, 3.0, 4.0], 3), "country": list("abc") * 4})
    assert told(batch) == [("side by side", "--key country")]
    assert (
        "a value of year and quarter comes 3 times, once for each country."
        in order_remarks(batch, "y")[0].text
    )
    long = yearly(
        {"quarter": np.repeat([1.0, 2.0, 3.0, 4.0], 3), "country": list("abc") * 4}, years=800
    )
    assert told(long) == [
        ("side by side", "--key country")
    ]  # found by the first rows, which are then forgotten


def test_words_are_never_counted_as_numbers():
    """Their marks are any bits, also those of infinities and NaN, of which numpy would warn."""
    rng = np.random.default_rng(0)
    bits = np.array([np.inf, -np.inf, np.nan, 1e308, -1e308]).view(np.int64)
    times = np.repeat(np.arange(40), 6)
    assert not is_part("town", rng.choice(bits, 240), times)


def test_few_rows_a_key_are_said():
    def words(dates):
        batch = table([day for day in days(dates) for _ in range(2)], country=list("ab") * dates)
        return order_remarks(batch, "y")[0].text

    assert words(199).endswith("It needs some hundred rows a key; so far there are about 199.")
    assert words(200).endswith("It needs some hundred rows a key.")


def test_the_share_of_late_rows_is_of_all_rows():
    """Ten rows of each date, and after every tenth date one row of the date before: a step back
    of 21 steps.
    """
    when = [
        day
        for k in range(400)
        for day in [DAY + datetime.timedelta(k)] * 9 + [DAY + datetime.timedelta(k - (k % 4 == 3))]
    ]
    (remark,) = order_remarks(table(when), "y")
    assert remark.text.startswith(
        "100 rows (2 %) are dated before the row above them. If that is a mistake"
    )


def test_back_to_the_beginning_without_a_reason():
    batch = table(days(200) * 2)
    assert told(batch) == [("back", "--sort day")]
    assert order_remarks(batch, "y")[0].text == (
        "day goes back to the beginning once, and no column tells the parts apart. If they belong "
        "together, give --sort day."
    )


def test_copies():
    batch = taken(table(days(ROWS)), np.repeat(np.arange(ROWS), 2))
    assert told(batch) == [("copies", "")]
    text = order_remarks(batch, "y")[0].text
    assert text.startswith("300 rows (50 %) are copies of the row above them, date included.")
    some = [k for k in range(ROWS) for _ in range(2 if k < 9 else 1)]
    assert told(taken(table(days(ROWS)), some)) == []
    assert (
        told(table([day for day in days(ROWS) for _ in range(2)])) == []
    )  # the same dates, other values


def test_years_are_dates_where_there_are_no_others():
    schema = pa.schema([("x", pa.float64()), ("Year", pa.float64()), ("year ", pa.float64())])
    assert dates(schema) == ["Year"]
    assert dates(schema.append(pa.field("day", pa.timestamp("us")))) == ["day"]
    assert dates(pa.schema([("year", pa.string())])) == []
    years = np.tile(1952.0 + 5.0 * np.arange(12), 6)
    batch = pa.record_batch(
        {"country": np.repeat(list("abcdef"), 12), "year": years, "y": np.arange(72.0)}
    )
    assert told(batch) == [("stacked", "--key country")]


def test_another_column_of_dates_in_order_is_enough():
    born = taken(table(days(ROWS)), np.random.default_rng(0).permutation(ROWS)).column("day")
    assert told(table(days(ROWS)).set_column(0, "born", born)) == []
    assert told(table(days(ROWS)[::-1]).set_column(0, "born", born)) == [
        ("shuffled", "--sort born")
    ]


@pytest.mark.parametrize("begin", [datetime.datetime(2021, 1, 1), datetime.datetime(2021, 7, 1)])
def test_the_end_of_summer_time_is_not_a_disorder(begin):
    utc = [begin + datetime.timedelta(hours=k) for k in range(24 * 180)]
    summer = [
        datetime.datetime(2021, 3, 28, 1) <= one < datetime.datetime(2021, 10, 31, 1) for one in utc
    ]
    local = [one + datetime.timedelta(hours=1 + dst) for one, dst in zip(utc, summer, strict=True)]
    assert told(table(local, summer=summer)) == []


def test_a_wrong_date_is_not_a_disorder():
    when = days(ROWS)
    when[150] = DAY - datetime.timedelta(400)
    assert told(table(when)) == []


def test_missing_dates_are_passed_over():
    when = days(ROWS)[::-1]
    when[::3] = [None] * len(when[::3])
    assert told(table(when)) == [("newest first", "--reverse")]
    assert told(table([None] * ROWS)) == []


def test_a_table_without_dates_is_not_looked_at():
    assert order_remarks(table(days(ROWS)).drop_columns(["day"]), "y") == ()


@pytest.mark.parametrize(
    "dataset", [datasets.electricity(), datasets.bikesharing()], ids=["electricity", "bikesharing"]
)
def test_nothing_is_said_of_the_shipped_tables(dataset):
    with open_table(dataset.path, target=dataset.target) as read:
        rows = (
            pa.Table.from_batches([batch.rows for batch in read.batches()])
            .combine_chunks()
            .to_batches()[0]
        )
    assert order_remarks(rows, dataset.target) == ()
    hours = np.datetime64("2010-01-01", "us") + (np.arange(len(rows)) // 2).astype("timedelta64[h]")
    assert (
        order_remarks(rows.append_column("when", pa.array(hours)), "y") == ()
    )  # and with dates, each of them twice


@given(
    st.integers(0, 10**6),
    st.integers(1, 400),
    st.integers(1, 5),
    st.integers(1, 6),
    st.integers(0, 3),
)
def test_no_false_alarm_on_ordinary_tables(seed, rows, most_at_once, words, late):
    """Dates that go up, some of them several times, words that come as they like, and a few late
    rows.
    """
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, most_at_once, rows)
    steps[rng.integers(0, rows, rows // 10)] += 1
    minutes = np.cumsum(steps * rng.integers(1, 100, rows))
    places = np.arange(rows)
    for k in rng.integers(0, max(rows - 1, 1), late if rows > 1 else 0):
        places[[k, k + 1]] = places[[k + 1, k]]
    when = (np.datetime64("2022-05-01", "us") + minutes.astype("timedelta64[m]"))[places]
    batch = pa.record_batch(
        {
            "when": when,
            "word": rng.choice([f"w{k}" for k in range(words)], rows),
            "season": [f"s{k * 4 // rows}" for k in range(rows)],
            "flag": rng.random(rows) < 0.5,
            "count": rng.poisson(3.0, rows).astype(float),
            "x": rng.normal(size=rows),
            "y": rng.normal(size=rows),
        }
    )
    assert order_remarks(batch, "y") == ()


def dated(times, series=None):
    """Rows with these dates, of one series unless given."""
    return DatedRows(
        pa.record_batch({"x": np.zeros(len(times))}),
        np.array(times),
        np.zeros(len(times), np.intp) if series is None else np.array(series),
    )


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=60))
def test_steps_are_those_of_a_plain_loop(times):
    rows = dated(times)
    differences = [b - a for a, b in pairwise(times)]
    assert rows.ways.tolist() == [0, *(int(np.sign(d)) for d in differences)]
    ups, downs, span = (
        [d for d in differences if d > 0],
        [-d for d in differences if d < 0],
        max(times) - min(times),
    )
    found = rows.steps()
    assert (found.rows, found.ups, found.downs) == (len(times), len(ups), len(downs))
    assert found.depth == pytest.approx(sum(downs) / max(len(downs), 1) / max(span, 1))
    assert found.height == pytest.approx(sum(ups) / max(len(ups), 1) / max(span, 1))
    assert found.leap == pytest.approx(max(ups, default=0) / max(span, 1) if downs else 0.0)
    assert found.falling == pytest.approx(len(downs) / max(len(ups) + len(downs), 1))


def test_steps_of_several_series_by_hand():
    # The first spans 10: up 10 and 4, down 6. The second spans 40: up 20, down 20, 20 and 5.
    found = dated([0, 10, 4, 8, 100, 80, 60, 80, 75], [0] * 4 + [1] * 5).steps()
    assert (found.rows, found.ups, found.downs, found.changes) == (9, 3, 4, 7)
    assert found.depth == pytest.approx((6 / 10 + 45 / 40) / 4)
    assert found.height == pytest.approx((14 / 10 + 20 / 40) / 3)
    assert found.leap == pytest.approx((1 * 10 / 10 + 3 * 20 / 40) / 4)


def test_steps_of_a_nanosecond_count():
    now = 1_700_000_000_000_000_000
    assert dated([now, now + 1, now + 2, now + 1]).ways.tolist() == [0, 1, 1, -1]


def test_without_rows_there_are_no_steps():
    assert dated([]).steps() == DateSteps(0, 0, 0, 0.0, 0.0, 0.0)
    assert order_remarks(table([]), "y") == ()


def test_only_the_first_rows_are_analyzed_and_the_remark_says_so():
    when = np.datetime64("2020-01-01", "us") + np.arange(12_000).astype("timedelta64[h]")
    batch = table(pa.array(when[::-1]).to_pylist())
    (remark,) = order_remarks(batch, "y")
    assert remark.text == (
        "The newest rows come first: day falls at 100 % of its changes in the first 10,000 rows. "
        "Give --reverse."
    )
    later = table(pa.array(np.concatenate([when[:10_000], when[:2000]])).to_pylist())
    assert order_remarks(later, "y") == ()


def test_series_side_by_side_in_a_long_table():
    length = 3000
    when = np.repeat(
        np.datetime64("2020-01-01", "us") + np.arange(length).astype("timedelta64[h]"), 4
    )
    country = np.tile(list("abcd"), length)
    batch = table(pa.array(when).to_pylist(), country=country)
    assert side_by_side(batch, ["country"], when.astype(np.int64)) == SideBySide(("country",), 4)
    assert told(batch) == [("side by side", "--key country")]


@pytest.mark.parametrize("sizes", [[300], [1] * 300, [7, 200, 93]])
def test_of_further_rows_the_steps_are_counted_wherever_batches_end(sizes):
    """Rows in order, and then rows that are dated before the one above."""
    head = table(days(5))
    assert DateOrder.begin(head, "y").remarks(5) == ()
    places = np.arange(ROWS)
    places[100::10], places[101::10] = places[101::10].copy(), places[100::10].copy()
    batch, order, first = taken(table(days(ROWS)), places), DateOrder.begin(head, "y"), 0
    for size in sizes:
        order.add(batch.slice(first, size))
        saved, order = order.state(), DateOrder()
        order.load_state(saved)
        first += size
    assert (order.ups, order.downs) == (279, 20)
    (remark,) = order.remarks(ROWS)
    assert remark.kind == "late rows"
    assert remark.text.startswith("20 rows (7 %) are dated before the row above them. If")


@pytest.mark.parametrize(("rows", "kinds"), [(8, []), (9, ["newest first"])])
def test_a_pipe_that_turns_out_to_begin_with_the_newest_row(rows, kinds):
    batch = table(days(rows)[::-1])
    order = DateOrder.begin(batch.slice(0, 2), "y")
    order.add(batch)
    assert [remark.kind for remark in order.remarks(rows)] == kinds


def test_steps_of_one_of_several_columns_of_dates_are_not_counted():
    batch = table(days(ROWS)[::-1])
    batch = batch.set_column(0, "born", batch.column("day"))
    order = DateOrder.begin(batch.slice(0, 2), "y")
    order.add(batch)
    assert (order.clock, order.remarks(ROWS)) == ("", ())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ups", -1),
        ("downs", 1.5),
        ("last", "9"),
        ("found", "{}"),
        ("found", "[[1, 2, 3]]"),
        ("found", '[["copies", "text"]]'),
    ],
)
def test_states_that_no_table_leads_to_are_refused(name, value):
    order = DateOrder.begin(table(days(3)), "y")
    with pytest.raises((ValueError, TypeError)):
        order.load_state(order.state() | {name: value})


def test_the_tracker_looks_at_its_rows():
    batch = world("regression", 60, seed=1)
    tracker = Tracker.begin(Settings("y"), batch.slice(0, 4))
    assert tracker.remarks() == ()
    backwards = taken(batch, range(60)[::-1])
    tracker.track(backwards, np.arange(1, 61))
    assert [remark.kind for remark in Tracker.resumed(tracker.state()).remarks()] == [
        "newest first"
    ]
    story = tracker.story("here")
    assert story.remarks == (tracker.remarks()[0].text,)
    assert (
        Text(story.remarks[0]) in track_sections(story)[0].blocks
    )  # the first thing in the report
