"""A job from its first row to its last: what is written where, what is refused, and how it goes
on.
"""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import pairs
from swordplay.core import checkpoint
from swordplay.core.checkpoint import CheckpointError
from swordplay.tables import TableError
from swordplay.tables.table import HEAD_ROWS
from swordplay.tracking import Job, Settings, TrackingError, run
from tracking.files import FORMATS, write
from tracking.worlds import TASKS, tracked, world

SMALL = 1 << 12
"""Bytes of a batch: some dozen rows."""


def job(path, **options):
    names = ("task", "lags", "curves", "features", "drop", "loss", "id")
    target = {name: options.pop(name) for name in names if name in options}
    paths = {
        name: str(value) if name in ("output", "refused", "state") and value else value
        for name, value in options.items()
    }
    return Job(str(path), Settings("y", **target), block_size=SMALL, **paths)


def stopped_after(batches, job):
    """Run a job and tell it to stop after so many batches."""
    seen = []
    return run(
        job,
        watch=seen.append,
        told=lambda: len([one for one in seen if one.rows > one.resumed]) >= batches,
    )


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("format", FORMATS)
def test_predictions_are_those_of_the_tracker(tmp_path, task, format):
    batch = world(task, 400, seed=1)
    path = write(tmp_path / f"table.{format}", batch)
    found = run(job(path, output=tmp_path / "out.parquet"))
    _, expected = tracked(batch, Settings("y"), [len(batch)])
    assert (
        parquet.read_table(tmp_path / "out.parquet")
        .combine_chunks()
        .equals(expected.combine_chunks())
    )
    assert (found.news, found.resumed, found.refused, found.stopped) == (400, 0, 0, False)
    assert sorted(os.listdir(tmp_path)) == sorted(["out.parquet", path.name])


@pytest.mark.parametrize(("format", "output"), pairs.of(FORMATS, FORMATS))
def test_a_run_that_was_stopped_goes_on(tmp_path, format, output):
    rows = 1500
    path = write(
        tmp_path / f"table.{format}",
        world("regression", rows, seed=2, missing=0.001).drop_columns(["when", "name"]),
    )
    folders = [tmp_path / "straight", tmp_path / "stopped"]
    for folder in folders:
        folder.mkdir()
    whole = run(job(path, output=folders[0] / f"out.{output}"))
    options = {"output": folders[1] / f"out.{output}", "state": tmp_path / "state"}
    lives = 0
    while (found := stopped_after(1, job(path, **options))).stopped:
        lives += 1
        assert f"out.{output}" not in os.listdir(folders[1])  # nothing partial looks whole
    assert lives >= 2
    assert found.resumed > 0
    assert files(folders[1]) == files(folders[0])
    assert found.tracker.errors() == whole.tracker.errors()


def test_stopped_without_a_state_nothing_is_left(tmp_path):
    path = write(tmp_path / "table.csv", world("regression", 3000, seed=2))
    assert stopped_after(4, job(path, output=tmp_path / "out.csv")).stopped
    assert os.listdir(tmp_path) == ["table.csv"]


@pytest.mark.parametrize(("format", "output"), pairs.of(["csv", "ndjson"], FORMATS))
def test_a_table_that_has_grown_is_gone_on_with(tmp_path, format, output):
    batch = world("multi-class", 900, seed=3)
    path = tmp_path / f"table.{format}"
    options = {"output": tmp_path / f"out.{output}", "state": tmp_path / "state"}
    news = []
    for rows in (300, 300, 650, 900):
        write(path, batch.slice(0, rows))
        before = (tmp_path / f"out.{output}").stat().st_mtime_ns if news else None
        news.append(run(job(path, **options)).news)
        assert (news[-1] > 0) == ((tmp_path / f"out.{output}").stat().st_mtime_ns != before)
    assert news == [300, 0, 350, 250]
    run(job(path, output=tmp_path / f"straight.{output}"))
    assert (tmp_path / f"out.{output}").read_bytes() == (
        tmp_path / f"straight.{output}"
    ).read_bytes()


