"""Reports: what happened, made visible. Pages need vl-convert-python, figures matplotlib: the extra ``cli``.

A page is made of sections, which each command adds its own to: ``write(Page(title, facts, sections), path)``.
"""

from swordplay.application.report.compare import compare_section, write_compare
from swordplay.application.report.document import render, write
from swordplay.application.report.figures import SUFFIXES, regret_figure, save
from swordplay.application.report.keys import keys_sections, write_keys
from swordplay.application.report.page import Page, Section
from swordplay.application.report.regret import perspective_section, regret_section
from swordplay.application.report.reproduce import reproduce_section
from swordplay.application.report.story import write_story
from swordplay.application.report.track import track_sections, write_track

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
    "write_story",
    "write_track",
]
