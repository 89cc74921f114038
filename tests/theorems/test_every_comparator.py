r"""The theorems against *all* comparators: no sequence there is breaks a bound.

Hindsight proves for a penalty λ that no sequence has a loss below :math:`L(\lambda) - \lambda P`.
Many such lines bound the losses of all sequences from below, as a convex and piecewise linear
function of their path length P. The bounds are concave in path length and comparator loss together,
so between two corners of the lines the regret less the bound is convex: it is largest at a corner,
and the corners stand for every P.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, count, islice, pairwise

import numpy as np
import pytest

import swordplay as sp
from games import Game, Match, random_game
from theorems.test_bounds import SHARP, Contestant, Facts, safe, singles
from tolerances import THEOREM

QUICK, DEEP, CHUNK = 24, 2_000, 20
"""Games in every run, games of the campaign, and how many of those make one test."""
SHORT = 160
"""Rounds of a game that every run plays at the most: one game in twenty is longer, and left to
the campaign.
"""
CLOSED, CLOSER = 1e-5, 1e-9
"""Tolerances of the sequences, of the first lines and of later ones: lines are lower by their gaps,
so a loose one can only cry
wolf, as it does where a certificate is the regret itself."""
REFINEMENTS, COARSE = 60, 10
"""Lines that may be added where the first few prove too little, and how many of them may be
loose.
"""

Limit = Callable[[float, float], float]
"""A bound on the regret, as a function of path length and comparator loss."""


class Floor:
    """What no sequence can lose less than, as the largest of some lines.

    The losses of the games are never negative.
    """

    def __init__(self, match: Match) -> None:
        self._stream = match.game.table.stream_of(match.which)
        self._domain = match.game.domain
        self.longest = self._domain.diameter * (len(match.which) - 1)
        steepest = match.game.gradient_bound * len(match.which)
        self._lines = {0.0: 0.0}
        self.found: list[tuple[float, float]] = []
        for share in (1.0, 0.1, 0.01, 0.001):
            self.draw(share * steepest)

    def draw(self, penalty: float, tolerance: float = CLOSED) -> None:
        best = sp.hindsight.best_sequence(
            self._stream, self._domain, penalty=penalty, tolerance=tolerance
        )
        self._lines[penalty] = best.loss + penalty * best.path_length - best.gap
        self.found.append((best.path_length, best.loss))

    def at(self, path: float) -> float:
        return max(bound - penalty * path for penalty, bound in self._lines.items())

    def corners(self) -> Iterator[tuple[float, float]]:
        """Path lengths where neighbouring lines meet, each with a penalty between theirs.

        And the two ends.
        """
        steep, *_, flat = penalties = sorted(self._lines, reverse=True)
        yield 0.0, 10 * steep
        for left, right in pairwise(penalties):
            path = (self._lines[left] - self._lines[right]) / (left - right)
            yield (
                min(max(path, 0.0), self.longest),
                math.sqrt(left * right) if right > 0 else left / 10,
            )
        yield self.longest, penalties[-2] / 10 if flat == 0.0 else flat / 10


def steepness(limit: Limit, path: float, floor: Floor) -> float:
    """By how much a limit grows with the path length."""
    beyond, before, loss = (
        path + 1e-6 * floor.longest,
        max(path - 1e-6 * floor.longest, 0.0),
        floor.at(path),
    )
    return max((limit(beyond, loss) - limit(before, loss)) / (beyond - before), 0.0)


def breaks(floor: Floor, total_loss: float, limit: Limit) -> bool:
    """Whether some sequence has a regret above its limit.

    Lines are added until none can, or one does.
    """

    def over(path: float, loss: float) -> float:
        bound = limit(path, loss)
        return total_loss - loss - bound - THEOREM * (total_loss + loss + abs(bound))

    for turn in range(REFINEMENTS):
        worst, penalty, path = max(
            (over(path, floor.at(path)), between, path) for path, between in floor.corners()
        )
        if worst <= 0.0:
            return False
        if any(over(path, loss) > 0.0 for path, loss in floor.found):
            break
        if (
            turn % 2
            # no line proves more about comparators of this length than the one as steep as the
            # limit
        ):
            penalty = steepness(limit, path, floor) or penalty
        floor.draw(penalty, CLOSED if turn < COARSE else CLOSER)
    return True


def limits(contestant: Contestant, variation: float) -> Iterator[tuple[str, Limit]]:
    name, learner, bound = contestant
    yield f"{name} certificate", lambda path, loss: learner.certificate(path)
    if bound is not None:
        yield f"{name} bound", lambda path, loss: bound(Facts(path, loss, variation))


def check(game: Game, share: float = 1.0) -> list[str]:
    """Play a game with every contestant; which (shares of) bounds some sequence breaks."""
    floor: Floor | None = None
    broken, variation = [], 0.0
    for contestant in chain(singles(game), safe(game)):
        match = game.play(contestant.learner)
        # Without an adversary all contestants met the same losses.
        if floor is None or game.adaptive:
            floor, variation = Floor(match), match.variation
        for what, limit in limits(contestant, variation):
            if breaks(floor, match.total_loss, partial(_share, share, limit)):
                broken.append(f"{game}: {what}")
    return broken


def _share(share: float, limit: Limit, path: float, loss: float) -> float:
    return share * limit(path, loss)


def short_games() -> list[int]:
    return list(islice((seed for seed in count() if random_game(seed).horizon <= SHORT), QUICK))


@pytest.mark.parametrize("seed", short_games())
def test_no_sequence_breaks_a_bound(seed: int) -> None:
    assert check(random_game(seed)) == []


@pytest.mark.deep
@pytest.mark.parametrize("first", range(0, DEEP, CHUNK))
def test_no_sequence_breaks_a_bound_in_the_campaign(first: int) -> None:
    assert [what for seed in range(first, first + CHUNK) for what in check(random_game(seed))] == []


def test_half_of_a_certificate_would_be_broken() -> None:
    """The search finds what there is to find: on games that come close to the certificates, half
    of them is not enough.
    """
    broken = {what.split(": ")[1] for seed in SHARP for what in check(random_game(seed), share=0.5)}
    assert {what for what in broken if what.endswith("certificate")} == {
        f"{name} certificate"
        for name in ("OGD", "OEGD", "SwordVar", "SwordSmall", "SwordBest", "Ader", "Sword")
    }


def test_the_floor_is_one() -> None:
    """No comparator of the games, and no random one, loses less than the floor."""
    rng = np.random.default_rng(0)
    for seed in range(12):
        game = random_game(seed)
        match = game.play(sp.OGD(game.domain, 0.5 / game.smoothness))
        floor = Floor(match)
        wild = game.domain.project(
            game.domain.center + game.domain.diameter * rng.normal(size=game.path.shape)
        )
        for path in (*match.comparators().values(), wild):
            loss = match.comparator_loss(path)
            assert floor.at(sp.path_length(path)) <= loss + THEOREM * match.total_loss
