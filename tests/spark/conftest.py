"""One Spark for all tests in here, where there is Java to run it."""

import os
import shutil
from pathlib import Path

import pytest

from spark import daemon, local


@pytest.fixture(scope="session")
def java():
    """Spark runs on Java."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (
        home and os.path.exists(os.path.join(home, "bin", "java"))
    ):
        pytest.skip(
            "no Java here: install 17 or newer (Debian: apt install openjdk-17-jre-headless) or "
            "set JAVA_HOME"
        )


@pytest.fixture(scope="session")
def spark(java, tmp_path_factory):
    pytest.importorskip("pyspark")
    daemon.load()  # compiled once, here, before Spark's workers do so side by side
    with pytest.MonkeyPatch.context() as patch:  # so that workers find what is in here
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]), prepend=os.pathsep)
        patch.setenv("SPARK_HOME", local.home(tmp_path_factory.mktemp("home")))
        session = local.session(tmp_path_factory.mktemp("spark"), **local.SHORT)
    yield session
    session.stop()
