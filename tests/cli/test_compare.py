"""``swordplay compare`` and ``swordplay demo``: what they print, what they refuse, what they
leave behind.
"""

from __future__ import annotations

import io
import json
import re
import shlex

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

from swordplay.cli import compare as command
from swordplay.cli import comparison as printed
from swordplay.cli import run
from swordplay.comparison import Benchmark, Comparison, Result, compare, field, rivals
from tolerances import ROUNDING
from tracking.files import write


@pytest.fixture
def prices(tmp_path, monkeypatch):
    """A table to play with, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    size, note = rng.normal(size=400), ["a", "b"] * 200
    price = 100 + np.linspace(3, -3, 400) * size + np.where(np.array(note) == "a", 1.0, -1.0)
    columns = {
        "size": size,
        "note": note,
        "price": price,
        "up": price > 100,
        "kind": np.digitize(price, [98, 102]).astype(str),
    }
    write(tmp_path / "prices.csv", pa.record_batch(columns))
    return size, price


def test_the_table_fits_and_ranks_everybody(prices, capsys):
    assert (
        run(
            [
                "compare",
                "prices.csv",
                "--target",
                "price",
                "--drop",
                "up,kind",
                "--step-sizes",
                "0.1,0.5",
            ]
        )
        == 0
    )
    captured = capsys.readouterr()
    for name in (
        "sp.Sword ",
        "sp.SwordBest",
        "sp.Ader",
        "best sp.OGD",
        "OGD, step 0.1",
        "OGD, step 0.5",
        "RMSE",
    ):
        assert name in captured.out
    for name in ("no change", "running mean", "scikit-learn SGD", "river linear"):
        assert name in captured.out
    assert "sp.CBCE" not in captured.out
    assert max(map(len, captured.out.splitlines())) <= 80
    assert "…" not in captured.out
    lines = captured.out.splitlines()
    assert lines[4].split() == ["estimator"]
    assert lines[5].split()[:2] == ["1", "SwordRegressor"]
    assert "SwordRegressor erred least: RMSE" in captured.out
    assert "price: regression" in captured.err
    assert "  note  words, one column each\n" in captured.err


def test_json_is_the_comparison_itself(prices, capsys):
    size, price = prices
    assert (
        run(
            [
                "compare",
                "prices.csv",
                "--target",
                "price",
                "--features",
                "size",
                "--json",
                "--quiet",
            ]
        )
        == 0
    )
    captured = capsys.readouterr()
    assert captured.err == ""
    found = json.loads(captured.out)
    expected = compare(field(size[:, None], price))
    assert found["rows"] == 400
    assert [one["name"] for one in found["standings"]] == [one.name for one in expected.results]
    for ours, theirs in zip(found["standings"], expected.results, strict=True):
        assert ours["error"] == pytest.approx(theirs.error, rel=ROUNDING)
        assert ours["regrets"] == pytest.approx(theirs.regrets, rel=1e-6)


@pytest.mark.parametrize("target", ["price", "up", "kind"])
def test_the_errors_are_those_of_track(target, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    size, word = (
        rng.normal(size=150),
        np.array(["a"] * 30 + ["b"] * 20 + ["c", "d"] * 50, dtype=object),
    )
    price = 50 + 3 * size + (word == "c") - 2 * (word == "d")
    columns = {
        "size": pa.array(size, mask=rng.random(150) < 0.1),
        "word": pa.array(word, mask=rng.random(150) < 0.1),
    }
    whole = {"price": price, "up": price > 50, "kind": np.digitize(price, [47, 53]).astype(str)}
    write(
        tmp_path / "t.csv",
        pa.record_batch({**columns, target: pa.array(whole[target], mask=rng.random(150) < 0.1)}),
    )
    some = [
        "--learners",
        "no change,running mean" if target == "price" else "no change,majority class",
    ]
    for begin in (["track"], ["compare", *some]):
        assert run([*begin, "t.csv", "--target", target, "--lags", "1", "--json", "--quiet"]) == 0
    tracked, compared = (
        json.loads(text) for text in re.findall(r"^\{.*?^\}", capsys.readouterr().out, re.S | re.M)
    )
    found = {one["name"]: one["error"] for one in compared["standings"]}
    learner, *baselines = list(tracked["errors"].items())[:3]
    assert found["SwordRegressor" if target == "price" else "SwordClassifier"] == pytest.approx(
        learner[1], rel=ROUNDING
    )
    for name, error in baselines:
        assert found[name] == pytest.approx(error, rel=ROUNDING)


@pytest.mark.parametrize("measure", ["RMSE", "error rate"])
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e12])
def test_the_widest_table_fits_into_80_columns(measure, size):
    marks = tuple(Benchmark(name, 1.0, 1.0) for name in ("fixed", "10 pieces", "100 pieces"))
    names = {
        "SwordRegressor": "estimator",
        "majority class": "baseline",
        "scikit-learn SGD": "rival",
        "river linear": "rival",
    }
    names |= {
        "sp.SwordAgeless": "learner",
        "best sp.OEGD": "learner",
        "OGD, step 1.23e-05": "learner",
    }
    error = 1.23456789 * size if measure == "RMSE" else 1.0
    regrets = dict.fromkeys(["fixed", "10 pieces", "100 pieces"], -1234567.8 * size)
    results = tuple(
        Result(rank + 90, name, kind, "", "1.2e-05", error, 1.0, regrets, 123456.0, np.zeros(1))
        for rank, (name, kind) in enumerate(names.items())
    )
    found = Comparison(
        200_000,
        9999,
        measure,
        8.0,
        marks,
        results,
        np.zeros(1, int),
        {"river logistic": "overflowed in row 199999"},
    )
    out = Console(width=80, file=io.StringIO())
    printed.show(found, out)
    text = out.file.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    for name in (*names, "river logistic", "overflowed in row 199999"):
        assert name in text


def test_the_verdict_says_who_won(prices):
    size, price = prices
    found = compare(field(size[:, None], price), only=["no change", "OGD"])
    ours = found.of("estimator")[0]
    first = found._replace(
        results=tuple(sorted(found.results, key=lambda one: one.kind != "estimator"))
    )
    assert printed.verdict(first).startswith(
        f"SwordRegressor erred least: RMSE {ours.error:.4g}; no change has"
    )
    told = found._replace(
        results=tuple(sorted(found.results, key=lambda one: one.kind != "learner"))
    )
    assert re.fullmatch(
        r"best sp.OGD erred least: RMSE [\d.]+, told step [\d.]+\.\n"
        rf"SwordRegressor, told nothing, is number {ours.rank} of 3: [\d.]+\.",
        printed.verdict(told),
    )


@pytest.mark.parametrize("target", ["up", "kind"])
def test_classes(prices, target, capsys):
    assert (
        run(["compare", "prices.csv", "--target", target, "--drop", "price", "--json", "--quiet"])
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["measure"] == "error rate"
    assert found["standings"][0]["error"] < 0.5
    assert {one["kind"] for one in found["standings"]} == {
        "estimator",
        "baseline",
        "rival",
        "learner",
    }
    without = [one for one in found["standings"] if one["loss"] is None]
    assert [one["kind"] for one in without].count("rival") == 2
    assert all(set(one["regrets"].values()) == {None} for one in without)


@pytest.mark.usefixtures("prices")
def test_the_report_has_the_curve(tmp_path, capsys):
    assert (
        run(
            [
                "compare",
                "prices.csv",
                "--target",
                "price",
                "--features",
                "size",
                "--report",
                "c.html",
                "--hindsight",
            ]
        )
        == 0
    )
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    for part in (
        "Learners compared",
        "Regret against every comparator",
        "All 400 rows were looked at",
    ):
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
        (
            ["prices.csv", "--target", "price", "--step-sizes", "0.1,-1"],
            "positive numbers between commas",
        ),
        (["prices.csv", "--target", "price", "--radius", "0"], "radius"),
        (
            ["prices.csv", "--target", "price", "--learners", "Swort"],
            "--learners: there is none called 'Swort'",
        ),
        (["huge.csv", "--target", "y"], "must not pass 1e+60"),
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
    (tmp_path / "huge.csv").write_text("x,y\n" + "1,2.5\n1,3.5\n" * 20 + "1,-1e61\n")
    assert run(["compare", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert "Traceback" not in captured.err


@pytest.mark.usefixtures("prices")
def test_examples_of_the_help_run(capsys):
    lines = [
        line.strip()
        for line in command.EXAMPLES.splitlines()
        if line.strip().startswith("swordplay")
    ]
    assert len(lines) == 3
    for line in lines:
        assert run(shlex.split(line.split(">")[0])[1:]) == 0
    capsys.readouterr()


def test_the_demo_shows_everything_in_one_report(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        rivals, "MOST_CALLS", 200
    )  # scikit-learn is asked for larger blocks, which is quicker
    report = tmp_path / "report.html"
    assert run(["demo", "--report", str(report), "--rounds", "100", "--quiet"]) == 0
    captured = capsys.readouterr()
    for part in (
        "electricity.csv.gz: price_up, binary",
        "SwordClassifier",
        "Instance 1",
        str(report),
    ):
        assert part in captured.out
    page = report.read_text(encoding="utf-8")
    for part in (
        "How fast the world moved",
        "Learners compared",
        "Regret against every comparator",
        "Instance 2",
    ):
        assert part in page
    assert len(page) < 6_000_000
