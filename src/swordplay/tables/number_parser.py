"""Numbers with units, thousands and brackets, and the inference of how a column writes them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, final

import pyarrow as pa
import pyarrow.compute as pc

from swordplay.tables.date_names import MONTH_NAMES
from swordplay.tables.errors import shell_name
from swordplay.tables.parsers import (
    DOUBLE,
    NULL_MARKS,
    NULL_TEXTS,
    Parsed,
    Parser,
    as_mask,
    null_if,
    null_where,
    trimmed_texts,
)

THOUSANDS_NAMES = {"": "", ",": "commas", ".": "points", " ": "spaces", "'": "apostrophes"}
"""Signs between groups of thousands, and what they are called."""
_CURRENCY_SIGNS = "$ € £ ¥ ₹ ₽ ₩ ₺ ₫ ₪ ₴ ฿ ₱ ₦ R$ US$ A$ C$ HK$ NZ$ S$ zł Kč"
_CURRENCY_CODES = """
    USD EUR GBP JPY CHF CNY INR AUD CAD NZD SEK NOK DKK PLN CZK HUF RUB TRY BRL MXN ZAR KRW SGD
    HKD THB IDR ILS UAH RON BGN ISK AED SAR VND PHP MYR BTC ETH Fr. Rs. Rs kr kr.
"""
_ATTACHED_UNITS = """
    % ‰ ° °C °F g kg mg lb lbs oz m cm mm km mi ft in m² m2 m³ m3 km² km2 ha l ml mL
    s sec ms min h hr hrs W kW MW GW Wh kWh MWh GWh V kV mV mA Hz kHz MHz GHz
    Pa hPa kPa bar mbar psi kB MB GB TB KB km/h kph mph m/s kn ppm ppb bps bp dB lx lm
    kJ MJ cal kcal kN Nm rpm px pt
"""
CURRENCY_SIGNS = tuple(_CURRENCY_SIGNS.split())
CURRENCIES = (*CURRENCY_SIGNS, *_CURRENCY_CODES.split())
ATTACHED_UNITS = tuple(_ATTACHED_UNITS.split())
"""Units that may follow a number without a blank; after a blank any short word may be a unit."""
WIDE_SPACES = "\u00a0\u202f\u2009\u2007"
"""Blanks that do not break lines: between thousands they are ordinary blanks."""

_CURRENCY = "|".join(re.escape(sign) for sign in sorted(CURRENCIES, key=len, reverse=True))
_UNIT = rf"{_CURRENCY}|%|‰|°\s?[CFK]?|[^\W\d_][^\s\d()]{{0,11}}"
_NUMBER = re.compile(
    rf"^(?P<open>\()?[-+−]?(?P<before>{_CURRENCY})?\s?[-+−]?"
    rf"(?P<body>\d(?:[\d.,'’ {WIDE_SPACES}]*\d)?[.,]?|[.,]\d+)(?:[eE][-+]?\d+)?"
    rf"(?P<gap>\s?)(?P<after>{_UNIT})?(?P<close>\))?$"
)
_NOT_UNITS = {"am", "pm", "uhr", *MONTH_NAMES, *(name[:3] for name in MONTH_NAMES)}
"""Words that follow numbers in dates and times."""
Style = tuple[str, str]
"""Decimal sign and sign between thousands."""
STYLES: dict[str, tuple[Style, ...]] = {
    ".": tuple((pair[0], pair[1:]) for pair in (".", ".,", ",", ". ", ".'", ",.", ", ", ",'")),
    ",": tuple((pair[0], pair[1:]) for pair in (",", ",.", ".", ", ", ",'", ".,", ". ", ".'")),
}
"""Styles by the decimal sign of the other columns, likelier ones first."""
ADDRESS_PARTS, TELEPHONE_PARTS = 4, 3
"""Four groups between points are an IP address.

