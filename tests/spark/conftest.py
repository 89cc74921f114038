"""One Spark for all tests in here, where there is Java to run it."""

import os
import shutil

import numpy as np
import pytest

from spark import local


@pytest.fixture(scope="session")
def java():
    """Spark runs on Java."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and os.path.exists(os.path.join(home, "bin", "java"))):
        pytest.skip("no Java here: install 17 or newer (Debian: apt install openjdk-17-jre-headless) or set JAVA_HOME")


@pytest.fixture(scope="session")
def spark(java, tmp_path_factory):
    pytest.importorskip("pyspark")
    compiled()
    session = local.session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


def compiled():
    """Compile the kernel once, here, before Spark's workers do so side by side."""
    from swordplay.spark.plan import Plan

    group = Plan(("x",), "squared", 0, 0, buckets=1, layout="packed", single=False).group()
    group.admit(["one"])
    group.play(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.ones((1, 1)), np.ones(1))
