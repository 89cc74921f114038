"""What the report of a run says and draws, beside a plain reckoning of the same story."""

import base64
import io
import math
from dataclasses import replace

import numpy as np
import pytest

from report.reading import Reader, table
from report.stories import told
from swordplay.report import HtmlPage, render, time_axis, track_sections
from swordplay.report import track_charts as pictures
from swordplay.report.heatmap import GAMMA, heatmap_png
from swordplay.report.track import pace_in_words
from tolerances import DRAWN, ROUNDING

TASKS = ("binary", "multi-class", "regression")


def drawn(chart):
    """Points and values of a chart by the names of its lines."""
    numbers = table({"spec": chart.spec})
    return numbers["x"], {
        field["name"]: numbers[field["field"]] for field in chart.readout["fields"]
    }


@pytest.mark.parametrize("task", TASKS)
def test_errors_so_far_end_at_the_errors_of_the_run(task):
    story = told(task=task)
    points, lines = drawn(pictures.errors_so_far(story))
    assert points[1:] == story.course.ends.tolist()
    assert {name: values[-1] for name, values in lines.items()} == pytest.approx(
        story.errors, rel=DRAWN
    )


@pytest.mark.parametrize("task", TASKS)
def test_errors_lately_are_those_of_the_last_stretches(task):
    story = told(task=task)
    ends, lost = story.course.ends, story.course.losses["swordplay"]
    back = math.ceil(
        time_axis.FEWEST_LATELY * len(ends) / story.rows
    )  # 2000 rows: by rows, not by share
    assert back > 1
    _, lines = drawn(pictures.errors_lately(story))
    for k, value in enumerate(lines["swordplay"][1:]):
        first = max(0, k + 1 - back)
        mean = sum(lost[first : k + 1]) / (ends[k] - (ends[first - 1] if first else 0))
        assert value == pytest.approx(
            math.sqrt(mean) if task == "regression" else mean, rel=DRAWN, abs=ROUNDING
        )


def test_the_map_shows_the_weights_and_the_line_the_step_size():
    story = told()
    chart = pictures.pace(story)
    image = next(mark for mark in chart.spec["marks"][0]["marks"] if mark["type"] == "image")
    opacity = pixels(image["encode"]["update"]["url"]["value"])[..., 3] / 255
    assert opacity.shape == (
        len(story.step_sizes),
        min(pictures.COLUMNS, int(story.course.ends[-1])),
    )
    assert opacity[::-1, 0] == pytest.approx(story.course.weights[0] ** GAMMA, abs=1 / 255)
    assert opacity[::-1, -1] == pytest.approx(story.course.weights[-1] ** GAMMA, abs=1 / 255)
    _, lines = drawn(chart)
    assert lines["at the end of the stretch"][1:] == pytest.approx(
        story.course.effective.tolist(), rel=DRAWN
    )
    side = (
        math.ceil(time_axis.FEWEST_LATELY * len(story.course.ends) / story.rows) // 2
    )  # 2000 rows: by rows, not by share
    near = story.course.effective[100 - side : 100 + side + 1]
    assert lines["effective step size"][101] == pytest.approx(
        math.prod(near) ** (1 / len(near)), rel=DRAWN
    )


def pixels(address):
    image = pytest.importorskip("PIL.Image")
    with image.open(
        io.BytesIO(base64.b64decode(address.removeprefix("data:image/png;base64,")))
    ) as opened:
        return np.asarray(opened.convert("RGBA"))


def test_a_picture_keeps_its_weights():
    weights = np.array([[0.0, 0.25, 1.0], [np.nan, 2.0, -1.0]])
    assert pixels(heatmap_png(weights))[..., 3].tolist() == [
        [0, round(255 * 0.25**GAMMA), 255],
        [0, 255, 0],
    ]


def test_trust_is_drawn_as_it_was():
    story = told()
    _, lines = drawn(pictures.optimism(story))
    assert lines["the last gradient"][1:] == pytest.approx(
        story.course.extra.tolist(), rel=DRAWN, abs=ROUNDING
    )
    assert lines["the last losses"][1:] == pytest.approx(
        story.course.optimism.tolist(), rel=DRAWN, abs=ROUNDING
    )


@pytest.mark.parametrize("task", TASKS[:2])
def test_extremes_are_kept_and_marked(task):
    story = told(task=task)
    chart = pictures.losses(story)
    _, lines = drawn(chart)
    high, low = (
        next(values for name, values in lines.items() if name.startswith(kind))
        for kind in ("largest", "smallest")
    )
    assert max(high) == pytest.approx(story.worst[0].loss, rel=DRAWN)
    assert all(below <= above for below, above in zip(low, high, strict=True))
    dots = next(data["values"] for data in chart.spec["data"] if data["name"] == "dots")
    shown = story.worst[: pictures.MOST_WORST]
    assert [dot["x"] for dot in dots] == [moment.at for moment in shown]
    assert [dot["y"] for dot in dots] == pytest.approx([moment.loss for moment in shown], rel=DRAWN)
    assert max(dot["y"] for dot in dots) <= chart.spec["scales"][1]["domain"][1]


@pytest.mark.parametrize(
    ("classes", "words"), [(2, "0.69 is a coin toss"), (5, "1.61 is a blind guess among 5 classes")]
)
def test_a_blind_guess_depends_on_the_classes(classes, words):
    story = replace(told(), classes=tuple("abcde"[:classes]))
    assert words in pictures.losses(story).words


