"""Two runs on one state at once: the second waits or refuses, and no row is lost."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import swordplay as sp
from cli import racer
from swordplay.cli import run
from swordplay.core import checkpoint
from swordplay.tracking import TrackingError, state_lock
from tracking.files import write
from tracking.worlds import world

TESTS = Path(__file__).parents[1]
ROWS = (300, 500, 400)
"""Of three tables with different rows."""
QUICK, DEEP = 4, 50
SOON = 120.0
"""Seconds within which something happens that takes a fraction of a second on an idle machine."""


@pytest.fixture
def tables(tmp_path):
    """Three tables with different rows."""
    return [
        write(tmp_path / f"{k}.csv", world("regression", rows, seed=k))
        for k, rows in enumerate(ROWS)
    ]


@contextlib.contextmanager
def races():
    """A function that runs several commands at once."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    program, environment = [sys.executable, racer.__file__], {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:

        def race(*runs):
            told = [{"delay": 0.0, "killed": None, "after": None} | one for one in runs]
            print(json.dumps(told), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield race


def learning(table, state, **more):
    command = [
        "learn",
        str(table),
        "--target",
        "y",
        "--state",
        str(state),
        "--quiet",
        "--save-every",
        "100",
    ]
    return {"arguments": command, **more}


def rows_in(state):
    """How many rows the model in a state has seen."""
    return int(checkpoint.load(state)["tracker.rows"])


def race_often(tables, folder, rounds, seed, *, kill):
    """Let two runs learn different tables into one state.

    Returns how often a run was killed before its end.
    """
    rng, killed = np.random.default_rng(seed), 0
    with races() as race:
        began = time.monotonic()
        race(learning(tables[0], folder / "timed"), learning(tables[1], folder / "timed.too"))
        longest = time.monotonic() - began
        for k in range(rounds):
            state = folder / f"state-{k}"
            (first,) = race(learning(tables[0], state))
            assert first["code"] == 0
            runs = [
                learning(table, state, delay=rng.uniform(0.0, longest / 2)) for table in tables[1:]
            ]
            if kill:
                runs[int(rng.integers(2))]["killed"] = rng.uniform(0.0, longest)
            codes = [one["code"] for one in race(*runs)]
            if not kill:
                assert codes == [0, 0]
            killed += -signal.SIGKILL in codes
            again = sorted(
                (one for one, code in zip(runs, codes, strict=True) if code),
                key=lambda one: "killed" not in one,
            )
            for one in (
                again if rows_in(state) < sum(ROWS) else ()
            ):  # the killed one first: the other had to refuse
                (found,) = race(one | {"killed": None, "delay": 0.0})
                assert found["code"] == 0, found
            assert rows_in(state) == sum(ROWS)
            left = list(folder.glob("*.lock"))
            assert kill or not left, (
                left
            )  # a run that is killed behind its last save leaves the file, which does no harm
    return killed


def test_two_runs_learn_into_one_state_and_no_row_is_lost(tables, tmp_path):
    race_often(tables, tmp_path, QUICK, seed=1, kill=False)


def test_one_of_two_runs_is_killed_and_no_row_is_lost(tables, tmp_path):
    race_often(tables, tmp_path, QUICK, seed=2, kill=True)


@pytest.mark.deep
@pytest.mark.parametrize("kill", [False, True])
def test_fifty_races_for_one_state(tables, tmp_path, kill):
    assert (race_often(tables, tmp_path, DEEP, seed=3, kill=kill) > DEEP // 4) == kill


def test_two_runs_of_track_on_one_state(tables, tmp_path):
    """One tracks the table to its end; the other waits, and then finds nothing new."""
    state = tmp_path / "state"
    command = [
        "track",
        str(tables[1]),
        "--target",
        "y",
        "--state",
        str(state),
        "--quiet",
        "--save-every",
        "100",
    ]
    with races() as race:
        found = race({"arguments": command}, {"arguments": command})
    assert [one["code"] for one in found] == [0, 0]
    assert rows_in(state) == ROWS[1]


@contextlib.contextmanager
def held(state):
    """A process that has the lock of a state until the end of the block."""
    text = f"""
import sys
from swordplay.tracking.state_lock import locked
with locked({str(state)!r}):
    print("locked", flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "locked\n"
        try:
            yield holder
        finally:
            holder.stdin.close()


def test_a_run_says_for_which_process_it_waits(tables, tmp_path):
    state = tmp_path / "state"
    command = [sys.executable, "-m", "swordplay", *learning(tables[0], state)["arguments"]]
    command.remove("--quiet")
    with (
        held(state) as holder,
        subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as waiting,
    ):
        said = waiting.stderr.readline()
        assert said.startswith(f"Waiting for {state}: process {holder.pid} is using it.")
        assert "--wait 0" in said
        assert waiting.poll() is None
        assert not state.exists()
        holder.stdin.close()
        assert waiting.wait(SOON) == 0
    assert rows_in(state) == ROWS[0]


@pytest.mark.parametrize("name", ["state", "link", "./folder/../state", "linked folder/state"])
@pytest.mark.parametrize("wait", ["0", "0.3"])
def test_a_run_that_does_not_wait_refuses(tables, tmp_path, monkeypatch, capsys, name, wait):
    """By whatever name the state is called."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("link").symlink_to("state")
    Path("linked folder").symlink_to(tmp_path)
    for command in ("learn", "track"):
        with held(tmp_path / "state") as holder:
            assert (
                run(
                    [
                        command,
                        str(tables[0]),
                        "--target",
                        "y",
                        "--state",
                        name,
                        "--wait",
                        wait,
                        "--quiet",
                    ]
                )
                == 2
            )
            said = capsys.readouterr().err
            assert f"--state {name} is in use by process {holder.pid}" in said
            assert "--wait" in said
            assert not Path("state").exists()


def test_an_interrupted_wait_ends(tables, tmp_path):
    command = [
        sys.executable,
        "-m",
        "swordplay",
        *learning(tables[0], tmp_path / "state")["arguments"],
    ]
    command.remove("--quiet")
    with (
        held(tmp_path / "state"),
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as waiting,
    ):
        waiting.stderr.readline()
        waiting.send_signal(signal.SIGTERM)
        assert waiting.wait(SOON) == 143


def test_a_lock_ends_with_its_process(tmp_path):
    state = tmp_path / "state"
    with held(state) as holder:
        holder.kill()
        holder.wait()
        assert (tmp_path / "state.lock").exists()
        with state_lock.locked(str(state), wait=0.0):
            assert (tmp_path / "state.lock").read_text() == f"{os.getpid()}\n"
    assert list(tmp_path.iterdir()) == []


def test_a_fork_does_not_keep_the_lock_and_does_not_release_it(tmp_path):
    state = str(tmp_path / "state")
    text = f"""
import os, signal, sys, time
from swordplay.tracking.state_lock import locked
with locked({state!r}):
    child = os.fork()
    if child:
        os.write(1, b"forked %d\\n" % child)  # one write, as two processes share the pipe
        time.sleep({SOON})
if not child:
    os.write(1, b"left\\n")
    time.sleep({SOON})
"""
    with subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, text=True
    ) as parent:
        lines = sorted(parent.stdout.readline() for _ in range(2))
        child = int(lines[0].split()[1])
        assert lines[1] == "left\n"
        try:
            with (
                pytest.raises(TrackingError, match=f"in use by process {parent.pid}"),
                state_lock.locked(state, wait=0.0),
            ):
                pass
            parent.kill()
            parent.wait()
            with state_lock.locked(state, wait=SOON):  # the child is still there
                os.kill(child, 0)
        finally:
            os.kill(child, signal.SIGKILL)


def test_threads_take_turns(tmp_path):
    state, inside, most, turns = str(tmp_path / "state"), [], [], []

    def go():
        for _ in range(20):
            with state_lock.locked(state):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.001)
                inside.pop()
                turns.append(1)

    threads = [threading.Thread(target=go) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(SOON)
    assert len(turns) == 80
    assert max(most) == 1


def test_the_lock_of_a_removed_file_is_no_lock(tmp_path, monkeypatch):
    """The process that had it removed the file between our opening and our locking it: the next
    one makes a new file.
    """
    path, lock = tmp_path / "state.lock", state_lock.files.lock

    def removed_before(descriptor, *, wait):
        path.unlink()
        return lock(descriptor, wait=wait)

    monkeypatch.setattr(state_lock.files, "lock", removed_before)
    assert state_lock._LockFile.taken(str(path)) is None
    monkeypatch.undo()
    with state_lock.locked(str(tmp_path / "state"), wait=0.0):
        assert path.exists()


def test_nothing_is_written_through_a_link_in_the_place_of_the_lock(tmp_path):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "state.lock").symlink_to(tmp_path / "victim")
    with (
        pytest.raises(TrackingError, match=r"state\.lock is a link or no file"),
        state_lock.locked(str(tmp_path / "state")),
    ):
        pass
    assert (tmp_path / "victim").read_text() == "precious"


def test_a_file_system_without_locks_is_said(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", none)
    with (
        pytest.raises(TrackingError, match="Operation not supported"),
        state_lock.locked(str(tmp_path / "state")),
    ):
        pass


def test_from_python(tmp_path, caplog):
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=50), "y": rng.normal(size=50)})
    state = tmp_path / "state"
    with (
        held(state) as holder,
        pytest.raises(TrackingError, match=rf"state {state} is in use.*, allow more with wait,"),
    ):
        sp.track(table, "y", state=state, wait=0.1)
    with held(state) as holder:
        timer = threading.Timer(state_lock.SAY_AFTER_SECONDS + 1.0, holder.stdin.close)
        timer.start()
        assert sp.track(table, "y", state=state).summary["rows"] == 50
        timer.join()
    assert f"Waiting for {state}: process {holder.pid} is using it." in caplog.text
    with pytest.raises(TrackingError, match=r"wait must be a number of seconds"):
        sp.track(table, "y", state=state, wait=-1)
