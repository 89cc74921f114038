"""Reports: what happened, made visible. Needs matplotlib (``pip install 'swordplay[cli]'``)."""

from swordplay.report.figures import SUFFIXES, regret_figure, save

__all__ = ["SUFFIXES", "regret_figure", "save"]
