"""What is said of the learner beside the baselines, by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from swordplay.cli import run
from swordplay.tracking.verdict import BLOCKS, FEWEST_ROWS, figure, in_blocks, verdict

HINT = " --lags 3 lets the last targets join, which often helps here."


def errors(ours, last, mean=9.0, name="running mean"):
    return {"swordplay": ours, "no change": last, name: mean, "best step size": 0.001}


@pytest.mark.parametrize(
    ("told", "lags", "expected"),
    [
        (
            (0.0244, 0.0166),
            0,
            f"Worse than repeating the last value (no change): 0.02440 beside 0.01660.{HINT}",
        ),
        (
            (0.0244, 0.0166),
            2,
            "Worse than repeating the last value (no change): 0.02440 beside 0.01660.",
        ),
        (
            (1.0, 1.05),
            0,
            f"Hardly better than repeating the last value (no change): 1.000 beside 1.050.{HINT}",
        ),
        (
            (1.0, 1.05),
            1,
            "Hardly better than repeating the last value (no change): 1.000 beside 1.050.",
        ),
        ((1.0, 1.051), 0, ""),
        ((2.0, 3.0, 1.0), 0, "Worse than the running mean: 2.000 beside 1.000."),
        ((2.0, 1.5, 1.0), 0, f"Worse than the running mean: 2.000 beside 1.000.{HINT}"),
        ((1.00001, 1.0), 1, "No better than repeating the last value (no change): both 1.000."),
        ((0.0, 0.0), 0, ""),
    ],
)
def test_numbers(told, lags, expected):
    assert verdict(errors(*told), "regression", FEWEST_ROWS, lags=lags) == expected


def test_classes_and_keys():
    told = errors(0.3, 0.4, 0.2, "majority class")
    assert (
        verdict(told, "binary", 50, lags=1)
        == "Worse than the commonest class so far (majority class): 30.00 % beside 20.00 %."
    )
    told = errors(0.3, 0.2, 0.4, "majority class")
    said = verdict(told, "multi-class", 50, lags=1, same_key=True)
    assert (
        said == "Worse than repeating the last class of the same key (no change): 30.00 % beside "
        "20.00 %."
    )


def test_nothing_is_said_of_a_few_rows():
    assert FEWEST_ROWS == 20
    assert verdict(errors(2.0, 1.0), "regression", 19, lags=0) == ""
    assert not in_blocks(1 / 19, 19, np.diag([9, 10]))


@pytest.mark.parametrize(
    ("mistakes", "counts", "expected"),
    [
        (2, [20, 30, 40], True),
        (3, [20, 30, 40], False),
        (1, [20, 30], True),
        (0, [50], False),
        (1, [49, 1], False),
    ],
)
def test_classes_in_blocks(mistakes, counts, expected):
    rows = sum(counts)
    assert in_blocks(mistakes / rows, rows, np.diag(counts)) is expected


def test_errors_have_no_trailing_point():
    assert [figure(error, "regression") for error in (999.94, 1680.2, 9999.4, 10_000.0)] == [
        "999.9",
        "1680",
        "9999",
        "10000",
    ]


def table(path, targets, seed=0):
    x = np.random.default_rng(seed).normal(size=len(targets))
    path.write_text("x,y\n" + "".join(f"{a:.3f},{b}\n" for a, b in zip(x, targets, strict=True)))
    return str(path)


def test_a_table_sorted_by_its_target(tmp_path, capsys):
    path, page = (
        table(tmp_path / "t.csv", [name for name in "abc" for _ in range(30)]),
        tmp_path / "r.html",
    )
    assert (
        run(
            [
                "track",
                path,
                "--target",
                "y",
                "--json",
                "--quiet",
                "--report",
                str(page),
            ]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["verdict"] == BLOCKS
    assert "each class in one block: this is not a stream" in page.read_text(encoding="utf-8")
    mixed = table(tmp_path / "m.csv", list("abc") * 30)
    assert run(["track", mixed, "--target", "y", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] != BLOCKS


def test_the_terminal_says_it_below_the_table(tmp_path, capsys):
    walk = 1000.0 + np.cumsum(np.random.default_rng(1).normal(size=200))
    path = table(tmp_path / "t.csv", walk.round(4))
    assert run(["track", path, "--target", "y", "--quiet", "--curves", "none"]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    place = next(
        k
        for k, line in enumerate(lines)
        if line.startswith("Worse than repeating the last value (no change): ")
    )
    assert lines[place - 1] == ""
    assert lines[place - 2].startswith("best step size")
    assert "--lags 3" in out
    assert "one learning rate (1" in out
    assert "best in hindsight" in out
    assert "At the end the last " in out
    assert " rows or so decide (effective step size 1" in out
    assert run(["track", path, "--target", "y", "--quiet", "--lags", "3", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["verdict"]
    assert said
    assert "--lags" not in said
