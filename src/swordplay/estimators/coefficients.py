"""Coefficients of models in the units of the table, second-order experts included."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.types import Array, Matrix, Vector
from swordplay.estimators.class_model import ClassModel
from swordplay.estimators.linear_model import HeadSnapshot, LinearModel
from swordplay.estimators.second_order_layer import SecondOrderLayer


def of_head(head: HeadSnapshot) -> tuple[Vector, float]:
    """Return the coefficients of lags and raw columns of a first-order model, and its intercept.

    Where no entry is clipped, x (v - c)/s = (x/s) v - (x/s) c. A column without spread has
    coefficient 0.
    """
    centers, spreads = head.columns.places
    decision = head.decision
    coefficients = np.divide(
        decision[: len(spreads)], spreads, out=np.zeros_like(spreads), where=spreads > 0
    )
    constant = decision[len(spreads) :].sum() + (
        0.0 if head.loss == "logistic" else head.target.center
    )
    return coefficients, float(constant - coefficients @ centers)


def of_model(model: LinearModel) -> tuple[Vector, float]:
    """Return the coefficients of a model's prediction for the next row, and the intercept."""
    return _mixed(*of_head(model.head), model.second_order)


def of_classes(model: ClassModel) -> tuple[Matrix, Vector]:
    """Return coefficients and intercepts of the log-odds of each class, or of the second of two."""
    found = [_mixed(*of_head(head), model.second_order) for head in model.heads]
    signs = model.signs
    intercepts = signs * np.array([constant for _, constant in found])
    return signs[:, None] * np.stack([row for row, _ in found]), intercepts


def of_scaled_columns(head: HeadSnapshot, layer: SecondOrderLayer | None) -> Vector:
    """Return the coefficients of the scaled columns, a layer included, its lags left out."""
    spreads = head.columns.places[1]
    own = head.decision[: len(spreads)]
    if layer is None or not layer.is_active:
        return own
    found, lags = mixture_coefficients(layer), len(spreads) - layer.dim
    return np.asarray(found.share * own + np.append(np.zeros(lags), found.columns) * spreads)


def _mixed(
    coefficients: Vector, intercept: float, layer: SecondOrderLayer | None
) -> tuple[Vector, float]:
    """Return coefficients of a first-order model mixed with those of the layer beside it."""
    if layer is None or not layer.is_active:
        lags = 0 if layer is None or not layer.competes else layer.lags
        return np.append(np.zeros(lags), coefficients), intercept
    found, own_lags = mixture_coefficients(layer), len(coefficients) - layer.dim
    first = np.append(np.zeros(layer.lags - own_lags), found.share * coefficients)
    return first + np.append(found.lags, found.columns), found.share * intercept + found.intercept


class MixtureCoefficients(NamedTuple):
    """A mixture as a share of the first-order model plus coefficients in the table's units."""

    share: float
    lags: Vector
    columns: Vector
    intercept: float


def mixture_coefficients(layer: SecondOrderLayer) -> MixtureCoefficients:
    """Return the coefficients of a layer's mixture for the next row.

    They hold where no forecast is clipped or moderated, and leave curves out.
    """
    parts = layer.views
    factors, constant = _forecast_factors(layer, parts)
    scaling = parts["columns"][1:3]
    center, spread = (0.0, 1.0) if layer.logistic else scaling[:, -1].tolist()
    first = int(layer.intercept)
    experts = parts["coefficients"]
    mixed = experts @ factors[1 : 1 + experts.shape[1]]
    lags, error = mixed[first : first + layer.lags], 0.0
    columns_at = first + layer.lags + int(layer.competes)
    if layer.competes:
        # Experts without lags have no coefficients of them.
        lags[0] += factors[-1] * _persistence_factor(layer, parts)
        # The error of the last row is a constant for the next one.
        error = float(mixed[first + layer.lags] * parts["recent"][layer.lags])
    spreads = scaling[1, :-1]
    scale = np.divide(spread, spreads, out=np.zeros(layer.dim), where=spreads > 0)
    columns = mixed[columns_at:] * scale
    intercept = (float(mixed[0]) if layer.intercept else 0.0) * spread + error * spread
    # spread * (c0 (F - center)/spread + ...) + center, with lags (y - center)/spread
    level = center * (1.0 - factors[0] - lags.sum()) if not layer.logistic else 0.0
    total = intercept + spread * constant + level - columns @ scaling[0, :-1]
    return MixtureCoefficients(float(factors[0]), lags, columns, float(total))


def mixture_weights(layer: SecondOrderLayer) -> dict[str, float]:
    """Return the weight of each kind of forecasts in the next row's mixture, uncorrected."""
    from swordplay.engine.second_order import layer as kernels

    weights = forecast_weights(layer.views["lag_behind"], kernels.PRIOR)
    if not layer.competes:
        return {"first order": float(weights[0]), "second order": float(weights[1:].sum())}
    kinds = {
        "first order": weights[:1],
        "second order": weights[1:3],
        "second order with lags": weights[3:5],
        "no change": weights[5:],
    }
    return {kind: float(part.sum()) for kind, part in kinds.items()}


def forecast_weights(lag_behind: Array, prior: float) -> Array:
    """Return what ``engine.second_order.mixing.write_weights`` writes; of many layers, by row."""
    weights = np.exp(-lag_behind) * (1.0 - prior) / max(lag_behind.shape[-1] - 1, 1)
    weights[..., 0] = np.exp(-lag_behind[..., 0]) * prior
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _uncompiled(function: Any) -> Any:
    from swordplay.compile import uncompiled

    return uncompiled(function)


def _persistence_factor(layer: SecondOrderLayer, parts: Mapping[str, Any]) -> float:
    """Return the forecast "no change" as a factor of the last target."""
    from swordplay.engine.second_order.layer import persistence

    return float(_uncompiled(persistence)(parts["counters"], np.ones(1), layer.logistic))


@functools.cache
def _first_and_kinds(count: int, without_lags: int) -> tuple[Vector, Any, Any]:
    """Return 1 for the first forecast and 0 for others; which have no lags; which have."""
    has_none = np.arange(count) < without_lags
    return np.eye(count)[0], has_none, ~has_none


def _forecast_factors(layer: SecondOrderLayer, parts: Mapping[str, Any]) -> tuple[Vector, float]:
    """Return the factor of each forecast in the corrected mixture, and a constant."""
    from swordplay.engine.second_order import layer as kernels
    from swordplay.engine.second_order.features import active_corrected

    active = _uncompiled(active_corrected)(SimpleNamespace(**parts), layer.logistic)
    weights = forecast_weights(parts["lag_behind"], kernels.PRIOR)
    corrected = forecast_weights(parts["corrected_lag_behind"][:active], kernels.CORRECTED_PRIOR)
    experts = len(parts["correcting_discounts"])
    beta = parts["correcting_coefficients"] @ corrected[1 : 1 + experts]
    first, *kinds = _first_and_kinds(len(weights), kernels.WITHOUT_LAGS)
    directions = [first - weights]
    if layer.competes:
        directions += [
            np.where(kind, weights, 0.0) / weights[kind].sum() - weights for kind in kinds
        ]
    factors = weights + np.array(beta[: len(directions)]) @ np.array(directions)
    return (factors + beta[-1] * weights, float(beta[-2])) if layer.logistic else (factors, 0.0)
