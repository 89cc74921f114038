"""Machine code that a wheel carries: used where it fits, never trusted more than the modules
beside it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from llvmlite import binding

import swordplay
from make_wheel import build
from swordplay.compile import kernel_cache

PACKAGE = Path(swordplay.__file__).parent
EVERYTHING = kernel_cache.TARGETS[0].required_features
ONE = """
import numpy as np
from swordplay.engine import column_stats
answer = np.empty((1, 2))
centers, spreads = np.array([1.0, 1.0]), np.array([2.0, 1.0])
column_stats.scale_rows(np.array([[3.0, 5.0]]), centers, spreads, 5.0, answer)
assert answer.tolist() == [[1.0, 4.0]]
print(sum(column_stats.scale_rows.stats.cache_hits.values()))
"""


@pytest.fixture
def asked_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """A bundled folder, on a processor that has everything."""
    monkeypatch.setenv("SWORDPLAY_BUNDLED_KERNELS", "1")
    monkeypatch.setattr(kernel_cache, "BUNDLED_FOLDERS", tmp_path)
    monkeypatch.setattr(
        kernel_cache.llvm, "get_host_cpu_features", lambda: dict.fromkeys(EVERYTHING, True)
    )
    for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
        monkeypatch.delenv(name, raising=False)
    kernel_cache.bundled_target.cache_clear()
    yield monkeypatch
    kernel_cache.bundled_target.cache_clear()


@pytest.mark.parametrize("lacking", [None, *sorted(EVERYTHING)])
def test_a_processor_gets_the_best_target_that_it_has_everything_for(
    lacking: str | None, asked_anew: pytest.MonkeyPatch
) -> None:
    has = {name: name != lacking for name in EVERYTHING}
    asked_anew.setattr(kernel_cache.llvm, "get_host_cpu_features", lambda: has)
    wide, usual = kernel_cache.TARGETS
    expected = wide if lacking is None else usual if lacking.startswith("avx512") else None
    assert kernel_cache.bundled_target() is expected


@pytest.mark.parametrize(
    "unwanted",
    ["nothing", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "SWORDPLAY_BUNDLED_KERNELS", "gone"],
)
def test_bundled_machine_code_can_be_left_out(
    unwanted: str, asked_anew: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if unwanted == "gone":
        asked_anew.setattr(kernel_cache, "BUNDLED_FOLDERS", tmp_path / "gone")
    elif unwanted != "nothing":
        asked_anew.setenv(unwanted, "0")
    assert bool(kernel_cache.bundled_target()) == (unwanted == "nothing")


def process(code: str, **environment: str) -> tuple[str, str]:
    """What a process prints, and what it writes to standard error."""
    own = {"SWORDPLAY_BUNDLED_KERNELS": "1", "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | own,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout, done.stderr


def runs_here() -> bool:
    has = binding.get_host_cpu_features()
    return all(has.get(name) for name in kernel_cache.TARGETS[-1].required_features)


usable = pytest.mark.skipif(
    not runs_here(), reason="this processor is none of those that machine code is bundled for"
)


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with machine code of one kernel."""
    folder = tmp_path_factory.mktemp("installed")
    copy = shutil.copytree(
        PACKAGE, folder / "swordplay", ignore=shutil.ignore_patterns("__pycache__", "kernels")
    )
    has = binding.get_host_cpu_features()
    best = next(
        one for one in kernel_cache.TARGETS if all(has.get(name) for name in one.required_features)
    )
    cpu = {"NUMBA_CPU_NAME": best.name, "NUMBA_CPU_FEATURES": best.features}
    assert process(ONE, PYTHONPATH=str(folder), NUMBA_CACHE_DIR=str(folder / "cache"), **cpu) == (
        "0\n",
        "",
    )
    shutil.move(folder / "cache" / "swordplay", copy / "kernels" / best.name)
    return folder


