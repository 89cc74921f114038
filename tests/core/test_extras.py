"""Messages about a missing package give a command that works, wherever swordplay was installed
from.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from swordplay.core import extras

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def packages(requirements):
    return sorted(re.match(r"[\w-]+", requirement).group() for requirement in requirements)


@pytest.mark.parametrize("extra", ["sklearn", "river", "cli", "serve", "sweep", "spark"])
def test_the_command_names_all_that_the_extra_needs(extra):
    command, *wanted = re.findall(r"'[^']+'|pip install", extras.pip_command(extra))
    assert command == "pip install"
    assert packages(one.strip("'") for one in wanted) == packages(EXTRAS[extra])


def test_nothing_advises_an_extra_of_an_index_that_does_not_have_it():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    assert [
        str(page) for page in pages if "install 'swordplay[" in page.read_text(encoding="utf-8")
    ] == []


def python(code):
    """What a fresh interpreter prints, because this one has long imported everything."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_a_package_that_is_missing_is_named_with_the_command_that_installs_it():
    parts = [
        ("import swordplay.sklearn", "swordplay.sklearn", "sklearn", "sklearn"),
        ("from swordplay.river import SwordRegressor", "swordplay.river", "river", "river"),
        ("from swordplay import track", "swordplay.track", "pyarrow", "cli"),
    ]
    code = f"""
import sys
sys.modules |= {{name: None for name in ("sklearn", "river", "pyarrow")}}
for statement in {[part[0] for part in parts]}:
    try:
        exec(statement)
    except Exception as error:
        print(type(error).__name__, error)
"""
    wanted = [
        f"ImportError {what} needs {package}, which is not installed. Install it with: "
        f"{extras.pip_command(extra)}"
        for _, what, package, extra in parts
    ]
    assert python(code).splitlines() == wanted


def test_what_else_is_missing_is_an_error_of_its_own():
    with (
        pytest.raises(ModuleNotFoundError, match="no_such_module"),
        extras.require_extra("this", "sklearn", "sklearn"),
    ):
        import no_such_module  # noqa: F401  # importing it is the test


def test_the_estimators_are_imported_without_tables_pyarrow_and_the_engine():
    code = """
import sys
sys.modules["pyarrow"] = None
import swordplay.sklearn
rooms = ("swordplay.tables", "swordplay.encoding", "swordplay.api", "swordplay.engine", "numba")
print([name for name in rooms if name in sys.modules])
"""
    assert python(code) == "[]\n"


@pytest.mark.parametrize(
    "marker", ['extra == "x" and os_name == "nt"', "os_name == 'nt' and extra=='x'"]
)
def test_the_extra_may_stand_anywhere_in_a_marker(monkeypatch, marker):
    from importlib import metadata

    lines = ["numpy", f"joblib>=1.4 ; {marker}", 'click; extra == "xx"', 'pandas; os_name == "x"']
    monkeypatch.setattr(metadata, "requires", lambda name: lines)
    assert extras.pip_command("x") == "pip install 'joblib>=1.4'"