def test_a_finished_run_whose_predictions_are_gone_does_not_pretend(tmp_path):
    path = write(tmp_path / "table.csv", world("binary", 100, seed=4))
    options = {"output": tmp_path / "out.csv", "state": tmp_path / "state"}
    run(job(path, **options))
    (tmp_path / "out.csv").unlink()
    with pytest.raises(TrackingError, match=r"out.csv is gone.*--force"):
        run(job(path, **options))
    assert run(job(path, force=True, **options)).news == 100


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"lags": 2}, "saved with --lags 0, and now it is --lags 2"),
        ({"lags": "auto"}, "saved with --lags 0, and now it is --lags auto"),
        ({"curves": "auto"}, "saved with --curves none, and now it is --curves auto"),
        ({"features": ("x", "z")}, "saved with no --features, and now it is --features x,z"),
        ({"drop": ("x",)}, "saved with no --drop, and now it is --drop x"),
        ({"task": "regression"}, "saved with no --task, and now it is --task regression"),
        ({"loss": "huber"}, "saved with --loss squared, and now it is --loss huber"),
        ({"output": None}, "saved with --output .*out.csv, and now it is no --output"),
        ({"id": ("name",)}, "saved with no --id, and now it is --id name"),
        ({"id": ()}, "saved with no --id, and now it is --id none"),
        (
            {"output_format": "csv"},
            "saved with no --output-format, and now it is --output-format csv",
        ),
        ({"encoding": "latin-1"}, "saved with --encoding utf-8, and now it is --encoding latin-1"),
    ],
)
def test_other_options_are_refused(tmp_path, options, told):
    path = write(tmp_path / "table.csv", world("regression", 100, seed=4))
    first = {"output": tmp_path / "out.csv", "state": tmp_path / "state"}
    run(job(path, **first))
    before = files(tmp_path)
    with pytest.raises(TrackingError, match=told):
        run(job(path, **{**first, **options}))
    assert files(tmp_path) == before


def test_another_file_is_refused(tmp_path):
    options = {"output": tmp_path / "out.csv", "state": tmp_path / "state"}
    run(job(write(tmp_path / "one.csv", world("regression", 100, seed=4)), **options))
    with pytest.raises(TableError, match=r"other\.csv"):
        run(job(write(tmp_path / "other.csv", world("regression", 200, seed=5)), **options))


def test_a_state_of_something_else_is_refused(tmp_path):
    path = write(tmp_path / "table.csv", world("regression", 100, seed=4))
    (tmp_path / "state").write_text("not a checkpoint")
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        run(job(path, state=tmp_path / "state"))


def test_force_replaces_no_file_that_is_not_a_state(tmp_path):
    path = write(tmp_path / "table.csv", world("regression", 100, seed=4))
    (tmp_path / "state").write_text("precious")
    with pytest.raises(
        TrackingError, match="is not a checkpoint of swordplay, and would be replaced"
    ):
        run(job(path, state=tmp_path / "state", force=True))
    assert (tmp_path / "state").read_text() == "precious"
    with pytest.raises(TrackingError, match="cannot be replaced: Is a directory"):
        run(job(path, state=tmp_path, force=True))


def test_a_forced_run_forgets_the_old_state_at_once(tmp_path):
    """Or a kill before the first save would leave a state that does not belong to the
    predictions.
    """
    path = write(tmp_path / "table.csv", world("regression", 900, seed=4))
    options = {"output": tmp_path / "out.csv", "state": tmp_path / "state"}
    run(job(path, **options))
    with pytest.raises(ZeroDivisionError):
        run(job(path, force=True, **options), watch=lambda report: 1 / 0)
    assert not (tmp_path / "state").exists()
    assert run(job(path, force=True, **options)).news == 900


def test_what_exists_is_kept_unless_forced(tmp_path):
    path = write(tmp_path / "table.csv", world("regression", 100, seed=4))
    output = tmp_path / "out.csv"
    output.write_text("precious")
    with pytest.raises(TrackingError, match=r"out.csv exists already.*--force"):
        run(job(path, output=output))
    assert output.read_text() == "precious"
    run(job(path, output=output, force=True))
    assert csv.read_csv(output).num_rows == 100


