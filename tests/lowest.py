"""The lowest version of every dependency that pyproject.toml allows, as constraints for pip:
``make test-lowest``.
"""

import re
import tomllib
from pathlib import Path

EXTRAS = ("sklearn", "river", "cli", "serve", "sweep", "spark", "test")


def lowest(project: dict) -> dict[str, str]:
    """Versions by name; the highest of several lowest ones, as all of them have to be kept."""
    wanted: dict[str, list[str]] = {}
    extras = project["optional-dependencies"]
    for requirement in [
        *project["dependencies"],
        *(one for extra in EXTRAS for one in extras[extra]),
    ]:
        name, version = re.match(r"([A-Za-z0-9-]+)>=([0-9.]+)", requirement).groups()
        wanted.setdefault(name, []).append(version)
    return {
        name: max(versions, key=lambda text: [int(part) for part in text.split(".")])
        for name, versions in wanted.items()
    }


if __name__ == "__main__":
    table = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    for name, version in lowest(table["project"]).items():
        print(f"{name}=={version}")
