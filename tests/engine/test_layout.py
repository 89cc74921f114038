"""The declared layout: saved states by name, records, and states that do not fit."""

import numpy as np
import pytest

import swordplay as sp
from swordplay.engine.layout import EXPERT, SCALAR, SETTING, VECTOR, declarations, saved_fields

_RNG = np.random.default_rng(5)
ROWS = _RNG.normal(size=(60, 4)) @ np.triu(np.ones((4, 4)))
FEATURES, TARGETS = ROWS[:, :3], ROWS[:, 3]
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


def engine_of(make):
    return sp.engine.compiled_twin(MAKES[make](), "squared")


@pytest.mark.parametrize("make", MAKES)
def test_a_saved_engine_goes_on_bit_by_bit(make):
    first, second = engine_of(make), engine_of(make)
    first.play(FEATURES[:LEARNED], TARGETS[:LEARNED])
    if make != "Simplex":
        first.predict(
            FEATURES[LEARNED]
        )  # leaves products for the next round, which a saved state leaves out
    second.load_compact_state(first.compact_state())
    a, b = (engine.play(FEATURES[LEARNED:], TARGETS[LEARNED:]) for engine in (first, second))
    assert a.predictions.tobytes() == b.predictions.tobytes()
    ours, theirs = first.compact_state(), second.compact_state()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_a_pool_of_fixed_size_has_no_capped_experts():
    other = engine_of("OGD")
    state = other.compact_state()
    settings = dict(zip(state["setting_names"].split(), state["settings"], strict=True))
    damaged = np.array([*(settings | {"uses_domain_scale": 1.0}).values()])
    with pytest.raises(ValueError, match=r"another make \(uses_domain_scale was 1 and is 0 here\)"):
        other.load_compact_state(changed(state, settings=damaged))


def test_every_number_is_declared_once():
    for indices in (EXPERT, VECTOR, SCALAR, SETTING):
        assert list(indices) == list(range(len(indices)))
        assert list(declarations(indices)) == list(indices._fields)
    readable = [
        field.readable
        for indices in (EXPERT, SCALAR)
        for field in saved_fields(indices).values()
        if field.readable
    ]
    assert len(readable) == len(set(readable)) == 23


def test_what_is_saved_and_what_is_not():
    assert " ".join(saved_fields(EXPERT)) == (
        "weight cumulative optimism log_prior scale pending_update lookahead_scale lookahead_step "
        "squared_norm squared_norm_peak expected_slope squared_error_sum step_size linear_regret "
        "step_cost inverse_step inverse_growth inverse_largest squared_norm_change "
        "max_squared_norm weighted_norm_change max_dual_norm squared_lookahead movement_cost "
        "last_base_prediction"
    )
    assert " ".join(saved_fields(SCALAR)) == (
        "rounds last_squared_norm replayed_slope difference magnitude trust rate_total rate_level "
        "learning_rate least_cumulative refresh_at loss_weight smoothness used_width step_shrink"
    )
    assert " ".join(saved_fields(VECTOR)) == "last_row"
    assert " ".join(saved_fields(SETTING)) == "threshold domain_size diameter refresh_rounds"
    entries_of_all = {
        "expert_names",
        "experts",
        "scalar_names",
        "scalars",
        "setting_names",
        "settings",
        "last_row",
        "points",
        "frame",
    }
    assert set(engine_of("SwordBest").compact_state()) == entries_of_all
    assert set(engine_of("Sword").compact_state()) == {*entries_of_all, "dual_sum"}


def changed(state, **entries):
    return state | entries


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ({"expert_names": "weight"}, "must name the 25 numbers"),
        ({"expert_names": 3}, "must name the 25 numbers"),
        ({"scalar_names": " ".join(["rounds"] * 15)}, "must name the 15 numbers"),
        ({"scalars": np.zeros(0), "scalar_names": ""}, "lacks rounds, last_squared_norm"),
        ({"experts": np.zeros((25, 0))}, "must name the 25 numbers"),
        ({"experts": np.full((25, 2), np.nan)}, r"state\['experts'\] is damaged"),
        (
            {"last_row": np.zeros(5), "frame": np.zeros((2, 5))},
            r"state\['last_row'\] must have shape \(3,\), got \(5,\)",
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
    other = sp.engine.compiled_twin(
        sp.SwordBest(
            sp.Ball(3, 4.0, center=[0.1, 0, 0]),
            horizon=100,
            gradient_bound=50.0,
            smoothness=20.0,
            optimism_rate=9.0,
        ),
        "squared",
    )
    with pytest.raises(ValueError, match=r"another make \(trust_rate was .* and is 9 here\)"):
        other.load_compact_state(state)


def test_coordinates_that_join_one_by_one_are_those_that_join_together():
    one, all_ = (sp.engine.compiled_twin(sp.Sword(sp.Ball(2, 4.0)), "squared") for _ in range(2))
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
