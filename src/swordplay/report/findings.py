"""Sentences for the first screen of a report: how good, how reliable, and what changed when."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from swordplay.report import formatting as fmt
from swordplay.report import time_axis
from swordplay.report.track_charts import blind_guess

if TYPE_CHECKING:
    from swordplay.tracking.changes import DetectedChange
    from swordplay.tracking.story import Story

LEVEL = 0.01
"""Relative difference of two errors below which they count as equal."""
SURE = 0.9
"""Probability from which a prediction counts as sure."""
OFTEN = 0.01
"""Share of the rows that has to be sure before a sentence mentions these rows."""
TOO_SURE = 0.02
"""Difference of mean probability and accuracy beyond which probabilities are not calibrated."""
VANISHING = 0.01
"""A level below this share of the other level is printed as 0."""
NOTHING = 0.1
"""A coefficient that keeps its sign is about zero below this share of its other level,"""
SMALL = 0.25
"""and below this share of the usual size of all coefficients."""
RARE = 0.05
"""A class is rare below this share of the rows."""
FACTORS = (("doubled", 1.8, 2.3), ("tripled", 2.7, 3.4), ("halved", 0.43, 0.56))
"""Words for a factor, and the interval that they stand for."""


def is_it_good(story: Story) -> str:
    """Compare the learner with the baselines, in a sentence or two."""
    return _classes(story) if story.task != "regression" else _values(story)


def _values(story: Story) -> str:
    ours, theirs = story.errors[story.learner], story.errors["no change"]
    mine, other = story.more[story.learner], story.more["no change"]
    said = (
        f"{story.learner} was off by {fmt.number(mine)} on average (MAE), repeating the last value "
        f"by {fmt.number(other)}. Where large errors count more (RMSE), it was {fmt.number(ours)} "
        f"beside {fmt.number(theirs)}."
    )
    verdicts = [verdict(mine, other), verdict(ours, theirs)]
    if verdicts[0] == verdicts[1]:
        return f"{verdicts[0]} repeating the last value: {said}" + _mean(story)
    if "Worse than" in verdicts:
        which = ("by MAE", "by RMSE") if verdicts[0] == "Worse than" else ("by RMSE", "by MAE")
        rest = verdicts[1] if verdicts[0] == "Worse than" else verdicts[0]
        return (
            f"Worse than repeating the last value {which[0]}, {rest.lower()} it {which[1]}: {said}"
            + _mean(story)
        )
    return (
        "Better than repeating the last value by "
        f"{'MAE' if verdicts[0] == 'Better than' else 'RMSE'}: {said}" + _mean(story)
    )


def _mean(story: Story) -> str:
    """Return a sentence if the running mean has a smaller RMSE, else nothing."""
    worse = story.errors[story.learner] > (1.0 + LEVEL) * story.errors["running mean"]
    return (
        " Saying the mean so far would have been better: RMSE "
        f"{fmt.number(story.errors['running mean'])}."
        if worse
        else ""
    )


def _classes(story: Story) -> str:
    ours = story.errors[story.learner]
    same, common = story.errors["no change"], story.errors["majority class"]
    naive = {"repeating the last class": same, "always saying the commonest class": common}
    worse = [name for name, error in naive.items() if verdict(ours, error) == "Worse than"]
    level = [name for name, error in naive.items() if verdict(ours, error) == "About as good as"]
    best = "repeating the last class and always saying the commonest one"
    shown = fmt.percents((ours, same, common))
    said = (
        f"Worse than {' and '.join(worse)}"
        if worse
        else f"About as good as {' and '.join(level)}"
        if level
        else f"Better than {best}"
    )
    return (
        f"{said}: {story.learner} was wrong on {shown[0]} of rows, repeating the last class on "
        f"{shown[1]}, always saying the commonest class on {shown[2]}."
    )


def verdict(ours: float, theirs: float) -> str:
    """Compare two errors in words, to be followed by the name of the second."""
    if ours > (1.0 + LEVEL) * theirs:
        return "Worse than"
    return "Better than" if ours < (1.0 - LEVEL) * theirs else "About as good as"


def can_i_trust_it(story: Story) -> str:
    """Describe the quantiles of the errors; for classes, whether probabilities are calibrated."""
    return _sureness(story) if story.task != "regression" else _spread(story)


def _spread(story: Story) -> str:
    last = np.abs(story.last.predictions - story.last.targets)
    half, most = (fmt.number(float(value)) for value in np.quantile(last, [0.5, 0.9]))
    all_half, all_most = (fmt.number(story.residuals.quantile(share)) for share in (0.5, 0.9))
    extremes = (story.course.high[:, 2].max(), -story.course.low[:, 2].min())
    text = (
        f"Half of the errors were below {half} and 90{fmt.NARROW}% below {most}, in the "
        f"last {len(last):,} rows."
    )
    if len(last) < story.rows:
        text += f" Over all of the run it was about {all_half} and {all_most}."
    text += f" The largest error was {fmt.number(float(max(extremes)))}."
    bias = float(np.mean(story.last.predictions - story.last.targets))
    if abs(bias) > 0.25 * float(np.mean(last)) > 0.0 and len(last) >= 30:
        text += (
            f" Lately it says {fmt.number(abs(bias))} too {'much' if bias > 0 else 'little'} "
            "on average."
        )
    return text


def _sureness(story: Story) -> str:
    counts, said, right = story.sureness
    total = float(counts.sum())
    sure, share = float(said.sum()) / total, float(right.sum()) / total
    off = sure - share
    judged = (
        "it is too sure of itself"
        if off > TOO_SURE
        else "it is more often right than it says"
        if off < -TOO_SURE
        else "its probabilities can be taken at their word"
    )
    said_sure, was_right = fmt.percents((sure, share))
    text = f"It was {said_sure} sure on average, and right on {was_right} of rows: {judged}."
    first = round(SURE * len(counts))
    if counts[first:].sum() >= max(OFTEN * total, 1.0):
        often, then = (
            float(counts[first:].sum()) / total,
            float(right[first:].sum() / counts[first:].sum()),
        )
        text += (
            f" When it was at least {fmt.percent(SURE)} sure ({fmt.percent(often)} of rows), it "
            f"was right {fmt.percent(then)} of the time."
        )
    figures = (fmt.number(story.more[name]) for name in ("log loss", "Brier score"))
    loss, brier = figures
    return f"{text} Log loss {loss} ({blind_guess(story)}), Brier score {brier}."


def change_in_words(story: Story, change: DetectedChange) -> str:
    """Describe a change in one sentence."""
    when = time_axis.when_changed(story, change)
    return f"{when[0].upper()}{when[1:]} {SENTENCES[change.kind](story, change)}."


def _error_changed(story: Story, change: DetectedChange) -> str:
    return f"errors {_factor(change.before, change.after)} ({_levels(story, change)})"


def _coefficient_changed(story: Story, change: DetectedChange) -> str:
    driver = next(
        one for one in story.drivers if (one.name, one.about) == (change.what, change.about)
    )
    name = fmt.clean_text(change.what, 40)
    about = (
        f" for “{fmt.clean_text(change.about, 24)}”"
        if change.about and story.task != "binary"
        else ""
    )
    subject = f"the swing with the {name}" if driver.swing else f"the coefficient of {name}"
    return (
        f"{subject}{about} {_turn(change.before, change.after, _usual(story))} "
        f"({_levels(story, change)})"
    )


def _target_changed(story: Story, change: DetectedChange) -> str:
    before, after = levels(story, change)
    went = "rose" if change.after > change.before else "fell"
    return f"the level of {fmt.clean_text(change.what, 40)} {went} from {before} to {after}"


def _share_changed(story: Story, change: DetectedChange) -> str:
    name = f"“{fmt.clean_text(change.about, 24)}”"
    if story.task == "binary":
        name = f"{fmt.clean_text(change.what, 40)} = {fmt.clean_text(change.about, 24)}"
    went = (
        "became rare"
        if change.after < RARE
        else "became common"
        if change.before < RARE
        else "became more frequent"
        if change.after > change.before
        else "became less frequent"
    )
    return f"{name} {went} ({_levels(story, change)} of rows)"


SENTENCES: dict[str, Callable[[Story, DetectedChange], str]] = {
    "error": _error_changed,
    "coefficient": _coefficient_changed,
    "target": _target_changed,
    "share": _share_changed,
}
"""The function that describes a change, by its kind."""


def _levels(story: Story, change: DetectedChange) -> str:
    before, after = levels(story, change)
    return f"{before} → {after}"


def levels(story: Story, change: DetectedChange) -> tuple[str, str]:
    """Return both levels of a change as text; a vanishing one as 0."""
    share = change.kind == "share" or (change.kind == "error" and story.task != "regression")
    shown = fmt.percent if share else fmt.number
    size = max(abs(change.before), abs(change.after))
    before, after = (
        "0" if abs(level) < VANISHING * size else shown(level)
        for level in (change.before, change.after)
    )
    return before, after


def _usual(story: Story) -> float:
    """The usual size of a coefficient: the mean over columns of the median over the run."""
    return float(np.mean([np.nanmedian(np.abs(driver.path)) for driver in story.drivers]))


def _turn(before: float, after: float, usual: float) -> str:
    """Describe the change of a coefficient."""
    small, large = sorted((abs(before), abs(after)))
    nothing = small < VANISHING * large or (
        before * after >= 0.0 and small < NOTHING * large and small < SMALL * usual
    )
    if nothing and abs(after) < abs(before):
        return "fell to about zero" if before > 0.0 else "rose to about zero"
    if nothing:
        return "rose from about zero" if after > 0.0 else "fell from about zero"
    if before * after < 0.0:
        return "turned"
    return _factor(abs(before), abs(after))


def _factor(before: float, after: float) -> str:
    """Describe the change of a positive size."""
    ratio = after / before if before > 0.0 else np.inf
    for word, low, high in FACTORS:
        if low <= ratio <= high:
            return word
    if ratio > FACTORS[0][2]:
        return f"grew {ratio:.1f}-fold" if np.isfinite(ratio) else "rose from zero"
    return f"{'grew' if ratio > 1.0 else 'shrank'} by {fmt.percent(round(abs(ratio - 1.0), 2))}"
