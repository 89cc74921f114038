"""``swordplay compare`` and ``swordplay demo``: what they print, what they refuse, what they leave behind."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pyarrow as pa
import pytest

from swordplay.cli import compare, run
from swordplay.contest import contest, field
from tolerances import ROUNDING
from tracking.files import write


@pytest.fixture
def prices(tmp_path, monkeypatch):
    """A table to play with, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    size, note = rng.normal(size=400), ["a", "b"] * 200
    price = 100 + np.linspace(3, -3, 400) * size + np.where(np.array(note) == "a", 1.0, -1.0)
    columns = {"size": size, "note": note, "price": price, "up": price > 100, "kind": np.digitize(price, [98, 102]).astype(str)}
    write(tmp_path / "prices.csv", pa.record_batch(columns))
    return size, price


def test_the_table_fits_and_ranks_everybody(prices, capsys):
    assert run(["compare", "prices.csv", "--target", "price", "--drop", "up,kind", "--step-sizes", "0.1,0.5"]) == 0
    captured = capsys.readouterr()
    for name in ("SwordRegressor", "Sword ", "SwordBest", "Ader", "best OGD", "OGD, step 0.1", "OGD, step 0.5", "RMSE"):
        assert name in captured.out
    assert max(map(len, captured.out.splitlines())) <= 80
    assert "price: regression" in captured.err
    assert "  note  words, one column each\n" in captured.err


def test_json_is_the_contest_itself(prices, capsys):
    size, price = prices
    assert run(["compare", "prices.csv", "--target", "price", "--features", "size", "--json", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    found = json.loads(captured.out)
    expected = contest(field(size[:, None], price))
    assert found["rows"] == 400
    assert [one["name"] for one in found["standings"]] == [one.name for one in expected.standings]
    for ours, theirs in zip(found["standings"], expected.standings, strict=True):
        assert ours["error"] == pytest.approx(theirs.error, rel=ROUNDING)
        assert ours["regrets"] == pytest.approx(theirs.regrets, rel=1e-6)


@pytest.mark.parametrize("target", ["up", "kind"])
def test_classes(prices, target, capsys):
    assert run(["compare", "prices.csv", "--target", target, "--drop", "price", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["measure"] == "error rate"
    assert found["standings"][0]["error"] < 0.5


@pytest.mark.usefixtures("prices")
def test_the_report_has_the_curve(tmp_path, capsys):
    assert run(["compare", "prices.csv", "--target", "price", "--features", "size", "--report", "c.html"]) == 0
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    for part in ("Learners compared", "Regret against every comparator", "All 400 rows were looked at"):
        assert part in page
    assert "c.html" in capsys.readouterr().err


@pytest.mark.usefixtures("prices")
def test_only_the_first_rows_are_looked_at_and_it_says_so(capsys):
    assert run(["compare", "prices.csv", "--target", "price", "--rows", "100"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("100 rows")
    assert "first 100 rows" in captured.err


@pytest.mark.usefixtures("prices")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.csv", "--target", "price"], "missing.csv"),
        (["prices.csv", "--target", "prise"], "price"),
        (["prices.csv", "--target", "price", "--step-sizes", "0.1,-1"], "positive numbers between commas"),
        (["prices.csv", "--target", "price", "--radius", "0"], "radius"),
        (["prices.csv", "--target", "price", "--features", "sise"], "size"),
        (["prices.csv", "--target", "price", "--report", "c.txt"], ".html"),
        (["short.csv", "--target", "y"], "at least 10 rows"),
        (["empty.csv", "--target", "y"], "empty"),
        (["same.csv", "--target", "y", "--task", "binary"], "1 different value"),
        (["hollow.csv", "--target", "y"], "missing in all rows"),
    ],
)
def test_refusals_take_a_line_or_two(arguments, message, tmp_path, capsys):
    (tmp_path / "short.csv").write_text("x,y\n1,2\n3,4.5\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "same.csv").write_text("x,y\n" + "1,2\n" * 20)
    (tmp_path / "hollow.csv").write_text("x,y\n" + "1,\n" * 20)
    assert run(["compare", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert "Traceback" not in captured.err


@pytest.mark.usefixtures("prices")
def test_examples_of_the_help_run(capsys):
    lines = [line.strip() for line in compare.EXAMPLES.splitlines() if line.strip().startswith("swordplay")]
    assert len(lines) == 3
    for line in lines:
        assert run(shlex.split(line.split(">")[0])[1:]) == 0
    capsys.readouterr()


def test_the_demo_shows_everything_in_one_report(tmp_path, capsys):
    report = tmp_path / "report.html"
    assert run(["demo", "--report", str(report), "--rounds", "100", "--quiet"]) == 0
    captured = capsys.readouterr()
    for part in ("electricity.csv.gz: price_up, binary", "SwordClassifier", "Instance 1", str(report)):
        assert part in captured.out
    page = report.read_text(encoding="utf-8")
    for part in ("How fast the world moved", "Learners compared", "Regret against every comparator", "Instance 2"):
        assert part in page
    assert len(page) < 6_000_000
