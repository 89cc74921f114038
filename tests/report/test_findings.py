"""The first screen in words, the pictures behind it, and the axis of dates."""

from dataclasses import replace

import numpy as np
import pytest

from report.reading import table
from report.stories import dated, told
from swordplay.report import result_charts, time_axis, track_sections
from swordplay.report.findings import can_i_trust_it, change_in_words, is_it_good
from swordplay.report.page import Answer
from swordplay.report.result_charts import PALETTE, look
from swordplay.tracking.changes import DetectedChange, changes
from swordplay.tracking.tally import BINS, Sureness
from tolerances import DRAWN


def scored(rmse, naive_rmse, mae, naive_mae, mean=100.0):
    """A regression with these errors, of the learner and of no change."""
    errors = {"swordplay": rmse, "no change": naive_rmse, "running mean": mean}
    return replace(
        told(task="regression"), errors=errors, more={"swordplay": mae, "no change": naive_mae}
    )


@pytest.mark.parametrize(
    ("figures", "begin"),
    [
        (
            (1.0, 2.0, 0.5, 1.0),
            "Better than repeating the last value: swordplay was off by 0.500 on average (MAE), ",
        ),
        ((2.0, 1.0, 1.0, 0.5), "Worse than repeating the last value: "),
        ((1.0, 1.005, 0.5, 0.5), "About as good as repeating the last value: "),
        (
            (2.0, 1.0, 0.5, 1.0),
            "Worse than repeating the last value by RMSE, better than it by MAE: ",
        ),
        (
            (1.0, 2.0, 1.0, 0.5),
            "Worse than repeating the last value by MAE, better than it by RMSE: ",
        ),
        ((1.0, 2.0, 0.5, 0.5), "Better than repeating the last value by RMSE: "),
    ],
)
def test_numbers_are_held_against_the_last_value(figures, begin):
    said = is_it_good(scored(*figures))
    assert said.startswith(begin)
    assert "the mean so far" not in said
    assert "Saying the mean so far would have been better: RMSE 0.900." in is_it_good(
        scored(*figures, mean=0.9)
    )


@pytest.mark.parametrize(
    ("errors", "begin"),
    [
        (
            (0.1, 0.2, 0.4),
            "Better than repeating the last class and always saying the commonest one: ",
        ),
        ((0.3, 0.2, 0.4), "Worse than repeating the last class: "),
        (
            (0.5, 0.2, 0.4),
            "Worse than repeating the last class and always saying the commonest class: ",
        ),
        ((0.2, 0.2, 0.4), "About as good as repeating the last class: "),
    ],
)
def test_classes_are_held_against_the_last_and_the_commonest(errors, begin):
    story = replace(
        told(), errors=dict(zip(("swordplay", "no change", "majority class"), errors, strict=True))
    )
    assert is_it_good(story).startswith(begin)
    assert is_it_good(story).count("%") == 3


def test_the_spread_of_errors_is_that_of_the_last_rows():
    story = told(task="regression")
    half, most = np.quantile(abs(story.last.predictions - story.last.targets), [0.5, 0.9])
    assert can_i_trust_it(story).startswith(
        f"Half of the errors were below {half:.3f} and 90\u202f% below {most:.3f}, "
    )
    shifted = replace(story, last=story.last._replace(predictions=story.last.predictions + 10.0))
    assert "too much on average." in can_i_trust_it(shifted)


@pytest.mark.parametrize(
    ("right", "verdict"),
    [
        (80.0, "can be taken at their word"),
        (60.0, "too sure of itself"),
        (95.0, "more often right than it says"),
    ],
)
def test_sureness_is_judged(right, verdict):
    bins = np.zeros((3, BINS))
    bins[:, 16] = 100.0, 80.0, right
    said = can_i_trust_it(replace(told(), sureness=Sureness(*bins)))
    assert said.startswith(
        f"It was 80\u202f% sure on average, and right on {right:.0f}\u202f% of rows: "
    )
    assert verdict in said
    assert "When it was" not in said  # never at least 90 % sure
    assert "(0.69 is a coin toss)" in said


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (2.0, -2.0, "turned"),
        (2.0, 4.0, "doubled"),
        (-2.0, -1.0, "halved"),
        (2.0, 0.1, "fell to about zero"),
        (0.1, 2.0, "rose from about zero"),
        (1.0, 3.0, "tripled"),
        (1.0, 5.0, "grew 5.0-fold"),
        (1.0, 1.5, "grew by 50\u202f%"),
        (1.0, 0.7, "shrank by 30\u202f%"),
    ],
)
def test_what_became_of_a_coefficient(before, after, words):
    story = dated()
    change = DetectedChange("wind", "", 1001, float(story.course.times[-1]), before, after, 2.0)
    assert change_in_words(story, change).startswith(
        f"On 24 March 2012 the coefficient of wind {words} ("
    )
    assert change_in_words(replace(story, clock=""), change).startswith(
        f"Around row 1,001 the coefficient of wind {words} ("
    )


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (0.743, 3.73, "grew 5.0-fold"),  # small beside the new level, and yet a coefficient
        (-0.331, 1.91, "turned"),  # small, and of the other sign
        (-0.01, 1.91, "rose from about zero"),  # what is told as 0 has no sign
        (-2.0, -0.1, "rose to about zero"),
        (1.0, 20.0, "grew 20.0-fold"),  # a twentieth, and yet half of what coefficients usually are
    ],
)
def test_about_zero_is_small_beside_the_other_level_and_all_coefficients(before, after, words):
    story = dated()  # coefficients of sizes 3 and 1
    assert f" wind {words} (" in change_in_words(
        story, DetectedChange("wind", "", 5, None, before, after, 2.0)
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ("y", "", 5, None, 12.0, 40.0, 1.0, "target"),
            "Around row 5 the level of y rose from 12.0 to 40.0.",
        ),
        (
            ("y", "a", 5, None, 0.7, 0.02, 1.0, "share"),
            "Around row 5 “a” became rare (70\u202f% → 2\u202f% of rows).",
        ),
        (
            ("y", "a", 5, None, 0.0, 0.5, 1.0, "share"),
            "Around row 5 “a” became common (0 → 50\u202f% of rows).",
        ),
        (
            ("y", "a", 5, None, 0.2, 0.5, 1.0, "share"),
            "Around row 5 “a” became more frequent (20\u202f% → 50\u202f% of rows).",
        ),
        (
            ("y", "a", 5, None, 0.5, 0.2, 1.0, "share"),
            "Around row 5 “a” became less frequent (50\u202f% → 20\u202f% of rows).",
        ),
        (
            ("error", "", 900, None, 0.1, 0.2, 1.0, "error", 50),
            "From around row 50 to row 900 errors doubled (10\u202f% → 20\u202f%).",
        ),
    ],
)
def test_levels_shares_and_slow_changes_in_words(change, said):
    assert change_in_words(told(task="multi-class"), DetectedChange(*change)) == said


