"""Outputs: whole or not there, and the same bytes however the rows came and however often the
writing was cut off.
"""

from __future__ import annotations

import csv
import errno
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swordplay.core import checkpoint
from swordplay.tables import OutputPosition, TableError, open_output
from swordplay.tables.row_groups import SpooledParquet

SCHEMA = pa.schema([("row", pa.int64()), ("prediction", pa.float64()), ("truth", pa.string())])
FORMATS = ["a.csv", "a.ndjson", "a.parquet"]


def batch(count: int, seed: int = 0) -> pa.RecordBatch:
    random = np.random.default_rng(seed)
    numbers = random.normal(size=count) * 10.0 ** random.integers(-300, 300, count)
    words = random.choice(
        ["plain", 'quoted "x"', "two\nlines", "a,b", "", "é語😀", "\u2028"], count
    )
    missing = random.random(count) < 0.1
    columns = [
        pa.array(range(1, count + 1)),
        pa.array(numbers, mask=missing),
        pa.array(words, mask=missing[::-1]),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def write(path: Path, rows: pa.RecordBatch, pieces: list[int], **options: Any) -> bytes:
    with open_output(path, rows.schema, **options) as output:
        for start, stop in zip([0, *pieces], [*pieces, len(rows)], strict=True):
            output.write(rows[start:stop])
        output.finish()
    return path.read_bytes()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("resumable", [False, True])
def test_what_is_written_can_be_read(name: str, resumable: bool, tmp_path: Path) -> None:
    rows = batch(500)
    path = tmp_path / name
    write(path, rows, [100, 100, 333], resumable=resumable)
    if name == "a.csv":
        options = pyarrow.csv.ConvertOptions(
            column_types=SCHEMA, strings_can_be_null=True, quoted_strings_can_be_null=False
        )
        parsing = pyarrow.csv.ParseOptions(newlines_in_values=True)
        assert pyarrow.csv.read_csv(
            path, convert_options=options, parse_options=parsing
        ) == pa.Table.from_batches([rows])
        with path.open(newline="") as file:
            assert len(list(csv.reader(file))) == 501
    elif name == "a.ndjson":
        assert [
            json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]
        ] == rows.to_pylist()
    else:
        assert pq.read_table(path) == pa.Table.from_batches([rows])
    assert os.listdir(tmp_path) == [name]


def test_ndjson_values(tmp_path: Path) -> None:
    rows = pa.RecordBatch.from_pydict(
        {
            'a "b"': pa.array([1.0, float("nan"), float("inf"), None, 1e22, 5e-324]),
            "t": pa.array([True, False, None, None, True, True]),
            "d": pa.array([datetime(2024, 5, 17, 13, 45)] * 6, pa.timestamp("us")),
        }
    )
    lines = write(tmp_path / "a.ndjson", rows, [2]).decode().splitlines()
    assert [json.loads(line) for line in lines] == [
        {'a "b"': number, "t": truth, "d": "2024-05-17 13:45:00"}
        for number, truth in zip(
            [1.0, None, None, None, 1e22, 5e-324],
            [True, False, None, None, True, True],
            strict=True,
        )
    ]


