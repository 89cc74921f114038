"""Time, gaps and memory of hindsight: ``python -m benchmarks.hindsight [--quick]``.

Each case runs in a process of its own, to measure its own peak memory. Gaps are relative to the
objective; for a frontier, its largest gap relative to the loss of its left end.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import swordplay as sp

TOLERANCE = 1e-6
"""Relative to the range of the losses: a few 1e-5 of the objective of these streams."""


def stream_of(rounds: int, dim: int) -> tuple[sp.LinearStream, sp.Domain]:
    """Noisy linear targets of coefficients that follow a random walk in a ball of radius 2."""
    rng = np.random.default_rng(6)
    ball = sp.Ball(dim, 2.0)
    truth = np.tanh(np.cumsum(0.003 * rng.normal(size=(rounds, dim)), axis=0))
    features = rng.normal(size=(rounds, dim)) / np.sqrt(dim)
    targets = np.einsum("ij,ij->i", features, truth) + 0.3 * rng.normal(size=rounds)
    return sp.LinearStream(features, targets), ball


def jumping_stream(rounds: int, dim: int) -> tuple[sp.LinearStream, sp.Domain]:
    """Noisy linear targets of unit coefficients that change three times."""
    rng = np.random.default_rng(7)
    truth = np.repeat(rng.normal(size=(4, dim)), -(-rounds // 4), axis=0)[:rounds]
    truth /= np.linalg.norm(truth, axis=1)[:, None]
    features = rng.normal(size=(rounds, dim))
    targets = np.einsum("ij,ij->i", features, truth) + 0.3 * rng.normal(size=rounds)
    return sp.LinearStream(features, targets), sp.Ball(dim)


def many_coordinates(rounds: int, dim: int, walks: float) -> dict[str, float]:
    """One penalty in many coordinates: a move across the ball costs as much as five rounds can.

    The gap is at most 1e-7 of the range of the losses. ``walks`` is 0 for coefficients that jump,
    1 for a random walk.
    """
    stream, ball = jumping_stream(rounds, dim) if walks == 0 else stream_of(rounds, dim)
    slopes = stream.features * (stream.features @ ball.center - stream.targets)[:, None]
    # the range of the losses
    scale = ball.diameter * float(np.linalg.norm(slopes, axis=1).sum())
    penalty = 5 * scale / rounds / ball.diameter
    best = sp.hindsight.best_sequence(stream, ball, penalty=penalty)
    value = best.loss + penalty * best.path_length
    return {
        "walks": walks,
        "path length": best.path_length,
        "relative gap": best.gap / value,
        "gap of range": best.gap / scale,
    }


def one_penalty(rounds: int, dim: int, penalty: float) -> dict[str, float]:
    """Path length and gap of the best sequence for a penalty."""
    stream, ball = stream_of(rounds, dim)
    best = sp.hindsight.best_sequence(stream, ball, penalty=penalty, tolerance=TOLERANCE)
    value = best.loss + penalty * best.path_length
    return {"penalty": penalty, "path length": best.path_length, "relative gap": best.gap / value}


def whole_frontier(rounds: int, dim: int, points: int) -> dict[str, float]:
    """Number of points and largest gap of a frontier."""
    stream, ball = stream_of(rounds, dim)
    found = sp.hindsight.frontier(stream, ball, points=points, tolerance=TOLERANCE)
    # Relative to the loss of the left end, as that of the right end is almost 0.
    return {"points": len(found.losses), "relative gap": float(found.gaps.max() / found.losses[0])}


def cases(scale: int) -> list[tuple[str, list[float]]]:
    """Names and arguments of all cases, with the rounds divided by ``scale``."""
    long, wide = 1_000_000 // scale, 100_000 // scale
    return [
        *(("one_penalty", [wide, 10, penalty]) for penalty in (0.3, 10.0, 1000.0)),
        ("whole_frontier", [wide, 10, 12]),
        *(("one_penalty", [long, 1, penalty]) for penalty in (0.3, 100.0)),
        *(("one_penalty", [rounds, 10, 10.0]) for rounds in (wide // 4, wide // 2)),
        *(("one_penalty", [wide // 4, dim, 10.0]) for dim in (5, 20)),
    ]


def measure(name: str, sizes: list[float]) -> dict[str, float]:
    """Run one case in this process, after a small one that loads the compiled code."""
    workload: Callable[..., dict[str, float]] = {
        "one_penalty": one_penalty,
        "whole_frontier": whole_frontier,
        "many_coordinates": many_coordinates,
    }[name]
    rounds, dim, last = (
        int(sizes[0]),
        int(sizes[1]),
        sizes[2] if name == "one_penalty" else int(sizes[2]),
    )
    one_penalty(100, dim, 1.0)
    before, wall, cpu = _peak_megabytes(), time.perf_counter(), time.process_time()
    found = workload(rounds, dim, last)
    spent = {"seconds": time.perf_counter() - wall, "cpu seconds": time.process_time() - cpu}
    return {**spent, "megabytes": _peak_megabytes() - before, **found}


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="run with a hundredth of the rounds, as a smoke test"
    )
    parser.add_argument("--case", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(measure(*json.loads(arguments.case))))
        return
    print(
        "| case | rounds | features | seconds | CPU seconds | relative gap | peak MB | MB / "
        "(rounds x features x 8 bytes) |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, sizes in cases(100 if arguments.quick else 1):
        command = [
            sys.executable,
            "-m",
            "benchmarks.hindsight",
            "--case",
            json.dumps([name, sizes]),
        ]
        found = json.loads(
            subprocess.run(command, check=True, capture_output=True, text=True).stdout
        )
        rounds, dim = int(sizes[0]), int(sizes[1])
        what = (
            f"penalty {found['penalty']:g}"
            if name == "one_penalty"
            else f"frontier of {found['points']} points"
        )
        numbers = rounds * dim * 8 / 2**20
        print(
            f"| {what} | {rounds:,} | {dim} | {found['seconds']:.1f} "
            f"| {found['cpu seconds']:.1f} | {found['relative gap']:.1e} "
            f"| {found['megabytes']:.0f} | {found['megabytes'] / numbers:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
