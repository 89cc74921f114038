r"""Regret bounds of the paper and of related work, as functions that return numbers.

Each function returns an explicit upper bound on dynamic regret, without O(). In the formulas D is
the diameter, G the gradient bound, L the smoothness, :math:`A = D^2 + 2 D P_T`, and :math:`\lambda
= \ln N` with N the number of experts.

``tuning="safe"`` (the default) is the bound, with all constants explicit, of the library's default
pools and rates (proofs: ``docs/proofs.md``); ``tuning="paper"`` is the bound of the paper's
own pools and fixed rates by the paper's lemmas.

A bound holds only under its assumptions. Given ``assumptions=learner.assumptions``, a function
raises an error if the learner has observed that one of them is false: a gradient of norm above G, a
loss whose smoothness exceeds L, more rounds than T, a negative loss.
"""

from swordplay.theory.bounds.meta_lemma_1_theorems_2_6 import (
    meta_best,
    meta_small,
    meta_var,
    optimistic_hedge,
)
from swordplay.theory.bounds.ogd_oegd_theorems_1_4 import (
    best_step_oegd,
    best_step_ogd,
    curved_expert,
    oegd,
    ogd,
)
from swordplay.theory.bounds.other_learners import (
    ader,
    ader_true_losses,
    aligator,
    cbce,
    metagrad,
    omgd,
    optimistic_ogd,
    restarted_ogd,
    sacs,
    saol,
    sword_plus_plus,
)
from swordplay.theory.bounds.other_metas import (
    ada_normal_hedge,
    adapt_ml_prod,
    fixed_share,
    squint,
)
from swordplay.theory.bounds.sword_theorems_3_5_7 import sword_best, sword_small, sword_var
from swordplay.theory.bounds.theorem import Tuning

__all__ = [
    "Tuning",
    "ada_normal_hedge",
    "adapt_ml_prod",
    "ader",
    "ader_true_losses",
    "aligator",
    "best_step_oegd",
    "best_step_ogd",
    "cbce",
    "curved_expert",
    "fixed_share",
    "meta_best",
    "meta_small",
    "meta_var",
    "metagrad",
    "oegd",
    "ogd",
    "omgd",
    "optimistic_hedge",
    "optimistic_ogd",
    "restarted_ogd",
    "sacs",
    "saol",
    "squint",
    "sword_best",
    "sword_plus_plus",
    "sword_small",
    "sword_var",
]
