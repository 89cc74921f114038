"""What is on the disk: one log, two checkpoints, one lock.

And every way in which they may be damaged, full or taken.
"""

import asyncio
import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from swordplay.cli.inspection import describe
from swordplay.core import checkpoint
from swordplay.serving import event_log, free_memory, group_commit
from swordplay.serving import storage as storages
from swordplay.serving.errors import RequestError
from swordplay.serving.limits import Bounds, Limits
from swordplay.serving.log_format import Event
from swordplay.serving.metrics import Metrics
from swordplay.serving.requests import parse
from swordplay.serving.storage import Storage, StorageError

SMALL = Limits(remembered=20, behind=10)


def ask(name, a=1.0, model="default"):
    return Event("ask", model, "number", json.dumps({"x": {"a": a}, "id": name}).encode())


def tell(name, y, model="default"):
    return Event("tell", model, "number", json.dumps({"id": name, "y": y}).encode())


def do(storage, *events):
    """Write events and do what they want; the answers."""
    storage.log.append(events)
    first = storage.log.last - len(events) + 1
    return [
        json.loads(storage.apply(first + k, event, parse(event, storage.limits)))
        for k, event in enumerate(events)
    ]


def rounds(storage, first, count):
    for k in range(first, first + count):
        do(storage, ask(f"{k}", float(k % 7)), tell(f"{k}", 2.0 * (k % 7)))


def save(storage):
    """As the commits does."""
    superfluous = storage.save(storage.snapshot())
    if superfluous is not None:
        storage.log.forget(superfluous)


def same(one, other):
    """Bit by bit."""
    assert checkpoint.dumps(one, kind="serve") == checkpoint.dumps(other, kind="serve")


@pytest.fixture
def storage(tmp_path):
    storage = Storage(str(tmp_path / "state"), SMALL)
    yield storage
    storage.close()


def crashed(storage, tmp_path):
    """A storage of the folder as a crash would leave it now."""
    shutil.copytree(storage.folder, tmp_path / "copy")
    return Storage(str(tmp_path / "copy"), storage.limits)


def test_events_are_on_the_disk_before_they_are_noted_as_acknowledged(storage, monkeypatch):
    course = []
    sync, put = event_log._sync, event_log.HighWaterMark.put
    monkeypatch.setattr(
        event_log, "_sync", lambda file: (course.append(os.fstat(file).st_size), sync(file))
    )
    monkeypatch.setattr(
        event_log.HighWaterMark,
        "put",
        lambda mark, boundary: (course.append(boundary.number), put(mark, boundary)),
    )
    do(storage, ask("first"))
    assert course == [os.path.getsize(storage.log._path), storage.log.last]


def test_after_a_crash_everything_is_there_bit_by_bit(storage, tmp_path):
    rounds(storage, 0, 6)
    save(storage)
    rounds(storage, 6, 5)
    do(storage, ask("waits"))
    again = crashed(storage, tmp_path)
    assert again.replayed == 11
    same(again.models.state(), storage.models.state())
    assert do(again, ask("later", 3.0)) == do(storage, ask("later", 3.0))
    again.close()


def test_refused_events_are_refused_again(storage, tmp_path):
    rounds(storage, 0, 2)
    for wrong in (tell("0", 5.0), tell("unknown", 1.0), ask("1", 99.0)):
        with pytest.raises(RequestError):
            do(storage, wrong)
    rounds(storage, 2, 2)
    again = crashed(storage, tmp_path)
    assert again.number == storage.number == 12  # the limits of these tests are the first event
    same(again.models.state(), storage.models.state())
    again.close()


def test_two_checkpoints_are_kept_and_the_log_behind_the_older(storage):
    for k in range(4):
        rounds(storage, 5 * k, 5)
        save(storage)
    names = sorted(path.name for path in Path(storage.folder).glob("models-*"))
    assert names == ["models-0000000000000031.state", "models-0000000000000041.state"]
    assert storage.log.first() == 32
    assert storage.unsaved == 0


def test_a_damaged_checkpoint_is_made_up_for_by_the_one_before(storage, tmp_path):
    for k in range(3):
        rounds(storage, 5 * k, 5)
        save(storage)
    rounds(storage, 15, 2)
    shutil.copytree(storage.folder, tmp_path / "copy")
    newest = max((tmp_path / "copy").glob("models-*.state"))
    newest.write_bytes(newest.read_bytes()[:-1])
    again = Storage(str(tmp_path / "copy"), SMALL)
    same(again.models.state(), storage.models.state())
    assert again.replayed == 14
    again.close()
    for path in (tmp_path / "copy").glob("models-*.state"):
        path.write_bytes(b"nothing")
    with pytest.raises(
        StorageError,
        match=r"the checkpoint .* is not a checkpoint|the checkpoint .* is (damaged|too short|cut)",
    ):
        Storage(str(tmp_path / "copy"), SMALL)


def test_inspect_tells_what_is_in_a_checkpoint(storage):
    rounds(storage, 0, 3)
    do(storage, ask("waits"), ask("other", model="another"))
    save(storage)
    facts = describe(storage._checkpoint_path(storage.number))
    assert facts["models"] == ["default: predicts number", "another: predicts number"]
    names = (
        "series",
        "rows asked",
        "rows told",
        "tickets dropped",
        "tickets pending",
        "answered tickets remembered",
    )
    assert [facts[name] for name in names] == [2, 5, 3, 0, 2, 3]


