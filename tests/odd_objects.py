"""Odd values and the arguments that they are given to, for test_odd_objects.py.

A door is a function that gives one value to one argument of a public function, and the state that
must not change when the value is refused. An error is *in words* if a ``raise`` of swordplay, or of
a validation of scikit-learn, has made its message.
"""

import datetime
import decimal
import fractions
import functools
import inspect
import io
import linecache
import pathlib
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa

import swordplay as sp
import swordplay.river
import swordplay.sklearn
from swordplay.intervals import SwordIntervals
from swordplay.keyed import Keyed
from swordplay.late import LateModel

HUGE = 10**400
LONGEST_MESSAGE = 700
"""Characters; a value is shortened in a message."""


class NoFloat:
    """An object that numpy tries to convert and that refuses with an error of its own."""

    def __float__(self):
        raise ZeroDivisionError("no")

    def __repr__(self):
        return "NoFloat()"


class NoRepr:
    def __repr__(self):
        raise RuntimeError("no repr")


def nested(depth=1200):
    value = []
    for _ in range(depth):
        value = [value]
    return value


ODD = {
    "10**400": HUGE,
    "-10**400": -HUGE,
    "10**5000": 10**5000,  # Python refuses to print more than 4,300 digits
    "2**64": 2**64,
    "2**63": 2**63,
    "fraction": fractions.Fraction(HUGE, 3),
    "decimal": decimal.Decimal("1e400"),
    "decimal NaN": decimal.Decimal("NaN"),
    "signalling NaN": decimal.Decimal("sNaN"),
    "NaN": float("nan"),
    "infinity": float("inf"),
    "None": None,
    "NA": pd.NA,
    "NaT": pd.NaT,
    "np.NaT": np.datetime64("NaT"),
    "period": pd.Period("2024-01"),
    "interval": pd.Interval(0, 1),
    "timestamp": pd.Timestamp("2024-01-01", tz="UTC"),
    "date": datetime.date(2024, 1, 1),
    "time": datetime.time(12),
    "timedelta": datetime.timedelta(1),
    "datetime64": np.datetime64("2024-01-01"),
    "timedelta64": np.timedelta64(3, "D"),
    "complex": 1j,
    "bytes": b"a",
    "bytearray": bytearray(b"a"),
    "empty": "",
    "word": "much",
    "lone surrogate": "\ud800",
    "NUL": "a\0",
    "tuple": (1, 2),
    "list": [1, 2],
    "ragged": [1, [2, 3]],
    "nested": nested(),
    "dict": {"a": 1},
    "set": {1},
    "array": np.ones(2),
    "array of objects": np.array([HUGE, "a"], dtype=object),
    "structured": np.zeros(1, dtype=[("a", float)])[0],
    "object": object(),
    "class": int,
    "function": len,
    "no float": NoFloat(),
    "no repr": NoRepr(),
    "masked": np.ma.masked,
    "arrow scalar": pa.scalar(1.0),
    "arrow null": pa.scalar(None),
    "bool": True,
    "np.bool": np.True_,
    "longdouble": np.longdouble("1e1000"),
    "series": pd.Series([1.0]),
    "frame": pd.DataFrame({"a": [1.0]}),
}

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = X @ [1.0, 2.0, -1.0]
L = (Y > 0).astype(int)
NAMES = ["a", "b", "c"]
FRAME = pd.DataFrame(X, columns=NAMES)
WORDS = FRAME.assign(b=["yes", "no", "yes"] * 10)


def spoiled(values, value, place=3):
    """A list with one odd entry."""
    values = list(values)
    values[place] = value
    return values


def odd_array(values):
    """An array of objects with these entries, whatever they are."""
    array = np.empty(len(values), dtype=object)
    for k, value in enumerate(values):
        array[k] = value
    return array


def odd_rows(value):
    rows = X.tolist()
    rows[3][1] = value
    return rows


def odd_table(value):
    table = X.astype(object)
    table[3, 1] = value if not isinstance(value, np.ndarray | list | tuple) else None
    if table[3, 1] is None and value is not None:
        column = odd_array(spoiled(X[:, 1], value))
        table[:, 1] = column
    return table


def odd_frame(value, frame=FRAME):
    return frame.assign(b=pd.Series(odd_array(spoiled(frame["b"], value)), dtype=object))


