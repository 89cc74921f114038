"""One declared layout: what is saved goes by name, states of before still load, and records have
the order that they had.
"""

import functools
from pathlib import Path

import numpy as np
import pytest

import swordplay as sp
from swordplay import river
from swordplay.core import checkpoint
from swordplay.engine import record, saved
from swordplay.engine.layout import CONFIG, EXPERT, LIVE, VECTOR, fields, kept_names
from swordplay.estimators.mixture import Mixture
from swordplay.sklearn import SwordAggregator, SwordClassifier, SwordRegressor
from tolerances import ANOTHER_MACHINE

GOLDEN = Path(__file__).parents[1] / "checkpoint" / "golden" / "arrays"
"""States that were saved when the engine still wrote its arrays as they lay in memory, after 40
of these rows.
"""
ROWS = np.loadtxt(GOLDEN / "rows.csv", delimiter=",")
FEATURES, TARGETS = ROWS[:, :3], ROWS[:, 3]
LABELS = np.array(["a", "b", "c"])[np.digitize(TARGETS, [-1, 1])]
LEARNED = 40

MAKES = {
    "Sword": lambda: sp.Sword(sp.Ball(3, 4.0)),
    "SwordBest": lambda: sp.SwordBest(
        sp.Ball(3, 4.0, center=[0.1, 0, 0]), horizon=100, gradient_bound=50.0, smoothness=20.0
    ),
    "Doubling": lambda: sp.SwordVar(
        sp.Ball(3, 4.0),
        horizon=100,
        gradient_bound=50.0,
        smoothness=20.0,
        learning_rate=sp.rates.Doubling(),
    ),
    "OGD": lambda: sp.OGD(sp.Ball(3), 0.1),
    "Simplex": lambda: sp.Sword(sp.Simplex(3)),
}


FIXED_POOLS = [name for name in MAKES if name not in ("Sword", "Simplex")]


def engine_of(make):
    return sp.engine.twin(MAKES[make](), "squared")


def arrays_of(engine):
    """The state as it was saved before: all arrays, in the places of then."""
    memory, n = engine.memory, engine.memory.experts
    columns = memory.numbers.shape[1]
    numbers = {name: memory.numbers[place, :n] for name, place in EXPERT._asdict().items()}
    center, upper, last, under_way = (memory.vectors[place] for place in VECTOR)
    return {
        "rows": np.stack([numbers[name] for name in saved.EARLIER["experts"].split()]),
        "live": np.array(
            [memory.live[getattr(LIVE, name)] for name in saved.EARLIER["round"].split()]
        ),
        "config": np.array(
            [memory.config[getattr(CONFIG, name)] for name in saved.EARLIER["settings"].split()]
        ),
        "vectors": np.stack([center, last, under_way, upper]),
        "coords": memory.coords[:, :n]
        if memory.recipe.on_ball
        else memory.coords[np.r_[:n, columns : columns + n]],
    }


def names_of(engine):
    return engine.compact_state()


@pytest.mark.parametrize(
    ("make", "write"),
    [(make, arrays_of) for make in FIXED_POOLS] + [(make, names_of) for make in MAKES],
)
def test_a_saved_engine_goes_on_bit_by_bit(make, write):
    first, second = engine_of(make), engine_of(make)
    first.play(FEATURES[:LEARNED], TARGETS[:LEARNED])
    if make != "Simplex":
        first.predict(
            FEATURES[LEARNED]
        )  # leaves products for the next round, which a saved state leaves out
    second.load_compact_state(write(first))
    a, b = (engine.play(FEATURES[LEARNED:], TARGETS[LEARNED:]) for engine in (first, second))
    assert a.predictions.tobytes() == b.predictions.tobytes()
    ours, theirs = first.compact_state(), second.compact_state()
    young = {*saved.YOUNG, "turning", "pull"}
    told = [name not in young or write is not arrays_of for name in ours["expert_names"].split()]
    assert np.array_equal(ours.pop("experts")[told], theirs.pop("experts")[told])
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("make", FIXED_POOLS)
def test_engines_that_were_saved_before_go_on(make):
    fresh, loaded = engine_of(make), engine_of(make)
    fresh.play(FEATURES[:LEARNED], TARGETS[:LEARNED])
    loaded.load_compact_state(checkpoint.load(GOLDEN / f"{make}.ckpt", kind="engine"))
    a, b = (engine.play(FEATURES[LEARNED:], TARGETS[LEARNED:]) for engine in (fresh, loaded))
    np.testing.assert_allclose(
        b.predictions, a.predictions, rtol=ANOTHER_MACHINE, atol=ANOTHER_MACHINE
    )
    np.testing.assert_allclose(
        loaded.weights, fresh.weights, rtol=ANOTHER_MACHINE, atol=ANOTHER_MACHINE
    )