def test_refused_rows_have_a_file_of_their_own(tmp_path):
    path = write(tmp_path / "table.csv", world("regression", 600, seed=6))
    lines = path.read_text().splitlines(keepends=True)
    lines[250] = "too,few\n"
    lines[400] = lines[400].rsplit(",", 1)[0] + ",1e70\n"
    path.write_text("".join(lines))
    options = {
        "output": tmp_path / "out.csv",
        "refused": tmp_path / "bad.csv",
        "state": tmp_path / "state",
    }
    found = stopped_after(6, job(path, **options))
    assert found.stopped
    found = run(job(path, **options))
    assert found.refused == 2
    bad = csv.read_csv(tmp_path / "bad.csv").to_pylist()
    assert [(row["row"], row["line"], row["column"] or None) for row in bad] == [
        (250, 251, None),
        (400, None, "y"),
    ]
    assert "1e+60" in bad[1]["reason"]
    rows = csv.read_csv(tmp_path / "out.csv")["row"].to_pylist()
    assert rows == [k for k in range(1, 601) if k not in (250, 400)]


def test_without_refused_rows_there_is_no_such_file(tmp_path):
    path = write(tmp_path / "table.csv", world("regression", 100, seed=6))
    run(job(path, refused=tmp_path / "bad.csv"))
    assert os.listdir(tmp_path) == ["table.csv"]


def test_a_bad_row_among_the_first_of_a_file_is_found_before_anything_is_written(tmp_path):
    path = write(tmp_path / "table.csv", world("regression", 600, seed=6))
    lines = path.read_text().splitlines(keepends=True)
    lines[300] = "too,few\n"
    path.write_text("".join(lines))
    with pytest.raises(TableError, match="line 301"):
        run(job(path, output=tmp_path / "out.csv", state=tmp_path / "state"))
    assert os.listdir(tmp_path) == ["table.csv"]


def test_an_output_that_cannot_be_written_is_found_out_before_anything_is_learned(tmp_path):
    path = write(tmp_path / "table.csv", world("regression", 100, seed=6))
    watched = []
    with pytest.raises(TableError, match=r"no folder"):
        run(job(path, output=tmp_path / "nowhere" / "out.csv"), watch=watched.append)
    assert watched == []


@pytest.mark.parametrize("format", FORMATS)
def test_the_first_rows_only(tmp_path, format):
    path = write(tmp_path / f"table.{format}", world("binary", 400, seed=7))
    found = run(job(path, output=tmp_path / "out.csv", rows=123))
    assert found.news == 123
    assert csv.read_csv(tmp_path / "out.csv")["row"].to_pylist() == list(range(1, 124))


def test_decisions_depend_on_the_first_rows_and_not_on_batches(tmp_path):
    """A category that appears after the head, and numbers that would be a class if only the
    first batch counted.
    """
    rows = HEAD_ROWS + 10
    target = np.where(np.arange(rows) < 3000, np.arange(rows) % 2, np.arange(rows) % 40).astype(
        float
    )
    path = write(tmp_path / "table.csv", pa.record_batch({"x": np.arange(rows) % 7.0, "y": target}))
    assert run(job(path)).tracker.task == "regression"


def test_progress_is_told(tmp_path):
    path = write(tmp_path / "table.csv", world("regression", 500, seed=8))
    reports = []
    run(job(path), watch=lambda report: reports.append((report.rows, report.share)))
    assert len(reports) > 5
    assert reports == sorted(reports)
    assert reports[-1] == (500, 1.0)


