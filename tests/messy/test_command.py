"""What the command says of messy tables, and what it makes of them."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from swordplay.cli import run
from swordplay.cli.words import MOST_COLUMNS, WIDEST_NAME, WIDTH, columns
from swordplay.tables import open_table
from swordplay.tables.column_plans import ColumnPlan, plan
from swordplay.tables.date_features import hours
from swordplay.tables.encoder import Encoder
from tolerances import ROUNDING

ROWS = 40


@pytest.fixture
def sales(tmp_path, monkeypatch):
    """A table such as people have, and the prices in it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    prices = np.round(1000 + 3 * np.arange(ROWS) + rng.normal(size=ROWS), 2)
    lines = ["Sales of bananas", "", "day,at,price,share,w\x1b[31m,name,note", ",,$,%,kg,,"]
    for i, price in enumerate(prices):
        day = np.datetime64("2012-01-20") + i
        month, number = str(day)[5:7], str(day)[8:]
        lines.append(
            f'{number}/{month}/2012,{i % 24}:30,"${price:,.2f}",{i % 7}%,{i % 5}.5 kg,row '
            f"{i},{'ab'[i % 2]}"
        )
    (tmp_path / "sales.csv").write_text("\n".join(lines) + "\n")
    return prices


def test_a_line_on_every_column(sales, capsys):
    assert run(["track", "sales.csv", "--target", "price", "-o", "p.csv", "--json"]) == 0
    captured = capsys.readouterr()
    said = captured.err.splitlines()
    assert said[:2] == [
        "Line 1 is no part of the table ('Sales of bananas') and passed over.",
        "Line 4 holds units ($, %, kg) and is passed over.",
    ]
    assert said[2].startswith(
        "price: regression, as the values are numbers, not all of them whole; written in $, "
        "thousands by com"
    )
    assert said[3:9] == [
        "  day        date, day first (31/01/2012)",
        "  at         time of the day",
        "  share      number, in %",
        "  w\\x1b[31m  number, in kg",
        "  name       left out: every value is different",
        "  note       words, one column each",
    ]
    told = {column["name"]: column["note"] for column in json.loads(captured.out)["columns"]}
    assert told["day"] == "day of the week, day of the year; written day first (31/01/2012)"
    assert told["at"] == "hour of the day"
    assert told["share"] == "as it is; written in %"
    with open_table("p.csv", target=None) as table:
        truths = [
            value for batch in table.batches() for value in batch.rows.column("truth").to_pylist()
        ]
    assert truths == sales.tolist()


