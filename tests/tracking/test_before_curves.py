"""A state of `swordplay track` that was saved before lags and curves were defaults goes on as it began.

The golden state was written by the version before (commit dbb988e) after the first 60 of the 100 rows of ``before-curves.csv``,
by the command below; the golden predictions are what that version said of all 100.
"""

import csv
import shutil
from pathlib import Path

import pytest

from swordplay.application.cli import run
from tolerances import TWIN

GOLDEN = Path(__file__).parent / "golden"
COMMAND = ["track", "table.csv", "--target", "y", "-o", "p.csv", "--state", "old.state"]


@pytest.fixture(autouse=True)
def _there(tmp_path, monkeypatch):
    """The files as the earlier run left them, and forty rows more."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(GOLDEN / "before-curves.state", "old.state")
    shutil.copy(GOLDEN / "before-curves.csv", "table.csv")
    whole = (GOLDEN / "before-curves-predictions.csv").read_bytes().splitlines(keepends=True)
    Path("p.csv").write_bytes(b"".join(whole[:61]))


def predictions(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return [float(row["prediction"]) for row in rows if row["prediction"]]


def test_the_same_command_goes_on_without_them(capsys):
    assert run(COMMAND) == 0
    assert "Going on after row 60." in capsys.readouterr().err
    found, wanted = predictions("p.csv"), predictions(GOLDEN / "before-curves-predictions.csv")
    assert len(found) == len(wanted) >= 99
    assert found == pytest.approx(wanted, rel=TWIN, abs=TWIN)


def test_another_wish_is_refused_in_words(capsys):
    before = Path("old.state").read_bytes()
    assert run([*COMMAND, "--curves", "rich"]) != 0
    assert "old.state was saved with --lags 0, and now it is --lags auto" in capsys.readouterr().err
    assert Path("old.state").read_bytes() == before
