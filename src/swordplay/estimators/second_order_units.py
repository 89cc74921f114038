"""What the mixture of a second-order layer is made of, in the units of the table."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from swordplay.core.types import Vector

if TYPE_CHECKING:
    from swordplay.estimators.second_order import SecondOrder


class RawUnits(NamedTuple):
    """What a mixture is made of: share of the first-order model, and coefficients in the units
    of the table.
    """

    share: float
    lags: Vector
    columns: Vector
    intercept: float


def _uncompiled(function: Any) -> Any:
    from swordplay.compile import uncompiled

    return uncompiled(function)


def in_raw_units(layer: SecondOrder) -> RawUnits:
    """What the mixture of a row that follows the last one is made of, where nothing is cut."""
    parts = layer.at_hand
    c, constant = _shares(layer, parts)
    unscaled = parts["columns"][1:3]
    center, spread = (0.0, 1.0) if layer.logistic else unscaled[:, -1].tolist()
    at = int(layer.intercept)
    lanes = parts["coefficients"]
    mixed, told = lanes @ c[1 : 1 + lanes.shape[1]], layer.lags + layer.errors
    lags, error = mixed[at : at + layer.lags], 0.0
    if layer.compete:  # those without lags have no coefficients of them
        lags[0] += c[-1] * _stay_odds(layer, parts)
    if layer.errors:
        error = float(
            mixed[at + layer.lags] * parts["recent"][layer.lags]
        )  # of the last row: a constant for the next one
    scale = np.divide(spread, unscaled[1, :-1], out=np.zeros(layer.dim), where=unscaled[1, :-1] > 0)
    columns = mixed[at + told :] * scale
    intercept = (float(mixed[0]) if layer.intercept else 0.0) * spread + error * spread
    # spread * (c0 (F - center)/spread + ...) + center, lags (y - center)/spread
    level = center * (1.0 - c[0] - lags.sum()) if not layer.logistic else 0.0
    return RawUnits(
        float(c[0]),
        lags,
        columns,
        float(intercept + spread * constant + level - columns @ unscaled[0, :-1]),
    )


def weights(layer: SecondOrder) -> dict[str, float]:
    """Weight of each kind of forecasts in the mixture of the next row, before it is corrected."""
    from swordplay.engine.second_order import layer as kernels

    w = _weighed(layer._parts()["behind"], kernels.PRIOR)
    if not layer.compete:
        return {"first order": float(w[0]), "second order": float(w[1:].sum())}
    kinds = {
        "first order": w[:1],
        "second order": w[1:3],
        "second order with lags": w[3:5],
        "no change": w[5:],
    }
    return {kind: float(part.sum()) for kind, part in kinds.items()}


def _weighed(behind: Vector, prior: float) -> Vector:
    """What ``engine.second_order.mixing.weigh`` writes."""
    w = np.exp(-behind) * (1.0 - prior) / max(len(behind) - 1, 1)
    w[0] = np.exp(-behind[0]) * prior
    return np.asarray(w / w.sum())


def _stay_odds(layer: SecondOrder, parts: Mapping[str, Any]) -> float:
    """What "no change" says, as a factor of the last target."""
    from swordplay.engine.second_order.layer import no_change

    return float(_uncompiled(no_change)(parts["known"], np.ones(1), layer.logistic))


@functools.cache
def _places(count: int, without: int) -> tuple[Vector, Any, Any]:
    """1 for the first of some forecasts and 0 for the others.

    Which are told of no lags, and which are.
    """
    some = np.arange(count) < without
    return np.eye(count)[0], some, ~some


def _shares(layer: SecondOrder, parts: Mapping[str, Any]) -> tuple[Vector, float]:
    """Factor of each forecast in the corrected mixture, and a constant."""
    from swordplay.engine.second_order import layer as kernels
    from swordplay.engine.second_order.features import count_asked

    asked = _uncompiled(count_asked)(SimpleNamespace(**parts), layer.logistic)
    w, t = (
        _weighed(parts["behind"], kernels.PRIOR),
        _weighed(parts["top_behind"][:asked], kernels.TOP_PRIOR),
    )
    beta = parts["correcting_coefficients"] @ t[1 : 1 + len(parts["correcting_discounts"])]
    first, *both = _places(len(w), kernels.WITHOUT)
    sides = [first - w]
    if layer.compete:
        sides += [np.where(side, w, 0.0) / w[side].sum() - w for side in both]
    shares = w + np.array(beta[: len(sides)]) @ np.array(sides)
    return (shares + beta[-1] * w, float(beta[-2])) if layer.logistic else (shares, 0.0)