def all_odd_frame(value, frame=FRAME):
    """A frame whose column is nothing but this value: pandas may find a type for it."""
    try:
        return frame.assign(b=pd.Series([value] * len(frame)))
    except Exception:
        return frame.assign(b=pd.Series(odd_array([value] * len(frame)), dtype=object))


def state_of(model):
    """Whatever a model knows, as bytes."""
    if hasattr(model, "save"):
        file = io.BytesIO()
        try:
            model.save(file)
            return file.getvalue()
        except TypeError:
            pass
    return pickle.dumps(vars(model) if not hasattr(model, "state") else model.state())


def copies(grow):
    """A function that gives a copy of one grown model (with whatever ``grow`` gives beside it),
    and the state of the model.
    """

    @functools.cache
    def grown():
        kept = pickle.dumps(grow())
        return kept, state_of(pickle.loads(kept)[0])

    return lambda: (*pickle.loads(grown()[0]), grown()[1])


def doors():
    """Name, function of one value, and the model whose state must stay (or None)."""
    yield from sklearn_doors()
    yield from river_doors()
    yield from late_doors()
    yield from keyed_doors()
    yield from interval_doors()
    yield from track_doors()
    yield from learner_doors()


def sklearn_doors():
    kinds = [
        ("SwordRegressor", sp.sklearn.SwordRegressor, {}, Y, "predict_then_learn"),
        ("SwordClassifier", sp.sklearn.SwordClassifier, {}, L, "predict_then_learn"),
        ("SwordAggregator", sp.sklearn.SwordAggregator, {}, Y, "predict_then_learn"),
        (
            "SwordRegressor.encode",
            sp.sklearn.SwordRegressor,
            {"encode": True},
            Y,
            "predict_then_learn",
        ),
        (
            "SwordClassifier.encode",
            sp.sklearn.SwordClassifier,
            {"encode": True},
            L,
            "predict_then_learn",
        ),
    ]
    for name, kind, options, targets, learn in kinds:
        encode = bool(options)
        grown = {
            named: copies(lambda k=kind, o=options, t=targets, good=good: (k(**o).fit(good, t),))
            for named, good in ((False, X), (True, WORDS if encode else FRAME))
        }
        for method in ("fit", "partial_fit", learn, "predict"):

            def call(X, y, kind=kind, options=options, grown=grown, method=method, encode=encode):
                model, before = (
                    (kind(**options), None) if method == "fit" else grown[encode or has_names(X)]()
                )
                return (
                    model,
                    before,
                    (
                        lambda: (
                            getattr(model, method)(X)
                            if method == "predict"
                            else getattr(model, method)(X, y)
                        )
                    ),
                )

            if not encode:
                yield f"{name}.{method}(X list)", lambda v, c=call, t=targets: c(odd_rows(v), t)
                yield f"{name}.{method}(X objects)", lambda v, c=call, t=targets: c(odd_table(v), t)
                yield f"{name}.{method}(X frame)", lambda v, c=call, t=targets: c(odd_frame(v), t)
                yield (
                    f"{name}.{method}(X column)",
                    lambda v, c=call, t=targets: c(all_odd_frame(v), t),
                )
            else:
                yield (
                    f"{name}.{method}(X frame)",
                    lambda v, c=call, t=targets: c(odd_frame(v, WORDS), t),
                )
                yield (
                    f"{name}.{method}(X column)",
                    lambda v, c=call, t=targets: c(all_odd_frame(v, WORDS), t),
                )
            yield f"{name}.{method}(X)", lambda v, c=call, t=targets: c(v, t)
            if method != "predict":
                good = WORDS if encode else X
                yield (
                    f"{name}.{method}(y list)",
                    lambda v, c=call, t=targets, g=good: c(g, spoiled(t.tolist(), v)),
                )
                yield (
                    f"{name}.{method}(y objects)",
                    lambda v, c=call, t=targets, g=good: c(g, odd_array(spoiled(t.tolist(), v))),
                )
                yield (
                    f"{name}.{method}(y series)",
                    lambda v, c=call, t=targets, g=good: c(
                        g, pd.Series(odd_array(spoiled(t.tolist(), v)), dtype=object)
                    ),
                )
                yield f"{name}.{method}(y all)", lambda v, c=call, t=targets, g=good: c(g, [v] * 30)
                yield f"{name}.{method}(y)", lambda v, c=call, t=targets, g=good: c(g, v)
                if "Classifier" in name:
                    words = ["yes" if one else "no" for one in L]
                    yield (
                        f"{name}.{method}(y words)",
                        lambda v, c=call, g=good, w=words: c(g, spoiled(w, v)),
                    )
                    yield (
                        f"{name}.{method}(y word objects)",
                        lambda v, c=call, g=good, w=words: c(g, odd_array(spoiled(w, v))),
                    )

        def with_option(value, option, kind=kind, options=options, targets=targets, encode=encode):
            model = kind(**(options | {option: value}))
            return model, None, lambda: model.fit(WORDS if encode else X, targets)

        for option in ("radius", "memory", "clip", "lags", "curves", "loss"):
            if option in kind().get_params() and not encode:
                yield f"{name}({option}=)", lambda v, o=option, w=with_option: w(v, o)
        if "Aggregator" in name:
            for option in kind().get_params():
                yield f"{name}({option}=)", lambda v, o=option, w=with_option: w(v, o)
        if not encode:

            def weights(value, grown=grown, targets=targets):
                model, before = grown[False]()
                return model, before, lambda: model.partial_fit(X, targets, sample_weight=value)

            yield f"{name}.partial_fit(sample_weight=)", weights
            yield (
                f"{name}.partial_fit(sample_weight list)",
                lambda v, w=weights: w(spoiled([1.0] * 30, v)),
            )
            yield (
                f"{name}.partial_fit(sample_weight objects)",
                lambda v, w=weights: w(odd_array(spoiled([1.0] * 30, v))),
            )
            if "Aggregator" not in name:
                how = "predict_set" if "Classifier" in name else "predict_interval"

                def level(value, grown=grown, how=how):
                    model, before = grown[False]()
                    return model, before, lambda: getattr(model, how)(X, level=value)

                yield f"{name}.{how}(level=)", level
            if "Classifier" in name:

                def classes(value, kind=kind):
                    model = kind()
                    return model, None, lambda: model.partial_fit(X, L, classes=value)

                yield f"{name}.partial_fit(classes=)", classes
                yield f"{name}.partial_fit(classes list)", lambda v, c=classes: c([0, 1, v])
                yield (
                    f"{name}.partial_fit(classes objects)",
                    lambda v, c=classes: c(odd_array([0, 1, v])),
                )

                def later(value):
                    model = sp.sklearn.SwordClassifier().partial_fit(X, L, classes=[0, 1])
                    return model, state_of(model), lambda: model.partial_fit(X, L, classes=value)

                yield f"{name}.partial_fit(later classes=)", later
                yield f"{name}.partial_fit(later classes list)", lambda v, c=later: c([0, 1, v])

    fitted = copies(lambda: (sp.sklearn.TableEncoder().fit(WORDS),))

    def encoder(value, method):
        model = fitted()[0] if method == "transform" else sp.sklearn.TableEncoder()
        return model, None, lambda: getattr(model, method)(value)

    for method in ("fit", "transform"):
        yield f"TableEncoder.{method}(X)", lambda v, m=method: encoder(v, m)
        yield f"TableEncoder.{method}(frame)", lambda v, m=method: encoder(odd_frame(v, WORDS), m)
        yield (
            f"TableEncoder.{method}(column)",
            lambda v, m=method: encoder(all_odd_frame(v, WORDS), m),
        )


