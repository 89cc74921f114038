"""The engine's arrays as the state of the readable learner, and back."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from swordplay.core.types import Matrix, State, Vector
from swordplay.engine.layout import EXPERT, SCALAR, SETTING, VECTOR, readable_names
from swordplay.engine.memory import LearnerMemory
from swordplay.engine.recipe import NotCompilable
from swordplay.parts.experts import CappedAdaGrad, DomainScale

COLLINEAR = 1e-9
"""Replayed gradients of a linear prediction are multiples of one row.

Beyond this relative error they are not.
"""

CERTIFICATE = {
    name: EXPERT._fields.index(number)
    for name, number in readable_names(EXPERT, "certificate").items()
}
HEDGE = {
    name: EXPERT._fields.index(number) for name, number in readable_names(EXPERT, "hedge").items()
}
RATE = {
    name: SCALAR._fields.index(number)
    for name, number in readable_names(SCALAR, "hedge.rate").items()
}
GAUGE = {
    name: SCALAR._fields.index(number)
    for name, number in readable_names(SCALAR, "domain_scale").items()
}
OPTIMISM = {
    name: SCALAR._fields.index(number)
    for name, number in readable_names(SCALAR, "optimism").items()
}


def state_of(memory: LearnerMemory) -> State:
    """The same as ``Learner.state()`` of the readable twin after the same rounds, without the
    settings.
    """
    now, numbers, order = memory.scalars, memory.experts, memory.order
    base, points = memory.base_points()[order], memory.points()[order]
    last = memory.vectors[VECTOR.last_row]
    replay = np.multiply.outer(numbers[EXPERT.field_slope, order], last)
    flat: State = {"rounds": memory.rounds}
    if memory.settings[SETTING.uses_domain_scale]:
        flat |= {f"domain_scale.{name}": float(now[place]) for name, place in GAUGE.items()}
    for k, kind in enumerate(_kinds(memory)):
        flat |= {
            f"experts.{k}.points": points[kind],
            f"experts.{k}.base": base[kind],
            f"experts.{k}.expected_gradient": replay[kind],
            f"experts.{k}.squared_error_sum": numbers[EXPERT.squared_error_sum, order][kind],
        }
        if memory.recipe.on_ball and memory.center.any():
            flat[f"experts.{k}.offset"] = memory.offsets()[order][kind]
    flat |= {f"certificate.{name}": numbers[place, order] for name, place in CERTIFICATE.items()}
    if memory.keeps_dual_sum:
        flat["certificate.dual_sum"] = numbers[len(EXPERT) :, order].T.copy()
        flat["certificate.max_dual_norm"] = np.sqrt(flat["certificate.max_dual_norm"])
    if not memory.settings[
        SETTING.adaptive_steps
    ]:  # steps that stay pull hardest where they are farthest: kernels need not keep it
        far = np.sqrt(flat["certificate.max_squared_norm"])
        flat["certificate.max_dual_norm"] = (
            flat["certificate.inverse_step"] * far + flat["certificate.weighted_norm_change"]
        )
    if not memory.recipe.weighed:
        return flat
    flat |= {f"hedge.{name}": numbers[place, order] for name, place in HEDGE.items()}
    flat["hedge.cumulative"] = flat["hedge.cumulative"] - flat["hedge.cumulative"].min()
    flat["hedge.optimism"] = flat["hedge.optimism"] + _shift(memory, last)
    flat |= {f"hedge.rate.{name}": float(now[place]) for name, place in RATE.items()}
    flat |= {f"optimism.{name}": float(now[place]) for name, place in OPTIMISM.items()}
    return flat | {
        "optimism.replayed_gradient": now[SCALAR.field_slope] * last
        if now[SCALAR.rounds]
        else np.zeros_like(last)
    }


def load(memory: LearnerMemory, state: Mapping[str, Any]) -> None:
    """Go on from a readable state.

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
    experts, known = (
        len(stacked["squared_error_sum"]),
        [state[name] for k in kinds if (name := f"experts.{k}.offset") in state],
    )
    stacked["offset"] = np.concatenate(known) if known else stacked["base"] - memory.center
    memory.allocate_dual_sum("certificate.dual_sum" in state)
    memory.reserve(experts)
    now, numbers = memory.scalars, memory.experts
    candidate = state.get("optimism.replayed_gradient", np.zeros(stacked["base"].shape[1]))
    last, multiples = _common_row(np.vstack([stacked["expected_gradient"], candidate]))
    now[SCALAR.expert_count], now[SCALAR.rounds], now[SCALAR.least_cumulative] = (
        experts,
        state["rounds"],
        0.0,
    )
    now[SCALAR.refresh_at] = now[SCALAR.rounds] + memory.settings[SETTING.refresh_rounds]
    now[SCALAR.last_squared_norm], now[SCALAR.field_slope] = float(last @ last), multiples[-1]
    memory.settings[SETTING.uses_domain_scale] = "domain_scale.width" in state
    for name, place in GAUGE.items():
        now[place] = float(state.get(f"domain_scale.{name}", 0.0))
    order = memory.order
    numbers[EXPERT.squared_error_sum, order], numbers[EXPERT.field_slope, order] = (
        stacked["squared_error_sum"],
        multiples[:-1],
    )
    lead = stacked["points"] - stacked["base"]
    numbers[EXPERT.squared_lookahead, order] = np.einsum("ij,ij->i", lead, lead)
    for name, place in CERTIFICATE.items():
        numbers[place, order] = state[f"certificate.{name}"]
    if memory.keeps_dual_sum:
        numbers[len(EXPERT) :, order] = state["certificate.dual_sum"].T
        numbers[EXPERT.max_dual_norm, order] **= 2
    if memory.recipe.weighed:
        for name, place in HEDGE.items():
            numbers[place, order] = state[f"hedge.{name}"]
        for room, places in (("hedge.rate", RATE), ("optimism", OPTIMISM)):
            for name, place in places.items():
                now[place] = float(state[f"{room}.{name}"])
    memory.vectors[VECTOR.last_row] = last
    numbers[EXPERT.optimism, order] -= _shift(memory, last)
    numbers[EXPERT.scale, order] = 1.0
    memory.derive_fields()
    _place(memory, stacked, order)
    if memory.settings[SETTING.movement_charge]:
        _charge(memory, stacked, order)
    memory.fill_padding()