Three or more groups of three digits, alike in all rows, are telephone numbers.
"""


@final
class NumberParser(Parser):
    """Numbers with a decimal sign, thousands and a unit.

    Parameters
    ----------
    decimal
        ``"."`` or ``","``.
    thousands
        Between groups of three digits: one of :data:`THOUSANDS_NAMES`.
    unit
        A currency, ``"%"`` or a unit such as ``"kg"``; it stands before or after each number.
    optional
        Whether numbers without the unit fit.
    """

    name, kind, type = "amount", "number", DOUBLE

    def __init__(
        self, decimal: str = ".", thousands: str = "", unit: str = "", optional: bool = False
    ) -> None:
        self.decimal, self.thousands, self.unit, self.optional = decimal, thousands, unit, optional
        self.description = ", ".join(self._description_parts())
        self.expected = (
            f"a number such as {self._example()}" if self.description else "a finite number"
        )

    def parameters(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {name: getattr(self, name) for name in ("decimal", "thousands", "unit", "optional")}

    def _description_parts(self) -> list[str]:
        parts = [f"in {self.unit}"] if self.unit else []
        if self.thousands:
            parts.append(f"thousands by {THOUSANDS_NAMES[self.thousands]}")
        return [*parts, "decimal comma"] if self.decimal == "," else parts

    def _example(self) -> str:
        number = f"1{self.thousands}280{self.decimal}5" if self.thousands else f"12{self.decimal}5"
        if self.unit in CURRENCY_SIGNS:
            return f"{self.unit}{number}" if self.decimal == "." else f"{number} {self.unit}"
        return f"{number}{'' if self.unit in ('', '%') else ' '}{self.unit}"

    @cached_property
    def pattern(self) -> str:
        """Regular expression (RE2) of the texts: sign, unit, digits, unit; or these in brackets."""
        point = re.escape(self.decimal)
        integer = _integer_pattern(self.thousands)
        number = rf"(?:{integer}(?:{point}\d*)?|{point}\d+)(?:[eE][-+]?\d+)?"
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

    def parse(self, values: pa.Array) -> Parsed:
        """Read texts; a number in brackets is negative."""
        values = null_where(trimmed_texts(values), (*NULL_TEXTS, *NULL_MARKS))
        if self.thousands == " ":
            for space in WIDE_SPACES:
                values = pc.replace_substring(values, space, " ")
        if self.thousands == "'":
            values = pc.replace_substring(values, "’", "'")
        bad = ~as_mask(pc.match_substring_regex(values, self.pattern), null=True)
        values = null_if(values, bad)
        has_blanks = bool(self.unit) or self.thousands == " "
        for text in (self.unit, " " if has_blanks else "", self.thousands.strip()):
            values = pc.replace_substring(values, text, "") if text else values
        if self.decimal == ",":
            values = pc.replace_substring(values, ",", ".")
        if pc.any(pc.match_substring(values, "−"), min_count=0).as_py():
            values = pc.replace_substring(values, "−", "-")
        negative = pc.starts_with(values, "(")
        if pc.any(negative, min_count=0).as_py():
            numbers = pc.utf8_trim(values, "()").cast(DOUBLE)
            numbers = pc.if_else(negative, pc.negate(numbers), numbers)
        else:
            numbers = values.cast(DOUBLE)
        overflows = as_mask(pc.is_inf(numbers))
        return Parsed(null_if(numbers, overflows), bad | overflows)


class InferredNumbers(NamedTuple):
    """The way in which a column writes numbers."""

    parser: NumberParser | None
    """None if most texts are no numbers of one unit."""
    remark: str = ""
    """What the user should know, such as an ambiguous sign; empty if there is nothing."""


def infer_numbers(
    name: str, values: Sequence[str], decimal: str, styles: Iterable[Style] | None = None
) -> InferredNumbers:
    """Infer how most texts of a column write numbers.

    Parameters
    ----------
    name
        Of the column, for the remark.
    values
        Texts in the order of the rows, none missing.
    decimal
        Decimal sign of the other columns.
    styles
        Styles to choose from, likelier ones first; those of :data:`STYLES` unless given.
    """
    matches = [match for match in map(_NUMBER.match, values) if match and _is_number(match)]
    if 2 * len(matches) <= len(values):
        return InferredNumbers(None)
    units = Counter(unit for match in matches for unit in (match["before"], match["after"]) if unit)
    if len(units) > 1:
        if not all(unit in CURRENCIES for unit in units):
            return InferredNumbers(None)
        listed = ", ".join(sorted(units)[:4])
        return InferredNumbers(
            None,
            f"Column {name!r} holds amounts in several units ({listed}): it is taken for words.",
        )
    unit = next(iter(units), "")
    without_unit = sum(1 for match in matches if not (match["before"] or match["after"]))
    if unit and unit not in CURRENCIES and without_unit:
        return InferredNumbers(None)
    bodies = [re.sub(f"[{WIDE_SPACES}]", " ", match["body"]).replace("’", "'") for match in matches]
    style, ambiguous_sign = _best_style(bodies, tuple(styles or STYLES[decimal]))
    if _is_address_or_telephone(bodies, thousands=style[1]):
        return InferredNumbers(None)
    remark = ""
    if ambiguous_sign and styles is None:
        example = next(body for body in bodies if ambiguous_sign in body)
        sign_name = "comma" if ambiguous_sign == "," else "point"
        remark = (
            f"Column {name!r}: {example} is read as {example.replace(ambiguous_sign, '')}, with "
            f"thousands apart, as no value decides. If the {sign_name} is a decimal one, say "
            f"--types {shell_name(name)}=decimal-{sign_name}."
        )
    return InferredNumbers(NumberParser(*style, unit, optional=unit in CURRENCIES), remark)


def looks_like_number(text: str) -> bool:
    """Whether a single text is a number, with or without a unit."""
    match = _NUMBER.match(text)
    return match is not None and _is_number(match)


def _is_number(match: re.Match[str]) -> bool:
    """Whether brackets are closed, and the word beside the digits is a unit."""
    before, after = match["before"], match["after"]
    if bool(match["open"]) != bool(match["close"]) or (before and after):
        return False
    if not after:
        return True
    if match["gap"]:
        return after.lower().rstrip(".") not in _NOT_UNITS
    return after in ATTACHED_UNITS or after in CURRENCIES


def _best_style(bodies: Sequence[str], styles: Sequence[Style]) -> tuple[Style, str]:
    """Return the style that most numbers fit, and its sign between thousands if ambiguous.

    The sign is ambiguous if as many numbers fit when it is the decimal sign; otherwise "".
    """
    fits = {style: sum(map(bool, map(_style_pattern(style).match, bodies))) for style in styles}
    best = max(styles, key=lambda style: fits[style])  # the first one of several
    thousands = best[1]
    is_ambiguous = thousands in (",", ".") and fits.get((thousands, "")) == fits[best]
    return best, thousands if is_ambiguous else ""


def _style_pattern(style: Style) -> re.Pattern[str]:
    point = re.escape(style[0])
    return re.compile(rf"^(?:{_integer_pattern(style[1])}(?:{point}\d*)?|{point}\d+)$")


def _integer_pattern(thousands: str) -> str:
    """Regular expression of whole numbers with or without groups of thousands."""
    if not thousands:
        return r"\d+"
    sign = re.escape(thousands)
    # With commas, groups of two digits are allowed before the last: 1,28,000 in India.
    groups = rf"(?:{sign}\d{{2,3}})*{sign}\d{{3}}" if thousands == "," else rf"(?:{sign}\d{{3}})+"
    return rf"(?:[1-9]\d{{0,2}}{groups}|\d+)"


def _is_address_or_telephone(bodies: Sequence[str], thousands: str) -> bool:
    """Whether the groups of digits are IP addresses or telephone numbers, not thousands."""
    if thousands not in (".", " "):
        return False
    group_counts = {body.count(thousands) + 1 for body in bodies}
    if thousands == ".":
        return group_counts == {ADDRESS_PARTS}
    if len(group_counts) > 1 or min(group_counts) < TELEPHONE_PARTS or len(bodies) < 2:
        return False
    # As long as groups of three digits with blanks between, and so is the first: 555 123 456.
    length = 4 * min(group_counts) - 1
    return all(len(body) == length and body.find(" ") == 3 for body in bodies)
