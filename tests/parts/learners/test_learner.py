"""``learner.save`` and ``load``: what a file must have in common with the learner, and what no
state may hold.
"""

import math
import os

import numpy as np
import pytest

import swordplay as sp
from swordplay.core import checkpoint
from swordplay.core.checkpoint import CheckpointError
from swordplay.core.state import (
    flatten_settings,
    settings_differences,
    settings_entries,
    split_settings,
)
from swordplay.parts import rates

BALL = sp.Ball(2)
GIVEN = {"horizon": 30, "gradient_bound": 4.0, "smoothness": 2.0}


def taught(learner, rounds=5):
    rng = np.random.default_rng(3)
    for _ in range(rounds):
        learner.observe(sp.SquaredLoss(rng.uniform(-1, 1, learner.domain.dim), rng.uniform(-1, 1)))
    return learner


def refused(learner, damaged, message):
    """The state is refused in these words, and nothing changes."""
    before = learner.decision.tobytes()
    with pytest.raises(ValueError, match=message):
        learner.load_state(damaged)
    assert learner.decision.tobytes() == before


def test_weights_must_sum_to_one():
    learner = taught(sp.SwordBest(BALL, **GIVEN))
    good = learner.state()
    weights = good["meta.weights"]
    message = r"state\['meta.weights'\] must be positive with a sum of 1"
    for factor in (1 + 1e-8, 1 - 1e-8, 2.0):
        refused(learner, {**good, "meta.weights": weights * factor}, message)
    learner.load_state(
        {**good, "meta.weights": weights * (1 + 1e-10)}
    )  # rounding of whoever wrote it


def test_weights_must_be_positive():
    learner = taught(sp.SwordBest(BALL, **GIVEN))
    good = learner.state()
    for change in (-good["meta.weights"][0], -2 * good["meta.weights"][0]):
        weights = good["meta.weights"].copy()
        weights[0] += change
        weights[1] -= change  # the sum stays
        refused(
            learner,
            {**good, "meta.weights": weights},
            r"state\['meta.weights'\] must (be positive|hold numbers from 0 to 1)",
        )


@pytest.mark.parametrize("kind", ["points", "base"])
def test_points_must_lie_in_the_domain(kind):
    learner = taught(sp.OEGD(sp.Ball(2, radius=3.0, center=[4.0, 0.0]), 0.1))
    good = learner.state()
    edge = np.array([[7.0, 0.0]])
    for outside in (
        edge + np.array([1e-7, 0.0]),
        edge + np.array([1.0, 0.0]),
        np.full((1, 2), np.inf),
    ):
        message = (
            "state has points outside the domain"
            if np.isfinite(outside).all()
            else "must hold numbers from"
        )
        refused(learner, {**good, f"experts.0.{kind}": outside}, message)
    nearly = edge + np.array([5e-9, 0.0])  # within 1e-9 of D + |centre| = 10
    also = {"experts.0.offset": nearly - [4.0, 0.0]} if kind == "base" else {}
    learner.load_state({**good, f"experts.0.{kind}": nearly, **also})


def test_offsets_are_those_of_the_points():
    """Far from the origin experts keep their distance from the centre beside their points."""
    learner = taught(sp.OEGD(sp.Ball(2, radius=3.0, center=[4.0, 0.0]), 0.1))
    good = learner.state()
    offset = good.pop("experts.0.offset")
    refused(
        learner,
        {**good, "experts.0.offset": offset + 1e-7},
        "offsets that differ from its base points minus the centre",
    )
    refused(
        learner,
        {**good, "experts.0.offset": offset[:, :1]},
        r"state\['experts.0.offset'\] must have shape",
    )
    refused(learner, good, r"state lacks \['experts.0.offset'\]")
    assert "experts.0.offset" not in taught(sp.OEGD(BALL, 0.1)).state()


def test_rounds_and_energies_are_not_negative():
    learner = taught(sp.Sword(BALL))
    good = learner.state()
    refused(learner, {**good, "rounds": -1}, r"state\['rounds'\] must hold whole numbers from 0")
    energy = good["experts.1.squared_error_sum"].copy()
    energy[-1] = -1e-30
    refused(
        learner,
        {**good, "experts.1.squared_error_sum": energy},
        r"state\['experts.1.squared_error_sum'\] must hold numbers from 0",
    )


# ---------------------------------------------------------------------- settings

TUNED = {"domain": BALL, **GIVEN}


def best(**given):
    return sp.SwordBest(**{**TUNED, **given})


def small(**given):
    return sp.SwordSmall(**{**TUNED, **given})


