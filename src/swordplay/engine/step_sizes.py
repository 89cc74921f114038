"""Step sizes that adapt, their caps, and pools of experts that grow.

Twin of ``parts.experts.step_sizes``. A step is 1 / max{root of the energy / (c W), floor}, so its
inverse, which the certificate needs, is computed first and costs no quotient of its own. The energy
after a round gives the step of a descent expert in the same round and of an extra-gradient expert
in the next one: it is computed once and kept in ``EXPERT.next_eta``.

A growing pool with capped experts starts with them: column 0 is the capped extra-gradient expert,
column 1 the capped descent expert. Their steps follow from the diameter of the whole domain and are
at most 1 / (2 L ρ), or 1 / (2 L m) averaged over m rounds. The fastest experts are forked as the
number of rounds grows.
"""

from __future__ import annotations

import math

from swordplay.compile import expert_loop, inline, larger
from swordplay.core.types import Matrix, Vector
from swordplay.engine.certificate_sum import is_kept
from swordplay.engine.layout import EXPERT, SCALAR, SETTING, LearnerArrays, RowProducts
from swordplay.engine.scalar_functions import columns_of, curvature, keep_larger
from swordplay.parts.experts.step_sizes import AVERAGED_ROUNDS, WIDE_DOMAIN_RATIO


@inline
def adapt(me: LearnerArrays, of: RowProducts, h: float) -> None:
    """Update the steps of this round and the next, and the certificate sums of this one."""
    numbers, live = me.experts, me.scalars
    if live[SCALAR.steps_ready] == 0.0:
        catch_up(me)
    if me.settings[SETTING.uses_domain_scale] == 1.0 and is_news(me, of, h):
        measure(me, of, h)
        prepare(me)
    step(
        columns_of(numbers),
        numbers[EXPERT.extra_gradient],
        numbers[EXPERT.squared_error],
        numbers[EXPERT.squared_error_sum],
        numbers[EXPERT.inverse_width],
        numbers[EXPERT.min_inverse_step],
        numbers[EXPERT.squared_norm],
        numbers[EXPERT.base_norm],
        numbers[EXPERT.eta],
        numbers[EXPERT.next_eta],
        numbers[EXPERT.next_inverse_step],
        numbers[EXPERT.inverse_step],
        numbers[EXPERT.inverse_growth],
        numbers[EXPERT.inverse_largest],
        numbers[EXPERT.squared_norm_change],
        numbers[EXPERT.weighted_norm_change],
    )


@expert_loop
def step(
    n: int,
    extra: Vector,
    surprise: Vector,
    energy: Vector,
    narrowness: Vector,
    floor: Vector,
    base_norm: Vector,
    away: Vector,
    eta: Vector,
    coming: Vector,
    coming_inverse: Vector,
    inverse: Vector,
    growth: Vector,
    largest: Vector,
    swing: Vector,
    turning: Vector,
) -> None:
    """Compute the steps, and the sums of changes of 1/eta that the certificate needs.

    These are its increases, its largest value, and its changes times norm(w)^2 / 2 and norm(w).
    """
    for i in range(n):
        met = energy[i] + surprise[i]
        fresh = larger(math.sqrt(met) * narrowness[i], floor[i] if met > 0.0 else 0.0)
        # Extra-gradient experts step with what they knew before the round, unless they knew
        # nothing.
        known = extra[i] * energy[i] > 0.0
        now = coming_inverse[i] if known else fresh
        made = step_of(fresh)
        eta[i] = coming[i] if known else made
        coming[i] = made
        coming_inverse[i] = fresh
        change = now - inverse[i]
        swing[i] += 0.5 * change * base_norm[i]
        growth[i] += larger(change, 0.0)
        largest[i] = larger(largest[i], now)
        turning[i] += abs(change) * away[i]
        inverse[i] = now


@inline
def step_of(inverse: float) -> float:
    """1 / inverse, infinite as long as no gradient was met."""
    return 1.0 / inverse if inverse > 0.0 else math.inf


@inline
def catch_up(me: LearnerArrays) -> None:
    """Recompute the next steps after a load, or a change of the domain or the norms."""
    numbers, n = me.experts, columns_of(me.experts)
    me.scalars[SCALAR.step_width] = 0.0
    prepare(me)
    remember(
        n,
        numbers[EXPERT.squared_error_sum],
        numbers[EXPERT.inverse_width],
        numbers[EXPERT.min_inverse_step],
        numbers[EXPERT.next_eta],
        numbers[EXPERT.next_inverse_step],
    )
    if is_kept(numbers):
        numbers[EXPERT.base_norm] = 0.0
    else:
        roots(n, numbers[EXPERT.squared_norm], numbers[EXPERT.base_norm])
    me.scalars[SCALAR.steps_ready] = 1.0


