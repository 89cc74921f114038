"""A Sword per key on Spark: ``track_stream`` for Structured Streaming, ``track_table`` for tables.

Needs PySpark 4 and Java 17 or newer: the extra ``spark``, on the driver and on every executor.
"""

from swordplay.spark.query import track_stream, track_table
from swordplay.spark.states import open_state

__all__ = ["open_state", "track_stream", "track_table"]
