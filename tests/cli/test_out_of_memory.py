"""A limit on memory ends the command in a sentence, with code 1 and without a traceback.

A process runs the command on a small table first, so that everything is imported; then it allows
itself little more memory than it has (as ``ulimit -v`` does) and runs it on a table of which one
page alone is larger.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from swordplay.tables import open_table
from swordplay.tracking.threads import Ahead, Aside, Behind

ROOM = 96 << 20
"""Bytes that a process may still take: threads and small arrays fit, and the large page has
twice as many.
"""
PATIENCE = 300
"""Seconds; a process that hangs fails the test. It takes 3 to 5 on a quiet machine."""
CHILD = """
import json, resource, sys
from swordplay.cli import run
first, second, room = json.loads(sys.argv[1])
print("first", run(first), flush=True)
with open("/proc/self/statm") as file:
    taken = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + room, taken + room))
print("second", run(second), flush=True)
"""
PLAIN = os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system"}
"""pyarrow's own pool reserves a gigabyte at once, which would count as taken."""
SENTENCE = "swordplay: there is not enough memory for this."


def table(path, rows, width):
    x = np.random.default_rng(0).normal(size=rows)
    words = [
        "abcd"[k % 4] * width for k in range(rows)
    ]  # a column of four categories, which every command reads
    pa.parquet.write_table(
        pa.table({"x": x, "y": 2.0 * x, "note": words}),
        path,
        data_page_size=1 << 30,
        use_dictionary=False,
        compression="snappy",
    )
    return str(path)


def child(first, second, room=ROOM):
    told = json.dumps([first, second, room])
    return subprocess.run(
        [sys.executable, "-c", CHILD, told],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=PLAIN,
    )


def require_sentence(ended):
    """The second command ended in the sentence.

    CPython and C++ may lose the error (SystemError, abort): that is no failure.
    """
    assert "first 0" in ended.stdout, ended.stderr
    assert "second 0" not in ended.stdout, ended.stderr
    if ended.returncode >= 0 and "SystemError" not in ended.stderr:
        assert "second 1" in ended.stdout, ended.stderr
        assert SENTENCE in ended.stderr
        assert "Traceback" not in ended.stderr


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    return (
        folder,
        table(folder / "small.parquet", 300, 20),
        table(folder / "large.parquet", 1000, 200_000),
    )


def commands(folder, path, state):
    return {
        "track": [
            "track",
            path,
            "--target",
            "y",
            "--quiet",
            "--state",
            str(folder / state),
            "-o",
            str(folder / f"{state}.csv"),
        ],
        "learn": ["learn", path, "--target", "y", "--quiet", "--state", str(folder / state)],
        "predict": [
            "predict",
            path,
            "--state",
            str(folder / state),
            "-o",
            str(folder / f"{state}.csv"),
        ],
        "compare": ["compare", path, "--target", "y", "--quiet"],
    }


@pytest.mark.parametrize("command", ["track", "learn", "predict", "compare"])
def test_a_table_that_does_not_fit(command, tables):
    folder, small, large = tables
    state = f"{command}.state"
    first = commands(folder, small, state)[command]
    if command == "predict":
        learn = commands(folder, small, state)["learn"]
        subprocess.run(
            [sys.executable, "-m", "swordplay", *learn],
            check=True,
            capture_output=True,
            timeout=PATIENCE,
        )
    second = commands(folder, large, f"{state}2" if command == "track" else state)[command]
    if command == "predict":
        second[second.index("-o") + 1] += ".again.csv"
    before = (folder / state).read_bytes() if command == "predict" else b""
    ended = child(first, second)
    require_sentence(ended)
    if command == "predict":
        assert (folder / state).read_bytes() == before


def test_a_server_that_cannot_start(tmp_path, tables):
    serve = ["serve", "--state", str(tmp_path / "server"), "--port", "0"]
    ended = child(commands(tables[0], tables[1], "x.state")["learn"], serve, room=1 << 20)
    require_sentence(ended)


@pytest.mark.parametrize(
    "error",
    [
        pa.ArrowMemoryError("malloc of size 9 failed"),
        OSError("malloc of size 9 failed"),
        OSError("realloc of size 9 failed"),
    ],
)
def test_parquet_that_does_not_fit_is_not_called_damaged(error, tables, monkeypatch):
    def fails(*given, **options):
        raise error

    monkeypatch.setattr(
        pa.parquet.ParquetFile, "iter_batches", fails
    )  # which of them comes is up to the limit
    with pytest.raises(MemoryError, match="of size 9 failed"), open_table(tables[1]) as table:
        list(table.batches())


@pytest.mark.parametrize("error", [MemoryError, pa.ArrowMemoryError])
def test_threads_carry_it_over(error):
    def fails(*given):
        raise error("no memory")
        yield

    def called(*given):
        raise error("no memory")

    reader, writer, judge = Ahead(fails()), Behind(), Aside(lambda *given: None)
    writer.call(called)
    judge.call(None, called)
    for wait in (lambda: list(reader.arriving(1.0)), writer.drain, judge.settle):
        with pytest.raises(MemoryError):
            wait()
    for one in (reader, writer, judge):
        one.close()