@st.composite
def lives(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Runs that each write up to a row, sync at an earlier one and are cut off.

    The last one writes all 120 rows.
    """
    runs, done = [], 0
    for _ in range(draw(st.integers(1, 4))):
        synced = draw(st.integers(done, 120))
        runs.append((done, synced, draw(st.integers(synced, 120))))
        done = synced
    return [*runs, (done, done, 120)]


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=25)  # each brings several files down to the disk
@given(lives(), st.integers(0, 50), st.integers(1, 40))
def test_the_bytes_do_not_depend_on_batches_or_interruptions(
    name: str, runs: Any, rubbish: int, step: int
) -> None:
    rows = batch(120)
    with tempfile.TemporaryDirectory() as folder:
        reference, path = Path(folder, "reference", name), Path(folder, name)
        reference.parent.mkdir()
        _write_in_steps(reference, rows, 0, 120, 120, None)
        position = None
        for start, synced, stop in runs:
            position = _write_in_steps(
                path,
                rows,
                start,
                synced,
                stop,
                position,
                step,
                finish=stop == 120 and start == synced,
            )
            if path.exists():
                break
            partial = Path(f"{path}.partial")
            partial.write_bytes(
                partial.read_bytes() + b"\xaa" * rubbish
            )  # what a torn write may leave
        assert path.read_bytes() == reference.read_bytes()


def _write_in_steps(
    path: Path,
    rows: pa.RecordBatch,
    start: int,
    synced: int,
    stop: int,
    position: OutputPosition | None,
    step: int = 50,
    finish: bool = True,
) -> OutputPosition:
    """One life of a writer of row groups of 16 rows; the position that outlives it."""
    if path.suffix == ".parquet":
        output: Any = SpooledParquet(str(path), rows.schema, position, group_rows=16)
    else:
        output = open_output(path, rows.schema, position=position)
    with output:
        assert output.rows == start
        for first, last in ((start, synced), (synced, stop)):
            for i in range(first, last, step):
                output.write(rows[i : min(i + step, last)])
            if last == synced:
                position = output.sync()
        if finish:
            output.finish()
    assert position is not None
    return position


@pytest.mark.parametrize("name", FORMATS)
def test_straight_and_resumable_files_are_the_same(name: str, tmp_path: Path) -> None:
    rows = batch(300_000) if name == "a.parquet" else batch(1000)
    straight = write(
        tmp_path / name, rows, [10, 131_073, 131_074] if name == "a.parquet" else [999]
    )
    assert write(tmp_path / name, rows, [7, 500], resumable=True, overwrite=True) == straight
    if name == "a.parquet":
        groups = pq.ParquetFile(tmp_path / name).metadata
        assert [groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == [
            131_072,
            131_072,
            37_856,
        ]


@pytest.mark.parametrize("name", FORMATS)
def test_a_finished_file_is_taken_up_again(name: str, tmp_path: Path) -> None:
    """After a kill between finishing and saving that it is finished, and when the input has
    grown since.
    """
    rows, path = batch(200), tmp_path / name
    with open_output(path, SCHEMA, resumable=True) as output:
        output.write(rows[:100])
        position = output.sync()
        output.write(rows[100:150])
        output.finish()
    with open_output(path, SCHEMA, position=position) as output:
        assert output.rows == 100
        output.write(rows[100:])
        output.finish()
    (tmp_path / "reference").mkdir()
    assert path.read_bytes() == write(tmp_path / "reference" / name, rows, [])
    assert sorted(os.listdir(tmp_path)) == [name, "reference"]


@pytest.mark.parametrize("name", FORMATS)
def test_positions_fit_into_checkpoints(name: str, tmp_path: Path) -> None:
    with open_output(tmp_path / name, SCHEMA, resumable=True) as output:
        output.write(batch(10))
        position = output.sync()
    saved = checkpoint.loads(checkpoint.dumps(position._asdict(), kind="output"))
    assert OutputPosition(**saved) == position


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("resumable", [False, True])
def test_nothing_is_left_of_an_output_that_nobody_can_resume(
    name: str, resumable: bool, tmp_path: Path
) -> None:
    def die(output: Any) -> None:
        with output:
            output.write(batch(10))
            assert not (tmp_path / name).exists()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        die(open_output(tmp_path / name, SCHEMA, resumable=resumable))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", FORMATS)
def test_a_synced_output_is_kept_under_its_partial_name(name: str, tmp_path: Path) -> None:
    with open_output(tmp_path / name, SCHEMA, resumable=True) as output:
        output.write(batch(10))
        output.sync()
    assert os.listdir(tmp_path) == [f"{name}.partial"]


def test_a_kill_between_checkpoints_does_not_stand_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "a.csv.partial").write_bytes(
        b"left by a run that was killed before its first checkpoint"
    )
    (tmp_path / "a.parquet.assembling").write_bytes(b"left by a run that was killed at its end")
    for name in ("a.csv", "a.parquet"):
        write(tmp_path / name, batch(10), [5], resumable=True)
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "a.parquet"]
    assert len(pq.read_table(tmp_path / "a.parquet")) == 10


@pytest.mark.parametrize("name", FORMATS)
def test_an_existing_file_is_refused_or_replaced_at_the_end(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"mine")
    with pytest.raises(
        TableError, match=r"exists already\. Choose another name, or replace it with --force"
    ):
        open_output(path, SCHEMA)
    with open_output(path, SCHEMA, overwrite=True) as output:
        output.write(batch(3))
        assert path.read_bytes() == b"mine"
        output.finish()
    assert path.read_bytes() != b"mine"


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_of_somebody_else_is_not_cut(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with open_output(path, SCHEMA, resumable=True) as output:
        output.write(batch(10))
        position = output.sync()
        output.finish()
    if name == "a.parquet":
        pq.write_table(pa.table({"other": [1]}), path)
    else:
        path.write_bytes(b"something else" * 1000)
    theirs = path.read_bytes()
    with pytest.raises(TableError, match="not the output that this state was saved with"):
        open_output(path, SCHEMA, position=position)
    assert path.read_bytes() == theirs
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", FORMATS)
def test_an_output_that_is_gone(name: str, tmp_path: Path) -> None:
    with open_output(tmp_path / name, SCHEMA, resumable=True) as output:
        output.write(batch(10))
        position = output.sync()
    os.unlink(tmp_path / f"{name}.partial")
    with pytest.raises(TableError, match="not the output that this state was saved with"):
        open_output(tmp_path / name, SCHEMA, position=position)
    assert os.listdir(tmp_path) == []


def test_two_runs_cannot_write_one_output(tmp_path: Path) -> None:
    with (
        open_output(tmp_path / "a.csv", SCHEMA),
        pytest.raises(TableError, match="being written by another run"),
    ):
        open_output(tmp_path / "a.csv", SCHEMA)


@pytest.mark.parametrize(
    ("name", "essence"),
    [
        ("a.xlsx", r"a\.xlsx: the format of the output is not clear.*\.csv, \.ndjson or \.parquet"),
        ("a.csv.gz", "the format of the output is not clear"),
        ("nowhere/a.csv", r"cannot be written: there is no folder '.*nowhere'\. Make it first"),
        ("nowhere/a.parquet", "there is no folder"),
        (".", "the format of the output is not clear"),
        ("folder.csv", r"folder\.csv is a folder"),
        ("a.csv/b.csv", "cannot be written"),
    ],
)
def test_places_that_cannot_be_written(name: str, essence: str, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "a.csv").write_bytes(b"mine")
    with pytest.raises(TableError, match=essence):
        open_output(tmp_path / name, SCHEMA)


@pytest.fixture
def small_disk() -> Iterator[None]:
    """A limit of 20 kB a file, which fails as a full disk does."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    signal.signal(signal.SIGXFSZ, before)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("synced", [False, True])
@pytest.mark.usefixtures("small_disk")
def test_a_disk_that_fills_up(name: str, synced: bool, tmp_path: Path) -> None:
    rows = batch(5000)

    def fill() -> None:
        with open_output(tmp_path / name, SCHEMA, resumable=synced) as output:
            output.write(rows[:100])
            if synced:
                positions.append(output.sync())
            output.write(rows[100:])
            output.finish()

    positions: list[OutputPosition] = []
    with pytest.raises(
        TableError, match=rf"{name} cannot be written: File too large\. Free space"
    ) as caught:
        fill()
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno == errno.EFBIG
    assert os.listdir(tmp_path) == [f"{name}.partial"] * synced
    if synced:
        resource.setrlimit(
            resource.RLIMIT_FSIZE, (resource.getrlimit(resource.RLIMIT_FSIZE)[1],) * 2
        )
        with open_output(tmp_path / name, SCHEMA, position=positions[0]) as output:
            output.write(rows[100:])
            output.finish()
        (tmp_path / "reference").mkdir()
        assert (tmp_path / name).read_bytes() == write(tmp_path / "reference" / name, rows, [])


def test_parquet_is_synced_only_if_it_was_announced(tmp_path: Path) -> None:
    with (
        open_output(tmp_path / "a.parquet", SCHEMA) as output,
        pytest.raises(ValueError, match="resumable=True"),
    ):
        output.sync()


@pytest.mark.parametrize("format", [None, "csv", "ndjson"])
def test_streams_get_rows_at_once(format: str | None, tmp_path: Path) -> None:
    rows = batch(20)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with open_output(tmp_path / "pipe", SCHEMA, format=format) as output:
        output.write(rows[:10])
        first = os.read(reader, 1 << 16)
        position = output.sync()
        output.finish()
    with open_output(tmp_path / "pipe", SCHEMA, format=format, position=position) as output:
        output.write(rows[10:])
        second = os.read(reader, 1 << 16)
    os.close(reader)
    assert first + second == write(tmp_path / f"a.{format or 'csv'}", rows, [])


def test_parquet_to_a_stream() -> None:
    with pytest.raises(TableError, match=r"standard output: Parquet cannot be written to a stream"):
        open_output("-", SCHEMA, format="parquet")
    with pytest.raises(ValueError, match="format must be one of"):
        open_output("-", SCHEMA, format="xls")


STANDARD_OUTPUT = """
import sys, pyarrow as pa
from swordplay.tables import TableError, open_output
rows = pa.RecordBatch.from_pydict({"x": list(range(1000))})
try:
    with open_output("-", rows.schema) as output:
        for _ in range(200):
            output.write(rows)
        output.finish()
except TableError as error:
    sys.exit(f"{type(error.__cause__).__name__}: {error}")
"""


def test_standard_output_that_nobody_reads_or_that_is_full(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STANDARD_OUTPUT]
    whole = subprocess.run(command, capture_output=True, check=True)
    assert whole.stdout.splitlines() == [b'"x"'] + [b"%d" % i for i in range(1000)] * 200
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 1
    assert (
        said == "BrokenPipeError: standard output: whoever was reading has gone. Nothing more can "
        "be written there.\n"
    )
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == 1
    assert "standard output cannot be written: No space left on device" in result.stderr


KILLED = """
import os, signal, sys, pyarrow as pa
from swordplay.tables import OutputPosition, open_output
path, saved = sys.argv[1:3]
rows = pa.RecordBatch.from_pydict({"x": [i / 7 for i in range(1000)], "w": [f"é{i}" for i in range(1000)]})
position = OutputPosition(*eval(open(saved).read())) if os.path.exists(saved) else None
with open_output(path, rows.schema, resumable=True, position=position) as output:
    done = output.rows
    while done < len(rows):
        output.write(rows[done : done + 37])
        done = min(done + 37, len(rows))
        if done % 3 == 0:
            position = output.sync()
            with open(saved + ".new", "w") as file:
                file.write(repr(tuple(position)))
            os.replace(saved + ".new", saved)
        if done > int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
    output.finish()
"""  # noqa: E501


@pytest.mark.parametrize(
    "name", ["a.csv", *(pytest.param(name, marks=pytest.mark.deep) for name in FORMATS[1:])]
)
def test_kill_9(name: str, tmp_path: Path) -> None:
    def run(until: int, path: Path, saved: Path) -> int:
        return subprocess.run(
            [sys.executable, "-c", KILLED, path, saved, str(until)], check=False
        ).returncode

    path, saved = tmp_path / name, tmp_path / "saved"
    for until in (300, 800):
        assert run(until, path, saved) == -signal.SIGKILL
        assert not path.exists()
    assert run(10_000, path, saved) == 0
    (tmp_path / "reference").mkdir()
    assert run(10_000, tmp_path / "reference" / name, tmp_path / "reference" / "saved") == 0
    assert path.read_bytes() == (tmp_path / "reference" / name).read_bytes()
