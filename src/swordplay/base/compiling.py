"""How functions are compiled: the one place that names a numba flag, used by every room that has kernels.

- Machine code is kept on disk (``compile.kernel_cache``), so that only the first process of an installation compiles.
- Pieces of kernels are not optimised and have no machine code of their own (``pieces``).
- ``nogil``: kernels touch no Python object, so threads run many streams at once.
- ``error_model="numpy"``: a division by zero gives inf, as in the readable learners, instead of a branch at each division.
- ``_nrt=False``: kernels allocate nothing, so no array view has to be counted; counting cost more than the arithmetic.
- ``fastmath`` is a list of the liberties we allow: fused multiply-add, reordered sums, the sign of zero. Never ``ninf``:
  infinite rates and steps are part of the algorithm. ``nnan`` only for loops over experts, which run after a round has been
  checked.
- ``boundscheck``, only where the environment says SWORDPLAY_CHECKED: an index outside its array is then an error instead of
  whatever lies there. For tests; it costs most of the speed, and has a cache of its own.
- ``SLP_VECTORIZE``, only for loops whose lanes are written out (``pieces``): LLVM then looks for equal steps side by side.
- ``noalias``, only for loops over experts: their arrays never overlap, and without that promise no such loop becomes
  vector instructions.
- ``llvm.loop``, only for loops over experts: all of them go block by block, in registers of one width, and are not unrolled
  (``pieces.in_blocks``). Left to choose, LLVM takes four registers at a time, and for what is left, which few experts are as a
  whole, others of half the width: what one loop stores in halves, the next one cannot load whole before it has left the store
  buffer.
"""

from __future__ import annotations

import functools
import os
import struct
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir  # type: ignore[import-untyped]  # it has no types
from numba.core import cgutils, types
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic

from swordplay.base.pieces import ApartCompiler, BlockCompiler, LaneCompiler, Piece, PieceCompiler
from swordplay.compile.kernel_cache import CHECKED, KernelCache

F = TypeVar("F", bound=Callable[..., Any])

# The environment only: numba also takes its settings from a file of the current folder.
DISABLED = os.environ.get("NUMBA_DISABLE_JIT", "") not in ("", "0")
_FLAGS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False} | ({"boundscheck": True} if CHECKED else {})
_OF_KERNELS: dict[str, Any] = _FLAGS | {"no_cfunc_wrapper": True}  # nobody calls them from C
_LIBERTIES = {"contract", "reassoc", "nsz"}


def _piece(function: F, liberties: set[str], compiler: type[PieceCompiler] = PieceCompiler) -> F:
    """A function that becomes a part of every kernel that calls it."""
    if DISABLED:
        return function
    options = {"nopython": True, "fastmath": liberties, "forceinline": True, **_FLAGS}
    return cast(F, Piece(function, targetoptions=options, pipeline_class=compiler))


def exact(function: F) -> F:
    """A piece that is computed in the order in which it is written; said aloud, as callers' liberties are inherited."""
    return _piece(function, {"contract"})


def part(function: F) -> F:
    """A piece of a kernel: compiled into the kernels that use it."""
    return _piece(function, _LIBERTIES)


def row_loop(function: F) -> F:
    """A loop over coordinates that becomes vector instructions: its arrays do not overlap; a number in them may be NaN."""
    return _piece(function, _LIBERTIES, ApartCompiler)


def expert_loop(function: F) -> F:
    """A loop over experts that becomes vector instructions: its arrays do not overlap, and no number in them is NaN."""
    # Who looks at every index ends a loop early, and LLVM says of each that it makes no vectors of it.
    return _piece(function, _LIBERTIES | {"nnan"}, ApartCompiler if CHECKED else BlockCompiler)


def lane_loop(function: F) -> F:
    """A loop over few numbers side by side, written out, or over independent ones; in the order in which it is written."""
    return _piece(function, {"contract"}, LaneCompiler)


def uncompiled(function: F) -> F:
    """The function itself, for Python to call now and then: compiling it would take longer."""
    return cast(F, getattr(function, "py_func", function))


