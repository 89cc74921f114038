"""``python -m benchmarks.hindsight [--quick]``: how long hindsight takes, how small its gaps are,
how much memory it needs.

Each case runs in a process of its own, so that its peak memory is its own. Gaps are relative to the
objective; the largest gap of a frontier to the loss of its left end.
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
"""Of the losses' range over the domain: a few 1e-5 of the objective on these streams."""


def stream_of(rounds: int, dim: int) -> tuple[sp.LinearStream, sp.Domain]:
    """Noisy linear targets of a truth that walks about in a ball of radius 2."""
    rng = np.random.default_rng(6)
    ball = sp.Ball(dim, 2.0)
    truth = np.tanh(np.cumsum(0.003 * rng.normal(size=(rounds, dim)), axis=0))
    features = rng.normal(size=(rounds, dim)) / np.sqrt(dim)
    targets = np.einsum("ij,ij->i", features, truth) + 0.3 * rng.normal(size=rounds)
    return sp.LinearStream(features, targets), ball


def jumping_stream(rounds: int, dim: int) -> tuple[sp.LinearStream, sp.Domain]:
    """Noisy linear targets of a truth that jumps three times in a ball of radius 1."""
    rng = np.random.default_rng(7)
    truth = np.repeat(rng.normal(size=(4, dim)), -(-rounds // 4), axis=0)[:rounds]
    truth /= np.linalg.norm(truth, axis=1)[:, None]
    features = rng.normal(size=(rounds, dim))
    targets = np.einsum("ij,ij->i", features, truth) + 0.3 * rng.normal(size=rounds)
    return sp.LinearStream(features, targets), sp.Ball(dim)


def coordinates(rounds: int, dim: int, world: float) -> dict[str, float]:
    """Many coordinates: a move across the ball costs as much as five rounds can.

    The gap is to be 1e-7 of the losses' range.
    """
    stream, ball = jumping_stream(rounds, dim) if world == 0 else stream_of(rounds, dim)
    slopes = stream.features * (stream.features @ ball.center - stream.targets)[:, None]
    scale = ball.diameter * float(
        np.linalg.norm(slopes, axis=1).sum()
    )  # what the losses can change by
    penalty = 5 * scale / rounds / ball.diameter
    best = sp.hindsight.best_sequence(stream, ball, penalty=penalty)
    value = best.loss + penalty * best.path_length
    return {
        "world": world,
        "path length": best.path_length,
        "relative gap": best.gap / value,
        "gap of range": best.gap / scale,
    }


def one_penalty(rounds: int, dim: int, penalty: float) -> dict[str, float]:
    stream, ball = stream_of(rounds, dim)
    best = sp.hindsight.best_sequence(stream, ball, penalty=penalty, tolerance=TOLERANCE)
    value = best.loss + penalty * best.path_length
    return {"penalty": penalty, "path length": best.path_length, "relative gap": best.gap / value}


def curve(rounds: int, dim: int, points: int) -> dict[str, float]:
    stream, ball = stream_of(rounds, dim)
    found = sp.hindsight.frontier(stream, ball, points=points, tolerance=TOLERANCE)
    # The right end fits every round by itself and loses next to nothing: the largest gap, against
    # the loss of the left end.
    return {"points": len(found.losses), "relative gap": float(found.gaps.max() / found.losses[0])}


def cases(scale: int) -> list[tuple[str, list[float]]]:
    long, wide = 1_000_000 // scale, 100_000 // scale
    return [
        *(("one_penalty", [wide, 10, penalty]) for penalty in (0.3, 10.0, 1000.0)),
        ("curve", [wide, 10, 12]),
        *(("one_penalty", [long, 1, penalty]) for penalty in (0.3, 100.0)),
        *(("one_penalty", [rounds, 10, 10.0]) for rounds in (wide // 4, wide // 2)),
        *(("one_penalty", [wide // 4, dim, 10.0]) for dim in (5, 20)),
    ]


def measured(name: str, sizes: list[float]) -> dict[str, float]:
    """One case in this process, after a small one that loads the compiled code."""
    workload: Callable[..., dict[str, float]] = {
        "one_penalty": one_penalty,
        "curve": curve,
        "coordinates": coordinates,
    }[name]
    rounds, dim, last = (
        int(sizes[0]),
        int(sizes[1]),
        sizes[2] if name == "one_penalty" else int(sizes[2]),
    )
    one_penalty(100, dim, 1.0)
    before, wall, cpu = _peak(), time.perf_counter(), time.process_time()
    told = workload(rounds, dim, last)
    spent = {"seconds": time.perf_counter() - wall, "cpu seconds": time.process_time() - cpu}
    return {**spent, "megabytes": _peak() - before, **told}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a hundredth of the rounds: a smoke test"
    )
    parser.add_argument("--case", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.case:
        print(json.dumps(measured(*json.loads(asked.case))))
        return
    print(
        "| case | rounds | features | seconds | CPU seconds | relative gap | peak MB | MB / "
        "(rounds x features x 8 bytes) |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, sizes in cases(100 if asked.quick else 1):
        command = [
            sys.executable,
            "-m",
            "benchmarks.hindsight",
            "--case",
            json.dumps([name, sizes]),
        ]
        told = json.loads(
            subprocess.run(command, check=True, capture_output=True, text=True).stdout
        )
        rounds, dim = int(sizes[0]), int(sizes[1])
        what = (
            f"penalty {told['penalty']:g}"
            if name == "one_penalty"
            else f"frontier of {told['points']} points"
        )
        numbers = rounds * dim * 8 / 2**20
        print(
            f"| {what} | {rounds:,} | {dim} | {told['seconds']:.1f} | {told['cpu seconds']:.1f} | "
            f"{told['relative gap']:.1e} "
            f"| {told['megabytes']:.0f} | {told['megabytes'] / numbers:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
