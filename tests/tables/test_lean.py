"""A process of the command does not import pandas, unless a table has something that is another thing with it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("pandas")

COMMAND = """
import sys
from swordplay.application.cli import main
try:
    main({arguments})
except SystemExit as end:
    print("left with", end.code, "pandas" in sys.modules, "scipy.linalg" in sys.modules, file=sys.stderr)
"""


def track(path, folder, arguments="None"):
    """What a process says of a table, and what it has imported on the way."""
    typed = ["track", str(path), "--target", "y", "--json", "--quiet", "--force", "-o", str(folder / "out.csv")]
    code = COMMAND.format(arguments=arguments if arguments == "None" else repr(typed))
    done = subprocess.run([sys.executable, "-c", code, *typed], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    for name in ("seconds", "rows_per_second"):
        told.pop(name)
    return told, (folder / "out.csv").read_bytes(), done.stderr.splitlines()[-1]


def table(path, when):
    rows = "".join(f"{when.format(k % 10, k)},{k % 7},{(k * 37) % 11}.5\n" for k in range(300))
    path.write_text(f"when,x,y\n{rows}")
    return path


@pytest.mark.parametrize(
    ("when", "needed"), [("2020-01-01 00:00:0{}", False), ("2020-01-01 00:00:0{}.123456{:03d}", True)], ids=["s", "ns"]
)
def test_pandas_is_imported_where_it_is_needed_and_nothing_else_changes(tmp_path, when, needed):
    path = table(tmp_path / "table.csv", when)
    lean, usual = track(path, tmp_path), track(path, tmp_path, "given")
    assert lean[:2] == usual[:2]
    assert lean[2].startswith(f"left with 0 {needed}")
    assert usual[2].startswith("left with 0 True")
