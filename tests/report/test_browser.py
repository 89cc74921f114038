"""The page in a real browser: light and dark, on a phone, on paper, under a pointer."""

import io
import os
import re
from pathlib import Path

import numpy as np
import pytest

from report.browser import Browser, found
from report.stories import dated, hostile, told
from swordplay.report import write_track

pytestmark = pytest.mark.skipif(
    found() is None,
    reason="no browser: install chromium to see the report drawn (Debian: apt-get install "
    "chromium)",
)

DRAWN = "document.documentElement.dataset.drawn === '8'"
DESK, PHONE = 1000, 360
CONTRAST = 4.5
"""Least contrast of text that the accessibility guidelines (WCAG 2, level AA) allow."""
NEAR = 40
"""Sum of differences in red, green and blue up to which a pixel has a line's colour: edges are
blended with the paper.
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where screenshots go: SWORDPLAY_SCREENSHOTS, if it is set."""
    named = os.environ.get("SWORDPLAY_SCREENSHOTS")
    path = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    path.mkdir(parents=True, exist_ok=True)
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    one = Browser(tmp_path_factory.mktemp("browser"))
    yield one
    one.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_track(told(), path)
    return path


def quiet(browser, path):
    """Nothing was asked for but the page itself, and nobody complained."""
    assert browser.complaints() == []
    assert browser.requested() == [path.resolve().as_uri()]


def pixels(path):
    image = pytest.importorskip("PIL.Image")
    with image.open(io.BytesIO(path.read_bytes())) as opened:
        return np.asarray(opened.convert("RGB")).astype(int)


def colour(browser, name):
    """A colour of the style sheet as red, green, blue."""
    browser.evaluate(f"document.body.style.outlineColor = 'var(--{name})'")
    return [
        int(part)
        for part in re.findall(
            r"\d+", browser.evaluate("getComputedStyle(document.body).outlineColor")
        )[:3]
    ]


def every_chart_has_drawn(browser, picture):
    """Each chart is one live picture with axes, lines as wide as the chart, and their colours
    among its pixels.
    """
    charts = browser.evaluate(
        """[...document.querySelectorAll("figure.chart")].map((figure) => {
            const pictures = figure.querySelectorAll(".plot svg"), box = pictures[0].getBoundingClientRect();
            const lines = [...figure.querySelectorAll(".mark-line path")];
            return {
                pictures: pictures.length,
                labels: figure.querySelectorAll(".role-axis-label text").length,
                box: [box.left, box.top + scrollY, box.right, box.bottom + scrollY],
                widths: lines.map((line) => line.getBBox().width / box.width),
                colours: lines.map((line) => getComputedStyle(line).stroke),
            };
        })"""  # noqa: E501
    )
    assert len(charts) == 8
    for chart in charts:
        assert chart["pictures"] == 1
        assert chart["labels"] >= 4
        assert min(chart["widths"]) > 0.5
        left, above, right, below = (round(edge) for edge in chart["box"])
        seen = picture[above:below, left:right].reshape(-1, 3)
        for stroke in set(chart["colours"]):
            wanted = [int(part) for part in re.findall(r"\d+", stroke)[:3]]
            assert (abs(seen - wanted).sum(axis=1) < NEAR).sum() > (right - left) / 4, stroke


def every_text_can_be_read(browser):
    def luminance(name):
        parts = np.array(colour(browser, name)) / 255
        return float(
            np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
            @ [0.2126, 0.7152, 0.0722]
        )

    paper = luminance("paper")
    for name in (
        "ink",
        "muted",
        "sword",
        "hindsight",
        "naive",
        "mean",
        "other",
        "alarm",
        "c6",
        "c7",
        "c8",
    ):
        bright, dim = sorted([luminance(name), paper], reverse=True)
        assert (bright + 0.05) / (dim + 0.05) >= CONTRAST, name


