"""What a learner is made of, for those who build the same learner another way."""

from __future__ import annotations

from typing import NamedTuple

from swordplay.core.types import Domain, Setting, Vector
from swordplay.parts.experts import Experts
from swordplay.parts.metas.optimism import Optimism
from swordplay.parts.rates import Rate


class Parts(NamedTuple):
    """The parts of a learner; for a lone expert those of the meta are placeholders."""

    domain: Domain
    experts: tuple[Experts, ...]
    """Kinds of experts, in the order in which their points are stacked."""
    prior: Vector
    """Weights before the first round, shape ``(N,)``."""
    rate: Rate
    setting: Setting
    optimism: Optimism
    shared: bool = False
    """Whether all experts descend along the gradient at the decision."""
    weighed: bool = True
    """Whether there is a meta; a lone expert has none."""
    grows: bool = False
    """Whether the fastest expert of each kind is forked as rounds go by."""
    capped: bool = False
    """Whether the first expert of each kind is capped (``experts.gauge``)."""
    headed: bool = False
    """Whether the certificate keeps a vector an expert, the sum of its steps over their sizes."""
    charge: float = 0.0
    """What the meta charges each expert for the squared distance that it moves; 2L in Sword++."""
