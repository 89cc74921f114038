"""A state holds what it learned from: only its owner may read the file."""

import os

import pytest

from swordplay.core import checkpoint
from swordplay.core.files import write_atomic


@pytest.mark.skipif(os.name != "posix", reason="permissions as on POSIX")
def test_states_are_private_and_results_are_not(tmp_path):
    before = os.umask(0o022)
    try:
        checkpoint.save(tmp_path / "state", {"a": 1.0}, kind="test")
        write_atomic(tmp_path / "result", b"")
    finally:
        os.umask(before)
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {
        "state": 0o600,
        "result": 0o644,
    }
