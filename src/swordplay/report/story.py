"""The report of a run, of one series, of many, or of rows that come twice."""

from __future__ import annotations

import os
from collections.abc import Sequence

from swordplay.report.keys import write_keys
from swordplay.report.page import Section
from swordplay.report.track import write_track
from swordplay.report.twice import write_twice
from swordplay.tracking.figures import AnyStory
from swordplay.tracking.keyed_story import KeyedStory
from swordplay.tracking.twice_story import TwiceStory


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
        As for ``write_track``, ``write_keys`` and ``write_twice``.
    more
        Further sections; there are none in the report of many keys, or of rows that come twice.
    """
    if isinstance(story, KeyedStory):
        write_keys(story, path, command=command)
    elif isinstance(story, TwiceStory):
        write_twice(story, path, command=command)
    else:
        write_track(story, path, command=command, more=more)
