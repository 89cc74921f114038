"""Pipes, bad rows in the middle of a run, the first rows of a table, ids beside predictions."""

from __future__ import annotations

import csv
import gzip
import os
import threading
import time

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import pairs
from swordplay.tables import TableError
from swordplay.tracking import Job, Settings, TrackingError, first_rows, run
from swordplay.tracking.pieces import PIECE, pieces
from tracking.files import FORMATS, write
from tracking.test_run import files, job, stopped_after
from tracking.worlds import TASKS, world

HEAD = 300
"""Rows of a head, small here."""


@pytest.fixture
def small_head(monkeypatch):
    monkeypatch.setattr(first_rows, "HEAD_ROWS", HEAD)


class Pipe:
    """A pipe with a name, and somebody who writes to it: chunks, and how long to wait before
    each.
    """

    def __init__(self, folder, chunks):
        self.path = folder / "pipe"
        os.mkfifo(self.path)
        self.thread = threading.Thread(target=self._write, args=(list(chunks),))
        self.thread.start()

    def _write(self, chunks):
        with open(self.path, "wb", buffering=0) as file:
            for wait, chunk in chunks:
                time.sleep(wait)
                file.write(chunk.encode())


def piped(folder, chunks, target="y", **options):
    """Track what comes through a pipe."""
    pipe = Pipe(folder, chunks)
    paths = {
        name: str(folder / value) if name in ("output", "refused", "state") else value
        for name, value in options.items()
    }
    settings = {
        name: paths.pop(name)
        for name in ("task", "drop", "features", "id", "lags")
        if name in paths
    }
    try:
        return run(Job(str(pipe.path), Settings(target, **settings), **paths))
    finally:
        pipe.thread.join()
        pipe.path.unlink()


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


# ---------------------------------------------------------------------- a stop on error keeps what
# is done


@pytest.mark.parametrize(("format", "output"), pairs.of(["csv", "ndjson"], FORMATS))
@pytest.mark.usefixtures("small_head")
def test_after_a_bad_row_is_repaired_everything_is_as_if_it_had_been_good(tmp_path, format, output):
    batch = world("regression", 900, seed=2, missing=0.01)
    path = write(tmp_path / f"table.{format}", batch)
    whole = path.read_text()
    lines = whole.splitlines(keepends=True)
    lines[700] = "1,2\n"
    path.write_text("".join(lines))
    folder, straight = tmp_path / "stopped", tmp_path / "straight"
    folder.mkdir()
    straight.mkdir()
    options = {"output": folder / f"out.{output}", "state": tmp_path / "state"}
    row = 701 if format == "ndjson" else 700
    with pytest.raises(TableError) as caught:
        run(job(path, **options))
    assert f"(row {row})" in str(caught.value)
    assert (
        f"The first {row - 1} rows are saved in {tmp_path / 'state'}, their predictions in"
        in str(caught.value)
    )
    assert str(caught.value).endswith("Run the same command again to go on.")
    assert os.listdir(folder) == [f"out.{output}.partial"]
    with pytest.raises(
        TableError, match=rf"\(row {row}\)"
    ):  # it is still there, and nothing is lost
        run(job(path, **options))
    path.write_text(whole)
    found = run(job(path, **options))
    assert (found.resumed, found.news) == (row - 1, 900 - row + 1)
    run(job(path, output=straight / f"out.{output}"))
    assert files(folder) == files(straight)