OTHERS = {
    # what is saved, into what it must not be loaded, and what the message says of it
    "step size": (
        lambda: sp.OGD(BALL, 0.1),
        lambda: sp.OGD(BALL, 0.5),
        r"step_sizes was array\(\[0.1\]\) and is array\(\[0.5\]\) here\. Make the learner with "
        r"the settings",
    ),
    "center": (
        lambda: sp.Sword(BALL),
        lambda: sp.Sword(sp.Ball(2, center=[0.1, 0.0])),
        r"center was array\(\[0., 0.\]\)",
    ),
    "radius": (
        lambda: sp.Sword(BALL),
        lambda: sp.Sword(sp.Ball(2, radius=1.5)),
        "diameter was 2.0 and is 3.0 here",
    ),
    "kind of domain": (
        lambda: sp.OGD(sp.Ball(2, radius=math.sqrt(2)), 0.1),
        lambda: sp.OGD(sp.Box([-1.0, -1.0], [1.0, 1.0]), 0.1),
        "domain was Ball and is Box here",
    ),
    "corners": (
        lambda: sp.OGD(sp.Box([-3.0, -4.0], [3.0, 4.0]), 0.1),
        lambda: sp.OGD(sp.Box([-4.0, -3.0], [4.0, 3.0]), 0.1),
        r"domain.lower was array\(\[-3., -4.\]\) and is array\(\[-4., -3.\]\) here; domain.upper "
        r"was",
    ),
    "gradient bound": (
        best,
        lambda: best(gradient_bound=4.5),
        "meta.gradient_bound was 4.0 and is 4.5 here",
    ),
    "pool": (
        small,
        lambda: small(pool=[0.1, 0.2]),
        r"prior was .*; step_sizes was array\(.*and is array\(\[0.1, 0.2\]\) here",
    ),
    "one of two pools": (
        best,
        lambda: best(small_loss_pool=2 * best().step_sizes[4:]),
        r"step_sizes\[4\] was 0\.\d+ and is 0\.\d+",
    ),
    "kind of rate": (
        best,
        lambda: best(learning_rate=rates.Doubling()),
        "meta.rate was SelfConfident and is Doubling here. Make",
    ),
    "value of a rate": (
        lambda: best(learning_rate=rates.Fixed(0.1)),
        lambda: best(learning_rate=rates.Fixed(0.2)),
        "meta.rate.value was 0.1 and is 0.2 here",
    ),
    "cap": (
        best,
        lambda: best(learning_rate=rates.SelfConfident()),
        "meta.rate.cap was 0.125 and is not set here",
    ),
    "offset": (
        lambda: small(learning_rate=rates.SelfConfident(offset=0.0)),
        lambda: small(learning_rate=rates.SelfConfident()),
        "meta.rate.offset was 0.0 and is not set here",
    ),
    "factor": (
        lambda: small(learning_rate=rates.SelfConfident(factor=1.0)),
        lambda: small(learning_rate=rates.SelfConfident()),
        "meta.rate.factor was 1.0 and is 0.5 here",
    ),
    "floor": (
        lambda: small(learning_rate=rates.SelfConfident(floor=0.1)),
        lambda: small(learning_rate=rates.SelfConfident()),
        "meta.rate.floor was 0.1 and is 0.0 here",
    ),
    "memory": (
        lambda: sp.SwordAgeless(BALL, smoothness=2.0),
        lambda: sp.SwordAgeless(BALL, smoothness=2.0, memory=500.0),
        "meta.rate.memory was 2000.0 and is 500.0 here",
    ),
    "first guess": (
        lambda: best(learning_rate=rates.Doubling(1.0)),
        lambda: best(learning_rate=rates.Doubling(2.0, cap=1.0)),
        "meta.rate.cap was not set and is 1.0 here; meta.rate.initial was 1.0 and is 2.0 here",
    ),
    "optimism": (
        best,
        lambda: best(optimism_rate=2.0),
        "optimism.rate was 0.0078125 and is 2.0 here",
    ),
    "no optimism": (
        lambda: best(optimism_rate=2.0),
        lambda: best(optimism_rate=math.inf),
        "optimism.rate was 2.0 and is not set",
    ),
}


@pytest.mark.parametrize(("made", "other", "message"), OTHERS.values(), ids=OTHERS.keys())
def test_a_learner_with_other_settings_is_refused(made, other, message, tmp_path):
    saved, learner = taught(made()), taught(other(), rounds=2)
    before, path = learner.decision.tobytes(), tmp_path / "a.ckpt"
    saved.save(path)
    with pytest.raises(CheckpointError, match=f"a.ckpt was saved with other settings: {message}"):
        learner.load(path)
    with pytest.raises(ValueError, match=f"^state was saved with other settings: {message}"):
        learner.load_state(saved.state())
    assert (learner.decision.tobytes(), learner.rounds) == (before, 2)


