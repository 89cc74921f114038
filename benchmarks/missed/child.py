"""The command in a process that watches itself: `python -m benchmarks.missed.child WHAT BEGAN
ANSWER track ...`.

``WHAT`` is ``times`` (where the main thread's time goes), ``threads`` (processor seconds of each
thread) or ``kernels`` (seconds of each kernel that is compiled). ``BEGAN`` is when the process was
started, on the clock ``time.perf_counter``, and ``ANSWER`` a file for what was found, as JSON.
"""

from __future__ import annotations

import builtins
import importlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = time.perf_counter()


class Spans:
    """Seconds of each kind of work, without those of other kinds within.

    Of each thread by itself.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._own = threading.local()

    def around(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """The function with its seconds counted; beside the main thread under another name."""

        def watched(*arguments: Any, **options: Any) -> Any:
            inner, began = getattr(self._own, "inner", 0.0), time.perf_counter()
            self._own.inner = 0.0
            try:
                return function(*arguments, **options)
            finally:
                took = time.perf_counter() - began
                beside = (
                    "" if threading.current_thread() is threading.main_thread() else " (beside)"
                )
                self.seconds[name + beside] = (
                    self.seconds.get(name + beside, 0.0) + took - self._own.inner
                )
                self._own.inner = inner + took

        return watched

    def watch(self, owner: Any, method: str, name: str) -> None:
        """Count the seconds of a method."""
        setattr(owner, method, self.around(getattr(owner, method), name))


def times() -> Callable[[], Any]:
    """What the main thread does between the first row and the last."""
    from swordplay.compile.kernel_cache import KernelCache
    from swordplay.tracking import saving, tracker
    from swordplay.tracking.threads import Aside, Behind

    run: Any = importlib.import_module("swordplay.tracking.run")
    spans, found = Spans(), {"began": HERE}
    builtins.__import__ = spans.around(builtins.__import__, "imports")
    spans.watch(KernelCache, "load_overload", "kernels")
    spans.watch(run, "open_table", "open")
    spans.watch(run._Run, "_begin", "decide")
    spans.watch(tracker.Tracker, "learn", "learn")
    spans.watch(tracker.Tracker, "judge", "judge")
    spans.watch(Aside, "settle", "wait")
    spans.watch(Behind, "drain", "end")
    spans.watch(run._Run, "_end", "end")
    spans.watch(run._Run, "go", "rest")
    made = saving.RunClock.__init__

    def clock(self: Any) -> None:
        found["account"] = time.perf_counter()
        spans.seconds.clear()
        made(self)

    saving.RunClock.__init__ = clock  # type: ignore[method-assign]
    return lambda: found | {"spans": dict(spans.seconds), "end": time.perf_counter()}


def threads() -> Callable[[], Any]:
    """Processor seconds of every thread, as long as it lives.

    Those without a name of ours are pyarrow's and the system's.
    """
    names = {
        "MainThread": "learning",
        "swordplay-reader": "reading",
        "swordplay-judge": "judging",
        "swordplay-writer": "writing",
    }
    tick, seen, known, over = (
        os.sysconf("SC_CLK_TCK"),
        dict[int, float](),
        dict[int, str](),
        threading.Event(),
    )

    def look() -> None:
        for thread in threading.enumerate():
            if thread.native_id is not None:
                known[thread.native_id] = thread.name.split("_")[0]
        for task in Path("/proc/self/task").iterdir():
            try:
                fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue  # it has ended meanwhile
            seen[int(task.name)] = (int(fields[11]) + int(fields[12])) / tick

    def watch() -> None:
        while not over.wait(0.02):
            look()

    threading.Thread(target=watch, name="watching", daemon=True).start()

    def told() -> dict[str, float]:
        look()
        over.set()
        found: dict[str, float] = {}
        for task, seconds in seen.items():
            name = names.get(known.get(task, ""), known.get(task, "pyarrow"))
            found[name] = found.get(name, 0.0) + seconds
        return found

    return told


def kernels() -> Callable[[], Any]:
    """Seconds of every kernel that is compiled, those within LLVM, and its parts."""
    from numba.core.event import Listener, register

    from swordplay.cli import warming
    from swordplay.compile.kernel_cache import KernelCache

    warming.beside = lambda names: None  # all in this process
    found, depth = (
        list[dict[str, Any]](),
        {"parts": 0, "llvm": 0.0, "began": 0.0, "within": 0, "since": 0.0},
    )

    class Parts(Listener):
        def on_start(self, event: Any) -> None:
            depth["parts"] += 1

        def on_end(self, event: Any) -> None:
            """Nothing to do."""

    class Llvm(Listener):
        def on_start(self, event: Any) -> None:
            depth["since"] = depth["since"] if depth["within"] else time.perf_counter()
            depth["within"] += 1

        def on_end(self, event: Any) -> None:
            depth["within"] -= 1
            depth["llvm"] += 0.0 if depth["within"] else time.perf_counter() - depth["since"]

    register("numba:compile", Parts())
    register("numba:llvm_lock", Llvm())
    load, save = KernelCache.load_overload, KernelCache.save_overload

    def loaded(self: Any, *arguments: Any) -> Any:
        answer = load(self, *arguments)
        if answer is None:
            depth.update(parts=0, llvm=0.0, began=time.perf_counter())
        return answer

    def saved(self: Any, *arguments: Any) -> None:
        took = time.perf_counter() - depth["began"]
        found.append(
            {
                "name": self.name.split("-")[0],
                "seconds": took,
                "llvm": depth["llvm"],
                "parts": depth["parts"],
            }
        )
        save(self, *arguments)

    KernelCache.load_overload, KernelCache.save_overload = loaded, saved  # type: ignore[method-assign]
    return lambda: found


def main() -> None:
    """Watch, and run the command."""
    what, began, answer, *typed = sys.argv[1:]
    told = {"times": times, "threads": threads, "kernels": kernels}[what]()
    from swordplay.cli import main as command

    sys.argv = ["swordplay", *typed]
    try:
        command()
    finally:
        Path(answer).write_text(
            json.dumps({"started": float(began), "told": told()}), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