@expert_loop
def remember(
    n: int,
    energy: Vector,
    narrowness: Vector,
    floor: Vector,
    coming: Vector,
    coming_inverse: Vector,
) -> None:
    """Steps of the coming round, as ``step`` makes them."""
    for i in range(n):
        fresh = larger(math.sqrt(energy[i]) * narrowness[i], floor[i] if energy[i] > 0.0 else 0.0)
        coming[i] = step_of(fresh)
        coming_inverse[i] = fresh


@expert_loop
def roots(n: int, squares: Vector, answer: Vector) -> None:
    """Distances from the centre."""
    for i in range(n):
        answer[i] = math.sqrt(squares[i])


@inline
def begin(me: LearnerArrays) -> None:
    """The certificate's account of steps that stay what they are."""
    numbers = me.experts
    for i in range(columns_of(numbers)):
        now = 1.0 / numbers[EXPERT.eta, i]
        numbers[EXPERT.squared_norm_change, i] += (
            0.5 * (now - numbers[EXPERT.inverse_step, i]) * numbers[EXPERT.squared_norm, i]
        )
        numbers[EXPERT.inverse_growth, i] += max(now - numbers[EXPERT.inverse_step, i], 0.0)
        numbers[EXPERT.inverse_largest, i] = max(numbers[EXPERT.inverse_largest, i], now)
        numbers[EXPERT.inverse_step, i] = now


@inline
def track_distance(me: LearnerArrays) -> None:
    """Track the largest distance of each base point from the centre, and the largest dual norm."""
    keep_larger(
        columns_of(me.experts), me.experts[EXPERT.squared_norm], me.experts[EXPERT.max_squared_norm]
    )
    track_dual_norm(me)


@inline
def track_dual_norm(me: LearnerArrays) -> None:
    """How hard steps that change have pulled.

    On a ball, how far experts have been was noted when they looked ahead.
    """
    numbers = me.experts
    if me.settings[SETTING.adaptive_steps] == 1.0 and not is_kept(numbers):
        keep_pull(
            columns_of(numbers),
            numbers[EXPERT.inverse_step],
            numbers[EXPERT.squared_norm],
            numbers[EXPERT.weighted_norm_change],
            numbers[EXPERT.base_norm],
            numbers[EXPERT.max_dual_norm],
        )


@expert_loop
def keep_pull(
    n: int,
    inverse: Vector,
    base_norm: Vector,
    turning: Vector,
    away: Vector,
    pull: Vector,
) -> None:
    """The largest norm(w) / eta + turning so far; norm(w) waits for the next round."""
    for i in range(n):
        root = math.sqrt(base_norm[i])
        away[i] = root
        pull[i] = larger(pull[i], inverse[i] * root + turning[i])


@inline
def is_news(me: LearnerArrays, of: RowProducts, h: float) -> bool:
    """Whether a round changes what steps are made of: of few rounds ``measure`` and ``prepare``
    would, and both divide.
    """
    live, L, span = me.scalars, me.scalars[SCALAR.smoothness], me.scalars[SCALAR.used_width]
    bend = live[SCALAR.loss_weight] * curvature(int(me.settings[SETTING.loss])) * of.squared_norm
    known = (
        bend <= L
        and 4.0 * me.experts[EXPERT.squared_norm, 1] <= span * span
        and abs(h) * math.sqrt(of.squared_norm) <= AVERAGED_ROUNDS * L * span
    )
    return not known or live[SCALAR.rounds] < float(AVERAGED_ROUNDS)  # averages still get longer


@inline
def measure(me: LearnerArrays, of: RowProducts, h: float) -> None:
    """Take in the loss of a round, whose gradient at the decision is h a."""
    live, config = me.scalars, me.settings
    L = max(
        live[SCALAR.smoothness],
        live[SCALAR.loss_weight] * curvature(int(config[SETTING.loss])) * of.squared_norm,
    )
    live[SCALAR.smoothness] = L
    span, length = live[SCALAR.used_width], abs(h) * math.sqrt(of.squared_norm)
    if span == 0.0 and length > 0.0:
        span = 2.0 * length / L if L > 0.0 else math.inf
    # Asked first whether they are wider: a root and a quotient in every round would cost more than
    # the rest.
    reached = me.experts[EXPERT.squared_norm, 1]
    if 4.0 * reached > span * span:
        span = max(span, 2.0 * math.sqrt(reached))
    if length > AVERAGED_ROUNDS * L * span and L > 0.0:
        span = max(span, length / (L * AVERAGED_ROUNDS))
    live[SCALAR.used_width] = span


