"""Build hooks: the description of the package, and the tag of a wheel that carries machine code."""

import re
import sys
import sysconfig
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

ELSEWHERE = r"\]\((?!https?:|#)[^)]*\)"
IMAGE = re.compile(r"!\[([^\]]*)" + ELSEWHERE)
LINK = re.compile(r"\[([^\]]+)" + ELSEWHERE)


def portable(text: str) -> str:
    """Replace images and links to files of the repository by their text: an index has no files."""
    return LINK.sub(r"\1", IMAGE.sub(r"*\1*", text))


class CustomMetadataHook(MetadataHookInterface):
    """Called by hatchling, which makes the package."""

    def update(self, metadata: dict) -> None:
        """Put the description where hatchling looks for it."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": portable(text)}


class CustomBuildHook(BuildHookInterface):
    """Called by hatchling, which makes the wheel."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Tag a wheel with machine code for this Python and platform.

        One without runs everywhere.
        """
        if Path(self.root, "src", "swordplay", "kernels").is_dir():
            build_data["pure_python"] = False
            build_data["tag"] = tag()


def tag() -> str:
    """The tag of a wheel whose machine code was compiled here.

    Object code of kernels is linked with nothing but numba, so that it runs with every C library:
    the oldest that wheels on Linux may name is named.
    """
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform()).replace("linux_", "manylinux_2_17_")
    return f"{python}-{python}{getattr(sys, 'abiflags', '')}-{platform}"
