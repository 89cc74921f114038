"""``swordplay track`` at the end of a pipe: bad rows are left out and listed, formats follow,
nothing is lost.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from swordplay.cli import progress, run
from swordplay.tracking.paths import refused_path

COMMAND = [sys.executable, "-m", "swordplay", "track"]


def feed(rows, seconds=0.0, size=1 << 20):
    """A file descriptor through which rows come, so many at a time and with a pause after each
    piece.
    """
    reader, writer = os.pipe()

    def write():
        with contextlib.suppress(BrokenPipeError), os.fdopen(writer, "wb", buffering=0) as file:
            for first in range(0, len(rows), size):
                file.write("".join(rows[first : first + size]).encode())
                time.sleep(seconds)

    threading.Thread(target=write, daemon=True).start()
    return reader


@pytest.fixture
def piped(tmp_path, monkeypatch, capfd):
    """Run the command in an empty folder on rows that come through standard input."""
    monkeypatch.chdir(tmp_path)

    def call(rows, *arguments, **delays):
        before, reader = os.dup(0), feed(rows, **delays)
        os.dup2(reader, 0)
        try:
            code = run(["track", "-", "--target", "y", *arguments])
        finally:
            os.dup2(before, 0)
            os.close(before)
            os.close(reader)
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def bad_rows(count, every):
    """A table of so many rows, of which one in so many is bad in one of three ways.

    And which ones these are.
    """
    kinds = (lambda k: f"{k % 7},oops\n", lambda k: f"{k % 7},1,2\n", lambda k: f"word,{k % 5}.5\n")
    bad = list(range(every // 2, count + 1, every))
    rows = [
        kinds[bad.index(k) % 3](k) if k in bad else f"{k % 7},{k % 5}.5\n"
        for k in range(1, count + 1)
    ]
    return ["x,y\n", *rows], bad


def test_a_live_pipe_with_one_bad_row_in_a_hundred_runs_to_its_end_and_lists_them(piped):
    rows, bad = bad_rows(5000, 100)
    code, out, err = piped(rows, "-o", "p.csv", "--state", "s", "--json", seconds=0.05, size=250)
    assert code == 0
    answer = json.loads(out)
    assert (answer["rows"], answer["refused"], answer["files"]["refused rows"]) == (
        4950,
        50,
        "p.csv.refused.csv",
    )
    assert [one["row"] for one in answer["first_refused"]] == bad[:5]
    with open("p.csv.refused.csv") as file:
        assert [int(row["row"]) for row in csv.DictReader(file)] == bad
    with open("p.csv") as file:
        assert [int(row["row"]) for row in csv.DictReader(file)] == [
            k for k in range(1, 5001) if k not in bad
        ]
    lines = err.splitlines()
    assert (
        lines[0]
        == "Bad rows are left out and listed in p.csv.refused.csv; --on-bad stop ends at the "
        "first one."
    )
    told = [line for line in lines if line.startswith("Left out row")]
    assert len(told) == 5
    assert told[0] == "Left out row 50 (line 51), column 'y': 'oops' is not a finite number."
    assert sum("from now on they are only listed and counted" in line for line in lines) == 1


def test_stop_is_the_default_of_files_and_can_be_asked_for_on_pipes(piped):
    rows, _ = bad_rows(120, 100)
    code, _, err = piped(
        rows, "--on-bad", "stop", "-o", "p.csv", "--state", "s", size=60, seconds=0.3
    )
    assert code == 1
    assert "line 51 (row 50), column 'y': 'oops' is not a finite number" in err
    assert (
        "The first 49 rows are saved in s, their predictions in p.csv.partial. Run the same "
        "command again to go on." in err
    )
    rows[50] = "1,2.5\n"
    code, _, err = piped(rows, "--on-bad", "stop", "-o", "p.csv", "--state", "s")
    assert code == 0
    assert "Going on after row 49." in err
    with open("table.csv", "w") as file:
        file.writelines(rows)
    with open("table.csv") as file:
        assert (
            subprocess.run(
                [*COMMAND, "-", "--target", "y", "-o", "q.csv"], stdin=file, capture_output=True
            ).returncode
            == 0
        )
    with open("p.csv") as one, open("q.csv") as other:
        assert one.read() == other.read()


def test_lists_of_refused_rows_are_never_overwritten(piped):
    rows, _ = bad_rows(40, 30)
    for name in ("standard-input.refused.csv", "standard-input.refused-2.csv"):
        code, out, _ = piped(rows, "-o", "-")
        assert code == 0
        assert len(table(out)) == 39
        assert len(table(Path(name).read_text())) == 1
    assert sorted(os.listdir()) == ["standard-input.refused-2.csv", "standard-input.refused.csv"]


def test_where_refused_rows_are_listed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    assert refused_path("p.csv", "t.csv", "s") == "p.csv.refused.csv"
    assert refused_path("-", "t.csv", "s") == "t.csv.refused.csv"
    assert refused_path(None, "pipe", "s") == "s.refused.csv"
    assert refused_path("/dev/null", "-", None) == "standard-input.refused.csv"
    monkeypatch.setattr("os.access", lambda *_: False)
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "t"))
    assert refused_path(None, "-", None) == str(tmp_path / "t" / "standard-input.refused.csv")


def test_standard_output_follows_the_format_of_the_input(piped):
    rows = [f'{{"x": {k % 7}, "y": {k % 5}.5}}\n' for k in range(30)]
    code, out, _ = piped(rows, "-o", "-")
    assert code == 0
    assert [json.loads(line)["row"] for line in out.splitlines()] == list(range(1, 31))
    code, out, _ = piped(rows, "-o", "-", "--output-format", "csv")
    assert [int(row["row"]) for row in table(out)] == list(range(1, 31))
    code, _, _ = piped(rows, "-o", "predictions", "--output-format", "ndjson")
    assert len([json.loads(line) for line in Path("predictions").read_text().splitlines()]) == 30
    code, _, err = piped(rows, "-o", "-", "--output-format", "parquet")
    assert code == 2
    assert "Parquet cannot be written to standard output" in err
    code, _, err = piped(rows, "-o", "/dev/null", "--output-format", "parquet")
    assert code == 2
    assert "Parquet cannot be written to a stream" in err


def test_ids_on_the_command_line(piped):
    rows = ["key,day,y\n", *(f"k{k},2024-01-{k % 28 + 1:02d},{k % 5}.5\n" for k in range(30))]
    for arguments, names in (
        ((), ["day"]),
        (("--id", "key,day"), ["key", "day"]),
        (("--id", "none"), []),
    ):
        code, out, _ = piped(rows, "-o", "-", *arguments)
        assert code == 0
        assert list(table(out)[0])[: len(names) + 2] == ["row", *names, "prediction"]


def test_hints_for_counts_and_classes(piped):
    rows = ["x,y\n", *(f"{k % 7},{k % 9}\n" for k in range(300))]
    _, out, err = piped(rows, "--json")
    hint = (
        "The target 'y' has the whole numbers 0 to 8: taken for classes. If they are amounts "
        "or ratings, say --task regression."
    )
    assert hint in err
    assert hint in json.loads(out)["remarks"]
    rows = ["x,y\n", *(f"{k % 7},{k % 12}\n" for k in range(300))]
    _, _, err = piped(rows)
    assert (
        "'y' has the whole numbers 0 to 11: taken for amounts. If they name classes, say --task "
        "multi-class." in err
    )
    _, _, err = piped(rows, "--task", "regression")
    assert "name classes" not in err


def test_piped_progress_is_a_line_soon_and_then_now_and_then(monkeypatch):
    now, said = [0.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    show = progress._now_and_then(said.append)

    class Report:
        share = 0.21

    for now[0] in (1.0, 2.5, 5.0, 12.0, 12.6, 20.0, 23.0):
        show(Report, f"at {now[0]}")
    assert said == ["21 %, at 2.5", "21 %, at 12.6", "21 %, at 23.0"]
