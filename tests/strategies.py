"""Hypothesis strategies: domains, points, losses, games and tables of expert losses."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import swordplay as sp

seeds = st.integers(0, 2**32 - 1)


def numbers(size: float = 10.0) -> st.SearchStrategy[float]:
    """Real numbers of at most ``size``; nothing so small that its square underflows."""
    return st.floats(-size, size, allow_nan=False).map(lambda x: 0.0 if abs(x) < 1e-100 else x)


def vectors(dim: int, size: float = 10.0) -> st.SearchStrategy[np.ndarray]:
    return arrays(np.float64, dim, elements=numbers(size))


def tables(rows: int, columns: int, size: float = 10.0) -> st.SearchStrategy[np.ndarray]:
    return arrays(np.float64, (rows, columns), elements=numbers(size))


@st.composite
def balls(draw: st.DrawFn, dim: int) -> sp.Ball:
    return sp.Ball(dim, draw(st.floats(1e-2, 1e2)), draw(vectors(dim)))


@st.composite
def boxes(draw: st.DrawFn, dim: int) -> sp.Box:
    lower = draw(vectors(dim))
    sides = draw(arrays(np.float64, dim, elements=st.floats(0.0, 20.0)))
    sides[draw(st.integers(0, dim - 1))] = draw(
        st.floats(1e-2, 20.0)
    )  # a box may be flat, but not in every direction
    return sp.Box(lower, lower + sides)


@st.composite
def simplices(draw: st.DrawFn, dim: int) -> sp.Simplex:
    return sp.Simplex(dim, draw(st.floats(1e-2, 1e2)))


@st.composite
def domains(draw: st.DrawFn, max_dim: int = 6) -> sp.Domain:
    """A ball, a box or a simplex."""
    dim = draw(st.integers(1, max_dim))
    kinds = [balls(dim), boxes(dim)] + ([simplices(dim)] if dim >= 2 else [])
    return draw(st.one_of(kinds))


@st.composite
def quadratics(draw: st.DrawFn, dim: int) -> sp.QuadraticLoss:
    half = draw(tables(dim, dim, 3.0))
    matrix = half @ half.T
    return sp.QuadraticLoss((matrix + matrix.T) / 2, draw(vectors(dim)), draw(numbers()))


def losses(dim: int) -> st.SearchStrategy[sp.Loss]:
    """A loss of any kind in ``dim`` coordinates."""
    return st.one_of(
        st.builds(sp.SquaredLoss, vectors(dim), numbers()),
        st.builds(sp.LogisticLoss, vectors(dim), st.integers(0, 1)),
        st.builds(sp.HuberLoss, vectors(dim), numbers(), st.floats(1e-2, 10.0)),
        quadratics(dim),
    )


@st.composite
def tracking(
    draw: st.DrawFn, max_dim: int = 4, max_rounds: int = 60
) -> tuple[sp.Domain, list[sp.QuadraticLoss]]:
    """A domain and quadratics whose minimisers jump about in and around it: generic games, free
    of exact ties.
    """
    domain = draw(domains(max_dim))
    rng = np.random.default_rng(draw(seeds))
    rounds = draw(st.integers(1, max_rounds))
    return domain, tracking_losses(domain, rounds, rng)


def tracking_losses(
    domain: sp.Domain, rounds: int, rng: np.random.Generator
) -> list[sp.QuadraticLoss]:
    return [tracked(*piece) for piece in tracking_pieces(domain, rounds, rng)]


def tracking_pieces(
    domain: sp.Domain, rounds: int, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Matrices A_t and minimisers c_t of 0.5 (x - c)'A(x - c)."""
    pieces = []
    target = domain.center
    for t in range(rounds):
        if t % 9 == 0:
            target = domain.center + domain.diameter * rng.normal(size=domain.dim)
        half = rng.normal(size=(domain.dim, domain.dim))
        pieces.append(
            (
                (half @ half.T) / domain.dim,
                target + 0.1 * domain.diameter * rng.normal(size=domain.dim),
            )
        )
    return pieces


def tracked(matrix: np.ndarray, minimiser: np.ndarray, scale: float = 1.0) -> sp.QuadraticLoss:
    constant = 0.5 * float(minimiser @ matrix @ minimiser)
    return sp.QuadraticLoss(scale * matrix, scale * (matrix @ minimiser), scale * constant)
