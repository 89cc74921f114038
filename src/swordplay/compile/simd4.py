"""Four doubles as one value of a kernel (type ``FOUR``), a SIMD register.

LLVM keeps such a value in a vector register, even in loops that it does not vectorise. Kernels load
it from a row of a matrix of four columns or from any index of a one-dimensional array, and store it
there. The
operators + - * / combine it with another one or with one number. With numba switched off the values
are numpy arrays, and these functions run in Python with identical results, NaN included. ``select``
and ``exp2_int`` also take a single number, so that one function can be written for both.

With SWORDPLAY_CHECKED, loads and stores raise an error if they leave the array.
"""

# numba has no types for the functions that this module uses.
# mypy: allow-untyped-calls, allow-untyped-decorators, allow-subclassing-any
# mypy: disable-error-code="attr-defined"

import operator
from typing import Any, ClassVar

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]  # because it has no stubs
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.core.typing.templates import signature as make_signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from swordplay.compile.jit import CHECKED, JIT_DISABLED

LANES = 4
"""Doubles in a vector register of 256 bits."""
_REGISTER = ir.VectorType(ir.DoubleType(), LANES)


class _Four(types.Type):
    """numba's type of four doubles."""

    def __init__(self) -> None:
        super().__init__(name="four")


FOUR = _Four()


@register_model(_Four)
class _Model(models.PrimitiveModel):
    """LLVM's type of four doubles."""

    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, _REGISTER)


