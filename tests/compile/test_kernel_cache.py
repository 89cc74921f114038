"""Machine code on disk: files that cannot be trusted or are damaged are compiled again, and
never executed.
"""

from __future__ import annotations

import ast
import json
import os
import pickle
import pty
import resource
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

import swordplay
from swordplay.compile import kernel_cache, kernel_folders

PACKAGE = Path(swordplay.__file__).parent
PROBE = """
import numpy as np
from swordplay.compile import kernel

@kernel
def add(values, number):
    for i in range(len(values)):
        values[i] += number

@kernel
def half(value):
    return 0.5 * value

@kernel
def found(value):
    return int(value) + 5, value > 1.0
"""
MAIN = """
import json, sys
import numpy as np
import probe
values = np.zeros(3)
probe.add(values, 2.0)
said = [values.tolist(), probe.half(3.0), list(probe.found(2.0))]
print(json.dumps([said, [sum(one.stats.cache_hits.values()) for one in (probe.add, probe.half, probe.found)]]))
"""  # noqa: E501
RIGHT = [[2.0, 2.0, 2.0], 1.5, [7, True]]
KERNELS = ("probe.add", "probe.half", "probe.found")
ALL, NONE = [1, 1, 1], [0, 0, 0]

PACKAGE_FOLDER = str(Path(swordplay.__file__).parents[1])
"""Where child processes find the package under test, which may be a copy with a mutant."""


