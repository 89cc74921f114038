"""A process of the command does not import pandas, unless a table has something that is another
thing with it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")

from swordplay.tables import lean  # needs pyarrow  # noqa: E402

COMMAND = """
import sys
{before}
from swordplay.cli import main
try:
    main({arguments})
except SystemExit as end:
    print("left with", end.code, "pandas" in sys.modules, "scipy.linalg" in sys.modules, file=sys.stderr)
"""  # noqa: E501


def track(path, folder, arguments="None", before="", more=()):
    """What a process says of a table, and what it has imported on the way."""
    typed = [
        "track",
        str(path),
        "--target",
        "y",
        "--json",
        "--quiet",
        "--force",
        "-o",
        str(folder / "out.csv"),
        *more,
    ]
    code = COMMAND.format(
        arguments=arguments if arguments == "None" else repr(typed), before=before
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *typed], capture_output=True, text=True, check=True
    )
    told = json.loads(done.stdout)
    for name in ("seconds", "rows_per_second"):
        told.pop(name)
    return told, (folder / "out.csv").read_bytes(), done.stderr.splitlines()[-1]


def table(path, when):
    rows = "".join(f"{when.format(k % 10, k)},{k % 7},{(k * 37) % 11}.5\n" for k in range(300))
    path.write_text(f"when,x,y\n{rows}")
    return path


@pytest.mark.parametrize(
    ("when", "needed"),
    [("2020-01-01 00:00:0{}", False), ("2020-01-01 00:00:0{}.123456{:03d}", True)],
    ids=["s", "ns"],
)
def test_pandas_is_imported_where_it_is_needed_and_nothing_else_changes(tmp_path, when, needed):
    path = table(tmp_path / "table.csv", when)
    lean, usual = track(path, tmp_path), track(path, tmp_path, "given")
    assert lean[:2] == usual[:2]
    assert lean[2].startswith(f"left with 0 {needed}")
    assert usual[2].startswith("left with 0 True")


def parquet(path, kind):
    """Values of every third row are whole microseconds."""
    rng = np.random.default_rng(0)
    ticks = [k * 3_600_000_000_000 + (0 if k % 3 == 0 else 123 + k) for k in range(-40, 260)]
    when = pa.array(
        [tick % 86_400_000_000_000 for tick in ticks] if pa.types.is_time(kind) else ticks, kind
    )
    pa.parquet.write_table(
        pa.table({"when": when, "x": rng.normal(size=300), "y": rng.normal(size=300)}), path
    )
    return path


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (pa.timestamp("ns", "Europe/Berlin"), ("--id", "when")),
        pytest.param(pa.time64("ns"), (), marks=pytest.mark.deep),
    ],
    ids=["carried", "time of the day"],
)
def test_nanoseconds_are_the_same_where_there_is_no_pandas(tmp_path, kind, more):
    path = parquet(tmp_path / "table.parquet", kind)
    missing = tmp_path / "missing"
    missing.mkdir()
    (missing / "pandas.py").write_text("raise ImportError('as where it is not installed')")
    without, usual = (
        track(path, tmp_path, before=text, more=more)
        for text in (f"sys.path.insert(0, {str(missing)!r})", "")
    )
    assert without[:2] == usual[:2]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "UTC"])
def test_a_moment_reads_as_that_of_pandas(zone):
    for tick in pa.array([-1, 1, 999, 1_600_000_000_123_456_789], pa.timestamp("ns", zone)):
        ours, theirs = (
            lean.to_the_nanosecond(tick),
            pandas.Timestamp(tick.value, tz="UTC" if zone else None),
        )
        theirs = theirs.tz_convert(zone) if zone else theirs
        assert (str(ours), ours.isoformat()) == (str(theirs), theirs.isoformat())
        assert datetime.fromisoformat(ours.isoformat()[:26]) == theirs.to_pydatetime(
            warn=False
        ).replace(tzinfo=None)
