"""Machine code in a wheel: `make wheel` compiles the kernels into a folder, and this puts them beside the sources."""

import os
import sys
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLATFORM = "manylinux_2_28_x86_64"
"""What runs numba's own wheels."""


def included(folder: Path) -> dict[str, str]:
    """Where in a wheel each folder of machine code goes: FOLDER/VERSION/swordplay holds what that version of numba compiled."""
    return {str(one / "swordplay"): f"swordplay/kernels/{one.name}" for one in sorted(folder.iterdir()) if one.is_dir()}


class CustomBuildHook(BuildHookInterface):
    """Called by hatchling, which makes the package; without SWORDPLAY_KERNELS the wheel is pure Python, as it always was."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Add the folder that SWORDPLAY_KERNELS names, and say what the wheel is for."""
        folder = os.environ.get("SWORDPLAY_KERNELS")
        if not folder or version == "editable":
            return
        build_data["force_include"].update(included(Path(folder)))
        python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        build_data["pure_python"], build_data["tag"] = False, f"{python}-{python}-{PLATFORM}"
