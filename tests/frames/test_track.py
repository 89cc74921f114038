"""``swordplay.track``: a data frame gives what the same table gives as a file, and says what is
wrong with it in words.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import swordplay as sp
from swordplay import cli
from swordplay.tables import TableError
from swordplay.tracking import TrackingError

ROWS = 240


@pytest.fixture(scope="module")
def prices() -> pd.DataFrame:
    """Numbers, words, truths, dates in the index, and something missing of each."""
    rng = np.random.default_rng(8)
    table = pd.DataFrame(
        {
            "size": rng.normal(size=ROWS).round(3),
            "town": rng.choice(["Bern", "Genf", "Zug"], ROWS),
            "new": rng.random(ROWS) < 0.5,
        },
        index=pd.date_range("2024-01-01", periods=ROWS, freq="6h", name="day"),
    )
    table["price"] = 3.0 * table["size"] + (table["town"] == "Zug") + 100.0
    table["sold"] = table["price"] > 100.0
    table.loc[table.index[[7, 90]], "size"] = np.nan
    table.loc[table.index[[8, 91]], "town"] = None
    table.loc[table.index[[30]], "price"] = np.nan
    return table


def by_command(table: pd.DataFrame, folder, *options: str) -> pa.Table:
    """The predictions of the command for the same table as a CSV file."""
    table.reset_index().to_csv(folder / "prices.csv", index=False)
    output = folder / "command.parquet"
    arguments = [
        "track",
        str(folder / "prices.csv"),
        "-o",
        str(output),
        "--json",
        "--quiet",
        "--force",
        *options,
    ]
    assert cli.run(arguments) == 0
    return pyarrow.parquet.read_table(output)


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ({"target": "price", "drop": ["sold"]}, ["--target", "price", "--drop", "sold"]),
        (
            {"target": "price", "lags": 2, "loss": "huber"},
            ["--target", "price", "--lags", "2", "--loss", "huber"],
        ),
        (
            {"target": "sold", "features": ["size", "town"]},
            ["--target", "sold", "--features", "size,town"],
        ),
        ({"target": "town", "rows": 100}, ["--target", "town", "--rows", "100"]),
        (
            {"target": "price", "key": "town", "id": ()},
            ["--target", "price", "--key", "town", "--id", "none"],
        ),
        (
            {"target": "price", "sort": "size", "id": "new"},
            ["--target", "price", "--sort", "size", "--id", "new"],
        ),
        (
            {"target": "price", "reverse": True, "types": {"town": "skip"}},
            ["--target", "price", "--reverse", "--types", "town=skip"],
        ),
    ],
)
def test_a_frame_gives_what_the_command_gives_for_the_file(
    prices, options, command, tmp_path, capsys
):
    expected = by_command(prices, tmp_path, *command)
    figures = json.loads(capsys.readouterr().out)
    found = sp.track(prices, **options)
    assert found.predictions.equals(
        expected.cast(found.predictions.schema)
    )  # bit by bit; pandas counts in nanoseconds
    changing = ("seconds", "rows_per_second", "source", "files")
    kept = [{k: v for k, v in one.items() if k not in changing} for one in (found.summary, figures)]
    assert kept[0] == kept[1]
    assert found.errors == figures["errors"]


def test_strings_are_read_as_in_a_file(tmp_path, capsys):
    rng = np.random.default_rng(1)
    size = rng.integers(1000, 9000, 120)
    table = pd.DataFrame(
        {
            "day": [f"{1 + k % 28}.{1 + k // 28:02}.2024" for k in range(120)],
            "size": [f"{n:,}" for n in size],
        }
    )
    table["share"] = [f"{n}%" if n % 7 else "gone" for n in size % 50]
    table["price"] = [f"$ {n / 100:.2f}" for n in size]
    table.to_csv(tmp_path / "messy.csv", index=False)
    found, wanted = (
        sp.track(table, "price", missing=["gone"]),
        sp.track(tmp_path / "messy.csv", "price", missing=["gone"]),
    )
    assert found.predictions.equals(wanted.predictions)
    kinds = {column["name"]: column["kind"] for column in found.summary["columns"]}
    assert kinds == {"day": "date", "size": "number", "share": "number"}
    assert found.summary["task"] == "regression"


def test_whatever_holds_the_table(prices, tmp_path):
    arrow = pa.Table.from_pandas(prices.reset_index(), preserve_index=False)
    prices.reset_index().to_parquet(tmp_path / "prices.parquet")
    wanted = sp.track(prices, "price").predictions

    class Stream:  # as polars and others hand out their columns
        def __arrow_c_stream__(self, requested_schema=None):
            return arrow.__arrow_c_stream__(requested_schema)

    batch = arrow.combine_chunks().to_batches()[0]
    for table in (
        arrow,
        batch,
        arrow.to_reader(),
        Stream(),
        tmp_path / "prices.parquet",
        str(tmp_path / "prices.parquet"),
    ):
        assert sp.track(table, "price").predictions.equals(wanted)
    pieces = pa.Table.from_batches(arrow.to_batches(max_chunksize=17))
    assert sp.track(pieces, "price").predictions.equals(wanted)


def test_polars(prices):
    polars = pytest.importorskip("polars")
    table = polars.from_pandas(prices.reset_index())
    assert sp.track(table, "price").predictions.equals(sp.track(prices, "price").predictions)
    with pytest.raises(TableError, match="collect"):
        sp.track(table.lazy(), "price")


@pytest.mark.parametrize("name", ["p.csv", "p.ndjson", "p.parquet"])
def test_the_output_is_read_back_as_it_was(prices, name, tmp_path):
    for target in ("price", "town", "sold"):
        wanted = sp.track(prices, target)
        found = sp.track(prices, target, output=tmp_path / name, force=True)
        assert found.predictions.equals(wanted.predictions)
        assert found.summary["files"] == {"predictions": str(tmp_path / name)}
        assert "files" in wanted.summary
        assert not wanted.summary["files"]


def test_a_state_goes_on_where_it_was(prices, tmp_path):
    whole = sp.track(prices, "price").predictions
    state = tmp_path / "prices.state"
    assert sp.track(prices[:100], "price", state=state).predictions.equals(whole.slice(0, 100))
    later = sp.track(prices, "price", state=state)
    assert later.predictions.equals(whole)
    assert later.summary["files"] == {
        "predictions": f"{state}.predictions.parquet",
        "state": str(state),
    }
    with pytest.raises(
        ValueError, match="is not the input that this state was saved with: it begins differently"
    ):
        sp.track(prices[50:], "price", state=state)
    with pytest.raises(TrackingError, match=r"now it is lags=3\..*force=True"):
        sp.track(prices, "price", state=state, lags=3)
    assert sp.track(prices[50:], "price", state=state, force=True).predictions.num_rows == ROWS - 50


def test_bad_rows_are_refused_or_listed(prices):
    bad = prices.assign(size=prices["size"].where(prices["new"] | (np.arange(ROWS) < 50), np.inf))
    count = int(np.isinf(bad["size"]).sum())
    with pytest.raises(
        TableError,
        match=r"the table \(row \d+\), column 'size': 'inf' is not a finite(.|\n)*on_bad='skip'",
    ):
        sp.track(bad, "price")
    found = sp.track(bad, "price", on_bad="skip")
    assert found.refused.num_rows == found.summary["refused"] == count > 50
    assert set(found.refused.column("column").to_pylist()) == {"size"}
    assert found.predictions.num_rows == ROWS - count


def test_it_shows_itself(prices, tmp_path):
    found = sp.track(prices, "price", report=tmp_path / "r.html")
    lines = repr(found).splitlines()
    assert lines[0] == "the table: price, regression, 240 rows; RMSE"
    assert lines[1].split()[-1] == f"{next(iter(found.errors.values())):.5g}"
    assert "no change" in found._repr_html_()
    odd = sp.track(prices.rename(columns={"price": "<b>"}), "<b>")
    assert "<b>" not in odd._repr_html_()
    assert "%" in repr(sp.track(prices, "sold"))
    assert found.summary["files"] == {"report": str(tmp_path / "r.html")}
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "price" in page
    assert found.story.rows == ROWS - 2
    names = "row", "day", "prediction", "lower", "upper", "truth", "loss", "running_error"
    assert tuple(found.predictions.to_pandas().columns) == names
    json.dumps(found.summary, allow_nan=False)


def test_remarks_and_keys_are_shown_in_the_words_of_python():
    rng = np.random.default_rng(0)
    day = np.repeat(pd.date_range("2020-01-01", periods=60), 3)
    level = np.tile([0.0, 100.0, 200.0], 60)
    panel = pd.DataFrame(
        {
            "day": day,
            "the <b>": list("abc") * 60,
            "x": rng.normal(size=180),
            "y": level + rng.normal(size=180),
        }
    )
    found = sp.track(panel, "y")
    remark = (
        "key='the <b>' gives each a model and a past of its own: try it, and keep what errs less."
    )
    assert remark in repr(found)
    assert "key=&#x27;the &lt;b&gt;&#x27; gives each" in found._repr_html_()
    assert "--key" in found.summary["remarks"][0]  # as the command has it
    keyed = sp.track(panel, "y", key="the <b>")
    lines = repr(keyed).splitlines()
    head = next(
        k
        for k, line in enumerate(lines)
        if line == "  3 keys (the <b>) | rows | swordplay | no change"
    )
    assert sorted(line.split(" | ")[0].split(": ")[1] for line in lines[head + 1 : head + 4]) == [
        "a",
        "b",
        "c",
    ]
    assert lines[head + 1].startswith("  best: ")
    assert lines[head + 3].startswith("  worst: ")
    assert "<th>3 keys (the &lt;b&gt;)</th>" in keyed._repr_html_()
    assert "<b>" not in keyed._repr_html_()
    backwards = sp.track(panel[::3].iloc[::-1], "y")
    assert repr(backwards).splitlines()[-1].endswith("Give reverse=True.")
    walk = pd.DataFrame({"x": rng.normal(size=200), "y": 1000.0 + np.cumsum(rng.normal(size=200))})
    assert "lags=3 lets the last targets join" in repr(sp.track(walk, "y", lags=0))
    assert "lags" not in repr(sp.track(walk, "y"))  # they join by themselves


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda t: t, {"target": "prise"}, r"no column 'prise'. Did you mean 'price'\?"),
        (lambda t: t[:0], {"target": "price"}, "and no rows"),
        (lambda t: t[[]], {"target": "price"}, "no column 'price'"),
        (lambda t: t.assign(price=np.nan), {"target": "price"}, "'price' is missing in all"),
        (
            lambda t: pd.concat([t, t[["size"]]], axis=1),
            {"target": "price"},
            "are both called 'size'. Rename one",
        ),
        (
            lambda t: t.assign(bag=[[1, 2]] * ROWS),
            {"target": "bag"},
            "'bag' holds values of type list",
        ),
        (
            lambda t: t.assign(bag=[{1: 2}, "a"] * (ROWS // 2)),
            {"target": "price"},
            "'bag' holds dict objects",
        ),
        (lambda t: t.assign(z=1j), {"target": "price"}, "'z' holds values of type complex128"),
        (
            lambda t: t,
            {"target": "price", "drop": "size"},
            r"drop must be a list of names, got the string 'size'",
        ),
        (lambda t: t, {"target": "price", "features": ["sise"]}, "Did you mean 'size'"),
        (lambda t: t, {"target": "price", "drop": ["price"]}, "drop names the target 'price'"),
        (lambda t: t, {"target": "price", "task": "guess"}, "task must be one of 'regression'"),
        (
            lambda t: t,
            {"target": "price", "loss": "absolute"},
            "loss must be one of 'squared', 'huber', got 'absolute'",
        ),
        (lambda t: t, {"target": "price", "lags": -1}, "lags"),
        (lambda t: t, {"target": "price", "rows": 0}, "rows"),
        (lambda t: t, {"target": "price", "on_bad": "ignore"}, "on_bad must be"),
        (lambda t: t, {"target": "price", "rows": 5, "state": "s"}, "rows is for a first look"),
        (
            lambda t: t,
            {"target": "price", "sort": "size", "reverse": True},
            "sort and reverse do not go together",
        ),
        (
            lambda t: t,
            {"target": "price", "sort": "sise"},
            "sort names the column 'sise', which is not there",
        ),
        (lambda t: t, {"target": "price", "key": "twon"}, "'twon'"),
        (lambda t: t, {"target": "price", "types": {"size": "amount"}}, "'size' the kind 'amount'"),
        (lambda t: t, {"target": "price", "missing": "gone"}, "missing must be a list"),
        (lambda t: t, {"target": "price", "report": "r.pdf"}, "report must end in .html"),
        (lambda t: t, {"target": "price", "hindsight": True}, "Give report as well"),
        (
            lambda t: t,
            {"target": "price", "key": "day", "report": "r.html", "hindsight": True},
            "does not go together with key",
        ),
        (
            lambda t: t,
            {"target": "price", "report": "nowhere/r.html"},
            "there is no folder 'nowhere'",
        ),
        (lambda t: t, {"target": "town", "task": "regression"}, "Leave out task"),
        (
            lambda t: t["price"],
            {"target": "price"},
            "must be a pandas or polars data frame.*got Series",
        ),
        (lambda t: 3, {"target": "price"}, "got int"),
        (lambda t: t.to_dict("records"), {"target": "price"}, "got list"),
        (lambda t: "missing.csv", {"target": "price"}, "missing.csv: there is no such file"),
        (lambda t: "-", {"target": "price"}, "standard input is for the command"),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_python(
    prices, change, options, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message) as caught:
        sp.track(change(prices), **options)
    assert "--" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_importing_swordplay_imports_neither_pyarrow_nor_click():
    code = (
        "import swordplay, sys; print([name for name in ('pyarrow', 'click', 'rich', 'pandas') "
        "if name in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )
    assert "track" in dir(sp)
    with pytest.raises(AttributeError, match="trak"):
        sp.trak  # asking for the name is the test  # noqa: B018


def test_without_pyarrow_it_says_what_to_install(monkeypatch):
    for name in [
        name for name in sys.modules if name.startswith(("swordplay.api", "swordplay.tables"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(vars(sp), "track", raising=False)  # kept there by its first use
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        ImportError,
        match=r"needs pyarrow, which is not installed. Install it with: pip install .*'pyarrow>=",
    ):
        sp.track  # asking for the name is the test  # noqa: B018


def test_every_parameter_is_documented():
    parameters = inspect.signature(sp.track).parameters
    assert len(parameters) == 26
    assert parameters["encoding"].default == "utf-8"
    assert {parameters[name].annotation for name in ("lags", "curves", "force")} == {
        "int | str",
        "str | None",
        "bool",
    }
    documented = sp.track.__doc__.partition("Returns")[0]
    assert [name for name in parameters if name not in documented] == []
