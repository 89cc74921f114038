"""Changed states with valid checksums: refused in words, or used without a crash, NaN or
blow-up.
"""

import json
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import swordplay as sp
from checkpoint.campaign import KINDS, isolated, shares
from checkpoint.kinds import Refused, saved
from swordplay import sklearn
from swordplay.core import checkpoint
from swordplay.core.checkpoint import CheckpointError
from swordplay.core.state import ROUND_COUNT_RANGE, Field, check
from swordplay.engine.layout import SCALAR, saved_fields
from swordplay.tracking import Settings

QUICK, DEEP, CHUNK = 2_500, 1_000_000, 5_000
"""Changes in all, and in one process of a deep campaign."""


def fitted(kind="SwordRegressor", **settings):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] > 0 if kind == "SwordClassifier" else X @ [1.0, 2.0, 3.0]
    return getattr(sklearn, kind)(**settings).fit(X, y)


def refused(estimator, path, **changes):
    """What is said of a file in which numbers were changed and whose checksum fits again."""
    state = saved(estimator)
    for name, (place, value) in changes.items():
        if place is None:
            state[name] = value
        else:
            state[name][place] = value
    checkpoint.save(path, state, kind=type(estimator).__name__)
    with pytest.raises(CheckpointError) as caught:
        type(estimator).load(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("count", [-5.0, 1e18, -1e18, 2.5, np.inf, np.nan])
def test_counts_that_would_be_places_in_memory(count, tmp_path):
    told = refused(fitted(), tmp_path / "x", **{"model.columns.counts": (1, count)})
    assert "counts" in told or "NaN" in told
    assert "counts" in refused(
        fitted("SwordAggregator"), tmp_path / "x", **{"model.spread.counts": (0, count)}
    )


def test_the_message_names_file_field_and_value(tmp_path):
    told = refused(fitted(), tmp_path / "x", **{"model.columns.counts": (1, -5.0)})
    assert (
        "state['counts'] must hold whole numbers from 0 to 9.0072e+15, got -5 at 1. The state is "
        "damaged" in told
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("rounds", -1.0), ("rounds", 2.5), ("trust", 1.5), ("last_squared_norm", -1.0)],
)
def test_numbers_of_the_engine(name, value, tmp_path):
    place = [*saved_fields(SCALAR)].index(name)
    refused(fitted(), tmp_path / "x", **{"model.engine.scalars": (place, value)})


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("SwordRegressor", {"parameter.lags": (None, 1_000_000)}),
        ("SwordRegressor", {"columns": (None, 10_000_000)}),
        ("SwordClassifier", {"columns": (None, 10_000_000)}),
        ("SwordClassifier", {"classes": (None, '["<U1000000000", ["a", "b"]]')}),
        ("SwordClassifier", {"model.counts": (None, np.zeros(1000))}),
    ],
)
def test_sizes_that_the_file_cannot_hold_take_no_memory(kind, changes, tmp_path):
    estimator = fitted(kind)
    refused(
        estimator, tmp_path / "x", columns=(None, -1)
    )  # whatever is imported late is imported now
    tracemalloc.start()
    try:
        if "classes" in changes:
            state = saved(estimator) | {"classes": changes["classes"][1]}
            checkpoint.save(tmp_path / "x", state, kind=kind)
            assert sklearn.SwordClassifier.load(tmp_path / "x").classes_.tolist() == ["a", "b"]
        else:
            refused(estimator, tmp_path / "x", **changes)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_a_learner_tells_which_file_and_entry(tmp_path):
    learner = sp.Sword(sp.Ball(2))
    learner.observe(sp.SquaredLoss([1.0, 2.0], 1.0))
    learner.save(tmp_path / "x")
    state = checkpoint.load(tmp_path / "x")
    state["rounds"] = 10**30
    checkpoint.save(tmp_path / "x", state, kind="Sword")
    with pytest.raises(
        CheckpointError, match=r"x' cannot be used: state\['rounds'\] must hold whole numbers"
    ):
        sp.Sword(sp.Ball(2)).load(tmp_path / "x")


def test_ranges():
    counts = Field(0.0, 10.0, whole=True)
    check("n", [0.0, 10.0], counts)
    check("n", [np.nan], counts._replace(nan=True))
    for bad in (-1.0, 0.5, 11.0, np.nan, np.inf):
        with pytest.raises(
            ValueError, match=r"state\['n'\] must hold whole numbers from 0 to 10, got .* at 1\."
        ):
            check("n", [1.0, bad], counts)
    with pytest.raises(ValueError, match=r"got -2\. The"):
        check("n", -2.0, Field(-1.0, 1.0))


