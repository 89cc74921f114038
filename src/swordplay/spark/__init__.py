"""A Sword per key on Spark: ``track_stream`` for Structured Streaming, ``track_table`` for tables.

A stream may begin with what ``learn_table`` has learned from a table.
Needs PySpark 4 and Java 17 or newer: the extra ``spark``, on the driver and on every executor.
"""

from swordplay.spark.processors import open_state
from swordplay.spark.query import learn_table, track_stream, track_table

__all__ = ["learn_table", "open_state", "track_stream", "track_table"]
