"""The site that ``make docs`` builds has every page and every public name.

Sphinx itself is not needed to see that.
"""

import contextlib
import importlib
import re
import types
from pathlib import Path

import pytest

import swordplay

DOCS = Path(__file__).resolve().parents[1] / "docs"
CONTENTS = DOCS / "contents.rst"
DIRECTIVE = re.compile(
    r"^\.\. (?:auto|py:)(module|class|function|exception):: (\S+)$", re.MULTILINE
)
WITHIN = re.compile(r"^\.\. currentmodule:: (\S+)$", re.MULTILINE)


def listed(text):
    """Pages that the contents lead to; a pattern stands for what it matches."""
    entries = re.findall(r"^   ([a-z][a-z0-9_/*-]*)$", text, re.MULTILINE)
    found = [
        page
        for entry in entries
        for page in sorted(DOCS.glob(f"{entry}.md")) + sorted(DOCS.glob(f"{entry}.rst"))
    ]
    return entries, [page.relative_to(DOCS).with_suffix("").as_posix() for page in found]


def shown(text):
    """Names with a place on a page of the reference, with what they are."""
    within = WITHIN.search(text)
    for kind, name in DIRECTIVE.findall(text):
        yield (name if "." in name else f"{within.group(1)}.{name}"), kind


REFERENCE = [
    place
    for page in sorted((DOCS / "reference").glob("*.rst"))
    for place in shown(page.read_text(encoding="utf-8"))
]


def test_every_page_is_in_the_contents_once_and_nothing_else_is():
    entries, pages = listed(CONTENTS.read_text(encoding="utf-8"))
    there = [page for page in [*DOCS.rglob("*.md"), *DOCS.rglob("*.rst")] if page != CONTENTS]
    assert sorted(pages) == sorted(
        page.relative_to(DOCS).with_suffix("").as_posix() for page in there
    )
    assert all(listed(f"   {entry}\n")[1] for entry in entries)


@pytest.mark.parametrize(
    "page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS))
)
def test_links_lead_to_pages_of_the_site_or_to_files_that_can_be_handed_out(page):
    targets = [
        page.parent / link
        for link in re.findall(
            r"\]\((?!https?:|#)([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")
        )
    ]
    assert [target for target in targets if not target.is_file()] == []
    assert [
        target
        for target in targets
        if target.suffix == ".md" and DOCS not in target.resolve().parents
    ] == []


def test_every_public_name_has_one_place_in_the_reference():
    ours = {name: kind for name, kind in REFERENCE if re.fullmatch(r"swordplay\.\w+", name)}
    packages = {
        f"swordplay.{name}" for name in ("sklearn", "river", "intervals", "late", "keyed", "spark")
    }
    assert sorted(ours) == sorted(
        {f"swordplay.{name}" for name in [*swordplay.__all__, "track"]} | packages
    )
    assert len({name for name, _ in REFERENCE}) == len(REFERENCE)


@pytest.mark.parametrize(("name", "kind"), REFERENCE, ids=lambda value: value)
def test_a_name_in_the_reference_exists_and_is_what_it_is_said_to_be(name, kind):
    room, _, word = name.rpartition(".")
    with contextlib.suppress(
        ModuleNotFoundError
    ):  # swordplay.bounds is a name for a module, and no module of its own
        importlib.import_module(name)
    found = getattr(importlib.import_module(room), word)
    kinds = {
        "module": types.ModuleType,
        "class": type,
        "exception": type,
        "function": types.FunctionType,
    }
    assert isinstance(found, kinds[kind])


def test_every_example_is_listed_with_the_question_it_answers():
    text = (DOCS / "examples.md").read_text(encoding="utf-8")
    scripts = {path.name for path in (DOCS.parent / "examples").glob("*.py")}
    assert (
        set(re.findall(r"^\| \[(\w+\.py)\]\(\.\./examples/\1\) \| .+\? \|$", text, re.MULTILINE))
        == scripts
    )
