"""Why `swordplay track` is as fast as it is: long tables, short ones, and the first of all."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import tracking
from benchmarks.missed.section import Section
from benchmarks.report import number

LARGE, SMALL, LESS, FEWEST = 2_000_000, 40_000, 20_000, 2_000
"""Rows of the tables; the first two are those of the goals."""
MOST = 5.0
"""Microseconds a row of a short table."""
TURNS = 3
ROOT = Path(__file__).parents[2]
WAYS = ((), ("--no-interval",), ("--curves", "none"), ("--curves", "none", "--no-interval"))
READ = """
import sys, time
import pyarrow.csv
from swordplay.tables import open_table
began = time.perf_counter()
with open_table(sys.argv[1]) as table:
    rows = sum(len(batch.rows) for batch in table.batches())
print(time.perf_counter() - began)
"""
SPANS = {
    "open": "the table opened: format and columns recognised from 10,000 rows",
    "decide": "waiting for the first rows, and deciding on task and columns",
    "imports": "imports on the way: kernels of the jobs at hand",
    "kernels": "machine code of four kernels read from the disk",
    "learn": "learning, stretch by stretch",
    "judge": "judging the first rows",
    "wait": "waiting for the other rows to be judged",
    "end": "waiting for the writer, and closing",
    "rest": "all else",
}
LONG = """\
When the goal was written, `track` had neither intervals nor second-order experts and curves, and
made 293,000 to 338,000 rows a second. Without them it makes {plain:,.0f} now, and they make the
processor time {dearer:.2f} times as long. Reading alone makes {read:,.0f}. All defaults keep
{busy:.2f} processors busy for {seconds:.1f} s, and the thread that is {slowest} is the busiest,
with {longest:.1f} s of processor time: rows are learned in their order, one after the
other, so a further core does not help it."""
SHORT = """\
A run of {few:,} rows takes {fixed:.2f} s by its own account, with hardly anything to learn: that
alone is {each:.1f} us for each of {rows:,} rows. It is what is done once: the format recognised,
imports, machine code from the disk, files closed. From {less:,} rows on, a row costs {slope:.1f}
us, which {within}. Learning has most of it: the course of the run is kept in stretches, and the
learner stops 430 times in these rows to be looked at, for which Python runs one thread
at a time."""
FIRST = """\
A wheel may carry [machine code](machine-code.md), so that the first run is like any other. In a
clone, with another version of Python or numba, or on another kind of processor, the command
compiles {count} kernels, made of {parts:,} pieces ({size:.1f} MB of machine code), in two processes
at once. LLVM has
{share:.0%} of that time; the rest is numba's own front end, in Python, spread over all pieces."""


