"""No mutated checkpoint loads: not as it was, not as anything else, and with no error but ours."""

import json
import tracemalloc

import numpy as np
import pytest

import swordplay as sp
from checkpoint.forge import MUTATIONS, START_STRUCT, mutated, resealed, sealed
from checkpoint.samples import KIND, every_type
from swordplay import river, sklearn
from swordplay.core import checkpoint
from swordplay.core.checkpoint import CheckpointError

QUICK, DEEP = 2_000, 100_000
"""Mutated files, as the project promises them."""

SMALL = checkpoint.dumps(
    {
        "rounds": 3,
        "rate": 0.5,
        "points": np.array([[0.25, -1.0]]),
        "name": "x",
        "mask": np.ones(2, bool),
    },
    kind=KIND,
)


def learned(rounds, seed):
    rng = np.random.default_rng(seed)
    learner = sp.Sword(sp.Ball(3))
    for _ in range(rounds):
        learner.observe(sp.SquaredLoss(rng.normal(size=3), rng.normal()))
    return checkpoint.dumps(learner.state(), kind=KIND)


ORIGINALS = [learned(40, seed=1), checkpoint.dumps(every_type(), kind=KIND), SMALL]
OTHERS = [
    learned(40, seed=2),
    learned(41, seed=1),
    checkpoint.dumps({**checkpoint.loads(SMALL), "rounds": 4}, kind=KIND),
]


def test_every_change_of_a_single_byte_is_found():
    data = bytearray(SMALL)
    for place, byte in enumerate(SMALL):
        for other in range(256):
            if other != byte:
                data[place] = other
                with pytest.raises(CheckpointError):
                    checkpoint.loads(data)
        data[place] = byte
    assert checkpoint.loads(data)["rounds"] == 3


def test_every_truncation_and_extension_is_found():
    for size in range(len(SMALL)):
        with pytest.raises(CheckpointError, match="is truncated"):
            checkpoint.loads(SMALL[:size])
    for extra in range(1, 200):
        for more in (bytes(extra), SMALL[:extra], b"\n" * extra):
            with pytest.raises(
                CheckpointError, match=r"is damaged: it has \d+ bytes and should have"
            ):
                checkpoint.loads(SMALL + more)


def estimator_file(folder, kind, seed):
    """The bytes of an estimator's own file."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, 3))
    targets = rows @ [1.0, -2.0, 0.5] + rng.normal(size=40)
    estimator = kind()
    if issubclass(kind, sklearn.SwordClassifier | river.SwordClassifier):
        targets = np.array(["low", "middle", "high"])[np.digitize(targets, [-1.0, 1.0])]
    if issubclass(kind, river.SwordClassifier | river.SwordRegressor):
        for values, target in zip(rows.tolist(), targets.tolist(), strict=True):
            estimator.learn_one(dict(zip("abc", values, strict=True)), target)
    else:
        estimator.fit(rows, targets)
    path = folder / f"{seed}"
    estimator.save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def estimators(tmp_path_factory):
    """Files of every estimator, others of the same kind, and how to load them."""
    folder = tmp_path_factory.mktemp("estimators")
    kinds = [
        getattr(library, name)
        for library in (sklearn, river)
        for name in library.__all__
        if name.startswith("Sword")
    ]
    return [
        (estimator_file(folder, kind, 1), estimator_file(folder, kind, 2), kind.load)
        for kind in kinds
    ]


@pytest.fixture(scope="module")
def states():
    """The same of states."""
    return [
        (one, other, lambda path: checkpoint.load(path, kind=KIND))
        for one, other in zip(ORIGINALS, OTHERS, strict=True)
    ]


@pytest.fixture(scope="module", params=["states", "estimators"])
def files(request):
    return request.getfixturevalue(request.param)


def assert_refused(files, path, count, seed):
    """Write mutated files and load them."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        original, other, load = files[number % len(files)]
        path.unlink(missing_ok=True)  # some file systems go to the disk when a file is written over
        path.write_bytes(mutated(original, other, rng))
        with pytest.raises(CheckpointError) as caught:
            load(path)
        assert str(path) in str(caught.value)


def test_mutated_files_are_refused(files, tmp_path):
    assert_refused(files, tmp_path / "m.ckpt", QUICK, seed=1)


@pytest.mark.deep
def test_very_many_mutated_files_are_refused(files, tmp_path):
    assert_refused(files, tmp_path / "m.ckpt", DEEP, seed=2)


def test_files_that_are_not_mutated_load(files, tmp_path):
    for original, _, load in files:
        (tmp_path / "m.ckpt").write_bytes(original)
        assert load(tmp_path / "m.ckpt") is not None


def assert_harmless(count, seed):
    """Load mutated bytes whose checksum fits again: nothing can know what they were, but they
    must still be a state.
    """
    rng = np.random.default_rng(seed)
    loaded = 0
    for number in range(count):
        k = number % len(ORIGINALS)
        data = resealed(mutated(ORIGINALS[k], OTHERS[k], rng))
        try:
            state = checkpoint.loads(data)
        except CheckpointError:
            continue
        loaded += 1
        assert checkpoint.loads(checkpoint.dumps(state, kind=KIND)).keys() == state.keys()
    assert 0 < loaded < count  # both sides of the checks were seen


def test_forged_checksums_do_no_harm():
    assert_harmless(QUICK, seed=3)


@pytest.mark.deep
def test_very_many_forged_checksums_do_no_harm():
    assert_harmless(DEEP, seed=4)


