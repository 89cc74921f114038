"""Every python block of docs/ runs, each file as one namespace, from top to bottom.

test_readme.py has those of README.md.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FENCED = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text):
    """Python blocks, each moved down to the line on which it stands, so that a traceback points
    into the page.
    """
    return [
        "\n" * text.count("\n", 0, match.start(1)) + match.group(1)
        for match in FENCED.finditer(text)
    ]


PAGES = {
    str(page.relative_to(ROOT)): page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if page.exists() and blocks(page.read_text(encoding="utf-8"))
}


def test_the_pages_for_strangers_are_among_them():
    for part in ("loss", "domain", "expert"):
        assert str(Path("docs", "extending", f"{part}.md")) in PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_page_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a page that writes a file writes it here
    namespace = {"__name__": "__main__"}
    for block in blocks(PAGES[name].read_text(encoding="utf-8")):
        exec(compile(block, str(PAGES[name]), "exec"), namespace)
