"""Numbers as people write them: thousands apart, with a unit, negative ones in brackets."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, final

import pyarrow as pa
import pyarrow.compute as pc

from swordplay.tables.readings.reading import (
    MARKS,
    MISSING,
    NUMBER,
    Converted,
    Reading,
    known,
    mask,
    texts,
    without,
)

SEPARATORS = {"": "", ",": "commas", ".": "points", " ": "spaces", "'": "apostrophes"}
"""Between groups of thousands, and what they are called."""
SIGNS = (
    "$",
    "€",
    "£",
    "¥",
    "₹",
    "₽",
    "₩",
    "₺",
    "₫",
    "₪",
    "₴",
    "฿",
    "₱",
    "₦",
    "R$",
    "US$",
    "A$",
    "C$",
    "HK$",
    "NZ$",
    "S$",
    "zł",
    "Kč",
)
CODES = (
    *(
        "USD",
        "EUR",
        "GBP",
        "JPY",
        "CHF",
        "CNY",
        "INR",
        "AUD",
        "CAD",
        "NZD",
        "SEK",
        "NOK",
        "DKK",
        "PLN",
        "CZK",
        "HUF",
        "RUB",
        "TRY",
    ),
    *(
        "BRL",
        "MXN",
        "ZAR",
        "KRW",
        "SGD",
        "HKD",
        "THB",
        "IDR",
        "ILS",
        "UAH",
        "RON",
        "BGN",
        "ISK",
        "AED",
        "SAR",
        "VND",
        "PHP",
        "MYR",
    ),
    *("BTC", "ETH", "Fr.", "Rs.", "Rs", "kr", "kr."),
)
CURRENCIES = (*SIGNS, *CODES)
GLUED = (
    *(
        "%",
        "‰",
        "°",
        "°C",
        "°F",
        "g",
        "kg",
        "mg",
        "lb",
        "lbs",
        "oz",
        "m",
        "cm",
        "mm",
        "km",
        "mi",
        "ft",
        "in",
        "m²",
        "m2",
        "m³",
    ),
    *(
        "m3",
        "km²",
        "km2",
        "ha",
        "l",
        "ml",
        "mL",
        "s",
        "sec",
        "ms",
        "min",
        "h",
        "hr",
        "hrs",
        "W",
        "kW",
        "MW",
        "GW",
        "Wh",
        "kWh",
    ),
    *(
        "MWh",
        "GWh",
        "V",
        "kV",
        "mV",
        "mA",
        "Hz",
        "kHz",
        "MHz",
        "GHz",
        "Pa",
        "hPa",
        "kPa",
        "bar",
        "mbar",
        "psi",
        "kB",
        "MB",
    ),
    *(
        "GB",
        "TB",
        "KB",
        "km/h",
        "kph",
        "mph",
        "m/s",
        "kn",
        "ppm",
        "ppb",
        "bps",
        "bp",
        "dB",
        "lx",
        "lm",
        "kJ",
        "MJ",
        "cal",
        "kcal",
    ),
    *("kN", "Nm", "rpm", "px", "pt"),
)
"""Units that may follow a number without a blank; with a blank, any short word may."""
SPACES = "\u00a0\u202f\u2009\u2007"
"""Blanks that do not break lines: between thousands they are blanks."""


@final
class Amount(Reading):
    """Numbers that are not written plainly.

    Parameters
    ----------
    decimal
        ``"."`` or ``","``.
    thousands
        Between groups of three digits: one of :data:`SEPARATORS`.
    unit
        A currency, ``"%"`` or a unit such as ``"kg"``; it stands before or after each number.
    optional
        Whether numbers without the unit fit.
    """

    name, kind, type = "amount", "number", NUMBER

    def __init__(
        self, decimal: str = ".", thousands: str = "", unit: str = "", optional: bool = False
    ) -> None:
        self.decimal, self.thousands, self.unit, self.optional = decimal, thousands, unit, optional
        self.said = ", ".join(self._words())
        self.expected = f"a number such as {self._example()}" if self.said else "a finite number"

    def parameters(self) -> dict[str, Any]:
        """Those of the constructor."""
        return {
            "decimal": self.decimal,
            "thousands": self.thousands,
            "unit": self.unit,
            "optional": self.optional,
        }

    def _words(self) -> list[str]:
        words = [f"in {self.unit}"] if self.unit else []
        if self.thousands:
            words.append(f"thousands by {SEPARATORS[self.thousands]}")
        return [*words, "decimal comma"] if self.decimal == "," else words

    def _example(self) -> str:
        number = f"1{self.thousands}280{self.decimal}5" if self.thousands else f"12{self.decimal}5"
        if self.unit in CURRENCIES and self.unit in SIGNS:
            return f"{self.unit}{number}" if self.decimal == "." else f"{number} {self.unit}"
        return f"{number}{'' if self.unit in ('', '%') else ' '}{self.unit}"

    @cached_property
    def pattern(self) -> str:
        """What the texts look like (RE2): sign, unit, digits, unit; or the same in brackets."""
        number = rf"(?:{digits(self.thousands)}(?:{re.escape(self.decimal)}\d*)?|{re.escape(self.decimal)}\d+)(?:[eE][-+]?\d+)?"  # noqa: E501
        if not self.unit:
            signed, bare = rf"[-+−]?{number}", number
        else:
            unit = re.escape(self.unit)
            before, after = rf"{unit}\s?[-+−]?{number}", rf"{number}\s?{unit}"
            either = (
                rf"(?:{before}|{after}|{number})" if self.optional else rf"(?:{before}|{after})"
            )
            signed = bare = rf"[-+−]?{either}"
        return rf"^(?:{signed}|\({bare}\))$"

    def convert(self, values: pa.Array) -> Converted:
        """Read texts; brackets make negative."""
        values = known(texts(values), (*MISSING, *MARKS))
        if self.thousands == " ":
            for space in SPACES:
                values = pc.replace_substring(values, space, " ")
        if self.thousands == "'":
            values = pc.replace_substring(values, "’", "'")
        bad = ~mask(pc.match_substring_regex(values, self.pattern), absent=True)
        values = without(values, bad)
        for text in (
            self.unit,
            " " if self.unit or self.thousands == " " else "",
            self.thousands.strip(),
        ):
            values = pc.replace_substring(values, text, "") if text else values
        if self.decimal == ",":
            values = pc.replace_substring(values, ",", ".")
        if pc.any(pc.match_substring(values, "−"), min_count=0).as_py():
            values = pc.replace_substring(values, "−", "-")
        negative = pc.starts_with(values, "(")
        if pc.any(negative, min_count=0).as_py():
            numbers = pc.utf8_trim(values, "()").cast(NUMBER)
            numbers = pc.if_else(negative, pc.negate(numbers), numbers)
        else:
            numbers = values.cast(NUMBER)
        huge = mask(pc.is_inf(numbers))
        return Converted(without(numbers, huge), bad | huge)


def digits(thousands: str) -> str:
    """Whole numbers with or without groups of thousands."""
    if not thousands:
        return r"\d+"
    mark = re.escape(thousands)
    groups = (
        rf"(?:{mark}\d{{2,3}})*{mark}\d{{3}}" if thousands == "," else rf"(?:{mark}\d{{3}})+"
    )  # 1,28,000 in India
    return rf"(?:[1-9]\d{{0,2}}{groups}|\d+)"
