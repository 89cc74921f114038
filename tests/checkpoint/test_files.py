"""Checkpoint files: replaced whole, swept, and intact whatever goes wrong."""

import fcntl
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from checkpoint.samples import KIND, every_type, same_bits
from swordplay.core import checkpoint
from swordplay.core.checkpoint import CheckpointError, CheckpointMissing

OLD, NEW = {"rounds": 1}, {"rounds": 2, "points": np.ones((40, 50))}
STRAY = ".m.ckpt.0123456789abcdef.tmp"
NOBODY = 65534
SMALL_DISK = 4096
"""Bytes that a process may write to a file, less than the new state needs."""


@pytest.fixture
def path(tmp_path):
    """A checkpoint that is there already."""
    checkpoint.save(tmp_path / "m.ckpt", OLD, kind=KIND)
    return tmp_path / "m.ckpt"


def test_a_file_comes_back_bit_by_bit_and_alone(tmp_path):
    path = tmp_path / "m.ckpt"
    checkpoint.save(str(path), every_type(), kind=KIND)
    assert same_bits(checkpoint.load(path, kind=KIND), every_type())
    assert path.read_bytes() == checkpoint.dumps(every_type(), kind=KIND)
    assert os.listdir(tmp_path) == ["m.ckpt"]


def test_a_checkpoint_replaces_the_one_before(path):
    checkpoint.save(path, NEW, kind=KIND)
    assert same_bits(checkpoint.load(path), NEW)
    assert os.listdir(path.parent) == ["m.ckpt"]


def test_a_relative_path_will_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checkpoint.save("m.ckpt", NEW, kind=KIND)
    assert same_bits(checkpoint.load("m.ckpt"), NEW)


def test_the_file_behind_a_link_is_replaced(path):
    link = path.parent / "link"
    link.symlink_to(path)
    checkpoint.save(link, NEW, kind=KIND)
    assert link.is_symlink()
    assert same_bits(checkpoint.load(path), NEW)


def test_data_reach_the_disk_before_the_name_and_the_name_before_save_returns(path, monkeypatch):
    """Spies on the real calls: what a power cut would show takes a power cut."""
    done = []
    fsync, replace = os.fsync, os.replace

    def spy_fsync(descriptor):
        done.append(
            "folder"
            if os.path.isdir(f"/proc/self/fd/{descriptor}")
            else f"{os.fstat(descriptor).st_size} bytes"
        )
        fsync(descriptor)

    def spy_replace(source, target):
        done.append("name")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", spy_fsync)
    monkeypatch.setattr(os, "replace", spy_replace)
    checkpoint.save(path, NEW, kind=KIND)
    assert done == [f"{len(checkpoint.dumps(NEW, kind=KIND))} bytes", "name", "folder"]


def test_strays_of_this_checkpoint_are_swept_and_nothing_else(path):
    others = [".m.ckpt.notes.tmp", ".n.ckpt.0123456789abcdef.tmp", "m.ckpt.tmp", ".m.ckpt"]
    for name in (STRAY, *others):
        (path.parent / name).write_bytes(b"half a checkpoint")
    checkpoint.save(path, NEW, kind=KIND)
    assert sorted(os.listdir(path.parent)) == sorted(["m.ckpt", *others])


def test_a_temporary_file_at_work_is_not_swept(path):
    with open(path.parent / STRAY, "xb") as at_work:
        fcntl.flock(at_work, fcntl.LOCK_EX)  # as its writer does, for as long as it lives
        checkpoint.save(path, NEW, kind=KIND)
        assert sorted(os.listdir(path.parent)) == [STRAY, "m.ckpt"]
    checkpoint.save(path, NEW, kind=KIND)
    assert os.listdir(path.parent) == ["m.ckpt"]


def test_many_may_save_and_load_one_checkpoint_at_once(path):
    def work(writer):
        for number in range(25):
            checkpoint.save(
                path, {"rounds": writer, "points": np.full(500 + number, float(writer))}, kind=KIND
            )
            state = checkpoint.load(path, kind=KIND)
            assert (state["points"] == state["rounds"]).all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert os.listdir(path.parent) == ["m.ckpt"]


def assert_untouched(path):
    assert same_bits(checkpoint.load(path), OLD)
    assert os.listdir(path.parent) == ["m.ckpt"]


@pytest.mark.parametrize("culprit", ["fsync", "replace"])
def test_an_interrupt_in_the_middle_leaves_the_old_checkpoint(path, monkeypatch, culprit):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, culprit, interrupt)
    with pytest.raises(KeyboardInterrupt):
        checkpoint.save(path, NEW, kind=KIND)
    assert_untouched(path)


