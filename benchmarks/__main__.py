"""``python -m benchmarks [--quick] [--output FILE]``."""

from __future__ import annotations

import os


def main() -> None:
    """Set the number of threads, then run."""
    # Libraries read these when they are first imported: one thread for each of them, but all cores
    # for the engine's own threads, whose number numba would otherwise take from the one core that
    # the timings are pinned to.
    for variable in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    ):
        os.environ[variable] = "1"
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    os.environ.setdefault("NUMBA_NUM_THREADS", str(cores))

    os.environ["SWORDPLAY_BUNDLED_KERNELS"] = (
        "0"  # code for this very processor, as peers and the C floor have it
    )

    from benchmarks.run import main as run

    run()


if __name__ == "__main__":
    main()