@pytest.mark.usefixtures("small_head")
def test_a_target_that_cannot_be_used_stops_within_a_batch_and_skipping_goes_on(tmp_path):
    path = write(tmp_path / "table.csv", world("regression", 900, seed=3))
    lines = path.read_text().splitlines(keepends=True)
    lines[500] = lines[500].rsplit(",", 1)[0] + ",1e70\n"
    path.write_text("".join(lines))
    options = {"output": tmp_path / "out.csv", "state": tmp_path / "state"}
    with pytest.raises(
        TrackingError,
        match=r"row 500, column 'y': 1e\+70 must not pass 1e\+60.*\n.*first 499 rows are saved",
    ):
        run(job(path, **options))
    found = run(job(path, refused=tmp_path / "bad.csv", **options))
    assert (found.resumed, found.refused) == (499, 1)
    run(job(path, output=tmp_path / "straight.csv", refused=tmp_path / "other.csv"))
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "straight.csv").read_bytes()
    assert (tmp_path / "bad.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()


@pytest.mark.usefixtures("small_head")
def test_a_state_that_has_left_rows_out_cannot_go_on_with_stopping(tmp_path):
    path = write(tmp_path / "table.csv", world("regression", 100, seed=3))
    run(job(path, refused=tmp_path / "bad.csv", state=tmp_path / "state"))
    with pytest.raises(
        TrackingError, match="saved with --on-bad skip, and now it is --on-bad stop"
    ):
        run(job(path, state=tmp_path / "state"))


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.usefixtures("small_head")
def test_without_a_state_the_predictions_so_far_can_be_read(tmp_path, output):
    path = write(tmp_path / "table.csv", world("regression", 900, seed=3))
    with path.open("a") as file:
        file.write("too,few\n")
    with pytest.raises(
        TableError,
        match=r"first 900 rows are kept in .*out\.\w+\.partial. To begin anew add --force",
    ):
        run(job(path, output=tmp_path / f"out.{output}"))
    left = tmp_path / f"out.{output}.partial"
    count = (
        parquet.read_table(left).num_rows
        if output == "parquet"
        else len(left.read_text().splitlines()) - (output == "csv")
    )
    assert count == 900
    with pytest.raises(TrackingError, match="partial is there, of a run that was interrupted"):
        run(job(path, output=tmp_path / f"out.{output}"))


def test_a_reader_that_goes_away_costs_no_learning(tmp_path):
    """Rows that could not be sent are predicted again.

    Together they are those of an undisturbed run.
    """
    path = write(tmp_path / "table.csv", world("regression", 900, seed=4))
    os.mkfifo(tmp_path / "out")
    options = {
        "output": str(tmp_path / "out"),
        "state": str(tmp_path / "state"),
        "block_size": 1 << 12,
    }
    got = []

    def read(lines):
        with open(tmp_path / "out") as file:
            got.append([file.readline() for _ in range(lines)] if lines else file.readlines())

    for lines in (50, 0):
        thread = threading.Thread(target=read, args=(lines,))
        thread.start()
        if lines:
            with pytest.raises(
                TableError, match=r"whoever was reading has gone.*\n.*rows are saved in"
            ):
                run(Job(str(path), Settings("y"), **options))
        else:
            resumed = run(Job(str(path), Settings("y"), **options)).resumed
        thread.join()
    run(job(path, output=tmp_path / "straight.csv"))
    whole = (tmp_path / "straight.csv").read_text().splitlines(keepends=True)
    assert got[0] == whole[:50]
    assert got[1] == whole[1 + resumed :]
    assert 40 <= resumed < 900


# ---------------------------------------------------------------------- pieces and progress


def test_pieces_are_the_batch(tmp_path):
    from swordplay.tables import open_table

    path = tmp_path / "table.csv"
    path.write_text(
        "x,y\n" + "".join("1,2,3\n" if k % 1000 == 5 else f"{k},{k}\n" for k in range(3 * PIECE))
    )
    with open_table(path, on_bad="skip") as table:
        (batch,) = table.batches()
    for done, last in (
        (0, None),
        (1, None),
        (PIECE + 7, None),
        (5, 2 * PIECE),
        (3 * PIECE, None),
        (0, 6),
    ):
        found = list(pieces(batch, done, last))
        end = 3 * PIECE if last is None else last
        numbers = np.concatenate([piece.numbers for piece in found])
        assert numbers.tolist() == [k for k in range(done + 1, end + 1) if k % 1000 != 6]
        assert [one.row for piece in found for one in piece.refusals] == [
            k for k in range(done + 1, end + 1) if k % 1000 == 6
        ]
        assert max(len(piece.rows) for piece in found) <= PIECE
        assert [piece.position is None for piece in found[:-1]] == [True] * (len(found) - 1)
        assert (found[-1].position is None) == (last is not None)
        assert found[-1].last == end


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".ndjson"])
def test_progress_is_the_share_of_the_rows(tmp_path, ending):
    rows = 40_000
    rng = np.random.default_rng(1)
    batch = pa.record_batch({"x": rng.normal(size=rows), "y": rng.normal(size=rows)})
    path = write(tmp_path / f"table{ending.removesuffix('.gz')}", batch)
    if ending.endswith(".gz"):
        path = tmp_path / "table.csv.gz"
        path.write_bytes(gzip.compress((tmp_path / "table.csv").read_bytes()))
    seen = []
    run(
        Job(str(path), Settings("y")), watch=lambda report: seen.append((report.rows, report.share))
    )
    assert len(seen) >= rows // PIECE
    for done, share in seen:
        assert share == pytest.approx(done / rows, abs=0.03)


# ---------------------------------------------------------------------- the first rows


def counted(values, xs=None):
    return "x,y\n" + "".join(f"{k % 7},{value}\n" for k, value in enumerate(values))


def in_chunks(text, sizes, wait):
    """A text in so many lines each, with a wait before all but the first."""
    lines, chunks = text.splitlines(keepends=True), []
    while lines:
        size = sizes.pop(0) if sizes else len(lines)
        chunks.append((wait if chunks else 0.0, "".join(lines[:size])))
        lines = lines[size:]
    return chunks


