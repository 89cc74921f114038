"""Checks of domains, losses, experts, metas and learners that you wrote yourself.

Each check evaluates the object at seeded random inputs and raises an :class:`AssertionError` that
names a property that does not hold, with the numbers observed. No test framework is needed. The
package's own parts pass all checks.

>>> import swordplay as sp
>>> check_domain(sp.Ball(dim=3))
>>> check_loss(sp.SquaredLoss([1.0, 2.0, 0.5], target=1.0), sp.Ball(dim=3))
>>> check_meta(sp.Sword, sp.Ball(dim=3))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any, Protocol

import numpy as np

from swordplay.core import state
from swordplay.core.types import Array, Domain, Learner, Loss, Matrix, State, Vector
from swordplay.parts.experts import Experts, base_offset, has_constant_steps
from swordplay.parts.learners.certificate import CertificateState, Displacement, DomainGeometry
from swordplay.parts.losses import FunctionLoss, QuadraticLoss, SquaredLoss
from swordplay.parts.metas import Meta, telescoping

__all__ = [
    "MetaLearner",
    "check_domain",
    "check_expert",
    "check_learner",
    "check_loss",
    "check_meta",
    "check_weighing",
]

TOLERANCE = 1e-9
"""Slack of inequalities, relative to the size of both sides: 10^6 times the rounding of a step."""
OUTSIDE_DISTANCE = 1e-4
"""Distance from the domain, in diameters, from which a point must count as outside."""
FAR_AWAY = 1e4
"""Distance in diameters: a point this far from the centre projects to nearly an extreme point.

