"""What looks like numbers or dates and is not."""

from __future__ import annotations

from messy.cases import Messy, word

CODES = (
    "numbers of one length with leading zeros: it is taken for codes, that is for words. "
    "--types zip=number overrules."
)
TRAPS = {
    "post codes": word("02134", "10001", name="zip", remarks=(CODES,)),
    "post codes as asked": Messy(
        "zip,y\n02134,1\n10001,2\n",
        {"zip": "number"},
        {"zip": [2134, 10001]},
        options={"types": {"zip": "number"}},
    ),
    "padded months": Messy("m,y\n01,1\n12,2\n", {"m": "number"}, {"m": [1, 12]}),
    "years": Messy(
        "year,date,y\n2012,2012,1\n2013,2013,2\n",
        {"year": "number", "date": "number"},
        {"date": [2012, 2013]},
    ),
    "large numbers": Messy("x,y\n1328020200,1\n1328020260,2\n", {"x": "number"}),
    "large numbers to predict": Messy(
        "ts,x\n1328020200,1\n1328020260,2\n", {"ts": "number"}, options={"target": "ts"}
    ),
    "one number of eight digits": Messy("x,y\n20120131,1\n20120201,2\n", {"x": "number"}),
    "times that are no moments": Messy("time,y\n12,1\n3000000000,2\n", {"time": "number"}),
    "versions": word("1.2.3", "1.2.10", "10.12.11"),
    "versions like short dates": word("10.12.11", "10.12.12"),
    "telephones": word("555-1234", "555-9876"),
    "telephones in brackets": word("(555) 123-4567", "(555) 321-7654"),
    "telephones abroad": word("+49 30 123456", "+49 30 987654"),
    "telephones in threes": word("123 456 789", "987 654 321"),
    "addresses of computers": word("192.168.100.101", "192.168.100.102"),
    "more addresses": word("10.0.0.1", "192.168.1.1"),
    "flats": word("12A", "13A"),
    "seasons": word("2010-11", "2011-12"),
    "scores": word("3-2", "1-0"),
    "ratios": word("3:2", "1:1"),
    "parts": word("1/2", "3/4"),
    "days without a year": word("1 Jan", "2 Jan"),
    "thousands of thousands": word("10k", "1.2M"),
    "quarters": word("2012 Q1", "2012 Q2"),
    "insurance numbers": word("123-45-6789", "987-65-4321"),
}
