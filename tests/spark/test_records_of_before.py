"""Records that were written when the engine's layout was another one are those of today."""

from pathlib import Path

import numpy as np
import pytest

from swordplay.core import checkpoint
from swordplay.keyed.record import Form, Young

GOLDEN = Path(__file__).parent / "golden"
"""Two keys after 25 and 15 rows, of numbers with one lag and of two classes."""
ANOTHER_MACHINE = 1e-11
"""The files come from another processor, whose sums may be added up in another order."""
EDGES = np.array([0, 25, 40])


@pytest.fixture
def rows():
    rng = np.random.default_rng(5)
    features = rng.normal(size=(60, 3))
    return features, features @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=60)


@pytest.mark.parametrize(("loss", "lags"), [("squared", 1), ("logistic", 0)])
def test_a_record_of_before_goes_on(loss, lags, rows):
    features, targets = rows
    goals = targets if loss == "squared" else (targets > 0).astype(np.float64)
    saved = checkpoint.load(GOLDEN / f"{loss}.ckpt", kind="records")
    form, who = Form(3, loss, lags), np.array([0, 1])
    records, young = np.tile(form.fresh, (2, 1)), form.young(2)
    form.play(records, young, who, who, EDGES, features[:40], goals[:40])
    np.testing.assert_allclose(
        saved["records"], records, rtol=ANOTHER_MACHINE, atol=ANOTHER_MACHINE
    )
    old, old_young = (
        np.array(saved["records"]),
        Young(np.array(saved["first"]), np.array(saved["first_targets"])),
    )
    form.require_sane(old, np.array([True, True]), old_young)
    rest = (who, who, np.array([0, 10, 20]), features[40:], goals[40:])
    np.testing.assert_allclose(
        form.play(old, old_young, *rest),
        form.play(records, young, *rest),
        rtol=ANOTHER_MACHINE,
        atol=ANOTHER_MACHINE,
    )
