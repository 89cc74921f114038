"""Sparse features on a ball: a round costs in proportion to the entries that are not 0."""

from __future__ import annotations

from typing import Any, NamedTuple

from swordplay.compile import inline
from swordplay.engine.ball import mix_all, tidy
from swordplay.engine.blocks import add_scaled, columns_of
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, VECTOR, Arrays, Products


class Entries(NamedTuple):
    """A sparse row, and where the row before it had its entries."""

    values: Any
    indices: Any
    before: Any


@inline
def measure(me: Arrays, features: Entries) -> Products:
    """Norms and products of the features with the last ones, which lie dense in ``vectors``, and
    with the centre.
    """
    vectors = me.vectors
    norm = cross = offset = 0.0
    for position in range(len(features.indices)):
        a, j = features.values[position], features.indices[position]
        norm += a * a
        cross += a * vectors[VECTOR.last, j]
        if me.config[CONFIG.centered] == 1.0:
            offset += a * vectors[VECTOR.center, j]
    last_norm = me.live[LIVE.last_norm]
    return Products(
        norm, last_norm, cross, norm - cross, max(norm - 2.0 * cross + last_norm, 0.0), offset
    )


@inline
def predict(me: Arrays, of: Products, features: Entries) -> float:
    """<a, x_i> from the rows of W that the features touch; sparse rounds leave no pending change.

    Returns the weighted sum.
    """
    products = me.numbers[EXPERT.at_base]
    columns = columns_of(me.numbers)
    products[:] = 0.0
    for position in range(len(features.indices)):
        add_scaled(
            columns, products, me.coords[features.indices[position]], features.values[position]
        )
    return float(mix_all(me, of))


@inline
def keep(me: Arrays, of: Products, features: Entries, smallest: float) -> None:
    """The features become the last ones, and the round's own change W += c a is applied, while
    its rows are still near.
    """
    last = me.vectors[VECTOR.last]
    for position in range(len(features.before)):
        last[features.before[position]] = 0.0
    for position in range(len(features.indices)):
        last[features.indices[position]] = features.values[position]
    me.live[LIVE.last_norm] = of.norm
    # A change that is to be scaled down far may be too large for single precision: flush() applies
    # it in double.
    if smallest >= me.config[CONFIG.smallest_scale]:
        columns, change = columns_of(me.numbers), me.numbers[EXPERT.coefficient]
        for position in range(len(features.indices)):
            add_scaled(
                columns, me.coords[features.indices[position]], change, features.values[position]
            )
        change[:] = 0.0
    tidy(me, smallest)