def test_a_table_without_a_target_anywhere(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n1,\n2,\n")
    with pytest.raises(TrackingError, match="missing in all of the first 2 rows"):
        run(job(path))


@pytest.mark.parametrize("bad", ["missing.csv", "column.csv"])
def test_force_removes_nothing_before_the_run_can_start(tmp_path, bad):
    path = write(tmp_path / "table.csv", world("regression", 100, seed=4))
    options = {
        "output": tmp_path / "out.csv",
        "refused": tmp_path / "bad.csv",
        "state": tmp_path / "state",
        "force": True,
    }
    run(job(path, **options))
    (tmp_path / "bad.csv").write_text("precious")
    (tmp_path / "column.csv").write_text("x,z\n1,2\n")
    before = files(tmp_path)
    with pytest.raises(TableError):
        run(job(tmp_path / bad, **options))
    with pytest.raises(TableError, match="no folder"):
        run(job(path, **{**options, "output": tmp_path / "nowhere" / "out.csv"}))
    assert files(tmp_path) == before
    run(job(path, **options))
    assert not (tmp_path / "bad.csv").exists()


def test_force_replaces_a_damaged_state_and_no_checkpoint_of_a_learner(tmp_path):
    path, state = (
        write(tmp_path / "table.csv", world("regression", 100, seed=4)),
        tmp_path / "state",
    )
    checkpoint.save(state, {"x": 1}, kind="learner")
    before = state.read_bytes()
    with pytest.raises(TrackingError, match="is not of a run of track"):
        run(job(path, state=state, force=True))
    assert state.read_bytes() == before
    state.write_bytes(before[:-1])
    assert run(job(path, state=state, force=True)).news == 100


def test_a_state_that_cannot_be_saved_is_found_out_before_anything_is_learned(tmp_path):
    path = write(tmp_path / "table.csv", world("regression", 100, seed=4))
    watched = []
    with pytest.raises(TrackingError, match=r"there is no folder .*nowhere"):
        run(job(path, state=tmp_path / "nowhere" / "state"), watch=watched.append)
    assert watched == []


@pytest.mark.parametrize("output", FORMATS)
def test_what_an_interrupted_run_left_is_kept_unless_forced(tmp_path, output):
    path = write(tmp_path / "table.csv", world("regression", 900, seed=4))
    options = {"output": tmp_path / f"out.{output}", "state": tmp_path / "state"}
    assert stopped_after(1, job(path, **options)).stopped
    before = files(tmp_path)
    with pytest.raises(TrackingError, match=rf"out.{output}.partial is there.*--state.*--force"):
        run(job(path, output=options["output"]))
    assert files(tmp_path) == before
    assert run(job(path, **options)).resumed > 0


def test_a_run_killed_before_it_saved_anything_begins_again(tmp_path):
    path = write(tmp_path / "table.csv", world("regression", 100, seed=4))
    (tmp_path / "out.csv.partial").write_text("of a run without a state yet")
    assert run(job(path, output=tmp_path / "out.csv", state=tmp_path / "state")).news == 100


def test_without_a_row_to_learn_from_only_the_refused_rows_are_published(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n1,1e70\n2,2e70\n")
    with pytest.raises(
        TrackingError,
        match=r"no row with a target to learn from \(2 refused, listed in .*bad.csv\)",
    ):
        run(job(path, output=tmp_path / "out.csv", refused=tmp_path / "bad.csv"))
    assert sorted(os.listdir(tmp_path)) == ["bad.csv", "table.csv"]
    assert csv.read_csv(tmp_path / "bad.csv")["row"].to_pylist() == [1, 2]


def test_refused_rows_before_the_first_good_one_are_listed(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n" + "1,2,3\n" * 2000 + "".join(f"{k},{k + 0.5}\n" for k in range(2000)))
    found = run(job(path, refused=tmp_path / "bad.csv"))
    assert found.refused == 2000
    assert csv.read_csv(tmp_path / "bad.csv").num_rows == 2000


def test_a_column_that_is_not_used_cannot_make_a_row_bad(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(
        "x,z,y\n"
        + "".join(f"{k % 7},{'word' if k == 4000 else k},{k + 0.5}\n" for k in range(20_000))
    )
    for options in ({"drop": ("z",)}, {"features": ("x",)}):
        assert run(job(path, **options)).news == 20_000


def test_a_run_that_goes_on_says_so_before_anything_can_go_wrong(tmp_path):
    path = write(tmp_path / "table.csv", world("regression", 100, seed=4))
    run(job(path, state=tmp_path / "state"))
    with path.open("a") as file:
        file.write("too,few\n")
    reports = []
    with pytest.raises(TableError):
        run(job(path, state=tmp_path / "state"), watch=reports.append)
    assert [(report.rows, report.resumed) for report in reports] == [(100, 100)]
