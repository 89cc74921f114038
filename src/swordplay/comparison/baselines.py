"""What anybody could predict without learning from the columns, as ``swordplay track`` counts
it.
"""

from __future__ import annotations

import numpy as np

from swordplay.comparison.field import Contest, ParticipantPredictions


def no_change(field: Contest) -> ParticipantPredictions:
    """The last target again."""
    return field.scored(np.concatenate([field.targets[:1], field.targets[:-1]]).astype(np.float64))


def running_mean(field: Contest) -> ParticipantPredictions:
    """The mean of all targets before."""
    before = np.maximum(np.arange(len(field.targets)), 1)
    return field.scored(np.concatenate([[0.0], np.cumsum(field.targets)[:-1]]) / before)


def majority_class(field: Contest) -> ParticipantPredictions:
    """The class that was the most frequent before; of several, the one that appeared first."""
    order = field.targets[field.debuts]
    seen = np.cumsum(field.targets[:, None] == order, axis=0)
    best = np.concatenate([[0], seen[:-1].argmax(axis=1)])
    return field.scored(order[best].astype(np.float64))
