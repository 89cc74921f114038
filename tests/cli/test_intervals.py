"""Intervals on the command line: columns, options, the summary, and going on where a run was."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import swordplay
from swordplay.cli import run
from swordplay.intervals import SwordIntervals
from swordplay.tracking import TrackingError
from tracking.files import write


@pytest.fixture
def prices(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    size = rng.normal(size=400)
    table = pa.record_batch(
        {"size": size, "price": 100 + 3 * size + rng.normal(size=400), "shop": ["a", "b"] * 200}
    )
    return str(write(tmp_path / "prices.csv", table))


def lines(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_lower_and_upper_stand_beside_each_number(prices, capsys):
    assert run(["track", prices, "--target", "price", "-o", "p.csv", "--quiet"]) == 0
    found = lines("p.csv")
    assert list(found[0]) == [
        "row",
        "prediction",
        "lower",
        "upper",
        "truth",
        "loss",
        "running_error",
    ]
    assert [row["lower"] for row in found[:6]] == [""] * 6
    held = [float(row["lower"]) <= float(row["truth"]) <= float(row["upper"]) for row in found[6:]]
    assert 0.85 < np.mean(held) < 0.95
    said = capsys.readouterr().out
    assert (
        f"Intervals held {100 * (sum(held) + 5) / 399:.1f} % of the truths, 90 % asked for" in said
    )


def test_level_and_no_interval(prices, capsys):
    assert run(["track", prices, "--target", "price", "--level", "0.5", "--json", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)["intervals"]
    assert told["level"] == 0.5
    assert told["coverage"] == pytest.approx(0.5, abs=0.03)
    assert told["unbounded"] == 5
    assert (
        run(
            [
                "track",
                prices,
                "--target",
                "price",
                "--no-interval",
                "-o",
                "p.csv",
                "--json",
                "--quiet",
            ]
        )
        == 0
    )
    assert "intervals" not in json.loads(capsys.readouterr().out)
    assert "lower" not in lines("p.csv")[0]
    assert (
        run(
            [
                "track",
                prices,
                "--target",
                "price",
                "--key",
                "shop",
                "--no-interval",
                "-o",
                "k.csv",
                "--quiet",
            ]
        )
        == 0
    )
    assert "lower" not in lines("k.csv")[0]


def test_each_key_has_intervals_of_its_own(prices, capsys):
    keyed = ["track", prices, "--target", "price", "--key", "shop", "--quiet"]
    assert run([*keyed, "-o", "k.csv", "--level", "0.8", "--report", "k.html"]) == 0
    said = capsys.readouterr().out
    found = lines("k.csv")
    assert list(found[0]) == [
        "row",
        "shop",
        "prediction",
        "lower",
        "upper",
        "truth",
        "loss",
        "running_error",
    ]
    own = [line for line in found if line["shop"] == "b" and line["prediction"]]
    said_of, truths = ([float(line[name]) for line in own] for name in ("prediction", "truth"))
    alone = SwordIntervals(0.8).interval_then_learn(
        said_of, truths
    )  # they look at predictions and truths, not at columns
    assert [(line["lower"], line["upper"]) for line in own[5:]] == [
        (repr(a), repr(b)) for a, b in alone[5:].tolist()
    ]
    ends = [
        (float(line["lower"]), float(line["upper"]), float(line["truth"]))
        for line in found
        if line["lower"]
    ]
    held = (
        sum(lower <= truth <= upper for lower, upper, truth in ends) + 2 * 5
    )  # those of the first five rows have no ends
    width = sum(upper - lower for lower, upper, _ in ends) / len(ends)
    assert (
        f"Intervals held {100 * held / 398:.1f} % of the truths, 80 % asked for, {width:.3g} wide "
        "on average." in said
    )
    assert "was to hold the actual value in 80" in Path("k.html").read_text()
    capsys.readouterr()
    assert run([*keyed, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["intervals"]
    assert told["unbounded"] == 10
    assert told["level"] == 0.9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--level", "90"], "90.0 is not in the range"),
        (["--level", "0"], "0.0 is not in the range"),
        (["--level", "high"], "'high' is not a valid float"),
        (["--level", "0.9", "--no-interval"], "--level does not go together with --no-interval"),
        (["--id", "upper"], "upper"),
    ],
)
def test_what_is_refused(prices, options, words, capsys):
    assert run(["track", prices, "--target", "price", *options]) == 2
    assert words in capsys.readouterr().err


def test_a_run_goes_on_with_its_intervals_and_with_no_other_level(prices, capsys):
    whole = ["track", prices, "--target", "price", "--quiet"]
    assert run([*whole, "-o", "whole.csv"]) == 0
    text = Path(prices).read_text().splitlines(keepends=True)
    with open("grows.csv", "w") as file:
        file.writelines(text[:151])
    growing = [
        "track",
        "grows.csv",
        "--target",
        "price",
        "-o",
        "parts.csv",
        "--state",
        "s",
        "--quiet",
    ]
    assert run(growing) == 0
    with open("grows.csv", "a") as file:
        file.writelines(text[151:])
    assert run([*growing, "--level", "0.8"]) == 2
    assert "was saved with --level 0.9, and now it is --level 0.8" in capsys.readouterr().err
    assert run([*growing, "--no-interval"]) == 2
    assert "now it is no --level" in capsys.readouterr().err
    assert run(growing) == 0
    assert Path("parts.csv").read_bytes() == Path("whole.csv").read_bytes()


def test_from_python(prices):
    found = swordplay.track(prices, target="price", level=0.8)
    assert {"lower", "upper"} <= set(found.predictions.column_names)
    assert found.summary["intervals"]["level"] == 0.8
    assert (
        "lower" not in swordplay.track(prices, target="price", level=None).predictions.column_names
    )
    assert "lower" in swordplay.track(prices, target="price", key="shop").predictions.column_names
    assert (
        "lower"
        not in swordplay.track(
            prices, target="price", key="shop", level=None
        ).predictions.column_names
    )
    with pytest.raises(TrackingError, match=r"level must lie between 0 and 1, got 1\.5"):
        swordplay.track(prices, target="price", level=1.5)
