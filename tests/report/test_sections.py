"""Sections that other commands add: comparisons, the paper's experiment, regret against every
comparator.
"""

import numpy as np
import pytest

import swordplay as sp
from report.reading import Reader, table
from report.stories import drifting
from swordplay.comparison import LeftOut, compare, field, perspective
from swordplay.report import (
    HtmlPage,
    compare_section,
    perspective_section,
    regret_section,
    render,
    reproduce_section,
    write_compare,
)
from swordplay.theory.reproduce import reproduce
from tolerances import DRAWN


def read(section):
    return Reader(render(HtmlPage("title", "facts", (section,))))


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_learners_are_ranked(task, tmp_path):
    rows, targets = drifting(400, task)
    found = compare(
        field(
            rows, targets.astype(int) if task == "binary" else targets, 2 if task == "binary" else 0
        )
    )
    write_compare(found, "drifting.csv: y", tmp_path / "report.html")
    reader = Reader((tmp_path / "report.html").read_text(encoding="utf-8"))
    cells = np.array(reader.texts("td")).reshape(len(found.results), -1)
    assert cells[:, 0].tolist() == [str(one.rank) for one in found.results]
    assert cells[:, 1].tolist() == [one.name for one in found.results]
    assert cells.shape[1] == 5 + len(found.benchmarks)
    [chart] = reader.charts()
    for shown in chart["readout"]["fields"]:
        drawn = table(chart)[shown["field"]]
        assert drawn == pytest.approx(
            next(one.course.tolist() for one in found.results if one.name == shown["name"]),
            rel=DRAWN,
        )
    assert reader.texts("p", "lead")[0].startswith(
        f"Of {len(found.results)} learners, {found.results[0].name} erred least"
    )


def test_the_papers_experiment_is_drawn_as_it_was_played():
    rows = reproduce([20, 40])
    reader = read(reproduce_section(rows))
    charts = reader.charts()
    assert len(charts) == 4
    names = {field["name"]: field["field"] for field in charts[3]["readout"]["fields"]}
    sword = [row.regret for row in rows if (row.instance, row.learner) == ("alternating", "Sword")]
    assert table(charts[3])[names["Sword"]] == pytest.approx(sword, rel=DRAWN)
    cells = np.array(reader.texts("td")).reshape(-1, 5)
    last = [row for row in rows if row.horizon == 40]
    assert len(cells) == len(last)
    marked = {(learner, tuning) for learner, tuning, _, bound, _ in cells if bound.endswith("*")}
    assert marked == {("SwordBest", "the paper's rates")}
    assert [text for text in reader.texts("p") if text.startswith("* takes the paper's claim")]
    assert (
        cells[0][0]
        == min(
            (row for row in last if row.instance == "gradual"), key=lambda row: row.regret
        ).learner
    )
    with pytest.raises(ValueError, match="rows must not be empty"):
        reproduce_section([])


@pytest.fixture(scope="module")
def curve():
    world = sp.streams.drift.jumps(200, dim=1, every=50, noise=0.1, seed=0)
    learner = sp.Sword(world.domain)
    return sp.play(learner, world).regret_curve(learner)


def test_regret_is_a_curve_below_its_certificate(curve):
    reader = read(regret_section(curve, note="Of the first 200 rows."))
    [chart] = reader.charts()
    drawn = table(chart)
    assert drawn["x"] == pytest.approx(curve.path_lengths.tolist(), rel=DRAWN)
    assert drawn["y0"] == pytest.approx(curve.regrets.tolist(), rel=DRAWN)
    assert drawn["y1"] == pytest.approx(curve.certificate.tolist(), rel=DRAWN)
    assert max(drawn["y1"]) <= chart["spec"]["scales"][1]["domain"][1]
    assert "Of the first 200 rows." in reader.texts("p")
    assert len(reader.texts("td")) == 4 * len(curve.path_lengths)


def test_a_regret_below_zero_is_said_and_drawn(curve):
    luckier = curve._replace(
        regrets=curve.regrets - curve.regrets[0] - 5.0, path_lengths=curve.path_lengths * 100.0
    )
    reader = read(regret_section(luckier))
    [chart] = reader.charts()
    assert chart["spec"]["scales"][1]["domain"][0] <= luckier.regrets.min() == -5.0
    assert chart["spec"]["scales"][0]["type"] == "symlog"
    assert "the best fixed model would have lost 5.00 more than sp.Sword" in reader.texts("p")[1]


def test_a_theorem_is_a_line_of_its_own(curve):
    reader = read(regret_section(curve._replace(bound=2.0 * curve.certificate)))
    assert [field["name"] for field in reader.charts()[0]["readout"]["fields"]] == [
        "regret",
        "certificate",
        "theorem",
    ]


def test_one_point_is_enough(curve):
    single = curve._replace(
        **{
            name: getattr(curve, name)[:1]
            for name in curve._fields
            if getattr(curve, name) is not None
        }
    )
    assert len(read(regret_section(single)).charts()) == 1


@pytest.fixture(scope="module")
def view():
    rows, targets = drifting(400, "regression")
    return perspective(field(rows, targets), rows=100)


def test_a_certificate_that_says_nothing_is_left_out(view):
    vacuous = perspective_section(
        view._replace(total=float(view.curve.certificate[0])), "swordplay"
    )
    reader = read(vacuous)
    assert [field["name"] for field in reader.charts()[0]["readout"]["fields"]] == ["regret"]
    assert "would be larger than the whole loss here" in " ".join(reader.texts("p"))
    assert table(reader.charts()[0])["y0"] == pytest.approx(view.estimator.tolist(), rel=DRAWN)


def test_a_certificate_that_says_something_is_shown_once(view):
    telling = perspective_section(
        view._replace(total=2.0 * float(view.curve.certificate[0])), "swordplay"
    )
    names = [field["name"] for field in read(telling).charts()[0]["readout"]["fields"]]
    assert names == ["regret of sp.Sword", "certificate", "regret of swordplay"]


def test_what_is_left_out_is_said():
    reader = read(perspective_section(LeftOut("it rained")))
    assert reader.charts() == []
    assert reader.texts("p")[1].endswith("is left out, because it rained.")


def test_learners_have_looks_of_their_own():
    rows, targets = drifting(60, "regression")
    found = compare(field(rows, targets), step_sizes=[0.1, 0.2, 0.3])
    marks = compare_section(found).blocks[1].spec["marks"][0]["marks"]
    looks = {
        (
            mark["encode"]["update"]["stroke"]["value"],
            str(mark["encode"]["update"]["strokeDash"]["value"]),
        )
        for mark in marks
    }
    assert len(looks) == len(found.results) == 16


def test_who_diverged_does_not_flatten_the_others():
    columns, targets = drifting(300, "regression")
    found = compare(field(columns, targets), step_sizes=[0.1])
    last = found.results[-1]
    wild = last._replace(course=last.course * 1e9)
    huge = found._replace(results=(*found.results[:-1], wild))
    drawn, calm = (compare_section(one).blocks[1] for one in (huge, found))
    ends = [
        next(scale for scale in one.spec["scales"] if scale["name"] == "y")["domain"][1]
        for one in (drawn, calm)
    ]
    assert ends[0] <= ends[1]
    assert "At the end beyond the picture (↑): " in drawn.words
    assert drawn.words.endswith(f"{last.name}.")
    assert f"{last.name} ↑" in [name for name, _ in drawn.keys]
    (still,) = [one for one in found.results if one.name == "no change"]
    assert ends[0] >= still.course[-1]
