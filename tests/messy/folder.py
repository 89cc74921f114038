"""A folder of messy tables: what each holds, and how a person reads it."""

from messy.beginnings import BEGINNINGS
from messy.cases import Messy
from messy.dates import DATES
from messy.formats import OTHER_FORMATS
from messy.numbers import NUMBERS
from messy.said import SAID
from messy.traps import TRAPS

PARTS = (NUMBERS, DATES, TRAPS, BEGINNINGS, OTHER_FORMATS, SAID)
FOLDER: dict[str, Messy] = {name: messy for part in PARTS for name, messy in part.items()}
