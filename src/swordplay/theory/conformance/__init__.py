"""Checks for parts that you wrote yourself: what a domain, a loss, an expert, a meta or a learner
promises to the rest.

Each check plays with the part, seeded, and raises :class:`AssertionError` that says which promise
was broken and with which numbers. No test framework is needed; the package holds its own parts to
the same checks.

>>> import swordplay as sp
>>> check_domain(sp.Ball(dim=3))
>>> check_loss(sp.SquaredLoss([1.0, 2.0, 0.5], target=1.0), sp.Ball(dim=3))
>>> check_meta(sp.Sword, sp.Ball(dim=3))
"""

from swordplay.theory.conformance.domain import check_domain
from swordplay.theory.conformance.expert import check_expert
from swordplay.theory.conformance.learner import MetaLearner, check_learner, check_meta
from swordplay.theory.conformance.loss import check_loss
from swordplay.theory.conformance.weighing import check_weighing

__all__ = [
    "MetaLearner",
    "check_domain",
    "check_expert",
    "check_learner",
    "check_loss",
    "check_meta",
    "check_weighing",
]