def has_names(rows):
    """Whether these are rows of the frame."""
    return isinstance(rows, pd.DataFrame) and list(rows.columns) == NAMES


def river_doors():
    rows = FRAME.to_dict("records")
    for name, kind, targets in (
        ("river.SwordRegressor", sp.river.SwordRegressor, Y),
        ("river.SwordClassifier", sp.river.SwordClassifier, L),
    ):

        def grown(kind=kind, targets=targets):
            model = kind()
            for x, y in zip(rows, targets.tolist(), strict=True):
                model.learn_one(x, y)
            return (model,)

        copy = copies(grown)

        def call(method, *given, copy=copy, **options):
            model, before = copy()
            return model, before, lambda: getattr(model, method)(*given, **options)

        good = targets.tolist()[0]
        yield (
            f"{name}.learn_one(x[a])",
            lambda v, c=call, g=good: c("learn_one", rows[0] | {"a": v}, g),
        )
        yield (
            f"{name}.learn_one(x[new])",
            lambda v, c=call, g=good: c("learn_one", rows[0] | {"new": v}, g),
        )
        yield f"{name}.learn_one(x)", lambda v, c=call, g=good: c("learn_one", v, g)
        yield f"{name}.learn_one(y)", lambda v, c=call: c("learn_one", rows[0], v)
        yield f"{name}.predict_one(x[a])", lambda v, c=call: c("predict_one", rows[0] | {"a": v})
        yield f"{name}.predict_one(x)", lambda v, c=call: c("predict_one", v)
        yield (
            f"{name}.learn_many(X frame)",
            lambda v, c=call, t=targets: c("learn_many", odd_frame(v), pd.Series(t)),
        )
        yield (
            f"{name}.learn_many(X column)",
            lambda v, c=call, t=targets: c("learn_many", all_odd_frame(v), pd.Series(t)),
        )
        yield f"{name}.learn_many(X)", lambda v, c=call, t=targets: c("learn_many", v, pd.Series(t))
        yield (
            f"{name}.learn_many(y series)",
            lambda v, c=call, t=targets: c(
                "learn_many", FRAME, pd.Series(odd_array(spoiled(t.tolist(), v)), dtype=object)
            ),
        )
        yield (
            f"{name}.learn_many(y list)",
            lambda v, c=call, t=targets: c("learn_many", FRAME, spoiled(t.tolist(), v)),
        )
        yield f"{name}.learn_many(y)", lambda v, c=call: c("learn_many", FRAME, v)
        yield f"{name}.predict_many(X frame)", lambda v, c=call: c("predict_many", odd_frame(v))
        yield f"{name}.predict_many(X)", lambda v, c=call: c("predict_many", v)
        for option in ("radius", "memory", "clip", "lags", "curves", "loss"):
            if option != "loss" or "Regressor" in name:
                yield (
                    f"{name}({option}=)",
                    lambda v, o=option, k=kind: (None, None, lambda: k(**{o: v})),
                )
        if "Regressor" in name:
            yield (
                f"{name}.predict_one(level=)",
                lambda v, c=call: c("predict_one", rows[0], with_interval=True, level=v),
            )
        else:
            yield (
                f"{name}.predict_set_one(level=)",
                lambda v, c=call: c("predict_set_one", rows[0], level=v),
            )
            yield (
                f"{name}.predict_set_many(level=)",
                lambda v, c=call: c("predict_set_many", FRAME, level=v),
            )


