"""Messages about a missing package give a command that works, wherever swordplay was installed from."""

import re
import tomllib
from pathlib import Path

import pytest

from swordplay import extras

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def packages(requirements):
    return sorted(re.match(r"[\w-]+", requirement).group() for requirement in requirements)


@pytest.mark.parametrize("extra", ["sklearn", "river", "cli", "sweep", "spark"])
def test_the_command_names_all_that_the_extra_needs(extra):
    command, *wanted = re.findall(r"'[^']+'|pip install", extras.installation(extra))
    assert command == "pip install"
    assert packages(one.strip("'") for one in wanted) == packages(EXTRAS[extra])


def test_nothing_advises_an_extra_of_an_index_that_does_not_have_it():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    assert [str(page) for page in pages if "install 'swordplay[" in page.read_text(encoding="utf-8")] == []
