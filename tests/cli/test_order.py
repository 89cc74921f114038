"""What the commands say about the order of rows, and that the remedy they name is one."""

from __future__ import annotations

import csv
import datetime
import json
import os
import re
import shlex
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from swordplay.cli import run

REMEDY = re.compile(r"(--reverse|--sort \S+|--key \S+)(?:[.,]| gives)")
COUNTRIES = ["Austria", "Belgium", "Chile"]
DAYS = 90


def series(seed, level=0.0):
    """A target that drifts, so that neighbours in time know most about it: lines of day, x and
    y.
    """
    rng = np.random.default_rng(seed)
    x, drift = rng.normal(size=DAYS), np.cumsum(rng.normal(size=DAYS))
    begin = datetime.date(2021, 3, 1)
    return [(begin + datetime.timedelta(k), x[k], level + 3 * drift[k] + x[k]) for k in range(DAYS)]


def write(path, rows, *names):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("day", *names, "x", "y"), *rows])
    return str(path)


def panel():
    return {
        name: [(day, name, x, y) for day, x, y in series(k, 500.0 * k)]
        for k, name in enumerate(COUNTRIES)
    }


def one_series(order):
    rows = series(0)
    return [rows[k] for k in order]


def tables(folder):
    """Every disorder, as a file.

    All of them are the same rows as one of two tables that are in order.
    """
    mixed = np.random.default_rng(1).permutation(DAYS)
    under = [row for rows in panel().values() for row in rows]
    return {
        "newest first": write(folder / "a.csv", one_series(range(DAYS - 1, -1, -1))),
        "shuffled": write(folder / "b.csv", one_series(mixed)),
        "stacked": write(folder / "c.csv", under, "country"),
        "side by side": write(folder / "d.csv", sorted(under), "country"),
    }


def answer(capsys, *arguments):
    assert run(["track", *arguments, "--target", "y", "--json", "--quiet"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("kind", ["newest first", "shuffled", "stacked", "side by side"])
def test_the_remedy_makes_the_remark_vanish_and_the_error_smaller(capsys, tmp_path, kind):
    path = tables(tmp_path)[kind]
    before = answer(capsys, path)
    (remark,) = before["remarks"]
    remedy = shlex.split(REMEDY.search(remark)[1])
    after = answer(capsys, path, *remedy)
    assert after["remarks"] == []
    if kind != "newest first":  # a drift is as hard to follow backwards
        assert after["errors"]["swordplay"] < 0.8 * before["errors"]["swordplay"]


def test_it_is_said_at_once_and_at_the_end(capsys, tmp_path):
    path = tables(tmp_path)["shuffled"]
    assert run(["track", path, "--target", "y"]) == 0
    captured = capsys.readouterr()
    words = "The rows are not in the order of time: day goes back at"
    assert captured.err.count(words) == captured.out.count(words) == 1
    assert "Give --sort day." in captured.err
    assert max(map(len, captured.out.splitlines())) <= 80


def test_a_pipe_is_told_as_soon_as_there_is_enough(capsys, tmp_path):
    """Its first rows are too few to tell; what is noticed later is said then, once."""
    lines = Path(tables(tmp_path)["newest first"]).read_text().splitlines(keepends=True)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def slowly():
        with pipe.open("w") as file:
            for part in (lines[:4], lines[4:30], lines[30:]):
                file.write("".join(part))
                file.flush()
                time.sleep(1.2)  # the head of a pipe is what comes within a second

    writer = threading.Thread(target=slowly)
    writer.start()
    assert run(["track", str(pipe), "--target", "y", "--format", "csv"]) == 0
    writer.join()
    said = [line for line in capsys.readouterr().err.splitlines() if "newest rows" in line]
    assert said == [
        "The newest rows come first: day falls at 100 % of its changes. Give --reverse."
    ]


def test_keys_in_words(capsys, tmp_path):
    path = tables(tmp_path)["side by side"]
    report = tmp_path / "r.html"
    options = [
        "--target",
        "y",
        "--key",
        "country",
        "-o",
        str(tmp_path / "p.csv"),
        "--report",
        str(report),
    ]
    assert run(["track", path, *options]) == 0
    captured = capsys.readouterr()
    assert "the last one again, of the same key" in captured.out
    assert re.search(r"best +\w+ +89 ", captured.out)
    assert re.search(r"3 keys \(country\); \w+ is ahead of no change in \d\.", captured.out)
    assert max(map(len, captured.out.splitlines()[:-2])) <= 80
    assert "country  left out: it is the key" in captured.err
    with (tmp_path / "p.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["country"] for row in rows[:4]] == [*COUNTRIES, COUNTRIES[0]]
    assert [row["prediction"] == "" for row in rows[:4]] == [True, True, True, False]
    assert "Where it did best" in report.read_text()


def test_keys_as_json(capsys, tmp_path):
    found = answer(capsys, tables(tmp_path)["stacked"], "--key", "country")
    assert (found["key"], found["keys"], found["predicted"]) == (["country"], 3, 3 * (DAYS - 1))
    named = [*found["best"], *found["worst"]]
    assert sorted(one["key"]["country"] for one in named) == COUNTRIES
    assert (found["learner"], found["first_refused"]) == ("swordplay", [])
    squares = sum(one["rows"] * one["errors"]["swordplay"] ** 2 for one in named)
    assert found["errors"]["swordplay"] == pytest.approx((squares / found["predicted"]) ** 0.5)
    assert found["keys_ahead"] == sum(
        one["errors"]["swordplay"] < one["errors"]["no change"] for one in named
    )


def test_reverse_and_sort_together_are_refused(capsys, tmp_path):
    path = tables(tmp_path)["shuffled"]
    for command in ("track", "compare"):
        assert run([command, path, "--target", "y", "--reverse", "--sort", "day"]) == 2
        assert "--reverse and --sort do not go together" in capsys.readouterr().err


def test_compare_sorts_too(capsys, tmp_path):
    path = tables(tmp_path)["shuffled"]
    assert run(["compare", path, "--target", "y", "--rows", "40", "--json"]) == 0
    captured = capsys.readouterr()
    assert "Give --sort day." in captured.err
    before = json.loads(captured.out)["standings"]
    assert run(["compare", path, "--target", "y", "--rows", "40", "--json", "--sort", "day"]) == 0
    captured = capsys.readouterr()
    assert "--sort" not in captured.err
    assert min(one["error"] for one in json.loads(captured.out)["standings"]) < min(
        one["error"] for one in before
    )
