"""Estimators for scikit-learn: thin coats over the compiled engine, for streams and with nothing to set."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from swordplay import arguments
from swordplay.estimators import summary
from swordplay.estimators.classes import OneModelPerClass
from swordplay.estimators.coat import Coat, in_chunks, loss_weights, play, real_targets, refuse_strings
from swordplay.estimators.mixture import Mixture
from swordplay.estimators.model import LinearModel
from swordplay.types import Matrix, State, Vector


class _Regression(RegressorMixin, Coat):  # type: ignore[misc]  # scikit-learn has no types
    """Fit, learn and predict for models of one number; subclasses say how to make the model."""

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, then learn the rows once, in their order.

        Weights of rows are for :meth:`partial_fit`: scikit-learn wants a weight of 2 in ``fit`` to mean the same as the row
        twice, in any order, which no learner that goes through its rows in time can promise.

        Parameters
        ----------
        X
            Rows in time order, shape ``(T, d)``, dense or sparse.
        y
            Targets, shape ``(T,)``.
        """
        self._learn(X, y, None, fresh=True)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn more rows, in their order.

        Parameters
        ----------
        X, y
            As in :meth:`fit`.
        sample_weight
            Factors of the losses, shape ``(T,)``; a row of weight 0 is not learned.
        """
        self._learn(X, y, sample_weight)
        return self

    def predict_then_learn(self, X: Any, y: Any, sample_weight: Any = None) -> Vector:
        """Predictions of rows, each made before its own target is learned: what a stream would have seen.

        The model afterwards is that of :meth:`partial_fit`, bit by bit.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`partial_fit`.
        """
        return self._learn(X, y, sample_weight)

    def predict(self, X: Any) -> Vector:
        """Predictions of rows by what is known now, shape ``(T,)``."""
        self._require_fitted()
        return np.asarray(in_chunks(self.model_.predict, self._rows(X)))

    def _learn(self, X: Any, y: Any, sample_weight: Any, *, fresh: bool = False) -> Vector:
        with self._all_or_nothing():
            fresh = fresh or not self.__sklearn_is_fitted__()
            refuse_strings("y", y)
            rows, targets = self._rows_and_targets(X, y, reset=fresh)
            targets = real_targets(targets)
            weights = loss_weights(sample_weight, len(targets))
            if fresh:
                self.model_ = self._make()
        return np.asarray(play(self.model_, rows, targets, weights))


class _Explained:
    """What a linear model has learned, of those that have one or more of them."""

    def _models(self) -> dict[str, LinearModel]:
        raise NotImplementedError

    def _told(self, what: str) -> Any:
        """An attribute of the one model, or of each of several, stacked."""
        found = [getattr(model, what) for model in self._models().values()]
        return found[0] if len(found) == 1 else np.stack(found)

    @property
    def weights_(self) -> Any:
        """Weight of each expert, shape ``(N,)``; ``(K, N)`` where there is a model for each of K classes."""
        return self._told("weights")

    @property
    def step_sizes_(self) -> Any:
        """Step size of each expert, in the shape of ``weights_``."""
        return self._told("step_sizes")

    @property
    def effective_step_size_(self) -> Any:
        """Weighted geometric mean of the step sizes: 1 learns each row by heart, 2^-13 averages over thousands."""
        return self._told("effective_step_size")

    @property
    def certificate_(self) -> Any:
        """Bound on the regret so far to any fixed coefficients, in losses of smoothness 1."""
        return self.certificate(0.0)

    def certificate(self, path_length: float = 0.0) -> Any:
        """Bound on the regret so far to any coefficients of the scaled columns that travel this far, all at once."""
        path = arguments.nonnegative("path_length", path_length)
        found = [model.certificate(path) for model in self._models().values()]
        return found[0] if len(found) == 1 else np.array(found)

    def summary(self) -> str:
        """How fast the stream seems to drift, which experts lead, what the bound says."""
        return summary.text(type(self).__name__, self._models())


class SwordRegressor(_Explained, _Regression):
    """Linear regression that tracks a drifting target, with nothing to set.

    Columns are scaled as they come and clipped, the target's place and spread are followed, and many step sizes learn at
    once (``SwordAgeless``). The order of the rows is time.

    Parameters
    ----------
    loss
        ``"squared"``, or ``"huber"`` where the target has heavy tails: residuals beyond one spread then pull no harder.
    radius
        Of the ball where the coefficients of the scaled columns live, in spreads of the target.
    memory
        Rounds that the weights of the experts remember; shorter re-adapts sooner and tells experts apart less well.
    clip
        Scaled entries beyond this are clipped.
    standardize
        Whether to scale the columns.
    intercept
        Whether to learn an intercept.
    lags
        How many of the last targets join the columns. :meth:`predict` uses the last ones that were learned for all its rows.

    Attributes
    ----------
    coef_, intercept_
        In the units of the raw columns and of the target; they are the whole prediction wherever no entry is clipped.
    lag_coef_
        Of the lags, the newest first, shape ``(lags,)``.
    weights_, step_sizes_, effective_step_size_, certificate_
        The experts, see there.
    n_features_in_, feature_names_in_
        Columns seen.

    Examples
    --------
    >>> import numpy as np
    >>> from swordplay.sklearn import SwordRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = SwordRegressor().fit(X, 3.0 * X[:, 0] + 1.0)
    >>> bool(abs(model.predict([[1.0, 0.0]])[0] - 4.0) < 0.1)
    True
    """

    def __init__(
        self,
        loss: str = "squared",
        radius: float = 32.0,
        memory: float = 2000.0,
        clip: float = 5.0,
        standardize: bool = True,
        intercept: bool = True,
        lags: int = 0,
    ) -> None:
        self.loss = loss
        self.radius = radius
        self.memory = memory
        self.clip = clip
        self.standardize = standardize
        self.intercept = intercept
        self.lags = lags

    @property
    def coef_(self) -> Vector:
        """Change of the prediction with each raw column, shape ``(d,)``."""
        return _in_raw_units(self._models()["y"])[0][self.lags :]

    @property
    def lag_coef_(self) -> Vector:
        """Change of the prediction with each lag, shape ``(lags,)``."""
        return _in_raw_units(self._models()["y"])[0][: self.lags]

    @property
    def intercept_(self) -> float:
        """Prediction where all raw columns (and lags) are 0."""
        return _in_raw_units(self._models()["y"])[1]

    def _make(self) -> LinearModel:
        if self.loss not in ("squared", "huber"):
            raise ValueError(f"loss must be 'squared' or 'huber', got {arguments.shown(self.loss)}.")
        return LinearModel(self.n_features_in_, loss=self.loss, **_settings(self))  # type: ignore[arg-type]

    def _models(self) -> dict[str, LinearModel]:
        self._require_fitted()
        return {"y": self.model_}


class SwordClassifier(_Explained, ClassifierMixin, Coat):  # type: ignore[misc]  # scikit-learn has no types
    """Logistic regression that tracks a drifting target, with nothing to set.

    Two classes share one model; more have one each, and their probabilities are divided by their sum. Classes may join late:
    :meth:`predict_then_learn` lets every new label in, :meth:`partial_fit` those that ``classes`` declares.

    Parameters
    ----------
    radius, memory, clip, standardize, intercept
        As in :class:`SwordRegressor`; the radius is one of log-odds.
    lags
        How many of the last labels join the columns, as truths of "was it this class".

    Attributes
    ----------
    classes_
        Labels, the columns of ``predict_proba``: sorted, and behind them those that joined late.
    coef_, intercept_
        Of the log-odds in the units of the raw columns, shapes ``(1, d)`` and ``(1,)``, or ``(K, d)`` and ``(K,)``.
    weights_, step_sizes_, effective_step_size_, certificate_
        The experts of the model, or of the model of each class.
    """

    classes_: Any

    def __init__(
        self,
        radius: float = 32.0,
        memory: float = 2000.0,
        clip: float = 5.0,
        standardize: bool = True,
        intercept: bool = True,
        lags: int = 0,
    ) -> None:
        self.radius = radius
        self.memory = memory
        self.clip = clip
        self.standardize = standardize
        self.intercept = intercept
        self.lags = lags

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, then learn the rows once, in their order (see :meth:`SwordRegressor.fit`)."""
        self._learn(X, y, None, None, fresh=True, open_=True)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, in their order.

        Parameters
        ----------
        X, y
            As in :meth:`fit`.
        classes
            All labels to come; the first call must give them. A later call may declare more; a label that was never
            declared is refused.
        sample_weight
            Factors of the losses, shape ``(T,)``; a row of weight 0 is not learned.
        """
        if classes is None and not self.__sklearn_is_fitted__():
            raise ValueError("classes must be given to the first call of partial_fit: all labels that may come, in any order.")
        self._learn(X, y, sample_weight, classes)
        return self

    def predict_then_learn(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Labels of rows, each predicted before its own label is learned. Labels that are new join the classes first."""
        return self._labels(self._learn(X, y, sample_weight, None, open_=True))

    def predict_proba_then_learn(self, X: Any, y: Any, sample_weight: Any = None) -> Matrix:
        """The same, as probabilities of all classes known after the last row, shape ``(T, K)``."""
        return self._learn(X, y, sample_weight, None, open_=True)

    def predict(self, X: Any) -> Any:
        """The most probable label of each row, shape ``(T,)``."""
        return self._labels(self.predict_proba(X))

    def predict_proba(self, X: Any) -> Matrix:
        """Probabilities of the classes, shape ``(T, K)``."""
        self._require_fitted()
        return np.asarray(in_chunks(self.model_.predict, self._rows(X)))

    def decision_function(self, X: Any) -> Any:
        """Log-odds of the second class, shape ``(T,)``; of each class, ``(T, K)``, where there are not two."""
        self._require_fitted()
        models = self.model_.models
        scores = in_chunks(lambda part: np.column_stack([model.predict(part) for model in models]), self._rows(X))
        return scores[:, 0] if len(models) == 1 else scores

    @property
    def coef_(self) -> Matrix:
        """Change of the log-odds with each raw column."""
        return np.stack([_in_raw_units(model)[0][self.lags :] for model in self._models().values()])

    @property
    def intercept_(self) -> Vector:
        """Log-odds where all raw columns are 0."""
        return np.array([_in_raw_units(model)[1] for model in self._models().values()])

    def _labels(self, probabilities: Matrix) -> Any:
        return self.classes_[probabilities.argmax(axis=1)]

    def _learn(self, X: Any, y: Any, sample_weight: Any, classes: Any, *, fresh: bool = False, open_: bool = False) -> Matrix:
        with self._all_or_nothing():
            fresh = fresh or not self.__sklearn_is_fitted__()
            rows, y = self._rows_and_targets(X, y, reset=fresh)
            if y.dtype.kind not in "iub":  # whole numbers are labels, whatever they are
                check_classification_targets(y)
            weights = loss_weights(sample_weight, len(y))
            wanted = np.unique(y if classes is None else np.asarray(classes)) if fresh else self.classes_
            if not fresh and (open_ or classes is not None):
                wanted = _joined(wanted, y if open_ else np.asarray(classes))
            labels = _places(wanted, y)
            if fresh:
                self.model_ = self._make_for(len(wanted))
            self.classes_ = wanted
        self.model_.grow(len(wanted))
        return np.asarray(play(self.model_, rows, labels, weights))

    def _make_for(self, classes: int) -> OneModelPerClass:
        make = functools.partial(LinearModel, self.n_features_in_, loss="logistic", **_settings(self))
        return OneModelPerClass(make, classes)

    def _make(self) -> OneModelPerClass:
        return self._make_for(len(self.classes_))

    def _models(self) -> dict[str, LinearModel]:
        self._require_fitted()
        named = self.classes_ if len(self.model_.models) > 1 else self.classes_[-1:]
        return {str(label): model for label, model in zip(named, self.model_.models, strict=True)}

    def _more_state(self) -> State:
        labels = self.classes_
        text = labels.dtype.kind in "UO"
        if labels.dtype.kind == "O" and not all(isinstance(label, str) for label in labels):
            raise ValueError(f"classes_ must be numbers or strings to be saved, got {arguments.shown(labels.tolist())}.")
        return {"classes": json.dumps([labels.dtype.str, labels.tolist()]) if text else labels}

    def _load_more_state(self, saved: Mapping[str, Any]) -> None:
        labels = saved["classes"]
        if isinstance(labels, str):
            dtype, values = json.loads(labels)
            labels = np.array(values, dtype=dtype)
        self.classes_ = labels


