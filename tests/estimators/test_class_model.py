"""Heads share the columns of a table, and each learns as if it had them for itself, bit by bit."""

import copy
import pickle
import warnings

import numpy as np
import pytest

from swordplay.core.state import split_parts
from swordplay.engine import stack as stack_room
from swordplay.estimators import linear_model
from swordplay.estimators.class_model import ClassModel
from swordplay.estimators.class_probabilities import probabilities_of, probability_of_second
from swordplay.estimators.column_scaler import ColumnStats
from swordplay.estimators.linear_model import LinearModel
from swordplay.sklearn import SwordClassifier
from tolerances import LAST_BIT

MAKES = {
    "plain": {},
    "lags": {"lags": 2},
    "raw": {"standardize": False, "intercept": False},
    "raw, lags": {"standardize": False, "lags": 1},
}
every_make = pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)


def stream(classes=4, rows=120, dim=3):
    rng = np.random.default_rng(3)
    table = rng.normal(size=(rows, dim)) * [1.0, 100.0, 0.01] + [0.0, 1e4, 5.0]
    table[rng.random(table.shape) < 0.1] = np.nan
    return table, rng.integers(0, classes, rows)


def several(make, classes=0):
    return ClassModel(lambda: LinearModel(3, loss="logistic", **make), classes)


def same(found, wanted):
    """Bit by bit."""
    return found.keys() == wanted.keys() and all(
        np.asarray(found[name]).tobytes() == np.asarray(wanted[name]).tobytes() for name in wanted
    )


class TestClassesFromTheStart:
    @every_make
    @pytest.mark.parametrize("size", [1, 7, 120])
    def test_each_learns_as_a_model_of_its_own(self, make, size):
        rows, labels = stream()
        labels[labels == 3] = 1  # the last class is never seen
        weights = 0.5 + np.arange(len(rows)) % 2
        model = several(make, 4)
        alone = [LinearModel(3, loss="logistic", **make) for _ in range(4)]
        wanted = np.column_stack(
            [
                one.predict_then_learn(rows, (labels == k).astype(float), weights)
                for k, one in enumerate(alone)
            ]
        )
        parts = [slice(first, first + size) for first in range(0, len(rows), size)]
        found = np.concatenate(
            [
                model.scores_then_learn(rows[part], labels[part], weights[part]).scores
                for part in parts
            ]
        )
        assert np.array_equal(found, wanted)
        assert np.array_equal(
            model.scores(rows).scores, np.column_stack([one.predict(rows) for one in alone])
        )
        for head, one in zip(model.heads, alone, strict=True):
            assert same(head.learner.compact_state(), one.head.learner.compact_state())
            assert same(head.columns.state(), one.columns.state())

    @every_make
    def test_rows_one_by_one_give_the_bits_of_whole_arrays(self, make):
        rows, labels = stream()
        model, single = several(make, 4), several(make, 4)
        model.predict_then_learn(rows, labels)
        for row, label in zip(rows, labels.tolist(), strict=True):
            single.predict_then_learn(row[None], np.array([label]))
        assert same(single.state(), model.state())
        assert [single.predict(row[None])[0].tolist() for row in rows[:9]] == model.predict(
            rows[:9]
        ).tolist()

    def test_a_class_that_was_not_seen_costs_nothing(self):
        rows, labels = stream(3)
        model = several({}, 1000)
        model.predict_then_learn(rows, labels)
        assert [len(group.heads) for group in model.groups] == [4]
        assert len(model.heads) == 1000
        assert len(model.state()) < 60
        few = several({}, 5)
        for k in range(5):
            few.predict_then_learn(rows[k : k + 1], np.array([k]))
            assert len(few.groups[0].heads) == min(
                5, k + 2
            )  # the last one of those that waited keeps their head
        assert few._sharing == set()


