"""Regret against every comparator: a curve over how far comparators may move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from swordplay.core.types import Vector
from swordplay.report import formatting as fmt
from swordplay.report.axes import Axis, path_axis, top
from swordplay.report.charts import Line, chart
from swordplay.report.page import Section, TableBlock, Text

if TYPE_CHECKING:
    from swordplay.comparison import LeftOut, Perspective
    from swordplay.theory.ledger import RegretCurve


TITLE = "What perfect tracking would have been worth"


def regret_section(
    curve: RegretCurve,
    *,
    learner: str = "sp.Sword",
    others: Mapping[str, Vector] | None = None,
    note: str = "",
) -> Section:
    """Regret as a curve, the certificate above it.

    Parameters
    ----------
    curve
        What ``ledger.regret_curve()`` returned.
    learner
        Whose regret it is.
    others
        Regrets of others at the same path lengths, by their names.
    note
        What the reader has to know, such as that only a part of a long stream was looked at.
    """
    paths, regrets, certificate = curve.path_lengths, curve.regrets, curve.certificate
    least, most = (
        f"the best of all models that travel {fmt.number(float(paths[k]))}" for k in (0, -1)
    )
    least = "the best fixed model" if paths[0] == 0.0 else least
    text = (
        f"Chosen with hindsight, {least} would have lost {_less(regrets[0])} than {learner}; "
        f"{most}, {_less(regrets[-1])}. The certificate allowed for "
        f"{fmt.number(float(certificate[0]))} and {fmt.number(float(certificate[-1]))}."
    )
    beside = dict(others or {})
    lines = [
        Line(f"regret of {learner}" if beside else "regret", regrets, "sword", 2.5),
        Line("certificate", certificate, "other", 2.0),
        *(Line(name, values, "hindsight", 2.0) for name, values in beside.items()),
    ]
    lines += [] if curve.bound is None else [Line("theorem", curve.bound, "naive")]
    picture = chart(
        TITLE,
        "Regret against the best sequence of models of each path length, and the bound that the "
        "run itself proved.",
        paths,
        lines,
        path_axis(paths),
        Axis(_bottom([regrets, *beside.values()]), top([line.values for line in lines])),
        head="path length",
        marks=True,
    )
    columns = {
        "path length": paths,
        "regret": regrets,
        "at most more": curve.gaps,
        "certificate": certificate,
        **beside,
    }
    cells = ([fmt.number(float(value)) for value in column] for column in columns.values())
    caption = (
        f"Regret of {learner}. The best sequences are known up to a gap: the regret may be "
        "larger by it, and no more."
    )
    table = TableBlock(
        caption, tuple(columns), tuple(zip(*cells, strict=True)), tuple(range(len(columns)))
    )
    return Section(
        "Regret against every comparator",
        (Text(text), *((Text(note),) if note else ()), picture, table),
    )


def perspective_section(view: Perspective | LeftOut, learner: str = "") -> Section:
    """What perfect tracking of the first rows would have been worth, or why that is left out.

    The certificate is that of ``sp.Sword``, which plays the same rows. It is shown if it says
    something: if it is smaller than all that ``sp.Sword`` lost.

    Parameters
    ----------
    view
        What :func:`swordplay.comparison.perspective` returned.
    learner
        What the page calls the model of ``swordplay track``, unless by its estimator's name.
    """
    from swordplay.comparison import LeftOut

    if isinstance(view, LeftOut):
        text = (
            "The look back at what perfect tracking would have been worth is left out, "
            f"because {view.why}."
        )
        return Section(TITLE, (Text(text),))
    name = learner or view.name
    part = (
        f"All {view.of:,} rows"
        if view.rows == view.of
        else f"Only the first {view.rows:,} of {view.of:,} rows"
    )
    note = (
        f"{part} were looked at, in losses of the scaled columns. A regret below 0 means that "
        f"{name} lost less than the best of hindsight."
    )
    curve = view.curve
    if curve.certificate[0] < view.total:
        note += (
            " The certificate is a bound that a run proves for itself. It is that of sp.Sword, "
            "the learner for games on a "
            f"domain of known size, which lost {fmt.number(view.total)} on the same rows."
        )
        return regret_section(
            curve, learner="sp.Sword", others={f"regret of {name}": view.estimator}, note=note
        )
    note += (
        " A bound that a run proves for itself (the certificate of sp.Sword) would be larger than "
        "the whole loss here; it says nothing, and is left out."
    )
    return _plain(curve, view.estimator, name, note)


def _plain(curve: RegretCurve, regrets: Vector, name: str, note: str) -> Section:
    """One curve of regret, no certificate."""
    paths = curve.path_lengths
    text = (
        f"Chosen with hindsight, the best fixed model would have lost {_less(regrets[0])} than "
        f"{name}; the best of all models "
        f"that travel {fmt.number(float(paths[-1]))}, {_less(regrets[-1])}."
    )
    picture = chart(
        TITLE,
        "Regret against the best sequence of models of each path length: how far the model of "
        "hindsight may move over the run.",
        paths,
        [Line("regret", regrets, "sword", 2.5)],
        path_axis(paths),
        Axis(_bottom([regrets]), top([regrets])),
        head="path length",
        marks=True,
    )
    return Section("Regret against every comparator", (Text(text), Text(note), picture))


def _bottom(regrets: list[Vector]) -> float:
    return (
        -top([-values for values in regrets])
        if min(float(values.min()) for values in regrets) < 0.0
        else 0.0
    )


def _less(regret: float) -> str:
    return f"{fmt.number(abs(float(regret)))} {'less' if regret >= 0.0 else 'more'}"
