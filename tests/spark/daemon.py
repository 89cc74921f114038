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
    from swordplay.spark.plan import Plan

    group = Plan(("x",), "squared", 0, 0, buckets=1, level=0.9).group()
    group.admit(["one"])
    one = np.zeros(1, dtype=np.int64)
    group.intervals(one, group.play(one, one, np.ones((1, 1)), np.ones(1))[:, 0], np.ones(1))
    group.ask(one, np.ones((1, 1)))


if __name__ == "__main__":
    from pyspark.daemon import manager

    load()
    manager()