class TestLateClasses:
    @every_make
    def test_learn_from_columns_that_are_known(self, make):
        rows, labels = stream()
        lags, early = make.get("lags", 0), labels % 2
        model, whole = several(make, 2), LinearModel(3, loss="logistic", **make)
        model.predict_then_learn(rows[:60], early[:60])
        whole.predict_then_learn(rows[:60], (early[:60] == 1).astype(float))
        model.grow(4)
        found = model.scores_then_learn(rows[60:], labels[60:]).scores
        # class 0 goes on with a copy turned round, class 1 with the model itself, the others with
        # fresh ones
        turned, late = (
            copy.deepcopy(whole),
            [LinearModel(3, loss="logistic", **make) for _ in range(2)],
        )
        for one in late:
            one.columns.copy_columns(whole.columns, lags)
        wanted = [
            -turned.predict_then_learn(rows[60:], (labels[60:] != 0).astype(float)),
            whole.predict_then_learn(rows[60:], (labels[60:] == 1).astype(float)),
            *(
                one.predict_then_learn(rows[60:], (labels[60:] == k).astype(float))
                for k, one in zip((2, 3), late, strict=True)
            ),
        ]
        assert np.array_equal(found, np.column_stack(wanted))
        assert model.signs.tolist() == [-1.0, 1.0, 1.0, 1.0]

    def test_columns_and_classes_join_in_any_order(self):
        rows, labels = stream()
        rows = np.hstack([rows, np.zeros((len(rows), 2))])
        rows[50:, 3], rows[80:, 4] = 1.0, 2.0
        model = ClassModel(lambda: LinearModel(3, loss="logistic", grows=True), 3)
        model.predict_then_learn(rows[:70], labels[:70] % 3)
        model.grow(4)
        model.predict_then_learn(rows[70:], labels[70:])
        assert model.groups[0].dim == 5
        assert model.predict(rows).shape == (120, 4)
        lagged = ClassModel(lambda: LinearModel(3, loss="logistic", grows=True, lags=1), 2)
        lagged.predict_then_learn(rows[:70], labels[:70] % 2)
        lagged.grow(3)
        assert [group.dim for group in lagged.groups] == [4, 4, 4]
        assert np.array_equal(
            lagged.groups[2].columns.places[0][1:], lagged.groups[0].columns.places[0][1:]
        )

    def test_the_second_order_layer_is_made_for_the_first_columns(self):
        """Its curves stay those of the columns before any row, though it begins with class 2."""
        dim = [3]
        make = lambda: LinearModel(dim[0], loss="logistic", curves="auto")  # noqa: E731
        model = ClassModel(make, 1)
        features = model.state()["second.features"]
        dim[0] = 5
        model.widen(5)
        loaded = ClassModel(make)
        loaded.load_state(model.state())
        for one in (model, loaded):
            assert one.second_order is None
            one.grow(2)
            assert one.second_order.dim == 5
            assert np.array_equal(one.second_order.state()["features"], features)

    def test_no_rows_are_no_error(self):
        model = several({}, 3)
        assert model.predict_then_learn(np.empty((0, 3)), np.empty(0, dtype=int)).shape == (0, 3)


