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
from swordplay.serving import keeper as keeping
from swordplay.serving import log, memory
from swordplay.serving import scribe as scribes
from swordplay.serving.keeper import FolderError, Keeper
from swordplay.serving.limits import Bounds, Limits
from swordplay.serving.log import Event
from swordplay.serving.metrics import Counts
from swordplay.serving.refusals import Refusal
from swordplay.serving.requests import read

SMALL = Limits(remembered=20, behind=10)


def ask(name, a=1.0, model="default"):
    return Event("ask", model, "number", json.dumps({"x": {"a": a}, "id": name}).encode())


def tell(name, y, model="default"):
    return Event("tell", model, "number", json.dumps({"id": name, "y": y}).encode())


def do(keeper, *events):
    """Write events and do what they want; the answers."""
    keeper.log.append(events)
    first = keeper.log.last - len(events) + 1
    return [
        json.loads(keeper.perform(first + k, event, read(event, keeper.limits)))
        for k, event in enumerate(events)
    ]


def rounds(keeper, first, count):
    for k in range(first, first + count):
        do(keeper, ask(f"{k}", float(k % 7)), tell(f"{k}", 2.0 * (k % 7)))


def save(keeper):
    """As the scribe does."""
    superfluous = keeper.save(keeper.snapshot())
    if superfluous is not None:
        keeper.log.forget(superfluous)


def same(one, other):
    """Bit by bit."""
    assert checkpoint.dumps(one, kind="serve") == checkpoint.dumps(other, kind="serve")


@pytest.fixture
def keeper(tmp_path):
    keeper = Keeper(str(tmp_path / "state"), SMALL)
    yield keeper
    keeper.close()


def crashed(keeper, tmp_path):
    """A keeper of the folder as a crash would leave it now."""
    shutil.copytree(keeper.folder, tmp_path / "copy")
    return Keeper(str(tmp_path / "copy"), keeper.limits)


def test_events_are_on_the_disk_before_they_are_noted_as_acknowledged(keeper, monkeypatch):
    course = []
    sync, put = log._sync, log.HighWater.put
    monkeypatch.setattr(
        log, "_sync", lambda file: (course.append(os.fstat(file).st_size), sync(file))
    )
    monkeypatch.setattr(
        log.HighWater,
        "put",
        lambda mark, boundary: (course.append(boundary.number), put(mark, boundary)),
    )
    do(keeper, ask("first"))
    assert course == [os.path.getsize(keeper.log._path), keeper.log.last]


def test_after_a_crash_everything_is_there_bit_by_bit(keeper, tmp_path):
    rounds(keeper, 0, 6)
    save(keeper)
    rounds(keeper, 6, 5)
    do(keeper, ask("waits"))
    again = crashed(keeper, tmp_path)
    assert again.replayed == 11
    same(again.models.state(), keeper.models.state())
    assert do(again, ask("later", 3.0)) == do(keeper, ask("later", 3.0))
    again.close()


def test_refused_events_are_refused_again(keeper, tmp_path):
    rounds(keeper, 0, 2)
    for wrong in (tell("0", 5.0), tell("nobody", 1.0), ask("1", 99.0)):
        with pytest.raises(Refusal):
            do(keeper, wrong)
    rounds(keeper, 2, 2)
    again = crashed(keeper, tmp_path)
    assert again.number == keeper.number == 12  # the limits of these tests are the first event
    same(again.models.state(), keeper.models.state())
    again.close()


def test_two_checkpoints_are_kept_and_the_log_behind_the_older(keeper):
    for k in range(4):
        rounds(keeper, 5 * k, 5)
        save(keeper)
    names = sorted(path.name for path in Path(keeper.folder).glob("models-*"))
    assert names == ["models-0000000000000031.state", "models-0000000000000041.state"]
    assert keeper.log.first() == 32
    assert keeper.unsaved == 0


def test_a_damaged_checkpoint_is_made_up_for_by_the_one_before(keeper, tmp_path):
    for k in range(3):
        rounds(keeper, 5 * k, 5)
        save(keeper)
    rounds(keeper, 15, 2)
    shutil.copytree(keeper.folder, tmp_path / "copy")
    newest = max((tmp_path / "copy").glob("models-*.state"))
    newest.write_bytes(newest.read_bytes()[:-1])
    again = Keeper(str(tmp_path / "copy"), SMALL)
    same(again.models.state(), keeper.models.state())
    assert again.replayed == 14
    again.close()
    for path in (tmp_path / "copy").glob("models-*.state"):
        path.write_bytes(b"nothing")
    with pytest.raises(
        FolderError,
        match=r"the checkpoint .* is not a checkpoint|the checkpoint .* is (damaged|too short|cut)",
    ):
        Keeper(str(tmp_path / "copy"), SMALL)


def test_inspect_tells_what_is_in_a_checkpoint(keeper):
    rounds(keeper, 0, 3)
    do(keeper, ask("waits"), ask("other", model="another"))
    save(keeper)
    facts = describe(keeper._path(keeper.number))
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


