"""Write the report of a run, over one series or over many keys."""

from __future__ import annotations

import os
from collections.abc import Sequence

from swordplay.report.keys import write_keys
from swordplay.report.page import Section
from swordplay.report.track import write_track
from swordplay.tracking.figures import AnyStory
from swordplay.tracking.keyed_story import KeyedStory


def write_story(
    story: AnyStory,
    path: str | os.PathLike[str],
    *,
    command: str = "",
    more: Sequence[Section] = (),
) -> None:
    """Write the report of a run as one HTML file, all or nothing.

    Parameters
    ----------
    story, path, command
        As for ``write_track`` and ``write_keys``.
    more
        Further sections of the report over one series; a report over keys has none.
    """
    if isinstance(story, KeyedStory):
        write_keys(story, path, command=command)
    else:
        write_track(story, path, command=command, more=more)
