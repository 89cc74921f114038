"""What campaigns of forged states found, each in a few lines: refused in words, or used."""

import json

import numpy as np
import pytest

import swordplay as sp
from swordplay.core.checkpoint import CheckpointError
from swordplay.core.state import Field, check, check_number
from swordplay.keyed import Keyed
from swordplay.keyed.sqlite_store import SqliteStore
from swordplay.late import LateModel
from swordplay.parts.learners.saol_cbce_sacs import (
    CoinBetting,
    IntervalPosition,
    MultiplicativeWeights,
    SleepingNormalHedge,
)
from swordplay.serving.limits import Bounds
from swordplay.serving.models import Models
from swordplay.sklearn import SwordClassifier, SwordRegressor
from swordplay.tracking import Settings, trackers
from swordplay.tracking.packing import pack, unpack
from swordplay.tracking.rungs import COUNT, Rungs
from swordplay.tracking.series_detection import is_part
from swordplay.tracking.totals import Totals
from tracking.test_bulk import table

BALL = sp.Ball(2)


def taught(learner, rounds=6):
    rng = np.random.default_rng(3)
    for row in rng.uniform(-1, 1, (rounds, 2)):
        learner.observe(sp.SquaredLoss(row, float(row[0])))
    return learner


@pytest.mark.parametrize("values", [True, None, "3", [True, False], ["3"], [10**400]])
def test_only_numbers_are_numbers(values):
    with pytest.raises(ValueError, match=r"state\['x'\] must hold numbers, got"):
        check("x", values, Field(0.0, 5.0))


@pytest.mark.parametrize("values", [[], [[]], [3.0], np.zeros(3)])
def test_a_list_is_not_one_number(values):
    check_number("x", 3.0, Field(0.0, 5.0))
    with pytest.raises(ValueError, match=r"state\['x'\] must be one number, got"):
        check_number("x", values, Field(0.0, 5.0))


def test_rounds_leave_room_for_what_use_adds():
    learner = taught(sp.OGD(BALL, 0.1))
    learner.load_state(learner.state() | {"rounds": 2**52})
    for rounds in (2**52 + 1, 2**53, 10**30):
        with pytest.raises(
            ValueError, match=r"state\['rounds'\] must hold whole numbers from 0 to 4\.5036e\+15"
        ):
            learner.load_state(learner.state() | {"rounds": rounds})
    with pytest.raises(ValueError, match=r"state\['rounds'\] must hold whole numbers"):
        learner.load_state(learner.state() | {"rounds": 10**400})


def test_intervals_that_wait_have_a_level():
    model = LateModel("regression")
    for k in range(40):
        model.ask({"a": k % 5}, id=str(k))
        if k < 39:
            model.tell(str(k), float(k % 5))
    state = model.state()
    LateModel.from_state(state)
    with pytest.raises(ValueError, match="intervals are pending, and the model has no level"):
        LateModel.from_state(state | {"level": np.nan})


POSITION = IntervalPosition(start=np.array([8.0]), age=np.array([3.0]), length=np.array([8.0]))


@pytest.mark.parametrize(
    ("meta", "right", "wrong"),
    [
        (MultiplicativeWeights(), [(8.0, 0.0), (-8.0, 0.0)], [(8.1, 0.0), (-8.1, 0.0), (0.0, 1.0)]),
        (
            CoinBetting(),
            [(2.0, 1.0), (-2.0, -5.0)],
            [(2.1, 0.0), (-2.1, 0.0), (0.0, 5.4), (0.0, -5.4)],
        ),  # 3 ln 6 is 5.38
        (
            SleepingNormalHedge(),
            [(8.0, 8.0), (-1.0, 1.0)],
            [(0.0, -1.0), (2.0, 1.0), (-2.0, 1.0), (1.0, 8.1)],
        ),
    ],
)
def test_memories_of_experts_that_sleep(meta, right, wrong):
    for row in right:
        assert meta.is_possible(np.array([row]), POSITION).all()
    for row in wrong:
        assert not meta.is_possible(np.array([row]), POSITION).any()