def late_doors():
    rows = FRAME.to_dict("records")
    for task, targets in (("regression", Y), ("classification", L)):

        def grown(task=task, targets=targets):
            model = LateModel(task)
            model.tell_many(model.ask_many(rows), targets.tolist())
            return model, model.ask_many(rows)

        copy = copies(grown)

        def call(use, copy=copy):
            model, tickets, before = copy()
            return model, before, lambda: use(model, tickets)

        name = f"LateModel({task})"
        good = targets.tolist()
        yield f"{name}.ask(x[a])", lambda v, c=call: c(lambda m, t: m.ask(rows[0] | {"a": v}))
        yield f"{name}.ask(x[new])", lambda v, c=call: c(lambda m, t: m.ask(rows[0] | {"new": v}))
        yield f"{name}.ask(x)", lambda v, c=call: c(lambda m, t: m.ask(v))
        yield f"{name}.ask(id=)", lambda v, c=call: c(lambda m, t: m.ask(rows[0], id=v))
        yield f"{name}.ask_many(rows)", lambda v, c=call: c(lambda m, t: m.ask_many(v))
        yield (
            f"{name}.ask_many(rows list)",
            lambda v, c=call: c(lambda m, t: m.ask_many(spoiled(rows, v))),
        )
        yield (
            f"{name}.ask_many(ids list)",
            lambda v, c=call: c(lambda m, t: m.ask_many(rows[:2], ["x", v])),
        )
        yield f"{name}.ask_many(ids)", lambda v, c=call: c(lambda m, t: m.ask_many(rows[:2], v))
        yield f"{name}.tell(y)", lambda v, c=call: c(lambda m, t: m.tell(t[0], v))
        yield f"{name}.tell(ticket)", lambda v, c=call, g=good: c(lambda m, t: m.tell(v, g[0]))
        yield (
            f"{name}.tell_many(ys)",
            lambda v, c=call, g=good: c(lambda m, t: m.tell_many(t, spoiled(g, v))),
        )
        yield (
            f"{name}.tell_many(tickets)",
            lambda v, c=call, g=good: c(lambda m, t: m.tell_many(spoiled(t, v), g)),
        )
        yield f"{name}.drop(ticket)", lambda v, c=call: c(lambda m, t: m.drop(v))
    for option in ("max_pending", "level", "columns", "model"):
        if option == "model":
            yield "LateModel(model)", lambda v: (None, None, lambda: LateModel(v))
        else:
            yield (
                f"LateModel({option}=)",
                lambda v, o=option: (None, None, lambda: LateModel("regression", **{o: v})),
            )
    for kind in (sp.sklearn.SwordRegressor, sp.sklearn.SwordClassifier):

        def grown(kind=kind):
            model = LateModel(kind())
            model.tell_many(model.ask_many(list(X)), L.tolist())
            return model, model.ask_many(list(X))

        copy = copies(grown)

        def call(use, copy=copy):
            model, tickets, before = copy()
            return model, before, lambda: use(model, tickets)

        name = f"LateModel({kind.__name__}())"
        yield f"{name}.ask(x)", lambda v, c=call: c(lambda m, t: m.ask(v))
        yield f"{name}.ask(x list)", lambda v, c=call: c(lambda m, t: m.ask([1.0, v, 2.0]))
        yield f"{name}.ask_many(rows)", lambda v, c=call: c(lambda m, t: m.ask_many(odd_rows(v)))
        yield f"{name}.tell(y)", lambda v, c=call: c(lambda m, t: m.tell(t[0], v))
        yield (
            f"{name}.tell_many(ys)",
            lambda v, c=call: c(lambda m, t: m.tell_many(t, spoiled(L.tolist(), v))),
        )


