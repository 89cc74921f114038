"""Conversion of a compiled learner's arrays to the state of the readable learner, and back."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from swordplay.core.types import Matrix, State, Vector
from swordplay.engine.layout import EXPERT, SCALAR, SETTING, VECTOR, readable_indices
from swordplay.engine.memory import LearnerMemory
from swordplay.engine.recipe import NotCompilable
from swordplay.parts.experts import CappedAdaGrad, DomainScale

MAX_COLLINEAR_ERROR = 1e-9
"""Largest relative error of replayed gradients as multiples of one row.

Those of a linear prediction are multiples of its row.
"""

CERTIFICATE = readable_indices(EXPERT, "certificate")
META = readable_indices(EXPERT, "meta")
RATE = readable_indices(SCALAR, "meta.rate")
DOMAIN_SCALE = readable_indices(SCALAR, "domain_scale")
OPTIMISM = readable_indices(SCALAR, "optimism")


# ------------------------------------------------------------------- to the readable state


def state_of(memory: LearnerMemory) -> State:
    """Return ``Learner.state()`` of the readable learner after the same rounds, less settings."""
    scalars, experts, order = memory.scalars, memory.experts, memory.order
    base, points = memory.base_points()[order], memory.points()[order]
    last_row = memory.vectors[VECTOR.last_row]
    expected_gradients = np.multiply.outer(experts[EXPERT.expected_slope, order], last_row)
    squared_error_sums = experts[EXPERT.squared_error_sum, order]
    has_offset = memory.recipe.on_ball and memory.center.any()
    state: State = {"rounds": memory.rounds}
    if memory.settings[SETTING.uses_domain_scale]:
        state |= _entries("domain_scale", DOMAIN_SCALE, scalars)
    for k, kind in enumerate(_kinds(memory)):
        state |= {
            f"experts.{k}.points": points[kind],
            f"experts.{k}.base": base[kind],
            f"experts.{k}.expected_gradient": expected_gradients[kind],
            f"experts.{k}.squared_error_sum": squared_error_sums[kind],
        }
        if has_offset:
            state[f"experts.{k}.offset"] = memory.offsets()[order][kind]
    state |= {f"certificate.{name}": sums for name, sums in _certificate(memory).items()}
    if memory.keeps_dual_sum:
        state["certificate.dual_sum"] = experts[len(EXPERT) :, order].T.copy()
    if not memory.recipe.has_meta:
        return state
    state |= {f"meta.{name}": experts[row, order] for name, row in META.items()}
    state["meta.cumulative"] = state["meta.cumulative"] - state["meta.cumulative"].min()
    state["meta.optimism"] = state["meta.optimism"] + _optimism_of_center(memory)
    state |= _entries("meta.rate", RATE, scalars) | _entries("optimism", OPTIMISM, scalars)
    replayed = scalars[SCALAR.replayed_slope] * last_row
    state["optimism.replayed_gradient"] = replayed if memory.rounds else np.zeros_like(last_row)
    return state


def certificate_sums(memory: LearnerMemory) -> dict[str, Vector]:
    """Return the sums of the certificate as the kernels keep them, in the readable order."""
    sums = {name: memory.of_experts(row) for name, row in CERTIFICATE.items()}
    if memory.keeps_dual_sum:  # kept as a square
        sums["max_dual_norm"] = np.sqrt(sums["max_dual_norm"])
    return sums


def _certificate(memory: LearnerMemory) -> dict[str, Vector]:
    """Return the sums of the certificate as the readable learner has them."""
    sums = certificate_sums(memory)
    if not memory.settings[SETTING.adaptive_steps]:
        # Kernels do not track this for constant steps: the dual norm is largest where the distance
        # from the centre is.
        max_norm = np.sqrt(sums["max_squared_norm"])
        sums["max_dual_norm"] = sums["inverse_step"] * max_norm + sums["weighted_norm_change"]
    return sums


def _entries(prefix: str, indices: Mapping[str, int], scalars: Vector) -> State:
    """Return some scalars by their names in the readable state."""
    return {f"{prefix}.{name}": float(scalars[index]) for name, index in indices.items()}


def _optimism_of_center(memory: LearnerMemory) -> float:
    """Return <M_t, c>, which the optimism of experts relative to a ball's centre lacks."""
    if not memory.recipe.on_ball:
        return 0.0
    expected_slope = memory.scalars[SCALAR.trust] * memory.scalars[SCALAR.replayed_slope]
    return float(expected_slope * (memory.vectors[VECTOR.last_row] @ memory.vectors[VECTOR.center]))


