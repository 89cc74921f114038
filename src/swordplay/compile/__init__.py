"""Decorators that compile kernels with numba, and a cache of their machine code on disk."""

from swordplay.compile.jit import (
    CHECKED,
    JIT_DISABLED,
    bits_to_float,
    bound_call,
    expert_loop,
    float_to_bits,
    inline,
    inline_ordered,
    kernel,
    larger,
    machine_code,
    named_rows,
    smaller,
    tail_view,
    uncompiled,
    unrolled_loop,
)

__all__ = [
    "CHECKED",
    "JIT_DISABLED",
    "bits_to_float",
    "bound_call",
    "expert_loop",
    "float_to_bits",
    "inline",
    "inline_ordered",
    "kernel",
    "larger",
    "machine_code",
    "named_rows",
    "smaller",
    "tail_view",
    "uncompiled",
    "unrolled_loop",
]