@pytest.mark.parametrize("make", [sp.SAOL, sp.CBCE, sp.SACS])
def test_learners_on_covers_go_on_from_what_they_saved(make):
    learner, fresh = taught(make(BALL, gradient_bound=4.0), 40), make(BALL, gradient_bound=4.0)
    good = learner.state()
    fresh.load_state(good)
    assert fresh.decision.tobytes() == learner.decision.tobytes()
    memory = good["memory"].copy()
    memory[2] = -99.5, -1.0
    with pytest.raises(ValueError, match=r"state\['memory'\] holds \[-99.5  -1. \] in row 2"):
        fresh.load_state(good | {"memory": memory})
    with pytest.raises(ValueError, match=r"state\['rounds'\] must be one number"):
        fresh.load_state(good | {"rounds": np.zeros(3)})


def curved(meta=None):
    return sp.Curved(BALL, meta=meta)


@pytest.mark.parametrize(
    ("meta", "entry", "place", "value"),
    [
        (None, "experts.0.discounted_squares", 0, -1.0),
        (None, "experts.0.curvature", (0, 0, 1), 1e9),  # not symmetric
        (None, "experts.0.curvature", (0, 0, 0), -1e3),  # bent downwards
        (sp.metas.AdaNormalHedge, "meta.regrets", 0, 1e101),
        (sp.metas.AdaNormalHedge, "meta.magnitudes", 0, 1e17),
        (sp.metas.AdaptMLProd, "meta.rates", 0, 0.0),
        (sp.metas.AdaptMLProd, "meta.log_products", 0, 1e101),
        (sp.metas.FixedShare, "meta.posterior", 0, 0.0),
    ],
)
def test_sums_that_no_game_leads_to(meta, entry, place, value):
    learner, fresh = (curved(meta and meta()) for _ in range(2))
    good = taught(learner).state()
    fresh.load_state(good)
    changed = np.array(good[entry])
    changed[place] = value
    with pytest.raises(ValueError, match=rf"state\['{entry}'\] must hold"):
        fresh.load_state(good | {entry: changed})


STATES = [
    {"a": np.arange(6.0).reshape(2, 3), "n": 1, "t": "x"},
    {"a": np.arange(2.0).reshape(1, 2), "n": 2, "t": "y"},
]
ARRAY = "a:array of float64"


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        (ARRAY, np.ones(8, bool)),
        (ARRAY, np.arange(8)),
        (ARRAY, np.arange(7.0)),
        (ARRAY, 3.0),
        (f"{ARRAY}:about", '{"shapes": [[2, 3], [1, 1.7e308]]}'),
        (f"{ARRAY}:about", '{"shapes": [[2, 3], [1, 3]]}'),
        (f"{ARRAY}:about", '{"shapes": [[2, 3], [-1, -2]]}'),
        (f"{ARRAY}:about", '{"shapes": [[2, 3], 2]}'),
        (f"{ARRAY}:about", "null"),
        ("n:int", np.ones(2)),
        ("n:int:about", '{"states": [0, 2]}'),
        ("t:str:about", '{"texts": ["x", 3]}'),
    ],
)
def test_many_states_as_one(entry, value):
    packed = pack(STATES)
    assert unpack(packed, 2)[0]["a"].shape == (2, 3)
    with pytest.raises(ValueError, match="damaged"):
        unpack(packed | {entry: value}, 2)


def test_sums_and_points_are_doubles_whatever_the_file_says():
    totals, rungs = Totals(("a", "b"), ("c",)), Rungs(1)
    totals.load_state(
        {
            "errors": np.zeros(2, bool),
            "rungs": np.ones(COUNT, int),
            "rows": 3,
            "figures": np.zeros(1, "int8"),
        }
    )
    rungs.load_state({"points": np.zeros((1, 2, COUNT), int)})
    assert {
        one.dtype for one in (totals.errors, totals.open_rungs, totals.figures, rungs.points)
    } == {np.dtype(np.float64)}


@pytest.mark.parametrize("change", [{"dim": 2}, {"dim": 4}, {"lags": 1}])
def test_settings_that_no_key_was_saved_with(change, tmp_path):
    rng = np.random.default_rng(0)
    known = Keyed("regression", threads=1)
    known.predict_then_learn(["one", "two"] * 5, rng.normal(size=(10, 3)), rng.normal(size=10))
    known.save(tmp_path)
    folder = SqliteStore(tmp_path)
    about, rows = folder.open(), list(folder.read_all())
    about["settings"] = json.dumps(json.loads(about["settings"]) | change).encode()
    folder.write(about, rows, since=None)
    with pytest.raises(CheckpointError, match="their states are not those of"):
        Keyed.load(tmp_path, threads=1)