@pytest.mark.parametrize(
    ("name", "scheme", "width"),
    [("light", "light", DESK), ("dark", "dark", DESK), ("phone", "dark", PHONE)],
)
def test_all_charts_draw_in_silence_and_can_be_read(browser, report, folder, name, scheme, width):
    browser.show(report, width=width, scheme=scheme)
    browser.wait(DRAWN)
    browser.screenshot(folder / f"report-{name}.png")
    picture = pixels(folder / f"report-{name}.png")
    every_chart_has_drawn(browser, picture)
    every_text_can_be_read(browser)
    assert picture[2, 2].tolist() == colour(browser, "paper")
    assert (picture[2, 2].sum() < 3 * 64) == (scheme == "dark")
    assert (
        browser.evaluate("document.documentElement.scrollWidth") == width
    )  # nothing sticks out sideways
    quiet(browser, report)


def test_charts_follow_when_the_light_is_switched(browser, report):
    stroke = "getComputedStyle(document.querySelector('.mark-line path')).stroke"
    browser.show(report, width=DESK, scheme="light")
    browser.wait(DRAWN)
    light = browser.evaluate(stroke)
    browser.scheme("dark")
    browser.wait(f"{stroke} !== '{light}'")
    paper = ", ".join(map(str, colour(browser, "paper")))
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == f"rgb({paper})"
    quiet(browser, report)


def test_names_stand_beside_lines_or_above_them(browser, report):
    shown = "getComputedStyle(document.querySelector('.keys')).display !== 'none'"
    names = (
        "[...document.querySelectorAll('#chart-5 text')].map((text) => "
        "text.textContent).includes('swordplay')"
    )
    browser.show(report, width=DESK)
    browser.wait(DRAWN)
    assert (browser.evaluate(shown), browser.evaluate(names)) == (False, True)
    browser.ask(
        "Emulation.setDeviceMetricsOverride",
        width=PHONE,
        height=800,
        deviceScaleFactor=1,
        mobile=False,
    )
    browser.wait(f"{shown} && !({names})")
    quiet(browser, report)


def place(browser, chart, share):
    """A point of a chart on the screen, this share of the way along its axis."""
    return browser.evaluate(
        f"""(() => {{
            const plot = document.querySelector("#{chart} .plot");
            plot.scrollIntoView({{ block: "center" }});
            const frame = plot.querySelector(".mark-group.role-frame path.background").getBoundingClientRect();
            return [frame.left + {share} * frame.width, frame.top + frame.height / 2];
        }})()"""  # noqa: E501
    )


def axis(browser, chart):
    """Numbers along the horizontal axis of a chart."""
    texts = browser.evaluate(
        f"[...[...document.querySelectorAll('#{chart} "
        ".role-axis')].at(-1).querySelectorAll('.role-axis-label text')]"
        ".map((text) => text.textContent)"
    )
    return sorted(float(re.sub("[^0-9.]", "", text)) for text in texts)


def test_the_pointer_reads_off_what_the_story_says(browser, report):
    story = told()
    browser.show(report, width=DESK)
    browser.wait(DRAWN)
    browser.mouse("mouseMoved", *place(browser, "chart-5", 0.9995))
    note = browser.evaluate("document.querySelector('#chart-5 .note').innerText")
    first, last = story.course.ends[-2:].astype(int)
    assert f"rows {first + 1:,} to {last:,}" in note
    shown = re.search(r"swordplay\s+([\d.]+)", note)[1]
    assert float(shown) == pytest.approx(100 * story.errors["swordplay"], rel=0.01)
    frame, rule = browser.evaluate(
        """[".mark-group.role-frame path.background", ".rule"].map((part) => {
            const box = document.querySelector(`#chart-5 ${part}`).getBoundingClientRect();
            return [box.top, box.bottom];
        })"""
    )
    assert rule == pytest.approx(frame, abs=1.0)
    rules = browser.evaluate("[...document.querySelectorAll('.rule')].map((rule) => rule.hidden)")
    assert rules == [
        False,
        False,
        True,
        False,
        False,
        False,
        False,
        False,
    ]  # all charts over rows, not that of probabilities


