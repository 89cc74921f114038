"""Where the records of delimited text with quotes end: newlines inside quotes do not count.

Compiled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swordplay.compile import kernel

QUOTE, LINE_FEED, CARRIAGE_RETURN = 34, 10, 13


@kernel
def scan(
    data: NDArray[np.uint8], delimiter: int, ends: NDArray[np.int64], fields: NDArray[np.int64]
) -> tuple[int, bool]:
    """Fill in the end and the number of fields of each record that is ended by a newline, as
    pyarrow would cut them.

    A quote opens a quoted part only where a field begins; in it, two quotes are one. Elsewhere
    quotes are plain characters.

    Parameters
    ----------
    data
        Bytes that begin where a record begins.
    delimiter
        The byte between fields.
    ends, fields
        Room for as many records as there are lines.

    Returns
    -------
    count, open
        How many records, and whether the bytes end within quotes.
    """
    count, width, i = 0, 1, 0
    quoted, fresh = False, True  # within quotes; at the beginning of a field
    while i < data.size:
        byte = data[i]
        i += 1
        if quoted:
            if byte == QUOTE:
                if i < data.size and data[i] == QUOTE:
                    i += 1
                else:
                    quoted = False
        elif byte in (LINE_FEED, CARRIAGE_RETURN):
            if byte == CARRIAGE_RETURN and i < data.size and data[i] == LINE_FEED:
                i += 1
            ends[count], fields[count] = i, width
            count, width, fresh = count + 1, 1, True
        elif byte == delimiter:
            width, fresh = width + 1, True
        else:
            quoted = fresh and byte == QUOTE
            fresh = False
    return count, quoted
