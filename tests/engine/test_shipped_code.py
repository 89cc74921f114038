"""Machine code that comes with the package: that of these sources, used where it can be, and the same numbers."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from llvmlite import binding

import swordplay
from make_kernels import compiled
from swordplay.application.warming import RECIPES
from swordplay.base import compiling, shipped_code
from swordplay.sklearn import SwordRegressor
from tolerances import TWIN

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(swordplay.__file__).parent
PINNED = re.search(r"^numba==(.+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE).group(1)
ARCHIVES = sorted(shipped_code.FOLDER.glob("*.zip"))
ANEW = "sources have changed since it was made: run `make kernels`, and for other interpreters as CONTRIBUTING.md says"
EVERYTHING = shipped_code.MAKES[0].needs
DOTS = b"." * 20
"""Where numba was installed when it was made: as many dots as that path has letters."""
USED = """
import json, sys
import numpy as np
from swordplay.base import kept_code
from swordplay.sklearn import SwordRegressor
rng = np.random.default_rng(0)
rows, targets = rng.normal(size=(300, 3)), rng.normal(size=300)
said = SwordRegressor().predict_then_learn(rows, targets)
print(json.dumps([kept_code.stopwatch.seconds > 0.0, said.tolist()]))
"""
COOKED = """
from swordplay.application import warming
from swordplay.base import kept_code
for name in warming.RECIPES:
    warming.cook(name)
