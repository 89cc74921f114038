"""What a fresh process pays: numba only where the engine is used, and machine code from disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HEAVY = ("numba", "llvmlite", "scipy", "matplotlib", "sklearn", "pandas", "river")

PLAY = """
import swordplay as sp, numpy as np
rng = np.random.default_rng(0)
learner = sp.SwordBest(sp.Ball(3), horizon=100, gradient_bound=5.0, smoothness=5.0)
sp.play(learner, sp.LinearStream(rng.normal(size=(50, 3)), rng.normal(size=50)), engine="compiled")
"""


def fresh(code: str, **environment: str) -> Any:
    """Run code in a new process; what it printed last, from JSON."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def loaded(code: str) -> list[str]:
    """Which heavy packages code leaves in memory."""
    report = (
        f"import json, sys; print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    return list(fresh(f"{code}\n{report}"))


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert loaded("import swordplay") == []


def test_making_learners_and_streams_imports_nothing_heavy() -> None:
    code = """
import swordplay as sp
learner = sp.Sword(sp.Ball(2))
stream = sp.LinearStream([[1.0, 0.0]], [1.0])
sp.play(learner, stream, engine="python")
"""
    assert loaded(code) == []


def test_the_engine_imports_numba_and_what_numba_imports() -> None:
    assert set(loaded(PLAY)) == set(loaded("import numba.core.compiler; import numba.extending"))


def test_asking_the_command_for_help_does_not_import_numba() -> None:
    pytest.importorskip("click")
    code = """
import contextlib, io
from swordplay import cli
with contextlib.redirect_stdout(io.StringIO()) as shown:
    try:
        code = cli.run(["--help"])
    except SystemExit as end:
        code = end.code or 0
assert code == 0 and "reproduce" in shown.getvalue(), shown.getvalue()
"""
    assert not {"numba", "llvmlite", "scipy", "matplotlib"} & set(loaded(code))


COMPILES_WITH = ("numba.np.arrayobj", "numba.cpython.listobj", "numba.cpython.unicode")


def test_the_second_process_compiles_nothing(tmp_path: Path) -> None:
    """Machine code is kept on disk, without LLVM's notation of it.

    A process that reads it imports no parts of a compiler.
    """
    code = f"""
import json, sys
import swordplay as sp
from swordplay.engine import rounds
sp.engine.online(sp.Sword(sp.Ball(3))).predict([1.0, 2.0, 3.0])
kernels = ("predict_one", "learn_one", "play_dense", "play_sparse", "play_points", "play_each")
stats = rounds.predict_one.stats
used = [name for name in kernels if getattr(rounds, name).signatures]
known = [name in sys.modules for name in {COMPILES_WITH!r}]
print(json.dumps([sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), used, known]))
"""
    first, second = (fresh(code, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first[:3] == [0, 1, ["predict_one"]]  # and only what is used is compiled
    assert first[3][0]  # a process that compiles does import them
    assert second == [1, 0, ["predict_one"], [False] * len(COMPILES_WITH)]
    (kept,) = tmp_path.rglob("*.kernel")
    assert b"BC\xc0\xde" not in kept.read_bytes()
    assert kept.stat().st_size < 25_000  # with LLVM's notation the file would be twice as large


def test_a_function_that_calls_a_kernel_that_was_kept_is_refused_in_words(tmp_path: Path) -> None:
    """Only machine code of it is on disk, and a call of that from elsewhere has ended in a
    segmentation fault.
    """
    code = """
import json
import numba, numpy as np
from swordplay.engine.column_stats import scale_rows
known = [np.full((2, 3), 5.0), np.zeros(3), np.full(3, 2.0), 9.0, np.zeros((2, 4))]
scale_rows(*known)
said = ""
if scale_rows.stats.cache_hits:
    try:
        numba.njit(lambda a, b, c, d, e: scale_rows(a, b, c, d, e))(*known)
    except TypeError as error:
        said = str(error)
print(json.dumps([known[-1].tolist(), said]))
"""
    first, second = (fresh(code, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first == [[[2.5, 2.5, 2.5, 1.0]] * 2, ""]
    assert second[0] == first[0]
    assert second[1].startswith("a kernel cannot call another kernel")


def test_the_second_call_of_a_process_compiles_nothing() -> None:
    """Arrays of one kind make one specialisation, whatever their layout and their owner were."""
    code = """
import json
import numpy as np, swordplay as sp
from swordplay.engine import rounds
rows = np.random.default_rng(0).normal(size=(40, 3))
frozen = rows.copy()
frozen.flags.writeable = False
for form in (rows, np.asfortranarray(rows), rows.astype(np.float32), rows[::2].repeat(2, axis=0), frozen, rows.tolist()):
    learner = sp.SwordBest(sp.Ball(3), horizon=100, gradient_bound=5.0, smoothness=5.0)
    sp.play(learner, sp.LinearStream(form, np.zeros(40)), engine="compiled")
    model = sp.engine.online(learner)
    for row in np.asarray(form):
        model.predict(row)
        model.learn(row, 0.0)
print(json.dumps([len(kernel.signatures) for kernel in (rounds.play_dense, rounds.predict_one, rounds.learn_one)]))
"""  # noqa: E501
    assert fresh(code) == [1, 1, 1]


def test_import_time_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Never judged here, where other work runs beside it.

    It is printed for people who wonder (pytest -s).
    """
    code = """
import json, time
start = time.perf_counter(); import numpy; middle = time.perf_counter(); import swordplay; end = time.perf_counter()
print(json.dumps([middle - start, end - middle]))
"""  # noqa: E501
    numpy, ours = fresh(code)
    with capsys.disabled():
        print(f"\nimport numpy {numpy:.3f} s, swordplay {ours:.3f} s more")
    assert ours > 0.0
