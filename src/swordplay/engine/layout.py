"""Memory layout of a compiled learner: every number declared once, with its meaning and range.

A learner is five arrays of doubles, :class:`LearnerArrays`. Each row of ``experts`` and of
``vectors`` and each entry of ``scalars`` and ``settings`` is declared below by a field of a named
tuple. ``EXPERT``, ``VECTOR``, ``SCALAR`` and ``SETTING`` hold their indices:
``scalars[SCALAR.learning_rate]``. What is saved, the ranges that loaded numbers must have
(``saved_state``) and the state of the readable learner of ``parts`` (``readable_state``) follow
from the declarations. Indices may change from one version to the next; names are what states are
saved by.

C is the number of experts rounded up to whole blocks of ``BLOCK``, so that loops over experts need
no code for a remainder. Columns of the padding are copies of the last expert without a prior: they
change neither sums nor extremes.

The letters in the comments: a is the row of features of a round and a' that of the round before;
xhat is the base point of an expert and x its point, both relative to the centre of a ball;
g = slope a is a gradient and M the gradient that was expected.
"""

from __future__ import annotations

import functools
import math
from typing import Annotated, Any, NamedTuple, get_type_hints

from swordplay.core.state import MAX_ROUNDS, ROUNDING_TOLERANCE, Field

BLOCK = 8
"""Experts that a loop handles at a time: one vector register of 512 bits, two of 256."""

MAX_SQUARE_SUM = 1e160
"""Largest sum of squared gradients: each is below 1e150, and there are fewer than 2^53 rounds."""
MAX_SLOPE = 1e100
"""Largest derivative of a loss."""
MAX_LOSS = 1e139
"""Largest loss and sum of losses: their squares are summed."""
MAX_DOMAIN_SIZE = 1e165
MAX_SHARE = 1.0 + ROUNDING_TOLERANCE
"""Largest value of a number that is at most 1 up to rounding, in single precision."""

SQUARED, LOGISTIC, HUBER, PINBALL = 0, 1, 2, 3
"""Values of ``SETTING.loss``."""
FIXED, SELF_CONFIDENT, DOUBLING = 0, 1, 2
"""Values of ``SETTING.rate_rule``."""
NO_OPTIMISM, REPLAYED, LEARNED, LAST = 0, 1, 2, 3
"""Values of ``SETTING.optimism_rule``."""
SIMPLEX, BOX = 0, 1
"""Values of ``SETTING.domain``, for domains other than a ball."""


# ------------------------------------------------------------------- declarations


class Saved(NamedTuple):
    """Declaration of a number that saved states hold."""

    field: Field
    """Range of its values."""
    readable: str = ""
    """Name in the state of the readable learner; empty if it has none there."""
    needed_by: str = ""
    """One of the constants below: what it is needed for. Empty if every learner predicts by it."""


def saved(
    readable: str = "",
    needed_by: str = "",
    *,
    low: float = -MAX_SQUARE_SUM,
    high: float = MAX_SQUARE_SUM,
    whole: bool = False,
) -> Saved:
    """Declare a number that saved states hold, with its range."""
    return Saved(Field(low, high, whole), readable, needed_by)


DERIVED = "derived"
"""Marks a number that is computed from the recipe and from saved numbers."""
SCRATCH = "scratch"
"""Marks a number that each round writes before it reads it."""

CERTIFICATE = "certificate"
"""Needed for certificates only; no prediction depends on it."""
SHARP_CERTIFICATE = "sharp certificate"
"""Sharpens certificates; compact records of keyed models use the radius of the domain instead."""
ADAPTIVE = "adaptive steps"
GROWING = "growing pool"
SCHEDULED = "schedule"
"""Set by the schedule of each round, where there is one."""
MOVEMENT_COST = "movement cost"
DISPLAY = "display"
"""Not needed to continue; saved for readers of a state."""


