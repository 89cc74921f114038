"""Messy numbers."""

from __future__ import annotations

from messy.cases import Messy, column, number, word

APART = (
    "with thousands apart, as no value decides. If the comma is a decimal one, say --types "
    "x=decimal-comma."
)
NUMBERS = {
    "thousands by commas": number(
        "1,280", "950", "1,250,000.5", means=[1280, 950, 1250000.5], how="thousands by commas"
    ),
    "thousands or decimals": number(
        "1,280",
        "950",
        means=[1280, 950],
        how="thousands by commas",
        remarks=(f"1,280 is read as 1280, {APART}",),
    ),
    "decimals after all": number(
        "1,280",
        "950",
        means=[1.28, 950],
        how="decimal comma",
        options={"types": {"x": "decimal-comma"}},
    ),
    "decimal commas": number("1,28", "0,950", "3", means=[1.28, 0.95, 3], how="decimal comma"),
    "thousands by points": number(
        "1.280,5", "12,25", means=[1280.5, 12.25], how="thousands by points, decimal comma"
    ),
    "thousands by spaces": number(
        "1 280", "12 000,5", "7", means=[1280, 12000.5, 7], how="thousands by spaces, decimal comma"
    ),
    "millions by spaces": number(
        "1 000 000", "2 500 000", means=[1e6, 2.5e6], how="thousands by spaces"
    ),
    "hard spaces": number(
        "1\u00a0280.5", "1\u202f000", means=[1280.5, 1000], how="thousands by spaces"
    ),
    "thousands by apostrophes": number(
        "1'280.5", "950", "2’000", means=[1280.5, 950, 2000], how="thousands by apostrophes"
    ),
    "lakhs": number("1,28,000", "5,000", means=[128000, 5000], how="thousands by commas"),
    "per cent": number("50%", "7.5 %", "-3%", means=[50, 7.5, -3], how="in %"),
    "dollars": number(
        "$0.07", "-$1,000", "$ 5", "7", means=[0.07, -1000, 5, 7], how="in $, thousands by commas"
    ),
    "euros before": number("€ 12.3", "€5", "-", means=[12.3, 5, None], how="in €"),
    "euros behind": number(
        "12,50 €", "1.000,00 €", means=[12.5, 1000], how="in €, thousands by points, decimal comma"
    ),
    "a code for money": number("USD 3", "USD 4.5", means=[3, 4.5], how="in USD"),
    "several currencies": word(
        "$3", "€4", "$5", remarks=("amounts in several units ($, €): it is taken for words",)
    ),
    "brackets": number(
        "(1.2)", "3.4", "(1,000)", means=[-1.2, 3.4, -1000], how="thousands by commas"
    ),
    "brackets around money": number("($1.20)", "$3.40", means=[-1.2, 3.4], how="in $"),
    "a unit": number("12.3 kg", "-5 kg", "1e3 kg", means=[12.3, -5, 1000], how="in kg"),
    "a unit without a blank": number("12.3kg", "5kg", means=[12.3, 5], how="in kg"),
    "degrees": number("21.5°C", "-3°C", means=[21.5, -3], how="in °C"),
    "several units": word("12.3 kg", "5 g"),
    "a unit not everywhere": word("12.3 kg", "5", "6 kg"),
    "signs for nothing": number(
        "-", ".", "--", "?", "1.5", "—", means=[None, None, None, None, 1.5, None]
    ),
    "a true minus": number("−1.5", "2", means=[-1.5, 2]),
    "signs beside words": Messy(column("-", "a", "."), {"x": "word"}, {"x": ["-", "a", "."]}),
    "more words for nothing": number(
        "1.5", "n.d.", "none", means=[1.5, None, None], options={"missing": ["n.d.", "none"]}
    ),
    "not a number among money": number(
        "$1",
        "$2",
        "free",
        "$4",
        means=[1, 2, 4],
        how="in $",
        refused=((3, "free", "is not a number such as $12.5"),),
    ),
    "wrong groups": number(
        "1,280",
        "12,500",
        "3,450,000",
        "1,28",
        "4,000.5",
        means=[1280, 12500, 3450000, 4000.5],
        how="thousands by commas",
        refused=((4, "1,28", "is not a number such as 1,280.5"),),
    ),
    "too large": number(
        "$1",
        "$2",
        "$1e999",
        means=[1, 2],
        how="in $",
        refused=((3, "$1e999", "is not a number such as"),),
    ),
}