def test_numbers_in_quotes_are_no_numbers():
    with pytest.raises(ValueError, match=r"state\['n'\] must hold numbers, got '5'"):
        check("n", "5", Field(0.0, 10.0))


def resumed_with(**changes):
    """A tracker of words, numbers and dates with one entry changed."""
    from swordplay.tracking import Tracker
    from tracking.worlds import tracked, world

    tracker, _ = tracked(world("multi-class", 60, seed=3), Settings("y", lags=1), [60])
    state = tracker.state()
    for name, change in changes.items():
        assert change(state[name]) is not state[name]
        state[name] = change(state[name])
    return Tracker.resumed(state)


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("encoder.starts", lambda _: "-1", "places where columns begin are -1"),
        (
            "encoder.starts",
            lambda text: text.replace('"z": 1', '"z": true'),
            "places where columns begin",
        ),
        (
            "encoder.starts",
            lambda text: text.replace('"z": 1', '"z": 0'),
            "places where columns begin",
        ),
        (
            "encoder.plans",
            lambda text: text.replace('"number", ""', '"number", 0.5', 1),
            "the plan of a column is",
        ),
        (
            "encoder.missing",
            lambda text: text.replace(": ", ': "', 1).replace(",", '",', 1),
            "does not count missing values",
        ),
        ("encoder.width", lambda width: width + 1, "do not fill columns"),
        ("recognised", lambda text: text.replace("false]", "true]"), "the task is"),
        (
            "settings",
            lambda text: text.replace('"squared"', '"cubed"'),
            "must not hold",
        ),
        ("carried", lambda text: text.replace('"when"', '"loss"'), "beside the predictions"),
        (
            "carried",
            lambda text: text.replace("timestamp[us]", "double"),
            "beside the predictions as double",
        ),
        ("order.clock", lambda _: "name", "'name' is watched, and holds no dates"),
        ("order.downs", lambda _: 2**53, "order.downs"),
        ("tally.confusion", lambda counts: np.pad(counts, (0, 5)), "tally.confusion has shape"),
        ("tally.last.targets", lambda places: places + 50.0, "tally.last.targets"),
        ("tally.last.times", lambda times: times[1:], "the same number of rows"),
        ("recorder.began", lambda _: 1e16, "recorder.began"),
        ("recorder.coefficients", lambda found: found[None], "coefficients have shape"),
        ("kind", lambda _: "double", "classes"),
        (
            "contestants.places",
            lambda text: json.dumps(["\ud800", *json.loads(text)[1:]]),
            "the classes are",
        ),
    ],
)
def test_parts_of_a_tracker_refuse_what_no_table_leads_to(name, change, told):
    resumed_with()
    with pytest.raises(ValueError, match=told):
        resumed_with(**{name: change})


def test_targets_as_large_as_they_may_be_can_be_resumed():

    from tracking.worlds import tracked

    x = np.random.default_rng(0).normal(size=200)
    batch = pa.record_batch({"x": x, "y": 1e59 * x + 1e58})
    whole, _ = tracked(batch, Settings("y", lags=1), [200])
    cut, _ = tracked(batch, Settings("y", lags=1), [40], save=True)
    assert cut.errors() == whole.errors()


def test_a_label_that_is_there_twice(tmp_path):
    from swordplay import river

    model = river.SwordClassifier()
    for k in range(6):
        model.learn_one({"a": float(k)}, "xy"[k % 2])
    state = saved(model) | {"labels": '["y", "x", "y"]'}
    checkpoint.save(tmp_path / "x", state, kind="river.SwordClassifier")
    with pytest.raises(CheckpointError, match="occurs twice"):
        river.SwordClassifier.load(tmp_path / "x")


def test_rounds_that_can_hardly_be_counted_can_be_saved_again(tmp_path):
    """The norms are measured again some rounds later: that number lies beyond."""
    state = saved(fitted())
    state["model.engine.scalars"][[*saved_fields(SCALAR)].index("rounds")] = (
        ROUND_COUNT_RANGE.high - 50
    )
    checkpoint.save(tmp_path / "x", state, kind="SwordRegressor")
    model = sklearn.SwordRegressor.load(tmp_path / "x")
    model.partial_fit(np.ones((50, 3)), np.ones(50))
    sklearn.SwordRegressor.from_state(model.state())


