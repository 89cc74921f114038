"""Open a table, whatever its format."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from swordplay.core.arguments import short_repr
from swordplay.tables import csv_format, ndjson_format
from swordplay.tables.comparing import read_again
from swordplay.tables.digests import TextDigest
from swordplay.tables.errors import TableError, nearest
from swordplay.tables.frames import Frame
from swordplay.tables.lean import take_pandas_in
from swordplay.tables.memory import MemoryTable
from swordplay.tables.parquet import ParquetTable
from swordplay.tables.schema import KINDS, ColumnRequest, KnownColumn
from swordplay.tables.source import Source
from swordplay.tables.table import Position, Table
from swordplay.tables.text import HEAD_BYTES, LONGEST_RECORD, TextTable, endless, too_long
from swordplay.tables.text_format import MARK, Format, TextHead
from swordplay.tables.typed import BATCH_ROWS

NEWLINES = (b"\n", b"\r")
BLOCK = 1 << 22
"""Bytes of text per batch: pyarrow is fastest at about this size, and memory stays small."""
ENDINGS = {
    "csv": (".csv", ".tsv", ".txt", ".dat"),
    "ndjson": (".ndjson", ".jsonl", ".json"),
    "parquet": (".parquet", ".pq"),
}
LOOKED_AT = 1 << 16
"""Bytes at the beginning in which zero bytes show that a file is no text."""
UTF16 = (b"\xff\xfe", b"\xfe\xff")


class TextFormat(NamedTuple):
    """A format of text: how it is recognised, and how it comes back from a position."""

    recognise: Callable[[TextHead, ColumnRequest], Format]
    complete: Callable[[bytes], bool]
    described: Callable[[str], Format]


TEXT: dict[str, TextFormat] = {
    "csv": TextFormat(csv_format.recognise, csv_format.complete, csv_format.CsvFormat.described),
    "ndjson": TextFormat(
        ndjson_format.recognise, ndjson_format.complete, ndjson_format.NdjsonFormat.described
    ),
}


def open_table(
    source: str | os.PathLike[str] | Frame,
    *,
    format: str | None = None,
    target: str | None = "y",
    drop: Collection[str] = (),
    keep: Collection[str] | None = None,
    on_bad: str = "stop",
    encoding: str = "utf-8",
    types: Mapping[str, str] | None = None,
    missing: Collection[str] = (),
    header: bool | None = None,
    before: Mapping[str, KnownColumn] | None = None,
    others: bool = True,
    block_size: int = BLOCK,
    position: Position | None = None,
    resumable: bool = False,
    compared: Callable[[float], None] = lambda share: None,
) -> Table:
    r"""Open a CSV, NDJSON or Parquet table for one pass over its rows.

    Types are decided from the head (the first 10,000 rows and 4 MiB of a file; what there is of a
    pipe): each column is what more than half of its values are, in the way of writing that fits
    most of them (see :func:`reading_of`). After that a value that does not fit makes its row a bad
    one. Numbers are finite; empty fields, ``NA``, ``nan``, ``null`` and their like are missing,
    which is not bad, and so are ``-``, ``--`` and ``.`` beside all but words. Columns of lists and
    the like are left out. The schema's metadata tell how a column was read (``b"reading"``) and
    what was left out (``b"left out"``).

    Parameters
    ----------
    source
        Path, or ``"-"`` for standard input. Pipes are read as their lines arrive. Or a table in
        memory (:func:`frame`).
    format
        ``"csv"``, ``"ndjson"`` or ``"parquet"``; detected from the content and the name unless
        given.
    target
        A column that must be there; None to require none.
    drop, keep
        Columns that are not read, and the only ones that are read beside the target.
    on_bad
        ``"stop"`` raises an error at the first bad row, after the rows before it were yielded;
        ``"skip"`` leaves bad rows out and lists them in the batch.
    encoding
        Of text: any that Python knows.
    types
        What columns hold, by name, instead of detecting it: ``"number"``, ``"decimal-comma"``,
        ``"decimal-point"``, ``"truth"``, ``"word"`` or ``"category"``, ``"date"``, ``"day-first"``,
        ``"month-first"``, ``"year-first"``, ``"time"``, ``"skip"``.
    missing
        Further texts that stand for a missing value.
    header
        Whether CSV begins with the names of its columns; detected unless given.
    before, others
        The columns of an earlier table (:func:`earlier.columns_of`), which are read as they were
        there, and whether columns that it did not have are read, too.
    block_size
        Bytes of text of a batch, about. A batch of Parquet has as many rows as that much text might
        have.
    position
        Where an earlier reading got to (:class:`Batch`); the same source has to be given, and may
        have grown. What lies in front of the position is read again and compared.
    resumable
        Whether a later reading can go on from a position of this one. All that is read is digested
        then, which adds 8 % to the processor time of reading CSV.
    compared
        Called with the share that was compared, from 0 to 1.

    Raises
    ------
    TableError
        Here or while reading: one or two lines with file, line, column and remedy.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "demo.csv")
    >>> _ = path.write_text("x,y\n1,true\n,false\n")
    >>> with open_table(path, target="y") as table:
    ...     [batch.rows.to_pylist() for batch in table.batches()]
    [[{'x': 1.0, 'y': True}, {'x': None, 'y': False}]]
    """
    _require_known(on_bad, format, types or {}, position)
    # Dictionaries look names up in constant time and keep their order.
    request = ColumnRequest(
        target,
        dict.fromkeys(drop),
        None if keep is None else dict.fromkeys(keep),
        types or {},
        tuple(missing),
        header,
        before or {},
        others,
    )
    skip = on_bad == "skip"
    batch_rows = max(1, block_size * BATCH_ROWS // BLOCK)
    if position is not None and not position.fingerprint:
        raise ValueError("position was not made by a table that was opened with resumable=True.")
    typed: dict[str, Any] = {
        "skip": skip,
        "batch_rows": batch_rows,
        "resumable": resumable,
        "compared": compared,
    }
    if isinstance(source, Frame):
        return MemoryTable(source.rows, source.name, request, position, **typed)
    text = Source(os.fspath(source), encoding)
    try:
        format = position.format if position else format or recognised(text)
        if format == "parquet":
            return ParquetTable(text, request, position, **typed)
        how: dict[str, Any] = {"skip": skip, "block_size": block_size}
        if position is None:
            table = _begun(text, format, request, how, resumable=resumable)
        else:
            table = _resumed(text, position, how, compared)
        take_pandas_in(table.schema)
        return table
    except BaseException:
        text.close()
        raise


def _require_known(
    on_bad: str, format: str | None, types: Mapping[str, str], position: Position | None
) -> None:
    """Raise an error for values of options that do not exist."""
    if on_bad not in ("stop", "skip"):
        raise ValueError(f"on_bad must be 'stop' or 'skip', got {short_repr(on_bad)}.")
    if format not in (None, *ENDINGS):
        raise ValueError(f"format must be one of {', '.join(ENDINGS)}, got {short_repr(format)}.")
    if position is not None and format not in (None, position.format):
        raise TableError(
            f"format is {format!r}, but the saved state read {position.format!r}. Give the same "
            "format."
        )
    for name, kind in types.items():
        if kind not in KINDS:
            raise TableError(
                f"types gives {name!r} the kind {short_repr(kind)}.{nearest(kind, KINDS)} There "
                f"are: {', '.join(KINDS)}."
            )


def recognised(source: Source) -> str:
    """The format, by content where it is unmistakable and else by name."""
    if not source.magic:
        raise TableError(f"{source.name} is empty. Give a file with a header and rows.")
    if source.magic.startswith(b"PAR1"):
        return "parquet"
    if stranger := source.stranger():
        raise stranger
    name = source.name.lower().removesuffix(".gz").removesuffix(".zst")
    named = next((format for format, endings in ENDINGS.items() if name.endswith(endings)), None)
    if named is None:
        return "ndjson" if source.magic.removeprefix(MARK).lstrip().startswith(b"{") else "csv"
    return named


def _begun(
    source: Source, format: str, request: ColumnRequest, options: dict[str, Any], *, resumable: bool
) -> TextTable:
    """A table from its beginning."""
    head = _head(source, TEXT[format].complete)
    chosen = TEXT[format].recognise(head, request)
    source.unread(head.data[head.size :])
    digest = TextDigest(head.data[: head.size]) if resumable else None
    position = Position(format, chosen.describe(), head.size, 0, head.lines, 0, "", head.size)
    if digest is not None:
        position = position._replace(**digest.digests._asdict())
    table = TextTable(source, chosen, position, digest, **options)
    table.remarks.extend(head.remarks)
    return table


def _resumed(
    source: Source, position: Position, options: dict[str, Any], compared: Callable[[float], None]
) -> TextTable:
    """A table from where an earlier reading got to."""
    format = TEXT[position.format].described(position.layout)
    digest, last = read_again(source, format, position, compared)
    if last and last not in NEWLINES:
        _require_whole(source, position)
    return TextTable(source, format, position, digest, **options)


def _byte(source: Source) -> bytes:
    """The next byte; none at the end."""
    data = source.read(1)
    source.unread(data[1:])
    return data[:1]


def _require_whole(source: Source, position: Position) -> None:
    """Refuse to go on after a row that had no end when it was read, and has become longer since."""
    following = _byte(source)
    source.unread(following)
    if following and following not in NEWLINES:
        raise TableError(
            f"{source.name}, row {position.row}: the row was incomplete when it was read (the "
            "file ended in it), and has grown "
            "since.\nBegin anew with --force."
        )


def _head(source: Source, complete: Callable[[bytes], bool]) -> TextHead:
    """The beginning of a text: of a file always the same, of a pipe what has come once there is
    a row.
    """
    data = b""
    while more := source.read(max(HEAD_BYTES - len(data), BLOCK // 4)):
        data += more
        if (source.live or len(data) >= HEAD_BYTES) and complete(data):
            break
        if len(data) > LONGEST_RECORD:
            is_quoted = b'"' in data and b"\n" in data and not data.lstrip().startswith(b"{")
            raise (endless if is_quoted else too_long)(source.name, 0)
    head = TextHead(source.name, data, ended=not more)
    if not data.strip(MARK + b" \t\r\n"):
        raise TableError(f"{source.name} is empty. Give a file with a header and rows.")
    if source.encoding == "utf-8" and source.magic.startswith(UTF16):
        raise TableError(f"{source.name} is UTF-16 text. Give --encoding utf-16.")
    if b"\0" in data[:LOOKED_AT]:
        raise TableError(
            f"{source.name} is not text: it holds zero bytes. Give CSV, NDJSON or Parquet, or the "
            "right --encoding."
        )
    return head
