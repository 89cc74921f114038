"""The paper's experiment as a library call; tests/theorems checks its results."""

import pytest

import swordplay as sp
from swordplay.parts import pools, rates
from swordplay.theory.reproduce import (
    DEFAULT_ROUNDS,
    ENTRIES,
    INSTANCES,
    RATE_TOLERANCE,
    ProgressCounter,
    StreamQuantities,
    evaluate,
    horizons,
    paper_tuned,
    reproduce,
)
from tolerances import ROUNDING

HORIZONS = (50, 100)


@pytest.fixture(scope="module")
def rows():
    return reproduce(HORIZONS)


def regrets(rows, horizon):
    return {
        (row.instance, row.learner, row.tuning): row.regret
        for row in rows
        if row.horizon == horizon
    }


def test_only_sword_has_no_theorem(rows):
    assert {row.learner for row in rows if row.bound is None} == {"Sword"}


def test_every_entry_plays_every_game(rows):
    played = [(row.instance, row.horizon, row.learner, row.tuning) for row in rows]
    assert played == [
        (name, T, entry.learner, entry.tuning)
        for T in HORIZONS
        for name in INSTANCES
        for entry in ENTRIES
    ]
    assert {row.rounds % 2 for row in rows if row.instance == "gradual"} == {1}
    assert {row.rounds % 2 for row in rows if row.instance == "alternating"} == {0}


def test_slow_learners_leave_long_games_out(monkeypatch):
    few = tuple(entry for entry in ENTRIES if entry.learner in ("CBCE", "OGD", "SwordPlusPlus"))
    assert [entry.max_horizon for entry in few] == [None, 1_000, None]
    monkeypatch.setattr(
        "swordplay.theory.reproduce.ENTRIES",
        tuple(entry._replace(max_horizon=60) for entry in few[:2]),
    )
    assert {
        (row.learner, row.horizon, row.certificate is None) for row in reproduce((50, 100))
    } == {
        ("SwordPlusPlus", 50, False),
        ("CBCE", 50, True),
    }


def test_defaults_are_the_library_s_own(rows):
    """The self-confident rows are those of learners given T, G and L and nothing else."""
    stream = sp.streams.paper.alternating(100)
    learner = sp.SwordBest(
        stream.domain,
        horizon=100,
        gradient_bound=stream.gradient_bound(stream.domain),
        smoothness=stream.smoothness,
    )
    by_hand = sp.play(learner, stream).regret(stream.comparators)
    assert regrets(rows, 100)["alternating", "SwordBest", "self-confident"] == pytest.approx(
        by_hand, rel=ROUNDING
    )


def test_progress_goes_up_to_the_end():
    seen = []
    reproduce([200], progress=lambda done, planned, label: seen.append((done, planned, label)))
    done = [report[0] for report in seen]
    assert done == sorted(set(done))
    assert all(now <= planned for now, planned, _ in seen)
    assert seen[-1][0] == seen[-1][1]
    assert {label.split(",")[0] for *_, label in seen} == {entry.learner for entry in ENTRIES}


@pytest.mark.parametrize("make", INSTANCES.values(), ids=INSTANCES)
@pytest.mark.parametrize("name", ["SwordVar", "SwordSmall", "SwordBest"])
def test_paper_tuning_is_fresh_and_has_the_paper_s_pools(name, make):
    stream = make(60)
    learner = paper_tuned(name, stream)
    given = {
        "diameter": 2.0,
        "gradient_bound": stream.gradient_bound(stream.domain),
        "smoothness": stream.smoothness,
        "horizon": len(stream),
    }
    variation, small_loss = list(pools.variation(**given)), list(pools.small_loss(**given))
    expected = {
        "SwordVar": variation,
        "SwordSmall": small_loss,
        "SwordBest": variation + small_loss,
    }[name]
    assert learner.rounds == 0
    assert list(learner.step_sizes) == expected


def test_the_rate_is_that_of_its_own_squared_gradients():
    stream = sp.streams.paper.alternating(300)
    learner = paper_tuned("SwordSmall", stream)
    rate = learner.state()["meta.rate.value"]
    ledger = sp.play(learner, stream)
    squares = sp.squared_gradients(stream, ledger.decisions)
    asked = rates.paper_small_loss(
        diameter=2.0, experts=len(learner.step_sizes), squared_gradients=squares
    )
    assert rate == pytest.approx(asked, rel=RATE_TOLERANCE)


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match=r"name must be one of .*'SwordVar'.* got 'Ader'"):
        paper_tuned("Ader", sp.streams.paper.gradual(20))


@pytest.mark.parametrize(
    ("largest", "expected"),
    [
        (10, [10]),
        (100, [100]),
        (101, [100, 101]),
        (1000, [100, 1000]),
        (1e5, [100, 1000, 10_000, 100_000]),
        (20_000, [100, 1000, 10_000, 20_000]),
    ],
)
def test_horizons_end_with_the_largest(largest, expected):
    assert horizons(largest) == expected


def test_default_horizons():
    assert horizons()[-1] == DEFAULT_ROUNDS


@pytest.mark.parametrize("largest", [0, 9, -5])
def test_too_short_a_game_is_refused(largest):
    with pytest.raises(ValueError, match="must be at least 10"):
        horizons(largest)
    with pytest.raises(ValueError, match="rounds must be at least 10"):
        reproduce([largest])


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [(range(1, 251), [100, 200, 250]), ((2048, 4096, 5000), [2048, 4096, 5000])],
    ids=["round by round", "in chunks"],
)
def test_the_meter_reports_now_and_then_and_at_the_end(numbers, expected):
    seen = []
    counter = ProgressCounter(
        lambda done, planned, label: seen.append(done), planned_rounds=numbers[-1]
    )
    played = counter.progress_of_run(numbers[-1])
    for number in numbers:
        played(number)
    assert seen == expected


def test_a_bound_gets_the_arguments_that_it_has_parameters_for():
    stream = StreamQuantities.of_stream(sp.streams.paper.gradual(20))

    def bound(*, diameter, horizon, step_size, other=None):
        return diameter, horizon, step_size, other

    assert evaluate(bound, stream, step_size=0.5, experts=3) == (stream.diameter, 21, 0.5, None)
    assert evaluate(bound, stream, step_size=0.5, horizon=7) == (stream.diameter, 7, 0.5, None)
