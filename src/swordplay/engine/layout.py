"""How a learner lies in memory: five arrays of doubles, and the table of every number in them.

======== ================ ===================================================================================
array    shape            what
======== ================ ===================================================================================
coords   ``(d, C)``       base points of the experts, a column each; on a ball relative to its centre and unscaled
numbers  ``(EXPERT, C)``  numbers of each expert, a row per kind of number (``EXPERT``); d more where S is kept (``certificate_sum``)
vectors  ``(VECTOR, d)``  rows of d coordinates (``VECTOR``)
live     ``(SCALAR,)``      numbers that change each round (``SCALAR``)
config   ``(SETTING,)``    settings, of which a schedule may change some (``SETTING``)
======== ================ ===================================================================================

C is the number of experts, padded to whole vector registers: every loop over experts runs over
whole blocks and leaves no rest. A padded column is a copy of the last expert that has no prior, so
that it changes no sum and no extreme. There are few arrays because each one costs a tenth of a
microsecond whenever Python calls a kernel, and they hold plain doubles because anything else costs
more.

Each number is declared once, in the classes below: its name, its array, what becomes of it when a
learner is saved, and its name in the readable state. The places that kernels use, saved states
(``saved_state``), the records of Spark and the readable state (``readable_state``) follow from
that. Places may change from one version to the next; names stay.
"""  # noqa: E501

from __future__ import annotations

import functools
import math
from typing import Annotated, Any, NamedTuple, get_type_hints

VAST = 1e160
"""Sums of squared gradients: each is below 1e150, and there are fewer than 2^53 rounds."""
SLACK = 1e-6
"""Rounding of sums that are 1, and of points at the edge of their domain, in single precision."""
SLOPE = 1e100
"""Largest derivative of a loss."""
LOSS = 1e139
"""Largest loss and sum of losses: their squares are summed."""


class Number(NamedTuple):
    """What becomes of a number when its learner is saved, and which values it may have."""

    kept: bool
    """Whether a saved state holds it."""
    when: str = ""
    """Which learners need it to continue; all of them unless given."""
    readable: str = ""
    """Its name in the readable state, if it has one."""
    low: float = -VAST
    """Least value in a saved state."""
    high: float = VAST
    """Largest value in a saved state."""
    whole: bool = False
    """Whether it is a whole number."""


def kept(
    readable: str = "",
    when: str = "",
    *,
    low: float = -VAST,
    high: float = VAST,
    whole: bool = False,
) -> Number:
    """Declare a number that is saved, and the range that is accepted when it is loaded."""
    return Number(True, when, readable, low, high, whole)


MADE = Number(False)
"""Follows from the learner's parts and the saved numbers: computed again."""
SCRATCH = Number(False)
"""Written in each round before it is read."""

PROOF = "proof"
"""For certificates only: no prediction depends on it."""
SHARPER = "sharper"
"""Makes certificates smaller; where a record does not hold it, the domain's reach stands in."""
ADAPTIVE = "adaptive"
"""For experts whose steps adapt."""
GROWING = "growing"
"""For pools that grow."""
SCHEDULED = "scheduled"
"""Brought by the schedule of each round, where there is one."""
CHARGED = "charged"
"""For metas that charge experts for moving."""
SHOWN = "shown"
"""Not needed to continue: saved for readers of a state."""


