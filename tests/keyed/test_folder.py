"""A folder of keys: goes on bit by bit, is read key by key, and is whole or as it was after a
kill.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from keyed.test_keyed import world
from swordplay.core.checkpoint import CheckpointError, CheckpointMissing
from swordplay.keyed import Keyed
from swordplay.keyed.key_bytes import HEADER, compress, decompress
from swordplay.keyed.sqlite_store import FILE, SqliteStore
from swordplay.sklearn import SwordRegressor

pytestmark = pytest.mark.xdist_group("keyed")

QUICK, DEEP = 10, 100
"""Kills."""


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"lags": 0, "curves": None},
        {"lags": 2},
        {"loss": "huber"},
        {"task": "classification", "classes": [1, 2, 3]},
    ],
)
def test_saved_and_loaded_after_every_batch_it_says_the_same(tmp_path, settings):
    whole, resumed = Keyed(**settings), Keyed(**settings)
    classes = "task" in settings
    for names, rows, targets in world(7):
        y = np.digitize(targets, [-1.0, 1.0]) + 1 if classes else targets
        assert np.array_equal(
            resumed.predict_then_learn(names, rows, y), whole.predict_then_learn(names, rows, y)
        )
        resumed.save(tmp_path / "keys")
        resumed = Keyed.load(tmp_path / "keys")
        assert sorted(resumed.keys()) == sorted(whole.keys())
        assert resumed.clock == whole.clock
    for key in whole.keys():  # because it is a method of Keyed  # noqa: SIM118
        one, other = resumed.model(key), whole.model(key)
        assert np.array_equal(one.coef_, other.coef_)
        assert np.array_equal(one.certificate_, other.certificate_)
    resumed.save(tmp_path / "another")
    assert np.array_equal(
        Keyed.load(tmp_path / "another").predict(names, rows), whole.predict(names, rows)
    )


def test_a_start_and_names_of_columns_are_kept(tmp_path):
    import pandas as pd

    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 2)), columns=["x", "z"])
    start = SwordRegressor()
    start.predict_then_learn(rows.to_numpy(), rows["x"].to_numpy())
    keyed = Keyed(start=start)
    keyed.predict_then_learn(["a"] * 100, rows, rows["z"])
    keyed.save(tmp_path)
    again = Keyed.load(tmp_path)
    assert np.array_equal(again.predict(["new"], rows[:1]), start.predict(rows[:1].to_numpy()))
    with pytest.raises(ValueError, match="X must have the columns"):
        again.predict(["a"], rows[["z", "x"]][:1])
    assert again.model("a").feature_names_in_.tolist() == ["x", "z"]


def test_one_key_is_read_without_the_others(tmp_path):
    keyed, rng = Keyed(), np.random.default_rng(0)
    rows = rng.normal(size=(4000, 3))
    keyed.predict_then_learn(np.arange(4000) % 2000, rows, rows[:, 0])
    keyed.save(tmp_path)
    size = os.path.getsize(tmp_path / FILE)
    Keyed.load(tmp_path).model(5)  # whatever is imported is
    before = read()
    opened = Keyed.load(tmp_path)
    opened.model(1234)
    assert 0 < read() - before < 80_000 < size / 10
    assert list(opened._table.numbers) == [1234]
    before = os.stat(tmp_path / FILE).st_mtime_ns
    opened.predict_then_learn([1234], rows[:1], [1.0])
    written = wrote()
    opened.save(tmp_path)
    assert wrote() - written < 60_000  # one key, and not 2,000
    assert len(Keyed.load(tmp_path)) == 2000


def read():
    return _counted("rchar")


def wrote():
    return _counted("wchar")


def _counted(name):
    """Bytes that this process has read or written so far."""
    lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(lines[name])


def test_young_keys_store_the_rows_that_they_have(tmp_path):
    keyed = Keyed(lags=0, curves=None)
    rows = np.random.default_rng(0).normal(size=(60, 10))
    keyed.predict_then_learn(["three"] * 3, rows[:3], rows[:3, 0])
    keyed.predict_then_learn(["thirty"] * 30, rows[:30], rows[:30, 0])
    keyed.predict_then_learn(["sixty"] * 60, rows, rows[:, 0])
    keyed.save(tmp_path)
    folder = SqliteStore(tmp_path)
    folder.open()
    states = {row.key: row.state for row in folder.read_all()}
    sizes = {key: len(decompress(state)) for key, state in states.items()}
    assert len(states["three"]) < 1000 < len(states["sixty"]) < 0.8 * sizes["sixty"]  # compressed
    assert all(compress(decompress(state)) == state for state in states.values())
    record = 8 * (616 + 85)  # with what certificates need
    around = HEADER.size + 2 * 8  # the time, and the number of first rows
    assert sizes == {
        "three": around + record + 3 * 11 * 8,
        "thirty": around + record + 30 * 11 * 8,
        "sixty": around + record,
    }


def test_expired_keys_leave_the_folder_when_it_is_saved(tmp_path):
    keyed, row = Keyed(), np.ones((1, 1))
    for day, key in enumerate("abc"):
        keyed.predict_then_learn([key], row, [1.0], now=day)
    keyed.save(tmp_path)
    opened = Keyed.load(tmp_path)
    opened.expire(1)
    assert opened.keys() == ["b", "c"]
    assert len(Keyed.load(tmp_path)) == 3  # not yet
    opened.predict_then_learn(["a"], row, [9.0], now=2)  # begins again
    opened.save(tmp_path)
    again = Keyed.load(tmp_path)
    assert sorted(again.keys()) == ["a", "b", "c"]
    assert again.model("a").model_.rounds == 1


def test_a_folder_that_another_program_has_saved_is_refused(tmp_path):
    keyed, row = Keyed(), np.ones((1, 1))
    keyed.predict_then_learn(["a"], row, [1.0])
    keyed.save(tmp_path)
    one, other = Keyed.load(tmp_path), Keyed.load(tmp_path)
    for each in (one, other):
        each.predict_then_learn(["a"], row, [1.0])
    one.save(tmp_path)
    for act in (
        lambda: other.save(tmp_path),
        lambda: other.predict(["b"], row),
        lambda: other.keys(),
    ):
        with pytest.raises(CheckpointError, match="saved by another program since"):
            act()
    stranger = Keyed()
    stranger.predict_then_learn([7], row, [1.0])
    stranger.save(tmp_path)  # takes the place of what was there
    assert Keyed.load(tmp_path).keys() == [7]


def test_what_is_no_folder_of_keys_or_damaged_is_refused(tmp_path):
    with pytest.raises(CheckpointMissing, match="there are no keys in the folder"):
        Keyed.load(tmp_path / "nowhere")
    (tmp_path / FILE).write_bytes(b"something else" * 100)
    with pytest.raises(CheckpointError, match="file is not a database"):
        Keyed.load(tmp_path)
    (tmp_path / FILE).unlink()
    keyed = Keyed()
    keyed.predict_then_learn(["a", "b"], np.ones((2, 1)), [1.0, 2.0])
    keyed.save(tmp_path)
    whole = (tmp_path / FILE).read_bytes()
    folder = SqliteStore(tmp_path)
    folder.open()
    state = next(iter(folder.read_all())).state
    place = whole.index(state[20:60])  # somewhere in a state
    (tmp_path / FILE).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    for bad in (state[:50], b"\xff\0nothing"):
        with pytest.raises(ValueError, match=r"."):
            keyed._table.read([(1, decompress(bad))])
    with pytest.raises(CheckpointError, match=r"a state of key '.' that is damaged"):
        Keyed.load(tmp_path).predict(["a", "b"], np.ones((2, 1)))
    with closing(sqlite3.connect(tmp_path / FILE)) as base, base:
        base.execute("PRAGMA user_version = 99")
    with pytest.raises(
        CheckpointError, match="have format 99, and this version of swordplay reads 1"
    ):
        Keyed.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("key_type", value) for value in (True, "numbers")),
        *(("names", value) for value in ({"a": None}, ["a", "b"])),
        *(("dim", value) for value in ("1", 10**9)),
        ("clock", -1),
        ("lags", 10**9),
    ],
)
def test_what_keys_cannot_have_in_common_is_refused(tmp_path, name, value):
    keyed = Keyed()
    keyed.predict_then_learn(["a"], np.ones((1, 1)), [1.0])
    keyed.save(tmp_path)
    about = SqliteStore(tmp_path).open()
    for settings in (json.dumps(json.loads(about["settings"]) | {name: value}), json.dumps(value)):
        with closing(sqlite3.connect(tmp_path / FILE)) as base, base:
            base.execute("UPDATE about SET value = ? WHERE name = 'settings'", (settings.encode(),))
        with pytest.raises(CheckpointError, match="cannot be loaded"):
            Keyed.load(tmp_path)


def test_a_time_that_is_none_is_refused_though_its_checksum_fits(tmp_path):
    keyed = Keyed()
    keyed.predict_then_learn(["a"], np.ones((1, 1)), [1.0])
    keyed.save(tmp_path)
    folder = SqliteStore(tmp_path)
    about = folder.open()
    (row,) = folder.read_all()
    folder.write(about, [row._replace(seen="soon")], since=None)
    with pytest.raises(CheckpointError, match="a state of key 'a' that is damaged"):
        Keyed.load(tmp_path).predict(["a"], np.ones((1, 1)))


NURSERY = """
import os, sys
from keyed.test_folder import batch
from swordplay.keyed import Keyed
Keyed(threads=1).predict_then_learn(*batch(0))  # what is compiled is in memory now
for line in sys.stdin:
    child = os.fork()
    if child:
        print(child, flush=True)
        os.waitpid(child, 0)
        continue
    folder = sys.argv[1]
    try:
        keyed = Keyed.load(folder, threads=1)
    except FileNotFoundError:
        keyed = Keyed(threads=1)
    while True:
        keyed.predict_then_learn(*batch(keyed.clock // 400), now=keyed.clock + 400)
        keyed.save(folder)
"""
"""A process that has everything imported, and for every line that it reads has a child that
learns and saves without end.
"""


def batch(number):
    rng = np.random.default_rng(number)
    rows = rng.normal(size=(400, 3))
    return rng.integers(0, 300, 400), rows, rows @ [1.0, 2.0, 3.0] + number


def killed(folder, kills, seed):
    """Kill a program that learns and saves without end, at random moments.

    Afterwards the folder is that of some save.
    """
    rng, path = (
        np.random.default_rng(seed),
        os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
    )
    nursery = subprocess.Popen(
        [sys.executable, "-c", NURSERY, str(folder)],
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with nursery:
        for number in range(kills):
            print("go", file=nursery.stdin, flush=True)
            child = int(nursery.stdout.readline())
            time.sleep(rng.uniform(0.0, 0.1) if number else 1.0)
            os.kill(child, signal.SIGKILL)
        nursery.stdin.close()
    found = Keyed.load(folder)
    assert found.clock >= 400
    assert found.clock % 400 == 0
    twin = Keyed()
    for number in range(found.clock // 400):
        twin.predict_then_learn(*batch(number), now=twin.clock + 400)
    twin.save(folder / "twin")
    mine, theirs = ({row.key: row for row in rows_of(one)} for one in (folder, folder / "twin"))
    assert mine == theirs  # every key, every bit


def rows_of(path):
    folder = SqliteStore(path)
    folder.open()
    return folder.read_all()


def test_a_folder_survives_kills(tmp_path):
    killed(tmp_path, QUICK, seed=1)


@pytest.mark.deep
def test_a_folder_survives_many_kills(tmp_path):
    killed(tmp_path, DEEP, seed=2)


@pytest.mark.skipif(os.name != "posix", reason="permissions as on POSIX")
def test_folder_and_file_are_private(tmp_path):
    keyed, before = Keyed(), os.umask(0)
    try:
        keyed.predict_then_learn(["a"], np.ones((1, 1)), np.ones(1))
        keyed.save(tmp_path / "keys")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "keys").iterdir()}
    assert ((tmp_path / "keys").stat().st_mode & 0o777, modes) == (0o700, {FILE: 0o600})
