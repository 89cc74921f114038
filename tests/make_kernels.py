"""``python tests/make_kernels.py``: the archive of machine code that comes with the package, for this Python and this numba.

What is in it depends on the sources and on the versions of Python, numba and LLVM alone: neither on the machine nor on the
hour, so that whoever wants to know whether it was made of these sources makes it again and compares.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from swordplay.base import shipped_code


def compiled(folder: Path) -> dict[str, Path]:
    """All kernels of all makes, by their names in the archive. One process for each make: several take turns as they like."""
    command = [sys.executable, "-m", "swordplay", "warm", "--quiet", "--processes", "1", "--into"]
    working = [
        subprocess.Popen(
            [*command, str(folder / one.name)],
            env=os.environ | {"NUMBA_CPU_NAME": one.name, "NUMBA_CPU_FEATURES": one.features, "PYTHONHASHSEED": "0"},
        )
        for one in shipped_code.MAKES
    ]
    codes = [process.wait() for process in working]
    if any(codes):
        sys.exit("not everything could be compiled; nothing was written.")
    files = [(one.name, file) for one in shipped_code.MAKES for file in (folder / one.name / "swordplay").iterdir()]
    return {f"{name}/{file.name}": file for name, file in sorted(files)}


def pack(files: dict[str, Path], archive: Path) -> None:
    """Files in their order and without dates; instead of those that were there before."""
    archive.parent.mkdir(exist_ok=True)
    with ZipFile(archive, "w") as packed:
        for name, file in files.items():
            packed.writestr(ZipInfo(name), file.read_bytes(), ZIP_DEFLATED, 9)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        pack(compiled(Path(made)), shipped_code.ARCHIVE)
    print(f"{shipped_code.ARCHIVE.name}: {shipped_code.ARCHIVE.stat().st_size / 1e6:.1f} MB")
