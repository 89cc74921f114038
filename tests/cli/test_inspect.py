"""``swordplay inspect``: every checkpoint is told in words, and what is none is refused in
words.
"""

import json

import numpy as np
import pytest

import swordplay as sp
from swordplay.cli import run
from swordplay.cli.inspection import DESCRIBERS
from swordplay.core import checkpoint
from tracking.files import write
from tracking.worlds import TASKS, world

ROWS = np.random.default_rng(0).normal(size=(40, 2))


def facts(capsys, path):
    """The facts, and the same in words."""
    assert run(["inspect", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert run(["inspect", str(path)]) == 0
    return found, capsys.readouterr().out


@pytest.mark.parametrize("task", TASKS)
def test_a_run(capsys, tmp_path, task):
    path, state, output = (
        write(tmp_path / "table.csv", world(task, 200, seed=1)),
        tmp_path / "state",
        tmp_path / "p.csv",
    )
    assert (
        run(
            [
                "track",
                str(path),
                "--target",
                "y",
                "--state",
                str(state),
                "-o",
                str(output),
                "--quiet",
            ]
        )
        == 0
    )
    capsys.readouterr()
    found, words = facts(capsys, state)
    assert found["kind"] == "track"
    assert found["written by"] == f"swordplay {sp.__version__}"
    assert found["what"].endswith("over a csv table, finished")
    assert found["rows"] == 200
    assert found["columns"] == "x, z, flag, when, colour"
    assert found["left out"] == "name"
    assert task in found["target"]
    assert (
        found["goes on"] == f"after row 200, line 201 of the input (byte {path.stat().st_size:,})"
    )
    assert found["predictions"] == f"{output}, 200 rows, {output.stat().st_size:,} bytes"
    assert ("classes" in found) == (task != "regression")
    assert "effective step size" in words


def test_an_estimator(capsys, tmp_path):
    from swordplay.sklearn import SwordClassifier, SwordRegressor

    SwordRegressor(lags=2).fit(ROWS, ROWS[:, 0]).save(tmp_path / "r")
    SwordClassifier().fit(ROWS, np.arange(40) % 3).save(tmp_path / "c")
    SwordRegressor().save(tmp_path / "fresh")
    found, _ = facts(capsys, tmp_path / "r")
    assert (found["kind"], found["rounds"], found["columns"]) == ("SwordRegressor", 40, 2)
    assert "lags = 2" in found["parameters"]
    found, _ = facts(capsys, tmp_path / "c")
    assert (found["kind"], found["models"], found["rounds"]) == ("SwordClassifier", 3, 40)
    assert facts(capsys, tmp_path / "fresh")[0]["rows"] == 0


def test_a_learner_and_an_engine(capsys, tmp_path):
    learner = sp.Sword(sp.Ball(2))
    sp.play(learner, sp.LinearStream(ROWS, ROWS[:, 0]))
    checkpoint.save(tmp_path / "l", learner.state(), kind="Sword")
    found, words = facts(capsys, tmp_path / "l")
    assert (found["kind"], found["rounds"], found["experts"], found["coordinates"]) == (
        "Sword",
        40,
        len(learner.weights),
        2,
    )
    assert found["settings"][0] == "learner = Sword"
    assert {"center = [0.0, 0.0]", "diameter = 2", "domain = Ball"} <= set(found["settings"])
    assert "settings" in words
    assert "diameter = 2" in words
    engine = sp.engine.online(sp.Sword(sp.Ball(2)))
    engine.learn([1.0, 0.5], 2.0)
    checkpoint.save(tmp_path / "e", engine.compact_state(), kind="engine")
    found, _ = facts(capsys, tmp_path / "e")
    assert (found["rounds"], found["experts"]) == (1, len(engine.weights))
    assert float(found["effective step size"]) > 0


def test_each_state_is_described_by_one_function(tmp_path):
    from swordplay.sklearn import SwordRegressor

    path = write(tmp_path / "table.csv", world("regression", 60, seed=1))
    assert (
        run(["track", str(path), "--target", "y", "--state", str(tmp_path / "run"), "--quiet"]) == 0
    )
    SwordRegressor().fit(ROWS, ROWS[:, 0]).save(tmp_path / "estimator")
    sp.OGD(sp.Ball(2), 0.1).save(tmp_path / "learner")
    checkpoint.save(
        tmp_path / "engine", sp.engine.online(sp.Sword(sp.Ball(2))).compact_state(), kind="engine"
    )
    for name in ("run", "estimator", "engine", "learner"):
        state = checkpoint.load(tmp_path / name)
        kind = checkpoint.read_header(tmp_path / name).kind
        found = {
            each
            for each, describe_state in DESCRIBERS.items()
            if describe_state(kind, state) is not None
        }
        assert found == {name}


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"anything": np.zeros(3), "else": "x" * 500},
        {"tracker.settings": "no json"},
        {"coords": 1, "rows": 2, "live": 3},
        {"rounds": 3, "experts.0.points": "none"},
        {"parameter.a": 1, "model.engine.live": np.zeros(2)},
    ],
)
def test_strange_checkpoints_are_listed(capsys, tmp_path, state):
    checkpoint.save(tmp_path / "s", state, kind="track")
    found, words = facts(capsys, tmp_path / "s")
    assert found["kind"] == "track"
    assert len(words) < 2000


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "does not exist"),
        (b"", "truncated"),
        (b"\x89SWORD\r\n", "truncated"),
        (b"something else entirely", "is not a checkpoint"),
    ],
)
def test_what_is_none(capsys, tmp_path, content, told):
    if content is not None:
        (tmp_path / "s").write_bytes(content)
    assert run(["inspect", str(tmp_path / "s")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert told in captured.err
    assert len(captured.err.splitlines()) <= 2
