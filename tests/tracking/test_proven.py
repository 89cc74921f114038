"""What a run has proven stretch by stretch: by hand, beside the theory's own formula, and
against every fixed model.
"""

import numpy as np
import pytest

from swordplay.estimators.head import Standing
from swordplay.estimators.model import LinearModel
from swordplay.estimators.scratch import Plans
from swordplay.parts.learners.certificate import CertificateState, DomainGeometry, Moment
from swordplay.tracking import Settings, Tracker
from swordplay.tracking.contestants import Played, Said
from swordplay.tracking.proven import FIRST_WIDTH, MOST_WINDOWS, Windows, weighed
from tolerances import CERTIFIED, ROUNDING
from tracking.worlds import tracked, world


def standing(owed, base, inverse=(2.0,), radius=10.0):
    return Standing(
        np.array(owed, dtype=float), np.array(base, dtype=float), np.array(inverse), radius
    )


def played(off, weight=1.0, threshold=100.0):
    """Rows of a regression that were off by this."""
    off = np.array(off, dtype=float)
    plan = np.tile([weight, threshold], (len(off), 1))
    return Played(
        Said(off, off),
        off**2,
        off[:, None],
        off[:, None],
        np.column_stack([off, 0 * off, off]),
        plan,
    )


def test_a_window_by_hand():
    """One expert, 1/eta = 2. It moves from (1, 0) to (0, 2), by root 5; models are up to 2 long.

    owed 4 - 1 = 3, and 2 * (2 * root 5 + (1 - 4) / 2) for the way.
    """
    windows = Windows()
    windows.add(played([100.0]))  # before the first moment: nobody counts
    windows.look(16, 5.0, lambda: standing([1.0], [[1.0, 0.0]]))
    windows.add(played([3.0, 1.0], weight=0.5))
    windows.add(played([-14.0], threshold=10.0))
    windows.look(
        16 + FIRST_WIDTH - 1, 6.0, lambda: pytest.fail("nobody is asked before the window ends")
    )
    windows.look(16 + FIRST_WIDTH, 7.0, lambda: standing([4.0], [[0.0, 2.0]]))
    (found,) = windows.told(16 + FIRST_WIDTH, 7.0, standing([4.0], [[0.0, 2.0]]))
    assert found[:4] == (17, 16 + FIRST_WIDTH, 5.0, 7.0)
    assert found.lost == pytest.approx(0.5 * (9 + 1) / 2 + 10 * (14 - 5), rel=ROUNDING)
    assert found.reach == 2.0
    assert found.bound == pytest.approx(3 + 2 * (2 * np.sqrt(5) - 1.5), rel=ROUNDING)
    assert found.says_something
    assert found.at_least == pytest.approx(1 - found.bound / found.lost, rel=ROUNDING)
    assert not found._replace(
        lost=found.bound
    ).says_something  # no model can lose less than nothing


def test_models_are_no_longer_than_the_ball_was():
    windows = Windows()
    windows.look(0, 0.0, lambda: standing([0.0], [[0.5]], radius=1.0))
    (found,) = windows.told(9, 0.0, standing([0.0], [[3.0]], radius=4.0))
    assert found.reach == 1.0
    assert found.bound == pytest.approx(2 * (1.0 * 2.5 + (0.25 - 9) / 2), rel=ROUNDING)


def test_columns_that_join_late_are_at_zero_before():
    windows = Windows()
    windows.look(
        0, 0.0, lambda: standing([0.0], [[3.0, 1.0]])
    )  # one column and the intercept, which stays the last
    (found,) = windows.told(9, 0.0, standing([0.0], [[3.0, 4.0, 1.0]]))
    assert found.bound == pytest.approx(2 * (np.sqrt(26) * 4 + (10 - 26) / 2), rel=ROUNDING)


def test_neighbours_are_merged_by_hand_and_there_are_never_many():
    windows, at = Windows(), np.random.default_rng(0).normal(size=(4 * MOST_WINDOWS, 3, 2))
    asked = []
    for k in range(4 * MOST_WINDOWS):

        def now(k=k):
            asked.append(k)
            return standing(k + np.arange(3.0), at[k], (1.0, 2.0, 4.0))

        windows.add(played([1.0]))
        windows.look(FIRST_WIDTH * k, float(k), now)
        assert len(windows.windows) <= MOST_WINDOWS
    assert windows.width == 4 * FIRST_WIDTH
    assert len(asked) <= 2 * MOST_WINDOWS
    one = windows.windows[1]
    assert one.edge == 4 * FIRST_WIDTH
    np.testing.assert_allclose(one.owed, 4.0)
    assert one.lost == pytest.approx(4 * 0.5)
    ways = np.linalg.norm(np.diff(at[:5], axis=0), axis=2)
    ends = np.linalg.norm(at[[0, 2, 4]], axis=2)
    by_two = [
        np.minimum(ways[:2].sum(axis=0), ends[0] + ends[1]),
        np.minimum(ways[2:].sum(axis=0), ends[1] + ends[2]),
    ]
    np.testing.assert_allclose(one.moved, np.minimum(sum(by_two), ends[0] + ends[2]), rtol=ROUNDING)
    assert (one.moved >= np.linalg.norm(at[4] - at[0], axis=1)).all()


def test_who_is_no_mixture_any_more_begins_anew():
    """A table that becomes too wide for second order: what the mixture had gained is gone, too."""
    windows = Windows()
    windows.look(0, 0.0, lambda: standing([-50.0], [[1.0]])._replace(mixed=1.0))
    assert windows.told(9, 0.0, standing([0.0], [[1.0]])) == ()
    windows.look(FIRST_WIDTH, 0.0, lambda: standing([0.0], [[1.0]]))
    assert [one.edge for one in windows.windows] == [FIRST_WIDTH]


