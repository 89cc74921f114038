r"""Gradient and function variation of a stream over a domain, :math:`V_T` and :math:`V^f_T`.

Each term is a supremum over the domain: exact where a formula, a finite list of candidates or a
search finds it, and elsewhere a certified upper bound. The attribute ``exact`` of the result says
which it is. The table is for a ball, a box and a simplex.

=================================  =========================================  =========================================
losses                             gradient variation                         function variation
=================================  =========================================  =========================================
all squared                        exact                                      exact
quadratics, ball                   exact                                      exact
quadratics, simplex                exact                                      exact if a vertex is worst in every round
quadratics, box                    exact if Hessians are diagonal or d <= 10  exact if Hessians are diagonal
all logistic, or all Huber         exact; on a simplex only if d <= 24        upper bound
others, with a known smoothness    upper bound                                upper bound
=================================  =========================================  =========================================

For a domain of another kind the smaller of the suprema over an enclosing ball and an enclosing box
is an upper bound, exact in one dimension.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import islice, pairwise
from typing import Protocol

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Domain, Loss
from swordplay.parts.domains import reach
from swordplay.parts.streams import LinearStream
from swordplay.parts.streams.linear import LinearRounds
from swordplay.theory.quantities import Quantity
from swordplay.theory.variation_linear import LinearChange
from swordplay.theory.variation_quadratic import QuadraticChange, Suprema

CHUNK_NUMBERS = 1 << 19
"""Numbers of a stream that are processed at a time (4 MB), so that long streams fit in memory."""


class Change(Protocol):
    """A batch of B changes, each from one loss to the next."""

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        ...

    def gradient_suprema(self, domain: Domain) -> Suprema:
        """Largest squared norm of each change's gradient over the domain."""
        ...

    def function_suprema(self, domain: Domain) -> Suprema:
        """Largest absolute value of each change over the domain."""
        ...


def gradient_variation(stream: Iterable[Loss], domain: Domain) -> Quantity:
    r"""Gradient variation over a domain.

    .. math:: V_T = \sum_{t \ge 2} \sup_{x \in X} \|\nabla f_t(x) - \nabla f_{t-1}(x)\|^2

    Parameters
    ----------
    stream
        The losses; a finite stream.
    domain
        X.

    Returns
    -------
    Quantity
        A float whose ``exact`` says whether it is V_T or an upper bound on it (see the table of
        this module).

    Examples
    --------
    >>> from swordplay.parts.streams import paper
    >>> stream = paper.gradual(101)
    >>> variation = gradient_variation(stream, stream.domain)
    >>> variation.exact, bool(variation <= 4 / 101)
    (True, True)

    References
    ----------
    Zhao et al. (2020), the definition of V_T.
    """
    return _total(stream, domain, lambda change, domain: change.gradient_suprema(domain))


def function_variation(stream: Iterable[Loss], domain: Domain) -> Quantity:
    r"""Function variation over a domain.

    .. math:: V^f_T = \sum_{t \ge 2} \sup_{x \in X} |f_t(x) - f_{t-1}(x)|

    Parameters
    ----------
    stream
        The losses; a finite stream.
    domain
        X.

    Returns
    -------
    Quantity
        A float whose ``exact`` says whether it is the variation or an upper bound on it (see the
        table of this module).

    References
    ----------
    Besbes, Gur, Zeevi (2015), "Non-stationary stochastic optimization".
    """
    return _total(stream, domain, lambda change, domain: change.function_suprema(domain))


def _total(
    stream: Iterable[Loss], domain: Domain, suprema_of: Callable[[Change, Domain], Suprema]
) -> Quantity:
    """Sum of the suprema of all changes, exact if all of them are."""
    domain = arguments.domain(domain)
    total, exact = 0.0, True
    for change in _changes(stream, domain.dim):
        if change.dim != domain.dim:
            raise ValueError(
                f"domain must have the stream's dimension {change.dim}, got {domain!r} of "
                f"{domain.dim}."
            )
        values, is_exact = suprema_of(change, domain)
        total, exact = total + float(values.sum()), exact and is_exact
    return Quantity(total, exact)


