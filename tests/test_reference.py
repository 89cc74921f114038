"""Reference results: cases come out the same twice, and a planted difference is found and told
from rounding.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from worlds import reference
from worlds.reference_cases.values import STORED_WHOLE, Sized, difference, encode

SCRIPT = Path(reference.__file__)
NAMES = (
    "learners/ball, squared, jumps: OGD",
    "learners/row by row: Sword",
    "theory/pools",
    "theory/bound: oegd",
    "theory/loss: huber",
)
SELECTION = [text for name in NAMES for text in ("--only", name)]
TIMEOUT = 300  # seconds; a watchdog, many times what it takes


def script(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reference") / "first.json"
    done = script("write", path, *SELECTION, "--jobs", "1")
    assert done.returncode == 0, done.stderr
    return path


def test_a_selection_written_twice_is_identical(written: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    assert script("write", again, *SELECTION, "--jobs", "2").returncode == 0
    compared = script("compare", written, again)
    assert compared.returncode == 0, compared.stdout
    assert compared.stdout.startswith("6 identical, 0 rounding, 0 differs, 0 missing")
    assert again.read_bytes() == written.read_bytes()


@pytest.mark.parametrize(
    ("change", "verdict", "code"), [(1e-9, "differs", 1), (1e-13, "rounding", 0)]
)
def test_a_changed_number_in_a_file_is_reported(
    written: Path, tmp_path: Path, change: float, verdict: str, code: int
) -> None:
    results = json.loads(written.read_text())
    case = results["learners/ball, squared, jumps: OGD"]
    case["total loss"] = (float.fromhex(case["total loss"]) * (1 + change)).hex()
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(results))
    compared = script("compare", written, path)
    assert compared.returncode == code
    assert compared.stdout.splitlines()[0].startswith(
        f"{verdict:9} learners/ball, squared, jumps: OGD: total loss by {change:.1e} "
    )


def test_a_case_that_is_missing_or_fails_is_reported(written: Path) -> None:
    before = json.loads(written.read_text())
    after = copy.deepcopy(before)
    del after["theory/pools"]
    after["theory/loss: huber"] = {"error": "ValueError: no"}
    lines, same = reference.compare(before, after)
    assert not same
    assert lines[:2] == [
        "differs   theory/loss: huber: no error; then ValueError: no",
        "missing   theory/pools",
    ]
    assert reference.compare(after, before)[1] is False


@pytest.mark.parametrize("size", [1, STORED_WHOLE, STORED_WHOLE + 1, 3000])
@pytest.mark.parametrize("change", [1e-9, 1e-13])
def test_one_changed_value_of_an_array_is_found_wherever_it_is(size: int, change: float) -> None:
    before = np.random.default_rng(0).uniform(1.0, 2.0, size)
    for place in {0, size // 3, size // 2 + 1 if size > 2 else 0, size - 1}:
        after = before.copy()
        after[place] *= 1 + change
        found = difference(encode(before), encode(after))
        assert found is not None
        assert (found.relative > reference.TOLERANCE) == (change == 1e-9)


def test_values_that_changed_places_are_found() -> None:
    before = np.random.default_rng(1).normal(size=500)
    after = before.copy()
    after[[100, 101]] = after[[101, 100]]
    found = difference(encode(before), encode(after))
    assert found is not None
    assert found.relative > 1e-3


def test_shapes_texts_and_places_of_nan_are_compared() -> None:
    numbers = np.arange(100.0)
    holes = numbers.copy()
    holes[7] = np.nan
    pairs = [
        (numbers, numbers.reshape(4, 25)),
        (numbers, holes),
        ("a", "b"),
        (["x"], ["y"]),
        (1, 2),
        (None, 0.0),
    ]
    assert all(
        difference(encode(a), encode(b)) == (np.inf, difference(encode(a), encode(b)).text)
        for a, b in pairs
    )
    assert difference(encode(holes), encode(holes.copy())) is None


def test_a_remainder_is_compared_on_the_scale_that_it_names() -> None:
    assert (
        difference(encode(Sized(1e-14, 1.0)), encode(Sized(3e-14, 1.0))).relative
        < reference.TOLERANCE
    )
    assert difference(encode(1e-14), encode(3e-14)).relative > 0.5


def test_names_of_cases_are_unique_and_can_be_selected() -> None:
    names = reference.names()
    assert len(names) == len(set(names)) > 300
    assert set(reference.names(["theory/pools", "keys/"])) == {
        name for name in names if name == "theory/pools" or name[:5] == "keys/"
    }