def test_one_damaged_key_does_not_keep_the_others(tmp_path):
    known = Keyed("regression", threads=1)
    known.predict_then_learn(["one", "two"] * 5, np.arange(30.0).reshape(10, 3), np.arange(10.0))
    known.save(tmp_path)
    folder = SqliteStore(tmp_path)
    about, (first, second) = folder.open(), folder.read_all()
    folder.write(about, [first._replace(state=b"\xffno state"), second], since=None)
    loaded = Keyed.load(tmp_path, threads=1)
    assert np.isfinite(loaded.predict(["two"], np.ones((1, 3)))).all()
    with pytest.raises(CheckpointError, match="damaged"):
        loaded.predict(["one"], np.ones((1, 3)))


def test_the_ball_of_log_odds_is_that_of_the_settings():
    X = np.random.default_rng(0).normal(size=(40, 3))
    state = SwordClassifier().fit(X, X[:, 0] > 0).state()
    SwordClassifier.from_state(state)
    with pytest.raises(
        ValueError, match=r"a ball of radius 32 for a model with the radius 3\.2e-14"
    ):
        SwordClassifier.from_state(state | {"parameter.radius": 3.2e-14})


@pytest.mark.parametrize("small", [1e-310, 1e-200, 1e-90])
def test_columns_that_begin_with_vanishing_numbers(small):
    """Later rows would be infinite in units of their spread: they were, and predictions not
    finite from then on.
    """
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = X.sum(axis=1)
    X[:60, 0] *= small
    model = SwordRegressor(curves="auto").partial_fit(X[:100], y[:100])
    assert np.abs(model.predict(X[100:])).max() < 10.0
    state = model.state()
    (entry,) = [name for name in state if name.endswith("second.columns")]
    state[entry][2, 1] = small
    with pytest.raises(ValueError, match=r"second.columns.*numbers from 1e-80"):
        SwordRegressor.from_state(state)


def test_fractions_are_no_classes():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = SwordClassifier().fit(X, np.where(X[:, 0] > 0, 1.0, 2.0))
    assert SwordClassifier.from_state(model.state()).classes_.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"its classes are \[0\.87, 16\.9\]"):
        SwordClassifier.from_state(model.state() | {"classes": np.array([0.87, 16.9])})
    with pytest.raises(
        ValueError,
        match=r"classes must be whole numbers, truth values or strings, got \[1\.0, 2\.5\]",
    ):
        SwordClassifier().partial_fit(X, np.ones(40), classes=[1.0, 2.5])


@pytest.mark.parametrize(
    "values", [np.full(2, np.nan), np.array([91.0, 93.0]), np.array([[91, 93]], np.uint8), "[]", 3]
)
def test_bytes_are_bytes(values):
    state = Models(Bounds()).state()
    assert Models.from_state(state).series == {}
    with pytest.raises(CheckpointError, match=r"state\['recent'\] must hold bytes, got"):
        Models.from_state(state | {"recent": values})


@pytest.mark.parametrize(
    ("entry", "value", "told"),
    [
        ("fields", '[["shop", "null", false]]', "'shop' stands beside the predictions as null"),
        (
            "fields",
            '[["shop", "double", false]]',
            "the keys in 'shop' are .* to be written as double",
        ),
        ("bulk.table", np.full(2, np.nan), r"state\['bulk.table'\] must hold bytes"),
        ("bulk.sums", np.inf, r"state\['sums'\] must hold numbers"),
        ("bulk.totals", -np.inf, r"state\['totals'\] must hold numbers"),
    ],
)
def test_keys_in_bulk(entry, value, told):
    rows = table(1, 100, 4)
    bulk = trackers.begin(Settings("y", key=("shop",), lags=1), rows)
    bulk.track(rows, np.arange(1, 101))
    state = bulk.state()
    trackers.resumed(state)
    with pytest.raises(ValueError, match=told):
        trackers.resumed(
            state | {entry: np.full_like(state[entry], value) if type(value) is float else value}
        )


def test_the_first_of_all_dates_is_a_date():
    times = np.repeat(np.array([-(2**63), 2024, 2025, 2026], np.int64), 4)
    quarters = np.tile(np.arange(1.0, 5.0), 4).view(np.int64)
    assert is_part("shop", quarters, np.repeat(np.arange(2023, 2027), 4))
    assert is_part("quarter", quarters, times)
    assert not is_part("shop", quarters, times)  # they are no years
