"""The Sword algorithms for learning from drifting streams, a compiled engine, and their theory.

>>> import swordplay as sp
>>> learner = sp.Sword(sp.Ball(dim=2))
>>> learner.observe(sp.SquaredLoss([1.0, 0.5], target=0.8))
>>> learner.decision.shape
(2,)
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

# At run time a name is imported with its first use, so that one package does not load the others.
if _TYPE_CHECKING:
    from swordplay import engine
    from swordplay.core import checkpoint
    from swordplay.core.types import Domain, Learner, Loss, Stream
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
    from swordplay.parts.losses import (
        FunctionLoss,
        HuberLoss,
        LogisticLoss,
        PinballLoss,
        QuadraticLoss,
        SquaredLoss,
        WeightedLoss,
    )
    from swordplay.parts.streams import LinearStream, PlantedStream
    from swordplay.theory import bounds, hindsight
    from swordplay.theory.game import Round, play, rounds
    from swordplay.theory.ledger import Ledger
    from swordplay.theory.quantities import (
        Quantity,
        comparator_loss,
        empirical_gradient_variation,
        gradient_bound,
        path_length,
        smoothness,
        squared_gradients,
        squared_path_length,
    )
    from swordplay.theory.variation import function_variation, gradient_variation

__version__ = "0.1.0"

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

_HOMES = {
    "swordplay.core": "checkpoint",
    "swordplay.core.types": "Domain Learner Loss Stream",
    "swordplay.parts": "metas pools rates streams",
    "swordplay.parts.domains": "Ball Box Simplex",
    "swordplay.parts.learners": """CBCE OEGD OGD OMGD PBGD SACS SAOL Ader AderTrueLosses Aligator
        Arrows Curved MetaGrad MildOGD OneProjection OptimisticOGD RestartedOGD Sword SwordAgeless
        SwordBest SwordPlusPlus SwordSmall SwordVar""",
    "swordplay.parts.losses": """FunctionLoss HuberLoss LogisticLoss PinballLoss QuadraticLoss
        SquaredLoss WeightedLoss""",
    "swordplay.parts.streams": "LinearStream PlantedStream",
    "swordplay.theory": "bounds hindsight",
    "swordplay.theory.game": "Round play rounds",
    "swordplay.theory.ledger": "Ledger",
    "swordplay.theory.quantities": """Quantity comparator_loss empirical_gradient_variation
        gradient_bound path_length smoothness squared_gradients squared_path_length""",
    "swordplay.theory.variation": "function_variation gradient_variation",
    "swordplay.api": "track",
}
"""Where each public name comes from."""
_PACKAGES = {
    "comparison",
    "core",
    "datasets",
    "engine",
    "estimators",
    "intervals",
    "keyed",
    "late",
    "parts",
    "report",
    "tables",
    "theory",
    "tracking",
}


def __getattr__(name: str) -> _Any:
    """A public name or a package, imported with its first use."""
    home = next((home for home, names in _HOMES.items() if name in names.split()), None)
    if home is None and name not in _PACKAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if home is None:
        return _importlib.import_module(f"{__name__}.{name}")
    module = _importlib.import_module(home)
    found = (
        getattr(module, name)
        if hasattr(module, name)
        else _importlib.import_module(f"{home}.{name}")
    )
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "track"})
