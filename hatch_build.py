"""What the built package says of itself: the README without what only a clone can show."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

ELSEWHERE = r"\]\((?!https?:|#)[^)]*\)"
IMAGE = re.compile(r"!\[([^\]]*)" + ELSEWHERE)
LINK = re.compile(r"\[([^\]]+)" + ELSEWHERE)


def portable(text: str) -> str:
    """Images and links that lead to files of the repository, as their words: an index has no such files."""
    return LINK.sub(r"\1", IMAGE.sub(r"*\1*", text))


class CustomMetadataHook(MetadataHookInterface):
    """Called by hatchling, which makes the package."""

    def update(self, metadata: dict) -> None:
        """Put the description where hatchling looks for it."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": portable(text)}