@pytest.mark.parametrize(("made", "other", "message"), OTHERS.values(), ids=OTHERS.keys())
def test_a_learner_with_the_same_settings_goes_on(made, other, message, tmp_path):
    for make in (made, other):
        saved, learner = taught(make()), taught(make(), rounds=2)
        saved.save(tmp_path / "a.ckpt")
        learner.load(tmp_path / "a.ckpt")
        assert taught(learner).decision.tobytes() == taught(saved).decision.tobytes()
        assert os.listdir(tmp_path) == ["a.ckpt"]


def test_a_file_of_another_learner_is_refused(tmp_path):
    taught(sp.OGD(BALL, 0.1)).save(tmp_path / "a.ckpt")
    with pytest.raises(CheckpointError, match="is of kind 'OGD', not 'OEGD'"):
        sp.OEGD(BALL, 0.1).load(tmp_path / "a.ckpt")


class Halving:
    """A rate of a stranger, who says nothing about it; with ``settings`` he would."""

    decay = 1.0

    def __init__(self, first):
        self.first = first

    def start(self, constants, prior_cost):
        return rates.RateState(0.0, 0.0, self.first)

    def step(self, state, signal, constants, prior_cost):
        return state._replace(value=state.value / 2), False


class Stated(Halving):
    def settings(self):
        where = {"at": [1, None], "by": np.array(["x", "y"])}
        return {
            "first": self.first,
            "way": "halves",
            "rule": max,
            "where": where,
            "limit": math.inf,
            "note": "",
        }


class Careless(Halving):
    settings = "something else"


def test_parts_of_strangers_count_by_their_class_and_by_what_they_say(tmp_path):
    silent, other = best(learning_rate=Halving(0.1)), best(learning_rate=Halving(0.2))
    other.load_state(silent.state())  # nobody can know
    best(learning_rate=Careless(0.1)).load_state(best(learning_rate=Careless(0.2)).state())
    with pytest.raises(ValueError, match=r"meta.rate was Halving and is Stated here. Make"):
        best(learning_rate=Stated(0.1)).load_state(silent.state())
    best(learning_rate=Stated(0.1)).save(tmp_path / "a.ckpt")
    best(learning_rate=Stated(0.1)).load(tmp_path / "a.ckpt")
    with pytest.raises(CheckpointError, match=r"meta.rate.first was 0.1 and is 0.2 here"):
        best(learning_rate=Stated(0.2)).load(tmp_path / "a.ckpt")


def test_settings_are_numbers_under_names_and_words_in_names():
    flat = flatten_settings(
        {
            "rate": Stated(0.5),
            "pool": np.array([1, 2]),
            "none": None,
            "no limit": np.array([math.inf]),
        }
    )
    assert {path: value for path, value in flat.items() if path != "pool"} == {
        "rate": "Stated",
        "rate.first": 0.5,
        "rate.way": "halves",
        "rate.rule": "max",
        "rate.where.at.0": 1.0,
        "rate.where.by.0": "x",
        "rate.where.by.1": "y",
        "rate.note": "",
    }
    written = settings_entries(flat)
    assert written["settings.rate=Stated"] == 1
    assert written["settings.rate.first"] == 0.5
    assert all(isinstance(value, int | float | np.ndarray) for value in written.values())
    rest, read = split_settings({**written, "rounds": 3})
    assert rest == {"rounds": 3}
    assert settings_differences({**read, "learner": "A"}, {**flat, "learner": "A"}) == ""
    written["settings.pool"][0] = 7.0
    assert flat["pool"][0] == 1.0


def test_many_differences_are_cut_short():
    saved = {"learner": "A", **{f"n{k}": float(k) for k in range(9)}}
    told = settings_differences(saved, {"learner": "A"})
    assert told.startswith("n0 was 0.0 and is not set here; n1 was 1.0")
    assert told.endswith("n5 was 5.0 and is not set here; and 3 more")


def test_a_file_that_says_nothing_of_its_settings_is_refused(tmp_path):
    learner = taught(sp.Sword(BALL))
    bare, _ = split_settings(learner.state())
    checkpoint.save(tmp_path / "a.ckpt", bare, kind="Sword")
    with pytest.raises(
        CheckpointError, match=r"a.ckpt does not hold the settings of its learner\. Save it with"
    ):
        sp.Sword(BALL).load(tmp_path / "a.ckpt")
    sp.Sword(BALL).load_state(bare)  # a dictionary need not hold settings
