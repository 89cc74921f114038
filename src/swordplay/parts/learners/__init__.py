"""Learners: each assembles experts, a meta, optimism, step sizes and a learning rate."""

from typing import TYPE_CHECKING

from swordplay.core.lazy import lazy_attributes

if TYPE_CHECKING:
    from swordplay.parts.learners.ader import Ader, AderTrueLosses
    from swordplay.parts.learners.arrows_aligator import Aligator, Arrows
    from swordplay.parts.learners.metagrad_curved import Curved, MetaGrad
    from swordplay.parts.learners.mild_ogd import MildOGD
    from swordplay.parts.learners.ogd_oegd import OEGD, OGD, OptimisticOGD
    from swordplay.parts.learners.one_projection_pbgd import PBGD, OneProjection
    from swordplay.parts.learners.restarted_ogd_omgd import OMGD, RestartedOGD
    from swordplay.parts.learners.saol_cbce_sacs import CBCE, SACS, SAOL
    from swordplay.parts.learners.sword import Sword, SwordAgeless
    from swordplay.parts.learners.sword_plus_plus import SwordPlusPlus
    from swordplay.parts.learners.sword_var_small_best import SwordBest, SwordSmall, SwordVar
else:
    __getattr__, __dir__ = lazy_attributes(
        __name__,
        {
            "ader": "Ader AderTrueLosses",
            "arrows_aligator": "Aligator Arrows",
            "metagrad_curved": "Curved MetaGrad",
            "mild_ogd": "MildOGD",
            "ogd_oegd": "OEGD OGD OptimisticOGD",
            "one_projection_pbgd": "PBGD OneProjection",
            "restarted_ogd_omgd": "OMGD RestartedOGD",
            "saol_cbce_sacs": "CBCE SACS SAOL",
            "sword": "Sword SwordAgeless",
            "sword_plus_plus": "SwordPlusPlus",
            "sword_var_small_best": "SwordBest SwordSmall SwordVar",
        },
    )

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
    "Curved",
    "MetaGrad",
    "MildOGD",
    "OneProjection",
    "OptimisticOGD",
    "RestartedOGD",
    "Sword",
    "SwordAgeless",
    "SwordBest",
    "SwordPlusPlus",
    "SwordSmall",
    "SwordVar",
]