def test_slow_changes_have_two_dates():
    story = dated()
    first, last = (float(story.course.times[k]) for k in (10, -1))
    change = DetectedChange("error", "", 1900, last, 2.0, 1.0, 1.0, "error", 100, first)
    assert change_in_words(story, change).startswith(
        "From 7 January 2012 to 24 March 2012 errors halved ("
    )


def test_errors_are_told_in_their_measure():
    assert "errors doubled (10\u202f% → 20\u202f%)." in change_in_words(
        told(), DetectedChange("error", "", 5, None, 0.1, 0.2, 1.0, "error")
    )
    values = told(task="regression")
    assert "errors halved (2.00 → 1.00)." in change_in_words(
        values, DetectedChange("error", "", 5, None, 2.0, 1.0, 1.0, "error")
    )


def test_a_turn_is_told_on_the_page_with_its_date():
    short, *rest = track_sections(dated())
    (answer,) = [block for block in short.blocks if isinstance(block, Answer) and block.points]
    turned = [line for line in answer.points if "the coefficient of wind turned" in line]
    assert len(turned) == 1
    assert turned[0].startswith("On ")
    assert "February 2012" in turned[0]
    (section,) = [one for one in rest if one.title == "What changed, and when"]
    assert "coefficient of wind" in [cell for row in section.blocks[-1].rows for cell in row]


def test_dates_are_the_axis_where_they_go_forward():
    forward, backward = dated(), dated(backwards=True)
    assert (forward.clock, backward.clock) == ("when", "")
    assert time_axis.axis(forward).scale == "utc"
    assert time_axis.points(forward)[0] == np.datetime64("2012-01-01T01", "ms").astype(
        float
    )  # the first row is not predicted
    assert time_axis.points(forward)[-1] == np.datetime64("2012-03-24T07", "ms").astype(float)
    assert time_axis.axis(backward).title == "row"
    chart = result_charts.actual_and_predicted(forward)
    assert table({"spec": chart.spec})["row"][1:] == forward.course.ends.tolist()


def test_actual_and_predicted_are_means_and_extremes():
    story = told(task="regression")
    numbers = table({"spec": result_charts.actual_and_predicted(story).spec})
    widths = np.diff(story.course.ends, prepend=0.0)
    assert numbers["y0"][1:] == pytest.approx(
        (story.course.figures["actual"] / widths).tolist(), rel=DRAWN
    )
    assert numbers["y1"][1:] == pytest.approx(
        (story.course.figures["predicted"] / widths).tolist(), rel=DRAWN
    )
    assert numbers["y3"][1:] == pytest.approx(story.course.high[:, 1].tolist(), rel=DRAWN)
    assert numbers["y5"][1:] == pytest.approx(story.course.low[:, 1].tolist(), rel=DRAWN)


def test_the_histogram_holds_nearly_all_errors():
    story = told(task="regression")
    shares = table({"spec": result_charts.residual_histogram(story).spec})["y0"]
    assert sum(shares) == pytest.approx(result_charts.SHOWN, abs=0.005)


def test_who_was_taken_for_whom_adds_up():
    story = told(task="multi-class")
    counts = result_charts.confusion(story)
    assert np.sum(counts.counts) == story.rows
    right = sum(counts.counts[k][k] for k in range(3))
    assert 1.0 - right / story.rows == pytest.approx(story.errors["swordplay"])
    many = replace(story, confusion=np.eye(40), classes=tuple(map(str, range(40))))
    folded = result_charts.confusion(many)
    assert folded.names[-1] == "31 others"
    assert (len(folded.names), np.sum(folded.counts), folded.counts[-1][-1]) == (10, 40, 31)


def test_no_two_lines_look_alike():
    looks = [look(k) for k in range(3 * len(PALETTE))]
    assert len(set(looks)) == len(looks)
    assert len({colour for colour, _ in looks[:8]}) == 8


def test_changes_survive_a_run_without_any():
    assert changes(told(1, "regression")) == ()
