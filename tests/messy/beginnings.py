"""Where tables begin, and where they end."""

from __future__ import annotations

from messy.cases import BOTH, Messy

BEGINNINGS = {
    "a title": Messy(
        "Sales of bananas\n\nx,y\n1,2\n3,4\n",
        {"x": "number"},
        {"y": [2, 4]},
        remarks=("Line 1 is no part of the table ('Sales of bananas')",),
    ),
    "a title between semicolons": Messy(
        "Umsatz;;\nx;y;z\n1,5;2;3\n3;4;5\n",
        {},
        {"x": [1.5, 3]},
        remarks=(
            "Line 1 is no part of the table ('Umsatz')",
            "separated by semicolons",
            "decimal comma",
        ),
    ),
    "facts above": Messy(
        "station,Bern\nheight,540 m\nday,x,y\n2012-01-31,1,2\n2012-02-01,3,4\n",
        {"day": "date"},
        {"x": [1, 3]},
        remarks=("Lines 1 to 2 are no part of the table ('station Bern')",),
    ),
    "comments": Messy(
        "# made by hand\n# twice\nx,y\n1,2\n3,4\n",
        {},
        {"y": [2, 4]},
        remarks=("Lines 1 to 2 are no part of the table",),
    ),
    "names in a comment": Messy("# x,y\n1,2\n3,4\n", {"x": "number"}, {"y": [2, 4]}),
    "a title above words": Messy(
        "Colours\nx,y\nred,a\nblue,b\n",
        {"x": "word"},
        {"y": ["a", "b"]},
        remarks=("Line 1 is no part of the table",),
    ),
    "no names": Messy(
        "1.5,a,2012-01-31\n2.5,b,2012-02-01\n",
        {"column 1": "number", "column 3": "date"},
        {"column 2": ["a", "b"]},
        remarks=(
            "(1.5, a, 2012-01-31) holds data and no names: columns are called 'column 1' to "
            "'column 3'",
        ),
        options={"target": "column 1"},
    ),
    "no names, messy": Messy(
        "$1.50;31.01.2012\n$2.50;01.02.2012\n",
        {"column 1": "number"},
        {"column 2": BOTH},
        {"column 1": "in $", "column 2": "day first (31.01.2012)"},
        remarks=("holds data and no names", "separated by semicolons"),
        options={"target": "column 1"},
    ),
    "no names, but a name wanted": Messy(
        "1.5,a\n2.5,b\n",
        error=("no column 'price'", "There are: column 1, column 2", "holds data and no names"),
        options={"target": "price"},
    ),
    "names that are years": Messy(
        "country,2000,2001\nFrance,1.5,2\nSpain,3,4\n",
        {"2000": "number"},
        {"2001": [2, 4]},
        options={"target": "2001"},
    ),
    "years that are names, not asked for": Messy(
        "country,2000,2001\nFrance,1.5,2\nSpain,3,4\n", {"2000": "number"}, options={"target": None}
    ),
    "years that are data": Messy(
        "2010,a\n2011,b\n",
        {"column 1": "number"},
        {"column 1": [2010, 2011]},
        remarks=("(2010, a) holds data and no names",),
        options={"target": None},
    ),
    "names of more columns than there are": Messy(
        "a,b\nx\n1\n2\n",
        error=("line 2 (row 1): 'x' has 1 field where the header has 2",),
        options={"target": None},
    ),
    "names that are dates": Messy(
        "country,1/22/20,1/23/20\nFrance,1,2\nSpain,3,4\n",
        {"1/22/20": "number"},
        {"1/23/20": [2, 4]},
        options={"target": None},
    ),
    "names that are numbers": Messy(
        "7,8\n1,2\n3,4\n",
        {"7": "number"},
        remarks=("taken for the header, but holds only numbers",),
        options={"target": "8"},
    ),
    "said to be names": Messy(
        "7,8\n1,2\n",
        {"7": "number"},
        remarks=("holds only numbers",),
        options={"header": True, "target": None},
    ),
    "said to be data": Messy(
        "a,b\nc,d\n",
        {"column 1": "word"},
        {"column 2": ["b", "d"]},
        remarks=("holds data",),
        options={"header": False, "target": None},
    ),
    "units": Messy(
        "name,mass,heat,y\n,kg,°C,-\na,1.5,20,1\nb,2.5,21,2\n",
        {"mass": "number", "y": "number"},
        {"name": ["a", "b"], "heat": [20, 21]},
        remarks=("Line 2 holds units (kg, °C) and is passed over",),
    ),
    "a total below": Messy(
        "day,y\n31/01/2012,1\n01/02/2012,2\nTotal,3\nSource: me\n",
        {"day": "date"},
        {"day": BOTH, "y": [1, 2]},
        {"day": "day first (31/01/2012)"},
        refused=(
            (3, "Total", "is not a date"),
            (4, "Source: me", "has 1 field where the header has 2"),
        ),
    ),
    "everything at once": Messy(
        'Export\n\nday;time;price;share;y\n;;€;%;\n31.01.2012;13:30;"1.280,50 €";50%;1,5\n'
        "01.02.2012;14:30;- ;51%;2\n",
        {"day": "date", "time": "time", "price": "number"},
        {"price": [1280.5, None], "share": [50, 51], "y": [1.5, 2], "day": BOTH},
        {
            "day": "day first (31.01.2012)",
            "price": "in €, thousands by points, decimal comma",
            "share": "in %, decimal comma",
        },
        remarks=(
            "Line 1 is no part of the table ('Export')",
            "Line 4 holds units (€, %)",
            "semicolons",
            "decimal comma",
        ),
    ),
}
