"""Going on with a file that has changed is refused and names a row.

With a file that has grown it gives the same bytes.
"""

from __future__ import annotations

import re
import shutil

import numpy as np
import pyarrow as pa
import pytest

import swordplay as sp
from cli.test_two_runs import races
from swordplay.cli import run
from swordplay.core import checkpoint
from swordplay.tables import TableError
from swordplay.tracking import TrackingError
from tracking.files import FORMATS, write

ROWS = 5000


def table(rows=ROWS, seed=0, shared=0):
    """Rows of a random table, the first ones shared with that of seed 0."""
    rng, first = np.random.default_rng(seed), np.random.default_rng(0)
    size, noise = rng.normal(size=rows), rng.normal(size=rows)
    size[:shared], noise[:shared] = (
        first.normal(size=ROWS)[:shared],
        first.normal(size=ROWS)[:shared],
    )
    return pa.record_batch(
        {"day": np.arange(1.0, rows + 1), "size": size, "price": 3 * size + noise}
    )


def first_row(message):
    """The row that a message names."""
    return int(re.search(r"row ([\d,]+) is the first that may differ", message)[1].replace(",", ""))


def with_value(batch, row, value):
    prices = batch.column("price").to_pylist()
    prices[row - 1] = value
    return batch.set_column(2, "price", pa.array(prices))


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("format", FORMATS)
def test_learning_a_file_that_shares_its_first_rows_is_refused(tmp_path, capsys, format):
    write(tmp_path / f"old.{format}", table())
    write(tmp_path / f"new.{format}", table(seed=1, shared=3000))
    assert (
        run(["learn", f"old.{format}", "--target", "price", "--state", "m.state", "--quiet"]) == 0
    )
    before = (tmp_path / "m.state").read_bytes()
    assert run(["learn", f"new.{format}", "--state", "m.state", "--quiet"]) == 2
    said = capsys.readouterr().err
    assert 2800 <= first_row(said) <= 3001
    assert f"swordplay learn - --state m.state < new.{format}" in said
    assert "swordplay serve" in said
    assert "LateModel" in said
    assert (tmp_path / "m.state").read_bytes() == before
    write(tmp_path / f"short.{format}", table().slice(0, 4000))
    assert run(["learn", f"short.{format}", "--state", "m.state", "--quiet"]) == 2
    assert 3700 <= first_row(capsys.readouterr().err) <= 4001
    write(tmp_path / f"other.{format}", table(seed=2))
    assert run(["learn", f"other.{format}", "--state", "m.state", "--quiet"]) == 0
    assert f"{2 * ROWS:,} rows" in capsys.readouterr().out


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_is_exported_again_with_late_targets_is_refused(tmp_path, capsys, format):
    rows = table()
    prices = rows.column("price").to_pylist()
    write(
        tmp_path / f"t.{format}",
        rows.set_column(2, "price", pa.array([*prices[:-125], *[None] * 125])),
    )
    command = [
        "track",
        f"t.{format}",
        "--target",
        "price",
        "-o",
        "p.csv",
        "--state",
        "s",
        "--quiet",
    ]
    assert run(command) == 0
    before = {
        path.name: path.read_bytes()
        for path in tmp_path.iterdir()
        if path.suffix != f".{format}" or path.name == "p.csv"
    }
    write(tmp_path / f"t.{format}", rows)
    assert run(command) == 2
    said = capsys.readouterr().err
    assert 4500 <= first_row(said) <= ROWS - 124
    assert "swordplay.late.LateModel" in said
    for name, content in before.items():
        assert (tmp_path / name).read_bytes() == content


@pytest.mark.parametrize("format", FORMATS)
def test_a_killed_run_over_a_file_that_is_rewritten(tmp_path, format):
    """Rows that were tracked must be as they were, also within a block; others may have changed."""
    rows, rng = table(), np.random.default_rng(4)
    source = tmp_path / f"t.{format}"

    def command(where):
        (tmp_path / where).mkdir(exist_ok=True)
        options = [
            "--target",
            "price",
            "--state",
            f"{where}/s",
            "--save-every",
            "100",
            "--quiet",
            "--lags",
            "0",
        ]
        return {"arguments": ["track", str(source), "-o", f"{where}/p.csv", *options]}

    with races() as race:
        write(source, rows)
        assert race(command("warm"))[0]["code"] == 0
        seen = 0
        for delay in (0.0, 0.02, 0.1):
            shutil.rmtree("killed", ignore_errors=True)
            write(source, rows)
            race(command("killed") | {"killed": delay, "after": "killed/s"})
            if (tmp_path / "killed" / "s").exists():
                state = checkpoint.load("killed/s")
                done = int(state["done"])
                assert int(state["position.row"]) == done
                if 0 < done < ROWS:
                    seen += 1
                    write(source, with_value(rows, int(rng.integers(1, done + 1)), 1e3))
                    before = (tmp_path / "killed" / "s").read_bytes()
                    (found,) = race(command("killed"))
                    assert found["code"] == 2, found
                    assert (
                        "that this state was saved with" in found["said"]
                        or first_row(found["said"]) <= done
                    )
                    assert (tmp_path / "killed" / "s").read_bytes() == before
                    write(source, with_value(rows, int(rng.integers(done + 1, ROWS + 1)), 1e3))
                    assert race(command("killed"))[0]["code"] == 0
                    assert race(command("straight"))[0]["code"] == 0
                    assert (tmp_path / "killed" / "p.csv").read_bytes() == (
                        tmp_path / "straight" / "p.csv"
                    ).read_bytes()
                    shutil.rmtree("straight")
        assert seen


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("newline", [True, False])
def test_a_file_that_has_grown_goes_on_to_the_same_bytes(tmp_path, format, newline):
    """With and without a newline at its end."""
    rows, command = table(), ["--target", "price", "--quiet"]
    for name, part in (("t", rows.slice(0, 3000)), ("t", rows), ("whole", rows)):
        path = write(tmp_path / f"{name}.{format}", part)
        if not newline and format != "parquet":
            path.write_bytes(path.read_bytes().removesuffix(b"\n"))
        assert (
            run(["track", path.name, "-o", f"{name}.out.csv", "--state", f"{name}.s", *command])
            == 0
        )
    assert (tmp_path / "t.out.csv").read_bytes() == (tmp_path / "whole.out.csv").read_bytes()


def test_a_changed_frame_is_refused(tmp_path):
    rows = pa.Table.from_batches([table()])
    sp.track(rows.slice(0, 3000), "price", state=tmp_path / "s")
    changed = pa.Table.from_batches([with_value(table(), 2000, 1e3)])
    with pytest.raises((TableError, TrackingError), match="is the first that may differ") as error:
        sp.track(changed, "price", state=tmp_path / "s")
    assert 1800 <= first_row(str(error.value)) <= 2000
    assert "force=True" in str(error.value)
    assert sp.track(rows, "price", state=tmp_path / "s").summary["rows"] == ROWS
