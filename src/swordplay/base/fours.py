"""Four numbers side by side that go through a kernel as one: a vector register, without hoping that LLVM finds them.

Kernels take them from rows of four columns or from any place of a vector, add, multiply and divide them, with each other or
with one number, and put them back. Where numba is switched off they are arrays of NumPy, and the same lines run in Python.
``pick`` and ``two_to`` take a single number as well, so that one function can be written for both.
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
    pairs = (FOUR, FOUR), (FOUR, types.float64), (types.float64, FOUR)

    @infer_global(symbol)
    class _Typing(ConcreteTemplate):
        cases: ClassVar[list[Any]] = [signature(FOUR, *pair) for pair in pairs]

    def lowering(context: Any, builder: Any, what: Any, values: Any) -> Any:
        return getattr(builder, name)(*(_spread(builder, value) for value in values))

    for pair in pairs:
        lower_builtin(symbol, *pair)(lowering)


def _spread(builder: Any, value: Any) -> Any:
    """Four times a number; four numbers as they are."""
    return value if value.type == _VECTOR else _gathered(builder, [value] * SIDE_BY_SIDE)


def _gathered(builder: Any, values: Any) -> Any:
    """Four numbers as one."""
    answer = ir.Constant(_VECTOR, ir.Undefined)
    for k, value in enumerate(values):
        answer = builder.insert_element(answer, value, cgutils.int32_t(k))
    return answer


for _symbol, _name in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul"), (operator.truediv, "fdiv")):
    _operation(_symbol, _name)


def _array(context: Any, builder: Any, kinds: Any, values: Any) -> tuple[Any, Any]:
    """An array, and a place in it."""
    from numba.np.arrayobj import make_array  # takes its time, which only those have who compile

    return make_array(kinds[0])(context, builder, values[0]), context.cast(builder, values[1], kinds[1], types.intp)


def _place(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
    """Where the four numbers of a row begin; that a row is four numbers long is known, and not read from the array."""
    array, row = _array(context, builder, kinds, values)
    if CHECKED:
        last = [row, context.get_constant(types.intp, SIDE_BY_SIDE - 1)]
        cgutils.get_item_pointer(context, builder, kinds[0], array, last, wraparound=False, boundscheck=True)
    return builder.gep(builder.bitcast(array.data, _VECTOR.as_pointer()), [row])


def _start(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
    """Where four numbers of a vector begin."""
    array, first = _array(context, builder, kinds, values)
    if CHECKED:
        for place in (first, builder.add(first, context.get_constant(types.intp, SIDE_BY_SIDE - 1))):
            cgutils.get_item_pointer(context, builder, kinds[0], array, [place], wraparound=False, boundscheck=True)
    return builder.bitcast(builder.gep(array.data, [first]), _VECTOR.as_pointer())


def _in_a_row(numbers: Any) -> Any:
    """Refuse what does not lie in memory number by number."""
    if not (isinstance(numbers, types.Array) and numbers.ndim == 1 and numbers.layout == "C"):
        raise TypingError(f"four numbers are taken from a vector without gaps, and not from {numbers}.")
    return numbers


def _one_or_four(*kinds: Any) -> Any:
    """FOUR if any of them is, else a double."""
    return FOUR if FOUR in kinds else types.float64


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

    def take_from(vector: Any, i: int) -> Any:
        """The four numbers of a vector from place i on."""
        return vector[i : i + SIDE_BY_SIDE].copy()

    def put_into(vector: Any, i: int, numbers: Any) -> None:
        """Write them there."""
        vector[i : i + SIDE_BY_SIDE] = numbers

    def four_of(a: float, b: float, c: float, d: float) -> Any:
        """Four numbers."""
        return np.array([a, b, c, d])

    def one_of(numbers: Any, k: int) -> float:
        """Number k of four."""
        return float(numbers[k])

    def pick(above: Any, below: Any, yes: Any, no: Any) -> Any:
        """One number where the first of two is above the second, else another."""
        return np.where(above > below, yes, no)[()]

    def two_to(shifted: Any) -> Any:
        """2^k, where k is what the last bits of a number say that 1.5 * 2^52 was added to."""
        return ((np.asarray(shifted).view(np.int64) + 1023) << 52).view(np.float64)[()]

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
            return _spread(builder, values[0])

        return FOUR(types.float64), generate

    @intrinsic
    def smaller(typing_context: Any, some: Any, others: Any) -> Any:
        """The smaller of each pair."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            return builder.select(builder.fcmp_ordered("<", *values), *values)

        return FOUR(some, others), generate

    @intrinsic
    def take_from(typing_context: Any, vector: Any, i: Any) -> Any:
        """The four numbers of a vector from place i on."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            return builder.load(_start(context, builder, what.args, values), align=8)

        return FOUR(_in_a_row(vector), i), generate

    @intrinsic
    def put_into(typing_context: Any, vector: Any, i: Any, numbers: Any) -> Any:
        """Write them there."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            builder.store(values[2], _start(context, builder, what.args, values), align=8)
            return context.get_dummy_value()

        return types.void(_in_a_row(vector), i, numbers), generate

    @intrinsic
    def four_of(typing_context: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        """Four numbers."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            return _gathered(builder, values)

        return FOUR(*[types.float64] * SIDE_BY_SIDE), generate

    @intrinsic
    def one_of(typing_context: Any, numbers: Any, k: Any) -> Any:
        """Number k of four."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            return builder.extract_element(values[0], context.cast(builder, values[1], k, types.int32))

        return types.float64(FOUR, k), generate

    @intrinsic
    def pick(typing_context: Any, above: Any, below: Any, yes: Any, no: Any) -> Any:
        """One number where the first of two is above the second, else another."""
        kind = _one_or_four(above, below, yes, no)

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            wide = [_spread(builder, value) for value in values] if kind is FOUR else values
            return builder.select(builder.fcmp_ordered(">", *wide[:2]), *wide[2:])

        return kind(above, below, yes, no), generate

    @intrinsic
    def two_to(typing_context: Any, shifted: Any) -> Any:
        """2^k, where k is what the last bits of a number say that 1.5 * 2^52 was added to."""

        def generate(context: Any, builder: Any, what: Any, values: Any) -> Any:
            double, whole = values[0].type, ir.IntType(64)
            kind = ir.VectorType(whole, SIDE_BY_SIDE) if double == _VECTOR else whole
            bias, places = (ir.Constant(kind, [n] * SIDE_BY_SIDE if kind is not whole else n) for n in (1023, 52))
            return builder.bitcast(builder.shl(builder.add(builder.bitcast(values[0], kind), bias), places), double)

        return shifted(shifted), generate
