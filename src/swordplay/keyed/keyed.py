"""Many keys, a learner each, on one machine."""

from __future__ import annotations

import json
import os
from typing import Any, Literal, Self, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import short_repr
from swordplay.core.checkpoint import CheckpointError
from swordplay.core.types import Matrix
from swordplay.engine.record import EXPERTS, PROVEN, ROUND
from swordplay.estimators.class_probabilities import probabilities_of
from swordplay.estimators.labels import dump_classes, label_array, load_classes
from swordplay.estimators.model_settings import LossName, regression_loss
from swordplay.keyed import inputs, opening, starting
from swordplay.keyed.crew import Crew
from swordplay.keyed.folder import Folder, Key
from swordplay.keyed.inputs import Rows
from swordplay.keyed.record import Form
from swordplay.keyed.shelf import FIRST, Shelf
from swordplay.keyed.starting import Start

Task = Literal["regression", "classification"]
LAYOUT = " ".join([*ROUND, "/", *EXPERTS, "/", *PROVEN])
"""What stands in a record, in its order: a folder of another version may have it otherwise."""


@final
class Keyed:
    """A learner for every key, told apart by the values of one column.

    Rows of many keys come interleaved, in bulk; those of one key in their order in time. Each key
    learns as if it were alone: its predictions are those of a ``SwordRegressor`` (or
    ``SwordClassifier``) of its own, bit by bit.

    Parameters
    ----------
    task
        ``"regression"`` or ``"classification"``.
    loss
        Of a regression: ``"squared"`` or ``"huber"``.
    classes
        All labels of a classification; those of the first rows unless given.
    lags
        How many of the last targets of the key join its columns.
    start
        A ``SwordRegressor`` or, for a classification, a ``SwordClassifier`` that has learned,
        first-order (``curves=None``) and with the same ``lags``: every new key begins as a copy of
        it.
    threads
        How many; one for each processor unless given. The numbers do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from swordplay.keyed import Keyed
    >>> rng = np.random.default_rng(0)
    >>> shops, X = rng.choice(["north", "south"], 1000), rng.normal(size=(1000, 2))
    >>> y = np.where(shops == "north", 3.0, -3.0) * X[:, 0]
    >>> keyed = Keyed()
    >>> predictions = keyed.predict_then_learn(shops, X, y)
    >>> keyed.predict(["north", "south"], [[1.0, 0.0], [1.0, 0.0]]).round().tolist()
    [3.0, -3.0]
    >>> float(keyed.model("south").coef_[0].round())
    -3.0
    """

    def __init__(
        self,
        task: Task = "regression",
        *,
        loss: str = "squared",
        classes: Any = None,
        lags: int = 0,
        start: Any = None,
        threads: int | None = None,
    ) -> None:
        if not (isinstance(task, str) and task in ("regression", "classification")):
            raise ValueError(
                f"task must be 'regression' or 'classification', got {short_repr(task)}."
            )
        self.task, self.lags = task, arguments.integer("lags", lags, least=0)
        self.loss: LossName = regression_loss(loss) if task == "regression" else "logistic"
        if task == "regression" and classes is not None:
            raise ValueError(
                f"classes are for a classification, got {short_repr(classes)}. Say "
                "task='classification'."
            )
        # Labels in the order of the columns of predict_proba; None before they are known.
        self.classes: Any = None if classes is None else np.unique(label_array("classes", classes))
        if self.classes is not None:
            inputs.require_classes(self.classes)
        self.threads = (
            len(os.sched_getaffinity(0))
            if threads is None
            else arguments.integer("threads", threads)
        )
        self.names: tuple[str, ...] | None = None
        """Names of the columns, where the first rows came with names."""
        self.clock = 0
        """The time of the last rows; rows learned so far, unless another is given with them."""
        self._kind = ""
        self._start: Start | None = None
        self._shelf: Shelf | None = None
        if start is not None:
            self._start, known = starting.require_start(start, self.lags, self.loss)
            if self.classes is not None and not np.array_equal(self.classes, known):
                raise ValueError(
                    f"classes must be those of start, {short_repr(known.tolist())}, got "
                    f"{short_repr(classes)}. Leave them out."
                )
            self.classes = known
            self._shelf = self._made(self._start.models[0].dim)

    def __len__(self) -> int:
        return len(self.keys())

    def __contains__(self, key: Key) -> bool:
        return self._number(key) is not None

    def keys(self) -> list[Key]:
        """All keys, those first that joined first."""
        return [] if self._shelf is None else self._shelf.names()

    # ------------------------------------------------------------------ learning

    def predict_then_learn(self, keys: Any, X: Any, y: Any, *, now: int | None = None) -> Any:
        """Predictions (or labels) of rows, each made by its key's learner before it learns the row.

        Shape ``(T,)``.

        Parameters
        ----------
        keys
            The key of each row: strings or whole numbers.
        X, y
            Numbers of shape ``(T, d)``, and targets or labels of shape ``(T,)``; rows of one key in
            their order in time.
        now
            The time, a whole number of any unit that never falls, for :meth:`expire`; rows learned
            so far unless given.
        """
        scores = self._learn(keys, X, y, now)
        return scores[:, 0] if self.task == "regression" else self._labels(scores)

    def predict_proba_then_learn(
        self, keys: Any, X: Any, y: Any, *, now: int | None = None
    ) -> Matrix:
        """The same for a classification, as probabilities of all classes, shape ``(T, K)``."""
        self._require_classification()
        return self._probabilities(self._learn(keys, X, y, now))

    def predict(self, keys: Any, X: Any) -> Any:
        """Predictions (or labels) of rows by what their keys know now; nothing is learned.

        A key that was never seen answers as it would for its first row: like ``start`` or, without
        one, 0.
        """
        scores = self._ask(keys, X)
        return scores[:, 0] if self.task == "regression" else self._labels(scores)

    def predict_proba(self, keys: Any, X: Any) -> Matrix:
        """The same for a classification, as probabilities of all classes, shape ``(T, K)``."""
        self._require_classification()
        return self._probabilities(self._ask(keys, X))

    def _learn(self, keys: Any, X: Any, y: Any, now: int | None) -> Matrix:
        rows = self._checked(keys, X)
        count = len(rows.codes)
        time = self.clock + count if now is None else arguments.integer("now", now, least=0)
        if time < self.clock:
            raise ValueError(
                f"now must not fall, got {now} after {self.clock}. Give a time that goes on."
            )
        if self.task == "regression":
            wanted = inputs.targets(y, count)
        else:
            self.classes, wanted = inputs.labels(y, count, self.classes)
        shelf = self._shelf = self._shelf or self._made(rows.numbers.shape[1])
        numbers = shelf.admit(rows.keys)
        of_rows = numbers[rows.codes]
        turn = np.argsort(of_rows, kind="stable")
        scores = shelf.group.play(
            of_rows, np.full(count, time), rows.numbers, wanted, self._crew, turn
        )
        shelf.note(
            numbers, of_rows, wanted.astype(np.intp) if self.task == "classification" else None
        )
        self._kind, self.names, self.clock = rows.kind, rows.names, time
        return scores

    def _ask(self, keys: Any, X: Any) -> Matrix:
        rows = self._checked(keys, X)
        shelf = self._shelf or self._made(rows.numbers.shape[1])
        shelf.fetch(rows.keys)
        numbers = np.array([shelf.group.places.get(key, -1) for key in rows.keys], dtype=np.int64)[
            rows.codes
        ]
        turn = np.argsort(numbers, kind="stable")
        scores = np.empty((len(turn), shelf.group.models))
        scores[turn] = shelf.group.ask(numbers[turn], rows.numbers[turn])
        return scores

    def _checked(self, keys: Any, X: Any) -> Rows:
        """Rows that fit those of before."""
        return inputs.checked(
            keys, X, self._shelf and self._shelf.group.form.dim, self.names, self._kind
        )

    def _made(self, dim: int, folder: Folder | None = None) -> Shelf:
        """A shelf for rows of this width."""
        start = self._start or Start(())
        begins = [
            Form(dim, self.loss, self.lags, proof=True, start=model) for model in start.models
        ]
        form = begins[0] if begins else Form(dim, self.loss, self.lags, proof=True)
        self._crew = Crew(form, self.threads)
        return Shelf(
            form, 0 if self.classes is None else len(self.classes), folder, begins, start.counts
        )

    def _labels(self, scores: Matrix) -> Any:
        shares = self._probabilities(scores)
        return self.classes[shares.argmax(axis=1)]

    def _probabilities(self, scores: Matrix) -> Matrix:
        if self.classes is None:
            raise ValueError(
                "the classes are not known yet. Give classes=[...], or let it learn some rows."
            )
        return probabilities_of(scores, len(self.classes))

    def _require_classification(self) -> None:
        if self.task != "classification":
            raise ValueError(
                "probabilities are those of a classification. Make it with task='classification'."
            )

    # ------------------------------------------------------------------ one key

    def model(self, key: Key) -> Any:
        """The learner of one key as an ordinary ``SwordRegressor`` or ``SwordClassifier``: a copy
        that goes on by itself.

        It has learned the rows of its key and nothing else: the same coefficients, certificate and
        predictions to come.
        """
        number = self._number(key)
        if number is None or self._shelf is None:
            raise KeyError(f"there is no key {key!r}. It has learned nothing yet, or has expired.")
        group = self._shelf.group
        try:
            if self.task == "regression":
                return opening.regressor(group.form, group.record(number)[0], self.names)
            return opening.classifier(
                group.form,
                group.record(number),
                self.names,
                self.classes,
                self._shelf.tally(number),
            )
        except ValueError as error:
            raise CheckpointError(
                f"what is known of the key {key!r} is damaged: {error}"
            ) from error

    def _number(self, key: Key) -> int | None:
        if self._shelf is None:
            return None
        self._shelf.fetch([key])
        return self._shelf.group.places.get(key)

    def expire(self, idle: int) -> None:
        """Forget keys that have learned nothing for longer than ``idle``, in units of ``now``.

        A folder follows when saved.
        """
        if self._shelf is not None:
            self._shelf.expire(self.clock - arguments.integer("idle", idle, least=0))

    # ------------------------------------------------------------------ crash-safe

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write all keys to a folder, or to one that they come from those that have learned since.

        All or nothing.

        Keys of somebody else that are in the folder are replaced. Killed on the way, it holds what
        it held before.
        """
        if self._shelf is None:
            raise ValueError("there is nothing to save: no row was learned yet.")
        self._shelf.save(
            Folder(folder),
            {"settings": self._settings(), "start": starting.saved_start(self._start)},
        )

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, threads: int | None = None) -> Self:
        """The keys in a folder.

        Each is read when it is asked for, so that opening a folder of millions takes no time.

        Raises
        ------
        CheckpointError
            If there are none, or they are damaged.
        """
        opened = Folder(folder)
        about = opened.open()
        try:
            told = json.loads(about["settings"])
            if told.pop("layout") != LAYOUT:
                raise ValueError(
                    "their records are laid out as by another version, which has to be gone on "
                    "with."
                )
            dim, kind, names, clock = (told.pop(name) for name in ("dim", "kind", "names", "clock"))
            inputs.require_shared(dim, kind, names, clock)
            longest, some = opened.first(FIRST)
            inputs.require_held(dim + arguments.integer("lags", told["lags"], least=0), longest)
            classes = (
                load_classes(told.pop("classes"))
                if told["task"] == "classification"
                else told.pop("classes")
            )
            keyed = cls(**told, classes=classes, threads=threads)
            known = 0 if keyed.classes is None else len(keyed.classes)
            keyed._start = starting.load_start(about["start"], dim, keyed.loss, keyed.lags, known)
            keyed._kind, keyed.names, keyed.clock = (
                kind,
                None if names is None else tuple(names),
                clock,
            )
            keyed._shelf = keyed._made(arguments.integer("dim", dim), opened)
            keyed._shelf.require_fits(some)
        except (
            AttributeError,
            TypeError,
            ValueError,
            LookupError,
            OverflowError,
            RecursionError,
        ) as error:
            raise CheckpointError(
                f"the keys in {os.fspath(folder)!r} cannot be taken up: {error}"
            ) from error
        return keyed

    def _settings(self) -> bytes:
        assert self._shelf is not None
        classes = None if self.classes is None else dump_classes(self.classes)
        return json.dumps(
            {
                "task": self.task,
                **({"loss": self.loss} if self.task == "regression" else {}),
                "classes": classes
                if classes is None or isinstance(classes, str)
                else classes.tolist(),
                "lags": self.lags,
                "dim": self._shelf.group.form.dim,
                "kind": self._kind,
                "names": self.names,
                "clock": self.clock,
                "layout": LAYOUT,
            }
        ).encode()
