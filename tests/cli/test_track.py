"""``swordplay track``: what it prints, what it refuses, what it leaves behind, and how it is
stopped.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest

from swordplay.cli import run, track
from tolerances import ROUNDING
from tracking.files import write
from tracking.worlds import TASKS, world

COMMAND = [sys.executable, "-m", "swordplay"]
PATIENCE = 60.0
"""Seconds that a test waits for another process on a busy machine."""


@pytest.fixture
def prices(tmp_path, monkeypatch):
    """A table to play with, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    size = rng.normal(size=300)
    columns = {
        "id": [f"#{k}" for k in range(300)],
        "note": ["a", "b"] * 150,
        "size": size,
        "price": 100 + 3 * size,
    }
    return write(tmp_path / "prices.csv", pa.record_batch(columns))


def lines(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def wait_for(what):
    deadline = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.usefixtures("prices")
def test_summary(capsys):
    assert run(["track", "prices.csv", "--target", "price", "-o", "p.csv"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("prices.csv: price, regression\n")
    for name in ("swordplay", "no change", "running mean", "best step size"):
        assert name in captured.out
    assert "300 rows in" in captured.out
    assert "Predictions   p.csv" in captured.out
    assert max(map(len, captured.out.splitlines())) <= 80
    assert "price: regression, as the values are numbers" in captured.err
    assert "\n  id    left out: every value is different\n" in captured.err
    assert "\n  size  number\n" in captured.err
    assert "\n  note  words, one column each\n" in captured.err
    assert len(lines("p.csv")) == 300


@pytest.mark.parametrize("task", TASKS)
def test_json(capsys, tmp_path, task):
    path = write(tmp_path / "table.csv", world(task, 300, seed=1))
    assert (
        run(
            [
                "track",
                str(path),
                "--target",
                "y",
                "-o",
                str(tmp_path / "p.csv"),
                "--json",
                "--quiet",
            ]
        )
        == 0
    )
    captured = capsys.readouterr()
    assert captured.err == ""
    answer = json.loads(captured.out)
    predicted = [row for row in lines(tmp_path / "p.csv") if row["loss"]]
    assert answer["task"] == task
    assert answer["rows"] == 300
    assert answer["predicted"] == len(predicted)
    assert answer["unlabelled"] == sum(row["truth"] == "" for row in lines(tmp_path / "p.csv"))
    assert answer["errors"]["swordplay"] == pytest.approx(
        float(predicted[-1]["running_error"]), rel=ROUNDING
    )
    if task == "regression":
        off = [abs(float(row["prediction"]) - float(row["truth"])) for row in predicted]
        assert answer["mean_absolute_errors"]["swordplay"] == pytest.approx(
            sum(off) / len(off), rel=ROUNDING
        )
    else:
        assert answer["log_loss"] == pytest.approx(
            sum(float(row["loss"]) for row in predicted) / len(predicted), rel=ROUNDING
        )
        assert 0.0 < answer["brier_score"] < 1.0
    assert answer["changes"] == []
    assert answer["files"] == {"predictions": str(tmp_path / "p.csv")}
    assert [column["name"] for column in answer["columns"]] == [
        "x",
        "z",
        "flag",
        "when",
        "colour",
        "name",
    ]


def test_the_report_has_the_regret_only_with_hindsight(capsys, prices):
    track = ["track", "prices.csv", "--target", "price", "--report", "r.html"]
    page = prices.parent / "r.html"
    assert run(track) == 0
    captured = capsys.readouterr()
    assert "hindsight" not in captured.err
    assert re.search(r"RMSE +MAE", captured.out)
    assert "Regret against every comparator" not in page.read_text(encoding="utf-8")
    assert run([*track, "--hindsight"]) == 0
    # said though standard error is no terminal
    assert "The best models of hindsight are computed" in capsys.readouterr().err
    assert "Regret against every comparator" in page.read_text(encoding="utf-8")


def test_examples_of_the_help_run(capsys, prices, monkeypatch):
    examples = [line.strip() for line in track.EXAMPLES.splitlines() if "swordplay track" in line]
    assert len(examples) == 5
    for example in examples[:-1]:
        assert run([*shlex.split(example.split(">")[0])[1:], "--force"]) == 0, (
            capsys.readouterr().err
        )
    assert {
        "predictions.parquet",
        "predictions.csv",
        "prices.state",
        "report.html",
    } <= set(os.listdir())
    assert "<html" in (prices.parent / "report.html").read_text()[:1000]
    pipe = examples[-1].replace("tail -n +1 -f", "cat").replace("swordplay", shlex.join(COMMAND))
    done = subprocess.run(pipe, shell=True, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 301
    assert "standard input: price, regression" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["prices.csv"], "Missing option '--target'"),
        (["prices.csv", "--target", "price", "--hindsight"], "Give --report as well"),
        (
            [
                *("prices.csv", "--target", "price", "--report", "r.html"),
                *("--hindsight", "--key", "colour"),
            ],
            "does not go together with --key",
        ),
        (["--target", "price"], "Missing argument 'FILE'"),
        (["nothing.csv", "--target", "price"], "nothing.csv"),
        (["prices.csv", "--target", "prise"], "Did you mean 'price'?"),
        (["prices.csv", "--target", "price", "--task", "guess"], "'guess' is not one of"),
        (["prices.csv", "--target", "note", "--task", "regression"], "a regression needs numbers"),
        (["prices.csv", "--target", "price", "--features", "sice"], "Did you mean 'size'?"),
        (["prices.csv", "--target", "price", "--features", "a,,b"], "between commas"),
        (["prices.csv", "--target", "price", "--drop", "price"], "names the target"),
        (["prices.csv", "--target", "price", "--lags", "-1"], "--lags"),
        (["prices.csv", "--target", "price", "-o", "p.txt"], "p.txt"),
        (["prices.csv", "--target", "price", "-o", "no/p.csv"], "no/p.csv"),
        (["prices.csv", "--target", "price", "-o", "there.csv"], "there.csv exists already"),
        (
            ["prices.csv", "--target", "price", "-o", "prices.csv"],
            "FILE and --output are the same file",
        ),
        (
            ["prices.csv", "--target", "price", "-o", "x.csv", "--state", "x.csv"],
            "--output and --state are the same file",
        ),
        (
            ["p.csv.partial", "--target", "price", "-o", "p.csv"],
            "FILE and the .partial of --output are the same file",
        ),
        (
            ["p.csv.assembling", "--target", "price", "-o", "p.csv"],
            "FILE and the .assembling of --output are the same file",
        ),
        (
            [
                "q.csv.refused.csv",
                "--target",
                "price",
                "-o",
                "q.csv",
                "--on-bad",
                "skip",
                "--force",
            ],
            "FILE and the file of refused rows are the same file",
        ),
        (
            ["prices.csv", "--target", "price", "-o", "a.csv", "--state", "a.csv.partial"],
            "the .partial of --output and --state",
        ),
        (["prices.csv", "--target", "price", "--state", "no/s"], "--state no/s cannot be written"),
        (["prices.csv", "--target", "price", "--report", "r.pdf"], "must end in .html"),
        (["prices.csv", "--target", "price", "--report", "no/r.html"], "cannot write 'no/r.html'"),
        (
            ["prices.csv", "--target", "price", "--state", "there.csv"],
            "is not a checkpoint of swordplay",
        ),
        (
            ["prices.csv", "--target", "price", "--state", "s", "--rows", "5"],
            "does not go together with --state",
        ),
        (["prices.csv", "--target", "price", "-o", "-", "--json"], "both go to standard output"),
        (["prices.csv", "--target", "price", "--encoding", "klingon"], "klingon"),
        (["empty.csv", "--target", "price"], "empty.csv"),
        (["bad.csv", "--target", "y"], "line 3"),
        ([".", "--target", "price"], "is a folder"),
    ],
)
def test_refused_in_two_lines_before_anything_is_written(capsys, prices, arguments, told):
    folder = prices.parent
    (folder / "there.csv").write_text("precious")
    (folder / "empty.csv").write_text("")
    (folder / "bad.csv").write_text("x,y\n1,2\n1,2,3\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert run(["track", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert told in captured.err
    assert len(captured.err.splitlines()) <= 2
    assert "Traceback" not in captured.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_row_that_is_bad_later_is_a_failure_on_the_way(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "long.csv", world("regression", 60_000, seed=2).select(["x", "z", "y"]))
    with path.open("a") as file:
        file.write("not,a,number\n")
    assert path.stat().st_size > 1 << 20
    arguments = ["track", "long.csv", "--target", "y", "-o", "p.csv"]
    code = run(arguments)
    captured = capsys.readouterr()
    assert code == 1
    assert "long.csv" in captured.err
    assert "60002" in captured.err
    assert (
        "predictions of the first 60,000 rows are kept in p.csv.partial. To begin anew add --force"
        in captured.err
    )
    assert len(lines("p.csv.partial")) == 60_000
    assert sorted(os.listdir()) == ["long.csv", "p.csv.partial"]
    assert run([*arguments, "--on-bad", "skip"]) == 2
    assert run([*arguments, "--on-bad", "skip", "--force"]) == 0
    assert [(row["row"], row["line"]) for row in lines("p.csv.refused.csv")] == [("60001", "60002")]
    assert "Refused rows  p.csv.refused.csv" in capsys.readouterr().out


@pytest.mark.usefixtures("prices")
def test_the_same_command_again(capsys):
    arguments = [
        "track",
        "prices.csv",
        "--target",
        "price",
        "-o",
        "p.csv",
        "--state",
        "s",
        "--json",
        "--quiet",
    ]
    answers = []
    for _ in range(2):
        assert run(arguments) == 0
        answers.append(json.loads(capsys.readouterr().out))
        answers[-1].pop("seconds")
        answers[-1].pop("rows_per_second")
    assert answers[0] == answers[1]
    assert run([*arguments, "--lags", "1"]) == 2
    assert "--force" in capsys.readouterr().err


@pytest.mark.usefixtures("prices")
def test_progress_on_a_terminal_respects_no_color(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    for no_color in (False, True):
        monkeypatch.setenv("NO_COLOR", "1") if no_color else monkeypatch.delenv(
            "NO_COLOR", raising=False
        )
        assert run(["track", "prices.csv", "--target", "price"]) == 0
        captured = capsys.readouterr()
        assert "300 rows" in captured.err
        assert "RMSE" in captured.err
        assert ("\x1b[38;" in captured.err) != no_color


@pytest.mark.usefixtures("prices")
def test_quiet(capsys):
    assert run(["track", "prices.csv", "--target", "price", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "swordplay" in captured.out


def test_hostile_names_are_shown_as_they_are(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "[bold]x[/bold] </script>"
    write(
        tmp_path / "[red]t.csv",
        pa.record_batch({name: np.arange(50.0) % 7, "[y]": np.arange(50.0) % 5}),
    )
    assert run(["track", "[red]t.csv", "--target", "[y]"]) == 0
    captured = capsys.readouterr()
    assert name in captured.err
    assert captured.out.startswith("[red]t.csv: [y], ")


def test_a_live_pipe_shows_rows_as_they_come(tmp_path):
    command = [*COMMAND, "track", "-", "--target", "y", "-o", "-", "--quiet"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdin.write("x,y\n")
        for k in range(20):
            process.stdin.write(f"{k % 7},{k % 7 + 0.5}\n")
        process.stdin.flush()
        found = [process.stdout.readline() for _ in range(21)]  # the pipe is still open
        assert found[-1].startswith("20,")
        process.stdin.write("3,3.5\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith("21,")
        process.send_signal(signal.SIGINT)
        error = process.stderr.read()
        process.wait(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGINT
    assert "stopped after row 21" in error
    assert "nothing was kept" not in error


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.deep)]
)
def test_a_signal_saves_and_the_same_command_goes_on(tmp_path, number):
    path, state = tmp_path / "table.csv", tmp_path / "state"
    batch = world("regression", 900, seed=3)
    write(path, batch)
    data = path.read_text()
    options = ["--target", "y", "--state", str(state), "-o"]
    cut = data.index("\n", len(data) // 2) + 1
    command = [*COMMAND, "track", "-", *options, str(tmp_path / "p.csv")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdin.write(data[:cut])
        process.stdin.flush()
        wait_for((tmp_path / "p.csv.partial").exists)  # it has begun, and is waiting for more
        process.send_signal(number)
        error = process.stderr.read()
        process.wait(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert f"saved in {state}. Run the same command again to go on." in error
    assert not (tmp_path / "p.csv").exists()
    subprocess.run(command, input=data, text=True, check=True, capture_output=True)
    assert (
        run(["track", str(path), "--target", "y", "-o", str(tmp_path / "straight.csv"), "--quiet"])
        == 0
    )
    assert (tmp_path / "p.csv").read_bytes() == (tmp_path / "straight.csv").read_bytes()


def test_whoever_stops_reading_gets_no_traceback(tmp_path):
    path = write(tmp_path / "table.csv", world("regression", 30_000, seed=4).select(["x", "y"]))
    command = (
        f"{shlex.join([*COMMAND, 'track', str(path), '--target', 'y', '-o', '-', '--quiet'])} "
        "| head -3"
    )
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 3
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 1


def test_a_bad_row_in_a_run_that_goes_on_is_a_failure_on_the_way(capsys, prices):
    arguments = ["track", "prices.csv", "--target", "price", "--state", "s"]
    assert run(arguments) == 0
    with prices.open("a") as file:
        file.write("too,few\n")
    assert run(arguments) == 1
    assert "line 302" in capsys.readouterr().err


@pytest.mark.usefixtures("prices")
def test_streams_are_written_to_though_they_exist(capsys):
    assert (
        run(["track", "prices.csv", "--target", "price", "-o", "/dev/null", "--on-bad", "skip"])
        == 0
    )
    os.mkfifo("fifo")
    command = (
        f"{shlex.join([*COMMAND, 'track', 'prices.csv', '--target', 'price', '-o', 'fifo', '--quiet'])} "  # noqa: E501
        "& cat fifo; wait $!"
    )
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert "\n300," in done.stdout


@pytest.mark.usefixtures("prices")
@pytest.mark.parametrize(
    ("redirected", "code", "told"),
    [
        ("> /dev/full", 1, "swordplay: the result cannot be written: No space left on device.\n"),
        pytest.param(
            *(
                "--json > /dev/full",
                1,
                "swordplay: the result cannot be written: No space left on device.\n",
            ),
            marks=pytest.mark.deep,
        ),
        (
            "-o - > /dev/full",
            2,
            "swordplay: standard output cannot be written: No space left on device.",
        ),
        ("-o - >&-", 2, "swordplay: -o - goes to standard output, which is closed."),
        (">&-", 0, ""),
        ("2>&-", 0, ""),
    ],
)
def test_outputs_that_are_full_or_closed(redirected, code, told):
    command = f"{shlex.join([*COMMAND, 'track', 'prices.csv', '--target', 'price'])} {redirected}"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert done.returncode == code


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_first_row(capfd, number, monkeypatch):
    """It comes before anybody has asked whether to stop."""
    monkeypatch.setattr(
        "swordplay.tracking.run",
        lambda *_, **__: os.kill(os.getpid(), number) or time.sleep(PATIENCE),
    )
    assert run(["track", "-", "--target", "y"]) == 128 + number
    assert "swordplay: interrupted." in capfd.readouterr().err
