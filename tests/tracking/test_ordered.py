"""Runs over a table in another order than that of its file: --reverse and --sort."""

from __future__ import annotations

import os
import threading

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from swordplay.cli import inspection
from swordplay.tables import TableError
from swordplay.tracking import Job, Settings, TrackingError, run
from swordplay.tracking.ordered import Order, order_of
from swordplay.tracking.whole import whole
from tracking.files import FORMATS, write
from tracking.worlds import world

ROWS = 240
SMALL = 1 << 12


def job(path, order, **options):
    settings = {name: options.pop(name) for name in ("features", "drop") if name in options}
    paths = {
        name: str(value) if name in ("output", "refused", "state") else value
        for name, value in options.items()
    }
    return Job(str(path), Settings("y", **settings), block_size=SMALL, order=order, **paths)


def shuffled(rows=ROWS, seed=3):
    """A table in the order of time, and a copy in no order; ``when`` is missing in no row."""
    batch = world("regression", rows, seed=seed)
    return batch, batch.take(pa.array(np.random.default_rng(seed).permutation(rows)))


def predicted(path):
    return csv.read_csv(path)


@pytest.mark.parametrize("format", FORMATS)
def test_sorted_rows_are_tracked_as_if_the_file_were_sorted(tmp_path, format):
    straight, mixed = shuffled()
    run(job(write(tmp_path / f"straight.{format}", straight), Order(), output=tmp_path / "p.csv"))
    found = run(
        job(
            write(tmp_path / f"mixed.{format}", mixed),
            Order(sort="when"),
            output=tmp_path / "q.csv",
        )
    )
    ours, theirs = predicted(tmp_path / "q.csv"), predicted(tmp_path / "p.csv")
    assert ours.drop(["row"]).equals(theirs.drop(["row"]))
    names = mixed.column("name").to_pylist()
    assert [names[row - 1] for row in ours["row"].to_pylist()] == straight.column(
        "name"
    ).to_pylist()
    assert (found.news, found.remarks) == (ROWS, ())
    worst = found.tracker.story("here").worst[0]
    assert worst.values["name"] == names[worst.row - 1]


def test_reversed_rows(tmp_path):
    straight, _ = shuffled()
    backwards = straight.take(pa.array(np.arange(ROWS)[::-1]))
    run(job(write(tmp_path / "straight.csv", straight), Order(), output=tmp_path / "a.csv"))
    run(
        job(
            write(tmp_path / "backwards.csv", backwards),
            Order(reverse=True),
            output=tmp_path / "b.csv",
        )
    )
    ours, theirs = predicted(tmp_path / "b.csv"), predicted(tmp_path / "a.csv")
    assert ours.drop(["row"]).equals(theirs.drop(["row"]))
    assert ours["row"].to_pylist() == list(range(ROWS, 0, -1))


def test_sorted_keys_keep_the_numbers_of_the_file(tmp_path):
    straight, mixed = shuffled()
    key = Settings("y", key=("flag",))
    run(
        job(write(tmp_path / "a.csv", straight), Order(), output=tmp_path / "p.csv")._replace(
            settings=key
        )
    )
    run(
        job(
            write(tmp_path / "b.csv", mixed), Order(sort="when"), output=tmp_path / "q.csv"
        )._replace(settings=key)
    )
    ours, theirs = predicted(tmp_path / "q.csv"), predicted(tmp_path / "p.csv")
    assert ours.drop(["row"]).equals(theirs.drop(["row"]))
    names = mixed.column("name").to_pylist()
    assert [names[row - 1] for row in ours["row"].to_pylist()] == straight.column(
        "name"
    ).to_pylist()


def test_the_order_is_stable_and_what_is_missing_comes_last():
    truths = [True, False, None, True, True, False]
    rows = pa.table(
        {"t": [2.0, 1.0, None, 2.0, 1.0, None], "w": ["b", "a", None, "ä", "B", "a"], "b": truths}
    )
    assert order_of(rows, Order(sort="b")).tolist() == [1, 5, 0, 3, 4, 2]
    assert order_of(rows, Order(sort="t")).tolist() == [1, 4, 0, 3, 2, 5]
    assert order_of(rows, Order(sort="w")).tolist() == [4, 1, 5, 0, 3, 2]
    assert order_of(rows, Order(reverse=True)).tolist() == [5, 4, 3, 2, 1, 0]


