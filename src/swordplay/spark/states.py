"""The state of a query, as Spark's own reader of states shows it, opened: keys and their
learners.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swordplay.core import arguments
from swordplay.estimators.model import LossName
from swordplay.keyed import opening
from swordplay.keyed.group import FORMAT
from swordplay.keyed.key_text import join, split
from swordplay.spark.bucket import WITH_BANDS, WORDS
from swordplay.spark.plan import Plan


def open_state(
    fmt: int,
    blob: bytes,
    ids: bytes | None = None,
    *,
    key: str | None = None,
    features: Sequence[str],
    loss: LossName = "squared",
    lags: int = 0,
) -> dict[str, Any]:
    """The learners in one value of the state of a regression, by their keys, as ordinary
    ``SwordRegressor``.

    They go on by themselves, with the same coefficients and predictions to come; what certificates
    need is not kept on Spark.

    Parameters
    ----------
    fmt, blob, ids
        As ``spark.read.format("statestore")`` shows a value: with ``stateVarName`` ``"map"`` of the
        layout ``"paged"`` it is a page (``fmt`` and ``blob``), with ``"packed"`` of the layout
        ``"packed"`` a bucket (``ids`` too).
    key
        Whose learner it is, where a value holds one: of the layout ``"map"``, and of the rows of
        :func:`learn_table`.
    features, loss, lags
        As the query has them.

    Raises
    ------
    ValueError
        If these are no learners, or learners with other columns.
    """
    if fmt == WORDS:  # the settings of a bucket: there are no learners in it
        return {}
    if fmt not in (FORMAT, WITH_BANDS):
        raise ValueError(
            f"fmt must be {FORMAT} or {WITH_BANDS}, which values with learners have, got "
            f"{arguments.short_repr(fmt)}."
        )
    data = bytes(blob)
    names = [key] if key is not None else split(data) if ids is None else split(bytes(ids))
    plan = Plan(tuple(features), loss, 0, lags, buckets=1, layout="packed", single=False)
    group = plan.group(any_settings=True)
    group.loads([(names, data[len(join(names)) :] if ids is None and key is None else data)], fmt)
    return {
        key: opening.regressor(group.learner, group.record(number)[0], plan.features)
        for key, number in group.places.items()
    }