def kernel(function: F) -> F:
    """A kernel that Python calls: its machine code is kept on disk."""
    if DISABLED:
        return function
    found = CPUDispatcher(function, targetoptions={"nopython": True, "fastmath": _LIBERTIES, **_OF_KERNELS})
    found._cache = KernelCache(function)
    return cast(F, found)


def machine_code(kernel: F, arguments: tuple[Any, ...]) -> F:
    """What a kernel calls for these arguments, compiled if it has to be: others must have exactly the same types."""
    return kernel if DISABLED else cast(F, cast(Any, kernel).compile(tuple(map(numba.typeof, arguments))))


def fixed(call: functools.partial[Any]) -> Callable[[], Any]:
    """A call of a kernel whose arguments stay what they are, without a look at their types every time.

    It is a plain function: who measures a model by walking from object to object, as river does, stops there. A partial would
    lead to all of numba, where some references are to objects that are gone.
    """
    code, values = machine_code(call.func, call.args), call.args

    def made() -> Any:
        return code(*values)

    return made


def _bits_of(number: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", number))[0])


def _number_of(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", bits & 0xFFFFFFFFFFFFFFFF))[0])


def _larger(a: float, b: float) -> float:
    return max(a, b)


def _smaller(a: float, b: float) -> float:
    return min(a, b)


def _onward(values: Any, first: int) -> Any:
    return values[first:]


if DISABLED:
    bits_of, number_of, larger, smaller = _bits_of, _number_of, _larger, _smaller
else:

    def _extreme(name: str) -> Any:
        """One of LLVM's own extremes; Python's are a comparison and a choice, of which longer loops make no vectors.

        Of two numbers: what is to become of a NaN, after which nobody asks once a round has been checked, costs two
        instructions more than the extreme itself.
        """

        @intrinsic
        def extreme(typing_context: Any, a: Any, b: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                double = context.get_value_type(types.float64)
                kind = values[0].type, ir.FunctionType(double, (double, double))
                return builder.call(builder.module.declare_intrinsic(name, kind[:1], kind[1]), values, fastmath=("nnan",))

            return types.float64(types.float64, types.float64), generate

        return extreme

    larger, smaller = _extreme("llvm.maxnum"), _extreme("llvm.minnum")

    @intrinsic
    def bits_of(typing_context: Any, number: Any) -> Any:
        """The 64 bits of a double, as a whole number."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return builder.bitcast(values[0], context.get_value_type(types.int64))

        return types.int64(types.float64), generate

    @intrinsic
    def number_of(typing_context: Any, bits: Any) -> Any:
        """The double with these 64 bits."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return builder.bitcast(values[0], context.get_value_type(types.float64))

        return types.float64(types.int64), generate


if DISABLED:
    onward = _onward
elif CHECKED:
    onward = numba.njit(inline="always", **_FLAGS)(_onward)  # in the caller's own lines: what is not counted is not returned
else:

    @intrinsic
    def onward(typing_context: Any, values: Any, first: Any) -> Any:
        """A row of numbers or a matrix from this place on, for loops that know where they end: its length stays what it was.

        A slice looks at both of its ends first: for eight numbers of a row that is more work than what is done with them.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            from numba.np import arrayobj  # for whoever compiles: whoever reads machine code does without

            kind = arrayobj.make_array(values)  # type: ignore[no-untyped-call]  # numba has no types
            row, rest = kind(context, builder, arguments[0]), kind(context, builder)
            if values.ndim == 1:
                data = builder.gep(row.data, [arguments[1]], inbounds=True)
            else:
                apart = builder.mul(arguments[1], builder.extract_value(row.strides, 0))
                data = cgutils.pointer_add(builder, row.data, apart)  # type: ignore[no-untyped-call]  # numba has no types
            whole = row.shape, row.strides, row.itemsize, row.meminfo, row.parent
            arrayobj.populate_array(rest, data, *whole)  # type: ignore[no-untyped-call]  # numba has no types
            return rest._getvalue()

        return values(values, types.intp), generate
