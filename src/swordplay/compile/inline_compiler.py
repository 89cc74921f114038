"""Compiles inline functions of kernels to LLVM IR only, so that the kernel is optimised once.

numba compiles every function that a kernel calls to machine code with wrappers for Python and C,
and optimises it together with all functions that it calls. In a kernel of a hundred small functions
that call each other, the same code would be optimised again at each level, for machine code that is
never run. Here an inline function stops before the optimiser, except loops over experts and
unrolled loops, which are optimised by themselves. Compiling then takes 16 s instead of 73
(docs/machine-code.md).
"""

# numba has no types for the functions that this module uses.
# mypy: allow-untyped-calls, allow-untyped-decorators, allow-subclassing-any
# mypy: disable-error-code="attr-defined"

import re
from itertools import count
from typing import Any, NamedTuple

from llvmlite.binding import parse_assembly  # type: ignore[import-untyped]  # it has no types
from numba import _dynfunc
from numba.core import config
from numba.core.cgutils import normalize_ir_text
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler import _LowerResult as LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering

EXPERTS_PER_ITERATION = 8
"""Doubles, one for each expert: one vector register of 512 bits, two of 256."""
_NOT_UNROLLED_HINT = '!"llvm.loop.unroll.disable"'
_INNERMOST_LOOP_HINTS = (
    f'!"llvm.loop.vectorize.width", i32 {EXPERTS_PER_ITERATION}',
    '!"llvm.loop.interleave.count", i32 1',
    _NOT_UNROLLED_HINT,
)
# Lines of LLVM IR that begin a basic block ("B10.endif:") and that jump to one (br label %"B10").
_BLOCK_LABEL, _BLOCK_JUMP = re.compile(r'"?B(\d+)[\w.]*"?:$'), re.compile(r'  br label %"B(\d+)"$')


class _Loop(NamedTuple):
    """A loop in LLVM IR, which ends with a jump back to its first basic block."""

    jump_line: int
    first: int
    """Number of the basic block that is jumped to."""
    last: int
    """Number of the basic block that jumps."""


def mark_loops(ir_text: str) -> str:
    """Mark the innermost loops of LLVM IR to be vectorised, EXPERTS_PER_ITERATION doubles wide.

    The mark (metadata ``llvm.loop``) belongs to the jump back to the start of a loop. numba names a
    basic block after the offset of its first bytecode instruction: B10, or B10.endif. A jump to an
    equal or smaller number therefore ends a loop. Outer loops are marked not to
    be unrolled: unrolled, they would compute the address of each row anew.
    """
    lines, block = ir_text.splitlines(), -1  # block: number of the basic block of a line
    loops: list[_Loop] = []
    for index, line in enumerate(lines):
        if label := _BLOCK_LABEL.match(line):
            block = int(label[1])
        elif (jump := _BLOCK_JUMP.match(line)) and int(jump[1]) <= block:
            loops.append(_Loop(index, int(jump[1]), block))
    metadata_numbers = count(1_000_000)  # beyond those that the module uses
    for loop in loops:
        is_innermost = not any(
            loop.first < inner.first and inner.last <= loop.last for inner in loops
        )
        loop_number = next(metadata_numbers)
        loop_hints = _INNERMOST_LOOP_HINTS if is_innermost else (_NOT_UNROLLED_HINT,)
        hints = {next(metadata_numbers): hint for hint in loop_hints}
        # !1 = distinct !{!1, !2}: a loop's metadata refers to itself, then to its hints
        lines[loop.jump_line] += f", !llvm.loop !{loop_number}"
        lines += [f"!{number} = !{{{hint}}}" for number, hint in hints.items()]
        references = ", ".join(f"!{number}" for number in (loop_number, *hints))
        lines.append(f"!{loop_number} = distinct !{{{references}}}")
    return "\n".join(lines)


class _LinkedLibrary(JITCodeLibrary):
    """LLVM IR of an inline function and its callees, linked into kernels and never run alone."""

    def _finalize_final_module(self) -> None:
        """Finalize the library without generating machine code."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _UnoptimisedLibrary(_LinkedLibrary):
    """LLVM IR of an inline function that is optimised only as a part of its kernels."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Leave the module as it is."""