def _kinds(memory: LearnerMemory) -> list[slice]:
    """Return the range of each kind of experts in the readable order."""
    extra_gradient = memory.of_experts(EXPERT.extra_gradient)
    starts = np.flatnonzero(np.diff(extra_gradient)) + 1
    edges = [0, *starts.tolist(), len(extra_gradient)]
    return [slice(first, stop) for first, stop in pairwise(edges)]


# ------------------------------------------------------------------- from the readable state


def load(memory: LearnerMemory, state: Mapping[str, Any]) -> None:
    """Continue from a readable state.

    Raises
    ------
    NotCompilable
        If the last loss was not one of a linear prediction, so that the replayed gradients are not
        multiples of a row.
    """
    kinds = [key.split(".")[1] for key in state if key.endswith(".squared_error_sum")]
    stacked = {
        name: np.concatenate([state[f"experts.{k}.{name}"] for k in kinds])
        for name in ("points", "base", "expected_gradient", "squared_error_sum")
    }
    offsets = [state[name] for k in kinds if (name := f"experts.{k}.offset") in state]
    stacked["offset"] = np.concatenate(offsets) if offsets else stacked["base"] - memory.center
    replayed = state.get("optimism.replayed_gradient", np.zeros(stacked["base"].shape[1]))
    last_row, slopes = _common_row(np.vstack([stacked["expected_gradient"], replayed]))

    memory.allocate_dual_sum("certificate.dual_sum" in state)
    memory.reserve(len(stacked["base"]))
    memory.settings[SETTING.uses_domain_scale] = "domain_scale.width" in state
    scalars, experts = memory.scalars, memory.experts
    scalars[SCALAR.expert_count] = len(stacked["base"])
    scalars[SCALAR.rounds] = state["rounds"]
    scalars[SCALAR.refresh_at] = state["rounds"] + memory.settings[SETTING.refresh_rounds]
    scalars[SCALAR.least_cumulative] = 0.0
    scalars[SCALAR.last_squared_norm] = float(last_row @ last_row)
    scalars[SCALAR.replayed_slope] = slopes[-1]
    for name, index in DOMAIN_SCALE.items():
        scalars[index] = float(state.get(f"domain_scale.{name}", 0.0))

    order = memory.order
    experts[EXPERT.squared_error_sum, order] = stacked["squared_error_sum"]
    experts[EXPERT.expected_slope, order] = slopes[:-1]
    lookahead = stacked["points"] - stacked["base"]
    experts[EXPERT.squared_lookahead, order] = np.einsum("ij,ij->i", lookahead, lookahead)
    for name, row in CERTIFICATE.items():
        experts[row, order] = state[f"certificate.{name}"]
    if memory.keeps_dual_sum:
        experts[len(EXPERT) :, order] = state["certificate.dual_sum"].T
        experts[EXPERT.max_dual_norm, order] **= 2
    if memory.recipe.has_meta:
        for name, row in META.items():
            experts[row, order] = state[f"meta.{name}"]
        for prefix, indices in (("meta.rate", RATE), ("optimism", OPTIMISM)):
            for name, index in indices.items():
                scalars[index] = float(state[f"{prefix}.{name}"])
    memory.vectors[VECTOR.last_row] = last_row
    experts[EXPERT.optimism, order] -= _optimism_of_center(memory)
    experts[EXPERT.scale, order] = 1.0
    memory.derive_fields()
    _load_points(memory, stacked, order)
    if memory.settings[SETTING.movement_charge]:
        _load_movement_costs(memory, stacked, order)
    memory.fill_padding()


