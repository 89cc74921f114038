"""What the report of a run says and draws, beside a plain reckoning of the same story."""

import base64
import io
import math

import numpy as np
import pytest

from report.reading import Reader, table
from report.stories import told
from swordplay.report import Page, render, track_sections
from swordplay.report import track_charts as pictures
from swordplay.report.heat import GAMMA, picture
from swordplay.report.track import headline, pace_in_words
from tolerances import DRAWN, ROUNDING

TASKS = ("binary", "multi-class", "regression")


def drawn(chart):
    """Points and values of a chart by the names of its lines."""
    numbers = table({"spec": chart.spec})
    return numbers["x"], {field["name"]: numbers[field["field"]] for field in chart.readout["fields"]}


@pytest.mark.parametrize("task", TASKS)
def test_errors_so_far_end_at_the_errors_of_the_run(task):
    story = told(task=task)
    points, lines = drawn(pictures.errors_so_far(story))
    assert points[1:] == story.course.ends.tolist()
    assert {name: values[-1] for name, values in lines.items()} == pytest.approx(story.errors, rel=DRAWN)


@pytest.mark.parametrize("task", TASKS)
def test_errors_lately_are_those_of_the_last_stretches(task):
    story = told(task=task)
    ends, lost = story.course.ends, story.course.losses["Sword"]
    back = math.ceil(pictures.FEWEST_LATELY * len(ends) / story.rows)  # 2000 rows: by rows, not by share
    assert back > 1
    _, lines = drawn(pictures.errors_lately(story))
    for k, value in enumerate(lines["Sword"][1:]):
        first = max(0, k + 1 - back)
        mean = sum(lost[first : k + 1]) / (ends[k] - (ends[first - 1] if first else 0))
        assert value == pytest.approx(math.sqrt(mean) if task == "regression" else mean, rel=DRAWN, abs=ROUNDING)


def test_the_map_shows_the_weights_and_the_line_the_step_size():
    story = told()
    chart = pictures.pace(story)
    image = next(mark for mark in chart.spec["marks"][0]["marks"] if mark["type"] == "image")
    opacity = pixels(image["encode"]["update"]["url"]["value"])[..., 3] / 255
    assert opacity.shape == (len(story.step_sizes), min(pictures.COLUMNS, int(story.course.ends[-1])))
    assert opacity[::-1, 0] == pytest.approx(story.course.weights[0] ** GAMMA, abs=1 / 255)
    assert opacity[::-1, -1] == pytest.approx(story.course.weights[-1] ** GAMMA, abs=1 / 255)
    _, lines = drawn(chart)
    assert lines["at the end of the stretch"][1:] == pytest.approx(story.course.effective.tolist(), rel=DRAWN)
    side = math.ceil(pictures.FEWEST_LATELY * len(story.course.ends) / story.rows) // 2  # 2000 rows: by rows, not by share
    near = story.course.effective[100 - side : 100 + side + 1]
    assert lines["effective step size"][101] == pytest.approx(math.prod(near) ** (1 / len(near)), rel=DRAWN)


def pixels(address):
    image = pytest.importorskip("PIL.Image")
    with image.open(io.BytesIO(base64.b64decode(address.removeprefix("data:image/png;base64,")))) as opened:
        return np.asarray(opened.convert("RGBA"))


def test_a_picture_keeps_its_weights():
    weights = np.array([[0.0, 0.25, 1.0], [np.nan, 2.0, -1.0]])
    assert pixels(picture(weights))[..., 3].tolist() == [[0, round(255 * 0.25**GAMMA), 255], [0, 255, 0]]


def test_trust_is_drawn_as_it_was():
    story = told()
    _, lines = drawn(pictures.optimism(story))
    assert lines["the last gradient"][1:] == pytest.approx(story.course.extra.tolist(), rel=DRAWN, abs=ROUNDING)
    assert lines["the last losses"][1:] == pytest.approx(story.course.optimism.tolist(), rel=DRAWN, abs=ROUNDING)