class _VectorLoopLibrary(_LinkedLibrary):
    """LLVM IR of a loop over experts, vectorised with one width for all loops."""

    def add_ir_module(self, ir_module: Any) -> None:
        """Mark the loops of a module, and add it.

        If one loop stored half vectors, the full-width loads of the next would have to wait until
        both halves have left the store buffer.
        """
        module = parse_assembly(normalize_ir_text(mark_loops(str(ir_module))))
        module.name = ir_module.name
        module.verify()
        self.add_llvm_module(module)


class _UnrolledLoopLibrary(_LinkedLibrary):
    """LLVM IR of an unrolled loop, whose equal operations become vector instructions."""

    def _optimize_final_module(self) -> None:
        """Optimise with LLVM's SLP vectoriser, which numba leaves out by default."""
        setting = config.SLP_VECTORIZE
        config.SLP_VECTORIZE = 1
        try:
            super()._optimize_final_module()
        finally:
            config.SLP_VECTORIZE = setting


@register_pass(mutates_CFG=True, analysis_only=False)
class _LoweringOfInlineFunctions(NativeLowering):
    """numba's lowering to LLVM IR: into a separate library, without wrappers for Python and C."""

    _name = "lowering_of_inline_functions"

    def run_pass(self, state: Any) -> bool:
        """Lower the function and register it for callers."""
        flags = state.flags
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        # The library of a loop vectorises it before it is inlined. Inside a kernel LLVM would not
        # know that the arrays of the loop do not overlap, and rounds would take a fifth longer.
        state.library = state.pipeline.library(
            state.targetctx.codegen(), state.func_id.func_qualname
        )
        super().run_pass(state)
        lowered = state["cr"]  # the compile result
        description = lowered.fndesc
        # numba finds the function by this object when a kernel calls it; the object has no code
        key = _dynfunc.make_function(
            description.lookup_module(),
            description.qualname.split(".")[-1],
            "an inline function",
            0,
            lowered.env,
            (state.library,),
        )
        state.targetctx.insert_user_function(key, description, [state.library])
        state["cr"] = LowerResult(description, lowered.call_helper, cfunc=key, env=lowered.env)
        return True


class InlineCompiler(Compiler):
    """numba's compiler, except that it ends with LLVM IR that can be linked into a kernel."""

    library: type[_LinkedLibrary] = _UnoptimisedLibrary

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes with :class:`_LoweringOfInlineFunctions` as the lowering."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [
            (_LoweringOfInlineFunctions if step is NativeLowering else step, description)
            for step, description in pipeline.passes
        ]
        pipeline._finalized = False
        pipeline.finalize()
        return [pipeline]


class NoAliasCompiler(InlineCompiler):
    """Compiles functions whose arrays never overlap; numba's decorator has no such option."""

    library = _LinkedLibrary

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.state.flags.noalias = True


class VectorLoopCompiler(NoAliasCompiler):
    """Compiles loops over experts, vectorised with EXPERTS_PER_ITERATION doubles at a time."""

    library = _VectorLoopLibrary


class UnrolledLoopCompiler(NoAliasCompiler):
    """Compiles unrolled loops, with LLVM's SLP vectoriser."""

    library = _UnrolledLoopLibrary


class InlineFunction(CPUDispatcher):
    """A function that kernels call.

    For calls from Python, as in tests, numba's own compiler compiles it a second time.
    """

    dispatcher_for_python: Any = None

    def add_overload(self, result: Any) -> None:
        """Store a compiled version for kernels; it has no wrapper for Python."""
        self.overloads[tuple(result.signature.args)] = result

    def _compile_for_args(self, *arguments: Any, **keywords: Any) -> Any:
        if self.dispatcher_for_python is None:
            self.dispatcher_for_python = CPUDispatcher(
                self.py_func, targetoptions=self.targetoptions
            )
        return self.dispatcher_for_python._compile_for_args(*arguments, **keywords)
