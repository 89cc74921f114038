"""What people use today.

Each peer lives in a module of its own and says so where it is not installed.
"""

from __future__ import annotations

from benchmarks.peers.river_ml import RiverExponentialWeights, RiverLinear, RiverLinearBatches
from benchmarks.peers.scikit_learn import ScikitBatches, ScikitRows
from benchmarks.peers.vowpal_wabbit import (
    NATIVE,
    NATIVE_DEFAULTS,
    VowpalBinary,
    VowpalExamples,
    VowpalText,
)
from benchmarks.timing import Contender

DENSE: tuple[Contender, ...] = (
    ScikitBatches(),
    ScikitRows(),
    RiverLinear(),
    RiverLinearBatches(),
    RiverExponentialWeights(),
    VowpalText(),
    VowpalExamples(),
    NATIVE,
    NATIVE_DEFAULTS,
    VowpalBinary(),
)
SPARSE: tuple[Contender, ...] = (
    ScikitBatches(),
    RiverLinear(),
    VowpalText(),
    VowpalExamples(),
    NATIVE,
    VowpalBinary(),
)
ONE_BY_ONE: tuple[Contender, ...] = (ScikitRows(), RiverLinear(), VowpalText(), VowpalExamples())