def test_a_state_that_cannot_be_saved_leaves_the_old_checkpoint(path):
    with pytest.raises(TypeError, match="state"):
        checkpoint.save(path, {"x": object()}, kind=KIND)
    assert_untouched(path)


def test_a_folder_in_the_way_is_told(tmp_path):
    (tmp_path / "m.ckpt").mkdir()
    with pytest.raises(
        CheckpointError, match=r"m.ckpt' could not be written: a folder has this name\. Give a path"
    ):
        checkpoint.save(tmp_path / "m.ckpt", NEW, kind=KIND)
    with pytest.raises(CheckpointError, match=r"m\.ckpt' is not a file"):
        checkpoint.load(tmp_path / "m.ckpt")
    assert os.listdir(tmp_path) == ["m.ckpt"]


def test_a_missing_folder_and_a_file_for_a_folder_are_told(path):
    with pytest.raises(CheckpointError, match="could not be written: No such file or directory"):
        checkpoint.save(path.parent / "nowhere" / "m.ckpt", NEW, kind=KIND)
    with pytest.raises(CheckpointError, match="could not be written: Not a directory"):
        checkpoint.save(path / "m.ckpt", NEW, kind=KIND)
    assert_untouched(path)


def save_elsewhere(path, first):
    """Try to save in another process, after it has run ``first``; what it says."""
    program = f"""
import os, resource, sys
import numpy as np
from swordplay.core import checkpoint
checkpoint.dumps({{}}, kind="all of Python that is needed is imported before rights are given up")
{first}
try:
    checkpoint.save({str(path)!r}, {{"rounds": 2, "points": np.ones((40, 50))}}, kind={KIND!r})
except checkpoint.CheckpointError as error:
    print(error)
"""
    return subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout


def test_a_full_disk_leaves_the_old_checkpoint(path):
    """The system refuses to write on, after some bytes: a limit on file sizes fails as a full
    disk does.
    """
    said = save_elsewhere(
        path, f"resource.setrlimit(resource.RLIMIT_FSIZE, ({SMALL_DISK}, {SMALL_DISK}))"
    )
    assert "could not be written: File too large" in said
    assert "A checkpoint that was there is intact" in said
    assert_untouched(path)


def test_a_folder_without_rights_leaves_the_old_checkpoint():
    with (
        tempfile.TemporaryDirectory() as name
    ):  # not tmp_path, which lies in a folder that nobody else may enter
        path = Path(name) / "m.ckpt"
        checkpoint.save(path, OLD, kind=KIND)
        os.chmod(name, 0o555)
        said = save_elsewhere(
            path, f"if os.getuid() == 0: os.setuid({NOBODY})"
        )  # rights do not bind root
        assert "could not be written: Permission denied" in said
        assert_untouched(path)
        os.chmod(name, 0o755)


def test_a_missing_file_is_an_error_of_its_own(tmp_path):
    """A first start is no alarm, and an ``except FileNotFoundError`` must not swallow a damaged
    checkpoint.
    """
    with pytest.raises(CheckpointMissing, match=r"m\.ckpt' does not exist"):
        checkpoint.load(tmp_path / "m.ckpt")
    assert issubclass(CheckpointMissing, FileNotFoundError)
    assert issubclass(CheckpointMissing, CheckpointError)
    assert not issubclass(CheckpointError, OSError)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "m.ckpt")
    with pytest.raises(CheckpointError, match="is not a file"):
        checkpoint.load(tmp_path / "m.ckpt")


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (b"", "is not a checkpoint"),
        (checkpoint.dumps(OLD, kind=KIND), "is damaged: it has 68719476736 bytes"),
    ],
    ids=["foreign", "extended"],
)
def test_an_enormous_file_is_refused_unread(tmp_path, start, message):
    with open(tmp_path / "m.ckpt", "wb") as file:
        file.write(start)
        file.truncate(1 << 36)  # a hole: 64 GB that take no space and could not be read
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(tmp_path / "m.ckpt")


def test_an_empty_file_is_truncated(tmp_path):
    (tmp_path / "m.ckpt").touch()
    with pytest.raises(CheckpointError, match="is truncated: 0 bytes are left"):
        checkpoint.load(tmp_path / "m.ckpt")


def test_another_kind_is_told_with_its_file(path):
    with pytest.raises(CheckpointError, match=r"m.ckpt' is of kind 'sample', not 'Sword'"):
        checkpoint.load(path, kind="Sword")
