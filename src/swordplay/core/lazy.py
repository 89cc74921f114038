"""Attributes of a package that are imported when they are first used (PEP 562)."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_attributes(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package that imports its modules on first use.

    Importing one class of the package then loads only the module of that class. For type checkers
    the package repeats the imports under ``if TYPE_CHECKING`` and lists the attributes in
    ``__all__``.

    Parameters
    ----------
    package
        Name of the package (``__name__``).
    modules
        Maps each module of the package to the names to import from it, separated by spaces. A
        module that is mapped to "" is itself an attribute of the package.

    Examples
    --------
    .. code-block:: python

        __getattr__, __dir__ = lazy_attributes(__name__, {"sword": "Sword SwordAgeless"})
    """
    module_of = {
        name: module for module, names in modules.items() for name in names.split() or [module]
    }

    def import_attribute(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(f"{package}.{module_of[name]}")
        attribute = module if module_of[name] == name else getattr(module, name)
        setattr(sys.modules[package], name, attribute)  # so that the next access is direct
        return attribute

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return import_attribute, list_names
