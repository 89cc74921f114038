"""Sweeps: the same table on every backend, and no game played twice."""

import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import swordplay as sp
from swordplay.theory.sweeps import sweep

joblib = pytest.importorskip("joblib")

LEARNERS = {
    "Sword": lambda stream: sp.Sword(stream.domain),
    "OGD": lambda stream: sp.OGD(stream.domain, step_size=0.1),
}
STREAMS = {
    "jumps": functools.partial(sp.streams.drift.jumps, 300, 3),
    "walk": functools.partial(sp.streams.drift.random_walk, 200),
}
SEEDS = range(3)
START_SECONDS = 120.0
"""Seconds that a process may take to start before the test fails."""


def extremes(ledger, learner, stream):
    return {
        "largest": ledger.losses.max(),
        "certificate": learner.certificate(1.0),
        "kind": type(stream).__name__,
    }


@pytest.fixture(scope="module")
def table():
    return sweep(LEARNERS, STREAMS, SEEDS, measure=extremes)


def test_the_table_has_the_results_of_play(table):
    assert [(row["learner"], row["stream"], row["seed"]) for row in table] == [
        (learner, stream, seed) for learner in LEARNERS for stream in STREAMS for seed in SEEDS
    ]
    for row in table:
        stream = STREAMS[row["stream"]](seed=row["seed"])
        learner = LEARNERS[row["learner"]](stream)
        ledger = sp.play(learner, stream)
        assert row["rounds"] == len(stream)
        assert row["total_loss"] == ledger.total_loss
        assert row["regret"] == ledger.regret(stream.comparators)
        assert row["path_length"] == sp.path_length(stream.comparators)
        assert row["largest"] == ledger.losses.max()
        assert row["certificate"] == learner.certificate(1.0)
        assert row["kind"] == "PlantedStream"


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_two_at_once_make_the_same_table(table, backend):
    with joblib.parallel_config(backend, n_jobs=2):
        assert sweep(LEARNERS, STREAMS, SEEDS, measure=extremes) == table


def test_a_dask_cluster_makes_the_same_table(table, tmp_path):
    distributed = pytest.importorskip(
        "distributed", reason="needs dask: pip install 'dask[distributed]'"
    )
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=tmp_path
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config("dask"),
    ):
        assert sweep(LEARNERS, STREAMS, SEEDS, measure=extremes) == table


@pytest.mark.deep
def test_a_ray_cluster_makes_the_same_table(table, tmp_path):
    ray = pytest.importorskip("ray", reason="needs ray: pip install ray")
    from ray.util.joblib import register_ray

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONWARNINGS": "default"}},
    )
    try:
        register_ray()
        with joblib.parallel_config("ray", n_jobs=2):
            assert (
                sweep(LEARNERS, STREAMS, SEEDS, measure=extremes, file=tmp_path / "ray.jsonl")
                == table
            )
    finally:
        ray.shutdown()


class Counted:
    """A measure that logs each game in a file."""

    def __init__(self, file):
        self.file = file

    def __call__(self, ledger, learner, stream):
        time.sleep(float(os.environ.get("PAUSE_OF_GAMES", "0")))
        with open(self.file, "a") as log:
            log.write("game\n")
        return {}

    def __len__(self):
        return len(Path(self.file).read_text().splitlines()) if os.path.exists(self.file) else 0


def test_games_in_the_file_are_not_played_again(tmp_path):
    file, counted = tmp_path / "file.jsonl", Counted(tmp_path / "log")
    few = sweep({"OGD": LEARNERS["OGD"]}, STREAMS, [0], measure=counted, file=file)
    assert len(counted) == 2
    many = sweep(LEARNERS, STREAMS, SEEDS, measure=counted, file=file)
    assert len(counted) == 12
    assert [row for row in many if row["learner"] == "OGD" and row["seed"] == 0] == few
    assert sweep(LEARNERS, STREAMS, SEEDS, measure=counted, file=file) == many
    assert len(counted) == 12
    assert (
        sweep(LEARNERS, STREAMS, SEEDS, measure=counted) == many
    )  # without the file: all again, the same


def test_games_of_another_version_are_played_again(tmp_path):
    file = tmp_path / "file.jsonl"
    streams = {"jumps": STREAMS["jumps"]}

    def table(step_size, **more):
        return sweep(
            {"OGD": lambda stream: sp.OGD(stream.domain, step_size)}, streams, file=file, **more
        )

    first = table(0.1)
    assert table(0.2) == first  # changed code is noticed by its version only
    second = table(0.2, version=2)
    assert second[0]["total_loss"] != first[0]["total_loss"]
    assert table(0.2, version="2") == second
    assert table(0.3, version=1) == first  # its lines are still there
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["game"] for line in lines] == [
        {
            "learner": "OGD",
            "stream": "jumps",
            "seed": 0,
            "engine": "auto",
            "measure": None,
            "version": version,
        }
        for version in ("1", "2")
    ]


