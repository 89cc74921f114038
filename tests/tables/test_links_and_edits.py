"""Outputs that are not what they seem: links that somebody planted, and files that somebody
edited.
"""

import hashlib
import os

import pyarrow as pa
import pytest

from swordplay.tables import TableError, open_output
from swordplay.tables.partial import PIECE, digest_of

ROWS = pa.record_batch(
    {"row": pa.array(range(2000)), "value": pa.array([0.5 * k for k in range(2000)])}
)
ENDINGS = ["csv", "ndjson", "parquet"]


def begun(path):
    """The position of an output that was interrupted."""
    with open_output(path, ROWS.schema, resumable=True) as output:
        output.write(ROWS)
        return output.sync()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("plant", ["link", "dangling link", "hard link", "pipe", "folder"])
@pytest.mark.parametrize("resumable", [True, False])
def test_what_was_planted_as_the_partial_file_is_not_written_through(
    ending, plant, resumable, tmp_path
):
    victim, path = tmp_path / "victim", tmp_path / f"out.{ending}"
    partial = tmp_path / f"out.{ending}.partial"
    victim.write_text("precious")
    {
        "link": lambda: partial.symlink_to(victim),
        "dangling link": lambda: partial.symlink_to(tmp_path / "nowhere"),
        "hard link": lambda: os.link(victim, partial),
        "pipe": lambda: os.mkfifo(partial),
        "folder": lambda: partial.mkdir(),
    }[plant]()
    with pytest.raises(TableError, match=r"out\.\w+"):
        open_output(path, ROWS.schema, resumable=resumable, overwrite=True)
    assert victim.read_text() == "precious"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_link_in_the_place_of_a_partial_file_is_not_gone_on_from(ending, tmp_path):
    path, partial = tmp_path / f"out.{ending}", tmp_path / f"out.{ending}.partial"
    position = begun(path)
    partial.rename(tmp_path / "elsewhere")
    partial.symlink_to(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere").read_bytes()
    with pytest.raises(TableError, match="is a link or no file at all"):
        open_output(path, ROWS.schema, position=position, resumable=True)
    assert (tmp_path / "elsewhere").read_bytes() == before


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("where", [0.0, 0.3, 0.5, 0.99])
def test_an_edit_anywhere_is_noticed(ending, where, tmp_path):
    path, partial = tmp_path / f"out.{ending}", tmp_path / f"out.{ending}.partial"
    position = begun(path)
    data = bytearray(partial.read_bytes())
    data[int(where * (len(data) - 1))] ^= 1
    partial.write_bytes(data)
    with pytest.raises(TableError, match="has been changed since"):
        open_output(path, ROWS.schema, position=position, resumable=True)
    assert partial.read_bytes() == data


@pytest.mark.parametrize("ending", ["csv", "ndjson"])
def test_an_edit_of_a_finished_file_is_noticed(ending, tmp_path):
    path = tmp_path / f"out.{ending}"
    with open_output(path, ROWS.schema, resumable=True) as output:
        output.write(ROWS)
        position = output.sync()
        output.finish()
    data = path.read_bytes()
    path.write_bytes(data.replace(b"700", b"701", 1))
    with pytest.raises(TableError, match="has been changed since"):
        open_output(path, ROWS.schema, position=position, resumable=True)
    path.write_bytes(data)
    with open_output(path, ROWS.schema, position=position, resumable=True) as output:
        output.finish()
    assert path.read_bytes() == data


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1])
def test_the_fingerprint_is_of_all_bytes(size, tmp_path):
    data = os.urandom(size)
    (tmp_path / "x").write_bytes(data + b"more")
    with (tmp_path / "x").open("rb") as file:
        assert (
            digest_of(file, size).hexdigest() == hashlib.blake2b(data, digest_size=32).hexdigest()
        )
