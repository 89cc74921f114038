"""What the coats for river share: they are river's estimators, and their files say so."""

from __future__ import annotations

from river import base

from swordplay.estimators.named_coat import NamedCoat


class RiverCoat(NamedCoat, base.Estimator):
    """Rows by name, for river."""

    _library = "river."