@pytest.mark.parametrize("chart", [pictures.errors_so_far, pictures.errors_lately])
def test_no_change_sets_the_scale_of_errors(chart):
    story = told(task="regression")
    wild = {
        name: 1e6 * lost if name == "running mean" else lost
        for name, lost in story.course.losses.items()
    }
    drawing = chart(replace(story, course=story.course._replace(losses=wild)))
    assert drawing.spec["scales"][1]["domain"] == chart(story).spec["scales"][1]["domain"]
    assert "The line of running mean leaves the picture at its top." in drawing.words
    labels = next(data["values"] for data in drawing.spec["data"] if data["name"] == "labels")
    assert "running mean ↑" in [label["text"] for label in labels]


def test_a_share_of_mistakes_ends_at_all():
    story = told()
    wrong = dict.fromkeys(story.course.losses, np.diff(story.course.ends, prepend=0.0))
    for chart in (pictures.errors_so_far, pictures.errors_lately):
        assert chart(replace(story, course=story.course._replace(losses=wrong))).spec["scales"][1][
            "domain"
        ] == [0.0, 1.0]


def test_the_pace_in_words_is_that_of_the_rows():
    story = told()
    third = len(story.course.ends) // 3
    steps = np.repeat([1 / 64, 1 / 8, 1.0], [third, third, len(story.course.ends)])[
        : len(story.course.ends)
    ]
    steps[0] = 1000.0  # the start-up: nobody wants to hear of it
    course = story.course._replace(effective=steps)
    said = pace_in_words(replace(story, course=course))
    assert "between 1/64 and 1;" in said
    drawn_at_most = pictures.effective_step(replace(story, course=course))[third:].max()
    assert drawn_at_most == 1.0
    side = time_axis.back(story)[0] // 2
    assert f"highest, 1.00, around row {int(course.ends[2 * third + side]):,}." in said


def test_the_scoreboard_says_who_is_better():
    story = replace(
        told(),
        errors={
            "swordplay": 0.10,
            "majority class": 0.5,
            "no change": 0.20,
            "best step size": 0.08,
        },
    )
    reader = Reader(render(HtmlPage("t", "f", track_sections(story)[:1])))
    lines = reader.texts("tr")
    assert lines[0] == "swordplay10\u202f%"
    assert "swordplay is 2 points higher" in lines[1]
    assert "swordplay is 10 points lower" in lines[2]
    uneven = replace(told(), errors={"swordplay": 0.26, "no change": 0.259, "majority class": 0.5})
    assert (
        Reader(render(HtmlPage("t", "f", track_sections(uneven)[:1]))).texts("tr")[0]
        == "swordplay26.0\u202f%"
    )
    numbers = replace(
        told(task="regression"), errors={"swordplay": 0.10, "no change": 0.20, "running mean": 0.08}
    )
    lines = Reader(render(HtmlPage("t", "f", track_sections(numbers)[:1]))).texts("tr")
    assert any("swordplay is 25\u202f% higher" in line for line in lines)


def test_dates_without_times_are_told_so():
    story = told(task="regression")
    values = (
        {"day": "2014-07-13 00:00:00", "at": "2014-07-13 00:00:00"},
        {"day": "2014-07-14 00:00:00", "at": "2014-07-13 09:30:00"},
    )
    worst = tuple(
        moment._replace(values=one) for moment, one in zip(story.worst, values, strict=False)
    )
    cells = Reader(render(HtmlPage("t", "f", track_sections(replace(story, worst=worst))))).texts(
        "td"
    )
    assert "day\u00a02014-07-13 · at\u00a02014-07-13 00:00:00" in cells
    assert "day\u00a02014-07-14 · at\u00a02014-07-13 09:30:00" in cells


def test_coefficients_are_sorted_by_what_is_shown():
    story = told(task="regression")
    (section,) = [one for one in track_sections(story) if one.title == "What drives it"]
    shown = [float(row[1].replace("−", "-")) for row in section.blocks[-1].rows]
    assert [abs(value) for value in shown] == sorted(map(abs, shown), reverse=True)
    assert len(shown) == len(story.drivers)


@pytest.mark.parametrize("rows", [1, 2, 3, 17])
@pytest.mark.parametrize("task", ["binary", "regression"])
def test_short_runs_are_told_too(rows, task):
    story = told(rows, task)
    reader = Reader(render(HtmlPage("t", "f", track_sections(story))))
    all_of_them = {"binary": 8, "regression": 9}[task]
    # after a row or two no column counts for anything yet
    assert len(reader.charts()) == (all_of_them - (not story.drivers) if story.rows else 0)


def test_what_happened_to_rows_and_columns_is_said():
    story = replace(told(), refused=1, unlabelled=1200)
    reader = Reader(
        render(
            HtmlPage(
                "t",
                "f",
                track_sections(story, command="swordplay track x.csv --target y", date="a Monday"),
            )
        )
    )
    text = " ".join(reader.texts("p"))
    assert "1,200 rows had no target: predicted, not learned." in text
    assert "1 row could not be read and was skipped." in text
    cells = reader.texts("td")
    for column in story.columns:
        assert column.name in cells
        assert column.note in cells
    assert {"swordplay track x.csv --target y", "a Monday"} <= set(cells)
    for moment in story.worst[: pictures.MOST_WORST]:
        assert f"{moment.row:,}" in cells
