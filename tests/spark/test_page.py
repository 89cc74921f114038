"""The page about Spark does what it says, from top to bottom."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("spark")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "spark.md"


@pytest.mark.deep
def test_the_page_runs(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert len(blocks) >= 4
    namespace = {"__name__": "__main__"}
    for block in blocks:
        # Java has a working folder of its own, the one in which it was started.
        here = re.sub(r'"(rows|predictions|checkpoint)"', rf'"{tmp_path}/\1"', block)
        exec(compile(here, str(PAGE), "exec"), namespace)
    assert "prediction" in capsys.readouterr().out
