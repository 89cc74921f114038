"""Compiles inline functions of kernels to LLVM IR only, so that the kernel is optimised once.

numba compiles every function that it meets to machine code with wrappers for Python and C, and
optimises it together with all that it calls. In a kernel of a hundred small functions that call
each other, the same lines would be optimised again at each level, for machine code that is never
run. Functions that stop before the optimiser (innermost loops excepted) halve the time of compiling
(docs/decisions/0027).
"""

# numba has no types for what this module uses.
# mypy: allow-untyped-calls, allow-untyped-decorators, allow-subclassing-any
# mypy: disable-error-code="attr-defined"

import re
from itertools import count
from typing import Any

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

BLOCK = 8
"""Experts that a loop handles at a time: one vector register of 512 bits, two of 256."""
_NOT_UNROLLED = '!"llvm.loop.unroll.disable"'
_MARKS = (
    f'!"llvm.loop.vectorize.width", i32 {BLOCK}',
    '!"llvm.loop.interleave.count", i32 1',
    _NOT_UNROLLED,
)
_LABEL, _JUMP = re.compile(r'"?B(\d+)[\w.]*"?:$'), re.compile(r'  br label %"B(\d+)"$')


def in_blocks(text: str) -> str:
    """Functions in LLVM's notation whose innermost loops are marked to run in vectors of one block.

    The mark (``llvm.loop``) belongs to the jump back to the start of a loop. numba names a basic
    block after the offset of its first bytecode instruction (B10, with additions such as
    B10.endif), so a jump to a smaller number ends a loop. Outer loops are marked not to be
    unrolled: unrolled, they would compute the address of each row anew.
    """
    lines, here = text.splitlines(), -1
    loops: list[tuple[int, int, int]] = []
    for place, line in enumerate(lines):
        if label := _LABEL.match(line):
            here = int(label[1])
        elif (jump := _JUMP.match(line)) and int(jump[1]) <= here:
            loops.append((place, int(jump[1]), here))
    names = count(1_000_000)  # numbers of metadata that the module does not use
    for place, first, last in loops:
        innermost = not any(first < other and end <= last for _, other, end in loops)
        loop, said = (
            next(names),
            {next(names): words for words in (_MARKS if innermost else (_NOT_UNROLLED,))},
        )
        lines[place] += f", !llvm.loop !{loop}"
        lines += [f"!{name} = !{{{words}}}" for name, words in said.items()]
        lines.append(f"!{loop} = distinct !{{!{loop}, {', '.join(f'!{name}' for name in said)}}}")
    return "\n".join(lines)


class _LinkedLibrary(JITCodeLibrary):
    """LLVM IR of an inline function and its callees, linked into kernels and never run alone."""

    def _finalize_final_module(self) -> None:
        """Finalize the library without generating machine code."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _UnoptimisedLibrary(_LinkedLibrary):
    """An inline function that is not optimised: the kernel is."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Leave the module as it is."""


class _BlockLoopLibrary(_LinkedLibrary):
    """A loop over experts that handles one block an iteration, in registers of one width."""

    def add_ir_module(self, ir_module: Any) -> None:
        """Add a module with marked loops.

        A full vector cannot be loaded at once if another loop has just stored two halves.
        """
        module = parse_assembly(normalize_ir_text(in_blocks(str(ir_module))))
        module.name = ir_module.name
        module.verify()
        self.add_llvm_module(module)


class _UnrolledLoopLibrary(_LinkedLibrary):
    """An unrolled loop: equal steps side by side become one vector instruction."""

    def _optimize_final_module(self) -> None:
        """Optimise with LLVM's SLP vectoriser, which numba leaves out by default."""
        before = config.SLP_VECTORIZE
        config.SLP_VECTORIZE = 1
        try:
            super()._optimize_final_module()
        finally:
            config.SLP_VECTORIZE = before


@register_pass(mutates_CFG=True, analysis_only=False)
class _LoweringOfInlineFunctions(NativeLowering):
    """numba's lowering to LLVM IR, into a separate library, without wrappers for Python and C."""

    _name = "lowering_of_inline_functions"

    def run_pass(self, state: Any) -> bool:
        """Lower the function and register it for callers."""
        flags = state.flags
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        # A loop over arrays that do not overlap is vectorised here, before it is inlined: inside a
        # kernel, LLVM knows less about its arrays (a fifth slower, measured).
        kind = state.pipeline.library
        state.library = kind(state.targetctx.codegen(), state.func_id.func_qualname)
        super().run_pass(state)
        lowered = state["cr"]
        what, name = lowered.fndesc, lowered.fndesc.qualname.split(".")[-1]
        key = _dynfunc.make_function(
            what.lookup_module(), name, "an inline function", 0, lowered.env, (state.library,)
        )
        state.targetctx.insert_user_function(key, what, [state.library])
        state["cr"] = LowerResult(what, lowered.call_helper, cfunc=key, env=lowered.env)
        return True


class InlineCompiler(Compiler):
    """numba's compiler, which stops when an inline function is ready to be linked."""

    library: type[_LinkedLibrary] = _UnoptimisedLibrary

    def define_pipelines(self) -> list[Any]:
        """numba's passes, with another lowering."""
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        usual.passes = [
            (_LoweringOfInlineFunctions if step is NativeLowering else step, why)
            for step, why in usual.passes
        ]
        usual._finalized = False
        usual.finalize()
        return [usual]


class NoAliasCompiler(InlineCompiler):
    """Compiles functions no two arrays of which overlap; numba's decorator has no option for it."""

    library = _LinkedLibrary

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.state.flags.noalias = True


class BlockLoopCompiler(NoAliasCompiler):
    """Compiles loops over experts."""

    library = _BlockLoopLibrary


class UnrolledLoopCompiler(NoAliasCompiler):
    """Compiles unrolled loops."""

    library = _UnrolledLoopLibrary


class InlineFunction(CPUDispatcher):
    """A function that kernels call.

    If Python calls it, as tests do, it is compiled a second time by numba's own compiler.
    """

    alone: Any = None

    def add_overload(self, found: Any) -> None:
        """Remember it for kernels; it has no wrapper for Python."""
        self.overloads[tuple(found.signature.args)] = found

    def _compile_for_args(self, *arguments: Any, **named: Any) -> Any:
        if self.alone is None:
            self.alone = CPUDispatcher(self.py_func, targetoptions=self.targetoptions)
        return self.alone._compile_for_args(*arguments, **named)
