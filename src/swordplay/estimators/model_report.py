"""Attributes and summary that explain a fitted model: its experts, its certificate, its drift."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.model_lock import LockedModel
from swordplay.estimators.batch_fit import BatchCoefficients

if TYPE_CHECKING:
    from swordplay.estimators.linear_model import HeadSnapshot
    from swordplay.estimators.second_order_layer import SecondOrderLayer

MAX_LISTED_EXPERTS = 3
"""Experts that a summary lists; the others are summed up."""
INDENT = " " * 14
"""Indentation of continued lines of a summary."""


class ModelReport(LockedModel, ABC):
    """Experts, certificates and a summary of one model, or of the model of each class."""

    _batch: BatchCoefficients | None = None
    """Coefficients for ``predict`` after ``fit``; None if the model itself predicts."""

    @abstractmethod
    def _models(self) -> dict[str, HeadSnapshot]:
        """Return the head of each model by what it predicts; raise if nothing was learned."""

    @abstractmethod
    def _second(self) -> SecondOrderLayer | None:
        """Return the second-order experts beside the model, if there are any."""

    @property
    def weights_(self) -> Any:
        """Weight of each first-order expert, shape ``(N,)``.

        Shape ``(K, N)`` if each of K classes has a model.
        """
        return self._per_model("weights")

    @property
    def step_sizes_(self) -> Any:
        """Step size of each first-order expert, in the shape of ``weights_``."""
        return self._per_model("step_sizes")

    @property
    def effective_step_size_(self) -> Any:
        """Weighted geometric mean of the step sizes of the first-order experts.

        A model with 1 fits the last row exactly; one with 2^-13 averages over thousands of rows.
        """
        return self._per_model("effective_step_size")

    @property
    def certificate_(self) -> Any:
        """Bound on the regret so far to any fixed coefficients, in losses of smoothness 1."""
        return self._certificate(0.0)

    def certificate(self, path_length: float = 0.0) -> Any:
        """Return a bound on the regret so far to comparators of this path length.

        Comparators are coefficients of the scaled columns that may change in every row. The bound
        is the certificate of the first-order experts plus the loss of the predictions less that
        of the first-order ones, which is known and mostly negative. For three or more classes it
        is the certificate of the first-order scores of each.

        Parameters
        ----------
        path_length
            Sum of the distances between successive comparators; 0 (default) for fixed ones.

        Returns
        -------
        float or ndarray
            In losses of smoothness 1; shape ``(K,)`` if each of K classes has a model.
        """
        return self._certificate(arguments.nonnegative("path_length", path_length))

    def summary(self) -> str:
        """Return a text about drift, leading experts, the certificate and ``predict``."""
        return summary_text(type(self).__name__, self._models(), self._batch, second=self._second())

    def _per_model(self, name: str) -> Any:
        """Return an attribute of the one model, or that of several models, stacked."""
        values = [getattr(model, name) for model in self._models().values()]
        return values[0] if len(values) == 1 else np.stack(values)

    def _certificate(self, path_length: float) -> Any:
        bounds = [model.certificate(path_length) for model in self._models().values()]
        if len(bounds) > 1:
            return np.array(bounds)
        second = self._second()
        return bounds[0] + (0.0 if second is None else second.gain)


def summary_text(
    name: str,
    models: Mapping[str, HeadSnapshot],
    batch: BatchCoefficients | None = None,
    *,
    bound: bool = True,
    second: SecondOrderLayer | None = None,
) -> str:
    """Return a text about the drift of the stream, the leading experts and the certificate.

    Parameters
    ----------
    name
        Name of the estimator.
    models
        Head of each model by what it predicts, such as ``"count"`` or a class; these names are
        shown if there are several.
    batch
        Coefficients that ``predict`` uses until more is learned; None if the model predicts.
    bound
        Whether to include the certificate.
    second
        Second-order experts beside the only model, if there are any.
    """
    first = next(iter(models.values()))
    rows = f"{first.rounds:,} row{'s' * (first.rounds != 1)}"
    columns = f"{first.columns.dim:,} column{'s' * (first.columns.dim != 1)}"
    count = f", {len(models)} models" if len(models) > 1 else ""
    parts = [f"{name} after {rows} of {columns}{count}"]
    for what, model in models.items():
        if len(models) > 1:
            parts.append(f"model of {what}")
        parts += [_drift_line(model), _expert_lines(model)]
        if bound:
            parts.append(_bound_lines(model))
    if second is not None:
        parts.append(_mixture_lines(second))
    if batch is not None:
        parts.append(_batch_lines(batch))
    return "\n".join(parts)


def looks_back(step: float, width: int, rows: int) -> str:
    """Say how many of the rows so far decide at an effective step size.

    A step of 1 fits the last row exactly, in its own direction only: all directions are renewed
    after width / step rows.

    >>> looks_back(0.5, 4, 100), looks_back(2.0, 1, 100), looks_back(0.5, 4, 8)
    ('the last 8 rows or so decide', 'the last 1 row or so decide', 'all rows so far decide')
    """
    back = max(1, round(width / step))
    if back >= rows:
        return "all rows so far decide"
    return f"the last {back:,} row{'s' * (back != 1)} or so decide"


def _drift_line(model: HeadSnapshot) -> str:
    """Effective step size, and how many rows it looks back."""
    step = model.effective_step_size
    return (
        f"  drift       effective step size {step:.2g}: "
        f"{looks_back(step, model.columns.width, model.rounds)}"
    )


def _expert_lines(model: HeadSnapshot) -> str:
    """Weights and step sizes of the leading experts."""
    weights, steps, extra = model.weights, model.step_sizes, model.extra_gradient
    leaders = np.argsort(-weights, kind="stable")[:MAX_LISTED_EXPERTS]
    lines = [
        f"{100 * weights[k]:3.0f} %  {'extra-gradient' if extra[k] else 'gradient'}, step size "
        f"{steps[k]:.2g}"
        for k in leaders
    ]
    rest = 100 * max(0.0, 1.0 - float(weights[leaders].sum()))
    lines.append(f"{rest:3.0f} %  the other {len(weights) - len(leaders)}")
    return "  experts     " + f"\n{INDENT}".join(lines)


def _bound_lines(model: HeadSnapshot) -> str:
    """Certificates at path length 0 and at one radius; the certificate is concave in it."""
    radius = model.radius
    if model.loss != "logistic":
        radius *= float(model.target.state()["spreads"][1])
    fixed, moving = model.certificate(0.0), model.certificate(radius)
    return (
        f"  bound       regret at most {fixed:.3g} to any fixed coefficients,\n"
        f"{INDENT}{moving:.3g} to any that travel one radius ({radius:.3g}); of losses of "
        "smoothness 1"
    )


def _mixture_lines(second: SecondOrderLayer) -> str:
    """Weight of each kind of forecast, and what mixing them has gained."""
    from swordplay.estimators.coefficients import mixture_weights

    shares = [f"{100 * share:.0f} % {kind}" for kind, share in mixture_weights(second).items()]
    gained = f"loss {second.gain:+.3g} to that of first order alone, which the bound above is of"
    return f"  mixture     {', '.join(shares)};\n{INDENT}{gained}"


def _batch_lines(batch: BatchCoefficients) -> str:
    """What ``predict`` uses after ``fit``."""
    return (
        f"  predict     for a batch of rows, from the last {batch.rows:,} rows, ridge penalty "
        f"{batch.penalty:g};\n{INDENT}for the next row as soon as more is learned"
    )
