"""The README and the theory table say what is true."""

import contextlib
import importlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_first_example_prints_what_is_shown():
    code, shown = EXAMPLE.search((ROOT / "README.md").read_text(encoding="utf-8")).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == shown


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
        assert callable(resolve(name)), name
    for path in tests:
        source = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(r"^\s*def test_", source, re.MULTILINE), path


def test_the_figure_is_there_and_small():
    figure = ROOT / "docs" / "figures" / "regret.svg"
    assert b"<svg" in figure.read_bytes()[:2000]
    assert figure.stat().st_size < 200_000
