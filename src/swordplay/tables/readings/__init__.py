"""How texts of a table are read as numbers, truths, words, dates and times.

:func:`reading_of` looks at some texts of a column and says how they are to be read;
:func:`reading_as` does what a user has said they are. A :class:`Reading` turns texts into values,
and says which ones do not fit.
"""

from swordplay.tables.readings.amounts import Amount
from swordplay.tables.readings.choosing import (
    KINDS,
    Found,
    from_declared,
    reading_as,
    reading_of,
)
from swordplay.tables.readings.moments import Epoch, TimeOfDay, Written
from swordplay.tables.readings.plain import Iso, Truth, Word
from swordplay.tables.readings.reading import Converted, Reading

__all__ = [
    "KINDS",
    "Amount",
    "Converted",
    "Epoch",
    "Found",
    "Iso",
    "Reading",
    "TimeOfDay",
    "Truth",
    "Word",
    "Written",
    "from_declared",
    "reading_as",
    "reading_of",
]