class TestStates:
    @every_make
    @pytest.mark.parametrize("copied", ["saved", "copied", "pickled"])
    def test_go_on_bit_by_bit(self, make, copied):
        rows, labels = stream()
        model = several(make, 4)
        model.predict_then_learn(rows[:60], labels[:60] % 3)
        if copied == "saved":
            other = several(make)
            other.load_state(model.state())
        else:
            model._make = None  # a local function cannot be pickled
            other = (
                copy.deepcopy(model) if copied == "copied" else pickle.loads(pickle.dumps(model))
            )
        before = other.state()
        wanted = model.predict_then_learn(rows[60:], labels[60:])
        assert same(other.state(), before)  # nothing is shared with the original
        assert np.array_equal(other.predict_then_learn(rows[60:], labels[60:]), wanted)
        assert same(other.state(), model.state())

    @every_make
    def test_rows_tables_and_states_take_turns(self, make):
        rows, labels = stream(3)
        whole, mixed = several(make, 3), several(make, 3)
        whole.predict_then_learn(rows, labels)
        for t in range(3):
            mixed.predict_then_learn(rows[t : t + 1], labels[t : t + 1])
        mixed.predict(rows[3:4])
        mixed.predict_then_learn(rows[3:60], labels[3:60])
        mixed.predict_then_learn(rows[60:61], labels[60:61])
        mixed.load_state(mixed.state())
        for group in mixed.groups:
            group.load_heads(
                split_parts(group.shared_state()),
                [one.compact_state() for one in group.heads.learners],
            )
        for t in range(61, len(rows)):
            mixed.predict_then_learn(rows[t : t + 1], labels[t : t + 1])
        assert same(mixed.state(), whole.state())

    def test_a_copy_of_a_head_has_its_settings_too(self):
        rows, _ = stream()
        model = LinearModel(3)
        model.predict_then_learn(
            rows, 100.0 + np.arange(120.0)
        )  # the radius is so many spreads of the target
        model.copy_head(0)
        assert same(model.snapshot(1).learner.compact_state(), model.head.learner.compact_state())

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (
                {"group": np.array([0, 0, 0, 9])},
                r"state\['group'\] must hold whole numbers from 0 to 3, got 9 at 3",
            ),
            (
                {"group": np.array([0, 0, 0])},
                r"state\['group'\] must have shape \(4,\), got \(3,\)",
            ),
            ({"group": np.array([0, 0, 0, 2])}, "leaves heads out"),
            ({"position": np.array([0, 1, 2, -1])}, r"state\['position'\] must hold whole numbers"),
            ({"position": np.array([0, 1, 1, 3])}, "leaves heads out"),
            (
                {"position": np.array([1, 1, 2, 0])},
                "one head for several classes that have been seen",
            ),
            ({"counts": np.zeros(0)}, r"counts of shape \(0,\)"),
            ({"first_negated": 2}, "first_negated = 2"),
            (
                {"0.columns.counts": np.array([1.0, -1.0, 1.0])},
                r"state\['counts'\] must hold whole numbers",
            ),
            ({"0.columns": 1.0}, "'columns' as well as parts of it"),
            ({"counts.x": 1.0}, "'counts' as well as parts of it"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, change, words):
        rows, labels = stream(3)
        model = several({}, 4)
        model.predict_then_learn(
            rows, labels
        )  # heads: 0 stands for class 3 alone, 1 to 3 for the others in their order
        state = model.state()
        assert sorted(state["position"].tolist()) == [0, 1, 2, 3]
        with pytest.raises(ValueError, match=words):
            several({}).load_state(state | change)

    @pytest.mark.parametrize(
        ("lost", "words"),
        [("0.3.", r"lacks '3\.\*'"), ("0.columns.", r"lacks 'columns\.\*'"), ("0.", r"lacks '0")],
    )
    def test_what_is_missing_is_named(self, lost, words):
        rows, labels = stream(3)
        model = several({}, 4)
        model.predict_then_learn(rows, labels)
        rest = {name: value for name, value in model.state().items() if not name.startswith(lost)}
        with pytest.raises(ValueError, match=words):
            several({}).load_state(rest)

    def test_classes_with_lags_have_columns_of_their_own(self):
        rows, labels = stream(3)
        model = several({"lags": 1}, 3)
        model.predict_then_learn(rows, labels)
        state = model.state() | {"group": np.zeros(3), "position": np.arange(3)}
        state |= {
            f"0.{k}.{name}": state[f"{k}.0.{name}"] for k in (1, 2) for name in layout_names(state)
        }
        with pytest.raises(ValueError, match="3 classes with the same lags"):
            several({"lags": 1}).load_state(state)


def layout_names(state):
    return [name.removeprefix("0.0.") for name in state if name.startswith("0.0.")]


class TestRoom:
    def test_doubles_and_is_not_made_anew_for_every_head_or_column(self, monkeypatch):
        made, zeros = [], stack_room.aligned_zeros
        monkeypatch.setattr(
            stack_room,
            "aligned_zeros",
            lambda shape, dtype=np.float64: made.append(shape) or zeros(shape, dtype),
        )
        model = LinearModel(3, loss="logistic")
        rows, labels = stream(2)
        model.predict_then_learn(rows, labels.astype(float))
        made.clear()
        for _ in range(100):
            model.add_head()
            assert len(model.heads.arrays.scalars) == len(model.heads)
        assert (
            sum(len(shape) == 3 and shape[0] > 1 for shape in made) == 3 * 7
        )  # three arrays, at 2, 4, ... 128 heads
        made.clear()
        for dim in range(4, 200):
            model.widen(dim)
        assert len(made) == 6  # 10, 22, 46, 94, 190, 382 coordinates

    @pytest.mark.parametrize("follow", [True, False])
    def test_of_a_scaler(self, follow):
        rows = np.random.default_rng(0).normal(size=(50, 40))
        grown, wanted = (
            ColumnStats(1, follow=follow),
            ColumnStats(40, follow=follow).scale_and_update(rows)[0],
        )
        for dim in range(2, 41):
            grown.widen(dim)
            assert not grown.arrays.first_values.flags.c_contiguous
        for one in (
            copy.deepcopy(grown),
            pickle.loads(pickle.dumps(grown)),
            grown,
            ColumnStats(40, follow=follow),
        ):
            one.load_state(one.state())
            assert (
                not one.arrays.first_values.flags.c_contiguous
            )  # of one layout, or kernels would be compiled once more
            assert np.array_equal(one.scale_and_update(rows)[0], wanted)