class SwordAggregator(_Regression):
    """Combine the forecasts of several models by weights that drift.

    Each column of X is one model's forecast of y. The weights are not negative and sum to 1, and follow whichever models
    are good at present; where the best one changes, they beat every fixed combination.

    Parameters
    ----------
    loss
        ``"squared"``, or ``"huber"`` where the target has heavy tails.
    memory
        Rounds that the weights of the experts, each a way to combine, remember.

    Attributes
    ----------
    weights_
        Weight of each forecast, shape ``(d,)``.
    effective_step_size_
        How fast the weights follow: 1 believes the last row, 2^-13 thousands of them.

    Examples
    --------
    >>> import numpy as np
    >>> from swordplay.sklearn import SwordAggregator
    >>> y = np.random.default_rng(0).normal(size=300).cumsum()
    >>> forecasts = np.column_stack([y + 1.0, y - 1.0, y + 20.0])
    >>> SwordAggregator().fit(forecasts, y).weights_.round(1)
    array([0.5, 0.5, 0. ])
    """

    def __init__(self, loss: str = "squared", memory: float = 2000.0) -> None:
        self.loss = loss
        self.memory = memory

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a mean of the columns, whatever the target: no regression in general
        return tags

    @property
    def weights_(self) -> Vector:
        """Weight of each forecast, shape ``(d,)``."""
        self._require_fitted()
        return np.asarray(self.model_.combination)

    @property
    def effective_step_size_(self) -> float:
        """Weighted geometric mean of the step sizes."""
        self._require_fitted()
        return float(self.model_.effective_step_size)

    def _make(self) -> Mixture:
        if self.loss not in ("squared", "huber"):
            raise ValueError(f"loss must be 'squared' or 'huber', got {arguments.shown(self.loss)}.")
        return Mixture(self.n_features_in_, loss=self.loss, memory=arguments.positive("memory", self.memory))


