"""Attributes and summary that explain a fitted model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.model_lock import LockedModel
from swordplay.estimators.batch_fit import BatchCoefficients

if TYPE_CHECKING:
    from swordplay.estimators.head import Head
    from swordplay.estimators.second_order import SecondOrder


class ModelReport(LockedModel, ABC):
    """Experts, certificates and a summary, of the one model or of each class's own."""

    _batch: BatchCoefficients | None = None
    """What ``predict`` answers by after ``fit``; None where that is the model itself."""

    @abstractmethod
    def _models(self) -> dict[str, Head]:
        """What every model knows, by what it tells; refuses before anything was learned."""

    def _told(self, what: str) -> Any:
        """An attribute of the one model, or of each of several, stacked."""
        found = [getattr(model, what) for model in self._models().values()]
        return found[0] if len(found) == 1 else np.stack(found)

    @property
    def weights_(self) -> Any:
        """Weight of each expert, shape ``(N,)``.

        ``(K, N)`` where there is a model for each of K classes.
        """
        return self._told("weights")

    @property
    def step_sizes_(self) -> Any:
        """Step size of each expert, in the shape of ``weights_``."""
        return self._told("step_sizes")

    @property
    def effective_step_size_(self) -> Any:
        """Weighted geometric mean of the step sizes: 1 learns each row by heart, 2^-13 averages
        over thousands.
        """
        return self._told("effective_step_size")

    @property
    def certificate_(self) -> Any:
        """Bound on the regret so far to any fixed coefficients, in losses of smoothness 1."""
        return self.certificate(0.0)

    def certificate(self, path_length: float = 0.0) -> Any:
        """Bound on the regret so far to any coefficients of the scaled columns that travel this
        far, all at once.

        It is the certificate of the first-order experts plus what the predictions lost to theirs
        (mostly a negative number), which is known. Of three or more classes it is that of the
        first-order scores of each.
        """
        path = arguments.nonnegative("path_length", path_length)
        found = [model.certificate(path) for model in self._models().values()]
        return found[0] + self._gain() if len(found) == 1 else np.array(found)

    def _gain(self) -> float:
        """Loss of the predictions less that of the first-order model's own, summed."""
        second = self._second()
        return 0.0 if second is None else second.gain

    @abstractmethod
    def _second(self) -> SecondOrder | None:
        """Second-order experts beside the model, if there are any."""

    def summary(self) -> str:
        """How fast the stream seems to drift, which experts lead, what the bound says, and what
        ``predict`` answers by.
        """
        return summary_text(type(self).__name__, self._models(), self._batch, second=self._second())


LEADERS = 3
"""Experts that are named; the others are summed up."""
INDENT = " " * 14


def summary_text(
    name: str,
    models: Mapping[str, Head],
    batch: BatchCoefficients | None = None,
    *,
    bound: bool = True,
    second: SecondOrder | None = None,
) -> str:
    """How fast the stream seems to drift, which experts lead, and what the bound says.

    Parameters
    ----------
    name
        Of the estimator.
    models
        What each model tells, such as ``"count"`` or a class, and the model; the names are shown
        where there are several.
    batch
        What ``predict`` answers by until more is learned, if not by the models.
    bound
        Whether to say what the bound says.
    second
        Second-order experts beside the only model, if there are any.
    """
    first = next(iter(models.values()))
    rows = f"{first.rounds:,} row{'s' * (first.rounds != 1)}"
    columns = f"{first.columns.dim:,} column{'s' * (first.columns.dim != 1)}"
    parts = [
        f"{name} after {rows} of {columns}" + (f", {len(models)} models" if len(models) > 1 else "")
    ]
    for what, model in models.items():
        parts += [f"model of {what}"] if len(models) > 1 else []
        parts += [_drift(model), _experts(model), *([_bound(model)] if bound else [])]
    if second is not None:
        parts.append(_mixture(second))
    if batch is not None:
        parts.append(_batch_line(batch))
    return "\n".join(parts)


def looks_back(step: float, width: int, rows: int) -> str:
    """How many of the rows so far decide at an effective step size, in words.

    A step of 1 fits the last row exactly, in its own direction only: all directions are renewed
    after width/step rows.

    >>> looks_back(0.5, 4, 100), looks_back(2.0, 1, 100), looks_back(0.5, 4, 8)
    ('the last 8 rows or so decide', 'the last 1 row or so decide', 'all rows so far decide')
    """
    back = max(1, round(width / step))
    if back >= rows:
        return "all rows so far decide"
    return f"the last {back:,} row{'s' * (back != 1)} or so decide"


def _drift(model: Head) -> str:
    """The effective step size, and how many rows it looks back."""
    step = model.effective_step_size
    return (
        f"  drift       effective step size {step:.2g}: "
        f"{looks_back(step, model.columns.width, model.rounds)}"
    )


def _experts(model: Head) -> str:
    weights, steps = model.weights, model.step_sizes
    extra = model.extra_gradient
    leaders = np.argsort(-weights, kind="stable")[:LEADERS]
    lines = [
        f"{100 * weights[k]:3.0f} %  {'extra-gradient' if extra[k] else 'gradient'}, step size "
        f"{steps[k]:.2g}"
        for k in leaders
    ]
    rest = 100 * max(0.0, 1.0 - float(weights[leaders].sum()))
    lines.append(f"{rest:3.0f} %  the other {len(weights) - len(leaders)}")
    return "  experts     " + f"\n{INDENT}".join(lines)


def _bound(model: Head) -> str:
    """The certificate at a standstill and after one radius of travel.

    It is concave in between and beyond.
    """
    radius = (
        model.radius
        if model.loss == "logistic"
        else model.radius * float(model.target.state()["spreads"][1])
    )
    fixed, moving = model.certificate(0.0), model.certificate(radius)
    return (
        f"  bound       regret at most {fixed:.3g} to any fixed coefficients,\n"
        f"{INDENT}{moving:.3g} to any that travel one radius ({radius:.3g}); of losses of "
        "smoothness 1"
    )


def _mixture(second: SecondOrder) -> str:
    """Whose predictions are followed, and what that has gained."""
    shares = [f"{100 * share:.0f} % {who}" for who, share in second.weights().items()]
    gained = f"loss {second.gain:+.3g} to that of first order alone, which the bound above is of"
    return f"  mixture     {', '.join(shares)};\n{INDENT}{gained}"


def _batch_line(batch: BatchCoefficients) -> str:
    """What ``predict`` uses after ``fit``."""
    return (
        f"  predict     for a batch of rows, from the last {batch.rows:,} rows, ridge penalty "
        f"{batch.penalty:g};\n{INDENT}for the next row as soon as more is learned"
    )
