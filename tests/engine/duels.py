"""The same game played twice, readable and compiled, and how far apart the two end.

Every number is measured in its own unit: what one round can change it by, or the largest of its
kind, whichever is more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

import swordplay as sp
from swordplay.core.types import Domain, State
from tolerances import HALF_A_BIT, LAST_BIT, OWN_SPREAD, TWIN

LOSSES = ("squared", "logistic", "huber")
DOMAINS = ("ball", "small ball", "ball elsewhere", "sparse", "simplex", "box")
WORLDS = ("walk", "jumps", "repeats", "alternation", "outliers", "gaps", "surge")
"""How rows and targets move.

As many as are prime to the number of domains, so that seeds meet every pair.
"""


@dataclass(frozen=True)
class Duel:
    """A domain and the rows of a stream, from a seed."""

    domain: Domain
    stream: sp.LinearStream
    name: str
    foresight: int = 1
    """Learners are told of so many times the rounds that are played: the longer, the more
    experts.
    """

    @property
    def horizon(self) -> int:
        return len(self.stream)

    @cached_property
    def gradient_bound(self) -> float:
        return self.stream.gradient_bound(self.domain)

    @cached_property
    def smoothness(self) -> float:
        return self.stream.smoothness

    @property
    def constants(self) -> dict[str, Any]:
        """What the tuned learners are told."""
        horizon = self.foresight * self.horizon
        return {
            "horizon": horizon,
            "gradient_bound": self.gradient_bound,
            "smoothness": self.smoothness,
        }

    @property
    def pool_constants(self) -> dict[str, Any]:
        return {"diameter": self.domain.diameter, **self.constants}

    @cached_property
    def units(self) -> dict[str, float]:
        """What one round can change each entry of a state by."""
        G, D = self.gradient_bound, self.domain.diameter
        reach = D + float(np.linalg.norm(self.domain.center))
        return {
            "points": reach,
            "base": reach,
            "offset": D,
            "expected_gradient": G,
            "squared_error_sum": G**2,
            "linear_regret": G * D,
            "step_cost": G * D,
            "squared_norm_change": G * D,
            "weighted_norm_change": G,
            "max_dual_norm": G,
            "dual_sum": G,
            "max_squared_norm": D**2,
            "cumulative": G * D,
            "optimism": G * reach,
            "weights": 1.0,
            "total": min((G * D) ** 2, G**2),
            "level": G**2,
            "replayed_gradient": G,
            "difference": G**2,
            "magnitude": G**2,
            "trust": 1.0,
        }


def duel(seed: int, loss: str, rounds: int | None = None) -> Duel:
    """The game of a seed: seeds count through domains and worlds, all else is drawn."""
    rng = np.random.default_rng([seed, LOSSES.index(loss)])
    kind, world = DOMAINS[seed % len(DOMAINS)], WORLDS[seed % len(WORLDS)]
    on_ball = kind not in ("simplex", "box")
    d = round(50 ** rng.uniform()) if on_ball else int(rng.integers(2, 9))
    T = int(rng.integers(20, 121)) if rounds is None else rounds
    unit = 10.0 ** rng.uniform(-1, 1)  # length of a row
    domain = _domain(kind, d, rng)
    rows = _rows(world, kind, T, d, rng) * unit / math.sqrt(d)
    targets = _targets(world, domain, rows, rng)
    if loss == "logistic":
        targets = (targets > np.median(targets)).astype(float)
    features = scipy.sparse.csr_matrix(rows) if kind == "sparse" else rows
    threshold = float(unit * domain.diameter * rng.choice([0.05, 0.5]))
    stream = sp.LinearStream(features, targets, loss, threshold=threshold)
    return Duel(
        domain,
        stream,
        f"seed {seed}: {kind}, {world}, {loss}, d={d}, T={T}",
        int(rng.choice([1, 100, 10**4])),
    )


def _domain(kind: str, d: int, rng: np.random.Generator) -> Domain:
    size = 10.0 ** rng.uniform(-1, 1)
    if kind == "simplex":
        return sp.Simplex(d, total=size)
    if kind == "box":
        half = size * rng.uniform(0.2, 1.0, size=d)
        middle = size * rng.normal(size=d)
        return sp.Box(middle - half, middle + half)
    center = (
        size * rng.normal(size=d)
        if kind == "ball elsewhere" or (kind == "sparse" and rng.random() < 0.5)
        else None
    )
    return sp.Ball(d, radius=0.2 * size if kind == "small ball" else size, center=center)


def _rows(world: str, kind: str, T: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of length about sqrt(d), with what makes a world special."""
    rows = rng.normal(size=(T, d))
    if kind == "sparse":
        rows *= rng.random(size=(T, d)) < 0.3
    if world == "repeats":  # a = a': differences of rows vanish
        rows = np.repeat(rows, 5, axis=0)[:T]
    if world == "alternation":
        rows = rows[:2][np.arange(T) % 2]
    if world == "outliers":
        rows[rng.random(T) < 0.05] *= 30.0
    if world == "surge":
        rows[T // 3 : T // 3 + 10] *= 1e3
    if world == "gaps":  # rows of nothing, also the very first
        rows[rng.random(T) < 0.2] = 0.0
        rows[0] = 0.0
    if not rows.any():
        rows[-1, 0] = 1.0  # tuned learners need a positive smoothness
    return np.asarray(rows)


def _targets(world: str, domain: Domain, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Answers of a planted point that walks or jumps, inside the domain and beyond it, with
    noise.
    """
    T, d = rows.shape
    steps = rng.normal(size=(T, d)) * domain.diameter / math.sqrt(d)
    planted = (
        steps[np.arange(T) // 15 * 15]
        if world == "jumps"
        else 0.3 * np.cumsum(steps, axis=0) / math.sqrt(T)
    )
    answers = np.einsum("ij,ij->i", rows, domain.center + planted)
    return np.asarray(answers + 0.2 * np.std(answers) * rng.normal(size=T))


def _paper_best(duel: Duel) -> sp.SwordBest:
    variation, small_loss = (
        sp.pools.variation(**duel.pool_constants),
        sp.pools.small_loss(**duel.pool_constants),
    )
    rate = 1 / (math.sqrt(8) * duel.domain.diameter**2 * duel.smoothness)
    return sp.SwordBest(
        duel.domain,
        **duel.constants,
        variation_pool=variation,
        small_loss_pool=small_loss,
        learning_rate=sp.rates.Fixed(rate),
        optimism_rate=2.0,
    )


LEARNERS: dict[str, Callable[[Duel], Any]] = {
    "OGD": lambda duel: sp.OGD(duel.domain, 0.5 / duel.smoothness),
    "OEGD": lambda duel: sp.OEGD(duel.domain, 0.5 / duel.smoothness),
    "Ader": lambda duel: sp.Ader(
        duel.domain, horizon=duel.foresight * duel.horizon, gradient_bound=duel.gradient_bound
    ),
    "SwordVar": lambda duel: sp.SwordVar(duel.domain, **duel.constants),
    "SwordSmall": lambda duel: sp.SwordSmall(duel.domain, **duel.constants),
    "SwordBest": lambda duel: sp.SwordBest(duel.domain, **duel.constants),
    "SwordVar, paper's pool": lambda duel: sp.SwordVar(
        duel.domain, **duel.constants, pool=sp.pools.variation(**duel.pool_constants)
    ),
    "SwordSmall, paper's pool": lambda duel: sp.SwordSmall(
        duel.domain, **duel.constants, pool=sp.pools.small_loss(**duel.pool_constants)
    ),
    "SwordBest, as in the paper": _paper_best,
    "SwordBest, doubling": lambda duel: sp.SwordBest(
        duel.domain, **duel.constants, learning_rate=sp.rates.Doubling()
    ),
    "SwordBest, one guess or the other": lambda duel: sp.SwordBest(
        duel.domain, **duel.constants, optimism_rate=math.inf
    ),
    "SwordBest, short of memory": lambda duel: sp.SwordBest(
        duel.domain,
        **duel.constants,
        learning_rate=sp.rates.SelfConfident(cap=1 / duel.smoothness, memory=20),
    ),
    "SwordAgeless": lambda duel: sp.SwordAgeless(
        duel.domain, smoothness=duel.smoothness, memory=30
    ),
    "Sword": lambda duel: sp.Sword(duel.domain),
}


def state_gaps(duel: Duel, ours: State, theirs: State) -> dict[str, float]:
    """How far apart each entry of two states is, in its own unit.

    Inf where infinities do not match.
    """
    assert ours.keys() == theirs.keys()
    return {
        name: gap(ours[name], theirs[name], duel.units.get(name.rpartition(".")[2], 0.0))
        for name in theirs
    }


def gap(ours: Any, theirs: Any, unit: float = 0.0) -> float:
    """Largest difference, relative to the largest number or to the unit."""
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    assert ours.shape == theirs.shape
    finite = np.isfinite(theirs)
    if not np.array_equal(ours[~finite], theirs[~finite]):
        return math.inf
    difference = np.abs(ours[finite] - theirs[finite]).max(initial=0.0)
    if difference == 0.0:
        return 0.0
    return float(difference / max(unit, np.abs(theirs[finite]).max()))


def gaps(duel: Duel, make: Callable[[Duel], Any]) -> dict[str, float]:
    """Play a duel twice; how far apart everything that a user can see is."""
    readable, compiled = make(duel), make(duel)
    theirs = sp.play(readable, duel.stream, engine="python", keep=kept(readable))
    ours = sp.play(compiled, duel.stream, engine="compiled", keep=kept(compiled))
    return apart(duel, (compiled, ours), (readable, theirs))


def kept(learner: Any) -> tuple[str, ...]:
    """What a ledger has to keep for a comparison."""
    return ("losses", "decisions", *(("weights",) if hasattr(learner, "weights") else ()))


def apart(
    duel: Duel, ours: tuple[Any, sp.Ledger], theirs: tuple[Any, sp.Ledger]
) -> dict[str, float]:
    """How far apart two learners and their ledgers are, thing by thing."""
    (learner, mine), (other, right) = ours, theirs
    found = {
        "losses": gap(mine.losses, right.losses),
        "total loss": gap(mine.total_loss, right.total_loss),
        "decisions": gap(mine.decisions, right.decisions, duel.units["points"]),
    }
    if right.weights is not None:
        assert mine.weights is not None
        assert [len(row) for row in mine.weights] == [len(row) for row in right.weights]
        found["weights"] = max(
            gap(row, beside, 1.0) for row, beside in zip(mine.weights, right.weights, strict=True)
        )
    return (
        found
        | certificate_gaps(duel, learner, other)
        | state_gaps(duel, learner.state(), other.state())
    )


def certificate_gaps(duel: Duel, ours: Any, theirs: Any) -> dict[str, float]:
    """How far apart certificates are, in units of what a round can change them by, beyond what
    they cannot help.
    """
    found, unit = {}, duel.gradient_bound * duel.domain.diameter
    for path in (0.0, duel.domain.diameter * duel.horizon):
        right = theirs.certificate(path)
        left_over = max(cancelled(duel, learner, path) for learner in (ours, theirs)) / max(
            unit, abs(right)
        )
        found[f"certificate({path:g})"] = max(
            gap(ours.certificate(path), right, unit) - left_over, 0.0
        )
    return found


def cancelled(duel: Duel, learner: Any, path: float) -> float:
    """What rounding alone may leave of two terms of a certificate that cancel.

    Of an expert whose steps have become short the swing, sum of (a_t - a_{t-1}) norm(w_t)^2 / 2,
    and a_T norm(w_{T+1})^2 / 2 grow with a = 1/eta, and only their difference counts. A sum of T
    terms of one sign, added one by one, is exact to T half bits of itself, and each of them, made
    of d squares, their sum, a difference and two products, to d + 4 more. Two learners differ by
    twice as much. Steps that stay have no swing (w_1 is 0), and nothing is left over.
    """
    inside = getattr(learner, "inner", learner)
    sums, base = inside._state.certificate, inside._base_offsets
    constant = np.broadcast_to(inside._constant_steps, len(base))

    def value(k: int) -> float:
        own = sums.of_experts(slice(k, k + 1))
        return own.bound(inside._geometry, path, base[k : k + 1], constant[k : k + 1])

    best = min(range(len(base)), key=value)
    if sums.squared_norm_change[best] == 0.0:
        return 0.0
    terms = (
        abs(sums.squared_norm_change[best])
        + sums.inverse_step[best] * float(base[best] @ base[best]) / 2
    )
    return 2 * (duel.horizon + duel.domain.dim + 4) * HALF_A_BIT * float(terms)


def strays(duel: Duel, make: Callable[[Duel], Any]) -> dict[str, float]:
    """How far the readable learner strays from itself when features change in their last bit, in
    each thing that is compared.

    Steps far beyond 1/L make experts bounce between walls, and some games multiply every rounding
    error by bouncing; there no two ways of adding can agree, the readable learner's own included.
    """
    first, stream = make(duel), duel.stream
    theirs = sp.play(first, stream, engine="python", keep=kept(first))
    largest: dict[str, float] = {}
    for seed in range(5):
        nudge = 1.0 + LAST_BIT * np.random.default_rng(seed).choice(
            [-1.0, 1.0], size=stream.features.shape
        )
        rows = (
            scipy.sparse.csr_matrix(stream.features.multiply(nudge))
            if stream.sparse
            else stream.features * nudge
        )
        other = make(duel)
        nudged = sp.LinearStream(rows, stream.targets, stream.loss, threshold=stream.threshold)
        ours = sp.play(other, nudged, engine="python", keep=kept(other))
        for name, by in apart(duel, (other, ours), (first, theirs)).items():
            largest[name] = max(largest.get(name, 0.0), by)
    return largest


def bouncing(make: Callable[[Duel], Any], duels: Iterable[Duel]) -> list[str]:
    """Play duels, whose two learners must agree.

    The names of those in which the readable one hardly agrees with itself.

    What differs by more than rounding is held against what the same thing strays by, and nothing
    else is excused by it.
    """
    names = []
    for one in duels:
        if found := {name: by for name, by in gaps(one, make).items() if not by <= TWIN}:
            spread = strays(one, make)
            for name, by in found.items():
                assert by <= OWN_SPREAD * spread[name], (
                    f"{one.name}: {name} differs by {by:.1e}, strays by {spread[name]:.1e}"
                )
            names.append(one.name)
    return names
