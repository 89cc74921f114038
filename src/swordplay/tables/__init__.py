"""Files in, files out: tables too large for memory as batches of rows, with exact places to stop
and go on.

:func:`open_table` reads CSV, NDJSON and Parquet (gzip and zstd, files, pipes, standard input) and
says which row, line and column is wrong. :func:`open_output` writes them so that a finished file
has the same bytes however often the writing was interrupted. :func:`infer_parser` says how
texts of a column are read as numbers, dates or times. Needs ``pyarrow``, which comes with the extra
``cli``.
"""

from swordplay.tables.errors import TableError
from swordplay.tables.frames import Frame, frame
from swordplay.tables.infer import infer_parser, parser_for
from swordplay.tables.output import Output, OutputPosition
from swordplay.tables.parsers import Parser
from swordplay.tables.reading import open_table
from swordplay.tables.table import Batch, Position, Refusal, Table
from swordplay.tables.writing import open_output

__all__ = [
    "Batch",
    "Frame",
    "Output",
    "OutputPosition",
    "Parser",
    "Position",
    "Refusal",
    "Table",
    "TableError",
    "frame",
    "infer_parser",
    "open_output",
    "open_table",
    "parser_for",
]
