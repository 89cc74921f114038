"""Four numbers side by side that go through a kernel as one: a vector register, without hoping that LLVM finds them.

Kernels take them from rows of four columns, add, multiply and divide them, and put them back. Where numba is switched off they
are arrays of NumPy, and the same lines run as plain Python.
"""

# mypy: allow-untyped-calls, allow-untyped-decorators, allow-subclassing-any, disable-error-code="attr-defined"
# because numba is untyped
from __future__ import annotations

import operator
from typing import Any, ClassVar

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # because it has no stubs
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from swordplay.base.compiling import CHECKED, DISABLED

SIDE_BY_SIDE = 4
"""Doubles of a vector register of today."""
_VECTOR = ir.VectorType(ir.DoubleType(), SIDE_BY_SIDE)


class _Four(types.Type):
    """What numba calls them."""

    def __init__(self) -> None:
        super().__init__(name="four")


FOUR = _Four()


@register_model(_Four)
class _Model(models.PrimitiveModel):
    """What LLVM calls them."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _operation(symbol: Any, name: str) -> None:
    @infer_global(symbol)
    class _Typing(ConcreteTemplate):
        cases: ClassVar[list[Any]] = [signature(FOUR, FOUR, FOUR)]

    @lower_builtin(symbol, FOUR, FOUR)
    def _lowering(context: Any, builder: Any, what: Any, values: Any) -> Any:
        return getattr(builder, name)(*values)


for _symbol, _name in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul"), (operator.truediv, "fdiv")):
    _operation(_symbol, _name)


def _place(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
    """Where the four numbers of a row begin; that a row is four numbers long is known, and not read from the array."""
    from numba.np.arrayobj import make_array  # takes its time, which only those have who compile

    array = make_array(kinds[0])(context, builder, values[0])
    row = context.cast(builder, values[1], kinds[1], types.intp)
    if CHECKED:
        last = [row, context.get_constant(types.intp, SIDE_BY_SIDE - 1)]
        cgutils.get_item_pointer(context, builder, kinds[0], array, last, wraparound=False, boundscheck=True)
    return builder.gep(builder.bitcast(array.data, _VECTOR.as_pointer()), [row])


def _rows_of_four(rows: Any) -> Any:
    """Refuse what does not lie in memory row by row."""
    if not (isinstance(rows, types.Array) and rows.ndim == 2 and rows.layout == "C"):
        raise TypingError(f"fours lie in matrices of four columns, row by row, and not in {rows}.")
    return rows


if DISABLED:

    def take(rows: Any, i: int) -> Any:
        """The four numbers of row i of a matrix of four columns."""
        return rows[i].copy()

    def put(rows: Any, i: int, numbers: Any) -> None:
        """Write them there."""
        rows[i] = numbers

    def same(number: float) -> Any:
        """Four times the same."""
        return np.full(SIDE_BY_SIDE, number)

    def smaller(some: Any, others: Any) -> Any:
        """The smaller of each pair."""
        return np.minimum(some, others)

else:

    @intrinsic
    def take(typing_context: Any, rows: Any, i: Any) -> Any:
        """The four numbers of row i of a matrix of four columns."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            return builder.load(_place(context, builder, what.args, values), align=8)

        return FOUR(_rows_of_four(rows), i), generate

    @intrinsic
    def put(typing_context: Any, rows: Any, i: Any, numbers: Any) -> Any:
        """Write them there."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            builder.store(values[2], _place(context, builder, what.args, values), align=8)
            return context.get_dummy_value()

        return types.void(_rows_of_four(rows), i, numbers), generate

    @intrinsic
    def same(typing_context: Any, number: Any) -> Any:
        """Four times the same."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            answer = ir.Constant(_VECTOR, ir.Undefined)
            for k in range(SIDE_BY_SIDE):
                answer = builder.insert_element(answer, values[0], cgutils.int32_t(k))
            return answer

        return FOUR(types.float64), generate

    @intrinsic
    def smaller(typing_context: Any, some: Any, others: Any) -> Any:
        """The smaller of each pair."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            return builder.select(builder.fcmp_ordered("<", *values), *values)

        return FOUR(some, others), generate
