"""Estimators out of the state of a query, as Spark's reader of states shows it."""

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
    fmt, blob
        A page of keys, as ``spark.read.format("statestore")`` shows it with ``stateVarName``
        ``"map"``, or a row that :func:`learn_table` has made.
    key
        The key of the row that :func:`learn_table` has made; None for a page.
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
    names = split(data) if key is None else [key]
    plan = Plan(tuple(features), loss, 0, lags, buckets=1)
    group = plan.group(any_settings=True)
    group.loads([(names, data[len(join(names)) :] if key is None else data)], fmt)
    return {
        key: opening.regressor(group.learner, group.record(number)[0], plan.features)
        for key, number in group.places.items()
    }