def test_rows_of_a_class_that_can_hardly_be_counted(tmp_path):
    """Several rows at once would lead beyond what can be saved."""
    told = refused(fitted("SwordClassifier"), tmp_path / "x", **{"model.counts": (1, 2.0**53)})
    assert "counts" in told


@pytest.mark.parametrize(
    ("kind", "entry", "place", "value", "told"),
    [
        (
            "sklearn classifier, sets",
            "model.calibration.layer.0.curved_factors",
            1,
            1e150,
            "curved_factors",
        ),
        (
            "intervals, levels and columns",
            "counts",
            3,
            31.0,
            "first_values",
        ),  # less than a column that is marked as settled has seen
        ("late, classes", "pending.blocks.0.notes", 5, 64.0, "last labels"),  # a place in memory
        ("late, curves", "intervals.0.quantiles", 4, 1e300, "quantiles"),
        (
            "tracker of keys in bulk",
            "bulk.totals",
            2,
            -1.4e155,
            "totals of the keys",
        ),  # squares of means would overflow
    ],
)
def test_what_campaigns_found_is_refused(kind, entry, place, value, told, tmp_path):
    found = KINDS[kind]()
    state = dict(found.state)
    state[entry] = np.array(state[entry])
    state[entry].flat[place] = value
    with pytest.raises(Refused) as caught:
        found.use(state, str(tmp_path / "x"))
    assert told in str(caught.value.__cause__)


def test_intervals_of_columns_that_say_that_nothing_was_learned_are_used(tmp_path):
    found = KINDS["river regressor, curves"]()
    state = dict(found.state)
    state["intervals.0.scalars"] = np.array(state["intervals.0.scalars"])
    state["intervals.0.scalars"][0] = 0.0  # rows
    found.use(state, str(tmp_path / "x"))


def test_a_key_of_a_folder_without_any_state_is_refused(tmp_path):
    found = KINDS["folder of keys, classes"]()
    with pytest.raises(Refused, match=r"damaged at key .*: a state of 0 bytes"):
        found.use(dict(found.state) | {"rows.0": np.array([], dtype=np.uint8)}, str(tmp_path / "x"))


@pytest.mark.parametrize("kind", ["tracker of values", "tracker of keys, values"])
@pytest.mark.parametrize("entry", ["settings", "recognised"])
def test_a_word_in_place_of_settings_is_refused(kind, entry, tmp_path):
    found = KINDS[kind]()
    with pytest.raises(Refused) as caught:
        found.use(dict(found.state) | {entry: '"y"'}, str(tmp_path / "x"))
    assert f"state[{entry!r}] must not hold" in str(caught.value.__cause__)


def test_classes_of_another_type_than_the_target_are_refused(tmp_path):
    found = KINDS["tracker of keys, classes"]()
    labels = [-1, *json.loads(found.state["classes"])[1:]]
    with pytest.raises(Refused) as caught:
        found.use(dict(found.state) | {"classes": json.dumps(labels)}, str(tmp_path / "x"))
    assert "target of type string" in str(caught.value.__cause__)


def test_a_table_without_a_decimal_sign_is_refused(tmp_path):
    found = KINDS["file of track"]()
    layout = json.loads(found.state["position.layout"]) | {"decimal": ""}
    with pytest.raises(Refused) as caught:
        found.use(dict(found.state) | {"position.layout": json.dumps(layout)}, str(tmp_path / "x"))
    assert "the layout of the input" in str(caught.value.__cause__)


def test_changed_states_are_refused_or_used():
    found = isolated(0, QUICK)
    assert sum(found.values()) == sum(shares(QUICK, list(KINDS)).values())
    assert sum(found.values()) == pytest.approx(QUICK, abs=len(KINDS))
    assert min(found.values()) > 0.1 * QUICK  # both sides of the checks were seen


@pytest.mark.deep
@pytest.mark.parametrize("name", KINDS)
def test_very_many_changed_states_are_refused_or_used(name):
    count = shares(DEEP, list(KINDS))[name]
    for done in range(0, count, CHUNK):
        isolated(QUICK + done, min(CHUNK, count - done), [name])
        print(f"{name}: {min(done + CHUNK, count):,} changes", flush=True)
