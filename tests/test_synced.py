"""What is written is on the disk before it takes its name: spies on the real calls, as only a
power cut would show it.
"""

import os
import stat

import pytest

from swordplay.theory.sweeps import sweep

pa = pytest.importorskip("pyarrow")
SCHEMA = pa.schema([("row", pa.int64())])
ROWS = pa.RecordBatch.from_pydict({"row": list(range(1000))}, schema=SCHEMA)


class Spy:
    """Every fsync and every replace of this process, in order: ``(what, inode, size)``, or
    ``("folder", inode, 0)``.
    """

    def __init__(self, monkeypatch):
        self.calls = []
        fsync, replace = os.fsync, os.replace

        def spied_fsync(descriptor):
            fsync(descriptor)
            self._note("fsync", os.fstat(descriptor))

        def spied_replace(source, target):
            self._note("replace", os.stat(source))
            replace(source, target)

        monkeypatch.setattr(os, "fsync", spied_fsync)
        monkeypatch.setattr(os, "replace", spied_replace)

    def _note(self, what, file):
        folder = stat.S_ISDIR(file.st_mode)
        self.calls.append(
            ("folder", file.st_ino, 0) if folder else (what, file.st_ino, file.st_size)
        )

    def of(self, path):
        """The calls about a file that has its name now, and about its folder."""
        inodes = {os.stat(path).st_ino, os.stat(path.parent).st_ino}
        return [(what, size) for what, inode, size in self.calls if inode in inodes]


@pytest.fixture
def spy(monkeypatch):
    return Spy(monkeypatch)


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson", "a.parquet"])
@pytest.mark.parametrize("resumable", [False, True])
def test_a_table_is_on_the_disk_before_it_has_its_name(name, resumable, tmp_path, spy):
    from swordplay.tables import open_output

    path = tmp_path / name
    with open_output(path, SCHEMA, resumable=resumable) as output:
        output.write(ROWS)
        output.finish()
    size = path.stat().st_size
    assert spy.of(path)[-3:] == [("fsync", size), ("replace", size), ("folder", 0)]


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson"])
def test_a_table_that_is_synced_is_on_the_disk_and_so_is_its_name(name, tmp_path, spy):
    from swordplay.tables import open_output

    partial = tmp_path / f"{name}.partial"
    with open_output(tmp_path / name, SCHEMA, resumable=True) as output:
        output.write(ROWS)
        output.sync()
        first = partial.stat().st_size
        assert spy.of(partial) == [("fsync", first), ("folder", 0)]
        output.write(ROWS)
        output.sync()
        assert spy.of(partial) == [
            ("fsync", first),
            ("folder", 0),
            ("fsync", partial.stat().st_size),
        ]


def test_the_row_groups_of_a_parquet_table_are_on_the_disk_when_it_is_synced(tmp_path, spy):
    from swordplay.tables import open_output

    with open_output(tmp_path / "a.parquet", SCHEMA, resumable=True) as output:
        output.write(ROWS)
        output.sync()
        [partial] = tmp_path.iterdir()
        assert spy.of(partial) == [("fsync", partial.stat().st_size), ("folder", 0)]


def test_a_report_is_on_the_disk_before_it_has_its_name(tmp_path, spy):
    pytest.importorskip("vl_convert")
    from swordplay.report import HtmlPage, Section, write
    from swordplay.report.page import Text

    path = tmp_path / "report.html"
    write(HtmlPage(title="t", facts="f", sections=[Section("s", [Text("x")])], footer="e"), path)
    size = path.stat().st_size
    assert spy.of(path) == [("fsync", size), ("replace", size), ("folder", 0)]


def test_a_sweep_notes_each_game_on_the_disk(tmp_path, spy):
    import swordplay as sp

    book, sizes = tmp_path / "book.jsonl", []

    def measure(ledger, learner, stream):
        sizes.append(book.stat().st_size)  # what was noted of the games before this one
        return {}

    world = {
        "still": lambda seed: [sp.QuadraticLoss([[1.0]], [float(seed)])]
    }  # not for the engine: nothing to compile
    sweep(
        {"OGD": lambda stream: sp.OGD(sp.Ball(1), 0.1)}, world, range(3), measure=measure, file=book
    )
    assert spy.of(book) == [("fsync", size) for size in [*sizes[1:], book.stat().st_size]]