def _charge(memory: LearnerMemory, stacked: Mapping[str, Matrix], order: Any) -> None:
    """What the guesses have beyond <M_t, x_i>, and the products with the last features."""
    now, numbers, last, center = (
        memory.scalars,
        memory.experts,
        memory.vectors[VECTOR.last_row],
        memory.vectors[VECTOR.center],
    )
    expected = now[SCALAR.trust] * now[SCALAR.field_slope] * ((stacked["points"] - center) @ last)
    numbers[EXPERT.movement_cost, order] = np.maximum(
        numbers[EXPERT.optimism, order] - expected, 0.0
    )
    numbers[EXPERT.last_base_product, order] = stacked["offset"] @ last


def _shift(memory: LearnerMemory, last: Vector) -> float:
    """What guesses relative to a ball's centre lack: <M_t, centre>."""
    now, center = memory.scalars, memory.vectors[VECTOR.center]
    return (
        float(now[SCALAR.trust] * now[SCALAR.field_slope] * (last @ center))
        if memory.recipe.on_ball
        else 0.0
    )


def _kinds(memory: LearnerMemory) -> list[slice]:
    """Where each kind of experts lies in the readable order."""
    extra = memory.of_experts(EXPERT.extra_gradient)
    turns = np.flatnonzero(np.diff(extra)) + 1
    edges = [0, *turns.tolist(), len(extra)]
    return [slice(first, stop) for first, stop in pairwise(edges)]


def _place(memory: LearnerMemory, stacked: Mapping[str, Matrix], order: Any) -> None:
    """Write the points of the experts."""
    numbers, offset = memory.experts, stacked["offset"]
    numbers[EXPERT.squared_norm, order] = np.einsum("ij,ij->i", offset, offset)
    numbers[EXPERT.refresh_max_squared_norm, order] = numbers[EXPERT.squared_norm, order]
    if not memory.recipe.on_ball:
        memory.coordinates[order], memory.coordinates[numbers.shape[1] + order] = (
            stacked["base"],
            stacked["points"],
        )
        return
    center = memory.vectors[VECTOR.center]
    ahead = stacked["points"] - center
    memory.coordinates[:, order] = offset.T
    numbers[EXPERT.pending_update, order] = 0.0
    alpha, gamma = _lookahead(memory, numbers[EXPERT.squared_norm, order], offset, order)
    numbers[EXPERT.lookahead_scale, order], numbers[EXPERT.lookahead_step, order] = alpha, gamma
    error = np.abs(
        alpha[:, None] * offset - np.multiply.outer(gamma, memory.vectors[VECTOR.last_row]) - ahead
    ).max()
    if error > COLLINEAR * (memory.settings[SETTING.domain_size] + np.linalg.norm(center)):
        raise NotCompilable(
            "the learner's points do not follow from its base points: its state was edited."
        )


def _lookahead(
    memory: LearnerMemory, norm: Vector, offset: Matrix, order: Any
) -> tuple[Vector, Vector]:
    """alpha and gamma of x = Proj[xhat - eta m a'] = alpha xhat - gamma a'."""
    config, numbers = memory.settings, memory.experts
    eta = numbers[EXPERT.step_size, order]
    if config[SETTING.adaptive_steps]:
        energy = numbers[EXPERT.squared_error_sum, order]
        with np.errstate(divide="ignore"):
            eta = eta * config[SETTING.diameter] / np.sqrt(energy)
        if config[SETTING.uses_domain_scale]:
            now = memory.scalars
            gauge = DomainScale(
                now[SCALAR.smoothness],
                now[SCALAR.used_width],
                step_shrink=float(now[SCALAR.step_shrink]),
            )
            ahead = _kinds(memory)[0]  # the others do not look ahead
            eta[ahead] = CappedAdaGrad(config[SETTING.diameter], gauge, gauge.step_shrink).sizes(
                energy[ahead]
            )
    stride = np.where(np.isinf(eta), 0.0, eta) * numbers[EXPERT.field_slope, order]
    reached = (
        norm
        - 2 * stride * (offset @ memory.vectors[VECTOR.last_row])
        + stride**2 * memory.scalars[SCALAR.last_squared_norm]
    )
    outside = (stride != 0) & (reached > config[SETTING.domain_size] ** 2)
    alpha = np.where(
        outside, config[SETTING.domain_size] / np.sqrt(np.where(outside, reached, 1.0)), 1.0
    )
    return alpha, alpha * stride


def _common_row(vectors: Matrix) -> tuple[Vector, Vector]:
    """A row a' and the numbers v with ``vectors = v a'``."""
    norms = np.einsum("ij,ij->i", vectors, vectors)
    longest = int(norms.argmax())
    last = vectors[longest].copy()
    if norms[longest] == 0.0:
        return last, np.zeros(len(vectors))
    multiples = vectors @ last / norms[longest]
    if np.abs(vectors - np.multiply.outer(multiples, last)).max() > COLLINEAR * np.sqrt(
        norms[longest]
    ):
        raise NotCompilable(
            "the learner's last loss was not one of a linear prediction, so the engine cannot go "
            "on from it."
        )
    return last, multiples
