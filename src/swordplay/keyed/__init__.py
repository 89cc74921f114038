"""A learner for every key of a table with many: learned in bulk, kept in a folder, opened one by
one.

Needs pyarrow: the extra ``cli``.
"""

from swordplay.core.extras import require_extra

with require_extra("swordplay.keyed", "cli", "pyarrow"):
    from swordplay.keyed.keyed import Keyed

__all__ = ["Keyed"]