@pytest.fixture
def installed(bundled: Path, tmp_path: Path) -> Path:
    """A copy of that, to be changed."""
    return shutil.copytree(bundled, tmp_path / "installed")


def used(installed: Path, cache: Path, **environment: str) -> tuple[bool, str]:
    """Whether a process compiles nothing, and what it writes to standard error."""
    out, err = process(ONE, PYTHONPATH=str(installed), NUMBA_CACHE_DIR=str(cache), **environment)
    assert cache.exists() == (out == "0\n")
    return out == "1\n", err


@usable
def test_bundled_machine_code_is_used_before_any_other_and_nothing_is_written(
    installed: Path, tmp_path: Path
) -> None:
    assert used(installed, tmp_path / "a") == (True, "")
    assert used(installed, tmp_path / "b", SWORDPLAY_BUNDLED_KERNELS="0") == (False, "")
    assert used(installed, tmp_path / "c", NUMBA_CPU_NAME="generic") == (False, "")
    with (installed / "swordplay" / "engine" / "column_stats.py").open("a") as source:
        source.write("# a comment\n")
    assert process(ONE, PYTHONPATH=str(installed), NUMBA_CACHE_DIR=str(tmp_path / "d")) == (
        "1\n",
        "",
    )


@usable
@pytest.mark.parametrize("harm", ["cut", "other source", "group may write", "file of others"])
def test_bundled_machine_code_that_does_not_fit_is_compiled(
    harm: str, installed: Path, tmp_path: Path
) -> None:
    (file,) = (installed / "swordplay" / "kernels").rglob("*.kernel")
    if harm == "cut":
        file.write_bytes(file.read_bytes()[:-1])
    elif harm == "other source":
        with (installed / "swordplay" / "engine" / "column_stats.py").open("a") as source:
            source.write("CHANGED = 1\n")
    elif harm == "group may write":
        file.parent.chmod(0o775)
    else:
        file.chmod(0o666)
    hit, err = used(installed, tmp_path / "cache")
    assert not hit
    assert ("UntrustedFilesWarning" in err) == (harm not in ("cut", "other source"))


@usable
def test_bundled_machine_code_is_trusted_as_far_as_the_modules_are(
    installed: Path, tmp_path: Path
) -> None:
    """``pip`` under ``umask 002`` makes all folders writable by the group, modules included."""
    for place in (installed / "swordplay").rglob("*"):
        place.chmod(place.stat().st_mode | 0o020)
    (installed / "swordplay").chmod(0o775)
    assert used(installed, tmp_path / "cache") == (True, "")


COOKED = """
from swordplay.cli import warming
from swordplay.compile import kernel_cache
for name in warming.RECIPES:
    warming.cook(name)
print(kernel_cache.compile_timer.seconds)
"""


@pytest.mark.deep
@usable
def test_a_wheel_compiles_nothing(tmp_path: Path) -> None:
    """By whatever a recipe calls, which is every kernel; and two builds are equal byte by byte."""
    wheels = [build(tmp_path / name) for name in ("first", "second")]
    assert all(
        wheel.name.split("-")[2].startswith("cp3") and "_x86_64" in wheel.name for wheel in wheels
    )
    files = [
        {name: packed.read(name) for name in packed.namelist()} for packed in map(ZipFile, wheels)
    ]
    kernels = [{name: data for name, data in one.items() if "/kernels/" in name} for one in files]
    assert kernels[0] == kernels[1]
    assert not [
        name for name, data in kernels[0].items() if b"site-packages" in data or b"/home" in data
    ]
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        str(tmp_path / "installed"),
    ]
    subprocess.run([*command, str(wheels[0])], check=True)
    out, err = process(
        COOKED, PYTHONPATH=str(tmp_path / "installed"), NUMBA_CACHE_DIR=str(tmp_path / "cache")
    )
    assert (float(out), err) == (0.0, "")
    assert not (tmp_path / "cache").exists()