def test_a_pool_of_fixed_size_has_no_capped_experts():
    other = engine_of("OGD")
    settings = dict(
        zip(
            other.compact_state()["setting_names"].split(),
            other.compact_state()["settings"],
            strict=True,
        )
    )
    damaged = np.array([*(settings | {"capped": 1.0}).values()])
    with pytest.raises(ValueError, match=r"another make \(capped was 1 and is 0 here\)"):
        other.load_compact_state(changed(other.compact_state(), settings=damaged))


@pytest.mark.parametrize(
    ("name", "made", "goals"),
    [
        ("regressor", SwordRegressor(lags=2, curves=None), TARGETS),
        ("classifier", SwordClassifier(lags=0, curves=None), LABELS),
    ],
)
def test_estimators_that_were_saved_before_go_on(name, made, goals):
    loaded = type(made).load(GOLDEN / f"{name}.ckpt")
    known = {"classes": ["a", "b", "c"]} if name == "classifier" else {}
    made.partial_fit(FEATURES[:LEARNED], goals[:LEARNED], **known)
    ask = "predict_proba" if name == "classifier" else "predict"
    for estimator in (loaded, made):
        estimator.partial_fit(FEATURES[LEARNED:], goals[LEARNED:])
    np.testing.assert_allclose(
        getattr(loaded, ask)(FEATURES),
        getattr(made, ask)(FEATURES),
        rtol=ANOTHER_MACHINE,
        atol=ANOTHER_MACHINE,
    )


def test_an_aggregator_of_before_there_was_a_guard_goes_on_without():
    loaded, made = SwordAggregator.load(GOLDEN / "aggregator.ckpt"), Mixture(FEATURES.shape[1])
    made._guarded = False
    made.predict_then_learn(FEATURES[:LEARNED], TARGETS[:LEARNED])
    close = functools.partial(
        np.testing.assert_allclose, rtol=ANOTHER_MACHINE, atol=ANOTHER_MACHINE
    )
    close(loaded.predict(FEATURES), made.predict(FEATURES))
    loaded.model_.load_state(loaded.model_.state())
    close(
        loaded.predict_then_learn(FEATURES[LEARNED:], TARGETS[LEARNED:]),
        made.predict_then_learn(FEATURES[LEARNED:], TARGETS[LEARNED:]),
    )
    close(loaded.weights_, made.combination)


def test_a_river_model_that_was_saved_before_goes_on():
    loaded, made = (
        river.SwordRegressor.load(GOLDEN / "river.ckpt"),
        river.SwordRegressor(lags=0, curves=None),
    )
    for k in range(len(ROWS)):
        x = dict(zip("abc", FEATURES[k], strict=True))
        made.learn_one(x, TARGETS[k])
        if k >= LEARNED:
            loaded.learn_one(x, TARGETS[k])
    assert loaded.predict_one(x) == pytest.approx(made.predict_one(x), rel=ANOTHER_MACHINE)


def test_every_number_is_declared_once():
    for places in (EXPERT, VECTOR, LIVE, CONFIG):
        assert list(places) == list(range(len(places)))
        assert list(fields(places)) == list(places._fields)
    readable = [
        field.readable
        for places in (EXPERT, LIVE)
        for field in fields(places).values()
        if field.readable
    ]
    assert len(readable) == len(set(readable))