class ExpertRows(NamedTuple):
    """Numbers of the experts: rows of ``LearnerArrays.experts``, one column for each expert.

    ``EXPERT`` is an instance of row indices; ``scalar_functions.expert_rows`` makes one of views of
    the rows, for loops over experts.
    """

    # Hedge over the experts
    weight: Annotated[Any, saved("meta.weights", low=0.0, high=MAX_SHARE)]  # p_t
    # L_t, sum of losses; equal for all experts up to a constant, see SCALAR.least_cumulative
    cumulative: Annotated[Any, saved("meta.cumulative", low=-MAX_LOSS, high=MAX_LOSS)]
    optimism: Annotated[Any, saved("meta.optimism", low=-MAX_LOSS, high=MAX_LOSS)]  # m_t
    log_prior: Annotated[Any, saved("meta.log_prior", GROWING, low=-1e3, high=0.0)]

    # points on a ball: xhat = scale (W + pending_update a'), W a column of the coordinates;
    # x = lookahead_scale xhat - lookahead_step a'
    scale: Annotated[Any, saved(low=1e-60, high=1.0)]
    inverse_scale: Annotated[Any, DERIVED]  # 1 / scale
    pending_update: Annotated[Any, saved()]
    lookahead_scale: Annotated[Any, saved(low=0.0, high=MAX_SHARE)]
    lookahead_step: Annotated[Any, saved()]
    squared_norm: Annotated[Any, saved(low=0.0)]  # |xhat|^2
    # the largest squared_norm since all of them were last computed from the coordinates
    squared_norm_peak: Annotated[Any, saved("", SHARP_CERTIFICATE, low=0.0)]

    # gradients
    slope: Annotated[Any, SCRATCH]  # g_{t,i} = slope a
    expected_slope: Annotated[Any, saved(low=-MAX_SLOPE, high=MAX_SLOPE)]  # M_{t,i} = it times a'
    squared_error: Annotated[Any, SCRATCH]  # |g_{t,i} - M_{t,i}|^2
    squared_error_sum: Annotated[Any, saved("", ADAPTIVE, low=0.0)]
    max_squared_gradient: Annotated[Any, SCRATCH]  # since a call of ``play`` began

    # step sizes; a constant one is in eta and next_eta from the start
    step_size: Annotated[Any, saved("", DISPLAY)]  # or the multiplier c of an adaptive one
    extra_gradient: Annotated[Any, DERIVED]  # 1 for extra-gradient experts, 0 for gradient descent
    eta: Annotated[Any, DERIVED]  # step size of this round
    next_eta: Annotated[Any, DERIVED]  # step size of the next round
    next_inverse_step: Annotated[Any, SCRATCH]  # 1 / next_eta, valid while SCALAR.steps_ready is 1
    inverse_width: Annotated[Any, SCRATCH]  # 1 / (c W), W being SCALAR.step_width
    min_inverse_step: Annotated[Any, SCRATCH]  # lower limit of 1 / eta, for the capped experts

    # sums of the certificate, see parts.learners.certificate
    linear_regret: Annotated[Any, saved("certificate.linear_regret", CERTIFICATE)]
    step_cost: Annotated[Any, saved("certificate.step_cost", CERTIFICATE)]
    inverse_step: Annotated[Any, saved("certificate.inverse_step", CERTIFICATE)]
    inverse_growth: Annotated[Any, saved("certificate.inverse_growth", CERTIFICATE)]
    inverse_largest: Annotated[Any, saved("certificate.inverse_largest", CERTIFICATE)]
    squared_norm_change: Annotated[Any, saved("certificate.squared_norm_change", SHARP_CERTIFICATE)]
    max_squared_norm: Annotated[
        Any, saved("certificate.max_squared_norm", SHARP_CERTIFICATE, low=0.0)
    ]
    weighted_norm_change: Annotated[
        Any, saved("certificate.weighted_norm_change", SHARP_CERTIFICATE, low=0.0)
    ]
    # largest norm of the dual sum S, or a bound on it; its square for learners that keep S
    max_dual_norm: Annotated[Any, saved("certificate.max_dual_norm", SHARP_CERTIFICATE, low=0.0)]
    squared_lookahead: Annotated[Any, saved("", CERTIFICATE, low=0.0)]  # |x_t - xhat_t|^2
    base_norm: Annotated[Any, SCRATCH]  # |xhat|, for adaptive steps where S is not kept
    # 1/f - 1 for a base point projected by the factor f: the dual sum moves by it times xhat / eta
    projection_push: Annotated[Any, SCRATCH]

    # predictions, less that of the centre of a ball
    base_prediction: Annotated[Any, SCRATCH]  # <a, xhat_t>; <a, xhat_{t+1}> after the base step
    prediction: Annotated[Any, SCRATCH]  # <a, x_t>
    next_prediction: Annotated[Any, SCRATCH]  # <a, x_{t+1}>
    deferred_prediction: Annotated[
        Any, SCRATCH
    ]  # <a, x_s> of a row predicted in an earlier round s

    # movement costs of Sword++
    movement_cost: Annotated[Any, saved("", MOVEMENT_COST, low=0.0, high=MAX_LOSS)]
    last_base_prediction: Annotated[Any, saved("", MOVEMENT_COST)]  # <a', xhat_t>

    scratch: Annotated[Any, SCRATCH]


