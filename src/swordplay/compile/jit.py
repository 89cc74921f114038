"""Decorators that compile kernels and inline functions: the one module that sets numba's flags.

- ``kernel``: called from Python. Its machine code is kept on disk (``kernel_cache``), so that only
  the first process compiles.
- ``inline``, ``inline_ordered``, ``expert_loop``, ``unrolled_loop``: called by kernels, and neither
  optimised nor compiled to machine code by themselves (``inline_compiler``). Compiling all kernels
  takes 16 s with ``inline_compiler``, 73 s without it.
- ``larger``, ``smaller``, ``float_to_bits``, ``bits_to_float``, ``tail_view``, ``named_rows``:
  called by kernels; numba lacks these functions or compiles them badly.

The flags:

- ``nogil``: kernels touch no Python object, so they release Python's global lock, and threads play
  many streams at once.
- ``error_model="numpy"``: a division by zero gives inf, as numpy does in the Python learners;
  numba by default adds a branch to each division, which raises ZeroDivisionError.
- ``_nrt=False``: no reference counts for array views. Kernels allocate nothing, so none are needed;
  counting took longer than the arithmetic of a round.
- ``fastmath``: the rewritings that LLVM may do. ``contract`` allows fused multiply-add, ``reassoc``
  reordered sums, ``nsz`` ignoring the sign of zero. ``nnan`` (no NaN occurs) is set only for loops
  over experts, which run after the values of a round have been checked. ``ninf`` (no infinity
  occurs) is never set: infinite rates and steps are part of the algorithm.
- ``no_cfunc_wrapper``: no entry point for calls from C, of which there are none.
- ``boundscheck``, only if the environment has SWORDPLAY_CHECKED: an index outside its array raises
  an error. It is for tests, costs most of the speed, and has kernel files of its own.
- ``SLP_VECTORIZE``, only for unrolled loops: LLVM merges equal operations on neighbouring numbers
  into vector instructions.
- ``noalias``, only for loops over experts, or over columns of a table (both are marked by
  ``expert_loop``): their arrays never overlap. Without that promise LLVM does not vectorise such
  loops.
- ``llvm.loop``, only for loops over experts: they handle one vector width an iteration and are not
  unrolled (``inline_compiler.mark_loops``). By default LLVM handles four vectors an iteration
  and the rest (all experts, if there are few) in half vectors. Loading a full vector that was
  stored as two halves stalls: store forwarding fails. Without this and ``noalias``, rounds take
  1.1 times (3 columns) to 5 times (1,000 columns) as long.

``docs/machine-code.md`` has the measurements. ``_nrt``, ``noalias`` and the classes in
``inline_compiler`` are internal to numba: ``pyproject.toml`` allows numba 0.60 to 0.68, and a new
release is tried before it is allowed.
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
    InlineCompiler,
    InlineFunction,
    NoAliasCompiler,
    UnrolledLoopCompiler,
    VectorLoopCompiler,
)
from swordplay.compile.kernel_cache import CHECKED as CHECKED
from swordplay.compile.kernel_cache import KernelCache

F = TypeVar("F", bound=Callable[..., Any])

# Whether the environment has NUMBA_DISABLE_JIT: then kernels run as plain Python. getattr is used
# because numba creates the attribute at run time, unknown to type checkers.
JIT_DISABLED = bool(getattr(config, "DISABLE_JIT"))  # noqa: B009
_FLAGS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False} | (
    {"boundscheck": True} if CHECKED else {}
)
_KERNEL_FLAGS: dict[str, Any] = _FLAGS | {"no_cfunc_wrapper": True}
_FASTMATH = {"contract", "reassoc", "nsz"}


def _inlined(function: F, fastmath: set[str], compiler: type[InlineCompiler] = InlineCompiler) -> F:
    """Return a function that is inlined into every kernel that calls it."""
    if JIT_DISABLED:
        return function
    options = {"nopython": True, "fastmath": fastmath, "forceinline": True, **_FLAGS}
    return cast(F, InlineFunction(function, targetoptions=options, pipeline_class=compiler))


def inline_ordered(function: F) -> F:
    """Inline a function whose sums keep their order; multiplications and additions may be fused."""
    # If the function had no flags of its own, LLVM would use those of the caller, which allow
    # reordered sums.
    return _inlined(function, {"contract"})


def inline(function: F) -> F:
    """Inline a function into the kernels that call it."""
    return _inlined(function, _FASTMATH)


def expert_loop(function: F) -> F:
    """Inline a loop over experts, or over columns of a table, as vector instructions.

    Its arrays must not overlap nor contain NaN.
    """
    # With SWORDPLAY_CHECKED a loop may end early with an error: LLVM cannot vectorise it, and would
    # warn about each loop that is marked to be vectorised.
    return _inlined(
        function, _FASTMATH | {"nnan"}, NoAliasCompiler if CHECKED else VectorLoopCompiler
    )


def unrolled_loop(function: F) -> F:
    """Inline a loop over a few independent numbers, which LLVM unrolls; sums keep their order."""
    return _inlined(function, {"contract"}, UnrolledLoopCompiler)


def uncompiled(function: F) -> F:
    """Return the Python function behind a compiled one, for calls too rare to be compiled."""
    return cast(F, getattr(function, "py_func", function))


def kernel(function: F) -> F:
    """Compile a function that Python calls, and keep its machine code on disk."""
    if JIT_DISABLED:
        return function
    dispatcher = CPUDispatcher(
        function, targetoptions={"nopython": True, "fastmath": _FASTMATH, **_KERNEL_FLAGS}
    )
    dispatcher._cache = KernelCache(function)  # type: ignore[attr-defined]  # numba is untyped
    return cast(F, dispatcher)


def machine_code(function: F, arguments: tuple[Any, ...]) -> F:
    """Return a kernel's machine code for the types of these arguments; compile it if necessary."""
    return (
        function
        if JIT_DISABLED
        else cast(F, cast(Any, function).compile(tuple(map(numba.typeof, arguments))))
    )