def keyed_doors():
    keys = ["north", "south", "west"] * 10
    for task, targets in (("regression", Y), ("classification", L)):

        def grown(task=task, targets=targets):
            model = Keyed(task)
            model.predict_then_learn(keys, X, targets)
            return model

        def states(model):
            return pickle.dumps(
                model.model("north").coef_
            )  # the key of the first row and of the odd one

        # one model until it learns; none is pickled
        def call(*given, grown=grown, kept=[], fresh=False, task=task):  # noqa: B006
            if not fresh and not (kept and states(kept[0]) == kept[1]):
                kept[:] = [model := grown(), states(model)]
            model, before = (Keyed(task), None) if fresh else kept
            return model, before, lambda: model.predict_then_learn(*given), states

        name = f"Keyed({task})"
        for fresh in (False, True):
            what = name + (".fresh" if fresh else "")
            yield f"{what}(keys)", lambda v, c=call, t=targets, f=fresh: c(v, X, t, fresh=f)
            yield (
                f"{what}(keys list)",
                lambda v, c=call, t=targets, f=fresh: c(spoiled(keys, v), X, t, fresh=f),
            )
            yield f"{what}(X)", lambda v, c=call, t=targets, f=fresh: c(keys, v, t, fresh=f)
            yield (
                f"{what}(X list)",
                lambda v, c=call, t=targets, f=fresh: c(keys, odd_rows(v), t, fresh=f),
            )
            yield (
                f"{what}(X frame)",
                lambda v, c=call, t=targets, f=fresh: c(keys, odd_frame(v), t, fresh=f),
            )
            yield f"{what}(y)", lambda v, c=call, f=fresh: c(keys, X, v, fresh=f)
            yield (
                f"{what}(y list)",
                lambda v, c=call, t=targets, f=fresh: c(keys, X, spoiled(t.tolist(), v), fresh=f),
            )
            yield (
                f"{what}(y all)",
                lambda v, c=call, t=targets, f=fresh: c(keys, X, [v] * 30, fresh=f),
            )
            yield (
                f"{what}(y objects)",
                lambda v, c=call, t=targets, f=fresh: c(
                    keys, X, odd_array(spoiled(t.tolist(), v)), fresh=f
                ),
            )
    for option in ("task", "loss", "lags", "start", "threads"):
        yield f"Keyed({option}=)", lambda v, o=option: (None, None, lambda: Keyed(**{o: v}))
    yield "Keyed(classes=)", lambda v: (None, None, lambda: Keyed("classification", classes=v))
    yield (
        "Keyed(classes list)",
        lambda v: (None, None, lambda: Keyed("classification", classes=[0, 1, v])),
    )