def assert_estimators_survive(files, path, count, seed):
    """The same for estimators: what loads can be saved again and is loaded again, and nothing
    but our own error is raised.
    """
    rng = np.random.default_rng(seed)
    loaded = 0
    for number in range(count):
        original, other, load = files[number % len(files)]
        path.unlink(missing_ok=True)
        path.write_bytes(resealed(mutated(original, other, rng)))
        try:
            estimator = load(path)
        except CheckpointError:
            continue
        loaded += 1
        estimator.save(path)
        load(path)
    assert 0 < loaded < count


def test_forged_estimators_do_no_harm(estimators, tmp_path):
    assert_estimators_survive(estimators, tmp_path / "m.ckpt", QUICK // 4, seed=6)


@pytest.mark.deep
def test_very_many_forged_estimators_do_no_harm(estimators, tmp_path):
    assert_estimators_survive(estimators, tmp_path / "m.ckpt", DEEP // 10, seed=7)


def test_each_mutation_mutates():
    rng = np.random.default_rng(5)
    for mutation in MUTATIONS:
        assert any(mutation(bytearray(SMALL), OTHERS[2], rng) != SMALL for _ in range(10))


@pytest.mark.parametrize(
    "shape",
    [
        [2**40],
        [2**62, 2**62],
        [2**31, 2**31, 0, 5],
        [-1],
        [2**80],
        [1.0],
        [True],
        "3",
        None,
        [1] * 65,
    ],
)
def test_a_declared_shape_is_checked_before_anything_is_allocated(shape):
    forged = sealed(
        {"kind": KIND, "library": "x", "entries": [["x", "float64", shape]]}, payload=bytes(8)
    )
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError, match="is malformed"):
            checkpoint.loads(forged)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_an_empty_array_of_an_impossible_shape_is_refused():
    for shape in ([0, 2**62, 2**62], [0] * 64 + [1], [0, 2**63]):
        with pytest.raises(CheckpointError, match="has the shape"):
            checkpoint.loads(
                sealed({"kind": KIND, "library": "x", "entries": [["x", "float64", shape]]})
            )


@pytest.mark.parametrize(
    ("header", "payload"),
    [
        (b"", b""),
        (b"{", b""),
        (b"\xff\xfe", b""),
        (b"[" * 100_000, b""),
        (b'{"kind": "a", "entries": ' + b"9" * 10_000 + b"}", b""),
        ([], b""),
        (None, b""),
        ({"kind": KIND}, b""),
        ({"kind": 3, "entries": []}, b""),
        ({"kind": KIND, "entries": {}}, b""),
        ({"kind": KIND, "entries": [3]}, b""),
        ({"kind": KIND, "entries": [["x"]]}, b""),
        ({"kind": KIND, "entries": [[1, "int", 1]]}, b""),
        ({"kind": KIND, "entries": [["x", ["int"], 1]]}, b""),
        ({"kind": KIND, "entries": [["x", "object", [1]]]}, bytes(8)),
        ({"kind": KIND, "entries": [["x", "int", 1.5]]}, b""),
        ({"kind": KIND, "entries": [["x", "int", True]]}, b""),
        ({"kind": KIND, "entries": [["x", "int", float("nan")]]}, b""),
        ({"kind": KIND, "entries": [["x", "truth", 1]]}, b""),
        ({"kind": KIND, "entries": [["x", "string", None]]}, b""),
        ({"kind": KIND, "entries": [["x", "float", None]]}, bytes(7)),
        ({"kind": KIND, "entries": [["x", "bool", [1]]]}, b"\x02"),
        ({"kind": KIND, "entries": [["b", "int", 1], ["a", "int", 1]]}, b""),
        ({"kind": KIND, "entries": [["a", "int", 1], ["a", "int", 2]]}, b""),
        ({"kind": KIND, "entries": []}, b"more"),
    ],
)
def test_a_malformed_header_is_refused(header, payload):
    with pytest.raises(CheckpointError, match="is malformed"):
        checkpoint.loads(sealed(header, payload))


def test_a_header_that_does_not_fit_is_refused():
    header = json.dumps({"kind": KIND, "entries": []}).encode()
    data = bytearray(sealed(header))
    data[: START_STRUCT.size] = START_STRUCT.pack(b"\x89SWORD\r\n", 1, 2**32 - 1, len(data))
    forged = bytearray(resealed(bytes(data)))
    with pytest.raises(CheckpointError, match="its header does not fit"):
        checkpoint.loads(forged)


def test_a_newer_format_is_told_from_damage():
    newer = sealed(b"whatever the future holds", b"1234", version=2)
    with pytest.raises(
        CheckpointError, match=r"has format version 2, and this library reads 1\. Upgrade swordplay"
    ):
        checkpoint.loads(newer)
    damaged = bytearray(SMALL)
    damaged[8] = 2
    with pytest.raises(CheckpointError, match="is damaged: its checksum does not match"):
        checkpoint.loads(damaged)


@pytest.mark.parametrize(
    "foreign",
    [
        b"PK\x03\x04 a zip file",
        b"\x80\x05 a pickle",
        b"text",
        b"\x93NUMPY",
        b"\x00" * 1000,
        b"\x89PNG\r\n\x1a\n",
    ],
)
def test_foreign_bytes_are_told_so(foreign):
    with pytest.raises(CheckpointError, match=r"is not a checkpoint of swordplay\. Check the path"):
        checkpoint.loads(foreign)