def bound_call(call: functools.partial[Any]) -> Callable[[], Any]:
    """Return a function that calls a kernel with fixed arguments; their types are checked once.

    It is a plain function and not a ``functools.partial``. To measure the memory of a model, river
    follows all references except those of functions. Through a partial it would reach all of numba,
    and fail at weak references to deleted objects.
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


def _named_rows(tuple_class: Any, matrix: Any) -> Any:
    return tuple_class(*matrix[: len(tuple_class._fields)])


if JIT_DISABLED:
    float_to_bits, bits_to_float, larger, smaller = (
        _float_to_bits,
        _bits_to_float,
        _larger,
        _smaller,
    )
else:

    def _extreme(name: str) -> Any:
        """Return LLVM's function for the larger or smaller of two numbers, neither of which is NaN.

        Python's ``max`` compiles to a comparison and a selection, which LLVM does not vectorise in
        longer loops. NaN would take two more instructions, and is excluded by the checks of a
        round's values.
        """

        # An intrinsic returns its numba signature and a function that generates its LLVM IR.
        @intrinsic
        def extreme(typing_context: Any, a: Any, b: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                double = context.get_value_type(types.float64)
                function_type = ir.FunctionType(double, (double, double))
                return builder.call(
                    builder.module.declare_intrinsic(name, (arguments[0].type,), function_type),
                    arguments,
                    fastmath=("nnan",),
                )

            return types.float64(types.float64, types.float64), generate

        return extreme

    larger, smaller = _extreme("llvm.maxnum"), _extreme("llvm.minnum")

    @intrinsic
    def float_to_bits(typing_context: Any, number: Any) -> Any:
        """Return the 64 bits of a double, as an integer."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(types.int64))

        return types.int64(types.float64), generate

    @intrinsic
    def bits_to_float(typing_context: Any, bits: Any) -> Any:
        """Return the double with these 64 bits."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(types.float64))

        return types.float64(types.int64), generate


if JIT_DISABLED:
    tail_view = _tail_view
elif CHECKED:
    # always inlined: a function compiled without reference counts cannot return a view
    tail_view = numba.njit(inline="always", **_FLAGS)(_tail_view)
else:

    @intrinsic
    def tail_view(typing_context: Any, array_type: Any, first: Any) -> Any:
        """Return a view of an array that begins at index ``first``, which is not checked.

        The view's recorded length is still that of the array, which is too long: the caller must
        not read beyond the end of the array. A slice computes and clips both of
        its ends: for eight numbers of a row that is more work than the loop over them.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            from numba.np import arrayobj  # slow to import, and needed only to compile

            # numba has no types
            structure = arrayobj.make_array(array_type)  # type: ignore[no-untyped-call]
            array = structure(context, builder, arguments[0])
            view = structure(context, builder)
            if array_type.ndim == 1:
                data = builder.gep(array.data, [arguments[1]], inbounds=True)
            else:
                byte_offset = builder.mul(arguments[1], builder.extract_value(array.strides, 0))
                # numba has no types
                data = cgutils.pointer_add(builder, array.data, byte_offset)  # type: ignore[no-untyped-call]
            layout = array.shape, array.strides, array.itemsize, array.meminfo, array.parent
            # numba has no types
            arrayobj.populate_array(view, data, *layout)  # type: ignore[no-untyped-call]
            return view._getvalue()

        return array_type(array_type, types.intp), generate


if JIT_DISABLED:
    named_rows = _named_rows
else:

    @intrinsic
    def named_rows(typing_context: Any, tuple_class: Any, matrix: Any) -> Any:
        """Return ``tuple_class(*matrix[:n])``: the first n rows in a named tuple of n fields.

        The rows are bare pointers, which can be indexed and nothing else: numba passes an array as
        seven values, and with forty arrays compiling takes a third longer. Indices are not checked,
        not even with SWORDPLAY_CHECKED.
        """
        names = tuple_class.instance_class._fields
        # numba has no types
        tuple_type = types.NamedUniTuple(  # type: ignore[no-untyped-call]
            types.CPointer(matrix.dtype),  # type: ignore[no-untyped-call]
            len(names),
            tuple_class.instance_class,
        )

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            from numba.np import arrayobj  # slow to import, and needed only to compile

            # numba has no types
            table = arrayobj.make_array(matrix)(context, builder, arguments[1])  # type: ignore[no-untyped-call]
            row_stride = builder.extract_value(table.strides, 0)
            rows = [
                cgutils.pointer_add(  # type: ignore[no-untyped-call]
                    builder, table.data, builder.mul(row_stride, row_stride.type(k))
                )
                for k in range(len(names))
            ]
            return context.make_tuple(builder, tuple_type, rows)

        return tuple_type(tuple_class, matrix), generate