print(kept_code.stopwatch.seconds)
"""


def runs_here() -> bool:
    has = binding.get_host_cpu_features()
    return shipped_code.ARCHIVE.is_file() and all(has.get(name) for name in shipped_code.MAKES[-1].needs)


usable = pytest.mark.skipif(not runs_here(), reason="nothing is shipped for this Python, numba or processor")


def told(code: str, folder: Path, **environment: str) -> str:
    """What a process prints that has the package alone, and an empty folder for what it would compile."""
    own = {"SWORDPLAY_SHIPPED": "1", "NUMBA_CACHE_DIR": str(folder), **environment}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env={**os.environ, **own}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def kernels(python: str) -> set[str]:
    """Names under which the kernels of the package are kept, as their sources are now."""
    return {
        f"{source.stem}.{found}-{compiling._digest(source)}.{python}"
        for source in PACKAGE.rglob("*.py")
        for found in re.findall(r"^@kernel\ndef (\w+)", source.read_text(encoding="utf-8"), re.MULTILINE)
    }


def contents(archive: Path) -> dict[str, bytes]:
    with ZipFile(archive) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def test_archives_are_those_of_the_pinned_numba() -> None:
    assert f"py311-linux-numba-{PINNED}.zip" in {archive.name for archive in ARCHIVES}
    assert {archive.name.partition("-")[2] for archive in ARCHIVES} == {f"linux-numba-{PINNED}.zip"}


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda archive: archive.stem)
def test_an_archive_has_every_kernel_as_its_source_is_now(archive: Path) -> None:
    found = contents(archive)
    expected = {f"{make.name}/{name}" for make in shipped_code.MAKES for name in kernels(archive.name.split("-")[0])}
    assert {name.removesuffix(".nbi") for name in found if name.endswith(".nbi")} == expected, ANEW
    assert all(b"site-packages" not in data and b"/home" not in data for data in found.values())


@usable
def test_nothing_is_compiled_and_nothing_written(tmp_path: Path) -> None:
    """By whatever a recipe calls, which is every kernel; and whoever asks whether others have to compile is told no."""
    assert float(told(COOKED, tmp_path / "own")) == 0.0
    assert not (tmp_path / "own").exists()
    kept = "; ".join(f"print(compiling.is_kept({one.source!r}))" for one in RECIPES.values() if one.source)
    assert set(told(f"from swordplay.base import compiling; {kept}", tmp_path).split()) == {"True"}


@usable
def test_its_numbers_are_those_of_code_that_is_compiled_here(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ours = SwordRegressor().predict_then_learn(rng.normal(size=(300, 3)), rng.normal(size=300))
    compiled, theirs = json.loads(told(USED, tmp_path))
    assert not compiled
    np.testing.assert_allclose(theirs, ours, rtol=TWIN, atol=TWIN)


ONE = """
import numpy as np
from swordplay.engine import scaling
answer = np.empty((1, 2))
scaling.scale_rows(np.array([[3.0, 5.0]]), np.array([1.0, 1.0]), np.array([2.0, 1.0]), 5.0, answer)
assert answer.tolist() == [[1.0, 4.0]]
print(sum(scaling.scale_rows.stats.cache_hits.values()))
"""


@usable
def test_who_names_a_processor_or_does_not_want_it_compiles(tmp_path: Path) -> None:
    assert told(ONE, tmp_path / "a") == "1\n"
    assert told(ONE, tmp_path / "b", NUMBA_CPU_NAME="generic") == "0\n"
    assert told(ONE, tmp_path / "c", SWORDPLAY_SHIPPED="0") == "0\n"
    assert list((tmp_path / "c").rglob("*.nbc"))
    # That is for this very processor, and is found before anybody looks at what came along.
    blind = "from swordplay.base import shipped_code; shipped_code.ShippedFile.load = None"
    assert told(blind + ONE, tmp_path / "c") == "1\n"


@pytest.fixture
def asked_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """What is shipped is wanted, and looked for again on a processor that has it all; afterwards all is as tests have it."""
    monkeypatch.setenv("SWORDPLAY_SHIPPED", "1")
    monkeypatch.setattr(shipped_code, "ARCHIVE", ARCHIVES[0])
    monkeypatch.setattr(shipped_code.llvm, "get_host_cpu_features", lambda: dict.fromkeys(EVERYTHING, True))
    forget()
    yield monkeypatch
    forget()


def forget() -> None:
    shipped_code.make.cache_clear()
    shipped_code.names.cache_clear()


@pytest.mark.parametrize("lacking", [None, *sorted(EVERYTHING)])
def test_a_processor_gets_the_best_make_that_it_has_everything_for(lacking: str, asked_anew: pytest.MonkeyPatch) -> None:
    has = {name: name != lacking for name in EVERYTHING}
    asked_anew.setattr(shipped_code.llvm, "get_host_cpu_features", lambda: has)
    wide, usual = shipped_code.MAKES
    assert shipped_code.make() is (wide if lacking is None else usual if lacking.startswith("avx512") else None)


@pytest.mark.parametrize("unwanted", ["nothing", "CPU_NAME", "CPU_FEATURES", "SWORDPLAY_SHIPPED", "damaged", "gone"])
def test_what_is_in_the_archive(unwanted: str, asked_anew: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if unwanted.startswith("CPU"):
        asked_anew.setattr(shipped_code.config, unwanted, "generic")
    elif unwanted.startswith("SWORDPLAY"):
        asked_anew.setenv(unwanted, "0")
    elif unwanted != "nothing":
        asked_anew.setattr(shipped_code, "ARCHIVE", tmp_path / "archive.zip")
        (tmp_path / "archive.zip").write_bytes(b"PK") if unwanted == "damaged" else None
    assert bool(shipped_code.names()) == (unwanted == "nothing")


@pytest.mark.parametrize("damaged", [False, True])
def test_an_entry_is_read_if_it_is_whole(damaged: bool, asked_anew: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked_anew.setattr(shipped_code, "ARCHIVE", tmp_path / "archive.zip")
    file, here = shipped_code.ShippedFile("kernel", "digest"), ("system", "this very processor", "+all")
    with ZipFile(shipped_code.ARCHIVE, "w") as archive:
        for make in shipped_code.MAKES:
            entries = {("types", ("system", make.name, make.features)): "kernel.1.nbc"}
            index = pickle.dumps(file._version, protocol=-1) + pickle.dumps(("digest", entries))
            archive.writestr(f"{make.name}/kernel.nbi", index)
            archive.writestr(f"{make.name}/kernel.1.nbc", pickle.dumps(f"machine code, {make.name}"))
    if damaged:
        data = shipped_code.ARCHIVE.read_bytes()
        shipped_code.ARCHIVE.write_bytes(data.replace(b"machine code", b"machine coda"))
    assert file.load(("types", here)) == (None if damaged else "machine code, x86-64-v4")
    assert file.load(("other types", here)) is None
    assert file.load(("types", ("other system", *here[1:]))) is None
    assert shipped_code.ShippedFile("another", "digest").load(("types", here)) is None
    assert shipped_code.holds("kern", "nel.")
    assert not shipped_code.holds("nel", "nel.")
    assert not shipped_code.holds("kern", "-")
    asked_anew.setenv("SWORDPLAY_SHIPPED", "0")
    forget()
    assert file.load(("types", here)) is None


def test_an_index_is_one_of_this_numba_and_these_sources() -> None:
    file = shipped_code.ShippedFile("kernel", "digest")
    for version, stamp, expected in (
        (file._version, "digest", {"types": "kernel.1.nbc"}),
        ("0.1", "digest", {}),
        (file._version, "another digest", {}),
    ):
        index = pickle.dumps(version, protocol=-1) + pickle.dumps((stamp, {"types": "kernel.1.nbc"}))
        assert file._entries(index) == expected


@usable
@pytest.mark.parametrize("harm", ["gone", "no archive", "other bytes", "other source"])
def test_an_archive_that_cannot_be_used_is_as_if_it_were_not_there(harm: str, tmp_path: Path) -> None:
    copy = shutil.copytree(PACKAGE, tmp_path / "swordplay", ignore=shutil.ignore_patterns("__pycache__"))
    archive = copy / "kernels" / shipped_code.ARCHIVE.name
    assert told(ONE, tmp_path / "own", PYTHONPATH=str(tmp_path)) == "1\n"
    if harm == "gone":
        archive.rename(archive.with_name(archive.name.replace(PINNED, "0.1")))
    elif harm == "no archive":
        archive.write_bytes(b"PK")
    elif harm == "other bytes":
        data = bytearray(archive.read_bytes())
        with ZipFile(archive) as packed:
            entries = [entry for entry in packed.infolist() if "/scaling.scale_rows" in entry.filename]
        for entry in entries:
            data[entry.header_offset + 120] ^= 0xFF
        archive.write_bytes(data)
    else:
        with (copy / "engine" / "scaling.py").open("a") as source:
            source.write("# changed\n")
    assert told(ONE, tmp_path / "own", PYTHONPATH=str(tmp_path)) == "0\n"


@pytest.mark.deep
@usable
def test_whoever_makes_it_again_makes_the_same_bytes(tmp_path: Path) -> None:
    made = {name: file.read_bytes() for name, file in compiled(tmp_path).items()}
    shipped = contents(shipped_code.ARCHIVE)
    assert list(made) == list(shipped)
    other = [name for name, data in made.items() if data != shipped[name] and DOTS not in data]
    assert not other
    assert sum(DOTS in data for data in made.values()) < 10
