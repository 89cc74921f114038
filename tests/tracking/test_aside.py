"""What the learner has said is judged in a thread of its own while it learns the next rows:
nothing of that shows.
"""

from __future__ import annotations

import importlib
import threading

import numpy as np
import pyarrow as pa
import pytest

from swordplay.tables import TableError
from swordplay.tracking import Settings, Tracker
from swordplay.tracking.contestants import OneByOne
from swordplay.tracking.outputs import Outputs
from swordplay.tracking.passages import Marks
from swordplay.tracking.stretches import FIRST_WIDTH
from swordplay.tracking.threads import BESIDE, Aside
from tracking.files import write
from tracking.test_run import files, job, run, stopped_after
from tracking.worlds import TASKS, tracked, world

RUN = importlib.import_module("swordplay.tracking.run")  # the package has a function of that name


def alone(monkeypatch):
    """Judge every piece before the next one is learned."""
    monkeypatch.setattr(RUN._Run, "_may_wait", False)


def where_judged(monkeypatch):
    """Names of the threads in which pieces are judged, as they come."""
    names, judge = [], Tracker.judge

    def noted(self, learnt):
        names.append(threading.current_thread().name)
        return judge(self, learnt)

    monkeypatch.setattr(Tracker, "judge", noted)
    return names


def nobody_is_left():
    return not any(thread.name.startswith("swordplay-judge") for thread in threading.enumerate())


@pytest.mark.parametrize("curves", [pytest.param(None, marks=pytest.mark.deep), "auto"])
@pytest.mark.parametrize("task", TASKS)
def test_the_same_with_and_without_the_thread(tmp_path, monkeypatch, task, curves):
    path = write(tmp_path / "table.csv", world(task, 3000, seed=3))
    folders = [tmp_path / "aside", tmp_path / "alone"]
    for folder in folders:
        folder.mkdir()
    names = where_judged(monkeypatch)
    one = run(job(path, output=folders[0] / "out.parquet", curves=curves))
    assert names[0] == "MainThread"
    assert sum(name.startswith("swordplay-judge") for name in names) > 10
    alone(monkeypatch)
    names.clear()
    other = run(job(path, output=folders[1] / "out.parquet", curves=curves))
    assert set(names) == {"MainThread"}
    assert files(folders[0]) == files(folders[1])
    np.testing.assert_equal(one.tracker.state(), other.tracker.state())
    assert nobody_is_left()


@pytest.mark.parametrize("task", TASKS)
def test_the_learner_counts_as_the_recorder_does(task):
    tracker, _ = tracked(world(task, 20_000, seed=4), Settings("y", curves="auto"), [700])
    there = Marks(tracker.recorder)
    assert vars(tracker.marks) == vars(there)
    assert tracker.recorder.width > 16


@pytest.mark.parametrize("options", [{}, {"curves": "auto", "lags": "auto", "level": 0.9}])
@pytest.mark.parametrize("task", TASKS)
def test_whoever_looks_at_every_end_sees_the_same(task, options, monkeypatch):
    """A learner is looked at where stretches end that last.

    Those in between are merged before anybody asks.
    """
    sizes, settings, learn = [1, 700, 8192], Settings("y", **options), Tracker.learn
    seen = []
    monkeypatch.setattr(Tracker, "learn", lambda *given: seen.append(learn(*given)) or seen[-1])
    few, _ = tracked(world(task, 20_000, seed=4), settings, sizes)
    looks = sum(len(passage.looks) for learnt in seen for passage in learnt.passages)
    seen.clear()
    monkeypatch.setattr(Marks, "lasting", lambda self, rows: FIRST_WIDTH)
    monkeypatch.setattr(
        type(few.contestants), "in_parts", lambda self, *rows: OneByOne(self.learn, *rows)
    )
    every, _ = tracked(world(task, 20_000, seed=4), settings, sizes)
    assert sum(len(passage.looks) for learnt in seen for passage in learnt.passages) > 2 * looks
    assert few.recorder.width > 2 * FIRST_WIDTH
    one, other = few.state(), every.state()
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert np.asarray(value).tobytes() == np.asarray(other[name]).tobytes(), name


def test_rows_without_a_target_follow_those_before_them_however_they_come():
    """With last targets for the first of them: whoever learned rows in between knows that they
    are apart no longer.
    """
    rows = world("regression", 400, seed=8, missing=0.0)
    missing = np.zeros(400, dtype=bool)
    missing[[*range(100, 111), *range(200, 206), *range(300, 303)]] = True
    rows = rows.set_column(6, "y", pa.array(rows.column("y").to_numpy(), mask=missing))
    settings = Settings("y", curves="auto", lags="auto")
    whole, predicted = tracked(rows, settings, [400])
    for sizes in ([111, 89, 6, 94, 100], [105, 6, 89, 3, 97], [1]):
        cut, also = tracked(rows, settings, sizes)
        assert also.combine_chunks() == predicted.combine_chunks()
        np.testing.assert_equal(cut.state(), whole.state())


