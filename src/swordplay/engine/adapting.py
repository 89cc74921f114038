"""Steps that adapt, in numbers, and the certificate's account of them: twin of
``parts.experts.step_sizes`` and ``gauge``.

A step is 1 / max{root of the energy / (c W), floor}, so its inverse, which the certificate needs,
comes first and is not a quotient of its own. What a round makes of the energy is the step of a
descent expert in that very round and of an extra-gradient expert in the next one: it is computed
once, and waits in ``coming``.
"""

from __future__ import annotations

import math

from swordplay.compile import expert_loop, inline, larger
from swordplay.core.types import Vector
from swordplay.engine.blocks import columns_of, keep_larger
from swordplay.engine.gauge import is_news, measure, prepare
from swordplay.engine.heading import is_kept
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, Arrays, Products


@inline
def adapt(me: Arrays, of: Products, h: float) -> None:
    """Adaptive steps of this round and of the coming one, and the certificate's account of this
    round's.
    """
    numbers, live = me.numbers, me.live
    if live[LIVE.stepped] == 0.0:
        catch_up(me)
    if me.config[CONFIG.capped] == 1.0 and is_news(me, of, h):
        measure(me, of, h)
        prepare(me)
    step(
        columns_of(numbers),
        numbers[EXPERT.extra],
        numbers[EXPERT.surprise],
        numbers[EXPERT.energy],
        numbers[EXPERT.narrowness],
        numbers[EXPERT.floor],
        numbers[EXPERT.norm],
        numbers[EXPERT.away],
        numbers[EXPERT.eta],
        numbers[EXPERT.coming],
        numbers[EXPERT.coming_inverse],
        numbers[EXPERT.inverse],
        numbers[EXPERT.growth],
        numbers[EXPERT.largest],
        numbers[EXPERT.swing],
        numbers[EXPERT.turning],
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
    """The certificate needs of 1/eta: its increases, its largest value, and its changes times
    norm(w)^2 / 2 and norm(w).
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
def catch_up(me: Arrays) -> None:
    """What rounds leave behind for the next one, for a learner that was loaded or whose domain
    or norms have changed.
    """
    numbers, n = me.numbers, columns_of(me.numbers)
    me.live[LIVE.width] = 0.0
    prepare(me)
    remember(
        n,
        numbers[EXPERT.energy],
        numbers[EXPERT.narrowness],
        numbers[EXPERT.floor],
        numbers[EXPERT.coming],
        numbers[EXPERT.coming_inverse],
    )
    if is_kept(numbers):
        numbers[EXPERT.away] = 0.0
    else:
        roots(n, numbers[EXPERT.norm], numbers[EXPERT.away])
    me.live[LIVE.stepped] = 1.0


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
def begin(me: Arrays) -> None:
    """The certificate's account of steps that stay what they are."""
    numbers = me.numbers
    for i in range(columns_of(numbers)):
        now = 1.0 / numbers[EXPERT.eta, i]
        numbers[EXPERT.swing, i] += (
            0.5 * (now - numbers[EXPERT.inverse, i]) * numbers[EXPERT.norm, i]
        )
        numbers[EXPERT.growth, i] += max(now - numbers[EXPERT.inverse, i], 0.0)
        numbers[EXPERT.largest, i] = max(numbers[EXPERT.largest, i], now)
        numbers[EXPERT.inverse, i] = now


@inline
def track_distance(me: Arrays) -> None:
    """How far from the centre the base point of every expert has been, and how hard steps that
    change have pulled it.
    """
    keep_larger(columns_of(me.numbers), me.numbers[EXPERT.norm], me.numbers[EXPERT.farthest])
    track_dual_norm(me)


@inline
def track_dual_norm(me: Arrays) -> None:
    """How hard steps that change have pulled.

    On a ball, how far experts have been was noted when they looked ahead.
    """
    numbers = me.numbers
    if me.config[CONFIG.adaptive] == 1.0 and not is_kept(numbers):
        keep_pull(
            columns_of(numbers),
            numbers[EXPERT.inverse],
            numbers[EXPERT.norm],
            numbers[EXPERT.turning],
            numbers[EXPERT.away],
            numbers[EXPERT.pull],
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
