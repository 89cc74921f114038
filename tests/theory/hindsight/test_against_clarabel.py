"""The best sequence against a general solver of cone programs: cvxpy with Clarabel."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import swordplay as sp
from swordplay.core.types import Domain
from tolerances import CLARABEL_OBJECTIVE

cp = pytest.importorskip("cvxpy")

PROBLEMS = 100
BUDGETS = 12
"""How many of the problems are also solved for a budget."""
LOSSES = ("squared", "logistic", "huber", "quadratic")
CLOSED = 1e-9
"""Tolerance of best_sequence here, far below the difference that is allowed."""


class Case(NamedTuple):
    """A problem for best_sequence and, as expressions, for cvxpy."""

    stream: Any
    domain: Domain
    penalty: float
    loss: Any
    path: Any
    constraints: list[Any]

    def clarabel_minimum(self, objective: Any, *further: Any) -> float:
        with warnings.catch_warnings():  # a warning about the last digits is no failure
            warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
            return float(
                cp.Problem(cp.Minimize(objective), [*self.constraints, *further]).solve(
                    solver=cp.CLARABEL
                )
            )


def random_case(seed: int) -> Case:
    rng = np.random.default_rng([6, seed])
    kind = LOSSES[seed % 4]
    d, T = int(rng.integers(1, 6)), int(10 ** rng.uniform(0.5, 2.3))
    domain = random_domain(rng, d)
    d = domain.dim
    u = cp.Variable((T, d))
    target = domain.project(domain.center + np.cumsum(0.2 * rng.normal(size=(T, d)), axis=0))
    if kind == "quadratic":
        stream, loss = quadratics(rng, target, u)
    else:
        features = rng.normal(size=(T, d)) * 10 ** rng.uniform(-0.5, 0.5)
        noise = rng.choice([0.1, 1.0]) * rng.normal(size=T)
        stream, loss = linear(kind, features, np.einsum("ij,ij->i", features, target) + noise, u)
    path = cp.sum(cp.norm(u[1:] - u[:-1], axis=1))
    return Case(stream, domain, 10 ** rng.uniform(-2, 1.5), loss, path, constraints(domain, u))


def random_domain(rng: np.random.Generator, d: int) -> Domain:
    kind = rng.integers(3)
    if kind == 0:
        return sp.Ball(d, rng.uniform(0.3, 2.0), rng.normal(size=d))
    if kind == 1:
        lower = rng.normal(size=d)
        return sp.Box(lower, lower + rng.uniform(0.2, 2.0, size=d))
    return sp.Simplex(max(d, 2), rng.uniform(0.5, 2.0))


def linear(kind: str, features: np.ndarray, scores: np.ndarray, u: Any) -> tuple[Any, Any]:
    predictions, threshold = cp.sum(cp.multiply(features, u), axis=1), 0.4
    if kind == "logistic":
        labels = (scores > np.median(scores)).astype(float)
        loss = cp.sum(cp.logistic(cp.multiply(1 - 2 * labels, predictions)))
        return sp.LinearStream(features, labels, "logistic"), loss
    residuals = predictions - scores
    loss = 0.5 * (
        cp.sum_squares(residuals) if kind == "squared" else cp.sum(cp.huber(residuals, threshold))
    )
    return sp.LinearStream(
        features, scores, "huber" if kind == "huber" else "squared", threshold=threshold
    ), loss


def quadratics(rng: np.random.Generator, target: np.ndarray, u: Any) -> tuple[Any, Any]:
    T, d = target.shape
    roots = rng.normal(size=(T, 2, d))  # of rank two, constant in the other directions
    aims = np.einsum("tij,tj->ti", roots, target) + 0.3 * rng.normal(size=(T, 2))
    stream = [
        sp.QuadraticLoss(C.T @ C, C.T @ e, 0.5 * float(e @ e))
        for C, e in zip(roots, aims, strict=True)
    ]
    parts = [cp.sum(cp.multiply(roots[:, i], u), axis=1) - aims[:, i] for i in range(2)]
    return stream, 0.5 * sum(cp.sum_squares(part) for part in parts)


def constraints(domain: Domain, u: Any) -> list[Any]:
    if isinstance(domain, sp.Ball):
        return [cp.norm(u - domain.center[None], axis=1) <= domain.radius]
    if isinstance(domain, sp.Box):
        return [u >= domain.lower[None], u <= domain.upper[None]]
    assert isinstance(domain, sp.Simplex)
    return [u >= 0, cp.sum(u, axis=1) == domain.total]


@pytest.mark.parametrize(
    "seed", [pytest.param(k, marks=() if k % 2 else pytest.mark.deep) for k in range(PROBLEMS)]
)
def test_same_objective_as_clarabel(seed: int) -> None:
    case = random_case(seed)
    ours = sp.hindsight.best_sequence(
        case.stream, case.domain, penalty=case.penalty, tolerance=CLOSED
    )
    theirs = case.clarabel_minimum(case.loss + case.penalty * case.path)
    value = ours.loss + case.penalty * ours.path_length
    assert value == pytest.approx(theirs, rel=CLARABEL_OBJECTIVE, abs=CLARABEL_OBJECTIVE)
    assert value - ours.gap <= theirs + CLARABEL_OBJECTIVE * (1 + abs(theirs))


@pytest.mark.parametrize("seed", range(BUDGETS))
def test_same_objective_as_clarabel_within_a_budget(seed: int) -> None:
    case = random_case(seed)
    budget = (
        0.4 * sp.hindsight.best_sequence(case.stream, case.domain, penalty=case.penalty).path_length
    )
    ours = sp.hindsight.best_sequence(
        case.stream, case.domain, path_length=budget, tolerance=CLOSED
    )
    theirs = case.clarabel_minimum(case.loss, case.path <= budget)
    assert ours.path_length <= budget * (1 + CLARABEL_OBJECTIVE) + CLARABEL_OBJECTIVE
    assert ours.loss == pytest.approx(theirs, rel=CLARABEL_OBJECTIVE, abs=CLARABEL_OBJECTIVE)
    assert ours.loss - ours.gap <= theirs + CLARABEL_OBJECTIVE * (1 + abs(theirs))