@pytest.mark.parametrize("at", [1, 2, 9])
def test_an_error_in_the_thread_comes_out_and_the_run_goes_on_from_its_state(
    tmp_path, monkeypatch, at
):
    path = write(tmp_path / "table.csv", world("regression", 1500, seed=5))
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    straight.mkdir()
    broken.mkdir()
    run(job(path, output=straight / "out.csv"))
    options = {"output": broken / "out.csv", "state": tmp_path / "state", "save_every": 10}
    with monkeypatch.context() as patch:
        judge, calls = Tracker.judge, []

        def failing(self, learnt):
            calls.append(threading.current_thread().name)
            if len(calls) > at:
                raise ZeroDivisionError("in the thread")
            return judge(self, learnt)

        patch.setattr(Tracker, "judge", failing)
        with pytest.raises(ZeroDivisionError, match="in the thread"):
            run(job(path, **options))
        assert calls[-1].startswith("swordplay-judge")
    assert nobody_is_left()
    assert run(job(path, **options)).resumed > 0
    assert files(broken) == files(straight)


@pytest.mark.parametrize("without", [False, True])
def test_a_disk_that_is_full_leaves_the_state_of_before(tmp_path, monkeypatch, without):
    path = write(tmp_path / "table.csv", world("regression", 3000, seed=6))
    straight, full = tmp_path / "straight", tmp_path / "full"
    straight.mkdir()
    full.mkdir()
    run(job(path, output=straight / "out.csv"))
    options = {"output": full / "out.csv", "state": tmp_path / "state", "save_every": 200}
    with monkeypatch.context() as patch:
        put, calls = Outputs.write, []

        def failing(self, *rows):
            calls.append(rows)
            if len(calls) > 12:
                raise TableError("the disk is full")
            put(self, *rows)

        patch.setattr(Outputs, "write", failing)
        if without:
            alone(patch)
        with pytest.raises(TableError, match=r"^the disk is full"):
            run(job(path, **options))
    assert nobody_is_left()
    assert 0 < run(job(path, **options)).resumed < 3000
    assert files(full) == files(straight)


def test_a_stop_while_a_piece_is_judged(tmp_path, monkeypatch):
    path = write(tmp_path / "table.csv", world("binary", 3000, seed=7))
    straight, stopped = tmp_path / "straight", tmp_path / "stopped"
    straight.mkdir()
    stopped.mkdir()
    whole = run(job(path, output=straight / "out.csv"))
    options = {"output": stopped / "out.csv", "state": tmp_path / "state"}
    learned, learn = [], Tracker.learn
    monkeypatch.setattr(
        Tracker, "learn", lambda self, *rows: learned.append(rows) or learn(self, *rows)
    )
    seen = []
    found = run(job(path, **options), watch=seen.append, told=lambda: len(learned) == 5)
    assert found.stopped
    assert [one.rows for one in seen] == [
        int(numbers[-1]) for _, numbers in learned
    ]  # all that was learned is judged and told
    assert found.news == seen[-1].rows
    while stopped_after(3, job(path, **options)).stopped:
        pass
    assert files(stopped) == files(straight)
    assert whole.tracker.errors() == run(job(path, **options)).tracker.errors()


def test_one_call_at_a_time_and_results_in_their_order():
    results, threads, under_way = [], set(), []
    aside = Aside(lambda along, result: results.append((along, result)))

    def doubled(number):
        threads.add(threading.current_thread().name)
        under_way.append(number)
        assert under_way == [number]
        under_way.clear()
        return 2 * number

    for number in range(9):
        aside.call(number, doubled, number)
        assert number + 1 - BESIDE <= len(results) <= number
    aside.settle()
    aside.settle()
    assert results == [(number, 2 * number) for number in range(9)]
    assert len(threads) == 1
    assert threading.current_thread().name not in threads
    assert not aside.failed
    aside.close()


def test_few_calls_wait_and_those_that_are_over_are_settled_first():
    results, gate = [], threading.Event()
    aside = Aside(lambda along, result: results.append(along))
    for number in range(BESIDE):
        aside.call(number, gate.wait)
    assert results == []
    threading.Timer(0.05, gate.set).start()
    aside.call(BESIDE, lambda: None)  # one too many: it waits for the first
    assert results[:1] == [0]
    aside.settle()
    assert results == list(range(BESIDE + 1))
    aside.close()


def test_nothing_comes_of_calls_behind_one_that_failed():
    results, made, gate = [], [], threading.Event()
    aside = Aside(lambda along, result: results.append(along))
    aside.call(0, lambda: gate.wait() and 1 / 0)
    for number in range(1, BESIDE):
        aside.call(number, made.append, number)
    gate.set()
    with pytest.raises(ZeroDivisionError):
        aside.settle()
    before = list(made)
    aside.settle()
    assert (results, made) == ([], before)
    assert aside.failed
    aside.close()


def test_nor_of_those_behind_a_result_of_which_nothing_can_be_made():
    def done(along, result):
        if along == 1:
            raise TableError("the disk is full")
        results.append(along)

    results = []
    aside = Aside(done)
    for number in range(BESIDE):
        aside.call(number, int)
    with pytest.raises(TableError):
        aside.settle()
    aside.settle()
    assert results == [0]
    assert aside.failed
    aside.close()


def test_what_goes_wrong_is_raised_once_and_remembered():
    aside = Aside(lambda along, result: None)
    aside.call(None, lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        aside.settle()
    aside.call(None, lambda: 1)
    aside.settle()
    assert aside.failed
    aside.close()
