"""``python tests/make_wheel.py``: build a wheel that carries machine code of all kernels for this
Python into ``dist``.

Tracked files are copied to a temporary folder, so that nothing of the working folder changes. The
kernels are compiled there once for each kind of processor in ``kernel_cache.TARGETS``, by one
process each: several would share their work differently each time, and the files of two builds
would differ.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from swordplay.compile.kernel_cache import TARGETS

ROOT = Path(__file__).resolve().parents[1]


def build(into: Path, *recipes: str) -> Path:
    """Build a wheel with machine code of all kernels, or of those that some recipes of
    ``swordplay warm`` call.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "swordplay")
        for name in subprocess.check_output(
            ["git", "-C", str(ROOT), "ls-files", "-z"], text=True
        ).split("\0"):
            if name and (ROOT / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, copy / name)
        fill(copy / "src", Path(folder, "kernels"), *recipes)
        command = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            str(copy),
        ]
        subprocess.run([*command, "--wheel-dir", str(Path(folder, "built"))], check=True)
        (wheel,) = Path(folder, "built").iterdir()
        into.mkdir(exist_ok=True)
        return Path(shutil.copy2(wheel, into))


def fill(source: Path, compiled: Path, *recipes: str) -> None:
    """Compile the kernels of a copy of the package, and put their machine code into it."""
    command = [
        sys.executable,
        "-m",
        "swordplay",
        "warm",
        *recipes,
        "--quiet",
        "--processes",
        "1",
        "--into",
    ]
    processes = [
        subprocess.Popen(
            [*command, str(compiled / one.name)],
            env=os.environ
            | {"NUMBA_CPU_NAME": one.name, "NUMBA_CPU_FEATURES": one.features}
            | {"PYTHONPATH": str(source), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
        )
        for one in TARGETS
    ]
    codes = [process.wait() for process in processes]
    if any(codes):
        sys.exit("not everything could be compiled; no wheel was built.")
    for one in TARGETS:
        shutil.copytree(
            compiled / one.name / "swordplay", source / "swordplay" / "kernels" / one.name
        )


if __name__ == "__main__":
    wheel = build(ROOT / "dist")
    print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size / 1e6:.1f} MB")