def _register_operator(operation: Any, instruction: str) -> None:
    """Compile an operator of ``FOUR`` with ``FOUR`` or a double to an instruction of LLVM."""
    pairs = (FOUR, FOUR), (FOUR, types.float64), (types.float64, FOUR)

    @infer_global(operation)
    class _Typing(ConcreteTemplate):
        cases: ClassVar[list[Any]] = [make_signature(FOUR, *pair) for pair in pairs]

    def lowering(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return getattr(builder, instruction)(*(_spread(builder, value) for value in values))

    for pair in pairs:
        lower_builtin(operation, *pair)(lowering)


def _spread(builder: Any, value: Any) -> Any:
    """Return a register that repeats a number; a register is returned unchanged."""
    return value if value.type == _REGISTER else _make_register(builder, [value] * LANES)


def _make_register(builder: Any, values: Any) -> Any:
    """Return a register of four numbers."""
    register = ir.Constant(_REGISTER, ir.Undefined)
    for k, value in enumerate(values):
        register = builder.insert_element(register, value, cgutils.int32_t(k))
    return register


for _operator, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _register_operator(_operator, _instruction)


def _array_and_index(
    context: Any, builder: Any, argument_types: Any, values: Any
) -> tuple[Any, Any]:
    """Return the array structure of the first argument, and the second as an index."""
    from numba.np.arrayobj import make_array  # slow to import, and needed only to compile

    array = make_array(argument_types[0])(context, builder, values[0])
    return array, context.cast(builder, values[1], argument_types[1], types.intp)


def _row_address(context: Any, builder: Any, argument_types: Any, values: Any) -> Any:
    """Return the address of a row of four numbers.

    Rows are taken to have four columns: their length is not read from the array.
    """
    array, row = _array_and_index(context, builder, argument_types, values)
    if CHECKED:  # for its bounds check of the last entry; the address is not used
        last_entry = [row, context.get_constant(types.intp, LANES - 1)]
        cgutils.get_item_pointer(
            context,
            builder,
            argument_types[0],
            array,
            last_entry,
            wraparound=False,
            boundscheck=True,
        )
    return builder.gep(builder.bitcast(array.data, _REGISTER.as_pointer()), [row])


def _entries_address(context: Any, builder: Any, argument_types: Any, values: Any) -> Any:
    """Return the address of four consecutive numbers of a one-dimensional array."""
    array, start = _array_and_index(context, builder, argument_types, values)
    if CHECKED:  # for the bounds checks of both ends; the addresses are not used
        end = builder.add(start, context.get_constant(types.intp, LANES - 1))
        for index in (start, end):
            cgutils.get_item_pointer(
                context,
                builder,
                argument_types[0],
                array,
                [index],
                wraparound=False,
                boundscheck=True,
            )
    return builder.bitcast(builder.gep(array.data, [start]), _REGISTER.as_pointer())


def _require_contiguous_array(array: Any) -> Any:
    """Return the numba type; raise TypingError if it is not a contiguous 1-d array."""
    if not (isinstance(array, types.Array) and array.ndim == 1 and array.layout == "C"):
        raise TypingError(f"load_at and store_at need a contiguous 1-d array, got {array}.")
    return array


def _require_contiguous_matrix(rows: Any) -> Any:
    """Return the numba type; raise TypingError if it is not a C-contiguous matrix.

    The type does not know the number of columns.
    """
    if not (isinstance(rows, types.Array) and rows.ndim == 2 and rows.layout == "C"):
        raise TypingError(
            f"load_row and store_row need a C-contiguous matrix of four columns, got {rows}."
        )
    return rows


def _one_or_four(*argument_types: Any) -> Any:
    """Return FOUR if any argument has this type, else the type of doubles."""
    return FOUR if FOUR in argument_types else types.float64


if JIT_DISABLED:

    def load_row(rows: Any, i: int) -> Any:
        """Load row i of a matrix of four columns."""
        return rows[i].copy()

    def store_row(rows: Any, i: int, numbers: Any) -> None:
        """Store four numbers in row i of a matrix of four columns."""
        rows[i] = numbers

    def broadcast(number: float) -> Any:
        """Return four copies of one number."""
        return np.full(LANES, number)

    def smaller(a: Any, b: Any) -> Any:
        """``a`` where ``a < b``, else ``b`` (also if either is NaN)."""
        return np.where(a < b, a, b)

    def load_at(array: Any, i: int) -> Any:
        """Load four numbers of a one-dimensional array, from index i on."""
        return array[i : i + LANES].copy()

    def store_at(array: Any, i: int, numbers: Any) -> None:
        """Store four numbers in a one-dimensional array, from index i on."""
        array[i : i + LANES] = numbers

    def pack(a: float, b: float, c: float, d: float) -> Any:
        """Return four numbers as one value."""
        return np.array([a, b, c, d])

    def extract(numbers: Any, k: int) -> float:
        """Return number k of four."""
        return float(numbers[k])

    def select(left: Any, right: Any, if_greater: Any, otherwise: Any) -> Any:
        """``if_greater`` where ``left > right``, else ``otherwise`` (also for NaN)."""
        return np.where(left > right, if_greater, otherwise)[()]

    def exp2_int(shifted: Any) -> Any:
        """2**k for an integer k, given as the double k + 1.5 * 2**52.

        The addition leaves k in the low bits of the mantissa.
        """
        # 1023 is the bias of a double's exponent, which begins at bit 52. The shift drops the bits
        # of 1.5 * 2**52 above k.
        return ((np.asarray(shifted).view(np.int64) + 1023) << 52).view(np.float64)[()]

else:

    @intrinsic
    def load_row(typing_context: Any, rows: Any, i: Any) -> Any:
        """Load row i of a matrix of four columns."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            # 8 bytes, not 32: numpy aligns arrays to single doubles
            return builder.load(_row_address(context, builder, signature.args, values), align=8)

        return FOUR(_require_contiguous_matrix(rows), i), generate

    @intrinsic
    def store_row(typing_context: Any, rows: Any, i: Any, numbers: Any) -> Any:
        """Store four numbers in row i of a matrix of four columns."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            address = _row_address(context, builder, signature.args, values)
            builder.store(values[2], address, align=8)
            return context.get_dummy_value()

        return types.void(_require_contiguous_matrix(rows), i, numbers), generate

    @intrinsic
    def broadcast(typing_context: Any, number: Any) -> Any:
        """Return four copies of one number."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return _spread(builder, values[0])

        return FOUR(types.float64), generate

    @intrinsic
    def smaller(typing_context: Any, a: Any, b: Any) -> Any:
        """``a`` where ``a < b``, else ``b`` (also if either is NaN)."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return builder.select(builder.fcmp_ordered("<", *values), *values)

        return FOUR(a, b), generate

    @intrinsic
    def load_at(typing_context: Any, array: Any, i: Any) -> Any:
        """Load four numbers of a one-dimensional array, from index i on."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return builder.load(_entries_address(context, builder, signature.args, values), align=8)

        return FOUR(_require_contiguous_array(array), i), generate

    @intrinsic
    def store_at(typing_context: Any, array: Any, i: Any, numbers: Any) -> Any:
        """Store four numbers in a one-dimensional array, from index i on."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            address = _entries_address(context, builder, signature.args, values)
            builder.store(values[2], address, align=8)
            return context.get_dummy_value()

        return types.void(_require_contiguous_array(array), i, numbers), generate

    @intrinsic
    def pack(typing_context: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        """Return four numbers as one value."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return _make_register(builder, values)

        return FOUR(*[types.float64] * LANES), generate

    @intrinsic
    def extract(typing_context: Any, numbers: Any, k: Any) -> Any:
        """Return number k of four."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return builder.extract_element(
                values[0], context.cast(builder, values[1], k, types.int32)
            )

        return types.float64(FOUR, k), generate

    @intrinsic
    def select(typing_context: Any, left: Any, right: Any, if_greater: Any, otherwise: Any) -> Any:
        """``if_greater`` where ``left > right``, else ``otherwise`` (also for NaN)."""
        result = _one_or_four(left, right, if_greater, otherwise)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            operands = [_spread(builder, value) for value in values] if result is FOUR else values
            return builder.select(builder.fcmp_ordered(">", *operands[:2]), *operands[2:])

        return result(left, right, if_greater, otherwise), generate

    @intrinsic
    def exp2_int(typing_context: Any, shifted: Any) -> Any:
        """2**k for an integer k, given as the double k + 1.5 * 2**52.

        The addition leaves k in the low bits of the mantissa.
        """

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            value_type, integer = values[0].type, ir.IntType(64)
            bits_type = ir.VectorType(integer, LANES) if value_type == _REGISTER else integer
            bias, shift = (
                ir.Constant(bits_type, [number] * LANES if bits_type is not integer else number)
                for number in (1023, 52)
            )
            exponent = builder.add(builder.bitcast(values[0], bits_type), bias)
            return builder.bitcast(builder.shl(exponent, shift), value_type)

        return shifted(shifted), generate
