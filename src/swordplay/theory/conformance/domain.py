"""What a domain promises."""

from __future__ import annotations

import numpy as np

from swordplay.core.types import Domain, Matrix
from swordplay.theory.conformance.promises import (
    CLOSE,
    FAR,
    ROUNDING,
    around,
    at_most,
    first,
    has_shape,
    norms,
    promise,
)


def check_domain(domain: Domain, *, seed: int = 0) -> None:
    """Hold a domain to its promises.

    A feasible centre; a projection that is feasible, idempotent, non-expansive and makes an obtuse
    angle with the domain (the variational inequality, which only the nearest point satisfies); a
    batch that is its rows; a membership test and a support function that agree with the projection;
    a diameter that nothing exceeds.
    """
    rng = np.random.default_rng(seed)
    d, D, center = domain.dim, domain.diameter, np.asarray(domain.center)
    promise(
        d >= 1 and np.isfinite(D) and D > 0,
        "a domain has dim >= 1 and a positive diameter",
        f"dim {d}, diameter {D}",
    )
    promise(center.shape == (d,), "center has shape (dim,)", f"shape {center.shape} for dim {d}")
    slack = ROUNDING * (D + float(np.linalg.norm(center)))
    promise(
        bool(domain.contains(center, atol=slack)), "center lies in the domain", f"center {center}"
    )

    points = around(domain, rng, 60)
    before = points.copy()
    nearest = domain.project(points)
    promise(
        np.array_equal(points, before),
        "project leaves its argument alone",
        "the points were changed",
    )
    has_shape("project", nearest, points.shape)
    has_shape("project", domain.project(points.reshape(3, 20, d)), (3, 20, d))
    has_shape("contains", domain.contains(points), (60,))
    single = np.stack([domain.project(point) for point in points])
    at_most(norms(single - nearest), slack, "projecting a batch is projecting its rows")
    promise(
        bool(domain.contains(nearest, atol=slack).all()),
        "a projection lies in the domain",
        f"got {first(nearest)}",
    )
    at_most(norms(domain.project(nearest) - nearest), slack, "projecting twice is projecting once")
    apart, kept_apart = _pairwise(points), _pairwise(nearest)
    at_most(kept_apart - apart, slack, "projections do not move apart (non-expansive)")
    # <x - p, z - p> <= 0 for every feasible z, which tells the nearest point p from any other
    # feasible one
    angles = np.einsum("ij,ikj->ik", points - nearest, nearest[None] - nearest[:, None])
    at_most(
        angles,
        slack * (D + norms(points - nearest))[:, None],
        "a projection is nearest (variational inequality)",
    )
    outside = norms(points - nearest) > CLOSE * D
    promise(
        not domain.contains(points[outside], atol=slack).any(),
        "what a projection moves is not contained",
        "one is",
    )
    at_most(kept_apart - D, slack, "no two points are further apart than the diameter")

    directions = rng.normal(size=(40, d))
    directions /= norms(directions)[:, None]
    support = domain.support(directions)
    has_shape("support", support, (40,))
    at_most(
        directions @ nearest.T - support[:, None], slack, "support is at least every inner product"
    )
    # Proj[c + s a] is within D^2 / s of the best inner product, by the variational inequality at
    # the best point
    reached = np.einsum("ij,ij->i", directions, domain.project(center + FAR * D * directions))
    at_most(support - reached, D / FAR + FAR * slack, "support is reached by a point of the domain")


def _pairwise(points: Matrix) -> Matrix:
    return norms(points[:, None] - points[None])
