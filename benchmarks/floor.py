"""The floor: SwordBest in C, compiled on the spot, called on whole arrays."""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import swordplay as sp
from benchmarks.workloads import KEPT, POOL, Vector, Workload

SOURCE = Path(__file__).with_name("floor.c")
STRICT = ("-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd")
"""No change to any result: all they do is to let sqrt be an instruction, and to obey the hints
in the source.
"""
FAST = ("-O3", "-march=native", "-ffast-math", "-fopenmp-simd")
"""Sums may be reordered and divisions approximated as the compiler likes."""
PLAIN = ("-DPLAIN",)
"""Plain loops over experts, left to the compiler, instead of the machine's vectors."""
BUILDS = {
    "plain loops, fast-math": FAST + PLAIN,
    "plain loops": STRICT + PLAIN,
    "vectors by hand, fast-math": FAST,
    "vectors by hand": STRICT,
}
"""What a compiler is asked for; a floor is as low as the fastest of its builds."""
AGREEMENT = 1e-10
"""Relative to the largest number compared: what the C code and the readable learner may differ
by.
"""


class Played(NamedTuple):
    """What a run leaves behind."""

    predictions: Vector
    """<a_t, x_t>, shape ``(T,)``."""
    weights: Vector
    """p_{T+1}, shape ``(N,)``."""
    advantage: Vector
    """Sum of <g_t, x_t - x_{t,k}>, shape ``(N,)``."""
    drift: Vector
    """Sum of eta/2 norm(g - M)^2 - norm(x - xhat)^2 / (2 eta), shape ``(N,)``."""


def compiler() -> str | None:
    """Path of a C compiler, or None."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


@functools.cache
def library(flags: tuple[str, ...]) -> ctypes.CDLL:
    """``floor.c`` compiled with these flags and loaded; once per process."""
    cc = compiler()
    if cc is None:
        raise RuntimeError(
            "no C compiler was found on the PATH. Install one (Debian: apt install gcc libc6-dev)."
        )
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "floor.so"
        object_ = Path(folder) / "floor.o"
        # Linked without the flags: -ffast-math at the link would switch off denormal numbers for
        # the whole process.
        for command in (
            [cc, *flags, "-std=gnu11", "-fPIC", "-c", str(SOURCE), "-o", str(object_)],
            [cc, "-shared", str(object_), "-o", str(target), "-lm"],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(
                    f"the C compiler refused floor.c with {' '.join(flags)}:\n{done.stderr}"
                )
        return ctypes.CDLL(str(target))  # stays mapped after the file is gone


def play(workload: Workload, flags: tuple[str, ...] = STRICT, pool_size: int = POOL) -> Played:
    """The whole stream in one call: predict, then learn, round after round."""
    steps = np.concatenate([workload.pool(pool_size)] * 2)
    experts, diameter = len(steps), 2 * workload.radius
    G, L = workload.gradient_bound, workload.smoothness
    settings = np.array(
        [workload.radius, 1 / (L * diameter**2), (diameter * G) ** 2, 1 / (8 * G**2)]
    )
    sizes = [ctypes.c_int64(n) for n in (workload.rounds, workload.dim, pool_size, pool_size)]
    weights, advantage, drift = np.empty((3, experts))
    played = Played(np.empty(workload.rounds), weights, advantage, drift)
    X = workload.features
    table: tuple[Any, ...]
    if hasattr(X, "tocsr"):
        run, table = (
            library(flags).swordbest_sparse,
            (X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data),
        )
    else:
        run, table = library(flags).swordbest_dense, (np.ascontiguousarray(X),)
    arrays = (steps, settings, *table, workload.targets, *played[:4])
    if not run(*sizes, *(ctypes.c_void_p(array.ctypes.data) for array in arrays)):
        raise MemoryError(
            f"the C floor found no memory for d = {workload.dim} and {experts} experts."
        )
    return played


def disagreement(
    workload: Workload, builds: Iterable[tuple[str, ...]] = (STRICT,), pool_size: int = POOL
) -> float:
    """Largest relative difference of any build from the readable learner, over losses, weights
    and sums of the certificate.
    """
    learner = workload.learner(pool_size)
    ledger = sp.play(learner, workload.stream(), engine="python", keep=KEPT)
    sums, largest = learner.state(), 0.0
    for floor in (play(workload, flags, pool_size) for flags in builds):
        pairs: list[tuple[Any, Any]] = [
            (np.square(floor.predictions - workload.targets) / 2, ledger.losses),
            (floor.weights, learner.weights),
            (floor.advantage, sums["certificate.linear_regret"]),
            (floor.drift, sums["certificate.step_cost"]),
        ]
        largest = max(
            largest,
            *(
                float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))
                for ours, theirs in pairs
            ),
        )
    return largest
