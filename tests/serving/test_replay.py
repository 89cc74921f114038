"""An event that cannot be replayed: the start names it and offers a way out, also after a
process that was killed.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest

from swordplay.serving import storage as storages
from swordplay.serving.limits import Limits
from swordplay.serving.log_format import Event
from swordplay.serving.requests import parse
from swordplay.serving.storage import Storage, StorageError

PATIENCE = 120
"""Seconds until a process counts as hanging."""
KILLED = """
import os, signal, sys
from swordplay.serving.storage import Storage
from swordplay.serving.limits import Limits
from swordplay.serving.models import Models

apply = Models.apply

def applied(models, number, event, request):
    if number == 4:
        os.kill(os.getpid(), signal.SIGKILL)  # as the system does when memory runs out
    return apply(models, number, event, request)

Models.apply = applied
Storage(sys.argv[1], Limits())
"""


@pytest.fixture
def folder(tmp_path):
    """A server that was killed after six events."""
    storage = Storage(str(tmp_path / "state"), Limits())
    for k in range(6):
        event = Event(
            "ask", "default", "number", json.dumps({"x": {"a": float(k)}, "id": f"{k}"}).encode()
        )
        storage.log.append([event])
        storage.apply(storage.log.last, event, parse(event, Limits()))
    storage.close()
    return tmp_path / "state"


def pending(folder, **options):
    storage = Storage(str(folder), Limits(), **options)
    with contextlib.closing(storage):
        return list(storage.models.series["default", ""].pending)


def test_after_a_kill_in_a_replay_the_next_start_names_the_event(folder, caplog):
    for _ in range(2):
        assert (
            subprocess.run([sys.executable, "-c", KILLED, folder], timeout=PATIENCE).returncode
            == -signal.SIGKILL
        )
        assert (folder / "replaying").read_text() == f"{4:016d}\n"
    assert pending(folder) == list("012345")
    assert "ended while it replayed event 4." in caplog.text
    assert "--skip-event 4" in caplog.text
    assert not (folder / "replaying").exists()
    caplog.clear()
    assert pending(folder, skip=[4]) == list("01245")
    assert pending(folder) == list("01245")
    assert "ended while it replayed" not in caplog.text


def test_an_event_that_is_skipped_is_not_warned_of_again(folder, caplog):
    subprocess.run([sys.executable, "-c", KILLED, folder], timeout=PATIENCE)
    assert pending(folder, skip=[4]) == list("01245")
    assert "ended while it replayed" not in caplog.text


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("a fault of ours"), RecursionError()]
)
def test_an_event_that_fails_is_named(folder, monkeypatch, error):
    def failing(event, limits):
        if b'"3"' in event.body:
            raise error
        return parse(event, limits)

    with monkeypatch.context() as patched:
        patched.setattr(storages, "parse", failing)
        words = (
            r"event 4 \(ask of the model 'default', 28 bytes\) fails "
            rf"\({type(error).__name__}\)\. .*--skip-event 4"
        )
        with pytest.raises(StorageError, match=words):
            pending(folder)
        assert pending(folder, skip=[4]) == list("01245")
    assert pending(folder) == list("01245")


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are counted by /proc")
def test_a_keeper_leaves_no_file_open(folder, monkeypatch):
    pending(folder)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        pending(folder)
        monkeypatch.setattr(storages, "parse", None)
        with pytest.raises(StorageError):
            pending(folder)
        monkeypatch.undo()
    assert len(os.listdir("/proc/self/fd")) == before


def test_skipping_by_the_command(launcher, folder):
    server = launcher.start("--state", folder, "--skip-event", 2, "--skip-event", 5)
    client = server.client()
    assert client.get("/models/default")[1]["pending"] == 4
    client.close()
    assert "event 2 is left out" in server.stop()
    server = launcher.start("--state", folder)
    client = server.client()
    assert client.get("/models/default")[1]["pending"] == 4
    client.close()
    server.stop()


def test_repair_by_the_command(launcher, folder):
    (folder / "high-water").unlink()
    server = launcher.start("--state", folder, wait=False)
    assert "is missing" in (said := server.wait_until_gone())
    assert "swordplay serve --repair" in said
    assert "exit 2" in said
    server = launcher.start("--state", folder, "--repair")
    client = server.client()
    assert client.get("/models/default")[1]["pending"] == 6
    client.close()
    assert "repaired the event log" in server.stop()


@pytest.mark.skipif(os.name != "posix", reason="permissions as on POSIX")
def test_folder_and_files_are_private(tmp_path, caplog):
    before = os.umask(0)
    try:
        storage = Storage(str(tmp_path / "new" / "state"), Limits(remembered=3))
        for k in range(2):
            event = Event("ask", "default", "number", b'{"x": {}, "id": "%d"}' % k)
            storage.log.append([event])
            storage.apply(storage.log.last, event, parse(event, Limits()))
            storage.save(storage.snapshot())
        storage.close()
    finally:
        os.umask(before)
    folder = tmp_path / "new" / "state"
    assert {
        path.name.partition("-")[0]: path.stat().st_mode & 0o777 for path in folder.iterdir()
    } == dict.fromkeys(("events", "high", "lock", "models"), 0o600)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert "can be opened by other users" not in caplog.text
    folder.chmod(0o755)
    Storage(str(folder), Limits(remembered=3)).close()
    assert (
        f"can be opened by other users of this machine (mode 755): chmod 700 {folder}"
        in caplog.text
    )
    assert folder.stat().st_mode & 0o777 == 0o755
