"""A learner in the engine's memory, and its way from and to the readable state."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from swordplay.base.state import require
from swordplay.base.types import Matrix, State, Vector
from swordplay.engine import layout
from swordplay.engine.layout import CONFIG, LIVE
from swordplay.engine.recipe import NotCompilable, Recipe
from swordplay.engine.sanity import LIVE_RANGES, require_sane

COLLINEAR = 1e-9
"""Replayed gradients of a linear prediction are multiples of one row; beyond this relative error they are not."""

CERTIFICATE = {
    "advantage": layout.ADVANTAGE,
    "drift": layout.DRIFT,
    "inverse_step": layout.INVERSE,
    "inverse_growth": layout.GROWTH,
    "inverse_largest": layout.LARGEST,
}
HEDGE = {"log_prior": layout.LOG_PRIOR, "cumulative": layout.CUMULATIVE, "guesses": layout.GUESS, "weights": layout.WEIGHT}
RATE = ("total", "level")

CHANGED_BY_A_SCHEDULE = ("threshold", "size", "diameter", "refresh")
"""Settings that rounds may bring with them: a saved state has its own."""
FEWEST_COLUMNS = 16
"""Of a pool that grows. Sums over 8 columns and over more are added up in another order: from here on they are the same."""


class Memory:
    """The five arrays of one learner (see ``layout``).

    Parameters
    ----------
    recipe
        What the learner is made of.
    dtype
        Of the coordinates: doubles, or single precision at half the memory.
    """

    def __init__(self, recipe: Recipe, dtype: Any = np.float64) -> None:
        self.recipe = recipe
        self.config = recipe.config
        experts, dim = len(recipe.steps), recipe.frame.shape[1]
        self.live: Vector = np.zeros(len(LIVE))
        columns = max(layout.padded(experts), FEWEST_COLUMNS if recipe.config[CONFIG.grows] else 0)
        self.rows: Matrix = layout.zeros((layout.ROWS, columns))
        self.coords: Any = layout.zeros(self._shape(columns, dim), dtype)
        self.vectors: Matrix = np.zeros((layout.VECTORS, dim))
        self.vectors[layout.CENTER], self.vectors[layout.UPPER] = recipe.frame
        self.make = (
            b"|".join(
                array.tobytes()
                for array in (recipe.config, recipe.steps, recipe.extra, recipe.prior, np.array(self.coords.shape))
            )
            + self.coords.dtype.str.encode()
        )
        """What learners of one make have in common, and no others."""
        self._begin(experts)

    @property
    def arrays(self) -> tuple[Any, Matrix, Matrix, Vector, Vector]:
        """What every kernel takes first."""
        return self.coords, self.rows, self.vectors, self.live, self.config

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return int(self.live[LIVE.rounds])

    @property
    def experts(self) -> int:
        """How many experts there are."""
        return int(self.live[LIVE.experts])

    @property
    def order(self) -> Any:
        """The column of each expert of the readable learner, which stacks the kinds where a growing pool alternates."""
        columns = np.arange(self.experts)
        return np.concatenate([columns[0::2], columns[1::2]]) if self.config[CONFIG.grows] else columns

    def mirror(self) -> None:
        """Make the padded columns copies of the last expert, without a prior."""
        n, columns = self.experts, self.rows.shape[1]
        self.rows[:, n:] = self.rows[:, n - 1 : n]
        self.rows[layout.LOG_PRIOR, n:], self.rows[layout.WEIGHT, n:] = -np.inf, 0.0
        if self.recipe.on_ball:
            self.coords[:, n:] = self.coords[:, n - 1 : n]
        else:
            self.coords[n:columns] = self.coords[n - 1]
            self.coords[columns + n :] = self.coords[columns + n - 1]

    def reserve(self, experts: int) -> None:
        """Make room for so many experts."""
        old, new = self.rows.shape[1], layout.padded(experts)
        if new <= old:
            return
        rows = layout.zeros((layout.ROWS, new))
        rows[:, :old] = self.rows
        coords = layout.zeros(self._shape(new, self.vectors.shape[1]), self.coords.dtype)
        if self.recipe.on_ball:
            coords[:, :old] = self.coords
        else:
            coords[:old], coords[new : new + old] = self.coords[:old], self.coords[old:]
        self.rows, self.coords = rows, coords
        self.mirror()

    def reserve_rounds(self, rounds: int) -> None:
        """Make room for the experts that a growing pool will have after so many more rounds."""
        if self.config[CONFIG.grows]:
            count = self.experts // 2
            while 1 + 2 * (self.rounds + rounds) > 4 ** (count - 1):
                count += 1
            self.reserve(2 * count)

    def widen(self, dim: int, last: int = 0) -> None:
        """Make room for more coordinates on a ball around the origin; every point starts at 0 there.

        The ``last`` coordinates stay behind the new ones.
        """
        now = self.vectors.shape[1]
        places = np.full(dim - now, now - last)
        self.coords = np.insert(self.coords, places, 0.0, axis=0)
        self.vectors = np.insert(self.vectors, places, 0.0, axis=1)

    def compact_state(self) -> State:
        """The numbers themselves, without the padding: what a continuation bit by bit needs."""
        n, columns = self.experts, self.rows.shape[1]
        points = self.coords[:, :n] if self.recipe.on_ball else self.coords[np.r_[:n, columns : columns + n]]
        return {
            "coords": points.copy(),
            "rows": self.rows[:, :n].copy(),
            "vectors": self.vectors.copy(),
            "live": self.live.copy(),
            "config": self.config.copy(),
        }

    def load_compact_state(self, saved: Mapping[str, Any], reach: float | None = None) -> None:
        """Go on from the numbers of a memory of the same make; on an error nothing changes (see ``sanity``)."""
        clean = {name: self._checked(name, saved) for name in ("live", "config", "vectors", "rows", "coords")}
        n = int(clean["live"][LIVE.experts])
        dim = self.vectors.shape[1]
        expected = {
            "live": self.live.shape,
            "config": self.config.shape,
            "vectors": self.vectors.shape,
            "rows": (layout.ROWS, n if self.config[CONFIG.grows] else self.experts),
            "coords": (dim, n) if self.recipe.on_ball else (2 * n, dim),
        }
        for name, shape in expected.items():
            if clean[name].shape != shape:
                raise ValueError(
                    f"state[{name!r}] must have shape {shape}, got {clean[name].shape}. Load it into the same make."
                )
        same = [place for place, name in enumerate(CONFIG._fields) if name not in CHANGED_BY_A_SCHEDULE]
        if not np.array_equal(clean["config"][same], self.config[same]):
            raise ValueError("state was saved by a learner of another make. Make this one with the same settings.")
        require_sane(self.recipe, self.vectors[[layout.CENTER, layout.UPPER]], clean, reach)
        self.live, self.config, self.vectors = clean["live"], clean["config"], clean["vectors"]
        self.reserve(n)
        columns = self.rows.shape[1]
        self.rows[:, :n] = clean["rows"]
        if self.recipe.on_ball:
            self.coords[:, :n] = clean["coords"]
        else:
            self.coords[np.r_[:n, columns : columns + n]] = clean["coords"]
        self.mirror()

    def _checked(self, name: str, saved: Mapping[str, Any]) -> Any:
        """An entry of a saved state, as numbers."""
        if name not in saved:
            raise ValueError(f"state lacks {name!r}. Load a state that the same kind of learner saved.")
        value = np.array(saved[name], dtype=self.coords.dtype if name == "coords" else np.float64)
        if np.isnan(value).any() or (name == "live" and value.shape != self.live.shape):
            raise ValueError(f"state[{name!r}] is damaged. Load an earlier one.")
        if name == "live":
            require("live.experts", value[LIVE.experts], LIVE_RANGES["experts"])
        return value

    def _shape(self, columns: int, dim: int) -> tuple[int, int]:
        return (dim, columns) if self.recipe.on_ball else (2 * columns, dim)

    def _begin(self, experts: int) -> None:
        """The state before the first round: everyone at the centre."""
        recipe, rows, now = self.recipe, self.rows, self.live
        now[LIVE.refresh_at], now[LIVE.weight] = self.config[CONFIG.refresh], 1.0
        now[LIVE.experts], now[LIVE.rate], now[LIVE.level], now[LIVE.trust] = experts, recipe.rate, recipe.level, recipe.trust
        rows[layout.STEP, :experts] = recipe.steps
        rows[layout.EXTRA, :experts] = recipe.extra
        rows[layout.LOG_PRIOR, :experts] = np.log(recipe.prior)
        rows[layout.WEIGHT, :experts] = recipe.prior
        rows[layout.ETA, :experts] = recipe.steps
        rows[layout.SCALE, :experts] = 1.0
        rows[layout.UNSCALE, :experts] = 1.0
        now[LIVE.entropy] = -np.log(recipe.prior.min())
        rows[layout.ALPHA, :experts] = 1.0
        if not recipe.on_ball:
            self.coords[:] = self._start()
        self.mirror()

    def _start(self) -> Vector:
        box = self.config[CONFIG.domain] == layout.BOX
        return np.asarray(self.vectors[[layout.CENTER, layout.UPPER]].mean(axis=0)) if box else self.vectors[layout.CENTER]

    # ------------------------------------------------------------------ to the readable state

    def state(self) -> State:
        """The same as ``Learner.state()`` of the readable twin after the same rounds, without the settings."""
        now, rows, order = self.live, self.rows, self.order
        base, points = self._base()[order], self._points()[order]
        last = self.vectors[layout.LAST]
        replay = np.multiply.outer(rows[layout.REPLAY, order], last)
        flat: State = {"rounds": self.rounds}
        for k, kind in enumerate(self._kinds()):
            flat |= {
                f"experts.{k}.points": points[kind],
                f"experts.{k}.base": base[kind],
                f"experts.{k}.replay": replay[kind],
                f"experts.{k}.energy": rows[layout.ENERGY, order][kind],
            }
        flat |= {f"certificate.{name}": rows[row, order] for name, row in CERTIFICATE.items()}
        if not self.recipe.weighed:
            return flat
        flat |= {f"hedge.{name}": rows[row, order] for name, row in HEDGE.items()}
        flat["hedge.cumulative"] = flat["hedge.cumulative"] - flat["hedge.cumulative"].min()
        flat["hedge.guesses"] = flat["hedge.guesses"] + self._shift(last)
        flat |= {f"hedge.rate.{name}": float(now[getattr(LIVE, name)]) for name in RATE} | {
            "hedge.rate.value": float(now[LIVE.rate])
        }
        candidate = now[LIVE.candidate] * last if now[LIVE.rounds] else np.zeros_like(last)
        return flat | {
            "optimism.candidate": candidate,
            "optimism.difference": float(now[LIVE.difference]),
            "optimism.magnitude": float(now[LIVE.magnitude]),
            "optimism.trust": float(now[LIVE.trust]),
        }

    def _shift(self, last: Vector) -> float:
        """What guesses relative to a ball's centre lack: <M_t, centre>."""
        now = self.live
        return (
            float(now[LIVE.trust] * now[LIVE.candidate] * (last @ self.vectors[layout.CENTER])) if self.recipe.on_ball else 0.0
        )

    def _kinds(self) -> list[slice]:
        """Where each kind of experts lies in the readable order."""
        extra = self.rows[layout.EXTRA, self.order]
        turns = np.flatnonzero(np.diff(extra)) + 1
        edges = [0, *turns.tolist(), len(extra)]
        return [slice(first, stop) for first, stop in pairwise(edges)]

    def _base(self) -> Matrix:
        """xhat, shape ``(columns, d)``."""
        columns = self.rows.shape[1]
        if not self.recipe.on_ball:
            return np.asarray(self.coords[:columns])
        rows, last = self.rows, self.vectors[layout.LAST]
        pending = np.multiply.outer(rows[layout.COEFFICIENT], last)
        return np.asarray(self.vectors[layout.CENTER] + rows[layout.SCALE][:, None] * (self.coords.T + pending))

    def _points(self) -> Matrix:
        """x, shape ``(columns, d)``."""
        if not self.recipe.on_ball:
            return np.asarray(self.coords[self.rows.shape[1] :])
        rows, center = self.rows, self.vectors[layout.CENTER]
        ahead = np.multiply.outer(rows[layout.GAMMA], self.vectors[layout.LAST])
        return np.asarray(center + rows[layout.ALPHA][:, None] * (self._base() - center) - ahead)

    def decision(self) -> Vector:
        """x_t, shape ``(d,)``."""
        n = self.experts
        return np.asarray(self.rows[layout.WEIGHT, :n] @ self._points()[:n])

    # ------------------------------------------------------------------ from the readable state

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from a readable state.

        Raises
        ------
        NotCompilable
            If the last loss was not one of a linear prediction, so that the replayed gradients are not multiples of a row.
        """
        kinds = [key.split(".")[1] for key in state if key.endswith(".energy")]
        stacked = {
            name: np.concatenate([state[f"experts.{k}.{name}"] for k in kinds])
            for name in ("points", "base", "replay", "energy")
        }
        experts = len(stacked["energy"])
        self.reserve(experts)
        now, rows = self.live, self.rows
        candidate = state.get("optimism.candidate", np.zeros(stacked["base"].shape[1]))
        last, multiples = _common_row(np.vstack([stacked["replay"], candidate]))
        now[LIVE.experts], now[LIVE.rounds], now[LIVE.prepared], now[LIVE.smallest] = experts, state["rounds"], 0.0, 0.0
        now[LIVE.refresh_at] = now[LIVE.rounds] + self.config[CONFIG.refresh]
        now[LIVE.last_norm], now[LIVE.candidate] = float(last @ last), multiples[-1]
        order = self.order
        if self.config[CONFIG.grows]:
            rows[layout.STEP, order] = np.tile(0.5 * 2.0 ** np.arange(experts // 2), 2)
            rows[layout.EXTRA, order] = np.repeat([1.0, 0.0], experts // 2)
        rows[layout.ENERGY, order], rows[layout.REPLAY, order] = stacked["energy"], multiples[:-1]
        lead = stacked["points"] - stacked["base"]
        rows[layout.LEAD, order] = np.einsum("ij,ij->i", lead, lead)
        for name, row in CERTIFICATE.items():
            rows[row, order] = state[f"certificate.{name}"]
        if self.recipe.weighed:
            for name, row in HEDGE.items():
                rows[row, order] = state[f"hedge.{name}"]
            now[LIVE.entropy] = -np.min(state["hedge.log_prior"])
            now[LIVE.total], now[LIVE.level], now[LIVE.rate] = (float(state[f"hedge.rate.{name}"]) for name in (*RATE, "value"))
            now[LIVE.difference], now[LIVE.magnitude] = state["optimism.difference"], state["optimism.magnitude"]
            now[LIVE.trust] = state["optimism.trust"]
        self.vectors[layout.LAST] = last
        rows[layout.GUESS, order] -= self._shift(last)
        self._place(stacked["base"], stacked["points"], order)
        self.mirror()

    def _place(self, base: Matrix, points: Matrix, order: Any) -> None:
        """Write the points of the experts."""
        rows = self.rows
        if not self.recipe.on_ball:
            self.coords[order], self.coords[rows.shape[1] + order] = base, points
            return
        center = self.vectors[layout.CENTER]
        offset, ahead = base - center, points - center
        self.coords[:, order] = offset.T
        rows[layout.SCALE, order], rows[layout.UNSCALE, order], rows[layout.COEFFICIENT, order] = 1.0, 1.0, 0.0
        rows[layout.NORM, order] = np.einsum("ij,ij->i", offset, offset)
        alpha, gamma = self._lookahead(rows[layout.NORM, order], offset, order)
        rows[layout.ALPHA, order], rows[layout.GAMMA, order] = alpha, gamma
        error = np.abs(alpha[:, None] * offset - np.multiply.outer(gamma, self.vectors[layout.LAST]) - ahead).max()
        if error > COLLINEAR * (self.config[CONFIG.size] + np.linalg.norm(center)):
            raise NotCompilable("the learner's points do not follow from its base points: its state was edited.")

    def _lookahead(self, norm: Vector, offset: Matrix, order: Any) -> tuple[Vector, Vector]:
        """alpha and gamma of x = Proj[xhat - eta m a'] = alpha xhat - gamma a'."""
        now, config, rows = self.live, self.config, self.rows
        eta = rows[layout.STEP, order]
        if config[CONFIG.adaptive]:
            with np.errstate(divide="ignore"):
                eta = eta * config[CONFIG.diameter] / np.sqrt(rows[layout.ENERGY, order])
        stride = np.where(np.isinf(eta), 0.0, eta) * rows[layout.REPLAY, order]
        reached = norm - 2 * stride * (offset @ self.vectors[layout.LAST]) + stride**2 * now[LIVE.last_norm]
        outside = (stride != 0) & (reached > config[CONFIG.size] ** 2)
        alpha = np.where(outside, config[CONFIG.size] / np.sqrt(np.where(outside, reached, 1.0)), 1.0)
        return alpha, alpha * stride


def _common_row(vectors: Matrix) -> tuple[Vector, Vector]:
    """A row a' and the numbers v with ``vectors = v a'``."""
    norms = np.einsum("ij,ij->i", vectors, vectors)
    longest = int(norms.argmax())
    last = vectors[longest].copy()
    if norms[longest] == 0.0:
        return last, np.zeros(len(vectors))
    multiples = vectors @ last / norms[longest]
    if np.abs(vectors - np.multiply.outer(multiples, last)).max() > COLLINEAR * np.sqrt(norms[longest]):
        raise NotCompilable("the learner's last loss was not one of a linear prediction, so the engine cannot go on from it.")
    return last, multiples
