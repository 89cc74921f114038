"""How the pieces of a kernel are compiled: to numba's own notation and no further, as the kernel is optimised in one go.

numba compiles every function that it meets to machine code, with a way in from Python and one from C, and optimises it together
with all that it calls. Pieces that are called by pieces are then optimised again on every storey of the house, and none of that
machine code is ever run, as a kernel contains what it calls. Pieces that stop before the optimiser, the innermost loops
excepted, cost half of that (docs/decisions/0027).
"""

# mypy: allow-untyped-calls, allow-untyped-decorators, allow-subclassing-any, disable-error-code="attr-defined"
# because numba is untyped
from __future__ import annotations

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
"""Experts that a loop over them takes at a time: one vector register of 512 bits, two of 256."""
_ROLLED = '!"llvm.loop.unroll.disable"'
_SAID = f'!"llvm.loop.vectorize.width", i32 {BLOCK}', '!"llvm.loop.interleave.count", i32 1', _ROLLED
_LABEL, _JUMP = re.compile(r'"?B(\d+)[\w.]*"?:$'), re.compile(r'  br label %"B(\d+)"$')


def in_blocks(text: str) -> str:
    """Functions in LLVM's notation, with a mark where an innermost loop jumps back, that makes it vectors of a block.

    numba names a block after the place of its first instruction in Python's code, B10, and what it adds to it B10.endif and the
    like. So a jump to a smaller number is the end of a loop. Loops around others stay as they are written: unrolled, they would
    reckon the address of each row anew.
    """
    lines, here = text.splitlines(), -1
    loops: list[tuple[int, int, int]] = []
    for place, line in enumerate(lines):
        if label := _LABEL.match(line):
            here = int(label[1])
        elif (jump := _JUMP.match(line)) and int(jump[1]) <= here:
            loops.append((place, int(jump[1]), here))
    names = count(1_000_000)  # beyond those that are there
    for place, first, last in loops:
        innermost = not any(first < other and end <= last for _, other, end in loops)
        loop, said = next(names), {next(names): words for words in (_SAID if innermost else (_ROLLED,))}
        lines[place] += f", !llvm.loop !{loop}"
        lines += [f"!{name} = !{{{words}}}" for name, words in said.items()]
        lines.append(f"!{loop} = distinct !{{!{loop}, {', '.join(f'!{name}' for name in said)}}}")
    return "\n".join(lines)


class _Linked(JITCodeLibrary):
    """What a piece and all that it calls are in LLVM's notation: to be linked into a kernel, never to be run."""

    def _finalize_final_module(self) -> None:
        """The last steps without those that make machine code."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _Unfinished(_Linked):
    """The same, not optimised: the kernel is."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Nothing."""


class _InBlocks(_Linked):
    """The same of loops over experts: each turn is one block of them, in registers of the same width in every loop."""

    def add_ir_module(self, ir_module: Any) -> None:
        """Leave LLVM no choice of the width: what one loop stores in halves, the next one cannot load whole without waiting."""
        module = parse_assembly(normalize_ir_text(in_blocks(str(ir_module))))
        module.name = ir_module.name
        module.verify()
        self.add_llvm_module(module)


class _InLanes(_Linked):
    """The same of a loop whose lanes are written out: equal steps side by side become one vector instruction."""

    def _optimize_final_module(self) -> None:
        """With the step that numba leaves out unless it is told, for this one piece."""
        before = config.SLP_VECTORIZE
        config.SLP_VECTORIZE = 1
        try:
            super()._optimize_final_module()
        finally:
            config.SLP_VECTORIZE = before


@register_pass(mutates_CFG=True, analysis_only=False)
class _LoweringOfPieces(NativeLowering):
    """numba's step from typed code to LLVM's notation, into an unfinished library and without ways in from Python and C."""

    _name = "lowering_of_pieces"

    def run_pass(self, state: Any) -> bool:
        """Lower the function, and let others call it."""
        flags = state.flags
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        # A loop over arrays that do not overlap becomes vector instructions now: once it is inside a kernel, with arrays that
        # might, LLVM knows less about it (a fifth slower, measured).
        kind = state.pipeline.library
        state.library = kind(state.targetctx.codegen(), state.func_id.func_qualname)
        super().run_pass(state)
        lowered = state["cr"]
        what, name = lowered.fndesc, lowered.fndesc.qualname.split(".")[-1]
        key = _dynfunc.make_function(what.lookup_module(), name, "a piece", 0, lowered.env, (state.library,))
        state.targetctx.insert_user_function(key, what, [state.library])
        state["cr"] = LowerResult(what, lowered.call_helper, cfunc=key, env=lowered.env)
        return True


class PieceCompiler(Compiler):
    """numba's usual compiler, which stops where a piece is ready to be linked."""

    library: type[_Linked] = _Unfinished

    def define_pipelines(self) -> list[Any]:
        """The usual steps but one."""
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        usual.passes = [(_LoweringOfPieces if step is NativeLowering else step, why) for step, why in usual.passes]
        usual._finalized = False
        usual.finalize()
        return [usual]


class ApartCompiler(PieceCompiler):
    """The same, told that no two arrays of a function overlap; numba's decorator has no word for it."""

    library = _Linked

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.state.flags.noalias = True


class BlockCompiler(ApartCompiler):
    """The same for loops over experts."""

    library = _InBlocks


class LaneCompiler(ApartCompiler):
    """The same for loops whose lanes are written out."""

    library = _InLanes


class Piece(CPUDispatcher):
    """A function that kernels call. Python may call it too (tests do): it is then compiled again, as a kernel would be."""

    alone: Any = None

    def add_overload(self, found: Any) -> None:
        """Remember it for kernels; it has no way in from Python."""
        self.overloads[tuple(found.signature.args)] = found

    def _compile_for_args(self, *arguments: Any, **named: Any) -> Any:
        if self.alone is None:
            self.alone = CPUDispatcher(self.py_func, targetoptions=self.targetoptions)
        return self.alone._compile_for_args(*arguments, **named)
