"""Spark's daemon of Python workers, with all that they import and the compiled kernels in memory: a
worker is then a fork.

Without it every worker spends seconds on imports. That is the way that users go, and so do the
drivers of ``test_survival``.
"""


def load():
    """Import what workers need, and let one key learn a row, with its interval."""
    import numpy as np
    import pandas  # noqa: F401  # for those that are forked later
    import pyspark.sql.streaming.stateful_processor_api_client
    import pyspark.worker  # noqa: F401  # for those that are forked later

    from swordplay.spark import processors  # noqa: F401  # for those that are forked later
    from swordplay.spark.plan import QueryPlan

    table = QueryPlan(("x",), "squared", 0, "auto", buckets=1, level=0.9).table()
    table.add(["one"])
    one = np.zeros(1, dtype=np.int64)
    table.intervals(one, table.learn(one, one, np.ones((1, 1)), np.ones(1))[:, 0], np.ones(1))
    table.predict(one, np.ones((1, 1)))


if __name__ == "__main__":
    from pyspark.daemon import manager

    load()
    manager()
