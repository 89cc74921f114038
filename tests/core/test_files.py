"""Files are whole or not there, whoever writes them: checkpoints, reports, figures, tables."""

import os

import pytest

from swordplay.core import files


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "a.bin"
    files.write_atomic(path, b"old")
    files.write_atomic(path, b"new and longer")
    assert path.read_bytes() == b"new and longer"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_through_a_link_the_file_behind_it_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "a.bin", tmp_path / "b.bin"
    real.write_bytes(b"old")
    link.symlink_to(real)
    files.write_atomic(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert os.listdir(tmp_path / "there") == ["a.bin"]


@pytest.mark.parametrize("letters", [files.MAX_STEM_LENGTH, 255])
def test_a_name_may_be_as_long_as_the_system_allows(tmp_path, letters):
    path = tmp_path / ("x" * letters)
    files.write_atomic(path, b"data")
    assert path.read_bytes() == b"data"
    assert os.listdir(tmp_path) == [path.name]


def test_what_a_killed_writer_left_is_swept_and_what_a_living_one_holds_is_not(tmp_path):
    left, held, other = (
        tmp_path / name
        for name in (f".a.bin.{'0' * 16}.tmp", f".a.bin.{'1' * 16}.tmp", ".a.bin.tmp")
    )
    for path in (left, held, other):
        path.write_bytes(b"")
    with held.open("rb") as file:
        assert files.lock(file.fileno(), wait=False)
        files.write_atomic(tmp_path / "a.bin", b"data")
    assert sorted(os.listdir(tmp_path)) == sorted([held.name, other.name, "a.bin"])


def test_a_folder_in_the_way_is_not_touched(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(IsADirectoryError) as failed:
        files.write_atomic(tmp_path / "a", b"data")
    assert (failed.value.strerror, failed.value.filename) == (
        "a folder has this name",
        str(tmp_path / "a"),
    )
    assert os.listdir(tmp_path) == ["a"]


def test_a_folder_that_may_not_be_looked_into_takes_files_all_the_same(tmp_path, monkeypatch):
    """Rights do not bind root, so the system is made to refuse."""

    def refuse(path, *_):
        raise PermissionError(13, "Permission denied", path)

    opened = os.open
    monkeypatch.setattr(os, "listdir", refuse)
    monkeypatch.setattr(
        os,
        "open",
        lambda path, flags, *more: (refuse if flags & os.O_DIRECTORY else opened)(
            path, flags, *more
        ),
    )
    files.write_atomic(tmp_path / "a.bin", b"data")
    assert (tmp_path / "a.bin").read_bytes() == b"data"


def test_a_failure_leaves_the_old_file_alone(tmp_path, monkeypatch):
    path = tmp_path / "a.bin"
    files.write_atomic(path, b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        files.write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_an_own_file_is_opened_again_and_a_planted_one_is_refused(tmp_path):
    path = str(tmp_path / "a.partial")
    for _ in range(2):
        os.close(files.open_regular_file(path))
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    os.link(tmp_path / "victim", tmp_path / "second name")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "second name", "pipe"):
        with pytest.raises(files.NotARegularFile):
            files.open_regular_file(str(tmp_path / name))
    assert (tmp_path / "victim").read_bytes() == b"precious"


def test_a_lock_is_one_at_a_time(tmp_path):
    with open(tmp_path / "a", "xb") as ours, open(tmp_path / "a", "rb") as theirs:
        assert files.lock(ours.fileno(), wait=False)
        assert not files.lock(theirs.fileno(), wait=False)