def test_a_drag_zooms_all_charts_over_rows(browser, report):
    story = told()
    browser.show(report, width=DESK)
    browser.wait(DRAWN)
    before = {chart: axis(browser, chart) for chart in ("chart-1", "chart-3")}
    start, end = place(browser, "chart-5", 0.4), place(browser, "chart-5", 0.6)
    browser.mouse("mousePressed", *start)
    browser.mouse("mouseMoved", *end)
    browser.mouse("mouseReleased", *end)
    browser.wait("!document.querySelector('#chart-1 .all').hidden")
    browser.wait("new Promise((done) => requestAnimationFrame(() => done(true)))")
    zoomed = axis(browser, "chart-1")
    assert 0.39 * story.rows < min(zoomed) < max(zoomed) < 0.61 * story.rows
    assert axis(browser, "chart-3") == before["chart-3"]
    browser.evaluate("document.querySelector('#chart-1 .all').click()")
    browser.wait("document.querySelector('#chart-5 .all').hidden")
    browser.wait("new Promise((done) => requestAnimationFrame(() => done(true)))")
    assert axis(browser, "chart-1") == before["chart-1"]
    quiet(browser, report)


def test_keys_move_the_pointer(browser, report):
    browser.show(report, width=DESK)
    browser.wait(DRAWN)
    browser.evaluate("document.querySelector('#chart-6 .plot').focus()")
    for _ in range(2):
        browser.ask("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight")
    ends = told().course.ends.astype(int)
    note = browser.evaluate("document.querySelector('#chart-6 .note').innerText")
    assert f"rows {ends[0] + 1:,} to {ends[1]:,}" in note


def test_hostile_values_do_nothing(browser, tmp_path):
    path = tmp_path / "report.html"
    write_track(hostile(), path)
    browser.show(path, width=DESK)
    browser.wait(DRAWN)
    browser.evaluate("document.querySelector('#chart-4 .plot').focus()")
    remarks = ""
    for _ in hostile().course.ends:
        browser.ask("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight")
        remarks += browser.evaluate("document.querySelector('#chart-4 .note').innerText")
    assert "<script>window.hacked" in remarks
    assert browser.evaluate("window.hacked") is None
    quiet(browser, path)


def test_along_dates_the_pointer_tells_rows_and_dates(browser, tmp_path):
    path = tmp_path / "report.html"
    write_track(dated(), path)
    browser.show(path, width=DESK)
    browser.wait("document.documentElement.dataset.drawn === '9'")
    labels = browser.evaluate(
        "[...document.querySelectorAll('#chart-1 .role-axis-label text')].map((text) => "
        "text.textContent)"
    )
    assert any(label.startswith("Feb") for label in labels)
    browser.mouse("mouseMoved", *place(browser, "chart-1", 0.9995))
    note = browser.evaluate("document.querySelector('#chart-1 .note').innerText")
    first, last = dated().course.ends[-2:].astype(int)
    assert f"rows {first + 1:,} to {last:,}" in note
    assert "2012-03-24 07:00" in note  # 2,000 hours after the first of January
    browser.mouse("mousePressed", *place(browser, "chart-1", 0.1))
    browser.mouse("mouseMoved", *place(browser, "chart-1", 0.3))
    browser.mouse("mouseReleased", *place(browser, "chart-1", 0.3))
    browser.wait("!document.querySelector('#chart-3 .all').hidden")  # coefficients follow
    assert browser.evaluate(
        "document.querySelector('#chart-2 .all').hidden"
    )  # the last rows do not
    quiet(browser, path)


def test_without_a_script_the_pictures_stand_still(browser, report, folder):
    browser.show(report, width=DESK, script=False)
    browser.screenshot(folder / "report-still.png")
    picture = pixels(folder / "report-still.png")
    every_chart_has_drawn(browser, picture)
    assert browser.evaluate("document.documentElement.dataset.drawn") is None


def test_on_paper_it_is_light(browser, report, folder):
    browser.show(report, width=DESK, scheme="dark")
    browser.wait(DRAWN)
    browser.ask(
        "Emulation.setEmulatedMedia",
        media="print",
        features=[{"name": "prefers-color-scheme", "value": "dark"}],
    )
    assert colour(browser, "paper") == [255, 255, 255]
    browser.pdf(folder / "report.pdf")
    assert (folder / "report.pdf").read_bytes().startswith(b"%PDF")
    browser.ask("Emulation.setEmulatedMedia", media="")
