"""``swordplay predict`` gives an interval to the row right after the last learned one, and to no
other row.
"""

from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from swordplay.cli import run

NO_INTERVAL = "no interval: intervals are calibrated for the row right after the last learned one"
WITHOUT_TARGETS = "of the weight is on experts that use the last targets."


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(path, columns):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def has_interval(rows):
    found = [(row["lower"] not in ("", None), row["upper"] not in ("", None)) for row in rows]
    assert all(lower == upper for lower, upper in found)
    return [lower for lower, _ in found]


def linear(rows=120, seed=1):
    """A target that its column explains, whatever the last targets were."""
    x = np.random.default_rng(seed).normal(size=rows)
    return {
        "x": x.round(4),
        "y": (3.0 * x + np.random.default_rng(seed + 1).normal(size=rows) / 9.0).round(4),
    }


def walk(rows=400, seed=1):
    """A target that only the last target explains."""
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=rows).round(4), "y": rng.normal(size=rows).cumsum().round(4)}


def learned(columns, *options):
    write("old.csv", columns)
    assert (
        run(["learn", "old.csv", "--target", "y", "--state", "m.state", "--quiet", *options]) == 0
    )


def test_only_the_first_row_has_an_interval_in_every_format(capsys):
    learned(linear())
    write("new.csv", {"x": [0.5, -1.0, 2.0]})
    for output in ("p.csv", "p.ndjson", "p.parquet"):
        assert run(["predict", "new.csv", "--state", "m.state", "-o", output]) == 0
        assert "2 rows have " + NO_INTERVAL in " ".join(capsys.readouterr().err.split())
    assert has_interval(read("p.csv")) == [True, False, False]
    with open("p.ndjson") as file:
        assert has_interval([json.loads(line) for line in file]) == [True, False, False]
    table = pq.read_table("p.parquet")
    assert (table.column("lower").null_count, table.column("upper").null_count) == (2, 2)
    assert table.column("lower").type == pa.float64()


def test_one_row_has_its_interval_and_there_is_nothing_to_remark(capsys):
    learned(linear())
    write("new.csv", {"x": [0.5]})
    assert run(["predict", "new.csv", "--state", "m.state", "-o", "p.csv"]) == 0
    assert has_interval(read("p.csv")) == [True]
    assert "interval" not in capsys.readouterr().err


def test_the_first_row_is_the_first_one_of_the_file_whatever_the_blocks(capsys):
    """Rows of a later block are no first rows, and a refused first row leaves none."""
    learned(linear())
    write("new.csv", {"x": ["no number, but words", 0.5, 1.0, -1.0]})
    write("many.csv", {"x": np.linspace(-1.0, 1.0, 200_000).round(5)})
    assert run(["predict", "new.csv", "--state", "m.state", "-o", "p.csv", "--on-bad", "skip"]) == 0
    assert has_interval(read("p.csv")) == [False] * 3
    capsys.readouterr()
    assert run(["predict", "many.csv", "--state", "m.state", "-o", "p.parquet", "--json"]) == 0
    assert pq.read_table("p.parquet").column("lower").null_count == 199_999
    assert json.loads(capsys.readouterr().out)["without_interval"] == 199_999


@pytest.mark.parametrize("bulk", [True, False])
def test_the_first_row_of_each_key_has_an_interval(bulk, capsys):
    columns = linear(240)
    more = {} if bulk else {"word": ["red", "blue", "green"] * 80}  # words are not learned in bulk
    learned({"shop": ["a", "b"] * 120, **columns, **more}, "--key", "shop")
    news = {"shop": ["b", "b", "a", "new", "a", "b"], "x": [1, 2, 3, 4, 5, 6]}
    write("new.csv", news | ({} if bulk else {"word": ["red"] * 6}))
    assert run(["predict", "new.csv", "--state", "m.state", "-o", "p.csv"]) == 0
    rows = read("p.csv")
    assert [row["prediction"] != "" for row in rows] == [True, True, True, False, True, True]
    assert has_interval(rows) == [True, False, True, False, False, False]
    said = " ".join(capsys.readouterr().err.split())
    assert "3 rows have " + NO_INTERVAL in said


@pytest.mark.parametrize("keys", [False, True])
@pytest.mark.parametrize(("columns", "dominant"), [(walk(), True), (linear(), False)])
def test_it_is_said_where_the_last_targets_carry_most_of_the_weight(
    columns, dominant, keys, capsys
):
    shop = {"shop": ["a"] * len(columns["x"])} if keys else {}
    learned(shop | columns, *(("--key", "shop") if keys else ()))
    write("new.csv", ({"shop": ["a"] * 3} if keys else {}) | {"x": [0.5, -1.0, 2.0]})
    assert run(["predict", "new.csv", "--state", "m.state", "-o", "p.csv"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert (WITHOUT_TARGETS in said) == dominant
    assert (
        run(["predict", "new.csv", "--state", "m.state", "-o", "p.csv", "--force", "--json"]) == 0
    )
    assert (json.loads(capsys.readouterr().out)["weight_of_last_targets"] > 0.5) == dominant


def test_classes_and_runs_without_intervals_are_told_of_the_last_targets_alone(capsys):
    columns = walk()
    learned(columns, "--no-interval")
    write("new.csv", {"x": [0.5, -1.0]})
    assert run(["predict", "new.csv", "--state", "m.state", "-o", "p.csv"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "interval" not in said
    assert WITHOUT_TARGETS in said
    steps = np.repeat(np.arange(40) % 2, 10)  # the class of the last row comes again
    write("old.csv", {"x": columns["x"], "y": np.where(steps, "up", "down")})
    assert run(["learn", "old.csv", "--target", "y", "--state", "c.state", "--quiet"]) == 0
    assert run(["predict", "new.csv", "--state", "c.state", "-o", "c.csv"]) == 0
    assert list(read("c.csv")[0]) == ["row", "prediction", "probability"]
    assert WITHOUT_TARGETS in " ".join(capsys.readouterr().err.split())
