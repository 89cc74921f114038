"""Four doubles as one value of a kernel (type ``FOUR``), a SIMD register.

Unlike loops, these values do not depend on LLVM's vectorisers.
Kernels load them from rows of four columns or from any place of a vector, add, multiply and divide
them, with each other or with one number, and store them. With numba switched off they are numpy
arrays, and the same lines run in Python. ``select`` and ``exp2_int`` also take a single number, so
that one function can be written for both.
"""

# numba has no types for what this module uses.
# mypy: allow-untyped-calls, allow-untyped-decorators, allow-subclassing-any
# mypy: disable-error-code="attr-defined"

import operator
from typing import Any, ClassVar

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # because it has no stubs
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from swordplay.compile.jit import CHECKED, DISABLED

SIDE_BY_SIDE = 4
"""Doubles in a vector register of 256 bits."""
_VECTOR = ir.VectorType(ir.DoubleType(), SIDE_BY_SIDE)


class _Four(types.Type):
    """numba's type of four doubles."""

    def __init__(self) -> None:
        super().__init__(name="four")


FOUR = _Four()


@register_model(_Four)
class _Model(models.PrimitiveModel):
    """LLVM's type of four doubles."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _operation(symbol: Any, name: str) -> None:
    pairs = (FOUR, FOUR), (FOUR, types.float64), (types.float64, FOUR)

    @infer_global(symbol)
    class _Typing(ConcreteTemplate):
        cases: ClassVar[list[Any]] = [signature(FOUR, *pair) for pair in pairs]

    def lowering(context: Any, builder: Any, what: Any, values: Any) -> Any:
        return getattr(builder, name)(*(_spread(builder, value) for value in values))

    for pair in pairs:
        lower_builtin(symbol, *pair)(lowering)


def _spread(builder: Any, value: Any) -> Any:
    """A number four times; four numbers unchanged."""
    return value if value.type == _VECTOR else _gathered(builder, [value] * SIDE_BY_SIDE)


def _gathered(builder: Any, values: Any) -> Any:
    """Four numbers as one."""
    answer = ir.Constant(_VECTOR, ir.Undefined)
    for k, value in enumerate(values):
        answer = builder.insert_element(answer, value, cgutils.int32_t(k))
    return answer


for _symbol, _name in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _operation(_symbol, _name)


def _array(context: Any, builder: Any, kinds: Any, values: Any) -> tuple[Any, Any]:
    """An array argument and an index."""
    from numba.np.arrayobj import make_array  # imported only to compile

    return make_array(kinds[0])(context, builder, values[0]), context.cast(
        builder, values[1], kinds[1], types.intp
    )


def _place(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
    """Address of a row of four numbers.

    The length of rows is a constant and not read from the array.
    """
    array, row = _array(context, builder, kinds, values)
    if CHECKED:
        last = [row, context.get_constant(types.intp, SIDE_BY_SIDE - 1)]
        cgutils.get_item_pointer(
            context, builder, kinds[0], array, last, wraparound=False, boundscheck=True
        )
    return builder.gep(builder.bitcast(array.data, _VECTOR.as_pointer()), [row])


def _start(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
    """Address of four numbers of a vector."""
    array, first = _array(context, builder, kinds, values)
    if CHECKED:
        for place in (
            first,
            builder.add(first, context.get_constant(types.intp, SIDE_BY_SIDE - 1)),
        ):
            cgutils.get_item_pointer(
                context, builder, kinds[0], array, [place], wraparound=False, boundscheck=True
            )
    return builder.bitcast(builder.gep(array.data, [first]), _VECTOR.as_pointer())


def _in_a_row(numbers: Any) -> Any:
    """Refuse vectors that are not contiguous."""
    if not (isinstance(numbers, types.Array) and numbers.ndim == 1 and numbers.layout == "C"):
        raise TypingError(
            f"four numbers are taken from a vector without gaps, and not from {numbers}."
        )
    return numbers


def _one_or_four(*kinds: Any) -> Any:
    """FOUR if any argument is FOUR, else a double."""
    return FOUR if FOUR in kinds else types.float64


def _rows_of_four(rows: Any) -> Any:
    """Refuse matrices that are not C-contiguous."""
    if not (isinstance(rows, types.Array) and rows.ndim == 2 and rows.layout == "C"):
        raise TypingError(f"fours lie in matrices of four columns, row by row, and not in {rows}.")
    return rows


if DISABLED:

    def load_row(rows: Any, i: int) -> Any:
        """Row i of a matrix of four columns."""
        return rows[i].copy()

    def store_row(rows: Any, i: int, numbers: Any) -> None:
        """Write row i of a matrix of four columns."""
        rows[i] = numbers

    def broadcast(number: float) -> Any:
        """One number four times."""
        return np.full(SIDE_BY_SIDE, number)

    def smaller(some: Any, others: Any) -> Any:
        """The smaller number of each pair."""
        return np.minimum(some, others)

    def load_at(vector: Any, i: int) -> Any:
        """Four numbers of a vector from index i on."""
        return vector[i : i + SIDE_BY_SIDE].copy()

    def store_at(vector: Any, i: int, numbers: Any) -> None:
        """Write four numbers into a vector from index i on."""
        vector[i : i + SIDE_BY_SIDE] = numbers

    def pack(a: float, b: float, c: float, d: float) -> Any:
        """Four numbers as one value."""
        return np.array([a, b, c, d])

    def extract(numbers: Any, k: int) -> float:
        """Number k of four."""
        return float(numbers[k])

    def select(above: Any, below: Any, yes: Any, no: Any) -> Any:
        """``yes`` where ``above > below``, else ``no``."""
        return np.where(above > below, yes, no)[()]

    def exp2_int(shifted: Any) -> Any:
        """2**k for an integer k, given as the double k + 1.5 * 2**52.

        The addition leaves k in the low bits of the mantissa.
        """
        return ((np.asarray(shifted).view(np.int64) + 1023) << 52).view(np.float64)[()]

else:

    @intrinsic
    def load_row(typing_context: Any, rows: Any, i: Any) -> Any:
        """Row i of a matrix of four columns."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            return builder.load(_place(context, builder, what.args, values), align=8)

        return FOUR(_rows_of_four(rows), i), generate

    @intrinsic
    def store_row(typing_context: Any, rows: Any, i: Any, numbers: Any) -> Any:
        """Write row i of a matrix of four columns."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            builder.store(values[2], _place(context, builder, what.args, values), align=8)
            return context.get_dummy_value()

        return types.void(_rows_of_four(rows), i, numbers), generate

    @intrinsic
    def broadcast(typing_context: Any, number: Any) -> Any:
        """One number four times."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            return _spread(builder, values[0])

        return FOUR(types.float64), generate

    @intrinsic
    def smaller(typing_context: Any, some: Any, others: Any) -> Any:
        """The smaller number of each pair."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            return builder.select(builder.fcmp_ordered("<", *values), *values)

        return FOUR(some, others), generate

    @intrinsic
    def load_at(typing_context: Any, vector: Any, i: Any) -> Any:
        """Four numbers of a vector from index i on."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            return builder.load(_start(context, builder, what.args, values), align=8)

        return FOUR(_in_a_row(vector), i), generate

    @intrinsic
    def store_at(typing_context: Any, vector: Any, i: Any, numbers: Any) -> Any:
        """Write four numbers into a vector from index i on."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            builder.store(values[2], _start(context, builder, what.args, values), align=8)
            return context.get_dummy_value()

        return types.void(_in_a_row(vector), i, numbers), generate

    @intrinsic
    def pack(typing_context: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        """Four numbers as one value."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            return _gathered(builder, values)

        return FOUR(*[types.float64] * SIDE_BY_SIDE), generate

    @intrinsic
    def extract(typing_context: Any, numbers: Any, k: Any) -> Any:
        """Number k of four."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            return builder.extract_element(
                values[0], context.cast(builder, values[1], k, types.int32)
            )

        return types.float64(FOUR, k), generate

    @intrinsic
    def select(typing_context: Any, above: Any, below: Any, yes: Any, no: Any) -> Any:
        """``yes`` where ``above > below``, else ``no``."""
        kind = _one_or_four(above, below, yes, no)

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            wide = [_spread(builder, value) for value in values] if kind is FOUR else values
            return builder.select(builder.fcmp_ordered(">", *wide[:2]), *wide[2:])

        return kind(above, below, yes, no), generate

    @intrinsic
    def exp2_int(typing_context: Any, shifted: Any) -> Any:
        """2**k for an integer k, given as the double k + 1.5 * 2**52.

        The addition leaves k in the low bits of the mantissa.
        """

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            double, whole = values[0].type, ir.IntType(64)
            kind = ir.VectorType(whole, SIDE_BY_SIDE) if double == _VECTOR else whole
            bias, places = (
                ir.Constant(kind, [n] * SIDE_BY_SIDE if kind is not whole else n)
                for n in (1023, 52)
            )
            return builder.bitcast(
                builder.shl(builder.add(builder.bitcast(values[0], kind), bias), places), double
            )

        return shifted(shifted), generate