def interval_doors():
    def call(method, *given):
        model = SwordIntervals([0.5, 0.9])
        model.interval_then_learn(Y, Y + 0.1, X)
        return model, pickle.dumps(model.state()), lambda: getattr(model, method)(*given)

    yield "SwordIntervals(level=)", lambda v: (None, None, lambda: SwordIntervals(v))
    yield "SwordIntervals(levels=)", lambda v: (None, None, lambda: SwordIntervals([0.5, v]))
    yield "SwordIntervals.interval(prediction)", lambda v: call("interval", v, X[0])
    yield "SwordIntervals.interval(features)", lambda v: call("interval", 1.0, v)
    yield "SwordIntervals.interval(features list)", lambda v: call("interval", 1.0, [1.0, v, 2.0])
    yield (
        "SwordIntervals.interval_then_learn(predictions)",
        lambda v: call("interval_then_learn", spoiled(Y, v), Y, X),
    )
    yield (
        "SwordIntervals.interval_then_learn(truths)",
        lambda v: call("interval_then_learn", Y, spoiled(Y, v), X),
    )
    yield (
        "SwordIntervals.interval_then_learn(truths whole)",
        lambda v: call("interval_then_learn", Y, v, X),
    )
    yield (
        "SwordIntervals.interval_then_learn(features)",
        lambda v: call("interval_then_learn", Y, Y, odd_rows(v)),
    )
    yield "SwordIntervals.learn(prediction)", lambda v: call("learn", v, 1.0, X[0])
    yield "SwordIntervals.learn(truth)", lambda v: call("learn", 1.0, v, X[0])


def track_doors():
    table = FRAME.assign(y=Y)
    classes = FRAME.assign(y=["yes" if one else "no" for one in L])

    def call(table, target="y", **options):
        return None, None, lambda: sp.track(table, target, **options)

    yield "track(table)", lambda v: call(v)
    yield "track(column)", lambda v: call(all_odd_frame(v, table))
    yield "track(cell)", lambda v: call(odd_frame(v, table))
    for name, frame in (("numbers", table), ("classes", classes)):
        yield (
            f"track(target cell, {name})",
            lambda v, f=frame: call(
                f.assign(y=pd.Series(odd_array(spoiled(f["y"], v)), dtype=object))
            ),
        )
        yield (
            f"track(target, all, {name})",
            lambda v, f=frame, t="multi-class" if name == "classes" else None: call(
                f.assign(y=pd.Series(odd_array([v] * 30), dtype=object)), task=t
            ),
        )
    yield "track(target=)", lambda v: call(table, v)
    for option in [
        "task",
        "lags",
        "curves",
        "features",
        "drop",
        "loss",
        "level",
        "key",
        "sort",
        "id",
        "types",
        "missing",
        "on_bad",
        "output",
        "state",
        "rows",
        "format",
        "encoding",
        "header",
    ]:
        yield f"track({option}=)", lambda v, o=option: call(table, **{o: v})
    for option in ["features", "drop", "key", "id", "missing"]:
        yield f"track({option} list)", lambda v, o=option: call(table, **{o: [v]})


