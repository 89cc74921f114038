"""A model for every key on Spark: ``track_stream`` for streams, ``track_table`` for tables.

A stream may begin with what ``learn_table`` has learned from a table.
Needs PySpark 4 and Java 17 or newer: the extra ``spark``, on the driver and on every executor.
"""

from swordplay.spark.functions import learn_table, track_stream, track_table
from swordplay.spark.processors import open_state

__all__ = ["learn_table", "open_state", "track_stream", "track_table"]
