"""``python tests/pack_kernels.py FOLDER``: machine code that ``swordplay warm`` has put there, as the archive that is shipped.

What is in an archive depends on the sources and on the versions of Python, numba and LLVM alone: neither on the machine nor on
the hour, so that whoever wants to know whether it was made of these sources makes it again and compares.
"""

import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from swordplay.base import shipped_code


def pack(folder: Path, archive: Path) -> None:
    """All files of a folder, in the order of their names and without dates; instead of those that were there before."""
    archive.parent.mkdir(exist_ok=True)
    with ZipFile(archive, "w") as packed:
        for file in sorted(folder.iterdir()):
            packed.writestr(ZipInfo(file.name), file.read_bytes(), ZIP_DEFLATED, 9)


if __name__ == "__main__":
    pack(Path(sys.argv[1]), shipped_code.ARCHIVE)
    print(f"{shipped_code.ARCHIVE.name}: {shipped_code.ARCHIVE.stat().st_size / 1e6:.1f} MB")
