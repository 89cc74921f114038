"""Servers for all tests of this folder."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
sys.path.insert(0, str(Path(__file__).parent))  # servers.py


@pytest.fixture(scope="session")
def launcher(tmp_path_factory):
    from servers import Launcher

    launcher = Launcher(tmp_path_factory.mktemp("servers"))
    yield launcher
    launcher.close()
