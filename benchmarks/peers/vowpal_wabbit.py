"""Vowpal Wabbit: from Python, and its own C++ loop over a file.

Leanest settings, except in ``NATIVE_DEFAULTS``: plain SGD (``--sgd``, without the adaptive,
normalised and invariant updates it has by default), a constant rate, no intercept. VW says the
prediction that its update starts from, so learning alone is predicting and then learning. Numeric
feature names are their own hashes.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.timing import Contender, Missing, Run
from benchmarks.workloads import Workload


def _options(workload: Workload, lean: bool = True) -> str:
    bits = max(10, (workload.dim - 1).bit_length())
    plain = f"--sgd --power_t 0 -l {workload.peer_rate:.17g} --noconstant" if lean else ""
    return f"--quiet -b {bits} {plain}"


def _workspace(options: str) -> Any:
    try:
        return import_module("vowpalwabbit").Workspace(options)
    except ImportError:
        raise Missing("vowpalwabbit is not installed") from None


class VowpalText(Contender):
    """A line of VW's text format a call, which is what its users stream from Python."""

    name = "Vowpal Wabbit python, text"
    learns = "one SGD model"
    most_rounds = 20_000
    most_numbers = 1_000_000

    @contextmanager
    def ready(self, workload: Workload) -> Iterator[Run]:
        vw = _workspace(_options(workload))
        lines = workload.vowpal_lines

        def run() -> list[float]:
            said = []
            for line in lines:
                example = vw.parse(line)
                vw.learn(example)
                said.append(example.get_simplelabel_prediction())
                vw.finish_example(example)
            return said

        yield run
        vw.finish()


class VowpalExamples(Contender):
    """The same lines parsed beforehand: the fastest that VW can be driven one by one from
    Python.
    """

    name = "Vowpal Wabbit python, parsed before"
    learns = "one SGD model"
    most_rounds = 20_000
    most_numbers = 1_000_000

    @contextmanager
    def ready(self, workload: Workload) -> Iterator[Run]:
        vw = _workspace(_options(workload))
        examples = [vw.parse(line) for line in workload.vowpal_lines]

        def run() -> list[float]:
            said = []
            for example in examples:
                vw.learn(example)
                said.append(example.get_simplelabel_prediction())
            return said

        yield run
        for example in examples:
            vw.finish_example(example)
        vw.finish()


@contextmanager
def _cached(workload: Workload, lean: bool) -> Iterator[str]:
    """VW's own binary cache of the stream, in a folder that goes away.

    Yields the options that read it.
    """
    with tempfile.TemporaryDirectory() as folder:
        text, cache = Path(folder) / "stream.txt", Path(folder) / "stream.cache"
        text.write_text("\n".join(workload.vowpal_lines) + "\n")
        reading = f"{_options(workload, lean)} -d {text} --cache_file {cache}"
        _workspace(reading).finish()  # the first reader writes the cache
        yield reading


class _Mean(Contender):
    """VW sums (prediction - target)^2 itself."""

    most_numbers = 2_000_000

    def mean_loss(self, workload: Workload, result: Any) -> float:
        return float(result) / workload.rounds / 2


class VowpalDriver(_Mean):
    """VW's C++ loop over its own binary cache, started from Python.

    No sample passes through Python.
    """

    def __init__(self, name: str, *, lean: bool) -> None:
        self.name, self.lean = name, lean
        self.learns = "one SGD model" if lean else "one adaptive model"

    @contextmanager
    def ready(self, workload: Workload) -> Iterator[Run]:
        with _cached(workload, self.lean) as reading:

            def run() -> float:
                vw = _workspace(reading)  # reads the whole file before it returns
                total = float(vw.get_sum_loss())
                vw.finish()
                return total

            yield run


NATIVE = VowpalDriver("Vowpal Wabbit native, cached file", lean=True)
NATIVE_DEFAULTS = VowpalDriver("Vowpal Wabbit native, its defaults", lean=False)


class VowpalBinary(_Mean):
    """The ``vw`` command on the same cache.

    Its start of a few milliseconds is inside the timing.
    """

    name = "Vowpal Wabbit command, cached file"
    learns = "one SGD model"

    @contextmanager
    def ready(self, workload: Workload) -> Iterator[Run]:
        if (command := shutil.which("vw")) is None:
            raise Missing("no vw on the PATH")
        with _cached(workload, lean=True) as reading:
            yield (
                lambda: (
                    subprocess.run([command, *reading.split()], check=True, capture_output=True)
                    and float("nan")
                )
            )