class _Expert(NamedTuple):
    """Numbers of each expert: rows of ``numbers``."""

    weight: Annotated[int, kept("hedge.weights", low=0.0, high=1.0 + SLACK)]  # p_t
    # sum of losses, up to a number common to all
    cumulative: Annotated[int, kept("hedge.cumulative", low=-LOSS, high=LOSS)]
    optimism: Annotated[int, kept("hedge.optimism", low=-LOSS, high=LOSS)]  # m_t
    field_slope: Annotated[int, kept(low=-SLOPE, high=SLOPE)]  # M_t = replay * last features
    # The ball's lazy coordinates: xhat = scale (coords + coefficient * last features), x = alpha
    # xhat - gamma * last features.
    lookahead_scale: Annotated[int, kept(low=0.0, high=1.0 + SLACK)]
    lookahead_step: Annotated[int, kept()]
    scale: Annotated[int, kept(low=1e-60, high=1.0)]
    pending_update: Annotated[int, kept()]
    squared_norm: Annotated[int, kept(low=0.0)]  # norm(xhat)^2
    # the largest norm(xhat)^2 since the norms were measured, where the certificate needs norm(xhat)
    refresh_max_squared_norm: Annotated[int, kept(when=SHARPER, low=0.0)]
    squared_error_sum: Annotated[int, kept(when=ADAPTIVE, low=0.0)]  # sum of squared surprises
    log_prior: Annotated[int, kept("hedge.log_prior", when=GROWING, low=-1e3, high=0.0)]
    # The certificate's sums, and what they need.
    squared_lookahead: Annotated[int, kept(when=PROOF, low=0.0)]  # norm(x_t - xhat_t)^2
    linear_regret: Annotated[int, kept("certificate.linear_regret", when=PROOF)]
    step_cost: Annotated[int, kept("certificate.step_cost", when=PROOF)]
    inverse_step: Annotated[int, kept("certificate.inverse_step", when=PROOF)]
    inverse_growth: Annotated[int, kept("certificate.inverse_growth", when=PROOF)]
    inverse_largest: Annotated[int, kept("certificate.inverse_largest", when=PROOF)]
    squared_norm_change: Annotated[int, kept("certificate.squared_norm_change", when=SHARPER)]
    max_squared_norm: Annotated[int, kept("certificate.max_squared_norm", when=SHARPER, low=0.0)]
    weighted_norm_change: Annotated[
        int, kept("certificate.weighted_norm_change", when=SHARPER, low=0.0)
    ]
    # its square where S is kept
    max_dual_norm: Annotated[int, kept("certificate.max_dual_norm", when=SHARPER, low=0.0)]
    # What a meta charges for moving, and what that needs.
    movement_cost: Annotated[
        int, kept(when=CHARGED, low=0.0, high=LOSS)
    ]  # 2L norm(x_t - x_{t-1})^2
    last_base_product: Annotated[int, kept(when=CHARGED)]  # <a', xhat_t>
    step_size: Annotated[int, kept(when=SHOWN)]  # step size, or the multiplier c of an adaptive one
    extra_gradient: Annotated[int, MADE]  # 1 for extra-gradient experts, 0 for gradient descent
    eta: Annotated[int, MADE]  # step used in the last round; a constant step is always here
    inverse_scale: Annotated[int, MADE]  # 1 / scale
    base_prediction: Annotated[int, SCRATCH]  # <a, xhat_t>, then <a, xhat_{t+1}>
    prediction: Annotated[int, SCRATCH]  # <a, x_t>
    slope: Annotated[int, SCRATCH]  # g_{t,i} = slope * a
    next_prediction: Annotated[int, SCRATCH]  # <a, x_{t+1}>
    deferred_prediction: Annotated[
        int, SCRATCH
    ]  # <a, x_s> of a row that was asked in round s and is learned now
    squared_error: Annotated[int, SCRATCH]  # norm(g_t - M_t)^2
    # What adaptive steps are made of, and what a round leaves for those of the next one
    # (``step_sizes``): if ``SCALAR.steps_ready``.
    inverse_width: Annotated[int, SCRATCH]  # 1 / (c W)
    min_inverse_step: Annotated[int, SCRATCH]  # what 1 / eta is at least, where experts are capped
    next_eta: Annotated[int, MADE]  # step of the coming round; a constant step is always here
    next_inverse_step: Annotated[int, SCRATCH]  # 1 / coming
    base_norm: Annotated[int, SCRATCH]  # norm(xhat), where the certificate needs it
    # 1/f - 1 where the base point was projected by the factor f in this round
    projection_push: Annotated[int, SCRATCH]
    # the longest gradient that it met since a call began, as a square
    max_squared_gradient: Annotated[int, SCRATCH]
    scratch: Annotated[int, SCRATCH]


