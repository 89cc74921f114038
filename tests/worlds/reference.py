"""Compute the results of seeded cases, write them to a file, and compare two such files.

::

    python tests/worlds/reference.py write out/after.json [--only learners] [--jobs 2]
    python tests/worlds/reference.py compare out/before.json out/after.json
    python tests/worlds/reference.py list

``write`` reports progress on standard error; a case that fails is stored as its error, and the exit
code is 1. ``compare`` prints one line for each case that is not identical: ``rounding`` (equal to a
relative 1e-10), ``differs`` or ``missing``, with the worst values. Its exit code is 1 if anything
differs by more or is missing.

How a change is checked
-----------------------
Results are of one machine (floating point differs between processors), so they are not committed.
Run both states of the package there, with the same environment and the same script: the package is
taken from ``PYTHONPATH``. ::

    git worktree add ../before COMMIT
    PYTHONPATH=../before/src .venv/bin/python tests/worlds/reference.py write out/before.json
    .venv/bin/python tests/worlds/reference.py write out/after.json
    .venv/bin/python tests/worlds/reference.py compare out/before.json out/after.json
    git worktree remove --force ../before

Both run with machine code that was compiled on this machine, not with that of a wheel, whose last
bits may differ; the first run of a source tree therefore compiles for some minutes. ``--only``
takes beginnings of names of cases, for a quick look.

Speed is compared by other commands, on a quiet machine and each in both trees: ``make bench``
(engine, readable learners and other packages; writes ``benchmarks/results.md``), and ``python -m
benchmarks.NAME`` with ``coats`` (estimators), ``tracking``, ``keyed``, ``serving`` and
``hindsight``. Accuracy of the estimators is compared by ``python -m benchmarks.untuned``.

What is left out, as the redesign deletes or changes it: ``track --twice``, the compiled
OneProjection, layouts and single precision of Spark, certificates of windows in runs of ``track``,
``compare --learners all``, explicit lags of three or more classes, and texts (messages, reports,
pages), which are rewritten.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # `worlds` is a folder of tests/

from worlds.reference_cases.values import TOLERANCE, difference, encode

KINDS = (
    "learners",
    "engines",
    "theory",
    "hindsight",
    "estimators",
    "river_models",
    "answers",
    "keys",
    "servers",
    "tracks",
)
"""Modules of ``reference_cases``; a case is called ``kind/name``."""
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",  # sums of matrix products must not depend on how many cores are free
    "OPENBLAS_NUM_THREADS": "1",
    # compile here: machine code made for other processors rounds otherwise
    "SWORDPLAY_BUNDLED_KERNELS": "0",
    "NO_COLOR": "1",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
}
WORST = 3
"""Values of a case that ``compare`` names."""


def names(only: Sequence[str] = ()) -> list[str]:
    """Names of all cases, or of those that begin with one of these texts."""
    found = [f"{kind}/{name}" for kind in KINDS for name in _cases(kind)]
    return [name for name in found if not only or any(name.startswith(text) for text in only)]


def _cases(kind: str) -> Mapping[str, Any]:
    module = __import__(f"worlds.reference_cases.{kind}", fromlist=["CASES"])
    return module.CASES


def compute(name: str) -> tuple[str, Any, float]:
    """Name, encoded results and seconds of a case. An error of a case is its result."""
    kind, _, rest = name.partition("/")
    began = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory(prefix="reference-") as folder:
            results = {
                label: encode(value) for label, value in _cases(kind)[rest](Path(folder)).items()
            }
    except Exception as error:
        results = {"error": f"{type(error).__name__}: {error}"}
    return name, results, time.perf_counter() - began


def write(path: Path, only: Sequence[str] = (), jobs: int = 2) -> int:
    """Compute cases in several processes and write their results, one line a case.

    1 if a case failed.
    """
    os.environ.update(
        ENVIRONMENT
    )  # before the processes start: libraries read it when they are loaded
    wanted, began = names(only), time.perf_counter()
    results: dict[str, Any] = {}
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for done in as_completed([pool.submit(compute, name) for name in wanted]):
            name, results[name], seconds = done.result()
            text = (
                f"failed: {results[name]['error']}"
                if "error" in results[name]
                else f"{len(results[name])} values"
            )
            print(
                f"{len(results):4} of {len(wanted)}  {seconds:6.2f} s  {name}: {text}",
                file=sys.stderr,
                flush=True,
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{json.dumps(name)}: {json.dumps(results[name], separators=(',', ':'))}" for name in wanted
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    failed = sum("error" in result for result in results.values())
    print(
        f"{len(results)} cases, {failed} failed, {path.stat().st_size / 1e3:.0f} kB, "
        f"{time.perf_counter() - began:.0f} s, "
        f"user CPU {sum(one.ru_utime for one in used):.0f} s, system "
        f"{sum(one.ru_stime for one in used):.0f} s",
        file=sys.stderr,
    )
    return int(failed > 0)


def compare(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[list[str], bool]:
    """One line for each case that is not identical and a last one that counts them.

    Whether all are equal to rounding.
    """
    lines, counts = [], dict.fromkeys(("identical", "rounding", "differs", "missing", "new"), 0)
    for name in sorted(before.keys() | after.keys()):
        verdict, text = _verdict(before.get(name), after.get(name))
        counts[verdict] += 1
        if verdict != "identical":
            lines.append(f"{verdict:9} {name}{text}")
    lines.append(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return lines, counts["differs"] == counts["missing"] == 0


def _verdict(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> tuple[str, str]:
    if before is None or after is None:
        return ("new", "") if before is None else ("missing", "")
    if "error" in before or "error" in after:
        texts = [result.get("error", "no error") for result in (before, after)]
        return "differs", f": {texts[0]}; then {texts[1]}"
    found = []
    for label in before.keys() | after.keys():
        if label in before and label in after:
            if (different := difference(before[label], after[label])) is not None:
                found.append((different.relative, label, different.text))
        else:
            found.append((math.inf, label, "only one of them has this"))
    if not found:
        return "identical", ""
    found.sort(key=lambda one: (-one[0], one[1]))
    worst = "; ".join(
        f"{label} by {relative:.1e} ({text})" for relative, label, text in found[:WORST]
    )
    more = f"; {len(found) - WORST} more" if len(found) > WORST else ""
    return "rounding" if found[0][0] <= TOLERANCE else "differs", f": {worst}{more}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script; its exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="compute the cases and write their results")
    writing.add_argument("path", type=Path)
    writing.add_argument(
        "--jobs",
        type=int,
        default=min(2, os.cpu_count() or 1),
        help="processes (default: %(default)s)",
    )
    comparing = commands.add_parser("compare", help="compare two files of results")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    listing = commands.add_parser("list", help="print the names of the cases")
    for command in (writing, listing):
        command.add_argument(
            "--only",
            action="append",
            default=[],
            metavar="TEXT",
            help="cases whose names begin with this; more than once",
        )
    given = parser.parse_args(arguments)
    if given.command == "compare":
        lines, same = compare(
            *(json.loads(path.read_text()) for path in (given.before, given.after))
        )
        print("\n".join(lines))
        return int(not same)
    if given.command == "list":
        print("\n".join(names(given.only)))
        return 0
    return write(given.path, given.only, given.jobs)


if __name__ == "__main__":
    sys.exit(main())
