"""Numbers that campaigns of forged states found: each is a number, and one more round would make
none of it.
"""

import re

import numpy as np
import pytest

import swordplay as sp
from swordplay.engine.saved_state import SAVED
from swordplay.intervals.layout import SCALAR as INTERVAL_SCALAR
from swordplay.keyed.interval_layout import IntervalLayout
from swordplay.keyed.kernels import KeyRuns
from swordplay.sklearn import SwordRegressor

SAVED_SCALARS = [*SAVED["scalars"]]

BALL = sp.Ball(2)


def taught(learner):
    for row in np.random.default_rng(3).uniform(-1, 1, (6, 2)):
        learner.observe(sp.SquaredLoss(row, float(row[0])))
    return learner


def put(state, entry, place, value):
    """The state with another number at a place of an entry, or as the entry."""
    changed = np.array(state[entry], dtype=float)
    changed[place] = value
    return state | {entry: changed if changed.ndim else float(changed)}


SUMS_OF_SWORD = [
    ("domain_scale.width", (), 5e-324),  # steps that vanish, and 1 / eta that is infinite
    ("domain_scale.smoothness", (), 1.7e308),
    ("domain_scale.smoothness", (), np.inf),
    ("experts.0.squared_error_sum", 1, 5e-324),  # no step can be measured by it
    ("certificate.inverse_step", 0, 1e300),  # what comes of it cannot be saved again
    ("certificate.inverse_growth", 0, 1e290),
    ("certificate.inverse_largest", 0, 1e290),
    ("certificate.weighted_norm_change", 0, 1e300),
    ("certificate.dual_sum", (0, 1), 1e200),  # squared
    ("certificate.max_dual_norm", 0, 1e300),
]


@pytest.mark.parametrize(("entry", "place", "value"), SUMS_OF_SWORD)
def test_steps_and_their_sums_stay_numbers(entry, place, value):
    learner, fresh = (sp.Sword(sp.Ball(2, radius=20.0)) for _ in range(2))
    good = taught(learner).state()
    fresh.load_state(good)
    with pytest.raises(
        ValueError,
        match=rf"state\['{entry}'\] must hold numbers from .*got {re.escape(f'{value:g}')}",
    ):
        fresh.load_state(put(good, entry, place, value))


@pytest.mark.parametrize(
    "make", [lambda domain: sp.SAOL(domain, gradient_bound=4.0), sp.OptimisticOGD]
)
def test_steps_are_not_made_of_sums_that_lost_their_digits(make):
    learner = taught(make(BALL))
    name, energy = next(
        (name, value)
        for name, value in learner.state().items()
        if name.endswith(("squared_gradient_sum", "squared_error_sum"))
    )
    learner.load_state(learner.state())
    with pytest.raises(ValueError, match=rf"state\['{name}'\] must hold numbers from 1e-300"):
        learner.load_state(learner.state() | {name: np.full_like(energy, 1e-310)})


@pytest.mark.parametrize(
    "changes",
    [
        {"used_width": 5e-324},
        {"smoothness": np.inf},
        {"smoothness": 1.0, "used_width": 1e-200},
        {"step_shrink": 0.0},
        {"step_shrink": 0.5},
    ],
)
def test_what_an_engine_has_measured(changes):
    learner = sp.Sword(BALL)
    engine = sp.engine.online(learner)
    rows = np.random.default_rng(0).normal(size=(20, 2))
    engine.play(rows, rows.sum(axis=1))
    good = engine.compact_state()
    engine.load_compact_state(good)
    now = good["scalars"].copy()
    for name, value in changes.items():
        now[good["scalar_names"].split().index(name)] = value
    with pytest.raises(ValueError, match=r"state\['scalars.(s|u)\w+'\] must hold numbers"):
        engine.load_compact_state(good | {"scalars": now})
    for value in (1e80, -1e160):
        with pytest.raises(ValueError, match=r"state\['dual_sum'\] must hold numbers"):
            engine.load_compact_state(put(good, "dual_sum", (0, 0), value))


@pytest.mark.parametrize(
    ("entry", "changes", "told"),
    [
        (
            "model.engine.last_row",
            {0: -3e154},
            r"state\['last_row'\] must hold numbers",
        ),  # its square overflows
        ("model.engine.points", {(0, 0): 1e158}, "points outside the domain"),
        (
            "model.engine.scalars",
            {
                SAVED_SCALARS.index("replayed_slope"): 1e99,
                SAVED_SCALARS.index("last_squared_norm"): 1e159,
            },
            r"state\['squared gradients'\]",
        ),
        (
            "model.second.recent",
            {0: 1e150},
            r"state\['second.recent'\] must hold numbers",
        ),  # a prediction of 1e143
    ],
)
def test_numbers_of_estimators_whose_squares_are_none(entry, changes, told):
    X = np.random.default_rng(0).normal(size=(40, 3))
    state = SwordRegressor(curves="auto").partial_fit(X, X.sum(axis=1)).state()
    for place, value in changes.items():
        state = put(state, entry, place, value)
    with pytest.raises(ValueError, match=told):
        SwordRegressor.from_state(state)


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [("mean_score", 5e-318, "mean_score"), (None, 31.0, "intervals: first_values")],
)
def test_records_of_intervals_hold_what_intervals_do(place, value, told):
    """A usual score that is none would be divided by.

    A column that is marked as settled has seen enough.
    """
    form = IntervalLayout(0.9)
    rng = np.random.default_rng(0)
    records = np.tile(form.fresh, (2, 1))
    keys = np.array([0, 1])
    form.learn(records, KeyRuns(keys, keys, np.array([0, 50, 100])), *rng.normal(size=(2, 100)))
    form.check(records)
    scalars, counts = form._places["scalars"], form._places["counts"]
    where = counts if place is None else scalars[getattr(INTERVAL_SCALAR, place)]
    records[1, where] = value
    with pytest.raises(ValueError, match=told):
        form.check(records)


def test_a_guess_that_is_doubled_is_not_below_the_first_one():
    """Of 0 the logarithm was taken."""
    domain = sp.Ball(3)
    told = {
        "horizon": 100,
        "gradient_bound": 2.0,
        "smoothness": 1.0,
        "learning_rate": sp.rates.Doubling(),
    }
    learner = sp.SwordBest(domain, **told)
    state = learner.state()
    assert state["meta.rate.level"] == 4.0
    with pytest.raises(ValueError, match=r"meta.rate.level'\] must be 4 or more, got 0"):
        learner.load_state(state | {"meta.rate.level": 0.0})
    engine = sp.engine.online(sp.SwordBest(domain, **told))
    saved = engine.compact_state()
    engine.load_compact_state(saved)
    with pytest.raises(ValueError, match=r"scalars.rate_level.*numbers from 4"):
        engine.load_compact_state(put(saved, "scalars", SAVED_SCALARS.index("rate_level"), 3.9))
