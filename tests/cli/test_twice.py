"""``swordplay track --twice``: rows come without their target, and again with it."""

from __future__ import annotations

import csv
import json

import pytest

from swordplay.cli import run
from tracking.files import write
from tracking.worlds import twice, world

TRACK = [
    "track",
    "rows.csv",
    "--target",
    "y",
    "--id",
    "name",
    "--twice",
    "--state",
    "rows.state",
    "--quiet",
]


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return twice(world("regression", 90, seed=4), delay=7)


def lines(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_a_file_that_grows_is_gone_on_with_and_rows_that_wait_are_found_again(
    tmp_path, rows, capsys
):
    write(tmp_path / "rows.csv", rows)
    assert run([*TRACK[:-3], "-o", "whole.csv", "--json", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["asked"] == 90
    assert told["answered"] + told["pending"] == 90
    assert told["errors"].keys() == {"swordplay", "no change", "running mean"}
    write(tmp_path / "rows.csv", rows.slice(0, 60))
    assert run([*TRACK, "-o", "grown.csv"]) == 0
    assert "pending" in capsys.readouterr().out
    write(tmp_path / "rows.csv", rows)
    assert run([*TRACK, "-o", "grown.csv"]) == 0
    assert (tmp_path / "grown.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert run(["inspect", "rows.state"]) == 0
    assert f"{told['pending']} pending" in capsys.readouterr().out


def test_its_model_predicts_and_learns_other_files(tmp_path, rows, capsys):
    write(tmp_path / "rows.csv", rows.slice(0, 100))
    assert run(TRACK) == 0
    write(tmp_path / "new.csv", world("regression", 5, seed=9).drop_columns(["y"]))
    assert run(["predict", "new.csv", "--state", "rows.state", "-o", "new.out.csv", "--quiet"]) == 0
    assert [line["name"] for line in lines("new.out.csv")] == [f"row {k}" for k in range(5)]
    assert all(line["prediction"] for line in lines("new.out.csv"))
    write(tmp_path / "rest.csv", rows.slice(100))
    assert run(["learn", "rest.csv", "--state", "rows.state", "--quiet"]) == 0
    assert f"the model has seen {len(rows)} rows" in capsys.readouterr().out


def test_an_answer_that_comes_twice_is_told_with_its_row(tmp_path, capsys):
    (tmp_path / "rows.csv").write_text("name,x,y\na,1,\nb,2,3.5\na,,4.5\na,,4.5\n")
    source = str(tmp_path / "rows.csv")
    assert (
        run(["track", source, "--target", "y", "--id", "name", "--twice", "--task", "regression"])
        == 2
    )
    assert "row 4" in (said := capsys.readouterr().err)
    assert "was answered before" in said


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "--twice needs --id"),
        (["--id", "a", "--key", "b"], "--twice does not go together with --key"),
    ],
)
def test_what_does_not_go_together(more, said, capsys):
    assert run(["track", "rows.csv", "--target", "y", "--twice", *more]) == 2
    assert said in capsys.readouterr().err
