"""Reports: what happened, made visible.

Pages and figures need vl-convert-python: the extra ``cli``.

A page consists of sections; each command adds its own:
``write(HtmlPage(title, facts, sections), path)``.
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

# at run time a name is imported with its first use: who wants a word does not wait for the pictures
if _TYPE_CHECKING:
    from swordplay.report.compare import compare_section, write_compare
    from swordplay.report.document import render, write
    from swordplay.report.figures import SUFFIXES, regret_figure, save
    from swordplay.report.keys import keys_sections, write_keys
    from swordplay.report.page import HtmlPage, Section
    from swordplay.report.regret import perspective_section, regret_section
    from swordplay.report.reproduce import reproduce_section
    from swordplay.report.story import write_story
    from swordplay.report.track import track_sections, write_track

__all__ = [
    "SUFFIXES",
    "HtmlPage",
    "Section",
    "compare_section",
    "keys_sections",
    "perspective_section",
    "regret_figure",
    "regret_section",
    "render",
    "reproduce_section",
    "save",
    "track_sections",
    "write",
    "write_compare",
    "write_keys",
    "write_story",
    "write_track",
]

_HOMES = {
    "compare": "compare_section write_compare",
    "document": "render write",
    "figures": "SUFFIXES regret_figure save",
    "keys": "keys_sections write_keys",
    "page": "HtmlPage Section",
    "regret": "perspective_section regret_section",
    "reproduce": "reproduce_section",
    "story": "write_story",
    "track": "track_sections write_track",
}
"""Where each public name comes from."""


def __getattr__(name: str) -> _Any:
    """A public name, imported with its first use."""
    home = next((home for home, names in _HOMES.items() if name in names.split()), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = getattr(_importlib.import_module(f"{__name__}.{home}"), name)
    return found
