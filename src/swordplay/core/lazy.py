"""Attributes of a package that are imported when they are first used (PEP 562)."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_attributes(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Functions ``__getattr__`` and ``__dir__`` of a package that loads its modules on first use.

    Importing one class of the package then loads only the module of that class. The package repeats
    the imports below ``if TYPE_CHECKING`` for type checkers, and names the attributes in
    ``__all__``.

    Parameters
    ----------
    package
        Name of the package (``__name__``).
    modules
        Names of its modules, each with the names to import from it, separated by spaces. A module
        without such names is itself the attribute.

    Examples
    --------
    .. code-block:: python

        __getattr__, __dir__ = lazy_attributes(__name__, {"sword": "Sword SwordAgeless"})
    """
    homes = {
        name: module for module, names in modules.items() for name in names.split() or [module]
    }

    def import_attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(f"{package}.{homes[name]}")
        found = module if homes[name] == name else getattr(module, name)
        setattr(sys.modules[package], name, found)
        return found

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return import_attribute, list_names
