"""Learning from streams whose target drifts: the Sword algorithms, their engine, and what proves them.

>>> import swordplay as sp
>>> learner = sp.Sword(sp.Ball(dim=2))
>>> learner.observe(sp.SquaredLoss([1.0, 0.5], target=0.8))
>>> learner.decision.shape
(2,)
"""

import importlib as _importlib
from typing import Any as _Any

from swordplay import engine
from swordplay.base import checkpoint
from swordplay.base.earlier import install as _install_earlier_names
from swordplay.base.types import Domain, Learner, Loss, Stream
from swordplay.parts import metas, pools, rates, streams
from swordplay.parts.domains import Ball, Box, Simplex
from swordplay.parts.learners import (
    CBCE,
    OEGD,
    OGD,
    OMGD,
    PBGD,
    SACS,
    SAOL,
    Ader,
    AderTrueLosses,
    Aligator,
    Arrows,
    Curved,
    MetaGrad,
    MildOGD,
    OneProjection,
    OptimisticOGD,
    RestartedOGD,
    Sword,
    SwordAgeless,
    SwordBest,
    SwordPlusPlus,
    SwordSmall,
    SwordVar,
)
from swordplay.parts.losses import FunctionLoss, HuberLoss, LogisticLoss, PinballLoss, QuadraticLoss, SquaredLoss, WeightedLoss
from swordplay.parts.streams import LinearStream, PlantedStream
from swordplay.theory.game import Round, play, rounds
from swordplay.theory.regret import (
    Ledger,
    Quantity,
    bounds,
    comparator_loss,
    empirical_gradient_variation,
    function_variation,
    gradient_bound,
    gradient_variation,
    hindsight,
    path_length,
    smoothness,
    squared_gradients,
    squared_path_length,
)

__version__ = "0.1.0"

_install_earlier_names()

__all__ = [
    "CBCE",
    "OEGD",
    "OGD",
    "OMGD",
    "PBGD",
    "SACS",
    "SAOL",
    "Ader",
    "AderTrueLosses",
    "Aligator",
    "Arrows",
    "Ball",
    "Box",
    "Curved",
    "Domain",
    "FunctionLoss",
    "HuberLoss",
    "Learner",
    "Ledger",
    "LinearStream",
    "LogisticLoss",
    "Loss",
    "MetaGrad",
    "MildOGD",
    "OneProjection",
    "OptimisticOGD",
    "PinballLoss",
    "PlantedStream",
    "QuadraticLoss",
    "Quantity",
    "RestartedOGD",
    "Round",
    "Simplex",
    "SquaredLoss",
    "Stream",
    "Sword",
    "SwordAgeless",
    "SwordBest",
    "SwordPlusPlus",
    "SwordSmall",
    "SwordVar",
    "WeightedLoss",
    "bounds",
    "checkpoint",
    "comparator_loss",
    "empirical_gradient_variation",
    "engine",
    "function_variation",
    "gradient_bound",
    "gradient_variation",
    "hindsight",
    "metas",
    "path_length",
    "play",
    "pools",
    "rates",
    "rounds",
    "smoothness",
    "squared_gradients",
    "squared_path_length",
    "streams",
]


def __getattr__(name: str) -> _Any:
    """``swordplay.track``, imported with its first use: it needs pyarrow, which nothing else here does."""
    if name != "track":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _importlib.import_module("swordplay.application.frames").track


def __dir__() -> list[str]:
    return sorted([*globals(), "track"])
