"""Reports: what happened, made visible. Pages need vl-convert-python, figures matplotlib: the extra ``cli``.

A page is made of sections, which each command adds its own to: ``write(Page(title, facts, sections), path)``.
"""

from swordplay.report.compare import compare_section, write_compare
from swordplay.report.document import render, write
from swordplay.report.figures import SUFFIXES, regret_figure, save
from swordplay.report.keys import keys_sections, write_keys
from swordplay.report.page import Page, Section
from swordplay.report.regret import perspective_section, regret_section
from swordplay.report.reproduce import reproduce_section
from swordplay.report.track import track_sections, write_track

__all__ = [
    "SUFFIXES",
    "Page",
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
    "write_track",
]