class _Vector(NamedTuple):
    """Vectors of d coordinates: rows of ``LearnerArrays.vectors``."""

    center: Annotated[int, DERIVED]  # of a ball or simplex; the lower corner of a box
    upper: Annotated[int, DERIVED]  # the upper corner of a box
    last_row: Annotated[int, saved()]  # a'
    predicted_row: Annotated[int, SCRATCH]  # row that was predicted and is not learned yet


class _Scalar(NamedTuple):
    """Numbers that change in every round: entries of ``LearnerArrays.scalars``."""

    rounds: Annotated[int, saved("rounds", low=0.0, high=MAX_ROUNDS, whole=True)]
    last_squared_norm: Annotated[int, saved(low=0.0)]  # |a'|^2
    expert_count: Annotated[int, DERIVED]

    # the rule that predicts the next gradient, M_t = trust replayed_slope a'
    replayed_slope: Annotated[int, saved(low=-MAX_SLOPE, high=MAX_SLOPE)]
    # sums of |g_t - Mv_t|^2 - |g_t|^2 and of |g_t - Mv_t|^2 + |g_t|^2, Mv_t = replayed_slope a'
    difference: Annotated[int, saved("optimism.difference")]
    magnitude: Annotated[int, saved("optimism.magnitude", low=0.0)]
    trust: Annotated[int, saved("optimism.trust", low=0.0, high=MAX_SHARE)]

    # the learning rate of Hedge: the sum of its rule's errors, and the largest error (or the level
    # that doubles), see ``meta.update_learning_rate``
    rate_total: Annotated[int, saved("meta.rate.total", low=0.0, high=1e300)]
    rate_level: Annotated[int, saved("meta.rate.level", low=0.0)]
    learning_rate: Annotated[int, saved("meta.rate.value", low=0.0, high=math.inf)]
    prior_cost: Annotated[int, DERIVED]  # ln(1 / smallest prior)
    # least cumulative loss; it is subtracted from all of them in the next round
    least_cumulative: Annotated[int, saved()]
    # factor that normalises the weights, applied by the next prediction; 0 if they are normalised
    weight_factor: Annotated[int, SCRATCH]

    # round after which norms are computed from the coordinates again
    refresh_at: Annotated[int, saved(low=0.0, high=2.0 * MAX_ROUNDS, whole=True)]
    loss_weight: Annotated[int, saved("", SCHEDULED, low=0.0, high=1e60)]

    # scale of the part of the domain in use, see parts.experts.step_sizes.DomainScale
    smoothness: Annotated[int, saved("domain_scale.smoothness", GROWING, low=0.0, high=math.inf)]
    used_width: Annotated[int, saved("domain_scale.width", GROWING, low=0.0, high=math.inf)]
    # 0 for learners that do not measure this scale
    step_shrink: Annotated[int, saved("domain_scale.step_shrink", GROWING, low=0.0, high=1e9)]
    steps_ready: Annotated[int, SCRATCH]  # 1 if the last round left the steps of the next one
    step_width: Annotated[int, SCRATCH]  # W of EXPERT.inverse_width

    # has_prediction is 1 if a row was predicted and its round is not played yet; the next six are
    # its RowProducts, less last_squared_norm, and its prediction
    has_prediction: Annotated[int, SCRATCH]
    squared_norm: Annotated[int, SCRATCH]
    dot_last: Annotated[int, SCRATCH]
    dot_change: Annotated[int, SCRATCH]
    squared_change: Annotated[int, SCRATCH]
    offset: Annotated[int, SCRATCH]
    prediction: Annotated[int, SCRATCH]

    # a row that was predicted in an earlier round: how many rounds ago, and the prediction
    rounds_late: Annotated[int, SCRATCH]
    deferred_prediction: Annotated[int, SCRATCH]

    # since a call of ``play`` began
    max_squared_gradient: Annotated[int, SCRATCH]  # of replayed gradients
    max_squared_row: Annotated[int, SCRATCH]


