"""Whether the learner was worth it: a line for the user where a baseline did as well or better,
and what may help.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from swordplay.tracking.contestants import BEST_STEP, LEARNER, NO_CHANGE

FEWEST_ROWS = 20
"""Predicted rows before anything is said."""
NEARLY = 1.05
"""No change nearly ties where its error is at most so many times that of the learner."""
LAGS = 3
"""Lags to try."""
BLOCKS = (
    "The rows are sorted by the target, each class in one block: this is not a stream, so the "
    "errors above mean little. Put the rows into the order of time (--sort COLUMN), or shuffle "
    "them if their order means nothing."
)
"""What is said where no class comes back."""


def figure(error: float, task: str) -> str:
    """An error with as many digits as anybody needs: an RMSE in the target's units, or per cent of
    mistakes.

    >>> figure(0.08203, "binary"), figure(89.5041, "regression"), figure(1680.2, "regression"), figure(123456.7, "regression")
    ('8.20 %', '89.50', '1680', '123457')
    """  # noqa: E501
    if task != "regression":
        return f"{100 * error:.2f} %"
    return f"{error:.0f}" if error >= 10_000 else f"{error:#.4g}".removesuffix(".")


def verdict(
    errors: Mapping[str, float],
    task: str,
    rows: int,
    *,
    lags: int,
    confusion: Any = None,
    same_key: bool = False,
) -> str:
    """A sentence or two if a baseline did as well or better, or nearly so; else nothing.

    Parameters
    ----------
    errors
        Of the learner and of the baselines, by name.
    task
        ``"regression"``, ``"binary"`` or ``"multi-class"``.
    rows
        That were predicted and then learned.
    lags
        How many of the last targets the learner was given: none calls for some where no change is
        hard to beat.
    confusion
        Of classes: rows by their true class and by the predicted one, shape ``(K, K)``.
    same_key
        Whether the baselines are those of the same key.
    """
    if rows < FEWEST_ROWS:
        return ""
    if confusion is not None and in_blocks(errors[NO_CHANGE], rows, confusion):
        return BLOCKS
    ours, last = errors[LEARNER], errors[NO_CHANGE]
    baselines = {name: error for name, error in errors.items() if name not in (LEARNER, BEST_STEP)}
    best = min(baselines, key=lambda name: baselines[name])
    tied = last <= NEARLY * ours and ours > 0.0
    if baselines[best] <= ours and ours > 0.0:
        said = _compared("Worse than", best, baselines[best], ours, task, same_key)
    elif tied:
        said = _compared("Hardly better than", NO_CHANGE, last, ours, task, same_key)
    else:
        return ""
    hint = (
        f" --lags {LAGS} lets the last targets join, which often helps here."
        if tied and not lags
        else ""
    )
    return f"{said}{hint}"


def in_blocks(no_change: float, rows: int, confusion: Any) -> bool:
    """Whether no class comes back once another has come, by the mistakes of no change: one for each
    new class.

    Parameters
    ----------
    no_change
        Share of its mistakes,
    rows
        of so many rows.
    confusion
        Rows by their true class (first axis), which must be two or more, with two rows or more
        each.
    """
    counts = np.asarray(confusion).sum(axis=1)
    return (
        rows >= FEWEST_ROWS
        and len(counts) > 1
        and bool((counts > 1).all())
        and round(no_change * rows) <= len(counts) - 1
    )


def _compared(how: str, name: str, theirs: float, ours: float, task: str, same_key: bool) -> str:
    value = "value" if task == "regression" else "class"
    words = {
        NO_CHANGE: f"repeating the last {value}{' of the same key' * same_key} (no change)",
        "majority class": "the commonest class so far (majority class)",
        "running mean": "the running mean",
    }
    told = figure(ours, task), figure(theirs, task)
    if told[0] == told[1]:
        return f"No better than {words[name]}: both {told[0]}."
    return f"{how} {words[name]}: {told[0]} beside {told[1]}."
