"""Pieces of kernels: no machine code of their own, and yet they can be called."""

import importlib
import pkgutil
import types
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target

import swordplay
from swordplay.compile import jit, kernel_cache, kernel_folders

pytestmark = pytest.mark.skipif(jit.JIT_DISABLED, reason="nothing is compiled")


@jit.inline
def doubled(value):
    return 2.0 * value


@jit.expert_loop
def add_doubled(values, answer):
    for i in range(len(values)):
        answer[i] += doubled(values[i])


@jit.kernel
def of_pieces(values, answer):
    add_doubled(values, answer)


def test_a_kernel_holds_its_pieces():
    answer = np.ones(5)
    before = kernel_cache.compile_timer.seconds
    of_pieces(np.arange(5.0), answer)
    assert answer.tolist() == [1.0, 3.0, 5.0, 7.0, 9.0]
    assert kernel_cache.compile_timer.seconds > before or of_pieces.stats.cache_hits
    for found in (*doubled.overloads.values(), *add_doubled.overloads.values()):
        assert not found.library.codegen._engine.is_symbol_defined(found.fndesc.mangled_name)


@jit.kernel
def move_on(matrix, row, first, answer):
    rest = jit.tail_view(matrix[row], first)
    for i in range(len(answer)):
        answer[i] = rest[i]
        rest[i] += 100.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_row_from_some_place_on_is_a_view_of_it(dtype):
    matrix, answer = np.arange(20, dtype=dtype).reshape(2, 10), np.zeros(3)
    wanted = matrix.copy()
    move_on(matrix, 1, 4, answer)
    assert answer.tolist() == [14.0, 15.0, 16.0]
    wanted[1, 4:7] += 100
    np.testing.assert_array_equal(matrix, wanted)


class Pair(NamedTuple):
    """Two rows."""

    first: Any
    second: Any


@jit.expert_loop
def add_first(n, rows):
    for i in range(n):
        rows.second[i] += rows.first[i]


@jit.kernel
def add_rows(matrices, k):
    add_first(matrices.shape[2], jit.named_rows(Pair, matrices[k]))


def test_named_rows_are_the_first_rows_of_a_matrix():
    matrices = np.arange(48.0).reshape(2, 3, 8)
    wanted = matrices.copy()
    wanted[1, 1] += wanted[1, 0]
    add_rows(matrices, 1)
    np.testing.assert_array_equal(matrices, wanted)
    rows = jit._named_rows(Pair, matrices[1])  # what uncompiled kernels use
    np.testing.assert_array_equal(rows.second, wanted[1, 1])


@jit.kernel
def twice(value):
    return doubled(value)


def test_a_kernel_that_was_kept_cannot_be_called_by_another():
    """Nothing but its machine code is on disk: the other one would jump to nowhere."""
    twice(1.0)
    (compiled,) = twice.overloads.values()
    if not twice.stats.cache_hits:  # this test has not been run before
        compiled = twice._cache.load_overload(compiled.signature.args, cpu_target.target_context)
    with pytest.raises(TypeError, match="cannot call another kernel"):
        compiled.library._get_module_for_linking()  # as numba does when it links what is called


def test_no_kernel_calls_another():
    """Of all that the package has."""
    kernels, seen = set(), {}
    for module in pkgutil.walk_packages(swordplay.__path__, "swordplay."):
        for found in vars(importlib.import_module(module.name)).values():
            if isinstance(found, Dispatcher):
                seen[id(found)] = found
                if isinstance(getattr(found, "_cache", None), kernel_cache.KernelCache):
                    kernels.add(id(found))
    assert len(kernels) > 30
    for found in seen.values():
        known, names = found.py_func.__globals__, found.py_func.__code__.co_names
        used = [known.get(name) for name in names]
        used += [
            getattr(one, name, None)
            for one in used
            if isinstance(one, types.ModuleType)
            for name in names
        ]
        assert not {id(one) for one in used} & kernels, found


def test_python_may_call_a_piece():
    assert doubled(3.0) == 6.0
    assert doubled(4) == 8.0
    answer = np.zeros(2)
    add_doubled(np.array([1.0, 2.0]), answer)
    assert answer.tolist() == [2.0, 4.0]


def test_a_folder_that_cannot_be_written_to_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(
        kernel_cache,
        "local_folders",
        lambda source: [kernel_folders.KernelFolder(tmp_path / "file")],
    )

    @jit.kernel
    def halved(value):
        return 0.5 * value

    assert halved(3.0) == 1.5
    assert (tmp_path / "file").read_text() == ""


def test_a_process_that_is_expected_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(
        kernel_cache, "local_folders", lambda source: [kernel_folders.KernelFolder(tmp_path)]
    )
    waited = []

    @jit.kernel
    def tripled(value):
        return 3.0 * value

    kernel_cache.register_wait(tripled._cache.source, lambda: waited.append(True))
    assert tripled(2.0) == 6.0
    assert tripled(5.0) == 15.0
    assert waited == [True]
    assert list(tmp_path.glob("*.kernel"))
