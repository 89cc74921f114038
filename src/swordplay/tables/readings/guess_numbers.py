"""Which way of writing numbers a column has, decided by the column as a whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from swordplay.tables.readings.amounts import CURRENCIES, GLUED, SPACES, Amount, digits
from swordplay.tables.readings.calendar_names import MONTH_NAMES

_MONEY = "|".join(re.escape(sign) for sign in sorted(CURRENCIES, key=len, reverse=True))
_UNIT = rf"{_MONEY}|%|‰|°\s?[CFK]?|[^\W\d_][^\s\d()]{{0,11}}"
AMOUNT = re.compile(
    rf"^(?P<open>\()?[-+−]?(?P<before>{_MONEY})?\s?[-+−]?"
    rf"(?P<body>\d(?:[\d.,'’ {SPACES}]*\d)?[.,]?|[.,]\d+)(?:[eE][-+]?\d+)?"
    rf"(?P<gap>\s?)(?P<after>{_UNIT})?(?P<close>\))?$"
)
NOT_UNITS = {"am", "pm", *MONTH_NAMES, *(name[:3] for name in MONTH_NAMES)}
"""Words that follow numbers in dates and times."""
STYLES = {
    ".": (
        (".", ""),
        (".", ","),
        (",", ""),
        (".", " "),
        (".", "'"),
        (",", "."),
        (",", " "),
        (",", "'"),
    ),
    ",": (
        (",", ""),
        (",", "."),
        (".", ""),
        (",", " "),
        (",", "'"),
        (".", ","),
        (".", " "),
        (".", "'"),
    ),
}
"""Decimal sign and sign between thousands, the likelier first, in tables that write numbers with
a point or a comma.
"""
ADDRESS_PARTS, TELEPHONE_PARTS = 4, 3
"""Four groups between points are addresses of computers.

Three or more groups of three digits, all alike, are telephones.
"""


def guess(
    name: str, values: Sequence[str], decimal: str, styles: Iterable[tuple[str, str]] | None = None
) -> tuple[Amount | None, str]:
    """The way of writing that most texts have, or None; and a remark, or nothing.

    Parameters
    ----------
    name
        Of the column, for the remark.
    values
        Texts in the order of the rows, none missing.
    decimal
        Sign that other columns of the table have.
    styles
        Those to choose from, the likelier first; all unless given.
    """
    found = [match for match in map(AMOUNT.match, values) if match and is_amount(match)]
    if 2 * len(found) <= len(values):
        return None, ""
    units = Counter(unit for match in found for unit in (match["before"], match["after"]) if unit)
    if len(units) > 1:
        several = ", ".join(sorted(units)[:4])
        if all(unit in CURRENCIES for unit in units):
            return (
                None,
                f"Column {name!r} holds amounts in several units ({several}): it is taken for "
                "words.",
            )
        return None, ""
    unit = next(iter(units), "")
    bare = sum(1 for match in found if not (match["before"] or match["after"]))
    if unit and unit not in CURRENCIES and bare:
        return None, ""
    bodies = [_plain_blanks(match["body"]) for match in found]
    chosen, rival = _style(bodies, tuple(styles or STYLES[decimal]))
    if _is_other(bodies, chosen[1]):
        return None, ""
    remark = ""
    if rival and styles is None:
        example = next(body for body in bodies if rival in body)
        remark = (
            f"Column {name!r}: {example} is read as {example.replace(rival, '')}, with thousands "
            "apart, as no value decides. "
            f"If the {'comma' if rival == ',' else 'point'} is a decimal one, say "
            f"--types {shell(name)}=decimal-{'comma' if rival == ',' else 'point'}."
        )
    return Amount(*chosen, unit, optional=unit in CURRENCIES), remark


def is_amount(match: re.Match[str]) -> bool:
    """Whether brackets are closed, and the unit is one."""
    before, after = match["before"], match["after"]
    if bool(match["open"]) != bool(match["close"]) or (before and after):
        return False
    if not after:
        return True
    return (
        after.lower().rstrip(".") not in NOT_UNITS
        if match["gap"]
        else after in GLUED or after in CURRENCIES
    )


def _plain_blanks(body: str) -> str:
    return re.sub(f"[{SPACES}]", " ", body).replace("’", "'")


def _style(bodies: Sequence[str], styles: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], str]:
    """The style that most numbers fit, and the sign between thousands if it might as well be a
    decimal one.
    """
    fits = {style: sum(map(bool, map(_pattern(*style).match, bodies))) for style in styles}
    chosen = max(styles, key=lambda style: fits[style])  # the first one of several
    thousands = chosen[1]
    doubtful = thousands in (",", ".") and fits.get((thousands, "")) == fits[chosen]
    return chosen, thousands if doubtful else ""


def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    sign = re.escape(decimal)
    return re.compile(rf"^(?:{digits(thousands)}(?:{sign}\d*)?|{sign}\d+)$")


def _is_other(bodies: Sequence[str], thousands: str) -> bool:
    """Whether groups of digits are no thousands, but addresses of computers or telephone
    numbers.
    """
    if thousands not in (".", " "):
        return False
    parts = {body.count(thousands) + 1 for body in bodies}
    if thousands == ".":
        return parts == {ADDRESS_PARTS}
    lengths = {len(body.split(" ")[0]) for body in bodies} | {
        len(body) - 4 * (len(body.split(" ")) - 1) for body in bodies
    }
    return len(parts) == 1 and min(parts) >= TELEPHONE_PARTS and lengths == {3} and len(bodies) > 1


def shell(name: str) -> str:
    """A name as it may be typed behind an option: in quotes where it has blanks or commas."""
    return (
        name if re.fullmatch(r"[\w.\-]+", name) else f"'\"{name}\"'" if "," in name else f"'{name}'"
    )