def _settings(estimator: SwordRegressor | SwordClassifier) -> dict[str, Any]:
    """The parameters that both kinds have, checked."""
    return {
        "radius": arguments.positive("radius", estimator.radius),
        "memory": arguments.positive("memory", estimator.memory),
        "clip": arguments.positive("clip", estimator.clip),
        "standardize": bool(estimator.standardize),
        "intercept": bool(estimator.intercept),
        "lags": arguments.whole("lags", estimator.lags, least=0),
    }


def _in_raw_units(model: LinearModel) -> tuple[Vector, float]:
    """Coefficients of lags and raw columns, and the intercept.

    Where nothing is clipped, x (v - c)/s = (x/s) v - (x/s) c; a column that has not spread yet counts for nothing.
    """
    columns = model.columns.state()
    decision, spreads = model.engine.decision, columns["spreads"]
    coefficients = np.divide(decision[: len(spreads)], spreads, out=np.zeros_like(spreads), where=spreads > 0)
    constant = decision[len(spreads) :].sum() + (0.0 if model.loss == "logistic" else model.target.center)
    return coefficients, float(constant - coefficients @ columns["centers"])


def _joined(known: Any, more: Any) -> Any:
    """Classes that were known, and behind them those that join, so that no column of ``predict_proba`` moves."""
    _require_kind(known, more)
    late = np.unique(more[~np.isin(more, known)])
    return np.concatenate([known, late]) if len(late) else known


def _places(classes: Any, y: Any) -> Any:
    """The place of each label among the classes."""
    _require_kind(classes, y)
    order = np.argsort(classes)
    places = order[np.minimum(np.searchsorted(classes, y, sorter=order), len(classes) - 1)]
    strange = classes[places] != y
    if strange.any():
        raise ValueError(
            f"y holds the label {y[strange][0]!r}, which is none of the classes {arguments.shown(classes.tolist())}. "
            "Declare it with classes=, or let predict_then_learn take it in."
        )
    return places


def _require_kind(classes: Any, labels: Any) -> None:
    """Strings and numbers have no common order, and a label of the other kind is a mistake."""
    if (classes.dtype.kind in "USO") != (labels.dtype.kind in "USO"):
        raise ValueError(
            f"labels must stay of one kind: the classes are {arguments.shown(classes.tolist())}, "
            f"got {arguments.shown(np.unique(labels).tolist())}. Convert y."
        )