def learned(model, rows, targets):
    """Scores of rows, what each cost, and the game that was played: rows, goals, weights and
    thresholds.
    """
    scaled, goals = [], []
    plans = Plans(
        lambda told, _: (scaled.append(told.scaled.copy()), goals.append(told.goals[0].copy()))
    )
    scores = model.predict_then_learn(rows, targets, beside=plans)
    off = scores - targets
    cost = weighed(
        [
            Played(
                Said(scores, scores),
                off**2,
                off[:, None],
                off[:, None],
                np.stack([off, off, off], 1),
                plans.plan,
            )
        ]
    )
    return cost, np.concatenate(scaled), np.concatenate(goals), plans.plan


@pytest.mark.parametrize("curves", [None, "auto"])
def test_it_is_the_theorys_certificate_and_no_fixed_model_breaks_it(curves):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(1500, 3))
    targets = (
        rows @ [1.0, -2.0, 0.5]
        + 5
        + 0.3 * rng.normal(size=1500)
        + np.sin(3 * rows[:, 0]) * (curves is not None)
    )
    model = LinearModel(3, curves=curves)
    learned(model, rows[:500], targets[:500])
    windows, head = Windows(), model.head
    windows.look(500, 0.0, lambda: head.standing(model.gain))
    gain = model.gain
    then = Moment(
        500, CertificateState(**head.engine.certificate_sums()), head.engine.base_points()
    )
    cost, scaled, goals, plan = learned(model, rows[500:], targets[500:])
    windows._lost = cost.sum()
    (found,) = windows.told(1500, 0.0, head.standing(model.gain))
    theirs = CertificateState(**head.engine.certificate_sums()).window_bound(
        DomainGeometry.of_ball(found.reach),
        0.0,
        head.engine.base_points(),
        True,
        since=then,
        ancestors=np.arange(len(then.base)),
        rounds=1000,
    )
    assert found.bound == pytest.approx(theirs + model.gain - gain, rel=CERTIFIED)
    # Every fixed model that is short enough: the best of all, on the way to it and beyond, and some
    # at random.
    roots = np.sqrt(plan[:, 0])
    best = np.linalg.lstsq(roots[:, None] * scaled, roots * goals, rcond=None)[0]
    others = [share * best for share in (0.0, 0.5, 0.9, 1.0)] + list(
        best + 0.1 * rng.normal(size=(50, len(best)))
    )
    lengths = [np.linalg.norm(one) for one in others]
    assert lengths[3] <= found.reach
    for one, length in zip(others, lengths, strict=True):
        if length <= found.reach:
            off = np.abs(scaled @ one - goals)
            loss = plan[:, 0] @ np.where(
                off <= plan[:, 1], off**2 / 2, plan[:, 1] * (off - plan[:, 1] / 2)
            )
            assert found.lost - loss <= found.bound * (1 + CERTIFIED)
    assert found.says_something


@pytest.mark.parametrize("task", ["regression", "binary"])
def test_batches_and_saving_leave_no_trace(task):
    batch, settings = world(task, 2400, 1), Settings("y")
    whole = tracked(batch, settings, [len(batch)])[0].story("").proven
    assert len(whole) >= 5
    assert [one.first for one in whole[1:]] == [one.last + 1 for one in whole[:-1]]
    again = tracked(batch, settings, [7, 300, 511], save=True)[0].story("").proven
    assert [tuple(one) for one in again] == [tuple(one) for one in whole]


def test_three_classes_have_none():
    """Two have; when the third one appears, half-way, nothing is left of them."""
    batch = world("multi-class", 2400, 1)
    early = tracked(batch.slice(0, 1000), Settings("y"), [1000])[0]
    assert early.story("").proven
    tracker = tracked(batch, Settings("y"), [len(batch)])[0]
    assert tracker.story("").proven == ()
    assert "recorder.windows.edges" not in tracker.state()


def test_a_state_of_before_begins_when_it_goes_on():
    batch, numbers = world("regression", 2400, 1), np.arange(1, 2401)
    tracker = Tracker.begin(Settings("y"), batch)
    tracker.track(batch.slice(0, 1200), numbers[:1200])
    state = {
        name: value
        for name, value in tracker.state().items()
        if not name.startswith("recorder.windows")
    }
    other = Tracker.resumed(state)
    both = [one.track(batch.slice(1200), numbers[1200:]).predictions for one in (tracker, other)]
    assert both[0].equals(both[1])
    assert 1000 < other.story("").proven[0].first < 1200


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("width", 0),
        ("edges", np.array([16, 16, 32, 48])),
        ("edges", np.array([16])),
        ("owed", np.zeros((2, 3))),
        ("moved", -1.0),
        ("lost", np.nan),
        ("since", -1.0),
        ("last.base", np.zeros((28, 99))),
        ("last.base", np.zeros((3, 2))),
        ("last.inverse", np.zeros(3)),
        ("last.radius", -1.0),
    ],
)
def test_windows_that_no_run_leads_to_are_refused(name, instead):
    state = tracked(world("regression", 1200, 1), Settings("y"), [1200])[0].state()
    name = f"recorder.windows.{name}"
    changed = (
        np.full_like(state[name], instead)
        if np.ndim(state[name]) and np.ndim(instead) == 0
        else instead
    )
    with pytest.raises(ValueError, match="windows"):
        Tracker.resumed({**state, name: changed})
