"""``Keyed``: a model for every key of a table, learned in bulk and kept in a folder.

Needs pyarrow: the extra ``cli``.
"""

from swordplay.core.extras import require_extra

with require_extra("swordplay.keyed", "cli", "pyarrow"):
    from swordplay.keyed.keyed import Keyed

__all__ = ["Keyed"]