def test_what_is_said_of_the_column(tmp_path):
    _, mixed = shuffled()
    when = mixed.column("when").to_pylist()
    when[5] = when[9] = None
    path = write(tmp_path / "t.csv", mixed.set_column(3, "when", pa.array(when)))
    assert run(job(path, Order(sort="when"))).remarks == (
        "2 rows have no when: sorted behind all others.",
    )
    assert (
        "Column 'name' holds words: the rows are sorted by the alphabet."
        in run(job(path, Order(sort="name"))).remarks
    )


@pytest.mark.parametrize("order", [Order(sort="when"), Order(reverse=True)])
def test_stopped_and_killed_runs_go_on_byte_by_byte(tmp_path, order):
    _, mixed = shuffled()
    path = write(tmp_path / "t.csv", mixed)
    text = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*text[:50], "not,a,row\n", *text[50:]]))
    for name in ("whole", "cut"):
        (tmp_path / name).mkdir()
    straight = {"output": tmp_path / "whole" / "p.csv", "refused": tmp_path / "whole" / "r.csv"}
    options = {
        "output": tmp_path / "cut" / "p.csv",
        "refused": tmp_path / "cut" / "r.csv",
        "state": tmp_path / "state",
    }
    found = run(job(path, order, **straight))
    assert found.refused == 1
    seen = []

    def die(progress):
        seen.append(progress)
        if len(seen) == 2:
            raise MemoryError  # as good as a kill: nothing is saved any more

    with pytest.raises(MemoryError):
        run(job(path, order, save_every=1, **options), watch=die)
    lives = 0
    while (
        again := run(
            job(path, order, save_every=1, **options),
            watch=seen.append,
            told=lambda: len(seen) % 3 == 0,
        )
    ).stopped:
        lives += 1
        seen.append(None)
    assert lives >= 1
    assert again.refused == 1
    for name in ("p.csv", "r.csv"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert run(job(path, order, **options)).news == 0
    path.write_text(path.read_text() + text[-1])
    with pytest.raises(
        TableError, match=r"t.csv has changed since.*--(sort when|reverse).*\n.*--force"
    ):
        run(job(path, order, **options))


def test_another_order_is_another_job(tmp_path):
    path = write(tmp_path / "t.csv", shuffled()[1])
    run(job(path, Order(sort="when"), state=tmp_path / "state"))
    with pytest.raises(TrackingError, match="saved with --sort when, and now it is no --sort"):
        run(job(path, Order(), state=tmp_path / "state"))
    assert inspection.describe(str(tmp_path / "state"))["what"].endswith(
        "over a table sorted by when, finished"
    )
    run(job(path, Order(reverse=True), state=tmp_path / "other"))
    assert inspection.describe(str(tmp_path / "other"))["what"].endswith(
        "from its last row to its first, finished"
    )
    with pytest.raises(TrackingError, match="saved with --reverse, and now it is no --reverse"):
        run(job(path, Order(), state=tmp_path / "other"))


def test_the_first_rows_are_those_of_the_new_order(tmp_path):
    straight, mixed = shuffled()
    path = write(tmp_path / "t.csv", mixed)
    run(job(path, Order(sort="when"), output=tmp_path / "p.csv", rows=50))
    rows = predicted(tmp_path / "p.csv")["row"].to_pylist()
    assert [mixed.column("name")[row - 1].as_py() for row in rows] == straight.column(
        "name"
    ).to_pylist()[:50]


@pytest.mark.parametrize("options", [{"drop": ("when",)}, {"features": ("x", "z")}])
def test_the_column_to_sort_by_need_not_be_used(tmp_path, options):
    straight, mixed = shuffled()
    names = list(
        options.get(
            "features", [name for name in straight.schema.names if name not in ("when", "y")]
        )
    )
    run(
        job(
            write(tmp_path / "a.csv", straight.select([*names, "y"])),
            Order(),
            output=tmp_path / "p.csv",
        )
    )
    run(
        job(
            write(tmp_path / "b.csv", mixed),
            Order(sort="when"),
            output=tmp_path / "q.csv",
            **options,
        )
    )
    answers = ["prediction", "truth", "loss", "running_error"]
    assert (
        predicted(tmp_path / "q.csv")
        .select(answers)
        .equals(predicted(tmp_path / "p.csv").select(answers))
    )


def test_a_row_that_cannot_be_used_is_named_by_its_number_in_the_file(tmp_path):
    straight, _ = shuffled()
    y = straight.column("y").to_pylist()
    y[3] = 1e70
    path = write(tmp_path / "t.csv", straight.set_column(6, "y", pa.array(y)))
    with pytest.raises(TrackingError, match=r"row 4, column 'y'"):
        run(job(path, Order(reverse=True)))
    run(job(path, Order(reverse=True), refused=tmp_path / "r.csv"))
    assert predicted(tmp_path / "r.csv")["row"].to_pylist() == [4]


def test_what_cannot_be_sorted(tmp_path):
    path = write(tmp_path / "t.csv", shuffled()[1])
    with pytest.raises(
        TrackingError,
        match=r"--sort names the column 'wen', which is not there. Did you mean 'when'\?",
    ):
        run(job(path, Order(sort="wen")))
    with pytest.raises(TableError, match="has no column 'wen'"):
        run(job(path, Order(sort="wen"), features=("x",)))
    path.write_text("when,y\nx,1\n2020-01-01\n")
    with pytest.raises(TableError, match="line 3"):
        run(job(path, Order(sort="when")))


def test_a_pipe_that_ends_can_be_sorted(tmp_path):
    straight, mixed = shuffled()
    text = write(tmp_path / "t.csv", mixed).read_bytes()
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(text))
    writer.start()
    run(job(tmp_path / "pipe", Order(sort="when"), output=tmp_path / "p.csv", format="csv"))
    writer.join()
    rows = predicted(tmp_path / "p.csv")["row"].to_pylist()
    assert [mixed.column("name")[row - 1].as_py() for row in rows] == straight.column(
        "name"
    ).to_pylist()