def _load_points(memory: LearnerMemory, stacked: Mapping[str, Matrix], order: Any) -> None:
    """Write the points of the experts."""
    experts, offset = memory.experts, stacked["offset"]
    experts[EXPERT.squared_norm, order] = np.einsum("ij,ij->i", offset, offset)
    experts[EXPERT.squared_norm_peak, order] = experts[EXPERT.squared_norm, order]
    if not memory.recipe.on_ball:
        memory.coordinates[order] = stacked["base"]
        memory.coordinates[experts.shape[1] + order] = stacked["points"]
        return
    memory.coordinates[:, order] = offset.T
    experts[EXPERT.pending_update, order] = 0.0
    scale, step = _lookahead(memory, offset, order)
    experts[EXPERT.lookahead_scale, order], experts[EXPERT.lookahead_step, order] = scale, step
    center, last_row = memory.vectors[VECTOR.center], memory.vectors[VECTOR.last_row]
    found = scale[:, None] * offset - np.multiply.outer(step, last_row)
    error = np.abs(found - (stacked["points"] - center)).max()
    size = memory.settings[SETTING.domain_size] + np.linalg.norm(center)
    if error > MAX_COLLINEAR_ERROR * size:
        raise NotCompilable(
            "the learner's points do not follow from its base points: its state was edited."
        )


def _lookahead(memory: LearnerMemory, offset: Matrix, order: Any) -> tuple[Vector, Vector]:
    """Return f and f eta m of x = Proj[xhat - eta m a'] = f xhat - f eta m a'."""
    settings, scalars, experts = memory.settings, memory.scalars, memory.experts
    eta = experts[EXPERT.step_size, order]
    if settings[SETTING.adaptive_steps]:
        sums = experts[EXPERT.squared_error_sum, order]
        with np.errstate(divide="ignore"):
            eta = eta * settings[SETTING.diameter] / np.sqrt(sums)
        if settings[SETTING.uses_domain_scale]:
            scale = DomainScale(
                scalars[SCALAR.smoothness],
                scalars[SCALAR.used_width],
                step_shrink=float(scalars[SCALAR.step_shrink]),
            )
            rule = CappedAdaGrad(settings[SETTING.diameter], scale, scale.step_shrink)
            extra_gradient = _kinds(memory)[0]  # gradient descent takes no second step
            eta[extra_gradient] = rule.sizes(sums[extra_gradient])
    step = np.where(np.isinf(eta), 0.0, eta) * experts[EXPERT.expected_slope, order]
    # |xhat - step a'|^2
    squares = (
        experts[EXPERT.squared_norm, order]
        - 2 * step * (offset @ memory.vectors[VECTOR.last_row])
        + step**2 * scalars[SCALAR.last_squared_norm]
    )
    radius = settings[SETTING.domain_size]
    is_outside = (step != 0) & (squares > radius**2)
    factor = np.where(is_outside, radius / np.sqrt(np.where(is_outside, squares, 1.0)), 1.0)
    return factor, factor * step


def _load_movement_costs(memory: LearnerMemory, stacked: Mapping[str, Matrix], order: Any) -> None:
    """Write the movement costs, m_i - <M_t, x_i - c>, and the products <a', xhat_i>."""
    scalars, experts = memory.scalars, memory.experts
    last_row, center = memory.vectors[VECTOR.last_row], memory.vectors[VECTOR.center]
    expected_slope = scalars[SCALAR.trust] * scalars[SCALAR.replayed_slope]
    expected = expected_slope * ((stacked["points"] - center) @ last_row)
    costs = np.maximum(experts[EXPERT.optimism, order] - expected, 0.0)
    experts[EXPERT.movement_cost, order] = costs
    experts[EXPERT.last_base_prediction, order] = stacked["offset"] @ last_row


def _common_row(vectors: Matrix) -> tuple[Vector, Vector]:
    """Return a row a' and the slopes v with ``vectors = v a'``."""
    squares = np.einsum("ij,ij->i", vectors, vectors)
    longest = int(squares.argmax())
    last_row = vectors[longest].copy()
    if squares[longest] == 0.0:
        return last_row, np.zeros(len(vectors))
    slopes = vectors @ last_row / squares[longest]
    error = np.abs(vectors - np.multiply.outer(slopes, last_row)).max()
    if error > MAX_COLLINEAR_ERROR * np.sqrt(squares[longest]):
        raise NotCompilable(
            "the learner's last loss was not one of a linear prediction, so the engine cannot go "
            "on from it."
        )
    return last_row, slopes
