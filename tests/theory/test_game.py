"""play equals the loop of its documentation, on any stream, in constant memory."""

import gc
import itertools
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings

import swordplay as sp
from strategies import tracking
from swordplay.core import arguments
from swordplay.parts.streams import drift

STREAM = drift.jumps(120, 2, every=30)
MAKES = {
    "OGD": lambda domain: sp.OGD(domain, 0.1),
    "Ader": lambda domain: sp.Ader(domain, horizon=100, gradient_bound=2.0),
    "SwordBest": lambda domain: sp.SwordBest(
        domain, horizon=100, gradient_bound=2.0, smoothness=1.0
    ),
    "Sword": sp.Sword,
}
every_learner = pytest.mark.parametrize("make", MAKES.values(), ids=MAKES.keys())


def test_checking_a_learner_does_not_compute_its_points():
    learner = sp.SwordBest(sp.Ball(3), horizon=10, gradient_bound=1.0, smoothness=1.0)
    assert arguments.learner(learner) is learner
    assert learner.is_fresh  # wide learners that only the engine plays never have readable points


@every_learner
@settings(max_examples=25)
@given(tracking())
def test_playing_is_the_hand_written_loop(make, game):
    domain, losses = game
    learner = make(domain)
    decisions, values, total = [], [], 0.0
    for loss in losses:
        decisions.append(learner.decision)
        values.append(float(loss.value(learner.decision)))
        total += values[-1]  # sum() rounds otherwise from Python 3.12 on
        learner.observe(loss)

    played = make(domain)
    ledger = sp.play(played, losses, engine="python")
    np.testing.assert_array_equal(ledger.decisions, decisions)
    np.testing.assert_array_equal(ledger.losses, values)
    assert ledger.total_loss == total
    assert ledger.rounds == played.rounds == len(losses)
    assert played.decision.tobytes() == learner.decision.tobytes()


@every_learner
def test_two_halves_are_the_whole(make):
    whole, halves = make(STREAM.domain), make(STREAM.domain)
    all_of_it = sp.play(whole, STREAM, engine="python")
    first = sp.play(halves, STREAM[:50], engine="python")
    second = sp.play(halves, STREAM[50:], engine="python")
    np.testing.assert_array_equal(
        np.concatenate([first.decisions, second.decisions]), all_of_it.decisions
    )
    assert whole.decision.tobytes() == halves.decision.tobytes()
    assert halves.rounds == 120


def endless(seed=0):
    rng = np.random.default_rng(seed)
    while True:
        yield sp.SquaredLoss(rng.normal(size=2), float(rng.normal()))


def test_an_endless_stream_is_played_as_far_as_asked():
    stream = endless()
    learner = sp.Sword(sp.Ball(2))
    ledger = sp.play(learner, stream, max_rounds=70, keep=())
    assert ledger.rounds == learner.rounds == 70
    assert ledger.losses is None
    assert ledger.decisions is None
    assert ledger.weights is None
    # Not one loss more than asked was taken from the stream.
    expected = next(itertools.islice(endless(), 70, None))
    np.testing.assert_array_equal(next(stream).features, expected.features)
    with pytest.raises(ValueError, match="the stream was an iterator and is spent"):
        ledger.regret(np.zeros(2))


def test_with_nothing_kept_memory_does_not_grow():
    few, many = 100, 600
    learner = sp.Ader(sp.Ball(2), horizon=10_000, gradient_bound=5.0)
    gc.collect()
    # a collection empties the interpreter's free lists, and filling them again looks like growth
    gc.disable()
    sp.play(learner, endless(), max_rounds=many, keep=())
    tracemalloc.start()
    peaks = {few: [], many: []}
    # The least of three: other work of this process can only add to it.
    for seed in range(1, 4):
        for rounds, found in peaks.items():
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            sp.play(learner, endless(seed), max_rounds=rounds, keep=())
            found.append(tracemalloc.get_traced_memory()[1] - before)
    tracemalloc.stop()
    gc.enable()
    # Keeping anything of a round costs at least a pointer, 8 bytes: half of that is far above what
    # free lists do (some 500).
    assert min(peaks[many]) < min(peaks[few]) + 4 * (many - few)


def test_rounds_are_yielded_after_they_were_observed():
    learner = sp.OGD(sp.Ball(2), 0.1)
    for number, played in enumerate(sp.rounds(learner, itertools.islice(endless(), 10)), start=1):
        assert played.number == number == learner.rounds
        assert played.value == float(played.loss.value(played.decision))