def learner_doors():
    options = {"horizon": 100, "smoothness": 1.0, "gradient_bound": 10.0}
    for name in [
        "OGD",
        "OptimisticOGD",
        "OMGD",
        "OEGD",
        "Ader",
        "AderTrueLosses",
        "Sword",
        "SwordAgeless",
        "SwordBest",
        "SwordSmall",
        "SwordVar",
        "SwordPlusPlus",
        "SAOL",
        "CBCE",
        "Arrows",
        "Aligator",
        "Curved",
        "MetaGrad",
        "MildOGD",
        "OneProjection",
        "PBGD",
        "SACS",
        "RestartedOGD",
    ]:
        kind = getattr(sp, name)
        for option in inspect.signature(kind).parameters:

            def make(value, kind=kind, option=option):
                if option == "make" and callable(value):
                    # an error of a user's own function is the user's
                    value = lambda ball, made=value: made  # noqa: E731
                given = {"domain": sp.Ball(dim=3)}
                for other, one in inspect.signature(kind).parameters.items():
                    if one.default is inspect.Parameter.empty and other != "domain":
                        given[other] = options.get(other, 1.0)
                return None, None, lambda: kind(**(given | {option: value}))

            yield f"{name}({option}=)", make
    for name in ("Ball", "Box", "Simplex"):
        for option in inspect.signature(getattr(sp, name)).parameters:

            def make(value, name=name, option=option):
                given = {
                    "Ball": {"dim": 3},
                    "Box": {"lower": [0.0, 0.0], "upper": [1.0, 1.0]},
                    "Simplex": {"dim": 3},
                }[name]
                return None, None, lambda: getattr(sp, name)(**(given | {option: value}))

            yield f"{name}({option}=)", make
    for name in (
        "SquaredLoss",
        "LogisticLoss",
        "HuberLoss",
        "PinballLoss",
        "QuadraticLoss",
        "WeightedLoss",
        "FunctionLoss",
    ):
        for option in inspect.signature(getattr(sp, name)).parameters:

            def make(value, name=name, option=option):
                given = {"features": [1.0, 2.0], "target": 1.0, "label": 1.0, "quantile": 0.5}
                kind = getattr(sp, name)
                needed = {
                    other: given.get(
                        other, sp.SquaredLoss([1.0], 1.0) if other == "loss" else [1.0, 2.0]
                    )
                    for other, one in inspect.signature(kind).parameters.items()
                    if one.default is inspect.Parameter.empty
                }
                return None, None, lambda: kind(**(needed | {option: value}))

            yield f"{name}({option}=)", make
    for name in ("LinearStream", "PlantedStream"):
        for option in inspect.signature(getattr(sp, name)).parameters:

            def make(value, name=name, option=option):
                kind = getattr(sp, name)
                given = {"features": X, "targets": Y, "dim": 3, "rounds": 20, "horizon": 20}
                needed = {
                    other: given.get(other, 1.0)
                    for other, one in inspect.signature(kind).parameters.items()
                    if one.default is inspect.Parameter.empty
                }
                return None, None, lambda: kind(**(needed | {option: value}))

            yield f"{name}({option}=)", make
    yield "LinearStream(X list)", lambda v: (None, None, lambda: sp.LinearStream(odd_rows(v), Y))
    yield "LinearStream(y list)", lambda v: (None, None, lambda: sp.LinearStream(X, spoiled(Y, v)))
    for name in ("Sword", "SwordBest", "OGD"):

        def observe(value, name=name):
            needed = {"SwordBest": options, "OGD": {"step_size": 0.1}}.get(name, {})
            learner = getattr(sp, name)(sp.Ball(dim=3), **needed)
            return learner, state_of(learner), lambda: learner.observe(value)

        yield f"{name}.observe(loss)", observe
    yield "play(learner)", lambda v: (None, None, lambda: sp.play(v, sp.LinearStream(X, Y)))
    yield "play(stream)", lambda v: (None, None, lambda: sp.play(sp.Sword(sp.Ball(dim=3)), v))
    yield "online(learner)", lambda v: (None, None, lambda: sp.engine.online(v))
    online = lambda: sp.engine.online(sp.Sword(sp.Ball(3)))  # noqa: E731
    yield "online.play(X)", lambda v: (None, None, lambda: online().play(v, Y))
    yield "online.play(X list)", lambda v: (None, None, lambda: online().play(odd_rows(v), Y))
    yield "online.play(y list)", lambda v: (None, None, lambda: online().play(X, spoiled(Y, v)))
    yield "online.play(y)", lambda v: (None, None, lambda: online().play(X, v))
    yield (
        "hindsight.best_fixed(stream)",
        lambda v: (None, None, lambda: sp.hindsight.best_fixed(v, sp.Ball(dim=3))),
    )
    yield (
        "hindsight.best_sequence(stream)",
        lambda v: (None, None, lambda: sp.hindsight.best_sequence(v, sp.Ball(dim=3))),
    )


HOME = str(pathlib.Path(sp.__file__).parent)
VALIDATIONS = (
    "sklearn/utils/validation.py",
    "sklearn/utils/multiclass.py",
    "sklearn/utils/_param_validation.py",
)


def why_raw(error):
    """Why an error is not in words; nothing if it is."""
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    file, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
    text = linecache.getline(file, line).strip()
    where = f"{file}:{line}: {text}"
    if not isinstance(error, ValueError | TypeError | ImportError | AttributeError | KeyError):
        return f"{type(error).__name__} at {where}: {str(error)[:200]}"
    ours = file.startswith(HOME) and text.startswith("raise")
    theirs = file.endswith(VALIDATIONS) and text.startswith("raise")
    if not (ours or theirs):
        return f"{type(error).__name__} at {where}: {str(error)[:200]}"
    if len(str(error)) > LONGEST_MESSAGE:
        return f"{len(str(error))} characters at {where}"
    return ""
