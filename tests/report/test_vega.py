"""The chart library: bundled once for each version of vl-convert and kept in the user's cache."""

import os
import stat

import pytest

from swordplay.report import vega


@pytest.fixture
def bundle(tmp_path, monkeypatch):
    """A cache folder of its own, and the number of times that the library was bundled."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    bundled = []

    class Package:
        __version__ = "1.9.0"

        @staticmethod
        def javascript_bundle(snippet):
            bundled.append(snippet)
            return f"/* {len(bundled)} */"

    monkeypatch.setattr(vega, "_package", lambda: Package)
    monkeypatch.setattr(vega, "script", vega.script.__wrapped__)
    return Package, bundled


def cached(tmp_path):
    (path,) = (tmp_path / "swordplay" / "report").iterdir()
    return path


def test_the_second_process_reads_what_the_first_one_bundled(tmp_path, bundle):
    _, bundled = bundle
    assert vega.script() == "/* 1 */"
    assert vega.script() == "/* 1 */"
    assert bundled == [vega.SNIPPET]
    path = cached(tmp_path)
    assert "1.9.0" in path.name
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_another_version_is_bundled_anew(tmp_path, bundle):
    package, bundled = bundle
    vega.script()
    package.__version__ = "1.9.1"
    assert vega.script() == "/* 2 */"
    assert len(bundled) == 2


def damage(path):
    path.write_bytes(path.read_bytes()[:-1] + b"!")


def empty(path):
    path.write_bytes(b"")


def link(path):
    other = path.with_name("other.js")
    path.rename(other)
    path.symlink_to(other)


def pipe(path):
    path.unlink()
    os.mkfifo(path)


def linked_folder(path):
    other = path.parent.with_name("elsewhere")
    path.parent.rename(other)
    path.parent.symlink_to(other)


@pytest.mark.parametrize(
    "change",
    [
        damage,
        empty,
        link,
        pipe,
        linked_folder,
        lambda path: path.chmod(0o620),
        lambda path: path.chmod(0o602),
        lambda path: path.parent.chmod(0o777),
    ],
)
def test_a_script_that_others_may_have_written_or_that_is_damaged_is_not_used(
    tmp_path, bundle, change
):
    assert vega.script() == "/* 1 */"
    change(cached(tmp_path))
    assert vega.script() == "/* 2 */"


def test_a_script_of_another_user_is_not_used(bundle, monkeypatch):
    assert vega.script() == "/* 1 */"
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert vega.script() == "/* 2 */"


def test_without_a_writable_cache_the_library_is_bundled(tmp_path, bundle, monkeypatch):
    (tmp_path / "file").touch()
    for place in (str(tmp_path / "file"), "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", place)
        monkeypatch.setenv("HOME", "relative")
        assert vega.script().startswith("/*")
