"""Machine code on disk is compiled again when a source that it depends on has changed."""

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from swordplay.compile import kernel_cache
from swordplay.compile.kernel_folders import PACKAGE

FILES = sorted(PACKAGE.rglob("*.py"))
WITH_KERNELS = [
    file for file in FILES if "from swordplay.compile import" in file.read_text(encoding="utf-8")
]


def named(file):
    """What ``kernel_cache.sources`` reads from the text, from the syntax tree instead."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "swordplay":
            for alias in node.names:
                yield (
                    f"{node.module}.{alias.name}"
                    if located(f"{node.module}.{alias.name}")
                    else node.module
                )
        elif isinstance(node, ast.Import):
            yield from (
                alias.name for alias in node.names if alias.name.split(".")[0] == "swordplay"
            )


def located(module):
    place = PACKAGE.joinpath(*module.split(".")[1:])
    return next(
        (file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()), None
    )


def reached(file):
    found, ahead = {file}, [file]
    while ahead:
        new = (
            {located(module) for module in named(ahead.pop())} - found - kernel_cache.NOT_IN_DIGEST
        )
        found |= new
        ahead += new
    return found


@pytest.mark.parametrize("file", WITH_KERNELS, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_a_kernel_depends_on_every_file_that_its_own_imports(file):
    assert kernel_cache.sources(file) == reached(file)


def test_the_kernels_are_where_they_were_looked_for():
    names = {str(file.relative_to(PACKAGE)) for file in WITH_KERNELS}
    assert {
        "engine/rounds.py",
        "engine/step_size_grid.py",
        "keyed/kernels.py",
        "tables/csv_scan.py",
    } <= names
    assert "theory/hindsight/kernels.py" in names
    for file in set(FILES) - {PACKAGE / "compile" / "jit.py"}:
        assert "numba.njit" not in file.read_text(encoding="utf-8"), f"{file} compiles by itself"


def test_imported_modules_count_and_modules_that_are_not_imported_do_not():
    found = {
        str(file.relative_to(PACKAGE))
        for file in kernel_cache.sources(PACKAGE / "engine" / "rounds.py")
    }
    assert {
        "parts/rates.py",
        "parts/metas/optimism.py",
        "parts/metas/meta.py",
        "engine/layout.py",
        "compile/jit.py",
    } <= found
    assert (
        not {
            "__init__.py",
            "theory/game.py",
            "parts/learners/sword.py",
            "engine/compiled_learner.py",
        }
        & found
    )


def test_imports_are_absolute_so_that_they_can_be_followed():
    for file in FILES:
        assert not re.search(r"^\s*from\s+\.", file.read_text(encoding="utf-8"), re.MULTILINE), file


def copied(folder):
    return shutil.copytree(
        PACKAGE, folder / "swordplay", ignore=shutil.ignore_patterns("__pycache__")
    )


def changed(file, text, instead):
    before = file.read_text(encoding="utf-8")
    assert before.count(text) == 1
    file.write_text(before.replace(text, instead), encoding="utf-8")


def fresh(package, code):
    """Run code in a new process that finds the package there and keeps machine code beside it.

    Its last line, from JSON.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": str(package.parent),
        "NUMBA_CACHE_DIR": str(package.parent / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


KERNEL = """
from swordplay.compile import inline, kernel
from swordplay.parts.rates import TIE_TOLERANCE

@inline
def doubled(number):
    return 2.0 * number

@kernel
def frozen():
    return doubled(TIE_TOLERANCE)
"""
ASK = """
import json
from swordplay.probe import frozen
value = frozen()
print(json.dumps([value, sum(frozen.stats.cache_hits.values())]))
"""


def test_a_changed_constant_reaches_the_machine_code_on_disk(tmp_path):
    package = copied(tmp_path)
    (package / "probe.py").write_text(KERNEL, encoding="utf-8")
    assert fresh(package, ASK) == [2e-12, 0]
    changed(
        package / "theory" / "game.py", "The repeated game between", "The game, repeated, between"
    )  # nothing of it can be frozen
    with (package / "parts" / "rates.py").open("a", encoding="utf-8") as rates:
        rates.write("# a comment\n")
    changed(package / "probe.py", "    return 2.0", '    """Twice a number."""\n\n    return 2.0')
    assert fresh(package, ASK) == [2e-12, 1]
    changed(
        package / "compile" / "kernel_cache.py", "FORMAT = b", "CACHED = True\nFORMAT = b"
    )  # keeps kernels, makes none
    assert fresh(package, ASK) == [2e-12, 1]
    changed(package / "parts" / "rates.py", "TIE_TOLERANCE = 1e-12", "TIE_TOLERANCE = 1e-3")
    assert fresh(package, ASK) == [2e-3, 0]


def test_a_digest_file_of_other_bytes_is_not_used(tmp_path):
    package = copied(tmp_path)
    (package / "probe.py").write_text(KERNEL, encoding="utf-8")
    assert fresh(package, ASK) == [2e-12, 0]
    (file,) = (tmp_path / "cache").rglob("probe-*.sources")
    lines = f"{'0' * 64}\n{'1' * 64}\n".encode()  # whole, but of other sources
    checksum = hashlib.sha256(len(lines).to_bytes(8, "little") + lines).hexdigest()
    file.write_bytes(lines + f"{checksum}\n".encode())
    assert fresh(package, ASK) == [2e-12, 1]


PLAY = """
import json
import numpy as np, swordplay as sp
rng = np.random.default_rng(0)
stream = sp.LinearStream(rng.normal(size=(30, 2)), rng.normal(size=30))
found = []
for engine in ("python", "compiled"):
    learner = sp.SwordBest(sp.Ball(2), horizon=30, gradient_bound=5.0, smoothness=5.0)
    sp.play(learner, stream, engine=engine)
    found.append(learner.weights.tolist())
print(json.dumps(found))
"""


@pytest.mark.deep
def test_the_engine_follows_the_readable_learner_when_a_constant_changes(tmp_path):
    package = copied(tmp_path)
    before, compiled = fresh(package, PLAY)
    assert compiled == pytest.approx(before, abs=1e-10)
    changed(
        package / "parts" / "rates.py", "TIE_TOLERANCE = 1e-12", "TIE_TOLERANCE = 0.9"
    )  # nearly every pair of guesses ties now
    changed(package / "parts" / "metas" / "optimism.py", "TIED_TRUST = 0.5", "TIED_TRUST = 1.0")
    after, compiled = fresh(package, PLAY)
    assert after != pytest.approx(before, abs=1e-3)
    assert compiled == pytest.approx(after, abs=1e-10)
