"""A page as a parser sees it, which knows nothing of how it was written."""

import json
from html.parser import HTMLParser
from typing import NamedTuple

VOID = {"meta", "img", "br", "link", "input"}


class Element(NamedTuple):
    tag: str
    attributes: dict
    text: list


class Reader(HTMLParser):
    """All elements with their text; tags must nest."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.open = [], []
        self.feed(page)
        self.close()
        assert self.open == [], "some element was never closed"

    def handle_starttag(self, tag, attrs):
        self.elements.append(Element(tag, dict(attrs), []))
        if tag not in VOID:
            self.open.append(self.elements[-1])

    def handle_startendtag(self, tag, attrs):
        self.elements.append(Element(tag, dict(attrs), []))

    def handle_endtag(self, tag):
        assert self.open.pop().tag == tag, f"</{tag}> closes something else"

    def handle_data(self, data):
        for element in self.open:
            element.text.append(data)

    def all(self, tag, look=None):
        found = [element for element in self.elements if element.tag == tag]
        return [
            element
            for element in found
            if look is None or look in element.attributes.get("class", "").split()
        ]

    def texts(self, tag, look=None):
        return ["".join(element.text) for element in self.all(tag, look)]

    def charts(self):
        """What the page's script is given, in order."""
        return [
            json.loads("".join(element.text))
            for element in self.all("script")
            if element.attributes.get("type") == "application/json"
        ]


def table(chart):
    """The numbers of a chart by their names, as Vega would read them."""
    text = next(data["values"] for data in chart["spec"]["data"] if data["name"] == "table")
    head, *rows = [line.split(",") for line in text.split("\n")]
    return {
        name: [float(row[k]) if row[k] else None for row in rows] for k, name in enumerate(head)
    }