def test_the_second_server_is_refused(storage):
    with pytest.raises(StorageError, match="another server uses"):
        Storage(storage.folder, SMALL)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be served from"):
        Storage(str(tmp_path / "file"), SMALL)


def test_a_full_log_is_507_and_keeps_what_it_had(tmp_path):
    storage = Storage(str(tmp_path / "state"), SMALL._replace(log=200_000))
    rounds(storage, 0, 3)
    before, number = storage.models.state(), storage.log.last
    large = Event("ask", "default", "number", json.dumps({"x": {"a": "w" * 300_000}}).encode())
    for _ in range(2):
        with pytest.raises(RequestError) as refusal:
            storage.log.append([ask("with it"), large])
        assert refusal.value.status == 507
        assert "Make room" in refusal.value.message
    same(storage.models.state(), before)
    assert storage.log.last == number
    rounds(storage, 3, 3)  # what fits is taken
    again = crashed(storage, tmp_path)
    same(again.models.state(), storage.models.state())
    again.close()
    storage.close()


@pytest.fixture
def disk(tmp_path):
    """A disk of 600 kB."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this machine mounts no small disk")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def fill(disk):
    """Leave no room at all."""
    with open(disk / "other", "wb", buffering=0) as file, contextlib.suppress(OSError):
        for _ in range(10_000):
            file.write(bytes(4096))


def test_a_full_disk_is_507_and_keeps_what_it_had(disk):
    storage = Storage(str(disk / "state"), SMALL)
    rounds(storage, 0, 3)
    with pytest.raises(RequestError) as refusal:
        storage.log.append([Event("ask", "default", "number", b"w" * 2_000_000)])
    assert refusal.value.status == 507
    rounds(storage, 3, 2)  # the room that was taken in vain is used
    fill(disk)
    assert storage.save(storage.snapshot()) is None
    assert storage.saved == 0  # there was none for a checkpoint: the log keeps everything
    (disk / "other").unlink()
    rounds(storage, 5, 2)
    storage.save(storage.snapshot())
    assert storage.unsaved == 0
    before = storage.models.state()
    storage.close()
    again = Storage(str(disk / "state"), SMALL)
    same(again.models.state(), before)
    again.close()


def test_a_server_starts_on_a_full_disk_and_says_that_it_is_full(disk):
    storage = Storage(str(disk / "state"), SMALL)
    rounds(storage, 0, 3)
    save(storage)
    do(storage, ask("waits"))
    before = storage.models.state()
    storage.close()
    fill(disk)
    for _ in range(2):
        storage = Storage(str(disk / "state"), SMALL)
        same(storage.models.state(), before)
        with pytest.raises(RequestError, match="no room left on the disk") as refusal:
            storage.log.append([Event("ask", "default", "number", b"w" * 100_000)])
        assert refusal.value.status == 507
        storage.close()
    with pytest.raises(StorageError, match=r"the disk is full|no room left on the disk"):
        Storage(str(disk / "another"), SMALL)


def test_old_answers_are_forgotten_and_the_others_are_not(storage):
    rounds(storage, 0, 25)
    assert len(storage.models.recent) == 20
    assert do(storage, tell("24", 2.0 * (24 % 7)))[0]["id"] == "24"
    with pytest.raises(RequestError, match="no ticket '0' is pending"):
        do(storage, tell("0", 0.0))


def test_other_limits_are_an_event_of_their_own(storage, tmp_path):
    rounds(storage, 0, 25)
    shutil.copytree(storage.folder, tmp_path / "copy")
    for limits, count in ((SMALL._replace(remembered=5), 5), (SMALL, 5), (SMALL, 5)):
        again = Storage(str(tmp_path / "copy"), limits)
        assert len(again.models.recent) == count
        assert again.models.bounds == Bounds(remembered=limits.remembered)
        again.close()


def test_when_a_checkpoint_is_due(storage, monkeypatch):
    now = storages.time.monotonic()
    assert not storage.is_checkpoint_due(now)
    rounds(storage, 0, 4)
    assert not storage.is_checkpoint_due(now)
    assert storage.is_checkpoint_due(now + storages.MAX_UNSAVED_SECONDS)
    assert not storage.is_checkpoint_due(
        now - 1e9
    )  # a clock that goes back, which this one does not
    rounds(storage, 4, 1)
    assert storage.unsaved == 11
    assert storage.is_checkpoint_due(now)
    save(storage)
    assert not storage.is_checkpoint_due(now + 0.9 * storages.MAX_UNSAVED_SECONDS)


def test_nothing_here_asks_what_time_it_is():
    """Clocks may jump: only the monotonic one is looked at."""
    for path in Path(storages.__file__).parent.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "time.time(" not in text
        assert "datetime" not in text
        assert "pickle" not in text


def test_memory_that_is_free_goes_back_now_and_then(storage, monkeypatch):
    given_back = []
    monkeypatch.setattr(
        group_commit, "return_free_memory", lambda: given_back.append(storage.number)
    )
    monkeypatch.setattr(group_commit, "FREE_MEMORY_EVERY", 1000)

    async def work():
        commits = group_commit.GroupCommit(storage, Metrics())
        for k in range(6):
            event = ask(f"{'i' * 180}{k}")
            await commits.submit(event, parse(event, storage.limits))

    asyncio.run(work())
    assert given_back == [
        6
    ]  # the limits of these tests are the first event; a request has 212 bytes


def test_the_c_library_can_be_told():
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        pytest.skip("another C library")
    assert free_memory.return_free_memory()
    assert free_memory.set_large_block_threshold()