That is the extreme point of the domain in the direction of the point.
"""
SEGMENT_FRACTION = 1e-4
"""Fraction of the segment between two points along which gradients are compared with slopes."""
RISE_TOLERANCE = 1e-14
"""Slack of a rise along ``SEGMENT_FRACTION``, relative to the values: some 50 roundings."""
MAX_EVALUATIONS = 10_000
"""Evaluations of a loss after which a round is assumed never to end."""
LOSS_SHIFT = 100.0
"""Number added to all losses of a meta, which must not change weights; it costs two digits."""
SHIFT_TOLERANCE = 1e-7
"""``TOLERANCE`` times the loss of two digits; rounding adds up over some tens of rounds."""


def check_domain(domain: Domain, *, seed: int = 0) -> None:
    """Check a domain.

    The centre is feasible. The projection is feasible, idempotent, non-expansive and satisfies the
    variational inequality, which holds for the nearest point only; a batch gives the results of its
    rows. The membership test and the support function agree with the projection, and no two points
    are further apart than the diameter.
    """
    rng = np.random.default_rng(seed)
    d, D, center = domain.dim, domain.diameter, np.asarray(domain.center)
    _expect(
        d >= 1 and np.isfinite(D) and D > 0,
        "a domain has dim >= 1 and a positive diameter",
        f"dim {d}, diameter {D}",
    )
    _expect(center.shape == (d,), "center has shape (dim,)", f"shape {center.shape} for dim {d}")
    slack = TOLERANCE * (D + float(np.linalg.norm(center)))
    _expect(
        bool(domain.contains(center, atol=slack)), "center lies in the domain", f"center {center}"
    )

    points = _points_around(domain, rng, 60)
    points_before = points.copy()
    projections = domain.project(points)
    _expect(
        np.array_equal(points, points_before),
        "project leaves its argument alone",
        "the points were changed",
    )
    _expect_shape("project", projections, points.shape)
    _expect_shape("project", domain.project(points.reshape(3, 20, d)), (3, 20, d))
    _expect_shape("contains", domain.contains(points), (60,))
    projected_alone = np.stack([domain.project(point) for point in points])
    _expect_at_most(
        _norms(projected_alone - projections), slack, "projecting a batch is projecting its rows"
    )
    _expect(
        bool(domain.contains(projections, atol=slack).all()),
        "a projection lies in the domain",
        f"got {_first_point(projections)}",
    )
    _expect_at_most(
        _norms(domain.project(projections) - projections),
        slack,
        "projecting twice is projecting once",
    )
    distances, projected_distances = _distances(points), _distances(projections)
    _expect_at_most(
        projected_distances - distances, slack, "projections do not move apart (non-expansive)"
    )
    # <x - p, z - p> <= 0 for every feasible z: true for the nearest feasible point p only
    inner_products = np.einsum(
        "ij,ikj->ik", points - projections, projections[None] - projections[:, None]
    )
    _expect_at_most(
        inner_products,
        slack * (D + _norms(points - projections))[:, None],
        "a projection is nearest (variational inequality)",
    )
    is_outside = _norms(points - projections) > OUTSIDE_DISTANCE * D
    _expect(
        not domain.contains(points[is_outside], atol=slack).any(),
        "a point that a projection moves is not contained",
        "one is contained",
    )
    _expect_at_most(
        projected_distances - D, slack, "no two points are further apart than the diameter"
    )

    directions = rng.normal(size=(40, d))
    directions /= _norms(directions)[:, None]
    support = domain.support(directions)
    _expect_shape("support", support, (40,))
    _expect_at_most(
        directions @ projections.T - support[:, None],
        slack,
        "support is at least every inner product",
    )
    # <a, Proj[c + s a]> is at most D^2 / s below the support of a: the variational inequality at
    # the point of the domain with the largest inner product.
    attained_products = np.einsum(
        "ij,ij->i", directions, domain.project(center + FAR_AWAY * D * directions)
    )
    _expect_at_most(
        support - attained_products,
        D / FAR_AWAY + FAR_AWAY * slack,
        "support is reached by a point of the domain",
    )


def check_loss(loss: Loss, domain: Domain, *, seed: int = 0) -> None:
    """Check a loss on a domain.

    Values and gradients have their shapes; a batch gives the results of its rows. Gradients are the
    slopes of the values. Values are convex along segments and lie above their tangents. The
    gradient is Lipschitz with the constant ``smoothness``, if that is not None.
    """
    rng = np.random.default_rng(seed)
    x, y = (
        domain.project(_points_around(domain, rng, 60)),
        domain.project(_points_around(domain, rng, 60)),
    )
    x_before = x.copy()
    fx, fy, gx, gy = loss.value(x), loss.value(y), loss.gradient(x), loss.gradient(y)
    _expect(
        np.array_equal(x, x_before),
        "value and gradient leave their argument alone",
        "the points were changed",
    )
    for batch_shape in [(), (60,), (3, 20)]:
        batch = x[0] if batch_shape == () else x.reshape(*batch_shape, domain.dim)
        _expect_shape("value", loss.value(batch), batch_shape)
        _expect_shape("gradient", loss.gradient(batch), batch.shape)
    _expect(
        bool(np.isfinite(fx).all() and np.isfinite(gx).all()),
        "values and gradients are finite",
        "one number is not",
    )

    length = _norms(y - x)
    size = np.abs(fx) + np.abs(fy) + (length + _norms(x)) * (_norms(gx) + _norms(gy))
    slack = TOLERANCE * (size + float(size.max()))
    _expect_at_most(
        np.abs(np.array([loss.value(point) for point in x]) - fx),
        slack,
        "the values of a batch are those of its rows",
    )
    gradients_alone = np.stack([loss.gradient(point) for point in x])
    _expect_at_most(
        _norms(gradients_alone - gx) * domain.diameter,
        slack,
        "the gradients of a batch are those of its rows",
    )

    for fraction in (0.1, 0.5, 0.7):
        value_between = loss.value((1 - fraction) * x + fraction * y)
        _expect_at_most(
            value_between - (1 - fraction) * fx - fraction * fy,
            slack,
            f"values are convex (at {fraction} of a segment)",
        )
    _expect_at_most(
        fx + np.einsum("ij,ij->i", gx, y - x) - fy,
        slack,
        "values lie above their tangents (convexity)",
    )
    # A convex value rises between z and w by at least <g(z), w - z> and at most <g(w), w - z>.
    z, w = x, x + SEGMENT_FRACTION * (y - x)
    rise = loss.value(w) - loss.value(z)
    min_rise, max_rise = (np.einsum("ij,ij->i", loss.gradient(end), w - z) for end in (z, w))
    _expect_at_most(
        np.maximum(min_rise - rise, rise - max_rise),
        RISE_TOLERANCE * size,
        "the gradient is the slope of the value",
    )
    if loss.smoothness is not None:
        allowed = loss.smoothness * length + slack / domain.diameter
        _expect_at_most(
            _norms(gx - gy) - allowed,
            0.0,
            f"gradients change no faster than smoothness = {loss.smoothness}",
        )


def check_expert(
    make: Callable[[Domain], Experts],
    domain: Domain,
    losses: Sequence[Loss] | None = None,
    *,
    seed: int = 0,
) -> None:
    """Check a class of experts.

    All experts start at the centre and stay in the domain; gradients are evaluated in the domain
    only. A step is a function from state to state that changes no array in place and passes errors
    on. Each expert's regret is at most its terms of the certificate, against the worst comparators
    that are constant, change now and then, or change in every round.

    Parameters
    ----------
    make
        Makes the experts for a domain.
    domain
        The domain of the game.
    losses
        Losses to play; convex quadratics with moving minimisers by default. In addition linear
        losses of alternating sign are played, on which a step is as long as the diameter.
    seed
        Seed of the losses.
    """
    rng = np.random.default_rng(seed)
    experts = make(domain)
    _check_steps(experts, domain, _moving_quadratics(domain, rng, 40) if losses is None else losses)
    for step_size in experts.step_sizes(experts.start()):
        gradient_norm = domain.diameter / step_size if np.isfinite(step_size) else 1.0
        _check_steps(experts, domain, _alternating_losses(domain, rng, gradient_norm))


def check_weighing(
    make: Callable[[], Meta], *, experts: int = 4, rounds: int = 40, seed: int = 0
) -> None:
    """Check a meta: a rule for the weights of experts, such as ``sp.metas.Squint``.

    Weights start at the prior and stay positive with a sum of 1. A round is a function from state
    to state that changes no array in place. A number added to all losses of a round changes no
    weight. A copied expert shares the weight of its parent. A prior whose sum is not 1 is refused.

    Parameters
    ----------
    make
        Makes the meta.
    experts, rounds
        Number of experts and rounds.
    seed
        Seed of the losses.
    """
    rng = np.random.default_rng(seed)
    expert_losses, optimisms = rng.uniform(-1, 1, (2, rounds, experts))
    optimisms[::3] = 0.0
    meta, prior = make(), telescoping(experts)
    meta_state = shifted_state = meta.start(prior)
    _expect_at_most(np.abs(meta_state.weights - prior), TOLERANCE, "weights start at the prior")
    for t, (losses, optimism) in enumerate(zip(expert_losses, optimisms, strict=True), start=1):
        bytes_before = _state_bytes(meta_state)
        learned_state = meta.learn(meta_state, losses, 1.0)
        _expect(
            _state_bytes(learned_state) == _state_bytes(meta.learn(meta_state, losses, 1.0)),
            "learning is a function of the state",
            f"round {t}",
        )
        _expect(
            _state_bytes(meta_state) == bytes_before,
            "learning does not change its state in place",
            f"in round {t}",
        )
        _expect_shape("weights", learned_state.weights, (experts,))
        weighed_state = meta.weigh(learned_state, optimism)
        _expect(
            np.array_equal(weighed_state.optimism, optimism),
            "the state keeps the optimism",
            f"in round {t}",
        )
        p = weighed_state.weights
        _expect(
            bool((p > 0).all()) and abs(float(p.sum()) - 1) <= TOLERANCE,
            "weights are positive and sum to 1",
            f"got {p}",
        )
        shifted_state = meta.learn(shifted_state, losses + LOSS_SHIFT, 1.0)
        shifted_state = meta.weigh(shifted_state, optimism)
        _expect_at_most(
            np.abs(shifted_state.weights - p),
            SHIFT_TOLERANCE,
            f"a shift of all losses changes no weight (round {t})",
        )
        meta_state = weighed_state
    # The last expert is copied: the copy and its parent share its prior and its weight in halves.
    parents = np.append(np.arange(experts), experts - 1)
    shared_prior = np.append(prior, prior[-1] / 2)
    shared_prior[experts - 1] /= 2
    copied_weights = meta.copy_experts(meta_state, parents, shared_prior).weights
    expected_weights = np.append(meta_state.weights, meta_state.weights[-1] / 2)
    expected_weights[experts - 1] /= 2
    _expect_at_most(
        np.abs(copied_weights - expected_weights),
        TOLERANCE,
        "a copied expert shares the weight of its parent",
    )
    _expect_error(lambda: meta.start(prior / 2), "a prior whose sum is not 1 is refused")


def check_learner(
    make: Callable[[Domain], Learner],
    domain: Domain,
    losses: Sequence[Loss] | None = None,
    *,
    seed: int = 0,
) -> None:
    """Check a learner.

    Decisions lie in the domain, depend on past losses only, and do not change when they are read.
    Rounds are counted. A loss with an invalid value or gradient is refused and changes nothing,
    whichever evaluation of the round is invalid. A learner that loads a saved state continues with
    the same bits.

    Parameters
    ----------
    make
        Makes the learner for a domain.
    domain
        The domain of the game.
    losses
        Losses to play; convex quadratics with moving minimisers by default.
    seed
        Seed of the losses.
    """
    rng = np.random.default_rng(seed)
    losses = _moving_quadratics(domain, rng, 40) if losses is None else losses
    slack = TOLERANCE * (domain.diameter + float(np.linalg.norm(domain.center)))
    middle_round = len(losses) // 2
    learner, past_learner = make(domain), make(domain)  # past_learner stops half-way
    saved_state: State = {}
    decisions = []
    for t, loss in enumerate(losses):
        decision = np.array(learner.decision)
        _expect_shape("decision", decision, (domain.dim,))
        _expect(
            bool(domain.contains(decision, atol=slack)),
            "decisions lie in the domain",
            f"got {decision} in round {t + 1}",
        )
        _expect(
            learner.decision.tobytes() == decision.tobytes(),
            "reading a decision does not change it",
            f"round {t + 1}",
        )
        _expect(
            learner.rounds == t, "rounds counts the losses observed", f"{learner.rounds} after {t}"
        )
        if t == middle_round:
            saved_state = learner.state()
        decisions.append(decision)
        learner.observe(loss)
        # At round `middle_round` both have the same past: the losses that follow may not matter.
        if t < middle_round:
            past_learner.observe(loss)
    _expect(
        np.array_equal(past_learner.decision, decisions[middle_round]),
        "decisions depend on past losses only",
        f"in round {middle_round + 1}",
    )
    _check_refusals(past_learner, losses[middle_round])

    saved_state_copy = {name: np.array(value) for name, value in saved_state.items()}
    resumed_learner = make(domain)
    resumed_learner.load_state(saved_state)
    _overwrite(saved_state)
    for t in range(middle_round, len(losses)):
        is_same = resumed_learner.decision.tobytes() == decisions[t].tobytes()
        _expect(
            is_same,
            "a learner with a loaded state continues with the same bits",
            f"{resumed_learner.decision} instead of {decisions[t]} in round {t + 1}",
        )
        resumed_learner.observe(losses[t])
    _expect(
        _same_state(resumed_learner.state(), learner.state()),
        "a learner with a loaded state ends in the state of the saved one",
        "they differ",
    )
    resumed_learner.load_state(saved_state_copy)
    _expect(
        _same_state(resumed_learner.state(), saved_state_copy),
        "a learner that has played can load a state",
        "the state differs",
    )


class MetaLearner(Learner, Protocol):
    """A learner that weighs experts."""

    @property
    def weights(self) -> Vector:
        """p_t, shape ``(N,)``."""
        ...

    @property
    def points(self) -> Matrix:
        """x_{t,i}, shape ``(N, d)``."""
        ...

    def certificate(self, path_length: float) -> float:
        """Upper bound on the regret so far against comparators of at most this path length."""
        ...


def check_meta(
    make: Callable[[Domain], MetaLearner],
    domain: Domain,
    losses: Sequence[Loss] | None = None,
    *,
    seed: int = 0,
) -> None:
    """Check a learner that weighs experts by a meta, in addition to :func:`check_learner`.

    Weights are positive with a sum of 1. Experts stay in the domain, and the decision is their
    weighted mean. The regret never exceeds the certificate, for constant and moving comparators.
    """
    check_learner(make, domain, losses, seed=seed)
    rng = np.random.default_rng(seed)
    losses = _moving_quadratics(domain, rng, 40) if losses is None else losses
    slack = TOLERANCE * (domain.diameter + float(np.linalg.norm(domain.center)))
    learner, comparators = make(domain), _comparators(domain, losses, rng)
    regret = np.zeros(len(comparators))
    for t, loss in enumerate(losses):
        p, x = learner.weights, learner.points
        _expect(
            bool((p > 0).all()) and abs(float(p.sum()) - 1) <= TOLERANCE,
            "weights are positive and sum to 1",
            f"got {p}",
        )
        _expect(
            bool(domain.contains(x, atol=slack).all()),
            "experts stay in the domain",
            f"got {_first_point(x)} in round {t + 1}",
        )
        _expect_at_most(
            _norms(p @ x - learner.decision),
            slack,
            "the decision is the weighted mean of the points",
        )
        regret += [
            float(loss.value(learner.decision) - loss.value(comparator[t]))
            for comparator in comparators
        ]
        learner.observe(loss)
        for comparator, regret_so_far in zip(comparators, regret, strict=True):
            bound = learner.certificate(float(_norms(np.diff(comparator[: t + 1], axis=0)).sum()))
            _expect_at_most(
                regret_so_far - bound,
                TOLERANCE * (1 + abs(bound)),
                f"regret stays below the certificate (round {t + 1})",
            )


def _check_steps(experts: Experts, domain: Domain, losses: Sequence[Loss]) -> None:
    """Play losses with experts, and check every step and the regret of each expert."""
    slack = TOLERANCE * (domain.diameter + float(np.linalg.norm(domain.center)))
    expert_state = experts.start()
    N = len(expert_state.points)
    _expect_shape("points", expert_state.points, (N, domain.dim))
    _expect_at_most(
        _norms(expert_state.points - domain.center), slack, "every expert starts at the centre"
    )
    points, gradients, certificate = [], [], CertificateState.at_start(N)
    for t, loss in enumerate(losses, start=1):
        bytes_before = _state_bytes(expert_state)

        def checked_gradient(points: Array, loss: Loss = loss) -> Array:
            is_inside = domain.contains(points, atol=slack).all()
            _expect(
                bool(is_inside),
                "gradients are evaluated in the domain only",
                f"evaluated at {_first_point(points)}",
            )
            return loss.gradient(points)

        _expect_error(
            partial(experts.step, expert_state, _failing_gradient),
            "a step passes the error of the gradient on",
        )
        next_state, step_record = experts.step(expert_state, checked_gradient)
        repeated_state, _ = experts.step(expert_state, checked_gradient)
        _expect(
            _state_bytes(expert_state) == bytes_before,
            "a step does not change its state in place",
            f"in round {t}",
        )
        _expect(
            _state_bytes(next_state) == _state_bytes(repeated_state),
            "a step is a function of its state",
            f"two answers in round {t}",
        )
        _expect_shape("step sizes", experts.step_sizes(next_state), (N,))
        for name in ("step_sizes", "squared_error", "squared_lookahead"):
            entries = getattr(step_record, name)
            _expect_shape(name, entries, (N,))
            _expect(
                bool((entries >= 0).all()),
                f"{name} is never negative",
                f"got {entries} in round {t}",
            )
        points.append(expert_state.points)
        gradients.append(loss.gradient(expert_state.points))
        displacement = Displacement.of(
            base_offset(expert_state, domain), base_offset(next_state, domain)
        )
        certificate = certificate.with_round(
            linear_regret=np.zeros(N), step=step_record, displacement=displacement
        )
        expert_state = next_state
        is_inside = domain.contains(expert_state.points, atol=slack).all()
        _expect(
            bool(is_inside),
            "the points stay in the domain",
            f"got {_first_point(expert_state.points)} in round {t}",
        )
    for i in range(N):
        own_certificate = certificate.of_experts(np.array([i]))
        _check_regret(
            domain,
            np.array(points)[:, i],
            np.array(gradients)[:, i],
            own_certificate,
            base_offset(expert_state, domain)[i : i + 1],
            has_constant_steps(experts),
        )


def _check_regret(
    domain: Domain,
    points: Matrix,
    gradients: Matrix,
    certificate: CertificateState,
    last_offset: Matrix,
    constant_steps: bool,
) -> None:
    """Check that an expert's linearised regret is at most its terms of the certificate.

    ``last_offset`` is the expert's base point after the last round, relative to the centre, (1, d).
    """
    for block_length in (1, 2, 7, len(points)):
        # The worst comparators that are constant in blocks: boundary points opposite to the sums of
        # the gradients.
        starts = np.arange(0, len(points), block_length)
        directions = -np.add.reduceat(gradients, starts, axis=0)
        directions /= np.maximum(_norms(directions), np.finfo(float).tiny)[:, None]
        block_comparators = domain.project(domain.center + FAR_AWAY * domain.diameter * directions)
        comparators = np.repeat(block_comparators, block_length, axis=0)[: len(points)]
        path_length = float(_norms(np.diff(comparators, axis=0)).sum())
        regret = np.einsum("ij,ij->", gradients, points - comparators)
        bound = certificate.bound(
            DomainGeometry.of(domain), path_length, last_offset, constant_steps
        )
        scale = (
            1
            + abs(bound)
            + float(_norms(gradients).sum())
            * (domain.diameter + float(np.linalg.norm(domain.center)))
        )
        _expect_at_most(
            regret - bound,
            TOLERANCE * scale,
            f"regret stays below its terms (path length {path_length:.3g})",
        )


def _alternating_losses(
    domain: Domain, rng: np.random.Generator, gradient_norm: float
) -> list[Loss]:
    """Linear losses of alternating sign: a step that is too long always ends on the wrong side."""
    gradient = rng.normal(size=domain.dim)
    gradient *= gradient_norm / np.linalg.norm(gradient)
    return [_linear_loss(sign * gradient) for sign in (1.0, -1.0) * 10]


def _linear_loss(gradient: Vector) -> Loss:
    """The loss <gradient, x>."""
    return FunctionLoss(
        lambda points: points @ gradient,
        lambda points: np.broadcast_to(gradient, points.shape),
        0.0,
    )


def _failing_gradient(points: Array) -> Array:
    """A gradient field that raises an error."""
    raise ValueError("this gradient fails")


def _check_refusals(learner: Learner, valid_loss: Loss) -> None:
    """Check that an invalid loss leaves the learner unchanged, whichever evaluation is invalid."""
    faults: list[tuple[str, Callable[[tuple[int, ...]], Any]]] = [
        ("NaN", lambda shape: np.full(shape, np.nan)),
        ("infinity", lambda shape: np.full(shape, np.inf)),
        ("the wrong shape", lambda shape: np.zeros((*shape, 2))),
    ]
    state_before, decision, rounds = learner.state(), learner.decision.tobytes(), learner.rounds
    for fault_name, fault in faults:
        for valid_count in count():
            _expect(
                valid_count < MAX_EVALUATIONS,
                "a round ends",
                f"the loss was evaluated {valid_count} times",
            )
            broken_loss = _BrokenLoss(valid_loss, valid_count, fault)
            try:
                learner.observe(broken_loss)
            except (ValueError, TypeError):
                unchanged = (
                    _same_state(learner.state(), state_before)
                    and learner.decision.tobytes() == decision
                )
                _expect(
                    unchanged and learner.rounds == rounds,
                    "a refused loss changes nothing",
                    f"the loss gave {fault_name}",
                )
                continue
            # No evaluation was invalid this time, so earlier passes have tried every position. Undo
            # this valid round.
            _expect(
                valid_count > 0, f"a loss that gives {fault_name} is refused", "it was accepted"
            )
            learner.load_state(state_before)
            break
    _expect_error(lambda: learner.load_state({}), "an empty state is refused")
    _expect(
        _same_state(learner.state(), state_before),
        "a refused state changes nothing",
        "the state changed",
    )


class _BrokenLoss:
    """A loss whose first ``valid_count`` evaluations are valid and all later ones invalid."""

    def __init__(
        self, valid_loss: Loss, valid_count: int, fault: Callable[[tuple[int, ...]], Any]
    ) -> None:
        self.smoothness = valid_loss.smoothness
        self._valid_loss, self._fault = valid_loss, fault
        self._valid_evaluations = iter(range(valid_count))

    def value(self, points: Array) -> Any:
        return (
            self._valid_loss.value(points)
            if next(self._valid_evaluations, None) is not None
            else self._fault(points.shape[:-1])
        )

    def gradient(self, points: Array) -> Any:
        return (
            self._valid_loss.gradient(points)
            if next(self._valid_evaluations, None) is not None
            else self._fault(points.shape)
        )


def _same_state(left: State, right: State) -> bool:
    """Whether two saved states are identical."""
    return left.keys() == right.keys() and all(
        np.array_equal(left[name], right[name]) for name in left
    )


def _overwrite(saved_state: State) -> None:
    """Write zeros into a saved state; a learner that has loaded it must hold copies only."""
    for value in saved_state.values():
        if isinstance(value, np.ndarray):
            value.fill(0.0)


def _state_bytes(part_state: Any) -> list[bytes]:
    """The bytes of all arrays of a state of experts or of a meta."""
    return [np.asarray(array).tobytes() for array in state.save(part_state).values()]


def _moving_quadratics(domain: Domain, rng: np.random.Generator, rounds: int) -> list[Loss]:
    """Convex quadratics and squared losses whose minimisers jump in and around the domain."""
    losses: list[Loss] = []
    target = domain.center
    for t in range(rounds):
        if t % 7 == 0:
            target = _points_around(domain, rng, 1)[0]
        factor = rng.normal(size=(domain.dim, domain.dim)) / np.sqrt(domain.dim)
        quadratic = QuadraticLoss(
            factor @ factor.T,
            factor @ factor.T @ target,
            0.5 * float(np.square(factor.T @ target).sum()),
        )
        features = rng.normal(size=domain.dim)
        losses.append(
            quadratic
            if t % 2
            else SquaredLoss(features, float(features @ target + 0.1 * rng.normal()))
        )
    return losses


def _points_around(domain: Domain, rng: np.random.Generator, number: int) -> Matrix:
    """Points inside, near and far from the domain, shape ``(number, d)``."""
    scales = np.resize([0.02, 0.3, 1.0, 20.0], number)[:, None]
    return np.asarray(
        domain.center
        + scales * domain.diameter * rng.normal(size=(number, domain.dim)) / np.sqrt(domain.dim)
    )


def _comparators(domain: Domain, losses: Sequence[Loss], rng: np.random.Generator) -> list[Matrix]:
    """Comparators that are constant, change now and then, and change every round, each (T, d)."""
    rounds = len(losses)
    points = domain.project(_points_around(domain, rng, rounds))
    return [np.repeat(points[:1], rounds, axis=0), np.repeat(points, 7, axis=0)[:rounds], points]


def _first_point(points: Array) -> Array:
    """The first of some points, to show in a message."""
    return np.asarray(points.reshape(-1, points.shape[-1])[0])


def _norms(offsets: Array) -> Array:
    """Euclidean norms along the last axis."""
    return np.asarray(np.linalg.norm(offsets, axis=-1))


def _distances(points: Matrix) -> Matrix:
    """Distances between all pairs of points."""
    return _norms(points[:, None] - points[None])


def _expect(holds: bool, claim: str, observed: str) -> None:
    """Raise an error that names a property and the observation against it, unless it holds."""
    if not holds:
        raise AssertionError(f"{claim}: {observed}.")


def _expect_at_most(left: Any, right: Any, claim: str) -> None:
    """Raise an error unless every number on the left is at most that on the right; NaN fails."""
    excess = np.asarray(left) - right
    if not (excess <= 0).all():
        worst_index = np.unravel_index(
            int(np.argmax(np.where(np.isnan(excess), np.inf, excess))), excess.shape
        )
        allowed = np.broadcast_to(right, excess.shape)[worst_index]
        raise AssertionError(
            f"{claim}: off by {np.broadcast_to(left, excess.shape)[worst_index]:.6g}, allowed "
            f"{allowed:.3g}."
        )


def _expect_shape(name: str, answer: Any, expected: tuple[int, ...]) -> None:
    """Raise an error unless an answer has its shape."""
    _expect(
        np.shape(answer) == expected,
        f"{name} has shape {expected}",
        f"got shape {np.shape(answer)}",
    )


def _expect_error(action: Callable[[], object], claim: str) -> None:
    """Raise an error unless an action raises ValueError or TypeError."""
    try:
        action()
    except (ValueError, TypeError):
        return
    raise AssertionError(f"{claim}: no ValueError or TypeError was raised.")