def test_keep_chooses_what_is_kept():
    ledger = sp.play(sp.Sword(STREAM.domain), STREAM, engine="python", keep=("weights",))
    assert ledger.losses is None
    assert ledger.decisions is None
    assert len(ledger.weights) == 120
    assert all(w.sum() == pytest.approx(1.0) for w in ledger.weights)


def test_progress_is_called_up_to_the_last_round():
    reported = []
    sp.play(sp.OGD(STREAM.domain, 0.1), list(STREAM), engine="python", progress=reported.append)
    assert reported[-1] == 120
    assert reported == sorted(reported)


def test_an_empty_stream_is_a_game_of_no_rounds():
    ledger = sp.play(sp.Sword(sp.Ball(2)), [])
    assert (ledger.rounds, ledger.total_loss) == (0, 0.0)
    assert ledger.losses.shape == (0,)
    assert ledger.decisions.shape == (0, 2)


def test_regret_is_the_loss_of_decisions_less_that_of_comparators():
    ledger = sp.play(sp.Sword(STREAM.domain), STREAM, engine="python")
    expected = sum(
        float(loss.value(x) - loss.value(u))
        for loss, x, u in zip(STREAM, ledger.decisions, STREAM.comparators, strict=True)
    )
    assert ledger.regret(STREAM.comparators) == pytest.approx(expected)
    fixed = np.array([0.1, 0.2])
    assert ledger.regret(fixed) == pytest.approx(
        ledger.total_loss - sum(float(loss.value(fixed)) for loss in STREAM)
    )
    assert sp.play(sp.Sword(STREAM.domain), list(STREAM)).regret(fixed) == pytest.approx(
        ledger.regret(fixed)
    )


class NotANumber:
    smoothness = None

    def value(self, points):
        return np.full(points.shape[:-1], np.nan)

    def gradient(self, points):
        return np.zeros(points.shape)


def test_a_loss_without_a_finite_value_is_refused_before_it_is_learned():
    learner = sp.OGD(sp.Ball(2), 0.1)
    good = sp.SquaredLoss([1.0, 0.0], 1.0)
    with pytest.raises(
        ValueError, match=r"loss\.value must be finite, got nan at the decision of round 2"
    ):
        sp.play(learner, [good, NotANumber()])
    assert learner.rounds == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": ("regret",)}, r"keep must be among .* got \['regret'\]"),
        ({"engine": "fast"}, "engine must be 'auto', 'python' or 'compiled', got 'fast'"),
        ({"max_rounds": 0}, "max_rounds must be at least 1, got 0"),
        ({"max_rounds": "10"}, "max_rounds must be a whole number"),
    ],
)
def test_bad_options_are_refused_before_anything_is_played(options, message):
    learner = sp.OGD(STREAM.domain, 0.1)
    with pytest.raises((ValueError, TypeError), match=message):
        sp.play(learner, STREAM, **options)
    assert learner.rounds == 0


def test_comparators_of_another_length_are_refused():
    ledger = sp.play(sp.Sword(STREAM.domain), STREAM)
    with pytest.raises(ValueError, match="comparators must have one row per round"):
        ledger.regret(STREAM.comparators[:-1])


def test_weights_of_a_learner_without_any_are_refused_in_words():
    with pytest.raises((TypeError, ValueError), match="keep"):
        sp.play(sp.OGD(STREAM.domain, 0.1), STREAM, engine="python", keep=("weights",))


@pytest.mark.parametrize(
    ("make", "stream", "message"),
    [
        (lambda: sp.Sword(sp.Ball(2)), None, "stream must be"),
        (lambda: sp.Sword(sp.Ball(2)), 5, "stream must be"),
        (lambda: sp.Sword(sp.Ball(2)), [1, 2], "loss must have"),
        (lambda: None, [], "learner must have"),
    ],
)
def test_learners_and_streams_of_wrong_types_are_refused(make, stream, message):
    with pytest.raises(TypeError, match=message):
        sp.play(make(), stream)


LOADED = """
import sys, swordplay as sp
stream = sp.streams.paper.alternating(20)
sp.play(sp.Sword(stream.domain), stream, engine={engine!r})
print(*(name for name in sys.modules if name.startswith("swordplay")))
"""


@pytest.mark.parametrize(("engine", "limit"), [("python", 36), ("compiled", 62)])
def test_play_imports_few_modules_and_of_theory_only_game_and_ledger(engine, limit):
    code = LOADED.format(engine=engine)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = run.stdout.split()
    assert {name for name in loaded if name.startswith("swordplay.theory.")} == {
        "swordplay.theory.game",
        "swordplay.theory.ledger",
    }
    assert not {"swordplay.report", "swordplay.tables", "swordplay.tracking"} & set(loaded)
    assert len(loaded) < limit
