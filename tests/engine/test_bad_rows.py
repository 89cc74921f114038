"""Rows that cannot be played: named, and nothing changes; or skipped and listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import swordplay as sp
from engine.duels import LEARNERS, duel, state_gaps
from swordplay.core.types import State
from tolerances import DRIVEN

pytestmark = pytest.mark.xdist_group("sparse")  # one process compiles, and the others need not

GAME = duel(2, "squared", rounds=40)
FEATURES, TARGETS = GAME.stream.features, GAME.stream.targets
DIM = GAME.domain.dim
FORMS = {
    "dense": np.array,
    "fortran": np.asfortranarray,
    "csr": scipy.sparse.csr_matrix,
    "csc": scipy.sparse.csc_matrix,
}

every_form = pytest.mark.parametrize("form", FORMS)
not_numbers = pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
both_learners = pytest.mark.parametrize("learner", ["SwordBest", "Sword"])


def some(learner: str) -> Any:
    """A learner that an engine has played twenty rounds for."""
    made = LEARNERS[learner](GAME)
    sp.play(made, GAME.stream[:20], engine="compiled")
    return made


def bits(state: State) -> dict[str, bytes]:
    return {name: np.asarray(value).tobytes() for name, value in state.items()}


def spoilt(row: int, column: int, value: float) -> np.ndarray:
    rows = FEATURES.copy()
    rows[row, column] = value
    return rows


@every_form
@not_numbers
@both_learners
def test_the_row_and_the_column_are_named_and_nothing_is_learned(
    form: str, value: float, learner: str
) -> None:
    made = some(learner)
    before = bits(made.state())
    with pytest.raises(
        ValueError,
        match=rf"features must be finite, got {value} in row 25, column 1.*on_bad='skip'",
    ):
        sp.play(
            made, sp.LinearStream(FORMS[form](spoilt(25, 1, value)), TARGETS), engine="compiled"
        )
    assert bits(made.state()) == before


@not_numbers
def test_a_bad_target_is_named(value: float) -> None:
    targets = TARGETS.copy()
    targets[7] = value
    with pytest.raises(ValueError, match=rf"targets must be finite, got {value} in row 7"):
        sp.LinearStream(FEATURES, targets)


@every_form
def test_a_bad_label_is_named(form: str) -> None:
    labels = (TARGETS > 0).astype(float)
    labels[[9, 30]] = 2.0
    with pytest.raises(
        ValueError, match=r"targets must be 0 or 1 for the logistic loss, got 2\.0 in row 9"
    ):
        sp.LinearStream(FORMS[form](FEATURES), labels, "logistic")


@every_form
@both_learners
@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_bad_rows_are_skipped_and_listed(form: str, learner: str, engine: Any) -> None:
    rows, labels = FEATURES.copy(), (np.median(TARGETS) < TARGETS).astype(float)
    rows[3, 0], rows[11, 2], rows[12, 1], labels[20], labels[39] = (
        np.nan,
        np.inf,
        -np.inf,
        0.5,
        np.nan,
    )
    stream = sp.LinearStream(FORMS[form](rows), labels, "logistic", on_bad="skip")
    np.testing.assert_array_equal(stream.skipped, [3, 11, 12, 20, 39])
    assert len(stream) == 35
    good = np.delete(np.arange(40), [3, 11, 12, 20, 39])
    clean, skipping = LEARNERS[learner](GAME), LEARNERS[learner](GAME)
    expected = sp.play(
        clean, sp.LinearStream(FORMS[form](FEATURES[good]), labels[good], "logistic"), engine=engine
    )
    ledger = sp.play(skipping, stream, engine=engine)
    np.testing.assert_array_equal(ledger.losses, expected.losses)
    assert bits(skipping.state()) == bits(clean.state())


def test_nothing_is_skipped_where_nothing_is_bad() -> None:
    assert sp.LinearStream(FEATURES, TARGETS, on_bad="skip").skipped.size == 0


@pytest.mark.parametrize(
    ("features", "targets", "error", "message"),
    [
        (FEATURES[:, :-1], TARGETS, ValueError, f"stream has {DIM - 1} feature.* domain has {DIM}"),
        (
            FEATURES,
            TARGETS[:-1],
            ValueError,
            r"targets must have one entry per row of features \(40\), got 39",
        ),
        (FEATURES[0], TARGETS, ValueError, r"features must have shape \(T, d\)"),
        (FEATURES, TARGETS[:, None], ValueError, "targets must have 1 dimension"),
        (FEATURES.astype(str), TARGETS, TypeError, "features must hold real numbers, got dtype"),
        (
            FEATURES.astype(complex),
            TARGETS,
            TypeError,
            "features must hold real numbers, got dtype complex128",
        ),
        (
            scipy.sparse.csr_matrix(FEATURES.astype(complex)),
            TARGETS,
            TypeError,
            "features must hold real numbers, got dtype",
        ),
        (
            FEATURES.astype(object),
            TARGETS,
            TypeError,
            "features must hold real numbers, got dtype object",
        ),
        (FEATURES, TARGETS.astype(str), TypeError, "targets must hold real numbers"),
        (np.zeros((40, 0)), TARGETS, ValueError, "at least one column"),
    ],
    ids=[
        "narrow",
        "short",
        "flat",
        "tall",
        "text",
        "complex",
        "complex csr",
        "object",
        "text targets",
        "no columns",
    ],
)
def test_tables_of_another_kind_are_refused(
    features: Any, targets: Any, error: type[Exception], message: str
) -> None:
    made = some("SwordBest")
    before = bits(made.state())
    with pytest.raises(error, match=message):
        sp.play(made, sp.LinearStream(features, targets), engine="compiled")
    assert bits(made.state()) == before


@pytest.mark.parametrize("form", ["dense", "csr"])
@both_learners
@pytest.mark.parametrize("huge", [1e80, 1e200])
def test_a_row_that_would_overflow_is_named_and_those_before_it_are_learned(
    form: str, learner: str, huge: float
) -> None:
    stopped, clean = LEARNERS[learner](GAME), LEARNERS[learner](GAME)
    with pytest.raises(
        ValueError,
        match=r"row 25 would overflow.*Rescale or drop it.*25 row\(s\) before it are learned",
    ):
        sp.play(
            stopped, sp.LinearStream(FORMS[form](spoilt(25, 1, huge)), TARGETS), engine="compiled"
        )
    sp.play(clean, sp.LinearStream(FORMS[form](FEATURES[:25]), TARGETS[:25]), engine="compiled")
    assert stopped.rounds == 25
    assert max(state_gaps(GAME, stopped.state(), clean.state()).values()) <= DRIVEN
    for learner_ in (stopped, clean):
        sp.play(
            learner_, sp.LinearStream(FORMS[form](FEATURES[26:]), TARGETS[26:]), engine="compiled"
        )
    assert max(state_gaps(GAME, stopped.state(), clean.state()).values()) <= DRIVEN


@pytest.mark.parametrize("seed", [4, 5])
def test_off_the_ball_too(seed: int) -> None:
    game = duel(seed, "squared", rounds=40)
    rows = game.stream.features.copy()
    rows[25, 1] = 1e200
    learner = LEARNERS["Sword"](game)
    with pytest.raises(ValueError, match="row 25 would overflow"):
        sp.play(learner, sp.LinearStream(rows, game.stream.targets), engine="compiled")
    assert learner.rounds == 25
    assert np.isfinite(learner.decision).all()


def test_a_target_that_would_overflow_is_named() -> None:
    targets = TARGETS.copy()
    targets[3] = 1e160
    learner = LEARNERS["SwordBest"](GAME)
    with pytest.raises(ValueError, match="row 3 would overflow"):
        sp.play(learner, sp.LinearStream(FEATURES, targets), engine="compiled")
    assert learner.rounds == 3


ROW, LESSON = FEATURES[20], float(TARGETS[20])
BAD_LESSONS: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "nan": (
        np.array([1.0, np.nan, 2.0]),
        1.0,
        ValueError,
        "features must be finite, got nan at index 1",
    ),
    "inf": (
        np.array([1.0, 2.0, np.inf]),
        1.0,
        ValueError,
        "features must be finite, got inf at index 2",
    ),
    "nan in a list": (
        [1.0, np.nan, 2.0],
        1.0,
        ValueError,
        "features must be finite, got nan at index 1",
    ),
    "none": (None, 1.0, TypeError, "features must hold real numbers"),
    "text": (["1", "2", "3"], 1.0, TypeError, "features must hold real numbers"),
    "narrow": (ROW[:2], 1.0, ValueError, "features must have length 3, got length 2"),
    "wide": (np.ones(4), 1.0, ValueError, "features must have length 3, got length 4"),
    "matrix": (ROW[None], 1.0, ValueError, "features must have 1 dimension"),
    "huge": (np.array([1e200, 0.0, 0.0]), 1.0, ValueError, "too large: the loss overflows"),
    "nan target": (ROW, float("nan"), ValueError, "target must be finite, got nan"),
    "inf target": (ROW, float("-inf"), ValueError, "target must be finite, got -inf"),
    "numpy nan target": (ROW, np.float64("nan"), ValueError, "target must be finite, got nan"),
    "no target": (ROW, None, TypeError, "target must be a real number, got None"),
    "text target": (ROW, "1", TypeError, "target must be a real number, got '1'"),
    "huge target": (ROW, 1e160, ValueError, "too large: the loss overflows"),
}
every_bad_lesson = pytest.mark.parametrize(
    ("features", "target", "error", "message"), BAD_LESSONS.values(), ids=BAD_LESSONS
)


@every_bad_lesson
@both_learners
def test_a_bad_lesson_changes_nothing(
    features: Any, target: Any, error: type[Exception], message: str, learner: str
) -> None:
    made = some(learner)
    model = sp.engine.online(made)
    for row, lesson in zip(FEATURES[20:26], TARGETS[20:].tolist(), strict=False):
        before = bits(model.state())
        with pytest.raises(error, match=message):
            model.learn(features, target)
        assert bits(model.state()) == before
        model.learn(row, lesson)


@pytest.mark.parametrize(
    "bad", ["nan", "inf", "nan in a list", "none", "text", "narrow", "wide", "matrix"]
)
@both_learners
def test_a_bad_question_changes_nothing(bad: str, learner: str) -> None:
    features, _, error, message = BAD_LESSONS[bad]
    made = some(learner)
    model = sp.engine.online(made)
    before = bits(model.state())
    with pytest.raises(error, match=message):
        model.predict(features)
    assert bits(model.state()) == before
    calm = LEARNERS[learner](GAME)
    sp.play(calm, GAME.stream[:20], engine="compiled")
    assert model.learn(ROW, LESSON) == sp.engine.online(calm).learn(ROW, LESSON)


@pytest.mark.parametrize("label", [2.0, -1.0, 0.5, 2])
def test_a_bad_label_is_refused_one_by_one(label: float) -> None:
    made = LEARNERS["SwordBest"](GAME)
    model = sp.engine.online(made, "logistic")
    model.learn(ROW, 1)
    before = bits(model.state())
    with pytest.raises(
        ValueError, match=f"target must be 0 or 1 for the logistic loss, got {float(label)}"
    ):
        model.learn(ROW, label)
    assert bits(model.state()) == before


@pytest.mark.parametrize("label", [0, 1, 1.0, True, np.bool_(False), np.int64(1), np.float32(0.0)])
def test_labels_come_in_many_types(label: Any) -> None:
    loss = sp.engine.online(LEARNERS["SwordBest"](GAME), "logistic").learn(ROW, label)
    assert loss == pytest.approx(
        float(sp.LogisticLoss(ROW, float(label)).value(GAME.domain.center))
    )


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"threshold": -1.0}, ValueError),
        ({"threshold": np.nan}, ValueError),
        ({"dtype": "float16"}, ValueError),
    ],
)
def test_settings_that_mean_nothing_are_refused(
    options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error, match=next(iter(options))):
        sp.engine.online(LEARNERS["SwordBest"](GAME), "huber", **options)


def many(
    change: Callable[[np.ndarray, np.ndarray], None],
) -> tuple[list[Any], np.ndarray, np.ndarray]:
    features, targets = np.stack([FEATURES] * 3), np.stack([TARGETS] * 3)
    change(features, targets)
    return [some("SwordBest") for _ in range(3)], features, targets


def test_many_streams_with_a_bad_row_change_nothing() -> None:
    def break_(features: np.ndarray, targets: np.ndarray) -> None:
        features[1, 30, 2] = np.nan

    learners, features, targets = many(break_)
    before = [bits(learner.state()) for learner in learners]
    with pytest.raises(ValueError, match=r"features must be finite, got nan at index \(1, 30, 2\)"):
        sp.engine.play_many(learners, features, targets)
    assert [bits(learner.state()) for learner in learners] == before


def test_many_streams_with_a_row_that_overflows_name_it() -> None:
    def break_(features: np.ndarray, targets: np.ndarray) -> None:
        features[1, 30, 2] = 1e200

    learners, features, targets = many(break_)
    with pytest.raises(ValueError, match="row 30 of stream 1 would overflow"):
        sp.engine.play_many(learners, features, targets)
    assert [learner.rounds for learner in learners] == [60, 50, 60]
    assert all(np.isfinite(learner.decision).all() for learner in learners)


def test_one_learner_cannot_play_two_streams_at_once() -> None:
    learner = some("SwordBest")
    with pytest.raises(ValueError, match="learners"):
        sp.engine.play_many([learner, learner], np.stack([FEATURES] * 2), np.stack([TARGETS] * 2))


def test_shapes_of_many_streams_are_checked() -> None:
    learners = [some("SwordBest"), some("Sword")]
    with pytest.raises(ValueError, match="learners must be of one make, got another in place 1"):
        sp.engine.play_many(learners, np.stack([FEATURES] * 2), np.stack([TARGETS] * 2))
    with pytest.raises(ValueError, match=r"features must have shape \(1, T, 3\)"):
        sp.engine.play_many(learners[:1], np.stack([FEATURES] * 2), np.stack([TARGETS] * 2))
    with pytest.raises(ValueError, match="learners must not be empty"):
        sp.engine.play_many([], np.zeros((0, 1, 3)), np.zeros((0, 1)))
    with pytest.raises(ValueError, match="threads must be at least 1"):
        sp.engine.play_many(learners[:1], FEATURES[None], TARGETS[None], threads=0)