class _Vector(NamedTuple):
    """Rows of d coordinates: rows of ``vectors``."""

    center: Annotated[int, MADE]  # of the domain, or its lower corner
    upper: Annotated[int, MADE]  # its upper corner, where it has corners
    last_row: Annotated[int, kept()]  # features of the last round
    predicted_row: Annotated[int, SCRATCH]  # those that a prediction was made for


class _Scalar(NamedTuple):
    """Numbers that change each round: places in ``live``."""

    rounds: Annotated[int, kept("rounds", low=0.0, high=2.0**53, whole=True)]
    last_squared_norm: Annotated[int, kept(low=0.0)]  # squared norm of the last features
    # replayed gradient = candidate * last features
    field_slope: Annotated[int, kept(low=-SLOPE, high=SLOPE)]
    difference: Annotated[int, kept("optimism.difference")]
    magnitude: Annotated[int, kept("optimism.magnitude", low=0.0)]
    trust: Annotated[int, kept("optimism.trust", low=0.0, high=1.0 + SLACK)]
    rate_total: Annotated[int, kept("hedge.rate.total", low=0.0, high=1e300)]
    rate_level: Annotated[int, kept("hedge.rate.level", low=0.0)]
    learning_rate: Annotated[int, kept("hedge.rate.value", low=0.0, high=math.inf)]
    least_cumulative: Annotated[
        int, kept()
    ]  # smallest cumulative loss, to be taken off all of them
    # round after which the norms are recomputed
    refresh_at: Annotated[int, kept(low=0.0, high=2.0**54, whole=True)]
    loss_weight: Annotated[int, kept(when=SCHEDULED, low=0.0, high=1e60)]  # of the round's loss
    # the largest so far
    smoothness: Annotated[
        int, kept("domain_scale.smoothness", when=GROWING, low=0.0, high=math.inf)
    ]
    # how wide the part of the domain is that has been of use
    used_width: Annotated[int, kept("domain_scale.width", when=GROWING, low=0.0, high=math.inf)]
    # divisor of the steps for many coordinates, at least 1; 0 if no expert is capped
    step_shrink: Annotated[int, kept("domain_scale.step_shrink", when=GROWING, low=0.0, high=1e9)]
    expert_count: Annotated[int, MADE]  # columns in use
    prior_cost: Annotated[int, MADE]  # ln(1 / smallest prior)
    # 1 if a prediction has left the products of its row below and in the scratch rows
    has_prediction: Annotated[int, SCRATCH]
    squared_norm: Annotated[int, SCRATCH]
    dot_last: Annotated[int, SCRATCH]
    dot_change: Annotated[int, SCRATCH]
    squared_change: Annotated[int, SCRATCH]
    offset: Annotated[int, SCRATCH]
    prediction: Annotated[int, SCRATCH]
    # rounds since the coming row was asked: the meta is judged by what was said then
    rounds_late: Annotated[int, SCRATCH]
    deferred_prediction: Annotated[int, SCRATCH]  # the decision's prediction then
    # what the weights are still to be multiplied by; 0 for nothing, as between two calls
    weight_factor: Annotated[int, SCRATCH]
    # 1 if the last round has left what adaptive steps of the next one need
    steps_ready: Annotated[int, SCRATCH]
    step_width: Annotated[int, SCRATCH]  # W that they were made of
    # the longest gradient that was replayed for the meta since a call began, as a square
    max_squared_gradient: Annotated[int, SCRATCH]
    # the longest row that was played since a call began, as a square
    max_squared_row: Annotated[int, SCRATCH]