def test_the_second_server_is_refused(keeper):
    with pytest.raises(FolderError, match="another server uses"):
        Keeper(keeper.folder, SMALL)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match="cannot be served from"):
        Keeper(str(tmp_path / "file"), SMALL)


def test_a_full_log_is_507_and_keeps_what_it_had(tmp_path):
    keeper = Keeper(str(tmp_path / "state"), SMALL._replace(log=200_000))
    rounds(keeper, 0, 3)
    before, number = keeper.models.state(), keeper.log.last
    large = Event("ask", "default", "number", json.dumps({"x": {"a": "w" * 300_000}}).encode())
    for _ in range(2):
        with pytest.raises(Refusal) as refusal:
            keeper.log.append([ask("with it"), large])
        assert refusal.value.status == 507
        assert "Make room" in refusal.value.message
    same(keeper.models.state(), before)
    assert keeper.log.last == number
    rounds(keeper, 3, 3)  # what fits is taken
    again = crashed(keeper, tmp_path)
    same(again.models.state(), keeper.models.state())
    again.close()
    keeper.close()


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
    keeper = Keeper(str(disk / "state"), SMALL)
    rounds(keeper, 0, 3)
    with pytest.raises(Refusal) as refusal:
        keeper.log.append([Event("ask", "default", "number", b"w" * 2_000_000)])
    assert refusal.value.status == 507
    rounds(keeper, 3, 2)  # the room that was taken in vain is used
    fill(disk)
    assert keeper.save(keeper.snapshot()) is None
    assert keeper.saved == 0  # there was none for a checkpoint: the log keeps everything
    (disk / "other").unlink()
    rounds(keeper, 5, 2)
    keeper.save(keeper.snapshot())
    assert keeper.unsaved == 0
    before = keeper.models.state()
    keeper.close()
    again = Keeper(str(disk / "state"), SMALL)
    same(again.models.state(), before)
    again.close()


def test_a_server_starts_on_a_full_disk_and_says_that_it_is_full(disk):
    keeper = Keeper(str(disk / "state"), SMALL)
    rounds(keeper, 0, 3)
    save(keeper)
    do(keeper, ask("waits"))
    before = keeper.models.state()
    keeper.close()
    fill(disk)
    for _ in range(2):
        keeper = Keeper(str(disk / "state"), SMALL)
        same(keeper.models.state(), before)
        with pytest.raises(Refusal, match="no room left on the disk") as refusal:
            keeper.log.append([Event("ask", "default", "number", b"w" * 100_000)])
        assert refusal.value.status == 507
        keeper.close()
    with pytest.raises(FolderError, match=r"the disk is full|no room left on the disk"):
        Keeper(str(disk / "another"), SMALL)


def test_old_answers_are_forgotten_and_the_others_are_not(keeper):
    rounds(keeper, 0, 25)
    assert len(keeper.models.memory) == 20
    assert do(keeper, tell("24", 2.0 * (24 % 7)))[0]["id"] == "24"
    with pytest.raises(Refusal, match="no ticket '0' waits"):
        do(keeper, tell("0", 0.0))


def test_other_limits_are_an_event_of_their_own(keeper, tmp_path):
    rounds(keeper, 0, 25)
    shutil.copytree(keeper.folder, tmp_path / "copy")
    for limits, count in ((SMALL._replace(remembered=5), 5), (SMALL, 5), (SMALL, 5)):
        again = Keeper(str(tmp_path / "copy"), limits)
        assert len(again.models.memory) == count
        assert again.models.bounds == Bounds(remembered=limits.remembered)
        again.close()


def test_when_a_checkpoint_is_due(keeper, monkeypatch):
    now = keeping.time.monotonic()
    assert not keeper.due(now)
    rounds(keeper, 0, 4)
    assert not keeper.due(now)
    assert keeper.due(now + keeping.MOST_SECONDS)
    assert not keeper.due(now - 1e9)  # a clock that goes back, which this one does not
    rounds(keeper, 4, 1)
    assert keeper.unsaved == 11
    assert keeper.due(now)
    save(keeper)
    assert not keeper.due(now + 0.9 * keeping.MOST_SECONDS)


def test_nothing_here_asks_what_time_it_is():
    """Clocks may jump: only the monotonic one is looked at."""
    for path in Path(keeping.__file__).parent.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "time.time(" not in text
        assert "datetime" not in text
        assert "pickle" not in text


def test_memory_that_is_free_goes_back_now_and_then(keeper, monkeypatch):
    given_back = []
    monkeypatch.setattr(scribes.memory, "give_back", lambda: given_back.append(keeper.number))
    monkeypatch.setattr(scribes, "LITTER", 1000)

    async def work():
        scribe = scribes.Scribe(keeper, Counts())
        for k in range(6):
            event = ask(f"{'i' * 180}{k}")
            await scribe.submit(event, read(event, keeper.limits))

    asyncio.run(work())
    assert given_back == [
        6
    ]  # the limits of these tests are the first event; a request has 212 bytes


def test_the_c_library_can_be_told():
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        pytest.skip("another C library")
    assert memory.give_back()
    assert memory.return_large()
