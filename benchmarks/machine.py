"""Where the figures come from: processor, memory, system, versions.

No names of hosts, people or folders.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.many import cores

PACKAGES = (
    "swordplay",
    "numpy",
    "numba",
    "scipy",
    "scikit-learn",
    "river",
    "pandas",
    "vowpalwabbit",
)


def description() -> dict[str, str]:
    """What a reader needs in order to judge the figures."""
    return {
        "processor": f"{_processor()}, {cores()} core(s) available",
        "memory": f"{_gigabytes():.0f} GB",
        "system": f"{platform.system()} {platform.machine()}",
        "load when the run began": f"{os.getloadavg()[0]:.1f}"
        if hasattr(os, "getloadavg")
        else "unknown",
        "python": platform.python_version(),
        "C compiler": _compiler(),
        **{name: _version(name) for name in PACKAGES},
    }


def stolen() -> float:
    """Seconds, of all processors together, that the host of a virtual machine has kept for
    others since it was started.
    """
    counts = Path("/proc/stat")
    fields = counts.read_text().splitlines()[0].split() if counts.exists() else []
    return int(fields[8]) / os.sysconf("SC_CLK_TCK") if len(fields) > 8 else float("nan")


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"


def _gigabytes() -> float:
    return (
        os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        if hasattr(os, "sysconf")
        else float("nan")
    )


def _compiler() -> str:
    cc = shutil.which("cc")
    if cc is None:
        return "none"
    return subprocess.run(
        [cc, "--version"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[0]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        if name == "swordplay":
            import swordplay

            return f"{swordplay.__version__} (from its source tree)"
        return "not installed"
