"""Columns that appear late: they join with their first value, wherever batches end, and are as
if they had been missing.
"""

from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow as pa
import pytest

from swordplay.tables import open_table
from swordplay.tracking import Settings, run
from tracking.test_live import HEAD, rows_of, small_head  # noqa: F401  # a fixture
from tracking.test_run import job, stopped_after
from tracking.worlds import column, tracked

ROWS, LATE = 900, 520
"""Rows, and the one with which most of the late columns begin."""
MODEL_ROUNDING = 1e-6
"""The same columns in another order are added up in another order."""


def table():
    """Rows of which some columns begin late and have gaps."""
    rng = np.random.default_rng(3)
    rows = []
    for k in range(1, ROWS + 1):
        wind, x = rng.normal(size=2).round(6).tolist()
        row = {
            "x": x,
            "y": round(2 * x + (3 * wind if k >= LATE else 0.0) + 0.01 * rng.normal(), 6),
        }
        late = {
            "wind": wind,
            "sky": "clear" if k % 3 else "dull",
            "since": f"2024-03-{1 + k % 28:02d}",
            "wet": k % 2 == 0,
        }
        begins = {"wind": LATE, "sky": LATE, "since": LATE + 100, "wet": LATE + 200}
        rows.append(
            row
            | {
                name: value
                for name, value in late.items()
                if k >= begins[name] and (k + len(name)) % 5
            }
        )
    return rows


def written(path, rows):
    """The rows as a file; CSV has all columns from the beginning, some of them empty."""
    if path.suffix == ".ndjson":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        return path
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["x", "wind", "sky", "since", "wet", "y"])
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("format", ["ndjson", "csv"])
@pytest.mark.usefixtures("small_head")
def test_late_columns_join_wherever_batches_end(tmp_path, format, monkeypatch):
    for module in ("ndjson_format", "csv_format"):
        monkeypatch.setattr(f"swordplay.tables.{module}.HEAD_ROWS", HEAD)
    path = written(tmp_path / f"table.{format}", table())
    with open_table(path) as read:
        assert [
            name for name in read.schema.names if str(read.schema.field(name).type) != "null"
        ] == ["x", "y"]
    results = []
    for k, size in enumerate((1 << 9, 1 << 12, 1 << 22)):
        found = run(job(path, output=tmp_path / f"{k}.csv")._replace(block_size=size))
        story = found.tracker.story("t")
        results.append(
            ((tmp_path / f"{k}.csv").read_bytes(), found.remarks, story.columns, story.worst)
        )
    assert results[0] == results[1] == results[2]
    options = {"output": tmp_path / "stopped.csv", "state": tmp_path / "state"}
    while (found := stopped_after(1, job(path, **options))).stopped:
        pass
    story = found.tracker.story("t")
    assert results[0] == (
        (tmp_path / "stopped.csv").read_bytes(),
        found.remarks,
        story.columns,
        story.worst,
    )
    joined = [remark for remark in found.remarks if "joins as" in remark]
    assert joined[0].startswith("Column 'wind' appears at row 52")
    assert [remark.rpartition(" ")[2] for remark in joined] == [
        "number.",
        "category.",
        "date.",
        "truth.",
    ]
    assert {one.name: one.kind for one in story.columns} == {
        "x": "number",
        "wind": "number",
        "sky": "category",
        "since": "date",
        "wet": "truth",
    }


@pytest.mark.usefixtures("small_head")
def test_late_columns_are_as_if_they_had_been_missing(tmp_path):
    rows = [{name: value for name, value in row.items() if name != "since"} for row in table()]
    run(job(written(tmp_path / "late.ndjson", rows), output=tmp_path / "late.csv"))
    names = ["x", "wind", "wet", "sky", "y"]
    known = pa.record_batch({name: [row.get(name) for row in rows] for name in names})
    _, expected = tracked(
        known, Settings("y"), [ROWS]
    )  # decides by all rows, so that all columns are there from the beginning
    late = np.array([float(row["prediction"] or "nan") for row in rows_of(tmp_path / "late.csv")])
    np.testing.assert_allclose(
        late, column(expected, "prediction"), rtol=MODEL_ROUNDING, atol=MODEL_ROUNDING
    )
    errors = np.abs(late - [row["y"] for row in rows])
    assert np.nanmean(errors[-100:]) < 0.7 * np.nanmean(
        errors[LATE : LATE + 50]
    )  # it helps as soon as it is there


@pytest.mark.usefixtures("small_head")
def test_late_columns_that_are_not_wanted_stay_out(tmp_path):
    path = tmp_path / "table.ndjson"
    rows = [
        {"x": k % 7, "note": f"n{k % 3}", "y": k % 5 + 0.5} | ({"wind": k} if k > 500 else {})
        for k in range(700)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = run(job(path, features=("x",)))
    assert [one.name for one in found.tracker.encoder.plans if one.kind != "left out"] == ["x"]
    found = run(job(path, drop=("note",)))  # others still join
    assert "Column 'wind' appears at row 502 and joins as a number." in found.remarks


@pytest.mark.usefixtures("small_head")
def test_late_values_that_do_not_fit_the_first_one_are_bad(tmp_path):
    path = tmp_path / "table.ndjson"
    rows = [{"x": k % 7, "y": k % 5 + 0.5} for k in range(700)]
    rows[500]["wind"], rows[501]["wind"], rows[502]["list"] = 1.5, "strong", [1]
    rows[501]["only here"] = 3
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for size in (1 << 9, 1 << 22):
        found = run(job(path, refused=tmp_path / "bad.csv", force=True)._replace(block_size=size))
        assert [(one.row, one.column) for one in found.refusals] == [(502, "wind")]
        assert [one.name for one in found.tracker.encoder.plans if one.late] == [
            "wind"
        ]  # a bad row decides on nothing