def test_quiet_says_nothing(sales, capsys):
    assert run(["track", "sales.csv", "--target", "price", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_types_overrule(sales, capsys):
    options = ["--types", "day=word,share=skip,at=category", "--missing", "b,x"]
    assert run(["track", "sales.csv", "--target", "price", *options, "--state", "s"]) == 0
    said = capsys.readouterr().err
    assert "  day        left out: every value is different\n" in said
    assert "  share      left out: as asked\n" in said
    assert "  at         words, one column each\n" in said
    assert run(["track", "sales.csv", "--target", "price", *options, "--state", "s"]) == 0
    assert run(["track", "sales.csv", "--target", "price", "--state", "s"]) == 2
    assert (
        "was saved with --types day=word,share=skip,at=category, and now it is no --types"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--types", "prize=number"], "no column 'prize'. Did you mean 'price'?"),
        (
            ["--types", "price=numbr"],
            "there is no kind 'numbr'. Did you mean 'number'? There are: number, decimal-comma",
        ),
        (
            ["--types", "price"],
            "must be columns and kinds such as price=number,day=date, got 'price'",
        ),
        (["--types", "name=number"], "--types name=number does not fit: 'row 0' is not a number."),
        (
            ["--types", "name=number,note=date"],
            "--types note=date does not fit: 'a' is not a date.",
        ),
        (["--types", "price=skip"], "--types says skip of the target 'price'"),
        (["--header", "no"], "no column 'price'"),
        (
            ["--target", "name"],
            "holds 40 different words in 40 rows, such as 'row 0': too many for classes",
        ),
        (
            ["--target", "name", "--types", "name=number"],
            "'row 0' is not a number. Leave it out of --types, or choose another",
        ),
        (["--target", "at"], "holds times of the day, which cannot be predicted"),
        (["--target", "day"], "holds dates, which cannot be predicted"),
    ],
)
@pytest.mark.parametrize("command", ["track", "compare"])
def test_what_cannot_be(sales, command, options, says, capsys):
    assert run([command, "sales.csv", "--target", "price", *options]) == 2
    assert says in capsys.readouterr().err


def test_many_columns_take_few_lines():
    plans = [ColumnPlan(f"c{k}", "number") for k in range(300)] + [
        ColumnPlan("\x1b" + "é" * 200, "number", how="in $" * 40)
    ]
    lines = columns(plans)
    assert len(lines) == MOST_COLUMNS + 1 == 21
    assert lines[-1] == "  ... and 281 more"
    assert lines[-2].startswith(f"  \\x1b{'é' * (WIDEST_NAME - 5)}…  number, in $in $")
    assert max(map(len, lines)) == WIDTH == 80
    assert columns([]) == ["No column is of use: only the target itself is known."]


def test_a_time_of_the_day_is_a_circle():
    times = pa.array([0, 6 * 3600 * 10**6, 18 * 3600 * 10**6, None], pa.time64("us"))
    assert hours(times)[:3] == pytest.approx(np.array([[0, 1], [1, 0], [-1, 0]]), abs=ROUNDING)
    assert np.isnan(hours(times)[3]).all()
    batch = pa.record_batch({"at": times, "x": [1.0, 2.0, 3.0, 4.0], "y": [0.0] * 4})
    encoder = Encoder(plan(batch, "y", None, ()), 0, of_classes=False)
    rows = encoder.encode(batch, np.empty((4, 0))).rows
    assert rows.shape == (4, 3)
    assert rows[:, 2].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert rows[:3, :2] == pytest.approx(hours(times)[:3], abs=ROUNDING)


def test_plain_numbers_never_leave_the_fast_path(tmp_path, monkeypatch):
    """A plain table has no reading at all, and its values are never looked at as strings after
    the head.
    """
    from swordplay.tables.csv_format import CsvFormat

    path = tmp_path / "plain.csv"
    path.write_text("x,day,w,y\n" + "1.5,2012-01-31,a,2\n" * 50)
    with open_table(path, block_size=64) as table:
        monkeypatch.setattr(CsvFormat, "_patiently", None)
        batches = list(table.batches())
    assert len(batches) > 5
    assert all(batch.rows.schema.metadata is None for batch in batches)
    assert sorted(json.loads(batches[0].position.layout)) == [
        "decimal",
        "delimiter",
        "names",
        "types",
    ]


def test_a_stopped_run_goes_on_to_the_same_bytes(sales, tmp_path):
    """The second life never looks at the head: what was decided is in the state."""
    from swordplay.tracking import Job, Progress, Settings
    from swordplay.tracking import run as track

    settings = Settings("price", types={"share": "number"}, missing=("b",))
    whole = Job("sales.csv", settings, output="whole.csv", block_size=1 << 22)
    track(whole)
    lives = 0
    while True:
        seen: list[Progress] = []
        job = Job(
            "sales.csv",
            settings,
            output="pieces.csv",
            state="pieces.state",
            block_size=700 + 50 * lives,
            save_every=1,
        )
        outcome = track(
            job,
            watch=seen.append,
            told=lambda seen=seen: any(one.rows > one.resumed for one in seen),
        )
        lives += 1
        if not outcome.stopped:
            break
    assert lives > 2
    assert (tmp_path / "pieces.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert (
        outcome.tracker.story("sales.csv").columns
        == track(whole._replace(force=True)).tracker.story("sales.csv").columns
    )
