"""The page as a file: self-contained, escaped, small, whole or not there, the same bytes for the
same story.
"""

import base64
import hashlib
import re
from dataclasses import replace

import numpy as np
import pytest

from report.reading import Reader
from report.stories import HOSTILE, hostile, told
from swordplay.report import HtmlPage, Section, render, write, write_track
from swordplay.report.page import Scores, TableBlock, Text

STRETCHES = 2048
LARGEST = 6_000_000
"""Bytes of the report of a million rows."""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_track(told(), path, command="swordplay track drifting.csv --target y")
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_track(hostile(), path, command=HOSTILE[1], date=HOSTILE[2])
    return path.read_text(encoding="utf-8")


def test_nothing_is_loaded(page):
    reader = Reader(page)
    for element in reader.elements:
        for name in ("src", "href", "xlink:href", "srcset", "data", "action", "poster"):
            assert element.attributes.get(name, "data:").startswith("data:"), element.tag
    assert not reader.all("link")
    assert not re.search(r"@import|url\((?!#)", "".join(reader.texts("style")))
    [policy] = [
        meta.attributes["content"] for meta in reader.all("meta") if "http-equiv" in meta.attributes
    ]
    assert "default-src 'none'" in policy
    assert not re.search(r"https?:", policy)


def test_the_policy_names_every_script_that_runs(page):
    reader = Reader(page)
    [policy] = [
        meta.attributes["content"] for meta in reader.all("meta") if "http-equiv" in meta.attributes
    ]
    running = [element for element in reader.all("script") if "type" not in element.attributes]
    assert len(running) == 2
    for element in running:
        digest = hashlib.sha256("".join(element.text).encode()).digest()
        assert f"'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert "script-src 'unsafe-inline'" not in policy


def test_headline_tables_and_still_pictures_need_no_script(page):
    reader = Reader(page)
    assert re.match(
        r"Better than .*: swordplay was wrong on [\d.]+\u202f% of rows, ",
        reader.texts("p", "lead")[0],
    )
    assert len(reader.all("svg")) == len(reader.all("figure", "chart")) == len(reader.charts()) == 8
    assert len(reader.all("table")) == 6
    order = [
        "In short",
        "Actual and predicted",
        "What drives it",
        "What changed, and when",
        "How wrong it was",
    ]
    assert reader.texts("h2")[:5] == order
    assert reader.texts("h3")[:3] == ["Is it good?", "Can I trust it?", "What changed, and when?"]


def test_the_same_story_gives_the_same_bytes(tmp_path):
    for name in ("a.html", "b.html"):
        write_track(told(), tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


@pytest.mark.deep
def test_a_million_rows_fit(tmp_path):
    story = told(1_000_000)
    course = story.course
    places = (
        np.arange(STRETCHES) * len(course.ends) // STRETCHES
    )  # more stretches than the run kept, of the same numbers
    finer = course._replace(
        ends=np.linspace(0, story.rows, STRETCHES + 1)[1:].round(),
        losses={name: lost[places] for name, lost in course.losses.items()},
        **{
            name: getattr(course, name)[places]
            for name in ("highest", "lowest", "weights", "effective", "extra", "optimism")
        },
        figures={name: sums[places] for name, sums in course.figures.items()},
        high=course.high[places],
        low=course.low[places],
        times=np.full(STRETCHES + 1, np.nan),
    )
    write_track(replace(story, course=finer), tmp_path / "report.html")
    assert (
        tmp_path / "report.html"
    ).stat().st_size < LARGEST / 2  # a table of many columns has room for as much again


def test_hostile_names_and_values_stay_text(page, hostile_page):
    tame, reader = Reader(page), Reader(hostile_page)
    assert {element.tag for element in reader.elements} <= {
        element.tag for element in tame.elements
    }
    assert len(reader.all("script")) == len(tame.all("script"))
    handlers = [
        name for element in reader.elements for name in element.attributes if name.startswith("on")
    ]
    assert handlers == []
    cells = reader.texts("td")
    assert HOSTILE[0] in cells
    assert HOSTILE[1] in cells
    assert HOSTILE[2] in cells
    assert max(map(len, cells)) <= 300
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00\x07]", hostile_page)


def test_hostile_values_stay_data_in_charts(hostile_page):
    remarks = [
        dot["remark"]
        for chart in Reader(hostile_page).charts()
        for data in chart["spec"]["data"]
        if data["name"] == "dots"
        for dot in data["values"]
    ]
    assert any(HOSTILE[0][:20] in remark for remark in remarks)
    expressions = re.findall(r'"signal":"((?:[^"\\]|\\.)*)"', hostile_page)
    assert expressions
    assert not any("hacked" in expression for expression in expressions)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_every_kind_of_block_escapes(text):
    blocks = (Text(text), Scores(text, ()), TableBlock(text, (text,), ((text,),)))
    reader = Reader(render(HtmlPage(text, text, (Section(text, blocks),), footer=text)))
    assert not {"script", "img", "b"} & {element.tag for element in reader.elements}
    assert reader.texts("title") == reader.texts("h1")


def test_a_page_without_charts_has_no_script():
    reader = Reader(render(HtmlPage("title", "facts", (Section("one", (Text("two"),)),))))
    assert not reader.all("script")


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    broken = HtmlPage("title", "facts", (Section("one", (Text(None),)),))
    with pytest.raises(TypeError):
        write(broken, path)
    assert path.read_text() == "old"
    with pytest.raises(OSError, match="folder"):
        write(HtmlPage("title", "facts", ()), tmp_path / "no such folder" / "report.html")
    folder = tmp_path / "taken.html"
    folder.mkdir()
    with pytest.raises(OSError, match=r"taken\.html"):
        write(HtmlPage("title", "facts", ()), folder)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["report.html", "taken.html"]