def test_told_to_stop_while_reading(tmp_path):
    path = write(tmp_path / "t.csv", shuffled()[1])
    with pytest.raises(KeyboardInterrupt):
        run(job(path, Order(sort="when"), output=tmp_path / "p.csv"), told=lambda: True)
    assert os.listdir(tmp_path) == ["t.csv"]


def test_whole_tables_are_sorted_before_they_are_cut(tmp_path):
    straight, mixed = shuffled()
    path, other = write(tmp_path / "t.csv", mixed), write(tmp_path / "s.csv", straight)
    ours = whole(str(path), Settings("y"), most=100, order=Order(sort="when"))
    theirs = whole(str(other), Settings("y"), most=100)
    np.testing.assert_array_equal(ours.targets, theirs.targets)
    np.testing.assert_array_equal(ours.rows, theirs.rows)
    assert ours.cut
    assert ours.remarks == ()
    assert "Give --sort when." in whole(str(path), Settings("y"), most=100).remarks[0]


def test_the_remark_of_whole_tables_names_the_command_that_has_keys(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "year,country,y\n"
        + "".join(f"{1950 + k},c{j},{j}.5\n" for j in range(4) for k in range(20))
    )
    (remark,) = whole(str(path), Settings("y"), most=100).remarks
    assert remark.endswith(
        "`swordplay track` can give each a model and a past of its own with --key country."
    )


@pytest.mark.parametrize("order", [Order(reverse=True), Order(sort="day")])
def test_how_columns_were_read_is_known_in_another_order(tmp_path, order):
    lines = [
        f'{{"day": "{k % 28 + 1:02}/{1 + k // 28:02}/2012", "share": "{k % 7}.5%", "tags": [1], '
        f'"y": "${k % 5}.25"}}'
        for k in range(90)
    ]
    path = tmp_path / "t.ndjson"
    path.write_text(
        "\n".join([*lines, '{"day": "31/12/2012", "share": "1%", "late": "3%", "y": "$1"}']) + "\n"
    )
    plain, other = run(job(path, Order())), run(job(path, order))
    assert [one[:3] for one in other.tracker.story("t").columns] == [
        one[:3] for one in plain.tracker.story("t").columns
    ]
    assert other.tracker.recognised == plain.tracker.recognised
    notes = {one.name: one.note for one in other.tracker.story("t").columns}
    assert notes["day"].endswith("written day first (31/01/2012)")
    assert "written in %" in notes["share"]
    assert notes["tags"].startswith("left out: it holds nested values")
    assert other.tracker.recognised.why.endswith("written in $")
