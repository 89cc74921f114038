"""``swordplay learn`` and ``swordplay predict``: a file trained today predicts tomorrow's."""

from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from swordplay.cli import run
from swordplay.core import checkpoint
from swordplay.tracking import Job, Settings, TrackingError
from swordplay.tracking import run as run_job
from tracking.files import FORMATS, write

ROWS = 240


def table(rows=ROWS):
    rng = np.random.default_rng(3)
    size, town = rng.normal(size=rows), rng.integers(0, 3, rows)
    when = np.datetime64("2024-01-01T00:00", "us") + np.arange(rows) * np.timedelta64(1, "h")
    price = 100 + 3 * size + 5 * town + np.cos(np.arange(rows) * 2 * np.pi / 24)
    columns = {
        "when": when,
        "town": np.array(["Bern", "Genf", "Zug"])[town],
        "size": size,
        "price": price,
    }
    return pa.record_batch(columns)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The first rows, more of them, all of these, and further ones without their answers."""
    monkeypatch.chdir(tmp_path)
    rows = table()
    parts = {
        "first": rows.slice(0, 120),
        "more": rows.slice(120, 80),
        "both": rows.slice(0, 200),
        "new": rows.slice(200),
    }
    for name, part in parts.items():
        write(tmp_path / f"{name}.csv", part.drop_columns(["price"]) if name == "new" else part)
    return tmp_path


def lines(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def model(path, parts=("contestants", "encoder", "band", "predictions", "lags")):
    """What a state has learned, but for the numbers that rows have in their own files."""
    state = checkpoint.load(path)
    return {
        name: value
        for name, value in state.items()
        if name.startswith(tuple(f"tracker.{part}" for part in parts))
    }


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert np.array_equal(
            value, other[name], equal_nan=isinstance(value, np.ndarray) and value.dtype.kind == "f"
        ), name


@pytest.mark.usefixtures("folder")
def test_two_files_are_learned_as_one(capsys):
    assert run(["learn", "first.csv", "--target", "price", "--state", "m.state", "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "first.csv: 120 rows learned; the model has seen 120 rows." in said
    assert "swordplay predict NEW.csv --state m.state" in said
    assert run(["learn", "more.csv", "--state", "m.state", "--quiet"]) == 0
    assert "more.csv: 80 rows learned; the model has seen 200 rows." in capsys.readouterr().out
    assert run(["track", "both.csv", "--target", "price", "--state", "t.state", "--quiet"]) == 0
    assert_same(model("m.state"), model("t.state"))
    for state in ("m.state", "t.state"):
        assert run(["predict", "new.csv", "--state", state, "-o", f"{state}.csv", "--quiet"]) == 0
    assert (a := lines("m.state.csv")) == lines("t.state.csv")
    assert list(a[0]) == ["row", "when", "prediction", "lower", "upper"]
    assert [row["row"] for row in a] == [str(k + 1) for k in range(40)]


@pytest.mark.usefixtures("folder")
def test_predictions_are_those_that_track_gives_to_rows_without_a_target(tmp_path):
    rows = table()
    silent = rows.set_column(
        3, "price", pc.if_else(pa.array(np.arange(ROWS) < 200), rows.column("price"), None)
    )
    write(tmp_path / "all.csv", silent)
    assert (
        run(["track", "all.csv", "--target", "price", "-o", "t.csv", "--quiet", "--lags", "2"]) == 0
    )
    assert (
        run(
            [
                "learn",
                "both.csv",
                "--target",
                "price",
                "--state",
                "m.state",
                "--quiet",
                "--lags",
                "2",
            ]
        )
        == 0
    )
    before = checkpoint.load("m.state")
    assert run(["predict", "new.csv", "--state", "m.state", "-o", "p.csv", "--quiet"]) == 0
    wanted, found = lines("t.csv")[200:], lines("p.csv")
    assert [row["prediction"] for row in wanted] == [row["prediction"] for row in found]
    assert [wanted[0][name] for name in ("lower", "upper")] == [
        found[0][name] for name in ("lower", "upper")
    ]
    assert_same(before, checkpoint.load("m.state"))  # nothing is learned


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("first", FORMATS)
def test_files_of_every_format_are_read_as_the_first_one_was(
    tmp_path, monkeypatch, capsys, first, format
):
    monkeypatch.chdir(tmp_path)
    rows = table()
    write(tmp_path / f"first.{first}", rows.slice(0, 120))
    turned = rows.select(["size", "price", "when", "town"])  # in another order
    write(tmp_path / f"more.{format}", turned.slice(120, 80))
    write(tmp_path / f"new.{format}", turned.slice(200).select(["town", "size", "when"]))
    assert (
        run(["learn", f"first.{first}", "--target", "price", "--state", "m.state", "--quiet"]) == 0
    )
    assert run(["learn", f"more.{format}", "--state", "m.state", "--quiet"]) == 0
    assert run(["predict", f"new.{format}", "--state", "m.state", "-o", "p.csv", "--quiet"]) == 0
    said = np.array([float(row["prediction"]) for row in lines("p.csv")])
    truth = rows.slice(200).column("price").to_numpy()
    assert np.sqrt(np.mean((said - truth) ** 2)) < 1.5
    assert "the model has seen 200 rows" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_a_file_that_has_grown_is_learned_from_where_it_was(capsys):
    with open("both.csv") as file:
        text = file.read()
    head = "".join(text.splitlines(keepends=True)[:101])
    with open("grows.csv", "w") as file:
        file.write(head)
    assert run(["learn", "grows.csv", "--target", "price", "--state", "m.state", "--quiet"]) == 0
    with open("grows.csv", "w") as file:
        file.write(text)
    assert run(["learn", "grows.csv", "--state", "m.state", "--quiet"]) == 0
    assert "grows.csv: 100 rows learned; the model has seen 200 rows." in capsys.readouterr().out
    assert run(["learn", "grows.csv", "--state", "m.state", "--quiet"]) == 0
    assert (
        "grows.csv: nothing new to learn; the model has seen 200 rows." in capsys.readouterr().out
    )
    assert (
        run(["learn", "both.csv", "--state", "m.state", "--json", "--quiet"]) == 0
    )  # the same rows under another name
    assert json.loads(capsys.readouterr().out)["learned"] == 0


@pytest.mark.usefixtures("folder")
def test_a_killed_run_goes_on_bit_by_bit():
    settings = Settings("price", level=0.9)

    def job(source, state):
        return Job(source, settings, state=state, save_every=10, block_size=1 << 10, learn=True)

    def stopped(source, state, batches):
        """Told to stop after so many batches."""
        seen = []
        return run_job(job(source, state), watch=seen.append, told=lambda: len(seen) >= batches)

    for source in ("first.csv", "more.csv"):
        run_job(job(source, "straight.state"))
        assert all(stopped(source, "stopped.state", batches).stopped for batches in (1, 2, 2))
        run_job(job(source, "stopped.state"))
    assert_same(model("straight.state", [""]), model("stopped.state", [""]))
    stopped("first.csv", "half.state", 1)
    with pytest.raises(TrackingError, match="in the middle of another table, after row"):
        run_job(job("more.csv", "half.state"))


@pytest.mark.usefixtures("folder")
def test_classes_and_series(tmp_path, capsys):
    rows = table()
    dear = pc.if_else(pc.greater(rows.column("price"), 105), "dear", "cheap")
    named = rows.append_column("class", dear).drop_columns(["price"])
    write(tmp_path / "classes.csv", named.slice(0, 200))
    write(tmp_path / "later.csv", named.slice(200).drop_columns(["class"]))
    assert run(["learn", "classes.csv", "--target", "class", "--state", "c.state", "--quiet"]) == 0
    assert run(["predict", "later.csv", "--state", "c.state", "-o", "p.ndjson", "--quiet"]) == 0
    found = [json.loads(line) for line in (tmp_path / "p.ndjson").read_text().splitlines()]
    assert set(found[0]) == {"row", "when", "prediction", "probability"}
    assert (
        np.mean(
            [
                row["prediction"] == truth
                for row, truth in zip(found, dear.to_pylist()[200:], strict=True)
            ]
        )
        > 0.7
    )
    assert (
        run(
            [
                "learn",
                "both.csv",
                "--target",
                "price",
                "--key",
                "town",
                "--state",
                "k.state",
                "--quiet",
            ]
        )
        == 0
    )
    strange = table().slice(200).drop_columns(["price"])
    strange = strange.set_column(
        1, "town", pa.array(["Chur", *strange.column("town").to_pylist()[1:]])
    )
    write(tmp_path / "strange.csv", strange)
    capsys.readouterr()
    assert run(["predict", "strange.csv", "--state", "k.state", "-o", "k.csv"]) == 0
    assert (
        "1 row without a prediction: nothing was learned of their series."
        in capsys.readouterr().err
    )
    assert [row["prediction"] == "" for row in lines("k.csv")] == [True] + [False] * 39


@pytest.mark.usefixtures("folder")
def test_columns_that_are_missing_new_or_of_another_type(tmp_path, capsys):
    rows = table()
    assert run(["learn", "both.csv", "--target", "price", "--state", "m.state", "--quiet"]) == 0
    write(tmp_path / "short.csv", rows.slice(200).drop_columns(["size"]))
    for command in (["predict"], ["learn"]):
        assert run([*command, "short.csv", "--state", "m.state", "--quiet"]) == 2
        assert (
            "has no column 'size', which the model in m.state learned from."
            in capsys.readouterr().err
        )
    write(tmp_path / "wide.csv", rows.slice(200).append_column("wind", pa.array(np.arange(40.0))))
    assert run(["predict", "wide.csv", "--state", "m.state", "-o", "w.csv"]) == 0
    assert "Not looked at, as the model does not know them: wind." in capsys.readouterr().err
    assert run(["learn", "wide.csv", "--state", "m.state"]) == 0
    assert "Column 'wind' appears at row 1 and joins as a number." in capsys.readouterr().err
    write(tmp_path / "words.csv", rows.slice(200).set_column(2, "size", pa.array(["large"] * 40)))
    assert run(["predict", "words.csv", "--state", "m.state"]) == 2
    assert "'large' is not a finite number" in capsys.readouterr().err
    write(tmp_path / "numbers.parquet", rows.slice(200).set_column(1, "town", pa.array([1.5] * 40)))
    assert run(["predict", "numbers.parquet", "--state", "m.state"]) == 2
    assert "column 'town' held words before, and here it holds '1.5'" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_what_does_not_go_together_is_said(capsys):
    assert run(["learn", "first.csv", "--state", "m.state", "--quiet"]) == 2
    assert "there is no state m.state yet: --target says which column" in capsys.readouterr().err
    assert run(["predict", "new.csv", "--state", "m.state"]) == 2
    assert "m.state" in capsys.readouterr().err
    assert run(["learn", "first.csv", "--target", "price", "--state", "m.state", "--quiet"]) == 0
    capsys.readouterr()
    assert run(["learn", "more.csv", "--target", "size", "--state", "m.state", "--quiet"]) == 2
    assert (
        '--target says "size", and the model in m.state learned with "price".'
        in capsys.readouterr().err
    )
    assert run(["learn", "more.csv", "--lags", "2", "--state", "m.state", "--quiet"]) == 2
    assert '--lags says 2, and the model in m.state learned with "auto".' in capsys.readouterr().err
    assert (
        run(
            [
                "learn",
                "more.csv",
                "--target",
                "price",
                "--level",
                "0.9",
                "--state",
                "m.state",
                "--quiet",
            ]
        )
        == 0
    )
    assert run(["track", "more.csv", "--target", "price", "--state", "m.state"]) == 2
    assert "holds a model that learns by `swordplay learn`" in capsys.readouterr().err
    assert run(["predict", "new.csv", "--state", "m.state", "--json"]) == 2
    assert run(["predict", "new.csv", "--state", "m.state", "-o", "new.csv"]) == 2
    assert "are the same file" in capsys.readouterr().err
    assert run(["inspect", "m.state"]) == 0
    assert "a model that learned by `swordplay learn`" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_predictions_go_to_standard_output(capfd):
    assert run(["learn", "first.csv", "--target", "price", "--state", "m.state", "--quiet"]) == 0
    capfd.readouterr()
    assert run(["predict", "new.csv", "--state", "m.state", "--quiet"]) == 0
    assert capfd.readouterr().out.splitlines()[0] == '"row","when","prediction","lower","upper"'