class _Setting(NamedTuple):
    """Settings: places in ``config``. Those that are made tell learners of one make from others."""

    loss: Annotated[int, MADE]
    # of the Huber loss; level of the pinball loss
    threshold: Annotated[int, kept(when=SCHEDULED, low=0.0)]
    domain: Annotated[int, MADE]  # where points are explicit: SIMPLEX or BOX
    # radius of the ball, total of the simplex, farthest corner of the box
    domain_size: Annotated[int, kept(when=SCHEDULED, low=0.0, high=1e165)]
    diameter: Annotated[int, kept(when=SCHEDULED, low=0.0, high=2e165)]
    has_center: Annotated[int, MADE]  # 1 if the ball's centre is not the origin
    adaptive_steps: Annotated[int, MADE]  # 1 if steps are c D / sqrt(energy)
    shared_gradient: Annotated[
        int, MADE
    ]  # 1 if all experts descend along the gradient at the decision
    grows: Annotated[int, MADE]  # 1 if the fastest experts are forked as rounds go by
    uses_domain_scale: Annotated[
        int, MADE
    ]  # 1 if the first expert of each kind of a growing pool is capped
    rate_rule: Annotated[int, MADE]
    rate_cap: Annotated[int, MADE]
    rate_offset: Annotated[int, MADE]
    rate_factor: Annotated[int, MADE]
    rate_floor: Annotated[int, MADE]
    optimism_rule: Annotated[int, MADE]
    trust_rate: Annotated[int, MADE]
    # rounds between two recomputations of the norms
    refresh_rounds: Annotated[int, kept(when=SCHEDULED, low=1.0, high=1e15, whole=True)]
    min_scale: Annotated[int, MADE]  # columns are rescaled before they get here
    decay: Annotated[int, MADE]  # what is kept of the past losses from one round to the next
    diameter_per_size: Annotated[int, MADE]  # 2 on a ball
    # what the meta charges for a squared distance; 0 for metas that do not
    movement_charge: Annotated[int, MADE]


EXPERT = _Expert(*range(len(_Expert._fields)))
"""Places in the array ``numbers``: ``numbers[EXPERT.weight]``."""
VECTOR = _Vector(*range(len(_Vector._fields)))
"""Places in the array ``vectors``: ``vectors[VECTOR.last_row]``."""
SCALAR = _Scalar(*range(len(_Scalar._fields)))
"""Places in the array ``live``: ``live[SCALAR.learning_rate]``."""
SETTING = _Setting(*range(len(_Setting._fields)))
"""Places in the array ``config``: ``config[SETTING.domain_size]``."""


def fields(places: Any) -> dict[str, Number]:
    """The declaration of every number of ``EXPERT``, ``VECTOR``, ``SCALAR`` or ``SETTING``, by
    name, in their order.
    """
    return _declared(type(places))  # type: ignore[arg-type]  # a class is hashable


@functools.cache
def _declared(kind: Any) -> dict[str, Number]:
    """Read once: a checkpoint of many keys asks for them thousands of times."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: hints[name].__metadata__[0] for name in kind._fields}


def saved_names(places: Any, *, without: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Names of the numbers that are saved, but for those that only certain learners need."""
    return tuple(
        name for name, field in fields(places).items() if field.kept and field.when not in without
    )


def readable_names(places: Any, room: str) -> dict[str, str]:
    """Names in one part of the readable state, such as ``hedge``, and the numbers that they
    stand for.
    """
    found = {
        field.readable: name
        for name, field in fields(places).items()
        if field.readable.startswith(f"{room}.")
    }
    return {name.removeprefix(f"{room}."): number for name, number in found.items()}


BLOCK = 8
"""Experts per block: one vector register of 512 bits, two of 256."""

SQUARED, LOGISTIC, HUBER, PINBALL = 0, 1, 2, 3
FIXED, SELF_CONFIDENT, DOUBLING = 0, 1, 2
NO_OPTIMISM, REPLAYED, LEARNED, LAST = 0, 1, 2, 3
SIMPLEX, BOX = 0, 1


class LearnerArrays(NamedTuple):
    """The five arrays of one learner, as the parts of a kernel hand them on."""

    coordinates: Any
    experts: Any
    vectors: Any
    scalars: Any
    settings: Any


class RowProducts(NamedTuple):
    """What the features a of a round have to do with those of the round before, a', and with the
    centre c.
    """

    squared_norm: float
    """norm(a)^2."""
    last_squared_norm: float
    """norm(a')^2."""
    dot_last: float
    """<a, a'>."""
    dot_change: float
    """<a, a - a'>."""
    squared_change: float
    """norm(a - a')^2."""
    offset: float
    """<a, c>."""