@singledispatch
def _changes(stream: Iterable[Loss], dim: int) -> Iterator[Change]:
    """The changes of a stream, in chunks of rounds; consecutive chunks share one loss."""
    losses = iter(stream)
    rounds_per_chunk = max(1, CHUNK_NUMBERS // dim**2)
    shared_loss = list(islice(losses, 1))  # the last loss of the chunk before, if any
    while shared_loss and (new_losses := list(islice(losses, rounds_per_chunk))):
        yield from _changes_between([*shared_loss, *new_losses], dim)
        shared_loss = new_losses[-1:]


@_changes.register
def _(stream: LinearStream, dim: int) -> Iterator[Change]:
    rounds_per_chunk = max(1, CHUNK_NUMBERS // stream.dim)
    for start in range(0, len(stream) - 1, rounds_per_chunk):
        yield LinearChange(LinearRounds.of_stream(stream[start : start + rounds_per_chunk + 1]))


def _changes_between(losses: Sequence[Loss], dim: int) -> Iterator[Change]:
    """The changes between consecutive losses, in batches.

    One batch if all are losses of one family of linear predictions, or all are quadratics;
    otherwise one batch for each pair of losses.
    """
    rounds = LinearRounds.of_losses(losses)  # None unless all are of one linear family
    change = (
        LinearChange(rounds) if rounds is not None else QuadraticChange.between_if_quadratic(losses)
    )
    if change is not None:
        yield change
    elif len(losses) > 2:
        for pair in pairwise(losses):
            yield from _changes_between(pair, dim)
    else:
        yield ChangeOfUnknownForm(losses[0], losses[1], dim)


@dataclass(frozen=True)
class ChangeOfUnknownForm:
    """The change h between two losses of which only values, gradients and smoothness are known."""

    loss_before: Loss
    loss: Loss
    dim: int

    def gradient_suprema(self, domain: Domain) -> Suprema:
        r""":math:`(\|\nabla h(c)\| + L r)^2`, c the centre, r the largest distance from it."""
        if self.loss is self.loss_before:
            return Suprema(np.zeros(1), is_exact=True)
        bound = (self._gradient_norm_at_center(domain) + self._smoothness() * reach(domain)) ** 2
        return Suprema(np.array([bound]), is_exact=False)

    def function_suprema(self, domain: Domain) -> Suprema:
        r""":math:`|h(c)| + \|\nabla h(c)\| r + \tfrac12 L r^2`."""
        if self.loss is self.loss_before:
            return Suprema(np.zeros(1), is_exact=True)
        value_at_center = abs(
            float(self.loss.value(domain.center)) - float(self.loss_before.value(domain.center))
        )
        gradient_norm, r = self._gradient_norm_at_center(domain), reach(domain)
        bound = value_at_center + gradient_norm * r + 0.5 * self._smoothness() * r**2
        return Suprema(np.array([bound]), is_exact=False)

    def _gradient_norm_at_center(self, domain: Domain) -> float:
        """Norm of h's gradient at the centre."""
        return float(
            np.linalg.norm(
                self.loss.gradient(domain.center) - self.loss_before.gradient(domain.center)
            )
        )

    def _smoothness(self) -> float:
        """max{L_t, L_{t-1}}: for convex losses the Hessian of h lies between -L_{t-1} and L_t."""
        smoothness_of_both = []
        for loss in (self.loss_before, self.loss):
            if loss.smoothness is None:
                raise ValueError(
                    f"stream holds a loss whose smoothness is None, {arguments.short_repr(loss)}: "
                    "no supremum over the domain can be certified. Give FunctionLoss(value, "
                    "gradient, smoothness=L), or use empirical_gradient_variation."
                )
            smoothness_of_both.append(loss.smoothness)
        return max(smoothness_of_both)