class _Setting(NamedTuple):
    """Settings: entries of ``LearnerArrays.settings``.

    Two learners whose derived settings differ cannot load each other's states.
    """

    loss: Annotated[int, DERIVED]
    # of the Huber loss, or the level of the pinball loss
    threshold: Annotated[int, saved("", SCHEDULED, low=0.0)]

    domain: Annotated[int, DERIVED]  # SIMPLEX or BOX where points are explicit
    # radius of a ball, total of a simplex, norm of the farthest corner of a box
    domain_size: Annotated[int, saved("", SCHEDULED, low=0.0, high=MAX_DOMAIN_SIZE)]
    diameter: Annotated[int, saved("", SCHEDULED, low=0.0, high=2.0 * MAX_DOMAIN_SIZE)]
    diameter_per_size: Annotated[int, DERIVED]  # 2 on a ball
    has_center: Annotated[int, DERIVED]  # 1 if the centre of the ball is not the origin

    adaptive_steps: Annotated[int, DERIVED]  # 1 if steps are c W / sqrt(squared_error_sum)
    shared_gradient: Annotated[int, DERIVED]  # 1 if all experts use the gradient at the decision
    grows: Annotated[int, DERIVED]  # 1 if experts join as rounds go by
    uses_domain_scale: Annotated[int, DERIVED]  # 1 if the first expert of each kind is capped

    rate_rule: Annotated[int, DERIVED]
    # if SELF_CONFIDENT, the learning rate is
    # min{cap, sqrt(factor prior_cost / (offset + rate_total + (floor D)^2 rate_level))}
    rate_cap: Annotated[int, DERIVED]
    rate_offset: Annotated[int, DERIVED]
    rate_factor: Annotated[int, DERIVED]
    rate_floor: Annotated[int, DERIVED]
    decay: Annotated[int, DERIVED]  # factor of the sums of the meta in every round
    optimism_rule: Annotated[int, DERIVED]
    trust_rate: Annotated[int, DERIVED]  # kappa
    movement_charge: Annotated[int, DERIVED]  # 2L: price of a squared movement; 0 for none

    # rounds between two computations of the norms from the coordinates
    refresh_rounds: Annotated[int, saved("", SCHEDULED, low=1.0, high=1e15, whole=True)]
    min_scale: Annotated[int, DERIVED]  # EXPERT.scale is brought back to 1 below this


EXPERT = ExpertRows(*range(len(ExpertRows._fields)))
VECTOR = _Vector(*range(len(_Vector._fields)))
SCALAR = _Scalar(*range(len(_Scalar._fields)))
SETTING = _Setting(*range(len(_Setting._fields)))


@functools.lru_cache(typed=True)  # tuples of equal indices may be of two classes
def declarations(indices: Any) -> dict[str, Any]:
    """Return ``Saved``, ``DERIVED`` or ``SCRATCH`` for each field of ``EXPERT`` and so on."""
    hints = get_type_hints(type(indices), include_extras=True)
    return {name: hints[name].__metadata__[0] for name in indices._fields}


def saved_fields(indices: Any, *, without: tuple[str, ...] = ()) -> dict[str, Saved]:
    """Return the saved numbers of ``EXPERT``, ``VECTOR``, ``SCALAR`` or ``SETTING`` by name.

    ``without`` lists groups of learners; numbers that only these need are left out.
    """
    return {
        name: declared
        for name, declared in declarations(indices).items()
        if isinstance(declared, Saved) and declared.needed_by not in without
    }


def readable_indices(indices: Any, prefix: str) -> dict[str, int]:
    """Return the indices of the numbers in one part of the readable state, such as ``meta``.

    >>> readable_indices(SCALAR, "domain_scale")["width"] == SCALAR.used_width
    True
    """
    return {
        declared.readable.removeprefix(f"{prefix}."): getattr(indices, name)
        for name, declared in saved_fields(indices).items()
        if declared.readable.rpartition(".")[0] == prefix
    }


# ------------------------------------------------------------------- structs of kernels


class LearnerArrays(NamedTuple):
    """The arrays of one learner, or of many if each array has one more axis at the front."""

    coordinates: Any
    """Coordinates of the experts' points: on a ball ``(d, C)``, else ``(2 C, d)``, all base points
    before all points. Double or single precision."""
    experts: Any
    """``(len(EXPERT), C)``; d further rows hold the dual sum S where it is kept."""
    vectors: Any
    """``(len(VECTOR), d)``."""
    scalars: Any
    """``(len(SCALAR),)``."""
    settings: Any
    """``(len(SETTING),)``."""


class RowProducts(NamedTuple):
    """Inner products of the row a of a round, the last row a' and the centre c of the ball."""

    squared_norm: float
    """|a|^2."""
    last_squared_norm: float
    """|a'|^2."""
    dot_last: float
    """<a, a'>."""
    dot_change: float
    """<a, a - a'>."""
    squared_change: float
    """|a - a'|^2."""
    offset: float
    """<a, c>."""


class SparseRows(NamedTuple):
    """Rows of a sparse matrix: row t has the entries ``starts[t]`` to ``starts[t + 1]``."""

    values: Any
    indices: Any
    starts: Any
    last_indices: Any
    """Columns of the entries of the row before the first, shape ``(n,)``."""


class RoundOutputs(NamedTuple):
    """Arrays that a kernel writes, one row for each round; an array may also have none."""

    predictions: Any
    losses: Any
    decisions: Any
    """``(T, d)``."""
    weights: Any
    """``(T, C)``; 0 for experts that have not joined yet."""
