"""Names that would move the cursor or colour the terminal: written out in every message."""

import json
import os

import pyarrow as pa
import pyarrow.parquet
import pytest

from swordplay.cli import run

BELL = "a\x1b[31m\x07b"


def table(path, names=("x", "y"), rows=30):
    path.write_text("\n".join([",".join(names), *(f"{k % 7},{k % 5}" for k in range(rows))]) + "\n")
    return str(path)


def parquet(path, values):
    pyarrow.parquet.write_table(pa.table(values), path)
    return str(path)


def cases(folder):
    """Command lines by what is hostile about them."""
    file = table(folder / f"{BELL}.csv")
    good = table(folder / "good.csv")
    os.makedirs(folder / BELL)
    nested = folder / "nested.ndjson"
    nested.write_text(
        "\n".join(json.dumps({"y": k, BELL: {"deep\x1b[2J": k, "list": [k]}}) for k in range(30))
    )
    broken = folder / f"broken{BELL}.csv"
    broken.write_text("x,y\n1,2\n" + "1,2,3\n")
    listed = parquet(folder / "listed.parquet", {BELL: [[1], [2]], "y": [1.0, 2.0]})
    empty = parquet(
        folder / "empty.parquet",
        {BELL: pa.array([], pa.float64()), "y": pa.array([], pa.float64())},
    )
    (folder / f"{BELL}.state").write_text("no state")
    return {
        "the file": [file, "--target", "y", "-o", str(folder / f"out{BELL}.csv"), "--force"],
        "a missing file": [f"{file}.gone", "--target", "y"],
        "a folder": [str(folder / BELL), "--target", "y"],
        "a missing target": [file, "--target", BELL],
        "a broken row": [str(broken), "--target", "y"],
        "nested keys": [str(nested), "--target", "y"],
        "a missing nested target": [str(nested), "--target", BELL],
        "a column of lists": [listed, "--target", "y"],
        "no rows": [empty, "--target", "y"],
        "the output": [good, "--target", "y", "-o", str(folder / f"{BELL}.xlsx")],
        "the folder of the output": [
            good,
            "--target",
            "y",
            "-o",
            str(folder / f"none{BELL}" / "out.csv"),
        ],
        "the state": [good, "--target", "y", "--state", str(folder / f"{BELL}.state")],
        "the folder of the state": [
            good,
            "--target",
            "y",
            "--state",
            str(folder / f"none{BELL}" / "x"),
        ],
        "the report": [good, "--target", "y", "--report", str(folder / f"none{BELL}" / "x.html")],
        "one file twice": [file, "--target", "y", "-o", file],
        "an encoding": [good, "--target", "y", "--encoding", BELL],
        "an unknown option": [good, f"--{BELL}"],
    }


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    return cases(tmp_path_factory.mktemp("hostile"))


@pytest.mark.parametrize("case", [
    "the file", "a missing file", "a folder", "a missing target", "a broken row", "nested keys", "a missing nested target",  # noqa: E501
    "a column of lists", "no rows", "the output", "the folder of the output", "the state", "the folder of the state",  # noqa: E501
    "the report", "one file twice", "an encoding", "an unknown option",
])  # fmt: skip
def test_messages_are_harmless(case, commands, capfd):
    code = run(["track", *commands[case]])
    said = "".join(capfd.readouterr())
    assert code == 0 or case not in ("the file",)
    assert not [letter for letter in said if not letter.isprintable() and letter != "\n"], repr(
        said
    )


def test_a_hard_link_of_the_input_is_not_an_output(tmp_path, capfd):
    file = table(tmp_path / "in.csv")
    os.link(file, tmp_path / "out.csv")
    before = (tmp_path / "in.csv").read_bytes()
    assert run(["track", file, "--target", "y", "-o", str(tmp_path / "out.csv"), "--force"]) == 2
    assert "FILE and --output are the same file" in capfd.readouterr().err
    assert (tmp_path / "in.csv").read_bytes() == before
