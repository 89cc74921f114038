"""Configuration of Sphinx: ``make docs`` reads docs/ and the docstrings and writes out/site."""

import inspect

from sphinx.util.inspect import stringify_signature

import swordplay

project = "swordplay"
author = "The swordplay developers"
version = release = swordplay.__version__
root_doc = "contents"

extensions = ["sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc", "myst_parser"]
myst_heading_anchors = 3  # page.md#a-heading, as on every forge

autodoc_default_options = {"members": True, "inherited-members": True, "member-order": "bysource"}
autodoc_typehints = (
    "none"  # the text of a parameter says what it is; types for tools are in py.typed
)
numpydoc_show_class_members = False  # autodoc shows them

nitpicky = True  # with -W: a name that leads nowhere stops the build
# Bases of our classes, which are documented elsewhere: by Python and by the packages that they come
# from.
nitpick_ignore_regex = [
    (
        "py:class",
        r"(abc|enum|typing|sklearn|river|numpy)\..*|object|tuple|Protocol|ValueError|Exception",
    )
]

html_theme = "furo"
html_title = f"swordplay {version}"
html_copy_source = False
html_show_sphinx = False


def written_elsewhere(app, what, name, obj, skip, options):
    """Leave out members that classes inherit from other packages, which document them."""
    module = getattr(obj, "__module__", None) or "swordplay"
    return True if module.partition(".")[0] != "swordplay" else None


def as_called(app, what, name, obj, options, signature, returned):
    """Show the arguments of ``__init__`` for a class with a lock (``core/model_lock.py``).

    The ``__new__`` of such a class takes any arguments.
    """
    if what == "class" and signature == "(*arguments, **options)":
        return stringify_signature(
            inspect.signature(obj), show_annotation=False, show_return_annotation=False
        ), returned
    return None


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", as_called)
    app.connect("autodoc-skip-member", written_elsewhere)
