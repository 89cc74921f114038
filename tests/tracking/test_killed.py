"""kill -9 at random moments: in the end everything is as if nothing had happened, byte by byte."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from swordplay.core import checkpoint
from swordplay.tables import TableError, row_groups
from swordplay.tracking import Job, Settings, run
from swordplay.tracking import job as jobs
from tracking import victim
from tracking.files import FORMATS, write
from tracking.worlds import world

QUICK, DEEP, MANY, KEYED = 5, 50, 167, 10
"""Kills, as the project promises them: with intervals a thousand, over three formats, with keys
and without.
"""
ROWS, FEW_ROWS = 1500, 400
"""Of the tables.

Those of a thousand kills are short, so that most of a life is spent saving and going on.
"""
TESTS = Path(__file__).parents[1]
OUTPUTS = {"csv": "csv", "parquet": "parquet", "ndjson": "parquet"}


def table(folder, format, without=("when", "name"), rows=ROWS):
    path = write(
        folder / f"table.{format}",
        world("regression", rows, seed=11, missing=0.001).drop_columns(list(without)),
    )
    if format == "csv":
        lines = path.read_text().splitlines(keepends=True)
        lines[rows // 2] = (
            "not,a,row\n"  # refused rows have a file of their own, which must survive as well
        )
        path.write_text("".join(lines))
    return path


def results(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "state"}


def assert_survives(folder, format, kills, seed, *key, without=("when", "name"), rows=ROWS):
    """Kill a run so many times.

    Returns how often it had to begin again after it had come to its end.
    """
    rng = np.random.default_rng(seed)
    source, straight, killed = (
        table(folder, format, without, rows),
        folder / "straight",
        folder / "killed",
    )
    program = [sys.executable, victim.__file__]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")])),
    }
    name = f"predictions.{OUTPUTS[format]}"

    def lives(where, delays):
        """Exit code and seconds of each life."""
        where.mkdir(exist_ok=True)
        command = [*program, str(source), str(where / name), str(where / "state"), *key]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        ) as killer:
            for delay in delays:
                print(delay, file=killer.stdin, flush=True)
                code, seconds = killer.stdout.readline().split()
                yield int(code), float(seconds)

    ((code, longest),) = lives(straight, [0.0])
    assert code == 0
    expected = results(straight)
    assert name in expected
    assert (f"{name}.refused.csv" in expected) == (format == "csv")
    count, ends, delays = 0, 0, iter(lambda: rng.uniform(0.0, longest), None)
    for code, _ in lives(killed, delays):
        if code == 0:
            assert results(killed) == expected
            shutil.rmtree(killed)
            killed.mkdir()
            ends += 1
        else:
            assert code == -signal.SIGKILL
            count += 1
        if count == kills:
            break
    ((code, _),) = lives(killed, [0.0])
    assert code == 0
    assert results(killed) == expected
    return ends


OTHERS = [pytest.param(*one, marks=pytest.mark.deep) for one in (("csv", ()), ("ndjson", ()))]


@pytest.mark.parametrize(("format", "key"), [("parquet", ("flag",)), *OTHERS])
def test_a_killed_run_ends_as_if_nothing_had_happened(tmp_path, format, key):
    assert_survives(tmp_path, format, QUICK, 1, *key)
    if key:  # what survived has intervals
        found = pq.read_table(tmp_path / "straight" / "predictions.parquet")
        assert found.schema.names[:5] == ["row", "flag", "prediction", "lower", "upper"]
        assert found["lower"].null_count == found["upper"].null_count < 50


def in_bulk(folder, kills, seed):
    """A run whose keys are learned in bulk, with intervals, dates, lags and rows without a target.

    Killed so many times.
    """
    ends = assert_survives(folder, "csv", kills, seed, "flag", without=victim.WORDS)
    saved = checkpoint.load(folder / "straight" / "state", kind=jobs.KIND)
    assert {
        "tracker.bulk.keys",
        "tracker.bulk.figures",
    } <= saved.keys()
    return ends


def test_keys_in_bulk_end_as_if_nothing_had_happened(tmp_path):
    in_bulk(tmp_path, KEYED, seed=5)


@pytest.mark.deep
def test_keys_in_bulk_are_killed_a_hundred_times(tmp_path):
    assert in_bulk(tmp_path, 10 * KEYED, seed=6) > 0  # or no kill came near the end


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("finished", [True, False])
def test_a_run_that_takes_up_a_finished_file_may_be_killed_before_it_saves(
    tmp_path, monkeypatch, ending, finished
):
    """The table has grown, or the run was killed between giving the output its name and saving
    that.
    """
    header, *rows = table(tmp_path, "csv").read_text().splitlines(keepends=True)[:400]
    source, here, there = tmp_path / "grown.csv", tmp_path / "here", tmp_path / "there"
    here.mkdir()
    job = Job(str(source), Settings("y"), str(here / f"out.{ending}"), state=str(here / "state"))
    save = jobs.save

    def killed_at(turn):
        """What is on disk just before a run saves for the n-th time is what is there after a
        kill.
        """
        turns = iter(range(turn + 1))

        def copied(job, saved):
            if next(turns, None) == turn:
                shutil.copytree(here, there)
            save(job, saved)

        monkeypatch.setattr(jobs, "save", copied)
        run(job)
        monkeypatch.setattr(jobs, "save", save)
        shutil.rmtree(here)
        there.rename(here)

    source.write_text("".join([header, *rows[:200]]))
    if finished:
        run(job)
        source.write_text("".join([header, *rows]))
    else:
        killed_at(1)  # the first save is that before the output gets its name
    killed_at(0)
    killed_at(0)  # once more: what the killed run has left is no obstacle either
    run(job)
    straight = Job(
        str(source),
        Settings("y"),
        str(tmp_path / f"straight.{ending}"),
        state=str(tmp_path / "state"),
    )
    run(straight)
    assert [path.name for path in sorted(here.iterdir())] == [f"out.{ending}", "state"]
    assert Path(job.output).read_bytes() == Path(straight.output).read_bytes()


def test_a_changed_spool_is_not_taken_for_one_that_was_left_behind(tmp_path):
    """Where the finished file has fewer rows than the state, the spool is all there is of the
    others.
    """
    position = row_groups.OutputPosition("parquet", 10, 5, "0" * 64)
    rows = pa.record_batch({"a": [1.0, 2.0]})
    with row_groups.ParquetOutput(str(tmp_path / "x"), rows.schema) as output:
        output.write(rows)
        output.finish()
    spool = tmp_path / "x.partial"
    spool.write_bytes(b"somebody's rows")
    with pytest.raises(TableError, match=r"x\.partial is not the output"):
        row_groups.SpooledParquet(str(tmp_path / "x"), rows.schema, position)
    (tmp_path / "x").write_bytes(b"no Parquet")
    with pytest.raises(TableError, match=r"x\.partial is not the output"):
        row_groups.SpooledParquet(str(tmp_path / "x"), rows.schema, position)
    assert spool.read_bytes() == b"somebody's rows"


@pytest.mark.deep
@pytest.mark.parametrize("format", FORMATS)
def test_a_run_killed_fifty_times_ends_as_if_nothing_had_happened(tmp_path, format):
    ends = assert_survives(tmp_path, format, DEEP, seed=2)
    assert ends > 0  # or no kill came near the end


@pytest.mark.deep
@pytest.mark.parametrize("key", [(), ("flag",)])
@pytest.mark.parametrize("format", FORMATS)
def test_a_thousand_kills_with_intervals(tmp_path, format, key):
    """With ``-k thousand_kills``: six runs, killed 167 times each."""
    assert (
        assert_survives(tmp_path, format, MANY, 4, *key, rows=FEW_ROWS) > 0
    )  # or no kill came near the end