class Probe(NamedTuple):
    """A folder with a module of three kernels, run in processes of their own."""

    folder: Path

    def started(
        self, *, limit: int | None = None, cwd: Path | None = None, **environment: str
    ) -> subprocess.Popen[str]:
        """A process that calls the kernels; without a home unless the environment has one."""
        own = {
            "PYTHONPATH": os.pathsep.join([str(self.folder), PACKAGE_FOLDER]),
            "HOME": "/dev/null",
            "XDG_CACHE_HOME": "/dev/null/cache",
            **environment,
        }
        return subprocess.Popen(
            [sys.executable, "-B", "-c", MAIN],
            cwd=cwd or self.folder,
            env={key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"} | own,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=None
            if limit is None
            else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        )

    def run(self, **options: object) -> tuple[list[int], str]:
        """Which kernels came from disk, and what the process wrote to standard error.

        Their results are right.
        """
        out, err = (process := self.started(**options)).communicate(timeout=600)  # type: ignore[arg-type]
        assert process.returncode == 0, err
        said, hits = json.loads(out)
        assert said == RIGHT
        return hits, err

    def with_cache(self, cache: Path, **options: object) -> tuple[list[int], str]:
        return self.run(NUMBA_CACHE_DIR=str(cache), **options)


def kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.kernel"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Probe, dict[str, bytes]]:
    """The probe, and the files that its first process writes."""
    folder = tmp_path_factory.mktemp("probe")
    (folder / "probe.py").write_text(PROBE)
    probe = Probe(folder)
    assert probe.with_cache(folder / "cache") == (NONE, "")
    files = {file.name: file.read_bytes() for file in (folder / "cache" / "swordplay").iterdir()}
    assert sorted(name.split("-")[0] for name in files if name.endswith(".kernel")) == sorted(
        KERNELS
    )
    return probe, files


@pytest.fixture
def filled(made: tuple[Probe, dict[str, bytes]], tmp_path: Path) -> tuple[Probe, Path]:
    """The probe and a cache with its machine code."""
    return made[0], fill(tmp_path / "cache", made[1])


def fill(cache: Path, files: dict[str, bytes], *below: str) -> Path:
    folder = cache.joinpath(*(below or ("swordplay",)))
    folder.mkdir(parents=True, mode=0o755)
    for place in (folder, cache):
        place.chmod(0o755)
    for name, data in files.items():
        (folder / name).write_bytes(data)
        (folder / name).chmod(0o644)
    return cache


def test_no_module_of_the_package_imports_pickle() -> None:
    for file in (PACKAGE / "compile").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {
                "pickle",
                "marshal",
                "shelve",
                "numba.core.caching",
                "numba.core.serialize",
            } & set(names), file


def test_the_second_process_compiles_nothing_and_writes_nothing(filled: tuple[Probe, Path]) -> None:
    probe, cache = filled
    before = {file: file.stat().st_mtime_ns for file in cache.rglob("*")}
    assert probe.with_cache(cache) == (ALL, "")
    assert {file: file.stat().st_mtime_ns for file in cache.rglob("*")} == before


def test_a_file_is_a_header_in_json_and_object_code(made: tuple[Probe, dict[str, bytes]]) -> None:
    for name, data in made[1].items():
        if name.endswith(".kernel"):
            header, code = kernel_cache.decode(data)
            assert code.startswith(b"\x7fELF")
            assert header["kernel"] == name.split("-")[0]
            assert {"python", "numba", "llvmlite", "target", "sources"} < set(
                header["compiled for"]
            )
            assert kernel_cache.encode(header, code) == data


class Marker:
    """An object whose unpickling creates a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.path),)


DAMAGE = {
    "empty": lambda data: b"",
    "cut": lambda data: data[:-1],
    "cut in the header": lambda data: data[:200],
    "cut in the checksum": lambda data: data[:30],
    "longer": lambda data: data + b"\0",
    "a bit of the header": lambda data: flipped(data, 150),
    "a bit of the object code": lambda data: flipped(data, len(data) - 500),
    "a bit of the checksum": lambda data: flipped(data, 40),
    "garbage": lambda data: bytes(range(256)) * 64,
    "not JSON": lambda data: checksummed(b"{\n"),
    "another header": lambda data: kernel_cache.encode({}, kernel_cache.decode(data)[1]),
    "too large": lambda data: data + bytes(kernel_folders.MAX_FILE_BYTES),
}


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def checksummed(rest: bytes) -> bytes:
    whole = kernel_cache.encode({}, b"")
    return (
        whole[: len(kernel_cache.FORMAT)]
        + kernel_cache.hashlib.sha256(rest).hexdigest().encode()
        + b"\n"
        + rest
    )


@pytest.mark.parametrize(
    "damages", [tuple(DAMAGE)[k : k + 3] for k in range(0, len(DAMAGE), 3)], ids=", ".join
)
def test_a_damaged_file_is_compiled_again_and_overwritten(
    damages: tuple[str, ...], filled: tuple[Probe, Path]
) -> None:
    probe, cache = filled
    before = {file: file.read_bytes() for file in kept(cache)}
    for damage, (file, data) in zip(damages, before.items(), strict=True):
        file.write_bytes(DAMAGE[damage](data))
    for file in cache.rglob("*.sources"):
        file.write_bytes(DAMAGE["cut"](file.read_bytes()))
    assert probe.with_cache(cache) == (NONE, "")
    assert kept(cache) == list(before)
    assert probe.with_cache(cache) == (ALL, "")


def test_a_pickle_is_never_unpickled(filled: tuple[Probe, Path], tmp_path: Path) -> None:
    probe, cache = filled
    for file in kept(cache):
        planted = pickle.dumps(Marker(tmp_path / "executed"))
        file.write_bytes(planted)
        for suffix in (".nbi", ".1.nbc"):
            file.with_suffix(suffix).write_bytes(planted)
    assert probe.with_cache(cache) == (NONE, "")
    assert not (tmp_path / "executed").exists()


def foreign(files: dict[str, bytes], folder: Path) -> dict[str, bytes]:
    """Files that would be accepted, and whose machine code computes something else."""
    folder.mkdir()
    (folder / "probe.py").write_text(PROBE.replace("0.5 * value", "13.0 * value"))
    probe = Probe(folder)
    out, err = probe.started(NUMBA_CACHE_DIR=str(folder / "cache")).communicate(timeout=600)
    assert "39.0" in out, err
    others = {
        file.name.split("-")[0]: kernel_cache.decode(file.read_bytes()) for file in kept(folder)
    }
    planted = {}
    for name, data in files.items():
        if name.startswith("probe.half"):
            header, code = others["probe.half"]
            data = kernel_cache.encode(
                {**header, "compiled for": kernel_cache.decode(data)[0]["compiled for"]}, code
            )
        planted[name] = data
    return planted


@pytest.fixture(scope="module")
def planted(
    made: tuple[Probe, dict[str, bytes]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    """Files of another author for the probe.

    They work: where they are trusted, they are executed.
    """
    probe, files = made
    found = foreign(files, tmp_path_factory.mktemp("foreign") / "probe")
    cache = fill(tmp_path_factory.mktemp("planted") / "cache", found)
    out, _ = probe.started(NUMBA_CACHE_DIR=str(cache)).communicate(timeout=600)
    assert json.loads(out) == [[[2.0, 2.0, 2.0], 39.0, [7, True]], ALL]
    return found


def test_a_configuration_file_in_the_current_folder_does_not_choose_the_cache(
    made: tuple[Probe, dict[str, bytes]], planted: dict[str, bytes], tmp_path: Path
) -> None:
    pytest.importorskip("yaml")
    cache = fill(tmp_path / ".c", planted)
    (tmp_path / ".numba_config.yaml").write_text(f"cache_dir: {cache}\n")
    home = tmp_path / "home"
    assert made[0].run(cwd=tmp_path, HOME=str(home), XDG_CACHE_HOME=str(home)) == (NONE, "")
    assert {file.name: file.read_bytes() for file in (cache / "swordplay").iterdir()} == planted


@pytest.mark.parametrize(
    ("which", "mode"),
    [("cache", 0o775), ("cache", 0o757), ("swordplay", 0o777), ("files", 0o664), ("files", 0o646)],
)
def test_what_others_may_write_is_not_used_and_that_is_said_once(
    which: str,
    mode: int,
    made: tuple[Probe, dict[str, bytes]],
    planted: dict[str, bytes],
    tmp_path: Path,
) -> None:
    cache = fill(tmp_path / "cache", planted)
    for place in {"cache": [cache], "swordplay": [cache / "swordplay"], "files": kept(cache)}[
        which
    ]:
        place.chmod(mode)
    hits, err = made[0].with_cache(cache)
    assert hits == NONE
    assert err.count("UntrustedFilesWarning: ") == 1
    assert "Run `chmod go-w " in err
    if which == "files":  # the folder is ours: they were replaced
        assert made[0].with_cache(cache) == (ALL, "")
    else:
        assert {file.name: file.read_bytes() for file in (cache / "swordplay").iterdir()} == planted


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
@pytest.mark.parametrize("which", ["cache", "swordplay", "files"])
def test_files_and_folders_of_another_user_are_not_used(
    which: str, made: tuple[Probe, dict[str, bytes]], planted: dict[str, bytes], tmp_path: Path
) -> None:
    cache = fill(tmp_path / "cache", planted)
    for place in {"cache": [cache], "swordplay": [cache / "swordplay"], "files": kept(cache)}[
        which
    ]:
        os.chown(place, 54321, 54321)
    hits, err = made[0].with_cache(cache)
    assert hits == NONE
    assert err.count("belongs to another user (uid 54321)") == 1
    assert "NUMBA_CACHE_DIR" in err


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_regular_file_is_not_followed(
    kind: str, made: tuple[Probe, dict[str, bytes]], planted: dict[str, bytes], tmp_path: Path
) -> None:
    cache = fill(tmp_path / "cache", planted)
    elsewhere = fill(tmp_path / "elsewhere", planted)
    for file in kept(cache):
        file.unlink()
        if kind == "link":
            file.symlink_to(elsewhere / "swordplay" / file.name)
        elif kind == "pipe":
            os.mkfifo(file)
        else:
            file.mkdir()
    hits, err = made[0].with_cache(cache)
    assert hits == NONE
    assert err.count("Warning: ") == (kind != "folder")
    assert {file.name: file.read_bytes() for file in (elsewhere / "swordplay").iterdir()} == planted


def test_beside_a_module_writers_of_the_module_are_trusted_and_no_others(
    made: tuple[Probe, dict[str, bytes]], planted: dict[str, bytes], tmp_path: Path
) -> None:
    """With ``umask 002`` a clone and its ``__pycache__`` are writable by a group: who is in it
    can change the module, too.
    """
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "probe.py").write_text(PROBE)
    probe, home = Probe(tmp_path / "source"), tmp_path / "home"
    environment = {"XDG_CACHE_HOME": str(home)}
    fill(probe.folder, made[1], "__pycache__")
    probe.folder.chmod(0o775)
    (probe.folder / "__pycache__").chmod(0o775)
    assert probe.run(**environment) == (ALL, "")
    for file in kept(probe.folder):
        file.write_bytes(planted[file.name])
    probe.folder.chmod(0o755)
    hits, err = probe.run(**environment)
    assert hits == NONE
    assert err.count("UntrustedFilesWarning: ") == 1
    assert {
        stat.S_IMODE(place.stat().st_mode)
        for place in (home / "swordplay", home / "swordplay" / "kernels")
    } == {0o700}
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept(home)} == {0o600}
    assert len(kept(home)) == 3


def test_a_relative_cache_folder_of_the_user_is_ignored(
    made: tuple[Probe, dict[str, bytes]], tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "probe.py").write_text(PROBE)
    (source / "__pycache__").write_text("no folder can be made here, by root either")
    home = tmp_path / "home"
    home.mkdir()
    assert Probe(source).run(cwd=tmp_path, XDG_CACHE_HOME="relative", HOME=str(home)) == (NONE, "")
    assert len(kept(home / ".cache" / "swordplay" / "kernels")) == 3
    assert not (tmp_path / "relative").exists()


def test_two_processes_that_compile_at_once(
    made: tuple[Probe, dict[str, bytes]], tmp_path: Path
) -> None:
    both = [made[0].started(NUMBA_CACHE_DIR=str(tmp_path / "cache")) for _ in range(2)]
    answers = [process.communicate(timeout=600) for process in both]
    assert [json.loads(out)[0] for out, _ in answers] == [RIGHT] * 2
    assert [err for _, err in answers] == [""] * 2
    assert made[0].with_cache(tmp_path / "cache") == (ALL, "")
    assert not list((tmp_path / "cache").rglob(".*"))


def test_on_a_full_disk_a_process_compiles_for_itself(
    made: tuple[Probe, dict[str, bytes]], tmp_path: Path
) -> None:
    assert made[0].with_cache(tmp_path / "cache", limit=100) == (NONE, "")
    assert not [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]


def test_what_a_killed_process_left_is_removed_by_the_next_that_writes(
    made: tuple[Probe, dict[str, bytes]], tmp_path: Path
) -> None:
    folder = fill(tmp_path / "cache", {}) / "swordplay"
    old, new = folder / f".probe.kernel.{'a' * 16}.tmp", folder / f".probe.kernel.{'b' * 16}.tmp"
    for file in (old, new):
        file.write_bytes(b"half")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    assert made[0].with_cache(tmp_path / "cache") == (NONE, "")
    assert (old.exists(), new.exists()) == (False, True)


def test_other_settings_of_the_compiler_have_files_of_their_own(filled: tuple[Probe, Path]) -> None:
    probe, cache = filled
    assert probe.with_cache(cache, NUMBA_OPT="1") == (NONE, "")
    assert probe.with_cache(cache, NUMBA_CPU_NAME="generic") == (NONE, "")
    assert probe.with_cache(cache) == (ALL, "")
    assert len(kept(cache)) == 9


def test_a_terminal_is_told_once_that_kernels_are_compiled(
    filled: tuple[Probe, Path], tmp_path: Path
) -> None:
    probe, cache = filled
    for folder, expected in ((tmp_path / "empty", 1), (cache, 0)):
        ours, theirs = pty.openpty()
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(probe.folder), PACKAGE_FOLDER]),
            "NUMBA_CACHE_DIR": str(folder),
        }
        done = subprocess.run(
            [sys.executable, "-c", MAIN],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            timeout=600,
        )
        assert done.returncode == 0
        os.write(theirs, b"end")
        os.close(theirs)
        assert os.read(ours, 10_000).count(b"swordplay: Compiling for the first use") == expected
        os.close(ours)


def test_track_ignores_a_configuration_file_of_the_current_folder(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    pytest.importorskip("click")
    (tmp_path / "table.csv").write_text(
        "x,y\n" + "".join(f"{k % 7},{k % 5}.5\n" for k in range(100))
    )
    (tmp_path / ".numba_config.yaml").write_text("cache_dir: .c\n")
    command = [sys.executable, "-m", "swordplay", "track", "table.csv", "--target", "y", "--quiet"]
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / ".c").exists()