def test_games_of_another_measure_or_engine_are_played_again(tmp_path):
    file = tmp_path / "file.jsonl"
    streams = {"jumps": STREAMS["jumps"]}
    [plain] = sweep(LEARNERS, streams, file=file)[:1]
    [measured] = sweep(LEARNERS, streams, file=file, measure=extremes)[:1]
    assert measured.items() > plain.items()
    sweep(LEARNERS, streams, file=file, engine="python")
    assert len(file.read_text().splitlines()) == 3 * len(LEARNERS)


def test_a_line_cut_short_is_played_again_and_a_foreign_one_is_refused(tmp_path):
    file, counted = tmp_path / "file.jsonl", Counted(tmp_path / "log")
    whole = sweep(LEARNERS, STREAMS, [0], measure=counted, file=file)
    file.write_bytes(file.read_bytes()[:-20])
    assert sweep(LEARNERS, STREAMS, [0], measure=counted, file=file) == whole
    assert len(counted) == 5
    assert len([json.loads(line) for line in file.read_text().splitlines()]) == 4
    for foreign in (
        "name,total_loss",
        "5",
        '{"game": {"learner": "OGD"}, "row": {}}',
        '{"key": "0d1f", "row": {}}',
    ):
        file.write_text(foreign + "\n")
        with pytest.raises(ValueError, match="line 1 of"):
            sweep(LEARNERS, STREAMS, [0], file=file)


PROGRAM = """
import pathlib, sys
import test_sweeps
from test_sweeps import LEARNERS, STREAMS, Counted

measure = Counted(pathlib.Path(sys.argv[1]))
test_sweeps.sweep(LEARNERS, STREAMS, range(50), measure=measure, file=sys.argv[2], jobs=int(sys.argv[3]))
"""  # noqa: E501


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.deep), 2])
def test_a_sweep_that_was_killed_goes_on(tmp_path, jobs):
    file, counted = tmp_path / "file.jsonl", Counted(tmp_path / "log")
    program = [sys.executable, "-c", PROGRAM, str(counted.file), str(file), str(jobs)]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(
            [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
        "PAUSE_OF_GAMES": "0.2",
    }
    process = subprocess.Popen(program, env=environment, start_new_session=True)
    deadline = time.monotonic() + START_SECONDS
    while not file.exists() or file.read_text().count("\n") < 3:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    written, played = file.read_text().count("\n"), len(counted)
    assert (
        3 <= written <= played <= written + 2 * jobs
    )  # those under way when it died, and what a worker had handed in
    table = sweep(LEARNERS, STREAMS, range(50), measure=counted, file=file)
    assert len(counted) - played == len(table) - written  # none of those that were written down


REFUSED = [
    (({}, STREAMS, SEEDS), TypeError, "learners must be a dictionary"),
    ((LEARNERS, [STREAMS["walk"]], SEEDS), TypeError, "streams must be a dictionary"),
    (
        ({"Sword": sp.Sword(sp.Ball(2))}, STREAMS, SEEDS),
        TypeError,
        "learners must be a dictionary of functions",
    ),
    ((LEARNERS, STREAMS, [0.5]), TypeError, "seeds must be"),
    ((LEARNERS, STREAMS, [-1]), ValueError, "seeds must be"),
    ((LEARNERS, STREAMS, [1, 1]), ValueError, "different numbers"),
    ((LEARNERS, STREAMS, []), ValueError, "one or more"),
]


@pytest.mark.parametrize(("given", "error", "words"), REFUSED)
def test_bad_arguments_are_refused(given, error, words):
    with pytest.raises(error, match=words):
        sweep(*given)


@pytest.mark.parametrize("version", [None, 1.5, True])
def test_a_version_is_a_string_or_a_whole_number(version):
    with pytest.raises(TypeError, match="version must be a string or a whole number, got"):
        sweep(LEARNERS, STREAMS, SEEDS, version=version)


def test_a_game_that_fails_is_named(tmp_path):
    file = tmp_path / "file.jsonl"
    broken = LEARNERS | {"wide": lambda stream: sp.Sword(sp.Ball(99))}
    with pytest.raises(RuntimeError, match="learner 'wide' on stream 'jumps' with seed 0"):
        sweep(broken, STREAMS, [0], file=file)
    assert file.read_text().count("\n") == 4  # what was done before is not lost


def test_results_of_measure_that_are_no_numbers_are_refused():
    with pytest.raises(TypeError, match="measure must give numbers and strings"):
        sweep(LEARNERS, STREAMS, [0], measure=lambda *game: {"losses": np.zeros(3)})


def test_a_terminal_without_rich_gets_a_table_and_no_bar(monkeypatch):
    """The bar is drawn by default, and rich is not among the packages that sweeps need."""
    monkeypatch.setattr(os, "isatty", lambda descriptor: True)
    for name in ("rich", "rich.console", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)
    world = {"still": lambda seed: [sp.QuadraticLoss([[1.0]], [0.5])]}
    [row] = sweep({"OGD": lambda stream: sp.OGD(sp.Ball(1), 0.1)}, world, [0])
    assert row["rounds"] == 1
