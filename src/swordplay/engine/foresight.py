"""One row predicted before it is learned: the products of the prediction wait in the learner's
scratch for the target.
"""

from __future__ import annotations

from swordplay.compile import inline
from swordplay.core.types import Vector
from swordplay.engine import ball
from swordplay.engine.layout import LIVE, VECTOR, Arrays, Products


@inline
def prepare(me: Arrays, of: Products, prediction: float, features: Vector) -> None:
    """Leave what a prediction has computed for the round that will learn the same features."""
    live, under_way = me.live, me.vectors[VECTOR.under_way]
    live[LIVE.norm], live[LIVE.cross], live[LIVE.turn], live[LIVE.gap] = (
        of.norm,
        of.cross,
        of.turn,
        of.gap,
    )
    live[LIVE.offset], live[LIVE.prediction] = of.offset, prediction
    for j in range(len(features)):
        under_way[j] = features[j]
    live[LIVE.prepared] = 1.0


@inline
def check(me: Arrays, features: Vector) -> None:
    """Forget what was prepared, unless it was for these features."""
    under_way = me.vectors[VECTOR.under_way]
    same = me.live[LIVE.prepared] == 1.0
    for j in range(len(features)):
        same = same and under_way[j] == features[j]
    me.live[LIVE.prepared] = 1.0 if same else 0.0


@inline
def measure(me: Arrays, features: Vector) -> Products:
    """The products that were prepared, or new ones."""
    check(me, features)
    live = me.live
    if live[LIVE.prepared] == 1.0:
        return Products(
            live[LIVE.norm],
            live[LIVE.last_norm],
            live[LIVE.cross],
            live[LIVE.turn],
            live[LIVE.gap],
            live[LIVE.offset],
        )
    return ball.measure(me, features)


@inline
def predict(me: Arrays, of: Products, features: Vector) -> float:
    """The prediction that was prepared, or a new one."""
    if me.live[LIVE.prepared] == 1.0:
        return float(me.live[LIVE.prediction])
    return float(ball.predict(me, of, features))
