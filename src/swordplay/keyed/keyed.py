"""``Keyed``: a model for every key, learned from interleaved rows on one machine."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import short_repr
from swordplay.core.checkpoint import CheckpointError
from swordplay.core.model_lock import LockedModel
from swordplay.core.types import Matrix
from swordplay.estimators.labels import dump_classes, label_array, load_classes
from swordplay.estimators.model_settings import (
    AUTO,
    LossName,
    checked_curves,
    checked_lags,
    regression_loss,
)
from swordplay.keyed import inputs, key_bytes, key_models
from swordplay.keyed.inputs import Rows
from swordplay.keyed.key_bytes import KeyStates
from swordplay.keyed.key_table import GrowingArray, KeyTable
from swordplay.keyed.record_layout import KeyModel, RecordLayout
from swordplay.keyed.sqlite_store import ALWAYS, Key, SqliteStore, StoredKey

Task = Literal["regression", "classification"]
ENCODED_KEYS = 1000
"""Keys whose states are copied at a time when they are saved."""
SAMPLED_KEYS = 3
"""Keys that are read when a folder is opened, to check its settings: some may be damaged."""


@final
class Keyed(LockedModel):
    """A model for every key, told apart by the values of one column.

    Rows of many keys come interleaved, in bulk; those of one key in their order in time. Each key
    learns as if it were alone: its predictions are those of a ``SwordRegressor`` (or
    ``SwordClassifier``) of its own, bit for bit.

    Parameters
    ----------
    task
        ``"regression"`` or ``"classification"``.
    loss
        Of a regression: ``"squared"`` or ``"huber"``.
    classes
        All labels of a classification; those of the first rows unless given.
    lags, curves
        As in ``SwordRegressor``. ``lags=0, curves=None`` is the cheap form: linear models of first
        order, a third of the memory and several times as fast.
    start
        A ``SwordRegressor`` or, for a classification, a ``SwordClassifier`` that has learned, with
        the same ``lags`` and ``curves``: every new key begins as a copy of it.
    threads
        Number of threads; one for each processor unless given. Results do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from swordplay.keyed import Keyed
    >>> rng = np.random.default_rng(0)
    >>> shops, X = rng.choice(["north", "south"], 1000), rng.normal(size=(1000, 2))
    >>> y = np.where(shops == "north", 3.0, -3.0) * X[:, 0]
    >>> keyed = Keyed()
    >>> predictions = keyed.predict_then_learn(shops, X, y)
    >>> keyed.predict(["north", "south"], [[1.0, 0.0], [1.0, 0.0]]).round(1).tolist()
    [3.0, -3.0]
    >>> float(keyed.model("south").coef_[0].round(1))
    -3.0
    """

    def __init__(
        self,
        task: Task = "regression",
        *,
        loss: str = "squared",
        classes: Any = None,
        lags: int | str = AUTO,
        curves: str | None = AUTO,
        start: Any = None,
        threads: int | None = None,
    ) -> None:
        if not (isinstance(task, str) and task in ("regression", "classification")):
            raise ValueError(
                f"task must be 'regression' or 'classification', got {short_repr(task)}."
            )
        self.task, self.lags = task, checked_lags(lags)
        self.curves = checked_curves(curves)
        self.loss: LossName = regression_loss(loss) if task == "regression" else "logistic"
        if task == "regression" and classes is not None:
            raise ValueError(
                f"classes are for a classification, got {short_repr(classes)}. Say "
                "task='classification'."
            )
        self.classes: Any = None if classes is None else np.unique(label_array("classes", classes))
        """Labels in the order of the columns of ``predict_proba``; None before they are known."""
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
        self._key_type = ""
        self._table: KeyTable | None = None
        self._initial: KeyStates | None = None
        """What every key begins with, if ``start`` was given."""
        self._store: SqliteStore | None = None
        """The folder that the keys come from, or were saved to."""
        self._has_changed = GrowingArray(np.empty(0, dtype=bool))
        """Whether each key in memory has learned since the last save."""
        self._expired_before = ALWAYS
        """Keys of the folder that have learned nothing since are expired."""
        if start is not None:
            self._begin_as(start, classes)

    def _begin_as(self, start: Any, classes: Any) -> None:
        """Let every new key begin as an estimator."""
        known = key_models.require_start(start, self._settings(1))
        if self.classes is not None and not np.array_equal(self.classes, known):
            raise ValueError(
                f"classes must be those of start, {short_repr(known.tolist())}, got "
                f"{short_repr(classes)}. Leave them out."
            )
        self.classes = known
        settings = self._settings(int(start.n_features_in_))
        self._initial = key_models.initial_states(start, settings, RecordLayout(settings))
        self._table = self._make_table(settings.dim)

    def _settings(self, dim: int) -> KeyModel:
        return KeyModel(
            dim,
            self.loss,
            classes=0 if self.classes is None else len(self.classes),
            lags=self.lags,
            curves=self.curves,
            certificates=True,
        )

    def _make_table(self, dim: int) -> KeyTable:
        """Make a table for rows of this width."""
        settings = self._settings(dim)
        return KeyTable(
            settings, threads=self.threads, digests=(settings.digest(),), initial=self._initial
        )

    def __len__(self) -> int:
        return len(self.keys())

    def __contains__(self, key: Key) -> bool:
        with self._lock:
            return self._number(key) is not None

    def keys(self) -> list[Key]:
        """All keys, in the order in which they joined."""
        stored = [] if self._store is None else self._store.keys(self._expired_before)
        known = [] if self._table is None else self._table.numbers
        return list(dict.fromkeys([*stored, *known]))

    # ------------------------------------------------------------------ learning

    def predict_then_learn(self, keys: Any, X: Any, y: Any, *, now: int | None = None) -> Any:
        """Predictions (or labels) of rows, each made by its key's model before it learns the row.

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
        return self._as_predictions(self._learn(keys, X, y, now))

    def predict_proba_then_learn(
        self, keys: Any, X: Any, y: Any, *, now: int | None = None
    ) -> Matrix:
        """Probabilities of all classes, each row's made before it is learned, shape ``(T, K)``.

        The parameters are those of :meth:`predict_then_learn`.
        """
        self._require_classification()
        return self._learn(keys, X, y, now)

    def predict(self, keys: Any, X: Any) -> Any:
        """Predictions (or labels) of rows by what their keys know now; nothing is learned.

        With ``lags="auto"`` the first of these rows of a key is taken to follow the last row that
        the key has learned; for the rows behind it the last targets are not known. A key that was
        never seen predicts like ``start`` or, without one, 0.
        """
        return self._as_predictions(self._predict(keys, X))

    def predict_proba(self, keys: Any, X: Any) -> Matrix:
        """Probabilities of all classes by what the keys know now, shape ``(T, K)``.

        Nothing is learned.
        """
        self._require_classification()
        return self._predict(keys, X)

    def _learn(self, keys: Any, X: Any, y: Any, now: int | None) -> Matrix:
        rows = self._checked(keys, X)
        count = len(rows.codes)
        time = self.clock + count if now is None else arguments.integer("now", now, least=0)
        if time < self.clock:
            raise ValueError(
                f"now must not fall, got {now} after {self.clock}. Give a time that goes on."
            )
        if self.task == "regression":
            targets = inputs.targets(y, count)
        else:
            self.classes, targets = inputs.labels(y, count, self.classes)
        if self._table is None:
            self._table = self._make_table(rows.numbers.shape[1])
        table = self._table
        self._fetch(rows.keys)
        numbers = table.add(rows.keys)
        self._has_changed.extend(len(table) - len(self._has_changed), False)
        of_rows = numbers[rows.codes]
        by_key = np.argsort(of_rows, kind="stable")
        answer = table.learn(of_rows, np.full(count, time), rows.numbers, targets, by_key)
        self._has_changed.rows[numbers] = True
        self._key_type, self.names, self.clock = rows.key_type, rows.names, time
        return answer

    def _predict(self, keys: Any, X: Any) -> Matrix:
        if self.task == "classification" and self.classes is None:
            raise ValueError(
                "the classes are not known yet. Give classes=[...], or let it learn some rows."
            )
        rows = self._checked(keys, X)
        table = self._table
        if table is None:
            table = self._make_table(rows.numbers.shape[1])
        self._fetch(rows.keys)
        numbers = table.numbers_of(rows.keys)[rows.codes]
        return table.predict(numbers, rows.numbers, np.argsort(numbers, kind="stable"))

    def _checked(self, keys: Any, X: Any) -> Rows:
        """Rows that fit those before."""
        width = None if self._table is None else self._table.settings.dim
        return inputs.checked(keys, X, width, self.names, self._key_type)

    def _as_predictions(self, answer: Matrix) -> Any:
        if self.task == "regression":
            return answer[:, 0]
        return self.classes[answer.argmax(axis=1)]

    def _require_classification(self) -> None:
        if self.task != "classification":
            raise ValueError(
                "probabilities are those of a classification. Make it with task='classification'."
            )

    # ------------------------------------------------------------------ one key

    def model(self, key: Key) -> Any:
        """The model of one key as an ordinary ``SwordRegressor`` or ``SwordClassifier``, a copy.

        It has learned the rows of its key and nothing else: the same coefficients, certificate and
        predictions to come.
        """
        number = self._number(key)
        if number is None or self._table is None:
            raise KeyError(f"there is no key {key!r}. It has learned nothing yet, or has expired.")
        try:
            return key_models.estimator_of(self._table, number, self.names, self.classes)
        except ValueError as error:
            raise CheckpointError(f"the state of the key {key!r} is damaged: {error}") from error

    def _number(self, key: Key) -> int | None:
        if self._table is None:
            return None
        self._fetch([key])
        return self._table.numbers.get(key)

    def expire(self, idle: int) -> None:
        """Forget keys that have learned nothing for longer than ``idle``, in units of ``now``.

        They leave the folder with the next save.
        """
        if self._table is None:
            return
        before = self.clock - arguments.integer("idle", idle, least=0)
        self._expired_before = max(self._expired_before, before)
        kept = np.flatnonzero(self._table.last_seen >= self._expired_before)
        self._table.keep(kept)
        self._has_changed.keep(kept)

    # ------------------------------------------------------------------ folders

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write all keys to a folder; to the folder that they come from, those that have learned.

        Killed on the way, the folder holds what it held before. Keys of another ``Keyed`` that are
        in the folder are replaced.
        """
        if self._table is None:
            raise ValueError("there is nothing to save: no row was learned yet.")
        store, since = SqliteStore(folder), None
        if self._store is not None and store.file == self._store.file:
            store, since = self._store, self._expired_before
            numbers = np.flatnonzero(self._has_changed.rows)
        else:
            if self._store is not None:
                self._fetch(self._store.keys(self._expired_before))
            numbers = np.arange(len(self._table))
        store.write(self._about(), self._stored(self._table, numbers), since=since)
        self._store, self._expired_before = store, ALWAYS
        self._has_changed.rows[:] = False

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, threads: int | None = None) -> Self:
        """The keys in a folder.

        Each is read when it is needed, so that opening a folder of millions takes no time.

        Raises
        ------
        CheckpointError
            If there are none, or they are damaged.
        """
        store = SqliteStore(folder)
        about = store.open()
        try:
            return cls._of_store(store, about, threads)
        except (
            AttributeError,
            TypeError,
            ValueError,
            LookupError,
            OverflowError,
            RecursionError,
        ) as error:
            raise CheckpointError(
                f"the keys in {os.fspath(folder)!r} cannot be loaded: {error}"
            ) from error

    @classmethod
    def _of_store(cls, store: SqliteStore, about: dict[str, bytes], threads: int | None) -> Self:
        settings = json.loads(about["settings"])
        dim, key_type, names, clock = (
            settings.pop(name) for name in ("dim", "key_type", "names", "clock")
        )
        inputs.require_shared(dim, key_type, names, clock)
        longest, sample = store.sample(SAMPLED_KEYS)
        lags = settings["lags"]
        known_lags = 0 if lags == AUTO else arguments.integer("lags", lags, least=0)
        inputs.require_held(dim + known_lags, longest)
        if settings["task"] == "classification":
            settings["classes"] = load_classes(settings["classes"])
        keyed = cls(**settings, threads=threads)
        keyed._key_type, keyed.clock = key_type, clock
        keyed.names = None if names is None else tuple(names)
        table = keyed._make_table(arguments.integer("dim", dim))
        if about["start"]:
            # A deep copy may be written, as kernels want it; arrays of bytes may not.
            keyed._initial = copy.deepcopy(table.read([(1, about["start"])]))
            table = keyed._make_table(dim)
        keyed._table, keyed._store = table, store
        if sample and not any(_can_be_read(table, row) for row in sample):
            raise ValueError(
                f"their states are not those of {dim} column(s), lags={lags!r}, "
                f"curves={keyed.curves!r}, {table.settings.classes} classes."
            )
        return keyed

    def _about(self) -> dict[str, bytes]:
        """What all keys share, for the folder."""
        assert self._table is not None
        classes = None if self.classes is None else dump_classes(self.classes)
        settings = {
            "task": self.task,
            **({"loss": self.loss} if self.task == "regression" else {}),
            "classes": classes if classes is None or isinstance(classes, str) else classes.tolist(),
            "lags": self.lags,
            "curves": self.curves,
            "dim": self._table.settings.dim,
            "key_type": self._key_type,
            "names": self.names,
            "clock": self.clock,
        }
        start = b""
        if self._initial is not None:
            start = key_bytes.to_bytes(self._initial, self._table.settings.digest())
        return {"settings": json.dumps(settings).encode(), "start": start}

    def _fetch(self, keys: Sequence[Key]) -> None:
        """Read those of some keys that are in the folder and not in memory."""
        table, store = self._table, self._store
        if table is None or store is None:
            return
        missing = [key for key in keys if key not in table.numbers]
        stored = [row for row in store.read(missing) if row.seen >= self._expired_before]
        if not stored:
            return
        try:
            table.from_bytes([([row.key], key_bytes.decompress(row.state)) for row in stored])
        except ValueError as error:
            key = next((row.key for row in stored if not _can_be_read(table, row)), None)
            raise CheckpointError(
                f"the keys in {store.path!r} are damaged at key {key!r}: {error}"
            ) from error
        self._has_changed.extend(len(stored), False)

    @staticmethod
    def _stored(table: KeyTable, numbers: Any) -> Iterator[StoredKey]:
        """The states of some keys, as they are saved."""
        names, digest = list(table.numbers), table.settings.digest()
        for first in range(0, len(numbers), ENCODED_KEYS):
            some = numbers[first : first + ENCODED_KEYS]
            for number, one in zip(some.tolist(), key_bytes.split(table.states(some)), strict=True):
                state = key_bytes.compress(key_bytes.to_bytes(one, digest))
                yield StoredKey(names[number], int(one.last_seen[0]), state)


def _can_be_read(table: KeyTable, row: StoredKey) -> bool:
    try:
        table.read([(1, key_bytes.decompress(row.state))])
    except ValueError:
        return False
    return True