class TestPlan:
    def test_by_hand(self):
        from swordplay.engine.row_rounds import ROW_SETTING, plan

        targets, weights = np.array([5.0, 5.0, 105.0, 105.0]), np.array([1.0, 3.0, 1.0, 1.0])
        norms = np.array([2.0, 0.0, 4.0, 4.0])
        where = np.array([[3.0, 1.0, 2.0], [3.0, 1.0, 2.0], [5.0, 2.0, 7.0], [5.0, 0.0, 7.0]])
        setting = np.zeros(len(ROW_SETTING))
        setting[
            [
                ROW_SETTING.curvature,
                ROW_SETTING.threshold,
                ROW_SETTING.max_deviation,
                ROW_SETTING.min_squared_norm,
                ROW_SETTING.radius,
            ]
        ] = (
            0.5,
            10,
            30,
            1e-3,
            8,
        )
        schedule, goals = np.empty((4, 3)), np.empty(4)
        plan(targets, weights, norms, where, setting, schedule, goals)
        assert schedule[:, 0].tolist() == [
            1.0,
            3.0 / 5e-4,
            0.5 * (60.0 / 100.0),
            0.5,
        ]  # the third lies beyond 30 spreads
        assert schedule[:, 1].tolist() == [10.0, 10.0, 20.0, 0.0]
        assert schedule[:, 2].tolist() == [16.0, 16.0, 56.0, 56.0]
        assert goals.tolist() == [2.0, 2.0, 100.0, 100.0]
        setting[ROW_SETTING.is_logistic] = 1.0
        plan(targets, weights[:0], norms, where, setting, schedule, goals)
        assert schedule.tolist() == [
            [1.0, 1.0, 8.0],
            [2000.0, 1.0, 8.0],
            [0.5, 1.0, 8.0],
            [0.5, 1.0, 8.0],
        ]
        assert goals.tolist() == targets.tolist()

    def test_settings_of_the_losses(self):
        from swordplay.engine.row_rounds import ROW_SETTING

        wanted = {
            "squared": (0.0, 1.0, 10.0),
            "huber": (0.0, 1.0, 1.0),
            "logistic": (1.0, 0.25, 1.0),
        }
        for loss, (logistic, curvature, threshold) in wanted.items():
            setting = LinearModel(
                2, loss=loss, radius=3.0, clip=4.0, standardize=loss != "huber"
            )._settings
            clip = np.inf if loss == "huber" else 4.0
            assert setting.tolist() == [
                logistic,
                curvature,
                threshold,
                30.0,
                1e-12,
                3.0,
                clip,
                10.0,
                float(loss == "huber"),
            ]
            assert ROW_SETTING._fields[3:6] == ("max_deviation", "min_squared_norm", "radius")

    @every_make
    def test_chunks_leave_no_trace(self, make, monkeypatch):
        rows, labels = stream(3)
        whole, cut = several(make, 3), several(make, 3)
        monkeypatch.setattr(linear_model, "CHUNK", 7)
        monkeypatch.setattr(linear_model, "MIN_CHUNK_ROWS", 3)
        cut.predict_then_learn(rows, labels)
        monkeypatch.undo()
        whole.predict_then_learn(rows, labels)
        assert same(cut.state(), whole.state())


class TestProbabilities:
    def test_are_shares_of_the_logistics(self):
        scores = np.array([[0.0, 1.0, -2.0], [-800.0, -801.0, -900.0], [30.0, -1.0, 0.0]])
        logistic = 1.0 / (1.0 + np.exp(-scores[[0, 2]]))
        found = probabilities_of(scores, 3)
        np.testing.assert_allclose(
            found[[0, 2]], logistic / logistic.sum(axis=1, keepdims=True), rtol=LAST_BIT
        )
        np.testing.assert_allclose(
            found[1], np.exp([0.0, -1.0, -100.0]) / (1.0 + np.exp(-1.0)), rtol=1e-12
        )

    def test_of_two_and_of_one(self):
        scores = np.array([[-1000.0], [-2.0], [0.0], [3.0], [1000.0]])
        found = probabilities_of(scores, 2)
        assert found[[0, 2, 4]].tolist() == [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
        np.testing.assert_allclose(
            found[:, 1], [0.0, 1 / (1 + np.e**2), 0.5, 1 / (1 + np.e**-3), 1.0], rtol=LAST_BIT
        )
        np.testing.assert_allclose(
            [probability_of_second(score) for score in scores[:, 0]],
            found[:, 1],
            rtol=LAST_BIT,
            atol=LAST_BIT,
        )
        assert probabilities_of(scores, 1).tolist() == [[1.0]] * 5


def test_labels_of_single_precision_are_labels():
    rows, labels = stream(3)
    model = SwordClassifier(standardize=True).fit(np.nan_to_num(rows), labels.astype(np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(np.nan_to_num(rows), labels.astype(np.float32))