@inline
def prepare(me: LearnerArrays) -> None:
    """What the steps of every expert are made of, as far as it has been measured.

    Rows are written where it has changed.
    """
    numbers, live, config = me.experts, me.scalars, me.settings
    diameter, capped = config[SETTING.diameter], config[SETTING.uses_domain_scale] == 1.0
    rho = live[SCALAR.step_shrink]  # at least 1 if capped, and unused otherwise
    width = (
        min(diameter, live[SCALAR.used_width] / (rho * rho))
        if capped and live[SCALAR.used_width] > 0.0
        else diameter
    )
    if width != live[SCALAR.step_width]:
        live[SCALAR.step_width] = width
        narrow(columns_of(numbers), width, numbers[EXPERT.step_size], numbers[EXPERT.inverse_width])
        numbers[EXPERT.min_inverse_step] = 0.0
        if capped:
            numbers[EXPERT.inverse_width, 0] = numbers[EXPERT.inverse_width, 1] = 2.0 / diameter
    if capped:
        bend = 2.0 * live[SCALAR.smoothness]
        slow = bend * min(live[SCALAR.rounds] + 1.0, float(AVERAGED_ROUNDS))
        floor = numbers[EXPERT.min_inverse_step]
        if floor[0] != rho * bend or floor[1] != slow:
            floor[0], floor[1] = rho * bend, slow


@expert_loop
def narrow(n: int, width: float, multiplier: Vector, answer: Vector) -> None:
    """1 / (c W) of every expert."""
    for i in range(n):
        answer[i] = 1.0 / (multiplier[i] * width)


@inline
def is_growing(live: Vector, config: Vector) -> bool:
    """Whether the fastest multiplier is too slow for a comparator that moved in every round."""
    # 4 ** (n - 1) = 2 ** (experts - 2), as there are two experts for every multiplier.
    return bool(
        config[SETTING.grows] == 1.0
        and 1.0 + 2.0 * live[SCALAR.rounds] > 2.0 ** (live[SCALAR.expert_count] - 2.0)
    )


@inline
def fork_numbers(numbers: Matrix, live: Vector, config: Vector) -> None:
    """Copy the last expert of either kind, double the copies' multipliers and share the weight by
    the new priors.

    Columns take turns: extra-gradient, descent, extra-gradient, ... so that a fork appends two
    columns.
    """
    experts = int(live[SCALAR.expert_count])
    count = experts // 2
    for kind in range(2):
        parent, child = experts - 2 + kind, experts + kind
        for row in range(numbers.shape[0]):
            numbers[row, child] = numbers[row, parent]
        numbers[EXPERT.step_size, child] = 2.0 * numbers[EXPERT.step_size, parent]
        for steps in (EXPERT.eta, EXPERT.next_eta):
            numbers[steps, child] = 2.0 * numbers[steps, parent]
        for inverses in (EXPERT.next_inverse_step, EXPERT.inverse_width):
            numbers[inverses, child] = 0.5 * numbers[inverses, parent]
        tame(numbers, live, config, child)
        # The last prior 1/n splits into 1/(n (n + 1)) and 1/(n + 1), half of each for either kind.
        numbers[EXPERT.log_prior, parent] = -math.log(2.0 * count * (count + 1.0))
        numbers[EXPERT.log_prior, child] = -math.log(2.0 * (count + 1.0))
        numbers[EXPERT.weight, child] = numbers[EXPERT.weight, parent] * (count / (count + 1.0))
        numbers[EXPERT.weight, parent] /= count + 1.0
    for column in range(experts + 2, numbers.shape[1]):
        for row in range(numbers.shape[0]):
            numbers[row, column] = numbers[row, experts + 1]
        numbers[EXPERT.log_prior, column], numbers[EXPERT.weight, column] = -math.inf, 0.0
    live[SCALAR.expert_count] = experts + 2.0
    live[SCALAR.prior_cost] = math.log(
        2.0 * count * (count + 1.0)
    )  # the smallest prior is the parent's


@inline
def tame(numbers: Matrix, live: Vector, config: Vector, child: int) -> None:
    """Cap the step of a copy at 1/L where the boundary of the domain is far.

    Twin of ``CappedAdaGrad.sum_of_copy``.
    """
    energy, span = numbers[EXPERT.squared_error_sum, child], live[SCALAR.used_width]
    if not (
        config[SETTING.uses_domain_scale] == 1.0
        and energy > 0.0
        and span > 0.0
        and config[SETTING.diameter] > WIDE_DOMAIN_RATIO * span
    ):
        return
    least = numbers[EXPERT.step_size, child] * live[SCALAR.step_width] * live[SCALAR.smoothness]
    if least * least > energy:
        numbers[EXPERT.squared_error_sum, child] = least * least
        numbers[EXPERT.next_inverse_step, child] = least * numbers[EXPERT.inverse_width, child]
        numbers[EXPERT.next_eta, child] = 1.0 / numbers[EXPERT.next_inverse_step, child]
