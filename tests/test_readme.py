"""The README and the theory table say what is true."""

import contextlib
import importlib
import io
import re
import shlex
from pathlib import Path

import pytest
from river import datasets as river_datasets

from benchmarks import untuned
from swordplay.cli import run
from swordplay.river import SwordClassifier

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def readme():
    return (ROOT / "README.md").read_text(encoding="utf-8")


def printed(output):
    """Lines without the blanks at their ends, which an editor takes away."""
    return [line.rstrip() for line in output.splitlines()]


@pytest.fixture(scope="module")
def bikes(tmp_path_factory):
    """A folder in which the first command of the README was run."""
    folder = tmp_path_factory.mktemp("readme")
    assert run(["sample", "bikes", "-o", str(folder / "bikes.csv")]) == 0
    return folder


def test_examples_print_what_is_shown(bikes, monkeypatch):
    monkeypatch.chdir(bikes)
    namespace = {"__name__": "__main__"}
    examples = EXAMPLE.findall(readme())
    assert len(examples) == 4
    for code, shown in examples:
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(code, "README.md", "exec"), namespace)
        assert printed(output.getvalue()) == printed(shown)


def test_the_command_prints_what_is_shown(bikes, monkeypatch, capsys):
    monkeypatch.chdir(bikes)
    (line,) = re.findall(r"^(swordplay track [^#\n]+)", readme(), re.MULTILINE)
    shown = re.search(r"```text\n(bikes.csv: rentals.*?)```", readme(), re.DOTALL).group(1)
    arguments = shlex.split(line)[1:]
    assert (
        run([*arguments[: arguments.index("--report")], "--quiet"]) == 0
    )  # the page has tests of its own
    assert printed(capsys.readouterr().out)[: len(printed(shown))] == printed(shown)


def figures(text, header):
    """Rows of the table that begins with these words, by their first cell."""
    lines = text[text.index(f"| {header} |") :].split("\n\n")[0].splitlines()[2:]
    rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {first: rest for first, *rest in rows}


def test_the_first_table_is_the_benchmark_s():
    quoted = figures(readme(), "nothing tuned")
    assert list(quoted) == list(untuned.CONTENDERS)
    assert quoted == figures(untuned.FILE.read_text(encoding="utf-8"), "nothing tuned")


QUICK = ("swordplay", "swordplay, lags=0, curves=None", "no change")


@pytest.mark.parametrize("name", QUICK)
def test_the_first_table_s_own_rows_are_what_the_code_gives(name):
    found = [
        untuned.shown(untuned.figure(untuned.CONTENDERS[name](stream), stream), stream)
        for stream in untuned.streams()
    ]
    assert found == figures(readme(), "nothing tuned")[name]


@pytest.mark.parametrize(
    "name", ["river scaler + linear model", "scikit-learn ridge, refitted every 1,000 rows"]
)
def test_rivals_are_what_they_are_said_to_be_on_the_shortest_stream(name):
    stream = untuned.streams()[-1]
    found = untuned.shown(untuned.figure(untuned.CONTENDERS[name](stream), stream), stream)
    assert found == figures(readme(), "nothing tuned")[name][-1]


@pytest.mark.deep
@pytest.mark.parametrize("name", [name for name in untuned.CONTENDERS if name not in QUICK])
def test_all_of_the_first_table(name):
    if "Vowpal" in name:
        pytest.importorskip("vowpalwabbit")
    found = [
        untuned.shown(untuned.figure(untuned.CONTENDERS[name](stream), stream), stream)
        for stream in untuned.streams()
    ]
    assert found == figures(readme(), "nothing tuned")[name]


def test_the_table_of_times_is_the_benchmark_s():
    results = (ROOT / "benchmarks" / "results.md").read_text(encoding="utf-8")
    measured = figures(results[results.index("## Whole arrays, d = 10\n") :], "contender")
    quoted = figures(readme(), "one row predicted and learned")
    assert len(quoted) >= 4
    for name, (learns, microseconds) in quoted.items():
        assert measured[name][:2] == [learns, microseconds]


def test_curves_are_followed_as_far_as_said():
    model, right, rows = SwordClassifier(), 0, 0
    for features, label in river_datasets.Bananas():
        right, rows = right + (model.predict_one(features) == label), rows + 1
        model.learn_one(features, label)
    assert f"right for {right / rows:.1%} of the rows".replace("%", " %") in readme()


def test_every_package_is_in_the_list():
    listed = readme()[readme().index("| package |") : readme().index("A package imports only")]
    packages = {path.parent.name for path in (ROOT / "src" / "swordplay").glob("*/__init__.py")}
    assert sorted(name for name in packages if f"`{name}`" not in listed) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def table_rows():
    lines = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("| ") and "`" in line]


def resolve(dotted):
    """The object behind a dotted name, whichever part of it is a module."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(dotted)


@pytest.mark.parametrize("row", table_rows(), ids=lambda row: row.split("|")[1].strip()[:40])
def test_names_in_the_theory_table_exist(row):
    quoted = re.findall(r"`([^`]+)`", row)
    names = [name for name in quoted if name.startswith("swordplay.")]
    tests = [name for name in quoted if name.startswith("tests/")]
    assert names
    assert tests
    for name in names:
        found = resolve(name)
        assert callable(found) or isinstance(found, property), name
    for path in tests:
        source = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(r"^\s*def test_", source, re.MULTILINE), path


def test_the_figure_is_there_and_small():
    figure = ROOT / "docs" / "figures" / "regret.svg"
    assert b"<svg" in figure.read_bytes()[:2000]
    assert figure.stat().st_size < 200_000