def test_among_classes_a_number_that_is_not_whole_is_a_bad_row(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(counted([k % 2 for k in range(first_rows.HEAD_ROWS)] + [0.37, 1]))
    with pytest.raises(
        TrackingError,
        match=r"row 10001, column 'y': 0\.37 is not a whole number.*--task regression",
    ):
        run(job(path))
    assert run(job(path, refused=tmp_path / "bad.csv")).refused == 1
    assert run(job(path, task="multi-class")).tracker.task == "multi-class"


def test_the_rows_of_the_first_second_of_a_pipe_decide_the_task(tmp_path):
    """With classes 0 and 1 a later 0.37 is a bad row; --task says that amounts are meant."""
    text = counted([0, 1, 0, 1, 0.37, 1])
    options = {"refused": "bad.csv", "output": "out.csv"}
    found = piped(tmp_path, in_chunks(text, [5], 1.6), **options)
    assert (found.tracker.task, found.refused) == ("binary", 1)
    assert "only 4 rows to tell by; --task insists" in found.tracker.recognised.why
    found = piped(tmp_path, in_chunks(text, [5], 1.6), task="regression", force=True, **options)
    assert (found.tracker.task, found.refused) == ("regression", 0)


def test_a_pipe_without_a_target_at_first_is_waited_for(tmp_path):
    text = "x,y\n1,\n2,\n3,4.5\n4,5.5\n"
    found = piped(tmp_path, in_chunks(text, [3], 1.6), output="out.csv")
    assert (found.tracker.rows, found.tracker.unlabelled) == (4, 2)


# ---------------------------------------------------------------------- ids


@pytest.mark.parametrize(("task", "output"), pairs.of(TASKS, FORMATS))
def test_predictions_carry_ids_and_dates(tmp_path, task, output):
    batch = world(task, 300, seed=8)
    path = write(tmp_path / "table.csv", batch)
    options = {
        "output": tmp_path / f"out.{output}",
        "state": tmp_path / "state",
        "id": ("name", "when", "flag"),
    }
    while (found := stopped_after(1, job(path, **options))).stopped:
        pass
    run(job(path, output=tmp_path / f"straight.{output}", id=("name", "when", "flag")))
    assert (tmp_path / f"out.{output}").read_bytes() == (
        tmp_path / f"straight.{output}"
    ).read_bytes()
    assert found.tracker.schema.names[:5] == ["row", "name", "when", "flag", "prediction"]
    plans = {one.name: (one.kind, one.why) for one in found.tracker.encoder.plans}
    assert plans["name"] == plans["flag"] == ("left out", "it names the rows (--id)")
    assert plans["when"] == ("date and time", "")
    if output == "parquet":
        written = parquet.read_table(tmp_path / "out.parquet")
        for name in ("name", "when", "flag"):
            assert written[name].combine_chunks().equals(batch[name])
    if output == "csv":
        assert [row["when"] for row in rows_of(tmp_path / "out.csv")][:3] == [
            "2024-02-27 00:00:00",
            "2024-02-27 05:00:00",
            "2024-02-27 10:00:00",
        ]


def test_by_default_the_date_stands_beside_each_prediction(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(
        "x,day,other,y\n"
        + "".join(f"{k},2024-01-{k + 1:02d},2024-02-01,{k + 0.5}\n" for k in range(30))
    )
    for options, names in (
        ({}, ["row", "day"]),
        ({"id": ()}, ["row"]),
        ({"id": ("x",)}, ["row", "x"]),
        ({"drop": ("day",)}, ["row", "other"]),
    ):
        run(job(path, output=tmp_path / "out.csv", force=True, **options))
        table = rows_of(tmp_path / "out.csv")
        assert list(table[0]) == [*names, "prediction", "truth", "loss", "running_error"]
    run(job(path, output=tmp_path / "out.csv", force=True))
    assert rows_of(tmp_path / "out.csv")[4]["day"] == "2024-01-05"


def test_ids_that_are_dropped_or_not_among_the_features_are_carried_all_the_same(tmp_path):
    path = write(tmp_path / "table.csv", world("regression", 60, seed=9, missing=0.0))
    for options in ({"drop": ("name",)}, {"features": ("x",)}):
        found = run(job(path, id=("name",), output=tmp_path / "out.csv", force=True, **options))
        assert [row["name"] for row in rows_of(tmp_path / "out.csv")] == [
            f"row {k}" for k in range(60)
        ]
        assert {one.name: one.why for one in found.tracker.encoder.plans}["name"] == "as asked"
    found = run(job(path, id=("z",), features=("x", "z")))
    assert {one.name: one.kind for one in found.tracker.encoder.plans}["z"] == "number"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nme", "'nme'.*Did you mean 'name'"),
        ("y", "--id names the target 'y'"),
        ("loss", "--id names 'loss'.*Rename"),
    ],
)
def test_ids_that_cannot_be(tmp_path, name, told):
    path = tmp_path / "table.csv"
    path.write_text("name,loss,y\na,1,2\nb,2,3.5\n")
    with pytest.raises((TrackingError, TableError), match=told):
        run(job(path, id=(name,), output=tmp_path / "out.csv"))


def test_an_interrupted_pipe_without_a_state_leaves_its_predictions(tmp_path):
    pipe = Pipe(tmp_path, [(0.0, counted([k + 0.5 for k in range(40)])), (1.6, "")])
    reports = []
    found = run(
        Job(str(pipe.path), Settings("y"), str(tmp_path / "out.csv")),
        watch=reports.append,
        told=lambda: bool(reports),
    )
    pipe.thread.join()
    assert (found.stopped, found.partial) == (True, str(tmp_path / "out.csv.partial"))
    assert len(rows_of(found.partial)) == 40