def test_what_is_saved_and_what_is_not():
    assert " ".join(kept_names(EXPERT)) == (
        "weight cumulative guess replay alpha gamma scale coefficient norm energy log_prior "
        "lead advantage drift inverse growth largest swing farthest turning pull charge turned step"
    )
    assert " ".join(kept_names(LIVE)) == (
        "rounds last_norm candidate difference magnitude trust total level rate smallest "
        "refresh_at weight smoothness span "
        "patience caution"
    )
    assert kept_names(VECTOR) == ("last",)
    assert kept_names(CONFIG) == ("threshold", "size", "diameter", "refresh")
    everybody = {
        "expert_names",
        "experts",
        "round_names",
        "round",
        "setting_names",
        "settings",
        "last",
        "points",
        "frame",
    }
    assert set(engine_of("SwordBest").compact_state()) == everybody
    assert set(engine_of("Sword").compact_state()) == {*everybody, "heading"}


def test_records_have_the_order_that_they_always_had():
    assert " ".join(record.ROUND) == (
        "rounds last_norm candidate difference magnitude trust total level rate smallest refresh_at"
    )
    assert (
        " ".join(record.EXPERTS)
        == "weight cumulative guess replay alpha gamma scale coefficient norm"
    )


def changed(state, **entries):
    return state | entries


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ({"expert_names": "weight"}, "must name the 24 numbers"),
        ({"expert_names": 3}, "must name the 24 numbers"),
        ({"round_names": " ".join(["rounds"] * 16)}, "must name the 16 numbers"),
        ({"round": np.zeros(0), "round_names": ""}, "lacks rounds, last_norm"),
        ({"experts": np.zeros((24, 0))}, "must name the 24 numbers"),
        ({"experts": np.full((24, 2), np.nan)}, r"state\['experts'\] is damaged"),
        (
            {"last": np.zeros(5), "frame": np.zeros((2, 5))},
            r"state\['last'\] must have shape \(3,\), got \(5,\)",
        ),
        ({"frame": np.zeros((2, 4))}, r"state\['frame'\] must have shape \(2, 3\)"),
        ({"points": np.zeros((3, 1))}, r"state\['points'\] must have shape"),
        ({"frame": np.ones((2, 3))}, "corners of the domain"),
    ],
)
def test_states_that_do_not_fit_are_refused_and_change_nothing(entries, told):
    engine = engine_of("Sword")
    engine.play(FEATURES, TARGETS)
    before = engine.compact_state()
    with pytest.raises(ValueError, match=told):
        engine.load_compact_state(changed(before, **entries))
    after = engine.compact_state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_another_make_is_refused_and_the_setting_is_named():
    state = engine_of("SwordBest").compact_state()
    other = sp.engine.twin(
        sp.SwordBest(
            sp.Ball(3, 4.0, center=[0.1, 0, 0]),
            horizon=100,
            gradient_bound=50.0,
            smoothness=20.0,
            optimism_rate=9.0,
        ),
        "squared",
    )
    with pytest.raises(ValueError, match=r"another make \(kappa was .* and is 9 here\)"):
        other.load_compact_state(state)
    other.load_compact_state(state, also={"kappa": float(state["settings"][CONFIG.kappa])})
    assert other.compact_state()["settings"][CONFIG.kappa] == state["settings"][CONFIG.kappa]


def test_coordinates_that_join_one_by_one_are_those_that_join_together():
    one, all_ = (sp.engine.twin(sp.Sword(sp.Ball(2, 4.0)), "squared") for _ in range(2))
    for engine in (one, all_):
        engine.play(FEATURES[:, :2], TARGETS)
    for dim in range(3, 12):
        one.widen(dim, last=1)
    all_.widen(11, last=1)
    assert np.array_equal(one.compact_state()["points"], all_.compact_state()["points"])
    wide = np.tile(FEATURES, 4)[:, :11]
    assert (
        one.play(wide, TARGETS).predictions.tobytes()
        == all_.play(wide, TARGETS).predictions.tobytes()
    )
