"""Decorators that compile kernels and inline functions: the one module that sets numba's flags.

- ``kernel``: called from Python. Its machine code is kept on disk (``kernel_cache``), so that only
  the first process compiles.
- ``inline``, ``inline_exact``: called by kernels, and neither optimised nor compiled by themselves
  (``inline_compiler``).
- ``nogil``: kernels touch no Python object, so threads run many streams at once.
- ``error_model="numpy"``: a division by zero gives inf, as in the readable learners, instead of a
  branch at each division.
- ``_nrt=False``: kernels allocate nothing, so array views need no reference counts. Counting cost
  more than the arithmetic.
- ``fastmath`` is the list of rewritings that LLVM may do: fused multiply-add, reordered sums,
  ignoring the sign of zero. Never ``ninf``: infinite rates and steps are part of the algorithm.
  ``nnan`` only for loops over experts, which run after the values of a round have been checked.
- ``boundscheck``, only if the environment has SWORDPLAY_CHECKED: an index outside its array raises
  an error. It is for tests, costs most of the speed, and has kernel files of its own.
- ``SLP_VECTORIZE``, only for unrolled loops: LLVM then searches for equal steps side by side.
- ``noalias``, only for loops over experts or columns: their arrays never overlap. Without that
  promise LLVM makes no vector instructions of such loops.
- ``llvm.loop``, only for loops over experts: they run in blocks of one vector width and are not
  unrolled (``inline_compiler.in_blocks``). Left to choose, LLVM unrolls four times and handles the
  remaining experts, often all of them, with half vectors; a full vector cannot be loaded from two
  halves that are still in the store buffer.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir  # type: ignore[import-untyped]  # it has no types
from numba.core import cgutils, config, types
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic

from swordplay.compile.inline_compiler import (
    BlockLoopCompiler,
    InlineCompiler,
    InlineFunction,
    NoAliasCompiler,
    UnrolledLoopCompiler,
)
from swordplay.compile.kernel_cache import CHECKED as CHECKED
from swordplay.compile.kernel_cache import KernelCache

F = TypeVar("F", bound=Callable[..., Any])

# numba's setting, which its built-in functions follow as well; set at run time, hence getattr.
DISABLED = bool(getattr(config, "DISABLE_JIT"))  # noqa: B009
_FLAGS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False} | (
    {"boundscheck": True} if CHECKED else {}
)
_OF_KERNELS: dict[str, Any] = _FLAGS | {"no_cfunc_wrapper": True}  # they are not called from C
_LIBERTIES = {"contract", "reassoc", "nsz"}


def _inlined(
    function: F, liberties: set[str], compiler: type[InlineCompiler] = InlineCompiler
) -> F:
    """A function that is inlined into every kernel that calls it."""
    if DISABLED:
        return function
    options = {"nopython": True, "fastmath": liberties, "forceinline": True, **_FLAGS}
    return cast(F, InlineFunction(function, targetoptions=options, pipeline_class=compiler))


def inline_exact(function: F) -> F:
    """Inline a function whose sums keep their order.

    Without flags of its own it would inherit those of its caller.
    """
    return _inlined(function, {"contract"})


def inline(function: F) -> F:
    """Inline a function into the kernels that call it."""
    return _inlined(function, _LIBERTIES)


def expert_loop(function: F) -> F:
    """Inline a loop over experts as vector instructions.

    Its arrays do not overlap and hold no NaN.
    """
    # A loop that checks every index may end early; LLVM cannot vectorise it and would warn about
    # each.
    return _inlined(
        function, _LIBERTIES | {"nnan"}, NoAliasCompiler if CHECKED else BlockLoopCompiler
    )


def unrolled_loop(function: F) -> F:
    """Inline a loop over few independent numbers that is written out or unrolled.

    Sums keep their order.
    """
    return _inlined(function, {"contract"}, UnrolledLoopCompiler)


def uncompiled(function: F) -> F:
    """The Python function of a compiled one, for rare calls: compiling it would take longer."""
    return cast(F, getattr(function, "py_func", function))


def kernel(function: F) -> F:
    """Compile a function that Python calls, and keep its machine code on disk."""
    if DISABLED:
        return function
    found = CPUDispatcher(
        function, targetoptions={"nopython": True, "fastmath": _LIBERTIES, **_OF_KERNELS}
    )
    found._cache = KernelCache(function)  # type: ignore[attr-defined]  # numba is untyped
    return cast(F, found)


def machine_code(kernel: F, arguments: tuple[Any, ...]) -> F:
    """The compiled function for arguments of exactly these types, compiled now if necessary."""
    return (
        kernel
        if DISABLED
        else cast(F, cast(Any, kernel).compile(tuple(map(numba.typeof, arguments))))
    )


def bound_call(call: functools.partial[Any]) -> Callable[[], Any]:
    """A call of a kernel with fixed arguments, which skips the check of their types at each call.

    It is a plain function, where river's measurement of a model's memory stops. A
    ``functools.partial`` would lead it through all of numba, to weak references whose objects are
    gone.
    """
    code, values = machine_code(call.func, call.args), call.args

    def bound() -> Any:
        return code(*values)

    return bound


def _float_to_bits(number: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", number))[0])


def _bits_to_float(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", bits & 0xFFFFFFFFFFFFFFFF))[0])


def _larger(a: float, b: float) -> float:
    return max(a, b)


def _smaller(a: float, b: float) -> float:
    return min(a, b)


def _tail_view(values: Any, first: int) -> Any:
    return values[first:]


if DISABLED:
    float_to_bits, bits_to_float, larger, smaller = (
        _float_to_bits,
        _bits_to_float,
        _larger,
        _smaller,
    )
else:

    def _extreme(name: str) -> Any:
        """LLVM's instruction for the larger or smaller of two numbers, neither of which is NaN.

        Python's ``max`` compiles to a comparison and a selection, which longer loops do not
        vectorise. Handling NaN, which is absent once a round has been checked, would cost two more
        instructions.
        """

        @intrinsic
        def extreme(typing_context: Any, a: Any, b: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                double = context.get_value_type(types.float64)
                kind = values[0].type, ir.FunctionType(double, (double, double))
                return builder.call(
                    builder.module.declare_intrinsic(name, kind[:1], kind[1]),
                    values,
                    fastmath=("nnan",),
                )

            return types.float64(types.float64, types.float64), generate

        return extreme

    larger, smaller = _extreme("llvm.maxnum"), _extreme("llvm.minnum")

    @intrinsic
    def float_to_bits(typing_context: Any, number: Any) -> Any:
        """The 64 bits of a double, as an integer."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return builder.bitcast(values[0], context.get_value_type(types.int64))

        return types.int64(types.float64), generate

    @intrinsic
    def bits_to_float(typing_context: Any, bits: Any) -> Any:
        """The double with these 64 bits."""

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return builder.bitcast(values[0], context.get_value_type(types.float64))

        return types.float64(types.int64), generate


