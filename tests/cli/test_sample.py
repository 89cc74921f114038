"""``swordplay sample``: the tables that the README begins with exist and can be tracked."""

import csv
import datetime

import numpy as np
import pytest

from swordplay import datasets
from swordplay.cli import run
from swordplay.cli.sample import NAMES
from swordplay.datasets.samples import SAMPLES


def test_the_names_that_are_offered_are_those_that_exist():
    assert tuple(SAMPLES) == NAMES


def test_bikes_have_dates_and_the_counts_of_the_stream(tmp_path, capsys):
    path = tmp_path / "bikes.csv"
    assert run(["sample", "bikes", "-o", str(path)]) == 0
    told = capsys.readouterr().out
    assert "78,253 rows. The column to predict is rentals." in told
    assert f"swordplay track {path} --target rentals --report {tmp_path}/bikes.html" in told
    with open(path) as lines:
        rows = list(csv.DictReader(lines))
    stream = datasets.bikesharing()
    assert [float(row["rentals"]) for row in rows] == stream.targets.tolist()
    assert [float(row["last_week"]) for row in rows] == stream.features[
        :, stream.names.index("count_168h_ago")
    ].tolist()
    times = [datetime.datetime.fromisoformat(row["time"]) for row in rows]
    assert times[0] == datetime.datetime(2010, 9, 27, 12)
    assert times[-1] == datetime.datetime(
        2019, 9, 1, 0
    )  # the last hour of the stream that it was made from
    hours = np.array([time.hour for time in times])
    np.testing.assert_allclose(
        np.sin(2 * np.pi * hours / 24),
        stream.features[:, stream.names.index("hour_sin")],
        atol=1e-6,
    )


@pytest.mark.parametrize("name", ["electricity", "sulfur"])
def test_the_others_are_as_they_are_shipped(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert run(["sample", name]) == 0
    stream = getattr(datasets, name)()
    table = np.loadtxt(f"{name}.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(table[:, -1], stream.targets)
    assert SAMPLES[name].target == stream.target


def test_what_exists_is_not_replaced_unasked(tmp_path, capsys):
    path = tmp_path / "mine.csv"
    path.write_text("mine")
    assert run(["sample", "sulfur", "-o", str(path)]) == 2
    assert path.read_text() == "mine"
    assert "--force" in capsys.readouterr().err
    assert run(["sample", "sulfur", "-o", str(path), "--force"]) == 0
    assert path.read_text().startswith("gas_1,")


def test_a_folder_that_is_not_there(tmp_path, capsys):
    assert run(["sample", "sulfur", "-o", str(tmp_path / "no" / "such.csv")]) == 1
    assert "there is no folder" in capsys.readouterr().err