@pytest.mark.parametrize("task", TASKS)
def test_extremes_are_kept_and_marked(task):
    story = told(task=task)
    chart = pictures.losses(story)
    _, lines = drawn(chart)
    root = np.sqrt if task == "regression" else float
    high, low = (next(values for name, values in lines.items() if name.startswith(kind)) for kind in ("largest", "smallest"))
    assert max(high) == pytest.approx(root(story.worst[0].loss), rel=DRAWN)
    assert all(below <= above for below, above in zip(low, high, strict=True))
    dots = next(data["values"] for data in chart.spec["data"] if data["name"] == "dots")
    assert [dot["x"] for dot in dots] == [moment.at or moment.row for moment in story.worst]
    assert [dot["y"] for dot in dots] == pytest.approx([root(moment.loss) for moment in story.worst], rel=DRAWN)
    assert max(dot["y"] for dot in dots) <= chart.spec["scales"][1]["domain"][1]


def test_the_certificate_is_the_storys():
    story = told()
    points, lines = drawn(pictures.certificate(story))
    assert points == pytest.approx(story.certificate[0].tolist(), rel=DRAWN)
    assert lines["certificate"] == pytest.approx(story.certificate[1].tolist(), rel=DRAWN)


def test_the_headline_names_the_strongest_rival():
    story = told()._replace(errors={"Sword": 0.091, "no change": 0.147, "majority class": 0.42, "best step size": 0.105})
    assert headline(story) == "Sword erred on 9.1\u202f% of rows; the best step size chosen with hindsight on 10.5\u202f%."
    alone = story._replace(errors={"Sword": 0.091})
    assert headline(alone) == "Sword erred on 9.1\u202f% of rows."
    values = told(task="regression")._replace(errors={"Sword": 89.51, "no change": 173.1})
    assert headline(values) == "Sword was off by 89.5 (RMSE); repeating the last answer by 173."


def test_the_pace_in_words_is_that_of_the_rows():
    story = told()
    steps = np.repeat([1 / 64, 1 / 8, 1.0], [len(story.course.ends) // 3, len(story.course.ends) // 3, len(story.course.ends)])
    course = story.course._replace(effective=steps[: len(story.course.ends)])
    said = pace_in_words(story._replace(course=course))
    assert "between 1/64 and 1;" in said
    assert f"around row {int(course.ends[2 * (len(course.ends) // 3)]):,}." in said


def test_the_scoreboard_says_who_is_better():
    story = told()._replace(errors={"Sword": 0.10, "no change": 0.20, "best step size": 0.08})
    reader = Reader(render(Page("t", "f", track_sections(story)[:1])))
    lines = reader.texts("tr")
    assert lines[0] == "Sword10\u202f%"
    assert "Sword is 25\u202f% higher" in lines[1]
    assert "Sword is 50\u202f% lower" in lines[2]


@pytest.mark.parametrize("rows", [1, 2, 3, 17])
@pytest.mark.parametrize("task", ["binary", "regression"])
def test_short_runs_are_told_too(rows, task):
    story = told(rows, task)
    reader = Reader(render(Page("t", "f", track_sections(story))))
    assert len(reader.charts()) == (6 if story.rows else 0)


def test_what_happened_to_rows_and_columns_is_said():
    story = told()._replace(refused=1, unlabelled=1200)
    reader = Reader(render(Page("t", "f", track_sections(story, command="swordplay track x.csv --target y", date="a Monday"))))
    text = " ".join(reader.texts("p"))
    assert "1,200 rows had no target: predicted, not learned." in text
    assert "1 row could not be read and was skipped." in text
    cells = reader.texts("td")
    for column in story.columns:
        assert column.name in cells
        assert column.note in cells
    assert {"swordplay track x.csv --target y", "a Monday"} <= set(cells)
    for moment in story.worst:
        assert f"{moment.row:,}" in cells