def watched(what: str, path: Path, folder: Path, *options: str, **environment: str) -> Any:
    """What a process that watches itself has to say (see ``child``)."""
    answer, typed = (
        folder / "answer.json",
        ["track", str(path), "--target", "y", "--json", "--quiet", "--force", *options],
    )
    command = [
        sys.executable,
        "-m",
        "benchmarks.missed.child",
        what,
        str(time.perf_counter()),
        str(answer),
        *typed,
    ]
    subprocess.run(
        [*command, "-o", str(folder / "said.parquet")],
        cwd=ROOT,
        env=tracking.with_bytecode(folder) | environment,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return json.loads(answer.read_text(encoding="utf-8"))


def sections(large: int = LARGE) -> list[Section]:
    """All three goals."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = {rows: folder / f"table-{rows}.csv" for rows in (FEWEST, LESS, SMALL, large)}
        for rows, path in paths.items():
            tracking.make(path, rows)
        return [
            _long(paths[large], large, folder),
            _short(paths, folder),
            _first(paths[FEWEST], folder),
        ]


def _long(path: Path, rows: int, folder: Path) -> Section:
    tracking.run(path, folder)  # bytecode, and the file in the memory of the system
    found = {way: min(tracking.run(path, folder, way) for _ in range(2)) for way in WAYS}
    read = min(_read(path, folder) for _ in range(2))
    busy: dict[str, float] = watched("threads", path, folder)["told"]
    slowest = max((one for one in busy if one != "pyarrow"), key=busy.__getitem__)
    table = [
        *(
            [
                f"`track {' '.join(way)}`" if way else "`track`, all defaults",
                *_speed(rows, *figures),
            ]
            for way, figures in found.items()
        ),
        ["reading CSV alone, in a process of its own", f"{rows / read:,.0f}", number(read), "", ""],
        *(
            [
                f"&emsp;of `track` with all defaults, the thread that is {name}",
                "",
                "",
                number(seconds),
                "",
            ]
            if name in ("learning", "judging", "reading", "writing")
            else [f"&emsp;of the same, {name}'s own threads", "", "", number(seconds), ""]
            for name, seconds in sorted(busy.items(), key=lambda one: -one[1])
            if name != "watching"
        ),
    ]
    all_of_it, least = found[WAYS[0]], found[WAYS[-1]]
    why = LONG.format(
        **{
            "plain": rows / least[0],
            "dearer": all_of_it[2] / least[2],
            "read": rows / read,
            "seconds": all_of_it[0],
        },
        **{"busy": all_of_it[2] / all_of_it[0], "slowest": slowest, "longest": busy[slowest]},
    )
    header = [
        f"{rows:,} rows x 10, CSV to Parquet",
        "rows a second",
        "seconds",
        "of processors",
        "processors busy",
    ]
    return Section(
        f"`track` of {rows:,} rows",
        rows / all_of_it[0],
        500_000,
        " rows/s",
        why,
        header,
        table,
        at_most=False,
    )


def _speed(rows: int, seconds: float, own: float, processor: float) -> list[str]:
    return [
        f"{rows / seconds:,.0f}",
        number(seconds),
        number(processor),
        f"{processor / seconds:.2f}",
    ]


def _read(path: Path, folder: Path) -> float:
    command = [sys.executable, "-c", READ, str(path)]
    return float(
        subprocess.run(
            command, capture_output=True, text=True, check=True, env=tracking.with_bytecode(folder)
        ).stdout
    )


def _short(paths: dict[int, Path], folder: Path) -> Section:
    own = {
        rows: min(tracking.run(paths[rows], folder)[1] for _ in range(TURNS))
        for rows in (FEWEST, LESS, SMALL)
    }
    plain = min(tracking.run(paths[SMALL], folder, WAYS[-1])[1] for _ in range(TURNS))
    best = min((watched("times", paths[SMALL], folder) for _ in range(TURNS)), key=_account)
    told, started = best["told"], best["started"]
    spans: dict[str, float] = told["spans"]
    slope, each = (own[SMALL] - own[LESS]) / (SMALL - LESS) * 1e6, own[SMALL] / SMALL * 1e6
    fixed = own[FEWEST]
    rows = [
        ["before its account: interpreter and imports", _ms(told["account"] - started), ""],
        *(
            [what, _ms(spans.get(name, 0.0)), _us(spans.get(name, 0.0))]
            for name, what in SPANS.items()
        ),
        [
            "&emsp;beside that, judging in a thread of its own",
            _ms(spans.get("judge (beside)", 0.0)),
            "",
        ],
        ["its own account, without this watch", _ms(own[SMALL]), _us(own[SMALL])],
        [f"&emsp;`{' '.join(WAYS[-1])}`", _ms(plain), _us(plain)],
        [f"&emsp;of {FEWEST:,} rows alone", _ms(fixed), ""],
        [f"&emsp;each row from {LESS:,} to {SMALL:,}", "", number(slope)],
    ]
    why = SHORT.format(
        **{
            "few": FEWEST,
            "fixed": fixed,
            "each": fixed / SMALL * 1e6,
            "rows": SMALL,
            "less": LESS,
            "slope": slope,
        },
        within="is within the goal" if slope <= MOST else "would miss the goal as well",
    )
    header = [f"{SMALL:,} rows x 10, CSV to Parquet", "ms", "us a row"]
    return Section(
        f"`track` of {SMALL:,} rows", each, MOST, " us a row by its own account", why, header, rows
    )


def _account(answer: Any) -> float:
    return float(answer["told"]["end"] - answer["told"]["account"])


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.0f}"


def _us(seconds: float) -> str:
    return number(seconds / SMALL * 1e6)


def _first(path: Path, folder: Path) -> Section:
    empty = {"NUMBA_CACHE_DIR": str(folder / "kernels"), "SWORDPLAY_BUNDLED_KERNELS": "0"}
    compiled: Sequence[dict[str, Any]] = watched("kernels", path, folder, **empty)["told"]
    kept = min(tracking.run(path, folder, **empty)[0] for _ in range(TURNS))
    cold = tracking.run(
        path, folder, NUMBA_CACHE_DIR=str(folder / "again"), SWORDPLAY_BUNDLED_KERNELS="0"
    )[0]
    files = list((folder / "kernels").rglob("*.kernel"))
    total, within, parts = (
        sum(one[name] for one in compiled) for name in ("seconds", "llvm", "parts")
    )
    rows = [
        *(
            [f"`{one['name']}`", f"{one['parts']:,}", number(one["seconds"]), number(one["llvm"])]
            for one in compiled
        ),
        ["all of them, in one process", f"{parts:,}", number(total), number(within)],
        ["the whole run of 2,000 rows, nothing on disk, two processes", "", number(cold), ""],
        ["the same with all on disk", "", number(kept), ""],
    ]
    size = sum(file.stat().st_size for file in files) / 1e6
    why = FIRST.format(count=len(compiled), parts=parts, share=within / total, size=size)
    header = ["first `track`", "pieces", "seconds", "of it LLVM"]
    return Section(
        "The first `track` on a machine, from a clone", cold, 25.0, " s", why, header, rows
    )