if DISABLED:
    tail_view = _tail_view
elif CHECKED:
    tail_view = numba.njit(inline="always", **_FLAGS)(
        _tail_view
    )  # without reference counts no function may return a view
else:

    @intrinsic
    def tail_view(typing_context: Any, values: Any, first: Any) -> Any:
        """``values[first:]`` with neither a bounds check nor a new length.

        For loops that know where they end.
        A slice clips both of its ends first: for eight numbers of a row that is more work than the
        loop over them.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            from numba.np import arrayobj  # imported only to compile, not to run cached kernels

            # numba has no types
            kind = arrayobj.make_array(values)  # type: ignore[no-untyped-call]
            row, rest = kind(context, builder, arguments[0]), kind(context, builder)
            if values.ndim == 1:
                data = builder.gep(row.data, [arguments[1]], inbounds=True)
            else:
                apart = builder.mul(arguments[1], builder.extract_value(row.strides, 0))
                # numba has no types
                data = cgutils.pointer_add(builder, row.data, apart)  # type: ignore[no-untyped-call]
            whole = row.shape, row.strides, row.itemsize, row.meminfo, row.parent
            # numba has no types
            arrayobj.populate_array(rest, data, *whole)  # type: ignore[no-untyped-call]
            return rest._getvalue()

        return values(values, types.intp), generate
