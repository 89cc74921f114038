"""Figures: what is drawn, and that names stay readable."""

import csv
import itertools
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swordplay.report import regret_figure, save
from swordplay.report.chart_marks import spread
from swordplay.theory.reproduce import reproduce
from tolerances import ROUNDING


@pytest.fixture(scope="module")
def rows():
    return reproduce([20, 40])


def columns(panel):
    """Regrets by learner, as the panel of a figure draws them."""
    lines = list(csv.DictReader(panel["data"][0]["values"].splitlines()))
    names = [label["text"] for label in sorted(panel["data"][1]["values"], key=drawn_at(panel))]
    fields = [name for name in lines[0] if name.startswith("y")]
    return {
        name: [float(line[field]) for line in lines]
        for name, field in zip(names, fields, strict=True)
    }


def drawn_at(panel):
    """The place of a label's line among the lines of the panel, by its colour."""
    colours = [
        mark["encode"]["update"]["stroke"]["value"]
        for mark in panel["marks"][0]["marks"]
        if mark["type"] == "line"
    ]
    return lambda label: colours.index(label["colour"])


def test_every_panel_draws_the_regrets_it_names(rows):
    panels = regret_figure(rows)["marks"]
    expected = [
        {"Ader", "SwordVar", "SwordSmall", "SwordBest"},
        {"Ader", "SwordVar", "SwordSmall", "SwordBest"},
        {"Ader", "SwordVar", "SwordSmall", "SwordBest", "Sword"},
        {"Ader", "SwordVar", "SwordSmall", "SwordBest", "Sword"},
    ]
    assert [set(columns(panel)) for panel in panels] == expected
    drawn = columns(panels[3])
    sword = [row.regret for row in rows if (row.instance, row.learner) == ("alternating", "Sword")]
    confident = [
        row.regret
        for row in rows
        if (row.instance, row.learner, row.tuning) == ("alternating", "SwordBest", "self-confident")
    ]
    assert drawn["Sword"] == pytest.approx(sword, rel=1e-5)  # charts have six digits
    assert drawn["SwordBest"] == pytest.approx(confident, rel=1e-5)
    for panel in panels:
        assert [scale["type"] for scale in panel["scales"]] == ["log", "log"]


def test_labels_stand_beside_their_lines(rows):
    for panel in regret_figure(rows)["marks"]:
        heights = {label["text"]: -label["y"] for label in panel["data"][1]["values"]}
        ends = {name: values[-1] for name, values in columns(panel).items()}
        assert sorted(ends, key=ends.get) == sorted(ends, key=heights.get)


def test_one_horizon_is_enough():
    assert len(regret_figure(reproduce([20]))["marks"]) == 4


@pytest.mark.parametrize("suffix", [".png", ".svg", ".SVG"])
def test_the_same_rows_give_the_same_file(rows, tmp_path, suffix):
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    save(regret_figure(rows), first)
    save(regret_figure(rows), second)
    assert first.read_bytes() == second.read_bytes()
    if suffix == ".png":
        assert first.read_bytes().startswith(b"\x89PNG")
    else:
        assert ET.parse(first).getroot().tag == "{http://www.w3.org/2000/svg}svg"
        text = first.read_text()
        assert "var(--" not in text  # outside a page there is no style sheet
        assert "Instance 2: comparators lose nothing" in text


def test_other_suffixes_are_refused(rows, tmp_path):
    with pytest.raises(ValueError, match=r"path must end in one of .*'\.png'"):
        save(regret_figure(rows), tmp_path / "a.gif")


def test_nothing_to_draw_is_refused():
    with pytest.raises(ValueError, match="rows must not be empty"):
        regret_figure([])


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0.01, 0.3))
def test_spread_keeps_order_and_distance(heights, gap):
    moved = spread(sorted(heights), gap)
    assert len(moved) == len(heights)
    assert all(above - below >= gap - ROUNDING for below, above in itertools.pairwise(moved))
    # moved as little as need be: the middle of all stays where it was
    assert sum(moved) == pytest.approx(sum(heights), abs=ROUNDING)


def test_spread_leaves_what_is_apart():
    assert spread([0.1, 0.5, 0.9], gap=0.2) == [0.1, 0.5, 0.9]
