"""A sweep whose games are played by Spark's workers."""

import functools

import pytest

import swordplay as sp
from swordplay.theory.sweeps import sweep

joblib = pytest.importorskip("joblib")
joblibspark = pytest.importorskip(
    "joblibspark", reason="needs joblibspark: pip install joblibspark"
)

NOISE = [
    "ignore:Spark local mode doesn't support:UserWarning",
    "ignore:`apply_async` is deprecated:DeprecationWarning",
    "ignore:Spark session is not provided:UserWarning",
]
"""What joblibspark 0.6 says to joblib 1.6 and PySpark 4.3, whoever calls it."""
pytestmark = [pytest.mark.xdist_group("spark"), *map(pytest.mark.filterwarnings, NOISE)]


def test_spark_makes_the_same_table(spark, tmp_path):
    games = (
        {
            "Sword": lambda stream: sp.Sword(stream.domain),
            "OGD": lambda stream: sp.OGD(stream.domain, step_size=0.1),
        },
        {"jumps": functools.partial(sp.streams.drift.jumps, 300, 3)},
        range(3),
    )
    joblibspark.register_spark()
    with joblib.parallel_config("spark", n_jobs=2):
        table = sweep(*games, file=tmp_path / "book.jsonl")
    assert table == sweep(*games)
