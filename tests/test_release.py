"""What is published is whole where the repository is not: the words on an index, the
interpreters, the addresses.
"""

import re
import runpy
import sys
import tomllib
import types
from pathlib import Path

import pytest

from swordplay.compile import kernel_cache

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEXTS = [
    *ROOT.glob("*.md"),
    ROOT / "pyproject.toml",
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "src").rglob("*.py"),
]
PLACEHOLDER = re.compile(
    r"https?://[^\s)]*(example\.(com|org)|your-?|owner|<|TODO|\.\.\.)", re.IGNORECASE
)


@pytest.fixture
def portable(monkeypatch):
    """The function that makes the description, from a file that hatchling loads: here without
    hatchling, which only builds.
    """
    for module, name in (
        ("metadata.plugin", "MetadataHookInterface"),
        ("builders.hooks.plugin", "BuildHookInterface"),
    ):
        interface = types.ModuleType(f"hatchling.{module}.interface")
        setattr(interface, name, object)
        monkeypatch.setitem(sys.modules, interface.__name__, interface)
    return runpy.run_path(str(ROOT / "hatch_build.py"))["portable"]


def test_machine_code_is_made_for_what_is_looked_for():
    """What the x86-64 psABI asks of its levels, as LLVM calls it.

    avx2 and fma, or avx512f, are what our loops are made of.
    """
    v2, v3 = (
        {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"},
        {"avx", "avx2", "bmi", "bmi2", "f16c", "fma"},
    )
    v3 |= v2 | {"lzcnt", "movbe"}
    v4 = v3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
    assert (("x86-64-v4", "-prefer-256-bit", v4), ("x86-64-v3", "", v3)) == kernel_cache.TARGETS


def test_the_description_has_no_image_and_no_link_that_only_the_repository_has(portable):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "![" in text
    assert re.findall(r"\]\((?!https?:)[^)]*\)", portable(text)) == []
    assert "![" not in portable(text)


def test_words_stay_and_addresses_on_the_web_too(portable):
    text = (
        "![A line](docs/a.svg) and ![b](https://c.d/e.png), [how](docs/how.md#x) "
        "[and](https://f.g) [top](#top), a[0](1)"
    )
    assert (
        portable(text)
        == "*A line* and ![b](https://c.d/e.png), how [and](https://f.g) [top](#top), a0"
    )


def test_images_of_the_readme_say_in_words_what_is_in_them():
    images = re.findall(
        r"!\[([^\]]*)\]\(([^)]*)\)", (ROOT / "README.md").read_text(encoding="utf-8")
    )
    assert images
    for words, file in images:
        assert len(words.split()) >= 5
        assert (ROOT / file).is_file()


def test_no_address_is_a_placeholder():
    assert [
        str(file) for file in TEXTS if PLACEHOLDER.search(file.read_text(encoding="utf-8"))
    ] == []


def test_interpreters_are_named_from_the_lowest_on():
    prefix = "Programming Language :: Python :: 3."
    named = [
        int(line.removeprefix(prefix)) for line in PROJECT["classifiers"] if line.startswith(prefix)
    ]
    assert PROJECT["requires-python"] == f">=3.{named[0]}"
    assert named == list(range(named[0], named[-1] + 1))


def test_the_licence_is_said_once():
    assert PROJECT["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")
    assert not [
        line for line in PROJECT["classifiers"] if line.startswith("License")
    ]  # refused beside an expression
