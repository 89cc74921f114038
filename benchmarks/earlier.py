"""What the estimators cost beside those of an earlier version, whose sources lie in another folder.

git worktree add ../earlier COMMIT && python -m benchmarks.earlier ../earlier/src

Each version plays in processes of its own, which take turns; the best turn counts, in processor
time. Both have their default settings. One stream is a line; on the other the answer is a curve of
its columns, so that everything that learns curves is at work.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.report import number

CHILD = """
import json, time
import numpy as np
from swordplay import river, sklearn

def world(rounds, dim, bent):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(rounds, dim))
    line = rows @ rng.normal(size=dim) / dim**0.5
    truth = np.sin(2.0 * rows[:, 0]) + np.abs(rows[:, 1]) + 0.3 * line if bent else line
    return rows, truth + 0.1 * rng.normal(size=rounds)

def batches(make, rows, answers):
    model = make()
    extra = {"classes": [False, True]} if answers.dtype == bool else {}
    began = time.process_time()
    for k in range(0, len(rows), 1000):
        model.partial_fit(rows[k : k + 1000], answers[k : k + 1000], **extra)
    return (time.process_time() - began) / len(rows) * 1e6

def one_by_one(make, rows, answers):
    model, names = make(), [f"x{k}" for k in range(rows.shape[1])]
    rows, answers = [dict(zip(names, row)) for row in rows.tolist()], answers.tolist()
    say = model.predict_proba_one if isinstance(answers[0], bool) else model.predict_one
    began = time.process_time()
    for row, answer in zip(rows, answers):
        say(row)
        model.learn_one(row, answer)
    return (time.process_time() - began) / len(rows) * 1e6

found = {}
for bent in (False, True):
    for dim in (10, 100):
        rows, targets = world(30_000, dim, bent)
        for what, answers, kind in (("numbers", targets, "SwordRegressor"), ("labels", targets >
        0.5, "SwordClassifier")):
            where = f"{what}, d = {dim}, {'curves' if bent else 'a line'}"
            make = getattr(sklearn, kind)
            batches(make, rows[:3000], answers[:3000])
            found[f"partial_fit of 1000 rows: {where}"] = min(batches(make, rows, answers) for _ in
            range(3)) if dim == 10:
                make = getattr(river, kind)
                one_by_one(make, rows[:500], answers[:500])
                some = rows[:8000], answers[:8000]
                found[f"predict and learn one row: {where}"] = min(one_by_one(make, *some) for _ in
                range(2))
print(json.dumps(found))
"""
MOST = {"partial_fit of 1000 rows": {10: 2.0, 100: 1.3}, "predict and learn one row": {10: 1.5}}
"""The most that a row may cost beside the version in which there were first-order experts only,
by columns.
"""


def figures(source: Path) -> dict[str, float]:
    """Microseconds a row of the version in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    return {str(name): float(value) for name, value in json.loads(done.stdout).items()}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description="What the estimators cost beside those of an earlier version."
    )
    parser.add_argument("earlier", type=Path, help="the folder src of a checkout of that version")
    parser.add_argument("--turns", type=int, default=3, help="processes of each version")
    chosen = parser.parse_args()
    if not (chosen.earlier / "swordplay" / "__init__.py").exists():
        parser.error(
            f"earlier must be a folder with swordplay in it, got {chosen.earlier}: give the "
            "folder src of a checkout"
        )
    sources = Path(__file__).parents[1] / "src", chosen.earlier.resolve()
    best: list[dict[str, float]] = [{}, {}]
    for turn in range(chosen.turns):
        for found, source in zip(best, sources, strict=True):
            print(f"turn {turn + 1} of {chosen.turns}: {source}", file=sys.stderr)
            for name, value in figures(source).items():
                found[name] = min(value, found.get(name, value))
    print("| what | us a row | earlier | ratio | at most |\n| --- | ---: | ---: | ---: | ---: |")
    for name, ours in best[0].items():
        theirs = best[1][name]
        most = MOST[name.split(":")[0]][int(name.split("d = ")[1].split(",")[0])]
        print(f"| {name} | {number(ours)} | {number(theirs)} | {ours / theirs:.2f} | {most} |")


if __name__ == "__main__":
    main()
